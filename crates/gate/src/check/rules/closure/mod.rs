//! Rules for the closures of packages beside manifests.

pub(super) mod newer;
pub(super) mod scripts;
pub(super) mod unusable;
