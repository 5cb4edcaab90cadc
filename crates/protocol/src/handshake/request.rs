//! Messages that the client sends.

use std::path::Path;

use serde_json::{Value, json};

/// The parameters of `initialize` for a protocol version.
///
/// Agents offer only authentication methods that the client can carry out, and some reject clients without a file
/// system. So this client claims all capabilities.
#[must_use]
pub fn initialize(version: u16) -> Value {
    let info = json!({ "name": "acp-registry", "title": "ACP Registry", "version": env!("CARGO_PKG_VERSION") });
    let mut params = json!({
        "protocolVersion": version,
        "clientInfo": info,
        "clientCapabilities": {
            // Always both, as the proposal on symmetric file system capabilities requires.
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "auth": { "terminal": true },
            // Required by proposals: without them, agents hide features.
            "session": { "configOptions": { "boolean": {} } },
            "positionEncodings": ["utf-16", "utf-32", "utf-8"],
            // The predecessor of `auth.terminal`, which many agents still use.
            "_meta": { "terminal-auth": true, "terminal_output": true },
        },
    });
    if version >= 2 {
        // In addition to the members of version 1, which agents that support only that version read.
        params["info"] = info;
        params["capabilities"] = json!({
            "auth": { "terminal": {} },
            "positionEncodings": ["utf-16", "utf-32", "utf-8"],
            "_meta": { "terminal-auth": true, "terminal_output": true },
        });
    }
    params
}

/// Method and parameters of a request to sign in with one of the agent's methods.
pub(super) fn authenticate(version: i64, method: &str) -> (&'static str, Value) {
    (if version >= 2 { "auth/login" } else { "authenticate" }, json!({ "methodId": method }))
}

/// Method and parameters of a request to sign out.
pub(super) fn log_out(version: i64) -> (&'static str, Value) {
    (if version >= 2 { "auth/logout" } else { "logout" }, json!({}))
}

/// The parameters for a session in a directory.
pub(super) fn in_directory(directory: &Path) -> Value {
    json!({ "cwd": directory.to_string_lossy(), "mcpServers": [] })
}

/// A request as one line.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// The response to a request of the agent, all of which are refused. `id` is JSON as the agent has written it.
#[must_use]
pub fn refusal(id: &serde_json::value::RawValue, method: &str) -> Vec<u8> {
    let known = ["fs/", "terminal/", "session/request_permission", "elicitation/"];
    let (code, message) = if known.iter().any(|prefix| method.starts_with(prefix)) {
        (-32603, "this client carries nothing out")
    } else {
        (-32601, "Method not found")
    };
    let error = json!({ "code": code, "message": message });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}\n", id.get().replace(['\n', '\r'], " ")).into_bytes()
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_one_line_of_json() {
        let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
        for (id, method, code) in
            [("7", "fs/read_text_file", -32603), ("\"a\"", "foo", -32601), ("[1,\n2]", "x", -32601)]
        {
            let text = String::from_utf8(refusal(&raw(id), method)).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["jsonrpc"], value["error"]["code"].as_i64()), (&json!("2.0"), Some(code)));
            assert_eq!(value["id"], serde_json::from_str::<Value>(id).unwrap());
            assert_eq!(text.matches('\n').count(), 1);
        }
        let text = String::from_utf8(request(1, "initialize", &initialize(1))).unwrap();
        assert!(text.ends_with("}\n") && text.matches('\n').count() == 1);
    }

    #[test]
    fn the_client_claims_what_the_rule_needs() {
        let params = initialize(1);
        let capabilities = &params["clientCapabilities"];
        assert_eq!(params["protocolVersion"], 1);
        assert_eq!(capabilities["fs"], json!({ "readTextFile": true, "writeTextFile": true }));
        assert_eq!((&capabilities["terminal"], &capabilities["auth"]["terminal"]), (&json!(true), &json!(true)));
        assert_eq!(capabilities["_meta"], json!({ "terminal-auth": true, "terminal_output": true }));
        assert!(params.get("info").is_none());
        assert_eq!(initialize(2)["info"]["name"], "acp-registry");
        assert_eq!(initialize(2)["capabilities"]["auth"], json!({ "terminal": {} }));
    }
}
