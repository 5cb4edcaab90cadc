//! All kinds of files in a published tree, with their media types and how long they are cached. A test compares the list with a
//! built tree.

use acp_registry_gate::config::AgentFile;
use acp_registry_plan::entries::DISCOVERY;

/// A kind of file in the published tree.
#[derive(Debug, Clone, Copy)]
pub struct PublishedFile {
    /// The path. `{id}` is an agent's id, `{digest}` a part of a digest, `{N}` a number, and `{…}` any other single
    /// name.
    pub path: &'static str,
    /// What the file contains, in one or two sentences.
    pub about: &'static str,
    /// Whether other programs may rely on the file.
    pub is_stable: bool,
    /// The setting that enables this file of an agent; `None` if the file does not depend on the configuration.
    pub setting: Option<AgentFile>,
}

const fn data(path: &'static str, about: &'static str) -> PublishedFile {
    PublishedFile { path, about, is_stable: true, setting: None }
}

const fn agent_file(path: &'static str, about: &'static str, file: AgentFile) -> PublishedFile {
    PublishedFile { path, about, is_stable: true, setting: Some(file) }
}

const fn pages(path: &'static str, about: &'static str) -> PublishedFile {
    PublishedFile { path, about, is_stable: false, setting: None }
}

/// All kinds of files: first the machine-readable files, then the pages.
pub const CONTENTS: &[PublishedFile] = &[
    data(
        "registry.json",
        "The index that clients read: all agents of the stable channel, with everything that is needed to start them. Further views, if any, are beside it.",
    ),
    data(
        "entries.json",
        "How to read one agent without the index: the digests of the indexes, and of lists that lead to entries. Clients that do not know it read the index.",
    ),
    data("entry-lists/{…}.json", "Digests of further lists or of entries. Each list is named by its own digest."),
    data(
        "entries/{…}/{id}.json",
        "By folder. Named after an index: the entry of one agent, byte for byte as in that index. `versions`: its earlier versions. `closures` and `earlier-closures`: all packages that its packages need.",
    ),
    data("registry.schema.json", "JSON Schema of the index."),
    data("agent.schema.json", "JSON Schema of an agent’s entry: what each member means."),
    data(
        "schemas/cli/{…}.schema.json",
        "JSON Schemas of the documents that acp-registry prints: one for each command, `error` for any command that failed, `event` for a line of `--progress json`, and `common` for the parts that they share.",
    ),
    data(
        "{id}.svg",
        "The icon of an agent: 16×16, drawn in the colour of the text. It is checked to run no code and fetch nothing.",
    ),
    data(
        "history.json",
        "When agents were added, updated and withdrawn: `time` (RFC 3339), `event` (`added`, `updated` or `withdrawn`), `id`, `name`, `version`, for updates `from`, and `release`, the page of a version whose archives are of a GitHub release. Newest first. Only if the registry’s history is known.",
    ),
    data(
        "examinations.json",
        "What the examinations of agents came to, the newest first: `id`, `version`, the `day` since which it is judged so, `platform`, `judgements` by level (`passed`, `failed` or `incomplete`), and the ids of the `failed` requirements. Only if an agent was examined.",
    ),
    data(
        "facets.json",
        "Which agents have which values of the catalog’s filters: `facets`, by filter and value as in the addresses of the catalog, has their ids. `acp-registry search` reads it.",
    ),
    data(
        "revoked.json",
        "Recalled versions, of which clients neither install nor start the revoked ones, and warn of the deprecated ones: `revoked` lists `id`, `versions`, `level` (`revoked` or `deprecated`), `reason` and `since`. Only if the registry has recalled any.",
    ),
    data("SHA256SUMS", "SHA-256 digests of all other files, in the form that sha256sum reads."),
    agent_file("agents/{id}/agent.json", "The entry of one agent, as in registry.json.", AgentFile::Json),
    agent_file("agents/{id}/index.md", "The page of one agent as Markdown.", AgentFile::Markdown),
    agent_file(
        "agents/{id}/feed.atom",
        "The versions of one agent as an Atom feed. Only if they are known.",
        AgentFile::Feed,
    ),
    agent_file("agents/{id}/badge.svg", "A badge with the agent’s version, to show elsewhere.", AgentFile::Badge),
    agent_file(
        "agents/{id}/passes.svg",
        "A badge with the highest level of examination whose requirements the agent keeps. Only if it keeps those of one.",
        AgentFile::Badge,
    ),
    agent_file(
        "agents/{id}/card.html",
        "The agent as a card that other pages can embed, without scripts. Only if `agent-files` in registry.toml has `card`.",
        AgentFile::Card,
    ),
    data("new.atom", "New agents as an Atom feed. Only if the history is known."),
    data("updated.atom", "New versions of agents as an Atom feed. Only if the history is known."),
    data(
        "examined.atom",
        "Verdicts that differ from those of the version before, as an Atom feed. Only if an agent was examined.",
    ),
    data(
        "llms.txt",
        "The agents, one per line, for language models: up to 500, with the addresses of the lists of all.",
    ),
    data("opensearch.xml", "Adds this site to a browser’s search engines."),
    data("sitemap.xml", "All pages, for search engines. Above 50,000 pages, a list of the files below."),
    data("sitemap-{N}.xml", "A part of the pages. Only if there are more than 50,000."),
    data("robots.txt", "Allows crawlers to read every page."),
    pages("index.html", "Search, filters and the first agents."),
    pages(
        "preview.png",
        "The picture that link previews show, 1200×630. Only if `previews` is not `false` in registry.toml.",
    ),
    pages(
        "agents/{id}/preview.png",
        "The picture of an agent for link previews. Only if there are no more agents than `previews` says, by default 500.",
    ),
    pages("all/{N}/index.html", "All agents from A to Z."),
    pages(
        "agents/{id}/index.html",
        "The page of an agent. Links can lead to its sections: `#zed`, `#jetbrains`, `#codecompanion`, `#avante`, `#emacs`, `#vscode`, `#cli`, `#tests`, `#platforms`, `#capabilities`, `#versions`.",
    ),
    pages("{…}/{…}/index.html", "The agents with one value of a filter, such as os/linux/ or license/open/."),
    pages("{…}/{…}/{N}/index.html", "Further pages of such agents."),
    pages(
        "matrix/index.html",
        "The capabilities of all agents that answered. `?ids=` with ids and commas compares up to six agents.",
    ),
    pages("matrix/{N}/index.html", "Further pages of the capabilities."),
    pages("changes/index.html", "New, updated and withdrawn agents, newest first."),
    pages("changes/{N}/index.html", "Earlier changes."),
    pages("examined/index.html", "When which version was examined, and what failed. Only if an agent was."),
    pages("editors/index.html", "Editors and other clients."),
    pages("editors/{…}/index.html", "How to set up agents in one of them."),
    pages("docs/index.html", "The documentation."),
    pages(
        "docs/{…}/index.html",
        "A guide for users, contributors, maintainers or client authors, or a page of the reference.",
    ),
    pages("docs/commands/index.html", "The commands of the program."),
    pages("docs/commands/{…}/index.html", "One command with its flags."),
    pages("docs/rules/index.html", "What is checked in a registry."),
    pages("api/index.html", "This page."),
    pages("404.html", "The page that a host shows for unknown addresses."),
    pages("_headers", "The headers that a host should send, for hosts that read this file."),
    pages(
        "assets/{…}.{digest}.{…}",
        "Style, scripts and the catalog that the search reads. Names change with the content; do not link to them.",
    ),
];

/// The media type of a published file, by its name.
pub fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "atom" => "application/atom+xml",
        "xml" => "application/xml",
        "md" => "text/markdown; charset=utf-8",
        "sig" => "application/octet-stream",
        _ => "text/plain; charset=utf-8",
    }
}

/// `Cache-Control` of files whose names contain a digest of their content.
pub(crate) const FIXED: &str = "public, max-age=31536000, immutable";

/// `Cache-Control` of documents that clients read of single agents. A cache may answer with an old one for a minute while it
/// asks for a new one. More would let an old entry meet a new discovery document, and the client would read the whole index.
pub(crate) const ENTRY: &str = "public, max-age=300, stale-while-revalidate=60";

/// `Cache-Control` of all other files, which may change.
pub(crate) const SHORT: &str = "public, max-age=300";

/// `Cache-Control` of a file of a published tree, by its name.
pub(crate) fn caching(name: &str) -> &'static str {
    match name {
        _ if name.starts_with("assets/") || name.starts_with("entry-lists/") => FIXED,
        _ if name == DISCOVERY || name.starts_with("entries/") => ENTRY,
        _ => SHORT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_a_digest_are_kept_for_a_year() {
        for (name, expected) in [
            ("assets/site.0a1b2c3d.css", FIXED),
            ("entry-lists/12.json", FIXED),
            ("entries.json", ENTRY),
            ("entries/registry/a.json", ENTRY),
            ("registry.json", SHORT),
            ("a.svg", SHORT),
            ("index.html", SHORT),
            ("agents/assets/index.html", SHORT),
            ("SHA256SUMS", SHORT),
        ] {
            assert_eq!(caching(name), expected, "{name}");
        }
    }
}
