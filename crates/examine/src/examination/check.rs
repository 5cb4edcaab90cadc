//! What a check is.

use std::pin::Pin;

use serde::Serialize;

use super::agent::{Agent, Trouble};
use super::level::Level;
use super::messages::Heard;

/// A check: an id, the page of the protocol that it rests on, documentation, two exchanges, and the function that tries.
#[derive(Debug)]
pub struct Check {
    /// Stable id, `level/what`.
    pub id: &'static str,
    /// The level that it belongs to.
    pub level: Level,
    /// What the page says of it.
    pub force: Force,
    /// The page of the protocol's documentation, below its address.
    pub spec: &'static str,
    /// What an agent does that passes, in one line.
    pub summary: &'static str,
    /// What the page says, and for whom it matters.
    pub why: &'static str,
    /// What to do about a failure.
    pub fix: &'static str,
    /// An exchange that fails the check.
    pub fails: &'static str,
    /// The same with an agent that passes.
    pub passes: &'static str,
    pub(super) run: Run,
}

/// How much the specification demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Force {
    /// It requires it.
    Must,
    /// It recommends it.
    Should,
    /// It says nothing of it, but clients meet it.
    Observed,
}

impl Force {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Observed => "observed",
        }
    }
}

/// The work of a check with an agent.
pub(super) type Talk = for<'a> fn(&'a mut Agent) -> Pin<Box<dyn Future<Output = Result<(), Trouble>> + Send + 'a>>;

/// How a check is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Run {
    /// By speaking to an agent that is in this state.
    Talk(Setup, Talk),
    /// By what was heard from all agents that the other checks have spoken to.
    Heard(fn(&Heard) -> Result<(), Trouble>),
}

/// What has happened to an agent before a check speaks to it. Checks are made in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Setup {
    /// It has answered `initialize`, and perhaps other checks. It goes on.
    Shared,
    /// The same, but the check ends it.
    Ending,
    /// It was started for this check, and has answered `initialize`.
    Own,
    /// It was asked by a client that can do nothing for it, and has perhaps refused.
    Bare,
    /// It was started for this check, and nothing was said yet.
    Silent,
}
