//! Merges the settings of an agent into an editor's own file, or removes them: comments, order and all else stay.

use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, ReadError, read_bounded, write_atomic};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::quote;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

/// The largest file that is edited, in bytes.
const FILE_LIMIT: u64 = 16 << 20;

/// What the name of the file before the change ends in.
const BACKUP: &str = ".before-acp-registry";

/// What is done with the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsAction {
    /// They are added, or replace those of the same agent.
    Write,
    /// They are removed.
    Remove,
}

/// Why a file of settings is not edited. It is unchanged then.
#[derive(Debug, thiserror::Error)]
pub enum SettingsEditError {
    /// The file is not JSON with comments.
    #[error("{}:{line}:{column}: {message}", .path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A value is not an object, so that nothing can be added to it.
    #[error("{}: {what} is not an object", .path.display())]
    NoObject {
        /// The file.
        path: PathBuf,
        /// The value.
        what: String,
    },
    /// A value is not a list, so that nothing can be added to it.
    #[error("{}: {what} is not a list", .path.display())]
    NoList {
        /// The file.
        path: PathBuf,
        /// The value.
        what: String,
    },
    /// Editors differ in which of two members with one name they use.
    #[error("{}: the member {} is there twice", .path.display(), quote(.name))]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The file is not text in UTF-8.
    #[error("{} is not text in UTF-8", .0.display())]
    Encoding(PathBuf),
    /// The file cannot be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] PathError),
}

/// A change of a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsEdit {
    /// The file; links are followed.
    pub path: PathBuf,
    /// Its text; `None` if there is no such file.
    pub before: Option<String>,
    /// Its text after the change; the same if nothing changes.
    pub after: String,
}

impl SettingsEdit {
    /// Plans the change of a file by settings in JSON, as [`EditorClient::settings`](super::EditorClient::settings) writes
    /// them: an object whose members hold the agents.
    ///
    /// # Errors
    /// [`SettingsEditError`].
    pub fn plan(path: &Path, settings: &str, action: SettingsAction) -> Result<Self, SettingsEditError> {
        let real = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
        let before = match read_bounded(&real, &real, FILE_LIMIT) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| SettingsEditError::Encoding(real.clone()))?),
            Err(ReadError::NotFound) => None,
            Err(error) => return Err(SettingsEditError::Read { path: real, error }),
        };
        let text = before.as_deref().unwrap_or_default();
        let after = if text.trim().is_empty() && action == SettingsAction::Remove {
            text.to_owned()
        } else {
            edited(&real, text, settings, action)?
        };
        Ok(Self { path: real, before, after })
    }

    /// Whether the file changes.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.after != self.before.as_deref().unwrap_or_default()
    }

    /// Changes the file in one step. Returns the path of a copy of what it was, if it was there.
    ///
    /// # Errors
    /// [`SettingsEditError::Write`].
    pub fn apply(&self) -> Result<Option<PathBuf>, SettingsEditError> {
        let copy = self.before.as_ref().map(|_| {
            let mut name = self.path.clone().into_os_string();
            name.push(BACKUP);
            PathBuf::from(name)
        });
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        }
        if let Some(copy) = &copy {
            // With its permissions from the start: the settings may hold secrets of other agents.
            let _ = std::fs::remove_file(copy);
            std::fs::copy(&self.path, copy).map_err(PathError::at(copy))?;
        }
        write_atomic(&self.path, self.after.as_bytes())?;
        Ok(copy)
    }
}

fn edited(path: &Path, text: &str, settings: &str, action: SettingsAction) -> Result<String, SettingsEditError> {
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |text| ("\u{feff}", text));
    // As Zed and VS Code read them.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let root = CstRootNode::parse(text, &options).map_err(|error| SettingsEditError::Syntax {
        path: path.to_owned(),
        line: error.line_display(),
        column: error.column_display(),
        message: error.kind().to_string(),
    })?;
    let no_object = || SettingsEditError::NoObject { path: path.to_owned(), what: "the file".to_owned() };
    let file = root.object_value_or_create().ok_or_else(no_object)?;
    let groups: Map<String, Value> = serde_json::from_str(settings).unwrap_or_default();
    for (key, agents) in groups {
        match &agents {
            Value::Array(items) => edit_list(path, &file, &key, items, action)?,
            _ => edit_object(path, &file, &key, &agents, action)?,
        }
    }
    let mut after = format!("{mark}{root}");
    if text.is_empty() {
        after.push('\n');
    }
    Ok(after)
}

/// Agents are members of an object, by their names.
fn edit_object(
    path: &Path,
    file: &CstObject,
    key: &str,
    agents: &Value,
    action: SettingsAction,
) -> Result<(), SettingsEditError> {
    let no_object = || SettingsEditError::NoObject { path: path.to_owned(), what: quote(key) };
    let group = member(path, file, key)?;
    let members = match (&group, action) {
        (None, SettingsAction::Remove) => return Ok(()),
        (None, SettingsAction::Write) => file.append(key, CstInputValue::Object(Vec::new())).object_value_or_set(),
        (Some(group), _) => group.object_value().ok_or_else(no_object)?,
    };
    for (name, value) in agents.as_object().into_iter().flatten() {
        match (member(path, &members, name)?, action) {
            (Some(old), SettingsAction::Write) => {
                if old.to_serde_value().is_none_or(|old| old != *value) {
                    old.set_value(input(value));
                }
            }
            (None, SettingsAction::Write) => drop(members.append(name, input(value))),
            (Some(old), SettingsAction::Remove) => old.remove(),
            (None, SettingsAction::Remove) => {}
        }
    }
    if let (SettingsAction::Remove, true, Some(group)) = (action, members.properties().is_empty(), group) {
        group.remove();
    }
    Ok(())
}

/// Agents are items of a list, with their ids as the member `id`.
fn edit_list(
    path: &Path,
    file: &CstObject,
    key: &str,
    agents: &[Value],
    action: SettingsAction,
) -> Result<(), SettingsEditError> {
    let group = member(path, file, key)?;
    let items = match (&group, action) {
        (None, SettingsAction::Remove) => return Ok(()),
        (None, SettingsAction::Write) => file.append(key, CstInputValue::Array(Vec::new())).array_value_or_set(),
        (Some(group), _) => {
            group.array_value().ok_or_else(|| SettingsEditError::NoList { path: path.to_owned(), what: quote(key) })?
        }
    };
    for agent in agents {
        let is_same = |item: &CstNode| item.to_serde_value().is_some_and(|item| item["id"] == agent["id"]);
        let mut olds = items.elements().into_iter().filter(is_same);
        let (old, other) = (olds.next(), olds.next());
        if other.is_some() {
            let name = agent["id"].as_str().unwrap_or_default().to_owned();
            return Err(SettingsEditError::Twice { path: path.to_owned(), name });
        }
        match (old, action) {
            (Some(old), SettingsAction::Write) => {
                if old.to_serde_value().is_none_or(|old| old != *agent) {
                    let at = old.element_index();
                    old.remove();
                    items.insert(at.unwrap_or_default(), input(agent));
                }
            }
            (None, SettingsAction::Write) => drop(items.append(input(agent))),
            (Some(old), SettingsAction::Remove) => old.remove(),
            (None, SettingsAction::Remove) => {}
        }
    }
    if let (SettingsAction::Remove, true, Some(group)) = (action, items.elements().is_empty(), group) {
        group.remove();
    }
    Ok(())
}

/// The member with this name, which must not be there twice.
fn member(path: &Path, object: &CstObject, name: &str) -> Result<Option<CstObjectProp>, SettingsEditError> {
    let mut members = object.properties().into_iter().filter(|member| member.decoded_name().as_deref() == Some(name));
    let first = members.next();
    if members.next().is_some() {
        return Err(SettingsEditError::Twice { path: path.to_owned(), name: name.to_owned() });
    }
    Ok(first)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

impl From<SettingsEditError> for Failure {
    fn from(error: SettingsEditError) -> Self {
        let help = match &error {
            SettingsEditError::Write(error) => {
                error.remedy().unwrap_or("make the file writable, or name another with --file").to_owned()
            }
            SettingsEditError::Read { .. } => "make it a readable file, or name another with --file".to_owned(),
            _ => "correct the file, or add what `acp-registry config` prints without --write by hand".to_owned(),
        };
        Self::unable(error).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = r#"{ "agent_servers": { "a": { "command": "/bin/a \"x\"", "args": ["run"], "env": {} } } }"#;

    fn edit(text: &str, action: SettingsAction) -> Result<String, String> {
        edited(Path::new("f"), text, SETTINGS, action).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_and_other_settings_stay() {
        let text = "// Mine\n{\n  \"theme\": \"One\", // bright\n  \"agent_servers\": {\n    // own\n    \"b\": { \"command\": \"b\" },\n  },\n}\n";
        let after = edit(text, SettingsAction::Write).unwrap();
        for part in
            ["// Mine\n", "\"One\", // bright\n", "    // own\n    \"b\": { \"command\": \"b\" },\n", "\"a\": {"]
        {
            assert!(after.contains(part), "{after}");
        }
        assert_eq!(edit(&after, SettingsAction::Write).unwrap(), after, "twice is once");
        assert_eq!(edit(&after, SettingsAction::Remove).unwrap(), text);
    }

    #[test]
    fn what_is_written_is_what_the_editor_reads() {
        let wanted: Value = serde_json::from_str(SETTINGS).unwrap();
        for text in ["", "{}", "{ \"agent_servers\": {} }", "\u{feff}{}\r\n", "{ \"agent_servers\": { \"a\": 1 } }"] {
            let after = edit(text, SettingsAction::Write).unwrap();
            assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            let read: Value = serde_json::from_str(after.trim_start_matches('\u{feff}')).unwrap();
            assert_eq!(read, wanted, "{text:?}");
            let removed: Value =
                serde_json::from_str(edit(&after, SettingsAction::Remove).unwrap().trim_start_matches('\u{feff}'))
                    .unwrap();
            assert_eq!(removed, serde_json::json!({}), "{text:?}");
        }
    }

    #[test]
    fn an_item_of_a_list_is_found_by_its_id() {
        let settings = |args: &str| format!(r#"{{ "customAgents": [{{ "id": "a", "args": {args} }}] }}"#);
        let edit = |text: &str, settings: &str, action| edited(Path::new("f"), text, settings, action);
        let mine = "{\n  \"customAgents\": [\n    { \"id\": \"b\" } // Mine\n  ],\n  \"last\": 1\n}\n";
        let first = edit(mine, &settings("[]"), SettingsAction::Write).unwrap();
        assert!(first.contains("// Mine") && first.contains("\"last\": 1"), "{first}");
        let changed = edit(&first, &settings("[\"x\"]"), SettingsAction::Write).unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(&text.replace("// Mine", "")).unwrap();
        let expected = serde_json::json!([{ "id": "b" }, { "id": "a", "args": ["x"] }]);
        assert_eq!(read(&changed)["customAgents"], expected);
        assert_eq!(edit(&changed, &settings("[\"x\"]"), SettingsAction::Write).unwrap(), changed, "twice is once");
        let removed = edit(&changed, &settings("[]"), SettingsAction::Remove).unwrap();
        assert_eq!(read(&removed), read(mine));
        let new = edit("", &settings("[]"), SettingsAction::Write).unwrap();
        assert_eq!(edit(&new, &settings("[]"), SettingsAction::Remove).unwrap().replace(char::is_whitespace, ""), "{}");
        for (text, message) in [
            (r#"{ "customAgents": {} }"#, "`customAgents` is not a list"),
            (r#"{ "customAgents": [{ "id": "a" }, { "id": "a" }] }"#, "`a` is there twice"),
        ] {
            let error = edit(text, &settings("[]"), SettingsAction::Write).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_understood_is_not_changed() {
        for (text, message) in [
            ("{ \"a\": }", "f:1:"),
            ("[]", "the file is not an object"),
            ("{ \"agent_servers\": [] }", "`agent_servers` is not an object"),
            ("{ \"agent_servers\": {}, \"agent_servers\": {} }", "`agent_servers` is there twice"),
            ("{ \"agent_servers\": { \"a\": 1, \"\\u0061\": 2 } }", "`a` is there twice"),
            (&"[".repeat(100_000), "f:1:"),
        ] {
            let error = edit(text, SettingsAction::Write).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
