//! Turns. What the agent does in one is decided by the text of the prompt, because it has no model.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Answer, Drafts, UNKNOWN_METHOD, notify, respond};

/// What a turn waits for.
pub(super) enum Waits {
    Permission,
    /// The result of the first of two writes, or of the only one.
    Written {
        path: String,
        text: &'static str,
        is_first: bool,
    },
    Read {
        path: String,
    },
    Answer,
    /// The `elicitationId` of an opened link.
    Link(String),
    Connected,
    Listed,
    /// Nothing that matters.
    Last,
}

const OLD: &str = "old on the disk\n";

impl Drafts<'_> {
    pub(super) fn prompt(&mut self, id: &Value, params: &Value) {
        let Some(number) = self.session(params) else { return respond(id, Err((-32002, "Resource not found"))) };
        let text = params["prompt"][0]["text"].as_str().unwrap_or_default();
        self.sessions[number].prompt = id.clone();
        self.sessions[number].is_running = true;
        if self.version == 2 {
            let own = self.new_id("message");
            let answer = if self.is("v2-stop-reason") {
                json!({ "messageId": own, "stopReason": "end_turn" })
            } else if self.is("v2-no-answer-id") {
                json!({})
            } else {
                json!({ "messageId": own })
            };
            respond(id, Ok(answer));
            let mut message = json!({ "sessionUpdate": "user_message", "content": params["prompt"] });
            if self.is("v2-other-message-id") {
                message["messageId"] = self.new_id("message").into();
            } else if !self.is("v2-no-message-id") {
                message["messageId"] = own.into();
            }
            if !self.is("v2-no-user-message") {
                self.update(number, &message);
            }
            self.sessions[number].history.push(message);
            if !self.is("v2-no-running") {
                self.update(number, &json!({ "sessionUpdate": "state_update", "state": "running" }));
            }
        }
        self.act(number, text);
    }

    fn act(&mut self, number: usize, text: &str) {
        let (session, cwd) = (self.sessions[number].id.clone(), self.sessions[number].cwd.clone());
        if text.starts_with("Run the command") {
            let options = json!([
                { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
                { "optionId": "no", "name": "Reject", "kind": "reject_once" },
            ]);
            let params = json!({
                "sessionId": session, "title": "Run a command?", "toolCall": { "toolCallId": "call" },
                "options": options,
            });
            self.request(number, "session/request_permission", &params, Waits::Permission);
        } else if text.starts_with("Ask me") {
            self.ask(number, text);
        } else if text.starts_with("Write the line") {
            let is_first = text.contains("then add");
            self.write(number, &named(&cwd, text), "one\n", is_first);
        } else if text.starts_with("Replace the word") {
            let path = named(&cwd, text);
            if self.client["fs"]["writeTextFile"] != true || self.is("fs-no-read") || self.is("fs-read-after") {
                self.write(number, &path, "new on the disk\n", false);
            } else {
                self.request(
                    number,
                    "fs/read_text_file",
                    &json!({ "sessionId": session, "path": path }),
                    Waits::Read { path },
                );
            }
        } else if let Some(server) = self.sessions[number].server.clone() {
            let id = if self.is("mcp-connect-name") { "acp-registry".to_owned() } else { server };
            self.request(number, "mcp/connect", &json!({ "acpId": id }), Waits::Connected);
        } else {
            self.end(number, Ok(()));
        }
    }

    /// Asks the user, with what the client offers.
    fn ask(&mut self, number: usize, text: &str) {
        let offered = &self.client["elicitation"];
        let is_offered = offered.is_object();
        let takes_links = offered["url"].is_object();
        let is_form = offered["form"].is_object()
            || (!is_offered && self.is("asks-anyone"))
            || (takes_links && self.is("url-form"));
        let is_link = (takes_links && !is_form)
            || (!is_offered && self.is("links-to-anyone"))
            || (is_form && is_offered && self.is("form-link"));
        let session = self.sessions[number].id.clone();
        let mut params = json!({ "sessionId": session, "message": text });
        if is_link {
            let id = self.new_id("link");
            params["mode"] = "url".into();
            params["elicitationId"] = id.clone().into();
            params["url"] = if self.is("url-invalid") { "not a link".into() } else { "https://agent.example/a".into() };
            if self.is("url-no-id") {
                params["elicitationId"] = Value::Null;
            }
            self.request(number, "elicitation/create", &params, Waits::Link(id));
        } else if is_form {
            params["mode"] = "form".into();
            let kind = if self.is("form-nested") { "object" } else { "string" };
            params["requestedSchema"] = json!({ "type": "object", "properties": { "answer": { "type": kind } } });
            if self.is("form-no-message") {
                params["message"] = Value::Null;
            }
            if self.is("form-two-scopes") {
                params["requestId"] = 1.into();
            }
            self.request(number, "elicitation/create", &params, Waits::Answer);
        } else {
            self.end(number, Ok(()));
        }
    }

    fn write(&mut self, number: usize, path: &str, text: &'static str, is_first: bool) {
        self.write_text(number, path, text, Waits::Written { path: path.to_owned(), text, is_first });
    }

    fn write_text(&mut self, number: usize, path: &str, text: &str, waits: Waits) {
        let session = &self.sessions[number].id;
        let params = json!({ "sessionId": session, "path": path, "content": text });
        self.request(number, "fs/write_text_file", &params, waits);
    }

    /// Continues a turn with the response to a request.
    pub(super) fn resume_turn(&mut self, number: usize, waits: Waits, message: &Value) {
        let result = &message["result"];
        match waits {
            Waits::Permission => {
                if !self.is("steer-late") {
                    self.deliver(number, true);
                }
                if self.is("queue-before-idle") {
                    self.deliver(number, false);
                }
                self.end(number, Ok(()));
            }
            Waits::Written { path, text, is_first } => self.written(number, &path, text, is_first, result),
            Waits::Read { path } => {
                let text = result["content"].as_str().unwrap_or(OLD).replace("old", "new");
                let text = if self.is("fs-ignores-read") { "new on the disk\n".to_owned() } else { text };
                self.write_text(number, &path, &text, Waits::Last);
            }
            Waits::Answer => {
                let action = result["action"].as_str().unwrap_or_default();
                let fails = self.is(&format!("{action}-fails"));
                self.end(number, if fails { Err("No answer") } else { Ok(()) });
            }
            Waits::Link(id) => {
                let id = if self.is("url-complete-unknown") { "unknown".to_owned() } else { id };
                if !self.is("url-no-id") {
                    notify("elicitation/complete", &json!({ "elicitationId": id }));
                }
                self.end(number, Ok(()));
            }
            Waits::Connected if result["connectionId"].is_string() => {
                self.sessions[number].connection = result["connectionId"].clone();
                let is_wrong = self.is("mcp-connection-unknown");
                let mut params =
                    json!({ "connectionId": if is_wrong { &message["id"] } else { &result["connectionId"] } });
                if !self.is("mcp-no-method") {
                    params["method"] = "tools/list".into();
                }
                self.request(number, "mcp/message", &params, Waits::Listed);
            }
            Waits::Listed => {
                let is_wrong = self.is("mcp-call-server-id");
                let connection = if is_wrong { json!("server-call") } else { self.sessions[number].connection.clone() };
                let prefix = if self.is("mcp-prefix") { "acp-registry__" } else { "" };
                let call = json!({ "name": format!("{prefix}acp_registry_color"), "arguments": {} });
                let params = json!({ "connectionId": connection, "method": "tools/call", "params": call });
                self.request(number, "mcp/message", &params, Waits::Last);
            }
            Waits::Connected | Waits::Last => self.end(number, Ok(())),
        }
    }

    fn written(&mut self, number: usize, path: &str, text: &str, is_first: bool, result: &Value) {
        if self.is("fs-read-after") && text.starts_with("new") {
            let params = json!({ "sessionId": self.sessions[number].id, "path": path });
            return self.request(number, "fs/read_text_file", &params, Waits::Last);
        }
        if result["action"] == "reject" {
            if self.is("hitl-writes") {
                fs::write(Path::new(path), text).unwrap();
            }
            return self.end(number, if self.is("hitl-rejected-error") { Err("Rejected") } else { Ok(()) });
        }
        let edited = result["userModification"]["finalContent"].as_str();
        if edited.is_some() && self.is("hitl-edited-error") {
            return self.end(number, Err("Changed by the user"));
        }
        if !is_first {
            return self.end(number, Ok(()));
        }
        let base = edited.filter(|_| !self.is("hitl-own-text")).unwrap_or(text).to_owned();
        self.write_text(number, path, &format!("{base}two\n"), Waits::Last);
    }

    fn end(&mut self, number: usize, how: Result<(), &'static str>) {
        self.sessions[number].is_running = false;
        if self.version == 2 {
            let idle = json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn" });
            self.update(number, &idle);
            self.deliver(number, true);
            self.deliver(number, false);
            return;
        }
        let answer = how.map(|()| json!({ "stopReason": "end_turn" })).map_err(|text| (-32603, text));
        respond(&self.sessions[number].prompt.clone(), answer);
    }

    /// Answers a request of the MCP server.
    pub(super) fn called_back(&self, params: &Value) -> Answer {
        let is_known = self
            .sessions
            .iter()
            .any(|session| session.connection.is_string() && session.connection == params["connectionId"]);
        match () {
            () if !is_known => Err((-32602, "Unknown connection")),
            () if self.is("mcp-no-callback") => Err(UNKNOWN_METHOD),
            () if self.is("mcp-callback-null") => Ok(Value::Null),
            () => Ok(json!({})),
        }
    }
}

/// The path of the file that a prompt names.
fn named(cwd: &str, text: &str) -> String {
    let name = text.split('`').find(|part| part.starts_with("acp-registry")).unwrap_or_default();
    Path::new(cwd).join(name).to_string_lossy().into_owned()
}
