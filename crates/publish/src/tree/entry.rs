//! The entry of one agent in the index of a view.

use serde_json::{Map, Value};

use acp_registry_gate::config::View;
use acp_registry_plan::manifest::{Channel, Manifest, PackageKind, Version, extension};

/// The `icon` member of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Icon<'a> {
    /// The icon is published at this address.
    At(&'a str),
    /// No icon is published. A relative path in the manifest is removed; an https address stays.
    None,
}

/// Returns the entry of an agent in a view; `None` if no distribution is left that clients of the view can start.
pub(super) fn entry(manifest: &Manifest, icon: Icon<'_>, view: &View) -> Option<Value> {
    let Value::Object(mut entry) = manifest.value() else { return None };
    let preview = entry.shift_remove("preview");
    if view.channel == Channel::Preview && is_newer(preview.as_ref(), &entry) {
        for key in ["version", "distribution"] {
            if let Some(value) = preview.as_ref().and_then(|preview| preview.get(key)) {
                entry.insert(key.to_owned(), value.clone());
            }
        }
    }
    if !view.package_extensions && !take_extensions(&mut entry) {
        return None;
    }
    set_icon(&mut entry, icon);
    if let Some(changes) = view.agents.get(manifest.id()) {
        append_args(&mut entry, &changes.append_args);
        for (key, value) in &changes.set {
            entry.shift_remove(key);
            entry.insert(key.clone(), value.clone());
        }
    }
    Some(Value::Object(entry))
}

/// Removes package members that are extensions of the public format. A package with a `command` is removed
/// completely, because clients that ignore `command` would start the wrong program. Returns false if no distribution
/// is left.
fn take_extensions(entry: &mut Map<String, Value>) -> bool {
    let Some(distribution) = entry.get_mut("distribution").and_then(Value::as_object_mut) else { return true };
    let mut is_left = true;
    for kind in [PackageKind::Npx, PackageKind::Uvx].map(PackageKind::as_str) {
        let Some(package) = distribution.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        package.shift_remove(extension::EXCLUDE_NEWER);
        if package.contains_key(extension::COMMAND) {
            distribution.shift_remove(kind);
            is_left = !distribution.is_empty();
        }
    }
    is_left
}

/// Updates the icon's address in a previously published entry.
pub(super) fn renewed(mut entry: Value, icon: Icon<'_>) -> Value {
    if let Value::Object(entry) = &mut entry {
        // The entry refers to an icon of the earlier tree, which this tree replaces.
        if matches!(icon, Icon::None) {
            entry.shift_remove("icon");
        }
        set_icon(entry, icon);
    }
    entry
}

/// Sets or removes the `icon` member. An existing member keeps its position; a new one is added at the end.
fn set_icon(entry: &mut Map<String, Value>, icon: Icon<'_>) {
    match icon {
        Icon::At(address) => {
            entry.insert("icon".to_owned(), Value::String(address.to_owned()));
        }
        Icon::None => {
            let is_address = entry.get("icon").and_then(Value::as_str).is_some_and(|icon| icon.starts_with("https://"));
            if !is_address {
                entry.shift_remove("icon");
            }
        }
    }
}

/// Whether the preview has a newer version than the entry.
fn is_newer(preview: Option<&Value>, entry: &Map<String, Value>) -> bool {
    let version = |value: Option<&Value>| Version::parse(value?.as_str()?);
    match (version(preview.and_then(|preview| preview.get("version"))), version(entry.get("version"))) {
        (Some(preview), Some(stable)) => preview > stable,
        _ => false,
    }
}

fn append_args(entry: &mut Map<String, Value>, appended: &std::collections::BTreeMap<String, Vec<String>>) {
    let Some(distribution) = entry.get_mut("distribution") else { return };
    for (kind, args) in appended {
        let Some(target) = distribution.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        if kind == "binary" {
            target.values_mut().filter_map(Value::as_object_mut).for_each(|target| append(target, args));
        } else {
            append(target, args);
        }
    }
}

fn append(target: &mut Map<String, Value>, args: &[String]) {
    if let Value::Array(existing) = target.entry("args").or_insert_with(|| Value::Array(Vec::new())) {
        existing.extend(args.iter().cloned().map(Value::String));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn manifest(value: &Value) -> Manifest {
        Manifest::parse(value.to_string()).unwrap()
    }

    fn preview_view() -> View {
        View { channel: Channel::Preview, ..View::named("x.json") }
    }

    #[test]
    fn the_preview_channel_takes_whatever_is_newer() {
        for (preview, expected) in [
            ("1.0.1-preview.1", "1.0.1-preview.1"),
            ("1.0.0-preview.9", "1.0.0"),
            ("1.0.0", "1.0.0"),
            ("2.0.0", "2.0.0"),
        ] {
            let manifest = manifest(
                &json!({ "id": "a", "version": "1.0.0", "distribution": 1, "preview": { "version": preview, "distribution": 2 } }),
            );
            let entry = entry(&manifest, Icon::None, &preview_view()).unwrap();
            assert_eq!(entry["version"], expected);
            assert_eq!(entry.get("preview"), None);
        }
    }

    #[test]
    fn keys_keep_their_order() {
        let manifest = manifest(
            &json!({ "id": "a", "icon": "./icon.svg", "version": "1.0.0", "distribution": {}, "preview": {} }),
        );
        let keys = |icon| {
            entry(&manifest, icon, &View::named("x.json"))
                .unwrap()
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(Icon::At("https://h.example/a.svg")), ["id", "icon", "version", "distribution"]);
        assert_eq!(keys(Icon::None), ["id", "version", "distribution"]);
    }

    #[test]
    fn extensions_are_in_views_that_ask_for_them() {
        let uvx = json!({ "package": "q==1", "exclude_newer": "2026-02-28" });
        let distribution = json!({ "npx": { "package": "p@1", "command": "p-acp" }, "uvx": uvx });
        let both = manifest(&json!({ "id": "a", "distribution": distribution }));
        let asking = View { package_extensions: true, ..View::named("x.json") };
        assert_eq!(entry(&both, Icon::None, &asking).unwrap()["distribution"], distribution);
        let plain = entry(&both, Icon::None, &View::named("x.json")).unwrap();
        assert_eq!(plain["distribution"], json!({ "uvx": { "package": "q==1" } }));
        let one = manifest(&json!({ "id": "a", "distribution": { "npx": { "package": "p@1", "command": "p-acp" } } }));
        assert_eq!(entry(&one, Icon::None, &View::named("x.json")), None);
        assert!(entry(&one, Icon::None, &asking).is_some());
    }

    #[test]
    fn changes_are_appended() {
        let mut view = View::named("x.json");
        let changes = view.agents.entry("a".into()).or_default();
        changes.set.insert("bundled".into(), json!(true));
        changes.append_args.insert("npx".into(), vec!["--x".into()]);
        changes.append_args.insert("binary".into(), vec!["--y".into()]);
        let value = json!({ "id": "a", "bundled": false, "distribution": {
            "npx": { "package": "p" }, "binary": { "linux-x86_64": { "args": ["acp"] }, "darwin-x86_64": {} } } });
        let entry = entry(&manifest(&value), Icon::At("i"), &view).unwrap();
        assert_eq!(
            entry,
            json!({ "id": "a", "icon": "i", "bundled": true, "distribution": {
            "npx": { "package": "p", "args": ["--x"] },
            "binary": { "linux-x86_64": { "args": ["acp", "--y"] }, "darwin-x86_64": { "args": ["--y"] } } } })
        );
        assert_eq!(entry.as_object().unwrap().keys().next_back().unwrap(), "bundled");
    }
}
