//! Examinations of agents that keep to the protocol, and of agents that break it in one point.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, Examination, LIMIT, Level, Verdict, examine, find};
use acp_registry::handshake::{Options, check};
use acp_registry::sys::process::{Environment, Isolation, Launch};

use crate::agent::{fake_agent, left_with, tag};
use crate::support::PROGRAM;

/// Examines the fake agent in this case, and makes sure that nothing is left of it.
fn examined_within(case: &[&str], patience: Duration, limit: Duration) -> Examination {
    let temporary = tempfile::tempdir().unwrap();
    let tag = tag();
    let mut environment = Environment::from_host(std::env::vars_os());
    environment.set("FAKE_AGENT_TAG", &tag);
    let launch = Launch {
        program: fake_agent().into(),
        arguments: case.iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: Some(PROGRAM.into()),
    };
    let mut options = Options::new(temporary.path().to_owned());
    options.timeout = patience * 10;
    options.probe = Some(patience);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let examination = runtime.block_on(async {
        let outcome = check(&launch, &options).await.unwrap();
        examine(&launch, &options, Level::Protocol, &outcome, limit).await
    });
    assert_eq!(left_with("environ", &tag), [] as [u32; 0], "{case:?} left processes behind");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "{case:?} left files behind");
    assert_eq!(examination.left, [] as [&str; 0]);
    let ids: Vec<&str> = examination.checks.iter().map(|examined| examined.check.id).collect();
    assert_eq!(ids, CHECKS.iter().map(|check| check.id).collect::<Vec<_>>());
    let messages = examination.checks.iter().filter_map(|examined| examined.message.as_deref());
    let hidden: Vec<&str> = messages.filter(|text| text.contains(char::is_control)).collect();
    assert_eq!(hidden, [] as [&str; 0], "control characters in a message");
    examination
}

fn examined(case: &[&str]) -> Examination {
    examined_within(case, Duration::from_secs(2), LIMIT)
}

/// The checks that ended in one of these ways, with their messages.
fn with<'a>(examination: &'a Examination, verdicts: &[Verdict]) -> Vec<(&'a str, &'a str)> {
    let wanted = examination.checks.iter().filter(|examined| verdicts.contains(&examined.verdict));
    wanted.map(|examined| (examined.check.id, examined.message.as_deref().unwrap_or_default())).collect()
}

fn not_passed(examination: &Examination) -> Vec<(&str, &str)> {
    with(examination, &[Verdict::Fail, Verdict::Warning])
}

/// Runs a test of each, some at once, and tells all that went wrong.
fn for_each<T: Sync>(items: &[T], test: impl Fn(&T) -> Result<(), String> + Sync) {
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

fn is_for_unix(check: &Check) -> bool {
    check.id == "protocol/sigterm"
}

#[test]
fn the_failing_exchange_of_each_check_fails_that_check_and_no_other() {
    let checks: Vec<&Check> = CHECKS.iter().copied().filter(|check| cfg!(unix) || !is_for_unix(check)).collect();
    for_each(&checks, |check| {
        let examination = examined(&["played", check.fails]);
        let found = not_passed(&examination);
        let ids: Vec<&str> = found.iter().map(|(id, _)| *id).collect();
        let is_right = ids == [check.id] && !found[0].1.is_empty();
        if is_right { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

#[test]
fn the_passing_exchange_of_each_check_passes_all() {
    let checks: Vec<&Check> = CHECKS.iter().copied().filter(|check| cfg!(unix) || !is_for_unix(check)).collect();
    for_each(&checks, |check| {
        let examination = examined(&["played", check.passes]);
        let found = with(&examination, &[Verdict::Fail, Verdict::Warning, Verdict::NotExercised]);
        if found.is_empty() { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

/// Other ways to break what a check examines: its name, the exchange, and a part of the message.
const BREAKS: &[(&str, &str, &str)] = &[("agent-info", "", "")];

#[test]
fn an_agent_that_does_not_answer_is_not_examined() {
    for case in
        [&["silent"][..], &["exit", "3"], &["flood", "x\\n", "20000"], &["reply-and-exit", "\u{1b}[2J\u{0}\n", "0"]]
    {
        let examination = examined_within(case, Duration::from_millis(200), LIMIT);
        assert_eq!(examination.reached, None, "{case:?}");
        let reason = "needs the level `handshake`: the agent did not answer `initialize`";
        assert!(examination.checks.iter().all(|examined| examined.verdict == Verdict::NotExercised), "{case:?}");
        assert!(examination.checks.iter().all(|examined| examined.message.as_deref() == Some(reason)), "{case:?}");
        assert!(find("protocol/ids").is_some());
    }
}
