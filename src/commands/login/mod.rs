//! `acp-registry login` and `acp-registry logout`

pub(crate) mod relay;
pub(crate) mod signing;

use std::fmt::Write as _;
use std::time::Duration;

use acp_registry::handshake::AuthMethod;
use acp_registry::login::{Needed, SignInResult, SignInStatus};
use acp_registry::session::AgentSpec;
use acp_registry::text::{escape, quote};

use self::signing::{SignIn, Step};
use crate::commands::leftovers;
use crate::documents::{Document, MethodChoice};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{CommandSession, SessionArgs};
use crate::flags::{candidates, duration, installed_version};
use crate::terminal::excerpt::{INDENT, cut, stderr};
use crate::terminal::layout::Look;
use crate::terminal::prompt::choose;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The most methods that are shown.
pub(crate) const METHODS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    #[arg(value_name = "ID", add = candidates::installed())]
    pub(crate) agent: AgentSpec,

    /// The agent's name for a way to sign in
    ///
    /// The default is the only one, else you are asked.
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,

    /// How long signing in may take [default: 600s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// The agent
    #[arg(value_name = "ID", add = candidates::installed())]
    pub(crate) agent: AgentSpec,

    /// How long signing out may take [default: 600s]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    sign_in(args, global, ui).map_err(Failure::in_persons_home)
}

pub(crate) fn log_out(args: &LogoutArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    sign_out(args, global, ui).map_err(Failure::in_persons_home)
}

/// Lists the ways to sign in to an agent.
pub(crate) fn methods(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    installed_version::started(std::slice::from_ref(&args.agent), &session)?;
    let work = SignIn::new(&args.agent.id, args.timeout, &session, ui)?;
    let methods = signals::run(ui, work.methods())??;
    ui.document(&Document::new("login", MethodChoice { id: &args.agent.id, methods: &methods }))?;
    Ok(Exit::Success)
}

fn sign_in(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    installed_version::started(std::slice::from_ref(&args.agent), &session)?;
    let work = SignIn::new(&args.agent.id, args.timeout, &session, ui)?;
    leftovers::clear(ui);
    let mut step = signals::run(ui, work.begin(args.method.as_deref()))??;
    if let Step::Ask(methods) = &step {
        if !ui.may_ask() {
            return several(&args.agent.id, methods, args.format.is_json(), ui);
        }
        let question = format!("{} can be signed in to in several ways:", quote(&args.agent.id));
        let shown = &methods[..methods.len().min(METHODS)];
        let items: Vec<String> = shown.iter().map(method).collect();
        let names: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
        let method = methods[choose(&question, &items, &names, ui)?].id.clone();
        step = signals::run(ui, work.begin(Some(&method)))??;
    }
    let attempt = match step {
        Step::Done(attempt) => *attempt,
        Step::Terminal(attempt, launch) => work.in_terminal(*attempt, launch, args.format.is_json())?,
        Step::Ask(_) => return Err(Failure::unable("the agent offers other ways to sign in each time it is asked")),
    };
    tell("login", attempt, args.format.is_json(), ui)
}

fn sign_out(args: &LogoutArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    installed_version::started(std::slice::from_ref(&args.agent), &session)?;
    let work = SignIn::new(&args.agent.id, args.timeout, &session, ui)?;
    let attempt = signals::run(ui, async {
        let mut attempt = work.attempt();
        if let Some(mut conversation) = work.open(&mut attempt).await? {
            attempt.sign_out(&mut conversation, work.limit).await;
            work.close(conversation, &mut attempt).await;
        }
        Ok::<_, Failure>(attempt)
    })??;
    tell("logout", attempt, args.format.is_json(), ui)
}

/// Lists methods by id. Printable.
pub(crate) fn list(methods: &[AuthMethod]) -> String {
    let names: Vec<String> =
        methods.iter().take(METHODS).map(|method| format!("{} ({})", quote(&method.id), kind(method))).collect();
    let more = methods.len().saturating_sub(METHODS);
    match (names.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{}, and {more} more", names.join(", ")),
    }
}

fn kind(method: &AuthMethod) -> String {
    escape(&method.kind)
}

/// Reports that a method must be chosen, if there is no terminal to ask on.
fn several(id: &str, methods: &[AuthMethod], is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    let message = format!("{} can be signed in to in several ways: {}", quote(id), list(methods));
    let names = methods.iter().take(METHODS).map(|method| method.id.as_str());
    let failure = Failure::usage(message).help("name one with --method").suggest(names);
    if !is_json {
        return Err(failure);
    }
    ui.failure(&failure);
    let document = Document::new("login", MethodChoice { id, methods }).failed(Some(failure.clone()));
    ui.document(&document)?;
    Ok(failure.exit())
}

fn tell(command: &str, attempt: SignInResult, is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    let failure = (attempt.status == SignInStatus::Failed)
        .then(|| Failure::findings(&attempt.message).help_if(attempt.help.as_deref()));
    if is_json {
        let error = failure.as_ref().cloned();
        ui.document(&Document::new(command, &attempt).failed(error))?;
    } else {
        ui.result(&login(&attempt, ui.look()))?;
    }
    Ok(failure.map_or(Exit::Success, |failure| failure.exit()))
}

/// Renders an attempt to sign in or out. Texts of the agent are made printable.
fn login(attempt: &SignInResult, look: Look) -> String {
    let (word, code) = match (attempt.status, attempt.reason) {
        (SignInStatus::SignedIn, _) => ("signed in", "32"),
        (SignInStatus::Unconfirmed, _) => ("not confirmed", "33"),
        (SignInStatus::SignedOut, _) => ("signed out", "32"),
        (SignInStatus::Failed, _) => ("failed", "31"),
    };
    let head = look.paint(&format!("1;{code}"), word);
    let mut out = format!("{head}: {} {}: {}\n", cut(&attempt.id), cut(&attempt.version), attempt.message);
    let mut line = |key: &str, text: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {key:9} {text}");
    };
    if let Some(method) = &attempt.method {
        line("method", &self::method(method));
    }
    for needed in &attempt.variables {
        line(if needed.is_set { "set" } else { "not set" }, &variable(needed));
    }
    if let Some(link) = &attempt.link {
        line("values at", link);
    }
    if let Some(help) = &attempt.help {
        line("help", &help.to_string());
    }
    if attempt.status == SignInStatus::Failed && !attempt.stderr_tail.trim().is_empty() {
        out.push_str(&stderr(&attempt.stderr_tail));
    }
    out.lines().map(|line| look.wrap(line, INDENT)).collect()
}

/// Describes an authentication method in one line.
fn method(method: &AuthMethod) -> String {
    let description = method.description().filter(|text| !text.trim().is_empty());
    let description = description.map_or_else(String::new, |text| format!(": {}", cut(text)));
    format!("{} ({}): {}{description}", quote(&method.id), cut(&method.kind), cut(&method.name))
}

fn variable(needed: &Needed) -> String {
    let variable = &needed.variable;
    let notes = match (variable.is_secret, variable.is_optional) {
        (true, true) => " (secret, optional)",
        (true, false) => " (secret)",
        (false, true) => " (optional)",
        (false, false) => "",
    };
    let label = variable.label.as_deref().map_or_else(String::new, |label| format!(": {}", cut(label)));
    format!("{}{notes}{label}", cut(&variable.name))
}
