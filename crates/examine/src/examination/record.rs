//! Results of an examination as they were recorded: in a snapshot, or in the report of `verify`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::check::{Force, Level};
use super::result::{CheckVerdict, Examination, VerdictCounts, incomplete, is_cut};

/// Maximum number of checks that are read.
const CHECKS_LIMIT: usize = 1_000;

/// The results of an earlier examination. A snapshot may come from another version of this program, so the checks are
/// known by their ids only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The requested level.
    pub level: Level,
    /// The highest level of which a check ran; `None` if the agent did not answer `initialize`.
    pub reached: Option<Level>,
    /// Whether the agent shared the host's network, if known.
    pub has_network: Option<bool>,
    /// The results, in the recorded order.
    pub checks: Vec<CheckRecord>,
}

/// What an examination says of an agent and a level, wherever that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// All requirements up to the level were examined and kept.
    Passed,
    /// A requirement up to the level is violated.
    Failed,
    /// None is known to be violated, but not all were examined.
    Incomplete,
}

/// The recorded result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRecord {
    /// Id of the check.
    pub id: String,
    /// How it ended.
    pub verdict: CheckVerdict,
    /// How strongly the specification demands the behavior.
    pub force: Force,
    /// The page of the protocol's documentation.
    pub spec: String,
    /// The violation, or the reason why the check did not run. Not escaped.
    pub message: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

impl Record {
    /// Reads the member `examination` of a row. Unknown checks are kept, and members of another type are ignored. Returns
    /// `None` if the value has no known level or no checks.
    pub fn read(value: &Value) -> Option<Self> {
        let level = |name: &str| Level::named(value.get(name)?.as_str()?);
        let checks = value.get("checks")?.as_array()?.iter().filter_map(Value::as_object);
        Some(Self {
            level: level("level")?,
            reached: level("reached"),
            has_network: value.get("network").and_then(Value::as_str).map(|network| network == "shared"),
            checks: checks.take(CHECKS_LIMIT).filter_map(CheckRecord::read).collect(),
        })
    }

    /// Counts the results.
    pub fn summary(&self) -> VerdictCounts {
        VerdictCounts::of(self.checks.iter().map(|check| check.verdict))
    }

    /// How many checks did not run for want of time, in words; `None` if all were run that the agent allows.
    pub fn incomplete(&self) -> Option<String> {
        incomplete(self.checks.iter().filter(|check| check.is_cut()).count(), self.checks.len())
    }

    /// Whether all requirements up to `level` were examined and kept.
    pub fn meets(&self, level: Level) -> bool {
        self.judgement(level) == Judgement::Passed
    }

    /// Whether the requirements up to `level` are kept, as far as they were examined.
    pub fn judgement(&self, level: Level) -> Judgement {
        let required = || self.up_to(level).filter(|check| check.force == Force::Must);
        if required().any(|check| check.verdict == CheckVerdict::Fail) {
            Judgement::Failed
        } else if self.reached.is_some_and(|reached| reached >= level) && !required().any(CheckRecord::is_cut) {
            Judgement::Passed
        } else {
            Judgement::Incomplete
        }
    }

    /// The checks up to a level, and those whose level this version does not know.
    pub fn up_to(&self, level: Level) -> impl Iterator<Item = &CheckRecord> {
        self.checks.iter().filter(move |check| check.level().is_none_or(|of_check| of_check <= level))
    }
}

impl CheckRecord {
    fn read(row: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        let seconds = row.get("duration_seconds").and_then(Value::as_f64).unwrap_or_default();
        Some(Self {
            id: text("id")?.to_owned(),
            verdict: verdict(text("result")?)?,
            force: force(text("force").unwrap_or_default()),
            spec: text("spec").unwrap_or_default().to_owned(),
            message: text("message").map(ToOwned::to_owned),
            duration: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        })
    }

    fn is_cut(&self) -> bool {
        is_cut(self.verdict, self.message.as_deref())
    }

    /// The level of the check, by its id; `None` if this version does not know it.
    pub fn level(&self) -> Option<Level> {
        Level::named(self.id.split('/').next()?)
    }
}

impl From<&Examination> for Record {
    fn from(examination: &Examination) -> Self {
        let checks = examination.checks.iter().map(|examined| CheckRecord {
            id: examined.check.id.to_owned(),
            verdict: examined.verdict,
            force: examined.check.force,
            spec: examined.check.spec.to_owned(),
            message: examined.message.clone(),
            duration: examined.duration,
        });
        Self {
            level: examination.level,
            reached: examination.reached,
            has_network: Some(examination.has_network),
            checks: checks.collect(),
        }
    }
}

fn verdict(name: &str) -> Option<CheckVerdict> {
    CheckVerdict::ALL.into_iter().find(|verdict| verdict.as_str() == name)
}

/// An unknown force demands nothing.
fn force(name: &str) -> Force {
    [Force::Must, Force::Should].into_iter().find(|force| force.as_str() == name).unwrap_or(Force::Observed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(id: &str, result: &str, force: &str) -> Value {
        json!({ "id": id, "result": result, "force": force, "spec": "protocol/v1/x", "message": null,
                "duration_seconds": 0.5 })
    }

    #[test]
    fn what_is_no_examination_is_not_read() {
        for value in [
            json!(null),
            json!([]),
            json!({ "level": "protocol" }),
            json!({ "level": "unheard-of", "checks": [] }),
            json!({ "level": 7, "checks": [] }),
            json!({ "level": "protocol", "checks": {} }),
        ] {
            assert_eq!(Record::read(&value), None, "{value}");
        }
    }

    #[test]
    fn members_of_another_type_are_ignored() {
        let mut odd = check("a/b", "fail", "perhaps");
        (odd["message"], odd["duration_seconds"], odd["spec"]) = (json!(7), json!(-1), json!([]));
        let checks = json!([odd, check("x", "unsure", "must"), { "result": "pass" }, 7, { "id": 1, "result": "pass" }]);
        let record = Record::read(&json!({ "level": "protocol", "reached": "far", "checks": checks })).unwrap();
        let [only] = &record.checks[..] else { panic!("{record:?}") };
        assert_eq!((only.verdict, only.force, &*only.spec), (CheckVerdict::Fail, Force::Observed, ""));
        assert_eq!((only.message.as_deref(), only.duration, only.level()), (None, Duration::ZERO, None));
        assert_eq!((record.reached, record.has_network), (None, None));
        let many = vec![check("a/b", "pass", "must"); CHECKS_LIMIT + 1];
        let record = Record::read(&json!({ "level": "protocol", "checks": many })).unwrap();
        assert_eq!(record.checks.len(), CHECKS_LIMIT);
    }

    #[test]
    fn only_a_failed_requirement_or_an_unreached_level_falls_short() {
        let meets = |reached: &str, checks: Value| {
            let value = json!({ "level": "protocol", "reached": reached, "checks": checks });
            Record::read(&value).unwrap().meets(Level::Protocol)
        };
        assert!(!meets("protocol", json!([check("protocol/ids", "fail", "must")])));
        assert!(!meets("protocol", json!([check("unknown/ids", "fail", "must")])));
        assert!(!meets("handshake", json!([check("protocol/ids", "not_exercised", "must")])));
        assert!(!meets("", json!([])));
        let mut cut = check("protocol/ids", "not_exercised", "must");
        cut["message"] = format!("{} of 120 s", super::super::failure::OUT_OF_TIME).into();
        assert!(!meets("protocol", json!([check("protocol/x", "pass", "must"), cut])));
        cut["id"] = "turns/text".into();
        assert!(meets("protocol", json!([check("protocol/x", "pass", "must"), cut])));
        assert!(meets("protocol", json!([check("protocol/x", "warning", "should")])));
    }

    #[test]
    fn requirements_that_the_time_limit_left_out_are_not_met() {
        let reason = format!("{} of 1 s", super::super::failure::OUT_OF_TIME);
        let required = || super::super::CHECKS.iter().filter(|check| check.force == Force::Must);
        let examined = |check, verdict, message| super::super::Examined {
            check,
            verdict,
            message,
            duration: Duration::ZERO,
            exchange: None,
        };
        let mut checks: Vec<_> = required()
            .filter(|check| check.level() == Level::Protocol)
            .map(|check| examined(*check, CheckVerdict::Pass, None))
            .collect();
        let later = required().find(|check| check.level() == Level::Sessions).unwrap();
        checks.push(examined(*later, CheckVerdict::NotExercised, Some(reason.clone())));
        let (level, has_network, duration) = (Level::Sessions, false, Duration::ZERO);
        let mut examination =
            Examination { level, reached: Some(level), has_network, checks, duration, left: Vec::new() };
        assert_eq!(examination.shortfall(Level::Protocol), None);
        let shortfall = examination.shortfall(Level::Sessions).unwrap();
        let text = "incomplete: 1 required check of the level `sessions` did not run for want of time; ";
        assert!(shortfall.is_open && shortfall.message.starts_with(text), "{shortfall:?}");
        let total = examination.checks.len();
        let incomplete = format!("incomplete: 1 of {total} checks did not run for want of time");
        assert_eq!(examination.incomplete(), Some(incomplete.clone()));
        assert_eq!(Record::from(&examination).incomplete(), Some(incomplete));
        // A failure says more.
        examination.checks[0].verdict = CheckVerdict::Fail;
        let shortfall = examination.shortfall(Level::Sessions).unwrap();
        assert!(!shortfall.is_open && shortfall.message.contains("the agent fails a check"), "{shortfall:?}");
    }

    #[test]
    fn an_examination_reads_back_as_its_record() {
        let examination = Examination {
            level: Level::Protocol,
            reached: Some(Level::Protocol),
            has_network: false,
            checks: super::super::CHECKS
                .iter()
                .zip(CheckVerdict::ALL.into_iter().cycle())
                .map(|(check, verdict)| super::super::Examined {
                    check,
                    verdict,
                    message: (verdict != CheckVerdict::Pass).then(|| "the agent …".to_owned()),
                    duration: Duration::from_millis(1500),
                    exchange: None,
                })
                .collect(),
            duration: Duration::ZERO,
            left: Vec::new(),
        };
        let record = Record::from(&examination);
        assert_eq!(Record::read(&serde_json::to_value(&examination).unwrap()), Some(record.clone()));
        assert_eq!(record.summary(), examination.summary());
    }
}
