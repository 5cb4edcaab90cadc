//! BUMP: newer releases of agents, and the smallest change to a manifest that takes them in.
//!
//! ```text
//! sources ─→ offers ─→ choice ─→ update (edits of the manifest's text)
//! ```
//!
//! * [`Bumper`] asks the sources of one agent and works out its update; agents know nothing of each other
//! * [`choose`]: which version it should be; a pure function of what sources [`Offer`]
//! * [`Session`]: a run as a whole; updates are started and applied, and what lasts is recorded
//! * [`Update`]: the changes, and why a person should look at them

mod address;
mod apply;
mod asset;
mod digest;
mod error;
mod feed;
mod find_archive;
mod gather;
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

pub use error::{Error, ErrorKind};
pub use newest::{Choice, Held, Policy, choose};
pub use offer::{Flaw, Offer, Offers, SourceKind, version_of_tag};
pub use plan::{Change, Outcome, Update};
pub use run::Bumped;
pub use session::{Finished, Order, Session, SessionError};
pub use start::{Passed, Starts};
pub use troubles::{Trouble, Troubles, TroublesError};

use crate::check::Levels;
use crate::config::Config;
use acp_registry_core::net::{AllowedHosts, Client};
use acp_registry_core::upstream::Sources;

/// Looks for newer versions of agents.
#[derive(Clone, Copy)]
pub struct Bumper<'a> {
    /// The client; what it may speak to is its own matter.
    pub client: &'a Client,
    /// The package registries and GitHub.
    pub sources: &'a Sources,
    /// The registry's configuration, which may name further sources.
    pub config: &'a Config,
    /// Which rules a changed manifest must pass.
    pub levels: &'a Levels,
    /// Hosts that need be neither public nor reached by https.
    pub allowed_hosts: &'a AllowedHosts,
    /// How long a version must have been out before it is taken in.
    pub min_age: Duration,
    /// The time to reckon from.
    pub now: OffsetDateTime,
}
