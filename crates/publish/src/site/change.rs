//! An event of the history as pages and feeds show it.

use super::listing::Listing;
use super::text::shown;
use crate::history::{EventKind, HistoryEvent};

/// The maximum number of events of an agent on its page, and of entries of a feed.
pub(super) const ENTRIES: usize = 50;

/// An event as pages show it.
pub(super) struct AgentChange {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) label: &'static str,
    pub(super) name: String,
    pub(super) version: String,
    /// The previous version, for updates.
    pub(super) from: Option<String>,
    pub(super) time: String,
    pub(super) day: String,
    /// Whether the agent has a page.
    pub(super) is_there: bool,
}

impl AgentChange {
    pub(super) fn new(event: &HistoryEvent, is_there: bool) -> Self {
        let name = shown(&event.name, 80);
        let (label, from) = match &event.kind {
            EventKind::Added => ("New", None),
            EventKind::Updated { from } => ("Updated", Some(shown(from, 40))),
            EventKind::Withdrawn => ("Withdrawn", None),
        };
        Self {
            id: event.id.clone(),
            kind: event.kind.as_str(),
            label,
            name: if name.is_empty() { event.id.clone() } else { name },
            version: shown(&event.version, 40),
            from,
            time: event.time.to_string(),
            day: event.time.day(),
            is_there,
        }
    }

    /// The latest events of an agent.
    pub(super) fn of(listing: &Listing<'_>) -> Vec<Self> {
        listing.events.iter().take(ENTRIES).map(|event| Self::new(event, true)).collect()
    }
}
