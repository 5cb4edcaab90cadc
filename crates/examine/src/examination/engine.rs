//! Runs the checks of a level: starts agents as the checks need them, within time limits.

use std::time::Duration;

use acp_registry_core::sys::process::{Isolation, Launch, Network};
use acp_registry_protocol::handshake::{Options, Outcome};
use tokio::time::{Instant, timeout_at};

use super::agent::{Agent, Trouble, silent};
use super::check::{Check, Force, Run, Setup, Talk};
use super::checks::CHECKS;
use super::level::Level;
use super::messages::Heard;
use super::plan::Plan;
use super::result::{Examination, Examined, Verdict};
use super::scripted;
use super::session::Access;

/// Time limit for a response of an agent that starts fast.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many times that an agent gets that starts slowly, at most.
const SLOWEST: u32 = 6;

/// The least factor by which a repeated check waits longer, if the agent has answered other requests.
const AGAIN: u32 = 3;

/// Time limit for the response of a restarted agent to `initialize`, as a multiple of the patience.
const STARTS: u32 = 3;

/// Number of checks without a response after which an agent that has answered nothing after `initialize` is given up.
const SILENT: usize = 2;

/// Examines an agent as planned, after the handshake that ended with `outcome`.
///
/// Takes at most [`Plan::limit`], plus the time to end one agent. When the future is dropped, all processes are killed
/// and all files are removed before the drop returns. Requires a tokio runtime with the IO and time drivers.
pub async fn examine(launch: &Launch, options: &Options, outcome: &Outcome, plan: &Plan) -> Examination {
    let started = Instant::now();
    let usual = options.probe.unwrap_or(PATIENCE);
    // A machine that slows the start also slows further responses.
    let patience = usual.max(outcome.timing.start_to_response.unwrap_or_default()).min(usual * SLOWEST);
    let access = scripted::access(plan, launch).await;
    let mut engine = Engine {
        alone: (launch.clone(), options.clone()),
        with_model: scripted::led(launch, options, &plan.recipe, access.model.as_deref()),
        patience,
        again: patience.max(usual * AGAIN),
        limit: plan.limit,
        until: started + plan.limit,
        access,
        waiting: None,
        heard: Heard::default(),
        left: Vec::new(),
        has_answered: false,
        silences: 0,
    };
    let mut checks: Vec<&'static Check> =
        CHECKS.iter().copied().filter(|check| check.level <= plan.level && (plan.only)(check)).collect();
    // Checks that share an instance run in succession; those that judge the output of all instances run last.
    checks.sort_by_key(|check| if let Run::Talk(setup, _) = check.run { (false, Some(setup)) } else { (true, None) });
    let obstacle = obstacle(outcome);
    let mut results = Vec::with_capacity(checks.len());
    for check in checks {
        let started = Instant::now();
        let result = match &obstacle {
            Some(reason) => Err(Trouble::NotExercised(reason.clone())),
            None => engine.result(check).await,
        };
        results.push(judge(check, result, started.elapsed()));
    }
    engine.rest().await;
    results.sort_by_key(|examined| (examined.check.level, examined.check.id));
    let last_made = results.iter().filter(|examined| examined.verdict != Verdict::NotExercised);
    let reached = last_made.map(|examined| examined.check.level).max();
    let handshake = outcome.handshake.protocol_version.map(|_| Level::Handshake);
    Examination {
        level: plan.level,
        reached: reached.max(handshake),
        has_network: launch.namespace.is_none()
            && !matches!(launch.isolation, Isolation::Bwrap { network: Network::None }),
        checks: results,
        duration: started.elapsed(),
        left: engine.left,
    }
}

/// Why nothing above the handshake can be examined.
fn obstacle(outcome: &Outcome) -> Option<String> {
    match outcome.handshake.protocol_version {
        None => Some("needs the level `handshake`: the agent did not answer `initialize`".to_owned()),
        Some(1) => None,
        Some(version) => {
            Some(format!("the agent uses version {version} of the protocol; the check applies to version 1"))
        }
    }
}

fn judge(check: &'static Check, result: Result<(), Trouble>, duration: Duration) -> Examined {
    let (verdict, message) = match result {
        Ok(()) => (Verdict::Pass, None),
        Err(Trouble::NotExercised(reason)) => (Verdict::NotExercised, Some(reason)),
        Err(Trouble::Fail(text) | Trouble::Silent(text)) => {
            let verdict = if check.force == Force::Must { Verdict::Fail } else { Verdict::Warning };
            (verdict, Some(format!("the agent {text}")))
        }
    };
    Examined { check, verdict, message, duration }
}

/// State of a running examination.
struct Engine {
    /// How the agent is started for the checks of the level `protocol`.
    alone: (Launch, Options),
    /// How it is started for the checks that need the scripted model.
    with_model: (Launch, Options),
    patience: Duration,
    /// Time limit for a response in a repeated check, if the agent has answered other requests.
    again: Duration,
    limit: Duration,
    until: Instant,
    /// How the agent opens sessions, as far as it is known.
    access: Access,
    /// An agent that no check has failed on, and how it was set up.
    waiting: Option<(Setup, Agent)>,
    heard: Heard,
    left: Vec<String>,
    has_answered: bool,
    silences: usize,
}

/// The result of one attempt, and whether another check had used the agent before.
struct Attempt {
    result: Result<(), Trouble>,
    was_used: bool,
}

impl Engine {
    async fn result(&mut self, check: &Check) -> Result<(), Trouble> {
        let (setup, talk) = match check.run {
            Run::Talk(setup, talk) => (setup, talk),
            Run::Heard(judge) => {
                self.rest().await;
                let nothing = || Trouble::NotExercised("the agent could not be started again".to_owned());
                return if self.heard.is_any { judge(&self.heard) } else { Err(nothing()) };
            }
        };
        if setup == Setup::Shared && !self.has_answered && self.silences >= SILENT {
            return Err(Trouble::NotExercised("the agent answers nothing after `initialize`".to_owned()));
        }
        if let Some(reason) = self.access.closed.as_ref().filter(|_| setup.needs_session()) {
            return Err(Trouble::NotExercised(reason.clone()));
        }
        let first = self.attempt(setup, talk, self.patience).await;
        let is_silent = matches!(first.result, Err(Trouble::Silent(_)));
        let is_failure = is_silent || matches!(first.result, Err(Trouble::Fail(_)));
        // Repeated, because the effects of other checks or a busy machine may have caused the failure.
        let patience = if self.has_answered { self.again } else { self.patience };
        let may_differ = first.was_used || (is_silent && patience > self.patience);
        let result = if is_failure && may_differ {
            // A turn that fails no agent is repeated in another session only, because many agents start slowly.
            let in_place = check.level == Level::Turns && !is_silent && check.force != Force::Must;
            if !in_place {
                self.rest().await;
            }
            match self.attempt(setup, talk, patience).await.result {
                // If the repetition could not run, the first result counts, unless the agent was shared.
                Err(Trouble::NotExercised(_)) if !first.was_used => first.result,
                again => again,
            }
        } else {
            first.result
        };
        self.silences += usize::from(matches!(result, Err(Trouble::Silent(_))));
        result
    }

    async fn attempt(&mut self, setup: Setup, talk: Talk, patience: Duration) -> Attempt {
        let mut agent = match self.agent(setup, patience).await {
            Ok(agent) => agent,
            Err(trouble) => return Attempt { result: Err(trouble), was_used: false },
        };
        let was_used = std::mem::replace(&mut agent.is_used, true);
        agent.client.reset();
        let done = timeout_at(self.until, talk(&mut agent)).await;
        let result = match done {
            Err(_) => Err(self.out_of_time()),
            Ok(Err(Trouble::Silent(_))) if Instant::now() >= self.until => Err(self.out_of_time()),
            Ok(result) => result.map_err(|trouble| hide(trouble, &agent)),
        };
        self.has_answered |= agent.answered > 0;
        if setup.has_model() {
            self.access = agent.access.clone();
        }
        // Later checks may use an agent that has failed one: if they fail too, they are repeated on their own instance.
        let is_silent = matches!(result, Err(Trouble::Silent(_)));
        if result.is_err() {
            // The session may be unusable.
            agent.session = None;
        }
        if !is_silent && !agent.has_ended && setup.is_shared() {
            self.waiting = Some((setup, agent));
        } else {
            self.end(agent).await;
        }
        Attempt { result, was_used }
    }

    /// Returns an agent in this state, and starts one if needed.
    async fn agent(&mut self, setup: Setup, patience: Duration) -> Result<Agent, Trouble> {
        let wanted = if setup == Setup::Ending { Setup::Shared } else { setup };
        if let Some((_, agent)) = self.waiting.take_if(|(of, _)| *of == wanted) {
            return Ok(agent);
        }
        self.rest().await;
        if Instant::now() >= self.until {
            return Err(self.out_of_time());
        }
        let again = |why: &str| Trouble::NotExercised(format!("the agent could not be started again: {why}"));
        let offer = setup.offer();
        let (launch, options) = if setup.has_model() { &self.with_model } else { &self.alone };
        let mut agent = match timeout_at(self.until, Agent::start(launch, options, offer, patience)).await {
            Err(_) => return Err(self.out_of_time()),
            Ok(Err(error)) => return Err(again(&error.to_string())),
            Ok(Ok(agent)) => agent,
        };
        if setup.has_model() {
            agent.access = self.access.for_next();
        }
        if setup.is_silent() {
            return Ok(agent);
        }
        // The patience already reflects how long the agent took in the handshake.
        let limit = (patience * STARTS).min(options.timeout).min(self.until.saturating_duration_since(Instant::now()));
        let answer = agent.initialize(offer, limit).await;
        let why = match (answer, &agent.initialized) {
            (Err(_), _) if Instant::now() >= self.until => Some(self.out_of_time()),
            (Err(silence), _) => {
                let text = silent(silence, "initialize").into_text();
                if setup == Setup::Bare {
                    agent.initialized = Err(text);
                    None
                } else {
                    Some(again(&format!("it {text}")))
                }
            }
            // With `Bare`, a refusal is judged by the checks.
            (Ok(()), Err(text)) if setup != Setup::Bare => Some(again(&format!("it {text}"))),
            (Ok(()), _) => None,
        };
        match why {
            None => Ok(agent),
            Some(trouble) => {
                let trouble = hide(trouble, &agent);
                self.end(agent).await;
                Err(trouble)
            }
        }
    }

    fn out_of_time(&self) -> Trouble {
        Trouble::NotExercised(format!("the examination exceeded its time limit of {} s", self.limit.as_secs()))
    }

    /// Ends the agent that is kept for the next check.
    async fn rest(&mut self) {
        if let Some((_, agent)) = self.waiting.take() {
            self.end(agent).await;
        }
    }

    async fn end(&mut self, agent: Agent) {
        let (heard, left) = agent.end().await;
        self.heard.merge(heard);
        self.left.extend(left);
    }
}

/// Replaces a path that differs between runs with `$SANDBOX`.
fn hide(trouble: Trouble, agent: &Agent) -> Trouble {
    let path = agent.directory().to_string_lossy();
    let hide = |text: String| text.replace(&*path, "$SANDBOX");
    match trouble {
        Trouble::Fail(text) => Trouble::Fail(hide(text)),
        Trouble::Silent(text) => Trouble::Silent(hide(text)),
        Trouble::NotExercised(text) => Trouble::NotExercised(hide(text)),
    }
}
