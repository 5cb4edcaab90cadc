//! Checks which files a user without an account can access, on Linux.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::thread::{CapabilitySet, capabilities};

use super::own_user::OwnUser;
use super::{Isolation, LaunchSpec};
use crate::directory::OpenDirectory;
use crate::fs::open_file;

const READ: u32 = 0o004;
const ENTER: u32 = 0o001;

/// Maximum length of a script's first line, in bytes.
const FIRST_LINE: u64 = 512;

/// Maximum depth of directories to make readable. Each level keeps a file descriptor open.
const DEPTH: usize = 128;

impl LaunchSpec {
    /// Whether the program gets a user of its own. This requires that this process is root, that the launcher is known,
    /// that the program's namespace has all users, and that any user can access the program, the files that it needs, and `temporary`, the parent of its sandbox.
    pub fn gets_own_user(&self, temporary: &Path) -> bool {
        let Isolation::OwnUser { place } = &self.isolation else { return false };
        let has_users = self.namespace.as_ref().is_some_and(super::Namespace::has_users);
        if self.launcher.is_none() || has_users || !rustix::process::geteuid().is_root() {
            return false;
        }
        let place = place.as_ref().and_then(|place| place.path().canonicalize().ok());
        let place = place.as_deref();
        let directory = self.directory.as_deref().unwrap_or(temporary);
        let program = self.file(directory);
        let interpreter = program.as_deref().and_then(|program| self.interpreter(program));
        let arguments = self.arguments.iter().map(|argument| directory.join(argument));
        let read = self.readable.iter().cloned().chain(arguments);
        can_use(temporary, ENTER, place)
            && can_use(directory, ENTER, place)
            && may_switch()
            && program.into_iter().chain(interpreter).all(|program| can_use(&program, ENTER, place))
            && read.into_iter().all(|path| can_use(&path, READ, place))
    }

    /// The interpreter in the first line of a script.
    fn interpreter(&self, program: &Path) -> Option<PathBuf> {
        let mut line = Vec::new();
        open_file(program).ok()?.take(FIRST_LINE).read_to_end(&mut line).ok()?;
        let line = line.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let first = Path::new(std::ffi::OsStr::from_bytes(words.next()?));
        if !first.ends_with("env") {
            return Some(first.to_owned());
        }
        let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
        self.environment.find(std::str::from_utf8(name).ok()?)
    }
}

/// Whether this process has all capabilities of root that are needed. Root in a container may lack some.
fn may_switch() -> bool {
    let needed = CapabilitySet::SETUID
        | CapabilitySet::SETGID
        | CapabilitySet::CHOWN
        | CapabilitySet::KILL
        | CapabilitySet::FOWNER
        | CapabilitySet::DAC_OVERRIDE;
    capabilities(None).is_ok_and(|sets| sets.effective.contains(needed)) && OwnUser::exist()
}

/// Makes everything below a directory readable for all users, as far as possible, since package managers and archives
/// may create private files. Only for root, whose programs get users of their own; does nothing for other users. The
/// permissions of parent directories are not changed.
pub fn make_readable(directory: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // Errors are ignored: the agent will report files that it cannot read.
    let Ok(top) = OpenDirectory::open(directory) else { return };
    let mut open = Vec::new();
    admit_directory(top, &mut open);
    while let Some((here, entries)) = open.last_mut() {
        match entries.pop() {
            None => drop(open.pop()),
            Some((name, true)) => {
                if let Some(inner) = here.enter(&name).ok().filter(|_| open.len() < DEPTH) {
                    admit_directory(inner, &mut open);
                }
            }
            Some((name, false)) => {
                if let Ok(Some(file)) = here.file(&name) {
                    let _ = admit_file(&file);
                }
            }
        }
    }
}

fn admit_directory(directory: OpenDirectory, open: &mut Vec<(OpenDirectory, Vec<(OsString, bool)>)>) {
    if let Some(mode) = directory.mode().ok().and_then(|mode| admitting(mode, READ | ENTER)) {
        let _ = directory.set_mode(mode);
    }
    if let Ok(entries) = directory.entries() {
        open.push((directory, entries));
    }
}

fn admit_file(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.mode();
    let rights = if mode & 0o100 == 0 { READ } else { READ | ENTER };
    admitting(mode, rights).map_or(Ok(()), |mode| file.set_permissions(fs::Permissions::from_mode(mode)))
}

/// The mode with these permissions added for all users; `None` if it is the same. Only the owner may write, since files
/// may be hard links to a package manager's cache.
fn admitting(mode: u32, rights: u32) -> Option<u32> {
    let wanted = (mode | rights) & 0o755;
    (wanted != mode & 0o7777).then_some(wanted)
}

/// Whether all users have this access to a path, including search permission for all parent directories. Missing
/// permissions of `place` are ignored, since it is made accessible later. Missing files do not count.
fn can_use(path: &Path, way: u32, place: Option<&Path>) -> bool {
    let Ok(real) = path.canonicalize() else { return true };
    let Ok(metadata) = fs::metadata(&real) else { return false };
    let way = if metadata.is_dir() { way | ENTER } else { way };
    let may = |path: &Path, way: u32| {
        let is_place = || place.is_some() && path.canonicalize().ok().as_deref() == place;
        fs::metadata(path).is_ok_and(|metadata| metadata.mode() & way == way) || is_place()
    };
    // A link requires access to the directories of the link and of its target.
    may(&real, way) && [path, &real].iter().all(|path| path.ancestors().skip(1).all(|above| may(above, ENTER)))
}

/// Removes directories from `PATH` that a user without an account cannot search. Otherwise, a missing program would be
/// reported as one that may not be executed.
pub(super) fn keep_open_folders(variables: &mut [(OsString, OsString)], place: Option<&Path>) {
    let is_open = |folder: &PathBuf| {
        // Relative directories depend on the working directory, so their permissions are known only there.
        let is_there = || folder.canonicalize().is_ok();
        folder.is_relative() || is_there() && can_use(folder, ENTER, place)
    };
    for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
        if let Ok(open) = std::env::join_paths(std::env::split_paths(path).filter(is_open)) {
            *path = open;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::process::Environment;

    #[test]
    fn what_lies_in_a_closed_directory_is_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let (inner, outside) = (root.join("inner"), tempfile::tempdir().unwrap());
        fs::create_dir(&inner).unwrap();
        let file = inner.join("file");
        fs::write(&file, "").unwrap();
        symlink(outside.path(), root.join("link")).unwrap();
        for (of_root, of_inner, of_file, expected) in [
            (0o711, 0o755, 0o644, true),
            (0o700, 0o755, 0o644, false),
            (0o711, 0o700, 0o644, false),
            (0o711, 0o755, 0o640, false),
        ] {
            set(&root, of_root);
            set(&inner, of_inner);
            set(&file, of_file);
            assert_eq!(can_use(&file, READ, None), expected, "{of_root:o} {of_inner:o} {of_file:o}");
        }
        set(&file, 0o644);
        set(&root, 0o700);
        assert!(can_use(&file, READ, Some(&root)) && !can_use(&inner, ENTER, None));
        set(&root, 0o711);
        // Directories of `PATH` are kept only if the user can search them; their missing subdirectories are removed
        // with them.
        let path = std::env::join_paths([Path::new("/bin"), &inner, &inner.join("none"), Path::new("x")]).unwrap();
        for (mode, expected) in [(0o755, format!("/bin:{}:x", inner.display())), (0o700, "/bin:x".to_owned())] {
            set(&inner, mode);
            let mut variables = [("PATH".into(), path.clone()), ("HOME".into(), inner.clone().into_os_string())];
            keep_open_folders(&mut variables, None);
            assert_eq!(variables[0].1, *expected, "{mode:o}");
            assert_eq!(variables[1].1, inner);
        }
        // The target of the link is not accessible.
        set(outside.path(), 0o700);
        assert!(!can_use(&root.join("link"), ENTER, None));
        assert!(can_use(&root.join("nowhere"), READ, None));
    }

    #[test]
    fn what_is_installed_is_readable_for_all_and_writable_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("d")).unwrap();
        let files = [("d/text", 0o600, 0o604), ("d/program", 0o6700, 0o705), ("open", 0o666, 0o644)];
        for (name, mode, _) in files {
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(outside.path(), root.join("link")).unwrap();
        for directory in [outside.path(), &root.join("d"), root] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
        }
        make_readable(root);
        let is_root = rustix::process::geteuid().is_root();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o7777;
        for (name, before, after) in files.into_iter().chain([("d", 0o700, 0o705), ("", 0o700, 0o705)]) {
            assert_eq!(mode(&root.join(name)), if is_root { after } else { before }, "{name}");
        }
        assert_eq!(mode(outside.path()), 0o700);
    }

    #[test]
    fn the_interpreter_of_a_script_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        let mut environment = Environment::default();
        environment.set("PATH", "/bin");
        let launch = LaunchSpec {
            program: "a".into(),
            arguments: Vec::new(),
            directory: None,
            environment,
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: None,
            namespace: None,
        };
        for (text, expected) in [
            ("#!/usr/bin/env sh\nx", Some("/bin/sh")),
            ("#! /usr/bin/env -S A=1 sh -e", Some("/bin/sh")),
            ("#!/opt/python -I\n", Some("/opt/python")),
            ("\x7fELF", None),
            ("#!/usr/bin/env no-such-program\n", None),
        ] {
            fs::write(&script, text).unwrap();
            assert_eq!(launch.interpreter(&script).as_deref(), expected.map(Path::new), "{text:?}");
        }
    }
}
