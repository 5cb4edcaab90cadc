//! Finds newer releases of agents, and the smallest change to the manifest that moves to them.
//!
//! ```text
//! sources ─→ offers ─→ choice ─→ update (edits of the manifest's text)
//! ```
//!
//! * [`Bumper`]: asks the sources of one agent and plans its update, independently of other agents
//! * [`choose`]: chooses a version; a pure function of the [`SourceVersion`]s
//! * [`BumpRun`]: a whole run; starts and applies updates, and records lasting errors
//! * [`VersionUpdate`]: the changes, and the reasons why a person should review them
//! * [`Compared`]: how the examinations of two versions differ

mod address;
mod feed;
mod find_archive;
mod gather;
mod newest;
mod offer;
mod plan;
mod run;
mod trial;
mod troubles;

use std::time::Duration;

use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_http::{AllowedHosts, Client, FetchError, Problem};
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::revocations::Revocations;
use acp_registry_sources::{SourceError, Sources};
use futures_util::stream::{self, StreamExt as _};
use serde::Deserialize;
use time::OffsetDateTime;

use crate::advisories::Advisories;
use crate::check::Levels;
use crate::config::Config;
use gather::Lists;

pub use newest::{Choice, HeldReason, Policy, choose};
pub(crate) use offer::version_of_tag;
pub use offer::{Flaw, Offers, SourceKind, SourceVersion};
pub use plan::{ChannelOutcome, CheckChange, Compared, ValueChange, VersionUpdate};
pub(crate) use run::held;
pub use run::{BumpRequest, BumpRun, BumpRunError, Finished, manifests_with_lists, review_list};
pub use trial::{Passed, Starts};
pub use troubles::{Trouble, Troubles, TroublesError};

/// Looks for newer versions of agents.
#[derive(Clone, Copy)]
pub struct Bumper<'a> {
    /// The HTTP client; it decides which hosts may be contacted.
    pub client: &'a Client,
    /// The package registries and GitHub.
    pub sources: &'a Sources,
    /// The registry's configuration, which may contain feeds.
    pub config: &'a Config,
    /// The levels of the rules that an updated manifest must pass.
    pub levels: &'a Levels,
    /// Hosts that may be private and may be used without TLS.
    pub allowed_hosts: &'a AllowedHosts,
    /// The advisories that the configuration names.
    pub advisories: &'a Advisories,
    /// Minimum time since a version's release before an agent moves to it.
    pub min_age: Duration,
    /// The current time.
    pub now: OffsetDateTime,
}

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
        let (lists, revocations) = (&self.lists(entries, channels), &registry.revocations());
        let agents = stream::iter(entries.iter().enumerate()).map(|(at, entry)| async move {
            let bumped = self.agent(registry, entry, channels, revocations, lists).await;
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
        revocations: &Revocations,
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
            let mut result = self.plan((&entry.id, manifest), release, revocations, lists, &mut notes).await;
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

/// Why an agent could not be updated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// What failed. May contain hostile text, so it must be escaped before printing.
    pub message: String,
}

/// At which step a bump has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// A source did not answer, or its answer was invalid.
    SourceUnavailable,
    /// A source limits the rate of requests.
    RateLimited,
    /// A source does not have the package or repository.
    NotFound,
    /// No version is offered by all sources.
    VersionsDisagree,
    /// The manifest's version is higher than all offered ones.
    Downgrade,
    /// The new version has no archive for one of the manifest's platforms.
    AssetMissing,
    /// The manifest cannot be read or edited.
    Manifest,
    /// The updated manifest breaks a rule.
    ValidationFailed,
    /// The new version fails the handshake.
    HandshakeFailed,
    /// The update could not be written, committed or proposed.
    NotWritten,
}

impl ErrorKind {
    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        self.named().0
    }

    /// A short description for people.
    pub fn words(self) -> &'static str {
        self.named().1
    }

    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::SourceUnavailable => ("source_unavailable", "a source gives no usable answer"),
            Self::RateLimited => ("rate_limited", "a source limits requests"),
            Self::NotFound => ("not_found", "not found"),
            Self::VersionsDisagree => ("versions_disagree", "no version is available from every source"),
            Self::Downgrade => ("downgrade", "the manifest is ahead of its sources"),
            Self::AssetMissing => ("asset_missing", "an archive is missing"),
            Self::Manifest => ("manifest", "the manifest cannot be changed"),
            Self::ValidationFailed => ("validation_failed", "the update breaks a rule"),
            Self::HandshakeFailed => ("handshake_failed", "the new version fails its check"),
            Self::NotWritten => ("not_written", "the update was not written"),
        }
    }

    /// Whether a source could not be asked, so that nothing is known about the agent.
    pub fn is_outage(self) -> bool {
        matches!(self, Self::SourceUnavailable | Self::RateLimited)
    }

    /// Whether the sources have answered, and have no version that the agent could move to.
    pub(crate) fn has_no_update(self) -> bool {
        let is_of_sources = matches!(self, Self::NotFound | Self::VersionsDisagree | Self::Downgrade);
        is_of_sources || (self.is_of_update() && self != Self::NotWritten)
    }

    /// Whether the agent was looked at, and its update does not work.
    pub fn is_of_update(self) -> bool {
        matches!(self, Self::AssetMissing | Self::ValidationFailed | Self::HandshakeFailed | Self::NotWritten)
    }

    /// Creates an error of this kind.
    pub fn because(self, message: impl Into<String>) -> Error {
        Error { kind: self, message: message.into() }
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Fetch(error) => error.into(),
            SourceError::Malformed { .. } => ErrorKind::SourceUnavailable.because(error.to_string()),
        }
    }
}

impl From<FetchError> for Error {
    fn from(error: FetchError) -> Self {
        let kind = match error.problem {
            // GitHub's 403 for a rate limit has headers that say so, by which it is known here.
            Problem::RateLimited { .. } | Problem::Status(429) => ErrorKind::RateLimited,
            Problem::Status(404 | 410) => ErrorKind::NotFound,
            _ => ErrorKind::SourceUnavailable,
        };
        kind.because(error.to_string())
    }
}
