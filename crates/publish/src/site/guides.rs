//! `/docs/`: a guide for each kind of reader, and the reference, from the Markdown in `docs/`.

use askama::Template;

use super::commonmark::{Rendered, render};
use super::pages::{Frame, Site};
use super::{File, SiteError, page};
use acp_registry_core::registry::DEFAULT_BASE_URL;

/// A guide.
pub(super) struct Guide {
    /// Its folder below `docs/`, and its file without the ending.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// For whom it is, and what is in it.
    pub(super) about: &'static str,
    pub(super) text: &'static str,
}

/// All guides, in the order in which people are likely to look for them.
pub(super) const GUIDES: [Guide; 4] = [
    Guide {
        id: "user",
        title: "Use agents",
        about: "Find agents, install them, start them from an editor, and keep them as new as you want.",
        text: include_str!("../../../../docs/guides/user.md"),
    },
    Guide {
        id: "contributor",
        title: "Add an agent, or change one",
        about: "From a package or a release to a pull request that passes: manifest, icon, sign-in, checks.",
        text: include_str!("../../../../docs/guides/contributor.md"),
    },
    Guide {
        id: "maintainer",
        title: "Run a registry",
        about: "Create a registry, check it, publish it, keep it up to date, and what to do when an agent fails.",
        text: include_str!("../../../../docs/guides/maintainer.md"),
    },
    Guide {
        id: "client-author",
        title: "Use agents from a program",
        about: "For editors and other clients: the JSON interface, exit codes, lock files, the library, and the index.",
        text: include_str!("../../../../docs/guides/client-author.md"),
    },
];

/// The reference, in the order of the work of people who run a registry, then of those who use one.
pub(super) const REFERENCE: [Guide; 9] = [
    Guide {
        id: "registries",
        title: "Set up a registry",
        about: "Create a registry, move an existing one, add agents, and what each file is for.",
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
        id: "scripts",
        title: "For scripts",
        about: "Exit codes, JSON documents, error codes and progress events.",
        text: include_str!("../../../../docs/scripts.md"),
    },
    Guide {
        id: "library",
        title: "The library",
        about: "The same from Rust.",
        text: include_str!("../../../../docs/library.md"),
    },
];

/// The pages of commands: name and Markdown.
macro_rules! commands {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../docs/commands/acp-registry-", $name, ".md")))),*]
    };
}

/// Every command with its page, which `acp-registry man --markdown` writes.
pub(super) const COMMANDS: [(&str, &str); 29] = commands![
    "search", "list", "info", "resolve", "install", "run", "which", "update", "uninstall", "gc", "doctor", "login",
    "logout", "config", "new", "probe", "validate", "rules", "explain", "init", "build", "serve", "publish",
    "publish-prune", "diff", "verify", "bump", "report", "completions",
];

/// A page of the reference for one command.
struct CommandPage {
    /// Its folder below `docs/`.
    path: String,
    /// The whole command line.
    title: &'static str,
    about: &'static str,
    text: &'static str,
}

impl CommandPage {
    /// The title is the first line of the page, what the command does the first paragraph.
    fn of((name, text): &(&'static str, &'static str)) -> Self {
        let mut paragraphs = text.split("\n\n");
        let title = paragraphs.next().unwrap_or_default().trim_start_matches("# ");
        Self { path: format!("docs/commands/{name}/"), title, about: paragraphs.next().unwrap_or_default(), text }
    }
}

#[derive(Template)]
#[template(path = "commands.html")]
struct Commands<'a> {
    f: Frame<'a>,
    commands: &'a [CommandPage],
}

#[derive(Template)]
#[template(path = "docs.html")]
struct Docs<'a> {
    f: Frame<'a>,
    guides: &'static [Guide],
    reference: &'static [Guide],
}

#[derive(Template)]
#[template(path = "guide.html")]
struct ShownGuide<'a> {
    f: Frame<'a>,
    title: &'static str,
    text: Rendered,
}

pub(super) fn pages(site: &Site) -> Result<Vec<File>, SiteError> {
    let description =
        "How agents are used, added, published and built into other programs, and the rules of the registry.";
    let f = Frame::new(site, "docs/", "Documentation – ACP agents", description);
    let mut files = vec![page("docs/", &Docs { f, guides: &GUIDES, reference: &REFERENCE })?];
    for guide in GUIDES.iter().chain(&REFERENCE) {
        files.push(document(site, &format!("docs/{}/", guide.id), guide.title, guide.about, guide.text)?);
    }
    let commands: Vec<CommandPage> = COMMANDS.iter().map(CommandPage::of).collect();
    let f =
        Frame::new(site, "docs/commands/", "Commands – ACP agents", "Every command of acp-registry with its flags.");
    files.push(page("docs/commands/", &Commands { f, commands: &commands })?);
    for command in &commands {
        files.push(document(site, &command.path, command.title, command.about, command.text)?);
    }
    Ok(files)
}

/// A page from Markdown, in which addresses below the public registry's are those of this one.
fn document(site: &Site, path: &str, title: &'static str, about: &str, markdown: &str) -> Result<File, SiteError> {
    let base = site.registry_url.as_deref().and_then(|url| url.strip_suffix("/registry.json"));
    let f = Frame::new(site, path, &format!("{title} – ACP agents"), about);
    let text = render(markdown, &|text| match base {
        Some(base) => text.replace(DEFAULT_BASE_URL, base),
        None => text.to_owned(),
    });
    page(path, &ShownGuide { f, title, text })
}
