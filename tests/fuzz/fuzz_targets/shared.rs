//! A registry of one agent, in memory.

use std::path::Path;

use acp_registry::check::{self, CheckOptions, Levels, Selection};
use acp_registry::config::Config;
use acp_registry::http::AllowedHosts;
use acp_registry::manifest::Manifest;
use acp_registry::registry::{AgentFolder, Loaded, Registry};
use acp_registry::tree;

pub fn check(manifest: &str, icon: Option<&str>) {
    let manifest = Manifest::parse(manifest.to_owned()).map_or_else(Loaded::Broken, Loaded::Present);
    let icon = icon.map_or(Loaded::Missing, |icon| Loaded::Present(icon.to_owned()));
    let entry = AgentFolder { id: "a".to_owned(), manifest, icon };
    let registry = Registry::with_one(Path::new("/"), entry);
    let (levels, allowed_hosts, config) = (Levels::default(), AllowedHosts::default(), Config::default());
    let options = CheckOptions { levels: &levels, allowed_hosts: &allowed_hosts, config: &config, survey: None, advisories: None };
    let checked = check::check(&registry, &options, &Selection::All);
    for finding in &checked.findings {
        let text = registry.text(&finding.file).unwrap_or_default();
        if let Some(span) = finding.span {
            assert!(span.line >= 1 && span.column >= 1 && (span.line, span.column) <= (span.end_line, span.end_column));
            assert!(text.get(span.bytes(text)).is_some());
        }
    }
    let options = tree::TreeOptions { base_url: None, check: &options, previous: None, has_entries: true };
    if let Ok(built) = tree::build(&registry, &checked, &options) {
        let bytes = built.tree.file("registry.json").expect("an index");
        assert!(bytes.is_ascii() && Manifest::parse(String::from_utf8_lossy(bytes).into_owned()).is_ok());
    }
}
