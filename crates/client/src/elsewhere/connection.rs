//! This side of a connection.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_host::command::answer;
use acp_registry_host::process::{Environment, Tail};
#[cfg(unix)]
use acp_registry_host::start::signal_group;
use acp_registry_host::start::{Program, spawn_apart};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::Platform;
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, interval, sleep_until, timeout};

#[cfg(unix)]
use super::KILL;
use super::frame::{Frame, Frames, PIECE, pieces};
use super::machine::{REACH, Report, platform};
use super::{BEAT, Error, Input, Machine, Order, Output, SILENCE};

/// How long a machine may be silent until its shell answers, for [`Connection::open`].
pub const PATIENCE: Duration = Duration::from_mins(1);

/// How many lines may come before a report.
const LINES: usize = 10_000;

/// How long to wait for a program to end that has no more to do, and for its last lines.
const LAST: Duration = Duration::from_secs(5);

/// How long the other side has to end after a signal.
const PARTING: Duration = Duration::from_secs(10);

/// A connection to another machine. Dropping it ends what was started there.
#[derive(Debug)]
pub struct Connection {
    peer: Peer,
    patience: Duration,
    stdin: ChildStdin,
    frames: Frames,
    system: String,
    program: Option<String>,
}

/// The running `ssh` or `wsl.exe`.
#[derive(Debug)]
struct Peer {
    machine: Machine,
    child: Child,
    /// The end of what it and the other side have written to stderr.
    tail: Arc<Mutex<Tail>>,
    errors: JoinHandle<()>,
}

impl Connection {
    /// Connects, and looks for this program there. What the other side writes to stderr goes to `errors`. `patience` is how
    /// long the machine may be silent when it is reached, and while it receives a copy.
    ///
    /// # Errors
    /// [`Error`] when the machine does not answer.
    pub async fn open(
        machine: &Machine,
        environment: &Environment,
        patience: Duration,
        errors: Output,
    ) -> Result<Self, Error> {
        let (machine, program) = (machine.clone(), machine.program());
        let Some(path) = environment.find(program) else { return Err(Error::NoProgram { machine, program }) };
        let limit = limit(&machine, &path).await;
        let start = Program {
            path: path.clone(),
            arguments: machine.arguments(limit.is_some()),
            // Otherwise, `wsl.exe` writes its messages as UTF-16.
            variables: vec![("WSL_UTF8".into(), "1".into())],
            hidden: Vec::new(),
            keep_open: None,
        };
        let failed = |error| Error::Start { machine: machine.clone(), program, error };
        let mut child = spawn_apart(start, Stdio::piped()).map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let (tail, mut lines) = (Arc::<Mutex<Tail>>::default(), pieces(stderr));
        let kept = tail.clone();
        // A write that blocks keeps nothing else from being done.
        let errors = spawn_blocking(move || {
            while let Some(piece) = lines.blocking_recv() {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(&piece);
                // Without stderr, the last line is still in the error.
                let _ = errors(&piece);
            }
        });
        let mut peer = Peer { machine, child, tail, errors };
        let mut frames = Frames::new(pieces(stdout));
        // `ssh` does not say when it has reached the machine.
        let whole = limit.unwrap_or(REACH).saturating_add(patience);
        let (system, program) = match timeout(whole, report(&mut frames)).await {
            Ok(Some(Report::Found { system, program })) => (system, Some(program)),
            Ok(Some(Report::Absent { system })) => (system, None),
            Ok(_) => return Err(Error::Unreachable { line: peer.last_line().await, machine: peer.machine.clone() }),
            Err(_) => return Err(peer.silence(whole).await),
        };
        Ok(Self { peer, patience, stdin, frames, system, program })
    }

    /// The system and processor there, as `Linux x86_64`. Hostile.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }

    /// The path of this program there, if it is there. Hostile.
    #[must_use]
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Whether what runs here runs there.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        Platform::host().is_some_and(|here| platform(&self.system) == Some(here))
    }

    /// Copies this program there, unless it is there.
    ///
    /// # Errors
    /// [`Error`] when the copy would not run there, or is not written.
    pub async fn provide(&mut self, program: &Path) -> Result<(), Error> {
        if self.program.is_some() {
            return Ok(());
        }
        let machine = self.peer.machine.clone();
        if !self.is_alike() {
            return Err(Error::OtherSystem { machine, system: self.system.clone() });
        }
        let path = program.to_owned();
        let packed = spawn_blocking(move || pack(&path)).await.map_err(io::Error::other).flatten();
        let (digest, packed) = packed.map_err(|error| Error::Read { machine: machine.clone(), error })?;
        let mut said = self.hand_over(format!("{}\n{digest}\n", packed.len()).as_bytes()).await?;
        if said == Some(Report::Ready) {
            said = self.hand_over(&packed).await?;
        }
        match said {
            Some(Report::Found { program, .. }) => self.program = Some(program),
            Some(Report::Unfit) => return Err(Error::Unfit { machine, line: self.peer.last_line().await }),
            _ => return Err(Error::Copy { machine, line: self.peer.last_line().await }),
        }
        Ok(())
    }

    /// Sends what the script reads, and returns its report.
    async fn hand_over(&mut self, bytes: &[u8]) -> Result<Option<Report>, Error> {
        for piece in bytes.chunks(PIECE) {
            match timeout(self.patience, self.stdin.write_all(piece)).await {
                Ok(Ok(())) => {}
                // The other side has ended, and its report is missing.
                Ok(Err(_)) => break,
                Err(_) => return Err(self.peer.silence(self.patience).await),
            }
        }
        match timeout(self.patience, report(&mut self.frames)).await {
            Ok(report) => Ok(report),
            Err(_) => Err(self.peer.silence(self.patience).await),
        }
    }

    /// Has the program there carry out an order, and returns its exit code. The first signal is passed on to it; the second,
    /// or 10 s without an end, ends the connection.
    ///
    /// # Errors
    /// [`Error`] when the connection is lost, or the output cannot be written.
    pub async fn carry_out(
        self,
        order: &Order,
        input: Input,
        output: &Output,
        signals: &mut mpsc::Receiver<u8>,
    ) -> Result<u8, Error> {
        let Self { mut peer, stdin, mut frames, .. } = self;
        let (control, controls) = mpsc::channel(1);
        let text = serde_json::to_vec(order).unwrap_or_default();
        let sending = tokio::spawn(send(stdin, Frame::Order(text), input, controls));
        let mut control = Some(control);
        let mut until = Instant::now() + SILENCE;
        let mut parting = None;
        let ended = loop {
            tokio::select! {
                frame = frames.next() => match frame {
                    Some(Frame::Exit(code)) => break Some(code),
                    Some(Frame::Data(piece)) => {
                        output(&piece).map_err(|error| Error::Output { machine: peer.machine.clone(), error })?;
                        until = Instant::now() + SILENCE;
                    }
                    Some(_) => until = Instant::now() + SILENCE,
                    None => break None,
                },
                Some(signal) = signals.recv() => match control.take() {
                    // The channel is empty before the first one.
                    Some(control) => {
                        let _ = control.try_send(signal);
                        parting = Some((signal, Instant::now() + PARTING));
                    }
                    None => return Err(Error::Interrupted(signal)),
                },
                () = sleep_until(until) => break None,
                // What the machine sends does not move this.
                Some(signal) = past(parting) => return Err(Error::Interrupted(signal)),
            }
        };
        // Drops stdin, so that `ssh` has no more to do.
        sending.abort();
        let line = peer.last_line().await;
        ended.ok_or(Error::Lost { machine: peer.machine.clone(), line })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Peer {
    /// Ends it, and the programs by which it reaches the machine.
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.child.id() {
            signal_group(leader, KILL);
        }
        let _ = self.child.start_kill();
    }

    /// Ends it because the machine says nothing.
    async fn silence(&mut self, patience: Duration) -> Error {
        self.kill();
        Error::Silent { line: self.last_line().await, machine: self.machine.clone(), patience }
    }

    /// Waits for its end, and returns the last line of stderr.
    async fn last_line(&mut self) -> String {
        if timeout(LAST, self.child.wait()).await.is_err() {
            self.kill();
        }
        // A process in the background may keep stderr open.
        let _ = timeout(LAST, &mut self.errors).await;
        let text = self.tail.lock().unwrap_or_else(PoisonError::into_inner).text();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }
}

/// The signal, once the time for its effect is over; `None` without one.
async fn past(parting: Option<(u8, Instant)>) -> Option<u8> {
    let (signal, until) = parting?;
    sleep_until(until).await;
    Some(signal)
}

/// A program's digest, and its bytes packed by gzip: less than half of them, since each is encrypted on its way.
fn pack(program: &Path) -> io::Result<(Sha256, Vec<u8>)> {
    let bytes = fs::read(program)?;
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&bytes)?;
    Ok((Sha256::of(&bytes), packed.finish()?))
}

/// How long `ssh` waits for the machine by its configuration, if that says so. An inquiry that fails shows its reason when
/// the machine is reached.
async fn limit(machine: &Machine, program: &Path) -> Option<Duration> {
    let (machine, program) = (machine.clone(), program.to_string_lossy().into_owned());
    let ask = move || answer(&program, &machine.inquiry()?, Path::new("."), LAST, None).ok();
    let text = spawn_blocking(ask).await.ok().flatten()?;
    let seconds = text.lines().find_map(|line| line.strip_prefix("connecttimeout ")?.parse().ok())?;
    Some(Duration::from_secs(seconds))
}

/// The next report of the script; `None` if there is none.
async fn report(frames: &mut Frames) -> Option<Report> {
    for _ in 0..LINES {
        if let Ok(report) = frames.line().await?.parse() {
            return Some(report);
        }
    }
    None
}

/// Sends a message, then what comes in, until the other side does not read any more.
async fn send(mut stdin: ChildStdin, first: Frame, mut input: Input, mut controls: mpsc::Receiver<u8>) {
    let (mut frame, mut is_open, mut beat) = (first, true, interval(BEAT));
    while stdin.write_all(&frame.bytes()).await.is_ok() {
        frame = tokio::select! {
            piece = input.recv(), if is_open => {
                is_open = piece.is_some();
                piece.map_or(Frame::End, Frame::Data)
            }
            Some(signal) = controls.recv() => Frame::Signal(signal),
            _ = beat.tick() => Frame::Beat,
        };
    }
}
