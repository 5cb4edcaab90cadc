//! Reads and writes `history.json`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{EventKind, Extent, History, HistoryEvent};
use crate::release::is_release_page;
use acp_registry_plan::json::{self, List, Object};
use acp_registry_plan::manifest::AgentId;

/// The maximum number of events in a file; older ones are left out.
const EVENTS: usize = 100_000;

/// The maximum number of members that are read of an event.
const MEMBERS: usize = 100;

/// The extent of an incomplete history that was read from a file or continued from a published tree.
pub(super) const INCOMPLETE: &str = "The history does not go back to the beginning.";

/// The document is not a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The document is not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The document has another form; the text says where.
    #[error("is not a history: {0}")]
    Form(String),
}

impl History {
    /// Parses a `history.json`.
    ///
    /// # Errors
    /// [`HistoryError`], which gives the number of an invalid event.
    pub fn parse(text: &[u8]) -> Result<Self, HistoryError> {
        let document: &RawValue = serde_json::from_slice(text)?;
        let document: HistoryMembers<'_> = json::object(Some(document)).unwrap_or_default();
        if document.schema.is_none_or(|schema| schema.get() != "1") {
            return Err(HistoryError::Form("`schema` must be 1".to_owned()));
        }
        let list: Option<List<'_, EVENTS>> = document.events.and_then(|list| serde_json::from_str(list.get()).ok());
        let list = list.ok_or_else(|| HistoryError::Form("there is no list `events`".to_owned()))?;
        let read = |(at, part)| {
            event(part).map_err(|problem| HistoryError::Form(format!("event {} of `events` {problem}", at + 1)))
        };
        let mut events = list.items.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        // The file has the newest event first.
        events.reverse();
        let is_whole = json::text(document.incomplete).is_none() && !list.is_longer;
        let extent = if is_whole { Extent::Whole } else { Extent::Part(INCOMPLETE.to_owned()) };
        Ok(Self::new(events, extent))
    }

    /// Serializes the events that `is_shown` selects as a `history.json`, newest first and at most 100,000; `None` if
    /// nothing is known.
    pub fn to_json(&self, is_shown: impl Fn(&HistoryEvent) -> bool) -> Option<String> {
        let incomplete = match &self.extent {
            Extent::Nothing(_) => return None,
            Extent::Part(why) => Some(why.as_str()),
            Extent::Whole => None,
        };
        let mut shown = self.events.iter().filter(|event| is_shown(event));
        let events = shown.by_ref().take(EVENTS).map(|event| WrittenEvent {
            time: event.time.to_string(),
            event: event.kind.as_str(),
            id: &event.id,
            name: &event.name,
            version: &event.version,
            release: event.release.as_deref(),
            from: if let EventKind::Updated { from } = &event.kind { Some(from) } else { None },
        });
        let events = events.collect();
        let incomplete = if shown.next().is_some() { incomplete.or(Some(INCOMPLETE)) } else { incomplete };
        Some(json::to_string(&Written { schema: 1, incomplete, events }))
    }
}

#[derive(Serialize)]
struct Written<'a> {
    schema: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a str>,
    events: Vec<WrittenEvent<'a>>,
}

#[derive(Serialize)]
struct WrittenEvent<'a> {
    time: String,
    event: &'static str,
    id: &'a str,
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct HistoryMembers<'a> {
    schema: Option<&'a RawValue>,
    incomplete: Option<&'a RawValue>,
    events: Option<&'a RawValue>,
}

fn event(part: &RawValue) -> Result<HistoryEvent, String> {
    let object: Object<'_, MEMBERS> = json::object(Some(part)).unwrap_or_default();
    let text = |key: &str| {
        let (_, value) = object.members.iter().rfind(|(name, _)| name == key)?;
        json::text(Some(value)).map(Cow::into_owned)
    };
    let needed = |key: &str| text(key).ok_or_else(|| format!("has no text `{key}`"));
    let time = needed("time")?;
    let time = time.parse().map_err(|_| {
        format!("has the time {}, which is not of the form 2026-01-31T23:59:59Z", acp_registry_plan::text::quote(&time))
    })?;
    let id = needed("id")?;
    if !AgentId::is_valid(&id) {
        return Err(format!("has the id {}, which is not a valid agent id", acp_registry_plan::text::quote(&id)));
    }
    let kind = match needed("event")?.as_str() {
        "added" => EventKind::Added,
        "updated" => EventKind::Updated { from: needed("from")? },
        "withdrawn" => EventKind::Withdrawn,
        other => {
            return Err(format!(
                "is {}, which is not one of `added`, `updated` and `withdrawn`",
                acp_registry_plan::text::quote(other)
            ));
        }
    };
    let release = text("release").filter(|address| is_release_page(address));
    Ok(HistoryEvent {
        time,
        release,
        name: text("name").unwrap_or_else(|| id.clone()),
        version: needed("version")?,
        id,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use acp_registry_plan::timestamp::Timestamp;

    use super::*;

    fn parse(text: &str) -> Result<History, String> {
        History::parse(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{ "schema": 1, "events": [
            { "time": "2026-01-02T03:04:05Z", "event": "withdrawn", "id": "a", "name": "A", "version": "2" },
            { "time": "2026-01-02T03:04:05Z", "event": "updated", "id": "a", "name": "A", "version": "2", "from": "1" },
            { "time": "2026-01-01T00:00:00+01:00", "event": "added", "id": "a", "version": "1",
              "release": "https://evil.example/o/r/releases/tag/v1" } ] }"#;
        let history = parse(text).unwrap();
        assert_eq!(history.events()[2].release, None);
        let again = History::parse(history.to_json(|_| true).unwrap().as_bytes()).unwrap();
        assert_eq!(again, history);
        assert_eq!(history.events()[2].time.day(), "2025-12-31");
        assert_eq!(history.by_agent()["a"].len(), 3);
        assert_eq!(History::default().to_json(|_| true), None);
    }

    #[test]
    fn the_oldest_events_of_a_long_history_are_left_out() {
        let event = |number: usize| {
            let time = Timestamp::from_unix(number.try_into().unwrap()).unwrap();
            let (id, name) = ("a".to_owned(), "A".to_owned());
            HistoryEvent { time, id, name, version: number.to_string(), release: None, kind: EventKind::Added }
        };
        let history = History::new((0..=EVENTS).map(event).collect(), Extent::Whole);
        let text = history.to_json(|_| true).unwrap();
        let read = parse(&text).unwrap();
        assert_eq!((read.events().len(), &*read.events()[EVENTS - 1].version), (EVENTS, "1"));
        assert!(matches!(read.extent(), Extent::Part(_)));
        // A file that a person has edited may be longer.
        let longer = text.replacen(
            "\"events\": [",
            "\"events\": [{\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"added\",\"id\":\"b\",\"version\":\"1\"},",
            1,
        );
        assert_ne!(longer, text);
        assert_eq!(parse(&longer).unwrap().events().len(), EVENTS);
        assert_eq!(
            history.to_json(|event| event.version != "0"),
            Some(text.replace(&format!("  \"incomplete\": \"{INCOMPLETE}\",\n"), ""))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let event = |body: &str| parse(&format!(r#"{{ "schema": 1, "events": [{{ {body} }}] }}"#)).unwrap_err();
        let rest = r#""id": "a", "version": "1", "event""#;
        for (text, message) in [
            (parse("{").unwrap_err(), "is not JSON"),
            (parse("{}").unwrap_err(), "`schema` must be 1"),
            (parse(r#"{ "schema": 1 }"#).unwrap_err(), "no list `events`"),
            (event(""), "event 1 of `events` has no text `time`"),
            (event(r#""time": "yesterday""#), "has the time `yesterday`"),
            (event(r#""time": "2026-01-02T03:04:05Z", "id": "../a""#), "not a valid agent id"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "renamed""#)), "is `renamed`"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "updated""#)), "no text `from`"),
        ] {
            assert!(text.contains(message), "{text}");
        }
    }
}
