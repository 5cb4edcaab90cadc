//! Why an agent gave no answer, as a snapshot has it, for those who show it.

use serde_json::Value;

use super::answer::day;

/// The last attempt to start an agent that gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// The version that was to be started.
    pub version: Option<String>,
    /// The day on which it was started, `YYYY-MM-DD`; `None` if it was not.
    pub day: Option<String>,
    /// The reason, as named in reports, such as `timeout`. A snapshot may have any text: escape it before printing.
    pub reason: String,
}

impl Unanswered {
    /// Reads a row of a snapshot, or of the report of `verify`. `None` if it has no reason, or the agent was skipped.
    pub(super) fn of(row: &Value) -> Option<Self> {
        let text = |key: &str| row.get(key)?.as_str();
        let is_verdict = matches!(text("verdict"), Some("fail" | "error"));
        is_verdict.then_some(())?;
        Some(Self {
            version: text("version").map(ToOwned::to_owned),
            day: text("checked_at").and_then(day),
            reason: text("reason")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Snapshot;

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
