//! The flags that set the level of examination.

use std::time::Duration;

use acp_registry::duration;
use acp_registry::examination::{Demand, Level};
use clap::ValueEnum;

use acp_registry::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct LevelArgs {
    /// Examine agents up to this level [default: handshake]
    ///
    /// `acp-registry rules --examination` lists the checks. They change the exit code only with --require or, in `verify`, with
    /// `require` below `[examine]` in registry.toml.
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelName>,

    /// Fail agents that do not keep the requirements of this level
    ///
    /// Agents are then examined up to this level. In `verify`, the default is `require` below `[examine]` in registry.toml.
    #[arg(long, value_name = "LEVEL")]
    require: Option<LevelName>,

    /// Time limit for an examination [default: 4m, more for slow agents]
    ///
    /// In `verify`, `timeout` below `[examine]` in registry.toml is the default. It grows with the time that an agent takes to answer `initialize`. Checks that have not run by then are named, and
    /// make the examination incomplete.
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    examination_timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelName {
    /// The answer to `initialize`
    Handshake,
    /// The transport, of an agent at an address (`probe --url`)
    Transport,
    /// The protocol, without a session
    Protocol,
    /// Sessions, without a prompt
    Sessions,
    /// Prompts, with a scripted model
    Turns,
    /// Proposals for later versions of the protocol
    Drafts,
}

impl LevelName {
    /// The level, of an agent at an address or of one that a command starts.
    ///
    /// # Errors
    /// Returns [`Failure`] for a level that only agents at an address have.
    pub(crate) fn level(self, is_remote: bool) -> Result<Level, Failure> {
        Ok(match self {
            Self::Handshake => Level::Handshake,
            Self::Transport if !is_remote => {
                let failure = Failure::usage("only an agent at an address has the level `transport`");
                return Err(failure.help("name the address with `acp-registry probe --url`, or another level"));
            }
            Self::Transport => Level::Transport,
            Self::Protocol => Level::Protocol,
            Self::Sessions => Level::Sessions,
            Self::Turns => Level::Turns,
            Self::Drafts => Level::Drafts,
        })
    }
}

impl LevelArgs {
    /// Returns the requested examination. `configured` is the level that the registry requires and its time limit, unless
    /// flags set others. `is_remote` is whether the agent is at an address.
    ///
    /// # Errors
    /// Returns [`Failure`] if an examination is requested and `is_quiet` forbids messages after `initialize`, and for a
    /// level that the agent does not have.
    pub(crate) fn demand(
        &self,
        configured: (Option<Level>, Option<Duration>),
        is_quiet: bool,
        is_remote: bool,
    ) -> Result<Demand, Failure> {
        let (level, timeout) = configured;
        let named = |name: Option<LevelName>| name.map(|name| name.level(is_remote)).transpose();
        let require = named(self.require)?.or(level);
        let timeout = self.examination_timeout.or(timeout);
        let demand = Demand::new(named(self.level)?, require).with_timeout(timeout);
        if demand.is_any() && is_quiet {
            return Err(Failure::usage("with --no-probe, nothing is examined beyond the level `handshake`"));
        }
        Ok(demand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_its_name() {
        let names: Vec<String> = LevelName::value_variants()
            .iter()
            .filter_map(|name| Some(name.to_possible_value()?.get_name().into()))
            .collect();
        assert_eq!(names, Level::ALL.map(Level::as_str));
        assert!(LevelName::value_variants().iter().map(|name| name.level(true).unwrap()).eq(Level::ALL));
    }
}
