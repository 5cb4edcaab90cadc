//! Level `drafts`: checks of proposals for later versions of the protocol.

use crate::examination::check::Check;

/// All checks of the level, sorted by id.
pub(super) static CHECKS: &[&Check] = &[];
