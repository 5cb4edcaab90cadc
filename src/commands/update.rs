//! `acp-registry update`

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use acp_registry::host::process::Orphans;
use acp_registry::http::Client;
use acp_registry::index::{Index, Missing};
use acp_registry::manifest::AgentId;
use acp_registry::resolve::{Offer, Plan};
use acp_registry::session::{self, AgentSpec, InstallRequest};
use acp_registry::sources::Sources;
use acp_registry::store::{StoredAgent, Version};
use acp_registry::text::quote;
use acp_registry::timestamp::Timestamp;
use acp_registry::update::{UpdateStatus, compare, published};

use crate::commands::doctor::repair::{Need, repair};
use crate::commands::install::{answer, install_all, install_one};
use crate::commands::leftovers;
use crate::commands::list::agents;
use crate::commands::resolve::launch;
use crate::documents::{self, Document, HeldUpdate, IndexOrigin, Launch, Pinned, UpdateReport};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::network::{Needs, connect, host};
use crate::flags::session::{CommandSession, PackageArgs, SessionArgs};
use crate::flags::{candidates, duration};
use crate::terminal::progress::Installs;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Code, Exit, Failure};

/// The most agents that are updated at once.
const JOBS: usize = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents [default: all that are installed]
    #[arg(value_name = "ID", add = candidates::installed())]
    pub(crate) agents: Vec<AgentSpec>,

    /// Change nothing; exit 1 if there are updates
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Skip versions younger than this, such as `3d`
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) min_age: Option<Duration>,

    /// Update agents installed as ID@VERSION, too
    #[arg(long)]
    pub(crate) unpin: bool,

    /// Do not start the agents to see if they answer
    #[arg(long)]
    pub(crate) no_check: bool,

    #[command(flatten)]
    pub(crate) packages: PackageArgs,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The results for all agents.
#[derive(Default)]
struct UpdateResults {
    updates: Vec<AppliedUpdate>,
    held: Vec<HeldUpdate>,
    pinned: Vec<Pinned>,
    up_to_date: Vec<AgentId>,
    /// Agents without an update that need a repair.
    repairs: Vec<(Version, Need)>,
    /// Agents whose version the index starts in another way than before.
    changed: Vec<Plan>,
    repaired: Vec<(AgentId, Need)>,
    gone: Vec<AgentId>,
    errors: Vec<(AgentId, Failure)>,
    /// The index, if one was needed.
    index: Option<IndexOrigin>,
}

struct AppliedUpdate {
    id: AgentId,
    from: String,
    plan: Plan,
    applied: Option<Launch>,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    if let Some(named) = args.agents.iter().find(|named| named.version.is_some()) {
        let message =
            format!("`update` moves to the version in the index, and {} names another", quote(&named.to_string()));
        return Err(Failure::usage(message).help(format!("run `acp-registry install {named}`")));
    }
    let ids: Vec<String> = args.agents.iter().map(|named| named.id.clone()).collect();
    let allowed = global.allowed_hosts()?;
    let session = CommandSession::with_packages(&args.place, args.packages, allowed.clone(), ui)?;
    let (mut installed, damaged) = chosen(&ids, &session)?;
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree.
    let orphans = if args.dry_run || args.no_check { None } else { leftovers::adopt(ui) };
    let report = signals::run_with_threads(ui, JOBS, async {
        if args.unpin {
            for agent in installed.iter_mut().filter(|agent| agent.is_pinned) {
                if !args.dry_run {
                    session.store.unpin(&agent.id, &|holder| session.waiting(holder)).await?;
                }
                agent.is_pinned = false;
            }
        }
        if installed.is_empty() && damaged.is_empty() {
            // No agent is left to compare, so that the index is not fetched.
            let index = session.index_at_hand().map(|index| IndexOrigin::of(&index));
            return Ok(UpdateResults { index, ..UpdateResults::default() });
        }
        let ids: Vec<&str> = installed.iter().map(|agent| &*agent.id).collect();
        let index = session.load_entries(&ids).await?;
        let mut report = sort(&installed, &index, &session);
        report.errors.extend(damaged);
        if let Some(age) = args.min_age {
            let network = if session.options().is_offline {
                None
            } else {
                let (client, sources, _) = connect(&allowed, needs(&report), true, ui)?;
                Some((client, sources))
            };
            hold(&mut report, age, network.as_ref()).await;
        }
        if !args.dry_run {
            apply(&mut report, !args.no_check, &session).await;
        }
        Ok::<_, Failure>(report)
    });
    // How many processes had detached from their tree is not reported here.
    let _ = orphans.map(Orphans::end);
    let report = report??;
    show(&report, args, ui)
}

/// The agents to update, and the failures of those that cannot be read.
fn chosen(
    ids: &[String],
    session: &CommandSession<'_>,
) -> Result<(Vec<StoredAgent>, BTreeMap<AgentId, Failure>), Failure> {
    let (mut installed, mut damaged) = agents(&session.store)?;
    if ids.is_empty() {
        return Ok((installed.into_values().collect(), damaged));
    }
    damaged.retain(|id, _| ids.iter().any(|named| **id == **named));
    if let Some(id) = ids.iter().find(|id| !installed.contains_key(id.as_str()) && !damaged.contains_key(id.as_str())) {
        return Err(session.not_installed(id));
    }
    // An agent that is named twice is meant once.
    let chosen = ids.iter().filter_map(|id| installed.remove(id.as_str()));
    Ok((chosen.collect(), damaged))
}

/// Compares every agent with the index. The failure of one does not stop the others.
fn sort(installed: &[StoredAgent], index: &Index, session: &CommandSession<'_>) -> UpdateResults {
    let mut report = UpdateResults { index: Some(IndexOrigin::of(index)), ..UpdateResults::default() };
    let host = host();
    for agent in installed {
        let (id, from) = (agent.id.clone(), agent.current.receipt.version.clone());
        if let Err(error) = session.store.refuse_foreign_agent(&id) {
            report.errors.push((id, error.into()));
            continue;
        }
        let entry = match index.agent(&id) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                report.repairs.extend(needed(agent));
                match Missing::of(&id, index) {
                    Missing::UnknownAgent { .. } => report.gone.push(id),
                    unusable @ Missing::UnusableEntry(_) => {
                        report.errors.push((id, session::Error::from(unusable).into()));
                    }
                }
                continue;
            }
            Err(error) => {
                report.errors.push((id, error.into()));
                continue;
            }
        };
        let offers = Offer::from_agent(&entry, index.sha256());
        if agent.is_pinned {
            report.pinned.push(Pinned { id, version: from, available: entry.version.clone() });
            report.repairs.extend(needed(agent));
            continue;
        }
        match compare(agent, &offers, session.platform(), &host) {
            Err(error) => report.errors.push((id, error.into())),
            Ok(UpdateStatus::UpToDate(plan)) => match session.store.refuse_changed(&plan) {
                Err(error) => report.errors.push((id, error.into())),
                Ok(()) => match needed(agent) {
                    Some(repair) => report.repairs.push(repair),
                    // Another directory has other bytes, such as those of a lock file.
                    None if plan.folder() == agent.current.folder() && agent.current.receipt.clone().follow(&plan) => {
                        report.changed.push(*plan);
                    }
                    None => report.up_to_date.push(id),
                },
            },
            Ok(UpdateStatus::Newer(plan) | UpdateStatus::Other(plan)) => {
                report.updates.push(AppliedUpdate { id, from, plan: *plan, applied: None });
            }
        }
    }
    report
}

/// The version that needs a repair, and which, for an agent that is not updated.
fn needed(agent: &StoredAgent) -> Option<(Version, Need)> {
    Some((agent.current.clone(), Need::at_a_glance(&agent.current)?))
}

fn needs(report: &UpdateResults) -> Needs {
    use acp_registry::install::Kind;

    let has = |kind| report.updates.iter().any(|update| update.plan.kind() == kind);
    Needs { npm: has(Kind::Npx), pypi: has(Kind::Uvx) }
}

/// Holds back updates that are too young, or whose release date is unknown, as all are without a network.
async fn hold(report: &mut UpdateResults, age: Duration, network: Option<&(Client, Sources)>) {
    for update in std::mem::take(&mut report.updates) {
        let time = match network {
            Some((client, sources)) => published(&update.plan, client, sources).await,
            None => None,
        };
        let until = time.and_then(|time| time.checked_add(age));
        if until.is_some_and(|until| until <= SystemTime::now()) {
            report.updates.push(update);
            continue;
        }
        let time = until.and_then(Timestamp::of).map(|time| time.to_string());
        report.held.push(HeldUpdate {
            id: update.id,
            from: update.from,
            to: update.plan.version,
            reason: if time.is_some() { "min-age" } else { "unknown-age" },
            until: time,
            message: None,
        });
    }
}

async fn apply(report: &mut UpdateResults, is_checked: bool, session: &CommandSession<'_>) {
    let tasks = report.updates.iter().map(|update| InstallRequest::new(update.plan.clone())).collect();
    let outcomes = install_all(session, tasks).await;
    for (update, outcome) in std::mem::take(&mut report.updates).into_iter().zip(outcomes) {
        let mut installed = outcome.done;
        if is_checked && let Ok(done) = &mut installed {
            let asked = answer::ask(done, session).await;
            installed = asked.and(installed);
        }
        match installed.and_then(|done| launch::installed(&done.version, session)) {
            Ok(launch) => report.updates.push(AppliedUpdate { applied: Some(launch), ..update }),
            Err(failure) if failure.kind() == Code::HeldByCooldown => report.held.push(HeldUpdate {
                id: update.id,
                from: update.from,
                to: update.plan.version,
                reason: "cooldown",
                until: failure.until(),
                message: Some(failure.reason().to_owned()),
            }),
            Err(failure) => report.errors.push((update.id, failure)),
        }
    }
    let bars = Installs::new(session.ui());
    for plan in std::mem::take(&mut report.changed) {
        let id = plan.id.clone();
        match install_one(session, &InstallRequest::new(plan), &bars).await {
            Ok(_) => report.repaired.push((id, Need::Arguments)),
            Err(failure) => report.errors.push((id, failure)),
        }
    }
    for (version, need) in std::mem::take(&mut report.repairs) {
        let id = version.receipt.id.clone();
        match repair(&version, need, session, &bars).await {
            Ok(()) => report.repaired.push((id, need)),
            Err(failure) => report.errors.push((id, failure)),
        }
    }
}

fn show(report: &UpdateResults, args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let failures: Vec<_> = report.errors.iter().map(|(id, failure)| (id.as_str(), failure)).collect();
    ui.failures_by_id(&failures);
    let worst = Failure::worst(report.errors.iter().map(|(_, failure)| failure));
    if args.format.is_json() {
        let document = Document::new("update", members(report)).failed(worst.cloned());
        ui.document(&document)?;
    } else {
        let look = ui.look();
        ui.result(&text(report).lines().map(|line| look.wrap(line, 4)).collect::<String>())?;
    }
    Ok(match worst {
        Some(failure) => failure.exit(),
        None if args.dry_run && !report.updates.is_empty() => Exit::Findings,
        None => Exit::Success,
    })
}

fn members(report: &UpdateResults) -> UpdateReport<'_> {
    let updates = report.updates.iter().map(|update| documents::Update {
        id: &update.id,
        from: &update.from,
        to: &update.plan.version,
        distribution: update.plan.kind().as_str(),
        applied: update.applied.is_some(),
        installed: update.applied.as_ref(),
    });
    let repairs = report.repairs.iter().map(|(version, _)| &version.receipt.id);
    UpdateReport {
        updates: updates.collect(),
        repairs: repairs.chain(report.changed.iter().map(|plan| &plan.id)).map(AgentId::as_str).collect(),
        held: &report.held,
        pinned: &report.pinned,
        repaired: report.repaired.iter().map(|(id, _)| id.as_str()).collect(),
        up_to_date: &report.up_to_date,
        gone: &report.gone,
        errors: report.errors.iter().map(|(id, failure)| failure.for_agent(id)).collect(),
        index: report.index.as_ref(),
    }
}

fn text(report: &UpdateResults) -> String {
    let mut text = String::new();
    for AppliedUpdate { id, from, plan, applied } in &report.updates {
        let verb = if applied.is_some() { "updated" } else { "update" };
        text.push_str(&format!("{verb} {id} {from} -> {}\n", plan.version));
    }
    for (id, need) in &report.repaired {
        text.push_str(&format!("repaired {id}: {}\n", need.why()));
    }
    for (version, need) in &report.repairs {
        text.push_str(&format!("would repair {}: {}\n", version.receipt.id, need.why()));
    }
    for plan in &report.changed {
        text.push_str(&format!("would repair {}: {}\n", plan.id, Need::Arguments.why()));
    }
    for HeldUpdate { id, from, to, until, message, .. } in &report.held {
        let why = match (message, until) {
            (Some(message), _) => format!(": {message}"),
            (None, Some(time)) => format!(" (until {time})"),
            (None, None) => " (its age is unknown)".to_owned(),
        };
        text.push_str(&format!("held {id} {from} -> {to}{why}\n"));
    }
    for Pinned { id, version, available } in &report.pinned {
        text.push_str(&format!("pinned {id} {version} (the index has {available})\n"));
    }
    for id in &report.gone {
        text.push_str(&format!("gone {id}: it is not in the index any more\n"));
    }
    if report.updates.is_empty() && report.held.is_empty() && report.errors.is_empty() {
        let is_all = report.pinned.is_empty() && report.gone.is_empty() && report.repaired.is_empty();
        let is_all = is_all && report.repairs.is_empty() && report.changed.is_empty();
        text.push_str(match (is_all, report.up_to_date.is_empty()) {
            (true, true) => "no agents are installed\n",
            (true, false) => "everything is up to date\n",
            (false, _) => "nothing else is to be updated\n",
        });
    }
    text
}
