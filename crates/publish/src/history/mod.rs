//! LOAD: when agents came, changed and went.
//!
//! * [`History::read`]: from the commits of the git repository that holds the registry
//! * [`History::parse`]: from a `history.json`, which [`History::to_json`] writes
//!
//! * [`History::continued`]: from a published history, and what has changed since that was published
//!
//! Times are those of commits, or of publications. Where nothing is known there is no event: nothing here looks at a clock or
//! at the times of files.

mod between;
mod file;
mod git;

use std::collections::BTreeMap;

use acp_registry_plan::timestamp::Timestamp;

pub use file::HistoryError;

/// What happened to the agents of a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    events: Vec<HistoryEvent>,
    extent: Extent,
}

/// How far back a history goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// To the beginning.
    Whole,
    /// Not to the beginning: what was there at its start has no date. The text says why, as a whole sentence.
    Part(String),
    /// Nothing is known. The text says why, as a whole sentence.
    Nothing(String),
}

impl Default for Extent {
    fn default() -> Self {
        Self::Nothing("No history was given.".to_owned())
    }
}

/// Something that happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEvent {
    /// When.
    pub time: Timestamp,
    /// Id of the agent.
    pub id: String,
    /// Its name at that time, as in the manifest.
    pub name: String,
    /// Its version after the event; the last one, when it was withdrawn.
    pub version: String,
    /// What.
    pub kind: EventKind,
}

/// What happens to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// It was not there before.
    Added,
    /// It has another version. Other changes of an entry are not events.
    Updated {
        /// The version before.
        from: String,
    },
    /// It is not there any more.
    Withdrawn,
}

impl EventKind {
    /// The word used in every output format.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated { .. } => "updated",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl History {
    /// Events in the order in which they happened, oldest first.
    fn new(mut events: Vec<HistoryEvent>, extent: Extent) -> Self {
        // Stable, so that those of one agent at one time keep their order.
        events.sort_by_key(|event| event.time);
        events.reverse();
        Self { events, extent }
    }

    /// What happened, newest first.
    pub fn events(&self) -> &[HistoryEvent] {
        &self.events
    }

    /// How far back that goes.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// The events of each agent, newest first.
    pub(crate) fn by_agent(&self) -> BTreeMap<&str, Vec<&HistoryEvent>> {
        let mut agents: BTreeMap<&str, Vec<&HistoryEvent>> = BTreeMap::new();
        for event in &self.events {
            agents.entry(&event.id).or_default().push(event);
        }
        agents
    }
}
