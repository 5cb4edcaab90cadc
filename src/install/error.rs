use std::time::Duration;

use super::Verified;
use crate::archive::{self, CmdNotFound, Mismatch};
use crate::manifest::{Platform, SpecError};
use crate::net::FetchError;
use crate::sys::fs::PathError;
use crate::sys::process::{Exit, SpawnError};
use crate::text::quote;

/// How many lines of a package manager's own words a message has.
const LINES: usize = 3;

/// Why something was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest names something else than a package.
    #[error("the package {} {error}", quote(package))]
    Spec {
        /// What it names.
        package: String,
        /// What is wrong.
        error: SpecError,
    },
    /// The manifest leaves it to others which version is installed.
    #[error("the package {} is not pinned to one version", quote(.0))]
    Unpinned(String),
    /// A program that is needed is not there.
    #[error("{program} is not in PATH; {remedy}")]
    MissingRuntime {
        /// Its name.
        program: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The package manager could not be started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The package manager failed.
    #[error("{0}")]
    Tool(Box<ToolFailure>),
    /// The package is there, but nothing in it that could be started.
    #[error("the package {} {problem}", quote(package))]
    NoCommand {
        /// The package.
        package: String,
        /// What is wrong, as the rest of a sentence.
        problem: String,
    },
    /// The archive is not offered for this platform.
    #[error("there is no archive for {}; there are some for {}", host(*platform), quote(&offered.join(", ")))]
    UnsupportedPlatform {
        /// This platform.
        platform: Option<Platform>,
        /// Those of the manifest.
        offered: Vec<String>,
    },
    /// The address of the archive is none.
    #[error("the archive's address {} is not an address: {message}", quote(url))]
    Address {
        /// What the manifest has.
        url: String,
        /// What is wrong.
        message: String,
    },
    /// The archive was not fetched.
    #[error("the archive was not fetched: {0}")]
    Fetch(#[from] FetchError),
    /// The archive was not fetched in time.
    #[error("the archive was not fetched within {} s", .0.as_secs_f64())]
    Slow(Duration),
    /// The archive is not the one that the manifest means.
    #[error("the archive has the SHA-256 {found}, but {} says {}", by.speaker(), quote(wanted))]
    DigestMismatch {
        /// The digest of what came.
        found: String,
        /// Who says otherwise.
        by: Verified,
        /// What that one says.
        wanted: String,
    },
    /// The archive was not unpacked.
    #[error("the archive {0}")]
    Archive(#[from] archive::Error),
    /// The archive does not hold what is to be started.
    #[error("{0}")]
    CmdNotFound(#[from] CmdNotFound),
    /// What is to be started does not run here.
    #[error("{} {mismatch}", quote(cmd))]
    Unfit {
        /// The program.
        cmd: String,
        /// Why not.
        mismatch: Mismatch,
    },
    /// What is to be started needs a dynamic loader that is not there.
    #[error(
        "{} needs {}, which this system does not have (musl, NixOS?); another distribution may run here: --dist",
        quote(cmd),
        quote(loader)
    )]
    NoLoader {
        /// The program.
        cmd: String,
        /// The path of its loader.
        loader: String,
    },
    /// The directory could not be written to.
    #[error("cannot write {0}")]
    Path(#[from] PathError),
}

impl Error {
    /// The name of the reason in reports.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::MissingRuntime { .. } => "missing_runtime",
            Self::UnsupportedPlatform { .. } => "unsupported_platform",
            Self::DigestMismatch { .. } => "digest_mismatch",
            Self::Tool(failure) if failure.is_of_integrity() => "digest_mismatch",
            Self::Archive(archive::Error::Unsafe { .. } | archive::Error::TooLarge(_)) => "unsafe_archive",
            Self::CmdNotFound(_) => "cmd_not_found",
            _ => "install_failed",
        }
    }

    /// Whether something was refused because it is not what it should be, or not safe.
    #[must_use]
    pub fn is_of_integrity(&self) -> bool {
        ["digest_mismatch", "unsafe_archive"].contains(&self.reason()) || matches!(self, Self::Unfit { .. })
    }

    /// Whether the manifest is at fault, whatever the machine.
    #[must_use]
    pub fn is_of_manifest(&self) -> bool {
        ["digest_mismatch", "unsafe_archive", "cmd_not_found"].contains(&self.reason())
            || matches!(self, Self::Spec { .. } | Self::Unpinned(_) | Self::NoCommand { .. } | Self::Unfit { .. })
    }

    /// What the package manager has said, as it was written: escape it before it is shown.
    #[must_use]
    pub fn stderr(&self) -> &str {
        if let Self::Tool(failure) = self { &failure.stderr } else { "" }
    }
}

/// How a package manager has failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{program} {}", self.describe())]
pub struct ToolFailure {
    /// Its name.
    pub program: &'static str,
    /// How it has ended; `None` when its time was up.
    pub exit: Option<Exit>,
    /// How long it had.
    pub limit: Duration,
    /// The end of what it wrote to stderr.
    pub stderr: String,
}

impl ToolFailure {
    /// Whether something was not what its digest says, in the words of npm and of uv.
    fn is_of_integrity(&self) -> bool {
        self.stderr.contains("code EINTEGRITY") || self.stderr.contains("Hash mismatch for ")
    }

    fn describe(&self) -> String {
        let mut text = match self.exit {
            Some(exit) => format!("failed ({})", exit.describe()),
            None => format!("did not end within {} s", self.limit.as_secs_f64()),
        };
        let lines: Vec<&str> = self.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // What follows the first complaint mostly explains it.
        let is_complaint = |line: &&str| line.starts_with("npm error") || line.starts_with("error");
        let first = lines.iter().position(is_complaint).unwrap_or(lines.len().saturating_sub(LINES));
        let told = lines.iter().skip(first).map(|line| line.trim_start_matches("npm error").trim_start());
        // Of a script that fails, npm says first where that was, and last where it has written the same again.
        let is_said_anyway = |line: &str| {
            line.is_empty()
                || line == "code 1"
                || ["path ", "command ", "A complete log"].iter().any(|start| line.starts_with(start))
        };
        let told: Vec<String> = told.filter(|line| !is_said_anyway(line)).take(LINES).map(quote).collect();
        if !told.is_empty() {
            text.push_str(": ");
            text.push_str(&told.join(" "));
        }
        text
    }
}

fn host(platform: Option<Platform>) -> &'static str {
    platform.map_or("this system", Platform::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_manager_is_quoted_where_it_explains_itself() {
        let describe = |stderr: &str| {
            let limit = Duration::from_mins(5);
            ToolFailure { program: "npm", exit: None, limit, stderr: stderr.to_owned() }.to_string()
        };
        let script = "npm warn x\nnpm error code 1\nnpm error path /a\nnpm error command failed\n\
                      npm error command sh -c x\nnpm error node is too old\nnpm error A complete log of this: /b\n";
        assert_eq!(describe(script), "npm did not end within 300 s: `node is too old`");
        assert_eq!(
            describe("Resolved\nerror: no\n  cause: y\n"),
            "npm did not end within 300 s: `error: no` `cause: y`"
        );
        assert_eq!(describe("a\nb\nc\n\u{1b}d\n"), "npm did not end within 300 s: `b` `c` `\\u{1b}d`");
        assert_eq!(describe(" \n"), "npm did not end within 300 s");
    }
}
