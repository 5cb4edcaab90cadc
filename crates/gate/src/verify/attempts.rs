//! Finding out how an agent is started.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt as _};
use tokio::task::spawn_blocking;

use super::Verifier;
use super::run::Stop;
use acp_registry_client::install::Source;
use acp_registry_core::sys::lock::mark_used;
use acp_registry_core::sys::process::Scratch;
use acp_registry_protocol::handshake::{Outcome, Verdict};

/// What is done to find out how an agent is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trying {
    /// It is installed.
    Installing,
    /// It is started in all ways.
    Starting,
    /// So many of the ways are known.
    Ended {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
}

/// The result of starting an agent in one way.
#[derive(Debug)]
pub struct Attempt {
    /// The arguments behind those that the source has.
    pub arguments: Vec<String>,
    /// What the agent did.
    pub outcome: Outcome,
}

/// The result of starting an agent in several ways.
#[derive(Debug, Default)]
pub struct Attempts {
    /// What was tried, in order; the last one may be the one that passed.
    pub tried: Vec<Attempt>,
    /// Why the agent could not be installed or started: the reason's name in reports, and a sentence.
    pub not_started: Option<(&'static str, String)>,
    /// Why its place could not be removed.
    pub left: Option<String>,
}

impl Attempts {
    /// The attempt that shows how the agent is started: the one that passed, else the first that was answered.
    #[must_use]
    pub fn best(&self) -> Option<&Attempt> {
        let passed = self.tried.iter().find(|attempt| attempt.outcome.verdict == Verdict::Pass);
        let answered = || self.tried.iter().find(|attempt| attempt.outcome.handshake.protocol_version.is_some());
        passed.or_else(answered)
    }
}

impl Verifier {
    /// Installs an agent once, and starts it with all lists of arguments until it is known which is the first that passes:
    /// at once, unless root gives each start a user of its own. `trying` is told what is done. When the future is dropped,
    /// all processes are killed and all files removed before the runtime is gone, which must have several threads.
    pub async fn attempt(
        &self,
        source: &Source,
        lists: &[Vec<String>],
        trying: &(dyn Fn(Trying) + Send + Sync),
    ) -> Attempts {
        let mut attempts = Attempts::default();
        let place = match Scratch::below(&self.handshake.temporary) {
            Ok(place) => place,
            Err(error) => {
                attempts.not_started = Some(("install_failed", error.to_string()));
                return attempts;
            }
        };
        let _mark = mark_used(place.path());
        trying(Trying::Installing);
        if let Err(Stop { reason, message, .. }) =
            self.try_all(source, lists, trying, &place, &mut attempts.tried).await
        {
            attempts.not_started = Some((reason, message));
        }
        let removed = spawn_blocking(move || place.remove()).await;
        attempts.left = removed.ok().and_then(Result::err).map(|error| error.to_string());
        attempts
    }

    async fn try_all(
        &self,
        source: &Source,
        lists: &[Vec<String>],
        trying: &(dyn Fn(Trying) + Send + Sync),
        place: &Scratch,
        tried: &mut Vec<Attempt>,
    ) -> Result<(), Stop> {
        let ready = self.set_up(source, place, &|_| ()).await?;
        trying(Trying::Starting);
        let (ended, of, ready) = (&AtomicUsize::new(0), lists.len(), &ready);
        let starts = lists.iter().map(|arguments| async move {
            let outcome = self.start(&self.launch(ready, arguments, place), place, &self.handshake).await;
            trying(Trying::Ended { count: ended.fetch_add(1, Ordering::Relaxed) + 1, of });
            (arguments, outcome)
        });
        // The place lets in one user of its own only, so that each has to wait for the one before it.
        let is_alone = self.launch(ready, &[], place).gets_own_user(place.path());
        let at_once = if is_alone { 1 } else { of.max(1) };
        // In their order, whichever ends first: the result does not depend on how fast they are.
        let mut starts = stream::iter(starts.collect::<Vec<_>>()).buffered(at_once);
        while let Some((arguments, outcome)) = starts.next().await {
            let outcome = outcome?;
            let has_passed = outcome.verdict == Verdict::Pass;
            tried.push(Attempt { arguments: arguments.clone(), outcome });
            if has_passed {
                break;
            }
        }
        Ok(())
    }
}
