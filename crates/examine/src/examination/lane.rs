//! Runs a group of checks in succession, which share instances of the agent.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_registry_host::process::LaunchSpec;
use acp_registry_protocol::handshake::{HandshakeOptions, LONGER, Silence};
use tokio::time::{Instant, timeout_at};

use super::access::Access;
use super::agent::{STARTS, StartedAgent, silent};
use super::check::{Check, Force, Level, Setup, Talk};
use super::failure::{CheckFailure, OUT_OF_TIME, not_exercised};
use super::messages::OutputViolations;

/// Number of checks without a response after which an agent that has answered nothing after `initialize` is given up.
const SILENT: usize = 2;

/// Gets the number of checks that have run, and of all.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Send + Sync);

/// What all groups of an examination have in common.
pub(super) struct Common<'a> {
    /// How the agent is started for the checks of the level `protocol`.
    pub(super) alone: (LaunchSpec, HandshakeOptions),
    /// How it is started for the checks that need the scripted model.
    pub(super) with_model: (LaunchSpec, HandshakeOptions),
    /// Time limit for a response.
    pub(super) patience: Duration,
    /// Time limit for a response in a repeated check, if the agent has answered other requests.
    pub(super) again: Duration,
    /// Time limit of the examination, and when it ends on a machine that lets its agents run.
    pub(super) limit: Duration,
    pub(super) until: Instant,
    /// For how long instances have waited for a processor so far.
    pub(super) starved: Mutex<Duration>,
    /// Whether the agent reaches no other host.
    pub(super) lacks_network: bool,
    /// Whether an instance has answered any request.
    pub(super) is_heard: AtomicBool,
    /// Number of instances that have answered nothing.
    pub(super) unheard: AtomicUsize,
    /// Whether the agent has answered a request after the handshake's `initialize`.
    pub(super) has_answered: bool,
    /// How the agent opens sessions, as far as it is known.
    pub(super) access: Mutex<Access>,
    /// Numbers of checks, for the progress.
    pub(super) done: AtomicUsize,
    pub(super) all: usize,
    pub(super) progress: Progress<'a>,
}

impl Common<'_> {
    fn access(&self) -> MutexGuard<'_, Access> {
        self.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How an agent is started.
    fn start(&self, setup: Setup) -> &(LaunchSpec, HandshakeOptions) {
        if setup.has_model() { &self.with_model } else { &self.alone }
    }

    /// When the examination ends: later by the time for which its instances waited for a processor, up to six times the
    /// limit. Two run at once.
    pub(super) fn until(&self) -> Instant {
        let starved = *self.starved.lock().unwrap_or_else(PoisonError::into_inner);
        self.until + extension(self.limit, starved)
    }

    /// Why no further instance is started: an agent that needs a network to start answers none of them.
    fn given_up(&self) -> Option<CheckFailure> {
        let is_over = self.lacks_network
            && !self.is_heard.load(Ordering::Relaxed)
            && self.unheard.load(Ordering::Relaxed) >= UNHEARD;
        is_over.then(|| {
            CheckFailure::NotExercised(
                "the agent answers nothing: it has no network, which it may need to start".to_owned(),
            )
        })
    }

    pub(super) fn out_of_time(&self) -> CheckFailure {
        CheckFailure::Unjudged(format!("{OUT_OF_TIME} of {} s", self.limit.as_secs()))
    }
}

/// Number of instances without an answer after which no further one is started.
const UNHEARD: usize = 4;

/// By how much an examination is made longer whose instances have waited for a processor.
fn extension(limit: Duration, starved: Duration) -> Duration {
    (starved / 2).min(limit * LONGER)
}

/// The state of a group.
pub(super) struct Lane<'a> {
    common: &'a Common<'a>,
    /// An agent that the next check may use, and how it was set up.
    waiting: Option<(Setup, StartedAgent)>,
    heard: OutputViolations,
    left: Vec<String>,
    has_answered: bool,
    silences: usize,
}

/// The result of one attempt, and whether another check had used the agent before.
struct Attempt {
    result: Result<(), CheckFailure>,
    was_used: bool,
    /// After a failure: what the agent and the client have written.
    exchange: Option<String>,
}

/// A check of a group.
pub(super) struct Item {
    pub(super) check: &'static Check,
    pub(super) setup: Setup,
    pub(super) talk: Talk,
}

/// A check that has run.
pub(super) struct Ran {
    pub(super) check: &'static Check,
    pub(super) result: Result<(), CheckFailure>,
    pub(super) duration: Duration,
    /// After a failure: what the agent and the client have written.
    pub(super) exchange: Option<String>,
    /// Whether another check had used the agent before.
    was_used: bool,
    doubt: Doubt,
}

impl Ran {
    /// For an agent that answers nothing without a network: its silence is no failure.
    pub(super) fn explain_silence(&mut self) {
        if let Err(CheckFailure::Silent(text)) = &self.result {
            let reason = format!("the agent {text}, and nothing else: it has no network, which it may need to start");
            self.result = not_exercised(reason);
        }
    }
}

/// Whether a failure may have another cause than what the check examines, so that the check is repeated, on an instance of
/// its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    No,
    /// It may be an effect of a defect that a required check has found.
    IfDefective,
    /// As before; if there is none, the check is repeated on an instance that it shares with others like it.
    Together,
    Yes,
}

/// The results of a group.
pub(super) struct GroupResult {
    pub(super) checks: Vec<Ran>,
    /// The violations in the output of all instances.
    pub(super) heard: OutputViolations,
    /// Why directories could not be removed.
    pub(super) left: Vec<String>,
}

impl<'a> Lane<'a> {
    pub(super) fn new(common: &'a Common<'a>) -> Self {
        let (heard, left) = (OutputViolations::default(), Vec::new());
        Self { common, waiting: None, heard, left, has_answered: common.has_answered, silences: 0 }
    }

    /// Runs the checks, and then repeats those whose failure the effects of other checks or a busy machine may have caused,
    /// each on an instance of its own.
    pub(super) async fn run(mut self, items: &[Item]) -> GroupResult {
        let mut checks = Vec::with_capacity(items.len());
        for item in items {
            let started = Instant::now();
            let (Attempt { result, was_used, exchange }, doubt) = self.first(item).await;
            (self.common.progress)(self.common.done.fetch_add(1, Ordering::Relaxed) + 1, self.common.all);
            checks.push(Ran { check: item.check, result, duration: started.elapsed(), exchange, was_used, doubt });
        }
        let is_defective = checks.iter().any(|ran| is_required(ran.check) && is_failure(&ran.result));
        let is_doubtful = |ran: &Ran| ran.doubt == Doubt::Yes || (is_defective && ran.doubt != Doubt::No);
        for (item, ran) in items.iter().zip(&mut checks).filter(|(_, ran)| is_doubtful(ran)) {
            self.rest().await;
            self.again(item, ran).await;
        }
        self.rest().await;
        // The last first, so that what an earlier one does to the instance comes after a later one.
        let is_together = |ran: &Ran| !is_defective && ran.doubt == Doubt::Together;
        for (item, ran) in items.iter().zip(&mut checks).rev().filter(|(_, ran)| is_together(ran)) {
            self.again(item, ran).await;
        }
        self.rest().await;
        GroupResult { checks, heard: self.heard, left: self.left }
    }

    /// Repeats a check.
    async fn again(&mut self, item: &Item, ran: &mut Ran) {
        let started = Instant::now();
        let Attempt { result, exchange, .. } = self.attempt(item, self.patience_again()).await;
        match result {
            // If the repetition could not run, the first result counts, unless the agent was shared. Silence counts only
            // when it is heard twice: the machine may have been busy.
            Err(unjudged @ CheckFailure::Unjudged(_)) if !ran.was_used => {
                if matches!(ran.result, Err(CheckFailure::Silent(_))) {
                    ran.result = Err(unjudged);
                }
            }
            Err(CheckFailure::NotExercised(reason)) if !ran.was_used => {
                if let Err(CheckFailure::Silent(text)) = &ran.result {
                    let reason = format!("the agent {text}, and this could not be repeated: {reason}");
                    ran.result = not_exercised(reason);
                }
            }
            again => (ran.result, ran.exchange) = (again, exchange),
        }
        ran.duration += started.elapsed();
    }

    /// Runs a check for the first time. Returns whether the check is to be repeated.
    async fn first(&mut self, item: &Item) -> (Attempt, Doubt) {
        let refused = |reason: String| {
            let result = not_exercised(reason);
            (Attempt { result, was_used: false, exchange: None }, Doubt::No)
        };
        if item.setup == Setup::Shared && !self.has_answered && self.silences >= SILENT {
            return refused("the agent answers nothing after `initialize`".to_owned());
        }
        if let Some(reason) = self.common.access().closed.clone().filter(|_| item.setup.needs_session()) {
            return refused(reason);
        }
        let attempt = self.attempt(item, self.common.patience).await;
        let is_silent = matches!(attempt.result, Err(CheckFailure::Silent(_)));
        self.silences += usize::from(is_silent);
        if !is_failure(&attempt.result) || !(attempt.was_used || is_silent) {
            return (attempt, Doubt::No);
        }
        // A check that fails no agent gets no start of its own, because many agents start slowly. In turns, another
        // session is enough; that an agent does not end, in itself, is not an effect of other checks.
        if is_silent || is_required(item.check) {
            (attempt, Doubt::Yes)
        } else if !item.setup.is_shared() {
            (attempt, Doubt::IfDefective)
        } else if item.check.level() == Level::Turns {
            let again = self.attempt(item, self.patience_again()).await;
            (Attempt { was_used: attempt.was_used, ..again }, Doubt::IfDefective)
        } else {
            (attempt, Doubt::Together)
        }
    }

    /// Time limit for a response in a repeated check.
    fn patience_again(&self) -> Duration {
        if self.has_answered { self.common.again } else { self.common.patience }
    }

    async fn attempt(&mut self, item: &Item, patience: Duration) -> Attempt {
        let (setup, talk) = (item.setup, item.talk);
        let failed = |trouble| Attempt { result: Err(trouble), was_used: false, exchange: None };
        if let Some(trouble) = self.common.given_up() {
            return failed(trouble);
        }
        let mut agent = match Box::pin(self.agent(setup, patience)).await {
            Ok(agent) => agent,
            Err(trouble) => {
                self.common.unheard.fetch_add(1, Ordering::Relaxed);
                return failed(trouble);
            }
        };
        let was_used = std::mem::replace(&mut agent.is_used, true);
        agent.client.reset();
        agent.exchange.begin();
        // A report before this check, such as of a search for updates, explains nothing of it.
        let reports = if was_used { unreached(&agent.peer.stderr_so_far()) } else { 0 };
        let began = Instant::now();
        let done = timeout_at(self.common.until(), talk(&mut agent)).await;
        let starved = agent.starved().min(began.elapsed());
        *self.common.starved.lock().unwrap_or_else(PoisonError::into_inner) += starved;
        let result = match done {
            Err(_) => Err(self.common.out_of_time()),
            Ok(Err(CheckFailure::Silent(_))) if Instant::now() >= self.common.until() => Err(self.common.out_of_time()),
            Ok(result) => result.map_err(|trouble| hide(trouble.after(agent.waited), &agent)),
        };
        let result = match result {
            Err(trouble)
                if self.common.lacks_network && trouble.may_be_of_network(item.check.level() >= Level::Turns) =>
            {
                let is_new = unreached(&agent.peer.stderr().await) > reports;
                Err(if is_new {
                    CheckFailure::NotExercised(format!("the agent {}{NOTE}", trouble.into_text()))
                } else {
                    trouble
                })
            }
            other => other,
        };
        self.has_answered |= agent.answered > 0;
        self.common.is_heard.fetch_or(agent.has_started, Ordering::Relaxed);
        self.common.unheard.fetch_add(usize::from(!agent.has_started), Ordering::Relaxed);
        if setup.has_model() {
            self.common.access().learn(&agent.access);
        }
        // Later checks may use an agent that has failed one: if they fail too, they are repeated on their own instance.
        let is_silent = matches!(result, Err(CheckFailure::Silent(_)));
        if is_silent || matches!(result, Err(CheckFailure::Fail(_))) {
            agent.session = None;
            agent.kept.forget();
        }
        let exchange = if is_failure(&result) { agent.exchange() } else { None };
        if !is_silent && !agent.has_ended && setup.is_shared() {
            self.waiting = Some((setup.instance(), agent));
        } else {
            self.end(agent).await;
        }
        Attempt { result, was_used, exchange }
    }

    /// Returns an agent in this state, and starts one if needed.
    async fn agent(&mut self, setup: Setup, patience: Duration) -> Result<StartedAgent, CheckFailure> {
        if let Some((_, agent)) = self.waiting.take_if(|(of, _)| *of == setup.instance()) {
            return Ok(agent);
        }
        self.rest().await;
        let common = self.common;
        if Instant::now() >= common.until() {
            return Err(common.out_of_time());
        }
        let (launch, options) = common.start(setup);
        let mut agent =
            match timeout_at(common.until(), StartedAgent::start(launch, options, setup.offer(), patience)).await {
                Err(_) => return Err(common.out_of_time()),
                Ok(Err(error)) => return Err(not_started(&error.to_string())),
                Ok(Ok(agent)) => agent,
            };
        if setup.has_model() {
            agent.access = common.access().for_next();
            if agent.access.model.is_some() {
                agent.exchange.model();
            }
        }
        if setup.is_silent() { Ok(agent) } else { self.introduced(agent, setup, patience).await }
    }

    /// Sends `initialize` to an agent, and ends the agent if it does not answer as the setup needs it.
    async fn introduced(
        &mut self,
        mut agent: StartedAgent,
        setup: Setup,
        patience: Duration,
    ) -> Result<StartedAgent, CheckFailure> {
        let (common, offer) = (self.common, setup.offer());
        let (_, options) = common.start(setup);
        // The patience already reflects how long the agent took in the handshake.
        let left = common.until().saturating_duration_since(Instant::now());
        let answer = agent.initialize(offer, (patience * STARTS).min(options.timeout).min(left)).await;
        let why = match (answer, &agent.initialized) {
            (Err(_), _) if Instant::now() >= common.until() => Some(common.out_of_time()),
            (Err(silence @ Silence::Starved(_)), _) => Some(silent(silence, "initialize")),
            (Err(silence), _) => {
                let text = silent(silence, "initialize").after(agent.waited).into_text();
                if setup == Setup::Bare {
                    agent.initialized = Err(text);
                    None
                } else {
                    Some(not_started(&format!("it {text}")))
                }
            }
            // With `Bare`, a refusal is judged by the checks.
            (Ok(()), Err(text)) if setup != Setup::Bare => Some(not_started(&format!("it {text}"))),
            (Ok(()), _) => None,
        };
        common.is_heard.fetch_or(agent.has_started, Ordering::Relaxed);
        match why {
            None => Ok(agent),
            Some(trouble) => {
                let trouble = hide(trouble, &agent);
                self.end(agent).await;
                Err(trouble)
            }
        }
    }

    /// Ends the agent that is kept for the next check.
    async fn rest(&mut self) {
        if let Some((_, agent)) = self.waiting.take() {
            self.end(agent).await;
        }
    }

    async fn end(&mut self, agent: StartedAgent) {
        let (heard, left) = agent.end().await;
        self.heard.merge(heard);
        self.left.extend(left);
    }
}

fn not_started(why: &str) -> CheckFailure {
    CheckFailure::NotExercised(format!("the agent could not be started again: {why}"))
}

fn is_failure(result: &Result<(), CheckFailure>) -> bool {
    matches!(result, Err(CheckFailure::Fail(_) | CheckFailure::Silent(_)))
}

fn is_required(check: &Check) -> bool {
    check.force == Force::Must
}

/// Replaces a path that differs between runs with `$SANDBOX`.
fn hide(mut trouble: CheckFailure, agent: &StartedAgent) -> CheckFailure {
    let text = trouble.text();
    *text = text.replace(&*agent.directory().to_string_lossy(), "$SANDBOX");
    trouble
}

/// Parts of the messages of common runtimes about names and networks that cannot be reached, in lower case.
const SIGNS: &[&str] = &[
    "dns error", "eai_again", "enetunreach", "enotfound", "failed to resolve", "getaddrinfo", "name resolution",
    "network is unreachable", "no such host",
];

/// Why a check is not exercised. No text of the agent, because addresses in it can differ between runs.
const NOTE: &str = "; its stderr reports a failed connection to another host, and it has no network";

/// How often the last part of an agent's stderr reports that another host cannot be reached.
fn unreached(stderr: &str) -> usize {
    let stderr = stderr.to_lowercase();
    SIGNS.iter().map(|sign| stderr.matches(sign).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_makes_an_examination_longer_but_not_without_end() {
        let seconds = Duration::from_secs;
        assert_eq!(extension(seconds(10), Duration::ZERO), Duration::ZERO);
        assert_eq!(extension(seconds(10), seconds(8)), seconds(4));
        assert_eq!(extension(seconds(10), seconds(1000)), seconds(50));
    }

    #[test]
    fn messages_of_common_runtimes_are_recognized() {
        for text in [
            "Error: getaddrinfo EAI_AGAIN models.example.com",
            "(Caused by NameResolutionError(\"Failed to resolve 'files.example.com'\"))",
            "socket.gaierror: [Errno -3] Temporary failure in name resolution",
            "error sending request: client error (Connect): dns error: failed to lookup address information",
            "dial tcp: lookup example.com: no such host",
            "connect: Network is unreachable",
        ] {
            assert!(unreached(text) > 0, "{text}");
        }
        for text in ["", "HTTP 500", "connect ECONNREFUSED 127.0.0.1:1", "listening on the network"] {
            assert!(!unreached(text) > 0, "{text}");
        }
    }
}
