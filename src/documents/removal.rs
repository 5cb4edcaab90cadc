use std::borrow::Cow;
use std::collections::BTreeSet;

use acp_registry::store::{Freed, Removed};
use serde::Serialize;

use crate::documents::AgentError;

/// A version that was removed or kept.
#[derive(Debug, Serialize)]
pub(crate) struct RemovedVersion<'a> {
    id: &'a str,
    version: &'a str,
    size: u64,
    /// Clients whose settings name the program of this version; `None` in lists that are not about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'a BTreeSet<String>>,
}

impl<'a> RemovedVersion<'a> {
    fn of(one: &'a Removed) -> Self {
        Self { id: &one.id, version: &one.version, size: one.bytes, clients: None }
    }

    fn named((one, clients): &'a (Removed, BTreeSet<String>)) -> Self {
        Self { clients: Some(clients), ..Self::of(one) }
    }
}

/// A cache of this program.
#[derive(Debug, Serialize)]
pub(crate) struct Cached {
    /// `packages`, `answers` or `indexes`.
    pub(crate) name: &'static str,
    /// Bytes that it holds.
    pub(crate) size: u64,
    /// Bytes that were freed in it; in a dry run, those that would be.
    pub(crate) freed_bytes: u64,
}

/// Members of `uninstall` and `gc`.
#[derive(Debug, Serialize)]
pub(crate) struct Removal<'a> {
    dry_run: bool,
    removed: Vec<RemovedVersion<'a>>,
    running: Vec<RemovedVersion<'a>>,
    named: Vec<RemovedVersion<'a>>,
    still_named: Vec<RemovedVersion<'a>>,
    freed_bytes: u64,
    kept: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_cache_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    caches: Option<&'a [Cached]>,
    errors: Vec<AgentError>,
}

impl<'a> Removal<'a> {
    /// Describes the freed space. In a dry run, it is the space that would be freed.
    #[must_use]
    pub(crate) fn of(freed: &'a Freed, is_dry_run: bool, errors: Vec<AgentError>) -> Self {
        Self {
            dry_run: is_dry_run,
            removed: freed.removed.iter().map(RemovedVersion::of).collect(),
            running: freed.running.iter().map(RemovedVersion::of).collect(),
            named: freed.named.iter().map(RemovedVersion::named).collect(),
            still_named: freed.still_named.iter().map(RemovedVersion::named).collect(),
            freed_bytes: freed.bytes,
            kept: freed.foreign.iter().map(|path| path.to_string_lossy()).collect(),
            ids: None,
            freed_cache_bytes: None,
            caches: None,
            errors,
        }
    }

    /// Sets the ids of the uninstalled agents.
    #[must_use]
    pub(crate) fn agents(self, ids: Vec<&'a str>) -> Self {
        Self { ids: Some(ids), ..self }
    }

    /// Sets the caches, and the number of bytes that were freed in those of npm and uv.
    #[must_use]
    pub(crate) fn caches(self, caches: &'a [Cached]) -> Self {
        let packages = caches.iter().filter(|cache| cache.name == "packages");
        let freed = packages.map(|cache| cache.freed_bytes).sum();
        Self { freed_cache_bytes: Some(freed), caches: Some(caches), ..self }
    }
}
