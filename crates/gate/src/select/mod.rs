//! Selects the registry to work on, and a subset of its agents.
//!
//! * [`load()`], [`load_active`]: load a registry
//! * [`AgentFilter`]: the requested agents; [`AgentFilter::select`] resolves them to a [`Selection`]

use acp_registry_plan::failure::{Code, Failure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use acp_registry_client::registry::{LoadError, Loaded, Registry};
use acp_registry_host::git;
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::text::{brief_list, quote, suggestions};

use crate::config::{Config, is_registry};

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
            Self::ChangedSince(revision) => {
                let mut paths = git::changed_paths(&registry.root, revision)?;
                if paths.contains(REVOKED) {
                    // A recall of the published version breaks its agent, although the agent's files are the same.
                    let revoked = registry.revoked_releases();
                    paths.extend(revoked.iter().map(|(entry, ..)| format!("{}/agent.json", entry.id)));
                }
                Ok(Selection::Paths(paths))
            }
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
    pub fn ids(&self, registry: &Registry) -> Option<BTreeSet<String>> {
        let ids = || registry.entries.iter().map(|entry| &entry.id).filter(|id| self.has_folder(id)).cloned().collect();
        if matches!(self, Self::All) { None } else { Some(ids()) }
    }
}

/// Why a registry or its agents could not be selected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The directory has neither agents nor a `registry.toml`.
    #[error("{} has neither agents nor a registry.toml", .0.display())]
    Empty(PathBuf),
    /// The agent is listed as withdrawn in `registry.toml`.
    #[error("the agent {} is withdrawn", quote(.0))]
    Withdrawn(String),
    /// The registry has no agent with this id.
    #[error("there is no agent {}", quote(.id))]
    Unknown {
        /// The id.
        id: String,
        /// Similar ids, the most similar first.
        near: Vec<String>,
        /// All ids of the registry.
        known: Vec<String>,
    },
    /// The folder exists, but has no manifest.
    #[error("the folder {} has no agent.json", quote(.id))]
    NoManifest {
        /// Name of the folder.
        id: String,
        /// A file in the folder that is probably the misnamed manifest.
        misnamed: Option<String>,
    },
    /// The quarantine list could not be read; holds the place and the problem.
    #[error("the quarantine list cannot be used: {0}")]
    Quarantine(String),
    /// Git could not list the changed files.
    #[error(transparent)]
    Git(#[from] git::Error),
}

impl Error {
    /// Creates [`Error::Unknown`] with suggestions.
    fn unknown(id: &str, registry: &Registry) -> Self {
        let known: Vec<String> = registry.entries.iter().map(|entry| entry.id.clone()).collect();
        let near = suggestions(id, known.iter().map(String::as_str)).into_iter().map(ToOwned::to_owned).collect();
        Self::Unknown { id: id.to_owned(), near, known }
    }
}

/// Loads a registry. A directory without agents is an error, so that CI does not pass with a wrong path, unless it has
/// a `registry.toml`, as a newly created registry does.
///
/// # Errors
/// Returns [`Error::Load`] or [`Error::Empty`].
pub fn load(directory: &Path) -> Result<Registry, Error> {
    let registry = Registry::load(directory)?;
    if registry.entries.is_empty() && !is_registry(directory) {
        return Err(Error::Empty(directory.to_owned()));
    }
    Ok(registry)
}

/// Loads a registry without its withdrawn agents, and checks that the quarantine list can be read.
///
/// # Errors
/// Returns the errors of [`load`]; [`Error::Withdrawn`] or [`Error::Unknown`] for an id in `wanted`;
/// [`Error::Quarantine`] if the quarantine list cannot be read.
pub fn load_active(directory: &Path, config: &Config, wanted: &[String]) -> Result<Registry, Error> {
    let mut registry = load(directory)?;
    registry.entries.retain(|entry| !config.withdrawn.contains_key(&entry.id));
    if let Some(id) = wanted.iter().find(|id| config.withdrawn.contains_key(*id)) {
        return Err(Error::Withdrawn(id.clone()));
    }
    if let Some(id) = wanted.iter().find(|id| registry.entry(id).is_none()) {
        return Err(Error::unknown(id, &registry));
    }
    match quarantine_problem(&registry) {
        Some(problem) => Err(Error::Quarantine(problem)),
        None => Ok(registry),
    }
}

/// Whether a registry that was loaded for work has no agents because its configuration withdraws all of them.
pub fn are_all_withdrawn(registry: &Registry, config: &Config) -> bool {
    let is_there = |id: &String| AgentId::is_valid(id) && registry.root.join(id).join("agent.json").is_file();
    registry.entries.is_empty() && config.withdrawn.keys().any(is_there)
}

/// Why the quarantine list cannot be read, preceded by the place in the file; `None` if it is readable or missing. If it
/// cannot be read, no agent must be started, since any could be in quarantine.
pub fn quarantine_problem(registry: &Registry) -> Option<String> {
    let problem = match &registry.quarantine {
        Loaded::Missing => None,
        Loaded::Present(quarantine) if !quarantine.document.is_object() => Some(":1:1: not a JSON object".to_owned()),
        quarantine => quarantine.problem(),
    };
    problem.map(|problem| format!("quarantine.json{problem}"))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Load(error) => error.into(),
            Error::Empty(_) => Self::usage(error)
                .code(Code::InvalidRegistry)
                .help("name the directory that holds `<id>/agent.json` with --registry-dir"),
            Error::Withdrawn(_) => Self::usage(error)
                .code(Code::UnknownAgent)
                .help("to publish it again, remove its entry below `[withdrawn]` in registry.toml"),
            Error::Unknown { ref near, ref known, .. } => {
                let failure = Self::usage(&error).code(Code::UnknownAgent);
                if near.is_empty() {
                    failure.help(what_there_is(known))
                } else {
                    failure.suggest(near.iter().map(String::as_str))
                }
            }
            Error::NoManifest { ref misnamed, .. } => {
                Self::usage(&error).code(Code::UnknownAgent).help(match misnamed {
                    Some(misnamed) => format!("rename {} to agent.json", quote(misnamed)),
                    None => "add one, which `acp-registry new` writes, or name another agent".to_owned(),
                })
            }
            Error::Quarantine(_) => {
                Self::unable(error).help("correct the file; `acp-registry validate` shows what it may hold")
            }
            Error::Git(error) => {
                let is_elsewhere = matches!(error, git::Error::NoRepository);
                let help = "leave out --changed-since, or run it in a clone of the registry's repository";
                Self::from(error).help_if(is_elsewhere.then_some(help))
            }
        }
    }
}

/// What to say of a registry without agents.
pub const NO_AGENTS: &str = "the registry has no agents yet; `acp-registry new` adds one";

/// The help for an unknown id: the agents that the registry has.
fn what_there_is(ids: &[String]) -> String {
    if ids.is_empty() {
        return NO_AGENTS.to_owned();
    }
    let named = brief_list(ids.iter().map(|id| quote(id)), NAMED);
    format!("the registry has {named}; `acp-registry new` adds an agent")
}

/// The most ids that a remedy lists.
const NAMED: usize = 10;

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::Config;

    use super::*;

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
