//! Clients of the protocol, and the settings of each: one function that writes their text.

use std::path::{Path, PathBuf};

use serde_json::{Map, json};

use super::{AgentCommand, SETTINGS_LIMIT, SignIn, elisp, lua, powershell, shell};
use acp_registry_plan::text::is_hidden;

/// A client of the protocol, the same for every agent.
#[derive(Debug)]
pub struct EditorClient {
    /// Short name, used in addresses and on the command line.
    pub id: &'static str,
    /// The name that people look for: the editor, with the plugin where it has several.
    pub title: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Name and address of what reads the settings: a plugin, or the editor's own documentation.
    pub home: Option<(&'static str, &'static str)>,
    /// How the client installs an agent from its own registry, as a sentence; may be empty.
    pub registry: &'static str,
    /// Where the settings go, as the text before them.
    pub place: &'static str,
    /// A note about the settings; may be empty.
    pub note: &'static str,
    /// A note for settings that name a program without its path; may be empty.
    pub path_note: &'static str,
    /// The language of the settings: `json`, `lua`, `elisp`, `python`, `sh` or `powershell`; `text` for the fields of a form.
    pub language: &'static str,
    /// Whether the pages of agents show its settings, which all of them have to load.
    pub is_on_pages: bool,
    files: Option<Files>,
    /// Files that the client reads in place of that, if they are there.
    instead: &'static [&'static str],
    settings: fn(&AgentCommand) -> Option<String>,
}

/// A file by operating system.
#[derive(Debug)]
struct Files {
    linux: &'static str,
    macos: &'static str,
    windows: &'static str,
}

/// Why the settings cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// They would be longer than [`SETTINGS_LIMIT`].
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// A shell has no readable form for a word of the command.
    #[error("the command holds characters that cannot be written readably for a shell")]
    Hidden,
    /// The client has no place for variables, and the system no program that sets them.
    #[error("they cannot set its variables, since Windows has no program `env`")]
    NoEnvProgram,
}

/// Settings longer than [`SETTINGS_LIMIT`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the settings would have {0} bytes; {SETTINGS_LIMIT} are the limit")]
pub struct TooLong(pub usize);

impl EditorClient {
    /// The file that the settings belong in, as people write it on this system; `None` for a command.
    #[must_use]
    pub fn file(&self) -> Option<&'static str> {
        self.files.as_ref().map(|files| match std::env::consts::OS {
            "windows" => files.windows,
            "macos" => files.macos,
            _ => files.linux,
        })
    }

    /// The file that the settings belong in on this machine, as people write it and its path, if it is known: one that is
    /// there and that the client reads in place of its usual one. `variable` gives the environment.
    #[must_use]
    pub fn place(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<(String, PathBuf)> {
        let named = |file: &str| path(file, variable).map(|path| (short(file, &path, variable), path));
        let there = self.instead.iter().filter_map(|file| named(file)).find(|(_, path)| path.is_file());
        there.or_else(|| named(self.file()?))
    }

    /// The settings for this machine, with a line end.
    ///
    /// # Errors
    /// [`Unwritable`].
    pub fn settings_here(&self, launch: &AgentCommand) -> Result<String, Unwritable> {
        if cfg!(windows) && !launch.env.is_empty() && ["acpx", "jupyter"].contains(&self.id) {
            return Err(Unwritable::NoEnvProgram);
        }
        self.settings(launch)
    }

    /// The settings for any machine, with a line end.
    ///
    /// # Errors
    /// [`Unwritable`], but not [`Unwritable::NoEnvProgram`].
    pub fn settings(&self, launch: &AgentCommand) -> Result<String, Unwritable> {
        let text = (self.settings)(launch).ok_or(Unwritable::Hidden)?;
        if text.len() > SETTINGS_LIMIT {
            return Err(TooLong(text.len()).into());
        }
        Ok(format!("{}\n", text.trim_end()))
    }
}

/// The path of a file as people write it.
fn path(file: &str, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(rest) = file.strip_prefix("~/.config/")
        && let Some(config) = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute())
    {
        return Some(config.join(rest));
    }
    if let Some(rest) = file.strip_prefix("~/") {
        return variable("HOME").map(|home| home.join(rest));
    }
    let (name, rest) = file.strip_prefix('%')?.split_once("%\\")?;
    variable(name).map(|folder| folder.join(rest))
}

/// A path as people write it. `XDG_CONFIG_HOME` may have led it elsewhere than the usual name of the file says.
fn short(file: &str, path: &Path, variable: &dyn Fn(&str) -> Option<PathBuf>) -> String {
    if !file.starts_with('~') {
        return file.to_owned();
    }
    let below_home = variable("HOME").and_then(|home| path.strip_prefix(home).ok().map(ToOwned::to_owned));
    below_home.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
}

/// The client with this [`EditorClient::id`].
#[must_use]
pub fn find(id: &str) -> Option<&'static EditorClient> {
    CLIENTS.iter().find(|client| client.id == id)
}

impl Files {
    /// The same on Linux and on macOS.
    const fn new(unix: &'static str, windows: &'static str) -> Self {
        Self { linux: unix, macos: unix, windows }
    }
}

/// What most clients have in common; not a client itself.
const PLAIN: EditorClient = EditorClient {
    id: "",
    title: "",
    about: "",
    home: None,
    registry: "",
    place: "",
    note: "",
    path_note: "",
    language: "json",
    is_on_pages: true,
    files: None,
    instead: &[],
    settings: command_line,
};

const NEOVIM: Option<Files> = Some(Files::new("~/.config/nvim/init.lua", r"%LOCALAPPDATA%\nvim\init.lua"));

/// In each vault.
const OBSIDIAN: &str = ".obsidian/plugins/agent-client/data.json";

/// In the folder of the notebooks, or one above it.
const JUPYTER: &str = ".jupyter/personas/agent_persona.py";

/// All clients.
pub static CLIENTS: [EditorClient; 11] = [
    EditorClient {
        id: "zed",
        title: "Zed",
        about: "the editor Zed",
        home: Some(("Zed’s documentation", "https://zed.dev/docs/ai/external-agents")),
        registry: "Run “zed: acp registry” from the command palette.",
        place: "In settings.json:",
        files: Some(Files::new("~/.config/zed/settings.json", r"%APPDATA%\Zed\settings.json")),
        settings: |launch| Some(zed(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "jetbrains",
        title: "JetBrains",
        about: "the JetBrains IDEs",
        home: Some(("JetBrains’ documentation", "https://www.jetbrains.com/help/ai-assistant/acp.html")),
        registry: "In the AI Chat, choose “Add ACP Agent”; older versions call it “Install From ACP Registry”.",
        place: "In ~/.jetbrains/acp.json:",
        path_note: "If the IDE does not find the command, name it by its absolute path.",
        files: Some(Files::new("~/.jetbrains/acp.json", r"%USERPROFILE%\.jetbrains\acp.json")),
        settings: |launch| Some(named("agent_servers", launch)),
        ..PLAIN
    },
    EditorClient {
        id: "codecompanion",
        title: "Neovim (CodeCompanion)",
        about: "CodeCompanion, a plugin for Neovim",
        home: Some(("CodeCompanion", "https://github.com/olimorris/codecompanion.nvim")),
        place: "In your Neovim configuration:",
        note: "The plugin codecompanion.nvim reads them. It builds every ACP adapter on one of its own; this one replaces its command.",
        language: "lua",
        files: NEOVIM,
        instead: &["~/.config/nvim/init.lua", "~/.config/nvim/init.vim"],
        settings: |launch| Some(code_companion(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "avante",
        title: "Neovim (avante)",
        about: "avante, a plugin for Neovim",
        home: Some(("avante", "https://github.com/yetone/avante.nvim")),
        place: "In your Neovim configuration:",
        note: "The plugin avante.nvim reads them.",
        language: "lua",
        files: NEOVIM,
        instead: &["~/.config/nvim/init.lua", "~/.config/nvim/init.vim"],
        settings: |launch| Some(avante(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "emacs",
        title: "Emacs",
        about: "agent-shell, a package for Emacs",
        home: Some(("agent-shell", "https://github.com/xenodium/agent-shell")),
        place: "In your Emacs configuration; then M-x eval-defun:",
        note: "The package agent-shell, with acp.el, reads them.",
        language: "elisp",
        files: Some(Files::new("~/.emacs.d/init.el", r"%APPDATA%\.emacs.d\init.el")),
        // In the order in which Emacs looks for them.
        instead: &["~/.emacs", "~/.emacs.el", "~/.emacs.d/init.el", "~/.config/emacs/init.el"],
        settings: |launch| Some(agent_shell(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "vscode",
        title: "VS Code",
        about: "ACP Client, an extension of VS Code",
        home: Some(("ACP Client", "https://github.com/formulahendry/vscode-acp")),
        place: "In settings.json, which the extension reads:",
        note: "The extension ACP Client reads them: install it first.",
        files: Some(Files {
            linux: "~/.config/Code/User/settings.json",
            macos: "~/Library/Application Support/Code/User/settings.json",
            windows: r"%APPDATA%\Code\User\settings.json",
        }),
        settings: |launch| Some(named("acp.agents", launch)),
        ..PLAIN
    },
    EditorClient {
        id: "obsidian",
        title: "Obsidian",
        about: "Agent Client, a plugin for Obsidian",
        home: Some(("Agent Client", "https://github.com/RAIT-09/obsidian-agent-client")),
        place: "In .obsidian/plugins/agent-client/data.json of the vault, while Obsidian is closed:",
        note: "The plugin Agent Client reads them, and writes the file again: edit it while Obsidian is closed. \
               `--write --file VAULT/.obsidian/plugins/agent-client/data.json` does so.",
        is_on_pages: false,
        files: Some(Files::new(OBSIDIAN, OBSIDIAN)),
        settings: |launch| Some(obsidian(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "qtcreator",
        title: "Qt Creator",
        about: "the IDE Qt Creator",
        home: Some(("Qt Creator’s documentation", "https://doc.qt.io/qtcreator/")),
        registry: "In Preferences, AI, ACP Servers, add a server and choose the agent as its template.",
        place: "In Preferences, AI, ACP Servers, add a server with these fields:",
        note: "These are the fields of a server in Preferences, AI, ACP Servers; the plugin AcpClient must be on.",
        language: "text",
        is_on_pages: false,
        settings: qt_creator,
        ..PLAIN
    },
    EditorClient {
        id: "jupyter",
        title: "Jupyter AI",
        about: "Jupyter AI, an extension of JupyterLab",
        home: Some(("Jupyter AI", "https://jupyter-ai.readthedocs.io/")),
        place: "In .jupyter/personas/agent_persona.py beside your notebooks; any name with “persona” will do:",
        note: "Jupyter AI 3 reads every file of this folder beside your notebooks that has `persona` in its name: choose \
               one for each agent. It needs the package jupyter-ai-acp-client.",
        language: "python",
        is_on_pages: false,
        files: Some(Files::new(JUPYTER, JUPYTER)),
        settings: |launch| Some(jupyter(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "acpx",
        title: "acpx",
        about: "acpx, a client for scripts",
        home: Some(("acpx", "https://github.com/openclaw/acpx")),
        place: "In ~/.acpx/config.json:",
        note: "acpx 0.19 and later read them.",
        is_on_pages: false,
        files: Some(Files::new("~/.acpx/config.json", r"%USERPROFILE%\.acpx\config.json")),
        settings: |launch| Some(acpx(launch)),
        ..PLAIN
    },
    EditorClient {
        id: "cli",
        title: "Shell",
        about: "the command line",
        place: "The agent then speaks ACP on its standard input and output:",
        language: if cfg!(windows) { "powershell" } else { "sh" },
        settings: command_line,
        ..PLAIN
    },
];

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
    // The plugin signs in by the method of the adapter, which it takes from the one that is extended, and fails where the
    // agent does not offer it. The adapter of Goose names none: then the plugin takes the first that the agent offers.
    let sign_in = match &launch.sign_in {
        SignIn::Unknown => String::new(),
        SignIn::Method(method) => format!("\n          defaults = {{ auth_method = {} }},", lua::string(method)),
        SignIn::Elsewhere => "\n          handlers = { auth = function() return true end },".to_owned(),
    };
    format!(
        "require(\"codecompanion\").setup({{\n  adapters = {{\n    acp = {{\n      [{id}] = function()\n        \
         return require(\"codecompanion.adapters\").extend(\"goose\", {{\n          name = {id},\n          \
         formatted_name = {name},\n          commands = {{\n            default = {},\n          }},\n          \
         env = {},{sign_in}\n        }})\n      end,\n    }},\n  }},\n}})\n",
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

/// An item of a list, which the plugin finds by its id.
fn obsidian(launch: &AgentCommand) -> String {
    let env: Vec<_> = launch.env.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    acp_registry_plan::json::to_string(&json!({ "customAgents": [{
        "id": launch.id, "displayName": launch.name, "command": launch.program, "args": launch.args, "env": env,
    }] }))
}

/// The fields of a form. Qt Creator splits the arguments like a shell of the system.
fn qt_creator(launch: &AgentCommand) -> Option<String> {
    let args = launch.args.iter().map(String::as_str);
    let args = if cfg!(windows) { windows_arguments(args)? } else { shell::command(&[], args)? };
    let env = launch.env.iter().map(|(key, value)| format!("Environment: {key}={value}\n")).collect::<String>();
    let form = format!("Name: {}\nExecutable: {}\nArguments: {args}\n{env}", launch.name, launch.program);
    // A field is one line.
    let lines = 3 + launch.env.len();
    let is_readable = form.lines().count() == lines && !form.chars().any(|c| c != '\n' && is_hidden(c));
    is_readable.then_some(form)
}

/// Arguments as programs for Windows split them; `None` for those that need more than quotation marks around them.
fn windows_arguments<'a>(args: impl Iterator<Item = &'a str>) -> Option<String> {
    let quoted = args.map(|arg| {
        let is_plain = !arg.contains('"') && !arg.ends_with('\\');
        let needs_quotes = arg.is_empty() || arg.contains([' ', '\t']);
        is_plain.then(|| if needs_quotes { format!("\"{arg}\"") } else { arg.to_owned() })
    });
    Some(quoted.collect::<Option<Vec<_>>>()?.join(" "))
}

/// The words of a command that sets variables by the program `env`, for clients that have no place for them.
fn words_with_env(launch: &AgentCommand) -> Vec<String> {
    let assignments = launch.env.iter().map(|(key, value)| format!("{key}={value}"));
    let env = (!launch.env.is_empty()).then(|| "env".to_owned());
    env.into_iter().chain(assignments).chain(launch.words().map(ToOwned::to_owned)).collect()
}

fn acpx(launch: &AgentCommand) -> String {
    let agent = json!({ "argv": words_with_env(launch) });
    acp_registry_plan::json::to_string(&json!({ "agents": { launch.id.as_str(): agent } }))
}

/// A class for the agent. The string literals of Emacs Lisp are literals of Python.
fn jupyter(launch: &AgentCommand) -> String {
    let words: Vec<String> = words_with_env(launch).iter().map(|word| elisp::string(word)).collect();
    let words = words.join(", ");
    let (name, description) = (elisp::string(&launch.name), elisp::string(&format!("{} in Jupyter", launch.name)));
    format!(
        "from pathlib import Path\n\nimport jupyter_ai_acp_client\n\
         from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona\n\
         from jupyter_ai_persona_manager import PersonaDefaults\n\n\n\
         class AgentPersona(BaseAcpPersona):\n    \
             def __init__(self, *args, **kwargs):\n        \
                 super().__init__(*args, executable=[{words}], **kwargs)\n\n    \
             @property\n    \
             def defaults(self):\n        \
                 icons = Path(jupyter_ai_acp_client.__file__).parent / \"static\"\n        \
                 return PersonaDefaults(\n            \
                     name={name},\n            description={description},\n            \
                     avatar_path=str(icons / \"goose.svg\"),\n            system_prompt=\"unused\",\n        )\n\n    \
             async def is_authed(self):\n        return True\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_known_by_their_ids_and_bounded() {
        for client in &CLIENTS {
            assert_eq!(find(client.id).map(|client| client.title), Some(client.title));
            assert_eq!(client.file().is_none(), ["cli", "qtcreator"].contains(&client.id));
            let long = AgentCommand::through_run("a", "A", &[&"x".repeat(SETTINGS_LIMIT)]);
            assert!(
                matches!(client.settings(&long), Err(Unwritable::TooLong(TooLong(bytes))) if bytes > SETTINGS_LIMIT)
            );
            let text = client.settings(&AgentCommand::through_run("a", "A", &[])).unwrap();
            assert!(text.ends_with('\n') && text.contains("run"), "{text}");
        }
        assert!(find("notepad").is_none());
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_the_one_that_the_client_reads() {
        let home = tempfile::tempdir().unwrap();
        let place = |client: &str| {
            let variable = |name: &str| (name == "HOME").then(|| home.path().to_owned());
            find(client).unwrap().place(&variable).unwrap()
        };
        let write = |name: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert_eq!(place("emacs").0, "~/.emacs.d/init.el");
        write(".config/emacs/init.el");
        let path = home.path().join(".config/emacs/init.el");
        assert_eq!(place("emacs"), ("~/.config/emacs/init.el".to_owned(), path));
        write(".emacs");
        assert_eq!(place("emacs").0, "~/.emacs");
        write(".config/nvim/init.vim");
        assert_eq!(place("avante").0, "~/.config/nvim/init.vim");
        write(".config/nvim/init.lua");
        assert_eq!(place("avante").0, "~/.config/nvim/init.lua");
        for (config, named) in
            [(home.path().join("own"), "~/own/zed/settings.json"), ("/x".into(), "/x/zed/settings.json")]
        {
            let variable = |name: &str| match name {
                "HOME" => Some(home.path().to_owned()),
                _ => (name == "XDG_CONFIG_HOME").then(|| config.clone()),
            };
            let path = config.join("zed/settings.json");
            assert_eq!(find("zed").unwrap().place(&variable), Some((named.to_owned(), path)));
        }
    }

    #[test]
    fn only_on_windows_no_program_sets_variables_for_some_clients() {
        let env = vec![("A".to_owned(), "1".to_owned())];
        let launch = AgentCommand { env, ..AgentCommand::through_run("a", "A", &[]) };
        for client in &CLIENTS {
            let is_refused = matches!(client.settings_here(&launch), Err(Unwritable::NoEnvProgram));
            assert_eq!(is_refused, cfg!(windows) && ["acpx", "jupyter"].contains(&client.id), "{}", client.id);
            assert!(client.settings(&launch).is_ok(), "{}", client.id);
            assert!(client.settings_here(&AgentCommand { env: Vec::new(), ..launch.clone() }).is_ok(), "{}", client.id);
        }
    }

    #[test]
    fn what_no_shell_can_show_is_not_written() {
        let hidden = find("cli").unwrap().settings(&AgentCommand::through_run("a", "A", &["\u{202e}"]));
        assert_eq!(hidden, Err(Unwritable::Hidden));
    }
}
