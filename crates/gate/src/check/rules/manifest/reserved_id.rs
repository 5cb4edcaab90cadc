use crate::check::rules::prelude::*;
use acp_registry_archive::is_device;
use acp_registry_plan::manifest::AgentId;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/reserved-id",
    level: Level::Error,
    summary: "the id is a reserved name, or too long",
    why: "Ids become file and folder names: `con` cannot be created on Windows, and `registry` or `agents` are names \
          in the published tree. Ids longer than 100 bytes are too long for file names.",
    fix: "Choose a more specific id, such as the name of the product.",
    fails: Example::Manifest("\"id\": \"con\""),
    marks: "\"con\"",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Manifest(check),
};

/// Names of files, folders and pages in the published tree, and of folders that are skipped when a registry is loaded.
const PUBLISHED: &[&str] = &[
    "about", "accessibility", "agent", "agents", "all", "api", "assets", "auth", "badge", "cap", "changes", "compare",
    "dist", "docs", "editors", "feed", "feeds", "history", "icon", "icons", "index", "latest", "license", "llms",
    "matrix", "new", "opensearch", "os", "quarantine", "registry", "robots", "schema", "schemas", "search", "sitemap",
    "static", "updated",
];

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let id = subject.agent().id.as_str();
    let what = if is_device(id) {
        "a device name of Windows"
    } else if id.len() > AgentId::LIMIT {
        "longer than 100 bytes, and too long for file names"
    } else if PUBLISHED.contains(&id) || is_view(subject, id) {
        "a name in the published tree"
    } else {
        return;
    };
    report.value("/id", format!("{} is {what}", quote(id))).help("choose another id");
}

fn is_view(subject: &Subject<'_>, id: &str) -> bool {
    subject.options.config.views.iter().any(|view| view.file.strip_suffix(".json") == Some(id))
}
