//! Removes agents (`uninstall`), and unused versions and the contents of caches (`gc`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, files_below};
use acp_registry_http::Cache;
use acp_registry_plan::failure::{AgentFailure, Failure};
use serde::{Deserialize, Serialize, Serializer};

use super::{Event, Events, Report, waiting};
use crate::index::Copies;
use crate::install::PackageCache;
use crate::session::{AgentSpec, Session};
use crate::store::{Freed, Removed};

/// The size of the caches of npm and uv above which [`collect_garbage`] removes them, in bytes.
const PACKAGES_LIMIT: u64 = 8 << 30;

/// What to uninstall.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Uninstall {
    /// The agents.
    pub agents: Vec<AgentSpec>,
    /// Whether all installed agents are meant.
    pub all: bool,
    /// Whether agents are removed that are running.
    pub force: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// What unused things to remove.
#[derive(Debug, Clone, Copy, Default)]
pub struct CollectGarbage {
    /// Whether versions are removed that settings of editors name.
    pub direct: bool,
    /// Whether the caches are emptied, however small they are.
    pub cache: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// A cache of this program.
#[derive(Debug, Serialize)]
pub struct Cached {
    /// `packages`, `answers` or `indexes`.
    pub name: &'static str,
    /// Bytes that it holds.
    pub size: u64,
    /// Bytes that were freed in it; in a dry run, those that would be.
    pub freed_bytes: u64,
}

/// What was removed; in a dry run, what would be.
#[derive(Debug)]
#[non_exhaustive]
pub struct Removal {
    /// The versions and files.
    pub freed: Freed,
    /// The agents that were not removed, and why.
    pub errors: Vec<AgentFailure>,
    /// The agents that were uninstalled, each with the bytes that this freed, unless another process did it; `None` if only
    /// what is unused was removed.
    pub ids: Option<Vec<(String, Option<u64>)>>,
    /// The caches.
    pub caches: Vec<Cached>,
    /// Whether nothing was changed.
    pub is_dry_run: bool,
}

impl Removal {
    /// The number of bytes that the caches go on holding.
    #[must_use]
    pub fn cached_bytes(&self) -> u64 {
        let freed = |cache: &Cached| if self.is_dry_run { cache.freed_bytes } else { 0 };
        self.caches.iter().map(|cache| cache.size - freed(cache)).sum()
    }
}

/// A version that was removed or kept.
#[derive(Serialize)]
struct VersionRow<'a> {
    id: &'a str,
    version: &'a str,
    size: u64,
    /// Clients whose settings name the program of this version; `None` in lists that are not about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'a BTreeSet<String>>,
}

impl Serialize for Removal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'a> {
            dry_run: bool,
            removed: Vec<VersionRow<'a>>,
            running: Vec<VersionRow<'a>>,
            named: Vec<VersionRow<'a>>,
            still_named: Vec<VersionRow<'a>>,
            freed_bytes: u64,
            kept: Vec<Cow<'a, str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            ids: Option<Vec<&'a str>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            freed_cache_bytes: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            caches: Option<&'a [Cached]>,
            errors: &'a [AgentFailure],
        }
        fn row(one: &Removed) -> VersionRow<'_> {
            VersionRow { id: &one.id, version: &one.version, size: one.bytes, clients: None }
        }
        fn named((one, clients): &(Removed, BTreeSet<String>)) -> VersionRow<'_> {
            VersionRow { clients: Some(clients), ..row(one) }
        }
        let freed = &self.freed;
        let packages = self.caches.iter().filter(|cache| cache.name == "packages");
        let freed_cache_bytes = packages.map(|cache| cache.freed_bytes).sum();
        let members = Members {
            dry_run: self.is_dry_run,
            removed: freed.removed.iter().map(row).collect(),
            running: freed.running.iter().map(row).collect(),
            named: freed.named.iter().map(named).collect(),
            still_named: freed.still_named.iter().map(named).collect(),
            freed_bytes: freed.bytes,
            kept: freed.foreign.iter().map(|path| path.to_string_lossy()).collect(),
            ids: self.ids.as_ref().map(|ids| ids.iter().map(|(id, _)| id.as_str()).collect()),
            freed_cache_bytes: self.ids.is_none().then_some(freed_cache_bytes),
            caches: self.ids.is_none().then_some(&*self.caches),
            errors: &self.errors,
        };
        members.serialize(serializer)
    }
}

impl Report for Removal {
    fn command(&self) -> &'static str {
        if self.ids.is_some() { "uninstall" } else { "gc" }
    }

    fn errors(&self) -> &[AgentFailure] {
        &self.errors
    }
}

/// Removes agents with all their versions. The failure of one does not stop the others.
///
/// # Errors
/// [`Failure`] when an agent is not installed; nothing was removed then.
pub async fn uninstall(session: &mut Session, request: &Uninstall, events: &Events<'_>) -> Result<Removal, Failure> {
    session.store.only_looks = request.dry_run;
    let named = session.only(&request.agents)?;
    let ids = session.removable(&named)?;
    let (mut all, mut errors, mut done) = (Freed::default(), Vec::new(), Vec::new());
    for id in &ids {
        match session.store.uninstall(id, request.force, &waiting(events)).await {
            Err(error) => errors.push(Failure::from(error).for_agent(id)),
            Ok(None) => {
                events(Event::Note(&format!(
                    "{id} is gone: another process has uninstalled it, or not finished installing it"
                )));
                done.push((id.to_string(), None));
            }
            Ok(Some(freed)) => {
                done.push((id.to_string(), Some(freed.bytes)));
                all.removed.extend(freed.removed);
                all.still_named.extend(freed.still_named);
                all.bytes += freed.bytes;
                all.foreign.extend(freed.foreign);
            }
        }
    }
    warn(&all, events);
    let caches = if request.all { collect_caches(session, false, true)? } else { Vec::new() };
    Ok(Removal { freed: all, errors, ids: Some(done), caches, is_dry_run: request.dry_run })
}

/// Removes versions that are not in use, what interrupted installations have left, and what caches hold.
///
/// # Errors
/// [`Failure`] when the directory of agents cannot be read or written, or a cache.
pub async fn collect_garbage(
    session: &mut Session,
    request: &CollectGarbage,
    events: &Events<'_>,
) -> Result<Removal, Failure> {
    session.store.only_looks = request.dry_run;
    let (freed, failed) = session.store.collect_garbage(request.direct).await?;
    warn(&freed, events);
    let errors = failed.into_iter().map(|(id, error)| Failure::from(error).for_agent(&id)).collect();
    let caches = collect_caches(session, request.cache, request.dry_run)?;
    Ok(Removal { freed, errors, ids: None, caches, is_dry_run: request.dry_run })
}

/// Reports files that stay, and settings that name what is removed.
fn warn(freed: &Freed, events: &Events<'_>) {
    for path in &freed.foreign {
        let what = if path.is_symlink() { "is a link, which is not followed" } else { "was not made by this program" };
        events(Event::Warning(&format!("{} {what}, and stays", path.display())));
    }
    for (Removed { id, version, .. }, clients) in &freed.still_named {
        for client in clients {
            events(Event::Warning(&format!(
                "settings of {client} were printed for the program of {id} {version}: if they are still in use, they start nothing \
                 once it is removed; replace them with those of `acp-registry config {client} {id}`"
            )));
        }
    }
}

/// Empties the caches, or with `is_all` unset those that are too large. A dry run changes nothing, and returns what would be
/// freed.
fn collect_caches(session: &Session, is_all: bool, is_dry_run: bool) -> Result<Vec<Cached>, PathError> {
    let Some(directory) = session.options().cache.as_deref() else { return Ok(Vec::new()) };
    let packages = PackageCache::at(directory);
    let limit = if is_all { 0 } else { PACKAGES_LIMIT };
    let freed_bytes = if is_dry_run { packages.surplus(limit)? } else { packages.shrink(limit)? };
    // Files vanish while packages are installed.
    let size = packages.surplus(0).unwrap_or_default();
    let mut caches = vec![Cached { name: "packages", size, freed_bytes }];
    let indexes = Copies::below(directory).directory().to_owned();
    for (name, folders) in [("answers", Cache::folders(directory).to_vec()), ("indexes", vec![indexes])] {
        let files: Vec<(PathBuf, u64)> = folders.iter().flat_map(|folder| files_below(folder)).flatten().collect();
        let is_freed = |path: &Path| is_all && (is_dry_run || fs::remove_file(path).is_ok());
        let freed_bytes = files.iter().filter(|(path, _)| is_freed(path)).map(|(_, bytes)| bytes).sum();
        let size = files.iter().map(|(_, bytes)| bytes).sum::<u64>() - if is_dry_run { 0 } else { freed_bytes };
        caches.push(Cached { name, size, freed_bytes });
    }
    Ok(caches)
}
