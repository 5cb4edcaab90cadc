//! An agent with sessions that needs no sign-in: `sessions BREAKS EXCHANGE`. `BREAKS` names its deviations from the
//! protocol, separated by spaces; an exchange replaces single answers, as in `played`.

use serde_json::{Value, json};

use super::played::{run_as, write};

struct Sessions<'a> {
    breaks: Vec<&'a str>,
    /// The ids of open sessions.
    open: Vec<String>,
}

pub(super) fn run(breaks: &str, exchange: &str) {
    let mut sessions = Sessions { breaks: breaks.split_whitespace().collect(), open: Vec::new() };
    run_as(exchange, |message, _| sessions.answer(message));
}

impl Sessions<'_> {
    fn is_broken(&self, name: &str) -> bool {
        self.breaks.contains(&name)
    }

    fn answer(&mut self, message: &Value) {
        let Some(id) = message.get("id") else { return };
        let answer = match message["method"].as_str().unwrap_or_default() {
            // A response to the agent's own request.
            "" => return,
            "initialize" => Ok(json!({
                "protocolVersion": 1,
                "agentCapabilities": { "loadSession": true },
                "agentInfo": { "name": "fake-agent", "version": "1.0.0" },
                "authMethods": [],
            })),
            "session/new" => Ok(self.new_session()),
            _ => Err((-32601, "Method not found")),
        };
        let answer = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, text)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }),
        };
        write(&answer.to_string());
    }

    fn new_session(&mut self) -> Value {
        let number = if self.is_broken("same-id") { 0 } else { self.open.len() };
        let id = format!("session-{number}");
        self.open.push(id.clone());
        json!({ "sessionId": id })
    }
}
