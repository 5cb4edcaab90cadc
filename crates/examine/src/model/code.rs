//! Tools that run a program of the model, in which the agent's other tools are functions.

use serde_json::{Value, json};

use super::conversation::Tool;
use super::script::ToolCall;
use super::tools::{patch_text, plain};

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
        ToolCall::Shell { .. } | ToolCall::Write { .. } | ToolCall::Read { .. } => None,
    }
}
