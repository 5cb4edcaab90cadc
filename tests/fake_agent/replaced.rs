//! Messages of an agent, some of which an exchange replaces.
//!
//! The `agent` lines of an exchange apply to the event that the line before them describes: a request of the client, its
//! choice in a request for permission, its cancellation, or an answer of the model. The messages of the agent after this
//! event get the members that a line for this kind of message shows; texts that begin with `$` stand for any. Lines of a
//! kind that the agent does not send are sent where they stand. `agent waits` holds messages back until the response, and
//! `agent answers before its updates` until after it. Other words are deviations of the agent, which asks for them by
//! [`Exchange::says`] and [`Writer::says`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::played::write;

/// The lines of an exchange, by event.
pub(super) struct Exchange(BTreeMap<String, Vec<Value>>);

impl Exchange {
    pub(super) fn parse(text: &str) -> Self {
        let (mut rules, mut event, mut model): (BTreeMap<String, Vec<Value>>, _, _) =
            (BTreeMap::new(), String::new(), String::new());
        for line in text.lines() {
            if let Some(said) = line.strip_prefix("model ") {
                (event, model) = (said.to_owned(), said.to_owned());
            } else if let Some(said) = line.strip_prefix("client ") {
                let said: Value = serde_json::from_str(said).unwrap();
                event = match (said["method"].as_str(), said["result"]["outcome"]["optionId"].as_str()) {
                    (Some("session/cancel"), _) => format!("{model}/cancel"),
                    (Some("$/cancel_request"), _) => format!("{model}/cancel_request"),
                    (Some("session/close"), _) if !model.is_empty() => format!("{model}/close"),
                    (Some(method @ ("session/load" | "session/resume")), _) => method.to_owned(),
                    (None, Some(option)) => format!("{model}/{option}"),
                    _ => String::new(),
                };
            } else {
                let shown = line.strip_prefix("agent ").unwrap();
                let shown = serde_json::from_str(shown).unwrap_or_else(|_| json!(shown));
                rules.entry(event.clone()).or_default().push(shown);
            }
        }
        Self(rules)
    }

    /// Whether a line has these words, whatever the event.
    pub(super) fn says(&self, words: &str) -> bool {
        self.0.values().flatten().any(|line| line == words)
    }
}

/// Writes the messages of a turn.
pub(super) struct Writer<'a> {
    exchange: &'a Exchange,
    session: String,
    /// The event that has occurred last.
    pub(super) event: String,
    /// Number of lines of the event's rule that have been used.
    used: BTreeMap<String, usize>,
    held: Vec<Value>,
}

/// What a message is: its method and its kind of update, or nothing for a response.
fn kind(message: &Value) -> (&str, &str) {
    let update = &message["params"]["update"]["sessionUpdate"];
    (message["method"].as_str().unwrap_or_default(), update.as_str().unwrap_or_default())
}

impl<'a> Writer<'a> {
    pub(super) fn new(exchange: &'a Exchange, session: &str) -> Self {
        Self { exchange, session: session.to_owned(), event: String::new(), used: BTreeMap::new(), held: Vec::new() }
    }

    /// Whether a line has these words at the last answer of the model.
    pub(super) fn says(&self, words: &str) -> bool {
        let lines = self.exchange.0.get(self.model());
        lines.into_iter().flatten().any(|line| line == words)
    }

    fn model(&self) -> &str {
        self.event.split('/').next().unwrap_or_default()
    }

    /// `by` is the last part of the event.
    pub(super) fn cancelled(&mut self, by: &str) {
        self.event = format!("{}/{by}", self.model());
    }

    pub(super) fn chosen(&mut self, option: &str) {
        self.event = format!("{}/{option}", self.event);
    }

    pub(super) fn update(&mut self, update: &Value) {
        let params = json!({ "sessionId": self.session, "update": update });
        self.send(json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    pub(super) fn send(&mut self, mut message: Value) {
        let lines = self.exchange.0.get(&self.event).map_or(&[][..], Vec::as_slice);
        let is_response = message.get("method").is_none();
        let is_late = lines.iter().any(|line| *line == "answers before its updates");
        if (is_late || lines.iter().any(|line| *line == "waits")) && !is_response {
            self.held.push(message);
            return;
        }
        let held: Vec<Value> = self.held.drain(..).collect();
        let release = || held.iter().for_each(|held| write(&held.to_string()));
        if is_late {
            write(&message.to_string());
            // How long an agent takes for the rest is no matter of checks.
            std::thread::sleep(std::time::Duration::from_millis(500));
            return release();
        }
        release();
        let used = self.used.entry(self.event.clone()).or_default();
        let at = lines.iter().skip(*used).position(|line| line.is_object() && kind(line) == kind(&message));
        let session = &self.session;
        let extra = |lines: &[Value]| {
            let filled = lines.iter().map(|line| line.to_string().replace("$SESSION", session));
            filled.filter(|line| !line.contains('$') && line.starts_with('{')).for_each(|line| write(&line));
        };
        if let Some(at) = at.map(|at| at + *used) {
            extra(&lines[*used..at]);
            replace(&mut message, &lines[at]);
            *used = at + 1;
        }
        if message["drop"] != true {
            write(&message.to_string());
        }
        if is_response {
            extra(&lines[*used..]);
        }
    }
}

/// Gives a message the members shown. The id of a message stays, and `error` replaces `result`.
fn replace(message: &mut Value, shown: &Value) {
    let Some(members) = shown.as_object() else { return };
    for (name, value) in members.iter().filter(|(name, _)| *name != "id") {
        if name == "error" || name == "result" {
            let other = if name == "error" { "result" } else { "error" };
            message.as_object_mut().unwrap().remove(other);
        }
        if value.is_object() && message[name].is_object() {
            replace(&mut message[name], value);
        } else if !value.as_str().is_some_and(|text| text.starts_with('$')) {
            message[name] = value.clone();
        }
    }
}
