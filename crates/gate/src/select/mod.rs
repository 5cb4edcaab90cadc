//! Selects the registry to work on, and a subset of its agents.
//!
//! * [`load()`], [`load_active`]: load a registry
//! * [`AgentFilter`]: the requested agents; [`AgentFilter::select`] resolves them to a [`Selection`]

mod error;
mod load;

use std::collections::BTreeSet;

pub use error::Error;
pub(crate) use load::knows_quarantine;
pub use load::{are_all_withdrawn, load, load_active, quarantine_problem};

use acp_registry_client::registry::Registry;
use acp_registry_host::git;

/// The agents that a caller requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AgentFilter {
    /// All agents of the registry.
    #[default]
    All,
    /// The agents with these ids.
    Named(Vec<String>),
    /// The agents with changes since this git revision.
    ChangedSince(String),
}

impl AgentFilter {
    /// Requests `ids` if there are any, otherwise the agents changed since `changed_since`, otherwise all agents.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = String>, changed_since: Option<String>) -> Self {
        let ids: Vec<String> = ids.into_iter().collect();
        match changed_since {
            _ if !ids.is_empty() => Self::Named(ids),
            Some(revision) => Self::ChangedSince(revision),
            None => Self::All,
        }
    }

    /// Resolves the request in a registry.
    ///
    /// # Errors
    /// Returns [`Error::Unknown`] or [`Error::NoManifest`] for an id that the registry does not have, and
    /// [`Error::Git`] if git cannot list the changed files.
    pub fn select(&self, registry: &Registry) -> Result<Selection, Error> {
        match self {
            Self::All => Ok(Selection::All),
            Self::ChangedSince(revision) => Ok(Selection::Paths(git::changed_paths(&registry.root, revision)?)),
            Self::Named(ids) => {
                for id in ids {
                    if let Some(stray) = registry.strays.iter().find(|stray| stray.name == *id) {
                        return Err(Error::NoManifest { id: id.clone(), misnamed: stray.misnamed.clone() });
                    }
                    if registry.entry(id).is_none() {
                        return Err(Error::unknown(id, registry));
                    }
                }
                Ok(Selection::Agents(ids.iter().cloned().collect()))
            }
        }
    }
}

/// The agents to check.
#[derive(Debug, Clone)]
pub enum Selection {
    /// The whole registry.
    All,
    /// The agents with these ids.
    Agents(BTreeSet<String>),
    /// The agents, and the files of the registry itself, that these paths belong to. Paths are relative to the registry
    /// directory.
    Paths(BTreeSet<String>),
}

impl Selection {
    /// Whether the agent or folder with this name is selected.
    #[must_use]
    pub fn has_folder(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Agents(ids) => ids.contains(name),
            Self::Paths(paths) => {
                let inside = format!("{name}/");
                paths.range(inside.clone()..).next().is_some_and(|path| path.starts_with(&inside))
                    || paths.contains(name)
            }
        }
    }

    /// The ids of the selected agents that are in `registry`; `None` if all are selected.
    #[must_use]
    pub fn ids(&self, registry: &Registry) -> Option<BTreeSet<String>> {
        let ids = || registry.entries.iter().map(|entry| &entry.id).filter(|id| self.has_folder(id)).cloned().collect();
        if matches!(self, Self::All) { None } else { Some(ids()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Config;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        folder
    }

    #[test]
    fn agents_are_found_or_the_error_says_which_there_are() {
        let folder = folder(&["alpha/agent.json", "beta/agent.json", "gamma/Agent.json"]);
        let registry = load(folder.path()).unwrap();
        let named = |id: &str| AgentFilter::new([id.to_owned()], Some("HEAD".to_owned())).select(&registry);
        let ids = |selection: Selection| selection.ids(&registry);
        assert_eq!(ids(named("beta").unwrap()), Some(BTreeSet::from(["beta".to_owned()])));
        assert_eq!(ids(AgentFilter::new([], None).select(&registry).unwrap()), None);
        let Err(Error::Unknown { near, mut known, .. }) = named("alpa") else { panic!() };
        // Where names that differ in their case are one, `gamma` has a manifest.
        if folder.path().join("ALPHA").exists() {
            assert_eq!(known.pop().as_deref(), Some("gamma"));
        } else {
            let Err(Error::NoManifest { misnamed, .. }) = named("gamma") else { panic!() };
            assert_eq!(misnamed.as_deref(), Some("Agent.json"));
        }
        assert_eq!((near, known), (vec!["alpha".to_owned()], vec!["alpha".to_owned(), "beta".to_owned()]));
    }

    #[test]
    fn only_a_folder_with_agents_or_a_configuration_is_a_registry() {
        let empty = folder(&[]);
        assert!(matches!(load(empty.path()), Err(Error::Empty(_))));
        assert!(load(folder(&["registry.toml"]).path()).is_ok());
    }

    #[test]
    fn nothing_is_started_of_a_registry_whose_quarantine_is_not_known() {
        let config = Config { withdrawn: [("old".to_owned(), "gone".to_owned())].into(), ..Config::default() };
        let files = ["new/agent.json", "old/agent.json"];
        let active = |folder: &tempfile::TempDir, id: &str| load_active(folder.path(), &config, &[id.to_owned()]);
        let good = folder(&files);
        assert_eq!(active(&good, "new").unwrap().entries.len(), 1);
        let left =
            |files: &[&str]| are_all_withdrawn(&load_active(folder(files).path(), &config, &[]).unwrap(), &config);
        assert_eq!((left(&files), left(&files[1..]), left(&["registry.toml"])), (false, true, false));
        assert!(matches!(active(&good, "old"), Err(Error::Withdrawn(_))));
        assert!(matches!(active(&good, "none"), Err(Error::Unknown { .. })));
        fs::write(good.path().join("quarantine.json"), "[").unwrap();
        assert!(matches!(active(&good, "new"), Err(Error::Quarantine(_))));
    }
}
