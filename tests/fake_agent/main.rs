//! An agent for tests: `fake-agent CASE [ARGUMENT…]`. Each case of `agent::run` is one behavior; `played EXCHANGE`
//! follows the protocol except for what an exchange shows, `sessions BREAKS EXCHANGE` also has sessions, `drafts BREAKS
//! EXCHANGE` also implements proposals, `fill WAY` fills the memory of its examiner, `turns BREAKS EXCHANGE` carries out turns with a model, and `network …` tries to
//! reach the host.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "an agent that misbehaves starts processes and prints"
)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::exit, reason = "agents end in the middle of things")]

mod agent;
mod drafts;
mod fill;
mod mcp;
#[cfg(target_os = "linux")]
mod network;
mod played;
mod replaced;
mod sessions;
mod turn;
mod turn_model;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    match argument(0) {
        "played" => played::run(argument(1)),
        "fill" => fill::run(argument(1)),
        "drafts" => drafts::run(argument(1), argument(2)),
        "recipe" => sessions::run_with_recipe(argument(1)),
        "sessions" => sessions::run(argument(1), argument(2)),
        #[cfg(target_os = "linux")]
        "network" => network::run(&arguments),
        "turns" => turn::run(argument(1), argument(2)),
        _ => agent::run(&arguments),
    }
}
