//! What help shows: commands by role, examples, and only the flags that have an effect.

use clap::{Arg, Command};

/// Commands by the role of the people who run them, in the order of the help.
const ROLES: [(&str, &[&str]); 4] = [
    (
        "Use agents",
        &[
            "search", "list", "info", "resolve", "install", "run", "which", "update", "uninstall", "gc", "doctor",
            "login", "logout", "config",
        ],
    ),
    ("Contribute an agent", &["new", "probe", "validate", "rules", "explain"]),
    ("Run a registry", &["init", "build", "serve", "publish", "diff", "verify", "bump", "report"]),
    ("Set up the shell", &["completions"]),
];

/// Flags that every command accepts, and the commands for which they mean something.
const OF_REGISTRIES: [&str; 2] = ["registry_dir", "config"];

/// Commands that read a registry checkout.
const READ_REGISTRIES: [&str; 8] = ["new", "validate", "build", "serve", "verify", "bump", "publish", "init"];

/// Commands that send nothing to a host, so that `--allow-host` has no effect.
const SEND_NOTHING: [&str; 7] = ["rules", "explain", "completions", "which", "gc", "uninstall", "probe"];

/// Commands that look at what is installed and read no index. They accept its flags, because every command for people does.
const READ_NO_INDEX: [&str; 6] = ["which", "uninstall", "gc", "doctor", "login", "logout"];

/// Examples of each command: the command line, and what it does.
const EXAMPLES: [(&str, &[(&str, &str)]); 28] = [
    (
        "init",
        &[
            ("acp-registry init my-registry", "Create a registry in a new directory"),
            ("acp-registry init", "Add what is missing to the registry in this directory"),
            ("acp-registry init my-registry --pages example/registry", "Publish on GitHub Pages"),
        ],
    ),
    (
        "new",
        &[
            ("acp-registry new my-agent --npm my-agent", "Create an entry from the newest version on npm"),
            (
                "acp-registry new my-agent --pypi my-agent==1.2.0",
                "Create an entry from one version of a Python package",
            ),
            ("acp-registry new my-agent --github me/my-agent", "Create an entry from the archives of a GitHub release"),
        ],
    ),
    (
        "validate",
        &[
            ("acp-registry validate", "Check all manifests and icons without the network"),
            ("acp-registry validate gemini --all", "Check one agent completely, as the registry's own check does"),
            ("acp-registry validate --changed-since origin/main --format github", "Annotate a pull request on GitHub"),
        ],
    ),
    (
        "build",
        &[
            ("acp-registry build", "Write the published tree to dist/"),
            ("acp-registry build --previous https://example.com/registry", "Keep the published form of broken entries"),
            ("acp-registry build --check", "Compare dist/ with what a build would write"),
        ],
    ),
    (
        "publish",
        &[
            ("acp-registry publish --to /srv/registry", "Publish dist/ to a directory"),
            ("acp-registry publish --to s3://bucket/registry --dry-run", "Show what a publication would send"),
            ("acp-registry publish prune --to /srv/registry --keep 90d", "Remove snapshots older than 90 days"),
        ],
    ),
    (
        "diff",
        &[
            ("acp-registry diff https://example.com/registry dist", "Compare the published registry with a build"),
            ("acp-registry diff old.json new.json --format markdown", "Write release notes"),
        ],
    ),
    (
        "verify",
        &[
            ("acp-registry verify gemini", "Install one agent and start it"),
            ("acp-registry verify --out capabilities.json", "Check all agents and record what they can do"),
            ("acp-registry verify --shard 1/4 --sandbox bwrap", "Check a quarter of the agents in a sandbox"),
        ],
    ),
    (
        "bump",
        &[
            ("acp-registry bump", "Show which agents have newer versions"),
            ("acp-registry bump --apply --min-age 3d", "Write versions that are at least three days old"),
            ("acp-registry bump --pull-requests --verify", "Propose each update that starts and answers"),
        ],
    ),
    (
        "serve",
        &[
            ("acp-registry serve", "Show the catalog on port 8017"),
            ("acp-registry serve --port 0", "Show it on any free port"),
        ],
    ),
    (
        "probe",
        &[
            ("acp-registry probe -- gemini --acp", "Start an installed program and check its handshake"),
            ("acp-registry probe --timeout 2m -- node dist/index.js --acp", "Allow two minutes for the answer"),
        ],
    ),
    (
        "list",
        &[
            ("acp-registry list", "List all agents of the registry"),
            ("acp-registry list --installed --json", "List installed agents for a program"),
        ],
    ),
    (
        "search",
        &[
            ("acp-registry search gemini", "Find agents by name, description or author"),
            ("acp-registry search apache uvx", "Find agents that match all words"),
        ],
    ),
    (
        "info",
        &[
            ("acp-registry info gemini", "Show an agent and its installed versions"),
            ("acp-registry info gemini --json", "Show its entry in the index as JSON"),
        ],
    ),
    (
        "resolve",
        &[
            ("acp-registry resolve gemini", "Show what would be installed on this machine"),
            (
                "acp-registry resolve codex-acp --platform darwin-aarch64 --json",
                "Show it for another platform, as JSON",
            ),
        ],
    ),
    (
        "install",
        &[
            ("acp-registry install gemini", "Install the version in the index"),
            ("acp-registry install gemini@0.61.0 --dist npx", "Install one version from npm and keep it"),
            ("acp-registry install --locked", "Install exactly what acp-registry.lock records"),
        ],
    ),
    (
        "run",
        &[
            ("acp-registry run gemini", "Start an agent, and install it first if needed"),
            ("acp-registry run gemini -- --debug", "Pass arguments to it"),
        ],
    ),
    (
        "which",
        &[
            ("acp-registry which gemini", "Show the command line of an installed agent"),
            ("acp-registry which gemini --json", "Show it for a program"),
        ],
    ),
    (
        "update",
        &[
            ("acp-registry update --dry-run", "Show which installed agents have newer versions"),
            ("acp-registry update", "Update all installed agents"),
            ("acp-registry update gemini --min-age 3d", "Update one, if the version is at least three days old"),
        ],
    ),
    (
        "uninstall",
        &[
            ("acp-registry uninstall gemini", "Remove an agent with all its versions"),
            ("acp-registry uninstall --all", "Remove all agents"),
        ],
    ),
    (
        "gc",
        &[
            ("acp-registry gc", "Remove versions that are neither current nor running"),
            ("acp-registry gc --cache", "Remove also what npm and uv have kept"),
            ("acp-registry gc --json", "Remove them and report the freed space as JSON"),
        ],
    ),
    (
        "doctor",
        &[
            ("acp-registry doctor", "Check the runtimes and all installed agents"),
            ("acp-registry doctor gemini", "Start one agent too and check its answer"),
            ("acp-registry doctor --fix", "Repair what is damaged"),
        ],
    ),
    (
        "login",
        &[
            ("acp-registry login gemini", "Choose how to sign in, and sign in"),
            ("acp-registry login gemini --method oauth-personal", "Sign in by one method without a question"),
        ],
    ),
    (
        "logout",
        &[
            ("acp-registry logout codex-acp", "Sign out of an agent"),
            ("acp-registry logout codex-acp --json", "Sign out and report the result as JSON"),
        ],
    ),
    (
        "config",
        &[
            ("acp-registry config zed gemini", "Print the settings for Zed"),
            ("acp-registry config codecompanion gemini", "Print the settings for Neovim with CodeCompanion"),
        ],
    ),
    (
        "completions",
        &[
            ("source <(acp-registry completions bash)", "Complete commands, flags and agents in Bash"),
            ("acp-registry completions zsh > ~/.zfunc/_acp-registry", "Install the completions of Zsh"),
        ],
    ),
    (
        "report",
        &[
            ("acp-registry report findings.json", "Write a comment from what an untrusted job found"),
            ("acp-registry report findings.json --format sarif", "Write a SARIF file from it"),
        ],
    ),
    (
        "rules",
        &[
            ("acp-registry rules", "List all rules with their levels"),
            ("acp-registry rules --json", "List them for a program"),
        ],
    ),
    (
        "explain",
        &[
            ("acp-registry explain icon/size", "Explain one rule with examples"),
            ("acp-registry explain manifest/schema --json", "Explain it for a program"),
        ],
    ),
];

/// Words of other package managers, and the command that does that here.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("remove", "uninstall"),
    ("delete", "uninstall"),
    ("add", "install"),
    ("i", "install"),
    ("start", "run"),
    ("exec", "run"),
    ("show", "info"),
    ("find", "search"),
    ("check", "validate"),
    ("outdated", "update"),
    ("clean", "gc"),
    ("prune", "gc"),
];

/// The command that is meant by a word of another package manager.
pub(super) fn other_word(word: &str) -> Option<&'static str> {
    OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, command)| *command)
}

/// What the examples begin with in the help.
pub(super) const EXAMPLES_HEADING: &str = "Examples:\n";

/// The examples of a command.
pub(super) fn examples(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    EXAMPLES.iter().find(|(command, _)| *command == name).map(|(_, examples)| *examples)
}

/// The commands of the role that a command belongs to, itself included.
pub(super) fn of_same_role(name: &str) -> &'static [&'static str] {
    ROLES.iter().find(|(_, names)| names.contains(&name)).map(|(_, names)| *names).unwrap_or_default()
}

/// Adds roles and examples to the help of the program, and hides flags where they have no effect.
pub(super) fn shape(program: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        roles(&program)
    );
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let flags: Vec<Arg> = program.get_arguments().cloned().collect();
    names.iter().fold(program.help_template(template), |program, name| {
        // An argument of its own keeps the one of all commands away.
        let idle = flags.iter().filter(|flag| !has_effect(flag.get_id().as_str(), name));
        let idle = idle.map(|flag| flag.clone().hide(true));
        program.mut_subcommand(name, |command| shape_command(command, name).args(idle))
    })
}

fn shape_command(command: Command, name: &str) -> Command {
    let mut command = match examples(name) {
        Some(examples) => {
            let note = command.get_after_help().map_or_else(String::new, |note| format!("{note}\n\n"));
            command.after_help(note + &shown(examples))
        }
        None => command,
    };
    if READ_NO_INDEX.contains(&name) {
        for flag in ["index", "offline", "refresh", "platform"] {
            command = command.mut_arg(flag, |argument| argument.hide(true));
        }
    }
    command
}

/// Whether a global flag has an effect on a command.
fn has_effect(flag: &str, command: &str) -> bool {
    if OF_REGISTRIES.contains(&flag) {
        READ_REGISTRIES.contains(&command)
    } else {
        flag != "allow_host" || !SEND_NOTHING.contains(&command)
    }
}

fn roles(program: &Command) -> String {
    let width = program.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let command = program.find_subcommand(name)?;
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        Some(format!("  {name:width$}  {about}\n"))
    };
    ROLES
        .iter()
        .map(|(role, names)| format!("{role}:\n{}\n", names.iter().filter_map(line).collect::<String>()))
        .collect()
}

fn shown(examples: &[(&str, &str)]) -> String {
    let lines: Vec<String> = examples.iter().map(|(line, about)| format!("  # {about}\n  {line}")).collect();
    format!("{EXAMPLES_HEADING}{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_role_and_examples_that_parse() {
        let program = super::super::command();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        for name in shown.map(Command::get_name) {
            assert_eq!(ROLES.iter().filter(|(_, names)| names.contains(&name)).count(), 1, "{name}");
            let (_, examples) =
                EXAMPLES.iter().find(|(command, _)| *command == name).unwrap_or_else(|| panic!("{name}"));
            assert!((2..=3).contains(&examples.len()), "{name}");
            for (line, _) in *examples {
                let line = line.trim_start_matches("source <(").trim_end_matches(')');
                let words = line.split(" > ").next().unwrap_or_default().split(' ');
                let matches = program.clone().try_get_matches_from(words);
                assert_eq!(matches.unwrap_or_else(|error| panic!("{line}: {error}")).subcommand_name(), Some(name));
            }
        }
    }
}
