//! Where requests are opened, and for which updates.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, Proposal, Proposer, Slug, Wanted};
use crate::bump::{Bumped, Outcome};
use acp_registry_core::manifest::Channel;
use acp_registry_core::net::Client;
use acp_registry_core::registry::Registry;
use acp_registry_core::source::apply;
use acp_registry_core::sys::git::{self, Remote};
use acp_registry_core::upstream::github::Github;

/// What a person should know of updates besides, by agent and channel: Markdown that holds no text of strangers.
pub type Notes = BTreeMap<(String, Channel), String>;

/// Where requests are opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The name of the git remote.
    pub remote: String,
    /// The repository on GitHub; `None` for that of the remote.
    pub repository: Option<Slug>,
    /// The branch to merge into; `None` for the current one.
    pub base: Option<String>,
    /// The label of straightforward updates.
    pub label: Option<String>,
}

/// Why no request can be opened there.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The remote cannot be used.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The address of the remote is not known.
    #[error(transparent)]
    Address(git::Error),
    /// The remote is somewhere else.
    #[error("the remote is not a repository on GitHub")]
    NotGithub,
    /// There is no current branch.
    #[error("no branch is checked out")]
    NoBranch,
    /// Git has no name and address for commits.
    #[error("git does not know who commits")]
    NoIdentity,
}

impl<'a> Proposer<'a> {
    /// Finds out what is not said of a target, for a registry directory in a git repository.
    ///
    /// # Errors
    /// [`TargetError`].
    pub fn new(client: &'a Client, github: &'a Github, root: &Path, target: Target) -> Result<Self, TargetError> {
        let remote = Remote::new(root, &target.remote)?;
        let slug = match target.repository {
            Some(slug) => slug,
            None => Slug::of_remote(&remote.address().map_err(TargetError::Address)?).ok_or(TargetError::NotGithub)?,
        };
        let base = target.base.or_else(|| remote.current_branch()).ok_or(TargetError::NoBranch)?;
        let identity = remote.configured_identity().ok_or(TargetError::NoIdentity)?;
        Ok(Self { client, github, slug, remote, base, identity, label: target.label })
    }

    /// Proposes the updates among these results, and takes back proposals of agents that are up to date, see
    /// [`Proposer::propose`].
    ///
    /// # Errors
    /// [`Error`].
    pub async fn propose_updates(
        &self,
        registry: &Registry,
        bumped: &[Bumped],
        notes: &Notes,
    ) -> Result<Vec<Proposal>, Error> {
        let text = |id: &str| registry.text(&format!("{id}/agent.json")).unwrap_or_default();
        let wanted = bumped.iter().filter_map(|one| match &one.result {
            Ok(Outcome::Update(update)) => {
                let manifest = apply(text(&one.id), &update.edits);
                let notes = notes.get(&(one.id.clone(), one.channel)).cloned().unwrap_or_default();
                Some(Wanted { id: &one.id, update, original: text(&one.id), manifest, notes })
            }
            _ => None,
        });
        let wanted: Vec<Wanted<'_>> = wanted.collect();
        let settled = bumped.iter().filter(|one| matches!(one.result, Ok(Outcome::UpToDate)));
        let settled: Vec<(String, Channel)> = settled.map(|one| (one.id.clone(), one.channel)).collect();
        self.propose(&wanted, &settled).await
    }
}
