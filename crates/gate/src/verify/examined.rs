//! Examinations in snapshots: the form of `verify --json`, and when, on which platform and of which version it was made.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use acp_registry_examine::examination::{Demand, Examination, Level, Record};
use acp_registry_plan::manifest::Platform;
use acp_registry_plan::timestamp::Timestamp;

/// Maximum length of a message in a snapshot, in Unicode scalar values.
const MESSAGE: usize = 500;

/// An earlier examination of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierExamination {
    /// The results.
    pub record: Record,
    /// The version that was examined.
    pub version: String,
    /// The platform of the machine, such as `linux-x86_64`, if known.
    pub platform: Option<String>,
    /// When it was made, if known.
    pub at: Option<Timestamp>,
}

impl EarlierExamination {
    /// Reads the examination of a row of a snapshot, or of the report of `verify`. `None` if there is none that this
    /// version understands.
    pub fn of(row: &Value) -> Option<Self> {
        let member = row.get("examination")?;
        let text = |name: &str| member.get(name).and_then(Value::as_str);
        Some(Self {
            record: Record::read(member)?,
            version: text("version").or_else(|| row.get("version")?.as_str())?.to_owned(),
            platform: text("platform").map(ToOwned::to_owned),
            at: text("examined_at").or_else(|| row.get("checked_at")?.as_str()).and_then(|time| time.parse().ok()),
        })
    }

    /// Whether a run with this demand may reuse it instead of examining the same version again.
    pub(super) fn satisfies(&self, demand: &Demand, not_before: SystemTime, now: SystemTime) -> bool {
        let is_recent = self.at.is_some_and(|at| {
            let at = SystemTime::from(at);
            at >= not_before && at <= now
        });
        let meets = demand.require() == Level::Handshake || self.record.meets(demand.require());
        is_recent && self.record.level >= demand.level() && meets
    }
}

/// The member `examination` of a snapshot's row.
pub(super) fn member(examination: &Examination, version: &str, at: SystemTime) -> Value {
    let mut member = Map::new();
    member.insert("examined_at".to_owned(), json!(Timestamp::of(at).map(|time| time.to_string())));
    member.insert("version".to_owned(), json!(version));
    member.insert("platform".to_owned(), json!(Platform::host().map(Platform::as_str)));
    if let Value::Object(results) = json!(examination) {
        member.extend(results);
    }
    for check in member.get_mut("checks").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::String(message)) = check.get_mut("message")
            && let Some((end, _)) = message.char_indices().nth(MESSAGE)
        {
            message.truncate(end);
            message.push('…');
        }
    }
    Value::Object(member)
}

/// Keeps the examination of an earlier row in the row that replaces it, if the version is the same and the new row has
/// none that went as far.
pub(super) fn keep(row: &mut Value, earlier: Option<&Value>) {
    let Some(found) = earlier.and_then(EarlierExamination::of) else { return };
    let reached = |examined: &EarlierExamination| examined.record.reached;
    let goes_further = EarlierExamination::of(row).is_none_or(|new| reached(&found) > reached(&new));
    if goes_further
        && row["version"] == found.version.as_str()
        && let (Some(row), Some(member)) = (row.as_object_mut(), earlier.and_then(|earlier| earlier.get("examination")))
    {
        row.insert("examination".to_owned(), member.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn row(version: &str, reached: Option<&str>) -> Value {
        let mut row = json!({ "id": "a", "version": version });
        if let Some(reached) = reached {
            row["examination"] = json!({
                "examined_at": "2026-11-22T01:02:03Z", "version": version, "platform": "linux-x86_64",
                "level": "protocol", "reached": reached, "model": null, "network": "none", "checks": [],
            });
        }
        row
    }

    #[test]
    fn an_examination_is_only_kept_for_the_same_version_and_if_it_went_further() {
        let kept = |new: &Value, earlier: &Value| {
            let mut row = new.clone();
            keep(&mut row, Some(earlier));
            row.get("examination").cloned()
        };
        let protocol = row("1", Some("protocol"));
        let old = protocol.get("examination").cloned();
        assert_eq!(kept(&row("2", None), &protocol), None);
        assert_eq!(kept(&row("1", None), &row("1", None)), None);
        assert_eq!(kept(&row("1", None), &protocol), old);
        assert_eq!(kept(&row("1", Some("handshake")), &protocol), old);
        let mut newer = protocol.clone();
        newer["examination"]["examined_at"] = json!("2026-11-23T01:02:03Z");
        assert_eq!(kept(&newer, &protocol), newer.get("examination").cloned());
        // A row whose examination is of another version, as no run writes it.
        let mut forged = row("1", Some("protocol"));
        forged["examination"]["version"] = json!("0");
        assert_eq!(kept(&row("1", None), &forged), None);
        let mut broken = row("1", Some("protocol"));
        broken["examination"]["level"] = json!("unheard-of");
        assert_eq!(kept(&row("1", None), &broken), None);
    }

    #[test]
    fn only_a_recent_examination_of_the_level_is_reused() {
        let examined = EarlierExamination::of(&row("1", Some("protocol"))).unwrap();
        let at: SystemTime = examined.at.unwrap().into();
        let (before, after) = (at - Duration::from_secs(9), at + Duration::from_secs(9));
        let demand = |level, require| Demand::new(Some(level), Some(require));
        let fits = |demand: &Demand| examined.satisfies(demand, before, after);
        assert!(!fits(&demand(Level::Turns, Level::Handshake)));
        assert!(!fits(&demand(Level::Protocol, Level::Sessions)));
        assert!(!examined.satisfies(&demand(Level::Protocol, Level::Protocol), after, after));
        assert!(!examined.satisfies(&demand(Level::Protocol, Level::Protocol), before, before));
        assert!(fits(&demand(Level::Protocol, Level::Protocol)));
        let unreached = EarlierExamination::of(&row("1", Some("handshake"))).unwrap();
        assert!(!unreached.satisfies(&demand(Level::Protocol, Level::Protocol), before, after));
        assert!(unreached.satisfies(&demand(Level::Protocol, Level::Handshake), before, after));
    }
}
