//! LOAD: when agents came, changed and went.
//!
//! * [`History::read`]: from the commits of the git repository that holds the registry
//! * [`History::parse`]: from a `history.json`, which [`History::to_json`] writes
//!
//! * [`History::continued`]: from a published history, and what has changed since that was published
//!
//! Times are those of commits, or of publications. Where nothing is known there is no event: nothing here looks at a clock or
//! at the times of files.

mod file;
mod git;

use std::collections::BTreeMap;

use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::timestamp::Timestamp;
pub use file::HistoryError;
pub use git::{EarlierManifest, EarlierManifests};

use self::file::INCOMPLETE;
use crate::diff::{Changes, DiffAgent};

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
    /// The page of that version's release, if its archives are of a GitHub release.
    pub release: Option<String>,
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

impl History {
    /// Appends the `changes` since an earlier tree was published to the history of that tree.
    ///
    /// `own` is the history that the registry itself has, which may be incomplete. It gives the time of the changes
    /// that it contains; others get the time `now`.
    ///
    /// Without an earlier history, the result continues `own`.
    pub fn continued(earlier: Option<Self>, changes: &Changes, own: &Self, now: Timestamp) -> Self {
        let Self { events: told, extent } = earlier.unwrap_or_else(|| {
            let extent = match &own.extent {
                Extent::Nothing(_) => Extent::Part(INCOMPLETE.to_owned()),
                other => other.clone(),
            };
            Self { events: own.events.clone(), extent }
        });
        let event = |agent: &DiffAgent, kind: EventKind| {
            let (id, name, version) = (agent.id.clone(), agent.name.clone(), agent.version.clone());
            let release = agent.release.clone().filter(|_| kind != EventKind::Withdrawn);
            HistoryEvent { time: now, id, name, version, release, kind }
        };
        let added = changes.added.iter().map(|agent| event(agent, EventKind::Added));
        let removed = changes.removed.iter().map(|agent| event(agent, EventKind::Withdrawn));
        let updated = changes.updated.iter().filter(|one| one.is_new_version());
        let updated = updated.map(|one| event(&one.agent, EventKind::Updated { from: one.from.clone() }));
        let mut since = Vec::new();
        // In reverse, because [`Self::new`] reverses the events.
        for mut event in removed.chain(updated).chain(added).filter(|event| AgentId::is_valid(&event.id)) {
            let is_same = |other: &&HistoryEvent| {
                (&other.id, &other.version, other.kind.as_str()) == (&event.id, &event.version, event.kind.as_str())
            };
            let last = told.iter().find(|other| other.id == event.id);
            if last.as_ref().is_some_and(is_same) {
                continue;
            }
            if let Some(known) = own.events.iter().find(is_same) {
                event.time = known.time;
            }
            // An agent's events keep their order, even if a clock was set back.
            event.time = last.map_or(event.time, |last| event.time.max(last.time));
            since.push(event);
        }
        if since.is_empty() && told.is_empty() && matches!(own.extent, Extent::Nothing(_)) {
            return own.clone();
        }
        Self::new(told.into_iter().rev().chain(since).collect(), extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Agents, compare};

    fn changes(old: &str, new: &str) -> Changes {
        let index = |agents: &str| Agents::parse(format!("{{\"agents\":[{agents}]}}").as_bytes()).unwrap();
        compare(&index(old), &index(new))
    }

    fn shown(history: &History) -> Vec<String> {
        let shown = |event: &HistoryEvent| {
            format!("{} {} {} {}", event.time.unix(), event.kind.as_str(), event.id, event.version)
        };
        history.events().iter().map(shown).collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix(seconds).unwrap()
    }

    #[test]
    fn an_event_leads_to_the_release_of_its_version() {
        let archive =
            r#""distribution":{"binary":{"x":{"archive":"https://github.com/o/r/releases/download/v2/a.zip"}}}"#;
        let newer = format!(r#"{{"id":"a","name":"A","version":"2",{archive}}}"#);
        let history = History::continued(None, &changes(A1, &newer), &History::default(), at(10));
        let page = Some("https://github.com/o/r/releases/tag/v2");
        assert_eq!(history.events()[0].release.as_deref(), page);
        let gone = History::continued(Some(history), &changes(&newer, ""), &History::default(), at(20));
        assert_eq!((gone.events()[0].release.as_deref(), gone.events()[1].release.as_deref()), (None, page));
        assert_eq!(History::parse(gone.to_json(|_| true).unwrap().as_bytes()).unwrap(), gone);
    }

    const A1: &str = r#"{"id":"a","name":"A","version":"1"}"#;
    const A2: &str = r#"{"id":"a","name":"A","version":"2"}"#;
    const B1: &str = r#"{"id":"b","version":"1"}, {"id":"../x","version":"1"}"#;

    #[test]
    fn what_has_changed_since_comes_after_what_was_told() {
        let nothing = History::default();
        let first = History::continued(None, &changes(A1, &format!("{A2},{B1}")), &nothing, at(10));
        assert_eq!(shown(&first), ["10 added b 1", "10 updated a 2"]);
        assert!(matches!(first.extent(), Extent::Part(_)));
        let second = History::continued(Some(first.clone()), &changes(&format!("{A2},{B1}"), A2), &nothing, at(20));
        assert_eq!(shown(&second), ["20 withdrawn b 1", "10 added b 1", "10 updated a 2"]);
        // A clock that was set back does not change the order.
        let third = History::continued(Some(second.clone()), &changes(A2, A1), &nothing, at(5));
        assert_eq!(shown(&third)[1..], ["10 updated a 1", "10 added b 1", "10 updated a 2"].map(String::from)[..]);
        assert_eq!(History::continued(Some(second.clone()), &Changes::default(), &nothing, at(30)), second);
        assert_eq!(History::continued(None, &Changes::default(), &nothing, at(30)), nothing);
    }

    #[test]
    fn what_the_registry_knows_itself_has_its_own_time() {
        let event = |time, version: &str, kind| HistoryEvent {
            time: at(time),
            id: "a".to_owned(),
            name: "A".to_owned(),
            version: version.to_owned(),
            release: None,
            kind,
        };
        let update = || EventKind::Updated { from: "1".to_owned() };
        let own = History::new(vec![event(7, "2", update())], Extent::Part("shallow".to_owned()));
        let told = History::new(vec![event(1, "1", EventKind::Added)], Extent::Whole);
        let continued = History::continued(Some(told), &changes(A1, A2), &own, at(20));
        assert_eq!(shown(&continued), ["7 updated a 2", "1 added a 1"]);
        assert_eq!(continued.extent(), &Extent::Whole);
        assert_eq!(History::continued(None, &changes(A1, A2), &own, at(20)), own);
    }
}
