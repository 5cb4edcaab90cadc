use serde::Serialize;

use super::{AgentError, Error};

/// What happens, as `--progress json` tells it: one line of JSON each.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event<'a> {
    /// An agent is being installed.
    Installing {
        /// The agent.
        id: &'a str,
        /// The version, at the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<&'a str>,
        /// How far it is.
        #[serde(flatten)]
        stage: Stage<'a>,
    },
    /// An agent is being checked.
    Checking {
        /// The agent with its distribution.
        name: &'a str,
        /// How far it is: `installing`, `starting` or `done`.
        phase: &'static str,
        /// How far the installation is, in the words of npm or uv.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// Sources are being asked.
    Asking {
        /// Questions that are known so far.
        planned: u64,
        /// Questions that have an answer.
        answered: u64,
    },
    /// Files are being sent.
    Sending {
        /// Files that are known so far.
        planned: u64,
        /// Files that were sent.
        sent: u64,
    },
    /// Something that the caller may want to know.
    Note {
        /// The text.
        message: &'a str,
    },
    /// Something that the caller should know although the command succeeds.
    Warning {
        /// The text.
        message: &'a str,
    },
    /// Something has failed without which the command goes on.
    #[serde(rename = "warning")]
    Failing {
        /// What.
        message: &'a str,
        /// One thing to do about it.
        help: Option<String>,
    },
    /// A text for people.
    Text {
        /// The text.
        message: &'a str,
    },
    /// Something that is wrong, in words alone.
    Error {
        /// What.
        message: &'a str,
    },
    /// Why the command failed.
    #[serde(rename = "error")]
    Failed(Error),
    /// Why it failed for one agent.
    #[serde(rename = "error")]
    AgentFailed(AgentError),
}

/// How far an installation is.
#[derive(Debug, Serialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub enum Stage<'a> {
    /// It begins.
    Started,
    /// An archive is being downloaded.
    Downloading {
        /// Bytes so far.
        received: u64,
        /// Bytes of the whole, if it is known.
        total: Option<u64>,
    },
    /// An archive is being unpacked.
    Unpacking,
    /// A package manager is running.
    Running {
        /// Its name.
        program: &'a str,
        /// How far it is, in its own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// It has ended, be it well or not.
    Ended,
}
