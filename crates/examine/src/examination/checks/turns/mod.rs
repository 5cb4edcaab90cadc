//! Level `turns`: checks of prompts, with a scripted model.

use crate::examination::check::Check;

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[];
