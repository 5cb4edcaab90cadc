//! Definition of a check, and the levels of an examination.

use std::pin::Pin;

use serde::{Deserialize, Serialize};

use super::agent::StartedAgent;
use super::client::ClientOffer;
use super::failure::CheckFailure;
use super::messages::OutputViolations;
use super::remote::Visit;

/// A check: its id, the page of the protocol that it is based on, its documentation, two exchanges, and its function.
#[derive(Debug)]
pub struct Check {
    /// Stable id, such as `protocol/ids`: the level, then a name.
    pub id: &'static str,
    /// How strongly the page demands the behavior.
    pub force: Force,
    /// Path of the page on the protocol's documentation site.
    pub spec: &'static str,
    /// What a passing agent does: one line without a subject or a full stop.
    pub summary: &'static str,
    /// What the page says, and what a violation causes.
    pub why: &'static str,
    /// How to fix a failure.
    pub fix: &'static str,
    /// Lines with which both exchanges of the documentation begin; may be empty.
    pub(super) begins: &'static str,
    /// How an exchange goes on that fails the check.
    pub(super) fails: &'static str,
    /// How an exchange goes on that passes the check.
    pub(super) passes: &'static str,
    pub(super) run: Run,
}

impl Check {
    /// An exchange that fails the check.
    pub fn failing_exchange(&self) -> String {
        self.exchange(self.fails)
    }

    /// An exchange that passes the check.
    pub fn passing_exchange(&self) -> String {
        self.exchange(self.passes)
    }

    fn exchange(&self, end: &str) -> String {
        let between = if self.begins.is_empty() { "" } else { "\n" };
        format!("{}{between}{end}", self.begins)
    }

    /// The level of the check, by its id.
    pub fn level(&self) -> Level {
        Level::named(self.id.split('/').next().unwrap_or_default()).unwrap_or_default()
    }

    /// Whether the page is a proposal, which may change or be dropped. Elicitation has become a part of the protocol; its
    /// page still is that of the proposal.
    pub fn is_proposal(&self) -> bool {
        self.spec.starts_with("rfds/") && self.spec != "rfds/elicitation"
    }
}

/// How strongly the specification demands a behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Force {
    /// The specification requires it.
    Must,
    /// The specification recommends it.
    Should,
    /// The specification does not mention it, but clients encounter it.
    Observed,
}

impl Force {
    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Observed => "observed",
        }
    }
}

/// The function of a check that exchanges messages with an agent.
pub(super) type Talk =
    for<'a> fn(&'a mut StartedAgent) -> Pin<Box<dyn Future<Output = Result<(), CheckFailure>> + Send + 'a>>;

/// How a check runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    /// Exchanges messages with an agent in this state.
    Talk(Setup, Talk),
    /// Judges the output that all instances wrote during the other checks.
    Heard(fn(&OutputViolations) -> Result<(), CheckFailure>),
    /// Speaks with the server of an agent on a network.
    Visit(Visit),
}

/// State of an agent when a check begins. Checks of one instance run in the order of the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setup {
    /// It has answered `initialize` and possibly other checks, and keeps running after this one.
    Shared,
    /// Like `Shared`, but the check ends the agent.
    Ending,
    /// It has not received `initialize`, but possibly other requests.
    Silent,
    /// It was started and possibly used by checks of `Silent`, and the check ends it.
    Stopping,
    /// It received `initialize` from a client without capabilities, and may have answered with an error.
    Bare,
    /// It has a scripted model, and a client that offers neither a file system nor terminals. It may have sessions of
    /// other checks.
    Session,
    /// Like `Session`, but the client offers a file system and terminals.
    Editor,
    /// Like `Editor`, but the client also offers what proposals for version 1 need.
    Draft,
    /// Like `Session`, but the client asks for version 2. The agent may have answered with version 1.
    Next,
    /// It has a scripted model, was started for this check, and nothing was sent yet.
    Apart,
}

impl Setup {
    /// The setup that the instance had before its first check. Checks for which this is the same share instances.
    pub(super) fn instance(self) -> Self {
        match self {
            Self::Ending => Self::Shared,
            Self::Stopping => Self::Silent,
            other => other,
        }
    }

    /// Whether the agent gets the scripted model.
    pub(super) fn has_model(self) -> bool {
        matches!(self, Self::Session | Self::Editor | Self::Draft | Self::Next | Self::Apart)
    }

    /// Whether no check with this setup runs without a session.
    pub(super) fn needs_session(self) -> bool {
        matches!(self, Self::Session | Self::Editor)
    }

    /// What the client advertises.
    pub(super) fn offer(self) -> ClientOffer {
        match self {
            Self::Bare => ClientOffer::Nothing,
            Self::Session => ClientOffer::NoFiles,
            Self::Draft => ClientOffer::Drafts,
            Self::Next => ClientOffer::Next,
            _ => ClientOffer::All,
        }
    }

    /// Whether the agent stays for the next check of the same instance.
    pub(super) fn is_shared(self) -> bool {
        !matches!(self, Self::Ending | Self::Stopping | Self::Apart)
    }

    /// Whether the check sends `initialize` itself.
    pub(super) fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::Apart)
    }
}

/// Level of an examination. Each level includes the previous ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The agent answers `initialize`.
    #[default]
    Handshake,
    /// Its server follows the transport for networks. Only agents at an address have this level.
    #[serde(skip_deserializing)]
    Transport,
    /// It follows the protocol, as far as this can be checked without opening a session.
    Protocol,
    /// It opens, lists, loads and configures sessions as it advertises.
    Sessions,
    /// It carries out prompts with a scripted model.
    Turns,
    /// It follows the proposals for later versions of the protocol that it advertises.
    Drafts,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: [Self; 6] =
        [Self::Handshake, Self::Transport, Self::Protocol, Self::Sessions, Self::Turns, Self::Drafts];

    /// The levels of an agent that is started by a command, as the agents of registries are.
    pub const OF_COMMANDS: [Self; 5] = [Self::Handshake, Self::Protocol, Self::Sessions, Self::Turns, Self::Drafts];

    /// The name used in flags and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Transport => "transport",
            Self::Protocol => "protocol",
            Self::Sessions => "sessions",
            Self::Turns => "turns",
            Self::Drafts => "drafts",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// Whether an agent gets a scripted model at this level.
    pub fn has_model(self) -> bool {
        self >= Self::Sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_an_order_and_names() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
    }
}
