//! Next edit suggestions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Answer, Drafts, UNKNOWN_METHOD, respond};

/// The documents of each session, by their URIs.
#[derive(Default)]
pub(super) struct Nes(BTreeMap<String, BTreeMap<String, String>>);

impl Drafts<'_> {
    pub(super) fn nes_capability() -> Value {
        let events = json!({
            "didOpen": {}, "didChange": { "syncKind": "incremental" }, "didClose": {}, "didSave": {}, "didFocus": {},
        });
        json!({ "events": { "document": events }, "context": {} })
    }

    /// The encoding that is declared.
    pub(super) fn encoding(&self) -> Option<&str> {
        if self.is("nes-utf-8") {
            return Some("utf-8");
        }
        self.client["positionEncodings"][0].as_str()
    }

    /// The length of a line in the encoding in which the agent counts.
    fn length(&self, line: &str) -> usize {
        let encoding = if self.is("nes-counts-utf-16") {
            "utf-16"
        } else if self.is("nes-counts-bytes") {
            "utf-8"
        } else {
            self.encoding().unwrap_or("utf-16")
        };
        match encoding {
            "utf-8" => line.len(),
            "utf-32" => line.chars().count(),
            _ => line.encode_utf16().count(),
        }
    }

    pub(super) fn nes_requested(&mut self, method: &str, params: &Value) -> Answer {
        if method == "nes/start" {
            let id = if self.is("nes-same-id") && params["workspaceUri"].is_string() {
                "nes".to_owned()
            } else {
                self.new_id("nes")
            };
            self.nes.0.insert(id.clone(), BTreeMap::new());
            let is_silent = self.is("nes-no-id") && params["workspaceUri"].is_string();
            return Ok(if is_silent { json!({}) } else { json!({ "sessionId": id }) });
        }
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        if !self.nes.0.contains_key(&session) {
            return Err((-32602, "Unknown session"));
        }
        if method == "nes/suggest" {
            return Ok(self.suggestions(&session, params["uri"].as_str().unwrap_or_default()));
        }
        if self.is("nes-no-close") {
            return Err(UNKNOWN_METHOD);
        }
        if self.is("nes-closes-all") {
            self.nes.0.clear();
        }
        if !self.is("nes-keeps-session") {
            self.nes.0.remove(&session);
        }
        Ok(json!({}))
    }

    fn suggestions(&mut self, session: &str, uri: &str) -> Value {
        let id = if self.is("nes-repeats-id") { "suggestion".to_owned() } else { self.new_id("suggestion") };
        let text = self.nes.0[session].get(uri).cloned().unwrap_or_default();
        let last = text.lines().count().saturating_sub(1);
        let end = self.length(text.lines().last().unwrap_or_default());
        let start = json!({ "line": last, "character": 0 });
        let range = json!({ "start": start, "end": { "line": last, "character": end } });
        let mut edit = json!({
            "id": id, "kind": "edit", "uri": uri, "edits": [{ "range": range, "newText": "changed" }],
        });
        if self.is("nes-no-edits") {
            edit["edits"] = json!([]);
        }
        let mut all = vec![edit];
        if self.client["nes"].get("jump").is_some() {
            all.push(json!({ "id": self.new_id("suggestion"), "kind": "jump", "uri": uri, "position": start }));
        }
        if self.is("nes-rename") {
            let id = self.new_id("suggestion");
            all.push(json!({ "id": id, "kind": "rename", "uri": uri, "position": start, "newName": "new" }));
        }
        if self.is("nes-search") {
            let id = self.new_id("suggestion");
            all.push(json!({ "id": id, "kind": "searchAndReplace", "uri": uri, "search": "a", "replace": "b" }));
        }
        json!({ "suggestions": all })
    }

    /// Takes a notification.
    pub(super) fn event(&mut self, method: &str, params: &Value) {
        let is_answered = (method == "document/didSave" && self.is("nes-answers-events"))
            || (method == "nes/reject" && self.is("nes-answers-reject"))
            || (method == "nes/reject" && self.is("nes-needs-reason") && params["reason"].is_null());
        if is_answered {
            respond(&Value::Null, Err(UNKNOWN_METHOD));
        }
        let ignores_changes = self.is("nes-ignores-changes");
        let session = params["sessionId"].as_str().unwrap_or_default();
        let Some(documents) = self.nes.0.get_mut(session) else { return };
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        match method {
            "document/didOpen" => {
                documents.insert(uri, params["text"].as_str().unwrap_or_default().to_owned());
            }
            // The only change that examinations make: it removes whole lines.
            "document/didChange" if !ignores_changes => {
                let range = &params["contentChanges"][0]["range"];
                let line = |end: &str| usize::try_from(range[end]["line"].as_u64().unwrap()).unwrap();
                let (first, after) = (line("start"), line("end"));
                let Some(text) = documents.get_mut(&uri) else { return };
                let lines = text.split_inclusive('\n').enumerate();
                *text = lines.filter(|(at, _)| *at < first || *at >= after).map(|(_, line)| line).collect();
            }
            "document/didClose" => {
                documents.remove(&uri);
            }
            _ => {}
        }
    }
}
