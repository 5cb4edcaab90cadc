//! The isolation of programs, and bubblewrap, which hides the host's files.

use acp_registry_plan::failure::Failure;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;

use super::{Environment, NamespaceError, UserDirectory};

/// Directories of the operating system; missing ones are skipped.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix/store", "/run/systemd/resolve"];

/// Maximum length of bubblewrap's messages, in bytes.
const STDERR_LIMIT: u64 = 4096;

/// The isolation of a program from the host, in addition to its own environment variables and directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Isolation {
    /// None: the program can read and write whatever the caller can.
    Environment,
    /// On Linux as root: a user that no account and no other program has. The program can read only what all users can
    /// read, and cannot affect processes of other users. If
    /// [`gets_own_user`](super::LaunchSpec::gets_own_user) returns `false`, this is the same as `Environment`.
    OwnUser {
        /// A directory with files that the program needs, which belongs to the caller. Of all users, only those of
        /// programs that are started for this place are given access.
        place: Option<UserDirectory>,
    },
    /// Bubblewrap: the program sees the operating system's directories, its sandbox, and
    /// [`readable`](super::LaunchSpec::readable), all but the sandbox read-only, and no process of the host. If the caller is
    /// root, it also gets a user of its own, without capabilities.
    Bwrap {
        /// Whether the network is available.
        network: Network,
    },
}

/// The network of a program in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The network of the host, including services on its loopback addresses.
    Shared,
    /// No network, except a loopback device of its own.
    None,
}

/// Why an isolation is not available.
#[derive(Debug, thiserror::Error)]
pub enum IsolationError {
    /// Bubblewrap could not be started.
    #[error("cannot start `bwrap`: {0}")]
    Start(io::Error),
    /// The system does not allow bubblewrap to work.
    #[error("`bwrap` does not work on this system: {0}")]
    Refused(String),
    /// A network namespace could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl IsolationError {
    /// How to fix it; `None` for a namespace, since that depends on who asked for one.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Start(_) => Some("install bubblewrap, or do without --sandbox"),
            Self::Refused(_) => Some("do without --sandbox"),
            Self::Namespace(_) => None,
        }
    }
}

impl Isolation {
    /// The name used in reports, unless the program got a user of its own; see
    /// [`ProcessTree::isolation`](super::ProcessTree::isolation).
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Environment | Self::OwnUser { .. } => "environment",
            Self::Bwrap { network: Network::Shared } => "bwrap",
            Self::Bwrap { network: Network::None } => "bwrap-no-network",
        }
    }

    /// Checks that the isolation works on this system, so that its errors are not attributed to an agent.
    ///
    /// # Errors
    /// Returns [`IsolationError`] if it does not.
    #[expect(clippy::disallowed_methods, reason = "this is where bwrap is started")]
    pub async fn check(&self, environment: &Environment) -> Result<(), IsolationError> {
        let Self::Bwrap { network } = self else { return Ok(()) };
        let mut command = tokio::process::Command::new("bwrap");
        command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/", "/", "--proc", "/proc"]);
        command
            .args(network.arguments())
            .args(["--dev", "/dev", "--", "true"])
            .env_clear()
            .envs(environment.iter())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(IsolationError::Start)?;
        let mut text = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            // Read errors, and output beyond the first lines, are ignored.
            let _ = stderr.take(STDERR_LIMIT).read_to_end(&mut text).await;
        }
        if child.wait().await.map_err(IsolationError::Start)?.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&text);
        Err(IsolationError::Refused(
            acp_registry_plan::text::printable(text.lines().next().unwrap_or("no message")).into_owned(),
        ))
    }
}

/// What a program in bubblewrap can reach.
pub(super) struct Reach<'a> {
    /// Files and directories that it can read, beside those of the system.
    pub(super) readable: Vec<&'a Path>,
    /// The directory that it can write.
    pub(super) writable: &'a Path,
    /// Its network.
    pub(super) network: Network,
    /// Whether the launcher changes to a user of the program's own.
    pub(super) has_user: bool,
    /// The working directory; `None` if the launcher changes to it, which may be accessible only to the program's user.
    pub(super) directory: Option<PathBuf>,
}

impl Reach<'_> {
    /// The arguments of bubblewrap, up to the program.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = [
            "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
            "--unshare-cgroup-try", "--cap-drop", "ALL",
        ]
        .map(OsString::from)
        .to_vec();
        arguments.extend(self.network.arguments().iter().map(OsString::from));
        if self.has_user {
            // The launcher needs these to give up root, which also drops them.
            arguments.extend(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"].map(OsString::from));
        }
        arguments.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"].map(OsString::from));
        let mut bind = |kind: &str, path: &Path| {
            // Parent directories that bubblewrap creates may be accessible only to root.
            let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|_| self.has_user).collect();
            above.reverse();
            let above = above.into_iter().skip(1);
            arguments.extend(above.flat_map(|path| [OsString::from("--dir"), path.into()]));
            arguments.extend([kind.into(), path.into(), path.into()]);
        };
        for path in SYSTEM {
            bind("--ro-bind-try", Path::new(path));
        }
        for path in &self.readable {
            bind("--ro-bind-try", path);
        }
        // Last, so that no other mount hides it.
        bind("--bind", self.writable);
        arguments.extend(self.directory.iter().flat_map(|path| ["--chdir".into(), path.clone().into()]));
        arguments.push("--".into());
        arguments
    }
}

impl Network {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Shared => &[],
            Self::None => &["--unshare-net"],
        }
    }
}

impl From<IsolationError> for Failure {
    fn from(error: IsolationError) -> Self {
        let help = error.remedy().unwrap_or("let agents reach this machine's network with `--network shared`");
        Self::unable(error).help(help)
    }
}

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        IsolationError::from(error).into()
    }
}
