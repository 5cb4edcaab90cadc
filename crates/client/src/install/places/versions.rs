//! The versions of a runtime that a version manager has installed.

use std::path::{Path, PathBuf};

use semver::Version;

use acp_registry_host::process::is_executable;

/// How many entries of a directory are read.
const ENTRIES: usize = 1000;

/// How many versions of one manager are kept, the newest first.
pub(super) const MOST: usize = 16;

/// The program of Node.js, and that of Python.
pub(super) const NODE: &str = if cfg!(windows) { "node.exe" } else { "node" };
pub(super) const PYTHON: &str = if cfg!(windows) { "python.exe" } else { "python3" };

/// Versions of a runtime in one directory.
pub(super) struct Versions {
    /// The directory, whose entries are versions.
    root: PathBuf,
    /// Where the program is in an entry.
    inner: &'static str,
    program: &'static str,
    /// The versions, the newest first, and the directories of their programs.
    pub(super) found: Vec<(Version, PathBuf)>,
}

impl Versions {
    pub(super) fn at(root: PathBuf, inner: &'static str, program: &'static str) -> Self {
        let mut found: Vec<(Version, PathBuf)> = entries(&root)
            .filter_map(|name| {
                // uv adds the platform: `cpython-3.12.7-linux-x86_64-gnu`.
                let of_uv = name.strip_prefix("cpython-").and_then(|rest| rest.split('-').next());
                let version = of_uv.or_else(|| name.strip_prefix('v')).unwrap_or(&name);
                Some((Version::parse(version).ok()?, with(program, root.join(&name).join(inner))?))
            })
            .collect();
        found.sort_unstable_by(|one, other| other.cmp(one));
        found.truncate(MOST);
        Self { root, inner, program, found }
    }

    /// The version that a setting means: the exact one, an entry of that name such as a link, or the newest that begins
    /// with these numbers.
    pub(super) fn meant_by(&self, text: &str) -> Option<PathBuf> {
        if ["node", "stable", "latest", "*"].contains(&text) {
            return self.found.first().map(|(_, directory)| directory.clone());
        }
        let is_plain = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains(['/', '\\']);
        if !is_plain {
            return None;
        }
        let exact = with(self.program, self.root.join(text).join(self.inner)).and_then(|path| path.canonicalize().ok());
        let exact = exact.filter(|path| self.root.canonicalize().is_ok_and(|root| path.starts_with(root)));
        let number = text.strip_prefix('v').unwrap_or(text);
        let begins = |version: &Version| {
            let version = version.to_string();
            version == number || version.strip_prefix(number).is_some_and(|rest| rest.starts_with('.'))
        };
        exact.or_else(|| self.found.iter().find(|(version, _)| begins(version)).map(|(_, path)| path.clone()))
    }
}

/// The directory, if a program is in it.
pub(super) fn with(program: &str, directory: PathBuf) -> Option<PathBuf> {
    is_executable(&directory.join(program)).then_some(directory)
}

/// The names in a directory.
pub(super) fn entries(directory: &Path) -> impl Iterator<Item = String> {
    let items = directory.read_dir().into_iter().flatten().take(ENTRIES);
    items.filter_map(|item| item.ok()?.file_name().into_string().ok())
}
