//! The one place where git is started, with one environment.
//!
//! A checkout brings files that strangers wrote. None of them may name a program that git runs, whatever git would take
//! them for.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use super::Error;

/// Settings of every call, which override every configuration file.
const SETTINGS: &[&str] = &[
    // A folder that only looks like a bare repository is a folder.
    "safe.bareRepository=explicit", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
    "protocol.ext.allow=never", "commit.gpgSign=false", "push.gpgSign=false", "log.showSignature=false",
    "submodule.recurse=false", // A fetch starts neither of them in the background.
    "gc.auto=0", "maintenance.auto=false",
];

/// Variables of the caller that choose a repository, configuration or program: those that `git rev-parse
/// --local-env-vars` lists, and others that change an answer. A hook of git that starts this program sets some.
const REMOVED: &[&str] = &[
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ATTR_SOURCE", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG",
    "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_DEFAULT_HASH", "GIT_DIFF_OPTS", "GIT_DIR",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXTERNAL_DIFF", "GIT_GLOB_PATHSPECS", "GIT_GRAFT_FILE",
    "GIT_ICASE_PATHSPECS", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
];

/// Which repositories git may contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// None, not even to fetch what a partial clone lacks.
    Nothing,
    /// Those of other machines.
    Network,
    /// Those of other machines and of this one.
    NetworkAndFiles,
}

impl Reach {
    /// The value of `GIT_ALLOW_PROTOCOL`, which overrides every configuration; `ext`, which runs any command, is
    /// never in it.
    fn protocols(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Network => "git:http:https:ssh",
            Self::NetworkAndFiles => "file:git:http:https:ssh",
        }
    }
}

/// One call of git.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    /// Where it runs.
    pub(super) directory: &'a Path,
    /// Arguments before the subcommand.
    pub(super) place: &'a [String],
    /// The subcommand.
    pub(super) command: &'static str,
    /// Its arguments.
    pub(super) arguments: &'a [&'a str],
    /// Further variables.
    pub(super) variables: &'a [(&'a str, &'a str)],
    /// Which repositories it may contact.
    pub(super) reach: Reach,
}

impl Call<'_> {
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
        // Git must neither wait for other programs that use the index nor ask for a password.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command.envs(self.variables.iter().copied());
        command
    }

    /// Runs git with an input, and hands its output to `read`. An error of `read` ends it, and is returned.
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
            // Git may end before it has read everything; its exit status tells.
            scope.spawn(move || {
                stdin.map(|mut stdin| io::copy(&mut input, &mut stdin).and_then(|_| stdin.flush()));
            });
            let errors = scope.spawn(move || {
                let mut text = Vec::new();
                if let Some(mut stderr) = stderr {
                    // What cannot be read, and what is beyond the first lines, is not needed.
                    let _ = stderr.by_ref().take(1 << 16).read_to_end(&mut text);
                    let _ = io::copy(&mut stderr, &mut io::sink());
                }
                text
            });
            let was_read = stdout.map_or(Ok(()), |mut stdout| read(&mut stdout));
            if was_read.is_err() {
                // It may have ended by itself.
                let _ = child.kill();
            }
            (was_read, errors.join().unwrap_or_default())
        });
        let status = child.wait().map_err(answer)?;
        was_read.map_err(answer)?;
        if status.success() { Ok(()) } else { Err(Error::of(self.command, &text)) }
    }

    /// What git writes to stdout, of at most `limit` bytes.
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
