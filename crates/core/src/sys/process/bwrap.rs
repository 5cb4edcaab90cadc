//! The isolation of programs, and bubblewrap, which hides the host's files.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncReadExt as _;

use super::begin::Begin;
use super::{Environment, Launch, NamespaceError, Place, Sandbox};
use crate::remedy::{Action, Remedy};

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
    /// read, and cannot affect processes of other users. If [`Launch::gets_own_user`] returns `false`, this is the same
    /// as `Environment`.
    OwnUser {
        /// A directory with files that the program needs, which belongs to the caller. Of all users, only those of
        /// programs that are started for this place are given access.
        place: Option<Place>,
    },
    /// Bubblewrap: the program sees the operating system's directories, its sandbox, and [`Launch::readable`], all but
    /// the sandbox read-only, and no process of the host. If the caller is root, it also gets a user of its own,
    /// without capabilities.
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
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        let without = match self {
            Self::Start(_) => "install bubblewrap, or do without ",
            Self::Refused(_) => "do without ",
            Self::Namespace(_) => return None,
        };
        Some(Remedy::from(without).then(Action::Sandbox))
    }
}

impl Isolation {
    /// The name used in reports, unless the program got a user of its own; see
    /// [`Tree::isolation`](super::Tree::isolation).
    #[must_use]
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
        Err(IsolationError::Refused(crate::text::printable(text.lines().next().unwrap_or("no message")).into_owned()))
    }

    /// Prepends bubblewrap to the command.
    pub(super) fn wrap(&self, begin: &mut Begin, launch: &Launch, sandbox: &Sandbox) -> io::Result<()> {
        let Self::Bwrap { network } = self else { return Ok(()) };
        #[cfg(unix)]
        if begin.user.is_none() && rustix::process::geteuid().is_root() {
            return Err(io::Error::other("as root, it would keep root's rights in bubblewrap without a launcher"));
        }
        let mut arguments: Vec<OsString> = [
            "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
            "--unshare-cgroup-try", "--cap-drop", "ALL",
        ]
        .map(OsString::from)
        .to_vec();
        if launch.namespace.is_none() {
            arguments.extend(network.arguments().iter().map(OsString::from));
        }
        if begin.user.is_some() {
            // The launcher needs these to give up root, which also drops them.
            arguments.extend(["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"].map(OsString::from));
        }
        arguments.extend(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"].map(OsString::from));
        let has_user = begin.user.is_some();
        let mut bind = |kind: &str, path: &Path| {
            // Parent directories that bubblewrap creates may be accessible only to root.
            let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|_| has_user).collect();
            above.reverse();
            let above = above.into_iter().skip(1);
            arguments.extend(above.flat_map(|path| [OsString::from("--dir"), path.into()]));
            arguments.extend([kind.into(), path.into(), path.into()]);
        };
        for path in SYSTEM {
            bind("--ro-bind-try", Path::new(path));
        }
        for path in launch.readable.iter().chain(begin.report.as_ref().and(launch.launcher.as_ref())) {
            bind("--ro-bind-try", path);
        }
        // Last, so that no other mount hides it.
        bind("--bind", sandbox.path());
        let program = std::mem::replace(&mut begin.program, "bwrap".into());
        if begin.report.is_none() {
            // Otherwise, the launcher changes to the directory, which may be accessible only to the program's user.
            arguments.extend(["--chdir".into(), launch.directory(sandbox).into()]);
        }
        arguments.extend(["--".into(), program]);
        arguments.append(&mut begin.arguments);
        begin.arguments = arguments;
        Ok(())
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

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::process::Home;

    fn begin(isolation: Isolation, parent: &Path) -> (Sandbox, io::Result<Begin>) {
        let sandbox = Sandbox::below(parent, Home::Empty).unwrap();
        let launch = Launch {
            program: "/place/install/agent".into(),
            arguments: vec!["--bind".into(), "/".into()],
            directory: None,
            environment: Environment::default(),
            isolation,
            readable: vec!["/place/install".into()],
            launcher: Some("/opt/acp-registry".into()),
            namespace: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begin = runtime.block_on(async { Begin::of(&launch, &sandbox) });
        (sandbox, begin)
    }

    #[test]
    fn the_sandbox_comes_last_and_the_agent_behind_the_dashes() {
        let temporary = tempfile::tempdir().unwrap();
        let (sandbox, begun) = begin(Isolation::Bwrap { network: Network::Shared }, temporary.path());
        let begun = begun.unwrap();
        assert_eq!((begun.program.to_str(), begun.isolation), (Some("bwrap"), "bwrap"));
        let text: Vec<&str> = begun.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        let at = |words: &[&str]| text.windows(words.len()).position(|window| window == words);
        let own = sandbox.path().to_str().unwrap();
        let (temporary, install) =
            (at(&["--tmpfs", "/tmp"]), at(&["--ro-bind-try", "/place/install", "/place/install"]));
        let launcher = at(&["--ro-bind-try", "/opt/acp-registry", "/opt/acp-registry"]);
        let writable = at(&["--bind", own, own]);
        assert!(temporary.is_some() && temporary < install && install < launcher && launcher < writable, "{text:?}");
        let dashes = at(&["--"]).unwrap();
        // The launcher executes the agent, whose arguments are not options of bubblewrap.
        assert_eq!(text[dashes + 1..dashes + 3], ["/opt/acp-registry", super::super::LAUNCH]);
        assert!(text[dashes + 3..].contains(&sandbox.work().to_str().unwrap()), "{text:?}");
        assert!(text.ends_with(&["--", "/place/install/agent", "--bind", "/"]), "{text:?}");
        let options = &text[..dashes];
        assert_eq!(options.iter().filter(|word| **word == "--bind").count(), 1);
        for needed in ["--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc"] {
            assert!(options.contains(&needed), "{needed}");
        }
        assert!(options.windows(2).any(|pair| pair == ["--cap-drop", "ALL"]));
        // Most agents need the network to reach their service.
        assert!(!options.contains(&"--unshare-net"));
    }

    #[test]
    fn the_network_can_be_left_out_and_reports_say_so() {
        let temporary = tempfile::tempdir().unwrap();
        let (_sandbox, begun) = begin(Isolation::Bwrap { network: Network::None }, temporary.path());
        let begun = begun.unwrap();
        assert_eq!(begun.isolation, "bwrap-no-network");
        let dashes = begun.arguments.iter().position(|word| word == "--").unwrap();
        assert!(begun.arguments[..dashes].iter().any(|word| word == "--unshare-net"));
    }

    #[test]
    fn without_bubblewrap_the_launcher_becomes_the_agent() {
        let temporary = tempfile::tempdir().unwrap();
        let (_sandbox, begun) = begin(Isolation::Environment, temporary.path());
        let begun = begun.unwrap();
        assert_eq!((begun.program.to_str(), begun.isolation), (Some("/opt/acp-registry"), "environment"));
        assert!(begun.arguments.ends_with(&["--", "/place/install/agent", "--bind", "/"].map(Into::into)));
    }
}
