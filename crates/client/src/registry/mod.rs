//! LOAD: a registry directory: its agents with their lists of packages, its quarantine list and its recalled versions.
//!
//! Loading never fails because of one entry: unreadable entries are kept with the reason, which the checks report.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, ReadError, read_bounded, resolve_below};
use acp_registry_plan::closure::{CLOSURE_LIMIT, PublishedClosure, WrongClosure, file_name};
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::manifest::{Agent, Channel, Manifest, PackageKind, SyntaxError};
use acp_registry_plan::position::Span;
use acp_registry_plan::revocations::{REVOKED, REVOKED_LIMIT, Revocation, RevocationLevel, Revocations};
use acp_registry_plan::timestamp::date;
use rayon::prelude::*;
use serde_json::Value;
use time::Date;

/// The file of an agent's manifest.
const MANIFEST: &str = "agent.json";

/// The quarantine list.
#[derive(Debug)]
pub struct Quarantine {
    /// The document, for positions.
    pub document: Manifest,
    /// The agents, by id. Any member prevents its agent from being started, even if it is malformed.
    pub holds: BTreeMap<String, Hold>,
}

/// Why an agent is in quarantine, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The reason, as written.
    pub reason: String,
    /// The last day, in UTC; `None` if there is no end.
    pub until: Option<Date>,
}

impl Quarantine {
    fn of(document: Manifest) -> Self {
        let value = document.value();
        let members = value.as_object().into_iter().flatten();
        let holds = members.map(|(id, value)| (id.clone(), Hold::of(value))).collect();
        Self { document, holds }
    }
}

impl Hold {
    fn of(value: &Value) -> Self {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let Some(reason) = value.as_str().or_else(|| text("reason")) else {
            // Without a reason, the entry is malformed, so its date is ignored too.
            return Self { reason: "no reason is given".to_owned(), until: None };
        };
        Self { reason: reason.to_owned(), until: text("until").and_then(date) }
    }

    /// Whether the last day has passed, so that the agent should be reviewed.
    #[must_use]
    pub fn is_over(&self, today: Date) -> bool {
        self.until.is_some_and(|until| until < today)
    }
}

/// URL of the public registry, which is the default base URL.
pub const DEFAULT_BASE_URL: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest";

/// The file in a registry's directory that configures it.
pub const CONFIG: &str = "registry.toml";

/// Whether a directory is that of a registry, even if it has no agents: one without this file may be any directory.
#[must_use]
pub fn is_registry(directory: &Path) -> bool {
    directory.join(CONFIG).is_file()
}

/// Maximum size of a manifest, in bytes.
pub const MANIFEST_LIMIT: u64 = 1 << 20;

/// Maximum size of an icon, in bytes.
pub const ICON_LIMIT: u64 = 1 << 20;

/// Folders of a registry checkout that contain no agent, besides those whose names begin with a dot.
const SKIPPED: &[&str] = &["__pycache__", "dist"];

/// A registry directory, read into memory.
#[derive(Debug)]
pub struct Registry {
    /// The directory.
    pub root: PathBuf,
    /// The agents, sorted by folder name in byte order.
    pub entries: Vec<AgentFolder>,
    /// Folders that contain no agent.
    pub strays: Vec<Stray>,
    /// The quarantine list.
    pub quarantine: Loaded<Quarantine>,
    /// The recalled versions.
    pub revoked: Loaded<Manifest>,
    /// Entries, relative to the directory, that make git treat a folder as a repository.
    pub git_files: Vec<String>,
}

/// One agent's folder.
#[derive(Debug)]
pub struct AgentFolder {
    /// Name of the folder, which is the agent's id.
    pub id: String,
    /// `agent.json`; never [`Loaded::Missing`].
    pub manifest: Loaded<Manifest>,
    /// `icon.svg`.
    pub icon: Loaded<String>,
}

/// A file of a registry, or the reason why it was not loaded.
#[derive(Debug)]
pub enum Loaded<T> {
    /// The file does not exist.
    Missing,
    /// The file could not be read.
    Unreadable(ReadError),
    /// The file is not UTF-8.
    NotUtf8 {
        /// The text, with U+FFFD in place of invalid bytes.
        text: String,
        /// Offset in `text` of the first replacement.
        offset: usize,
    },
    /// The file could not be parsed.
    Broken(SyntaxError),
    /// The file.
    Present(T),
}

impl<T> Loaded<T> {
    /// The file, if it could be read and parsed.
    pub fn present(&self) -> Option<&T> {
        match self {
            Self::Present(value) => Some(value),
            _ => None,
        }
    }

    /// Why the file is not there, after its name in a sentence, with the place of a mistake; `None` if it is there.
    pub fn problem(&self) -> Option<String> {
        let at = |text: &str, range: Range<usize>, problem: &str| {
            let span = Span::of(text, range);
            format!(":{}:{}: {problem}", span.line, span.column)
        };
        match self {
            Self::Present(_) => None,
            Self::Missing => Some(": there is no such file".to_owned()),
            Self::Unreadable(error) => Some(format!(": {error}")),
            Self::NotUtf8 { text, offset } => Some(at(text, *offset..*offset, "not UTF-8")),
            Self::Broken(SyntaxError { text, message, range, .. }) => {
                Some(at(text, range.clone(), &format!("not valid JSON: {message}")))
            }
        }
    }

    fn and_then<U>(self, parse: impl FnOnce(T) -> Loaded<U>) -> Loaded<U> {
        match self {
            Self::Present(value) => parse(value),
            Self::Missing => Loaded::Missing,
            Self::Unreadable(error) => Loaded::Unreadable(error),
            Self::NotUtf8 { text, offset } => Loaded::NotUtf8 { text, offset },
            Self::Broken(error) => Loaded::Broken(error),
        }
    }
}

/// Why a closure beside a manifest is not used.
#[derive(Debug, thiserror::Error)]
pub enum ClosureProblem {
    /// The file cannot be read.
    #[error("{0}")]
    Read(ReadError),
    /// Its content is not that of a closure of the manifest's package.
    #[error(transparent)]
    Wrong(#[from] WrongClosure),
}

/// A folder that looks like an agent's but is not loaded as one.
#[derive(Debug)]
pub struct Stray {
    /// Name of the folder.
    pub name: String,
    /// A file in it whose name resembles `agent.json`.
    pub misnamed: Option<String>,
}

/// Why a directory is not a registry: it cannot be listed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the registry directory {0}")]
pub struct LoadError(#[source] pub PathError);

impl Registry {
    /// Reads a registry directory: every `<id>/agent.json` with its icon, `quarantine.json` and `revoked.json`.
    ///
    /// # Errors
    /// Returns an error only if the directory itself cannot be listed. Errors of single entries are kept with the
    /// entry.
    pub fn load(directory: &Path) -> Result<Self, LoadError> {
        let failed = |error| LoadError(PathError { path: directory.to_owned(), error });
        let root = directory.canonicalize().map_err(failed)?;
        let (mut names, mut git_files) = (Vec::new(), Vec::new());
        for item in fs::read_dir(&root).map_err(failed)? {
            let item = item.map_err(failed)?;
            let kind = item.file_type().map_err(failed)?;
            let name = item.file_name();
            let is_skipped = name.to_str().is_some_and(Self::passes_over);
            if !is_skipped && (kind.is_dir() || (kind.is_symlink() && root.join(&name).is_dir())) {
                names.push((name, kind.is_symlink()));
            } else if let Some(name) = name.to_str().filter(|name| is_name(name)) {
                git_files.push(name.to_owned());
            }
        }
        names.sort_unstable();
        let found: Vec<(Result<AgentFolder, Stray>, Vec<String>)> = names
            .into_par_iter()
            .map(|(name, is_link)| {
                let (folder, id) = (root.join(&name), name.to_string_lossy().into_owned());
                let inside = in_folder(&folder).into_iter().map(|name| format!("{id}/{name}")).collect();
                (load_folder(&root, &folder, id, is_link), inside)
            })
            .collect();
        let (mut entries, mut strays) = (Vec::with_capacity(found.len()), Vec::new());
        for (item, inside) in found {
            git_files.extend(inside);
            match item {
                Ok(entry) => entries.push(entry),
                // An agent may have this name.
                Err(stray) if is_name(&stray.name) => git_files.push(stray.name),
                Err(stray) => strays.push(stray),
            }
        }
        git_files.sort_unstable();
        let quarantine = load_quarantine(&root);
        let revoked = load_text(&root.join(REVOKED), &root, REVOKED_LIMIT).and_then(parse);
        Ok(Self { root, entries, strays, quarantine, revoked, git_files })
    }

    /// A registry with one agent, which need not exist on disk, to check a single entry.
    #[must_use]
    pub fn with_one(root: &Path, entry: AgentFolder) -> Self {
        Self {
            root: root.to_owned(),
            entries: vec![entry],
            strays: Vec::new(),
            quarantine: Loaded::Missing,
            revoked: Loaded::Missing,
            git_files: Vec::new(),
        }
    }

    /// Adds an agent, which need not exist on disk, in place of one with the same id.
    pub fn put(&mut self, entry: AgentFolder) {
        match self.entries.binary_search_by(|known| known.id.cmp(&entry.id)) {
            Ok(at) => self.entries[at] = entry,
            Err(at) => self.entries.insert(at, entry),
        }
    }

    /// Removes an agent, but nothing on disk.
    pub fn remove(&mut self, id: &str) {
        self.entries.retain(|entry| entry.id != id);
    }

    /// Whether a folder with this name is skipped when a registry is loaded.
    #[must_use]
    pub fn passes_over(name: &str) -> bool {
        name.starts_with('.') || SKIPPED.contains(&name)
    }

    /// The entry of an agent.
    #[must_use]
    pub fn entry(&self, id: &str) -> Option<&AgentFolder> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The recalled versions. None where the list cannot be read.
    #[must_use]
    pub fn revocations(&self) -> Revocations {
        let list = self.revoked.present().map(|document| Revocations::parse(document.text().as_bytes()));
        list.and_then(Result::ok).unwrap_or_default()
    }

    /// The releases of agents that the registry has revoked itself. None where its list cannot be read.
    #[must_use]
    pub fn revoked_releases(&self) -> Vec<(&AgentFolder, Channel, Revocation)> {
        let revocations = self.revocations();
        let mut revoked = Vec::new();
        // The others are not read: that would take a tenth of `validate`.
        for entry in self.entries.iter().filter(|entry| !revocations.get(&entry.id).is_empty()) {
            let Some(manifest) = entry.manifest.present() else { continue };
            for release in manifest.agent().releases() {
                let found = revocations.find(&entry.id, release.version);
                let found = found.filter(|found| found.level == RevocationLevel::Revoked);
                revoked.extend(found.map(|revocation| (entry, release.channel, revocation.clone())));
            }
        }
        revoked
    }

    /// Whether there is a file of a closure. Of an agent without one, the manifest need not be read again.
    fn has_closures(&self, id: &str, manifest: &Manifest) -> bool {
        [PackageKind::Npx, PackageKind::Uvx].into_iter().filter(|kind| manifest.has_package(*kind)).any(|kind| {
            let found = self.root.join(id).join(file_name(kind)).symlink_metadata();
            !found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        })
    }

    /// The closures that the folder of an agent has of the packages in its manifest. They are read now, and not kept.
    pub fn closures(
        &self,
        id: &str,
        manifest: &Manifest,
    ) -> impl Iterator<Item = (PackageKind, Result<PublishedClosure, ClosureProblem>)> {
        let agent = self.has_closures(id, manifest).then(|| Agent::from_json(&manifest.value()));
        let packages = agent.iter().flat_map(|agent| agent.distribution.packages());
        let packages: Vec<_> = packages.map(|(kind, package)| (kind, package.package.clone())).collect();
        packages.into_iter().filter_map(move |(kind, package)| {
            let path = self.root.join(id).join(file_name(kind));
            let bytes = match read_bounded(&path, &self.root, CLOSURE_LIMIT) {
                Err(ReadError::NotFound) => return None,
                Err(error) => return Some((kind, Err(ClosureProblem::Read(error)))),
                Ok(bytes) => bytes,
            };
            // What is no text is no list either.
            let text = String::from_utf8_lossy(&bytes);
            Some((kind, PublishedClosure::new(kind, &package, &text).map_err(ClosureProblem::from)))
        })
    }

    /// The text of a file of the registry, by its path relative to the directory, if it was read.
    #[must_use]
    pub fn text(&self, file: &str) -> Option<&str> {
        fn text<'a, T>(loaded: &'a Loaded<T>, of: impl FnOnce(&'a T) -> &'a str) -> Option<&'a str> {
            match loaded {
                Loaded::Present(value) => Some(of(value)),
                Loaded::Broken(SyntaxError { text, .. }) | Loaded::NotUtf8 { text, .. } => Some(text),
                Loaded::Missing | Loaded::Unreadable(_) => None,
            }
        }
        if file == "quarantine.json" {
            return text(&self.quarantine, |quarantine| quarantine.document.text());
        }
        if file == REVOKED {
            return text(&self.revoked, Manifest::text);
        }
        let (id, name) = file.split_once('/')?;
        let at = self.entries.binary_search_by(|entry| entry.id.as_str().cmp(id)).ok()?;
        match name {
            MANIFEST => text(&self.entries[at].manifest, Manifest::text),
            "icon.svg" => text(&self.entries[at].icon, String::as_str),
            _ => None,
        }
    }
}

/// The names of the folders with manifests in a directory, which may be a registry, in no order.
pub fn agent_folders(directory: &Path) -> impl Iterator<Item = OsString> {
    let items = fs::read_dir(directory).into_iter().flatten().flatten();
    items.filter(|item| item.path().join(MANIFEST).is_file()).map(|item| item.file_name())
}

fn load_folder(root: &Path, folder: &Path, id: String, is_link: bool) -> Result<AgentFolder, Stray> {
    if is_link && resolve_below(folder, root).is_err() {
        let (manifest, icon) = (Loaded::Unreadable(ReadError::Outside), Loaded::Unreadable(ReadError::Outside));
        return Ok(AgentFolder { id, manifest, icon });
    }
    let manifest = load_text(&folder.join(MANIFEST), root, MANIFEST_LIMIT).and_then(parse);
    if matches!(manifest, Loaded::Missing) {
        return Err(Stray { name: id, misnamed: misnamed_manifest(folder) });
    }
    Ok(AgentFolder { id, manifest, icon: load_text(&folder.join("icon.svg"), root, ICON_LIMIT) })
}

fn load_text(path: &Path, root: &Path, limit: u64) -> Loaded<String> {
    match read_bounded(path, root, limit) {
        Err(ReadError::NotFound) => Loaded::Missing,
        Err(error) => Loaded::Unreadable(error),
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Loaded::Present(text),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                Loaded::NotUtf8 { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), offset }
            }
        },
    }
}

fn parse(text: String) -> Loaded<Manifest> {
    Manifest::parse(text).map_or_else(Loaded::Broken, Loaded::Present)
}

fn misnamed_manifest(folder: &Path) -> Option<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .take(1000)
        .filter_map(|item| item.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names.into_iter().find(|name| strsim::levenshtein(&name.to_lowercase(), MANIFEST) <= 2)
}

fn load_quarantine(root: &Path) -> Loaded<Quarantine> {
    let text = load_text(&root.join("quarantine.json"), root, MANIFEST_LIMIT);
    text.and_then(parse).and_then(|document| Loaded::Present(Quarantine::of(document)))
}

/// Entries by which git recognizes or configures a repository.
const NAMES: [&str; 6] = ["HEAD", "commondir", "config", "objects", "packed-refs", "refs"];

/// Whether an entry with this name may belong to a repository. Ignores case, as some file systems do.
fn is_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The entries that make git treat a registry's folder as a repository. Empty if there is no `HEAD`.
fn in_folder(folder: &Path) -> Vec<&'static str> {
    let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if !is_there("HEAD") {
        return Vec::new();
    }
    NAMES.into_iter().filter(|name| is_there(name)).collect()
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let LoadError(PathError { path, error: cause }) = &error;
        let help = match cause.kind() {
            ErrorKind::NotFound => {
                format!("correct the path, or create a registry with `acp-registry init {}`", path.display())
            }
            ErrorKind::NotADirectory => "name the directory of a registry, which holds its `registry.toml`".to_owned(),
            _ => "make the directory readable, or name another with --registry-dir".to_owned(),
        };
        Self::unable(&error).code(Code::InvalidRegistry).help(help)
    }
}

#[cfg(test)]
mod tests {
    use time::macros::date as day;

    use super::*;

    fn hold(text: &str) -> Hold {
        Quarantine::of(Manifest::parse(format!("{{\"a\":{text}}}")).unwrap()).holds["a"].clone()
    }

    #[test]
    fn an_entry_of_any_form_holds_its_agent() {
        let reason = |text: &str| hold(text).reason;
        assert_eq!(reason(r#""crashes""#), "crashes");
        assert_eq!(reason(r#"{"reason":"crashes"}"#), "crashes");
        for wrong in ["7", "null", "{}", "[]", r#"{"reason":7,"until":"2000-01-01"}"#] {
            assert_eq!(hold(wrong), Hold { reason: "no reason is given".to_owned(), until: None }, "{wrong}");
        }
    }

    #[test]
    fn the_last_day_counts_and_a_wrong_one_never_comes() {
        let entry = hold(r#"{"reason":"x","until":"2026-12-31"}"#);
        assert_eq!(entry.until, Some(day!(2026 - 12 - 31)));
        assert!(!entry.is_over(day!(2026 - 12 - 31)));
        assert!(entry.is_over(day!(2027 - 01 - 01)));
        for wrong in
            ["20261231", "\"2026-02-30\"", "\"soon\"", "null"].map(|day| format!(r#"{{"reason":"x","until":{day}}}"#))
        {
            assert!(!hold(&wrong).is_over(Date::MAX), "{wrong}");
        }
    }
}
