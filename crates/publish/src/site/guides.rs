//! The documents of the site: the guides, the reference and the pages of commands, from the Markdown in `docs/`.

/// A document: a guide or a page of the reference.
pub(super) struct Guide {
    /// The folder below `/docs/`, which is the file's name without its extension.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Its content and audience, in one sentence.
    pub(super) about: &'static str,
    pub(super) text: &'static str,
}

/// The guides, ordered by how many readers need them.
pub(super) const GUIDES: [Guide; 4] = [
    Guide {
        id: "user",
        title: "Use agents",
        about: "Find agents, install them, start them from an editor, and keep them up to date.",
        text: include_str!("../../../../docs/guides/user.md"),
    },
    Guide {
        id: "contributor",
        title: "Add an agent, or change one",
        about: "From a package or a release to a pull request that passes its checks: manifest, icon, sign-in.",
        text: include_str!("../../../../docs/guides/contributor.md"),
    },
    Guide {
        id: "maintainer",
        title: "Run a registry",
        about: "Create, check and publish a registry, keep it up to date, and handle agents that fail.",
        text: include_str!("../../../../docs/guides/maintainer.md"),
    },
    Guide {
        id: "client-author",
        title: "Use agents from a program",
        about: "For editors and other clients: the JSON interface, exit codes, lock files, the library, and the index.",
        text: include_str!("../../../../docs/guides/client-author.md"),
    },
];

/// The reference, first for those who run a registry, then for those who use one.
pub(super) const REFERENCE: [Guide; 14] = [
    Guide {
        id: "registries",
        title: "Set up a registry",
        about: "Create a registry, move an existing one, add agents, and look up what each file is for.",
        text: include_str!("../../../../docs/registries.md"),
    },
    Guide {
        id: "checking",
        title: "Check a registry",
        about: "Rules and their levels, reports, network checks, archives.",
        text: include_str!("../../../../docs/checking.md"),
    },
    Guide {
        id: "verifying",
        title: "Verify agents",
        about: "Handshakes with real agents, isolation, verdicts, quarantine, snapshots.",
        text: include_str!("../../../../docs/verifying.md"),
    },
    Guide {
        id: "examining",
        title: "Examine agents",
        about: "Checks of the protocol, levels, the scripted model, time and network, reports for CI.",
        text: include_str!("../../../../docs/examining.md"),
    },
    Guide {
        id: "remote",
        title: "Agents on a network",
        about: "Serve an agent over HTTP and WebSocket, use and check one.",
        text: include_str!("../../../../docs/remote.md"),
    },
    Guide {
        id: "publishing",
        title: "Publish a registry",
        about: "Indexes, the catalog site, snapshots, directories and buckets.",
        text: include_str!("../../../../docs/publishing.md"),
    },
    Guide {
        id: "bumping",
        title: "Update a registry",
        about: "Find newer versions, write them, and propose them as pull requests.",
        text: include_str!("../../../../docs/bumping.md"),
    },
    Guide {
        id: "configuration",
        title: "Configuration",
        about: "Every setting of registry.toml.",
        text: include_str!("../../../../docs/configuration.md"),
    },
    Guide {
        id: "installing",
        title: "Install agents",
        about: "Versions, digests, lock files, the index and its copies, the directory of agents.",
        text: include_str!("../../../../docs/installing.md"),
    },
    Guide {
        id: "elsewhere",
        title: "Agents on another machine",
        about: "Start agents over ssh and in WSL: what is copied and sent, and how they end.",
        text: include_str!("../../../../docs/elsewhere.md"),
    },
    Guide {
        id: "provenance",
        title: "Who has built it",
        about: "Attestations of npm packages and archives: what they prove, and what is refused.",
        text: include_str!("../../../../docs/provenance.md"),
    },
    Guide {
        id: "scripts",
        title: "For scripts",
        about: "Exit codes, JSON documents, error codes and progress events.",
        text: include_str!("../../../../docs/scripts.md"),
    },
    Guide {
        id: "rpc",
        title: "JSON-RPC",
        about: "Methods, progress, cancellation and errors of acp-registry rpc.",
        text: include_str!("../../../../docs/rpc.md"),
    },
    Guide {
        id: "library",
        title: "The library",
        about: "Use the registry from Rust.",
        text: include_str!("../../../../docs/library.md"),
    },
];

/// Name and Markdown of each command's page.
macro_rules! commands {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../docs/commands/acp-registry-", $name, ".md")))),*]
    };
}

/// The page of every command, written by `acp-registry man --markdown`.
pub(super) const COMMANDS: [(&str, &str); 33] = commands![
    "search", "list", "info", "resolve", "install", "run", "serve-agent", "which", "update", "uninstall", "gc",
    "doctor", "login", "logout", "config", "rpc", "new", "probe", "validate", "rules", "explain", "init", "build",
    "serve", "publish", "publish-list", "publish-rollback", "publish-prune", "diff", "verify", "bump", "report",
    "completions",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_its_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands");
        let files = std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let named = |name: &str| Some(name.strip_prefix("acp-registry-")?.strip_suffix(".md")?.to_owned());
        let written: BTreeSet<String> = files.filter_map(|name| named(&name)).collect();
        let pages: BTreeSet<String> = COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(written, pages);
    }
}
