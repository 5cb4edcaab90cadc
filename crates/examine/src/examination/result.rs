//! Results of an examination, and the same as they were recorded: in a snapshot, or in the report of `verify`.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::check::{Check, Force, Level};
use super::failure::{BUSY, IGNORES_HTTP_SERVER, OUT_OF_TIME, WITH_HTTP_SERVER};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The agent behaved as expected.
    Pass,
    /// It violated a requirement of the protocol.
    Fail,
    /// It violated a recommendation, or an expectation that the protocol does not mention.
    Warning,
    /// The check could not run with this agent.
    NotExercised,
}

impl CheckVerdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Fail, Self::Warning, Self::NotExercised];

    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warning => "warning",
            Self::NotExercised => "not_exercised",
        }
    }
}

/// Whether a check did not run for want of time: on a faster machine, or with a longer limit, it would have.
fn is_cut(verdict: CheckVerdict, message: Option<&str>) -> bool {
    let starts = |message: &str| message.starts_with(OUT_OF_TIME) || message.starts_with(BUSY);
    verdict == CheckVerdict::NotExercised && message.is_some_and(starts)
}

/// How many of `total` checks did not run for want of time, in words; `None` if it is none.
fn incomplete(cut: usize, total: usize) -> Option<String> {
    (cut > 0).then(|| format!("incomplete: {cut} of {total} checks did not run for want of time"))
}

/// Why an agent does not meet a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// Whether the agent may meet it: what is missing did not run for want of time.
    pub is_open: bool,
    /// The requirements that it violates, or what was not examined. Printable.
    pub message: String,
}

/// The result of one check.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The check.
    pub check: &'static Check,
    /// How it ended.
    pub verdict: CheckVerdict,
    /// The violation, or the reason why the check did not run. Safe to print.
    pub message: Option<String>,
    /// How long it took.
    pub duration: Duration,
    /// After a failure: the text of an [`Exchange`](super::Exchange), if it is short enough. Not serialized, and not escaped.
    pub exchange: Option<String>,
}

impl Serialize for Examined {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Examined", 6)?;
        row.serialize_field("id", self.check.id)?;
        row.serialize_field("result", &self.verdict)?;
        row.serialize_field("force", &self.check.force)?;
        row.serialize_field("spec", self.check.spec)?;
        row.serialize_field("message", &self.message)?;
        row.serialize_field("duration_seconds", &self.duration.as_secs_f64())?;
        row.end()
    }
}

/// Numbers of checks by verdict. Their sum is the number of checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// Checks that passed.
    pub passed: usize,
    /// Failed checks of requirements.
    pub failed: usize,
    /// Other failed checks.
    pub warnings: usize,
    /// Checks that could not run.
    pub not_exercised: usize,
}

impl VerdictCounts {
    /// Counts verdicts.
    fn of(verdicts: impl Iterator<Item = CheckVerdict>) -> Self {
        let mut summary = Self::default();
        for verdict in verdicts {
            *match verdict {
                CheckVerdict::Pass => &mut summary.passed,
                CheckVerdict::Fail => &mut summary.failed,
                CheckVerdict::Warning => &mut summary.warnings,
                CheckVerdict::NotExercised => &mut summary.not_exercised,
            } += 1;
        }
        summary
    }
}

/// Results of an examination. Serializes to the JSON of the command line's contract.
#[derive(Debug, Clone)]
pub struct Examination {
    /// The requested level.
    pub level: Level,
    /// The highest level of which a check ran; `None` if the agent did not answer `initialize`.
    pub reached: Option<Level>,
    /// Whether the agent shared the host's network.
    pub has_network: bool,
    /// The results, ordered by check.
    pub checks: Vec<Examined>,
    /// How long it took.
    pub duration: Duration,
    /// Directories that could not be removed, with the reason. Not serialized, because they do not concern the agent.
    pub left: Vec<String>,
}

impl Examination {
    /// Counts the results.
    pub fn summary(&self) -> VerdictCounts {
        VerdictCounts::of(self.checks.iter().map(|examined| examined.verdict))
    }

    /// Replaces a path that differs between runs with `$SANDBOX`.
    pub(super) fn hide_path(&mut self, path: &Path) {
        let path = path.to_string_lossy();
        for message in self.checks.iter_mut().filter_map(|examined| examined.message.as_mut()) {
            *message = message.replace(&*path, "$SANDBOX");
        }
    }

    /// How many checks did not run for want of time, in words; `None` if all were run that the agent allows.
    pub fn incomplete(&self) -> Option<String> {
        let is_cut = |examined: &&Examined| is_cut(examined.verdict, examined.message.as_deref());
        incomplete(self.checks.iter().filter(is_cut).count(), self.checks.len())
    }

    /// Why the agent does not meet `level`: the requirements that it violates, or that no check of the level could run, or
    /// that requirements were not examined for want of time. `None` if it does.
    pub fn shortfall(&self, level: Level) -> Option<Shortfall> {
        let failed = |examined: &&Examined| {
            examined.check.force == Force::Must
                && examined.check.level() <= level
                && examined.verdict == CheckVerdict::Fail
        };
        let ids: Vec<&str> = self.checks.iter().filter(failed).map(|examined| examined.check.id).collect();
        let name = level.as_str();
        if !ids.is_empty() {
            let checks = if ids.len() == 1 { "a check" } else { "checks" };
            let message = format!("the agent fails {checks} of the level `{name}`: {}", ids.join(", "));
            return Some(Shortfall { is_open: false, message });
        }
        let is_cut = |examined: &&Examined| {
            let Examined { check, verdict, message, .. } = examined;
            check.force == Force::Must && check.level() <= level && is_cut(*verdict, message.as_deref())
        };
        let cut = self.checks.iter().filter(is_cut).count();
        if cut > 0 {
            let checks = if cut == 1 { "check" } else { "checks" };
            let message = format!(
                "incomplete: {cut} required {checks} of the level `{name}` did not run for want of time; \
                 `--examination-timeout` sets how long an examination may take"
            );
            return Some(Shortfall { is_open: true, message });
        }
        self.reached.is_none_or(|reached| reached < level).then(|| Shortfall {
            is_open: false,
            message: format!("the agent could not be examined at the level `{name}`"),
        })
    }
}

impl Serialize for Examination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Examination", 7)?;
        document.serialize_field("level", &self.level)?;
        document.serialize_field("reached", &self.reached)?;
        document.serialize_field("model", &self.level.has_model().then_some("scripted"))?;
        document.serialize_field("complete", &self.incomplete().is_none())?;
        document.serialize_field("network", if self.has_network { "shared" } else { "none" })?;
        document.serialize_field("checks", &self.checks)?;
        document.serialize_field("summary", &self.summary())?;
        document.end()
    }
}

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

    /// Whether the agent lacks what the check uses. One that asks an HTTP MCP server takes such servers: a
    /// header that it changes or a call that goes wrong is a fault of its use of them.
    pub fn refutes(&self) -> bool {
        let says = |why: &str| self.message.iter().any(|text| text.contains(why));
        let takes = || self.id == "turns/mcp-http" && !says(WITH_HTTP_SERVER) && !says(IGNORES_HTTP_SERVER);
        matches!(self.verdict, CheckVerdict::Fail | CheckVerdict::Warning) && !takes()
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
        cut["message"] = format!("{OUT_OF_TIME} of 120 s").into();
        assert!(!meets("protocol", json!([check("protocol/x", "pass", "must"), cut])));
        cut["id"] = "turns/text".into();
        assert!(meets("protocol", json!([check("protocol/x", "pass", "must"), cut])));
        assert!(meets("protocol", json!([check("protocol/x", "warning", "should")])));
    }

    #[test]
    fn requirements_that_the_time_limit_left_out_are_not_met() {
        let reason = format!("{OUT_OF_TIME} of 1 s");
        let required = || super::super::CHECKS.iter().filter(|check| check.force == Force::Must);
        let examined =
            |check, verdict, message| Examined { check, verdict, message, duration: Duration::ZERO, exchange: None };
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
                .map(|(check, verdict)| Examined {
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
