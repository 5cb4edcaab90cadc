//! Examples of each command, for the help and the manual pages.

/// For each command: the command lines, and what they do.
const EXAMPLES: [(&str, &[(&str, &str)]); 33] = [
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
        "publish list",
        &[
            ("acp-registry publish list --to /srv/registry", "List the snapshots, the newest first"),
            ("acp-registry publish list --to s3://bucket/registry --json", "The same as JSON"),
        ],
    ),
    (
        "publish rollback",
        &[
            (
                "acp-registry publish rollback v2026-01-31-1a2b3c4d5e6f --to /srv/registry --dry-run",
                "Show what would be sent and removed",
            ),
            (
                "acp-registry publish rollback v2026-01-31-1a2b3c4d5e6f --to /srv/registry",
                "Put an earlier snapshot into latest/",
            ),
        ],
    ),
    (
        "publish prune",
        &[
            ("acp-registry publish prune --to /srv/registry --dry-run", "Show which snapshots would be removed"),
            ("acp-registry publish prune --to /srv/registry --keep 30d", "Remove snapshots older than 30 days"),
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
            (
                "acp-registry bump --pull-requests --verify --sandbox bwrap",
                "Propose each update that starts and answers",
            ),
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
            (
                "acp-registry probe --level protocol --format junit -- gemini --acp",
                "Examine it, and write a test report",
            ),
            ("acp-registry probe --level sessions --url wss://agents.example.com/acp", "Examine an agent on a network"),
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
            ("acp-registry search open source windows", "Find agents by licence and system"),
        ],
    ),
    (
        "info",
        &[
            ("acp-registry info gemini", "Show an agent and its installed versions"),
            ("acp-registry info gemini --json", "Show its entry in the index as JSON"),
            ("acp-registry info gemini --permissions", "List what it may touch in a sandbox"),
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
            ("acp-registry run gemini -- --debug", "Start an agent with an argument, and install it first if needed"),
            ("acp-registry run gemini --on ssh:build.example.com", "Start it on another machine"),
            ("acp-registry run --url wss://agents.example.com/acp", "Pass messages to an agent on a network"),
        ],
    ),
    (
        "serve-agent",
        &[
            ("acp-registry serve-agent gemini --listen 127.0.0.1:8018", "Serve an agent to programs of this machine"),
            ("acp-registry serve-agent -- node dist/index.js --acp", "Serve a command on any free port"),
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
            ("acp-registry update gemini --to 0.60.0", "Bring one to a version, also an older one, and keep it there"),
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
            ("acp-registry gc", "Remove unused versions"),
            ("acp-registry gc --cache", "Also empty the caches"),
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
            ("acp-registry config zed gemini --on ssh:build.example.com", "Print settings that start the agent there"),
        ],
    ),
    (
        "rpc",
        &[
            ("acp-registry rpc", "Serve the program that has started it"),
            ("acp-registry rpc --root ./agents", "Serve it with a directory of agents of its own"),
        ],
    ),
    (
        "completions",
        &[
            ("source <(acp-registry completions bash)", "Complete commands, flags and agents in Bash"),
            (
                "acp-registry completions zsh > ~/.zfunc/_acp-registry",
                "Install the completions of Zsh, in a directory of fpath",
            ),
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
            ("acp-registry rules --examination", "List the checks of agents"),
        ],
    ),
    (
        "explain",
        &[
            ("acp-registry explain icon/size", "Explain one rule with examples"),
            ("acp-registry explain manifest/schema --json", "Explain it for a program"),
            ("acp-registry explain protocol/ids", "Explain one check of agents with exchanges"),
        ],
    ),
];

/// The heading of the examples in the help.
const HEADING: &str = "Examples:\n";

/// Returns the examples of a command.
pub(crate) fn of(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    EXAMPLES.iter().find(|(command, _)| *command == name).map(|(_, examples)| *examples)
}

/// Renders examples for the help.
pub(crate) fn shown(examples: &[(&str, &str)]) -> String {
    let lines: Vec<String> = examples.iter().map(|(line, about)| format!("  # {about}\n  {line}")).collect();
    format!("{HEADING}{}", lines.join("\n"))
}

/// Returns the part of a help text before its examples.
pub(crate) fn notes_before(text: &str) -> &str {
    text.split(HEADING).next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples_that_parse() {
        let program = crate::commands::command();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        let all = shown.flat_map(|command| {
            let below = command.get_subcommands().map(|below| format!("{} {}", command.get_name(), below.get_name()));
            std::iter::once(command.get_name().to_owned()).chain(below)
        });
        for name in all {
            let examples = of(&name).unwrap_or_else(|| panic!("{name}"));
            assert!((2..=3).contains(&examples.len()), "{name}");
            for (line, _) in examples {
                let line = line.trim_start_matches("source <(").trim_end_matches(')');
                let words = line.split(" > ").next().unwrap_or_default().split(' ');
                let matches = program.clone().try_get_matches_from(words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                let (first, below) = matches.subcommand().unwrap();
                let below = below.subcommand_name().map_or_else(String::new, |below| format!(" {below}"));
                assert!(name == first || name == format!("{first}{below}"), "{line}");
            }
        }
    }
}
