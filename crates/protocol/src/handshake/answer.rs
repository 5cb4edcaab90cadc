//! Reads the answer to `initialize`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::auth::{self, AuthMethod};
use super::features::Features;
use super::probe::{Probes, SessionChoices};
use super::verdict::{FailReason, HandshakeFailure};
use super::warnings::kind;
use acp_registry_plan::text::quote;

/// The protocol versions that this client supports.
const VERSIONS: [i64; 2] = [1, 2];

/// The answers of an agent, as far as it has answered.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Handshake {
    /// The protocol version that the agent has chosen.
    pub protocol_version: Option<i64>,
    /// `agentInfo`, or `info` in version 2, as received.
    pub agent_info: Value,
    /// The authentication methods.
    pub auth_methods: Vec<AuthMethod>,
    /// `agentCapabilities`, or `capabilities` in version 2, as received.
    pub capabilities: Value,
    /// The capabilities by stable name.
    pub features: Features,
    /// Members that no protocol version defines, including `_meta`, as received.
    pub extra: Map<String, Value>,
    /// Results of further requests, by method.
    pub probes: Probes,
    /// The choices of a new session; `None` if none was opened.
    pub session: Option<SessionChoices>,
    /// The agent's message on one line, if it cannot open a session for a reason other than missing credentials, such
    /// as a program, model or provider that must be set up first. Not escaped: escape it before printing.
    pub setup_required: Option<String>,
    /// Number of notifications from the agent, by method.
    pub notifications: BTreeMap<String, u64>,
    /// Number of requests from the agent, by method. All were refused.
    pub requests: BTreeMap<String, u64>,
    /// Deviations that do not affect the verdict.
    pub warnings: Vec<String>,
}

impl Handshake {
    /// Reads and checks the `result` of `initialize`. All readable parts are returned even if the check fails.
    pub(super) fn read(result: &Value, asked: u16) -> (Self, Result<(), HandshakeFailure>) {
        let mut handshake = Self::default();
        let judgement = handshake.fill(result, i64::from(asked));
        (handshake, judgement)
    }

    fn fill(&mut self, result: &Value, asked: i64) -> Result<(), HandshakeFailure> {
        let malformed =
            |problem: String| HandshakeFailure::new(FailReason::InvalidResponse, format!("the response {problem}"));
        let Value::Object(members) = result else {
            return Err(malformed(format!("has `result` that is {}, not an object", kind(result))));
        };
        let version = version(members).map_err(malformed)?;
        self.protocol_version = Some(version);
        if !VERSIONS.contains(&version) {
            let message = format!("the agent chose version {version} of the protocol; clients speak versions 1 and 2");
            return Err(HandshakeFailure::new(FailReason::ProtocolVersion, message));
        }
        // A lower version is regular negotiation; a higher one does not work with clients of the requested version.
        if version > asked {
            self.warnings.push(format!("the agent answers version {asked} of the protocol with version {version}"));
        }
        let [capabilities, info, others @ ..] = if version >= 2 {
            ["capabilities", "info", "agentCapabilities", "agentInfo"]
        } else {
            ["agentCapabilities", "agentInfo", "capabilities", "info"]
        };
        for name in others.iter().filter(|name| members.contains_key(**name)) {
            self.warnings
                .push(format!("`{name}` is not read: it does not belong to version {version} of the protocol"));
        }
        self.extra = members
            .iter()
            .filter(|(name, _)| !["protocolVersion", "authMethods", capabilities, info].contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.agent_info = members.get(info).cloned().unwrap_or_default();
        if !matches!(self.agent_info, Value::Object(_) | Value::Null) {
            self.warnings.push(format!("`{info}` is {}, not an object", kind(&self.agent_info)));
        } else if version >= 2 && self.agent_info.is_null() {
            self.warnings.push("there is no `info`, which version 2 requires".to_owned());
        }
        self.capabilities = members.get(capabilities).cloned().unwrap_or_default();
        if !matches!(self.capabilities, Value::Object(_) | Value::Null) {
            return Err(malformed(format!("has `{capabilities}` that is {}, not an object", kind(&self.capabilities))));
        }
        self.features = Features::read(&self.capabilities, version, &mut self.warnings);
        self.auth_methods = auth::read(members.get("authMethods"), version, &mut self.warnings).map_err(malformed)?;
        auth::judge(&self.auth_methods, members.contains_key("authMethods"))
    }
}

fn version(members: &Map<String, Value>) -> Result<i64, String> {
    let value = members.get("protocolVersion").ok_or("has no `protocolVersion`")?;
    value.as_i64().ok_or_else(|| {
        let shown = quote(&value.to_string());
        format!("has the `protocolVersion` {shown}, which is {}, not an integer", kind(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn judge(result: &Value) -> Result<(), HandshakeFailure> {
        Handshake::read(result, 1).1
    }

    #[test]
    fn version_1_is_read() {
        let answer = json!({
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": true, "brandNew": { "x": 1 } },
            "agentInfo": { "name": "a" },
            "authMethods": [{ "id": "login", "name": "Log in" }],
            "modes": { "a": 1 },
        });
        let (handshake, judgement) = Handshake::read(&answer, 1);
        assert_eq!(judgement, Ok(()));
        assert_eq!(handshake.protocol_version, Some(1));
        assert_eq!(handshake.capabilities["brandNew"]["x"], 1);
        assert_eq!(handshake.agent_info["name"], "a");
        assert_eq!(Value::from(handshake.extra), json!({ "modes": { "a": 1 } }));
        assert!(handshake.features.has("session/load"));
        assert_eq!(handshake.warnings, [] as [&str; 0]);
    }

    #[test]
    fn version_2_is_read_and_told() {
        let answer = json!({
            "protocolVersion": 2,
            "capabilities": { "session": {} },
            "info": { "name": "a", "version": "1" },
            "authMethods": [{ "methodId": "login", "name": "Log in", "type": "agent" }],
        });
        let (handshake, judgement) = Handshake::read(&answer, 2);
        assert_eq!((judgement, &handshake.warnings[..]), (Ok(()), &[][..]));
        assert!(handshake.features.has("session/list"));
        let (handshake, judgement) = Handshake::read(&answer, 1);
        assert_eq!(judgement, Ok(()));
        assert_eq!(handshake.warnings, ["the agent answers version 1 of the protocol with version 2"]);
        let older = json!({ "protocolVersion": 1, "authMethods": [{ "id": "login", "name": "Log in" }] });
        assert_eq!(Handshake::read(&older, 2).0.warnings, [] as [&str; 0]);
    }

    #[test]
    fn the_shape_of_version_1_under_the_name_of_version_2_is_no_answer() {
        let methods = json!([{ "id": "a", "name": "A" }]);
        let answer = json!({ "protocolVersion": 2, "agentCapabilities": {}, "agentInfo": {}, "authMethods": methods });
        let (handshake, judgement) = Handshake::read(&answer, 2);
        assert_eq!(judgement.unwrap_err().reason, FailReason::InvalidResponse);
        assert!(
            handshake.warnings.contains(
                &"`agentCapabilities` is not read: it does not belong to version 2 of the protocol".to_owned()
            )
        );
    }

    #[test]
    fn versions_are_judged() {
        for (version, reason) in [
            (json!(0), FailReason::ProtocolVersion),
            (json!(99), FailReason::ProtocolVersion),
            (json!(-1), FailReason::ProtocolVersion),
            (json!("1"), FailReason::InvalidResponse),
            (json!(1.5), FailReason::InvalidResponse),
            (json!(null), FailReason::InvalidResponse),
        ] {
            let failure = judge(&json!({ "protocolVersion": version, "authMethods": [] })).unwrap_err();
            assert_eq!(failure.reason, reason, "{version}: {}", failure.message);
        }
        assert_eq!(judge(&json!({})).unwrap_err().message, "the response has no `protocolVersion`");
        assert_eq!(Handshake::read(&json!({ "protocolVersion": 99 }), 1).0.protocol_version, Some(99));
        let text = judge(&json!({ "protocolVersion": "1" })).unwrap_err().message;
        assert_eq!(text, "the response has the `protocolVersion` `\"1\"`, which is a string, not an integer");
    }

    #[test]
    fn malformed_answers_are_told_apart() {
        for (result, message) in [
            (json!(null), "the response has `result` that is null, not an object"),
            (json!([]), "the response has `result` that is an array, not an object"),
            (
                json!({ "protocolVersion": 1, "authMethods": null }),
                "the response has `authMethods` that is null, not an array",
            ),
            (
                json!({ "protocolVersion": 1, "agentCapabilities": 7 }),
                "the response has `agentCapabilities` that is a number, not an object",
            ),
        ] {
            let failure = judge(&result).unwrap_err();
            assert_eq!((failure.reason, failure.message.as_str()), (FailReason::InvalidResponse, message));
        }
        assert_eq!(judge(&json!({ "protocolVersion": 1 })).unwrap_err().reason, FailReason::NoAuthMethods);
    }
}
