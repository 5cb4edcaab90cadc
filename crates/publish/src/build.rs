//! BUILD: a registry to its published tree, with the catalog site and the history.
//!
//! * [`build()`]: builds what a [`BuildRequest`] asks for; [`Tree::write`] writes the result to disk
//! * [`TreeLocation`]: the location of an earlier tree, a directory or a URL
//!
//! [`Tree::write`]: crate::tree::Tree::write

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::SystemTime;

use acp_registry_client::index::FormError;
use acp_registry_client::registry::{DEFAULT_BASE_URL, Registry};
use acp_registry_gate::check::{self, Checked, Selection, check};
use acp_registry_gate::history::{EarlierManifests, Extent, HISTORY_FILE, HISTORY_LIMIT, History};
use acp_registry_gate::verify::{SNAPSHOT_LIMIT, Snapshot};
use acp_registry_host::fs::read_bounded;
use acp_registry_http::{Client, Problem, Settings};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::index::INDEX;
use acp_registry_plan::timestamp::{Timestamp, today};
use tokio::runtime::Runtime;
use url::Url;

use crate::diff;
use crate::site::{self, Catalog, Known, SiteError};
use crate::tree::{
    self, BuildError, Built, PublishedError, PublishedTree, RenderError, Tree, TreeDirectory, TreeOutput,
};

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
    /// The directory that the tree will be written to, if it will.
    pub output: Option<&'a Arc<TreeOutput>>,
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
    let (checked, documents) =
        rayon::join(|| check(request.registry, request.check, &Selection::All), || Documents::read(request));
    let (base, documents) = match without_site(request, &checked, documents) {
        Ok(base) => base,
        Err(error) => return then(&checked, Err(error)),
    };
    let (Some(site), Some(documents)) = (&request.site, &documents) else { return then(&checked, Ok(&base)) };
    let known = Known::of(&documents.capabilities);
    let config = request.check.config;
    let base_url = tree::base_url(request.base_url, config, &request.registry.root);
    let published = site.published.or(base_url).unwrap_or(tree::NOWHERE).trim_end_matches('/');
    let registry_url = (published != DEFAULT_BASE_URL).then(|| format!("{published}/{INDEX}"));
    let options = site::SiteOptions {
        index: base.tree.file(INDEX).unwrap_or(b"{}"),
        base_url: base_url.unwrap_or(tree::HERE),
        registry_url: registry_url.as_deref(),
        signer: config.signer,
        config: &config.site,
        known: &known,
        history: &documents.history,
        icon: &|id| base.tree.file(&format!("{id}.svg")),
        revocations: &request.registry.revocations(),
        earlier: &|id| base.tree.file(&tree::list_path(id)),
    };
    let catalog = match Catalog::new(options) {
        Ok(catalog) => catalog,
        Err(error) => return then(&checked, Err(error.into())),
    };
    match with_site(&base.tree, &catalog, request.output) {
        Ok(tree) => then(&checked, Ok(&Built { tree, ..base })),
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
    let none = EarlierManifests::new();
    let is_whole = |documents: &Documents| documents.is_from_git && *documents.history.extent() == Extent::Whole;
    let more = previous.filter(|_| !documents.as_ref().is_some_and(is_whole));
    let earlier = (documents.as_ref().map_or(&none, |documents| &documents.manifests), more);
    let today = today(SystemTime::now());
    let options =
        tree::TreeOptions { base_url: request.base_url, check: request.check, previous, has_entries, earlier, today };
    let built = tree::build(request.registry, checked, &options)?;
    if let (Some(_), Some(earlier), Some(documents)) = (&request.site, &request.earlier, &mut documents) {
        documents.continue_history(earlier, built.tree.file(INDEX).unwrap_or(b"{}"))?;
    }
    Ok((built, documents))
}

/// The tree with the files of the catalog.
fn with_site<'a>(
    tree: &'a Tree<'_>,
    catalog: &'a Catalog<'_>,
    output: Option<&Arc<TreeOutput>>,
) -> Result<Tree<'a>, Error> {
    let tree = tree.borrowed().with(catalog.parts(), output)?;
    let last = catalog.last(tree.names())?;
    Ok(tree.with(vec![Box::new(move || Ok(last.clone()))], output)?)
}

/// The documents that the site is built from, beside the index, and that tell which versions there were.
struct Documents {
    /// The capabilities of agents.
    capabilities: Snapshot,
    history: History,
    /// Whether the history was read from git. Only then may it be continued from the earlier tree.
    is_from_git: bool,
    /// The manifests of earlier versions.
    manifests: EarlierManifests,
}

impl Documents {
    /// Reads the named files, or by default those in the registry. Without a history file, reads the history from
    /// git. `None` if nothing needs them: without a site, versions that are held need the history.
    fn read(request: &BuildRequest<'_>) -> Result<Option<Self>, DocumentError> {
        let site = request.site.as_ref();
        if site.is_none() && request.check.config.hold.is_empty() {
            return Ok(None);
        }
        let directory = site.map_or(request.registry.root.as_path(), |site| site.directory);
        let file = |named: Option<&Path>, usual: &str| {
            let in_registry = || Some(directory.join(usual)).filter(|path| path.is_file());
            let named = named.map(|path| (path.to_owned(), None));
            named.or_else(|| Some((in_registry()?, Some(directory))))
        };
        let capabilities = match site.and_then(|site| file(site.capabilities, "capabilities.json")) {
            Some(file) => document(file, "--capabilities", SNAPSHOT_LIMIT, Snapshot::parse)?,
            None => Snapshot::default(),
        };
        let written = file(site.and_then(|site| site.history), HISTORY_FILE);
        let is_from_git = written.is_none();
        let (history, manifests) = match written {
            Some(file) => (document(file, "--history", HISTORY_LIMIT, History::parse)?, EarlierManifests::new()),
            None => History::read(directory),
        };
        Ok(Some(Self { capabilities, history, is_from_git, manifests }))
    }

    /// Continues the history of the earlier tree up to `index`, if the history from git is incomplete.
    fn continue_history(&mut self, earlier: &EarlierTree<'_>, index: &[u8]) -> Result<(), Error> {
        if !self.is_from_git || *self.history.extent() == Extent::Whole {
            return Ok(());
        }
        let failed = |file, error: &dyn Display| Error::History { file, message: error.to_string() };
        let Some(before) = earlier.tree.read(INDEX)? else { return Ok(()) };
        let before = diff::Agents::parse(&before).map_err(|error| failed(INDEX, &error))?;
        let now = diff::Agents::parse(index).map_err(Error::Index)?;
        let written = earlier.tree.read(HISTORY_FILE)?.map(|bytes| History::parse(&bytes)).transpose();
        let written = written.map_err(|error| failed(HISTORY_FILE, &error))?;
        self.history = diff::compare(&before, &now).continue_history(written, &self.history, earlier.now);
        Ok(())
    }
}

/// Reads a file that a person has named, or one of a registry, whose links lead to no file outside.
fn document<T, E: Display>(
    (path, registry): (PathBuf, Option<&Path>),
    flag: &'static str,
    limit: u64,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<T, DocumentError> {
    let read = || {
        let root = registry.unwrap_or(&path).canonicalize().map_err(|error| format!(": {error}"))?;
        let file = if registry.is_some() { &path } else { &root };
        let bytes = read_bounded(file, &root, limit).map_err(|error| format!(": {error}"))?;
        parse(&bytes).map_err(|error| format!(" {error}"))
    };
    read().map_err(|why| DocumentError { flag, is_usual: registry.is_some(), path, why })
}

/// Why a registry cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capability snapshot or the history cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The tree cannot be built.
    #[error(transparent)]
    Tree(#[from] BuildError),
    /// The earlier tree cannot be read.
    #[error(transparent)]
    Previous(#[from] PublishedError),
    /// The history of the earlier tree cannot be continued.
    #[error("{file} of the previous tree {message}")]
    History {
        /// The invalid file of the earlier tree.
        file: &'static str,
        /// What is wrong, as the rest of a sentence that begins with the file.
        message: String,
    },
    /// The new index cannot be compared with the earlier one.
    #[error("the new registry.json {0}")]
    Index(FormError),
    /// The site cannot be read from the index.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// A page of the site cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// A capability snapshot or a history cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", path.display())]
pub struct DocumentError {
    /// The flag that names it.
    flag: &'static str,
    /// The path of the document.
    pub path: PathBuf,
    /// Whether it is in the registry, and was not named.
    is_usual: bool,
    /// What is wrong, appended to the path in messages.
    why: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Document(error) => error.into(),
            Error::Tree(error) => error.into(),
            Error::Previous(error) => error.into(),
            Error::Site(error) => error.into(),
            Error::History { .. } => Self::unable(error).help(HISTORY),
            error => Self::unable(error).help(SITE),
        }
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        let help = if error.is_usual {
            "correct the file, or remove it".to_owned()
        } else {
            format!("correct the file, or name another with {}", error.flag)
        };
        Self::usage(error).help(help)
    }
}

/// If the history cannot be continued from the tree that `--previous` names.
const HISTORY: &str = "name another tree with --previous, or a history with --history";

/// If pages cannot be rendered. No valid index should cause this.
const SITE: &str = "leave the site out with --no-site, and report this as a bug of acp-registry";

/// The largest file that is fetched, in bytes.
const FILE_LIMIT: u64 = 64 << 20;

/// The location of a published tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLocation {
    /// A local directory.
    Directory(PathBuf),
    /// A base URL, which ends in a slash.
    Web(Url),
}

/// Why a published tree cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The text is not a valid URL.
    #[error("the previous tree {place}: {message}")]
    Address {
        /// The text.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Client(#[from] Problem),
    /// The async runtime cannot be created.
    #[error(transparent)]
    Runtime(#[from] io::Error),
}

impl FromStr for TreeLocation {
    type Err = PlaceError;

    fn from_str(place: &str) -> Result<Self, PlaceError> {
        let Some((scheme, _)) = place.split_once("://") else { return Ok(Self::Directory(place.into())) };
        let wrong = |message: String| PlaceError::Address { place: place.to_owned(), message };
        let base =
            Url::parse(&format!("{}/", place.trim_end_matches('/'))).map_err(|error| wrong(error.to_string()))?;
        if scheme == "file" {
            // Windows would read from that host, and send it the person's credentials.
            if base.host().is_some() {
                return Err(wrong("the address of a file names no host".to_owned()));
            }
            return base.to_file_path().map(Self::Directory).map_err(|()| wrong("no path".to_owned()));
        }
        Ok(Self::Web(base))
    }
}

impl TreeLocation {
    /// Opens the tree. Its files are read on demand.
    ///
    /// A tree at a URL blocks while it waits for responses, and must not be read inside an async runtime. `settings`
    /// is only called for a URL.
    ///
    /// # Errors
    /// [`PlaceError`] when the HTTP client or the runtime for it cannot be created.
    pub fn open(
        self,
        settings: impl FnOnce() -> Result<Settings, Problem>,
    ) -> Result<Box<dyn PublishedTree>, PlaceError> {
        Ok(match self {
            Self::Directory(path) => Box::new(TreeDirectory(path)),
            Self::Web(base) => {
                let client = Client::new(settings()?);
                Box::new(Remote { base, client, runtime: Runtime::new()? })
            }
        })
    }
}

struct Remote {
    base: Url,
    client: Client,
    runtime: Runtime,
}

impl PublishedTree for Remote {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let url = self.base.join(name).map_err(|error| PublishedError::new(name, &error))?;
        self.runtime
            .block_on(self.client.get(&url, FILE_LIMIT))
            .map_err(|error| PublishedError { remedy: error.problem.remedy(), ..PublishedError::new(name, &error) })
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        match error {
            PlaceError::Address { .. } => {
                Self::usage(error).help("write the address or the directory of a published tree")
            }
            PlaceError::Client(ref problem) => {
                let help = problem.remedy();
                Self::unable(error).help_if(help)
            }
            PlaceError::Runtime(_) => Self::unable(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TreeDirectory;
    use acp_registry_gate::check::Levels;
    use acp_registry_gate::config::Config;
    use acp_registry_http::AllowedHosts;
    use std::fs;

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
        let check = check::CheckOptions {
            levels: &levels,
            allowed_hosts: &allowed_hosts,
            config: &config,
            survey: None,
            advisories: None,
        };
        let earlier = earlier.map(|earlier| TreeDirectory(folder.join(earlier)));
        let now = Timestamp::from_unix(1_000_000_000).unwrap();
        let output = Arc::new(TreeOutput::new(&folder.join(out), &registry.root));
        let request = BuildRequest {
            registry: &registry,
            check: &check,
            base_url: Some("https://example.com/r/"),
            earlier: earlier.as_ref().map(|tree| EarlierTree { tree, now }),
            site: Some(Site { directory: &directory, capabilities: None, history: None, published: None }),
            output: Some(&output),
        };
        build(&request, |_, built| {
            let tree = &built?.tree;
            tree.write(&output).unwrap();
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
        assert!(matches!(&error, Error::Document(error) if error.flag == "--capabilities"), "{error}");
        assert!(error.to_string().contains("capabilities.json is not JSON"));
    }

    #[test]
    fn a_place_is_a_directory_or_an_address() {
        let web = |url: &str| TreeLocation::Web(Url::parse(url).unwrap());
        let directory = |path: &str| TreeLocation::Directory(path.into());
        for (text, expected) in [
            ("https://example.com/r", web("https://example.com/r/")),
            ("https://example.com/r//", web("https://example.com/r/")),
            ("dist", directory("dist")),
            ("", directory("")),
        ] {
            assert_eq!(text.parse::<TreeLocation>().unwrap(), expected);
        }
        for wrong in ["http://", "https://a b/", "file://host.example/r"] {
            let error = wrong.parse::<TreeLocation>().unwrap_err();
            assert!(matches!(error, PlaceError::Address { .. }), "{wrong}");
            assert!(Failure::from(error).advice().is_some(), "{wrong}");
        }
    }
}
