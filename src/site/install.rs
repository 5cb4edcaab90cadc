//! How an agent is set up, client by client.

use serde_json::{Map, Value, json};

use super::listing::Listing;
use super::snippet::{elisp, lua, powershell, shell};

/// Longer settings are not for people to copy, in bytes.
const LIMIT: usize = 16 << 10;

/// A client, and what to put where.
pub(super) struct Client {
    /// Fragment of the address.
    pub(super) id: &'static str,
    /// Name.
    pub(super) title: &'static str,
    /// Where the settings go.
    pub(super) place: &'static str,
    /// What to copy, each with a title.
    pub(super) snippets: Vec<Snippet>,
    /// What else to know.
    pub(super) note: &'static str,
}

/// Something to copy.
pub(super) struct Snippet {
    pub(super) title: String,
    pub(super) text: String,
}

/// A program with arguments and variables.
struct Launch {
    program: &'static str,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Launch {
    /// A package runner starts a package at once; an archive has to be fetched first, which `acp-registry run` does.
    fn of(listing: &Listing<'_>) -> Self {
        let distribution = &listing.agent.distribution;
        let (program, first, package) = match (&distribution.npx, &distribution.uvx) {
            (Some(package), _) => ("npx", Some("-y"), package),
            (None, Some(package)) => ("uvx", None, package),
            (None, None) => {
                let args = vec!["run".to_owned(), listing.id.clone()];
                return Self { program: "acp-registry", args, env: Vec::new() };
            }
        };
        let args = first.map(ToOwned::to_owned).into_iter().chain([package.package.clone()]);
        Self { program, args: args.chain(package.args.iter().cloned()).collect(), env: package.env.clone() }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program).chain(self.args.iter().map(String::as_str))
    }

    fn json(&self) -> Value {
        let env: Map<String, Value> = self.env.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        json!({ "command": self.program, "args": self.args, "env": env })
    }
}

fn snippet(title: &str, text: &str) -> Option<Snippet> {
    (text.len() <= LIMIT).then(|| Snippet { title: title.to_owned(), text: text.trim_end().to_owned() })
}

/// All clients, the same for every agent.
pub(super) fn clients(listing: &Listing<'_>) -> Vec<Client> {
    let launch = Launch::of(listing);
    let id = listing.id.as_str();
    let named = |key: &str, name: &str| {
        let server = Map::from_iter([(name.to_owned(), launch.json())]);
        crate::json::to_string(&json!({ key: server }))
    };
    let zed_registry = json!({ "agent_servers": { id: { "type": "registry" } } });
    let mut zed_custom = launch.json();
    if let Some(server) = zed_custom.as_object_mut() {
        server.shift_insert(0, "type".to_owned(), json!("custom"));
    }
    let zed_custom = json!({ "agent_servers": { id: zed_custom } });
    let one = |text: String| snippet("Settings", &text).into_iter().collect();
    vec![
        Client {
            id: "zed",
            title: "Zed",
            place: "Run “zed: acp registry” from the command palette, or put this in settings.json:",
            snippets: snippet("From the registry", &crate::json::to_string(&zed_registry))
                .into_iter()
                .chain(snippet("As your own command", &crate::json::to_string(&zed_custom)))
                .collect(),
            note: "The first form needs the agent to be in the registry that Zed reads; the second starts it directly.",
        },
        Client {
            id: "jetbrains",
            title: "JetBrains",
            place: "Choose “Install From ACP Registry” in the agent menu, or put this in ~/.jetbrains/acp.json:",
            snippets: one(named("agent_servers", &listing.name)),
            note: "The command may have to be an absolute path.",
        },
        Client {
            id: "codecompanion",
            title: "CodeCompanion",
            place: "In your Neovim configuration:",
            snippets: one(code_companion(listing, &launch)),
            note: "CodeCompanion builds every ACP adapter on one of its own; this one replaces its command.",
        },
        Client {
            id: "avante",
            title: "avante",
            place: "In your Neovim configuration:",
            snippets: one(avante(id, &launch)),
            note: "",
        },
        Client {
            id: "emacs",
            title: "agent-shell",
            place: "In your Emacs configuration; then M-x eval-defun:",
            snippets: one(agent_shell(listing, &launch)),
            note: "",
        },
        Client {
            id: "vscode",
            title: "VS Code",
            place: "With the extension ACP Client, in settings.json:",
            snippets: one(named("acp.agents", &listing.name)),
            note: "",
        },
        command_line(listing, &launch),
    ]
}

fn command_line(listing: &Listing<'_>, launch: &Launch) -> Client {
    let mut snippets: Vec<Snippet> =
        snippet("With acp-registry", &format!("acp-registry run {}", listing.id)).into_iter().collect();
    if launch.program != "acp-registry" {
        let posix = shell::command(&launch.env, launch.words());
        let args = launch.args.iter().map(String::as_str);
        let windows = powershell::command(&launch.env, launch.program, args);
        snippets.extend(posix.and_then(|text| snippet("In a POSIX shell", &text)));
        snippets.extend(windows.and_then(|text| snippet("In PowerShell", &text)));
    }
    Client {
        id: "cli",
        title: "Command line",
        place: "The agent then speaks ACP on its standard input and output:",
        snippets,
        note: "acp-registry fetches the version in the registry, checks its digest where one is stated, and starts it.",
    }
}

fn code_companion(listing: &Listing<'_>, launch: &Launch) -> String {
    let (id, name) = (lua::string(&listing.id), lua::string(&listing.name));
    format!(
        "require(\"codecompanion\").setup({{\n  adapters = {{\n    acp = {{\n      [{id}] = function()\n        \
         return require(\"codecompanion.adapters\").extend(\"gemini_cli\", {{\n          name = {id},\n          \
         formatted_name = {name},\n          commands = {{\n            default = {},\n          }},\n          \
         env = {},\n        }})\n      end,\n    }},\n  }},\n}})\n",
        lua::list(launch.words()),
        lua::map(&launch.env),
    )
}

fn avante(id: &str, launch: &Launch) -> String {
    let id = lua::string(id);
    format!(
        "require(\"avante\").setup({{\n  provider = {id},\n  acp_providers = {{\n    [{id}] = {{\n      command = {},\n      \
         args = {},\n      env = {},\n    }},\n  }},\n}})\n",
        lua::string(launch.program),
        lua::list(launch.args.iter().map(String::as_str)),
        lua::map(&launch.env),
    )
}

fn agent_shell(listing: &Listing<'_>, launch: &Launch) -> String {
    let (id, name) = (&listing.id, elisp::string(&listing.name));
    let prompt = elisp::string(&format!("{}> ", listing.name));
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
        elisp::string(launch.program),
        elisp::list(launch.args.iter().map(String::as_str)),
    )
}

/// How the program of an unpacked archive is started; `None` where no shell takes it.
pub(super) fn start(platform: &str, cmd: &str, args: &[String], env: &[(String, String)]) -> Option<String> {
    let args = args.iter().map(String::as_str);
    let text = if platform.starts_with("windows") {
        powershell::command(env, cmd, args)
    } else {
        shell::command(env, std::iter::once(cmd).chain(args))
    };
    text.filter(|text| text.len() <= 600)
}
