//! Lists the agents of an index, installs one, and asks it what it can do:
//!
//! `cargo run --example use-agents -- registry pi-acp`
//!
//! Further arguments are hosts that need neither https nor a public address, as `127.0.0.1:8080`.
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "an example shows what it has found")]

use std::sync::Arc;

use acp_registry::handshake::{Options, check, set_variables};
use acp_registry::index::{self, Place};
use acp_registry::install::Installer;
use acp_registry::net::{AllowedHosts, Client, Settings};
use acp_registry::resolve::{Host, Offer, Wanted, resolve};
use acp_registry::store::{Order, Pin, Start, Store};
use acp_registry::sys::process::{Environment, Isolation, Launch};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, index, id, hosts @ ..] = arguments.as_slice() else { return Err("an index and an id are wanted".into()) };
    let settings = Settings { allowed: AllowedHosts::parse(hosts)?, ..Settings::default() };
    let client = Arc::new(Client::new(settings)?);
    let mut environment = Environment::from_host(std::env::vars_os());

    let place: Place = index.parse()?;
    let index = index::load(&place, &index::Options::default(), || Ok(client.clone())).await?.index;
    for entry in index.entries() {
        println!("{:24} {}", entry.id, entry.version);
    }

    let agent = index.agent(id)?.ok_or("there is no such agent")?;
    let wanted = Wanted { id: id.clone(), ..Wanted::default() };
    let plan = resolve(&Offer::of_agent(&agent, index.sha256()), &wanted, &Host::detect(&environment))?;
    let installer = Installer { platform: plan.platform, ..Installer::new(client, environment.clone()) };
    let progress = |step| eprintln!("{step:?}");
    let (pin, start) = (Pin::Keep, Start::This);
    let order = Order { plan: &plan, installer: &installer, pin, start, progress: &progress, waiting: &|_| () };
    let version = Store::at("agents-of-the-example".as_ref())?.install(&order).await?.version;

    // Here, `start.behind(…)` would put a sandbox before the agent.
    let start = version.launch(|| environment.clone())?;
    set_variables(&mut environment, start.env.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    let launch = Launch {
        program: start.program.into(),
        arguments: start.args.into_iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        // The path of the `acp-registry` executable, for limits on Linux.
        launcher: None,
    };
    let outcome = check(&launch, &Options::new(std::env::temp_dir())).await?;
    println!("{} {}: {:?}", plan.id, plan.version, outcome.verdict);
    outcome.handshake.auth_methods.iter().for_each(|method| println!("sign in: {}", method.id));
    Ok(())
}
