//! Bubblewrap: the host's files out of sight.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::tree::Launch;
use super::{Environment, Sandbox};

/// What belongs to the system, as far as it exists.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix/store", "/run/systemd/resolve"];

/// What keeps a program apart from the host, beyond its environment and its directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// Nothing: it can read and write whatever the caller can.
    Environment,
    /// Bubblewrap: it sees the system, read-only, its sandbox, and the paths given here, read-only; and no process of
    /// the host.
    Bwrap {
        /// Files and directories that it may read.
        readable: Vec<PathBuf>,
    },
}

/// Why an isolation cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// The program is not there.
    #[error("cannot start `bwrap`: {0}; install bubblewrap, or do without --sandbox")]
    Start(io::Error),
    /// The system does not let it work.
    #[error("`bwrap` does not work on this system: {0}")]
    Refused(String),
}

impl Isolation {
    /// The isolation's name in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::Bwrap { .. } => "bwrap",
        }
    }

    /// Makes sure that it works here, so that its own failures are not taken for an agent's.
    ///
    /// # Errors
    /// [`IsolationError`]
    #[expect(clippy::disallowed_methods, reason = "this is where bwrap is started")]
    pub async fn check(&self, environment: &Environment) -> Result<(), IsolationError> {
        let Self::Bwrap { .. } = self else { return Ok(()) };
        let mut command = tokio::process::Command::new("bwrap");
        command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/", "--proc", "/proc"]);
        command.args(["--dev", "/dev", "--", "true"]).env_clear().envs(environment.iter()).kill_on_drop(true);
        let output = command.output().await.map_err(IsolationError::Start)?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Err(IsolationError::Refused(crate::text::printable(text.lines().next().unwrap_or("no message")).into_owned()))
    }

    /// The program to start, with its arguments.
    pub(super) fn command(&self, launch: &Launch, sandbox: &Sandbox) -> (OsString, Vec<OsString>) {
        let Self::Bwrap { readable } = self else { return (launch.program.clone(), launch.arguments.clone()) };
        let mut arguments: Vec<OsString> = [
            "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
            "--unshare-cgroup-try", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
        ]
        .map(OsString::from)
        .to_vec();
        let mut bind = |kind: &str, path: &Path| arguments.extend([kind.into(), path.into(), path.into()]);
        for path in SYSTEM {
            bind("--ro-bind-try", Path::new(path));
        }
        for path in readable {
            bind("--ro-bind-try", path);
        }
        // Last, so that nothing lies over it.
        bind("--bind", sandbox.path());
        arguments.extend(["--chdir".into(), launch.directory(sandbox).into(), "--".into(), launch.program.clone()]);
        arguments.extend(launch.arguments.iter().cloned());
        ("bwrap".into(), arguments)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_comes_last_and_the_agent_behind_the_dashes() {
        let temporary = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(temporary.path(), crate::sys::process::Home::Empty).unwrap();
        let launch = Launch {
            program: "/place/install/agent".into(),
            arguments: vec!["--bind".into(), "/".into()],
            directory: None,
            environment: Environment::default(),
            isolation: Isolation::Bwrap { readable: vec!["/place/install".into()] },
        };
        let (program, arguments) = launch.isolation.command(&launch, &sandbox);
        assert_eq!(program, "bwrap");
        let text: Vec<&str> = arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let at = |words: &[&str]| text.windows(words.len()).position(|window| window == words);
        let own = sandbox.path().to_str().unwrap();
        let (temporary, install) =
            (at(&["--tmpfs", "/tmp"]), at(&["--ro-bind-try", "/place/install", "/place/install"]));
        let (writable, work) = (at(&["--bind", own, own]), sandbox.work());
        assert!(temporary.is_some() && temporary < install && install < writable, "{text:?}");
        let end = ["--chdir", work.to_str().unwrap(), "--", "/place/install/agent", "--bind", "/"];
        assert!(text.ends_with(&end), "{text:?}");
        // The agent's own words are no option of bwrap.
        let options = &text[..text.len() - 3];
        assert_eq!(options.iter().filter(|word| **word == "--bind").count(), 1);
        for needed in ["--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc"] {
            assert!(options.contains(&needed), "{needed}");
        }
        // The network is how an agent reaches its service.
        assert!(!options.contains(&"--unshare-net"));
        let plain = Isolation::Environment.command(&launch, &sandbox);
        assert_eq!(plain, (launch.program.clone(), launch.arguments.clone()));
    }
}
