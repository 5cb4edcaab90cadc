//! Examinations at the level `sessions`: agents that keep their sessions apart, and agents that do not.

use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, Examination, Level, Plan, Verdict};

use crate::examined::{for_each, not_passed, planned, with};

fn examined(case: &[&str]) -> Examination {
    let mut plan = Plan::up_to(Level::Sessions);
    plan.only = |check| check.level == Level::Sessions;
    planned(case, Duration::from_secs(2), &plan)
}

fn checks() -> Vec<&'static Check> {
    CHECKS.iter().copied().filter(|check| check.level == Level::Sessions).collect()
}

#[test]
fn the_failing_exchange_of_each_check_fails_that_check_and_no_other() {
    for_each(&checks(), |check| {
        let examination = examined(&["sessions", "", check.fails]);
        let found = not_passed(&examination);
        let is_right = found.len() == 1 && found[0].0 == check.id && !found[0].1.is_empty();
        if is_right { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

#[test]
fn the_passing_exchange_of_each_check_passes_all() {
    for_each(&checks(), |check| {
        let examination = examined(&["sessions", "", check.passes]);
        let found = with(&examination, &[Verdict::Fail, Verdict::Warning, Verdict::NotExercised]);
        if found.is_empty() { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

/// An agent that demands a sign-in cannot be examined here; the reason says so once for each check.
#[test]
fn an_agent_that_opens_no_session_is_not_exercised() {
    let examination = examined(&["played", ""]);
    assert_eq!(examination.reached, Some(Level::Handshake));
    let reason = "needs sign-in: the agent answers `session/new` with error -32000: `Authentication required`";
    assert_eq!(
        with(&examination, &[Verdict::NotExercised]),
        checks().iter().map(|c| (c.id, reason)).collect::<Vec<_>>()
    );
}

/// Deviations of the fake agent: the check that notices, the name, and a part of the message.
const BREAKS: &[(&str, &str, &str)] = &[("distinct-ids", "same-id", "with the same id `session-0`")];

#[test]
fn every_break_fails_its_check_and_no_other() {
    for_each(BREAKS, |(name, deviation, text)| {
        let examination = examined(&["sessions", deviation, ""]);
        let found = not_passed(&examination);
        let is_right = found.len() == 1 && found[0].0 == format!("sessions/{name}") && found[0].1.contains(text);
        if is_right { Ok(()) } else { Err(format!("{name}: {deviation}: {found:?}")) }
    });
}
