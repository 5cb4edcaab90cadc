//! A program to start, its isolation, and why the system does not start a program that is there.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Environment, Isolation, LaunchDirectories, Namespace, is_executable};

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
    pub(super) fn directory(&self, sandbox: &LaunchDirectories) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| sandbox.work())
    }

    /// The path of the program's file; `None` if it cannot be found.
    #[cfg(target_os = "linux")]
    pub(super) fn file(&self, directory: &Path) -> Option<PathBuf> {
        let program = Path::new(&self.program);
        if program.components().count() > 1 {
            return Some(directory.join(program));
        }
        self.environment.find(self.program.to_str()?)
    }
}

/// What keeps the system from starting a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Its mode forbids it.
    #[error("is not executable")]
    NotExecutable,
    /// Its file system forbids it.
    #[error("is on a file system that is mounted with `noexec`, where no program can be started")]
    NoExec,
    /// The interpreter of a script is gone; unescaped.
    #[error("needs {0}, which its first line names, and which is not there")]
    NoInterpreter(String),
}

impl Obstacle {
    /// The obstacle of a program; `None` if none is known.
    pub fn find(program: &Path) -> Option<Self> {
        if !is_executable(program) {
            return Some(Self::NotExecutable);
        }
        if is_noexec(program) {
            return Some(Self::NoExec);
        }
        let interpreter = interpreter(program)?;
        let is_gone = cfg!(unix) && Path::new(&interpreter).is_absolute() && !Path::new(&interpreter).exists();
        is_gone.then_some(Self::NoInterpreter(interpreter))
    }
}

#[cfg(target_os = "linux")]
fn is_noexec(program: &Path) -> bool {
    rustix::fs::statvfs(program).is_ok_and(|system| system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

#[cfg(not(target_os = "linux"))]
fn is_noexec(_program: &Path) -> bool {
    false
}

/// The program that the first line of a script names.
fn interpreter(program: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(program).ok()?.take(4096).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let text = String::from_utf8_lossy(line);
    Some(text.split_ascii_whitespace().next()?.to_owned())
}
