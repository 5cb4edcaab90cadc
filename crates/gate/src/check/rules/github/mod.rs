//! Rules about what GitHub says of a release.

pub(super) mod asset_not_found;
