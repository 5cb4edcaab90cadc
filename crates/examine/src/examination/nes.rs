//! Next edit suggestions, as the checks of the proposal use them.

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use super::agent::StartedAgent;
use super::failure::{CheckFailure, fail, not_exercised};

/// A document of the checks. Its two lines have the same number of characters in each encoding, so that an agent that
/// counts in another encoding than it has agreed to is noticed.
pub(super) const DOCUMENT: &str =
    "\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\n\u{1f600}\u{1f600}\u{1f600}\u{1f600}\u{1f600}\n";

/// The characters that a line of [`DOCUMENT`] has, in this encoding, for each character.
pub(super) fn width(encoding: &str) -> u64 {
    match encoding {
        "utf-8" => 4,
        "utf-32" => 1,
        _ => 2,
    }
}

impl StartedAgent {
    /// Starts a session for suggestions. If the agent does not offer them, or refuses, the check is not exercised.
    pub(super) async fn start_nes(&mut self, params: &Value) -> Result<String, CheckFailure> {
        self.needs("/nes")?;
        match self.ask("nes/start", params).await? {
            Ok(result) => match result["sessionId"].as_str().filter(|id| !id.is_empty()) {
                Some(id) => Ok(id.to_owned()),
                None => not_exercised("the agent answers `nes/start` without a `sessionId`"),
            },
            Err(error) => not_exercised(format!("the agent answers `nes/start` with {error}")),
        }
    }

    /// The encoding of positions that the agent has chosen.
    pub(super) fn encoding(&self) -> &str {
        self.capabilities()["positionEncoding"].as_str().unwrap_or("utf-16")
    }

    /// Sends an event about a document, if the agent has asked for events of this kind.
    pub(super) async fn event(&mut self, name: &str, params: &Value) {
        if self.advertises(&format!("/nes/events/document/{name}")) {
            self.notify(&format!("document/{name}"), params).await;
        }
    }

    /// Opens a document with the text of [`DOCUMENT`].
    pub(super) async fn open_document(&mut self, session: &str, uri: &str) {
        let params = json!({
            "sessionId": session, "uri": uri, "languageId": "plaintext", "version": 1, "text": DOCUMENT,
        });
        self.event("didOpen", &params).await;
    }

    /// Requests suggestions for a document. Fails if they do not have the form of the proposal.
    pub(super) async fn suggest(&mut self, session: &str, uri: &str) -> Result<Vec<Value>, CheckFailure> {
        let params = suggest_params(session, uri);
        let answer = self.ask_within("nes/suggest", &params, self.turn_limit()).await?;
        let result = match answer {
            Ok(result) => result,
            Err(error) if error.is_about_sign_in() => {
                return not_exercised(format!("the agent requires a sign-in: {error}"));
            }
            Err(error) => {
                return fail(format!("answers `nes/suggest` with {error}"));
            }
        };
        let Some(suggestions) = result["suggestions"].as_array() else {
            return fail("answers `nes/suggest` without a list of `suggestions`");
        };
        Ok(suggestions.clone())
    }

    /// Like [`suggest`](Self::suggest), for checks that need a suggestion and leave its form to another check.
    pub(super) async fn some_suggestions(&mut self, session: &str, uri: &str) -> Result<Vec<Value>, CheckFailure> {
        let nothing = |why: &str| not_exercised(format!("the agent {why}"));
        match self.suggest(session, uri).await {
            Ok(suggestions) if suggestions.is_empty() => nothing("suggests nothing"),
            Err(CheckFailure::Fail(text)) => nothing(&text),
            other => other,
        }
    }
}

/// The parameters of `nes/suggest`.
pub(super) fn suggest_params(session: &str, uri: &str) -> Value {
    json!({
        "sessionId": session, "uri": uri, "version": 1, "position": { "line": 0, "character": 0 },
        "triggerKind": "manual",
    })
}

/// What is wrong with a suggestion, if anything.
pub(super) fn problem(suggestion: &Value) -> Option<String> {
    let missing = |name: &str| Some(format!("without {}", quote(name)));
    let lacks = |name: &str| !suggestion[name].is_string();
    if lacks("id") {
        return missing("id");
    }
    let Some(kind) = suggestion["kind"].as_str() else { return missing("kind") };
    let texts: &[&str] = match kind {
        "edit" | "jump" => &["uri"],
        "rename" => &["uri", "newName"],
        "searchAndReplace" => &["uri", "search", "replace"],
        _ => &[],
    };
    if let Some(name) = texts.iter().find(|name| lacks(name)) {
        return Some(format!("of the kind {} without {}", quote(kind), quote(name)));
    }
    if matches!(kind, "jump" | "rename") && !is_position(&suggestion["position"]) {
        return Some(format!("of the kind {} without a `position`", quote(kind)));
    }
    if kind != "edit" {
        return None;
    }
    let Some(edits) = suggestion["edits"].as_array().filter(|edits| !edits.is_empty()) else {
        return Some("of the kind `edit` without `edits`".to_owned());
    };
    let is_edit = |edit: &Value| {
        let range = &edit["range"];
        edit["newText"].is_string() && is_position(&range["start"]) && is_position(&range["end"])
    };
    (!edits.iter().all(is_edit)).then(|| "with an edit without a `range` and a `newText`".to_owned())
}

fn is_position(value: &Value) -> bool {
    value["line"].is_u64() && value["character"].is_u64()
}

/// All positions in a document that suggestions name.
pub(super) fn positions<'a>(suggestions: &'a [Value], uri: &'a str) -> impl Iterator<Item = (u64, u64)> + 'a {
    let of_document = suggestions.iter().filter(move |suggestion| suggestion["uri"] == uri);
    let edits = of_document.flat_map(|suggestion| suggestion["edits"].as_array().into_iter().flatten());
    let ends = edits.flat_map(|edit| [&edit["range"]["start"], &edit["range"]["end"]]);
    ends.filter_map(|place| Some((place["line"].as_u64()?, place["character"].as_u64()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_suggestion_has_its_members() {
        let place = json!({ "line": 0, "character": 0 });
        let range = json!({ "start": place, "end": place });
        for suggestion in [
            json!({ "id": "1", "kind": "edit", "uri": "u", "edits": [{ "range": range, "newText": "" }] }),
            json!({ "id": "1", "kind": "jump", "uri": "u", "position": place }),
            json!({ "id": "1", "kind": "rename", "uri": "u", "position": place, "newName": "n" }),
            json!({ "id": "1", "kind": "searchAndReplace", "uri": "u", "search": "a", "replace": "" }),
            json!({ "id": "1", "kind": "later" }),
        ] {
            assert_eq!(problem(&suggestion), None, "{suggestion}");
            for name in suggestion.as_object().unwrap().keys() {
                let mut less = suggestion.clone();
                less.as_object_mut().unwrap().remove(name);
                assert!(problem(&less).is_some(), "{less}");
            }
        }
        let kind = "edit";
        for edits in [json!([]), json!([{ "newText": "" }]), json!([{ "range": range }])] {
            assert!(problem(&json!({ "id": "1", "kind": kind, "uri": "u", "edits": edits })).is_some());
        }
    }

    #[test]
    fn the_document_has_the_same_width_in_each_line() {
        for line in DOCUMENT.lines() {
            assert_eq!(line.len() as u64, 5 * width("utf-8"));
            assert_eq!(line.encode_utf16().count() as u64, 5 * width("utf-16"));
            assert_eq!(line.chars().count() as u64, 5 * width("utf-32"));
        }
    }
}
