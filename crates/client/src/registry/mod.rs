//! LOAD: a registry directory: its agents and its quarantine list.
//!
//! Loading never fails because of one entry: unreadable entries are kept with the reason, which the checks report.

mod closure;
mod load;

use std::collections::BTreeMap;

use acp_registry_plan::manifest::Manifest;
use acp_registry_plan::timestamp::date;
use serde_json::Value;
use time::Date;

pub use closure::ClosureProblem;
pub use load::{AgentFolder, DEFAULT_BASE_URL, ICON_LIMIT, LoadError, Loaded, MANIFEST_LIMIT, Registry, Stray};

/// The quarantine list.
#[derive(Debug)]
pub struct Quarantine {
    /// The document, for positions.
    pub document: Manifest,
    /// The agents, by id. Any member prevents its agent from being started, even if it is malformed.
    pub holds: BTreeMap<String, Hold>,
}

/// Why an agent is in quarantine, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The reason, as written.
    pub reason: String,
    /// The last day, in UTC; `None` if there is no end.
    pub until: Option<Date>,
}

impl Quarantine {
    fn of(document: Manifest) -> Self {
        let value = document.value();
        let members = value.as_object().into_iter().flatten();
        let holds = members.map(|(id, value)| (id.clone(), Hold::of(value))).collect();
        Self { document, holds }
    }
}

impl Hold {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let Some(reason) = value.as_str().or_else(|| text("reason")) else {
            // Without a reason, the entry is malformed, so its date is ignored too.
            return Self { reason: "no reason is given".to_owned(), until: None };
        };
        Self { reason: reason.to_owned(), until: text("until").and_then(date) }
    }

    /// Whether the last day has passed, so that the agent should be reviewed.
    #[must_use]
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

#[cfg(test)]
mod tests {
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
}
