//! Becoming a program under limits, on Linux.
//!
//! What must hold from a program's first instruction on has to be set between `fork` and `exec`, where safe Rust cannot
//! run code. So the `acp-registry` executable is started instead, under a hidden first argument. It sets the limits for
//! itself, and then becomes the program.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit, umask};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

/// The first argument of the `acp-registry` executable that makes it call [`launch`].
pub const LAUNCH: &str = "__launch";

/// The memory that each process may write to, in bytes. What runtimes only reserve does not count, as it would for a
/// limit on address space.
const MEMORY: u64 = 16 << 30;

/// The largest file that a program may write, in bytes. Agents unpack browsers and models of several hundred MB.
const FILE_SIZE: u64 = 4 << 30;

/// How many processes and threads a user of its own may have.
const PROCESSES: u64 = 8192;

/// The exit code when there is no program to become.
const FAILED: u8 = 127;

/// What the launcher is told, as arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// The FIFO that learns why the program was not started.
    pub(super) report: PathBuf,
    /// The user, and the group of the same number, that the program gets.
    pub(super) user: Option<u32>,
    /// Where the program works, if that is not where the launcher is started: it may be for the user alone.
    pub(super) directory: Option<PathBuf>,
    /// Variables that take effect for the program only.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The program.
    pub(super) program: OsString,
    /// Its arguments.
    pub(super) arguments: Vec<OsString>,
}

impl Order {
    /// The arguments of the `acp-registry` executable.
    pub(super) fn words(self) -> Vec<OsString> {
        let user = self.user.map_or_else(|| "-".to_owned(), |user| user.to_string());
        let directory = self.directory.unwrap_or_default();
        let mut words = vec![LAUNCH.into(), self.report.into(), user.into(), directory.into()];
        for (name, value) in self.variables {
            words.extend([name, value]);
        }
        words.extend(["--".into(), self.program]);
        words.extend(self.arguments);
        words
    }

    /// Reads what comes behind [`LAUNCH`].
    fn read(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let report = words.next()?.into();
        let user = words.next().filter(|user| user != "-");
        let user =
            user.map(|user| user.to_str()?.parse().ok()).map_or(Some(None), |user: Option<u32>| user.map(Some))?;
        let directory = words.next().map(PathBuf::from)?;
        let directory = Some(directory).filter(|directory| !directory.as_os_str().is_empty());
        let mut variables = Vec::new();
        // A variable has a name without dashes.
        while let Some(name) = words.next().filter(|word| word != "--") {
            variables.push((name, words.next()?));
        }
        Some(Self { report, user, directory, variables, program: words.next()?, arguments: words.collect() })
    }
}

/// Whether a variable decides what the dynamic loader puts into a process. The launcher, which may still be root, must
/// not have it.
pub(super) fn is_for_loader(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

/// Sets all limits, closes everything but stdin, stdout and stderr, gives up root if it is told to, and becomes the
/// program. `arguments` are those behind [`LAUNCH`]. For the `acp-registry` executable, before it starts any thread;
/// returns the exit code for it when there is no program to become.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    close_inherited();
    let Some(order) = Order::read(arguments) else { return FAILED };
    let open = File::options().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&order.report);
    // The process that ordered this has ended.
    let Ok(mut report) = open else { return FAILED };
    let failure = if let Err(error) = set_limits(order.user) {
        Failure::Limits(error)
    } else {
        #[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
        let mut command = Command::new(&order.program);
        if let Some(directory) = order.directory {
            command.current_dir(directory);
        }
        // The report closes by itself when the program begins.
        Failure::Program(command.args(&order.arguments).envs(order.variables).exec())
    };
    // The reader of the report sees the pipe closed in any case.
    let _ = report.write_all(failure.text().as_bytes());
    FAILED
}

/// Why a program was not started.
#[derive(Debug)]
enum Failure {
    /// Its limits could not be set.
    Limits(io::Error),
    /// The system refuses the program.
    Program(io::Error),
}

impl Failure {
    fn text(&self) -> String {
        let (kind, error) = match self {
            Self::Limits(error) => ("limits", error),
            Self::Program(error) => ("program", error),
        };
        format!("{kind} {}", error.raw_os_error().unwrap_or_default())
    }

    /// Reads the text.
    fn read(text: &str) -> Option<io::Error> {
        let (kind, number) = text.split_once(' ')?;
        let error = io::Error::from_raw_os_error(number.parse().ok()?);
        Some(match kind {
            "program" => error,
            _ => io::Error::other(format!("its limits or its user cannot be set: {error}")),
        })
    }
}

/// Reads why the program was not started; an empty text says that it was.
pub(super) fn read_report(text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let read = Failure::read(&String::from_utf8_lossy(text));
    Err(read.unwrap_or_else(|| io::Error::other("its launcher is of another version of this program")))
}

/// Closes what the caller's caller has left open. Nothing of this process's own is open yet.
fn close_inherited() {
    let Ok(items) = fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> = items.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The directory that was just read is closed already.
        let _ = nix::unistd::close(number);
    }
}

fn set_limits(user: Option<u32>) -> io::Result<()> {
    umask(Mode::RWXG | Mode::RWXO);
    // When memory runs out, the program goes and not the caller. Not every system lets it be said.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    for (resource, most) in [(Resource::Fsize, FILE_SIZE), (Resource::Data, MEMORY), (Resource::Core, 0)] {
        bound(resource, most)?;
    }
    if let Some(number) = user {
        bound(Resource::Nproc, PROCESSES)?;
        become_user(number)?;
    }
    // Nothing that it starts gets more rights than it has itself.
    Ok(set_no_new_privs(true)?)
}

/// Lowers a limit, unless it is lower already.
fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let earlier = getrlimit(resource).maximum;
    let most = Some(earlier.map_or(most, |earlier| earlier.min(most)));
    Ok(setrlimit(resource, Rlimit { current: most, maximum: most })?)
}

/// Gives up root, with all groups and capabilities. This process has one thread only.
fn become_user(number: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    // Root's are gone with the user, but not where the caller has locked that.
    clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_survives_its_way() {
        for (user, variables) in [(None, vec![]), (Some(61_184), vec![("LD_PRELOAD".into(), "--".into())])] {
            let order = || Order {
                report: "/tmp/a".into(),
                user,
                directory: user.map(|_| "/tmp/b".into()),
                variables: variables.clone(),
                program: "./--".into(),
                arguments: vec!["--".into(), "-x".into()],
            };
            let words = order().words();
            assert_eq!(words[0], LAUNCH);
            assert_eq!(Order::read(words.into_iter().skip(1)), Some(order()));
        }
        for wrong in [&["/tmp/a"][..], &["/tmp/a", "x", "", "--", "a"], &["/tmp/a", "-"], &["/tmp/a", "-", "", "--"]] {
            assert_eq!(Order::read(wrong.iter().map(Into::into)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_failure_survives_its_way() {
        let read = |failure: Failure| read_report(failure.text().as_bytes()).unwrap_err();
        assert_eq!(read(Failure::Program(io::Error::from_raw_os_error(2))).kind(), io::ErrorKind::NotFound);
        let limits = read(Failure::Limits(io::Error::from_raw_os_error(1)));
        assert!(limits.to_string().starts_with("its limits or its user cannot be set: "), "{limits}");
        assert!(read_report(b"").is_ok() && read_report(b"\xff").is_err());
    }
}
