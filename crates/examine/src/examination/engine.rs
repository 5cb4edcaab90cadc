//! Runs the checks of a level, as a plan says: divides them into groups, and runs two groups at once.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_host::process::{Home, Isolation, LaunchDirectories, LaunchSpec, Network};
use acp_registry_protocol::handshake::{HandshakeOptions, Outcome, Probe};
use acp_registry_remote::{Endpoint, Wire};
use tokio::join;
use tokio::time::{Instant, timeout_at};

use super::access::{Access, Recipe};
use super::check::{Check, Force, Level, Run, Setup};
use super::checks::CHECKS;
use super::failure::{CheckFailure, not_exercised};
use super::lane::{Common, GroupResult, Item, Lane, Progress, Ran};
use super::messages::OutputViolations;
use super::remote::Remote;
use super::result::{CheckVerdict, Examination, Examined};
use crate::model::Model;

/// Time limit for a response of an agent that starts fast.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many times that an agent gets that starts slowly, at most.
const SLOWEST: u32 = 6;

/// The least factor by which a repeated check waits longer, if the agent has answered other requests.
const AGAIN: u32 = 3;

/// Examines an agent as planned, after the handshake that ended with `outcome`. At most two instances of the agent run at
/// once.
///
/// Takes at most [`ExaminationPlan::limit`], or without it [`LIMIT`], and as many times longer as the agent started more
/// slowly than [`HandshakeOptions::probe`] allows for a response, up to six times; plus the time to end the agent. When the
/// future is dropped, all processes are killed
/// and all files are removed before the drop returns. Requires a tokio runtime with the IO and time drivers.
pub async fn examine(
    launch: &LaunchSpec,
    options: &HandshakeOptions,
    outcome: &Outcome,
    plan: &ExaminationPlan,
    progress: Progress<'_>,
) -> Examination {
    let started = Instant::now();
    let usual = options.probe.unwrap_or(PATIENCE);
    // A machine that slows the start also slows further responses.
    let patience = usual.max(outcome.timing.start_to_response.unwrap_or_default()).min(usual * SLOWEST);
    let limit = plan.limit.unwrap_or_else(|| LIMIT.mul_f64(patience.as_secs_f64() / usual.as_secs_f64()));
    let lacks_network =
        launch.namespace.is_some() || matches!(launch.isolation, Isolation::Bwrap { network: Network::None });
    let access = access(plan, launch).await;
    let with_model = led(launch, options, &plan.recipe, access.model.as_deref());
    let is_planned = |check: &&Check| {
        let is_remote = plan.endpoint.is_some() || !matches!(check.run, Run::Visit(_));
        check.level() <= plan.level && is_remote && (plan.only)(check)
    };
    let checks = || CHECKS.iter().copied().filter(is_planned);
    let common = Common {
        alone: if plan.recipe.handshake { with_model.clone() } else { (launch.clone(), options.clone()) },
        with_model,
        patience,
        again: patience.max(usual * AGAIN),
        limit,
        until: started + limit,
        starved: Mutex::default(),
        lacks_network,
        has_answered: outcome.handshake.probes.iter().any(|(_, probe)| probe != Probe::Timeout),
        access: Mutex::new(access),
        is_heard: AtomicBool::new(false),
        unheard: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        all: checks().count(),
        progress,
    };
    let mut results = match &plan.endpoint {
        // Whatever became of the handshake: what is wrong with the server may explain it.
        Some(endpoint) => visit(&common, options, endpoint, checks()).await,
        None => Vec::new(),
    };
    let mut left = Vec::new();
    if let Some(reason) = obstacle(outcome) {
        let result = || not_exercised(reason.clone());
        let others = checks().filter(|check| !matches!(check.run, Run::Visit(_)));
        results.extend(others.map(|check| judge(check, result(), Duration::ZERO, None)));
    } else {
        let queue = Mutex::new(groups(checks()));
        let (mut done, other) = join!(work(&common, &queue), work(&common, &queue));
        done.extend(other);
        // The order must not depend on which group takes longer.
        done.sort_by_key(|(of, _)| *of);
        let mut heard = OutputViolations::default();
        // The handshake was answered: an agent that then answers nothing lacks what the handshake had.
        let is_unheard = lacks_network && !common.is_heard.load(Ordering::Relaxed);
        for (_, mut group) in done {
            if is_unheard {
                group.checks.iter_mut().for_each(Ran::explain_silence);
            }
            results
                .extend(group.checks.into_iter().map(|ran| judge(ran.check, ran.result, ran.duration, ran.exchange)));
            heard.merge(group.heard);
            left.extend(group.left);
        }
        results.extend(checks().filter_map(|check| {
            let Run::Heard(run) = check.run else { return None };
            let result = if heard.is_any {
                run(&heard)
            } else if Instant::now() >= common.until() {
                Err(common.out_of_time())
            } else {
                not_exercised("the agent could not be started again")
            };
            Some(judge(check, result, Duration::ZERO, None))
        }));
    }
    results.sort_by_key(|examined| (examined.check.level(), examined.check.id));
    let last_made = results.iter().filter(|examined| examined.verdict != CheckVerdict::NotExercised);
    let reached = last_made.map(|examined| examined.check.level()).max();
    let handshake = outcome.handshake.protocol_version.map(|_| Level::Handshake);
    Examination {
        level: plan.level,
        reached: reached.max(handshake),
        has_network: !lacks_network,
        checks: results,
        duration: started.elapsed(),
        left,
    }
}

/// Runs the checks of a server, one after the other.
async fn visit(
    common: &Common<'_>,
    options: &HandshakeOptions,
    endpoint: &Endpoint,
    checks: impl Iterator<Item = &'static Check>,
) -> Vec<Examined> {
    let sandbox = LaunchDirectories::below(&options.temporary, Home::Persons).ok();
    let work = sandbox.as_ref().map_or_else(|| options.temporary.clone(), LaunchDirectories::work);
    let mut remote = Remote::new(Wire::new(endpoint), common.again, work);
    let mut results = Vec::new();
    for check in checks {
        let Run::Visit(run) = check.run else { continue };
        let started = Instant::now();
        let result = timeout_at(common.until(), run(&mut remote)).await.unwrap_or_else(|_| Err(common.out_of_time()));
        let mut examined = judge(check, result, started.elapsed(), None);
        examined.message = examined.message.map(|message| remote.hide(&message));
        results.push(examined);
        remote.close(false).await;
        (common.progress)(common.done.fetch_add(1, Ordering::Relaxed) + 1, common.all);
    }
    remote.close(true).await;
    results
}

/// Why nothing above the handshake can be examined.
fn obstacle(outcome: &Outcome) -> Option<String> {
    match outcome.handshake.protocol_version {
        None => Some("the agent did not answer `initialize`".to_owned()),
        Some(1) => None,
        Some(version) => {
            Some(format!("the agent uses version {version} of the protocol; the check applies to version 1"))
        }
    }
}

/// Checks that share instances, in the order in which they run.
struct CheckGroup {
    setup: Setup,
    level: Level,
    items: Vec<Item>,
}

/// Divides checks into groups. Lower levels are first, so that what the others rest on is known when the time is over; of
/// a level, the groups that take longest. Sessions and turns are groups of their own, although they could share instances,
/// because together they take longer than all the others.
fn groups(checks: impl Iterator<Item = &'static Check>) -> VecDeque<CheckGroup> {
    let mut groups: Vec<CheckGroup> = Vec::new();
    for check in checks {
        let Run::Talk(setup, talk) = check.run else { continue };
        let (of, item) = (setup.instance(), Item { check, setup, talk });
        match groups.iter_mut().find(|group| (group.setup, group.level) == (of, check.level())) {
            Some(group) => group.items.push(item),
            None => groups.push(CheckGroup { setup: of, level: check.level(), items: vec![item] }),
        }
    }
    for group in &mut groups {
        group.items.sort_by_key(|item| item.setup);
    }
    groups.sort_by_key(|group| (group.level, Reverse(group.items.len())));
    groups.into()
}

/// Runs groups until none is left.
async fn work(common: &Common<'_>, queue: &Mutex<VecDeque<CheckGroup>>) -> Vec<((Setup, Level), GroupResult)> {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let mut done = Vec::new();
    while let Some(group) = next() {
        let ran = Box::pin(Lane::new(common).run(&group.items)).await;
        done.push(((group.setup, group.level), ran));
    }
    done
}

fn judge(
    check: &'static Check,
    result: Result<(), CheckFailure>,
    duration: Duration,
    exchange: Option<String>,
) -> Examined {
    let (verdict, message) = match result {
        Ok(()) => (CheckVerdict::Pass, None),
        Err(CheckFailure::NotExercised(reason) | CheckFailure::Unjudged(reason)) => {
            (CheckVerdict::NotExercised, Some(reason))
        }
        Err(CheckFailure::Fail(text) | CheckFailure::Silent(text)) => {
            let verdict = if check.force == Force::Must { CheckVerdict::Fail } else { CheckVerdict::Warning };
            (verdict, Some(format!("the agent {text}")))
        }
    };
    let exchange = exchange.filter(|_| matches!(verdict, CheckVerdict::Fail | CheckVerdict::Warning));
    Examined { check, verdict, message, duration, exchange }
}

/// Starts the model if checks of the plan need it. If that fails, no session is opened, for this reason.
pub(super) async fn access(plan: &ExaminationPlan, launch: &LaunchSpec) -> Access {
    let mut access = Access::new(&plan.recipe);
    if plan.level.has_model() || plan.recipe.handshake {
        match serve(launch).await {
            Ok(model) => access.model = Some(Arc::new(model)),
            Err(error) => access.closed = Some(format!("the scripted model cannot be served: {error}")),
        }
    }
    access
}

/// Serves the model on loopback, where the agent will be.
pub(super) async fn serve(launch: &LaunchSpec) -> io::Result<Model> {
    Model::start(match &launch.namespace {
        Some(namespace) => namespace.listen().await?,
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
    })
}

/// The launch and its options with which the agent reaches the model: by the usual variables, and by its recipe.
pub(super) fn led(
    launch: &LaunchSpec,
    options: &HandshakeOptions,
    recipe: &Recipe,
    model: Option<&Model>,
) -> (LaunchSpec, HandshakeOptions) {
    let (mut launch, mut options) = (launch.clone(), options.clone());
    let Some(model) = model else { return (launch, options) };
    let recipe = recipe.with_model(&format!("http://{}", model.address()));
    for (name, value) in model.variables().into_iter().chain(recipe.env) {
        launch.environment.set(name, value);
    }
    launch.arguments.extend(recipe.args.into_iter().map(Into::into));
    options.files.extend(recipe.files);
    (launch, options)
}

/// Time limit of the examination of an agent that starts fast.
pub const LIMIT: Duration = Duration::from_mins(4);

/// The checks to run, and how the agent is prepared for them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExaminationPlan {
    /// The highest level whose checks run.
    pub level: Level,
    /// Time limit of the examination; `None` for one that grows with the agent's handshake.
    pub limit: Option<Duration>,
    /// How this agent reaches the scripted model.
    pub recipe: Recipe,
    /// Where the agent is, if it is not started by a command: its server is examined, too.
    pub endpoint: Option<Endpoint>,
    /// Further restricts the checks: those that it returns `false` for do not run, and have no result.
    pub only: fn(&Check) -> bool,
}

impl ExaminationPlan {
    /// All checks up to a level, for an agent that needs no recipe.
    pub fn up_to(level: Level) -> Self {
        Self { level, limit: None, recipe: Recipe::default(), endpoint: None, only: |_| true }
    }
}
