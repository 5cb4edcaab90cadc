//! Renders `/docs/`, the guides, the reference, the rules and the pages of commands; and `schemas/cli/`, the JSON Schemas of
//! the program's JSON output.

use acp_registry_client::registry::DEFAULT_BASE_URL;
use acp_registry_gate::check::{RULES, Rule, schema};
use askama::Template;

use super::commonmark::{Rendered, render};
use super::guides::{COMMANDS, GUIDES, Guide, REFERENCE};
use super::pages::{Frame, RuleGroup, Rules, ShownExample, ShownRule, Site};
use super::{SiteError, SiteFile, page};

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

/// Renders `/docs/rules/` from the rules.
pub(super) fn rules(site: &Site) -> Rules<'_> {
    let mut groups: Vec<RuleGroup> = Vec::new();
    for rule in RULES {
        match groups.last_mut().filter(|group| group.name == rule.group()) {
            Some(group) => group.rules.push(shown(rule)),
            None => groups.push(RuleGroup { name: rule.group(), rules: vec![shown(rule)] }),
        }
    }
    let description = "What is checked in a registry of ACP agents, why, and what to do about each finding.";
    Rules { f: Frame::new(site, "docs/rules/", "Rules – ACP agents", description), rule_groups: groups }
}

fn shown(rule: &Rule) -> ShownRule {
    let fails = rule.fails.excerpts().into_iter().map(|(file, text)| (format!("Reported, in {file}"), text));
    let passes = rule.passes.excerpts().into_iter().map(|(file, text)| (format!("Passes, in {file}"), text));
    ShownRule {
        id: rule.name.replace('/', "-"),
        name: rule.name,
        level: rule.level.as_str(),
        summary: rule.summary,
        why: rule.why,
        fix: rule.fix,
        examples: fails.chain(passes).map(|(title, text)| ShownExample { title, text }).collect(),
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_schema_is_published() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/cli");
        let names = fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
        let there: BTreeSet<String> = names.map(|name| format!("schemas/cli/{name}")).collect();
        assert_eq!(schemas("x").map(|(path, _)| path).collect::<BTreeSet<_>>(), there);
    }
}
