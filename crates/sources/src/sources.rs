//! All sources of published agents.

use super::github::Github;
use super::{npm, pypi};

/// The sources of packages and releases.
#[derive(Debug)]
pub struct Sources {
    /// The npm registry; if `None`, npm packages are not looked up.
    pub npm: Option<npm::Registry>,
    /// The Python package index; if `None`, Python packages are not looked up.
    pub pypi: Option<pypi::PackageIndex>,
    /// GitHub.
    pub github: Github,
}

/// Which package registries are needed, because finding one may require a slow call of a package manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The npm registry.
    pub npm: bool,
    /// The Python package index.
    pub pypi: bool,
}
