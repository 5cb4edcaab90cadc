//! `acp-registry probe`

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry::handshake::{FailReason, HandshakeOptions, Outcome, Verdict, check};
use acp_registry::host::fs::{read_bounded, temporary, write_atomic};
use acp_registry::host::process::{self, Environment, Isolation, LaunchSpec, Namespace, Network, Orphans};
use acp_registry::ops::unremoved;
use acp_registry::text::{nearest, plural, printable, quote};
use acp_registry::verify::VerifyEvent;

use crate::documents::Document;
use crate::flags::global::Global;
use crate::flags::isolation::{self, NetworkKind, SandboxKind};
use crate::flags::level::LevelArgs;
use crate::flags::network::RemoteArgs;
use crate::flags::report::ReportArgs;
use crate::flags::value;
use crate::formats::examination::{Examinee, file_of_command, github, sarif};
use crate::formats::{Format, junit, outcome};
use crate::terminal::arguments::words;
use crate::terminal::layout::Look;
use crate::terminal::progress::AgentsProgress;
use crate::terminal::remedy::complete;
use crate::terminal::ui::Ui;
use crate::terminal::{layout, signals};
use acp_registry::duration;
use acp_registry::examination::{self, Examination, Exchange, Level, Recipe, Replayed};
use acp_registry::failure::{Exit, Failure};
use clap::ValueEnum;
use serde::Serialize;
use std::{env, fs};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Time limit for the answer to `initialize` [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    /// Set a variable for the agent (repeatable)
    ///
    /// Of your environment, it sees PATH and the like only.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, conflicts_with = "url")]
    env: Vec<(String, String)>,

    /// The version of the protocol to ask for
    #[arg(long, value_name = "N", default_value = "1", value_parser = value::number(1..=u16::MAX))]
    protocol_version: u16,

    /// Send nothing after `initialize`
    #[arg(long)]
    no_probe: bool,

    /// Hide the host's files from the agent
    #[arg(long, value_name = "PROGRAM", conflicts_with = "url")]
    sandbox: Option<SandboxKind>,

    /// The network that the agent reaches
    ///
    /// The default is `shared` for the handshake, and `none` for the examination beyond it. At the level `handshake`, `none`
    /// needs --sandbox.
    #[arg(long, value_name = "NETWORK", conflicts_with = "url")]
    network: Option<NetworkKind>,

    /// With --sandbox, let the agent read and start this, too (repeatable)
    #[arg(long, value_name = "PATH", requires = "sandbox")]
    readable: Vec<PathBuf>,

    /// Start the agent in this directory [default: an empty one, which is removed afterwards]
    ///
    /// The agent can write to DIR. Without it, words of the command that name files of your working directory become
    /// absolute paths.
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    level: LevelArgs,

    /// Examine it with the recipe of this agent of the registry
    ///
    /// That is `[examine.ID]` in `registry.toml`, which leads the agent to the scripted model.
    #[arg(long, value_name = "ID")]
    recipe: Option<String>,

    /// Write the messages of each failed check to a file in this directory
    ///
    /// --replay sends them again.
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    failures: Option<PathBuf>,

    /// Send the messages of an earlier failure again, and show what the agent writes
    ///
    /// FILE is one that --failures has written. The messages are shown as they come, in no other form.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "format", "output", "level", "require", "no_probe"])]
    replay: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) report: ReportArgs,

    /// The agent: a program with its arguments
    #[arg(last = true, required_unless_present = "url", conflicts_with = "url", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let exchange = args.replay.as_deref().map(read).transpose()?;
    if let Some(directory) = &args.failures {
        fs::create_dir_all(directory).map_err(|error| unwritten(directory, &error))?;
    }
    // A wrong address or header is reported once, before anything is started.
    let url = args.remote.url.as_deref();
    let endpoint = url.map(|url| args.remote.endpoint(url, global)).transpose()?;
    let mut demand = args.level.demand((None, None), args.no_probe, url.is_some())?.with_endpoint(endpoint);
    if let Some(id) = &args.recipe {
        let recipes = global.config()?.examine.recipes;
        if !recipes.contains_key(id) {
            let text = format!("there is no `[examine.{}]` in the registry's `registry.toml`", printable(id));
            return Err(match nearest(id, recipes.keys().map(String::as_str)) {
                Some(near) => Failure::usage(text).help(format!("did you mean {}?", quote(near))).suggest([near]),
                None => Failure::usage(text).help("add it, or leave out --recipe"),
            });
        }
        demand = demand.with_recipes(recipes);
    }
    if let Some(exchange) = exchange {
        return replay(args, &exchange, &demand.recipe(args.recipe.as_deref()), global, ui);
    }
    let files = args.report.files(None)?;
    let launch = launch(args, global)?;
    // The bridge to an agent on a network is this program itself.
    let network = args.network.or(args.remote.url.as_ref().map(|_| NetworkKind::Shared));
    let networks = isolation::networks(args.sandbox, network, &demand)?;
    let name = args.name();
    let mut options = HandshakeOptions::new(temporary());
    options.protocol_version = args.protocol_version;
    options.timeout = args.timeout.unwrap_or(options.timeout);
    options.probe = options.probe.filter(|_| !args.no_probe);
    let runner = args.command.first().and_then(|program| Path::new(program).file_stem()).unwrap_or_default();
    let is_fetched = ["npx", "uvx", "npm", "pnpm", "bunx"].iter().any(|known| runner == *known);
    if demand.level() > Level::Handshake && networks.examination == Network::None && is_fetched {
        ui.note(&format!(
            "an examined agent has no network, which {} may want for packages: install them first and name their \
             program, or add --network shared",
            runner.display()
        ));
    }
    ui.detail(&format!("starting {name}, which has {} s to answer", options.timeout.as_secs_f64()));
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree.
    let orphans = process::adopt_orphans();
    process::hide_from_agents();
    let (asked, mut launch) = (&options, launch);
    let progress = AgentsProgress::new(ui, vec![name.clone()]);
    let shown = &progress;
    shown.show(VerifyEvent::Checking(0));
    let outcome = signals::run(ui, async move {
        launch.isolation.check(&launch.environment).await?;
        let namespace = match networks.examination {
            Network::Shared => None,
            Network::None => Some(Namespace::create(launch.launcher.as_deref()).await?),
        };
        launch.namespace = namespace.clone().filter(|_| networks.handshake == Network::None);
        let led = demand.lead(&launch, asked, args.recipe.as_deref()).await;
        let (led, options, _model) = led.map_err(|error| Failure::unable(format!("the scripted model: {error}")))?;
        let mut outcome = check(&led, &options).await?;
        if let Some(failure) = unreached(&outcome).filter(|_| url.is_some()) {
            return Err(failure);
        }
        launch.namespace = namespace;
        let examining = |done, all| shown.show(VerifyEvent::Examining(0, done, all));
        let id = args.recipe.as_deref();
        let examination = demand.meet(&launch, asked, &mut outcome, id, None, &examining).await;
        // The namespace ends here: what the agent has left behind is ended and counted below.
        Ok::<_, Failure>((outcome, examination))
    });
    progress.clear();
    let hidden = orphans.map_or(0, Orphans::end);
    let (mut outcome, examination) = outcome??;
    if url.is_some() {
        // What keeps the bridge apart from this machine says nothing about the agent.
        outcome.isolation = outcome::UNKNOWN;
    }
    if hidden > 0 {
        outcome.handshake.warnings.push(format!("had hidden processes, which were ended as well: {hidden}"));
    }
    let left = examination.iter().flat_map(|examination| &examination.left);
    outcome.left.iter().chain(left).for_each(|error| ui.warning(&unremoved(error)));
    files.write(ui, &mut |format, look| render(args, &outcome, examination.as_ref(), &name, (format, look)))?;
    if let Some(directory) = &args.failures {
        let written = write_failures(directory, examination.as_ref(), args)?;
        ui.note(&format!("{} in {}", plural(written, "exchange"), directory.display()));
    }
    if outcome.reason == Some(FailReason::Exited) && args.directory.is_none() && args.remote.url.is_none() {
        ui.note("the agent was started in an empty directory: if it needs files of yours, add --directory .");
    }
    if outcome.reason == Some(FailReason::SpawnFailed) && args.command.len() == 1 && name.contains(' ') {
        ui.note("the whole command is one word here: write it without quotes");
    }
    Ok(if outcome.verdict == Verdict::Pass { Exit::Success } else { Exit::Findings })
}

/// Why the bridge to an agent at an address has ended without an answer: the agent is not to blame.
fn unreached(outcome: &Outcome) -> Option<Failure> {
    let code = outcome.exit.as_ref().and_then(|exit| exit.code);
    if outcome.reason != Some(FailReason::Exited) || code != Some(Exit::Unable.code().into()) {
        return None;
    }
    let cause = outcome.stderr_tail.lines().find_map(|line| line.strip_prefix("error: "));
    let cause = cause.unwrap_or("the agent cannot be reached");
    Some(Failure::unable(printable(cause)).help("see that a server answers there"))
}

/// Members of `probe`.
#[derive(Debug, Serialize)]
struct ProbeDocument<'a> {
    /// The outcome of the handshake.
    #[serde(flatten)]
    outcome: &'a Outcome,
    /// The results of its examination, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    examination: Option<&'a Examination>,
}

fn render(
    args: &Args,
    outcome: &Outcome,
    examination: Option<&Examination>,
    name: &str,
    (format, look): (Format, Look),
) -> String {
    let agent = || {
        let directory = env::current_dir().unwrap_or_default();
        let file = file_of_command(args.command.iter().map(Path::new), &directory);
        Examinee::from_outcome(name, &file, outcome, examination)
    };
    match format {
        Format::Human => outcome::outcome(outcome, examination, name, look),
        Format::Json => {
            let reason = || outcome.message.as_deref().unwrap_or("the agent does not pass");
            let help = match outcome.reason {
                Some(FailReason::SpawnFailed) => {
                    "name a program in `PATH`, or write its path, with each argument as a word"
                }
                _ => "see `stderr_tail`, where agents often name the cause",
            };
            let failing = || Failure::findings(reason()).help(help);
            let failure = (outcome.verdict != Verdict::Pass).then(failing);
            Document::new("probe", ProbeDocument { outcome, examination }).failed(failure).to_text()
        }
        Format::Junit => junit::by_level(&agent()),
        Format::Sarif => sarif(&[agent()]),
        Format::Github => github(&[agent()]),
        Format::Markdown => outcome::markdown(outcome, examination, name),
    }
}

impl Args {
    /// The command that sends an exchange again to this agent. Values of variables and of headers may be secrets.
    fn replay_command(&self, exchange: &Path) -> Vec<String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = ["acp-registry", "probe"].map(str::to_owned).to_vec();
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
        self.recipe.iter().for_each(|id| flag("--recipe", id.clone()));
        self.directory.iter().for_each(|place| flag("--directory", path(place)));
        self.env.iter().for_each(|(name, _)| flag("--env", format!("{name}=…")));
        self.sandbox.iter().for_each(|kind| flag("--sandbox", value_name(kind)));
        self.network.iter().for_each(|kind| flag("--network", value_name(kind)));
        self.readable.iter().for_each(|place| flag("--readable", path(place)));
        flag("--replay", path(exchange));
        if let Some(url) = &self.remote.url {
            flag("--url", without_query(url));
        } else {
            words.push("--".to_owned());
            words.extend(self.command.iter().map(|word| word.to_string_lossy().into_owned()));
        }
        words
    }
}

/// A query may hold a token.
fn without_query(url: &str) -> String {
    url.split('?').next().unwrap_or_default().to_owned()
}

/// A value as a person writes it.
fn value_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Writes what was written in each failed check, one file each, and returns their number.
fn write_failures(directory: &Path, examination: Option<&Examination>, args: &Args) -> Result<usize, Failure> {
    let mut written = 0;
    for examined in examination.iter().flat_map(|examination| &examination.checks) {
        let Some(exchange) = &examined.exchange else { continue };
        let path = directory.join(format!("{}.exchange", examined.check.id.replace('/', "-")));
        let command = complete(&format!("`{}`", words(&args.replay_command(&path))));
        let command = command.trim_matches('`');
        let message = examined.message.as_deref().unwrap_or_default();
        let text = format!("# {}: {}\n# {}\n{exchange}", examined.check.id, printable(message), printable(command));
        write_atomic(&path, text.as_bytes()).map_err(|error| error.unwritable("--failures"))?;
        written += 1;
    }
    Ok(written)
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unable(format!("{}: {error}", path.display())).help("name a directory that can be written with --failures")
}

/// The largest exchange that is read, in bytes.
const EXCHANGE: u64 = 8 << 20;

fn read(path: &Path) -> Result<Exchange, Failure> {
    let wrong = |problem: String| {
        let failure = Failure::usage(format!("{}: {problem}", path.display()));
        failure.help("name a file that `acp-registry probe --failures DIR` has written")
    };
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let root = folder.canonicalize().map_err(|error| wrong(error.to_string()))?;
    let bytes = read_bounded(&root.join(path.file_name().unwrap_or_default()), &root, EXCHANGE);
    let text = String::from_utf8(bytes.map_err(|error| wrong(error.to_string()))?);
    Exchange::parse(&text.map_err(|error| wrong(error.to_string()))?).map_err(|error| wrong(error.to_string()))
}

/// Sends an exchange again. The lines are shown when they are written.
fn replay(args: &Args, exchange: &Exchange, recipe: &Recipe, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let launch = launch(args, global)?;
    let mut options = HandshakeOptions::new(temporary());
    options.timeout = args.timeout.unwrap_or(options.timeout);
    let orphans = process::adopt_orphans();
    process::hide_from_agents();
    let mut unshown = None;
    let replayed = signals::run(ui, async {
        launch.isolation.check(&launch.environment).await?;
        let mut tell = |is_agent: bool, line: &str| {
            let who = if is_agent { "agent" } else { "client" };
            unshown = unshown.take().or(ui.result(&format!("{who} {}\n", printable(line))).err());
        };
        let replayed = examination::replay(&launch, &options, recipe, exchange, &mut tell).await;
        replayed.map_err(Failure::unable)
    });
    orphans.map(Orphans::end);
    let Replayed { exit, stderr, left } = replayed??;
    if let Some(error) = left {
        ui.warning(&unremoved(&error));
    }
    if let Some(failure) = unshown {
        return Err(failure);
    }
    let ended = exit.map(|exit| format!("agent ended with {}\n", exit.describe())).unwrap_or_default();
    ui.result(&format!("{ended}{}", layout::stderr(&stderr)))?;
    Ok(Exit::Success)
}

impl Args {
    /// The command, or the address, of which a query may hold a secret.
    fn name(&self) -> String {
        match &self.remote.url {
            Some(url) => without_query(url),
            None => self.command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
        }
    }
}

fn launch(args: &Args, global: &Global) -> Result<LaunchSpec, Failure> {
    if let Some(url) = &args.remote.url {
        return Ok(LaunchSpec {
            program: env::current_exe().map_err(Failure::unable)?.into(),
            arguments: args.remote.bridge(url, global).into_iter().map(OsString::from).collect(),
            directory: None,
            environment: Environment::for_person(env::vars_os()),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: isolation::launcher(),
            namespace: None,
        });
    }
    let mut environment = Environment::from_host(env::vars_os());
    // Users may set variables that manifests must not.
    for (name, value) in &args.env {
        environment.set(name, value);
    }
    let here = env::current_dir().map_err(|error| Failure::unable(format!("the working directory: {error}")))?;
    let directory = args.directory.as_ref().map(|directory| here.join(directory));
    if let Some(other) = directory.as_ref().filter(|directory| !directory.is_dir()) {
        let message = format!("--directory: {} is not a directory", quote(&other.display().to_string()));
        return Err(Failure::usage(message).help("name one that exists"));
    }
    let word = |word: &OsString| if directory.is_some() { word.clone() } else { located(word, &here) };
    let (program, arguments) = args.command.split_first().ok_or_else(|| Failure::usage("a command is missing"))?;
    // A program without a directory is one of `PATH`.
    let program = if Path::new(program).components().count() > 1 { word(program) } else { program.clone() };
    let base = directory.as_ref().unwrap_or(&here);
    Ok(LaunchSpec {
        readable: if args.sandbox.is_some() { readable(&program, base, &args.readable) } else { Vec::new() },
        program,
        arguments: arguments.iter().map(word).collect(),
        directory,
        environment,
        isolation: match args.sandbox {
            // The command is the user's own, and may need files that only the user can read.
            None => Isolation::Environment,
            Some(_) => isolation::isolation(args.sandbox, args.network),
        },
        launcher: isolation::launcher(),
        namespace: None,
    })
}

/// A word of the command: an absolute path if it names a file below the working directory, where the agent is not started.
fn located(word: &OsString, here: &Path) -> OsString {
    let path = here.join(word);
    // A word such as `serve` is an argument, even if a directory has this name.
    let is_path = word.to_string_lossy().contains(['/', '\\', '.']);
    if is_path && path.exists() { path.into() } else { word.clone() }
}

/// The paths that a command needs in its sandbox: the working directory, the directory of the program, and the given
/// paths. The first two are left out if they contain the home directory.
fn readable(program: &OsString, directory: &Path, named: &[PathBuf]) -> Vec<PathBuf> {
    let program = directory.join(program);
    let home = env::home_dir().unwrap_or_default();
    let usual = [Some(directory), program.parent()].into_iter().flatten();
    let mut paths: Vec<PathBuf> = usual.filter(|path| !home.starts_with(path)).map(Path::to_owned).collect();
    paths.extend(named.iter().map(|path| directory.join(path)));
    paths
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
        value::wrong("is not of the form NAME=VALUE", "write the name, `=` and the value, such as `LANG=C`")
    })?;
    Ok((name.to_owned(), value.to_owned()))
}
