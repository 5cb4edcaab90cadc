//! Renders `/docs/`: the guides, the reference and the pages of commands.

use askama::Template;

use super::commonmark::{Rendered, render};
use super::guides::{COMMANDS, GUIDES, Guide, REFERENCE};
use super::pages::{Frame, Site};
use super::{SiteError, SiteFile, page};
use acp_registry_client::registry::DEFAULT_BASE_URL;

/// The page of a command.
struct CommandPage {
    /// The folder of the page.
    path: String,
    /// The full name of the command, with `acp-registry`.
    title: &'static str,
    about: &'static str,
    text: &'static str,
}

impl CommandPage {
    /// The title is the first line of the Markdown, the description its first paragraph.
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

pub(super) fn pages(site: &Site) -> Result<Vec<SiteFile>, SiteError> {
    let description = "How to use, add and publish agents and use them from programs, and the rules of the registry.";
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

/// Renders a page from Markdown, and replaces the address of the public registry with that of this one.
fn document(site: &Site, path: &str, title: &'static str, about: &str, markdown: &str) -> Result<SiteFile, SiteError> {
    let base = site.registry_url.as_deref().and_then(|url| url.strip_suffix("/registry.json"));
    let f = Frame::new(site, path, &format!("{title} – ACP agents"), about);
    let text = render(markdown, &|text| match base {
        Some(base) => text.replace(DEFAULT_BASE_URL, base),
        None => text.to_owned(),
    });
    page(path, &ShownGuide { f, title, text })
}
