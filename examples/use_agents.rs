//! Lists the agents of an index, installs one, and asks it what it can do:
//!
//! `cargo run --example use-agents -- registry pi-acp`
#![allow(clippy::print_stdout, reason = "an example shows what it has found")]

use std::sync::Arc;

use acp_registry::catalog::{self, Place};
use acp_registry::handshake::{Options, check};
use acp_registry::install::Installer;
use acp_registry::net::{Client, Settings};
use acp_registry::resolve::{Host, Offer, Wanted, resolve};
use acp_registry::store::{Order, Pin, Store};
use acp_registry::sys::process::{Environment, Isolation, Launch};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, index, id] = arguments.as_slice() else { return Err("an index and the id of an agent are wanted".into()) };
    let client = Arc::new(Client::new(Settings::default())?);
    let environment = Environment::from_host(std::env::vars_os());

    let place: Place = index.parse()?;
    let catalog = catalog::load(&place, &catalog::Options::default(), || Ok(client.clone())).await?.catalog;
    for entry in catalog.entries() {
        println!("{:24} {}", entry.id, entry.version);
    }

    let agent = catalog.agent(id).ok_or("there is no such agent")?;
    let wanted = Wanted { id: id.clone(), ..Wanted::default() };
    let plan = resolve(&Offer::of_agent(&agent, catalog.sha256()), &wanted, &Host::detect(&environment))?;
    let installer = Installer { platform: plan.platform, ..Installer::new(client, environment.clone()) };
    let store = Store::at("agents-of-the-example".as_ref())?;
    let order = Order { plan: &plan, installer: &installer, pin: Pin::Keep, progress: &|_| (), waiting: &|_| () };
    let version = store.install(&order).await?.version;

    let command = version.launch(|| environment.clone())?;
    let launch = Launch {
        program: command.program.into(),
        arguments: command.args.into_iter().map(Into::into).collect(),
        directory: None,
        environment,
        isolation: Isolation::Environment,
    };
    let outcome = check(&launch, &Options::new(std::env::temp_dir())).await?;
    println!("{} {}: {:?}, {:?}", plan.id, plan.version, outcome.verdict, outcome.handshake.auth_methods);
    Ok(())
}
