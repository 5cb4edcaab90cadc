//! Writes an agent as a manifest.

use serde_json::{Map, Value, json};

use acp_registry_plan::manifest::{Agent, BinaryTarget, Package, extension};

/// The manifest of an agent, with members in the usual order. Empty members are left out.
pub(super) fn to_json(agent: &Agent) -> Value {
    let mut members = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        members.extend(value.map(|value| (key.to_owned(), value)));
    };
    let text = |text: &str| Some(Value::from(text));
    put("id", text(&agent.id));
    put("name", text(&agent.name));
    put("version", text(&agent.version));
    put("description", text(&agent.description));
    put("repository", agent.repository.as_deref().map(Value::from));
    put("website", agent.website.as_deref().map(Value::from));
    put("authors", (!agent.authors.is_empty()).then(|| json!(agent.authors)));
    put("license", agent.license.as_deref().map(Value::from));
    put("license_url", agent.license_url.as_deref().map(Value::from));
    let mut distribution = Map::new();
    let binary: Map<String, Value> =
        agent.distribution.binary.iter().map(|target| (target.platform.clone(), target_json(target))).collect();
    if !binary.is_empty() {
        distribution.insert("binary".to_owned(), Value::Object(binary));
    }
    for (kind, package) in agent.distribution.packages() {
        distribution.insert(kind.as_str().to_owned(), package_json(package));
    }
    put("distribution", Some(Value::Object(distribution)));
    Value::Object(members)
}

/// The text of a manifest, indented.
pub(super) fn to_text(value: &Value) -> String {
    format!("{value:#}\n")
}

fn package_json(package: &Package) -> Value {
    let mut value = json!({ "package": package.package });
    if let Some(command) = &package.command {
        value[extension::COMMAND] = json!(command);
    }
    if let Some(day) = &package.exclude_newer {
        value[extension::EXCLUDE_NEWER] = json!(day);
    }
    if !package.args.is_empty() {
        value["args"] = json!(package.args);
    }
    value
}

fn target_json(target: &BinaryTarget) -> Value {
    let mut value = json!({ "archive": target.archive });
    if let Some(sha256) = &target.sha256 {
        value["sha256"] = json!(sha256);
    }
    value["cmd"] = json!(target.cmd);
    if !target.args.is_empty() {
        value["args"] = json!(target.args);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let agent = Agent::from_json(&json!({
            "id": "a", "name": "Ä", "version": "1.0.0", "description": "d", "website": "https://h.example",
            "authors": ["A"], "license": "MIT",
            "distribution": {
                "binary": { "linux-x86_64": { "archive": "https://h.example/a", "sha256": "00", "cmd": "./a", "args": ["acp"] } },
                "npx": { "package": "a@1.0.0", "command": "b" },
                "uvx": { "package": "a==1.0.0", "exclude_newer": "2026-02-28", "args": ["--acp"] },
            },
        }));
        let text = to_text(&to_json(&agent));
        assert!(text.contains("\"name\": \"Ä\"") && text.ends_with("}\n"), "{text}");
        assert_eq!(Agent::from_json(&serde_json::from_str(&text).unwrap()), agent);
    }
}
