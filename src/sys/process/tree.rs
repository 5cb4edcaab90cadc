//! A program with its descendants.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::{Instant, sleep, timeout};

use super::platform::{self, Identity};
use super::{Environment, Exit, Home, How, Isolation, Sandbox};

/// How long a program may take to end after its stdin was closed, and again after it was asked to end.
const GRACE: Duration = Duration::from_secs(2);

/// How long killing is repeated: some descendants may be making others all the time.
const HUNT: Duration = Duration::from_secs(5);

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
}

impl Launch {
    pub(super) fn directory(&self, sandbox: &Sandbox) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| sandbox.work())
    }
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {}: {hint} ({error})", crate::text::quote(program))]
pub struct SpawnError {
    program: String,
    hint: &'static str,
    #[source]
    error: io::Error,
}

/// The ends of a program's pipes that are this side's.
#[derive(Debug)]
pub struct Pipes {
    /// What the program reads. Closing it asks the program to end.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it says besides. The program stops when nobody reads it.
    pub stderr: ChildStderr,
}

/// How a tree has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// The program's own end; `None` when even killing did not help.
    pub exit: Option<Exit>,
    /// Processes that the program has left behind, and that were ended after it.
    pub left_behind: usize,
    /// Processes that could not be ended.
    pub survivors: usize,
}

/// A running program with its descendants. Dropping it kills them all.
#[derive(Debug)]
pub struct Tree {
    child: Box<dyn ChildWrapper>,
    identity: Identity,
    exit: Option<Exit>,
    /// Whether nothing that it has started belongs to anybody else.
    is_apart: bool,
    is_over: bool,
}

impl Tree {
    /// Starts a program in a session of its own.
    ///
    /// # Errors
    /// [`SpawnError`], which says what may be wrong.
    pub async fn start(launch: &Launch, sandbox: &Sandbox) -> Result<(Self, Pipes), SpawnError> {
        let failed = |error: io::Error| SpawnError {
            program: launch.program.to_string_lossy().into_owned(),
            hint: hint(&error, launch, sandbox),
            error,
        };
        let mut child = spawn(launch, sandbox).await.map_err(failed)?;
        let root = child.id().unwrap_or_default();
        let is_apart = sandbox.home() == Home::Empty;
        if is_apart {
            platform::limit(root);
        }
        let identity = Identity::new(root, is_apart.then(|| sandbox.path()));
        let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let tree = Self { child, identity, exit: None, is_apart, is_over: false };
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((tree, Pipes { stdin, stdout, stderr })),
            _ => Err(failed(io::Error::other("it was started without pipes"))),
        }
    }

    /// Waits until the program itself has ended; its descendants may live on. May be given up and called again.
    pub async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        // The wrapper would wait for the descendants as well.
        match self.child.inner_mut().wait().await {
            Ok(status) => *self.exit.insert(Exit::of(status, How::Exited)),
            // Somebody else has waited for all children of this process, so that nothing more will be known.
            Err(_) => *self.exit.insert(Exit { how: How::Exited, code: None, signal: None }),
        }
    }

    /// Ends everything: gives the program 2 s, asks all processes to end, gives them 2 s, and kills what is left.
    ///
    /// Close the program's stdin before, and go on reading what it writes: it may wait for either.
    pub async fn end(mut self) -> Ending {
        let (mut left_behind, mut survivors) = (0, 0);
        if timeout(GRACE, self.wait()).await.is_ok() {
            left_behind = self.identity.alive();
        }
        if self.exit.is_none() || left_behind > 0 {
            self.identity.terminate(&*self.child);
            if !self.is_gone_within(GRACE, How::Terminated).await {
                let until = Instant::now() + HUNT;
                while Instant::now() < until {
                    self.identity.kill(&mut *self.child);
                    if self.is_gone_within(Duration::from_millis(5), How::Killed).await {
                        break;
                    }
                }
            }
            // Where nobody was left before, nobody can have come: looking through all processes again takes a while.
            survivors = self.identity.alive();
        }
        if cfg!(windows) && self.is_apart {
            // A job tells nothing of who is still in it, but ends them all.
            self.identity.kill(&mut *self.child);
        }
        self.is_over = true;
        Ending { exit: self.exit, left_behind, survivors }
    }

    /// Whether the program and all processes of the tree end within this time. `how` is what it took.
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

    /// Looks whether the program has ended.
    fn notice(&mut self, how: How) {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.inner_mut().try_wait()
        {
            self.exit = Some(Exit::of(status, how));
        }
    }
}

impl Drop for Tree {
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
async fn spawn(launch: &Launch, sandbox: &Sandbox) -> io::Result<Box<dyn ChildWrapper>> {
    let (program, arguments) = launch.isolation.command(launch, sandbox);
    let mut attempts = 0;
    loop {
        let mut command = Command::new(&program);
        command.args(&arguments).current_dir(launch.directory(sandbox));
        command.env_clear().envs(launch.environment.iter()).envs(sandbox.variables());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessSession);
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        match command.spawn() {
            // A program that was just unpacked: another thread that starts a process holds its file for a moment.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && attempts < 20 => {
                attempts += 1;
                sleep(Duration::from_millis(10)).await;
            }
            other => return other,
        }
    }
}

/// What may be wrong when a program does not start.
fn hint(error: &io::Error, launch: &Launch, sandbox: &Sandbox) -> &'static str {
    /// "Exec format error" on every Unix.
    const NO_PROGRAM: i32 = 8;
    let directory = launch.directory(sandbox);
    if !directory.is_dir() {
        return "the directory that it is to work in is not there";
    }
    let program = Path::new(&launch.program);
    let has_path = program.components().count() > 1;
    match error.kind() {
        ErrorKind::NotFound if matches!(launch.isolation, Isolation::Bwrap { .. }) => "`bwrap` is not installed",
        ErrorKind::NotFound if has_path && directory.join(program).exists() => {
            "the file is there, but not the interpreter that its first line names, or not the loader that it needs"
        }
        ErrorKind::NotFound if has_path => "there is no such file",
        ErrorKind::NotFound => "there is no such program in PATH",
        ErrorKind::PermissionDenied if directory.join(program).is_dir() => "it is a directory",
        ErrorKind::PermissionDenied => "it is not executable; `chmod +x` makes it so",
        _ if cfg!(unix) && error.raw_os_error() == Some(NO_PROGRAM) => {
            "it is made for another system or processor, or is a script without a `#!` line"
        }
        _ => "the system refuses",
    }
}
