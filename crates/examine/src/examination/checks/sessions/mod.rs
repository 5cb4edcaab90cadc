//! Level `sessions`: checks of sessions, without a prompt.

mod distinct_ids;

use crate::examination::check::Check;

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[&distinct_ids::CHECK];
