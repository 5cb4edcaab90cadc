//! An agent with sessions that needs no sign-in: `sessions BREAKS EXCHANGE`. `BREAKS` names its deviations from the
//! protocol, separated by spaces; an exchange replaces single answers, as in `played`.

mod list;
mod options;

use std::path::Path;

use serde_json::{Value, json};

use super::mcp::{Server, env_of};
use super::played::{Player, run_as, write};

/// What a request leads to: a result, an error, or no response.
type Answer = Option<Result<Value, (i64, &'static str)>>;

const INVALID: (i64, &str) = (-32602, "Invalid params");
const NOT_FOUND: (i64, &str) = (-32601, "Method not found");
const NO_SESSION: (i64, &str) = (-32002, "Resource not found");

struct Session {
    id: String,
    cwd: String,
    directories: Value,
    mode: String,
    model: String,
    is_open: bool,
    is_deleted: bool,
}

struct Sessions<'a> {
    breaks: Vec<&'a str>,
    /// All sessions, in the order in which they were opened.
    all: Vec<Session>,
    /// Kept, so that they go on running.
    servers: Vec<Server>,
}

pub(super) fn run(breaks: &str, exchange: &str) {
    let breaks = breaks.split_whitespace().collect();
    run_as(exchange, Sessions { breaks, all: Vec::new(), servers: Vec::new() });
}

/// Opens sessions only if its registry's recipe has reached it: the argument, the variable, the file and the sign-in.
pub(super) fn run_with_recipe(argument: &str) {
    let url = std::env::var("FAKE_AGENT_URL").unwrap_or_default();
    let file = std::env::home_dir().unwrap().join(".fake-agent/url");
    let is_led =
        argument == "--led" && url.starts_with("http://127.0.0.1:") && std::fs::read_to_string(file).ok() == Some(url);
    let mut sessions = Sessions { breaks: vec!["other-sign-in"], all: Vec::new(), servers: Vec::new() };
    let mut is_signed_in = false;
    run_as("", |message: &Value, is_before: bool| match message["method"].as_str() {
        Some("authenticate") if message["params"]["methodId"] == "of-recipe" => {
            is_signed_in = true;
            write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }).to_string());
        }
        Some("session/new") if !(is_led && is_signed_in) => {
            let error = json!({ "code": -32000, "message": "Authentication required" });
            write(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }).to_string());
        }
        _ => sessions.answer(message, is_before),
    });
}

impl Player for Sessions<'_> {
    fn answer(&mut self, message: &Value, _is_before: bool) {
        let Some(id) = message.get("id") else { return };
        // Without a method, it is a response to the agent's own request.
        let Some(method) = message["method"].as_str() else { return };
        match self.result(method, &message["params"]) {
            None => {}
            Some(Ok(result)) => write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()),
            Some(Err((code, text))) => {
                let error = json!({ "code": code, "message": text });
                write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string());
            }
        }
        if method == "session/new" && message["params"]["cwd"] != "." {
            self.send_commands();
        }
    }

    fn acts(&mut self, reply: &str, message: &Value) -> bool {
        let params = &message["params"];
        match reply {
            "starts the MCP server" => self.start_servers(params),
            "starts the MCP server without env" => {
                self.breaks.push("mcp-no-env");
                self.start_servers(params);
                self.breaks.pop();
            }
            "deletes the session" => self.delete(params),
            _ => return false,
        }
        true
    }

    fn filled(&self, reply: String) -> String {
        let Some(last) = self.all.iter().rfind(|session| !session.is_deleted) else { return reply };
        reply.replace("$LAST", &last.id).replace("$CWD", &last.cwd)
    }

    fn replied(&mut self, message: &Value, response: &Value) {
        let (method, id) = (message["method"].as_str(), response["result"]["sessionId"].as_str());
        if let (Some("session/new" | "session/fork"), Some(id)) = (method, id) {
            self.add(id.to_owned(), &message["params"]);
        }
        let params = &message["params"];
        if let (Some("session/set_mode"), Some(mode)) = (method, params["modeId"].as_str())
            && let Some(session) = self.all.iter_mut().find(|session| params["sessionId"] == session.id.as_str())
        {
            mode.clone_into(&mut session.mode);
        }
    }
}

impl Sessions<'_> {
    fn is(&self, name: &str) -> bool {
        self.breaks.contains(&name)
    }

    fn result(&mut self, method: &str, params: &Value) -> Answer {
        let session = params["sessionId"].as_str().and_then(|id| self.all.iter().position(|session| session.id == id));
        let known = session.filter(|at| !self.all[*at].is_deleted).ok_or(NO_SESSION);
        Some(match method {
            "initialize" => Ok(self.initialize()),
            "session/new" => return self.new_session(params),
            "session/list" => self.list(params),
            "session/load" => known.map(|at| self.load(at)),
            "session/resume" => known.map(|at| self.resume(at)),
            "session/fork" => known.map(|_| self.fork(params)),
            "session/close" => known.and_then(|at| self.close(at)),
            "session/delete" if known.is_err() && self.is("delete-unknown-refused") => Err(NO_SESSION),
            "session/delete" if known.is_err() && self.is("delete-unknown-fails") => Err((-32603, "Internal error")),
            "session/delete" => {
                self.delete(params);
                Ok(json!({}))
            }
            "session/set_mode" => known.and_then(|at| self.set_mode(at, params)),
            "session/set_config_option" => known.and_then(|at| self.set_option(at, params)),
            "providers/list" if self.is("hidden-providers") => Ok(json!({ "providers": [] })),
            _ => Err(NOT_FOUND),
        })
    }

    fn initialize(&self) -> Value {
        let mut result = json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "sessionCapabilities": {
                    "list": {}, "delete": {}, "resume": {}, "close": {}, "fork": {}, "additionalDirectories": {},
                },
            },
            "agentInfo": { "name": "fake-agent", "version": "1.0.0" },
            "authMethods": [],
        });
        if self.is("other-sign-in") {
            // The recipe names another method, which this agent accepts too.
            result["authMethods"] = json!([{ "id": "login", "name": "Log in" }]);
        }
        if self.is("hidden-close") {
            result["agentCapabilities"]["sessionCapabilities"]["close"] = Value::Null;
        }
        result
    }

    fn add(&mut self, id: String, params: &Value) {
        let cwd = std::env::current_dir().unwrap().join(params["cwd"].as_str().unwrap_or_default());
        self.all.push(Session {
            id,
            cwd: cwd.to_str().unwrap().to_owned(),
            directories: params["additionalDirectories"].clone(),
            mode: "ask".to_owned(),
            model: "small".to_owned(),
            is_open: true,
            is_deleted: false,
        });
    }

    fn new_session(&mut self, params: &Value) -> Answer {
        if params["cwd"].is_null() {
            let number = self.all.len();
            return match () {
                () if self.is("null-accepted") => Some(Ok(json!({ "sessionId": format!("session-{number}") }))),
                () if self.is("null-silent") => None,
                () => Some(Err(INVALID)),
            };
        }
        let is_relative = !Path::new(params["cwd"].as_str().unwrap_or_default()).is_absolute();
        if is_relative && self.is("relative-silent") {
            return None;
        }
        if is_relative && !self.is("relative-accepted") {
            return Some(Err(INVALID));
        }
        if !params["additionalDirectories"].is_null() && self.is("directories-refused") {
            return Some(Err(INVALID));
        }
        let id = match self.all.len() {
            _ if self.is("same-id") => "session-0".to_owned(),
            _ if self.is("id-of-directory") => params["cwd"].to_string(),
            number => format!("session-{number}"),
        };
        self.add(id.clone(), params);
        self.start_servers(params);
        let at = self.all.len() - 1;
        let (modes, options) = self.offered(at);
        Some(Ok(json!({ "sessionId": id, "modes": modes, "configOptions": options })))
    }

    fn start_servers(&mut self, params: &Value) {
        for server in params["mcpServers"].as_array().into_iter().flatten() {
            let env = match () {
                () if self.is("mcp-ignored") => return,
                () if self.is("mcp-no-env") => Vec::new(),
                () if self.is("mcp-env-cut") => {
                    let cut = |value: String| value.split(' ').next().unwrap().to_owned();
                    env_of(server).into_iter().map(|(name, value)| (name, cut(value))).collect()
                }
                () => env_of(server),
            };
            let mut server = Server::start(server, &env);
            if !self.is("mcp-only-started") {
                assert_eq!(server.connect(), ["acp_registry_echo"]);
            }
            self.servers.push(server);
        }
    }

    fn send_commands(&self) {
        let Some(session) = self.all.last() else { return };
        let mut commands = json!([
            { "name": "test", "description": "Run the tests", "input": null },
            { "name": "web", "description": "Search", "input": { "hint": "words" } },
        ]);
        match () {
            () if self.is("command-bare") => drop(commands[0].as_object_mut().unwrap().remove("description")),
            () if self.is("command-input") => commands[1]["input"] = "words".into(),
            () if self.is("commands-object") => commands = json!({ "test": "Run the tests" }),
            () if self.is("command-slash") => commands[1]["name"] = "/web".into(),
            () if self.is("command-twice") => commands[1]["name"] = "test".into(),
            () => {}
        }
        Self::update(
            &session.id,
            &json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands }),
        );
    }

    fn update(session: &str, update: &Value) {
        let params = json!({ "sessionId": session, "update": update });
        write(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string());
    }

    fn load(&self, at: usize) -> Value {
        let text = json!({ "type": "text", "text": "Hello" });
        if self.is("load-elsewhere") {
            Self::update("session-x", &json!({ "sessionUpdate": "user_message_chunk", "content": text }));
        }
        if self.is("load-text") { "loaded".into() } else { json!({ "configOptions": self.options(at) }) }
    }

    fn resume(&self, at: usize) -> Value {
        let id = &self.all[at].id;
        let text = json!({ "type": "text", "text": "Hello" });
        if self.is("resume-replays") {
            Self::update(id, &json!({ "sessionUpdate": "user_message_chunk", "content": text }));
        }
        if self.is("resume-tool-call") {
            Self::update(id, &json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Read" }));
        }
        if self.is("resume-true") { true.into() } else { json!({}) }
    }

    fn fork(&mut self, params: &Value) -> Value {
        if self.is("fork-nameless") {
            return json!({});
        }
        if self.is("fork-same") {
            return json!({ "sessionId": params["sessionId"] });
        }
        let id = format!("fork-{}", self.all.len());
        self.add(id.clone(), params);
        json!({ "sessionId": id })
    }

    fn close(&mut self, at: usize) -> Result<Value, (i64, &'static str)> {
        if self.is("close-refused") || !self.all[at].is_open {
            return Err((-32603, "The session is not open"));
        }
        let is_for_all = self.is("close-all");
        for (other, session) in self.all.iter_mut().enumerate() {
            session.is_open &= !is_for_all && other != at;
        }
        Ok(json!({}))
    }

    fn delete(&mut self, params: &Value) {
        if self.is("delete-all") {
            self.all.iter_mut().for_each(|session| session.is_deleted = true);
        }
        let is_other = self.is("delete-other");
        let mut others = self.all.iter_mut();
        let meant = others.find(|session| {
            let is_meant = params["sessionId"] == session.id.as_str();
            is_meant != is_other && !session.is_deleted
        });
        if let Some(session) = meant {
            session.is_deleted = true;
        }
    }
}
