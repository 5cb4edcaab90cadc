//! Divides tasks among machines, so that all of them take about the same time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use serde_json::Value;
use time::Date;

use super::{Snapshot, Task, TaskKind};
use acp_registry_plan::timestamp::{Timestamp, today};

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
            TaskKind::Skip { .. } | TaskKind::Broken(_) => (None, Duration::ZERO),
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn task(number: usize) -> Task {
        Task {
            id: format!("agent-{number}"),
            version: "1.0.0".to_owned(),
            channel: Channel::Stable,
            kind: Some(Kind::Npx),
            held: None,
            work: TaskKind::Check(Source::Npx(Package::default())),
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
