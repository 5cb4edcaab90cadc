//! Agents in quarantine.

use serde_json::{Value, json};
use time::{Date, Duration};

use super::TaskVerdict;
use acp_registry_client::registry::Hold;

/// Number of days for which [`Advice::Extend`] extends a quarantine.
const DAYS: i64 = 30;

/// What to do with agents in quarantine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenHeld {
    /// Skip them.
    #[default]
    Skip,
    /// Check them like all others, because they were named explicitly.
    Check,
    /// Check those whose last day is before this UTC date and, on one weekday each, those without a last day.
    CheckWhenOver(Date),
}

/// An agent in quarantine, and whether it is checked anyway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedAgent {
    /// Its entry in the quarantine list.
    pub hold: Hold,
    /// Whether the agent was named explicitly.
    is_named: bool,
    /// Today, if the quarantine is over.
    over: Option<Date>,
    /// Whether the quarantine has no end, and today is the agent's weekday for a check.
    is_due: bool,
}

/// What to do with an agent in quarantine after a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It was not checked: no change.
    Wait,
    /// It passed and can be released.
    Release,
    /// It still fails; contains the suggested new end, if the quarantine had one.
    Extend(Option<Date>),
    /// It could not be started: no result, no change.
    Retry,
}

impl QuarantinedAgent {
    pub(super) fn new(id: &str, hold: &Hold, when: WhenHeld) -> Self {
        let today = if let WhenHeld::CheckWhenOver(today) = when { Some(today) } else { None };
        let is_due = today.is_some_and(|today| hold.until.is_none() && is_check_day(id, today));
        let over = today.filter(|today| hold.is_over(*today));
        Self { hold: hold.clone(), is_named: when == WhenHeld::Check, over, is_due }
    }

    /// Whether the agent is checked although it is in quarantine.
    pub fn is_checked(&self) -> bool {
        self.is_named || self.over.is_some() || self.is_due
    }

    /// Whether a failure is expected: the agent was not named explicitly.
    pub(super) fn is_excused(&self) -> bool {
        !self.is_named
    }

    /// What to do after a check with this verdict.
    pub fn advice(&self, verdict: TaskVerdict) -> Advice {
        match verdict {
            _ if !self.is_checked() => Advice::Wait,
            TaskVerdict::Pass => Advice::Release,
            TaskVerdict::Fail => Advice::Extend(self.over.and_then(|today| today.checked_add(Duration::days(DAYS)))),
            TaskVerdict::Error => Advice::Retry,
            // The distribution is for another platform.
            TaskVerdict::Skipped => Advice::Wait,
        }
    }

    /// [`QuarantinedAgent::advice`] as a sentence; `None` if it is [`Advice::Wait`].
    pub fn message(&self, verdict: TaskVerdict) -> Option<String> {
        Some(match self.advice(verdict) {
            Advice::Wait => return None,
            Advice::Release => "it works again and can be released: remove its entry from quarantine.json".to_owned(),
            Advice::Extend(Some(day)) => format!("it is still broken; `until` in quarantine.json could become {day}"),
            Advice::Extend(None) => "it is still broken, and stays in quarantine".to_owned(),
            Advice::Retry => "it was not started, so its state is unknown; it stays in quarantine".to_owned(),
        })
    }

    pub(super) fn to_json(&self, verdict: TaskVerdict) -> Value {
        let (advice, day) = match self.advice(verdict) {
            Advice::Wait => (None, None),
            Advice::Release => (Some("release"), None),
            Advice::Extend(day) => (Some("extend"), day),
            Advice::Retry => (Some("retry"), None),
        };
        let text = |day: Option<Date>| day.map(|day| day.to_string());
        json!({
            "reason": self.hold.reason, "until": text(self.hold.until), "advice": advice, "suggested_until": text(day),
            "message": self.message(verdict),
        })
    }
}

/// Whether `today` is the weekday on which an agent is checked if its quarantine has no end. Agents are spread over the
/// week, and all runs of a day agree.
fn is_check_day(id: &str, today: Date) -> bool {
    let place: i64 = id.bytes().map(i64::from).sum();
    (i64::from(today.to_julian_day()) + place).rem_euclid(7) == 0
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    fn held(until: Option<Date>, is_named: bool) -> QuarantinedAgent {
        let when = if is_named { WhenHeld::Check } else { WhenHeld::CheckWhenOver(date!(2026 - 12 - 15)) };
        QuarantinedAgent::new("b", &Hold { reason: "x".to_owned(), until }, when)
    }

    #[test]
    fn an_agent_is_checked_when_its_time_is_over_or_when_it_is_named() {
        for (until, is_named, is_checked) in [
            (None, false, false),
            (Some(date!(2026 - 12 - 15)), false, false),
            (Some(date!(2026 - 12 - 14)), false, true),
            (None, true, true),
        ] {
            assert_eq!(held(until, is_named).is_checked(), is_checked, "{until:?} {is_named}");
        }
        let hold = Hold { reason: String::new(), until: Some(date!(2000 - 01 - 01)) };
        assert!(!QuarantinedAgent::new("a", &hold, WhenHeld::Skip).is_checked());
    }

    #[test]
    fn without_a_last_day_an_agent_is_looked_at_once_a_week() {
        let hold = Hold { reason: String::new(), until: None };
        for id in ["a", "some-agent"] {
            let days = (1..=28).map(|day| Date::from_calendar_date(2027, time::Month::February, day).unwrap());
            let due: Vec<Date> = days
                .filter(|day| QuarantinedAgent::new(id, &hold, WhenHeld::CheckWhenOver(*day)).is_checked())
                .collect();
            assert_eq!(due.len(), 4, "{id}");
            assert!(due.windows(2).all(|pair| pair[1] - pair[0] == Duration::days(7)), "{due:?}");
            let one = QuarantinedAgent::new(id, &hold, WhenHeld::CheckWhenOver(due[0]));
            assert!(one.is_excused());
            assert_eq!(
                (one.advice(TaskVerdict::Fail), one.advice(TaskVerdict::Pass)),
                (Advice::Extend(None), Advice::Release)
            );
        }
    }

    #[test]
    fn each_end_has_its_advice() {
        let over = held(Some(date!(2026 - 12 - 14)), false);
        assert!(over.message(TaskVerdict::Pass).unwrap().contains("can be released"));
        assert_eq!(over.advice(TaskVerdict::Fail), Advice::Extend(Some(date!(2027 - 01 - 14))));
        assert!(over.message(TaskVerdict::Fail).unwrap().ends_with("could become 2027-01-14"));
        assert_eq!(over.advice(TaskVerdict::Error), Advice::Retry);
        assert_eq!(over.to_json(TaskVerdict::Fail)["suggested_until"], "2027-01-14");
        let named = held(None, true);
        assert_eq!(named.advice(TaskVerdict::Pass), Advice::Release);
        // The quarantine had no end, so none is suggested.
        assert_eq!(named.advice(TaskVerdict::Fail), Advice::Extend(None));
        assert_eq!(held(None, false).message(TaskVerdict::Skipped), None);
    }
}
