//! `quarantine.json`: agents that are published, but not started or updated.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::Value;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

use crate::manifest::Manifest;

/// The quarantine list.
#[derive(Debug)]
pub struct Quarantine {
    /// The document, for its places.
    pub document: Manifest,
    /// The agents, by id. A member of any form keeps its agent from being started, also a wrong one.
    pub holds: BTreeMap<String, Hold>,
}

/// Why an agent is in quarantine, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The reason, as it was written.
    pub reason: String,
    /// The last day, in UTC; `None` for no end.
    pub until: Option<Date>,
}

impl Quarantine {
    pub(super) fn of(document: Manifest) -> Self {
        let members = document.value().as_object().into_iter().flatten();
        let holds = members.map(|(id, value)| (id.clone(), Hold::of(value))).collect();
        Self { document, holds }
    }
}

impl Hold {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let Some(reason) = value.as_str().or_else(|| text("reason")) else {
            // What else in it is a mistake is not known.
            return Self { reason: "no reason is given".to_owned(), until: None };
        };
        Self { reason: reason.to_owned(), until: text("until").and_then(date) }
    }

    /// Whether the last day has passed, so that it is time to look at the agent again.
    #[must_use]
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

/// Reads a date of the form `YYYY-MM-DD`.
#[must_use]
pub fn date(text: &str) -> Option<Date> {
    // Signs and years of other lengths are dates to others.
    let has_form = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    Date::parse(text, format_description!("[year]-[month]-[day]")).ok().filter(|_| has_form)
}

/// The date of a moment, in UTC.
#[must_use]
pub fn today(now: SystemTime) -> Date {
    OffsetDateTime::from(now).date()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use time::macros::date as day;

    use super::*;

    fn hold(text: &str) -> Hold {
        Quarantine::of(Manifest::parse(format!("{{\"a\":{text}}}")).unwrap()).holds["a"].clone()
    }

    #[test]
    fn an_entry_of_any_form_holds_its_agent() {
        let reason = |text: &str| hold(text).reason;
        assert_eq!(reason(r#""crashes""#), "crashes");
        assert_eq!(reason(r#"{"reason":"crashes"}"#), "crashes");
        for wrong in ["7", "null", "{}", "[]", r#"{"reason":7,"until":"2000-01-01"}"#] {
            assert_eq!(hold(wrong), Hold { reason: "no reason is given".to_owned(), until: None }, "{wrong}");
        }
    }

    #[test]
    fn the_last_day_counts_and_a_wrong_one_never_comes() {
        let entry = hold(r#"{"reason":"x","until":"2026-12-31"}"#);
        assert_eq!(entry.until, Some(day!(2026 - 12 - 31)));
        assert!(!entry.is_over(day!(2026 - 12 - 31)));
        assert!(entry.is_over(day!(2027 - 01 - 01)));
        for wrong in
            ["20261231", "\"2026-02-30\"", "\"soon\"", "null"].map(|day| format!(r#"{{"reason":"x","until":{day}}}"#))
        {
            assert!(!hold(&wrong).is_over(Date::MAX), "{wrong}");
        }
    }

    #[test]
    fn dates_have_one_form() {
        assert_eq!(date("2024-02-29"), Some(day!(2024 - 02 - 29)));
        for wrong in
            ["", "2023-02-29", "2024-2-29", "+2024-02-29", "-024-02-29", "20240229", "2024-02-29 ", "2024-13-01"]
        {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_begin_at_midnight_in_utc() {
        let at = |seconds| today(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(86_399), day!(1970 - 01 - 01));
        assert_eq!(at(86_400), day!(1970 - 01 - 02));
    }
}
