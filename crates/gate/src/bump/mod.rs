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
mod apply;
mod asset;
mod compare;
mod digest;
mod error;
mod feed;
mod find_archive;
mod gather;
mod lists;
mod newest;
mod offer;
mod plan;
mod prove;
mod published;
mod run;
mod session;
mod start;
mod troubles;

use std::time::Duration;

use time::OffsetDateTime;

pub use compare::{CheckChange, Compared};
pub use error::{Error, ErrorKind};
pub use newest::{Choice, HeldReason, Policy, choose};
pub(crate) use offer::version_of_tag;
pub use offer::{Flaw, Offers, SourceKind, SourceVersion};
pub use plan::{ChannelOutcome, ValueChange, VersionUpdate};
pub use run::Bumped;
pub use session::{BumpRequest, BumpRun, Finished, SessionError};
pub use start::{Passed, Starts};
pub use troubles::{Trouble, Troubles, TroublesError};

use crate::check::Levels;
use crate::config::Config;
use acp_registry_http::{AllowedHosts, Client};
use acp_registry_sources::Sources;

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
    /// Minimum time since a version's release before an agent moves to it.
    pub min_age: Duration,
    /// The current time.
    pub now: OffsetDateTime,
}
