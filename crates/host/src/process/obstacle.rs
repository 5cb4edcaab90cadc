//! Why the system does not start a program that is there.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::is_executable;

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
