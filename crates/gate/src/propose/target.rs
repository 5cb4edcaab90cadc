//! Where pull requests are opened, and for which updates.

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

/// Further information for reviewers, by agent and channel: Markdown without untrusted text.
pub type Notes = BTreeMap<(String, Channel), String>;

/// Where pull requests are opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name of the git remote.
    pub remote: String,
    /// The GitHub repository; `None` for that of the remote.
    pub repository: Option<Slug>,
    /// The branch to merge into; `None` for the current one.
    pub base: Option<String>,
    /// The label of straightforward updates.
    pub label: Option<String>,
}

/// Why pull requests cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The remote cannot be used.
    #[error(transparent)]
    Git(#[from] git::Error),
    /// The URL of the remote is unknown.
    #[error(transparent)]
    Address(git::Error),
    /// The remote is not on GitHub.
    #[error("the remote is not a repository on GitHub")]
    NotGithub,
    /// No branch is checked out.
    #[error("no branch is checked out")]
    NoBranch,
    /// Git has no `user.name` and `user.email` for commits.
    #[error("git does not know who commits")]
    NoIdentity,
}

impl<'a> Proposer<'a> {
    /// Fills in what the target leaves open from the git repository that contains the registry directory.
    ///
    /// # Errors
    /// Returns [`TargetError`].
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

    /// Proposes the updates among these results, and closes pull requests of agents that are up to date, see
    /// [`Proposer::propose`].
    ///
    /// # Errors
    /// Returns [`Error`] if branches or pull requests cannot be listed.
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
