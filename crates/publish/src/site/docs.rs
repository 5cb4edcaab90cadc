//! Renders `/docs/`: the guides, the reference and the pages of commands, from the Markdown in `docs/`, and the rules; and
//! `schemas/cli/`, the JSON Schemas of the program's JSON output.
//!
//! In HTML, headings have anchors, code and tables can be scrolled with the keyboard, and links to files become links to pages.
//! The Markdown is written by this project and trusted. Values from the configuration are inserted before text is
//! escaped.

use std::collections::BTreeSet;

use acp_registry_client::registry::DEFAULT_BASE_URL;
use acp_registry_gate::check::{RULES, Rule, schema};
use askama::Template;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::pages::{Frame, Site};
use super::{SiteError, SiteFile, page};

#[derive(Template)]
#[template(path = "commands.html")]
struct Commands<'a> {
    f: Frame<'a>,
    commands: &'a [Guide],
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

pub(super) fn pages(site: &Site) -> Result<Vec<SiteFile>, SiteError> {
    let description = "How to use, add and publish agents and use them from programs, and the rules of the registry.";
    let f = Frame::new(site, "docs/", "Documentation – ACP agents", description);
    let mut files = vec![page("docs/", &Docs { f, guides: &GUIDES, reference: &REFERENCE })?];
    let commands = COMMANDS.map(Guide::from);
    for guide in GUIDES.iter().chain(&REFERENCE).chain(&commands) {
        files.push(document(site, guide)?);
    }
    let f =
        Frame::new(site, "docs/commands/", "Commands – ACP agents", "Every command of acp-registry with its flags.");
    files.push(page("docs/commands/", &Commands { f, commands: &commands })?);
    Ok(files)
}

/// Renders a page from Markdown, and replaces the address of the public registry with that of this one.
fn document(site: &Site, guide: &Guide) -> Result<SiteFile, SiteError> {
    let path = format!("docs/{}/", guide.id);
    let base = site.registry_url.as_deref().and_then(|url| url.strip_suffix("/registry.json"));
    let f = Frame::new(site, &path, &format!("{} – ACP agents", guide.title), guide.about);
    let text = render(guide.text, &|text| match base {
        Some(base) => text.replace(DEFAULT_BASE_URL, base),
        None => text.to_owned(),
    });
    page(&path, &ShownGuide { f, title: guide.title, text })
}

#[derive(Template)]
#[template(path = "rules.html")]
pub(super) struct Rules<'a> {
    f: Frame<'a>,
    /// The rules by group.
    groups: Vec<&'static [&'static Rule]>,
}

/// Renders `/docs/rules/` from the rules.
pub(super) fn rules(site: &Site) -> Rules<'_> {
    let description = "What is checked in a registry of ACP agents, why, and what to do about each finding.";
    let f = Frame::new(site, "docs/rules/", "Rules – ACP agents", description);
    Rules { f, groups: RULES.chunk_by(|one, other| one.group() == other.group()).collect() }
}

/// The examples of a rule, with their titles.
fn examples(rule: &Rule) -> Vec<(String, String)> {
    let fails = rule.fails.excerpts().into_iter().map(|(file, text)| (format!("Reported, in {file}"), text));
    let passes = rule.passes.excerpts().into_iter().map(|(file, text)| (format!("Passes, in {file}"), text));
    fails.chain(passes).collect()
}

/// Embeds the schemas of these names.
macro_rules! schemas {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("schemas/cli/", $name, ".schema.json"), include_str!(concat!("../../../../schemas/cli/", $name, ".schema.json")))),*]
    };
}

/// Path and text of each schema.
const SCHEMAS: &[(&str, &str)] = schemas![
    "build", "bump", "common", "config", "diff", "doctor", "error", "event", "explain", "gc", "info", "init",
    "install", "list", "login", "logout", "new", "probe", "publish", "resolve", "rpc", "rules", "search", "uninstall",
    "update", "validate", "verify", "which",
];

/// Returns the schemas, with ids below the base URL of the registry.
pub(super) fn schemas(base_url: &str) -> impl Iterator<Item = SiteFile> {
    let base = format!("{base_url}/schemas");
    SCHEMAS.iter().map(move |(path, text)| ((*path).to_owned(), text.replace(schema::BASE, &base).into_bytes()))
}

/// A document: a guide, a page of the reference, or the page of a command.
pub(super) struct Guide {
    /// The folder below `/docs/`; of a guide, this is the file's name without its extension.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Its content and audience, in one sentence.
    pub(super) about: &'static str,
    pub(super) text: &'static str,
}

/// The page of a command, from its id and its Markdown: the first line is its full name, and the first paragraph says what it is
/// about.
impl From<(&'static str, &'static str)> for Guide {
    fn from((id, text): (&'static str, &'static str)) -> Self {
        let mut paragraphs = text.split("\n\n");
        let title = paragraphs.next().unwrap_or_default().trim_start_matches("# ");
        Self { id, title, about: paragraphs.next().unwrap_or_default(), text }
    }
}

/// Documents of a folder, each with its id, its title and what it is about.
macro_rules! guides {
    ($folder:literal: $($id:literal is $title:literal: $about:literal,)*) => {
        [$(Guide { id: $id, title: $title, about: $about, text: include_str!(concat!($folder, $id, ".md")) }),*]
    };
}

/// The guides, ordered by how many readers need them.
pub(super) const GUIDES: [Guide; 4] = guides! { "../../../../docs/guides/":
    "user" is "Use agents": "Find agents, install them, start them from an editor, and keep them up to date.",
    "contributor" is "Add an agent, or change one": "From a package or a release to a pull request that passes its checks: manifest, icon, sign-in.",
    "maintainer" is "Run a registry": "Create, check and publish a registry, keep it up to date, and handle agents that fail.",
    "client-author" is "Use agents from a program": "For editors and other clients: the JSON interface, exit codes, lock files, the library, and the index.",
};

/// The reference, first for those who run a registry, then for those who use one.
const REFERENCE: [Guide; 14] = guides! { "../../../../docs/":
    "registries" is "Set up a registry": "Create a registry, move an existing one, add agents, and look up what each file is for.",
    "checking" is "Check a registry": "Rules and their levels, reports, network checks, archives.",
    "verifying" is "Verify agents": "Handshakes with real agents, isolation, verdicts, quarantine, snapshots.",
    "examining" is "Examine agents": "Checks of the protocol, levels, the scripted model, time and network, reports for CI.",
    "remote" is "Agents on a network": "Serve an agent over HTTP and WebSocket, use and check one.",
    "publishing" is "Publish a registry": "Indexes, the catalog site, snapshots, directories and buckets.",
    "bumping" is "Update a registry": "Find newer versions, write them, and propose them as pull requests.",
    "configuration" is "Configuration": "Every setting of registry.toml.",
    "installing" is "Install agents": "Versions, digests, lock files, the index and its copies, the directory of agents.",
    "elsewhere" is "Agents on another machine": "Start agents over ssh and in WSL: what is copied and sent, and how they end.",
    "provenance" is "Who has built it": "Attestations of npm packages, Python wheels and archives: what they prove, and what is refused.",
    "scripts" is "For scripts": "Exit codes, JSON documents, error codes and progress events.",
    "rpc" is "JSON-RPC": "Methods, progress, cancellation and errors of acp-registry rpc.",
    "library" is "The library": "Use the registry from Rust.",
};

/// Id and Markdown of each command's page.
macro_rules! commands {
    ($($name:literal),* $(,)?) => {
        [$((concat!("commands/", $name), include_str!(concat!("../../../../docs/commands/acp-registry-", $name, ".md")))),*]
    };
}

/// The page of every command, written by `acp-registry man --markdown`.
const COMMANDS: [(&str, &str); 33] = commands![
    "search", "list", "info", "resolve", "install", "run", "serve-agent", "which", "update", "uninstall", "gc",
    "doctor", "login", "logout", "config", "rpc", "new", "probe", "validate", "rules", "explain", "init", "build",
    "serve", "publish", "publish-list", "publish-rollback", "publish-prune", "diff", "verify", "bump", "report",
    "completions",
];

/// A rendered document.
struct Rendered {
    /// The part before the first section, as HTML.
    intro: String,
    /// The sections, as HTML.
    body: String,
    sections: Vec<Section>,
}

/// A section with a heading of level 2.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
}

/// Links to files of the repository other than documents, as written in `docs/`, and the pages that replace them.
const PAGES: [(&str, &str); 4] = [
    ("../../crates/gate/src/check/rules/", "../rules/"),
    ("../../crates/publish/src/contents.rs", "../../api/"),
    ("../../../../schemas/cli/", "../../api/"),
    ("../schemas/cli/", "../../api/"),
];

/// Renders a document. `put_in` transforms text before it is escaped.
fn render(markdown: &str, put_in: &dyn Fn(&str) -> String) -> Rendered {
    let events: Vec<Event<'_>> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut out =
        Writer { put_in, events: Vec::new(), sections: Vec::new(), ids: BTreeSet::new(), snippets: 0, tables: 0 };
    let mut intro = None;
    for (at, event) in events.iter().enumerate() {
        if matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H2, .. })) && intro.is_none() {
            intro = Some(out.html());
        }
        out.add(event, &events[at + 1..]);
    }
    let body = out.html();
    Rendered { intro: intro.unwrap_or_default(), body, sections: out.sections }
}

struct Writer<'a, 'b> {
    put_in: &'b dyn Fn(&str) -> String,
    events: Vec<Event<'a>>,
    sections: Vec<Section>,
    ids: BTreeSet<String>,
    snippets: usize,
    tables: usize,
}

impl<'a> Writer<'a, '_> {
    /// Returns the HTML of the events since the last call.
    fn html(&mut self) -> String {
        let mut text = String::new();
        html::push_html(&mut text, self.events.drain(..));
        text
    }

    fn add(&mut self, event: &Event<'a>, rest: &[Event<'a>]) {
        let event = match event {
            Event::Start(Tag::Heading { level, .. }) => self.heading(*level, rest),
            Event::Start(Tag::CodeBlock(kind)) => self.code(kind),
            Event::End(TagEnd::CodeBlock) => markup("</code></pre></div>\n"),
            Event::Start(Tag::Table(_)) => {
                self.tables += 1;
                let open = format!(
                    "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table {}\">",
                    self.tables
                );
                self.events.push(markup(open));
                event.clone()
            }
            Event::End(TagEnd::Table) => {
                self.events.push(event.clone());
                markup("</div>\n")
            }
            Event::Start(Tag::Link { dest_url, .. }) => inline(open_link(dest_url)),
            Event::End(TagEnd::Link) => inline("</a>"),
            Event::Text(text) => Event::Text((self.put_in)(text).into()),
            Event::Code(text) => Event::Code((self.put_in)(text).into()),
            _ => event.clone(),
        };
        self.events.push(event);
    }

    fn heading(&mut self, level: HeadingLevel, rest: &[Event<'a>]) -> Event<'a> {
        let own = rest.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let title: String = own
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let mut id = slug(&title);
        while !self.ids.insert(id.clone()) {
            id.push_str("-more");
        }
        if level == HeadingLevel::H2 {
            self.sections.push(Section { id: id.clone(), title });
        }
        Event::Start(Tag::Heading { level, id: Some(id.into()), classes: Vec::new(), attrs: Vec::new() })
    }

    fn code(&mut self, kind: &CodeBlockKind<'_>) -> Event<'a> {
        self.snippets += 1;
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        // Examples with a prompt or with output have no button to copy them.
        let (label, is_copied) = match language {
            "sh" => ("Shell", true),
            "console" => ("Example", false),
            "json" => ("JSON", false),
            "toml" => ("TOML", true),
            "rust" => ("Rust", true),
            _ => ("Text", false),
        };
        let name = format!("{label} {}", self.snippets);
        let copy = if is_copied {
            format!("<button type=\"button\" class=\"copy needs-js\" aria-label=\"Copy: {name}\">Copy</button>")
        } else {
            String::new()
        };
        markup(format!(
            "<div class=\"snippet\"><p class=\"label\">{label}</p>{copy}\
             <pre tabindex=\"0\" role=\"region\" dir=\"ltr\" aria-label=\"{name}\"><code>"
        ))
    }
}

fn markup<'a>(text: impl Into<CowStr<'a>>) -> Event<'a> {
    Event::Html(text.into())
}

fn inline<'a>(text: impl Into<CowStr<'a>>) -> Event<'a> {
    Event::InlineHtml(text.into())
}

/// Opens a link to a page of the site or to an https address. Other targets lead to the top of the page.
fn open_link(target: &str) -> String {
    match super::text::link(target) {
        Some(address) => format!("<a href=\"{}\" rel=\"noopener noreferrer\">", address.replace('&', "&amp;")),
        None => format!("<a href=\"{}\">", linked_page(target).unwrap_or_else(|| "#main".to_owned())),
    }
}

/// The page for a link to a file, or to a heading in a file.
fn linked_page(target: &str) -> Option<String> {
    if let Some((_, page)) = PAGES.iter().find(|(file, _)| *file == target) {
        return Some((*page).to_owned());
    }
    let (file, heading) = target.split_at(target.find('#').unwrap_or(target.len()));
    if heading.chars().any(|c| !c.is_alphanumeric() && !"#-".contains(c)) {
        return None;
    }
    if file.is_empty() {
        return Some(heading.to_owned());
    }
    let id = file.rsplit('/').next()?.strip_suffix(".md")?;
    GUIDES.iter().chain(&REFERENCE).any(|guide| guide.id == id).then(|| format!("../{id}/{heading}"))
}

/// The anchor of a heading.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_schema_is_published() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/cli");
        let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.map(|name| format!("schemas/cli/{name}")).collect();
        assert_eq!(schemas("x").map(|(path, _)| path).collect::<BTreeSet<_>>(), there);
    }

    #[test]
    fn every_command_has_its_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands");
        let files = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let named = |name: &str| Some(name.strip_prefix("acp-registry-")?.strip_suffix(".md")?.to_owned());
        let written: BTreeSet<String> = files.filter_map(|name| named(&name)).collect();
        let pages: BTreeSet<String> =
            COMMANDS.iter().filter_map(|(id, _)| id.strip_prefix("commands/")).map(ToOwned::to_owned).collect();
        assert_eq!(written, pages);
    }

    fn html(markdown: &str) -> String {
        render(markdown, &|text| text.replace("HERE", "<b>\"&")).body
    }

    #[test]
    fn what_is_put_in_stays_text() {
        let body = html("## HERE `HERE`\n\nHERE [HERE](https://example.com/?a=1&b=HERE)\n\n```sh\nHERE\n```\n");
        assert!(!body.contains("<b>"), "{body}");
        assert_eq!(body.matches("&lt;b&gt;").count(), 5, "{body}");
        assert!(body.contains("href=\"https://example.com/?a=1&amp;b=HERE\" rel=\"noopener noreferrer\""), "{body}");
    }

    #[test]
    fn headings_have_places_of_their_own() {
        let rendered = render("# Title\n\nLead\n\n## It works\n\n### Deep\n\n## It works!\n", &str::to_owned);
        assert_eq!(rendered.intro, "<h1 id=\"title\">Title</h1>\n<p>Lead</p>\n");
        let sections: Vec<(&str, &str)> =
            rendered.sections.iter().map(|section| (section.id.as_str(), section.title.as_str())).collect();
        assert_eq!(sections, [("it-works", "It works"), ("it-works-more", "It works!")]);
        assert!(rendered.body.starts_with("<h2 id=\"it-works\">") && rendered.body.contains("<h3 id=\"deep\">"));
    }

    #[test]
    fn code_and_tables_can_be_reached_by_the_keyboard_and_have_names() {
        let body = html("## A\n\n```sh\na\n```\n\n```console exit-1\n$ a\n```\n\n| a |\n|---|\n| b |\n");
        for part in [
            "aria-label=\"Shell 1\"", "aria-label=\"Copy: Shell 1\"", "aria-label=\"Example 2\"",
            "aria-label=\"Table 1\"",
        ] {
            assert_eq!(body.matches(part).count(), 1, "{part}: {body}");
        }
        assert_eq!(body.matches("tabindex=\"0\" role=\"region\"").count(), 3);
        assert_eq!(body.matches("class=\"copy").count(), 1);
    }

    #[test]
    fn every_link_of_a_guide_leads_somewhere() {
        let mut seen = 0;
        for (guide, folder) in
            GUIDES.iter().map(|guide| (guide, "docs/guides")).chain(REFERENCE.iter().map(|page| (page, "docs")))
        {
            for event in Parser::new(guide.text) {
                let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
                assert!(!open_link(&dest_url).contains("#main"), "{}: {dest_url}", guide.id);
                seen += 1;
                if dest_url.starts_with("https://") {
                    continue;
                }
                let (file, heading) = dest_url.split_once('#').unwrap_or((&dest_url, ""));
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(file);
                assert!(path.exists(), "{}: {dest_url}", guide.id);
                if !heading.is_empty() {
                    let text = if file.is_empty() { guide.text.to_owned() } else { fs::read_to_string(path).unwrap() };
                    let sections = render(&text, &ToOwned::to_owned).sections;
                    assert!(sections.iter().any(|section| section.id == heading), "{}: {dest_url}", guide.id);
                }
            }
        }
        assert!(seen > 3);
    }

    #[test]
    fn a_guide_begins_with_its_title() {
        for guide in GUIDES.iter().chain(&REFERENCE) {
            assert!(guide.text.starts_with(&format!("# {}\n\n", guide.title)), "{}", guide.id);
        }
        assert_eq!(linked_page("../verifying.md#one-agent").as_deref(), Some("../verifying/#one-agent"));
        assert_eq!(linked_page("#one-agent").as_deref(), Some("#one-agent"));
        for target in ["other.md", "user.md#\"", "../../LICENSE"] {
            assert_eq!(linked_page(target), None, "{target}");
        }
    }
}
