//! Finding out how a new agent is started.

use std::time::Duration;

use crate::verify::{Attempts, Trying, Verifier};
use acp_registry_client::install::{Kind, Source};
use acp_registry_core::manifest::{Distribution, Platform};
use acp_registry_core::sys::process::IsolationError;

/// The arguments with which agents are started as agents, in the order in which they are tried.
const WAYS: [&[&str]; 4] = [&[], &["--acp"], &["acp"], &["--experimental-acp"]];

/// How long each way may take to be answered, unless something else is wanted.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What is installed and started, and with which arguments.
#[derive(Debug, Clone)]
pub struct Ways {
    source: Source,
    lists: Vec<Vec<String>>,
}

impl Ways {
    /// The ways to start what a distribution has for a platform: with the arguments that a person has named, or with each of
    /// the usual ones. `None` where there is nothing for the platform.
    #[must_use]
    pub fn of(distribution: &Distribution, platform: Option<Platform>, named: Option<&[String]>) -> Option<Self> {
        let mut sources = Kind::ALL.into_iter().filter_map(|kind| kind.source(distribution, platform).ok().flatten());
        let source = sources.next()?;
        let usual = || WAYS.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect();
        let lists = named.map_or_else(usual, |arguments| vec![arguments.to_vec()]);
        Some(Self { source, lists })
    }

    /// The name of the package, or the address of the archive.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The lists of arguments.
    #[must_use]
    pub fn lists(&self) -> &[Vec<String>] {
        &self.lists
    }

    /// Installs the agent in a place of its own, and tries all ways, see [`Verifier::attempt`].
    ///
    /// # Errors
    /// [`IsolationError`] where agents cannot be kept apart as wanted; nothing is then started.
    pub async fn attempt(
        &self,
        verifier: &Verifier,
        trying: &(dyn Fn(Trying) + Send + Sync),
    ) -> Result<Attempts, IsolationError> {
        verifier.get_ready().await?;
        Ok(verifier.attempt(&self.source, &self.lists, trying).await)
    }
}

impl Attempts {
    /// That nothing was tried, for there is nothing for this machine.
    #[must_use]
    pub fn impossible() -> Self {
        let not_started = Some(("unsupported_platform", "there is nothing for this machine".to_owned()));
        Self { not_started, ..Self::default() }
    }
}
