//! Runs work until it is complete or a signal interrupts it.

use std::future::{pending, poll_fn};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::terminal::call::WRITES;
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

/// The number of the signal that Ctrl-C sends.
pub(crate) const INTERRUPT: u8 = 2;

/// The number of the signal that the end of a terminal sends.
const HANGUP: u8 = 1;

/// How long a write may keep the program from ending after a signal. The reader may have stopped.
const STALLED: Duration = Duration::from_secs(2);

/// Ends the program after so many signals once a write has blocked for too long, from a thread of its own: the one that should
/// handle the signal may be the one that writes. That one listens already: a signal that came between would be for this thread
/// alone, and the program would go on.
#[expect(clippy::exit, reason = "the thread that would return from `main` is blocked")]
fn watch(signals: usize) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let watch = move || {
            let runtime = Builder::new_current_thread().enable_all().build().ok()?;
            let mut listener = runtime.block_on(async { listen() }).ok()?;
            let mut signal = INTERRUPT;
            for _ in 0..signals {
                signal = runtime.block_on(poll_fn(&mut listener));
            }
            loop {
                let [begun, done] = [0, 1].map(|at| WRITES[at].load(Ordering::SeqCst));
                thread::sleep(STALLED);
                if begun > done && done == WRITES[1].load(Ordering::SeqCst) {
                    std::process::exit(128 + i32::from(signal));
                }
            }
        };
        // Without the thread, only a blocked write is not interrupted.
        let _ = thread::Builder::new().spawn(move || -> Option<()> { watch() });
    });
}

/// Has `clean` end the program on the first signal, with the exit code of the signal: for work that blocks, and would leave
/// files behind. A signal that is ignored stays so, as with `nohup`.
#[expect(clippy::exit, reason = "`main` waits for the work")]
pub(crate) fn end_with(clean: impl FnOnce(&dyn Fn()) + Send + 'static) {
    let (ready, is_ready) = std::sync::mpsc::channel::<()>();
    let wait = move || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let signal = runtime.block_on(async {
            let listener = listen_except(ignored()).ok()?;
            drop(ready);
            Some(poll_fn(listener).await)
        })?;
        clean(&|| std::process::exit(128 + i32::from(signal)));
        Some(())
    };
    // Without the thread, a signal ends the program as it does others.
    if thread::Builder::new().spawn(wait).is_ok() {
        // Until the handlers are there.
        let _ = is_ready.recv();
    }
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
    let runtime = Builder::new_current_thread().enable_all().build().map_err(Failure::unable)?;
    runtime.block_on(async {
        let mut work = std::pin::pin!(work);
        let mut listener = listen().map_err(Failure::unable)?;
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                signal = poll_fn(&mut listener) => if signal != INTERRUPT {
                    return Err(Failure::interrupted(signal));
                },
            }
        }
    })
}

/// Like [`run_and_forget`], for work that handles signals itself, which it receives by their numbers.
pub(crate) fn run_with_signals<T, W: Future<Output = T>>(
    work: impl FnOnce(mpsc::Receiver<u8>) -> W,
) -> Result<T, Failure> {
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let (send, signals) = mpsc::channel(1);
        let mut listener = listen().map_err(Failure::unable)?;
        // The first one may be for a program that still works while its output is not read.
        watch(2);
        tokio::spawn(async move { while send.send(poll_fn(&mut listener).await).await.is_ok() {} });
        Ok(work(signals).await)
    });
    runtime.shutdown_background();
    done
}

fn run_on<T>(
    builder: &mut Builder,
    end: fn(Runtime),
    cancelled: impl Future<Output = ()>,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let runtime = builder.enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let listener = listen().map_err(Failure::unable)?;
        watch(1);
        tokio::select! {
            done = work => Ok(done),
            signal = poll_fn(listener) => Err(Failure::interrupted(signal)),
            () = cancelled => Err(Failure::interrupted(INTERRUPT)),
        }
    });
    end(runtime);
    done
}

/// Registers the handlers at once. The function, polled with [`poll_fn`], returns the number of each signal received since.
/// The end of the terminal stays ignored under `nohup`; Ctrl-C is heard also by what a shell has started in the background.
fn listen() -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<u8>> {
    listen_except(ignored() & 1 << (HANGUP - 1))
}

/// The same without some signals, a bit for each.
#[cfg(unix)]
fn listen_except(ignored: u64) -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<u8>> {
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
fn listen_except(_ignored: u64) -> io::Result<impl FnMut(&mut Context<'_>) -> Poll<u8>> {
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
