//! Chooses which agents are published, and in which form: from their folders, or from the previously published tree.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use acp_registry_client::index::minisign::{PublicKey, Signatures};
use acp_registry_client::registry::{AgentFolder, ICON_LIMIT, Loaded, Registry};
use acp_registry_gate::check::{CheckOptions, Checked, Selection, check};
use acp_registry_gate::config::{DOCUMENTS, View, is_registry};
use acp_registry_gate::finding::{Finding, Level};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::failure::Failure;
use acp_registry_plan::index::{INDEX, INDEX_LIMIT};
use acp_registry_plan::json;
use acp_registry_plan::manifest::{AgentId, Manifest};
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::statement::{STATEMENT, STATEMENT_SIGNATURE, Statement};
use acp_registry_plan::sums::content_path;
use acp_registry_plan::text::printable;
use acp_registry_plan::versions::HELD;
use serde_json::Value;

use super::{AgentOutcome, BuildError, BuiltAgent, LeftOutReason};

/// The rule for missing icons. An earlier icon replaces a missing one.
const MISSING_ICON: &str = "icon/missing";

/// The rule for `quarantine.json`, which affects starting and updating agents, but not publishing them.
const QUARANTINE: &str = "registry/quarantine";

/// The form in which an agent is published.
#[derive(Clone)]
pub(super) enum AgentSource<'a> {
    /// From its folder, with its earlier icon if the folder has none.
    Own(&'a AgentFolder, Option<String>),
    /// With its previously published entries.
    Earlier(KeptAgent),
}

impl AgentSource<'_> {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Own(entry, _) => &entry.id,
            Self::Earlier(kept) => &kept.id,
        }
    }

    /// Its version in the index of a view.
    pub(super) fn version(&self, view: &str) -> Option<String> {
        match self {
            Self::Own(entry, _) => Some(entry.manifest.present()?.value().get("version")?.as_str()?.to_owned()),
            Self::Earlier(kept) => Some(kept.entries.get(view)?.get("version")?.as_str()?.to_owned()),
        }
    }

    pub(super) fn has_icon(&self) -> bool {
        match self {
            Self::Own(entry, icon) => entry.icon.present().is_some() || icon.is_some(),
            Self::Earlier(kept) => kept.icon.is_some(),
        }
    }
}

/// The result of [`choose`]; the sources and the agents are ordered by id.
#[derive(Default)]
pub(super) struct Chosen<'a> {
    pub(super) sources: Vec<AgentSource<'a>>,
    pub(super) agents: Vec<BuiltAgent>,
    /// Agents that keep their earlier icon.
    pub(super) icons: Vec<String>,
    /// Whether earlier entries were needed and the earlier tree has no index yet.
    pub(super) nothing_published: bool,
    /// Why an earlier icon could not be read.
    pub(super) no_icons: Option<PublishedError>,
}

/// The kinds of errors that an agent has.
#[derive(Default, Clone, Copy)]
struct Errors {
    missing_icon: bool,
    others: bool,
}

/// The earlier tree, read on first use.
struct Previous<'a> {
    tree: Option<&'a dyn PublishedTree>,
    views: &'a [View],
    loaded: OnceCell<Result<EarlierIndexes<'a>, PublishedError>>,
}

impl<'a> Previous<'a> {
    /// Returns the indexes of the earlier tree; `None` without an earlier tree.
    fn get(&self) -> Result<Option<&EarlierIndexes<'a>>, PublishedError> {
        let Some(tree) = self.tree else { return Ok(None) };
        self.loaded.get_or_init(|| EarlierIndexes::load(tree, self.views)).as_ref().map(Some).map_err(Clone::clone)
    }
}

/// Chooses the form in which each agent is published.
pub(super) fn choose<'a>(
    registry: &'a Registry,
    checked: &Checked,
    options: &CheckOptions<'_>,
    tree: Option<&dyn PublishedTree>,
    views: &[View],
) -> Result<Chosen<'a>, BuildError> {
    if checked.findings.iter().any(|finding| is_fatal(finding, registry, tree.is_some())) {
        return Err(BuildError::Findings { agents: Vec::new() });
    }
    let previous = Previous { tree, views, loaded: OnceCell::new() };
    let mut chosen = Chosen::default();
    let mut broken = Vec::new();
    let errors = errors(checked);
    for entry in &registry.entries {
        if options.config.withdrawn.contains_key(&entry.id) {
            chosen.agents.push(BuiltAgent { id: entry.id.clone(), outcome: AgentOutcome::Withdrawn });
            continue;
        }
        let errors = errors.get(entry.id.as_str()).copied().unwrap_or_default();
        match own(entry, errors, &previous, options, &mut chosen)? {
            Some(source) => {
                chosen.agents.push(BuiltAgent { id: entry.id.clone(), outcome: AgentOutcome::Published });
                chosen.sources.push(source);
            }
            None => broken.push(entry),
        }
    }
    keep(registry, &broken, &previous, options, &mut chosen)?;
    if let Some(error) = tree.and_then(PublishedTree::refusal) {
        return Err(error.into());
    }
    chosen.sources.sort_by(|a, b| a.id().cmp(b.id()));
    chosen.agents.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(chosen)
}

/// Whether an error prevents building a tree, because it is not about a single agent. With an earlier tree, errors in
/// folders without a manifest and in the quarantine list do not.
fn is_fatal(finding: &Finding, registry: &Registry, has_previous: bool) -> bool {
    let is_stray = || registry.strays.iter().any(|stray| stray.name == finding.file);
    let is_bounded = || finding.rule == QUARANTINE || is_stray();
    finding.agent.is_none() && finding.level == Level::Error && !(has_previous && is_bounded())
}

fn errors(checked: &Checked) -> BTreeMap<&str, Errors> {
    let mut errors: BTreeMap<&str, Errors> = BTreeMap::new();
    for finding in checked.findings.iter().filter(|finding| finding.level == Level::Error) {
        let Some(agent) = &finding.agent else { continue };
        let errors = errors.entry(agent).or_default();
        *(if finding.rule == MISSING_ICON { &mut errors.missing_icon } else { &mut errors.others }) = true;
    }
    errors
}

/// Publishes the agent from its folder, if possible. Looks for an earlier icon if the folder has none.
fn own<'a>(
    entry: &'a AgentFolder,
    errors: Errors,
    previous: &Previous<'_>,
    options: &CheckOptions<'_>,
    chosen: &mut Chosen<'_>,
) -> Result<Option<AgentSource<'a>>, PublishedError> {
    // Checked at any rule level: a manifest is needed, and the id becomes a file name.
    let manifest = entry.manifest.present().filter(|manifest| manifest.is_object());
    let Some(manifest) = manifest.filter(|_| AgentId::is_valid(&entry.id) && !errors.others) else { return Ok(None) };
    let links_icon = || manifest.agent().icon.as_deref().is_some_and(|icon| icon.starts_with("https://"));
    let lacks_icon = entry.icon.present().is_none() && !links_icon();
    if !lacks_icon && !errors.missing_icon {
        return Ok(Some(AgentSource::Own(entry, None)));
    }
    let look = || match previous.get()? {
        Some(earlier) => earlier.icon(&entry.id, &manifest.value(), options),
        None => Ok(None),
    };
    if errors.missing_icon {
        let icon = look()?;
        chosen.icons.extend(icon.as_ref().map(|_| entry.id.clone()));
        return Ok(icon.map(|icon| AgentSource::Own(entry, Some(icon))));
    }
    // Icons are optional, so a failure to read the earlier one is recorded instead of returned.
    let icon = if chosen.no_icons.is_some() { Ok(None) } else { look() };
    let icon = icon.unwrap_or_else(|error| {
        chosen.no_icons = Some(error);
        None
    });
    chosen.icons.extend(icon.as_ref().map(|_| entry.id.clone()));
    Ok(Some(AgentSource::Own(entry, icon)))
}

/// Keeps the earlier entries of agents with errors, and of those whose manifest was lost or whose folder was renamed.
/// Agents without an earlier entry are left out.
fn keep(
    registry: &Registry,
    broken: &[&AgentFolder],
    previous: &Previous<'_>,
    options: &CheckOptions<'_>,
    chosen: &mut Chosen<'_>,
) -> Result<(), BuildError> {
    let names = || broken.iter().map(|entry| printable(&entry.id).into_owned()).collect::<Vec<_>>();
    // Only the earlier tree tells whether a folder without a manifest held an agent.
    let lost: BTreeSet<&str> = lost(registry, broken);
    let can_be_kept = |id: &str| AgentId::is_valid(id) && !options.config.withdrawn.contains_key(id);
    let earlier = if broken.is_empty() && !lost.iter().any(|id| can_be_kept(id)) { None } else { previous.get()? };
    let earlier = match earlier {
        Some(earlier) if earlier.is_tree => Some(earlier),
        Some(_) if !broken.is_empty() => return Err(BuildError::NoPrevious { agents: names() }),
        None if !broken.is_empty() => return Err(BuildError::Findings { agents: names() }),
        not_a_tree => {
            chosen.nothing_published = not_a_tree.is_some();
            None
        }
    };
    if let Some(earlier) = earlier {
        let revocations = registry.revocations();
        let broken_ids = broken.iter().map(|entry| entry.id.as_str());
        for (id, is_lost) in broken_ids.map(|id| (id, false)).chain(lost.into_iter().map(|id| (id, true))) {
            let found = if can_be_kept(id) { earlier.keep(id, &revocations, options)? } else { Lookup::Nothing };
            let outcome = match found {
                Lookup::Kept(kept) => {
                    chosen.sources.push(AgentSource::Earlier(kept));
                    AgentOutcome::Kept
                }
                Lookup::Unsafe(rule) => AgentOutcome::LeftOut(LeftOutReason::Unsafe(rule)),
                // The folder never held a published agent.
                Lookup::Nothing if is_lost => continue,
                Lookup::Nothing => AgentOutcome::LeftOut(LeftOutReason::NeverPublished),
            };
            chosen.agents.push(BuiltAgent { id: id.to_owned(), outcome });
        }
    }
    if chosen.sources.is_empty() {
        let is_empty = broken.is_empty() && chosen.agents.is_empty();
        // A new registry, as its configuration shows; one that has published agents must not lose all of them unseen.
        if is_empty && is_registry(&registry.root) && !previous.get()?.is_some_and(EarlierIndexes::have_agents) {
            return Ok(());
        }
        return Err(if broken.is_empty() && !chosen.agents.is_empty() {
            BuildError::Withdrawn(registry.root.display().to_string())
        } else if broken.is_empty() {
            BuildError::Empty(registry.root.display().to_string())
        } else {
            BuildError::Findings { agents: names() }
        });
    }
    Ok(())
}

/// Ids of agents whose folder has lost its manifest or was renamed. They may have been published earlier.
fn lost<'a>(registry: &'a Registry, broken: &[&'a AgentFolder]) -> BTreeSet<&'a str> {
    let strays = registry.strays.iter().map(|stray| stray.name.as_str());
    let has_folder = |id: &str| registry.entry(id).is_some();
    let renamed = broken.iter().filter_map(|entry| Some(entry.manifest.present()?.id()));
    strays.chain(renamed.filter(|id| !has_folder(id))).collect()
}

/// A published tree whose files are read by name.
pub trait PublishedTree: Sync {
    /// Returns the content of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// [`PublishedError`] if the file cannot be read, or it is unknown whether it exists.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError>;

    /// Returns the content of a file in a snapshot beside the tree; `None` if the file does not exist.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_in_snapshot(&self, snapshot: &str, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        self.read(&format!("../{snapshot}/{name}"))
    }

    /// Returns the content of a file that must have this digest: from its place or, while a publisher replaces it, from what
    /// snapshots share beside the tree. If neither has it, returns what is in its place.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_as(&self, name: &str, digest: Sha256) -> Result<Option<Vec<u8>>, PublishedError> {
        let is_right = |bytes: &Vec<u8>| Sha256::of(bytes) == digest;
        let found = self.read(name)?;
        if found.as_ref().is_some_and(is_right) {
            return Ok(found);
        }
        let kept = content_path(&digest.to_string());
        let kept = kept.rsplit_once('/').map(|(folder, file)| self.read_in_snapshot(folder, file));
        // A tree that was copied has nothing beside it.
        Ok(kept.and_then(|kept| kept.ok().flatten()).filter(is_right).or(found))
    }

    /// Returns an error if this is certainly not a published tree. A tree at a URL is not refused, because nothing may
    /// have been published there yet.
    fn refusal(&self) -> Option<PublishedError> {
        None
    }
}

/// Why a published tree cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot read {file} of the previous tree: {message}")]
pub struct PublishedError {
    /// The file that cannot be read.
    pub file: String,
    /// The cause.
    pub message: String,
    /// What the user can do about it, if known.
    pub remedy: Option<String>,
}

impl PublishedError {
    /// Creates an error without a remedy.
    pub fn new(file: &str, why: &dyn Display) -> Self {
        Self { file: file.to_owned(), message: why.to_string(), remedy: None }
    }

    /// What the user can do about it.
    pub(super) fn remedy(&self) -> String {
        self.remedy.clone().unwrap_or_else(|| "name another published tree with --previous".to_owned())
    }
}

/// A published tree in a directory.
#[derive(Debug, Clone)]
pub struct TreeDirectory(pub PathBuf);

impl PublishedTree for TreeDirectory {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let failed = |error: &dyn Display| PublishedError::new(name, error);
        let root = self.0.canonicalize().map_err(|error| failed(&format_args!("{}: {error}", self.0.display())))?;
        match read_bounded(&root.join(name), &root, INDEX_LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::NotFound) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    fn read_in_snapshot(&self, snapshot: &str, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let root = self.0.canonicalize().ok();
        let Some(kept) = root.and_then(|root| Some(root.parent()?.join(snapshot))) else { return Ok(None) };
        if kept.is_dir() { Self(kept).read(name) } else { Ok(None) }
    }

    fn refusal(&self) -> Option<PublishedError> {
        if self.0.join(INDEX).exists() {
            return None;
        }
        let why = format_args!("{}: there is no {INDEX} in this folder", self.0.display());
        let remedy = Some("name the folder of a published tree, which `acp-registry build` makes".to_owned());
        Some(PublishedError { remedy, ..PublishedError::new(INDEX, &why) })
    }
}

/// A published tree of which only what a key has signed is read: its indexes, and what leads to entries. What these do not
/// name, such as icons, is not covered.
pub struct SignedTree<'a> {
    tree: &'a dyn PublishedTree,
    statement: Statement,
}

impl<'a> SignedTree<'a> {
    /// Reads the statement of a tree.
    ///
    /// # Errors
    /// [`PublishedError`] when the key has not signed it. Of a place where nothing is published, nothing is known: its host may
    /// hide what is.
    pub fn load(tree: &'a dyn PublishedTree, signer: PublicKey) -> Result<Self, PublishedError> {
        let failed = |why: &dyn Display| {
            let remedy =
                "compare the tree with what was published; to take it over unsigned, or for the first time, name no key"
                    .to_owned();
            PublishedError { remedy: Some(remedy), ..PublishedError::new(STATEMENT, why) }
        };
        let Some(text) = tree.read(STATEMENT)? else {
            return Err(failed(&format_args!("it is not there, and {signer} must have signed it")));
        };
        let signatures = tree.read(STATEMENT_SIGNATURE)?.unwrap_or_default();
        let signatures = Signatures::parse(&String::from_utf8_lossy(&signatures));
        if !signatures.is_some_and(|signatures| signer.verifies(&text, &signatures)) {
            return Err(failed(&format_args!("{signer} has not signed it")));
        }
        Ok(Self { tree, statement: Statement::parse(&text).map_err(|error| failed(&error))? })
    }
}

impl PublishedTree for SignedTree<'_> {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let bytes = self.tree.read(name)?;
        // Indexes, and what leads to entries.
        let is_json = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "json");
        let must_be_named = !name.contains('/') && is_json && !DOCUMENTS.contains(&name);
        let digest = self.statement.digests.get(name);
        let is_fine = match (&bytes, digest) {
            (Some(bytes), Some(digest)) => Sha256::of(bytes) == *digest,
            (Some(_), None) => !must_be_named,
            (None, named) => named.is_none(),
        };
        if is_fine {
            return Ok(bytes);
        }
        // The statement is sent before the files, so that a publisher may have been killed between them.
        if let (Some(digest), Some(snapshot)) = (digest, &self.statement.snapshot)
            && let Some(kept) = self.tree.read_in_snapshot(snapshot, name)?.or(self.tree.read_as(name, *digest)?)
            && Sha256::of(&kept) == *digest
        {
            return Ok(Some(kept));
        }
        Err(PublishedError::new(name, &"it is not what the statement of the tree names"))
    }

    fn read_in_snapshot(&self, snapshot: &str, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        self.tree.read_in_snapshot(snapshot, name)
    }

    fn refusal(&self) -> Option<PublishedError> {
        self.tree.refusal()
    }
}

/// Rules that an earlier entry must still pass. Other errors in it were published before and do no new harm, but an
/// earlier tree may come from elsewhere and must not bring in anything unsafe.
const SAFETY: &[&str] = &[
    "distribution/reserved-env", "distribution/unsafe-cmd", "distribution/unsafe-package-spec",
    "distribution/unsafe-url", "manifest/id-mismatch", "manifest/schema", "manifest/text-control-characters",
    "manifest/unsafe-link",
];

/// The earlier indexes of all views.
pub(super) struct EarlierIndexes<'a> {
    tree: &'a dyn PublishedTree,
    /// Whether the tree has a `registry.json`.
    pub(super) is_tree: bool,
    views: BTreeMap<String, Vec<Value>>,
}

/// An agent that keeps its previously published form.
#[derive(Clone)]
pub(super) struct KeptAgent {
    pub(super) id: String,
    /// Its entries, by view.
    pub(super) entries: BTreeMap<String, Value>,
    /// Its icon, if it has one that passes the rules.
    pub(super) icon: Option<String>,
}

/// The result of looking up an agent in the earlier tree.
pub(super) enum Lookup {
    Nothing,
    /// All of its entries are unsafe; the last one breaks this rule.
    Unsafe(&'static str),
    Kept(KeptAgent),
}

impl<'a> EarlierIndexes<'a> {
    /// Reads the index of every view; a missing index has no entries.
    pub(super) fn load(tree: &'a dyn PublishedTree, views: &[View]) -> Result<Self, PublishedError> {
        let read = |view: &View| Ok((view.file.clone(), entries(tree, &view.file)?));
        let found: BTreeMap<String, Option<Vec<Value>>> = views.iter().map(read).collect::<Result<_, _>>()?;
        let is_tree = found.get(INDEX).is_some_and(Option::is_some);
        let views = found.into_iter().map(|(file, entries)| (file, entries.unwrap_or_default())).collect();
        Ok(Self { tree, is_tree, views })
    }

    /// Whether any view has an entry.
    pub(super) fn have_agents(&self) -> bool {
        self.views.values().any(|entries| !entries.is_empty())
    }

    /// Looks up the entries and the icon of an agent, and checks them.
    pub(super) fn keep(
        &self,
        id: &str,
        revocations: &Revocations,
        options: &CheckOptions<'_>,
    ) -> Result<Lookup, PublishedError> {
        let mut entries = BTreeMap::new();
        let mut refused = None;
        for (file, entry) in self.entries(id) {
            let version = entry.get("version").and_then(Value::as_str).unwrap_or_default();
            let recall = revocations.find(id, version).filter(|found| found.level == RevocationLevel::Revoked);
            let rule = || check_alone(id, entry, None, options).into_iter().find(|rule| SAFETY.contains(rule));
            match recall.map(|_| "registry/revoked-version").or_else(rule) {
                Some(rule) => refused = Some(rule),
                None => {
                    entries.insert(file.to_owned(), entry.clone());
                }
            }
        }
        let Some(entry) = entries.values().next() else { return Ok(refused.map_or(Lookup::Nothing, Lookup::Unsafe)) };
        let icon = self.icon(id, entry, options)?;
        Ok(Lookup::Kept(KeptAgent { id: id.to_owned(), entries, icon }))
    }

    /// Returns the published icon of an agent if it passes the rules together with `entry`.
    pub(super) fn icon(
        &self,
        id: &str,
        entry: &Value,
        options: &CheckOptions<'_>,
    ) -> Result<Option<String>, PublishedError> {
        let name = format!("{id}.svg");
        // Some stores answer 403 for missing files, so only icons named in an index are requested.
        let is_own = |icon: &str| icon.rsplit_once('/').is_some_and(|(_, file)| file == name);
        let mut icons = self.entries(id).filter_map(|(_, entry)| entry.get("icon")?.as_str());
        if !icons.any(is_own) {
            return Ok(None);
        }
        let icon = self.tree.read(&name)?.filter(|bytes| bytes.len() as u64 <= ICON_LIMIT);
        let icon = icon.and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(icon
            .filter(|icon| check_alone(id, entry, Some(icon), options).iter().all(|rule| !rule.starts_with("icon/"))))
    }

    /// The entries of an agent with the file name of their view.
    fn entries(&self, id: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.views.iter().filter_map(move |(file, entries)| {
            Some((file.as_str(), entries.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(id))?))
        })
    }
}

/// Reads the entries of an index; `None` if the file does not exist.
pub(super) fn entries(tree: &dyn PublishedTree, file: &str) -> Result<Option<Vec<Value>>, PublishedError> {
    let Some(bytes) = tree.read(file)? else { return Ok(None) };
    let failed = |why: &dyn Display| PublishedError::new(file, why);
    let mut index: Value = json::whole(&bytes).map_err(|error| failed(&error))?;
    match index.get_mut("agents").map(Value::take) {
        Some(Value::Array(mut agents)) => {
            // What was held there need not be now.
            agents.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.shift_remove(HELD)));
            Ok(Some(agents))
        }
        _ => Err(failed(&"it has no array `agents`")),
    }
}

/// Whether an entry of earlier passes the rules about safety.
pub(super) fn is_safe(id: &str, entry: &Value, options: &CheckOptions<'_>) -> bool {
    !check_alone(id, entry, None, options).iter().any(|rule| SAFETY.contains(rule))
}

/// Checks an entry as if it were a registry of its own, and returns the rules that report an error.
fn check_alone(id: &str, entry: &Value, icon: Option<&String>, options: &CheckOptions<'_>) -> Vec<&'static str> {
    let manifest = Manifest::parse(entry.to_string()).map_or_else(Loaded::Broken, Loaded::Present);
    let icon = icon.map_or(Loaded::Missing, |icon| Loaded::Present(icon.clone()));
    let entry = AgentFolder { id: id.to_owned(), manifest, icon };
    let checked = check(&Registry::with_one(Path::new(""), entry), options, &Selection::Agents([id.to_owned()].into()));
    checked.findings.iter().filter(|finding| finding.level == Level::Error).map(|finding| finding.rule).collect()
}

impl From<PublishedError> for Failure {
    fn from(error: PublishedError) -> Self {
        let help = error.remedy();
        Self::unable(error).help(help)
    }
}
