//! BUILD: a registry to its published tree, with the catalog site and the history.
//!
//! * [`build()`]: builds what a [`BuildRequest`] asks for; [`Tree::write`] writes the result to disk
//! * [`TreeLocation`]: the location of an earlier tree, a directory or a URL
//!
//! [`Tree::write`]: crate::tree::Tree::write

mod documents;
mod error;
mod place;

use std::path::Path;

use acp_registry_client::registry::{DEFAULT_BASE_URL, Registry};
use acp_registry_gate::check::{self, Checked, Selection, check};

pub use error::{DocumentError, Error, SiteDocument};
pub use place::{PlaceError, TreeLocation};

use self::documents::Documents;
use crate::site::{self, Catalog, Known};
use crate::tree::{self, Built, INDEX, PublishedTree, Tree};
use acp_registry_plan::timestamp::Timestamp;

/// What to build, and how.
pub struct BuildRequest<'a> {
    /// The registry to build.
    pub registry: &'a Registry,
    /// How the registry is checked, with its configuration.
    pub check: &'a check::CheckOptions<'a>,
    /// Base URL of the published tree; overrides the configured one.
    pub base_url: Option<&'a str>,
    /// The previously published tree.
    pub earlier: Option<EarlierTree<'a>>,
    /// What the catalog site is built from. Without it, the tree has only the indexes, icons and schemas, and no entries
    /// of single agents.
    pub site: Option<Site<'a>>,
}

/// The previously published tree.
///
/// Agents with errors keep the entry that they have there. If git has only part of the history, the history of this
/// tree is continued.
#[derive(Clone, Copy)]
pub struct EarlierTree<'a> {
    /// The files of the tree.
    pub tree: &'a dyn PublishedTree,
    /// The time of this build, used for changes whose own time is not known.
    pub now: Timestamp,
}

/// Inputs of the catalog site, beside the entries.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The registry's directory, as messages name it.
    pub directory: &'a Path,
    /// The capability snapshot; by default `capabilities.json` in the registry, if it exists.
    pub capabilities: Option<&'a Path>,
    /// The history; by default `history.json` in the registry if it exists, else the registry's git commits.
    pub history: Option<&'a Path>,
    /// Base URL of the tree that the commands on the pages name, if it is not the base URL of the pages, as in a
    /// preview.
    pub published: Option<&'a str>,
}

/// Checks a registry, builds its tree, and passes the findings with the tree, or why there is none, to `then`. The same
/// request and files give the same bytes.
///
/// The tree ends with the call, because it renders the pages of large registries when they are needed.
pub fn build<T>(request: &BuildRequest<'_>, then: impl FnOnce(&Checked, Result<&Built<'_>, Error>) -> T) -> T {
    let (checked, documents) = rayon::join(
        || check(request.registry, request.check, &Selection::All),
        || request.site.as_ref().map(Documents::read).transpose(),
    );
    let (base, documents) = match without_site(request, &checked, documents) {
        Ok(base) => base,
        Err(error) => return then(&checked, Err(error)),
    };
    let (Some(site), Some(documents)) = (&request.site, &documents) else { return then(&checked, Ok(&base)) };
    let known = Known::of(&documents.capabilities);
    let config = request.check.config;
    let base_url = request.base_url.or(config.base_url.as_deref()).unwrap_or(DEFAULT_BASE_URL).trim_end_matches('/');
    let published = site.published.unwrap_or(base_url).trim_end_matches('/');
    let registry_url = (published != DEFAULT_BASE_URL).then(|| format!("{published}/{INDEX}"));
    let options = site::SiteOptions {
        index: base.tree.file(INDEX).unwrap_or(b"{}"),
        base_url,
        registry_url: registry_url.as_deref(),
        config: &config.site,
        known: &known,
        history: &documents.history,
        icon: &|id| base.tree.file(&format!("{id}.svg")),
    };
    let catalog = match Catalog::new(options) {
        Ok(catalog) => catalog,
        Err(error) => return then(&checked, Err(error.into())),
    };
    match with_site(&base.tree, &catalog) {
        Ok(tree) => then(&checked, Ok(&base.with_tree(tree))),
        Err(error) => then(&checked, Err(error)),
    }
}

/// Builds the tree without the site, and completes the history.
fn without_site<'a>(
    request: &BuildRequest<'a>,
    checked: &Checked,
    documents: Result<Option<Documents>, DocumentError>,
) -> Result<(Built<'a>, Option<Documents>), Error> {
    let mut documents = documents?;
    let previous = request.earlier.map(|earlier| earlier.tree);
    let has_entries = request.site.is_some();
    let options = tree::TreeOptions { base_url: request.base_url, check: request.check, previous, has_entries };
    let built = tree::build(request.registry, checked, &options)?;
    if let (Some(earlier), Some(documents)) = (&request.earlier, &mut documents) {
        documents.continue_history(earlier, built.tree.file(INDEX).unwrap_or(b"{}"))?;
    }
    Ok((built, documents))
}

/// The tree with the files of the catalog.
fn with_site<'a>(tree: &'a Tree<'_>, catalog: &'a Catalog<'_>) -> Result<Tree<'a>, Error> {
    let tree = tree.borrowed().with(catalog.parts())?;
    let last = catalog.last(tree.names())?;
    Ok(tree.with(vec![Box::new(move || Ok(last.clone()))])?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::tree::TreeDirectory;
    use acp_registry_gate::check::Levels;
    use acp_registry_gate::config::Config;
    use acp_registry_http::AllowedHosts;

    const ICON: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"><path fill="currentColor" d="M0 0h16v16H0z"/></svg>"#;

    fn write_agent(registry: &Path, version: &str) {
        let manifest = serde_json::json!({
            "id": "a", "name": "A", "version": version, "description": "An agent", "authors": ["A"],
            "license": "MIT", "distribution": { "npx": { "package": format!("a@{version}") } },
        });
        fs::create_dir_all(registry.join("a")).unwrap();
        fs::write(registry.join("a/agent.json"), manifest.to_string()).unwrap();
        fs::write(registry.join("a/icon.svg"), ICON).unwrap();
    }

    /// Builds `r` below `folder` into `out`, with a site and with `earlier` as the previous tree.
    fn build_to(folder: &Path, out: &str, earlier: Option<&str>) -> Result<Vec<String>, Error> {
        let directory = folder.join("r");
        let registry = Registry::load(&directory).unwrap();
        let (levels, allowed_hosts, config) = (Levels::default(), AllowedHosts::default(), Config::default());
        let check =
            check::CheckOptions { levels: &levels, allowed_hosts: &allowed_hosts, config: &config, survey: None };
        let earlier = earlier.map(|earlier| TreeDirectory(folder.join(earlier)));
        let now = Timestamp::from_unix(1_000_000_000).unwrap();
        let request = BuildRequest {
            registry: &registry,
            check: &check,
            base_url: Some("https://example.com/r/"),
            earlier: earlier.as_ref().map(|tree| EarlierTree { tree, now }),
            site: Some(Site { directory: &directory, capabilities: None, history: None, published: None }),
        };
        build(&request, |_, built| {
            let tree = &built?.tree;
            tree.write(&folder.join(out), &registry.root).unwrap();
            Ok(tree.files().into_iter().map(|(name, _)| name.to_owned()).collect())
        })
    }

    #[test]
    fn one_call_gives_the_tree_with_its_site_and_the_history_after_an_earlier_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_agent(&root.join("r"), "1.0.0");
        let files = build_to(root, "one", None).unwrap();
        assert!(files.contains(&"agents/a/index.html".to_owned()) && !files.contains(&"history.json".to_owned()));
        write_agent(&root.join("r"), "1.1.0");
        build_to(root, "two", Some("one")).unwrap();
        let history = fs::read_to_string(root.join("two/history.json")).unwrap();
        assert!(history.contains("2001-09-09T01:46:40Z") && history.contains("updated"), "{history}");
        let page = fs::read_to_string(root.join("two/agents/a/index.html")).unwrap();
        assert!(page.contains("https://example.com/r/registry.json"), "{page}");
    }

    #[test]
    fn what_cannot_be_used_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write_agent(&root.join("r"), "1.0.0");
        build_to(root, "one", None).unwrap();
        fs::write(root.join("one/history.json"), "{}").unwrap();
        let error = build_to(root, "two", Some("one")).unwrap_err();
        assert!(matches!(&error, Error::History { file: "history.json", .. }), "{error}");
        fs::write(root.join("r/capabilities.json"), "{").unwrap();
        let error = build_to(root, "two", None).unwrap_err();
        assert!(matches!(&error, Error::Document(error) if error.document == SiteDocument::Capabilities), "{error}");
        assert!(error.to_string().contains("capabilities.json is not JSON") && !error.remedy().to_string().is_empty());
    }
}
