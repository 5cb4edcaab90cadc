//! Starts git; the only place that does, always with the same settings.
//!
//! Files of a checkout are not trusted: none of them may make git run a program.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::Error;

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
pub(super) enum Reach {
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
pub(super) struct GitCommand<'a> {
    /// The working directory.
    pub(super) directory: &'a Path,
    /// Arguments before the subcommand.
    pub(super) place: &'a [String],
    /// The subcommand.
    pub(super) command: &'static str,
    /// Arguments of the subcommand.
    pub(super) arguments: &'a [&'a str],
    /// Additional environment variables.
    pub(super) variables: &'a [(&'a str, &'a str)],
    /// The repositories that it may contact.
    pub(super) reach: Reach,
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
    pub(super) fn talk(
        &self,
        input: impl Read + Send,
        read: impl FnOnce(&mut dyn Read) -> io::Result<()>,
    ) -> Result<(), Error> {
        let answer = |error: io::Error| Error::Answer { command: self.command, message: error.to_string() };
        let mut command = self.command();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
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
        if status.success() { Ok(()) } else { Err(Error::of(self.command, &text)) }
    }

    /// Returns git's stdout; more than `limit` bytes are an error.
    pub(super) fn output(&self, input: impl Read + Send, limit: u64) -> Result<Vec<u8>, Error> {
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
