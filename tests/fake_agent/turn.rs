//! An agent that carries out turns with a model: `turns BREAKS EXCHANGE`. `BREAKS` names its deviations, separated by
//! `;`, each as `NAME` or `NAME@EVENT`; an exchange replaces messages, as [`replaced`](super::replaced) describes.

use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::process::{Child, Command, Stdio, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::mcp::Server;
use super::replaced::{Exchange, Writer};
use super::turn_model::{self, Answer};

/// What all turns share.
struct Agent {
    breaks: Vec<String>,
    exchange: Exchange,
    /// Whether requests to the model go on when a turn is cancelled.
    keeps_connections: bool,
    client: Mutex<Value>,
    sessions: Mutex<BTreeMap<String, Session>>,
    /// Those who wait for responses of the client, by the id of the request.
    waiting: Mutex<BTreeMap<u64, Sender<Value>>>,
    next: AtomicU64,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
struct Session {
    cwd: String,
    history: Vec<Value>,
    /// The MCP server, and the names of its tools.
    server: Option<(Server, Vec<String>)>,
    /// What has cancelled the turn: the last part of the event.
    cancelled: Option<&'static str>,
    /// The id of the last prompt.
    prompt: Value,
    has_failed: bool,
    has_mode: bool,
    /// Whether it was loaded or resumed.
    is_reopened: bool,
    /// Whether it sends no text any more.
    is_frozen: bool,
}

pub(super) fn run(breaks: &str, exchange: &str) {
    let agent = Arc::new(Agent {
        breaks: breaks.split(';').map(str::to_owned).collect(),
        exchange: Exchange::parse(exchange),
        keeps_connections: exchange.contains("lets the model go on"),
        client: Mutex::default(),
        sessions: Mutex::default(),
        waiting: Mutex::default(),
        next: AtomicU64::new(100),
    });
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let (id, params) = (message["id"].clone(), message["params"].clone());
        let reply =
            |result: Value| super::played::write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
        let refuse = |code: i64, text: &str| {
            let error = json!({ "code": code, "message": text });
            super::played::write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
        };
        match message["method"].as_str() {
            None => {
                let waiting = id.as_u64().and_then(|id| agent.waiting.lock().unwrap().remove(&id));
                waiting.map(|waiting| waiting.send(message));
            }
            Some("initialize") => {
                *agent.client.lock().unwrap() = params["clientCapabilities"].clone();
                reply(json!({
                    "protocolVersion": 1, "authMethods": [], "agentInfo": { "name": "fake-agent", "version": "1.0.0" },
                    "agentCapabilities": {
                        "loadSession": true, "promptCapabilities": { "image": true, "embeddedContext": true },
                        "sessionCapabilities": { "close": {}, "resume": {} }, "mcpCapabilities": { "http": true },
                    },
                }));
            }
            Some(_) if !id.is_null() && agent.client.lock().unwrap().is_null() => {
                refuse(-32600, "initialize comes first");
            }
            Some("session/new") if !params["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')) => {
                refuse(-32602, "Invalid params");
            }
            Some("session/new") if params["mcpServers"][0]["type"] == "http" && agent.is_broken("refuses-http") => {
                refuse(-32603, "No such transport");
            }
            Some("session/prompt" | "session/close") if !agent.knows(&params) => refuse(-32002, "Resource not found"),
            Some("session/new") => {
                let session = agent.open(&params);
                reply(json!({ "sessionId": session }));
                // As most agents do, so that checks do not wait for them.
                let update = json!({ "sessionUpdate": "available_commands_update", "availableCommands": [] });
                let params = json!({ "sessionId": session, "update": update });
                let update = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
                super::played::write(&update.to_string());
            }
            Some("session/set_mode") => {
                let session = params["sessionId"].as_str().unwrap();
                agent.with(session, |session| session.has_mode = params["modeId"] == "of-recipe");
                reply(json!({}));
            }
            Some("session/close") => {
                let session = params["sessionId"].as_str().unwrap();
                if !agent.is_broken("ignores-close") {
                    agent.with(session, |session| session.cancelled = Some("close"));
                }
                if agent.is_broken("closes-all") {
                    agent.sessions.lock().unwrap().values_mut().for_each(|session| session.has_failed = true);
                }
                reply(json!({}));
            }
            Some("session/load" | "session/resume") => agent.reopen(&message),
            Some("session/prompt") if params["prompt"] == json!([]) => refuse(-32602, "The prompt is empty"),
            Some("$/cancel_request") if !agent.is_broken("ignores-requests") => {
                let mut sessions = agent.sessions.lock().unwrap();
                if let Some(session) = sessions.values_mut().find(|session| session.prompt == params["requestId"]) {
                    session.cancelled = Some("cancel_request");
                }
            }
            Some("session/prompt") => {
                let session = params["sessionId"].as_str().unwrap();
                agent.with(session, |session| {
                    (session.cancelled, session.prompt, session.is_frozen) = (None, id.clone(), false);
                });
                let agent = Arc::clone(&agent);
                thread::spawn(move || Turn::new(&agent, &params, id).run(&params));
            }
            Some("session/cancel") => {
                let is_meant = |id: &String| {
                    params["sessionId"] == **id || agent.exchange.says("cancels the turns of all sessions")
                };
                let mut sessions = agent.sessions.lock().unwrap();
                for (id, session) in &mut *sessions {
                    if is_meant(id) {
                        session.cancelled = Some("cancel");
                    } else {
                        session.is_frozen = agent.is_broken("freezes-others");
                    }
                }
            }
            Some(_) if !id.is_null() => refuse(-32601, "Method not found"),
            Some(_) => {}
        }
    }
}

impl Agent {
    fn open(&self, params: &Value) -> String {
        let mut sessions = self.sessions.lock().unwrap();
        let id = format!("session-{}", sessions.len());
        let cwd = params["cwd"].as_str().unwrap().to_owned();
        let server = params["mcpServers"].get(0).map(|server| {
            if server["type"] != "http" {
                let mut server = Server::start(server, &super::mcp::env_of(server));
                let tools = server.connect();
                return (server, tools);
            }
            let mut server = Server::over_http(server, |value| match () {
                () if self.is_broken("drops-headers") => None,
                () if self.is_broken("cuts-headers") => value.split(' ').next(),
                () => Some(value),
            });
            let tools = if self.is_broken("ignores-http") { Vec::new() } else { server.connect() };
            (server, tools)
        });
        let session = Session {
            cwd,
            history: Vec::new(),
            server,
            cancelled: None,
            prompt: Value::Null,
            has_failed: false,
            has_mode: false,
            is_reopened: false,
            is_frozen: false,
        };
        sessions.insert(id.clone(), session);
        id
    }

    fn knows(&self, params: &Value) -> bool {
        params["sessionId"].as_str().is_some_and(|session| self.sessions.lock().unwrap().contains_key(session))
    }

    fn is_broken(&self, name: &str) -> bool {
        self.breaks.iter().any(|known| known == name)
    }

    /// Loads a session, or resumes it.
    fn reopen(&self, message: &Value) {
        let (id, method) = (&message["id"], message["method"].as_str().unwrap());
        let session = message["params"]["sessionId"].as_str().unwrap();
        if self.is_broken(&format!("refuses {method}")) || !self.sessions.lock().unwrap().contains_key(session) {
            let error = json!({ "code": -32602, "message": format!("{session} is not there") });
            super::played::write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
            return;
        }
        let mut out = Writer::new(&self.exchange, session);
        method.clone_into(&mut out.event);
        let response = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        if self.is_broken("answers-first") {
            out.send(response.clone());
        }
        let replay = |out: &mut Writer<'_>| {
            let mut history = self.with(session, |session| session.history.clone());
            if self.is_broken("replays-backwards") {
                history.reverse();
            }
            for said in history {
                let is_user = said["role"] == "user";
                let kind = if is_user { "user_message_chunk" } else { "agent_message_chunk" };
                let text = if is_user { said["content"][0]["text"].clone() } else { said["content"].clone() };
                if text.is_string() {
                    out.update(&json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }));
                }
            }
        };
        if method == "session/load" && !self.is_broken("replays-nothing") {
            replay(&mut out);
        }
        let forgets = self.is_broken(&format!("forgets {method}"));
        self.with(session, |session| {
            session.is_reopened = true;
            if forgets {
                session.history.clear();
            }
        });
        if !self.is_broken("answers-first") {
            out.send(response);
        }
        if method == "session/resume" && self.is_broken("replays-late") {
            replay(&mut out);
        }
    }

    fn with<T>(&self, session: &str, then: impl FnOnce(&mut Session) -> T) -> T {
        then(self.sessions.lock().unwrap().get_mut(session).unwrap())
    }
}

/// A turn that is being carried out.
struct Turn<'a> {
    agent: &'a Agent,
    session: String,
    id: Value,
    out: Writer<'a>,
}

/// How a turn ends: with a stop reason, or an error.
type End = Result<&'static str, &'static str>;

impl<'a> Turn<'a> {
    fn new(agent: &'a Agent, params: &Value, id: Value) -> Self {
        let session = params["sessionId"].as_str().unwrap().to_owned();
        let out = Writer::new(&agent.exchange, &session);
        Self { agent, session, id, out }
    }

    fn is_broken(&self, name: &str) -> bool {
        let here = format!("{name}@{}", self.out.event);
        self.agent.breaks.iter().any(|known| *known == name || *known == here)
    }

    fn is_cancelled(&self) -> bool {
        self.agent.with(&self.session, |session| session.cancelled.is_some()) && !self.is_broken("ignores-cancel")
    }

    fn run(mut self, params: &Value) {
        let prompt = self.prompt(params);
        let forgets = self.agent.exchange.says("forgets the turns before");
        self.agent.with(&self.session, |session| {
            if forgets && !session.is_reopened {
                session.history.clear();
            }
            session.history.push(json!({ "role": "user", "content": prompt }));
        });
        let is_refused = self.is_broken("needs-mode") && !self.agent.with(&self.session, |session| session.has_mode);
        let end = loop {
            if is_refused {
                break Err("The mode is wrong");
            }
            if let Some(end) = self.step() {
                break end;
            }
        };
        if self.is_cancelled() {
            let by = self.agent.with(&self.session, |session| session.cancelled);
            self.out.cancelled(by.unwrap_or_default());
        }
        if self.is_broken("exits") {
            exit(7);
        }
        if self.is_broken("no-response") {
            return;
        }
        let id = &self.id;
        let response = match end {
            Ok(reason) => json!({ "jsonrpc": "2.0", "id": id, "result": { "stopReason": reason } }),
            Err(text) => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": text } }),
        };
        self.out.send(response);
        if self.is_broken("talks-on") {
            self.say("Stopped");
        }
    }

    fn say(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.out.update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    /// The content for the model.
    fn prompt(&self, params: &Value) -> Vec<Value> {
        let text = |text: &Value| json!({ "type": "text", "text": text });
        let blocks = params["prompt"].as_array().unwrap().iter();
        let content = blocks.filter_map(|block| match block["type"].as_str()? {
            "text" if self.is_broken("truncates") => {
                Some(text(&block["text"].as_str()?.chars().take(100_000).collect::<String>().into()))
            }
            "text" => Some(text(&block["text"])),
            "image" if !self.is_broken("drops-image") => {
                Some(json!({ "type": "image_url", "image_url": { "url": block["data"] } }))
            }
            "resource" if !self.is_broken("drops-resource") => Some(text(&block["resource"]["text"])),
            "resource_link" if !self.agent.exchange.says("leaves links out") => Some(text(&block["uri"])),
            _ => None,
        });
        content.collect()
    }

    /// Sends the conversation to the model, and carries out what it answers. `None` goes on.
    fn step(&mut self) -> Option<End> {
        let history = if self.is_broken("mixes-sessions") {
            // The prompts of all sessions, the own one last.
            let sessions = self.agent.sessions.lock().unwrap();
            let others = sessions.iter().filter(|(id, _)| **id != self.session);
            let own = sessions[&self.session].history.clone();
            others.flat_map(|(_, session)| session.history.clone()).chain(own).collect()
        } else {
            let mut own = self.agent.with(&self.session, |session| session.history.clone());
            own.retain(|said| {
                !self.is_broken("forgets-answers") || said["role"] != "assistant" || said["content"].is_null()
            });
            own
        };
        if self.agent.with(&self.session, |session| session.has_failed) {
            return Some(Err("The session has failed"));
        }
        let (mut text, mut held) = (String::new(), String::new());
        let tools = |session: &mut Session| session.server.as_ref().map(|(_, tools)| tools.clone()).unwrap_or_default();
        let more = self.agent.with(&self.session, tools);
        let answer = turn_model::ask(&history, &more, self.agent.keeps_connections, &mut |event, chunk| {
            if !event.is_empty() {
                event.clone_into(&mut self.out.event);
            }
            if !chunk.is_empty() {
                let is_first = text.is_empty();
                text += chunk;
                if self.is_broken("loses-middle") && chunk.contains("Answer 10560:") {
                    // The client does not get this piece.
                } else if self.is_broken("holds-text") || (self.is_broken("holds-the-rest") && !is_first) {
                    held += chunk;
                } else if !self.agent.with(&self.session, |session| session.is_frozen) {
                    self.say(chunk);
                }
            }
            !self.is_cancelled()
        });
        if self.is_broken("says-twice") {
            held.clone_from(&text);
        }
        if !held.is_empty() {
            self.say(&held);
        }
        let remember =
            |agent: &Agent, message: Value| agent.with(&self.session, |session| session.history.push(message));
        match answer {
            Answer::Cancelled => Some(Ok("cancelled")),
            Answer::Text(reason) => {
                remember(self.agent, json!({ "role": "assistant", "content": text }));
                Some(Ok(reason))
            }
            Answer::Failed => {
                let is_dead = self.is_broken("dies");
                self.agent.with(&self.session, |session| session.has_failed = is_dead);
                Some(Err("The model failed"))
            }
            Answer::Calls(calls) => {
                remember(self.agent, json!({ "role": "assistant", "content": null, "tool_calls": calls }));
                for call in &calls {
                    let Some(result) = self.call(call) else { return Some(Ok("cancelled")) };
                    if !self.is_broken("drops-result") {
                        let message = json!({ "role": "tool", "tool_call_id": call["id"], "content": result });
                        self.agent.with(&self.session, |session| session.history.push(message));
                    }
                }
                None
            }
        }
    }

    /// Runs a tool. Returns its result for the model; `None` if the turn was cancelled.
    fn call(&mut self, call: &Value) -> Option<String> {
        let name = call["function"]["name"].as_str().unwrap();
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        let kind = match name {
            "read" => "read",
            "write" => "edit",
            _ => "execute",
        };
        if !self.is_broken("unreported") {
            self.out.update(&json!({
                "sessionUpdate": "tool_call", "toolCallId": self.call_id(call), "title": name, "kind": kind, "status": "pending",
            }));
        }
        if self.is_broken("runs-at-once") {
            self.execute(name, &arguments);
        }
        if !["read", "ask_user"].contains(&name) && !self.is_allowed(call)? {
            self.status(call, "failed");
            return Some("The tool was rejected".to_owned());
        }
        self.status(call, "in_progress");
        let result = self.execute(name, &arguments);
        if self.is_cancelled() {
            return None;
        }
        let result = if self.is_broken("makes-up-output") { "Done".to_owned() } else { result };
        self.status(call, "completed");
        if self.is_broken("goes-back") {
            self.status(call, "in_progress");
            self.status(call, "completed");
        }
        Some(result)
    }

    fn call_id(&self, call: &Value) -> Value {
        if self.is_broken("repeats-ids") { json!("call-1") } else { call["id"].clone() }
    }

    fn status(&mut self, call: &Value, status: &str) {
        if !self.is_broken("unreported") {
            let id = self.call_id(call);
            self.out.update(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status }));
        }
    }

    fn is_allowed(&mut self, call: &Value) -> Option<bool> {
        let option = |id: &str, kind: &str| json!({ "optionId": id, "name": id, "kind": kind });
        let params = json!({
            "sessionId": self.session, "toolCall": { "toolCallId": call["id"] },
            "options": [option("allow", "allow_once"), option("reject", "reject_once")],
        });
        let answer = self.request("session/request_permission", &params);
        if self.is_cancelled() {
            if self.is_broken("runs-cancelled") {
                let arguments = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                self.execute("shell", &arguments);
            }
            return None;
        }
        let chosen = answer["result"]["outcome"]["optionId"].as_str().unwrap_or("reject").to_owned();
        self.out.chosen(&chosen);
        Some(chosen == "allow")
    }

    /// Waits for a command, or ends it when the turn is cancelled. Returns its output.
    fn finish(&self, mut child: Child) -> String {
        while child.try_wait().unwrap().is_none() {
            if self.is_cancelled() {
                if !self.agent.exchange.says("lets the command run on") && !self.is_broken("runs-cancelled") {
                    child.kill().unwrap();
                    child.wait().unwrap();
                }
                return String::new();
            }
            thread::sleep(Duration::from_millis(5));
        }
        let output = child.wait_with_output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), output.status)
    }

    /// Sends a request to the client, and waits for its response.
    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.agent.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver): (_, Receiver<Value>) = channel();
        self.agent.waiting.lock().unwrap().insert(id, sender);
        let mut params = params.clone();
        if self.is_broken("names-another-session") {
            params["sessionId"] = "session-x".into();
        }
        self.out.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        receiver.recv_timeout(Duration::from_mins(1)).unwrap_or_default()
    }

    fn execute(&mut self, name: &str, arguments: &Value) -> String {
        let (cwd, session) = (self.agent.with(&self.session, |session| session.cwd.clone()), self.session.clone());
        let client = self.agent.client.lock().unwrap().clone();
        let path = arguments["path"].as_str().unwrap_or_default();
        let drops_arguments = self.is_broken("drops-arguments");
        match name {
            "read" if client["fs"]["readTextFile"] == true => {
                let answer = self.request("fs/read_text_file", &json!({ "sessionId": session, "path": path }));
                if self.is_broken("reads-saved") {
                    return std::fs::read_to_string(path).unwrap();
                }
                answer["result"]["content"].as_str().unwrap_or("There is no such file").to_owned()
            }
            "ask_user" if client["elicitation"]["form"].is_object() => {
                let schema = json!({ "type": "object", "properties": { "answer": { "type": "string" } } });
                let params = json!({
                    "sessionId": session, "mode": "form", "message": arguments["question"], "requestedSchema": schema,
                });
                let answer = self.request("elicitation/create", &params);
                if self.is_broken("drops-answers") { "Nothing".to_owned() } else { answer["result"].to_string() }
            }
            "ask_user" => "No person answers".to_owned(),
            "read" => std::fs::read_to_string(path).unwrap_or_default(),
            "write" if client["fs"]["writeTextFile"] == true => {
                let other = if self.is_broken("writes-elsewhere") { ".bak" } else { "" };
                let path = format!("{path}{other}");
                let params = json!({ "sessionId": session, "path": path, "content": arguments["content"] });
                self.request("fs/write_text_file", &params).to_string()
            }
            "acp_registry_echo" if self.is_broken("makes-up-results") => "made up".to_owned(),
            "acp_registry_echo" => self.agent.with(&session, |session| {
                let (server, _) = session.server.as_mut().unwrap();
                let arguments = if drops_arguments { &json!({}) } else { arguments };
                let result = server.ask("tools/call", &json!({ "name": name, "arguments": arguments }));
                result["content"][0]["text"].as_str().unwrap().to_owned()
            }),
            "write" => format!("{:?}", std::fs::write(path, arguments["content"].as_str().unwrap())),
            _ if client["terminal"] == true => {
                let cwd = if self.is_broken("terminal-elsewhere") { "/" } else { &cwd };
                let command =
                    json!({ "sessionId": session, "command": "sh", "args": ["-c", arguments["command"]], "cwd": cwd });
                let created = self.request("terminal/create", &command);
                let id = created["result"]["terminalId"].clone();
                let of = json!({ "sessionId": session, "terminalId": id });
                self.request("terminal/wait_for_exit", &of);
                let output = self.request("terminal/output", &of);
                if !self.is_broken("keeps-terminals") {
                    self.request("terminal/release", &of);
                }
                let output = output["result"]["output"].as_str().unwrap_or_default();
                if self.out.says("drops the output of terminals") { "Done".to_owned() } else { output.to_owned() }
            }
            _ => {
                let directory = match () {
                    () if self.is_broken("elsewhere") => "/",
                    () if self.out.says("runs commands where it was started") => ".",
                    () => &cwd,
                };
                let mut command = Command::new("sh");
                command.args(["-c", arguments["command"].as_str().unwrap()]).current_dir(directory);
                self.finish(command.stdout(Stdio::piped()).spawn().unwrap())
            }
        }
    }
}
