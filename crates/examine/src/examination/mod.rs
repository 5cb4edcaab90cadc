//! EXAMINE: runs checks against an agent, each based on a page of the protocol's documentation.
//!
//! ```text
//! plan ─→ checks ─→ engine ─→ lane ─→ agent (messages, schema, client) ─→ results
//! ```
//!
//! * [`examine`]: the entry point, from the outcome of the handshake to an [`Examination`]
//! * [`ExaminationPlan`], [`Recipe`]: the checks to run, and how the agent reaches the scripted model
//! * [`Demand`]: the level up to which agents are examined, and the level that they must pass
//! * [`Level`]: the levels; each above `handshake` is a folder of checks
//! * [`Check`], [`CHECKS`], [`find`]: the checks, with their documentation
//! * [`Examination`], [`Examined`], [`CheckVerdict`]: the results, with their JSON form
//! * [`Exchange`], [`replay()`]: what was written in a failed check, to be sent again
//! * [`Record`], [`CheckRecord`]: results of an earlier examination, as read from that form
//!
//! Checks that need an agent in the same state share an instance, and form a group; two groups run at once. If a check
//! fails on an instance that another one has used, it is repeated on a new one, so that no check makes another fail.

mod access;
mod agent;
mod check;
mod checks;
mod client;
mod draft_turns;
mod drafts;
mod engine;
mod exchange;
mod failure;
mod lane;
mod listing;
mod messages;
mod nes;
mod remote;
mod replay;
mod result;
mod schema;
mod server;
mod session;
mod session_options;
mod turn;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::model::Model;
pub use access::Recipe;
use acp_registry_host::process::LaunchSpec;
use acp_registry_protocol::handshake::{HandshakeOptions, Outcome};
use acp_registry_remote::Endpoint;
pub use check::{Check, Force, Level};
pub use checks::{CHECKS, find};
pub use engine::{ExaminationPlan, LIMIT, examine};
pub use exchange::{Exchange, ExchangeError};
pub use lane::Progress;
pub use replay::{ReplayError, Replayed, replay};
pub use result::{CheckRecord, CheckVerdict, Examination, Examined, Judgement, Record, Shortfall, VerdictCounts};

/// The level up to which agents are examined, and the level that they must meet to pass.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    level: Level,
    require: Level,
    timeout: Option<Duration>,
    recipes: BTreeMap<String, Recipe>,
    endpoint: Option<Endpoint>,
}

impl Demand {
    /// `require` raises `level`: a required level is always examined.
    pub fn new(level: Option<Level>, require: Option<Level>) -> Self {
        let require = require.unwrap_or_default();
        let level = level.unwrap_or_default().max(require);
        Self { level, require, ..Self::default() }
    }

    /// Sets how long an examination may take, instead of a limit that grows with the agent's handshake.
    #[must_use]
    pub fn with_timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Adds how single agents reach the scripted model, by their id.
    #[must_use]
    pub fn with_recipes(self, recipes: BTreeMap<String, Recipe>) -> Self {
        Self { recipes, ..self }
    }

    /// Sets where the agent is, whose server is examined, too.
    #[must_use]
    pub fn with_endpoint(self, endpoint: Option<Endpoint>) -> Self {
        Self { endpoint, ..self }
    }

    /// The level up to which agents are examined.
    pub fn level(&self) -> Level {
        self.level
    }

    /// The level that agents must meet to pass.
    pub fn require(&self) -> Level {
        self.require
    }

    /// How an agent reaches the scripted model, by its id.
    pub fn recipe(&self, id: Option<&str>) -> Recipe {
        id.and_then(|id| self.recipes.get(id)).cloned().unwrap_or_default()
    }

    /// Whether there is more to do than the handshake.
    pub fn is_any(&self) -> bool {
        self.level > Level::Handshake
    }

    /// How an agent is started for its handshake, which is without its recipe unless the recipe says otherwise. The model
    /// must be kept until the handshake is over.
    ///
    /// # Errors
    /// Returns the system's error if the model cannot be served.
    pub async fn lead(
        &self,
        launch: &LaunchSpec,
        options: &HandshakeOptions,
        id: Option<&str>,
    ) -> io::Result<(LaunchSpec, HandshakeOptions, Option<Model>)> {
        let Some(recipe) = id.and_then(|id| self.recipes.get(id)).filter(|recipe| recipe.handshake) else {
            return Ok((launch.clone(), options.clone(), None));
        };
        let model = engine::serve(launch).await?;
        let (launch, options) = engine::led(launch, options, recipe, Some(&model));
        Ok((launch, options, Some(model)))
    }

    /// Examines an agent after its handshake, and turns `outcome` into a failure if the agent does not meet the
    /// required level, or into an error if that is not known for want of time. `id` selects the agent's recipe. `place` is a directory whose name differs between runs: messages
    /// contain `$SANDBOX` instead. Returns `None` if only the handshake was requested.
    ///
    /// Takes as long as [`examine`].
    pub async fn meet(
        &self,
        launch: &LaunchSpec,
        options: &HandshakeOptions,
        outcome: &mut Outcome,
        id: Option<&str>,
        place: Option<&Path>,
        progress: Progress<'_>,
    ) -> Option<Examination> {
        if !self.is_any() {
            return None;
        }
        let (recipe, endpoint) = (self.recipe(id), self.endpoint.clone());
        let plan = ExaminationPlan { recipe, endpoint, limit: self.timeout, ..ExaminationPlan::up_to(self.level) };
        // A large future, which callers would otherwise hold for each agent.
        let mut examination = Box::pin(examine(launch, options, outcome, &plan, progress)).await;
        if let Some(place) = place {
            examination.hide_path(place);
        }
        if self.require > Level::Handshake
            && let Some(Shortfall { is_open, message }) = examination.shortfall(self.require)
        {
            outcome.fail_examination(message, is_open);
        }
        Some(examination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_is_examined() {
        use Level::{Handshake, Protocol};
        let demand = |level, require| Demand::new(level, require);
        assert!(!demand(None, None).is_any() && !demand(Some(Handshake), None).is_any());
        let levels = |demand: Demand| (demand.level, demand.require);
        assert_eq!(levels(demand(Some(Handshake), Some(Protocol))), (Protocol, Protocol));
        assert_eq!(levels(demand(Some(Protocol), None)), (Protocol, Handshake));
    }
}
