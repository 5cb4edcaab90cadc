//! How an agent is set up, client by client.

use serde_json::{Map, Value, json};

use super::listing::Listing;
use super::snippet::{elisp, lua, powershell, shell};

/// Longer settings are not for people to copy, in bytes.
const LIMIT: usize = 16 << 10;

/// A client of the protocol, the same for every agent.
pub(super) struct Client {
    /// Fragment of the address on an agent's page, and name of the client's own page.
    pub(super) id: &'static str,
    /// Name.
    pub(super) title: &'static str,
    /// What it is.
    pub(super) about: &'static str,
    /// Where the settings go.
    pub(super) place: &'static str,
    /// What else to know.
    pub(super) note: &'static str,
    settings: fn(&Listing<'_>, &Launch) -> Vec<Snippet>,
}

impl Client {
    /// [`Client::place`] as a sentence of its own.
    pub(super) fn step(&self) -> String {
        format!("{}.", self.place.trim_end_matches(':'))
    }
}

/// All clients.
pub(super) const CLIENTS: [Client; 7] = [
    Client {
        id: "zed",
        title: "Zed",
        about: "the editor Zed",
        place: "Run “zed: acp registry” from the command palette, or put this in settings.json:",
        note: "The first form needs the agent to be in the registry that Zed reads; the second starts it directly.",
        settings: zed,
    },
    Client {
        id: "jetbrains",
        title: "JetBrains",
        about: "the JetBrains IDEs",
        place: "Choose “Install From ACP Registry” in the agent menu, or put this in ~/.jetbrains/acp.json:",
        note: "The command may have to be an absolute path.",
        settings: |listing, launch| one(&named("agent_servers", listing, launch)),
    },
    Client {
        id: "codecompanion",
        title: "CodeCompanion",
        about: "CodeCompanion, a plugin for Neovim",
        place: "In your Neovim configuration:",
        note: "CodeCompanion builds every ACP adapter on one of its own; this one replaces its command.",
        settings: |listing, launch| one(&code_companion(listing, launch)),
    },
    Client {
        id: "avante",
        title: "avante",
        about: "avante, a plugin for Neovim",
        place: "In your Neovim configuration:",
        note: "",
        settings: |listing, launch| one(&avante(&listing.id, launch)),
    },
    Client {
        id: "emacs",
        title: "agent-shell",
        about: "agent-shell, a package for Emacs",
        place: "In your Emacs configuration; then M-x eval-defun:",
        note: "",
        settings: |listing, launch| one(&agent_shell(listing, launch)),
    },
    Client {
        id: "vscode",
        title: "VS Code",
        about: "ACP Client, an extension of VS Code",
        place: "With the extension ACP Client, in settings.json:",
        note: "",
        settings: |listing, launch| one(&named("acp.agents", listing, launch)),
    },
    Client {
        id: "cli",
        title: "Command line",
        about: "the command line",
        place: "The agent then speaks ACP on its standard input and output:",
        note: "acp-registry fetches the version in the registry, checks its digest where one is stated, and starts it.",
        settings: command_line,
    },
];

/// A client with what to copy for one agent.
pub(super) struct Setup {
    pub(super) client: &'static Client,
    /// What to copy, each with a title; none where that would be too long to be read.
    pub(super) snippets: Vec<Snippet>,
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
    /// The same by `acp-registry`, which also knows what to do with archives.
    run: Vec<String>,
}

const PROGRAM: &str = "acp-registry";

impl Launch {
    /// A package runner starts a package at once; an archive has to be fetched first, which `acp-registry run` does.
    fn of(listing: &Listing<'_>, index: Option<&str>) -> Self {
        let index = index.into_iter().flat_map(|index| ["--index", index]);
        let run: Vec<String> =
            [PROGRAM, "run"].into_iter().chain(index).chain([listing.id.as_str()]).map(ToOwned::to_owned).collect();
        let distribution = &listing.agent.distribution;
        let (program, first, package) = match (&distribution.npx, &distribution.uvx) {
            (Some(package), _) => ("npx", Some("-y"), package),
            (None, Some(package)) => ("uvx", None, package),
            (None, None) => {
                return Self { program: PROGRAM, args: run.iter().skip(1).cloned().collect(), env: Vec::new(), run };
            }
        };
        let args = first.map(ToOwned::to_owned).into_iter().chain([package.package.clone()]);
        Self { program, args: args.chain(package.args.iter().cloned()).collect(), env: package.env.clone(), run }
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

/// How an agent is set up in every client. `index` is the address that `acp-registry` must be given, if any.
pub(super) fn setups(listing: &Listing<'_>, index: Option<&str>) -> Vec<Setup> {
    let launch = Launch::of(listing, index);
    CLIENTS.iter().map(|client| Setup { client, snippets: (client.settings)(listing, &launch) }).collect()
}

fn one(text: &str) -> Vec<Snippet> {
    snippet("Settings", text).into_iter().collect()
}

fn named(key: &str, listing: &Listing<'_>, launch: &Launch) -> String {
    let server = Map::from_iter([(listing.name.clone(), launch.json())]);
    crate::json::to_string(&json!({ key: server }))
}

fn zed(listing: &Listing<'_>, launch: &Launch) -> Vec<Snippet> {
    let id = listing.id.as_str();
    let registry = json!({ "agent_servers": { id: { "type": "registry" } } });
    let mut custom = launch.json();
    if let Some(server) = custom.as_object_mut() {
        server.shift_insert(0, "type".to_owned(), json!("custom"));
    }
    let custom = json!({ "agent_servers": { id: custom } });
    let forms = [("From the registry", registry), ("As your own command", custom)];
    forms.iter().filter_map(|(title, value)| snippet(title, &crate::json::to_string(value))).collect()
}

fn command_line(_: &Listing<'_>, launch: &Launch) -> Vec<Snippet> {
    let posix = |env: &[(String, String)], words: Vec<&str>| shell::command(env, words);
    let run = posix(&[], launch.run.iter().map(String::as_str).collect());
    let mut snippets: Vec<Snippet> = run.and_then(|text| snippet("With acp-registry", &text)).into_iter().collect();
    if launch.program != PROGRAM {
        let args = launch.args.iter().map(String::as_str);
        let windows = powershell::command(&launch.env, launch.program, args);
        snippets
            .extend(posix(&launch.env, launch.words().collect()).and_then(|text| snippet("In a POSIX shell", &text)));
        snippets.extend(windows.and_then(|text| snippet("In PowerShell", &text)));
    }
    snippets
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
