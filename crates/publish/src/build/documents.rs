//! Data about agents that is not in their entries: capabilities and history.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use acp_registry_gate::verify::Snapshot;
use acp_registry_host::fs::read_bounded;

use super::{DocumentError, EarlierTree, Error, Site, SiteDocument};
use crate::diff;
use crate::history::{Extent, History};

/// The largest snapshot or history that is read, in bytes.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// The documents that the site is built from, beside the index.
pub(super) struct Documents {
    /// The capabilities of agents.
    pub(super) capabilities: Snapshot,
    pub(super) history: History,
    /// Whether the history was read from git. Only then may it be continued from the earlier tree.
    is_from_git: bool,
}

impl Documents {
    /// Reads the named files, or by default those in the registry. Without a history file, reads the history from
    /// git.
    pub(super) fn read(site: &Site<'_>) -> Result<Self, DocumentError> {
        let file = |named: Option<&Path>, usual: &str| {
            let in_registry = || Some(site.directory.join(usual)).filter(|path| path.is_file());
            named.map(ToOwned::to_owned).or_else(in_registry)
        };
        let capabilities = match file(site.capabilities, "capabilities.json") {
            Some(path) => document(path, SiteDocument::Capabilities, Snapshot::parse)?,
            None => Snapshot::default(),
        };
        let written = file(site.history, "history.json");
        let is_from_git = written.is_none();
        let history = match written {
            Some(path) => document(path, SiteDocument::History, History::parse)?,
            None => History::read(site.directory),
        };
        Ok(Self { capabilities, history, is_from_git })
    }

    /// Continues the history of the earlier tree up to `index`, if the history from git is incomplete.
    pub(super) fn continue_history(&mut self, earlier: &EarlierTree<'_>, index: &[u8]) -> Result<(), Error> {
        if !self.is_from_git || *self.history.extent() == Extent::Whole {
            return Ok(());
        }
        let failed = |file, error: &dyn Display| Error::History { file, message: error.to_string() };
        let Some(before) = earlier.tree.read("registry.json")? else { return Ok(()) };
        let before = diff::Agents::parse(&before).map_err(|error| failed("registry.json", &error))?;
        let now = diff::Agents::parse(index).map_err(Error::Index)?;
        let told = earlier.tree.read("history.json")?.map(|bytes| History::parse(&bytes)).transpose();
        let told = told.map_err(|error| failed("history.json", &error))?;
        let changes = diff::compare(&before, &now);
        self.history = History::continued(told, &changes, &self.history, earlier.now);
        Ok(())
    }
}

fn document<T, E: Display>(
    path: PathBuf,
    kind: SiteDocument,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<T, DocumentError> {
    let read = || {
        let real = path.canonicalize().map_err(|error| format!(": {error}"))?;
        let bytes = read_bounded(&real, &real, DOCUMENT_LIMIT).map_err(|error| format!(": {error}"))?;
        parse(&bytes).map_err(|error| format!(" {error}"))
    };
    read().map_err(|why| DocumentError { document: kind, path, why })
}
