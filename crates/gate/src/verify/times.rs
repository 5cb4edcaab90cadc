//! How long the starts of one version took, over all runs that a snapshot knows of.

use std::time::Duration;

use serde_json::{Value, json};

/// The times of the runs of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTimes {
    /// The number of runs in which the agent answered.
    pub runs: u64,
    /// From its start to its answer to `initialize`: the shortest and the longest.
    pub answer: (Duration, Duration),
    /// Of its installation: the shortest and the longest. Package managers may have had its packages in their caches.
    pub install: (Duration, Duration),
}

impl RunTimes {
    /// The times in a row of a snapshot. A row without ranges has those of its own run; `None` if the agent did not answer.
    pub(super) fn of(row: &Value) -> Option<Self> {
        let timing = &row["timing"];
        Self::known(&timing["range"]).or_else(|| {
            let seconds = |member: &str| duration(&timing[member]);
            let (answer, install) = (seconds("start_to_response_seconds")?, seconds("install_seconds")?);
            Some(Self { runs: 1, answer: (answer, answer), install: (install, install) })
        })
    }

    fn known(times: &Value) -> Option<Self> {
        let range = |member: &str| {
            let (shortest, longest) = (duration(&times[member][0])?, duration(&times[member][1])?);
            (shortest <= longest).then_some((shortest, longest))
        };
        let runs = times["runs"].as_u64().filter(|runs| *runs > 0)?;
        Some(Self { runs, answer: range("start_to_response_seconds")?, install: range("install_seconds")? })
    }

    /// These times and those of an earlier run.
    fn with(self, earlier: &Self) -> Self {
        let range = |new: (Duration, Duration), old: (Duration, Duration)| (new.0.min(old.0), new.1.max(old.1));
        Self {
            runs: earlier.runs.saturating_add(self.runs),
            answer: range(self.answer, earlier.answer),
            install: range(self.install, earlier.install),
        }
    }

    fn to_json(&self) -> Value {
        let range = |(shortest, longest): (Duration, Duration)| json!([shortest.as_secs_f64(), longest.as_secs_f64()]);
        json!({
            "runs": self.runs, "start_to_response_seconds": range(self.answer), "install_seconds": range(self.install),
        })
    }
}

fn duration(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

/// Adds the times of a row's run to those that the earlier row has of the same version. A row that was taken over from
/// there is no further run, and the first run has no range.
pub(super) fn add(row: &mut Value, earlier: Option<&Value>) {
    let earlier = earlier.filter(|earlier| earlier["version"] == row["version"]);
    if let Some(timing) = row.get_mut("timing").and_then(Value::as_object_mut) {
        timing.remove("range");
    }
    let known = earlier.and_then(RunTimes::of);
    let is_same_run = earlier.is_some_and(|earlier| earlier["checked_at"] == row["checked_at"]);
    let times = match (RunTimes::of(row), known) {
        (_, Some(known)) if is_same_run => Some(known),
        (Some(new), Some(known)) => Some(new.with(&known)),
        (new, known) => new.or(known),
    };
    let timing = row.get_mut("timing").and_then(Value::as_object_mut);
    if let (Some(times), Some(timing)) = (times.filter(|times| times.runs > 1), timing) {
        timing.insert("range".to_owned(), times.to_json());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: &str, at: &str, answer: Option<f64>) -> Value {
        json!({
            "version": version, "checked_at": at,
            "timing": { "install_seconds": 2.0, "start_to_response_seconds": answer, "total_seconds": 9.0 },
        })
    }

    #[test]
    fn ranges_grow_by_run_and_begin_anew_with_a_version() {
        let mut last = row("1", "a", Some(1.0));
        add(&mut last, None);
        // A run, the same run again, one without an answer, and one of the next version.
        for (version, at, answer, expected) in [
            ("1", "b", Some(0.5), (2, 0.5, 1.0)),
            ("1", "b", Some(0.5), (2, 0.5, 1.0)),
            ("1", "c", None, (2, 0.5, 1.0)),
            ("1", "d", Some(3.0), (3, 0.5, 3.0)),
            ("2", "e", Some(0.25), (1, 0.25, 0.25)),
        ] {
            let mut next = row(version, at, answer);
            add(&mut next, Some(&last));
            let times = RunTimes::of(&next).unwrap();
            assert_eq!((times.runs, times.answer.0.as_secs_f64(), times.answer.1.as_secs_f64()), expected, "{at}");
            last = next;
        }
        let mut silent = row("3", "f", None);
        add(&mut silent, Some(&last));
        assert_eq!(RunTimes::of(&silent), None);
    }

    #[test]
    fn what_is_no_range_is_not_believed() {
        for times in [
            json!({ "runs": 0, "start_to_response_seconds": [1, 2], "install_seconds": [1, 2] }),
            json!({ "runs": 2, "start_to_response_seconds": [2, 1], "install_seconds": [1, 2] }),
            json!({ "runs": 2, "start_to_response_seconds": [-1, 1], "install_seconds": [1, 2] }),
            json!({ "runs": 2, "start_to_response_seconds": [1e300, 1e300], "install_seconds": [1, 2] }),
            json!([]),
        ] {
            let mut row = row("1", "a", Some(4.0));
            row["timing"]["range"] = times;
            assert_eq!(RunTimes::of(&row).unwrap().runs, 1);
        }
    }
}
