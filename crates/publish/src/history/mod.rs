//! LOAD: when agents came, changed and went.
//!
//! * [`History::of_registry`]: from the commits of the git repository that holds the registry
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

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

pub use file::HistoryError;

/// What happened to the agents of a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    events: Vec<Event>,
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
pub struct Event {
    /// When.
    pub time: Moment,
    /// Id of the agent.
    pub id: String,
    /// Its name at that time, as in the manifest.
    pub name: String,
    /// Its version after the event; the last one, when it was withdrawn.
    pub version: String,
    /// What.
    pub kind: Kind,
}

/// What happens to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
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

impl Kind {
    /// The word used in every output format.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated { .. } => "updated",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// A second, in UTC, between 1970 and the year 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(OffsetDateTime);

impl Moment {
    /// Seconds since 1970; `None` outside the years that have four digits.
    #[must_use]
    pub fn from_unix(seconds: i64) -> Option<Self> {
        let time = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
        (seconds >= 0 && time.year() <= 9999).then_some(Self(time))
    }

    /// A time in the form of RFC 3339; fractions of a second are cut off.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::from_unix(OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp())
    }

    /// `YYYY-MM-DD`.
    #[must_use]
    pub fn day(self) -> String {
        self.rfc3339().get(..10).unwrap_or_default().to_owned()
    }

    /// `YYYY-MM-DDThh:mm:ssZ`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.0.format(&Rfc3339).unwrap_or_default()
    }

    /// Days since 1970.
    #[must_use]
    pub fn days(self) -> i64 {
        self.0.unix_timestamp() / 86_400
    }
}

impl History {
    /// Events in the order in which they happened, oldest first.
    fn new(mut events: Vec<Event>, extent: Extent) -> Self {
        // Stable, so that those of one agent at one time keep their order.
        events.sort_by_key(|event| event.time);
        events.reverse();
        Self { events, extent }
    }

    /// What happened, newest first.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How far back that goes.
    #[must_use]
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// The events of each agent, newest first.
    #[must_use]
    pub fn by_agent(&self) -> BTreeMap<&str, Vec<&Event>> {
        let mut agents: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in &self.events {
            agents.entry(&event.id).or_default().push(event);
        }
        agents
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_in_utc() {
        let moment = Moment::parse("2026-11-02T01:30:00.9+02:00").unwrap();
        assert_eq!((moment.day().as_str(), moment.rfc3339().as_str()), ("2026-11-01", "2026-11-01T23:30:00Z"));
        assert_eq!(Moment::from_unix(0).unwrap().days(), 0);
        for refused in [-1, i64::MAX, 253_402_300_800] {
            assert_eq!(Moment::from_unix(refused), None);
        }
        assert_eq!(Moment::parse("2026-11-02"), None);
    }
}
