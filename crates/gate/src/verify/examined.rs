//! Examinations in snapshots: the form of `verify --json`, and when, on which platform and of which version it was made.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use acp_registry_examine::examination::{
    CheckRecord, CheckVerdict, Demand, Examination, Force, Judgement, Level, Record,
};
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

/// Maximum number of versions in the history of an agent.
const PAST: usize = 50;
/// Maximum number of failed checks that are named.
const FAILED: usize = 100;

/// What the examination of one version came to: a line of an agent's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastExamination {
    /// The version.
    pub version: String,
    /// The day, `YYYY-MM-DD`, if known.
    pub day: Option<String>,
    /// The platform of the machine, such as `linux-x86_64`, if known.
    pub platform: Option<String>,
    /// The judgement of each level that was examined, by its name.
    pub judgements: BTreeMap<String, Judgement>,
    /// The ids of the requirements that are violated.
    pub failed: Vec<String>,
}

impl From<&EarlierExamination> for PastExamination {
    fn from(examined: &EarlierExamination) -> Self {
        let record = &examined.record;
        let levels = Level::OF_COMMANDS.into_iter().filter(|level| *level > Level::Handshake && *level <= record.level);
        let is_failed = |check: &&CheckRecord| check.verdict == CheckVerdict::Fail && check.force == Force::Must;
        Self {
            version: examined.version.clone(),
            day: examined.at.map(Timestamp::day),
            platform: examined.platform.clone(),
            judgements: levels.map(|level| (level.as_str().to_owned(), record.judgement(level))).collect(),
            failed: record.checks.iter().filter(is_failed).take(FAILED).map(|check| check.id.clone()).collect(),
        }
    }
}

impl PastExamination {
    /// The history in a row of a snapshot, the newest version last. A row without one has its own examination.
    pub(super) fn all(row: &Value) -> Vec<Self> {
        let lines = row.get("history").and_then(Value::as_array).into_iter().flatten();
        let mut past: Vec<Self> = lines.filter_map(|line| Self::deserialize(line).ok()).collect();
        past.drain(..past.len().saturating_sub(PAST));
        if past.is_empty() {
            past.extend(EarlierExamination::of(row).map(|examined| Self::from(&examined)));
        }
        past
    }
}

/// Adds the examination of a row to the history that the earlier row has. A version has one line, with the day since which
/// it has been judged so.
pub(super) fn remember(row: &mut Value, earlier: Option<&Value>) {
    let mut past = earlier.map(PastExamination::all).unwrap_or_default();
    let found = EarlierExamination::of(row).filter(|found| row["version"] == found.version.as_str());
    if let Some(line) = found.as_ref().map(PastExamination::from) {
        let is_same = |known: &PastExamination| known.judgements == line.judgements && known.failed == line.failed;
        match past.iter().position(|known| known.version == line.version) {
            Some(at) if is_same(&past[at]) => {}
            Some(at) => past[at] = line,
            None => past.push(line),
        }
    }
    past.drain(..past.len().saturating_sub(PAST));
    if let (Some(row), false) = (row.as_object_mut(), past.is_empty()) {
        row.insert("history".to_owned(), json!(past));
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
    fn a_version_has_one_line_with_the_day_since_which_it_is_judged_so() {
        let examined = |version: &str, day: &str, result: &str| {
            let mut row = row(version, Some("protocol"));
            row["examination"]["examined_at"] = json!(format!("2026-11-{day}T00:00:00Z"));
            row["examination"]["checks"] = json!([{ "id": "protocol/ids", "result": result, "force": "must" }]);
            row
        };
        let mut last = examined("1", "01", "pass");
        remember(&mut last, None);
        for (version, day, result) in
            [("1", "02", "pass"), ("2", "03", "fail"), ("2", "04", "fail"), ("3", "05", "pass")]
        {
            let mut next = examined(version, day, result);
            remember(&mut next, Some(&last));
            last = next;
        }
        // A row without an examination keeps the history.
        let mut next = row("4", None);
        remember(&mut next, Some(&last));
        let past = PastExamination::all(&next);
        let lines: Vec<_> = past
            .iter()
            .map(|line| (&*line.version, line.day.as_deref().unwrap(), line.judgements["protocol"]))
            .collect();
        let expected = [
            ("1", "2026-11-01", Judgement::Passed),
            ("2", "2026-11-03", Judgement::Failed),
            ("3", "2026-11-05", Judgement::Passed),
        ];
        assert_eq!(lines, expected);
        assert_eq!(past[1].failed, ["protocol/ids"]);
        // What is no line is passed over, and a row without a history has one line.
        next["history"] = json!([7, {}, { "version": "x" }]);
        assert_eq!(PastExamination::all(&next), []);
        assert_eq!(PastExamination::all(&examined("1", "01", "pass")).len(), 1);
        let many: Vec<Value> = (0..80).map(|number| json!({ "version": number.to_string(), "day": null, "platform": null, "judgements": {}, "failed": [] })).collect();
        next["history"] = json!(many);
        let kept = PastExamination::all(&next);
        assert_eq!((kept.len(), kept[0].version.as_str()), (50, "30"));
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
