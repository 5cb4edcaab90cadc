//! The commands of an npm package, and which one `npx` starts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use acp_registry_plan::json::{self, Object};

/// Maximum number of commands of a version.
const COMMANDS: usize = 1000;

/// Maximum number of names in a [`Bin::Several`], which are for messages.
pub(super) const NAMED: usize = 20;

/// The commands of a package, as `npx` selects among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bin {
    /// `npx` starts this command.
    One(String),
    /// There are no commands.
    None,
    /// There are several, and none has the package's name, so `npx` fails.
    Several {
        /// The first ones.
        names: Vec<String>,
        /// The number of commands.
        count: usize,
    },
}

impl Bin {
    /// Selects as `npx` does: the command with the package's name without its scope, or the only command. Several names
    /// of one file count as one command.
    ///
    /// `name` is the name of the package, `bin` the member of its `package.json`.
    #[must_use]
    pub fn of(name: &str, bin: Option<&RawValue>) -> Self {
        let own = own_command(name);
        let commands = files_of_commands(name, bin);
        if let Some((name, _)) = commands.iter().find(|(name, _)| *name == own) {
            return Self::One(name.clone().into_owned());
        }
        let files: BTreeSet<&str> = commands.iter().map(|(_, path)| path.trim_start_matches("./")).collect();
        match (files.len(), commands.first()) {
            (1, Some((name, _))) => Self::One(name.clone().into_owned()),
            (0, _) | (_, None) => Self::None,
            _ => Self::Several {
                count: commands.len(),
                names: commands.into_iter().take(NAMED).map(|(name, _)| name.into_owned()).collect(),
            },
        }
    }
}

/// The file of a command, relative to the package. As in npm, paths cannot leave the package: `../a` is `a`.
#[must_use]
pub fn file_of_command(name: &str, bin: Option<&RawValue>, command: &str) -> Option<String> {
    let (_, path) = files_of_commands(name, bin).into_iter().find(|(known, _)| *known == command)?;
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The name of a single command that the package does not name.
fn own_command(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The names of all commands of a package, in order.
#[must_use]
pub fn commands(name: &str, bin: Option<&RawValue>) -> Vec<String> {
    files_of_commands(name, bin).into_iter().map(|(name, _)| name.into_owned()).collect()
}

/// Commands with their files, in order of first occurrence. As in npm, the last of equal names counts.
fn files_of_commands<'a>(name: &'a str, bin: Option<&'a RawValue>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    if let Some(path) = json::text(bin) {
        return if is_short(&path) { vec![(own_command(name).into(), path)] } else { Vec::new() };
    }
    let object: Object<'_, COMMANDS> = json::object(bin).unwrap_or_default();
    let mut places = BTreeMap::new();
    let mut members: Vec<(Cow<'_, str>, &RawValue)> = Vec::new();
    for (name, path) in object.members {
        let name = last_part(name);
        let at = *places.entry(name.clone()).or_insert(members.len());
        match members.get_mut(at) {
            Some(known) => known.1 = path,
            None => members.push((name, path)),
        }
    }
    let named = members.into_iter().filter_map(|(name, path)| Some((name, json::text(Some(path))?)));
    named.filter(|(name, path)| is_short(name) && is_short(path)).collect()
}

/// The name of a command, as npm makes links: `@scope/tool` is `tool`. Without a name, it is empty.
fn last_part(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.rsplit(['/', '\\', ':']).find(|part| !part.is_empty()).unwrap_or_default() {
        "." | ".." => Cow::Borrowed(""),
        part if part.len() == name.len() => name,
        part => Cow::Owned(part.to_owned()),
    }
}

fn is_short(text: &str) -> bool {
    (1..=super::LONGEST).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn a_command_is_chosen_as_npx_does() {
        let one = |name: &str| Bin::One(name.to_owned());
        for (name, bin, expected) in [
            ("@s/tool", json!("cli.js"), one("tool")),
            ("tool", json!({ "other": "a.js" }), one("other")),
            ("tool", json!({ "other": "a.js", "tool": "b.js" }), one("tool")),
            ("tool", json!({ "x": "a.js", "y": "./a.js" }), one("x")),
            (
                "tool",
                json!({ "x": "a.js", "y": "b.js" }),
                Bin::Several { names: vec!["x".into(), "y".into()], count: 2 },
            ),
            ("@s/tool", json!({ "@s/tool": "a.js", "other": "b.js" }), one("tool")),
            ("tool", json!({ "a\\b:tool/": "a.js", "other": "b.js" }), one("tool")),
            ("tool", json!({ "..": "a.js", "/": "b.js" }), Bin::None),
            ("tool", json!({ "x": 7 }), Bin::None),
            ("tool", json!({}), Bin::None),
            ("tool", json!(null), Bin::None),
            ("tool", json!(""), Bin::None),
            ("tool", json!(["a.js"]), Bin::None),
        ] {
            assert_eq!(Bin::of(name, Some(&raw(&bin))), expected, "{bin}");
        }
        assert_eq!(Bin::of("tool", None), Bin::None);
    }

    #[test]
    fn of_equal_names_the_last_one_counts() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let bin = raw(r#"{ "tool": "first.js", "other": "o.js", "tool": "last.js" }"#);
        assert_eq!(Bin::of("tool", Some(&bin)), Bin::One("tool".to_owned()));
        assert_eq!(file_of_command("tool", Some(&bin), "tool").as_deref(), Some("last.js"));
        assert_eq!(Bin::of("tool", Some(&raw(r#"{ "x": "a.js", "x": "b.js" }"#))), Bin::One("x".to_owned()));
        // Only the last value counts.
        assert_eq!(Bin::of("tool", Some(&raw(r#"{ "tool": "a.js", "tool": 7 }"#))), Bin::None);
    }

    #[test]
    fn no_command_leads_above_its_package() {
        for (path, file) in [("./a/b.js", "a/b.js"), ("../dist/a.js", "dist/a.js"), ("/a", "a"), ("a\\..\\..\\b", "b")]
        {
            assert_eq!(file_of_command("tool", Some(&raw(&json!(path))), "tool").as_deref(), Some(file));
        }
        assert_eq!(file_of_command("tool", Some(&raw(&json!({ "x": "a" }))), "y"), None);
    }
}
