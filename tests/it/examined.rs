//! Examinations of the fake agent.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, CheckVerdict, Examination, ExaminationPlan, Level, examine};
use acp_registry::handshake::{HandshakeOptions, check};
use acp_registry::host::process::LaunchSpec;

use crate::agent::{launch, left_with, tag};

/// Examines the fake agent in this case, and asserts that every check has a result and that nothing is left: no process
/// and no file. `patience` is the time limit for a response.
pub(crate) fn planned(case: &[&str], patience: Duration, plan: &ExaminationPlan) -> Examination {
    planned_with(case, patience, plan, |_| ())
}

/// Like [`planned`], with a changed launch.
pub(crate) fn planned_with(
    case: &[&str],
    patience: Duration,
    plan: &ExaminationPlan,
    change: impl FnOnce(&mut LaunchSpec),
) -> Examination {
    let temporary = tempfile::tempdir().unwrap();
    let tag = tag();
    let mut launch = launch(case, &tag);
    change(&mut launch);
    let mut options = HandshakeOptions::new(temporary.path().to_owned());
    options.timeout = patience * 10;
    options.probe = Some(patience);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let examination = runtime.block_on(async {
        let outcome = check(&launch, &options).await.unwrap();
        examine(&launch, &options, &outcome, plan, &|_, _| ()).await
    });
    assert_eq!(left_with("environ", &tag), [] as [u32; 0], "{case:?} left processes behind");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "{case:?} left files behind");
    assert_eq!(examination.left, [] as [&str; 0]);
    let ids: Vec<&str> = examination.checks.iter().map(|examined| examined.check.id).collect();
    let is_known = |check: &Check| plan.endpoint.is_some() || check.level() != Level::Transport;
    let is_planned = |check: &&&Check| check.level() <= plan.level && is_known(check) && (plan.only)(check);
    assert_eq!(ids, CHECKS.iter().filter(is_planned).map(|check| check.id).collect::<Vec<_>>());
    let messages = examination.checks.iter().filter_map(|examined| examined.message.as_deref());
    let hidden: Vec<&str> = messages.filter(|text| text.contains(char::is_control)).collect();
    assert_eq!(hidden, [] as [&str; 0], "control characters in a message");
    examination
}

/// The checks with one of these verdicts, with their messages.
pub(crate) fn with<'a>(examination: &'a Examination, verdicts: &[CheckVerdict]) -> Vec<(&'a str, &'a str)> {
    let wanted = examination.checks.iter().filter(|examined| verdicts.contains(&examined.verdict));
    wanted.map(|examined| (examined.check.id, examined.message.as_deref().unwrap_or_default())).collect()
}

pub(crate) fn not_passed(examination: &Examination) -> Vec<(&str, &str)> {
    with(examination, &[CheckVerdict::Fail, CheckVerdict::Warning])
}

/// Runs a test for each item, several at once, and panics with all failures.
pub(crate) fn for_each<T: Sync>(items: &[T], test: impl Fn(&T) -> Result<(), String> + Sync) {
    let (next, wrong) = (Mutex::new(items.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(item) = next.lock().unwrap().next() else { break };
                    if let Err(error) = test(item) {
                        wrong.lock().unwrap().push(error);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
