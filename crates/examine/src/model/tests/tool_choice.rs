//! The choice among tools as real agents offer them: their names and parameters, shortened.

use serde_json::{Value, json};

use crate::model::ToolCall;
use crate::model::conversation::Tool;
use crate::model::tools::find;

fn tool(name: &str, required: &[&str], optional: &[&str]) -> Tool {
    let members = required.iter().chain(optional).map(|name| ((*name).to_owned(), json!({ "type": "string" })));
    let schema =
        json!({ "type": "object", "required": required, "properties": members.collect::<serde_json::Map<_, _>>() });
    Tool { name: name.to_owned(), schema: Some(schema), ..Tool::default() }
}

fn found(wanted: &ToolCall, tools: &[Tool]) -> Option<(String, Value)> {
    find(wanted, tools).map(|call| (call.name, call.arguments))
}

fn shell() -> ToolCall {
    ToolCall::Shell { command: "ls".to_owned() }
}

fn read() -> ToolCall {
    ToolCall::Read { path: "/a".to_owned() }
}

fn write(before: Option<&str>) -> ToolCall {
    ToolCall::Write { path: "/a".to_owned(), before: before.map(str::to_owned), text: "new".to_owned() }
}

#[test]
fn without_a_fitting_tool_there_is_no_call() {
    let others = [
        tool("BashOutput", &["bash_id"], &["filter"]),
        tool("KillShell", &["shell_id"], &[]),
        tool("write_stdin", &["session_id", "input"], &[]),
        tool("run_tests", &[], &[]),
        tool("list_directory", &["path"], &[]),
        tool("ReadMcpResource", &["server", "uri"], &[]),
        tool("read_media_file", &["path"], &[]),
        tool("TodoWrite", &["content"], &["path"]),
        tool("create_directory", &["path"], &[]),
        tool("mcp__other__read_file", &["path"], &[]),
        tool("mcp__other__write_file", &["path", "content"], &[]),
        tool("mcp__other__shell", &["command"], &[]),
        Tool { name: "exec".to_owned(), ..Tool::default() },
        Tool { name: "read".to_owned(), schema: Some(json!([])), ..Tool::default() },
        Tool::default(),
    ];
    for wanted in
        [shell(), read(), write(None), write(Some("old")), ToolCall::Named { name: "x".into(), arguments: json!(7) }]
    {
        assert_eq!(found(&wanted, &others), None, "{wanted:?}");
        assert_eq!(found(&wanted, &[]), None);
    }
}

#[test]
fn shells_are_found() {
    for tools in [
        vec![
            tool("BashOutput", &["bash_id"], &[]),
            tool("Task", &["prompt"], &[]),
            tool("Bash", &["command"], &["timeout"]),
        ],
        vec![tool("list_directory", &["path"], &[]), tool("run_shell_command", &["command"], &["description"])],
        vec![tool("run_slash_command", &["command"], &[]), tool("execute_command", &["command"], &[])],
        vec![tool("run_in_terminal", &["command"], &[]), tool("run_task", &["command"], &[])],
    ] {
        let (name, arguments) = found(&shell(), &tools).unwrap();
        assert!(["Bash", "run_shell_command", "execute_command", "run_in_terminal"].contains(&name.as_str()), "{name}");
        assert_eq!(arguments, json!({ "command": "ls" }));
    }
    // A tool that runs programs in another language is none; a tool without a telling name is one by its parameter.
    let hermes = [tool("execute_code", &["code"], &[]), tool("terminal", &["command"], &["workdir"])];
    assert_eq!(found(&shell(), &hermes), Some(("terminal".to_owned(), json!({ "command": "ls" }))));
    assert_eq!(found(&shell(), &hermes[..1]), None);
    let unnamed = [tool("edit", &["path"], &["command"]), tool("go", &["command"], &[])];
    assert_eq!(found(&shell(), &unnamed), Some(("go".to_owned(), json!({ "command": "ls" }))));
    let mut strict = tool("bash", &["command", "cwd"], &[]);
    strict.schema = Some(json!({ "required": ["command", "cwd"], "properties": {
        "command": { "anyOf": [{ "type": "array", "items": { "type": "string" } }, { "type": "null" }] },
        "cwd": { "type": ["string", "null"] } } }));
    let arguments = json!({ "command": ["bash", "-c", "ls"], "cwd": null });
    assert_eq!(found(&shell(), &[strict]), Some(("bash".to_owned(), arguments)));
    let codex = tool("exec_command", &["cmd"], &["workdir", "yield_time_ms"]);
    assert_eq!(found(&shell(), &[codex]), Some(("exec_command".to_owned(), json!({ "cmd": "ls" }))));
    let mut list = tool("shell", &[], &[]);
    list.schema = Some(json!({ "properties": { "command": { "type": "array", "items": { "type": "string" } } } }));
    assert_eq!(found(&shell(), &[list]), Some(("shell".to_owned(), json!({ "command": ["bash", "-c", "ls"] }))));
}

#[test]
fn reads_are_found() {
    for (tools, expected) in [
        (vec![tool("Read", &["file_path"], &["offset"])], json!({ "file_path": "/a" })),
        (
            vec![tool("read_many_files", &["paths"], &[]), tool("read_file", &["absolute_path"], &[])],
            json!({ "absolute_path": "/a" }),
        ),
        (vec![tool("ReadFile", &["path"], &[])], json!({ "path": "/a" })),
        (vec![tool("view", &["filePath"], &[])], json!({ "filePath": "/a" })),
    ] {
        assert_eq!(found(&read(), &tools).unwrap().1, expected);
    }
    let mut several = tool("read_files", &[], &[]);
    several.schema = Some(json!({ "required": ["files"], "properties": { "files": { "type": "array", "items": {
        "type": "object", "required": ["path", "mode"], "properties": {
            "path": { "type": "string" }, "mode": { "enum": ["slice"] } } } } } }));
    assert_eq!(found(&read(), &[several]).unwrap().1, json!({ "files": [{ "path": "/a", "mode": "slice" }] }));
}

#[test]
fn writes_are_found() {
    let edit = tool("Edit", &["file_path", "old_string", "new_string"], &[]);
    let full = json!({ "file_path": "/a", "content": "new" });
    let claude =
        [edit.clone(), tool("NotebookEdit", &["notebook_path"], &[]), tool("Write", &["file_path", "content"], &[])];
    assert_eq!(found(&write(Some("old")), &claude), Some(("Write".to_owned(), full)));
    let replaced = json!({ "file_path": "/a", "old_string": "old", "new_string": "new" });
    assert_eq!(found(&write(Some("old")), &[edit]), Some(("Edit".to_owned(), replaced)));
    let mut editor = tool("str_replace_editor", &["command", "path"], &["file_text", "old_str", "new_str"]);
    editor.schema.as_mut().unwrap()["properties"]["command"] = json!({ "enum": ["view", "create", "str_replace"] });
    let created = json!({ "command": "create", "path": "/a", "file_text": "new" });
    assert_eq!(found(&write(None), std::slice::from_ref(&editor)), Some(("str_replace_editor".to_owned(), created)));
    let view = tool("view_file", &["path"], &["content"]);
    assert_eq!(found(&read(), &[view]), None);
    let patch = tool("apply_patch", &["input"], &[]);
    let text = "*** Begin Patch\n*** Update File: /a\n@@\n-old\n+new\n*** End Patch\n";
    assert_eq!(found(&write(Some("old")), &[patch]).unwrap().1, json!({ "input": text }));
}

#[test]
fn names_are_compared_without_punctuation() {
    let tools = [tool("mcp__acp_registry__Note-It", &["text", "extra"], &[])];
    let wanted = ToolCall::Named { name: "note_it".to_owned(), arguments: json!({ "text": "x" }) };
    let expected = json!({ "text": "x", "extra": "acp-registry" });
    assert_eq!(found(&wanted, &tools), Some(("mcp__acp_registry__Note-It".to_owned(), expected)));
}

#[test]
fn functions_of_a_program_are_called() {
    let description = "Run JavaScript code. Tools are `tools.x`.\n### `exec_command`\n `apply_patch` require_escalated";
    let exec = [Tool { name: "exec".to_owned(), description: description.to_owned(), ..Tool::default() }];
    let text = |wanted: &ToolCall| found(wanted, &exec).map(|(_, text)| text.as_str().unwrap().to_owned());
    let shell = text(&ToolCall::Shell { command: "echo \"a\"".to_owned() }).unwrap();
    assert!(
        shell.starts_with(r#"text(await tools.exec_command({"cmd":"echo \"a\"","sandbox_permissions":"req"#),
        "{shell}"
    );
    assert!(text(&write(None)).unwrap().contains(r#"apply_patch("*** Begin Patch\n*** Add File: /a\n+new\n"#));
    let named = text(&ToolCall::Named { name: "Note_It".to_owned(), arguments: json!({ "a": 1 }) }).unwrap();
    assert!(named.contains("includes('noteit')") && named.contains(r#"({"a":1})"#), "{named}");
    assert_eq!(text(&read()), None);
    let other = [Tool { description: "Runs Python.".to_owned(), ..exec[0].clone() }];
    assert_eq!(found(&self::shell(), &other), None);
}

#[test]
fn sandboxes_are_left_and_tools_are_searched() {
    let mut codex = tool("exec_command", &["cmd"], &["sandbox_permissions"]);
    let escalated = json!({ "cmd": "ls", "sandbox_permissions": "require_escalated" });
    assert_eq!(found(&shell(), std::slice::from_ref(&codex)).unwrap().1, escalated);
    codex.schema.as_mut().unwrap()["properties"]["with_escalated_permissions"] = json!({ "type": "boolean" });
    codex.schema.as_mut().unwrap()["properties"].as_object_mut().unwrap().remove("sandbox_permissions");
    assert_eq!(found(&shell(), &[codex]).unwrap().1["with_escalated_permissions"], true);
    let tools = [tool("ToolSearch", &["query"], &[])];
    let search = crate::model::tools::search("note", &tools).unwrap();
    assert_eq!((search.name.as_str(), search.arguments), ("ToolSearch", json!({ "query": "note" })));
    assert_eq!(crate::model::tools::search("note", &[]), None);
}

#[test]
fn tools_are_called_through_others_known_by_their_parameters() {
    let caller = |name: &str, called: &str, given: &str, kind: &str| {
        let properties = json!({ called: { "type": "string" }, given: { "type": kind } });
        let schema = json!({ "type": "object", "required": [called, given], "properties": properties });
        Tool { name: name.to_owned(), schema: Some(schema), ..Tool::default() }
    };
    let through = |tools: &[Tool], texts: &[&str]| {
        let call = crate::model::tools::through("note_it", &json!({ "text": "x" }), tools, texts.iter())?;
        Some((call.name, call.arguments))
    };
    let given = json!({ "text": "x" });
    let skill = caller("Skill", "name", "args", "object");
    for (tool, texts, expected) in [
        (
            caller("use_tool", "tool_name", "tool_input", "object"),
            &["- mcp__a-b__note_it: Notes"][..],
            "mcp__a-b__note_it",
        ),
        (caller("tool_call", "name", "arguments", "object"), &["no", "`server.note_it`."], "server.note_it"),
        (caller("call_mcp_tool", "tool", "args", "object"), &["\u{fc}note_it\u{fc}"], "note_it"),
    ] {
        let (own, schema) = (tool.name.clone(), tool.schema.clone().unwrap());
        let [name, input] = [0, 1].map(|at| schema["required"][at].as_str().unwrap().to_owned());
        let found = through(&[skill.clone(), tool], texts);
        assert_eq!(found, Some((own, json!({ name: expected, input: given }))));
    }
    let text = caller("use_tool", "tool_name", "tool_input", "string");
    assert_eq!(through(&[text], &[]).unwrap().1, json!({ "tool_name": "note_it", "tool_input": given.to_string() }));
    assert_eq!(through(&[skill], &["note_it"]), None);
    assert!(
        ["ToolSearch", "toolsearch", "search_tool", "findTools"]
            .iter()
            .all(|name| crate::model::tools::is_search(name))
    );
    assert!(["search", "use_tool", "searchtoolbox"].iter().all(|name| !crate::model::tools::is_search(name)));
}
