//! Rules about GitHub releases.

pub(super) mod asset_not_found;
