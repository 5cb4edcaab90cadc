//! `acp-registry serve`

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use acp_registry::build::{BuildRequest, Error, Site, build};
use acp_registry::check::CheckOptions;
use acp_registry::registry::Registry;
use acp_registry::server::{Preview, fingerprint, serve};
use acp_registry::tree::{self, BuildError};

use crate::commands::build::build_errors;
use crate::flags::global::{Global, configured_levels};
use crate::flags::value;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};
use acp_registry::text::{brief_list, plural};

/// The interval at which the registry is checked for changes.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The registry [default: as for --registry-dir]
    #[arg(value_name = "DIR", conflicts_with = "registry_dir")]
    directory: Option<PathBuf>,

    /// The port on 127.0.0.1; 0 takes any that is free
    #[arg(long, value_name = "N", default_value = "8017", value_parser = value::number(0..=u16::MAX))]
    port: u16,

    /// What agents can do, as `verify --out` wrote it
    ///
    /// The default is `capabilities.json` in the registry.
    #[arg(long, value_name = "FILE")]
    capabilities: Option<PathBuf>,

    /// When agents came, changed and went
    ///
    /// The default is `history.json` in the registry, else its git commits.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let directory = args.directory.clone().unwrap_or_else(|| global.registry_dir());
    let preview = Arc::new(Preview::default());
    let (stop, stopped) = channel::<()>();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|error| busy(args.port, &error))?;
    listener.set_nonblocking(true).map_err(Failure::unable)?;
    let base_url = format!("http://{}", listener.local_addr().map_err(Failure::unable)?);
    let mut known = fingerprint(&directory);
    // Nothing listens to signals yet: they end the program at once, and it has written nothing.
    let count = update(&preview, &directory, &base_url, args, global, ui)?;
    std::thread::scope(|scope| {
        // The sender is dropped when the server ends for whatever reason, which ends the watcher, too.
        let server = async {
            let _stop = stop;
            let listener = tokio::net::TcpListener::from_std(listener).map_err(Failure::unable)?;
            ui.result(&format!("{} at {base_url}/ (Ctrl-C ends)\n", plural(count, "agent")))?;
            let (preview_of_watcher, directory) = (Arc::clone(&preview), &directory);
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(INTERVAL) {
                    let now = fingerprint(directory);
                    if now == known {
                        continue;
                    }
                    known = now;
                    match update(&preview_of_watcher, directory, &base_url, args, global, ui) {
                        Ok(count) => ui.note(&format!("the registry has changed: {}", plural(count, "agent"))),
                        Err(failure) => {
                            ui.warn_about("the site stays as it was", &failure);
                        }
                    }
                }
            });
            serve(listener, Arc::clone(&preview)).await;
            Ok::<(), Failure>(())
        };
        match signals::run(ui, server) {
            // An interruption is the normal way to end the server.
            Err(failure) if matches!(failure.exit(), Exit::Interrupted(_)) => Ok(()),
            done => done?,
        }
    })?;
    Ok(Exit::Success)
}

fn busy(port: u16, error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::AddrInUse {
        return Failure::unable(format!("port {port} is in use")).help("name another with --port, or --port 0 for any");
    }
    Failure::unable(format!("cannot listen on port {port} of 127.0.0.1: {error}")).help("name another with --port")
}

/// Builds the tree in memory, and serves it from now on. Returns the number of its agents.
fn update(
    preview: &Preview,
    directory: &Path,
    base_url: &str,
    args: &Args,
    global: &Global,
    ui: &Ui,
) -> Result<usize, Failure> {
    let (config, allowed_hosts) = (global.config_in(directory)?, global.allowed_hosts()?);
    let levels = configured_levels(&config, &global.config_file(directory))?;
    let registry = Registry::load(directory)?;
    let check = CheckOptions {
        levels: &levels,
        allowed_hosts: &allowed_hosts,
        config: &config,
        survey: None,
        advisories: None,
    };
    let site = Site {
        directory,
        capabilities: args.capabilities.as_deref(),
        history: args.history.as_deref(),
        // A registry of its own whose address is not set is at none but this one.
        published: tree::base_url(None, &config, directory),
    };
    let request = BuildRequest {
        registry: &registry,
        check: &check,
        base_url: Some(base_url),
        earlier: None,
        site: Some(site),
        output: None,
    };
    build(&request, |checked, result| {
        if let Some(errors) = build_errors(&registry, checked, ui.look_of_notes()) {
            ui.show(&errors);
        }
        let built = result.map_err(|error| {
            // The preview has no previous tree that agents with errors could be kept from.
            let Error::Tree(BuildError::Findings { agents }) = &error else { return Failure::from(error) };
            let place = if agents.is_empty() { "the registry".to_owned() } else { brief_list(agents, tree::NAMED) };
            Failure::findings(format!("errors in {place}"))
                .help("correct the errors; `acp-registry validate` lists them")
        })?;
        preview.replace(built.tree.contents().map_err(Error::from)?);
        Ok(built.with(tree::AgentOutcome::is_in_tree).count())
    })
}
