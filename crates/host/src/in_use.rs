//! Finds the processes that use a directory.

use std::path::Path;

/// The ids of processes whose program, or one of its arguments, is below a directory, as far as the system tells.
#[cfg(target_os = "linux")]
pub fn processes_in(folder: &Path) -> Vec<u32> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::proc;

    let own = std::process::id();
    let is_in = |argument: &[u8]| Path::new(OsStr::from_bytes(argument)).starts_with(folder);
    let uses = |pid: u32| {
        proc::program(pid).is_some_and(|program| program.starts_with(folder))
            || proc::arguments(pid).split(|&byte| byte == 0).any(is_in)
    };
    proc::pids().filter(|&pid| pid != own && uses(pid)).collect()
}

/// The ids of processes in whose command line a directory is named.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn processes_in(folder: &Path) -> Vec<u32> {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

    let answer = super::command::listing("ps", &["-axww", "-o", "pid=,args="], PATIENCE);
    let (answer, folder) = (answer.unwrap_or_default(), format!("{}/", folder.display()));
    let answer = String::from_utf8_lossy(&answer);
    let lines = answer.lines().filter(|line| line.contains(&folder));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// Windows does not allow running programs to be removed.
#[cfg(not(unix))]
pub fn processes_in(_folder: &Path) -> Vec<u32> {
    Vec::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_told_of_and_others_are() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::copy("/bin/sleep", &program).unwrap();
        assert_eq!(processes_in(folder.path()), [] as [u32; 0]);
        #[expect(clippy::disallowed_methods, reason = "a test")]
        let mut child = loop {
            // A child of another thread may have the copy open for writing until it executes its own program.
            match std::process::Command::new(&program).arg("60").spawn() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                child => break child.unwrap(),
            }
        };
        // The child is a copy of this process until it has executed the program.
        while processes_in(folder.path()).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(processes_in(folder.path()), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes_in(folder.path()), [] as [u32; 0]);
    }
}
