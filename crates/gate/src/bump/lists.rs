//! Lists of releases that are requested for many agents at once.
//!
//! A list says which versions there are, and nothing about files. It is enough for agents without a newer version, which
//! most are. All others are looked up one by one, as without lists, so that the results are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use tokio::sync::OnceCell;

use super::Bumper;
use acp_registry_client::registry::AgentFolder;
use acp_registry_plan::manifest::Channel;
use acp_registry_sources::{REPOSITORIES, RepositoryName, github};

/// Number of concurrent requests. GitHub limits the time that it spends on one user.
const AT_ONCE: usize = 4;

/// Number of failed requests after which no more are sent: all further agents are looked up one by one.
const FAILURES: usize = 3;

/// The lists of a run, requested when the first one is needed.
#[derive(Debug, Default)]
pub(super) struct Lists {
    wanted: Vec<RepositoryName>,
    found: OnceCell<BTreeMap<RepositoryName, Vec<Arc<github::Release>>>>,
}

impl Bumper<'_> {
    /// The lists for these agents. There are none without a token, or for a single repository.
    pub(super) fn lists(&self, entries: &[&AgentFolder], channels: &[Channel]) -> Lists {
        if !self.sources.github.has_lists(self.client) {
            return Lists::default();
        }
        let manifests = entries.iter().filter_map(|entry| entry.manifest.present());
        let repositories = manifests.flat_map(|manifest| {
            let releases = manifest.agent().releases().filter(|release| channels.contains(&release.channel));
            releases.filter_map(move |release| self.repository(manifest, release))
        });
        let wanted: BTreeSet<RepositoryName> = repositories.map(|one| (one.owner, one.name)).collect();
        let wanted = if wanted.len() > 1 { wanted.into_iter().collect() } else { Vec::new() };
        Lists { wanted, found: OnceCell::new() }
    }

    /// The list of a repository, if there is one.
    pub(super) async fn list<'a>(
        &self,
        lists: &'a Lists,
        repository: RepositoryName,
    ) -> Option<&'a [Arc<github::Release>]> {
        let found = lists.found.get_or_init(|| self.request_lists(&lists.wanted)).await;
        found.get(&repository).map(Vec::as_slice)
    }

    async fn request_lists(&self, wanted: &[RepositoryName]) -> BTreeMap<RepositoryName, Vec<Arc<github::Release>>> {
        let requests = wanted.chunks(REPOSITORIES).map(|some| self.sources.github.lists(self.client, some));
        let mut answers = stream::iter(requests).buffer_unordered(AT_ONCE);
        let (mut found, mut failures) = (BTreeMap::new(), 0);
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(lists) => found.extend(lists),
                Err(_) => failures += 1,
            }
            if failures == FAILURES {
                break;
            }
        }
        found
    }
}
