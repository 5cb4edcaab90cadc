//! Starts programs under limits, on Linux.
//!
//! Limits that must hold from a program's first instruction have to be set between `fork` and `exec`, where safe Rust
//! cannot run code. So the `acp-registry` executable is started with a hidden first argument; it sets the limits for
//! itself, and then executes the program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::ParseIntError;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::process::{Gid, Resource, Rlimit, Uid, getrlimit, setrlimit, setsid, umask};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities, set_no_new_privs,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{OpenOptions, Receiver};

use super::directories::REPORT;

/// The first argument with which the `acp-registry` executable must call [`launch`].
pub const LAUNCH: &str = "__launch";

/// Maximum writable memory of each process, in bytes. Memory that runtimes only reserve does not count, as it would for
/// a limit on address space.
const MEMORY: u64 = 16 << 30;

/// Maximum size of a file, in bytes. Agents unpack browsers and models of several hundred MB.
const FILE_SIZE: u64 = 4 << 30;

/// The capabilities with which root uses files of other users.
const FOR_FILES: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::DAC_OVERRIDE).union(CapabilitySet::FOWNER).union(CapabilitySet::FSETID);

/// Maximum number of processes and threads of a user of its own.
const PROCESSES: u64 = 8192;

/// The exit code if the program could not be executed.
pub(super) const FAILED: u8 = 127;

/// The arguments of the launcher.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    /// The FIFO to which the launcher writes why the program was not started.
    pub(super) report: PathBuf,
    /// The user of the program, and the group with the same number.
    pub(super) user: Option<u32>,
    /// A further group of that user.
    pub(super) group: Option<u32>,
    /// Whether to give up all capabilities except those for files, if the user stays the same.
    pub(super) is_restricted: bool,
    /// The working directory, if it differs from the launcher's: it may be accessible only to the user.
    pub(super) directory: Option<PathBuf>,
    /// Variables to set only for the program.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The program.
    pub(super) program: OsString,
    /// The arguments of the program.
    pub(super) arguments: Vec<OsString>,
}

impl Order {
    /// Encodes the order as arguments of the `acp-registry` executable.
    pub(super) fn words(self) -> Vec<OsString> {
        let number = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let (user, group) = (number(self.user), number(self.group));
        let rights = if self.is_restricted { "restricted" } else { "-" };
        let directory = self.directory.unwrap_or_default();
        let mut words =
            vec![LAUNCH.into(), self.report.into(), user.into(), group.into(), rights.into(), directory.into()];
        for (name, value) in self.variables {
            words.extend([name, value]);
        }
        words.extend(["--".into(), self.program]);
        words.extend(self.arguments);
        words
    }

    /// Parses the arguments after [`LAUNCH`].
    fn read(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let report = words.next()?.into();
        let (user, group) = (number(&words.next()?).ok()?, number(&words.next()?).ok()?);
        let is_restricted = words.next()? == "restricted";
        let directory = words.next().map(PathBuf::from)?;
        let directory = Some(directory).filter(|directory| !directory.as_os_str().is_empty());
        let mut variables = Vec::new();
        // No variable's name is `--`.
        while let Some(name) = words.next().filter(|word| word != "--") {
            variables.push((name, words.next()?));
        }
        let program = words.next()?;
        Some(Self { report, user, group, is_restricted, directory, variables, program, arguments: words.collect() })
    }
}

/// Parses the number of a user or group; `-` stands for none.
fn number(word: &OsStr) -> Result<Option<u32>, ParseIntError> {
    if word == "-" { Ok(None) } else { word.to_string_lossy().parse().map(Some) }
}

/// Whether a variable affects what the dynamic loader loads. It must not be set for the launcher, which may still be
/// root.
pub(super) fn is_for_loader(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"LD_") || name == "GLIBC_TUNABLES"
}

/// Sets all limits, closes all files except stdin, stdout and stderr, makes a session, gives up root if ordered to, and
/// executes the program. `arguments` are those after [`LAUNCH`]. The `acp-registry` executable must call this before it starts a
/// thread. Returns its exit code if the program could not be executed.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    close_inherited();
    // It fails where the launcher was started in a session of its own.
    let _ = setsid();
    let Some(order) = Order::read(arguments) else { return FAILED };
    // Otherwise, the process that started the launcher has ended.
    let Ok(mut report) = open_report(&order.report) else { return FAILED };
    let (step, error) = if let Err(error) = set_limits(&order) {
        (LIMITS, error)
    } else {
        #[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
        let mut command = Command::new(&order.program);
        if let Some(directory) = order.directory {
            command.current_dir(directory);
        }
        // The file is closed when the program is executed.
        (PROGRAM, command.args(&order.arguments).envs(order.variables).exec())
    };
    // If this fails, the reader sees only that the FIFO was closed.
    let _ = report.write_all(failure(step, &error).as_bytes());
    FAILED
}

/// Why a program was not started: the network namespace could not be joined, or the launcher could not be executed in it.
const NAMESPACE: &str = "namespace";
/// The limits could not be set.
const LIMITS: &str = "limits";
/// The program could not be executed.
const PROGRAM: &str = "program";

/// The report of a step that failed.
fn failure(step: &str, error: &io::Error) -> String {
    format!("{step} {}", error.raw_os_error().unwrap_or_default())
}

/// Writes that the network namespace could not be joined to the FIFO of a report that this process has not opened yet.
pub(super) fn report_namespace(report: &Path, error: &io::Error) {
    // Without a reader, nothing is interested in it.
    if let Ok(mut report) = open_report(report) {
        let _ = report.write_all(failure(NAMESPACE, error).as_bytes());
    }
}

/// Parses a [`failure`].
fn read_failure(text: &str) -> Option<io::Error> {
    let (step, number) = text.split_once(' ')?;
    let error = io::Error::from_raw_os_error(number.parse().ok()?);
    Some(match step {
        PROGRAM => error,
        NAMESPACE => io::Error::other(format!("its network namespace cannot be joined: {error}")),
        _ => io::Error::other(format!("its limits or its user cannot be set: {error}")),
    })
}

/// Parses a report. An empty one means that the program was started.
pub(super) fn read_report(text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let read = read_failure(&String::from_utf8_lossy(text));
    Err(read.unwrap_or_else(|| io::Error::other("its launcher is of another version of this program")))
}

/// Opens the FIFO of a report, which fails if it has no reader.
fn open_report(path: &Path) -> io::Result<File> {
    File::options().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)
}

/// Closes files that were inherited, which programs that this one starts would inherit, too. What this process has opened
/// itself is closed by the system when another program takes its place.
pub(crate) fn close_inherited() {
    let Ok(items) = fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<i32> = items.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && is_inherited(*number)) {
        let _ = nix::unistd::close(number);
    }
}

/// Whether an open descriptor lacks the flag that all have that this process opens.
fn is_inherited(number: i32) -> bool {
    let Ok(known) = fs::read_to_string(format!("/proc/self/fdinfo/{number}")) else { return false };
    let flags = known.lines().find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() == 0)
}

fn set_limits(order: &Order) -> io::Result<()> {
    umask(Mode::RWXG | Mode::RWXO);
    // If memory runs out, the kernel should kill the program rather than the caller. Not all systems allow this
    // setting.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    for (resource, most) in [(Resource::Fsize, FILE_SIZE), (Resource::Data, MEMORY), (Resource::Core, 0)] {
        bound(resource, most)?;
    }
    if let Some(user) = order.user {
        bound(Resource::Nproc, PROCESSES)?;
        become_user(user, order.group)?;
    } else if order.is_restricted {
        keep_only(FOR_FILES)?;
    }
    // The program and its descendants cannot gain privileges.
    Ok(set_no_new_privs(true)?)
}

/// Lowers a limit, unless it is lower already.
fn bound(resource: Resource, most: u64) -> io::Result<()> {
    let earlier = getrlimit(resource).maximum;
    let most = Some(earlier.map_or(most, |earlier| earlier.min(most)));
    Ok(setrlimit(resource, Rlimit { current: most, maximum: most })?)
}

/// Gives up root with its groups and capabilities, and joins a further group, if any. This process has only one thread.
fn become_user(number: u32, further: Option<u32>) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(number), Gid::from_raw(number));
    set_thread_groups(&further.map(Gid::from_raw).into_iter().collect::<Vec<_>>())?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    // Changing the user drops root's capabilities, unless the caller has set securebits that prevent it.
    keep_only(CapabilitySet::empty())
}

/// Gives up all capabilities but these. Without new privileges, programs that are executed do not get them back.
fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    clear_ambient_capability_set()?;
    let kept = capabilities(None)?.permitted & kept;
    let inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?)
}

/// Maximum length of a report, in bytes.
const REPORT_LIMIT: usize = 100;

/// A FIFO that the launcher opens before it executes the program, and that is closed by executing it. If that fails,
/// the launcher writes the reason first.
///
/// Unlike a pipe, it is not inherited by other processes that are started meanwhile.
#[derive(Debug)]
pub(super) struct Report {
    path: PathBuf,
    receiver: Receiver,
    text: Vec<u8>,
}

impl Report {
    /// Creates the FIFO in a directory.
    pub(super) fn below(directory: &Path) -> io::Result<Self> {
        let path = directory.join(REPORT);
        mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR)?;
        let receiver = OpenOptions::new().open_receiver(&path)?;
        Ok(Self { path, receiver, text: Vec::new() })
    }

    /// The path for the launcher.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the launcher has executed the program. Cancel-safe.
    ///
    /// # Errors
    /// Returns the reason if it could not.
    pub(super) async fn read(&mut self) -> io::Result<()> {
        while self.text.len() < REPORT_LIMIT && self.receiver.read_buf(&mut self.text).await? > 0 {}
        read_report(&self.text)
    }

    /// Like [`read`](Self::read), after the launcher, or the program that was to start it, has ended. Does not wait.
    ///
    /// # Errors
    /// Returns the same errors as [`read`](Self::read).
    pub(super) fn read_rest(&mut self) -> io::Result<()> {
        let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&self.path)?;
        // If the FIFO was never opened, there is nothing to read.
        let _ = file.take(REPORT_LIMIT as u64).read_to_end(&mut self.text);
        read_report(&self.text)
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // A later launcher that opens it finds no reader.
        let _ = fs::remove_file(&self.path);
    }
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
                group: user.map(|user| user + 1),
                is_restricted: user.is_some(),
                directory: user.map(|_| "/tmp/b".into()),
                variables: variables.clone(),
                program: "./--".into(),
                arguments: vec!["--".into(), "-x".into()],
            };
            let words = order().words();
            assert_eq!(words[0], LAUNCH);
            assert_eq!(Order::read(words.into_iter().skip(1)), Some(order()));
        }
        for wrong in [
            &["/tmp/a"][..],
            &["/tmp/a", "x", "-", "-", "", "--", "a"],
            &["/tmp/a", "-", "x", "-", "", "--", "a"],
            &["/tmp/a", "-", "-"],
            &["/tmp/a", "-", "-", "-"],
            &["/tmp/a", "-", "-", "-", "", "--"],
        ] {
            assert_eq!(Order::read(wrong.iter().map(Into::into)), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_failure_survives_its_way() {
        let read =
            |step, number| read_report(failure(step, &io::Error::from_raw_os_error(number)).as_bytes()).unwrap_err();
        assert_eq!(read(PROGRAM, 2).kind(), io::ErrorKind::NotFound);
        let limits = read(LIMITS, 1);
        assert!(limits.to_string().starts_with("its limits or its user cannot be set: "), "{limits}");
        let namespace = read(NAMESPACE, 2).to_string();
        assert!(namespace.starts_with("its network namespace cannot be joined: "), "{namespace}");
        assert!(read_report(b"").is_ok() && read_report(b"\xff").is_err());
    }
}
