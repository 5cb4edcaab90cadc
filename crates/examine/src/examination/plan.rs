//! What an examination does.

use std::time::Duration;

use super::check::Check;
use super::level::Level;
use super::recipe::Recipe;

/// Default time limit of an examination.
pub const LIMIT: Duration = Duration::from_mins(2);

/// The checks to run, and how the agent is prepared for them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExaminationPlan {
    /// The highest level whose checks run.
    pub level: Level,
    /// Time limit of the examination.
    pub limit: Duration,
    /// How this agent reaches the scripted model.
    pub recipe: Recipe,
    /// Further restricts the checks: those that it returns `false` for do not run, and have no result.
    pub only: fn(&Check) -> bool,
}

impl ExaminationPlan {
    /// All checks up to a level, within [`LIMIT`], for an agent that needs no recipe.
    pub fn up_to(level: Level) -> Self {
        Self { level, limit: LIMIT, recipe: Recipe::default(), only: |_| true }
    }
}
