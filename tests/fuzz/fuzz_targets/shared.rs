//! A registry of one agent, in memory.

use std::path::Path;

use acp_registry::check::{self, Levels, Options, Selection};
use acp_registry::config::Config;
use acp_registry::manifest::Manifest;
use acp_registry::http::AllowedHosts;
use acp_registry::registry::{Entry, Loaded, Registry};
use acp_registry::report::{Format, Look, Report};
use acp_registry::tree;

pub fn check(manifest: &str, icon: Option<&str>) {
    let manifest = Manifest::parse(manifest.to_owned()).map_or_else(Loaded::Broken, Loaded::Present);
    let icon = icon.map_or(Loaded::Missing, |icon| Loaded::Present(icon.to_owned()));
    let entry = Entry { id: "a".to_owned(), manifest, icon };
    let registry = Registry::of_one(Path::new("/"), entry);
    let (levels, allowed_hosts, config) = (Levels::default(), AllowedHosts::default(), Config::default());
    let options = Options { levels: &levels, allowed_hosts: &allowed_hosts, config: &config, survey: None };
    let checked = check::check(&registry, &options, &Selection::All);
    let text = |file: &str| registry.text(file);
    for finding in &checked.findings {
        let text = registry.text(&finding.file).unwrap_or_default();
        if let Some(span) = finding.span {
            assert!(span.line >= 1 && span.column >= 1 && (span.line, span.column) <= (span.end_line, span.end_column));
            assert!(text.get(span.bytes(text)).is_some());
        }
    }
    let report =
        Report { checked: &checked, duration: Default::default(), text: &text, prefix: "", look: Look::default() };
    for (_, format) in Format::ALL {
        let rendered = report.render(format);
        assert!(!rendered.contains('\u{1b}'));
    }
    let options = tree::Options { base_url: None, check: &options, previous: None, has_entries: true };
    if let Ok(built) = tree::build(&registry, &checked, &options) {
        let bytes = built.tree.file("registry.json").expect("an index");
        assert!(bytes.is_ascii() && Manifest::parse(String::from_utf8_lossy(bytes).into_owned()).is_ok());
    }
}
