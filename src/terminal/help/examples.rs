//! Examples of each command, for the help and the manual pages.

/// A block for each command, below its name: what a command line does, and that line.
const EXAMPLES: &str = "
init
# Create a registry in a new directory
acp-registry init my-registry
# Add what is missing to the registry in this directory
acp-registry init
# Publish on GitHub Pages
acp-registry init my-registry --pages example/registry

new
# Create an entry from the newest version on npm
acp-registry new my-agent --npm my-agent
# Create an entry from one version of a Python package
acp-registry new my-agent --pypi my-agent==1.2.0
# Create an entry from the archives of a GitHub release
acp-registry new my-agent --github me/my-agent

validate
# Check all manifests and icons without the network
acp-registry validate
# Check one agent completely, as the registry's own check does
acp-registry validate gemini --all
# Annotate a pull request on GitHub
acp-registry validate --changed-since origin/main --format github

build
# Write the published tree to dist/
acp-registry build
# Keep the published form of broken entries
acp-registry build --previous https://example.com/registry
# Compare dist/ with what a build would write
acp-registry build --check

publish
# Publish dist/ to a directory
acp-registry publish --to /srv/registry
# Show what a publication would send
acp-registry publish --to s3://bucket/registry --dry-run
# Remove snapshots older than 90 days
acp-registry publish prune --to /srv/registry --keep 90d

publish list
# List the snapshots, the newest first
acp-registry publish list --to /srv/registry
# The same as JSON
acp-registry publish list --to s3://bucket/registry --json

publish rollback
# Show what would be sent and removed
acp-registry publish rollback v2026-01-31-1a2b3c4d5e6f --to /srv/registry --dry-run
# Put an earlier snapshot into latest/
acp-registry publish rollback v2026-01-31-1a2b3c4d5e6f --to /srv/registry

publish prune
# Show which snapshots would be removed
acp-registry publish prune --to /srv/registry --dry-run
# Remove snapshots older than 30 days
acp-registry publish prune --to /srv/registry --keep 30d

diff
# Compare the published registry with a build
acp-registry diff https://example.com/registry dist
# Write release notes
acp-registry diff old.json new.json --format markdown

verify
# Install one agent and start it
acp-registry verify gemini
# Check all agents and record what they can do
acp-registry verify --out capabilities.json
# Check a quarter of the agents in a sandbox
acp-registry verify --shard 1/4 --sandbox bwrap

bump
# Show which agents have newer versions
acp-registry bump
# Write versions that are at least three days old
acp-registry bump --apply --min-age 3d
# Propose each update that starts and answers
acp-registry bump --pull-requests --verify --sandbox bwrap

serve
# Show the catalog on port 8017
acp-registry serve
# Show it on any free port
acp-registry serve --port 0

probe
# Start an installed program and check its handshake
acp-registry probe -- gemini --acp
# Examine it, and write a test report
acp-registry probe --level protocol --format junit -- gemini --acp
# Examine an agent on a network
acp-registry probe --level sessions --url wss://agents.example.com/acp

list
# List all agents of the registry
acp-registry list
# List installed agents for a program
acp-registry list --installed --json

search
# Find agents by name, description or author
acp-registry search gemini
# Find agents by licence and system
acp-registry search open source windows

info
# Show an agent and its installed versions
acp-registry info gemini
# Show its entry in the index as JSON
acp-registry info gemini --json
# List what it may touch in a sandbox
acp-registry info gemini --permissions

resolve
# Show what would be installed on this machine
acp-registry resolve gemini
# Show it for another platform, as JSON
acp-registry resolve codex-acp --platform darwin-aarch64 --json

install
# Install the version in the index
acp-registry install gemini
# Install one version from npm and keep it
acp-registry install gemini@0.61.0 --dist npx
# Install exactly what acp-registry.lock records
acp-registry install --locked

run
# Start an agent with an argument, and install it first if needed
acp-registry run gemini -- --debug
# Start it on another machine
acp-registry run gemini --on ssh:build.example.com
# Pass messages to an agent on a network
acp-registry run --url wss://agents.example.com/acp

serve-agent
# Serve an agent to programs of this machine
acp-registry serve-agent gemini --listen 127.0.0.1:8018
# Serve a command on any free port
acp-registry serve-agent -- node dist/index.js --acp

which
# Show the command line of an installed agent
acp-registry which gemini
# Show it for a program
acp-registry which gemini --json

update
# Show which installed agents have newer versions
acp-registry update --dry-run
# Update all installed agents
acp-registry update
# Bring one to a version, also an older one, and keep it there
acp-registry update gemini --to 0.60.0

uninstall
# Remove an agent with all its versions
acp-registry uninstall gemini
# Remove all agents
acp-registry uninstall --all

gc
# Remove unused versions
acp-registry gc
# Also empty the caches
acp-registry gc --cache
# Remove them and report the freed space as JSON
acp-registry gc --json

doctor
# Check the runtimes and all installed agents
acp-registry doctor
# Start one agent too and check its answer
acp-registry doctor gemini
# Repair what is damaged
acp-registry doctor --fix

login
# Choose how to sign in, and sign in
acp-registry login gemini
# Sign in by one method without a question
acp-registry login gemini --method oauth-personal

logout
# Sign out of an agent
acp-registry logout codex-acp
# Sign out and report the result as JSON
acp-registry logout codex-acp --json

config
# Print the settings for Zed
acp-registry config zed gemini
# Print the settings for Neovim with CodeCompanion
acp-registry config codecompanion gemini
# Print settings that start the agent there
acp-registry config zed gemini --on ssh:build.example.com

rpc
# Serve the program that has started it
acp-registry rpc
# Serve it with a directory of agents of its own
acp-registry rpc --root ./agents

completions
# Complete commands, flags and agents in Bash
source <(acp-registry completions bash)
# Install the completions of Zsh, in a directory of fpath
acp-registry completions zsh > ~/.zfunc/_acp-registry

report
# Write a comment from what an untrusted job found
acp-registry report findings.json
# Write a SARIF file from it
acp-registry report findings.json --format sarif

rules
# List all rules with their levels
acp-registry rules
# List them for a program
acp-registry rules --json
# List the checks of agents
acp-registry rules --examination

explain
# Explain one rule with examples
acp-registry explain icon/size
# Explain it for a program
acp-registry explain manifest/schema --json
# Explain one check of agents with exchanges
acp-registry explain protocol/ids
";

/// The heading of the examples in the help.
const HEADING: &str = "Examples:\n";

/// Returns the examples of a command: the command lines, and what they do.
pub(crate) fn of(name: &str) -> Vec<(&'static str, &'static str)> {
    let block = EXAMPLES.trim().split("\n\n").find_map(|block| block.strip_prefix(name)?.strip_prefix('\n'));
    let lines: Vec<&str> = block.into_iter().flat_map(str::lines).collect();
    lines.chunks_exact(2).map(|pair| (pair[1], pair[0].trim_start_matches("# "))).collect()
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
            let examples = of(&name);
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
