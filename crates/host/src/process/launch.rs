//! A program to start, and its isolation.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Environment, Isolation, Namespace, Sandbox};

/// A program to start.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// A path, or a name to look up in the environment's `PATH`.
    pub program: OsString,
    /// The arguments.
    pub arguments: Vec<OsString>,
    /// The working directory; `None` for the sandbox's work directory.
    pub directory: Option<PathBuf>,
    /// The environment variables, to which those of the sandbox are added.
    pub environment: Environment,
    /// The isolation.
    pub isolation: Isolation,
    /// Files and directories that the program must be able to read, besides those of the system.
    pub readable: Vec<PathBuf>,
    /// The `acp-registry` executable, which starts programs on Linux: it sets limits and the user, and then executes
    /// the program (see [`launch`](super::launch())). Without it, no limits are set, and a program that would run as
    /// root in bubblewrap is refused. Ignored on other systems.
    pub launcher: Option<PathBuf>,
    /// The network namespace in which the program runs; `None` for the host's. Requires a launcher, and a home of its
    /// own. If the caller stays root, the program keeps only the capabilities for files.
    pub namespace: Option<Namespace>,
}

impl LaunchSpec {
    pub(super) fn directory(&self, sandbox: &Sandbox) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| sandbox.work())
    }

    /// The path of the program's file; `None` if it cannot be found.
    #[cfg(target_os = "linux")]
    pub(super) fn file(&self, directory: &std::path::Path) -> Option<PathBuf> {
        let program = std::path::Path::new(&self.program);
        if program.components().count() > 1 {
            return Some(directory.join(program));
        }
        self.environment.find(self.program.to_str()?)
    }
}
