//! `acp-registry serve-agent`

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;

use acp_registry::failure::{Exit, Failure};
use acp_registry::host::fs::temporary;
use acp_registry::host::process::{Environment, Isolation, LaunchSpec, hide_from_agents};
use acp_registry::ops::install_to_run;
use acp_registry::remote::{Secret, ServeOptions, serve};
use acp_registry::session::{AgentSpec, Terms};
use acp_registry::text::printable;
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;

use crate::flags::global::Global;
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::flags::{candidates, network, value};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent, which is installed first if needed
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed(), required_unless_present = "command")]
    agent: Option<AgentSpec>,

    /// The address and port to listen on; port 0 is any that is free
    ///
    /// An address that other machines reach needs --token, and a proxy in front of it that speaks TLS.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,

    /// Serve only clients that send the token in this variable
    ///
    /// Clients send it as `Authorization: Bearer TOKEN`. The variable is not passed to the agent.
    #[arg(long, value_name = "VARIABLE")]
    token: Option<String>,

    /// How many connections there may be at a time; each has a process of its own
    #[arg(long, value_name = "N", default_value = "8", value_parser = value::number(1..=1000))]
    connections: u16,

    /// Serve clients that read one stream for a connection, as in the transport's revision of April 2026
    #[arg(long)]
    one_stream: bool,

    #[command(flatten)]
    packages: PackageArgs,

    #[command(flatten)]
    place: SessionArgs,

    /// Serve this command instead: a program with its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["agent", "SessionArgs", "PackageArgs"])]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    // The token is in the environment of this process.
    hide_from_agents();
    let launch = launch(args, global)?;
    let secret = match &args.token {
        Some(name) => {
            let token = network::variable(name).filter(|token| !token.trim().is_empty()).ok_or_else(|| {
                let failure = Failure::usage(format!("--token: the variable {} is not set", printable(name)));
                failure.help("set it to a long random text, and start the program again")
            })?;
            Some(Secret::new(token.trim()))
        }
        None if args.listen.ip().is_loopback() => None,
        None => {
            let text = format!("--listen {}: other machines could start the agent", args.listen);
            return Err(Failure::usage(text).help("name the variable of a token with --token, or listen on 127.0.0.1"));
        }
    };
    let listener = std::net::TcpListener::bind(args.listen).map_err(|error| {
        let failure = Failure::unable(format!("cannot listen on {}: {error}", args.listen));
        failure.help("name another address with --listen, or port 0 for any that is free")
    })?;
    listener.set_nonblocking(true).map_err(Failure::unable)?;
    if let Some(agent) = &args.agent {
        install(agent, args, global, ui)?;
    }
    let server = async {
        let listener = TcpListener::from_std(listener).map_err(Failure::unable)?;
        let address = listener.local_addr().map_err(Failure::unable)?;
        let (sender, mut notes) = unbounded_channel::<String>();
        let options = ServeOptions {
            launch,
            temporary: temporary(),
            secret,
            is_loopback: args.listen.ip().is_loopback(),
            connections: args.connections.into(),
            is_one_stream: args.one_stream,
            note: Box::new(move |text| drop(sender.send(text.to_owned()))),
        };
        ui.result(&format!("http://{address}/acp\n"))?;
        ui.note(&format!("the address for WebSocket is ws://{address}/acp; Ctrl-C ends the server"));
        let warn = async {
            while let Some(text) = notes.recv().await {
                ui.warning(&text);
            }
        };
        tokio::select! {
            () = serve(listener, options) => Ok(()),
            () = warn => Ok(()),
        }
    };
    match signals::run_with_threads(ui, 2, server) {
        // An interruption is the normal way to end the server.
        Err(failure) if matches!(failure.exit(), Exit::Interrupted(_)) => Ok(Exit::Success),
        done => done?.map(|()| Exit::Success),
    }
}

/// Installs the agent if it is not there as a whole, and refuses one that `run` would refuse, so that an error reaches who
/// starts the server, and the first client does not wait.
fn install(agent: &AgentSpec, args: &Args, global: &Global, ui: &Ui) -> Result<(), Failure> {
    let session = open(&args.place, args.packages, global)?;
    let found = session.find_version(agent, None)?;
    if let Some(version) = found.as_ref().filter(|version| version.is_whole()) {
        return Ok(session.refuse_unfit(version)?);
    }
    let events = events(ui);
    let install = install_to_run(&session, agent, None, Terms::default(), found.as_ref(), &events);
    signals::run_with_threads(ui, 1, install)??;
    Ok(())
}

/// The command of a connection. An agent is started by `run`, which repairs it if needed, and refuses what was revoked.
fn launch(args: &Args, global: &Global) -> Result<LaunchSpec, Failure> {
    let directory = env::current_dir().map_err(|error| Failure::unable(format!("the working directory: {error}")))?;
    let mut words: Vec<OsString> = args.command.clone();
    if let Some(agent) = &args.agent {
        words = vec![env::current_exe().map_err(Failure::unable)?.into(), "run".into(), agent.to_string().into()];
        let flags = [args.place.flags()?, args.packages.flags(), global.network_flags()].concat();
        words.extend(flags.into_iter().map(Into::into));
    }
    // Windows takes names that differ in case for one.
    let is_token = |name: &OsString| args.token.as_ref().is_some_and(|token| name.eq_ignore_ascii_case(token));
    let variables = env::vars_os().filter(|(name, _)| !is_token(name));
    let mut words = words.into_iter();
    Ok(LaunchSpec {
        program: words.next().ok_or_else(|| Failure::usage("an agent is missing"))?,
        arguments: words.collect(),
        directory: Some(directory),
        environment: Environment::for_person(variables),
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: None,
        namespace: None,
    })
}
