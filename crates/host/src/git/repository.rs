//! Finds the repository that contains a directory, without running git in that directory.
//!
//! Git first checks whether a directory is a bare repository, and a branch can add files that make a directory look
//! like one.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Error;
use super::runner::{GitCommand, Reach};
use crate::fs::{PathError, read_bounded};

/// Maximum size of git's output, in bytes.
const OUTPUT_LIMIT: u64 = 256 << 20;

/// Maximum size of a `.git` file, in bytes.
const LINK_LIMIT: u64 = 1 << 16;

/// A directory in a git work tree, and the top of that work tree.
#[derive(Debug, Clone)]
pub struct Repository {
    directory: PathBuf,
    top: PathBuf,
    /// Arguments with the locations of the repository, so that git does not search for them.
    place: Vec<String>,
}

impl Repository {
    /// Finds the repository that contains a directory: the nearest parent with a `.git`.
    ///
    /// # Errors
    /// Returns [`Error`] if there is none, or if git does not trust it because another user owns it.
    pub fn around(directory: &Path) -> Result<Self, Error> {
        let directory = directory
            .canonicalize()
            .map_err(|error| Error::Directory(PathError { path: directory.to_owned(), error }))?;
        let (depth, top) = directory
            .ancestors()
            .enumerate()
            .find(|(_, folder)| has_repository(folder))
            .map(|(depth, folder)| (depth, folder.to_owned()))
            .ok_or(Error::NoRepository)?;
        refuse_inside(&directory, &top)?;
        // A relative path, since git does not understand all forms of absolute paths on all systems.
        let up = if depth == 0 { ".".to_owned() } else { vec![".."; depth].join("/") };
        let place = vec![format!("--git-dir={up}/.git"), format!("--work-tree={up}")];
        let repository = Self { directory, top, place };
        repository.confirm()?;
        Ok(repository)
    }

    /// Runs git at the top directory, where it looks for `.git` first. This checks the repository's owner, which git
    /// does not do if `--git-dir` is given.
    fn confirm(&self) -> Result<(), Error> {
        let (command, arguments) = ("rev-parse", ["--is-inside-work-tree", "--show-cdup"]);
        let call = GitCommand {
            directory: &self.top,
            place: &[],
            command,
            arguments: &arguments,
            variables: &[],
            reach: Reach::Nothing,
        };
        match call.output(io::empty(), 1 << 16)?.trim_ascii() {
            b"true" => Ok(()),
            b"false" => Err(Error::NoRepository),
            _ => {
                let message = "core.worktree names another directory".to_owned();
                Err(Error::Answer { command, message })
            }
        }
    }

    /// The top of the work tree, a canonical path.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// The directory, a canonical path.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Prepares a git command in the directory.
    pub(super) fn call<'a>(&'a self, command: &'static str, arguments: &'a [&'a str]) -> GitCommand<'a> {
        let (directory, place) = (&self.directory, &self.place);
        GitCommand { directory, place, command, arguments, variables: &[], reach: Reach::Nothing }
    }

    /// The output of a git command without input.
    pub(super) fn output(&self, command: &'static str, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        self.call(command, arguments).output(io::empty(), OUTPUT_LIMIT)
    }

    /// Runs a git command with this input, and passes its output to `read`.
    pub(super) fn talk(
        &self,
        command: &'static str,
        arguments: &[&str],
        input: impl Read + Send,
        read: impl FnOnce(&mut dyn Read) -> io::Result<()>,
    ) -> Result<(), Error> {
        self.call(command, arguments).talk(input, read)
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// Returns [`Error`] if there are no commits.
    pub fn head(&self) -> Result<String, Error> {
        let output = self.output("rev-parse", &["--verify", "HEAD^{commit}"])?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }
}

/// Whether git would accept the directory's `.git` as a repository, or as a file that names one.
fn has_repository(folder: &Path) -> bool {
    let git = folder.join(".git");
    let has = |name: &str| git.join(name).symlink_metadata().is_ok();
    git.is_file() || (has("HEAD") && (has("commondir") || (has("objects") && has("refs"))))
}

/// Returns an error if `.git` names a directory among the files of a checkout. A `.git` file is legitimate in linked
/// work trees and submodules, but the directory that it names is then not a tracked file.
fn refuse_inside(directory: &Path, top: &Path) -> Result<(), Error> {
    let link = top.join(".git");
    let is_plain = link.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if is_plain {
        return Ok(());
    }
    let target = if link.is_file() { named_by(&link) } else { Some(link.clone()) };
    let Some(target) = target.and_then(|target| target.canonicalize().ok()) else { return Ok(()) };
    let is_inside = |folder: &Path| {
        let own = folder.join(".git");
        let is_checkout = folder == top || own.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        is_checkout && target.starts_with(folder) && !target.starts_with(own)
    };
    if directory.ancestors().any(is_inside) { Err(Error::Inside(link)) } else { Ok(()) }
}

/// The directory that a `.git` file names.
fn named_by(link: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(link).ok()?;
    let bytes = read_bounded(&real, &real, LINK_LIMIT).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(link.parent()?.join(named))
}
