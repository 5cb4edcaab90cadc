//! Turns the agents of a registry into tasks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use acp_registry_client::install::{InstallFailure, Kind, Source};
use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_examine::examination::Demand;
use acp_registry_plan::closure::PublishedClosure;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{Channel, PackageKind, Platform, Release};
use acp_registry_plan::text::{escape, quote};
use acp_registry_plan::timestamp::{Timestamp, today};
use serde_json::Value;
use time::Date;

use super::{EarlierExamination, QuarantinedAgent, Snapshot, Task, TaskKind, WhenHeld};
use crate::advisories::Advisories;

/// Selects tasks.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids of agents; `None` for all.
    pub ids: Option<BTreeSet<String>>,
    /// What to do with agents in quarantine.
    pub held: WhenHeld,
    /// Kinds of distributions; if empty, all.
    pub kinds: Vec<Kind>,
    /// The shard; `None` for all tasks.
    pub shard: Option<Shard>,
    /// The platform of this machine.
    pub platform: Option<Platform>,
    /// New closures of stable versions, which the registry does not have yet.
    pub closures: NewClosures,
}

/// New closures, by agent and kind of package.
pub type NewClosures = BTreeMap<(String, PackageKind), PublishedClosure>;

impl Selection {
    /// The selection of a run that began on the day before; `None` if it was the same.
    pub(super) fn for_previous_day(&self) -> Option<Self> {
        let WhenHeld::CheckWhenOver(today) = self.held else { return None };
        Some(Self { held: WhenHeld::CheckWhenOver(today.previous_day()?), ..self.clone() })
    }
}

/// One of `count` parts of all tasks, which take about the same time: `index` of `count`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// A text that is not of the form `I/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be I/N, with I from 1 to N")]
pub struct ShardError;

impl Shard {
    /// The number of parts.
    pub fn count(self) -> usize {
        self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (index, count) = text.split_once('/').ok_or(ShardError)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| ShardError);
        let (index, count) = (number(index)?, number(count)?);
        if index == 0 || index > count { Err(ShardError) } else { Ok(Self { index, count }) }
    }
}

/// An earlier snapshot, and which of its rows may be reused.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// Rows checked before this time are not reused.
    pub not_before: SystemTime,
    /// The current time; rows from the future are not reused.
    pub now: SystemTime,
    /// How far agents are examined; rows that went less far are not reused.
    pub demand: &'a Demand,
}

impl<'a> Earlier<'a> {
    /// The row of a task that passed, if it is based on the same distribution and checks, and neither too old nor from
    /// the future. If an examination is requested, the row must have one that went as far.
    fn passed(self, task: &Task) -> Option<&'a Value> {
        let Self { snapshot, not_before, now, demand } = self;
        let row = snapshot.latest(&task.id, task.channel, Some(task.kind?))?;
        let at: SystemTime = row["checked_at"].as_str()?.parse::<Timestamp>().ok()?.into();
        let is_recent = at >= not_before && at <= now;
        let is_same = row["version"] == task.version && row["basis"].as_str() == Some(task.basis.as_deref()?);
        // A verdict without the answer it is based on is not reused.
        let is_whole =
            row["protocol_version"].is_i64() && row["features"].is_object() && row["auth_methods"].is_array();
        let is_examined = || {
            let examined = EarlierExamination::of(row).filter(|examined| examined.version == task.version);
            !demand.is_any() || examined.is_some_and(|examined| examined.satisfies(demand, not_before, now))
        };
        (row["verdict"] == "pass" && is_recent && is_same && is_whole && is_examined()).then_some(row)
    }
}

/// Lists the tasks, sorted by id, channel and kind. Shards are divided by the durations in `measured`, and without them by
/// number: all machines must be given the same ones. An agent that passed earlier is not checked again if the
/// distribution and the checks are unchanged and the row is recent.
pub fn plan(
    registry: &Registry,
    selection: &Selection,
    measured: Option<&Snapshot>,
    earlier: Option<Earlier<'_>>,
) -> Vec<Task> {
    let is_selected = |entry: &&AgentFolder| selection.ids.as_ref().is_none_or(|ids| ids.contains(&entry.id));
    let entries = registry.entries.iter().filter(is_selected);
    let mut tasks: Vec<Task> = entries.flat_map(|entry| entry_tasks(registry, entry, selection)).collect();
    if let Some(shard) = selection.shard {
        let mut shard_of = divide(&tasks, shard.count, measured).into_iter();
        tasks.retain(|_| shard_of.next() == Some(shard.index - 1));
    }
    for task in &mut tasks {
        // Agents in quarantine are always checked, to find out whether they work again.
        if let (TaskKind::Check(_), None, Some(earlier)) = (&task.work, &task.held, earlier)
            && let Some(row) = earlier.passed(task)
        {
            task.work = TaskKind::Reuse(row.clone());
        }
    }
    tasks
}

/// The reason, as named in reports, why agents are not started that need a package that an advisory calls malicious.
pub const MALICIOUS: &str = "malicious";

/// Makes those tasks fail, without installing anything, whose packages an advisory calls malicious.
pub fn refuse_malicious(tasks: &mut [Task], registry: &Registry, advisories: &Advisories) {
    for entry in &registry.entries {
        let Some(manifest) = entry.manifest.present() else { continue };
        let found = advisories.malicious(registry, &entry.id, manifest);
        if found.is_empty() {
            continue;
        }
        let is_started = |task: &Task| matches!(task.work, TaskKind::Check(_) | TaskKind::Reuse(_));
        for task in tasks.iter_mut().filter(|task| task.id == entry.id && is_started(task)) {
            let kind = task.kind.map(Kind::as_str);
            let about = found.iter().find(|one| one.channel == task.channel && Some(one.kind.as_str()) == kind);
            if let Some(package) = about {
                let remedy = Some("bring the agent to a version without it, or withdraw it in `registry.toml`");
                task.work = TaskKind::Broken { reason: MALICIOUS, message: package.message(), remedy };
            }
        }
    }
}

fn entry_tasks(registry: &Registry, entry: &AgentFolder, selection: &Selection) -> Vec<Task> {
    let Loaded::Present(manifest) = &entry.manifest else {
        let problem = entry.manifest.problem().unwrap_or_default();
        let message = format!("{}/agent.json{problem}", escape(&entry.id));
        let work = TaskKind::Broken { reason: "manifest", message, remedy: None };
        let (id, version) = (entry.id.clone(), String::new());
        let channel = Channel::Stable;
        return vec![Task { id, version, channel, kind: None, held: None, work, closure: None, basis: None }];
    };
    let quarantine = registry.quarantine.present().and_then(|quarantine| quarantine.holds.get(&entry.id));
    let held = quarantine.map(|hold| QuarantinedAgent::new(&entry.id, hold, selection.held));
    // One that cannot be used is not published, so that clients do without.
    let kept: Vec<_> = registry.closures(&entry.id, manifest).collect();
    let closure = |kind: Option<Kind>| {
        let kind = match kind? {
            Kind::Npx => PackageKind::Npx,
            Kind::Uvx => PackageKind::Uvx,
            Kind::Binary => return None,
        };
        let new = selection.closures.get(&(entry.id.clone(), kind));
        let kept = || kept.iter().find(|(known, _)| *known == kind)?.1.as_ref().ok();
        new.or_else(kept).cloned()
    };
    let mut tasks = Vec::new();
    for release in manifest.agent().releases() {
        let task = |kind: Option<Kind>, work: TaskKind| {
            let closure = if release.channel == Channel::Stable { closure(kind) } else { None };
            Task {
                id: entry.id.clone(),
                version: release.version.to_owned(),
                channel: release.channel,
                kind,
                held: held.clone(),
                basis: if let TaskKind::Check(source) = &work { Some(basis(source, closure.as_ref())) } else { None },
                closure,
                work,
            }
        };
        if let Some(held) = held.as_ref().filter(|held| !held.is_checked()) {
            let until = held.hold.until.map_or_else(String::new, |until| format!(" until {until}"));
            let message = format!("in quarantine{until}: {}", quote(&held.hold.reason));
            tasks.push(task(None, TaskKind::Skip { reason: "quarantined", message }));
            continue;
        }
        let declared = release_tasks(release, selection);
        if declared.is_empty() && selection.kinds.is_empty() {
            let message = "the manifest declares no known distribution".to_owned();
            tasks.push(task(None, TaskKind::Broken { reason: "install_failed", message, remedy: None }));
        }
        tasks.extend(declared.into_iter().map(|(kind, work)| task(Some(kind), work)));
    }
    tasks
}

fn release_tasks(release: Release<'_>, selection: &Selection) -> Vec<(Kind, TaskKind)> {
    let is_wanted = |kind: &Kind| selection.kinds.is_empty() || selection.kinds.contains(kind);
    let work = |kind: Kind| match kind.source(release.distribution, selection.platform) {
        Ok(source) => source.map(TaskKind::Check),
        Err(error) => {
            Some(TaskKind::Skip { reason: InstallFailure::UnsupportedPlatform.as_str(), message: error.to_string() })
        }
    };
    Kind::ALL.into_iter().filter(is_wanted).filter_map(|kind| Some((kind, work(kind)?))).collect()
}

/// Version of the checks. Increase it when a change to this program can change a verdict.
const CHECKS: u32 = 2;

/// A digest of everything that affects a verdict: package or archive, digest, command, arguments, variables, the closure of a
/// package and [`CHECKS`].
///
/// It hashes the `Debug` output, which includes all fields, even those added later. If that output changes, agents are
/// only checked once more than needed.
pub(super) fn basis(source: &Source, closure: Option<&PublishedClosure>) -> String {
    let packages = closure.map_or("", |closure| closure.packages.as_str());
    Sha256::of(format!("{CHECKS} {source:?}{packages}")).to_string()
}

/// Maximum duration of a task. An agent can forge the durations that its machine writes; this bounds its effect on the
/// others.
const LONGEST: Duration = Duration::from_hours(1);

/// The shard of each task, counted from 0, according to the durations in `measured`. If it has none, all shards get
/// nearly the same number of tasks.
///
/// The result depends on nothing but the arguments, so that all machines compute the same one. Time is no part of it,
/// although it decides which rows are reused: tasks are assigned in the order in which their rows expire, each to the
/// shard with the least work so far. So what is left to do is divided evenly, wherever the limit of the age is, and the
/// agents of a machine that has failed are divided among all machines.
pub(super) fn divide(tasks: &[Task], count: usize, measured: Option<&Snapshot>) -> Vec<usize> {
    let count = count.max(1);
    let row = |task: &Task| measured?.latest(&task.id, task.channel, task.kind);
    let durations: Vec<Option<Duration>> = tasks.iter().map(|task| row(task).and_then(duration)).collect();
    let Some(median) = median(durations.iter().flatten().copied().collect()) else {
        return (0..tasks.len()).map(|at| at % count).collect();
    };
    let mut waiting: Vec<(Option<Date>, Reverse<Duration>, usize)> = Vec::new();
    for (at, (task, duration)) in tasks.iter().zip(durations).enumerate() {
        let (passed_on, duration) = match task.work {
            TaskKind::Skip { .. } | TaskKind::Broken { .. } => (None, Duration::ZERO),
            TaskKind::Check(_) | TaskKind::Reuse(_) => {
                (row(task).and_then(|row| passed_on(row, task)), duration.unwrap_or(median))
            }
        };
        waiting.push((passed_on, Reverse(duration), at));
    }
    waiting.sort_unstable();
    // Shards beyond the number of tasks get none.
    let shards = (0..count.min(tasks.len())).map(|shard| Reverse((Duration::ZERO, 0_usize, shard)));
    let mut shards: BinaryHeap<_> = shards.collect();
    let mut shard_of = vec![0; tasks.len()];
    for (_, Reverse(duration), at) in waiting {
        if let Some(mut least) = shards.peek_mut() {
            let Reverse((load, number, shard)) = &mut *least;
            (*load, *number, shard_of[at]) = (load.saturating_add(duration), *number + 1, *shard);
        }
    }
    shard_of
}

/// How long the installation, the handshake and the examination took. `None` if the row does not say so, or has an
/// impossible duration.
fn duration(row: &Value) -> Option<Duration> {
    let seconds = |value: &Value| Duration::try_from_secs_f64(value.as_f64()?).ok();
    let timing = &row["timing"];
    let mut sum = seconds(&timing["install_seconds"])?.checked_add(seconds(&timing["total_seconds"])?)?;
    for check in row["examination"]["checks"].as_array().into_iter().flatten() {
        sum = sum.checked_add(seconds(&check["duration_seconds"])?)?;
    }
    Some(sum.min(LONGEST))
}

/// The day of the row, if it is about this distribution and the agent passed: later runs may reuse it.
fn passed_on(row: &Value, task: &Task) -> Option<Date> {
    let is_same = row["verdict"] == "pass" && row["basis"].as_str() == Some(task.basis.as_deref()?);
    let at = row["checked_at"].as_str()?.parse::<Timestamp>().ok()?;
    is_same.then(|| today(at.into()))
}

fn median(mut durations: Vec<Duration>) -> Option<Duration> {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use acp_registry_client::install::{Kind, Source};
    use acp_registry_plan::manifest::{Channel, Package};
    use serde_json::json;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("1/1".parse(), Ok(Shard { index: 1, count: 1 }));
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, count: 4 }));
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3"] {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError), "{wrong}");
        }
    }

    #[test]
    fn every_member_counts() {
        let package = |package: &str, args: &[&str], value: &str| {
            let env = vec![("A".to_owned(), value.to_owned())];
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            Package { package: package.to_owned(), args, env, ..Package::default() }
        };
        let all = [
            Source::Npx(package("a@1.0.0", &["x"], "1")),
            Source::Uvx(package("a@1.0.0", &["x"], "1")),
            Source::Npx(package("a@1.0.1", &["x"], "1")),
            Source::Npx(package("a@1.0.0", &["x", ""], "1")),
            Source::Npx(package("a@1.0.0", &["x"], "2")),
        ];
        let digest = |source: &Source| basis(source, None);
        let digests: BTreeSet<String> = all.iter().map(digest).collect();
        assert_eq!(digests.len(), all.len());
        assert_eq!(digest(&all[0]), digest(&all[0].clone()));
        let list = PublishedClosure { package: "a@1.0.0".to_owned(), packages: "{}".to_owned(), allow_scripts: None };
        assert!(!digests.contains(&basis(&all[0], Some(&list))));
    }

    fn task(number: usize) -> Task {
        Task {
            id: format!("agent-{number}"),
            version: "1.0.0".to_owned(),
            channel: Channel::Stable,
            kind: Some(Kind::Npx),
            held: None,
            work: TaskKind::Check(Source::Npx(Package::default())),
            closure: None,
            basis: Some("b".to_owned()),
        }
    }

    fn row(number: usize, install: &Value, day: u32) -> Value {
        json!({
            "id": format!("agent-{number}"), "channel": "stable", "distribution": "npx", "verdict": "pass", "basis": "b",
            "checked_at": format!("2026-10-{day:02}T00:00:00Z"),
            "timing": { "install_seconds": install, "total_seconds": 0 },
        })
    }

    fn snapshot(rows: &[Value]) -> Snapshot {
        Snapshot::parse(json!({ "agents": rows }).to_string().as_bytes()).unwrap()
    }

    /// The sum of the durations in each shard.
    fn loads(shard_of: &[usize], durations: &[f64], count: usize) -> Vec<f64> {
        let mut loads = vec![0.0; count];
        for (shard, duration) in shard_of.iter().zip(durations) {
            loads[*shard] += duration;
        }
        loads
    }

    /// The longest of the loads, divided by their mean.
    #[expect(clippy::cast_precision_loss, reason = "few shards")]
    fn longest(loads: &[f64]) -> f64 {
        loads.iter().copied().fold(0.0, f64::max) / (loads.iter().sum::<f64>() / loads.len() as f64)
    }

    proptest! {
        #[test]
        fn each_task_is_in_one_shard_whatever_the_durations_are(
            durations in prop::collection::vec(prop_oneof![
                Just(Value::Null), Just(json!("1")), Just(json!({})),
                prop::num::f64::ANY.prop_map(|number| json!(number)), (-9.0..900.0).prop_map(|number| json!(number)),
            ], 0..60),
            days in prop::collection::vec(0_u32..40, 60),
            count in 1_usize..9,
        ) {
            let tasks: Vec<Task> = (0..durations.len()).map(task).collect();
            // Every fifth agent is new.
            let known = durations.iter().enumerate().filter(|(at, _)| at % 5 != 4);
            let rows: Vec<Value> = known.map(|(at, duration)| row(at, duration, days[at])).collect();
            let measured = snapshot(&rows);
            let shard_of = divide(&tasks, count, Some(&measured));
            prop_assert_eq!(shard_of.len(), tasks.len());
            prop_assert!(shard_of.iter().all(|shard| *shard < count));
            prop_assert_eq!(&shard_of, &divide(&tasks, count, Some(&measured)));
            // No shard is longer than the shortest one by more than a task.
            let usable: Vec<Option<f64>> = (0..tasks.len())
                .map(|at| measured.latest(&tasks[at].id, Channel::Stable, Some(Kind::Npx)).and_then(duration))
                .map(|duration| duration.map(|duration| duration.as_secs_f64()))
                .collect();
            if usable.iter().all(Option::is_some) && tasks.len() >= count {
                let usable: Vec<f64> = usable.into_iter().flatten().collect();
                let loads = loads(&shard_of, &usable, count);
                let (least, most) = loads.iter().fold((f64::MAX, 0.0_f64), |(a, b), load| (a.min(*load), b.max(*load)));
                prop_assert!(most - least <= usable.iter().copied().fold(0.0, f64::max) + 1e-6);
            }
        }
    }

    #[test]
    fn without_durations_tasks_are_counted() {
        let tasks: Vec<Task> = (0..5).map(task).collect();
        assert_eq!(divide(&tasks, 2, None), [0, 1, 0, 1, 0]);
        let useless = snapshot(&[row(0, &json!(-1), 1), row(1, &Value::Null, 1)]);
        assert_eq!(divide(&tasks, 2, Some(&useless)), [0, 1, 0, 1, 0]);
        assert_eq!(divide(&[], 3, Some(&useless)), [0; 0]);
        // A registry with few agents, and a total that is far too large.
        assert_eq!(divide(&tasks, usize::MAX, Some(&snapshot(&[row(0, &json!(1), 1)]))), [4, 0, 1, 2, 3]);
    }

    #[test]
    fn a_new_agent_counts_as_much_as_the_median() {
        let tasks: Vec<Task> = (0..5).map(task).collect();
        let known = [(0, 1.0), (1, 10.0), (2, 100.0)].map(|(at, seconds)| row(at, &json!(seconds), 1));
        // Both new ones come first, as nothing is known of them; 100 s then go beside one of them.
        let shard_of = divide(&tasks, 2, Some(&snapshot(&known)));
        assert_eq!(shard_of, [1, 1, 0, 0, 1]);
    }

    #[test]
    fn a_few_slow_agents_do_not_make_one_machine_wait_for_another() {
        // A heavy tail: most agents take 5 to 20 s, a few up to a quarter of an hour.
        let mut state = 42_u32;
        let mut fraction = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (f64::from(state >> 8) + 1.0) / f64::from(1 << 24)
        };
        let durations: Vec<f64> = (0..400).map(|_| (5.0 / fraction().powf(0.8)).min(900.0)).collect();
        let tasks: Vec<Task> = (0..durations.len()).map(task).collect();
        let rows: Vec<Value> = durations.iter().enumerate().map(|(at, seconds)| row(at, &json!(seconds), 1)).collect();
        let measured = snapshot(&rows);
        for count in [4, 10] {
            let before = longest(&loads(&divide(&tasks, count, None), &durations, count));
            let after = longest(&loads(&divide(&tasks, count, Some(&measured)), &durations, count));
            assert!(before > 1.1 && after < 1.01, "{count} shards: {before} {after}");
        }
    }

    /// The agents of the third of four machines have no rows, since it has failed; the rows of the others are reused.
    #[test]
    fn what_a_machine_has_not_done_is_divided_among_all() {
        let tasks: Vec<Task> = (0..80).map(task).collect();
        let rows: Vec<Value> = (0..80).map(|at| row(at, &json!(1 + at % 7), 1)).collect();
        let before = divide(&tasks, 4, Some(&snapshot(&rows)));
        let done: Vec<Value> =
            rows.iter().zip(&before).filter(|(_, shard)| **shard != 2).map(|(row, _)| row.clone()).collect();
        let again = divide(&tasks, 4, Some(&snapshot(&done)));
        let left = again.iter().zip(&before).filter(|(_, before)| **before == 2).map(|(shard, _)| *shard);
        let mut numbers = [0_usize; 4];
        left.for_each(|shard| numbers[shard] += 1);
        assert!(numbers.iter().all(|number| number.abs_diff(5) <= 1), "{numbers:?}");
        // The same holds for rows that have expired, because they are older than the others.
        let older: Vec<Value> =
            (0..80).map(|at| row(at, &json!(1 + at % 7), if before[at] == 2 { 1 } else { 5 })).collect();
        let again = divide(&tasks, 4, Some(&snapshot(&older)));
        let shards: BTreeSet<usize> = (0..80).filter(|at| before[*at] == 2).map(|at| again[at]).collect();
        assert_eq!(shards.len(), 4);
    }
}
