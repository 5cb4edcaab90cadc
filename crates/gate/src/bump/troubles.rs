//! Records how long agents have had errors, from run to run.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::{Bumped, ErrorKind};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::manifest::Channel;

/// Maximum size of a state file, in bytes.
const STATE_LIMIT: u64 = 16 << 20;

/// Prefix of the quarantine reasons that [`Troubles::reason`] proposes, by which they are recognized.
const REASON: &str = "updates have failed since ";

/// The state file: agents that could not be updated, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `agents`")]
pub struct Troubles {
    /// Errors by agent and channel.
    agents: BTreeMap<String, BTreeMap<String, Trouble>>,
}

/// An error that has lasted for one or more runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// The [`ErrorKind`] in the last run, by name.
    pub kind: String,
    /// Time of the first run with an error.
    #[serde(with = "time::serde::rfc3339")]
    pub since: OffsetDateTime,
    /// Number of consecutive runs with an error.
    pub runs: u64,
}

/// Why a state file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TroublesError {
    /// The file could not be read.
    #[error("{path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        error: ReadError,
    },
    /// The file has another format.
    #[error("{path} is not a state of `bump`: {message}")]
    Form {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
}

impl Troubles {
    /// Reads a state file; a missing file has no errors.
    ///
    /// # Errors
    /// Returns [`TroublesError`] if the file cannot be read or has another format.
    pub fn read(path: &Path) -> Result<Self, TroublesError> {
        let shown = || path.display().to_string();
        let bytes = match path.canonicalize() {
            Ok(real) => read_bounded(&real, Path::new("/"), STATE_LIMIT),
            Err(error) => Err(error.into()),
        };
        match bytes {
            Err(ReadError::NotFound) => Ok(Self::default()),
            Err(error) => Err(TroublesError::Read { path: shown(), error }),
            Ok(bytes) => acp_registry_plan::json::whole(&bytes)
                .map_err(|error| TroublesError::Form { path: shown(), message: error.to_string() }),
        }
    }

    /// The text of the state file.
    pub(super) fn to_text(&self) -> String {
        acp_registry_plan::json::to_string(self)
    }

    /// Adds the results of a run. Agents without an error are removed, and rate limits are not recorded. If no source
    /// answered for any agent, the cause is this machine's network, and nothing is recorded.
    pub fn update(&mut self, bumped: &[Bumped], now: OffsetDateTime) {
        let is_outage = |one: &Bumped| matches!(&one.result, Err(error) if error.kind.is_outage());
        if bumped.iter().all(is_outage) {
            return;
        }
        for Bumped { id, channel, result, .. } in bumped {
            let name = channel.as_str().to_owned();
            let Err(error) = result else {
                if let Some(channels) = self.agents.get_mut(id) {
                    channels.remove(&name);
                }
                continue;
            };
            // It says nothing about the agent: neither that its updates fail, nor that they work again.
            if error.kind == ErrorKind::RateLimited {
                continue;
            }
            let now = now.replace_nanosecond(0).unwrap_or(now);
            let channels = self.agents.entry(id.clone()).or_default();
            let trouble = channels.entry(name).or_insert(Trouble { kind: String::new(), since: now, runs: 0 });
            error.kind.as_str().clone_into(&mut trouble.kind);
            trouble.runs = trouble.runs.saturating_add(1);
        }
        self.agents.retain(|_, channels| !channels.is_empty());
    }

    /// Removes agents that are no longer in the registry.
    pub fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        self.agents.retain(|id, _| is_there(id));
    }

    /// The recorded error of a channel of an agent.
    pub fn of(&self, id: &str, channel: Channel) -> Option<&Trouble> {
        self.agents.get(id)?.get(channel.as_str())
    }

    /// The reason for putting an agent into quarantine: its stable channel has had errors for at least `after`.
    pub fn reason(&self, id: &str, after: Duration, now: OffsetDateTime) -> Option<String> {
        let trouble = self.of(id, Channel::Stable)?;
        let is_over = now - trouble.since >= after;
        // The state file may have been written by a later version with more kinds.
        let words = serde_json::from_value(trouble.kind.as_str().into()).map(ErrorKind::words);
        let words = words.unwrap_or(&trouble.kind);
        is_over.then(|| format!("{REASON}{}: {words}", trouble.since.date()))
    }

    /// Whether a quarantine reason was proposed by [`Self::reason`], rather than written by a person.
    pub(super) fn is_proposed(reason: &str) -> bool {
        reason.starts_with(REASON)
    }
}

impl From<TroublesError> for Failure {
    fn from(error: TroublesError) -> Self {
        let help = match error {
            TroublesError::Form { .. } => "remove it to begin anew",
            TroublesError::Read { .. } => "name a file that can be read and written with --state",
        };
        Self::usage(error).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ChannelOutcome;
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    fn bumped(id: &str, kind: Option<ErrorKind>) -> Bumped {
        let result = kind.map_or(Ok(ChannelOutcome::UpToDate), |kind| Err(kind.because("why")));
        Bumped { id: id.to_owned(), channel: Channel::Stable, result, notes: Vec::new() }
    }

    #[test]
    fn a_trouble_lasts_until_a_run_without_it() {
        let start = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let mut troubles = Troubles::default();
        for run in 0..10 {
            let kind = if run < 5 { ErrorKind::NotFound } else { ErrorKind::AssetMissing };
            troubles.update(&[bumped("a", Some(kind)), bumped("b", (run < 9).then_some(kind))], start + DAY * run);
        }
        // A run without a network records nothing.
        let down = Some(ErrorKind::SourceUnavailable);
        troubles.update(&[bumped("a", down), bumped("b", down)], start);
        let trouble = troubles.of("a", Channel::Stable).unwrap();
        assert_eq!((trouble.runs, trouble.since, trouble.kind.as_str()), (10, start, "asset_missing"));
        assert_eq!(troubles.of("b", Channel::Stable), None);
        let now = start + DAY * 9;
        assert_eq!(troubles.reason("a", DAY * 10, now), None);
        let reason = troubles.reason("a", DAY * 9, now).unwrap();
        assert_eq!(reason, "updates have failed since 2027-01-15: an archive is missing");
        assert!(Troubles::is_proposed(&reason) && !Troubles::is_proposed("it hangs"));
        let limited = Some(ErrorKind::RateLimited);
        let limited = [bumped("a", limited), bumped("b", None), bumped("c", limited)];
        let before = troubles.clone();
        troubles.update(&limited, now);
        assert_eq!(troubles, before);
        troubles.keep(|id| id != "a");
        assert_eq!(troubles, Troubles::default());
    }

    #[test]
    fn the_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        assert_eq!(Troubles::read(&path).unwrap(), Troubles::default());
        let mut troubles = Troubles::default();
        troubles.update(&[bumped("a", Some(ErrorKind::NotFound))], OffsetDateTime::UNIX_EPOCH);
        std::fs::write(&path, troubles.to_text()).unwrap();
        assert_eq!(Troubles::read(&path).unwrap(), troubles);
        for odd in ["", "[]", "{\"agents\":{\"a\":{\"stable\":{}}}}", "{\"x\":1}"] {
            std::fs::write(&path, odd).unwrap();
            let message = Troubles::read(&path).unwrap_err().to_string();
            assert!(message.contains("state.json is not a state of `bump`"), "{message}");
        }
    }
}
