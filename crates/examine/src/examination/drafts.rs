//! The client's part of proposals: answers to elicitations, reviews of written files, and an MCP server that is reached
//! over the connection.
//!
//! No link is opened, and the server has one tool that returns a fixed text.

use serde_json::{Map, Value, json};

/// The response to a request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClientReply {
    Result(Value),
    /// The code and the message of an error.
    Error(i64, &'static str),
    /// The response follows later.
    Later,
    /// The client has not advertised the method, or carries nothing of the kind out.
    Refusal,
}

/// The only tool of the MCP server.
pub(super) const TOOL: &str = "acp_registry_color";

/// The text that the tool returns.
pub(super) const TOOL_RESULT: &str = "acp-registry-green";

/// Code of JSON-RPC for invalid parameters.
const INVALID: i64 = -32_602;

/// The state of the client for proposals.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    /// The action with which elicitations are answered, if not `accept`.
    pub(super) action: Option<&'static str>,
    /// The result of `fs/write_text_file`, as the proposal on human-in-the-loop editing extends it.
    pub(super) review: Option<Value>,
    /// The id of the MCP server that the check has declared.
    pub(super) server: Option<&'static str>,
    /// Number of connections to the server.
    connections: usize,
}

impl Drafts {
    /// Answers `elicitation/create`; `offered` is the mode that the client advertises.
    pub(super) fn elicitation(&self, params: &Value, offered: Option<&str>) -> ClientReply {
        match (params["mode"].as_str(), offered) {
            (_, None) => ClientReply::Refusal,
            (mode, offered) if mode != offered => ClientReply::Error(INVALID, "Invalid params"),
            _ => match self.action {
                Some(action) => ClientReply::Result(json!({ "action": action })),
                None if offered == Some("url") => ClientReply::Result(json!({ "action": "accept" })),
                None => {
                    let content = content(&params["requestedSchema"]);
                    ClientReply::Result(json!({ "action": "accept", "content": content }))
                }
            },
        }
    }

    /// Answers requests to the MCP server.
    pub(super) fn requested(&mut self, method: &str, params: &Value) -> ClientReply {
        let Some(server) = self.server else { return ClientReply::Refusal };
        match method {
            "mcp/connect" if params["acpId"] == server => {
                self.connections += 1;
                ClientReply::Result(json!({ "connectionId": connection(self.connections) }))
            }
            "mcp/message" | "mcp/disconnect" if !self.is_connected(&params["connectionId"]) => {
                ClientReply::Error(INVALID, "Unknown connection")
            }
            "mcp/connect" => ClientReply::Error(INVALID, "Unknown server"),
            "mcp/disconnect" => ClientReply::Result(json!({})),
            "mcp/message" => message(params["method"].as_str().unwrap_or_default(), &params["params"]),
            _ => ClientReply::Refusal,
        }
    }

    /// Whether this is the id of a connection to the MCP server.
    pub(super) fn is_connected(&self, id: &Value) -> bool {
        (1..=self.connections).any(|number| *id == connection(number))
    }
}

/// The id of a connection, by its number.
pub(super) fn connection(number: usize) -> String {
    format!("acp-registry-connection-{number}")
}

/// The response to a message of an MCP client.
fn message(method: &str, params: &Value) -> ClientReply {
    let result = match method {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or("2025-06-18"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "acp-registry", "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": [{
            "name": TOOL, "description": "Returns the color of the project", "inputSchema": { "type": "object" },
        }] }),
        "tools/call" if params["name"] == TOOL => {
            json!({ "content": [{ "type": "text", "text": TOOL_RESULT }], "isError": false })
        }
        "tools/call" => return ClientReply::Error(INVALID, "Unknown tool"),
        _ => return ClientReply::Error(-32_601, "Method not found"),
    };
    ClientReply::Result(result)
}

/// Fills in a form: with the default of each property, with its first choice, or with a value of its type.
pub(super) fn content(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten().take(100);
    let filled = properties.map(|(name, property)| (name.clone(), value(property)));
    Value::Object(filled.collect::<Map<_, _>>())
}

fn value(property: &Value) -> Value {
    if let Some(default) = property.get("default") {
        return default.clone();
    }
    let first = |of: &Value| {
        let titled = of.get("oneOf").or(of.get("anyOf")).map(|choices| choices[0]["const"].clone());
        titled.or_else(|| of.get("enum").map(|choices| choices[0].clone()))
    };
    match property["type"].as_str() {
        Some("boolean") => true.into(),
        Some("number" | "integer") => property.get("minimum").cloned().unwrap_or_else(|| 1.into()),
        Some("array") => first(&property["items"]).map_or_else(|| json!([]), |choice| json!([choice])),
        _ => first(property).unwrap_or_else(|| "acp-registry".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_offered_mode_is_accepted() {
        let drafts = Drafts::default();
        let form = json!({ "mode": "form", "requestedSchema": { "properties": { "a": { "type": "string" } } } });
        assert_eq!(drafts.elicitation(&form, None), ClientReply::Refusal);
        assert!(matches!(drafts.elicitation(&form, Some("url")), ClientReply::Error(INVALID, _)));
        assert!(matches!(drafts.elicitation(&json!({}), Some("form")), ClientReply::Error(INVALID, _)));
        let accepted = json!({ "action": "accept", "content": { "a": "acp-registry" } });
        assert_eq!(drafts.elicitation(&form, Some("form")), ClientReply::Result(accepted));
        let drafts = Drafts { action: Some("decline"), ..drafts };
        assert_eq!(drafts.elicitation(&form, Some("form")), ClientReply::Result(json!({ "action": "decline" })));
    }

    #[test]
    fn forms_are_filled_in_by_their_schema() {
        let schema = json!({ "properties": {
            "kept": { "type": "string", "default": "d" }, "one": { "type": "string", "oneOf": [{ "const": "a" }] },
            "of": { "type": "string", "enum": ["b", "c"] }, "port": { "type": "integer", "minimum": 1024 },
            "many": { "type": "array", "items": { "anyOf": [{ "const": "x" }] } }, "is": { "type": "boolean" },
            "bad": { "type": "array", "items": 7 }, "worse": 7,
        } });
        let expected = json!({
            "kept": "d", "one": "a", "of": "b", "port": 1024, "many": ["x"], "is": true, "bad": [],
            "worse": "acp-registry",
        });
        assert_eq!(content(&schema), expected);
        assert_eq!(content(&json!("x")), json!({}));
    }

    #[test]
    fn the_server_is_reached_only_by_its_id_and_over_a_connection() {
        let mut drafts = Drafts::default();
        let connect = json!({ "acpId": "s" });
        assert_eq!(drafts.requested("mcp/connect", &connect), ClientReply::Refusal);
        drafts.server = Some("s");
        assert!(matches!(drafts.requested("mcp/connect", &json!({ "acpId": "t" })), ClientReply::Error(INVALID, _)));
        let list = json!({ "connectionId": "acp-registry-connection-1", "method": "tools/list" });
        assert!(matches!(drafts.requested("mcp/message", &list), ClientReply::Error(INVALID, _)));
        let connected = ClientReply::Result(json!({ "connectionId": "acp-registry-connection-1" }));
        assert_eq!(drafts.requested("mcp/connect", &connect), connected);
        let ClientReply::Result(listed) = drafts.requested("mcp/message", &list) else { panic!() };
        assert_eq!(listed["tools"][0]["name"], TOOL);
        assert_eq!(drafts.requested("_x", &json!({})), ClientReply::Refusal);
    }
}
