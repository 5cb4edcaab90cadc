//! An agent for tests: `fake-agent CASE [ARGUMENT…]`. Each case of [`agent::run`] is one way to behave.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "an agent that misbehaves starts processes and prints"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::exit, reason = "agents end in the middle of things")]

mod agent;

fn main() {
    agent::run(&std::env::args().skip(1).collect::<Vec<_>>());
}
