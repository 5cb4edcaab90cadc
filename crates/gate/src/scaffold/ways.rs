//! Finds the arguments that start a new agent.

use std::time::Duration;

use crate::verify::{Attempts, Trying, Verifier};
use acp_registry_client::install::{Kind, Source};
use acp_registry_host::process::IsolationError;
use acp_registry_plan::manifest::{Distribution, Platform};

/// The lists of arguments to try, in this order.
const WAYS: [&[&str]; 4] = [&[], &["--acp"], &["acp"], &["--experimental-acp"]];

/// Default timeout for each list of arguments.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The source of an agent, and the lists of arguments to try.
#[derive(Debug, Clone)]
pub struct Ways {
    source: Source,
    lists: Vec<Vec<String>>,
}

impl Ways {
    /// Chooses the distribution for a platform, and the lists of arguments: `named`, or else the usual ones. Returns
    /// `None` if there is no distribution for the platform.
    #[must_use]
    pub fn of(distribution: &Distribution, platform: Option<Platform>, named: Option<&[String]>) -> Option<Self> {
        let mut sources = Kind::ALL.into_iter().filter_map(|kind| kind.source(distribution, platform).ok().flatten());
        let source = sources.next()?;
        let usual = || WAYS.iter().map(|way| way.iter().map(ToString::to_string).collect()).collect();
        let lists = named.map_or_else(usual, |arguments| vec![arguments.to_vec()]);
        Some(Self { source, lists })
    }

    /// The name of the package, or the URL of the archive.
    #[must_use]
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// The lists of arguments.
    #[must_use]
    pub fn lists(&self) -> &[Vec<String>] {
        &self.lists
    }

    /// Installs the agent in a temporary directory and tries all lists of arguments, see [`Verifier::attempt`]. `id` is the
    /// agent's.
    ///
    /// # Errors
    /// Returns [`IsolationError`] if the requested isolation is not available. The agent is not started then.
    pub async fn attempt(
        &self,
        verifier: &Verifier,
        id: &str,
        trying: &(dyn Fn(Trying) + Send + Sync),
    ) -> Result<Attempts, IsolationError> {
        verifier.get_ready().await?;
        Ok(verifier.attempt(&self.source, &self.lists, id, trying).await)
    }
}

impl Attempts {
    /// The result if there is no distribution for this machine.
    #[must_use]
    pub fn impossible() -> Self {
        let not_started = Some(("unsupported_platform", "there is nothing for this machine".to_owned()));
        Self { not_started, ..Self::default() }
    }
}
