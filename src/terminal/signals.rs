//! Runs work until it is complete or a signal interrupts it.

use std::future::pending;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

use crate::terminal::call::WRITES;
use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

/// The number of the signal that Ctrl-C sends.
pub(crate) const INTERRUPT: u8 = 2;

/// How long a write may keep the program from ending after a signal. The reader may have stopped.
const STALLED: Duration = Duration::from_secs(2);

/// Ends the program after so many signals once a write has blocked for too long, from a thread of its own: the one that should
/// handle the signal may be the one that writes.
#[expect(clippy::exit, reason = "the thread that would return from `main` is blocked")]
fn watch(signals: usize) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let watch = move || {
            let runtime = Builder::new_current_thread().enable_all().build().ok()?;
            let mut signal = INTERRUPT;
            for _ in 0..signals {
                signal = runtime.block_on(async { Some(signalled().ok()?.await) })?;
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
            let signals = signalled_except(ignored()).ok()?;
            drop(ready);
            Some(signals.await)
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
        loop {
            let signals = signalled().map_err(Failure::unable)?;
            tokio::select! {
                done = &mut work => return Ok(done),
                signal = signals => if signal != INTERRUPT {
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
    // The first one may be for a program that still works while its output is not read.
    watch(2);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let (send, signals) = mpsc::channel(1);
        let mut next = Box::pin(signalled().map_err(Failure::unable)?);
        tokio::spawn(async move {
            loop {
                let number = next.as_mut().await;
                let Ok(again) = signalled() else { return };
                next = Box::pin(again);
                if send.send(number).await.is_err() {
                    return;
                }
            }
        });
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
    watch(1);
    let runtime = builder.enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let signals = signalled().map_err(Failure::unable)?;
        tokio::select! {
            done = work => Ok(done),
            signal = signals => Err(Failure::interrupted(signal)),
            () = cancelled => Err(Failure::interrupted(INTERRUPT)),
        }
    });
    end(runtime);
    done
}

/// Registers the signal handlers immediately; the future resolves to the number of the first signal.
fn signalled() -> io::Result<impl Future<Output = u8>> {
    signalled_except(0)
}

/// The same without some signals, a bit for each.
#[cfg(unix)]
fn signalled_except(ignored: u64) -> io::Result<impl Future<Output = u8>> {
    use std::task::Poll;

    use tokio::signal::unix::{SignalKind, signal};

    let numbers = [INTERRUPT, 15, 1].into_iter().filter(|number| ignored >> (number - 1) & 1 == 0);
    let listen = |number: u8| Ok((number, signal(SignalKind::from_raw(number.into()))?));
    let mut signals = numbers.map(listen).collect::<io::Result<Vec<_>>>()?;
    Ok(std::future::poll_fn(move |context| {
        let received =
            signals.iter_mut().find_map(|(number, signal)| signal.poll_recv(context).is_ready().then_some(*number));
        received.map_or(Poll::Pending, Poll::Ready)
    }))
}

/// The same on Windows: Ctrl-C, Ctrl-Break, and the end of the console.
#[cfg(windows)]
fn signalled_except(_ignored: u64) -> io::Result<impl Future<Output = u8>> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close};

    let (mut interrupt, mut stop, mut hangup) = (ctrl_c()?, ctrl_break()?, ctrl_close()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => INTERRUPT,
            _ = stop.recv() => INTERRUPT,
            _ = hangup.recv() => 1,
        }
    })
}
