//! The text of the settings: one function for each client.

use serde_json::{Map, json};

use super::{AgentCommand, elisp, lua, powershell, shell};

/// Settings with which Zed takes an agent from its own registry.
#[must_use]
pub fn zed_registry(id: &str) -> String {
    acp_registry_plan::json::to_string(&json!({ "agent_servers": { id: { "type": "registry" } } }))
}

pub(super) fn zed(launch: &AgentCommand) -> String {
    let mut custom = launch.json();
    if let Some(server) = custom.as_object_mut() {
        server.shift_insert(0, "type".to_owned(), json!("custom"));
    }
    acp_registry_plan::json::to_string(&json!({ "agent_servers": { launch.id.as_str(): custom } }))
}

/// JSON with the agents as members by their names.
pub(super) fn named(key: &str, launch: &AgentCommand) -> String {
    let server = Map::from_iter([(launch.name.clone(), launch.json())]);
    acp_registry_plan::json::to_string(&json!({ key: server }))
}

pub(super) fn code_companion(launch: &AgentCommand) -> String {
    let (id, name) = (lua::string(&launch.id), lua::string(&launch.name));
    format!(
        "require(\"codecompanion\").setup({{\n  adapters = {{\n    acp = {{\n      [{id}] = function()\n        \
         return require(\"codecompanion.adapters\").extend(\"gemini_cli\", {{\n          name = {id},\n          \
         formatted_name = {name},\n          commands = {{\n            default = {},\n          }},\n          \
         env = {},\n        }})\n      end,\n    }},\n  }},\n}})\n",
        lua::list(launch.words()),
        // The client runs a plain string that begins with `cmd:`, and replaces one that is the name of a variable.
        lua::functions(&launch.env),
    )
}

pub(super) fn avante(launch: &AgentCommand) -> String {
    let id = lua::string(&launch.id);
    format!(
        "require(\"avante\").setup({{\n  provider = {id},\n  acp_providers = {{\n    [{id}] = {{\n      command = {},\n      \
         args = {},\n      env = {},\n    }},\n  }},\n}})\n",
        lua::string(&launch.program),
        lua::list(launch.args.iter().map(String::as_str)),
        lua::map(&launch.env),
    )
}

pub(super) fn agent_shell(launch: &AgentCommand) -> String {
    let (id, name) = (&launch.id, elisp::string(&launch.name));
    let prompt = elisp::string(&format!("{}> ", launch.name));
    let env: Vec<String> = launch.env.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let env = if env.is_empty() {
        String::new()
    } else {
        format!("\n                       :environment-variables {}", elisp::list(env.iter().map(String::as_str)))
    };
    format!(
        "(defun agent-shell-start-{id} ()\n  (interactive)\n  (agent-shell-start\n   :config\n   \
         (agent-shell-make-agent-config\n    :identifier '{id}\n    :mode-line-name {name}\n    :buffer-name {name}\n    \
         :shell-prompt {prompt}\n    :shell-prompt-regexp (regexp-quote {prompt})\n    :client-maker\n    \
         (lambda (buffer)\n      (acp-make-client :command {}\n                       :command-params {}{env}\n                       \
         :context-buffer buffer)))))\n",
        elisp::string(&launch.program),
        elisp::list(launch.args.iter().map(String::as_str)),
    )
}

/// A command for the shell of this system.
pub(super) fn command_line(launch: &AgentCommand) -> Option<String> {
    if cfg!(windows) {
        powershell::command(&launch.env, &launch.program, launch.args.iter().map(String::as_str))
    } else {
        shell::command(&launch.env, launch.words())
    }
}
