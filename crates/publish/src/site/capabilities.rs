//! Capability snapshots: what agents answered in their last handshake.
//!
//! Parsing is lenient: a member that is missing or has another type counts as unknown. The agents' output to stderr
//! and their command lines are not read.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The capabilities of agents, by id.
#[derive(Debug, Clone, Default)]
pub struct Capabilities {
    rows: BTreeMap<String, Row>,
}

/// The answers of one agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// The version that was tested.
    pub(super) version: Option<String>,
    /// The day of the test, as `YYYY-MM-DD`.
    pub(super) day: Option<String>,
    /// The protocol version that the agent chose.
    pub(super) protocol: Option<u64>,
    /// Name and type of each authentication method.
    pub(super) auth_methods: Vec<(String, String)>,
    /// Why the agent opens no session before it is set up, as it says itself.
    pub(super) setup_required: Option<String>,
    features: BTreeMap<String, bool>,
    probes: BTreeMap<String, String>,
}

/// Whether an agent supports a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Yes,
    No,
    NeedsSignIn,
    NotTested,
}

impl State {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::NeedsSignIn => "Needs sign-in",
            Self::NotTested => "Not tested",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::NeedsSignIn => "auth",
            Self::NotTested => "none",
        }
    }
}

/// The document is not a capability snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The document is not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The document has no list of agents.
    #[error("has no list `agents`")]
    NoRows,
}

impl Capabilities {
    /// Parses a snapshot, or the JSON report of `verify`.
    ///
    /// # Errors
    /// [`SnapshotError`] if the text is not JSON or has no list of agents.
    pub fn parse(text: &[u8]) -> Result<Self, SnapshotError> {
        let document: Value = acp_registry_core::json::whole(text)?;
        // The report of `verify` has the same rows as `results`.
        let list = ["agents", "results"].iter().find_map(|key| document.get(key)?.as_array());
        let list = list.ok_or(SnapshotError::NoRows)?;
        let mut rows = BTreeMap::new();
        for value in list {
            let Some(id) = value.get("id").and_then(Value::as_str) else { continue };
            let Some(row) = Row::read(value) else { continue };
            // A snapshot has a row for each distribution of an agent. The one with the most features is used.
            let kept: &mut Row = rows.entry(id.to_owned()).or_default();
            if row.features.len() > kept.features.len() || kept.protocol.is_none() {
                *kept = row;
            }
        }
        Ok(Self { rows })
    }

    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.get(id)
    }
}

impl Row {
    /// Reads a row; `None` if the agent was not started or did not answer.
    fn read(value: &Value) -> Option<Self> {
        let row = value.as_object()?;
        // The site shows the stable channel.
        if row.get("channel").and_then(Value::as_str) == Some("preview") {
            return None;
        }
        let answer = row.get("handshake").and_then(Value::as_object).unwrap_or(row);
        let protocol = answer.get("protocol_version").and_then(Value::as_u64);
        let features: BTreeMap<String, bool> = members(answer, "features", Value::as_bool);
        if protocol.is_none() && features.is_empty() {
            return None;
        }
        let methods = answer.get("auth_methods").and_then(Value::as_array).into_iter().flatten();
        let methods = methods.filter_map(|method| {
            let text = |key: &str| method.get(key).and_then(Value::as_str);
            Some((text("name").or_else(|| text("id"))?.to_owned(), text("type").unwrap_or("agent").to_owned()))
        });
        let outcome = |value: &Value| value.as_str().or_else(|| value.get("outcome")?.as_str()).map(ToOwned::to_owned);
        Some(Self {
            version: row.get("version").and_then(Value::as_str).map(ToOwned::to_owned),
            day: row.get("checked_at").and_then(Value::as_str).and_then(day),
            protocol,
            auth_methods: methods.collect(),
            setup_required: answer.get("setup_required").and_then(Value::as_str).map(ToOwned::to_owned),
            features,
            probes: members(answer, "probes", outcome),
        })
    }

    /// Whether the agent supports a feature, judging by its answer and, if the feature's method was probed, by the
    /// result.
    pub(super) fn state(&self, feature: &str) -> State {
        match self.features.get(feature) {
            None => State::NotTested,
            Some(false) => State::No,
            Some(true) => match self.probes.get(feature).map(String::as_str) {
                Some("auth_required") => State::NeedsSignIn,
                // The agent announces the feature, but does not implement its method.
                Some("method_not_found") => State::No,
                _ => State::Yes,
            },
        }
    }
}

fn members<T>(object: &Map<String, Value>, key: &str, read: impl Fn(&Value) -> Option<T>) -> BTreeMap<String, T> {
    let members = object.get(key).and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), read(value)?))).collect()
}

/// The day of an RFC 3339 timestamp.
fn day(time: &str) -> Option<String> {
    let day = time.get(..10)?;
    let is_day = day.bytes().enumerate().all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() });
    is_day.then(|| day.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_members_are_unknown() {
        let text = br#"{ "agents": [
            { "id": "a", "protocol_version": 1, "features": { "session/load": true, "session/list": true, "nes": false },
              "probes": { "session/list": "auth_required" }, "auth_methods": [ { "id": "x" }, 7 ],
              "checked_at": "2026-11-02T01:02:03Z", "version": "1.0.0", "stderr_tail": "/home/secret" },
            { "id": "a", "channel": "preview", "protocol_version": 1, "features": { "x": true, "y": true, "z": true, "u": true } },
            { "id": "b", "verdict": "error" }, { "id": "c", "protocol_version": null, "features": {}, "checked_at": null }, { "features": {} }, 5 ] }"#;
        let capabilities = Capabilities::parse(text).unwrap();
        let row = capabilities.row("a").unwrap();
        assert_eq!(row.state("session/load"), State::Yes);
        assert_eq!(row.state("session/list"), State::NeedsSignIn);
        assert_eq!(row.state("nes"), State::No);
        assert_eq!(row.state("providers"), State::NotTested);
        assert_eq!(row.auth_methods, [("x".to_owned(), "agent".to_owned())]);
        assert_eq!(row.day.as_deref(), Some("2026-11-02"));
        assert!(capabilities.row("b").is_none());
        assert!(!format!("{capabilities:?}").contains("secret"));
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        assert!(matches!(Capabilities::parse(b"{"), Err(SnapshotError::Syntax(_))));
        assert!(matches!(Capabilities::parse(b"{}"), Err(SnapshotError::NoRows)));
    }
}
