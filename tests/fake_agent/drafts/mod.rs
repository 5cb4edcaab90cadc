//! An agent that implements the proposals which examinations check: `drafts BREAKS EXCHANGE`. `BREAKS` names its
//! deviations from the texts, separated by spaces; an exchange replaces single answers, as in `played`.

mod inject;
mod nes;
mod turns;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::played::{run_as, write};
use inject::Message;
use nes::Nes;
use turns::Waits;

type Answer = Result<Value, (i64, &'static str)>;

const UNKNOWN_METHOD: (i64, &str) = (-32601, "Method not found");

#[derive(Default)]
struct Session {
    id: String,
    cwd: String,
    /// The id of the running `session/prompt` of version 1.
    prompt: Value,
    is_running: bool,
    pending: Vec<Message>,
    delivered: Vec<String>,
    /// The updates of the conversation.
    history: Vec<Value>,
    /// The id of its MCP server that is reached over the connection, and the connection.
    server: Option<String>,
    connection: Value,
}

struct Drafts<'a> {
    breaks: Vec<&'a str>,
    version: u64,
    client: Value,
    sessions: Vec<Session>,
    nes: Nes,
    /// The requests that wait for a response, with the number of the session.
    waiting: BTreeMap<String, (usize, Waits)>,
    /// Number of ids that were used.
    ids: usize,
}

pub(super) fn run(breaks: &str, exchange: &str) {
    let mut drafts = Drafts {
        breaks: breaks.split_whitespace().collect(),
        // Of the requests for `initialize`, exchanges replace only those for version 2.
        version: 2,
        client: Value::Null,
        sessions: Vec::new(),
        nes: Nes::default(),
        waiting: BTreeMap::new(),
        ids: 0,
    };
    run_as(exchange, |message: &Value, _: bool| drafts.receive(message));
}

fn send(message: &Value) {
    write(&message.to_string());
}

fn notify(method: &str, params: &Value) {
    send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
}

fn respond(id: &Value, answer: Answer) {
    send(&match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, text)) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } }),
    });
}

impl Drafts<'_> {
    fn is(&self, name: &str) -> bool {
        self.breaks.contains(&name)
    }

    fn new_id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}-{}", self.ids)
    }

    fn receive(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        let method = message["method"].as_str().unwrap_or_default();
        if message.get("id").is_none() {
            return self.notified(method, params);
        }
        if method.is_empty() {
            let waits = id.as_str().and_then(|id| self.waiting.remove(id));
            return waits.map_or((), |(session, waits)| self.resume_turn(session, waits, message));
        }
        if method == "session/prompt" {
            return self.prompt(id, params);
        }
        let answer = self.requested(method, params);
        respond(id, answer);
        if method == "session/resume" && self.is("v2-replays-late") {
            self.replay_all(params);
        }
    }

    fn notified(&mut self, method: &str, params: &Value) {
        let number = self.session(params);
        match (method, number) {
            ("session/cancel", Some(number)) => self.cancel(number),
            _ => self.event(method, params),
        }
    }

    fn requested(&mut self, method: &str, params: &Value) -> Answer {
        match method {
            "initialize" => Ok(self.initialize(params)),
            "session/new" => Ok(self.new_session(params)),
            "nes/start" | "nes/suggest" | "nes/close" => self.nes_requested(method, params),
            "mcp/message" => self.called_back(params),
            _ => {
                let Some(number) = self.session(params) else {
                    return match method {
                        "session/list" if self.version == 2 && !self.is("v2-no-list") => Ok(self.list()),
                        "session/list" => Err(UNKNOWN_METHOD),
                        _ if method.contains('/') && !method.starts_with("_acp") => Err((-32002, "Resource not found")),
                        _ => Err(UNKNOWN_METHOD),
                    };
                };
                match method {
                    "session/resume" if self.version == 2 && !self.is("v2-no-resume") => Ok(self.replay(params)),
                    "session/close" if self.version == 2 && !self.is("v2-no-close") => Ok(json!({})),
                    _ => self.injecting(method, number, params),
                }
            }
        }
    }

    /// The number of the session that a message names.
    fn session(&self, params: &Value) -> Option<usize> {
        self.sessions.iter().position(|session| params["sessionId"] == session.id.as_str())
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.version = params["protocolVersion"].as_u64().unwrap_or(1).clamp(1, 2);
        self.client = params["clientCapabilities"].clone();
        let info = json!({ "name": "fake-agent", "version": "1.0.0" });
        if self.version == 2 && !self.is("v2-old-names") {
            let image = if self.is("v2-boolean") { json!(true) } else { json!({}) };
            let mut result = json!({
                "protocolVersion": 2, "info": info, "authMethods": [],
                "capabilities": { "session": { "prompt": { "image": image }, "inject": self.inject_capability() } },
            });
            if self.is("v2-no-info") {
                result["info"] = Value::Null;
            }
            return result;
        }
        let mut capabilities = json!({
            "mcpCapabilities": { "acp": true },
            "fs": { "hitlEditing": true },
            "nes": Self::nes_capability(),
        });
        if let Some(encoding) = self.encoding() {
            capabilities["positionEncoding"] = encoding.into();
        }
        json!({
            "protocolVersion": self.version, "agentCapabilities": capabilities, "agentInfo": info, "authMethods": [],
            "_meta": { "steering": { "supported": true } },
        })
    }

    fn new_session(&mut self, params: &Value) -> Value {
        let id = self.new_id("session");
        let server = params["mcpServers"][0]["id"].as_str().map(str::to_owned);
        let cwd = params["cwd"].as_str().unwrap_or_default().to_owned();
        self.sessions.push(Session { id: id.clone(), cwd, server, ..Session::default() });
        json!({ "sessionId": id })
    }

    fn list(&self) -> Value {
        let rows = self.sessions.iter().map(|session| json!({ "sessionId": session.id, "cwd": "/" }));
        json!({ "sessions": rows.collect::<Vec<_>>() })
    }

    fn replay(&self, params: &Value) -> Value {
        let is_wanted = params["replayFrom"]["type"] == "start" || self.is("v2-always-replays");
        if is_wanted && !self.is("v2-never-replays") && !self.is("v2-replays-late") {
            self.replay_all(params);
        }
        json!({})
    }

    fn replay_all(&self, params: &Value) {
        let Some(number) = self.session(params) else { return };
        for update in &self.sessions[number].history {
            self.update(number, update);
        }
    }

    fn update(&self, number: usize, update: &Value) {
        let id = &self.sessions[number].id;
        notify("session/update", &json!({ "sessionId": id, "update": update }));
    }

    /// Sends a request; `waits` says how the turn goes on.
    fn request(&mut self, number: usize, method: &str, params: &Value, waits: Waits) {
        let id = self.new_id("request");
        send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.waiting.insert(id, (number, waits));
    }
}
