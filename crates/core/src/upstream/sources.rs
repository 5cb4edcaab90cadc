//! Everything that can be asked about published agents.

use super::github::Github;
use super::{npm, pypi};

/// Where packages and releases come from.
#[derive(Debug)]
pub struct Sources {
    /// The npm registry; without one, npm packages are not asked for.
    pub npm: Option<npm::Registry>,
    /// The Python package index; without one, Python packages are not asked for.
    pub pypi: Option<pypi::Index>,
    /// GitHub.
    pub github: Github,
}

/// Which package registries are needed: asking a package manager for its own takes a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// That of npm.
    pub npm: bool,
    /// The Python package index.
    pub pypi: bool,
}
