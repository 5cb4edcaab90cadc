//! The client's side of a connection: answers the agent's requests, and records what the agent sends.
//!
//! Nothing that an agent requests is carried out on this machine: files exist only in memory, and terminals have a
//! fixed output.

use std::collections::BTreeMap;

use acp_registry_plan::json::weight;
use acp_registry_protocol::handshake::initialize_params;
use serde_json::{Value, json};

use super::drafts::{ClientReply, Drafts};

/// Maximum memory of all recorded messages, in bytes. Later messages are answered, but not recorded.
const RECORDED: usize = 8 << 20;

/// Maximum size of a file that the agent writes, in bytes. Larger ones are not kept.
const FILE: usize = 256 << 10;

/// Output of every terminal, which ends with the exit code 0.
pub(super) const TERMINAL_OUTPUT: &str = "acp-registry-terminal-output";

/// What the client advertises in `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ClientOffer {
    /// All capabilities.
    #[default]
    All,
    /// All but the file system and terminals.
    NoFiles,
    /// No capabilities.
    Nothing,
    /// All capabilities, and what proposals for version 1 need.
    Drafts,
    /// Version 2 of the protocol.
    Next,
    /// Writing files, but not reading them.
    OnlyWriting,
    /// All but the file system and terminals, and elicitation by links.
    Links,
    /// All but the file system and terminals, and elicitation by forms.
    Forms,
}

impl ClientOffer {
    /// The version of the protocol that the client asks for.
    pub(super) fn version(self) -> u16 {
        if self == Self::Next { 2 } else { 1 }
    }

    /// The parameters of `initialize`.
    pub(super) fn params(self, version: u16) -> Value {
        let mut params = initialize_params(version);
        let capabilities = &mut params["clientCapabilities"];
        match self {
            Self::All | Self::Next => {}
            Self::Drafts => {
                // Fewer than the agent may support, so that one which ignores the offer is noticed.
                capabilities["nes"] = json!({ "jump": {} });
                capabilities["positionEncodings"] = json!(["utf-32", "utf-16"]);
            }
            Self::OnlyWriting | Self::NoFiles | Self::Links | Self::Forms => {
                let writes = self == Self::OnlyWriting;
                capabilities["fs"] = json!({ "readTextFile": false, "writeTextFile": writes });
                capabilities["terminal"] = false.into();
            }
            Self::Nothing => *capabilities = json!({}),
        }
        if let Some(mode) = self.elicitation() {
            capabilities["elicitation"] = json!({ mode: {} });
        }
        params
    }

    /// Whether the client carries out `fs/*`. One that offers only writing also reads, as the proposal demands.
    fn has_files(self) -> bool {
        matches!(self, Self::All | Self::Drafts | Self::OnlyWriting)
    }

    fn has_terminals(self) -> bool {
        matches!(self, Self::All | Self::Drafts)
    }

    /// The mode of elicitation that the client offers.
    fn elicitation(self) -> Option<&'static str> {
        match self {
            Self::Drafts | Self::Forms => Some("form"),
            Self::Links => Some("url"),
            _ => None,
        }
    }
}

/// How requests for permission are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Permission {
    /// With the first option that allows.
    #[default]
    Allow,
    /// With the first option that rejects.
    Reject,
    /// Not before [`ClientState::release`].
    Hold,
}

/// A request by the agent.
#[derive(Debug, Clone)]
pub(super) struct AgentCall {
    pub(super) method: String,
    pub(super) params: Value,
}

/// The state of the client.
#[derive(Debug, Default)]
pub(super) struct ClientState {
    offer: ClientOffer,
    pub(super) permission: Permission,
    /// The files that the client offers, by path: also those that the agent has written.
    pub(super) texts: BTreeMap<String, String>,
    /// The part that proposals need.
    pub(super) drafts: Drafts,
    /// All requests of the agent, in order.
    pub(super) calls: Vec<AgentCall>,
    /// The `availableCommands` of the first update about commands, of any session.
    pub(super) commands: Option<Value>,
    /// All `session/update` notifications, in order.
    pub(super) updates: Vec<SessionUpdate>,
    /// All other notifications, in order.
    pub(super) notes: Vec<AgentCall>,
    /// The ids of requests for permission without a response, with their parameters.
    held: Vec<(Value, Value)>,
    terminals: usize,
    recorded: usize,
}

impl ClientState {
    pub(super) fn new(offer: ClientOffer) -> Self {
        Self { offer, ..Self::default() }
    }

    /// Forgets what another check has recorded and set.
    pub(super) fn reset(&mut self) {
        *self = Self { terminals: self.terminals, commands: self.commands.take(), ..Self::new(self.offer) };
    }

    /// Whether a message of this size may still be recorded.
    fn has_room(&mut self, value: &Value) -> bool {
        self.recorded = self.recorded.saturating_add(weight(value) + 100);
        self.recorded <= RECORDED
    }

    /// Records a notification.
    pub(super) fn notified(&mut self, method: String, mut params: Value) {
        if !self.has_room(&params) {
            return;
        }
        if method == "session/update" {
            let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
            let update = params.get_mut("update").map(Value::take).unwrap_or_default();
            if self.commands.is_none() && update["sessionUpdate"] == "available_commands_update" {
                self.commands = Some(update["availableCommands"].clone());
            }
            self.updates.push(SessionUpdate { session, body: update });
        } else {
            self.notes.push(AgentCall { method, params });
        }
    }

    /// Records a request, and returns the response.
    pub(super) fn requested(&mut self, id: &Value, method: &str, params: &Value) -> ClientReply {
        if self.has_room(params) {
            self.calls.push(AgentCall { method: method.to_owned(), params: params.clone() });
        }
        let (has_files, has_terminals) = (self.offer.has_files(), self.offer.has_terminals());
        match method {
            "session/request_permission" => self.permission(id, params),
            "fs/read_text_file" if has_files => self.read(params),
            "fs/write_text_file" if has_files => self.write(params),
            "terminal/create" if has_terminals => {
                self.terminals += 1;
                ClientReply::Result(json!({ "terminalId": format!("terminal-{}", self.terminals) }))
            }
            "terminal/output" if has_terminals => {
                let exit = json!({ "exitCode": 0, "signal": null });
                ClientReply::Result(
                    json!({ "output": format!("{TERMINAL_OUTPUT}\n"), "truncated": false, "exitStatus": exit }),
                )
            }
            "terminal/wait_for_exit" if has_terminals => ClientReply::Result(json!({ "exitCode": 0, "signal": null })),
            "terminal/kill" | "terminal/release" if has_terminals => ClientReply::Result(json!({})),
            "elicitation/create" => self.drafts.elicitation(params, self.offer.elicitation()),
            _ => self.drafts.requested(method, params),
        }
    }

    fn permission(&mut self, id: &Value, params: &Value) -> ClientReply {
        match self.permission {
            Permission::Hold if self.held.len() < 100 => {
                self.held.push((id.clone(), params.clone()));
                ClientReply::Later
            }
            Permission::Hold | Permission::Reject => ClientReply::Result(chosen(params, "reject")),
            Permission::Allow => ClientReply::Result(chosen(params, "allow")),
        }
    }

    /// The results for the requests for permission that were held back: the first option that allows, or `cancelled`.
    pub(super) fn release(&mut self, is_allowed: bool) -> Vec<(Value, Value)> {
        let cancelled = json!({ "outcome": { "outcome": "cancelled" } });
        let result = |params: &Value| if is_allowed { chosen(params, "allow") } else { cancelled.clone() };
        self.held.drain(..).map(|(id, params)| (id, result(&params))).collect()
    }

    /// Whether the client has created a terminal with this id.
    pub(super) fn has_terminal(&self, id: &str) -> bool {
        let number = id.strip_prefix("terminal-").and_then(|number| number.parse::<usize>().ok());
        number.is_some_and(|number| (1..=self.terminals).contains(&number))
    }

    /// Number of requests for permission that were held back.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    fn read(&self, params: &Value) -> ClientReply {
        let Some(text) = params["path"].as_str().and_then(|path| self.texts.get(path)) else {
            return ClientReply::Error(-32002, "Resource not found");
        };
        let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
        if number("line").is_none() && number("limit").is_none() {
            return ClientReply::Result(json!({ "content": text }));
        }
        let first = number("line").unwrap_or(1).max(1) - 1;
        let lines = text.split_inclusive('\n').skip(first).take(number("limit").unwrap_or(usize::MAX));
        ClientReply::Result(json!({ "content": lines.collect::<String>() }))
    }

    fn write(&mut self, params: &Value) -> ClientReply {
        let (Some(path), Some(content)) = (params["path"].as_str(), params["content"].as_str()) else {
            return ClientReply::Error(-32602, "Invalid params");
        };
        let review = self.drafts.review.clone();
        let is_rejected = review.as_ref().is_some_and(|review| review["action"] != "accept");
        if self.recorded <= RECORDED && content.len() <= FILE && !is_rejected {
            let kept = review.as_ref().and_then(|review| review["userModification"]["finalContent"].as_str());
            self.texts.insert(path.to_owned(), kept.unwrap_or(content).to_owned());
        }
        if let Some(review) = review {
            return ClientReply::Result(review);
        }
        // The page shows `null`; the schema has an object without required members, which every reader accepts.
        ClientReply::Result(json!({}))
    }

    /// The updates of a session.
    pub(super) fn session_updates<'a>(&'a self, session: &'a str) -> impl Iterator<Item = &'a SessionUpdate> {
        self.updates.iter().filter(move |update| update.session == session)
    }

    /// Methods of the agent's requests so far.
    pub(super) fn asked(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|call| call.method.as_str())
    }
}

/// The result that chooses the first option whose kind begins with a word; `cancelled` if there is none. Options for
/// this time only come first, because the agent does not ask again after the others.
fn chosen(params: &Value, word: &str) -> Value {
    let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind =
        |is_meant: &dyn Fn(&str) -> bool| options.iter().find(|option| option["kind"].as_str().is_some_and(is_meant));
    let once = of_kind(&|kind| kind.strip_prefix(word) == Some("_once"));
    let option = once.or_else(|| of_kind(&|kind| kind.starts_with(word)));
    match option.and_then(|option| option["optionId"].as_str()) {
        Some(id) => json!({ "outcome": { "outcome": "selected", "optionId": id } }),
        None => json!({ "outcome": { "outcome": "cancelled" } }),
    }
}

/// A `session/update` by the agent.
#[derive(Debug, Clone)]
pub(super) struct SessionUpdate {
    pub(super) session: String,
    /// The member `update`.
    pub(super) body: Value,
}

impl SessionUpdate {
    /// The kind of update, such as `agent_message_chunk`.
    pub(super) fn kind(&self) -> &str {
        self.body["sessionUpdate"].as_str().unwrap_or_default()
    }

    /// The text of a message chunk; empty for other updates.
    pub(super) fn text(&self) -> &str {
        self.body["content"]["text"].as_str().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(client: &mut ClientState, method: &str, params: &Value) -> ClientReply {
        client.requested(&json!(1), method, params)
    }

    #[test]
    fn nothing_that_was_not_offered_is_carried_out() {
        for offer in [ClientOffer::Nothing, ClientOffer::NoFiles] {
            let mut client = ClientState::new(offer);
            client.texts.insert("/a".to_owned(), "text".to_owned());
            for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "_x"] {
                let params = json!({ "path": "/a", "content": "new", "command": "id" });
                assert_eq!(ask(&mut client, method, &params), ClientReply::Refusal, "{method}");
            }
            assert_eq!(client.texts["/a"], "text");
            assert_eq!(client.asked().count(), 5);
        }
        assert_eq!(ClientOffer::NoFiles.params(1)["clientCapabilities"]["terminal"], false);
        assert_eq!(ClientOffer::Nothing.params(1)["clientCapabilities"], json!({}));
    }

    #[test]
    fn files_exist_only_in_memory() {
        let mut client = ClientState::new(ClientOffer::All);
        let read = |client: &mut ClientState, params: Value| ask(client, "fs/read_text_file", &params);
        assert!(matches!(read(&mut client, json!({ "path": "/etc/hostname" })), ClientReply::Error(-32002, _)));
        assert!(matches!(ask(&mut client, "fs/write_text_file", &json!({ "path": 1 })), ClientReply::Error(-32602, _)));
        let path = "/nowhere/acp-registry";
        let written = ask(&mut client, "fs/write_text_file", &json!({ "path": path, "content": "a\nb\nc\n" }));
        assert_eq!(written, ClientReply::Result(json!({})));
        for (params, content) in [
            (json!({ "path": path }), "a\nb\nc\n"),
            (json!({ "path": path, "line": 2, "limit": 1 }), "b\n"),
            (json!({ "path": path, "line": 0 }), "a\nb\nc\n"),
            (json!({ "path": path, "limit": 0 }), ""),
            (json!({ "path": path, "line": 9 }), ""),
        ] {
            assert_eq!(
                read(&mut client, params.clone()),
                ClientReply::Result(json!({ "content": content })),
                "{params}"
            );
        }
        assert!(!std::path::Path::new(path).exists());
    }

    #[test]
    fn permission_is_answered_as_the_check_wants() {
        let mut client = ClientState::new(ClientOffer::NoFiles);
        let options = json!([
            { "optionId": "n", "kind": "reject_once", "name": "No" },
            { "optionId": "y", "kind": "allow_always", "name": "Yes" },
        ]);
        let params = json!({ "options": options });
        let once = json!({ "options": [options[1], { "optionId": "o", "kind": "allow_once", "name": "Once" }] });
        let outcome = |reply: ClientReply| match reply {
            ClientReply::Result(result) => result["outcome"].clone(),
            other => panic!("{other:?}"),
        };
        let method = "session/request_permission";
        assert_eq!(outcome(ask(&mut client, method, &params))["optionId"], "y");
        assert_eq!(outcome(ask(&mut client, method, &once))["optionId"], "o");
        client.permission = Permission::Reject;
        assert_eq!(outcome(ask(&mut client, method, &params))["optionId"], "n");
        assert_eq!(outcome(ask(&mut client, method, &json!({})))["outcome"], "cancelled");
        client.permission = Permission::Hold;
        assert_eq!(ask(&mut client, method, &params), ClientReply::Later);
        assert_eq!((client.held(), client.release(false).len(), client.held()), (1, 1, 0));
    }

    #[test]
    fn an_agent_cannot_fill_the_memory() {
        let mut client = ClientState::new(ClientOffer::All);
        let long = "x".repeat(1 << 20);
        for _ in 0..50 {
            ask(&mut client, "fs/write_text_file", &json!({ "path": "/a", "content": long }));
            client.notified("session/update".to_owned(), json!({ "sessionId": "s", "update": { "a": long } }));
        }
        assert!(client.calls.len() + client.updates.len() < 10);
        client.reset();
        let many = Value::from(vec![json!([]); 40_000]);
        for _ in 0..50 {
            client.notified("session/update".to_owned(), json!({ "sessionId": "s", "update": { "a": many } }));
        }
        assert!((1..5).contains(&client.updates.len()));
        client.reset();
        assert_eq!((client.calls.len(), client.updates.len(), client.texts.len()), (0, 0, 0));
    }
}
