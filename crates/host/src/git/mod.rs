//! Runs git to read history and changes, and to update branches of a remote without changing the checkout.
//!
//! * [`Repository`]: finds a repository in a way that files of the checkout cannot influence
//! * [`changed_paths`]: the files that differ from a revision
//! * [`log()`], [`blobs`]: the history of files, and their contents
//! * [`Remote`]: branches of a remote; creates commits from objects, without a work tree

mod log;
mod remote;

use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::{fs, thread};

use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::text::printable;

use crate::command::Awaited;
use crate::fs::{PathError, read_bounded};

pub use log::{COMMIT_LIMIT, Commit, Cut, FileChange, Log, blobs, changed_paths, log};
pub use remote::{Branch, Identity, Remote};

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Git could not be started, or its input could not be written.
    #[error("cannot run `git`: {0}")]
    Start(#[from] io::Error),
    /// The directory could not be read.
    #[error("cannot read the directory {0}")]
    Directory(#[source] PathError),
    /// The directory is not in a git work tree.
    #[error("the registry is not in a git repository")]
    NoRepository,
    /// A `.git` file names a directory that is part of the checkout, whose configuration could run programs.
    #[error("{} names a git directory inside the checkout, which is not used", .0.display())]
    Inside(PathBuf),
    /// A remote is a directory of the checkout, whose hooks git would run.
    #[error("the git remote {} is a directory inside the checkout, which is not used", acp_registry_plan::text::quote(.0))]
    RemoteInside(String),
    /// The revision does not exist in this clone.
    #[error("git has no revision {}: {message}", acp_registry_plan::text::quote(.revision))]
    Revision {
        /// The requested revision.
        revision: String,
        /// Git's error message, as in [`Self::Failed`].
        message: String,
    },
    /// Git exited with an error.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: &'static str,
        /// Git's error message on one line, without control characters, and without URLs, which may contain secrets.
        message: String,
    },
    /// A signal has ended git: one that a terminal sends to all programs of a command.
    #[error("`git {command}` was interrupted")]
    Interrupted {
        /// The subcommand.
        command: &'static str,
        /// The number of the signal.
        signal: u8,
    },
    /// Git's output was invalid or too long.
    #[error("`git {command}` gave an answer that cannot be used: {message}")]
    Answer {
        /// The subcommand.
        command: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl Error {
    /// How to fix it, if known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Start(_) => Some("install git, or correct PATH".to_owned()),
            Self::Inside(_) => Some("clone the repository again".to_owned()),
            Self::RemoteInside(name) => {
                let name = acp_registry_plan::text::quote(name);
                Some(format!("set another address with `git remote set-url {} URL`", name.trim_matches('`')))
            }
            Self::Revision { .. } => Some("a shallow clone may lack it: fetch it first".to_owned()),
            Self::Directory(_)
            | Self::NoRepository
            | Self::Failed { .. }
            | Self::Interrupted { .. }
            | Self::Answer { .. } => None,
        }
    }

    /// Creates the error of a command from its stderr.
    fn of(command: &'static str, stderr: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stderr);
        let says_why =
            |line: &&str| line.contains("rejected") || ["fatal:", "error:"].iter().any(|word| line.starts_with(word));
        let line = text.lines().find(says_why).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
        let words = line.unwrap_or("no message").split_whitespace();
        let words: Vec<&str> = words.map(|word| if word.contains("://") { "(address)" } else { word }).collect();
        Self::Failed { command, message: printable(&words.join(" ")).into_owned() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let help = error.remedy();
        let failure = match error {
            Error::Start(_) => Self::unable(error).code(Code::MissingRuntime),
            Error::Directory(_) | Error::Answer { .. } => Self::unable(error),
            Error::Inside(_) | Error::RemoteInside(_) => Self::refused(error),
            Error::Interrupted { signal, .. } => Self::interrupted(signal),
            Error::Failed { .. } | Error::Revision { .. } | Error::NoRepository => Self::usage(error),
        };
        failure.help_if(help)
    }
}

/// Maximum size of git's output, in bytes.
const OUTPUT_LIMIT: u64 = 256 << 20;

/// Maximum size of a `.git` file, in bytes.
const LINK_LIMIT: u64 = 1 << 16;

/// A directory in a git work tree, and the top of that work tree.
#[derive(Debug, Clone)]
pub struct Repository {
    /// A canonical path.
    directory: PathBuf,
    /// The top of the work tree, a canonical path.
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

    /// Prepares a git command in the directory.
    fn call<'a>(&'a self, command: &'static str, arguments: &'a [&'a str]) -> GitCommand<'a> {
        let (directory, place) = (&self.directory, &self.place);
        GitCommand { directory, place, command, arguments, variables: &[], reach: Reach::Nothing }
    }

    /// The output of a git command without input.
    fn output(&self, command: &'static str, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        self.call(command, arguments).output(io::empty(), OUTPUT_LIMIT)
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

/// Settings of all commands. They override all configuration files.
const SETTINGS: &[&str] = &[
    // Ignores directories that look like bare repositories.
    "safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
    "protocol.ext.allow=never", "commit.gpgSign=false", "push.gpgSign=false", "log.showSignature=false",
    "submodule.recurse=false", // Prevents background maintenance after a fetch.
    "gc.auto=0", "maintenance.auto=false",
];

/// Environment variables that select a repository, configuration or program: those listed by `git rev-parse
/// --local-env-vars`, and others that affect the output. Some of them are set if a git hook runs this program.
const REMOVED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ATTR_SOURCE", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG",
    "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_DEFAULT_HASH", "GIT_DIFF_OPTS", "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXTERNAL_DIFF", "GIT_GLOB_PATHSPECS", "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
];

/// The repositories that git may contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// None, not even to fetch missing objects of a partial clone.
    Nothing,
    /// Those on other machines.
    Network,
    /// Those on other machines and on this one.
    NetworkAndFiles,
}

impl Reach {
    /// The value of `GIT_ALLOW_PROTOCOL`, which overrides all configuration. It never contains `ext`, which runs any
    /// command.
    fn protocols(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Network => "git:http:https:ssh",
            Self::NetworkAndFiles => "file:git:http:https:ssh",
        }
    }
}

/// One git command.
#[derive(Debug, Clone, Copy)]
struct GitCommand<'a> {
    /// The working directory.
    directory: &'a Path,
    /// Arguments before the subcommand.
    place: &'a [String],
    /// The subcommand.
    command: &'static str,
    /// Arguments of the subcommand.
    arguments: &'a [&'a str],
    /// Additional environment variables.
    variables: &'a [(&'a str, &'a str)],
    /// The repositories that it may contact.
    reach: Reach,
}

/// The number of the signal that ended a process.
fn ended_by(status: ExitStatus) -> Option<u8> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status).and_then(|signal| signal.try_into().ok());
    #[cfg(not(unix))]
    {
        let _ = status;
        None
    }
}

impl GitCommand<'_> {
    #[expect(clippy::disallowed_methods, reason = "this is where git is started")]
    fn command(&self) -> Command {
        let mut command = Command::new("git");
        for name in REMOVED {
            command.env_remove(name);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("--no-pager").args(self.place).arg(self.command).args(self.arguments).current_dir(self.directory);
        command.env("GIT_ALLOW_PROTOCOL", self.reach.protocols());
        if self.reach == Reach::Nothing {
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        // Git must not wait for locks of other programs, or ask for a password.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.envs(self.variables.iter().copied());
        command
    }

    /// Runs git with this input, and passes its output to `read`. If `read` fails, git is killed, and the error is
    /// returned.
    fn talk(&self, input: impl Read + Send, read: impl FnOnce(&mut dyn Read) -> io::Result<()>) -> Result<(), Error> {
        let answer = |error: io::Error| Error::Answer { command: self.command, message: error.to_string() };
        let mut command = self.command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let _awaited = Awaited::new(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (was_read, text) = thread::scope(|scope| {
            let mut input = input;
            // Git may exit before it has read all input; its exit status tells whether that is an error.
            scope.spawn(move || {
                stdin.map(|mut stdin| io::copy(&mut input, &mut stdin).and_then(|_| stdin.flush()));
            });
            let errors = scope.spawn(move || {
                let mut text = Vec::new();
                if let Some(mut stderr) = stderr {
                    // Read errors, and output beyond 64 KiB, are ignored.
                    let _ = stderr.by_ref().take(1 << 16).read_to_end(&mut text);
                    let _ = io::copy(&mut stderr, &mut io::sink());
                }
                text
            });
            let was_read = stdout.map_or(Ok(()), |mut stdout| read(&mut stdout));
            if was_read.is_err() {
                // Git may have exited already.
                let _ = child.kill();
            }
            (was_read, errors.join().unwrap_or_default())
        });
        let status = child.wait().map_err(answer)?;
        was_read.map_err(answer)?;
        match ended_by(status) {
            _ if status.success() => Ok(()),
            Some(signal @ (1 | 2 | 15)) => Err(Error::Interrupted { command: self.command, signal }),
            _ => Err(Error::of(self.command, &text)),
        }
    }

    /// Returns git's stdout; more than `limit` bytes are an error.
    fn output(&self, input: impl Read + Send, limit: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.talk(input, |answer| {
            answer.take(limit + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > limit {
                Err(io::Error::other(format!("longer than {limit} bytes")))
            } else {
                Ok(())
            }
        })?;
        Ok(bytes)
    }
}
