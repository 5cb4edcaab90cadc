//! One process at a time changes an agent.

use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::{Error, Store};
use acp_registry_host::fs::PathError;
use acp_registry_host::lock::{Acquisition, Lock};
use acp_registry_plan::manifest::AgentId;

/// How often a lock that another process holds is asked for again.
const INTERVAL: Duration = Duration::from_millis(50);

impl Store {
    /// Waits for the lock of an agent, unless other people can change its directory. `what` describes this process to
    /// others meanwhile, and `wait` is called once with who is waited for.
    pub(super) async fn lock(&self, id: &AgentId, what: &str, wait: &(dyn Fn(&str) + Sync)) -> Result<Lock, Error> {
        let agents = self.agents();
        let directory = self.directory(id);
        if directory.is_symlink() {
            return Err(Error::Link(directory));
        }
        self.refuse_foreign_agent(id)?;
        let started = Instant::now();
        let mut is_told = false;
        loop {
            fs::create_dir_all(&agents).map_err(PathError::at(&agents))?;
            let holder = match Lock::ask(&self.lock_file(id), what) {
                Ok(Acquisition::Mine(lock)) => return Ok(lock),
                Ok(Acquisition::Held(words)) if words.is_empty() => "another process".to_owned(),
                Ok(Acquisition::Held(words)) => words,
                // The process that removed the last agent may have removed the directory as well. `gc` has no patience, but tries
                // again, too.
                Err(PathError { error, .. })
                    if error.kind() == ErrorKind::NotFound && started.elapsed() < self.patience.max(INTERVAL * 10) =>
                {
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if started.elapsed() >= self.patience {
                return Err(Error::Locked { id: id.to_string(), holder, waited: self.patience });
            }
            if !is_told && started.elapsed() > INTERVAL * 10 {
                wait(&holder);
                is_told = true;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
