//! `acp-registry login` and `acp-registry logout`

pub(crate) mod relay;
pub(crate) mod signing;
pub(crate) mod text;

use std::time::Duration;

use acp_registry::handshake::AuthMethod;
use acp_registry::login::{SignInResult, SignInStatus};
use acp_registry::session::AgentSpec;
use acp_registry::text::quote;

use self::signing::{SignIn, Step};
use crate::commands::leftovers;
use crate::documents::{Document, MethodChoice};
use crate::failure::{Exit, Failure, remedy};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::place::{CommandSession, PlaceArgs};
use crate::flags::{candidates, duration, versions};
use crate::terminal::prompt::choose;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

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
    pub(crate) place: PlaceArgs,

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
    pub(crate) place: PlaceArgs,

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
    versions::started(std::slice::from_ref(&args.agent), &session)?;
    let work = SignIn::new(&args.agent.id, args.timeout, &session, ui)?;
    let methods = signals::run(ui, work.methods())??;
    ui.document(&Document::new("login", MethodChoice { id: &args.agent.id, methods: &methods }))?;
    Ok(Exit::Success)
}

fn sign_in(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    versions::started(std::slice::from_ref(&args.agent), &session)?;
    let work = SignIn::new(&args.agent.id, args.timeout, &session, ui)?;
    leftovers::clear(ui);
    let mut step = signals::run(ui, work.begin(args.method.as_deref()))??;
    if let Step::Ask(methods) = &step {
        if !ui.may_ask() {
            return several(&args.agent.id, methods, args.format.is_json(), ui);
        }
        let question = format!("{} can be signed in to in several ways:", quote(&args.agent.id));
        let shown = &methods[..methods.len().min(METHODS)];
        let items: Vec<String> = shown.iter().map(text::method).collect();
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
    versions::started(std::slice::from_ref(&args.agent), &session)?;
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
    quote(&method.kind).trim_matches('`').to_owned()
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
    let document = Document::new("login", MethodChoice { id, methods }).failed(Some(failure.document()));
    ui.document(&document)?;
    Ok(failure.exit)
}

fn tell(command: &str, mut attempt: SignInResult, is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    attempt.help = attempt.help.as_ref().map(remedy::in_words);
    let failure = (attempt.status == SignInStatus::Failed)
        .then(|| Failure::findings(&attempt.message).remedy(attempt.help.as_ref()));
    if is_json {
        let error = failure.as_ref().map(Failure::document);
        ui.document(&Document::new(command, &attempt).failed(error))?;
    } else {
        ui.result(&text::login(&attempt, ui.look()))?;
    }
    Ok(failure.map_or(Exit::Success, |failure| failure.exit))
}
