//! Merges the settings of an agent into an editor's own file, or removes them: comments, order and all else stay.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_host::fs::{PathError, ReadError, Replacement, clear_unfinished, read_bounded};
use acp_registry_host::lock::{self, Lock};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::quote;
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::{Map, Value};

use super::PROGRAM;
use super::splice::{Group, Splices, place};

/// The largest file that is edited, in bytes.
const FILE_LIMIT: u64 = 16 << 20;

/// What the name of the file before the change ends in.
const BACKUP: &str = ".before-acp-registry";

/// How often a change is planned, if editors save the file meanwhile.
const ATTEMPTS: usize = 3;

/// What is done with the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsAction {
    /// They are added, or merged into those of the same agent: members that they do not have stay.
    Write,
    /// They are removed.
    Remove,
}

/// Whose settings are edited. Some editors know agents by names that other agents can have, too: there, an entry is the
/// agent's if it starts the agent.
#[derive(Debug, Clone, Copy)]
pub struct SettingsOwner<'a> {
    /// The agent.
    pub id: &'a str,
    /// The names of its packages, which `npx` and `uvx` start.
    pub packages: &'a [String],
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
    /// What a person wrote, or another agent, has the names that the agent could have.
    #[error("{}: {} does not start the agent", .path.display(), quote(.name))]
    Taken {
        /// The file.
        path: PathBuf,
        /// The last name that was tried.
        name: String,
    },
    /// The file is a link whose target is not there.
    #[error("{} is a symbolic link to a file that is not there", .0.display())]
    Dangling(PathBuf),
    /// Another process changes the file.
    #[error("{} is in use by {holder}", .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// The process.
        holder: String,
    },
    /// An editor has saved the file since it was read.
    #[error("{} was changed meanwhile", .0.display())]
    Changed(PathBuf),
    /// The file may not be written.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
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
    /// Whether the agent had settings before.
    pub had_settings: bool,
    /// The name of the agent in the file, if another entry has its own.
    pub other_name: Option<String>,
}

impl SettingsEdit {
    /// Plans the change of a file by settings in JSON, as [`EditorClient::settings`](super::EditorClient::settings) writes
    /// them: an object whose members hold the agents. Settings under another name are removed if they start the agent.
    ///
    /// # Errors
    /// [`SettingsEditError`].
    pub fn plan(
        path: &Path,
        owner: SettingsOwner<'_>,
        settings: &str,
        action: SettingsAction,
    ) -> Result<Self, SettingsEditError> {
        let real = real(path);
        if path.is_symlink() && !path.exists() {
            return Err(SettingsEditError::Dangling(path.to_owned()));
        }
        let before = read(&real)?;
        let text = before.as_deref().unwrap_or_default();
        let (after, found) = edited(&real, owner, text, settings, action)?;
        let GroupEdit { had_settings, other_name, .. } = found;
        Ok(Self { path: real, before, after, had_settings, other_name })
    }

    /// Whether the file changes.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.after != self.before.as_deref().unwrap_or_default()
    }

    /// Waits until no other process of this program changes the file, and removes what killed ones have left of it. `wait` is
    /// called once with who is waited for.
    ///
    /// # Errors
    /// [`SettingsEditError::Locked`] after `patience`, or [`SettingsEditError::Write`].
    pub async fn lock(
        path: &Path,
        patience: Duration,
        wait: &(dyn Fn(&str) + Sync),
    ) -> Result<Lock, SettingsEditError> {
        let real = real(path);
        let lock = Lock::wait(&lock::beside(&real), "changing the settings of an editor", patience, wait).await?;
        let lock = lock.map_err(|holder| SettingsEditError::Locked { path: real.clone(), holder })?;
        clear_unfinished(&real);
        clear_unfinished(&backup(&real));
        Ok(lock)
    }

    /// Plans the change of a file and makes it. If an editor saves the file meanwhile, the change is planned again. Returns
    /// also the path of a copy of what the file was, if it was there and changed. The caller holds the [lock](Self::lock).
    ///
    /// # Errors
    /// [`SettingsEditError`].
    pub fn make(
        path: &Path,
        owner: SettingsOwner<'_>,
        settings: &str,
        action: SettingsAction,
    ) -> Result<(Self, Option<PathBuf>), SettingsEditError> {
        Self::attempt(path, owner, settings, action, || ())
    }

    /// `meanwhile` is called between each plan and its change.
    fn attempt(
        path: &Path,
        owner: SettingsOwner<'_>,
        settings: &str,
        action: SettingsAction,
        mut meanwhile: impl FnMut(),
    ) -> Result<(Self, Option<PathBuf>), SettingsEditError> {
        let mut left = ATTEMPTS;
        loop {
            let edit = Self::plan(path, owner, settings, action)?;
            meanwhile();
            left -= 1;
            match if edit.is_change() { edit.apply() } else { Ok(None) } {
                Err(SettingsEditError::Changed(_)) if left > 0 => {}
                done => return Ok((edit, done?)),
            }
        }
    }

    /// Changes the file in one step, if it is still what it was.
    fn apply(&self) -> Result<Option<PathBuf>, SettingsEditError> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        }
        // Replacing a file needs no permission to write it, but who took that permission away wants it to stay.
        if self.path.metadata().is_ok_and(|metadata| metadata.permissions().readonly()) {
            return Err(SettingsEditError::ReadOnly(self.path.clone()));
        }
        // Both have the owner and the permissions of the file: the settings may hold secrets of other agents.
        let replacement = |path: &Path, text: &str| Replacement::new(path, &self.path, text.as_bytes());
        let copy = self.before.as_ref().map(|before| replacement(&backup(&self.path), before)).transpose()?;
        let file = replacement(&self.path, &self.after)?;
        // The disk may have taken long to write them.
        if read(&self.path)? != self.before {
            return Err(SettingsEditError::Changed(self.path.clone()));
        }
        let copy = copy.map(|copy| copy.put().map(|()| backup(&self.path))).transpose()?;
        file.put()?;
        Ok(copy)
    }
}

/// Where the copy of a file before its change is.
fn backup(path: &Path) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(BACKUP);
    name.into()
}

/// The text of a file; `None` if there is no such file.
fn read(path: &Path) -> Result<Option<String>, SettingsEditError> {
    match read_bounded(path, path, FILE_LIMIT) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| SettingsEditError::Encoding(path.to_owned())),
        Err(ReadError::NotFound) => Ok(None),
        Err(error) => Err(SettingsEditError::Read { path: path.to_owned(), error }),
    }
}

/// The file itself, where links lead to it.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The text after the change, and what was there.
fn edited(
    path: &Path,
    owner: SettingsOwner<'_>,
    text: &str,
    settings: &str,
    action: SettingsAction,
) -> Result<(String, GroupEdit), SettingsEditError> {
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
    let collect = CollectOptions { tokens: true, ..CollectOptions::default() };
    let parsed = parse_to_ast(text, &collect, &options).map_err(|error| SettingsEditError::Syntax {
        path: path.to_owned(),
        line: error.line_display(),
        column: error.column_display(),
        message: error.kind().to_string(),
    })?;
    let file = match parsed.value {
        Some(ast::Value::Object(file)) => file,
        Some(_) => return Err(SettingsEditError::NoObject { path: path.to_owned(), what: "the file".to_owned() }),
        None if action == SettingsAction::Remove => return Ok((format!("{mark}{text}"), GroupEdit::default())),
        None => {
            let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            return edited(path, owner, &format!("{mark}{text}{line_end}{{}}\n"), settings, action);
        }
    };
    let mut splices = Splices::new(text, parsed.tokens.unwrap_or_default(), &file);
    let groups: Map<String, Value> = serde_json::from_str(settings).unwrap_or_default();
    let (mut found, mut added, mut gone) = (GroupEdit::default(), Vec::new(), Vec::new());
    for (key, agents) in &groups {
        let Some(at) = member(path, &file, key)? else {
            added.push((Some(key.as_str()), agents));
            continue;
        };
        found = edit_group(&mut splices, path, owner, &file.properties[at], agents, action)?;
        gone.extend(found.is_emptied.then_some(at));
    }
    match action {
        SettingsAction::Write => splices.append(&(&file).into(), &added),
        SettingsAction::Remove => splices.remove(&(&file).into(), &gone),
    }
    Ok((format!("{mark}{}", splices.text()), found))
}

/// The command of settings with its arguments.
fn words(server: &Value) -> Vec<&str> {
    let words = |name: &str| match &server[name] {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        word => Vec::from_iter(word.as_str()),
    };
    [words("command"), words("args"), words("argv")].concat()
}

/// The name of a program without its directory.
fn program<'a>(words: &[&'a str]) -> Option<&'a str> {
    let name = words.first()?.rsplit(['/', '\\']).next()?;
    Some([".exe", ".cmd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name))
}

/// The agent that a command starts with this program: `acp-registry run ID`.
fn run_by_this<'a>(words: &[&'a str]) -> Option<&'a str> {
    // What follows is for the agent. A flag may have a value, so that the id is the first word or the last one: other words may
    // be those of another agent.
    let own = words.get(2..).unwrap_or_default().split(|word| *word == "--").next().unwrap_or_default();
    let named = own.first().filter(|word| !word.starts_with('-')).or(own.last())?;
    (program(words) == Some(PROGRAM) && words[1] == "run").then(|| named.split('@').next().unwrap_or_default())
}

impl SettingsOwner<'_> {
    /// Whether settings start the agent: with this program, as it is installed by it, or as a package.
    fn starts(&self, server: &Value) -> bool {
        let words = words(server);
        if let Some(id) = run_by_this(&words) {
            return id == self.id;
        }
        let is_installed = |word: &&str| {
            let parts: Vec<&str> = word.split(['/', '\\']).collect();
            parts.windows(2).any(|pair| pair == ["agents", self.id])
        };
        let is_package = |word: &str, name: &String| {
            word.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '=']))
        };
        words.iter().any(is_installed)
            || (program(&words).is_some_and(|program| ["npx", "uvx"].contains(&program))
                && words.iter().any(|word| self.packages.iter().any(|name| is_package(word, name))))
    }
}

/// Members that are the person's to choose once they are there.
const OWN: [&str; 1] = ["displayName"];

/// Writes a value over an old one, which begins on the line of `start`, and touches nothing else: comments stay, and what its
/// owner added to objects, such as variables.
fn merge(
    splices: &mut Splices<'_>,
    path: &Path,
    start: usize,
    old: &ast::Value<'_>,
    new: &Value,
) -> Result<(), SettingsEditError> {
    match (old, new) {
        (ast::Value::Object(old), Value::Object(members)) => {
            let mut added = Vec::new();
            for (name, value) in members {
                match member(path, old, name)?.map(|at| &old.properties[at]) {
                    None => added.push((Some(name.as_str()), value)),
                    Some(_) if OWN.contains(&name.as_str()) => {}
                    Some(own) => merge(splices, path, own.start(), &own.value, value)?,
                }
            }
            splices.append(&old.into(), &added);
        }
        (ast::Value::Array(old), Value::Array(items)) => {
            // Variables as a list of objects, each with its name as the member `key`.
            let names = keys(old).filter(|_| items.iter().all(|item| item["key"].is_string()));
            let at = |number: usize, item: &Value| match &names {
                Some(names) => names.iter().position(|name| *name == item["key"]),
                None => Some(number),
            };
            let mut added = Vec::new();
            for (number, item) in items.iter().enumerate() {
                match at(number, item).and_then(|at| old.elements.get(at)) {
                    Some(own) => merge(splices, path, own.start(), own, item)?,
                    None => added.push((None, item)),
                }
            }
            splices.append(&old.into(), &added);
            if names.is_none() {
                splices.remove(&old.into(), &(items.len()..old.elements.len()).collect::<Vec<_>>());
            }
        }
        _ if plain(old) == *new => {}
        _ => splices.replace(start, place(old), new),
    }
    Ok(())
}

/// The names of variables; `None` if an item is none.
fn keys(list: &ast::Array<'_>) -> Option<Vec<Value>> {
    let name = |item| plain(item).get_mut("key").map(Value::take).filter(Value::is_string);
    list.elements.iter().map(name).collect()
}

fn plain(value: &ast::Value<'_>) -> Value {
    value.clone().into()
}

/// What an edit of a group of agents found.
#[derive(Debug, Default)]
struct GroupEdit {
    had_settings: bool,
    other_name: Option<String>,
    /// Nothing is left of the group, no comment either.
    is_emptied: bool,
}

/// An agent in a file.
struct AgentEntry<'a> {
    name: String,
    start: usize,
    value: &'a ast::Value<'a>,
}

/// Agents are members of an object, by their names or ids, or items of a list, with their ids as the member `id`.
fn edit_group(
    splices: &mut Splices<'_>,
    path: &Path,
    owner: SettingsOwner<'_>,
    member: &ast::ObjectProp<'_>,
    agents: &Value,
    action: SettingsAction,
) -> Result<GroupEdit, SettingsEditError> {
    let id_of = |item: &Value| item["id"].as_str().unwrap_or_default().to_owned();
    let what = || quote(member.name.as_str());
    let (group, entries): (Group, Vec<AgentEntry<'_>>) = match (&member.value, agents) {
        (ast::Value::Object(object), Value::Object(_)) => {
            let entries = object.properties.iter().map(|entry| {
                let name = entry.name.as_str().to_owned();
                AgentEntry { name, start: entry.start(), value: &entry.value }
            });
            (object.into(), entries.collect())
        }
        (ast::Value::Array(list), Value::Array(_)) => {
            let entries = list.elements.iter();
            let entries =
                entries.map(|item| AgentEntry { name: id_of(&plain(item)), start: item.start(), value: item });
            (list.into(), entries.collect())
        }
        (_, Value::Array(_)) => return Err(SettingsEditError::NoList { path: path.to_owned(), what: what() }),
        _ => return Err(SettingsEditError::NoObject { path: path.to_owned(), what: what() }),
    };
    let is_list = agents.is_array();
    let agents: Vec<(String, &Value)> = match agents {
        Value::Object(agents) => agents.iter().map(|(name, agent)| (name.clone(), agent)).collect(),
        agents => agents.as_array().into_iter().flatten().map(|agent| (id_of(agent), agent)).collect(),
    };
    let (mut found, mut added, mut gone) = (GroupEdit::default(), Vec::new(), Vec::new());
    for (name, agent) in agents {
        let is_own = |at: &usize| {
            let server = plain(entries[*at].value);
            let has_id = || entries[*at].name == owner.id && run_by_this(&words(&server)).is_none();
            is_list || owner.starts(&server) || has_id()
        };
        // Another agent may have the name, or what a person wrote.
        let names = [name.clone(), format!("{name} ({})", owner.id)];
        let mut places = Vec::new();
        for name in &names {
            places.push(only(path, name, entries.iter().map(|entry| entry.name.as_str()))?);
        }
        let own: Vec<usize> = places.iter().flatten().copied().filter(is_own).collect();
        found.had_settings |= !own.is_empty();
        match (action, own.first()) {
            (SettingsAction::Write, Some(&at)) => {
                merge(splices, path, entries[at].start, entries[at].value, agent)?;
            }
            (SettingsAction::Write, None) => {
                let [name, other] = names;
                if places[0].is_none() {
                    added.push((name, agent));
                } else if places[1].is_none() {
                    found.other_name = Some(other.clone());
                    added.push((other, agent));
                } else {
                    return Err(SettingsEditError::Taken { path: path.to_owned(), name: other });
                }
            }
            (SettingsAction::Remove, Some(_)) => gone.extend(own),
            (SettingsAction::Remove, None) => {
                gone.extend((0..entries.len()).filter(|&at| owner.starts(&plain(entries[at].value))));
            }
        }
    }
    found.had_settings |= !gone.is_empty();
    let added: Vec<_> = added.iter().map(|(name, agent)| ((!is_list).then_some(name.as_str()), *agent)).collect();
    splices.append(&group, &added);
    found.is_emptied = !gone.is_empty()
        && gone.len() == entries.len()
        && splices.is_bare(&group)
        && splices.is_free(member.name.end()..member.value.start());
    if !found.is_emptied {
        splices.remove(&group, &gone);
    }
    Ok(found)
}

/// The number of the member with this name, which must not be there twice.
fn member(path: &Path, object: &ast::Object<'_>, name: &str) -> Result<Option<usize>, SettingsEditError> {
    only(path, name, object.properties.iter().map(|member| member.name.as_str()))
}

/// The number of the one that has this name.
fn only<'a>(path: &Path, name: &str, names: impl Iterator<Item = &'a str>) -> Result<Option<usize>, SettingsEditError> {
    let mut found = names.enumerate().filter(|(_, other)| *other == name);
    let first = found.next().map(|(at, _)| at);
    if found.next().is_some() {
        return Err(SettingsEditError::Twice { path: path.to_owned(), name: name.to_owned() });
    }
    Ok(first)
}

impl SettingsEditError {
    /// The failure of what was to be done.
    #[must_use]
    pub fn failure(self, action: SettingsAction) -> Failure {
        let help = match &self {
            SettingsEditError::Write(error) => error
                .remedy()
                .unwrap_or("make the file and its directory writable, or name another with --file")
                .to_owned(),
            SettingsEditError::Locked { .. } => "try again once it has ended, or wait longer with --wait".to_owned(),
            SettingsEditError::Taken { .. } => "give that entry of the file another name".to_owned(),
            SettingsEditError::Changed(_) => "try again once no editor saves it".to_owned(),
            SettingsEditError::Dangling(_) => "remove the link, or let it lead to a file".to_owned(),
            SettingsEditError::ReadOnly(_) => "make the file writable, or name another with --file".to_owned(),
            SettingsEditError::Read { .. } => "make it a readable file, or name another with --file".to_owned(),
            _ if action == SettingsAction::Remove => "correct the file, or remove the settings by hand".to_owned(),
            _ => "correct the file, or change it by hand as the same command says without --write".to_owned(),
        };
        Failure::unable(self).help(help)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SETTINGS: &str = r#"{ "agent_servers": { "a": { "command": "/bin/a \"x\"", "args": ["run"], "env": {} } } }"#;

    const A: SettingsOwner<'_> = SettingsOwner { id: "a", packages: &[] };

    fn edit(text: &str, action: SettingsAction) -> Result<String, String> {
        edited(Path::new("f"), A, text, SETTINGS, action).map(|(after, _)| after).map_err(|error| error.to_string())
    }

    /// A command in a remedy must run as it is printed.
    #[test]
    fn a_remedy_names_no_command_without_its_arguments() {
        for (action, help) in [
            (SettingsAction::Write, "correct the file, or change it by hand as the same command says without --write"),
            (SettingsAction::Remove, "correct the file, or remove the settings by hand"),
        ] {
            let error = edited(Path::new("f"), A, "{", SETTINGS, action).unwrap_err();
            assert_eq!(error.failure(action).advice().as_deref(), Some(help));
        }
    }

    #[test]
    fn members_that_the_owner_added_stay() {
        let text =
            r#"{ "agent_servers": { "a": { "command": "old", "env": { "KEY": "k" }, "default_mode": "ask" } } }"#;
        let after: Value = serde_json::from_str(&edit(text, SettingsAction::Write).unwrap()).unwrap();
        let expected = serde_json::json!({
            "command": "/bin/a \"x\"", "env": { "KEY": "k" }, "default_mode": "ask", "args": ["run"],
        });
        assert_eq!(after["agent_servers"]["a"], expected);
    }

    #[test]
    fn comments_within_the_settings_of_the_agent_stay() {
        let text = "{\n  \"agent_servers\": {\n    \"a\": {\n      // my build\n      \"command\": \"old\",\n      \"args\": [\"x\"], // mine\n      \"env\": { \"KEY\": \"k\" }, // my key\n    },\n  },\n}\n";
        let after = edit(text, SettingsAction::Write).unwrap();
        let expected = text.replace("\"old\"", "\"/bin/a \\\"x\\\"\"").replace("[\"x\"]", "[\"run\"]");
        assert_eq!(after, expected);
        let mut wrong = Vec::new();
        let lists = |list: &str| text.replace("[\"x\"]", list).replace("\"old\"", "\"/bin/a \\\"x\\\"\"");
        for (old, new) in [
            ("[ /* none */ ]", "[ /* none */ \"run\" ]"),
            (
                "[\n        \"x\", // one\n        \"y\" // two\n      ]",
                "[\n        \"run\" // one\n        // two\n      ]",
            ),
            ("[\"run\", \"x\", /* two */ \"y\"]", "[\"run\" /* two */]"),
            ("[\n        \"x\", \"y\", \"z\" ]", "[\n        \"run\" ]"),
            ("[{ \"x\": 1 }]", "[\"run\"]"),
            ("{ /* no list */ }", "[\"run\"]"),
        ] {
            let after = edit(&lists(old), SettingsAction::Write).unwrap();
            wrong.extend((after != lists(new)).then_some((old, after)));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn variables_in_a_list_and_a_name_that_a_person_gave_stay() {
        let settings = r#"{ "customAgents": [{ "id": "a", "displayName": "A", "args": [], "env": [{ "key": "B", "value": "2" }] }] }"#;
        let text = r#"{ "customAgents": [{ "id": "a", "displayName": "Mine", "args": ["q"], "env": [{ "key": "A", "value": "1" }, { "key": "B", "value": "1" }] }] }"#;
        let (after, _) = edited(Path::new("f"), A, text, settings, SettingsAction::Write).unwrap();
        let expected = serde_json::json!([{
            "id": "a", "displayName": "Mine", "args": [],
            "env": [{ "key": "A", "value": "1" }, { "key": "B", "value": "2" }],
        }]);
        assert_eq!(serde_json::from_str::<Value>(&after).unwrap()["customAgents"], expected);
    }

    #[test]
    fn settings_under_another_name_are_removed_if_they_run_the_agent() {
        for (server, is_removed) in [
            (r#"{ "command": "/bin/acp-registry", "args": ["run", "--offline", "a@1.0.0"] }"#, true),
            (r#"{ "command": "C:\\bin\\acp-registry.exe", "args": ["run", "a"] }"#, true),
            (r#"{ "command": ["acp-registry", "run", "a"] }"#, true),
            (r#"{ "command": "acp-registry", "args": ["run", "a", "--root", "b", "--", "c"] }"#, true),
            (r#"{ "command": "acp-registry", "args": ["run", "ab"] }"#, false),
            (r#"{ "command": "acp-registry", "args": ["run", "b", "--", "a"] }"#, false),
            (r#"{ "command": "acp-registry", "args": ["run", "--root", "a", "b"] }"#, false),
            (r#"{ "command": "acp-registry", "args": ["run", "b", "--root", "a"] }"#, false),
            (r#"{ "command": "acp-registry", "args": ["run"] }"#, false),
            (r#"{ "command": "acp-registry", "args": ["install", "a"] }"#, false),
            (r#"{ "command": "npx", "args": ["run", "a"] }"#, false),
        ] {
            let text = format!(r#"{{ "agent_servers": {{ "An agent": {server} }}, "last": 1 }}"#);
            let after = edit(&text, SettingsAction::Remove).unwrap();
            assert_eq!(!after.contains("An agent"), is_removed, "{after}");
            assert!(after.contains("\"last\": 1"), "{after}");
        }
    }

    /// Some editors know agents by the names that are displayed.
    #[test]
    fn what_has_the_name_of_the_agent_and_starts_another_stays() {
        let settings = r#"{ "s": { "An agent": { "command": "acp-registry", "args": ["run", "a"] } } }"#;
        let owner = SettingsOwner { id: "a", packages: &["@s/p".to_owned(), "q".to_owned()] };
        let edit = |text: &str, action| edited(Path::new("f"), owner, text, settings, action);
        for (server, is_own) in [
            (r#"{ "command": "acp-registry", "args": ["run", "--offline", "a@1"] }"#, true),
            (r#"{ "command": "/r/agents/a/1.0.0-0123456789ab/files/x" }"#, true),
            (r#"{ "command": "node", "args": ["C:\\r\\agents\\a\\1.0.0\\x.js"] }"#, true),
            (r#"{ "command": "npx.cmd", "args": ["-y", "@s/p@1.0.0"] }"#, true),
            (r#"{ "command": "uvx", "args": ["q==1"] }"#, true),
            (r#"{ "command": "npx", "args": ["-y", "q-other@1.0.0"] }"#, false),
            (r#"{ "command": "/r/agents/ab/1.0.0-0123456789ab/files/x" }"#, false),
            (r#"{ "command": "acp-registry", "args": ["run", "b"] }"#, false),
            (r#"{ "command": "/mine" }"#, false),
            ("1", false),
        ] {
            let text = format!("{{ \"s\": {{ \"An agent\": {server} }} }}");
            let (after, found) = edit(&text, SettingsAction::Write).unwrap();
            let read: Value = serde_json::from_str(&after).unwrap();
            let (old, wanted) = (&serde_json::from_str::<Value>(&text).unwrap()["s"]["An agent"], &read["s"]);
            assert_eq!((found.had_settings, found.other_name.is_none()), (is_own, is_own), "{server}");
            assert_eq!(
                wanted.get("An agent (a)").is_none() && wanted["An agent"]["args"] == json!(["run", "a"]),
                is_own
            );
            assert_eq!(&wanted["An agent"] != old, is_own, "{after}");
            let (again, found) = edit(&after, SettingsAction::Write).unwrap();
            assert_eq!((again == after, found.had_settings), (true, true), "twice is once: {again}");
            let (removed, found) = edit(&after, SettingsAction::Remove).unwrap();
            assert_eq!((removed == text, found.had_settings), (!is_own, true), "{removed}");
            assert_eq!(edit(&text, SettingsAction::Remove).unwrap().0 == text, !is_own, "{server}");
        }
        let taken = r#"{ "s": { "An agent": 1, "An agent (a)": { "command": "/mine" } } }"#;
        let error = edit(taken, SettingsAction::Write).err().unwrap().to_string();
        assert_eq!(error, "f: `An agent (a)` does not start the agent");
        // Another agent may have the id as its name.
        let other = r#"{ "agent_servers": { "a": { "command": "acp-registry", "args": ["run", "b"] } } }"#;
        let after: Value = serde_json::from_str(&self::edit(other, SettingsAction::Write).unwrap()).unwrap();
        assert_eq!(
            (&after["agent_servers"]["a"]["args"][1], &after["agent_servers"]["a (a)"]["args"][0]),
            (&json!("b"), &json!("run"))
        );
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

    /// What a person wrote is the same, byte for byte, once the settings are written and removed.
    #[test]
    fn every_byte_of_the_owner_stays() {
        let mut wrong = Vec::new();
        for text in [
            "{}",
            "// Mine\n{}\n// end",
            "{\n  // Mine\n}\n",
            "{ /* mine */ }",
            "{\"x\":1}",
            "{ \"x\": 1 }",
            "{ \"x\": 1, }",
            "{ \"x\": 1 // mine\n}",
            "{ \"x\": 1, // mine\n}",
            "{\n  \"x\": 1 }\n",
            "{ \"x\": 1,\n  \"y\": [1,2] }\n",
            "{\n\n\t\"x\": 1\n\n\t// last\n\n}\n",
            "{\n\t\"x\": 1 ,  // one\n\n\t/* last */\n}",
            "{\n    \"x\": 1 // one  \n    , // two\n}",
            "{\n  \"x\": 1  /* one\n two */ \n}",
            "{\n  /* first */ \"x\": 1   \n}",
            "{\n  \"agent_servers\": {\n    // mine\n  }\n}\n",
            "{\n  \"agent_servers\": { /* mine */ }, \"x\": 1\n}\n",
            "{ \"agent_servers\": {\n\n  // \"b\": {},  \n\n}, }",
            "{\n  \"agent_servers\": {\n    \"b\": {} // own\n    // last\n  } // group\n}",
            "{\n  \"agent_servers\": { \"b\": {}, /* own */ \"c\": {} } // group\n}",
            "{\n  \"agent_servers\" /* mine */ : {\n    \"b\": {},\n\n    \"c\": {},\n  },\n}",
        ] {
            for text in [text.to_owned(), text.replace('\n', "\r\n")] {
                let after = edit(&text, SettingsAction::Write).unwrap();
                assert_eq!(edit(&after, SettingsAction::Write).unwrap(), after, "twice is once");
                assert!(!text.contains("\r\n") || !after.replace("\r\n", "").contains('\n'), "{after:?}");
                let removed = edit(&after, SettingsAction::Remove).unwrap();
                wrong.extend((removed != text).then_some((text.clone(), after, removed)));
                let none = text.replace("agent_servers", "others");
                assert_eq!(edit(&none, SettingsAction::Remove).unwrap(), none);
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn comments_beside_the_settings_stay_when_they_are_removed() {
        let mut wrong = Vec::new();
        for (text, expected) in [
            ("{ \"agent_servers\": { \"a\": 1 } }", "{}"),
            ("{ \"agent_servers\": { /* mine */ \"a\": 1 } }", "{ \"agent_servers\": { /* mine */ } }"),
            ("{ \"agent_servers\": { \"a\": 1 /* mine */, } }", "{ \"agent_servers\": { /* mine */ } }"),
            ("{ \"agent_servers\": /* mine */ { \"a\": 1 } }", "{ \"agent_servers\": /* mine */ {} }"),
            (
                "{\n  \"agent_servers\": {\n    // mine\n    \"a\": 1, // note\n  }, // group\n  \"x\": 1\n}",
                "{\n  \"agent_servers\": {\n    // mine\n    // note\n  }, // group\n  \"x\": 1\n}",
            ),
            ("{\n  \"x\": 1, // x\n  \"agent_servers\": { \"a\": 1 } // group\n}", "{\n  \"x\": 1 // x\n  // group\n}"),
            (
                "{ \"agent_servers\": {\n  \"b\": 1, // b\n\n  \"a\": 1 }\n}",
                "{ \"agent_servers\": {\n  \"b\": 1 // b\n\n  }\n}",
            ),
            (
                "{ \"agent_servers\": {\n  \"a\": 1, \"b\": 1,\n  \"c\": 1\n} }",
                "{ \"agent_servers\": {\n  \"b\": 1,\n  \"c\": 1\n} }",
            ),
        ] {
            let removed = edit(text, SettingsAction::Remove).unwrap();
            wrong.extend((removed != expected).then_some((text, removed)));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_is_written_is_what_the_editor_reads() {
        let wanted: Value = serde_json::from_str(SETTINGS).unwrap();
        for text in ["", "{}", "{ \"agent_servers\": {} }", "\u{feff}{}\r\n", "{ \"agent_servers\": { \"a\": 1 } }"] {
            let after = edit(text, SettingsAction::Write).unwrap();
            assert!(!after.ends_with("\n\n"), "{after:?}");
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
        let edit = |text: &str, settings: &str, action| {
            edited(Path::new("f"), A, text, settings, action).map(|(after, _)| after)
        };
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

    /// Moving each member of the first ones to a line of its own would take minutes.
    #[test]
    fn large_objects_stay_on_their_line() {
        let wanted: Value = serde_json::from_str(SETTINGS).unwrap();
        let members: Map<String, Value> = (0..50_000).map(|at| (format!("k{at}"), json!({}))).collect();
        let own = json!({ "a": members }).to_string();
        for (text, at) in [
            (json!(members).to_string(), ""),
            (json!({ "agent_servers": members }).to_string(), "/agent_servers"),
            (format!(r#"{{ "agent_servers": {own} }}"#), "/agent_servers/a"),
        ] {
            let after = edit(&text, SettingsAction::Write).unwrap();
            assert_eq!(after.lines().count(), 1);
            let read: Value = serde_json::from_str(&after).unwrap();
            for (name, value) in wanted.pointer(at).unwrap().as_object().unwrap() {
                assert_eq!(&read.pointer(at).unwrap()[name], value, "{at}");
            }
            assert_eq!(edit(&after, SettingsAction::Write).unwrap(), after, "twice is once");
        }
    }

    #[tokio::test]
    async fn what_a_killed_process_has_left_of_the_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("s.json"), "{}").unwrap();
        let left = [".tmp-s.json-Ab12Cd", ".tmp-s.json-aaaaaa"];
        let others = [".tmp-s.json-Ab12C", ".tmp-s.json-Ab12C.", ".tmp-t.json-Ab12Cd", ".tmp-Ab12Cd", "s.json"];
        for name in left.iter().chain(&others) {
            std::fs::write(place(name), "{}").unwrap();
        }
        std::fs::create_dir(place(".tmp-s.json-Folder")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(place("s.json"), place(".tmp-s.json-isLink")).unwrap();
        SettingsEdit::lock(&place("s.json"), Duration::ZERO, &|_| ()).await.unwrap().remove();
        assert!(left.iter().all(|name| !place(name).exists()));
        assert!(others.iter().all(|name| place(name).is_file()) && place(".tmp-s.json-Folder").is_dir());
        #[cfg(unix)]
        assert!(place(".tmp-s.json-isLink").is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_file_and_a_link_to_nothing_are_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        std::fs::write(&file, "{}").unwrap();
        let mut permissions = file.metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&file, permissions).unwrap();
        let edit = SettingsEdit::plan(&file, A, SETTINGS, SettingsAction::Write).unwrap();
        assert!(edit.is_change() && !edit.had_settings);
        let change = SettingsEdit::make(&file, A, SETTINGS, SettingsAction::Write);
        assert!(matches!(change, Err(SettingsEditError::ReadOnly(_))));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no copy is left");
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(folder.path().join("absent"), &link).unwrap();
        let plan = SettingsEdit::plan(&link, A, SETTINGS, SettingsAction::Write);
        assert!(matches!(plan, Err(SettingsEditError::Dangling(_))));
    }

    #[test]
    fn what_an_editor_saves_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.json");
        let text = || std::fs::read_to_string(&file).unwrap();
        let change =
            |meanwhile: &mut dyn FnMut()| SettingsEdit::attempt(&file, A, SETTINGS, SettingsAction::Write, meanwhile);
        std::fs::write(&file, "{}").unwrap();
        let mut saves = 0;
        let error = change(&mut || {
            saves += 1;
            std::fs::write(&file, format!("{{ \"saves\": {saves} }}")).unwrap();
        });
        let error = error.unwrap_err().to_string();
        assert_eq!((error.ends_with("s.json was changed meanwhile"), saves), (true, ATTEMPTS), "{error}");
        assert_eq!(text(), "{ \"saves\": 3 }");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no copy is left");

        let mut later = Some("{ \"saved\": true }");
        let (edit, copy) = change(&mut || {
            if let Some(text) = later.take() {
                std::fs::write(&file, text).unwrap();
            }
        })
        .unwrap();
        assert!(text().contains("\"saved\": true") && text().contains("\"run\""), "{}", text());
        assert_eq!((edit.after, edit.before.as_deref()), (text(), Some("{ \"saved\": true }")));
        assert_eq!(std::fs::read_to_string(copy.unwrap()).unwrap(), "{ \"saved\": true }");
        let mut only_once = Some(());
        change(&mut || assert!(only_once.take().is_some())).unwrap();
    }

    /// Only the superuser can give a file to another user; others can give it to any of their groups.
    #[cfg(unix)]
    #[test]
    fn the_file_and_its_copy_keep_their_owner() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("s.json");
        std::fs::write(&file, "{}").unwrap();
        let is_other = chown(&file, Some(65534), Some(65534)).is_ok();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let facts = |path: &Path| {
            let metadata = path.metadata().unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode() & 0o777)
        };
        let before = facts(&file);
        assert_eq!(before.0 == 65534, is_other);
        let copy = SettingsEdit::make(&file, A, SETTINGS, SettingsAction::Write).unwrap().1.unwrap();
        assert_eq!((facts(&file), facts(&copy)), (before, before));
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
