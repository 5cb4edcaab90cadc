//! Looks for updates of many agents concurrently.

use futures_util::stream::{self, StreamExt as _};

use super::lists::Lists;
use super::{Bumper, ChannelOutcome, Error, ErrorKind};
use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_plan::manifest::Channel;

/// Maximum number of concurrent agents. Most wait for their host; limits per host apply in addition.
const AT_ONCE: usize = 128;

/// The result for one channel of an agent.
#[derive(Debug)]
pub struct Bumped {
    /// Name of the agent's folder.
    pub id: String,
    /// The channel.
    pub channel: Channel,
    /// The result.
    pub result: Result<ChannelOutcome, Error>,
    /// Remarks about the sources. May contain hostile text, so they must be escaped before printing.
    pub notes: Vec<String>,
}

impl Bumper<'_> {
    /// Looks for newer versions of these agents, and checks the updated manifests. Results are in the order of the
    /// entries, the stable channel first. An error of one agent does not affect others.
    ///
    /// `done` is called with the id of each finished agent.
    pub async fn run(
        &self,
        registry: &Registry,
        entries: &[&AgentFolder],
        channels: &[Channel],
        done: &(dyn Fn(&str) + Sync),
    ) -> Vec<Bumped> {
        let lists = &self.lists(entries, channels);
        let agents = stream::iter(entries.iter().enumerate()).map(|(at, entry)| async move {
            let bumped = self.agent(registry, entry, channels, lists).await;
            done(&entry.id);
            (at, bumped)
        });
        let mut all: Vec<(usize, Vec<Bumped>)> = agents.buffer_unordered(AT_ONCE).collect().await;
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().flat_map(|(_, bumped)| bumped).collect()
    }

    async fn agent(
        &self,
        registry: &Registry,
        entry: &AgentFolder,
        channels: &[Channel],
        lists: &Lists,
    ) -> Vec<Bumped> {
        let bumped = |channel, result| Bumped { id: entry.id.clone(), channel, result, notes: Vec::new() };
        let Loaded::Present(manifest) = &entry.manifest else {
            let message = "agent.json cannot be read; `acp-registry validate` says why";
            return vec![bumped(Channel::Stable, Err(ErrorKind::Manifest.because(message)))];
        };
        if manifest.has_duplicate_keys() {
            let message = "agent.json has a duplicate key, and only one of the two would be changed";
            return vec![bumped(Channel::Stable, Err(ErrorKind::Manifest.because(message)))];
        }
        let mut all = Vec::new();
        for release in manifest.agent().releases().filter(|release| channels.contains(&release.channel)) {
            let mut notes = Vec::new();
            let mut result = self.plan(manifest, release, lists, &mut notes).await;
            if let Ok(ChannelOutcome::Update(update)) = &mut result
                && let Err(error) = self.prove(registry, entry, update).await
            {
                result = Err(error);
            }
            all.push(Bumped { notes, ..bumped(release.channel, result) });
        }
        all
    }
}
