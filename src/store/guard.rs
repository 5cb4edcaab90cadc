//! One process at a time changes an agent.

use std::fs;
use std::time::{Duration, Instant};

use super::{Error, Store};
use crate::sys::fs::PathError;
use crate::sys::lock::{Answer, Lock};

/// How often a lock that another process holds is asked for again.
const INTERVAL: Duration = Duration::from_millis(50);

impl Store {
    /// Waits for the lock of an agent. `what` is what others read of this process meanwhile, and `wait` is told once who
    /// is waited for.
    pub(super) async fn lock(&self, id: &str, what: &str, wait: &(dyn Fn(&str) + Sync)) -> Result<Lock, Error> {
        let agents = self.agents();
        fs::create_dir_all(&agents).map_err(PathError::at(&agents))?;
        let started = Instant::now();
        let mut is_told = false;
        loop {
            let holder = match Lock::ask(&self.lock_file(id), what)? {
                Answer::Mine(lock) => return Ok(lock),
                Answer::Held(words) if words.is_empty() => "another process".to_owned(),
                Answer::Held(words) => words,
            };
            if started.elapsed() >= self.patience {
                return Err(Error::Locked { id: id.to_owned(), holder, waited: self.patience });
            }
            if !is_told && started.elapsed() > INTERVAL * 10 {
                wait(&holder);
                is_told = true;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
