//! Work that a signal stops.

use std::io;

use tokio::runtime;

use super::exit::Failure;

/// Runs the work to its end, or drops it when the person presses Ctrl-C or the system asks this program to end.
pub(super) fn run<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::unable)?;
    let done = runtime.block_on(async {
        let signals = signalled().map_err(Failure::unable)?;
        tokio::select! {
            done = work => Ok(done),
            signal = signals => Err(Failure::interrupted(signal)),
        }
    });
    // Whoever is still looking into an archive is not waited for.
    runtime.shutdown_background();
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
            _ = interrupt.recv() => 2,
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
        2
    })
}
