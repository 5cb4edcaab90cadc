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
    /// `acp-registry rules --examination` lists the checks. They change the exit code only with --require.
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelName>,

    /// Fail agents that do not keep the requirements of this level
    ///
    /// They are then examined up to it.
    #[arg(long, value_name = "LEVEL")]
    require: Option<LevelName>,

    /// Time limit for an examination [default: 240s, more for slow agents]
    ///
    /// It grows with the time that an agent takes to answer `initialize`. Checks that have not run by then are named, and
    /// make the examination incomplete.
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    examination_timeout: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelName {
    /// The answer to `initialize`
    Handshake,
    /// What shows of the protocol without a session
    Protocol,
    /// Sessions, without a prompt
    Sessions,
    /// Prompts, with a scripted model
    Turns,
    /// Proposals for later versions of the protocol
    Drafts,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Handshake => Self::Handshake,
            LevelName::Protocol => Self::Protocol,
            LevelName::Sessions => Self::Sessions,
            LevelName::Turns => Self::Turns,
            LevelName::Drafts => Self::Drafts,
        }
    }
}

impl LevelArgs {
    /// Returns the requested examination. `configured` is the level that the registry requires and its time limit, unless
    /// flags set others.
    ///
    /// # Errors
    /// Returns [`Failure`] if an examination is requested and `is_quiet` forbids messages after `initialize`.
    pub(crate) fn demand(
        &self,
        configured: (Option<Level>, Option<Duration>),
        is_quiet: bool,
    ) -> Result<Demand, Failure> {
        let (level, timeout) = configured;
        let require = self.require.map(Level::from).or(level);
        let timeout = self.examination_timeout.or(timeout);
        let demand = Demand::new(self.level.map(Level::from), require).with_timeout(timeout);
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
        assert!(LevelName::value_variants().iter().map(|name| Level::from(*name)).eq(Level::ALL));
    }
}
