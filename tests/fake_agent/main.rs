//! An agent for tests: `fake-agent CASE [ARGUMENT…]`. Each case of [`agent::run`] is one behavior; `played EXCHANGE`
//! follows the protocol except for what an exchange shows.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "an agent that misbehaves starts processes and prints"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::exit, reason = "agents end in the middle of things")]

mod agent;
mod played;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("played") => played::run(arguments.get(1).map_or("", String::as_str)),
        _ => agent::run(&arguments),
    }
}
