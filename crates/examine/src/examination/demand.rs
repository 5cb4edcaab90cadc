//! The level that callers request and require.

use std::path::Path;

use acp_registry_core::sys::process::Launch;
use acp_registry_protocol::handshake::{Options, Outcome};

use super::engine::{LIMIT, examine};
use super::level::Level;
use super::result::Examination;

/// The level up to which agents are examined, and the level that they must meet to pass.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    level: Level,
    require: Level,
}

impl Demand {
    /// `require` raises `level`: a required level is always examined.
    #[must_use]
    pub fn new(level: Option<Level>, require: Option<Level>) -> Self {
        let require = require.unwrap_or_default();
        Self { level: level.unwrap_or_default().max(require), require }
    }

    /// Whether there is more to do than the handshake.
    #[must_use]
    pub fn is_any(self) -> bool {
        self.level > Level::Handshake
    }

    /// Examines an agent after its handshake, and turns `outcome` into a failure if the agent does not meet the
    /// required level. `place` is a directory whose name differs between runs: messages contain `$SANDBOX` instead.
    /// Returns `None` if only the handshake was requested.
    ///
    /// Takes up to [`LIMIT`].
    pub async fn meet(
        self,
        launch: &Launch,
        options: &Options,
        outcome: &mut Outcome,
        place: Option<&Path>,
    ) -> Option<Examination> {
        if !self.is_any() {
            return None;
        }
        let mut examination = examine(launch, options, self.level, outcome, LIMIT).await;
        if let Some(place) = place {
            examination.hide_path(place);
        }
        if self.require > Level::Handshake
            && let Some(message) = examination.shortfall(self.require)
        {
            outcome.fail_examination(message);
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
        assert_eq!(demand(Some(Handshake), Some(Protocol)), Demand { level: Protocol, require: Protocol });
        assert_eq!(demand(Some(Protocol), None), Demand { level: Protocol, require: Handshake });
    }
}
