//! Modes and configuration options of sessions.

use serde_json::{Value, json};

use super::{INVALID, Sessions};

impl Sessions<'_> {
    /// The modes and options that the answer to `session/new` has.
    pub(super) fn offered(&self, at: usize) -> (Value, Value) {
        let mut modes = json!({
            "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }],
        });
        if self.is("mode-not-listed") {
            modes["availableModes"].as_array_mut().unwrap().remove(0);
        }
        if self.is("mode-twice") {
            let mode = modes["availableModes"][1].clone();
            modes["availableModes"].as_array_mut().unwrap().push(mode);
        }
        let mut options = self.options(at);
        match () {
            () if self.is("option-without-value") => drop(options[1].as_object_mut().unwrap().remove("currentValue")),
            () if self.is("option-null") => options[0]["currentValue"] = Value::Null,
            () if self.is("value-not-listed") => options[1]["currentValue"] = "huge".into(),
            () if self.is("option-twice") => options[1]["id"] = "mode".into(),
            () if self.is("value-twice") => options[1]["options"][1]["value"] = "small".into(),
            () if self.is("mode-differs") => options[0]["currentValue"] = "code".into(),
            () => {}
        }
        (modes, options)
    }

    pub(super) fn set_mode(&mut self, at: usize, params: &Value) -> Result<Value, (i64, &'static str)> {
        let mode = params["modeId"].as_str().ok_or(INVALID)?;
        let is_known = ["ask", "code"].contains(&mode);
        if (!is_known && !self.is("any-mode") && !self.is("any-mode-silently"))
            || (mode == "code" && self.is("mode-refused"))
        {
            return Err(INVALID);
        }
        if is_known && !self.is("mode-apart") {
            mode.clone_into(&mut self.all[at].mode);
        }
        let shown = if self.is("mode-misreported") { "ask" } else { mode };
        if !self.is("any-mode-silently") {
            Self::update(&self.all[at].id, &json!({ "sessionUpdate": "current_mode_update", "currentModeId": shown }));
        }
        Ok(json!({}))
    }

    pub(super) fn set_option(&mut self, at: usize, params: &Value) -> Result<Value, (i64, &'static str)> {
        let value = params["value"].as_str().ok_or(INVALID)?;
        let session = &mut self.all[at];
        let is_set = !self.breaks.contains(&"option-not-set");
        match (params["configId"].as_str(), value) {
            (Some("mode"), "ask" | "code") if is_set => value.clone_into(&mut session.mode),
            (Some("model"), "large") if self.breaks.contains(&"value-refused") => return Err(INVALID),
            (Some("model"), "small" | "large") if is_set => value.clone_into(&mut session.model),
            (Some("mode"), "ask" | "code") | (Some("model"), "small" | "large") => {}
            (Some("mode"), _) if self.breaks.contains(&"any-value") => {}
            (Some("mode"), _) if self.breaks.contains(&"any-value-kept") => value.clone_into(&mut session.mode),
            (Some("mode" | "model"), _) => return Err(INVALID),
            (_, _) if self.breaks.contains(&"any-option") => {}
            (_, _) if self.breaks.contains(&"any-option-empty") => return Ok(json!({ "configOptions": [] })),
            _ => return Err(INVALID),
        }
        let mut options = self.options(at);
        if self.is("answer-partial") {
            options.as_array_mut().unwrap().retain(|option| option["id"] == params["configId"]);
        }
        if self.is("answer-empty") {
            return Ok(json!({}));
        }
        Ok(json!({ "configOptions": options }))
    }

    pub(super) fn options(&self, at: usize) -> Value {
        let session = &self.all[at];
        let values = |values: [&str; 2]| values.map(|value| json!({ "value": value, "name": value }));
        json!([
            {
                "id": "mode", "name": "Mode", "category": "mode", "type": "select",
                "currentValue": session.mode, "options": values(["ask", "code"]),
            },
            {
                "id": "model", "name": "Model", "category": "model", "type": "select",
                "currentValue": session.model, "options": values(["small", "large"]),
            },
        ])
    }
}
