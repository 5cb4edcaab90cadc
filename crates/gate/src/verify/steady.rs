//! Removes values from snapshots that differ between runs of the same agent.

use serde_json::Value;

/// Replacement for UUIDs.
const UUID: &str = "$UUID";

/// Replaces UUIDs, which some agents generate at each start, by `$UUID`, and removes warnings about leftover processes,
/// which depend on the load of the machine.
pub(super) fn make_steady(row: &mut Value) {
    if let Some(warnings) = row["warnings"].as_array_mut() {
        warnings.retain(|warning| !warning.as_str().is_some_and(is_of_leftovers));
    }
    for name in ["agent_info", "capabilities", "extra", "session"] {
        hide_uuids(&mut row[name]);
    }
}

fn is_of_leftovers(warning: &str) -> bool {
    warning.starts_with("left ") && warning.ends_with(" behind when it ended")
}

fn hide_uuids(value: &mut Value) {
    match value {
        Value::String(text) if is_uuid(text) => UUID.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide_uuids),
        Value::Object(members) => members.values_mut().for_each(hide_uuids),
        _ => {}
    }
}

/// Whether a text is a UUID in its usual form: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-');
    groups.clone().map(str::len).eq([8, 4, 4, 4, 12])
        && groups.flat_map(str::bytes).all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_varies_is_hidden_and_nothing_else() {
        let uuid = "bd2699a4-eb69-5eca-8b19-be481c6e470a";
        let mut row = json!({
            "id": uuid,
            "extra": { "agentId": uuid, "list": [uuid, format!("{uuid}0"), "bd2699a4eb695eca8b19be481c6e470a"], "n": 7 },
            "agent_info": null,
            "warnings": ["left 3 processes behind when it ended", "left is right"],
        });
        make_steady(&mut row);
        assert_eq!(row["id"], uuid);
        assert_eq!(
            row["extra"],
            json!({ "agentId": "$UUID", "list": ["$UUID", format!("{uuid}0"), "bd2699a4eb695eca8b19be481c6e470a"], "n": 7 })
        );
        assert_eq!(row["warnings"], json!(["left is right"]));
    }
}
