//! Work that a signal stops.

use std::io;

use tokio::runtime::{Builder, Runtime};

use super::exit::Failure;

/// The number of the signal that Ctrl-C sends.
pub(super) const INTERRUPT: u8 = 2;

/// Runs the work to its end, or drops it when the person presses Ctrl-C or the system asks this program to end.
pub(super) fn run<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    run_on(&mut Builder::new_current_thread(), drop, work)
}

/// The same for work that consists of this many jobs. When it is dropped, so are they, before this returns.
pub(super) fn run_with_threads<T>(jobs: usize, work: impl Future<Output = T>) -> Result<T, Failure> {
    // One more than can be busy with removing files, for time to go on.
    run_on(Builder::new_multi_thread().worker_threads(jobs + 1), drop, work)
}

/// The same for work that nothing is left of when it is dropped: threads that are still busy with it are not waited for.
pub(super) fn run_and_forget<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    run_on(&mut Builder::new_multi_thread(), Runtime::shutdown_background, work)
}

/// Runs work that leaves the terminal to a program of the person's, whose affair Ctrl-C is then.
pub(super) fn run_beside_program<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
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

fn run_on<T>(builder: &mut Builder, end: fn(Runtime), work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = builder.enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let signals = signalled().map_err(Failure::unable)?;
        tokio::select! {
            done = work => Ok(done),
            signal = signals => Err(Failure::interrupted(signal)),
        }
    });
    end(runtime);
    done
}

/// Begins to listen at once, and waits for the number of the first signal that asks for the end.
#[cfg(unix)]
fn signalled() -> io::Result<impl Future<Output = u8>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => INTERRUPT,
            _ = terminate.recv() => 15,
            _ = hangup.recv() => 1,
        }
    })
}

/// The same, where there is only Ctrl-C.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other systems")]
fn signalled() -> io::Result<impl Future<Output = u8>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        INTERRUPT
    })
}
