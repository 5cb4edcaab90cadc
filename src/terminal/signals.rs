//! Runs work until it is complete or a signal interrupts it.

use std::future::{pending, poll_fn};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};

use crate::terminal::call::{WRITES, take_result};
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

/// The number of the signal that Ctrl-C sends.
pub(crate) const INTERRUPT: u8 = 2;

/// The number of the signal that the end of a terminal sends.
const HANGUP: u8 = 1;

/// How long a write may keep the program from ending after a signal. The reader may have stopped.
const STALLED: Duration = Duration::from_secs(2);

/// How long the program may do something else than a run after a signal, before it is ended.
const GRACE: Duration = Duration::from_secs(1);

/// What is known of signals. One thread listens, for as long as the program lives, and tells the runs.
static SIGNALS: LazyLock<Signals> = LazyLock::new(|| Signals {
    state: Mutex::new(SignalState { runs: 0, bearable: 0, pending: None, early: Some(Box::new(|end| end())) }),
    last: watch::Sender::new(0),
});

/// Says that the command failed.
type Report = Box<dyn Fn(&Failure) + Send + Sync>;

static REPORT: OnceLock<Report> = OnceLock::new();

struct Signals {
    state: Mutex<SignalState>,
    last: watch::Sender<u8>,
}

/// What is done on a signal before the program is ended by the function that it receives.
type Cleaning = Box<dyn FnOnce(&dyn Fn()) + Send>;

struct SignalState {
    runs: usize,
    /// The number of signals after which a blocked write ends the program.
    bearable: usize,
    /// A signal that came while there was no run, or too late for it.
    pending: Option<u8>,
    /// Before the first run, a signal ends the program at once.
    early: Option<Cleaning>,
}

fn state() -> MutexGuard<'static, SignalState> {
    SIGNALS.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work that is told of signals. While there is none, a signal ends the program at the next run, or after [`GRACE`].
struct Run {
    signals: watch::Receiver<u8>,
}

impl Run {
    fn begin(bearable: usize) -> Result<Self, Failure> {
        listen();
        let mut state = state();
        state.early = None;
        if let Some(signal) = state.pending.take() {
            return Err(Failure::interrupted(signal));
        }
        state.runs += 1;
        state.bearable = bearable;
        Ok(Self { signals: SIGNALS.last.subscribe() })
    }

    /// The number of the next signal.
    async fn next(&mut self) -> u8 {
        // The sender is never dropped.
        let _ = self.signals.changed().await;
        *self.signals.borrow_and_update()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut state = state();
        state.runs -= 1;
        if state.runs == 0 && self.signals.has_changed().unwrap_or_default() {
            state.pending = Some(*self.signals.borrow());
        }
    }
}

/// Fails if a signal has come that no run was told of: for what cannot be undone, such as becoming another program.
pub(crate) fn check_pending() -> Result<(), Failure> {
    state().pending.take().map_or(Ok(()), |signal| Err(Failure::interrupted(signal)))
}

/// Has a signal that ends the program be reported as the failure of the command; from now on if `is_awaited`, else from the
/// first run.
pub(crate) fn report_with(report: impl Fn(&Failure) + Send + Sync + 'static, is_awaited: bool) {
    // There is one command.
    let _ = REPORT.set(Box::new(report));
    if is_awaited {
        listen();
    }
}

/// Starts the thread that listens to signals.
fn listen() {
    static LISTENER: Once = Once::new();
    LISTENER.call_once(|| {
        let (ready, is_ready) = std::sync::mpsc::channel::<()>();
        let listen = move || {
            let runtime = Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(tell_runs(ready)).ok()
        };
        // Without the thread, signals end the program as they do others.
        if thread::Builder::new().spawn(listen).is_ok() {
            // Until the handlers are there.
            let _ = is_ready.recv();
        }
    });
}

/// Listens to signals. One that comes between runs ends the program if no run begins soon. The end of the terminal stays
/// ignored under `nohup`; runs hear Ctrl-C also in what a shell has started in the background.
async fn tell_runs(ready: std::sync::mpsc::Sender<()>) -> io::Result<()> {
    let ignored = ignored();
    let mut listener = handlers(ignored & 1 << (HANGUP - 1))?;
    drop(ready);
    let mut borne = 0;
    loop {
        let signal = poll_fn(&mut listener).await;
        let mut state = state();
        if state.early.is_some() && ignored >> (signal - 1) & 1 == 1 {
            continue;
        }
        if let Some(clean) = state.early.take() {
            // Further signals do not cut it short.
            state.runs += 1;
            tokio::spawn(end_blocked_writes(signal));
            tokio::task::spawn_blocking(move || clean(&|| end(signal)));
            continue;
        }
        borne += 1;
        if borne == state.bearable {
            tokio::spawn(end_blocked_writes(signal));
        }
        if state.runs > 0 {
            SIGNALS.last.send_replace(signal);
        } else {
            state.pending = Some(signal);
        }
        drop(state);
        // The run may end without having looked at it.
        tokio::spawn(async move {
            tokio::time::sleep(GRACE).await;
            if self::state().pending.is_some() {
                // It may have to wait for a write.
                tokio::task::spawn_blocking(move || end(signal));
            }
        });
    }
}

/// Ends the program after a signal, which is reported unless the result is there.
#[expect(clippy::exit, reason = "the thread that would return from `main` is busy")]
fn end(signal: u8) {
    static END: Once = Once::new();
    let exit = move || {
        acp_registry::host::command::interrupt_all();
        std::process::exit(128 + i32::from(signal))
    };
    // A second call must not cut off the report of the first.
    END.call_once(|| {
        if take_result()
            && let Some(report) = REPORT.get()
        {
            // The report may be wanted in a pipe without a reader.
            let end_late = move || {
                thread::sleep(STALLED);
                exit();
            };
            drop(thread::Builder::new().spawn(end_late));
            report(&Failure::interrupted(signal));
        }
        exit();
    });
}

/// Ends the program once a write has blocked for too long: the thread that should handle the signal may be the one that writes.
#[expect(clippy::exit, reason = "the thread that would return from `main` is blocked")]
async fn end_blocked_writes(signal: u8) {
    loop {
        let [begun, done] = [0, 1].map(|at| WRITES[at].load(Ordering::SeqCst));
        tokio::time::sleep(STALLED).await;
        if begun > done && done == WRITES[1].load(Ordering::SeqCst) {
            std::process::exit(128 + i32::from(signal));
        }
    }
}

/// Has `clean` end the program on the first signal, with the exit code of the signal: for work that blocks, and would leave
/// files behind. A signal that is ignored stays so, as with `nohup`.
pub(crate) fn end_with(clean: impl FnOnce(&dyn Fn()) + Send + 'static) {
    state().early = Some(Box::new(clean));
    listen();
}

/// The signals that this program was started to ignore, a bit for each; known on Linux alone.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Lets writes fail that exceed the limit of the size of files, instead of ending the program without a word. Programs
/// that are started have the signal's default again.
#[cfg(unix)]
pub(crate) fn survive_file_limit() {
    // If it cannot be caught, a message is lost and nothing else.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Runs `work` to completion, or drops it on Ctrl-C (SIGINT), SIGTERM or SIGHUP, or when a client cancels the command.
pub(crate) fn run<T>(ui: &Ui, work: impl Future<Output = T>) -> Result<T, Failure> {
    run_on(&mut Builder::new_current_thread(), drop, ui.cancelled(), work)
}

/// Like [`run`], for work that consists of several jobs. If the work is dropped, its jobs have ended when this returns.
pub(crate) fn run_with_threads<T>(ui: &Ui, jobs: usize, work: impl Future<Output = T>) -> Result<T, Failure> {
    // All jobs may be busy removing files; one more thread keeps timers running.
    run_on(Builder::new_multi_thread().worker_threads(jobs + 1), drop, ui.cancelled(), work)
}

/// Like [`run`], for work that leaves nothing to clean up: blocked threads are not waited for.
pub(crate) fn run_and_forget<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    run_on(&mut Builder::new_multi_thread(), Runtime::shutdown_background, pending(), work)
}

/// Runs work while a child process uses the terminal. Ctrl-C is left to the child.
pub(crate) fn run_beside_program<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let mut run = Run::begin(usize::MAX)?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::unable)?;
    runtime.block_on(async {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                signal = run.next() => if signal != INTERRUPT {
                    return Err(Failure::interrupted(signal));
                },
            }
        }
    })
}

/// Like [`run_and_forget`], for work that handles signals itself, which it receives by their numbers. A write that stays
/// blocked after `bearable` of them ends the program: with 2, the first is for a program that works while its output is not read.
pub(crate) fn run_with_signals<T, W: Future<Output = T>>(
    bearable: usize,
    work: impl FnOnce(mpsc::Receiver<u8>) -> W,
) -> Result<T, Failure> {
    let mut run = Run::begin(bearable)?;
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let (send, signals) = mpsc::channel(1);
        tokio::spawn(async move { while send.send(run.next().await).await.is_ok() {} });
        work(signals).await
    });
    runtime.shutdown_background();
    Ok(done)
}

fn run_on<T>(
    builder: &mut Builder,
    end: fn(Runtime),
    cancelled: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut run = Run::begin(1)?;
    let runtime = builder.enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        tokio::select! {
            done = work => Ok(done),
            signal = run.next() => Err(Failure::interrupted(signal)),
            () = cancelled => Err(Failure::interrupted(INTERRUPT)),
        }
    });
    end(runtime);
    done
}

/// Registers the handlers at once, except for some signals, a bit for each. The function, polled with [`poll_fn`], returns the
/// number of each signal received since.
#[cfg(unix)]
fn handlers(ignored: u64) -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<u8>> {
    use tokio::signal::unix::{SignalKind, signal};

    let numbers = [INTERRUPT, 15, HANGUP].into_iter().filter(|number| ignored >> (number - 1) & 1 == 0);
    let listen = |number: u8| Ok((number, signal(SignalKind::from_raw(number.into()))?));
    let mut signals = numbers.map(listen).collect::<io::Result<Vec<_>>>()?;
    Ok(move |context: &mut Context<'_>| {
        let received =
            signals.iter_mut().find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
        received.map_or(Poll::Pending, Poll::Ready)
    })
}

/// The same on Windows: Ctrl-C, Ctrl-Break, and the end of the console.
#[cfg(windows)]
fn handlers(_ignored: u64) -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<u8>> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};

    let (mut interrupt, mut stop, mut hangup) = (ctrl_c()?, ctrl_break()?, ctrl_close()?);
    Ok(move |context: &mut Context<'_>| {
        // All are asked, since each wakes only who has asked it.
        let [interrupt, stop, hangup] =
            [interrupt.poll_recv(context), stop.poll_recv(context), hangup.poll_recv(context)];
        match (interrupt, stop, hangup) {
            (Poll::Ready(_), ..) | (_, Poll::Ready(_), _) => Poll::Ready(INTERRUPT),
            (.., Poll::Ready(_)) => Poll::Ready(HANGUP),
            _ => Poll::Pending,
        }
    })
}
