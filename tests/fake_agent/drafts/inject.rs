//! Messages during a turn: `session/inject`, its revocation and replacement, and `_session/steering`.

use std::process::exit;

use serde_json::{Value, json};

use super::{Answer, Drafts, UNKNOWN_METHOD};

/// A pending message.
pub(super) struct Message {
    id: String,
    is_steering: bool,
    content: Value,
}

const PRECONDITION: (i64, &str) = (-32010, "Inject precondition failed");
const NOT_FOUND: (i64, &str) = (-32002, "Resource not found");
const INVALID: (i64, &str) = (-32602, "Invalid params");

impl Drafts<'_> {
    pub(super) fn inject_capability(&self) -> Value {
        let modes = if self.is("inject-no-modes") {
            json!([])
        } else if self.is("inject-unknown-mode") {
            json!(["queue", "steer", "later"])
        } else {
            json!(["queue", "steer"])
        };
        let pending = if self.is("replace-unadvertised") { json!({}) } else { json!({ "replace": {} }) };
        json!({ "modes": modes, "pending": pending })
    }

    pub(super) fn injecting(&mut self, method: &str, number: usize, params: &Value) -> Answer {
        match method {
            "_session/steering" => self.steer(number),
            "session/inject" if self.version == 2 => self.inject(number, params),
            "session/revoke_inject" if self.version == 2 => self.revoke(number, params),
            "session/replace_inject" if self.version == 2 => self.replace(number, params),
            _ => Err(UNKNOWN_METHOD),
        }
    }

    fn steer(&self, number: usize) -> Answer {
        let outcome = |name: &str| Ok(json!({ "outcome": name }));
        if self.sessions[number].is_running {
            return match () {
                () if self.is("steering-turn-error") => Err(UNKNOWN_METHOD),
                () if self.is("steering-turn-required") => outcome("promptRequired"),
                () => outcome("injected"),
            };
        }
        match () {
            () if self.is("steering-idle-error") => Err(UNKNOWN_METHOD),
            () if self.is("steering-idle-starts") => outcome("startedNewTurn"),
            () => Ok(json!({ "outcome": "promptRequired", "reason": "noRunningTurn" })),
        }
    }

    fn inject(&mut self, number: usize, params: &Value) -> Answer {
        let is_steering = params["mode"] == "steer";
        let id = self.new_id("message");
        if is_steering && !self.sessions[number].is_running {
            return match () {
                () if self.is("idle-steer-accepted") => Ok(json!({ "messageId": id })),
                () if self.is("idle-steer-code") => Err(INVALID),
                () => Err(PRECONDITION),
            };
        }
        if is_steering && self.is("steer-refused") {
            return Err(PRECONDITION);
        }
        let message = Message { id: id.clone(), is_steering, content: params["content"].clone() };
        self.sessions[number].pending.push(message);
        if is_steering && self.is("steer-at-once") {
            self.deliver(number, true);
        }
        Ok(if !is_steering && self.is("queue-no-id") { json!({}) } else { json!({ "messageId": id }) })
    }

    fn revoke(&mut self, number: usize, params: &Value) -> Answer {
        let session = &self.sessions[number];
        if session.delivered.iter().any(|id| params["messageId"] == id.as_str()) {
            return match () {
                () if self.is("delivered-revoked") => Ok(json!({})),
                () if self.is("delivered-code") => Err(NOT_FOUND),
                () => Err(PRECONDITION),
            };
        }
        let Some(at) = session.pending.iter().position(|message| params["messageId"] == message.id.as_str()) else {
            return match () {
                () if self.is("unknown-revoked") => Ok(json!({})),
                () if self.is("unknown-code") => Err(INVALID),
                () => Err(NOT_FOUND),
            };
        };
        if self.is("revoke-refused") {
            return Err(UNKNOWN_METHOD);
        }
        if !self.is("revoke-ignored") {
            self.sessions[number].pending.remove(at);
        }
        Ok(json!({}))
    }

    fn replace(&mut self, number: usize, params: &Value) -> Answer {
        if self.is("replace-refused") {
            return Err(UNKNOWN_METHOD);
        }
        let is_ignored = self.is("replace-ignored");
        let mut pending = self.sessions[number].pending.iter_mut();
        let Some(message) = pending.find(|message| params["messageId"] == message.id.as_str()) else {
            return Err(NOT_FOUND);
        };
        if !is_ignored {
            message.content = params["content"].clone();
        }
        Ok(json!({}))
    }

    pub(super) fn cancel(&mut self, number: usize) {
        if self.is("cancel-exits") {
            exit(7);
        }
        if self.is("cancel-drops") {
            self.sessions[number].pending.clear();
        }
    }

    /// Delivers the pending messages of one mode.
    pub(super) fn deliver(&mut self, number: usize, is_steering: bool) {
        let all = std::mem::take(&mut self.sessions[number].pending);
        let (mut due, later): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|message| message.is_steering == is_steering);
        self.sessions[number].pending = later;
        if self.is("queue-reversed") {
            due.reverse();
        }
        for message in due {
            self.update(
                number,
                &json!({ "sessionUpdate": "user_message", "messageId": message.id, "content": message.content }),
            );
            self.sessions[number].delivered.push(message.id);
        }
    }
}
