//! Finds the arguments that start an agent, by trying several.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt as _};
use tokio::task::spawn_blocking;

use super::run::Stop;
use super::{NotStarted, Verifier};
use acp_registry_client::install::{Expected, Source};
use acp_registry_examine::examination::Examination;
use acp_registry_host::lock::mark_used;
use acp_registry_host::process::{Network, Scratch};
use acp_registry_protocol::handshake::{Outcome, Verdict};

/// Progress of [`Verifier::attempt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trying {
    /// The agent is being installed.
    Installing,
    /// The agent is being started with each list of arguments.
    Starting,
    /// The results of some lists of arguments are known.
    Ended {
        /// Number of known results.
        count: usize,
        /// Number of lists of arguments.
        of: usize,
    },
    /// The agent is being examined with the arguments that passed.
    Examining {
        /// Number of checks that have run.
        done: usize,
        /// Number of checks.
        of: usize,
    },
}

/// The result of starting an agent with one list of arguments.
#[derive(Debug)]
pub struct StartAttempt {
    /// The arguments, appended to those of the source.
    pub arguments: Vec<String>,
    /// The result of the handshake.
    pub outcome: Outcome,
    /// The result of the examination, if one was requested and the handshake passed.
    pub examination: Option<Box<Examination>>,
}

/// The results of starting an agent with several lists of arguments.
#[derive(Debug, Default)]
pub struct Attempts {
    /// The attempts, in order. If one passed, it is the last.
    pub tried: Vec<StartAttempt>,
    /// Why the agent could not be installed or started: the reason as named in reports, and a message.
    pub not_started: Option<(&'static str, String)>,
    /// Whether that is because the package runner would not start it, on any machine.
    pub is_not_startable: bool,
    /// Why its directory could not be removed.
    pub left: Option<String>,
}

impl Attempts {
    /// Why the package runner would not start the agent on any machine, if it would not.
    pub(crate) fn problem_of_package(&self) -> Option<&(&'static str, String)> {
        self.not_started.as_ref().filter(|_| self.is_not_startable)
    }

    /// The attempt that passed, or else the first one that the agent answered.
    pub fn best(&self) -> Option<&StartAttempt> {
        let passed = self.tried.iter().find(|attempt| attempt.outcome.verdict == Verdict::Pass);
        let answered = || self.tried.iter().find(|attempt| attempt.outcome.handshake.protocol_version.is_some());
        passed.or_else(answered)
    }
}

impl Verifier {
    /// Installs an agent once, and starts it with each list of arguments until the first that passes is known. With these
    /// arguments, it is examined as far as is demanded. Starts run concurrently, unless the launcher runs as root and gives
    /// each a user of its own. `id` selects the recipe of the examination. `trying` is called with the progress.
    ///
    /// If the future is dropped, all processes are killed and all files are removed before the runtime shuts down.
    /// Requires a multi-threaded runtime.
    pub async fn attempt(
        &self,
        source: &Source,
        lists: &[Vec<String>],
        id: &str,
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
        if let Err(Stop { why: NotStarted { reason, message, remedy, .. }, is_not_startable, .. }) =
            self.try_all(source, lists, id, trying, &place, &mut attempts.tried).await
        {
            let message = remedy.map_or(message.clone(), |remedy| format!("{message}; {remedy}"));
            (attempts.not_started, attempts.is_not_startable) = (Some((reason, message)), is_not_startable);
        }
        let removed = spawn_blocking(move || place.remove()).await;
        attempts.left = removed.ok().and_then(Result::err).map(|error| error.to_string());
        attempts
    }

    async fn try_all(
        &self,
        source: &Source,
        lists: &[Vec<String>],
        id: &str,
        trying: &(dyn Fn(Trying) + Send + Sync),
        place: &Scratch,
        tried: &mut Vec<StartAttempt>,
    ) -> Result<(), Stop> {
        let ready = self.set_up(id, (source, &Expected::default()), place, &|_| ()).await?;
        trying(Trying::Starting);
        let namespace = self.namespace().await.map_err(|error| Stop::error("spawn_failed", &error))?;
        let of_handshake = &namespace.clone().filter(|_| self.networks.handshake == Network::None);
        let (ended, of, ready) = (&AtomicUsize::new(0), lists.len(), &ready);
        let starts = lists.iter().map(|arguments| async move {
            let mut launch = self.launch(ready, arguments, place);
            launch.namespace = of_handshake.clone();
            let outcome = self.start(id, &launch, place, &self.handshake).await;
            trying(Trying::Ended { count: ended.fetch_add(1, Ordering::Relaxed) + 1, of });
            (arguments, outcome)
        });
        // Results are taken in the order of the lists, so they do not depend on which start is faster.
        let mut starts = stream::iter(starts.collect::<Vec<_>>()).buffered(of.max(1));
        while let Some((arguments, outcome)) = starts.next().await {
            let outcome = outcome?;
            let has_passed = outcome.verdict == Verdict::Pass;
            tried.push(StartAttempt { arguments: arguments.clone(), outcome, examination: None });
            if has_passed {
                break;
            }
        }
        // Agents that are still being tried end before the examination begins.
        drop(starts);
        if let Some(passed) = tried.last_mut().filter(|attempt| attempt.outcome.verdict == Verdict::Pass) {
            let mut launch = self.launch(ready, &passed.arguments, place);
            launch.namespace = namespace;
            let options = self.options_in(place, &self.handshake);
            let (outcome, place) = (&mut passed.outcome, Some(place.path()));
            let examined = self
                .demand
                .meet(&launch, &options, outcome, Some(id), place, &|done, of| trying(Trying::Examining { done, of }))
                .await;
            passed.examination = examined.map(Box::new);
        }
        Ok(())
    }
}
