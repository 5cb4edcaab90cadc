//! SETTINGS: how an agent is set up in a client of the protocol; a [`AgentCommand`] to the text that the client reads.
//!
//! * [`CLIENTS`]: the clients, each with one function that writes its settings
//! * [`AgentCommand`]: what is to be started
//! * [`SettingsEdit`]: merges the settings into the file of an editor that keeps them as JSON
//! * [`elisp`], [`lua`], [`powershell`], [`shell`]: serialisers, one for each language: the result is one literal or
//!   one command, whatever a manifest holds. JSON is written by [`acp_registry_plan::json`].

mod client;
mod edit;
mod languages;
mod splice;

use acp_registry_plan::manifest::{Distribution, NpmSpec, Package, PypiSpec, extension};
use acp_registry_plan::text::shown;
use serde_json::{Map, Value, json};

pub use client::{CLIENTS, EditorClient, TooLong, Unwritable, find, zed_registry};
pub use edit::{SettingsAction, SettingsEdit, SettingsEditError, SettingsOwner};
pub use languages::{elisp, lua, powershell, shell};

/// The longest display name that settings have, in Unicode scalar values.
const NAME_LIMIT: usize = 80;

/// The longest settings that people are shown to copy, in bytes.
pub const SETTINGS_LIMIT: usize = 16 << 10;

/// The program that starts any agent of a registry.
pub const PROGRAM: &str = "acp-registry";

/// An agent, and its program with arguments and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The agent.
    pub id: String,
    /// Its display name.
    pub name: String,
    /// Name or path of the program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are set for it.
    pub env: Vec<(String, String)>,
    /// How people sign in to it.
    pub sign_in: SignIn,
}

/// How a client signs a person in to an agent, where its settings say so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SignIn {
    /// The client chooses among the methods that the agent offers.
    #[default]
    Unknown,
    /// The agent carries out the method with this id.
    Method(String),
    /// No method can be carried out by the client: people sign in in a terminal, or by variables.
    Elsewhere,
}

impl AgentCommand {
    /// The agent started by its package runner: `npx`, else `uvx`. `None` for an agent with archives only, which have
    /// to be fetched first. Invalid specifications are ignored: the runner could read them as flags.
    #[must_use]
    pub fn from_package(id: &str, name: &str, distribution: &Distribution) -> Option<Self> {
        let has_command = |package: &&Package| package.command.as_deref().is_none_or(extension::is_command);
        let npx = distribution.npx.as_ref().filter(|package| package.package.parse::<NpmSpec>().is_ok());
        let uvx = distribution.uvx.as_ref().filter(|package| package.package.parse::<PypiSpec>().is_ok());
        let (program, mut words, package) = match (npx.filter(has_command), uvx.filter(has_command)) {
            (Some(package), _) => ("npx", vec!["-y"], package),
            (None, Some(package)) => ("uvx", Vec::new(), package),
            (None, None) => return None,
        };
        let end = package.exclude_newer.as_deref().and_then(extension::end_of_day).filter(|_| program == "uvx");
        words.extend(end.iter().flat_map(|end| ["--exclude-newer", end]));
        match (&package.command, program) {
            (None, _) => words.push(&package.package),
            (Some(command), "npx") => words.extend(["--package", &package.package, "--", command]),
            (Some(command), _) => words.extend(["--from", &package.package, command]),
        }
        let args = words.into_iter().map(ToOwned::to_owned);
        Some(Self {
            id: id.to_owned(),
            name: name.to_owned(),
            program: program.to_owned(),
            args: args.chain(package.args.iter().cloned()).collect(),
            env: package.env.clone(),
            sign_in: SignIn::Unknown,
        })
    }

    /// The agent started by [`PROGRAM`], which handles archives as well. `flags` are for `acp-registry run`.
    #[must_use]
    pub fn through_run(id: &str, name: &str, flags: &[&str]) -> Self {
        let args = ["run"].into_iter().chain(flags.iter().copied()).chain([id]);
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            program: PROGRAM.to_owned(),
            args: args.map(ToOwned::to_owned).collect(),
            env: Vec::new(),
            sign_in: SignIn::Unknown,
        }
    }

    /// The program, then its arguments.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str))
    }

    fn json(&self) -> Value {
        let env: Map<String, Value> = self.env.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        json!({ "command": self.program, "args": self.args, "env": env })
    }
}

/// The name of an agent in settings: one line without hidden characters, or its id if that leaves nothing.
#[must_use]
pub fn display_name(name: &str, id: &str) -> String {
    let name = shown(name, NAME_LIMIT);
    if name.is_empty() { id.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use acp_registry_plan::manifest::Agent;
    use serde_json::json;

    use super::*;

    fn package_command(distribution: &Value) -> Option<AgentCommand> {
        let agent = Agent::from_json(&json!({ "id": "a", "distribution": distribution }));
        AgentCommand::from_package("a", "A", &agent.distribution)
    }

    #[test]
    fn package_runners_start_packages_and_nothing_else() {
        let both = json!({ "npx": { "package": "p@1", "args": ["acp"] }, "uvx": { "package": "q==2" } });
        assert_eq!(package_command(&both).unwrap().words().collect::<Vec<_>>(), ["npx", "-y", "p@1", "acp"]);
        let flag = json!({ "npx": { "package": "--package=p" }, "uvx": { "package": "q==2" } });
        assert_eq!(package_command(&flag).unwrap().words().collect::<Vec<_>>(), ["uvx", "q==2"]);
        assert_eq!(package_command(&json!({ "uvx": { "package": "--from" } })), None);
        assert_eq!(package_command(&json!({ "binary": {} })), None);
    }

    #[test]
    fn a_runner_is_told_which_command_and_which_day() {
        let words = |distribution: Value| {
            package_command(&distribution).map(|launch| launch.words().collect::<Vec<_>>().join(" "))
        };
        for (distribution, expected) in [
            (
                json!({ "npx": { "package": "p@1", "command": "p-acp", "args": ["--x"] } }),
                Some("npx -y --package p@1 -- p-acp --x"),
            ),
            (
                json!({ "uvx": { "package": "q==2", "command": "q-acp", "exclude_newer": "2026-02-28", "args": ["x"] } }),
                Some("uvx --exclude-newer 2026-02-28T23:59:59Z --from q==2 q-acp x"),
            ),
            (
                json!({ "uvx": { "package": "q==2", "exclude_newer": "2026-02-28" } }),
                Some("uvx --exclude-newer 2026-02-28T23:59:59Z q==2"),
            ),
            (json!({ "npx": { "package": "p@1", "command": "--call=x" } }), None),
        ] {
            assert_eq!(words(distribution).as_deref(), expected);
        }
    }

    #[test]
    fn names_are_never_empty() {
        assert_eq!(display_name(" An\n agent ", "a"), "An agent");
        assert_eq!(display_name("\u{202e} ", "a"), "a");
    }
}
