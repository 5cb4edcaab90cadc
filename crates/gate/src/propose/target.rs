//! Where pull requests are opened, and for which updates.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, Proposal, ProposedUpdate, Proposer, Slug};
use crate::bump::{Bumped, ChannelOutcome};
use crate::closures::ClosureChange;
use acp_registry_client::registry::Registry;
use acp_registry_host::git::{self, Remote};
use acp_registry_http::Client;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::source::apply;
use acp_registry_plan::text::{brief_list, quote};
use acp_registry_sources::github::Github;
use url::Url;

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
    /// The repository has no remote of this name.
    #[error("the repository has no git remote {}", quote(.remote))]
    NoRemote {
        /// The name that was given, or the default.
        remote: String,
        /// The remotes of the repository.
        known: Vec<String>,
    },
    /// The remote is not on GitHub.
    #[error("the git remote {} does not lead to a repository on GitHub", quote(.remote))]
    NotGithub {
        /// The remote.
        remote: String,
        /// The other remotes.
        others: Vec<String>,
    },
    /// No branch is checked out.
    #[error("no branch is checked out")]
    NoBranch,
    /// Git has no `user.name` and `user.email` for commits.
    #[error("git has no name and e-mail address for commits")]
    NoIdentity,
}

/// Whether the address of a remote is on the GitHub that is asked. A name without a dot may be one for a host that only the
/// settings of ssh know.
fn is_on_github(address: &str, github: &Github) -> bool {
    let own = github.api.host_str().unwrap_or_default();
    let own = own.strip_prefix("api.").unwrap_or(own);
    host(address).is_some_and(|host| host == own || host.ends_with(&format!(".{own}")) || !host.contains('.'))
}

/// The host in the address of a remote: `https://host/owner/name` or `git@host:owner/name`.
fn host(address: &str) -> Option<String> {
    if let Ok(url) = Url::parse(address)
        && let Some(host) = url.host_str()
    {
        return Some(host.to_ascii_lowercase());
    }
    let (place, _) = address.split_once(':')?;
    Some(place.rsplit('@').next().unwrap_or(place).to_ascii_lowercase())
}

impl<'a> Proposer<'a> {
    /// Fills in what the target leaves open from the git repository that contains the registry directory.
    ///
    /// # Errors
    /// Returns [`TargetError`].
    pub fn new(client: &'a Client, github: &'a Github, root: &Path, target: Target) -> Result<Self, TargetError> {
        let remote = Remote::new(root, &target.remote)?;
        let mut known = remote.all()?;
        // Anything else than a name is an address itself, as git takes it.
        let is_name = !target.remote.contains(['/', ':', '\\']);
        if is_name && !known.contains(&target.remote) {
            return Err(TargetError::NoRemote { remote: target.remote, known });
        }
        let slug = if let Some(slug) = target.repository {
            slug
        } else {
            let address = if is_name { remote.address()? } else { target.remote.clone() };
            let slug = Slug::from_remote(&address).filter(|_| is_on_github(&address, github));
            slug.ok_or_else(|| {
                known.retain(|name| *name != target.remote);
                TargetError::NotGithub { remote: target.remote, others: known }
            })?
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
        closures: &[ClosureChange],
    ) -> Result<Vec<Proposal>, Error> {
        let text = |id: &str| registry.text(&format!("{id}/agent.json")).unwrap_or_default();
        let wanted = bumped.iter().filter_map(|one| match &one.result {
            Ok(ChannelOutcome::Update(update)) => {
                let manifest = apply(text(&one.id), &update.edits);
                let notes = notes.get(&(one.id.clone(), one.channel)).cloned().unwrap_or_default();
                let is_own = |change: &&ClosureChange| change.id == one.id && one.channel == Channel::Stable;
                let closures = closures.iter().filter(is_own).collect();
                Some(ProposedUpdate { id: &one.id, update, original: text(&one.id), manifest, closures, notes })
            }
            _ => None,
        });
        let wanted: Vec<ProposedUpdate<'_>> = wanted.collect();
        let settled = bumped.iter().filter(|one| matches!(one.result, Ok(ChannelOutcome::UpToDate)));
        let settled: Vec<(String, Channel)> = settled.map(|one| (one.id.clone(), one.channel)).collect();
        self.propose(&wanted, &settled).await
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let help = match error {
            TargetError::Git(git::Error::NoRepository) => {
                return Self::from(git::Error::NoRepository).help("run it in a clone of the registry's repository");
            }
            TargetError::Git(error) => return error.into(),
            TargetError::NoRemote { ref remote, ref known } if known.is_empty() => {
                format!("add it with `git remote add {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NoRemote { ref known, .. } => another_remote(known),
            TargetError::NotGithub { ref remote, ref others } if others.is_empty() => {
                format!("set its address with `git remote set-url {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NotGithub { ref others, .. } => another_remote(others),
            TargetError::NoBranch => "name the one to merge into with --base".to_owned(),
            TargetError::NoIdentity => "set user.name and user.email with `git config`".to_owned(),
        };
        Self::usage(error).help(help)
    }
}

/// The help that asks to name one of these remotes.
fn another_remote(names: &[String]) -> String {
    let known = brief_list(names.iter().map(|name| quote(name)), NAMED);
    format!("name the remote on GitHub with --remote; there is {known}")
}

/// The most remotes that a remedy lists.
const NAMED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_elsewhere_is_not_taken_for_github() {
        let public = Github::new("https://api.github.com").unwrap();
        let own = Github::new("https://git.example/api/v3").unwrap();
        for (address, is_public, is_own) in [
            ("https://github.com/o/r.git", true, false),
            ("https://x-access-token:secret@GitHub.com/o/r", true, false),
            ("git@github.com:o/r.git", true, false),
            ("ssh://git@ssh.github.com:443/o/r", true, false),
            ("git@github-of-work:o/r.git", true, true),
            ("https://gitlab.example/o/r", false, false),
            ("git@git.example:o/r", false, true),
            ("https://notgithub.com/o/r", false, false),
            ("../remote", false, false),
            ("/srv/git/o/r", false, false),
        ] {
            assert_eq!((is_on_github(address, &public), is_on_github(address, &own)), (is_public, is_own), "{address}");
        }
    }
}
