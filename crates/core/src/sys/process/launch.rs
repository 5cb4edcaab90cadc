//! What is to be started, and what keeps it apart.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Environment, Isolation, Sandbox};

/// What is to be started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// A path, or a name to be found in the environment's `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it works; in the sandbox's own directory when there is none.
    pub directory: Option<PathBuf>,
    /// Its variables, to which those of the sandbox are added.
    pub environment: Environment,
    /// What keeps it apart.
    pub isolation: Isolation,
    /// Files and directories that it must be able to read, besides those of the system.
    pub readable: Vec<PathBuf>,
    /// The `acp-registry` executable, by which programs are started on Linux: it sets the limits and the user before it
    /// becomes the program (see [`launch`](super::launch())). Without one, nothing is limited, and a program that would
    /// keep the rights of root in bubblewrap is refused. Other systems ignore it.
    pub launcher: Option<PathBuf>,
}

impl Launch {
    pub(super) fn directory(&self, sandbox: &Sandbox) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| sandbox.work())
    }

    /// The program's file, where that can be told.
    #[cfg(target_os = "linux")]
    pub(super) fn file(&self, directory: &std::path::Path) -> Option<PathBuf> {
        let program = std::path::Path::new(&self.program);
        if program.components().count() > 1 {
            return Some(directory.join(program));
        }
        self.environment.find(self.program.to_str()?)
    }
}
