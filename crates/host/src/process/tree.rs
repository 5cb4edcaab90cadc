//! A running program with its descendants: how it ends, and the end of what it prints.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use std::{io, thread};

use acp_registry_plan::text::printable;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

use super::platform::{Identity, OwnUser};
use super::prepare::Begin;
use super::{Home, Isolation, LaunchDirectories, LaunchSpec, Obstacle};

/// How long to wait for the program to end after its stdin is closed, and again after it is asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// How long to kill repeatedly, since processes may keep starting new ones.
const HUNT: Duration = Duration::from_secs(5);

/// How long to wait for the launcher, which bubblewrap may delay. After that, the program is treated as started.
const BEGINNING: Duration = Duration::from_secs(30);

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {}: {hint} ({error})", acp_registry_plan::text::quote(program))]
pub struct SpawnError {
    program: String,
    hint: Cow<'static, str>,
    #[source]
    error: io::Error,
}

/// This process's ends of the program's pipes.
#[derive(Debug)]
pub struct Pipes {
    /// The program's stdin. Closing it asks the program to end.
    pub stdin: ChildStdin,
    /// The program's stdout.
    pub stdout: ChildStdout,
    /// The program's stderr. The program blocks if it is not read.
    pub stderr: ChildStderr,
}

/// The end of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The end of the program itself; `None` if it could not be killed.
    pub exit: Option<Exit>,
    /// Number of processes that the program left behind, which were ended after it.
    pub left_behind: usize,
    /// Number of processes that could not be ended.
    pub survivors: usize,
}

/// How long each running thread of a tree has waited for a processor since it began, by its id: the `run_delay` of the
/// scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunDelays(pub BTreeMap<u32, Duration>);

impl RunDelays {
    /// How long all threads together have waited since an earlier time. Threads that have ended are not counted.
    pub fn since(&self, earlier: &Self) -> Duration {
        let new = |(id, delay): (&u32, &Duration)| delay.saturating_sub(earlier.0.get(id).copied().unwrap_or_default());
        self.0.iter().map(new).sum()
    }
}

/// A running program with its descendants. Dropping it kills all of them.
#[derive(Debug)]
pub struct ProcessTree {
    child: Box<dyn ChildWrapper>,
    identity: Identity,
    exit: Option<Exit>,
    /// Whether the program has a home of its own, so that all of its descendants are ended with it.
    is_apart: bool,
    is_over: bool,
    isolation: &'static str,
    /// Reserves the user until the end.
    _user: Option<OwnUser>,
}

/// Why a program could not be started, by stage.
enum SpawnFailure {
    /// The command could not be started: the program itself, or the launcher or bubblewrap before it.
    Spawn(io::Error),
    /// The launcher could not execute the program.
    Launcher(io::Error),
}

impl ProcessTree {
    /// Starts a program in a session of its own.
    ///
    /// # Errors
    /// Returns [`SpawnError`] with a probable cause.
    pub async fn start(launch: &LaunchSpec, sandbox: &LaunchDirectories) -> Result<(Self, Pipes), SpawnError> {
        let mut attempts = 0;
        loop {
            let trouble = match Self::try_start(launch, sandbox).await {
                Ok(started) => return Ok(started),
                Err(trouble) => trouble,
            };
            let (SpawnFailure::Spawn(error) | SpawnFailure::Launcher(error)) = &trouble;
            // If the program was just written, a process that another thread starts at that moment may still have its
            // file open.
            if error.kind() != ErrorKind::ExecutableFileBusy || attempts == 500 {
                let hint = hint(&trouble, launch, sandbox);
                let (SpawnFailure::Spawn(error) | SpawnFailure::Launcher(error)) = trouble;
                return Err(SpawnError { program: launch.program.to_string_lossy().into_owned(), hint, error });
            }
            attempts += 1;
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn try_start(launch: &LaunchSpec, sandbox: &LaunchDirectories) -> Result<(Self, Pipes), SpawnFailure> {
        let begin = Begin::of(launch, sandbox).map_err(SpawnFailure::Spawn)?;
        let mut child = spawn(&begin, &launch.directory(sandbox)).map_err(SpawnFailure::Spawn)?;
        let root = child.id().unwrap_or_default();
        let is_apart = sandbox.home() == Home::Empty;
        let user = begin.user.as_ref().map(OwnUser::number);
        let identity = Identity::new(root, is_apart.then(|| sandbox.path()), user);
        let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let (isolation, exit) = (begin.isolation, None);
        let mut tree = Self { child, identity, exit, is_apart, is_over: false, isolation, _user: begin.user };
        if let Some(mut report) = begin.report {
            let said = tokio::select! {
                said = report.read() => said,
                // The launcher has written the reason to the report, or bubblewrap has to stderr.
                _ = tree.wait() => report.read_rest(),
                () = sleep(BEGINNING) => Ok(()),
            };
            said.map_err(SpawnFailure::Launcher)?;
        }
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((tree, Pipes { stdin, stdout, stderr })),
            _ => Err(SpawnFailure::Spawn(io::Error::other("it was started without pipes"))),
        }
    }

    /// The name of the isolation, for reports.
    pub fn isolation(&self) -> &'static str {
        self.isolation
    }

    /// How long the threads of the program and its descendants have waited for a processor, where the system knows that.
    pub fn run_delays(&self) -> RunDelays {
        self.identity.run_delays()
    }

    /// Waits until the program itself has ended; descendants may still be running. Cancel-safe.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        // The wrapper would wait for descendants too.
        match self.child.inner_mut().wait().await {
            Ok(status) => {
                let exit = Exit::of(status, How::Exited);
                *self.exit.insert(if self.isolation.starts_with("bwrap") { exit.by_bubblewrap() } else { exit })
            }
            // Another part of this process has waited for all children, so the exit status is lost.
            Err(_) => *self.exit.insert(Exit { how: How::Exited, code: None, signal: None }),
        }
    }

    /// Ends the tree: waits 2 s for the program to end, asks all processes to end, waits 2 s, and kills the rest.
    ///
    /// Close the program's stdin before, and keep reading its output, since it may wait for either.
    pub async fn end(self) -> Ending {
        self.end_within(GRACE).await
    }

    /// Asks the program and everything that it has started to end, where the system knows how to ask.
    pub fn terminate(&self) {
        self.identity.terminate(&*self.child);
    }

    /// Like [`end`](Self::end), with another time limit for each of its two steps.
    pub async fn end_within(mut self, grace: Duration) -> Ending {
        let (mut left_behind, mut survivors) = (0, 0);
        if timeout(grace, self.wait()).await.is_ok() {
            if self.isolation.starts_with("bwrap") {
                // The system ends all that ran in it, a moment after bubblewrap itself.
                self.is_gone_within(grace, How::Exited).await;
            }
            left_behind = self.identity.alive();
        }
        if self.exit.is_none() || left_behind > 0 {
            self.identity.terminate(&*self.child);
            if !self.is_gone_within(grace, How::Terminated).await {
                let until = Instant::now() + HUNT;
                while Instant::now() < until {
                    self.identity.kill(&mut *self.child);
                    if self.is_gone_within(Duration::from_millis(5), How::Killed).await {
                        break;
                    }
                }
            }
            // If nothing was left before, nothing can have started; skipping this search of all processes saves time.
            survivors = self.identity.alive();
        }
        if cfg!(windows) && self.is_apart {
            // A job object does not report its processes, but ends them all.
            self.identity.kill(&mut *self.child);
        }
        self.is_over = true;
        Ending { exit: self.exit, left_behind, survivors }
    }

    /// Whether the program and all processes of the tree end within `time`. `how` is recorded as what ended the
    /// program.
    async fn is_gone_within(&mut self, time: Duration, how: How) -> bool {
        let until = Instant::now() + time;
        let mut pause = Duration::from_millis(1);
        loop {
            self.notice(how);
            if self.exit.is_some() && self.identity.alive() == 0 {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(pause.min(until - Instant::now())).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Checks whether the program has ended.
    fn notice(&mut self, how: How) {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.inner_mut().try_wait()
        {
            self.exit = Some(Exit::of(status, how));
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let until = Instant::now() + HUNT;
        loop {
            self.identity.kill(&mut *self.child);
            self.notice(How::Killed);
            if (self.exit.is_some() && self.identity.alive() == 0) || Instant::now() >= until {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where programs are started")]
fn spawn(begin: &Begin, directory: &Path) -> io::Result<Box<dyn ChildWrapper>> {
    let mut command = Command::new(&begin.program);
    command.args(&begin.arguments).current_dir(directory);
    command.env_clear().envs(begin.variables.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = CommandWrap::from(command);
    #[cfg(unix)]
    if !begin.makes_session {
        command.wrap(process_wrap::tokio::ProcessSession);
    }
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    command.spawn()
}

/// The probable cause if a program could not be started.
fn hint(trouble: &SpawnFailure, launch: &LaunchSpec, sandbox: &LaunchDirectories) -> Cow<'static, str> {
    /// "Exec format error" on all Unix systems.
    const NO_PROGRAM: i32 = 8;
    let directory = launch.directory(sandbox);
    if !directory.is_dir() {
        return "the directory that it is to work in is not there".into();
    }
    let error = match trouble {
        SpawnFailure::Spawn(error) if error.kind() == ErrorKind::NotFound => match &launch.isolation {
            Isolation::Bwrap { .. } => return "`bwrap` is not installed".into(),
            _ if cfg!(target_os = "linux") && launch.launcher.as_ref().is_some_and(|launcher| !launcher.exists()) => {
                return "the program file of acp-registry was moved or removed".into();
            }
            _ => error,
        },
        SpawnFailure::Spawn(error) | SpawnFailure::Launcher(error) => error,
    };
    let program = Path::new(&launch.program);
    let has_path = program.components().count() > 1;
    let obstacle = || Obstacle::find(&directory.join(program)).filter(|_| has_path);
    let hint = match error.kind() {
        ErrorKind::PermissionDenied if directory.join(program).is_dir() => "it is a directory",
        ErrorKind::PermissionDenied | ErrorKind::NotFound if has_path && directory.join(program).exists() => {
            return match obstacle() {
                Some(Obstacle::NotExecutable) => "it is not executable; `chmod +x` makes it so".into(),
                Some(obstacle) => format!("it {}", printable(&obstacle.to_string())).into(),
                None if error.kind() == ErrorKind::NotFound => {
                    "the file is there, but not the loader that it needs".into()
                }
                None => "the system refuses".into(),
            };
        }
        ErrorKind::NotFound if has_path => "there is no such file",
        ErrorKind::NotFound if matches!(launch.isolation, Isolation::Bwrap { .. }) => {
            "the sandbox has no such program in PATH; `probe --readable` lets it read more of this machine"
        }
        ErrorKind::NotFound => "there is no such program in PATH",
        _ if cfg!(unix) && error.raw_os_error() == Some(NO_PROGRAM) => {
            "it is made for another system or processor, or is a script without a `#!` line"
        }
        _ => "the system refuses",
    };
    hint.into()
}

/// What ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It exited by itself, or after its stdin was closed.
    Exited,
    /// It crashed, or another process ended it.
    Signaled,
    /// It was asked to end with a signal.
    Terminated,
    /// It was killed.
    Killed,
}

/// The end of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// What ended it.
    pub how: How,
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if any.
    pub signal: Option<i32>,
}

/// Signals with the same number on all Unix systems.
const SIGNALS: &[(i32, &str)] = &[
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (25, "SIGXFSZ: it wrote a larger file than it may"),
];

impl Exit {
    pub(crate) fn of(status: ExitStatus, how: How) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(not(unix))]
        let signal = None;
        let how = if signal.is_some() && how == How::Exited { How::Signaled } else { how };
        Self { how, code: status.code(), signal }
    }

    /// The end of the program, where this is that of bubblewrap: it ends with 128 and the number of the signal.
    fn by_bubblewrap(self) -> Self {
        match self.code {
            Some(code @ 129..=192) => Self { how: How::Signaled, code: None, signal: Some(code - 128) },
            _ => self,
        }
    }

    /// Describes the end, such as `exit code 1` or `signal 6, SIGABRT`.
    pub fn describe(&self) -> String {
        let Some(signal) = self.signal else {
            return self.code.map_or_else(|| "exit code unknown".to_owned(), |code| format!("exit code {code}"));
        };
        let mut text = format!("signal {signal}");
        if let Some((_, name)) = SIGNALS.iter().find(|(number, _)| *number == signal) {
            let _ = write!(text, ", {name}");
        }
        text
    }
}

/// Number of bytes to keep.
const TAIL_LIMIT: usize = 64 << 10;

/// Keeps the last 64 KiB of a program's output.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Cutting at every byte over the limit would move the whole buffer each time.
        if self.bytes.len() > 2 * TAIL_LIMIT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if let Some(surplus) = self.bytes.len().checked_sub(TAIL_LIMIT).filter(|surplus| *surplus > 0) {
            self.bytes.drain(..surplus);
            self.is_cut = true;
        }
    }

    /// The kept output as text. If output was cut off, it starts at the beginning of a line.
    pub fn text(&mut self) -> String {
        self.cut();
        let start =
            if self.is_cut { self.bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) } else { 0 };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_described() {
        let exit = |code, signal| Exit { how: How::Exited, code, signal }.describe();
        assert_eq!(exit(Some(3), None), "exit code 3");
        assert_eq!(exit(None, Some(6)), "signal 6, SIGABRT");
        assert_eq!(exit(None, Some(99)), "signal 99");
        assert_eq!(exit(None, None), "exit code unknown");
    }

    #[test]
    fn a_short_text_is_whole() {
        let mut tail = Tail::default();
        tail.push(b"a\nb");
        tail.push(b"\xff\n");
        assert_eq!(tail.text(), "a\nb\u{fffd}\n");
    }

    #[test]
    fn whole_lines_at_the_end_of_a_long_text_stay() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
            assert!(tail.bytes.len() <= 2 * TAIL_LIMIT + 20);
        }
        let text = tail.text();
        assert!(text.len() <= TAIL_LIMIT && text.len() > TAIL_LIMIT - 20);
        assert!(text.starts_with("line ") && text.ends_with("line 99999\n"));
    }
}
