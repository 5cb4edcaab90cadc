//! Leaves out distributions with unreadable members.

use serde_json::{Map, Value};

/// Removes archives and packages with members of a wrong type: if such a member was ignored, a digest or an argument
/// would get lost. Returns what was removed and why, as sentences.
pub(super) fn keep_usable(agent: &mut Value) -> Vec<String> {
    let mut notes = Vec::new();
    for channel in ["", "/preview"] {
        let place = format!("{channel}/distribution");
        let Some(distribution) = agent.pointer_mut(&place).and_then(Value::as_object_mut) else { continue };
        if let Some(targets) = distribution.get_mut("binary").and_then(Value::as_object_mut) {
            keep(targets, &format!("{place}/binary"), |_| true, &mut notes);
        }
        keep(distribution, &place, |kind| kind == "npx" || kind == "uvx", &mut notes);
    }
    notes
}

fn keep(ways: &mut Map<String, Value>, place: &str, is_way: impl Fn(&str) -> bool, notes: &mut Vec<String>) {
    ways.retain(|name, way| {
        let problem = if is_way(name) { problem(way) } else { None };
        notes.extend(problem.map(|problem| format!("{place}/{name} is passed over: {problem}")));
        problem.is_none()
    });
}

fn problem(way: &Value) -> Option<&'static str> {
    let Some(way) = way.as_object() else { return Some("it is not an object") };
    // Some writers have `null` for missing members.
    let of = |name: &str| way.get(name).filter(|value| !value.is_null());
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
    let are_texts = |value: &Value| value.as_array().is_some_and(|values| values.iter().all(is_text));
    let are_pairs = |value: &Value| value.as_object().is_some_and(|values| values.values().all(is_text));
    if of("archive").is_some_and(|value| !is_text(value)) {
        Some("its `archive` is not a text without NUL characters")
    } else if of("cmd").is_some_and(|value| !is_text(value)) {
        Some("its `cmd` is not a text without NUL characters")
    } else if of("sha256").is_some_and(|value| !is_text(value)) {
        Some("its `sha256` is not a text without NUL characters")
    } else if of("package").is_some_and(|value| !is_text(value)) {
        Some("its `package` is not a text without NUL characters")
    } else if of("args").is_some_and(|value| !are_texts(value)) {
        Some("its `args` is not a list of texts without NUL characters")
    } else if of("env").is_some_and(|value| !are_pairs(value)) {
        Some("its `env` does not give texts without NUL characters to names")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_something_unreadable_of_what_runs_is_no_way() {
        for (way, problem) in [
            (json!(7), "not an object"),
            (json!({ "archive": 7 }), "`archive`"),
            (json!({ "cmd": ["a"] }), "`cmd`"),
            (json!({ "sha256": ["a"] }), "`sha256`"),
            (json!({ "package": {} }), "`package`"),
            (json!({ "args": "acp" }), "`args`"),
            (json!({ "args": ["acp", 7] }), "`args`"),
            (json!({ "args": ["a\u{0}b"] }), "`args`"),
            (json!({ "env": ["A=b"] }), "`env`"),
            (json!({ "env": { "A": 7 } }), "`env`"),
        ] {
            let good = json!({ "archive": "a", "sha256": null });
            let mut agent = json!({
                "distribution": { "binary": { "bad": way, "good": good }, "other": 7 },
                "preview": { "distribution": { "npx": way, "uvx": { "package": "a" } } },
            });
            let notes = keep_usable(&mut agent);
            assert_eq!(notes.len(), 2, "{way}");
            assert!(notes[0].starts_with("/distribution/binary/bad is passed over: ") && notes[0].contains(problem));
            assert!(notes[1].starts_with("/preview/distribution/npx is passed over: "), "{notes:?}");
            assert_eq!(agent["distribution"], json!({ "binary": { "good": good }, "other": 7 }));
            assert_eq!(agent["preview"]["distribution"], json!({ "uvx": { "package": "a" } }));
        }
    }
}
