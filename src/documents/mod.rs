//! What JSON documents of several commands share, and the events of `--progress json`, as described by `schemas/cli/`. Members
//! are serialized in declaration order.

pub(crate) use acp_registry::documents::{Document, IndexOrigin};
use acp_registry::failure::{AgentFailure, Failure};
use serde::Serialize;

/// An event of `--progress json`, written as one line of JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event<'a> {
    /// Progress of an installation.
    Installing {
        /// The id of the agent.
        id: &'a str,
        /// The version; only with [`Stage::Started`].
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<&'a str>,
        /// The stage of the installation.
        #[serde(flatten)]
        stage: Stage<'a>,
    },
    /// Progress of the check of an agent.
    Checking {
        /// The agent, with its distribution where several are checked.
        name: &'a str,
        /// `installing`, `starting` or `done`.
        phase: &'static str,
        /// Progress of the installation, in the words of npm or uv.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// Progress of requests to package registries and hosts.
    Asking {
        /// Requests known so far.
        planned: u64,
        /// Requests that were answered.
        answered: u64,
    },
    /// Progress of an upload.
    Sending {
        /// Files known so far.
        planned: u64,
        /// Files that were sent.
        sent: u64,
    },
    /// An informational message.
    Note {
        /// The text.
        message: &'a str,
    },
    /// A warning; the command can still succeed.
    Warning {
        /// The text.
        message: &'a str,
    },
    /// A failure that does not stop the command.
    #[serde(rename = "warning")]
    Failing {
        /// The failure.
        message: &'a str,
        /// One command or edit that may fix it.
        help: Option<String>,
    },
    /// Text written for people.
    Text {
        /// The text.
        message: &'a str,
    },
    /// An error that has a message only.
    Error {
        /// The message.
        message: &'a str,
    },
    /// The error that ended the command.
    #[serde(rename = "error")]
    Failed(Failure),
    /// The error for one agent.
    #[serde(rename = "error")]
    AgentFailed(AgentFailure),
}

/// A stage of an installation.
#[derive(Debug, Serialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub(crate) enum Stage<'a> {
    /// The installation has started.
    Started,
    /// An archive is being downloaded.
    Downloading {
        /// Bytes received so far.
        received: u64,
        /// Size of the archive in bytes, if known.
        total: Option<u64>,
    },
    /// An archive is being unpacked.
    Unpacking,
    /// A package manager is running.
    Running {
        /// The name of the package manager.
        program: &'a str,
        /// Its progress, in its own words.
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
    /// The installation has ended, successfully or not.
    Ended,
}
