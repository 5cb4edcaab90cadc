//! The previously published tree.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde_json::Value;

use acp_registry_client::index::minisign::{PublicKey, Signatures};
use acp_registry_client::registry::{AgentFolder, ICON_LIMIT, Loaded, Registry};
use acp_registry_gate::check::{CheckOptions, Selection, check};
use acp_registry_gate::config::{DOCUMENTS, View};
use acp_registry_gate::finding::Level;
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::index::INDEX_LIMIT;
use acp_registry_plan::json;
use acp_registry_plan::manifest::Manifest;
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::statement::{STATEMENT, STATEMENT_SIGNATURE, Statement};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_plan::versions::HELD;

/// The index that every published tree has.
const INDEX: &str = "registry.json";

/// A published tree whose files are read by name.
pub trait PublishedTree: Sync {
    /// Returns the content of a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// [`PublishedError`] if the file cannot be read, or it is unknown whether it exists.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError>;

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
    /// Reads the statement of a tree; a place where nothing is published has none.
    ///
    /// # Errors
    /// [`PublishedError`] when there is a tree, and the key has not signed it.
    pub fn load(tree: &'a dyn PublishedTree, signer: PublicKey) -> Result<Self, PublishedError> {
        let failed = |why: &dyn Display| {
            let remedy = "compare the tree with what was published; to take it over unsigned, name no key".to_owned();
            PublishedError { remedy: Some(remedy), ..PublishedError::new(STATEMENT, why) }
        };
        let Some(text) = tree.read(STATEMENT)? else {
            if tree.read(INDEX)?.is_some() {
                return Err(failed(&format_args!("it is not there, and {signer} must have signed it")));
            }
            return Ok(Self { tree, statement: Statement::new(String::new(), 0, Timestamp::EPOCH) });
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
        let is_fine = match (&bytes, self.statement.digests.get(name)) {
            (Some(bytes), Some(digest)) => Sha256::of(bytes) == *digest,
            (Some(_), None) => !must_be_named,
            (None, named) => named.is_none(),
        };
        if is_fine {
            Ok(bytes)
        } else {
            Err(PublishedError::new(name, &"it is not what the statement of the tree names"))
        }
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
