//! AGGREGATE: a checked registry to the published tree.
//!
//! * [`build()`]: builds a [`Tree`] in memory from a registry and its findings
//! * [`base_url`]: the address below which a tree is published
//! * [`Tree`]: the files of a published registry with their checksums; writes them to a directory
//! * [`PublishedTree`]: an earlier tree, from which agents with errors keep their published entry

mod choice;
mod files;
mod index;
mod versions;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use acp_registry_client::registry::{DEFAULT_BASE_URL, Loaded, Registry};
use acp_registry_gate::check::{self, Checked, schema};
use acp_registry_gate::config::{Config, Schemas, View, is_registry};
use acp_registry_plan::closure::{CLOSURES, Closures, EARLIER_CLOSURES};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::index::INDEX;
use acp_registry_plan::json;
use acp_registry_plan::manifest::PackageKind;
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::text::{brief_list, printable, quote};
use acp_registry_plan::versions::VERSIONS;
use rayon::prelude::*;
use time::Date;

use acp_registry_gate::history::EarlierManifests;
use choice::{AgentSource, Chosen, KeptAgent, choose};
pub use choice::{PublishedError, PublishedTree, SignedTree, TreeDirectory};
use files::{Content, FileSet};
pub use files::{Difference, FileDigest, Render, RenderError, Tree, TreeError, TreeOutput};
use index::{DiscoveryFiles, ParsedIndex, index, rendered};
use versions::Earlier;
pub(crate) use versions::list_path;

/// How a tree is built.
pub struct TreeOptions<'a> {
    /// Base URL of the published tree; overrides the configured one.
    pub base_url: Option<&'a str>,
    /// How the registry was checked. Earlier entries are checked in the same way.
    pub check: &'a check::CheckOptions<'a>,
    /// An earlier tree, from which agents with errors keep their last entry. Those that it lacks are left out.
    pub previous: Option<&'a dyn PublishedTree>,
    /// Whether the tree has the entries of single agents.
    pub has_entries: bool,
    /// The manifests of earlier versions, which are published with the entries, and the earlier tree that has more of them.
    pub earlier: (&'a EarlierManifests, Option<&'a dyn PublishedTree>),
    /// The day, for holds that end.
    pub today: Date,
}

/// A tree, and the outcome of each agent.
pub struct Built<'a> {
    /// The files of the tree.
    pub tree: Tree<'a>,
    /// The outcomes of the agents, ordered by folder name.
    pub agents: Vec<BuiltAgent>,
    /// Kept agents that lack an entry in a view of the earlier tree, as pairs of id and view. They are not published
    /// in that view.
    pub missing: Vec<(String, String)>,
    /// Agents without an icon in their folder that keep the previously published one.
    pub kept_icons: Vec<String>,
    /// Whether the location of the earlier tree has no published tree yet. It is only read when an earlier entry is
    /// needed.
    pub nothing_published: bool,
    /// Why the earlier icons of agents without an icon could not be read.
    pub unknown_icons: Option<PublishedError>,
}

impl Built<'_> {
    /// The ids of the agents whose outcome matches `is`.
    pub fn with(&self, is: fn(AgentOutcome) -> bool) -> impl Iterator<Item = &str> {
        self.agents.iter().filter(move |agent| is(agent.outcome)).map(|agent| agent.id.as_str())
    }

    /// Whether no agent is kept or left out because of errors. False as well if nothing is published at the location
    /// of the earlier tree, because agents without a manifest cannot be detected then.
    pub fn is_complete(&self) -> bool {
        let is_other = |outcome| matches!(outcome, AgentOutcome::Kept | AgentOutcome::LeftOut(_));
        !self.nothing_published && self.with(is_other).next().is_none()
    }
}

/// The base URL of a tree whose address is not known: its links are relative.
pub(crate) const HERE: &str = ".";

/// The address of a tree whose address is not known, in commands, which need some: it says what is missing, and leads nowhere.
pub(crate) const NOWHERE: &str = "https://base-url-is-not-set.invalid";

/// The base URL of a tree, without a slash at the end: the named one, that of the configuration, or, for a folder without a
/// `registry.toml`, that of the public registry. `None` for a registry of its own whose address is not set, which must not
/// lead to another one: its links are relative.
pub fn base_url<'a>(named: Option<&'a str>, config: &'a Config, registry: &Path) -> Option<&'a str> {
    let default = || (!is_registry(registry)).then_some(DEFAULT_BASE_URL);
    Some(named.or(config.base_url.as_deref()).or_else(default)?.trim_end_matches('/'))
}

/// Builds the published tree in memory. The same registry and options give the same bytes.
///
/// # Errors
/// [`BuildError`]: agents have errors and no earlier entry, there are no agents to publish, the configuration of a
/// view or schema is invalid, or the earlier tree cannot be read.
pub fn build<'a>(
    registry: &'a Registry,
    checked: &Checked,
    options: &TreeOptions<'_>,
) -> Result<Built<'a>, BuildError> {
    let config = options.check.config;
    let views = config.views();
    // Reported before findings about the schema, because this error names the configuration.
    let own = |path: &Option<String>| {
        let path = path.as_ref()?;
        let read = Schemas::read(&registry.root, path);
        Some(read.map_err(|message| BuildError::Schema { path: path.clone(), message }))
    };
    let own_agent = own(&config.schemas.agent).transpose()?;
    let own_registry = own(&config.schemas.registry).transpose()?;
    if let Some(problem) = registry.revoked.problem().filter(|_| !matches!(registry.revoked, Loaded::Missing)) {
        return Err(BuildError::Revocations(format!("{REVOKED}{problem}")));
    }
    let chosen = choose(registry, checked, options.check, options.previous, &views)?;
    let Chosen { sources, agents, icons: kept_icons, nothing_published, no_icons: unknown_icons } = chosen;

    let base_url = base_url(options.base_url, config, &registry.root).unwrap_or(HERE);
    let mut files: BTreeMap<String, Content<'a>> = BTreeMap::new();
    let (mut parts, mut of_agents): (Vec<Render<'a>>, Vec<FileSet<'a>>) = Default::default();
    let missing = missing(&views, &sources);
    let revoked = registry.revoked.present().map(|document| json::to_string(&document.value()));
    let digest = revoked.as_ref().map(Sha256::of);
    let mut discovery = options.has_entries.then(|| DiscoveryFiles::new(base_url, digest));
    let earlier = Earlier::new(options.earlier, registry.revocations(), options.check);
    let sources = Arc::new(sources);
    for view in views {
        let sources = earlier.held(&sources, &view, options.today)?.map_or_else(|| Arc::clone(&sources), Arc::new);
        // A base URL passed by the caller applies to all views.
        let base_url = options.base_url.map_or(view.base_url.as_deref(), |_| None).unwrap_or(base_url).to_owned();
        let ParsedIndex { text, entries } = index(&view, &base_url, &sources)?;
        let text = Arc::new(text);
        let mut of_entries: Vec<FileSet<'a>> = Vec::new();
        if let Some(discovery) = &mut discovery {
            let named = entries.iter().map(|(id, place)| (index::name(&view.file, id), place.clone()));
            let named: Vec<(String, Range<usize>)> = named.collect();
            let (whole, sets) = rayon::join(|| Sha256::of(&*text), || FileSet::within(&text, &named));
            let digests = sets.iter().flat_map(|set| &set.files).map(|file| file.digest);
            discovery.add(&view.file, whole, entries.iter().map(|(id, _)| *id).zip(digests));
            of_entries = sets;
        }
        // The site is made from the main index.
        if view.file == INDEX || text.len() <= HELD {
            of_agents.extend(of_entries);
            files.insert(view.file, Content::Shared(text));
        } else {
            parts.extend(rendered(&Arc::new(view), &base_url, &sources, options.has_entries));
        }
    }
    if let (Some(discovery), Some(view)) = (&mut discovery, config.views().iter().find(|view| view.file == INDEX)) {
        let held = earlier.held(&sources, view, options.today)?;
        let lists = earlier.lists(held.as_ref().unwrap_or(&sources), view)?;
        files.extend(publish_beside(discovery, VERSIONS, lists));
    }
    if let Some(discovery) = &mut discovery {
        let closures = closures(registry, &sources, config);
        let older = earlier.closures(&sources, &closures)?;
        let text = |(id, closures): (&&str, &Closures)| Some(((*id).to_owned(), closures.to_text()?.into_bytes()));
        files.extend(publish_beside(discovery, CLOSURES, closures.iter().filter_map(text).collect()));
        files.extend(publish_beside(discovery, EARLIER_CLOSURES, older));
    }
    files.extend(
        discovery.into_iter().flat_map(DiscoveryFiles::files).map(|(name, bytes)| (name, Content::Owned(bytes))),
    );
    for (name, own, embedded) in
        [("agent.schema.json", own_agent, schema::AGENT), ("registry.schema.json", own_registry, schema::REGISTRY)]
    {
        let bytes = match own {
            Some(bytes) => bytes,
            // The embedded schemas have the ids of the public registry.
            None if base_url == DEFAULT_BASE_URL => embedded.to_owned().into_bytes(),
            None => embedded.replace(schema::BASE, base_url).into_bytes(),
        };
        files.insert(name.to_owned(), Content::Owned(bytes));
    }
    files.extend(revoked.map(|text| (REVOKED.to_owned(), Content::Owned(text.into_bytes()))));
    for source in sources.iter() {
        let (icon, earlier) = match source {
            AgentSource::Own(entry, earlier) => (entry.icon.present(), earlier),
            AgentSource::Earlier(kept) => (None, &kept.icon),
        };
        let icon = icon.map(|icon| Content::Borrowed(icon.as_bytes()));
        let icon = icon.or_else(|| Some(Content::Owned(earlier.clone()?.into_bytes())));
        files.extend(icon.map(|icon| (format!("{}.svg", source.id()), icon)));
    }
    Ok(Built {
        tree: Tree::new(files, of_agents, parts)?,
        agents,
        missing,
        kept_icons,
        nothing_published,
        unknown_icons,
    })
}

/// The closures of the agents that are published from their folders, by id. One that cannot be used is not published.
fn closures<'a>(registry: &Registry, sources: &'a [AgentSource<'_>], config: &Config) -> BTreeMap<&'a str, Closures> {
    let one = |source: &'a AgentSource<'_>| {
        let AgentSource::Own(folder, _) = source else { return None };
        let mut closures = Closures::new(&folder.id);
        for (kind, closure) in registry.closures(&folder.id, folder.manifest.present()?) {
            let mut closure = closure.ok()?;
            if kind == PackageKind::Npx {
                closure.allow_scripts =
                    Some(config.npm.get(&folder.id).map(|npm| npm.allow_scripts.clone()).unwrap_or_default());
            }
            closures.insert(kind, closure);
        }
        Some((folder.id.as_str(), closures))
    };
    sources.par_iter().filter_map(one).collect()
}

/// Has the discovery document lead to files of agents, which are beside their entries. Returns the files with their paths.
fn publish_beside<'a>(
    discovery: &mut DiscoveryFiles,
    view: &'static str,
    texts: BTreeMap<String, Vec<u8>>,
) -> impl Iterator<Item = (String, Content<'a>)> + use<'a> {
    if !texts.is_empty() {
        let all: Vec<&[u8]> = texts.values().map(Vec::as_slice).collect();
        let digests = texts.iter().map(|(id, text)| (id.as_str(), Sha256::of(text)));
        discovery.add(view, Sha256::of(all.concat()), digests);
    }
    texts.into_iter().map(move |(id, text)| (index::name(view, &id), Content::Owned(text)))
}

/// Pairs of a kept agent and a view in which it should be, but of which it has no earlier entry.
fn missing(views: &[View], sources: &[AgentSource<'_>]) -> Vec<(String, String)> {
    let kept =
        || sources.iter().filter_map(|source| if let AgentSource::Earlier(kept) = source { Some(kept) } else { None });
    let lacking = |view: &View| {
        let lacks = |kept: &&KeptAgent| !view.exclude.contains(&kept.id) && !kept.entries.contains_key(&view.file);
        kept().filter(lacks).map(|kept| (kept.id.clone(), view.file.clone())).collect::<Vec<_>>()
    };
    views.iter().flat_map(lacking).collect()
}

/// The largest further index that is held in memory, in bytes.
const HELD: usize = 16 << 20;

/// The outcome of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltAgent {
    /// Name of the agent's folder.
    pub id: String,
    /// How the agent is published, or why it is not.
    pub outcome: AgentOutcome,
}

/// How an agent is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentOutcome {
    /// From its folder.
    Published,
    /// With its previously published entry, because it has errors or lost its manifest.
    Kept,
    /// Not published: it has errors and no earlier entry that can be published.
    LeftOut(LeftOutReason),
    /// Not published: it is listed in `[withdrawn]` of `registry.toml`.
    Withdrawn,
}

/// Why an agent with errors has no earlier entry to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// The earlier tree has no entry of it.
    NeverPublished,
    /// Its earlier entry breaks this safety rule.
    Unsafe(&'static str),
}

impl AgentOutcome {
    /// The name of the outcome in all output formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Kept => "kept",
            Self::LeftOut(_) => "left_out",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Whether the agent is in the tree.
    pub fn is_in_tree(self) -> bool {
        matches!(self, Self::Published | Self::Kept)
    }
}

/// Why a tree cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The registry has errors, and no earlier entries replace the agents concerned.
    #[error("{}", describe(agents))]
    Findings {
        /// The agents with errors; empty if the errors concern the registry as a whole.
        agents: Vec<String>,
    },
    /// Agents have errors, and the earlier tree has no `registry.json` with their earlier entries.
    #[error(
        "errors in {}, and the previous tree has no registry.json with earlier forms; nothing is published",
        brief_list(agents, NAMED)
    )]
    NoPrevious {
        /// The agents with errors.
        agents: Vec<String>,
    },
    /// The registry has no agents, and is not a new one: it has no `registry.toml`, or has published agents before.
    #[error("{0} holds no agents")]
    Empty(String),
    /// All agents are listed in `[withdrawn]` of `registry.toml`.
    #[error("all agents of {0} are withdrawn; nothing is published")]
    Withdrawn(String),
    /// A view is invalid because of what the configuration adds to it.
    #[error("the view {file} cannot be published: {message}")]
    View {
        /// File name of the view.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// An agent is held at a version that cannot be published.
    #[error("{id} is held at {}, which {message}", printable(version))]
    Hold {
        /// The agent.
        id: String,
        /// The version.
        version: String,
        /// Why not, as the rest of a sentence.
        message: String,
    },
    /// A schema named in the configuration cannot be read or is invalid.
    #[error("the schema {} {message}", quote(path))]
    Schema {
        /// Its path, relative to the registry directory.
        path: String,
        /// What is wrong, as the rest of a sentence.
        message: String,
    },
    /// The list of recalled versions cannot be read; holds the place and the problem.
    #[error("the recalled versions cannot be used: {0}; nothing is published")]
    Revocations(String),
    /// The earlier tree cannot be read.
    #[error(transparent)]
    Previous(#[from] PublishedError),
    /// A view cannot be rendered again.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// How many agents a message names.
pub const NAMED: usize = 10;

fn describe(agents: &[String]) -> String {
    if agents.is_empty() {
        return "the registry has errors; nothing is published".to_owned();
    }
    format!("errors in {}, and no earlier form to keep; nothing is published", brief_list(agents, NAMED))
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Findings { ref agents } if agents.is_empty() => {
                Self::findings(error).help("correct the errors; `acp-registry validate` lists them")
            }
            BuildError::Findings { .. } => Self::findings(error).help(
                "correct the errors, or name a published tree with --previous, from which agents keep their last form",
            ),
            BuildError::NoPrevious { .. } => Self::findings(error)
                .help("name a tree with a registry.json with --previous, or correct the errors"),
            // A new registry without agents is recognized by its configuration.
            BuildError::Empty(ref root) if is_registry(Path::new(root)) => Self::usage(error).help(
                "add an agent with `acp-registry new`; or, since agents were published before, leave out --previous to publish none",
            ),
            BuildError::Empty(_) => Self::usage(error)
                .code(Code::InvalidRegistry)
                .help("name the registry with --registry-dir, or add an agent with `acp-registry new`"),
            BuildError::Withdrawn(_) => Self::usage(error)
                .code(Code::InvalidConfiguration)
                .help("add an agent with `acp-registry new`, or remove an entry below `[withdrawn]` in registry.toml"),
            BuildError::View { .. } => Self::usage(error).code(Code::InvalidConfiguration).help("correct the `[[view]]` in registry.toml"),
            BuildError::Hold { ref id, .. } => {
                let help = format!("correct `[hold.{id}]` in registry.toml");
                Self::usage(error).code(Code::InvalidConfiguration).help(help)
            }
            BuildError::Schema { .. } => Self::usage(error)
                .code(Code::InvalidConfiguration)
                .help("correct `[schemas]` in registry.toml"),
            BuildError::Revocations(_) => Self::findings(error)
                .help("correct revoked.json: without it, revoked versions would be installed again"),
            BuildError::Previous(ref cause) => {
                let help = cause.remedy();
                Self::unable(error).help(help)
            }
            BuildError::Render(_) => Self::unable(error).help("report this as a bug of acp-registry"),
        }
    }
}
