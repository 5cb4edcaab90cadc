//! Finds the processes that use a directory.

use std::path::Path;

/// The ids of processes whose program, or one of its arguments, is below a directory, as far as the system tells.
#[must_use]
pub fn of_folder(folder: &Path) -> Vec<u32> {
    list(folder)
}

#[cfg(target_os = "linux")]
fn list(folder: &Path) -> Vec<u32> {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt as _;

    /// Maximum size of a process's arguments to search, in bytes. By default, the kernel allows at most 6 MiB.
    const ARGUMENTS: u64 = 8 << 20;

    let Ok(items) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let is_in = |path: &Path| path.starts_with(folder);
    let arguments_of = |process: &Path| {
        let mut arguments = Vec::new();
        // Limited because the program controls the length. After a read error, the part that was read is used.
        let file = fs::File::open(process.join("cmdline"));
        let _ = file.and_then(|file| file.take(ARGUMENTS).read_to_end(&mut arguments));
        arguments
    };
    let uses = |pid: u32| {
        let process = Path::new("/proc").join(pid.to_string());
        if fs::read_link(process.join("exe")).is_ok_and(|program| is_in(&program)) {
            return true;
        }
        arguments_of(&process).split(|&byte| byte == 0).any(|argument| is_in(Path::new(OsStr::from_bytes(argument))))
    };
    let pids = items.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| pid != own && uses(pid)).collect()
}

#[cfg(all(unix, not(target_os = "linux")))]
fn list(folder: &Path) -> Vec<u32> {
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);

    let answer = super::command::answer("ps", &["-axww", "-o", "pid=,args="], Path::new("/"), PATIENCE);
    let (answer, folder) = (answer.unwrap_or_default(), format!("{}/", folder.display()));
    let lines = answer.lines().filter(|line| line.contains(&folder));
    lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

/// Windows does not allow running programs to be removed.
#[cfg(not(unix))]
fn list(_folder: &Path) -> Vec<u32> {
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
        assert_eq!(of_folder(folder.path()), [] as [u32; 0]);
        #[expect(clippy::disallowed_methods, reason = "a test")]
        let mut child = std::process::Command::new(&program).arg("60").spawn().unwrap();
        // The child is a copy of this process until it has executed the program.
        while of_folder(folder.path()).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(of_folder(folder.path()), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of_folder(folder.path()), [] as [u32; 0]);
    }
}
