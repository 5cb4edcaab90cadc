//! Measures an examination at the level `turns` of an agent that answers at once: the time is that of the checks.

use std::env;
use std::path::Path;
use std::time::Duration;

use acp_registry::examination::{ExaminationPlan, Level, examine};
use acp_registry::handshake::{HandshakeOptions, check};
use tokio::runtime::Runtime;

use super::handshake::launch_of;

const ROUNDS: usize = 5;

/// Number of checks to show, of those that take longest.
const SHOWN: usize = 8;

pub(crate) fn measure() {
    // Built with the tests, beside the program.
    let fake = Path::new(env!("CARGO_BIN_EXE_acp-registry")).with_file_name("examples").join("fake-agent");
    if !fake.exists() {
        println!("an examination: skipped, because {} is not built (`--example fake-agent`)", fake.display());
        return;
    }
    let launch = launch_of(fake.into(), ["turns", "", ""].map(Into::into).to_vec());
    let (options, plan) = (HandshakeOptions::new(env::temp_dir()), ExaminationPlan::up_to(Level::Turns));
    let runtime = Runtime::new().expect("a runtime");
    let mut examinations: Vec<_> = (0..ROUNDS)
        .map(|_| {
            runtime.block_on(async {
                let outcome = check(&launch, &options).await.expect("a check");
                examine(&launch, &options, &outcome, &plan, &|_, _| ()).await
            })
        })
        .collect();
    examinations.sort_by_key(|examination| examination.duration);
    let median = &examinations[ROUNDS / 2];
    let checks: Duration = median.checks.iter().map(|examined| examined.duration).sum();
    println!("an examination at `turns` of an agent that answers at once, median of {ROUNDS} runs");
    println!(
        "  {:.2} s (wanted: below 6 s, most of it pauses in which nothing may come) for {} checks that take {:.2} s; the longest:",
        median.duration.as_secs_f64(),
        median.checks.len(),
        checks.as_secs_f64()
    );
    let mut longest: Vec<_> = median.checks.iter().collect();
    longest.sort_by_key(|examined| std::cmp::Reverse(examined.duration));
    for examined in longest.into_iter().take(SHOWN) {
        println!("  {:8.0} ms  {}", examined.duration.as_secs_f64() * 1000.0, examined.check.id);
    }
}
