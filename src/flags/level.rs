//! The flags that set the level of examination.

use std::time::Duration;

use acp_registry::duration;
use acp_registry::examination::{Demand, Level};
use clap::Arg;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use acp_registry::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct LevelArgs {
    /// Examine up to this level [default: handshake]
    ///
    /// `acp-registry rules --examination` lists the checks. They change the exit code only if a level is required.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    level: Option<Level>,

    /// Fail what does not keep the requirements of this level
    ///
    /// The examination then goes up to this level.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    require: Option<Level>,

    /// Time limit for an examination [default: 4m, more for slow agents]
    ///
    /// The default grows with the time that an agent takes to answer `initialize`. Checks that have not run by then are named, and
    /// make the examination incomplete.
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    examination_timeout: Option<Duration>,
}

/// Adds a sentence to the long help of a flag.
pub(crate) fn with_note(flag: Arg, note: &str) -> Arg {
    let text = flag.get_long_help().or(flag.get_help()).map(ToString::to_string).unwrap_or_default();
    flag.long_help(format!("{text} {note}"))
}

/// Parses the name of a level.
pub(crate) fn level() -> impl TypedValueParser<Value = Level> {
    let about = |level| match level {
        Level::Handshake => "The answer to `initialize`",
        Level::Transport => "The transport, of an agent at an address (`probe --url`)",
        Level::Protocol => "The protocol, without a session",
        Level::Sessions => "Sessions, without a prompt",
        Level::Turns => "Prompts, with a scripted model",
        Level::Drafts => "Proposals for later versions of the protocol",
    };
    let values = Level::ALL.map(|level| PossibleValue::new(level.as_str()).help(about(level)));
    let named = |name: String| Level::ALL.into_iter().find(|level| level.as_str() == name).ok_or("is no level");
    PossibleValuesParser::new(values).try_map(named)
}

/// The level. `transport` is refused for an agent without an address.
///
/// # Errors
/// Returns [`Failure`] for it.
pub(crate) fn refuse_transport(level: Level, is_remote: bool) -> Result<Level, Failure> {
    if level == Level::Transport && !is_remote {
        let failure = Failure::usage("only an agent at an address has the level `transport`");
        return Err(failure.help("name the address with `acp-registry probe --url`, or another level"));
    }
    Ok(level)
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
        let checked = |level: Option<Level>| level.map(|level| refuse_transport(level, is_remote)).transpose();
        let require = checked(self.require)?.or(level);
        let timeout = self.examination_timeout.or(timeout);
        let demand = Demand::new(checked(self.level)?, require).with_timeout(timeout);
        if demand.is_any() && is_quiet {
            return Err(Failure::usage("with --no-probe, nothing is examined beyond the level `handshake`"));
        }
        Ok(demand)
    }
}
