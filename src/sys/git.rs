//! The `git` program, asked which files have changed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Why git could not tell.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start `git`: {0}")]
    Start(std::io::Error),
    /// There is no work tree of git around the directory.
    #[error("the registry is in no git repository, so nothing is known of its changes")]
    NoRepository,
    /// It ended with an error.
    #[error("`git {command}` failed: {message}; a shallow clone may lack the revision: fetch it first")]
    Failed {
        /// The subcommand.
        command: &'static str,
        /// What git wrote, on one line and without control characters.
        message: String,
    },
}

/// Paths below `directory`, relative to it, that differ between the revision and the working tree, including files that
/// git does not track and does not ignore.
///
/// # Errors
/// [`Error`] when git is missing, `directory` is in no work tree, or there is no such revision.
pub fn changed_paths(directory: &Path, revision: &str) -> Result<BTreeSet<String>, Error> {
    let diff =
        ["--no-ext-diff", "--no-textconv", "--no-renames", "--name-only", "--relative", "-z", "--end-of-options"];
    let mut paths = run(directory, "diff", &[&diff[..], &[revision, "--", "."]].concat())?;
    paths.extend(run(directory, "ls-files", &["--others", "--exclude-standard", "-z", "--", "."])?);
    Ok(paths)
}

#[expect(clippy::disallowed_methods, reason = "this is where git is started")]
fn run(directory: &Path, command: &'static str, arguments: &[&str]) -> Result<BTreeSet<String>, Error> {
    let output = Command::new("git")
        // A checkout must not be able to name a program that git would run.
        .args(["-c", "core.fsmonitor=false", "--no-pager"])
        .arg(command)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .output()
        .map_err(Error::Start)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        if text.to_lowercase().contains("not a git repository") {
            return Err(Error::NoRepository);
        }
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        return Err(Error::Failed { command, message: crate::text::printable(first).into_owned() });
    }
    Ok(output
        .stdout
        .split(|&b| b == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect())
}
