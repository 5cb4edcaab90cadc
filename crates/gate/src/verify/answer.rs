//! What an agent answered, as a snapshot has it, for those who show it.
//!
//! Read leniently: a member that is absent or has another type is unknown. What an agent wrote to stderr, and the command
//! that started it, are not read.

use std::collections::BTreeMap;

use acp_registry_plan::timestamp::Timestamp;
use serde_json::{Map, Value};

use super::{EarlierExamination, PastExamination, RunTimes};

/// What an agent answered when it was last started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastAnswer {
    /// The version that was started.
    pub version: Option<String>,
    /// The kind of the distribution that was started.
    pub distribution: Option<String>,
    /// When it was started.
    pub at: Option<Timestamp>,
    /// The day, `YYYY-MM-DD`.
    pub day: Option<String>,
    /// What kept it apart from the host, as a snapshot names it.
    pub isolation: Option<String>,
    /// What it has left in its home, as paths relative to it; `None` where that was not looked at.
    pub writes: Option<Vec<String>>,
    /// The names of hosts that it has asked for; `None` where they were not heard.
    pub hosts: Option<Vec<String>>,
    /// Version of the protocol.
    pub protocol: Option<u64>,
    /// Ways to sign in, in the order of the agent.
    pub auth_methods: Vec<OfferedMethod>,
    /// Why it opens no session before it is set up, in its own words.
    pub setup_required: Option<String>,
    /// Features by their stable names, and whether the agent announces them.
    pub features: BTreeMap<String, bool>,
    /// Outcomes of methods that were called, by the name of the method.
    pub probes: BTreeMap<String, String>,
    /// The examination of this version, or of an earlier one.
    pub examined: Option<EarlierExamination>,
    /// What the examinations of its versions came to, the newest last.
    pub past: Vec<PastExamination>,
    /// How long this version took to start, if it is known.
    pub times: Option<RunTimes>,
    /// The modes that a new session offers.
    pub modes: Vec<String>,
    /// The ids of the options that a new session offers.
    pub options: Vec<String>,
    /// Its other distributions that gave no answer.
    pub failed: Vec<Unanswered>,
}

/// A way to sign in that an agent offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedMethod {
    /// Its id; empty if it has none.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its type: `agent`, `terminal`, `env_var` or the agent's own word.
    pub kind: String,
}

impl LastAnswer {
    /// Reads a row of a snapshot, or of the report of `verify`, which has the answer in a member of its own. `None` when the
    /// agent was not started, or gave no answer.
    pub(super) fn of(row: &Value) -> Option<Self> {
        let (examined, past) = (EarlierExamination::of(row), PastExamination::all(row));
        let times = RunTimes::of(row);
        let row = row.as_object()?;
        let answer = row.get("handshake").and_then(Value::as_object).unwrap_or(row);
        let protocol = answer.get("protocol_version").and_then(Value::as_u64);
        let features: BTreeMap<String, bool> = members(answer, "features", Value::as_bool);
        if protocol.is_none() && features.is_empty() {
            return None;
        }
        let methods = answer.get("auth_methods").and_then(Value::as_array).into_iter().flatten();
        let methods = methods.filter_map(|method| {
            let text = |key: &str| method.get(key).and_then(Value::as_str);
            let id = text("id").unwrap_or_default().to_owned();
            let name = text("name").or_else(|| text("id"))?.to_owned();
            Some(OfferedMethod { id, name, kind: text("type").unwrap_or("agent").to_owned() })
        });
        let outcome = |value: &Value| value.as_str().or_else(|| value.get("outcome")?.as_str()).map(ToOwned::to_owned);
        Some(Self {
            version: row.get("version").and_then(Value::as_str).map(ToOwned::to_owned),
            distribution: row.get("distribution").and_then(Value::as_str).map(ToOwned::to_owned),
            at: row.get("checked_at").and_then(Value::as_str).and_then(|time| time.parse().ok()),
            day: row.get("checked_at").and_then(Value::as_str).and_then(day),
            isolation: row.get("isolation").and_then(Value::as_str).map(ToOwned::to_owned),
            writes: texts(row, "writes"),
            hosts: texts(row, "hosts"),
            protocol,
            auth_methods: methods.collect(),
            setup_required: answer.get("setup_required").and_then(Value::as_str).map(ToOwned::to_owned),
            features,
            probes: members(answer, "probes", outcome),
            examined,
            past,
            times,
            modes: ids(answer, "modes"),
            options: ids(answer, "config_options"),
            failed: Vec::new(),
        })
    }

    /// Whether this says more of the agent than what another of its distributions answered. What an earlier version answered says
    /// less than what a later start did.
    pub(super) fn tells_more(&self, other: &Self) -> bool {
        if self.version != other.version && self.at != other.at && other.protocol.is_some() {
            return self.at > other.at;
        }
        let reached = |answer: &Self| answer.examined.as_ref().and_then(|examined| examined.record.reached);
        let size = |answer: &Self| (answer.features.len(), reached(answer));
        size(self) > size(other) || other.protocol.is_none()
    }
}

/// A list of texts; `None` if it is none.
fn texts(object: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    object.get(key)?.as_array()?.iter().map(|text| text.as_str().map(ToOwned::to_owned)).collect()
}

fn members<T>(object: &Map<String, Value>, key: &str, read: impl Fn(&Value) -> Option<T>) -> BTreeMap<String, T> {
    let members = object.get(key).and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), read(value)?))).collect()
}

/// The ids in a list of the member `session`: its items, or their members `id`.
fn ids(answer: &Map<String, Value>, list: &str) -> Vec<String> {
    let items = answer.get("session").and_then(|session| session.get(list)).and_then(Value::as_array);
    let id = |item: &Value| item.as_str().or_else(|| item.get("id")?.as_str()).map(ToOwned::to_owned);
    items.into_iter().flatten().filter_map(id).collect()
}

/// The day of a time in the form of RFC 3339.
pub(super) fn day(time: &str) -> Option<String> {
    let day = time.get(..10)?;
    let is_day = day.bytes().enumerate().all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() });
    is_day.then(|| day.to_owned())
}

/// The last attempt to start an agent that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The version that was to be started.
    pub version: Option<String>,
    /// The kind of the distribution that was to be started.
    pub distribution: Option<String>,
    /// The day on which it was started, `YYYY-MM-DD`; `None` if it was not.
    pub day: Option<String>,
    /// The reason, as named in reports, such as `timeout`. A snapshot may have any text: escape it before printing.
    pub reason: String,
    /// The exit code with which it ended by itself, if it did.
    pub exit_code: Option<i64>,
    /// The examination of this version, or of an earlier one.
    pub examined: Option<EarlierExamination>,
    /// What the examinations of its versions came to, the newest last.
    pub past: Vec<PastExamination>,
}

impl Unanswered {
    /// Reads a row of a snapshot, or of the report of `verify`. `None` if it has no reason, or the agent was skipped.
    pub(super) fn of(row: &Value) -> Option<Self> {
        let text = |key: &str| row.get(key)?.as_str();
        let is_verdict = matches!(text("verdict"), Some("fail" | "error"));
        is_verdict.then_some(())?;
        Some(Self {
            version: text("version").map(ToOwned::to_owned),
            distribution: text("distribution").map(ToOwned::to_owned),
            day: text("checked_at").and_then(day),
            reason: text("reason")?.to_owned(),
            exit_code: row.get("exit").filter(|exit| exit["how"] == "exited").and_then(|exit| exit["code"].as_i64()),
            examined: EarlierExamination::of(row),
            past: PastExamination::all(row),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Snapshot;
    use super::OfferedMethod;

    #[test]
    fn missing_members_are_unknown() {
        let text = br#"{ "agents": [
            { "id": "a", "protocol_version": 1, "features": { "session/load": true, "nes": false, "x": 7 },
              "probes": { "session/list": "auth_required" }, "auth_methods": [ { "id": "x" }, 7 ],
              "checked_at": "2026-11-02T01:02:03Z", "version": "1.0.0", "stderr_tail": "/home/secret" },
            { "id": "a", "channel": "preview", "protocol_version": 1, "features": { "x": true, "y": true, "z": true, "u": true } },
            { "id": "b", "verdict": "error" }, { "id": "c", "protocol_version": null, "features": {}, "checked_at": null }, { "features": {} }, 5 ] }"#;
        let answers = Snapshot::parse(text).unwrap().answers();
        assert_eq!(answers.keys().collect::<Vec<_>>(), ["a"]);
        let answer = &answers["a"];
        assert_eq!(answer.features, [("session/load".to_owned(), true), ("nes".to_owned(), false)].into());
        assert_eq!(answer.probes["session/list"], "auth_required");
        let method = |id: &str| OfferedMethod { id: id.to_owned(), name: id.to_owned(), kind: "agent".to_owned() };
        assert_eq!(answer.auth_methods, [method("x")]);
        assert_eq!((answer.day.as_deref(), answer.version.as_deref()), (Some("2026-11-02"), Some("1.0.0")));
        assert!(!format!("{answers:?}").contains("secret"));
    }

    #[test]
    fn of_the_distributions_the_one_that_tells_most_counts() {
        let row = |kind: &str, protocol: &str, features: &str| {
            format!(
                r#"{{ "id": "a", "distribution": "{kind}", "version": "{kind}", "handshake": {{ "protocol_version": {protocol}, "features": {{ {features} }} }} }}"#
            )
        };
        let one = r#""x": true"#;
        for (rows, chosen) in [
            ([row("binary", "1", ""), row("npx", "1", one)], "npx"),
            ([row("binary", "1", one), row("npx", "1", one)], "npx"),
            ([row("uvx", "1", one), row("npx", "null", one)], "uvx"),
        ] {
            let report = format!(r#"{{ "results": [{}] }}"#, rows.join(","));
            let answers = Snapshot::parse(report.as_bytes()).unwrap().answers();
            assert_eq!(answers["a"].version.as_deref(), Some(chosen), "{report}");
        }
    }

    #[test]
    fn the_later_start_counts_where_versions_differ_and_failures_are_kept() {
        let text = br#"{ "agents": [
            { "id": "a", "distribution": "npx", "version": "1.0.0", "verdict": "pass", "protocol_version": 1,
              "features": { "x": true, "y": true }, "checked_at": "2026-01-02T00:00:00Z" },
            { "id": "a", "distribution": "uvx", "version": "2.0.0", "verdict": "pass", "protocol_version": 1,
              "features": { "x": true }, "checked_at": "2026-11-02T00:00:00Z" },
            { "id": "b", "distribution": "binary", "version": "1.0.0", "verdict": "fail", "reason": "exited",
              "checked_at": "2026-11-02T00:00:00Z", "exit": { "how": "exited", "code": 1 } },
            { "id": "b", "distribution": "uvx", "version": "1.0.0", "verdict": "pass", "protocol_version": 1 } ] }"#;
        let answers = Snapshot::parse(text).unwrap().answers();
        assert_eq!(answers["a"].distribution.as_deref(), Some("uvx"));
        assert!(answers["a"].failed.is_empty());
        assert_eq!(answers["b"].distribution.as_deref(), Some("uvx"));
        let failed: Vec<_> =
            answers["b"].failed.iter().map(|one| (one.distribution.as_deref(), one.exit_code)).collect();
        assert_eq!(failed, [(Some("binary"), Some(1))]);
    }

    #[test]
    fn the_history_of_examinations_outlives_the_last_answer() {
        let text = br#"{ "agents": [ { "id": "a", "version": "2.0.0", "verdict": "fail", "reason": "exited",
            "history": [ { "version": "1.0.0", "day": "2026-10-01", "judgements": { "turns": "passed" }, "failed": [] } ] } ] }"#;
        let past = &Snapshot::parse(text).unwrap().unanswered()["a"].past;
        assert_eq!(past.iter().map(|line| line.version.as_str()).collect::<Vec<_>>(), ["1.0.0"]);
    }

    #[test]
    fn only_agents_without_any_answer_are_unanswered() {
        let text = br#"{ "agents": [
            { "id": "silent", "verdict": "fail", "reason": "timeout", "checked_at": "2026-11-21T11:42:04Z", "version": "1.0.0" },
            { "id": "lost", "verdict": "error", "reason": "install_failed", "checked_at": null },
            { "id": "both", "distribution": "npx", "verdict": "error", "reason": "install_failed", "checked_at": null },
            { "id": "both", "distribution": "uvx", "verdict": "fail", "reason": "exited", "checked_at": "2026-11-21T11:42:04Z" },
            { "id": "some", "distribution": "npx", "verdict": "fail", "reason": "exited" },
            { "id": "some", "distribution": "uvx", "verdict": "pass", "protocol_version": 1 },
            { "id": "preview", "channel": "preview", "verdict": "fail", "reason": "exited" },
            { "id": "odd", "verdict": "fail", "reason": 7 }, { "id": "skipped", "verdict": "skipped", "reason": "quarantined" }, 5 ] }"#;
        let unanswered = Snapshot::parse(text).unwrap().unanswered();
        assert_eq!(unanswered.keys().collect::<Vec<_>>(), ["both", "lost", "silent"]);
        let silent = &unanswered["silent"];
        assert_eq!((silent.day.as_deref(), silent.version.as_deref()), (Some("2026-11-21"), Some("1.0.0")));
        assert_eq!((unanswered["lost"].day.as_deref(), unanswered["lost"].reason.as_str()), (None, "install_failed"));
        // The distribution that was started says more than one that was not.
        assert_eq!(unanswered["both"].reason, "exited");
    }
}
