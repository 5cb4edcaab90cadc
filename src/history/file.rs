//! `history.json`: a history that stands in a file.

use serde_json::{Map, Value, json};

use super::{Event, Extent, History, Kind, Moment, is_id};

/// What is said of a history that begins somewhere.
pub(super) const INCOMPLETE: &str = "It does not go back to the beginning.";

/// The document is no history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It has another form.
    #[error("is no history: {0}")]
    Form(String),
}

impl History {
    /// Reads a `history.json`.
    ///
    /// # Errors
    /// [`HistoryError`] names the event that cannot be read.
    pub fn parse(text: &[u8]) -> Result<Self, HistoryError> {
        let document: Value = serde_json::from_slice(text)?;
        if document.get("schema") != Some(&json!(1)) {
            return Err(HistoryError::Form("`schema` must be 1".to_owned()));
        }
        let list = document.get("events").and_then(Value::as_array);
        let list = list.ok_or_else(|| HistoryError::Form("there is no list `events`".to_owned()))?;
        let read = |(at, value)| {
            event(value).map_err(|problem| HistoryError::Form(format!("event {} of `events` {problem}", at + 1)))
        };
        let mut events = list.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        // Newest first in the file.
        events.reverse();
        let extent = match document.get("incomplete").and_then(Value::as_str) {
            None => Extent::Whole,
            Some(_) => Extent::Part(INCOMPLETE.to_owned()),
        };
        Ok(Self::new(events, extent))
    }

    /// The history as a `history.json`, newest first; `None` when nothing is known.
    #[must_use]
    pub fn to_json(&self, is_shown: impl Fn(&Event) -> bool) -> Option<String> {
        let mut document = Map::from_iter([("schema".to_owned(), json!(1))]);
        match &self.extent {
            Extent::Nothing(_) => return None,
            Extent::Part(why) => drop(document.insert("incomplete".to_owned(), json!(why))),
            Extent::Whole => {}
        }
        let events = self.events.iter().filter(|event| is_shown(event)).map(|event| {
            let mut object = Map::from_iter([
                ("time".to_owned(), json!(event.time.rfc3339())),
                ("event".to_owned(), json!(event.kind.as_str())),
                ("id".to_owned(), json!(event.id)),
                ("name".to_owned(), json!(event.name)),
                ("version".to_owned(), json!(event.version)),
            ]);
            if let Kind::Updated { from } = &event.kind {
                object.insert("from".to_owned(), json!(from));
            }
            Value::Object(object)
        });
        document.insert("events".to_owned(), events.collect());
        Some(crate::json::to_string(&document))
    }
}

fn event(value: &Value) -> Result<Event, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    let needed = |key: &str| text(key).ok_or_else(|| format!("has no text `{key}`"));
    let time = needed("time")?;
    let time = Moment::parse(&time).ok_or_else(|| {
        format!("has the time {}, which is not of the form 2026-01-31T23:59:59Z", crate::text::quote(&time))
    })?;
    let id = needed("id")?;
    if !is_id(&id) {
        return Err(format!("has the id {}, which no agent can have", crate::text::quote(&id)));
    }
    let kind = match needed("event")?.as_str() {
        "added" => Kind::Added,
        "updated" => Kind::Updated { from: needed("from")? },
        "withdrawn" => Kind::Withdrawn,
        other => {
            return Err(format!(
                "is {}, which is none of `added`, `updated` and `withdrawn`",
                crate::text::quote(other)
            ));
        }
    };
    Ok(Event { time, name: text("name").unwrap_or_else(|| id.clone()), version: needed("version")?, id, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<History, String> {
        History::parse(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{ "schema": 1, "events": [
            { "time": "2026-01-02T03:04:05Z", "event": "withdrawn", "id": "a", "name": "A", "version": "2" },
            { "time": "2026-01-02T03:04:05Z", "event": "updated", "id": "a", "name": "A", "version": "2", "from": "1" },
            { "time": "2026-01-01T00:00:00+01:00", "event": "added", "id": "a", "version": "1" } ] }"#;
        let history = parse(text).unwrap();
        let again = History::parse(history.to_json(|_| true).unwrap().as_bytes()).unwrap();
        assert_eq!(again, history);
        assert_eq!(history.events()[2].time.day(), "2025-12-31");
        assert_eq!(history.by_agent()["a"].len(), 3);
        assert_eq!(History::default().to_json(|_| true), None);
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
            (event(r#""time": "2026-01-02T03:04:05Z", "id": "../a""#), "no agent can have"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "renamed""#)), "is `renamed`"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "updated""#)), "no text `from`"),
        ] {
            assert!(text.contains(message), "{text}");
        }
    }
}
