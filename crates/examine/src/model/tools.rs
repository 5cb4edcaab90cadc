//! Chooses among the tools that an agent offers, by their names and schemas, and fills in the arguments.

use acp_registry_plan::json::weight;
use acp_registry_plan::text::name_words;
use serde_json::{Map, Value, json};

use super::conversation::{Tool, list};
use super::sample::{ANSWER, sample_in, types};
use super::script::ToolCall;

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReplyCall {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// An object, or a text for a tool without a schema.
    pub(super) arguments: Value,
    /// Whether the tool has no schema.
    pub(super) is_text: bool,
}

/// Names of a parameter that is a command.
const COMMANDS: &[&str] =
    &["command", "cmd", "commandline", "shellcommand", "bashcommand", "script", "commands", "input"];

/// Those of them that name a command of a shell, whatever the tool is called.
const SHELL_COMMANDS: &[&str] = &["command", "cmd", "commandline", "shellcommand", "bashcommand"];

/// Names of a parameter that is the path of a file.
const PATHS: &[&str] = &[
    "filepath", "path", "absolutepath", "filename", "file", "targetfile", "uri", "paths", "filepaths", "files",
    "relativepath", "relativeworkspacepath",
];

/// Names of a parameter that is the text of a file.
const TEXTS: &[&str] =
    &["content", "contents", "filetext", "filecontent", "text", "newcontent", "codecontent", "data", "body", "newtext"];

/// Names of parameters of a replacement: the text that is there, and the new one.
const BEFORE: &[&str] = &["oldstring", "oldstr", "oldtext", "search", "old"];
const AFTER: &[&str] = &["newstring", "newstr", "newtext", "replace", "new", "replacement"];

/// Names of a parameter that is a patch.
const PATCHES: &[&str] = &["patch", "input", "patchtext", "diff"];

/// A kind of tool: words of its name, the best first, and words that exclude it.
struct ToolKind {
    words: &'static [&'static str],
    not: &'static [&'static str],
}

const SHELL: ToolKind = ToolKind {
    words: &["bash", "shell", "exec", "execute", "terminal", "command", "run", "powershell", "sh", "process"],
    not: &[
        "kill", "output", "list", "read", "status", "stop", "send", "write", "stdin", "poll", "sql", "query", "python",
        "slash", "task", "agent", "wait", "search", "ipython", "tests", "background", "code", "javascript",
    ],
};

const READ: ToolKind = ToolKind {
    words: &["read", "view", "open", "cat", "get"],
    not: &[
        "image", "media", "many", "resource", "mcp", "url", "web", "directory", "dir", "folder", "notebook", "todo",
        "output", "thread", "memory", "write", "diagnostics", "skill", "symbols", "outline", "process", "terminal",
    ],
};

const WRITE: ToolKind = ToolKind {
    words: &["write", "create", "save", "editor", "edit", "put"],
    not: &["directory", "dir", "folder", "todo", "todos", "memory", "notebook", "stdin", "image", "plan", "task"],
};

const EDIT: ToolKind = ToolKind { words: &["edit", "replace", "update", "modify"], not: WRITE.not };

const ASK: ToolKind = ToolKind {
    words: &["ask", "question", "questions", "clarify", "input"],
    not: &["task", "agent", "permission", "stdin", "shell", "exec", "write", "send", "search", "model"],
};

/// Names of a parameter that is a question.
const QUESTIONS: &[&str] = &["question", "prompt", "message", "text", "query"];

impl ToolKind {
    /// How well a name fits; the less, the better.
    fn rank(&self, name: &str) -> Option<usize> {
        let words = name_words(name);
        let has = |word: &&&str| words.iter().any(|known| known == **word);
        if self.not.iter().any(|word| has(&word)) {
            return None;
        }
        self.words.iter().position(|word| has(&word))
    }

    /// The tools of this kind, the best first.
    fn among<'a>(&self, tools: &'a [Tool]) -> Vec<&'a Tool> {
        let mut ranked: Vec<_> = own(tools).filter_map(|tool| Some((self.rank(&tool.name)?, tool))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, tool)| tool).collect()
    }
}

/// The agent's own tools: not those of MCP servers.
fn own(tools: &[Tool]) -> impl Iterator<Item = &Tool> {
    tools.iter().filter(|tool| !plain(&tool.name).starts_with("mcp"))
}

/// The tools whose name says nothing of what they do, and that require a command of a shell.
fn unnamed_shells(tools: &[Tool]) -> Vec<&Tool> {
    let is_shell = |tool: &&Tool| {
        let required = tool.schema.as_ref().map_or(&[][..], |schema| list(schema, "required"));
        let is_required = |name: &str| required.iter().any(|known| known == name);
        let is_excluded = |word: &String| SHELL.not.contains(&word.as_str());
        !name_words(&tool.name).iter().any(is_excluded)
            && parameter(tool, SHELL_COMMANDS).is_some_and(|(name, _)| is_required(name))
    };
    own(tools).filter(is_shell).collect()
}

/// The call of the best tool, with its arguments; `None` if there is none.
pub(super) fn find(wanted: &ToolCall, tools: &[Tool]) -> Option<ReplyCall> {
    find_plain(wanted, tools).or_else(|| {
        let tool = tools.iter().find(|tool| is_code(tool))?;
        call(tool, program(tool, wanted)?.into())
    })
}

fn find_plain(wanted: &ToolCall, tools: &[Tool]) -> Option<ReplyCall> {
    match wanted {
        ToolCall::Shell { command } => {
            let set = |tool: &Tool| {
                let mut set = vec![(COMMANDS, shell(tool, command)?)];
                set.extend(escalation(tool));
                Some(set)
            };
            first(SHELL.among(tools), set).or_else(|| first(unnamed_shells(tools), set))
        }
        ToolCall::Read { path } => first(READ.among(tools), |tool| {
            let is_writer = parameter(tool, TEXTS).is_some() || parameter(tool, BEFORE).is_some();
            let mut set = vec![(PATHS, json!(path))];
            set.extend(verb(tool, &["view", "read"]));
            (!is_writer || set.len() > 1).then_some(set)
        }),
        ToolCall::Write { path, before, text } => first(WRITE.among(tools), |tool| {
            let mut set = vec![(PATHS, json!(path)), (TEXTS, json!(text))];
            set.extend(verb(tool, &["create", "write"]));
            Some(set)
        })
        .or_else(|| patch(tools, path, before.as_deref(), text))
        .or_else(|| {
            first(EDIT.among(tools), |_| {
                let before = before.as_deref().unwrap_or_default();
                Some(vec![(PATHS, json!(path)), (BEFORE, json!(before)), (AFTER, json!(text))])
            })
        }),
        ToolCall::Ask { question } => ASK.among(tools).into_iter().find_map(|tool| {
            let schema = tool.schema.as_ref()?;
            let name = parameter(tool, QUESTIONS).filter(|(_, of)| types(of).contains(&"string".to_owned()));
            // Questions in lists have the smallest form that the schema allows.
            let set = name.map(|(name, _)| (name.to_owned(), json!(question)));
            call(tool, filled(schema, set.into_iter().collect()))
        }),
        ToolCall::Named { name, arguments } => {
            let tool = tools.iter().find(|tool| plain(&tool.name).contains(&plain(name)))?;
            let schema = tool.schema.as_ref()?;
            let set = arguments.as_object().cloned().unwrap_or_default();
            call(tool, filled(schema, set))
        }
    }
}

/// Parameters with their values, by the names that a parameter may have.
type Set = Vec<(&'static [&'static str], Value)>;

/// The first tool that has all parameters that `set` returns for it.
fn first(tools: Vec<&Tool>, set: impl Fn(&Tool) -> Option<Set>) -> Option<ReplyCall> {
    tools.into_iter().find_map(|tool| {
        let schema = tool.schema.as_ref()?;
        let mut members = Map::new();
        for (names, value) in set(tool)? {
            let (name, of) = parameter(tool, names)?;
            members.insert(name.to_owned(), fitted(value, of, schema));
        }
        call(tool, filled(schema, members))
    })
}

/// A call of a tool; `None` if its schema makes the arguments too large for an answer.
fn call(tool: &Tool, arguments: Value) -> Option<ReplyCall> {
    let Tool { name, namespace, schema, .. } = tool;
    let call = ReplyCall { name: name.clone(), namespace: namespace.clone(), arguments, is_text: schema.is_none() };
    (weight(&call.arguments) <= ANSWER).then_some(call)
}

/// The parameter with one of these names, and its schema.
fn parameter<'a>(tool: &'a Tool, names: &[&str]) -> Option<(&'a str, &'a Value)> {
    let members = tool.schema.as_ref()?.get("properties")?.as_object()?;
    let find = |name: &&str| members.iter().find(|(known, _)| plain(known) == **name);
    names.iter().find_map(find).map(|(name, schema)| (name.as_str(), schema))
}

/// For a tool that has a parameter for what it does: the value for this.
fn verb(tool: &Tool, wanted: &[&str]) -> Option<(&'static [&'static str], Value)> {
    const VERBS: &[&str] = &["command", "action", "mode", "operation"];
    let (_, schema) = parameter(tool, VERBS)?;
    let choices = list(schema, "enum");
    wanted.iter().find(|verb| choices.iter().any(|choice| choice == **verb)).map(|verb| (VERBS, json!(verb)))
}

/// A command in the form that a tool takes it; `None` if its parameter chooses among a few words.
fn shell(tool: &Tool, command: &str) -> Option<Value> {
    let (_, schema) = parameter(tool, COMMANDS)?;
    if schema.get("enum").is_some() {
        return None;
    }
    Some(if types(schema).contains(&"array".to_owned()) { json!(["bash", "-c", command]) } else { json!(command) })
}

/// For a shell with a sandbox: the value that asks to run the command outside of it, so that the agent asks for
/// permission as others do. The agent's sandbox may not work in an examination's.
fn escalation(tool: &Tool) -> Option<(&'static [&'static str], Value)> {
    const ESCALATIONS: &[&str] = &["sandboxpermissions", "withescalatedpermissions"];
    let (_, schema) = parameter(tool, ESCALATIONS)?;
    let value = if types(schema).contains(&"boolean".to_owned()) { json!(true) } else { json!("require_escalated") };
    Some((ESCALATIONS, value))
}

/// A value as its parameter takes it: alone, in a list, or in a list of objects.
fn fitted(value: Value, schema: &Value, root: &Value) -> Value {
    if value.is_array() || !types(schema).contains(&"array".to_owned()) {
        return value;
    }
    let Some(items) = schema.get("items").filter(|items| types(items).contains(&"object".to_owned())) else {
        return json!([value]);
    };
    let mut element = sample_in(items, root);
    let names = items.get("properties").and_then(Value::as_object);
    let name = names.and_then(|names| names.keys().find(|name| PATHS.contains(&plain(name).as_str())));
    if let (Some(name), Some(element)) = (name, element.as_object_mut()) {
        element.insert(name.clone(), value);
    }
    json!([element])
}

/// Adds the other required members.
fn filled(schema: &Value, set: Map<String, Value>) -> Value {
    let mut all = if let Value::Object(members) = sample_in(schema, schema) { members } else { Map::new() };
    all.extend(set);
    all.into()
}

/// The text of a patch in the form of the tools that are called `apply_patch`.
pub(super) fn patch_text(path: &str, before: Option<&str>, text: &str) -> String {
    let lines = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let change = match before {
        None => format!("*** Add File: {path}\n{}", lines('+', text)),
        Some(before) => format!("*** Update File: {path}\n@@\n{}{}", lines('-', before), lines('+', text)),
    };
    format!("*** Begin Patch\n{change}*** End Patch\n")
}

fn patch(tools: &[Tool], path: &str, before: Option<&str>, text: &str) -> Option<ReplyCall> {
    let tool = tools.iter().find(|tool| plain(&tool.name).contains("applypatch"))?;
    let input = json!(patch_text(path, before, text));
    match &tool.schema {
        None => call(tool, input),
        Some(schema) => {
            let (name, _) = parameter(tool, PATCHES)?;
            call(tool, filled(schema, Map::from_iter([(name.to_owned(), input)])))
        }
    }
}

/// Whether a tool searches for tools.
pub(super) fn is_search(name: &str) -> bool {
    let words = name_words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    plain(name) == "toolsearch" || (has(&["tool", "tools"]) && has(&["search", "find", "discover"]))
}

/// Names of a parameter that is the name of another tool, and of one that is its arguments.
const CALLED: &[&str] = &["toolname", "tool", "name", "toolid"];
const ARGUMENTS: &[&str] =
    &["toolinput", "arguments", "toolarguments", "toolargs", "input", "args", "parameters", "params"];

/// The call of a tool that is not offered itself, through one that calls others: known by its parameters, the name of a
/// tool and an object with its arguments. `texts` are where the agent may have given the full name.
pub(super) fn through(
    name: &str,
    arguments: &Value,
    tools: &[Tool],
    texts: impl Iterator<Item = impl AsRef<str>>,
) -> Option<ReplyCall> {
    let is_object = |schema: &Value| types(schema).contains(&"object".to_owned());
    let caller = |tool: &&Tool| {
        let is_name = |schema: &Value| types(schema).contains(&"string".to_owned()) && schema.get("enum").is_none();
        name_words(&tool.name).iter().any(|word| word.starts_with("tool") || word == "mcp")
            && parameter(tool, CALLED).is_some_and(|(_, schema)| is_name(schema))
            && parameter(tool, ARGUMENTS).is_some_and(|(_, schema)| is_object(schema) || is_name(schema))
    };
    let tool = tools.iter().find(caller)?;
    let (of_name, _) = parameter(tool, CALLED)?;
    let (of_arguments, schema) = parameter(tool, ARGUMENTS)?;
    let full = texts.into_iter().find_map(|text| full_name(text.as_ref(), name));
    let arguments = if is_object(schema) { arguments.clone() } else { arguments.to_string().into() };
    let set = [(of_name.to_owned(), json!(full.as_deref().unwrap_or(name))), (of_arguments.to_owned(), arguments)];
    call(tool, filled(tool.schema.as_ref()?, Map::from_iter(set)))
}

/// The first word of a text that has a name in it, as an agent writes the name of a server's tool.
fn full_name(text: &str, name: &str) -> Option<String> {
    let at = text.find(name)?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
    let start = text[..at].rfind(|c| !is_part(c)).map_or(0, |before| before + 1);
    let start = (start..=at).find(|start| text.is_char_boundary(*start))?;
    let end = text[at..].find(|c| !is_part(c)).map_or(text.len(), |after| at + after);
    let word = text[start..end].trim_matches(|c| ".:/-".contains(c));
    (word.len() <= 200).then(|| word.to_owned())
}

/// A search for a tool, by words of its name.
pub(super) fn search(name: &str, tools: &[Tool]) -> Option<ReplyCall> {
    let tool = tools.iter().find(|tool| is_search(&tool.name))?;
    let schema = tool.schema.as_ref()?;
    let (query, _) = parameter(tool, &["query"])?;
    call(tool, filled(schema, Map::from_iter([(query.to_owned(), json!(name))])))
}

/// A name in lower case, without punctuation.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether a tool takes a program in JavaScript.
pub(super) fn is_code(tool: &Tool) -> bool {
    tool.schema.is_none() && tool.description.contains("JavaScript") && tool.description.contains("tools.")
}

/// The program that does what is wanted; `None` if no function is known to do it.
pub(super) fn program(tool: &Tool, wanted: &ToolCall) -> Option<String> {
    let has = |name: &str| tool.description.contains(&format!("`{name}`"));
    match wanted {
        ToolCall::Shell { command } if has("exec_command") => {
            let mut arguments = json!({ "cmd": command });
            if tool.description.contains("require_escalated") {
                arguments["sandbox_permissions"] = json!("require_escalated");
                arguments["justification"] = json!("May this examination run the command?");
            }
            Some(format!("text(await tools.exec_command({arguments}));\n"))
        }
        ToolCall::Write { path, before, text } if has("apply_patch") => {
            let patch = Value::from(patch_text(path, before.as_deref(), text));
            Some(format!("text(await tools.apply_patch({patch}));\n"))
        }
        // Not every function is described, but all are listed.
        ToolCall::Named { name, arguments } => Some(format!(
            "const found = ALL_TOOLS.find(({{ name }}) => name.toLowerCase().replace(/[^a-z0-9]/g, '').includes('{}'));\n\
             text(found ? await tools[found.name]({arguments}) : 'There is no such tool.');\n",
            plain(name)
        )),
        ToolCall::Shell { .. } | ToolCall::Write { .. } | ToolCall::Read { .. } | ToolCall::Ask { .. } => None,
    }
}
