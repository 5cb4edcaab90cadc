//! Work on files that ends early when the future that waits for it is dropped.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::spawn_blocking;

/// Runs work that writes files, in a thread for such work. When this future is dropped, the work is told to end, and the
/// drop waits until it has: afterwards, the caller removes the files or puts others in their place.
pub(crate) async fn cancellable<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> io::Result<T> {
    let job = Cancel(Arc::default());
    let shared = Arc::clone(&job.0);
    spawn_blocking(move || {
        let _running = shared.running.lock().unwrap_or_else(PoisonError::into_inner);
        work(&shared.is_cancelled)
    })
    .await
    .map_err(io::Error::other)
}

#[derive(Default)]
struct Job {
    is_cancelled: AtomicBool,
    running: Mutex<()>,
}

struct Cancel(Arc<Job>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        drop(self.0.running.lock());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;
    use std::{fs, thread};

    use super::*;

    #[tokio::test]
    async fn who_drops_the_work_finds_it_ended() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("last");
        let (starts, started) = channel();
        let last = file.clone();
        let work = cancellable(move |is_cancelled| {
            starts.send(()).unwrap();
            while !is_cancelled.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            fs::write(last, "").unwrap();
        });
        let mut work = Box::pin(work);
        assert!(futures_util::poll!(&mut work).is_pending());
        started.recv().unwrap();
        drop(work);
        assert!(file.exists());
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error() {
        assert!(cancellable(|_| panic!("at the disk")).await.unwrap_err().to_string().contains("panicked"));
    }
}
