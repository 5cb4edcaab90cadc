//! `acp-registry login` and `acp-registry logout`

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use acp_registry::duration;
use acp_registry::failure::{Exit, Failure};
use acp_registry::handshake::{AuthMethod, Conversation, Listener};
use acp_registry::host::start::{Program, attend};
use acp_registry::login::{Needed, SignInResult, SignInStatus};
use acp_registry::ops::{self, Attempt, MethodsReport, Report as _, SignIn, SignInReport, SignOut, Step};
use acp_registry::session::{AgentSpec, Session};
use acp_registry::text::{printable, quote};
use tokio::task::spawn_blocking;

use crate::commands::leftovers;
use crate::documents;
use crate::flags::candidates;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::call::{EventSink, write_stderr};
use crate::terminal::layout::{INDENT, Look, cut, stderr};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

/// The most methods that are shown.
const METHODS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    agent: AgentSpec,

    /// The sign-in method of the agent, by its id
    ///
    /// Without it, the only method is used, or you are asked which one.
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,

    /// How long signing in may take [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    /// The agent
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    agent: AgentSpec,

    /// How long signing out may take [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    timeout: Option<Duration>,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let request = SignIn { agent: args.agent.clone(), method: args.method.clone(), timeout: args.timeout };
    sign_in(&session, &request, args.format.is_json(), ui)
}

pub(crate) fn log_out(args: &LogoutArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let request = SignOut { agent: args.agent.clone(), timeout: args.timeout };
    with_attempt(&session, &request, ui, |attempt| {
        let report = signals::run(ui, attempt.sign_out())??;
        show(&report, args.format.is_json(), ui)
    })
}

/// Signs in to or out of an agent.
pub(crate) fn with_attempt<T>(
    session: &Session,
    request: &SignOut,
    ui: &Ui,
    work: impl FnOnce(&Attempt<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (relay, events) = (Relay::new(ui), events(ui));
    let attempt = Attempt::new(session, &request.agent, request.timeout, &relay, &events)?;
    work(&attempt).map_err(Failure::in_persons_home)
}

/// Signs in to an agent.
pub(crate) fn sign_in(session: &Session, request: &SignIn, is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    let SignIn { agent, method, timeout } = request;
    with_attempt(session, &SignOut { agent: agent.clone(), timeout: *timeout }, ui, |attempt| {
        leftovers::clear(ui);
        let mut step = signals::run(ui, attempt.sign_in(method.as_deref()))??;
        if let Step::Ask(methods) = &step {
            if !ui.may_ask() {
                return several(&MethodsReport::to_choose(&agent.id, methods.clone()), is_json, ui);
            }
            step = signals::run(ui, attempt.sign_in(Some(&ask(&agent.id, methods, ui)?)))??;
        }
        let report = match step {
            Step::Done(report) => *report,
            Step::Terminal(result, program) => {
                let failed = run_in_terminal(&result, program, is_json, ui)?;
                signals::run(ui, attempt.confirm(*result, failed.as_deref()))??
            }
            Step::Ask(_) => {
                return Err(Failure::unable("the agent offers other ways to sign in each time it is asked"));
            }
        };
        show(&report, is_json, ui)
    })
}

/// Asks the person for one of the methods.
fn ask(id: &str, methods: &[AuthMethod], ui: &Ui) -> Result<String, Failure> {
    let question = format!("{} can be signed in to in several ways:", quote(id));
    let items: Vec<String> = methods.iter().take(METHODS).map(method).collect();
    let names: Vec<&str> = methods.iter().map(|method| method.id.as_str()).collect();
    Ok(methods[choose(&question, &items, &names, ui)?].id.clone())
}

/// The longest answer that is read, in bytes.
const ANSWER_LIMIT: u64 = 1000;

/// How often the question is repeated after an invalid answer.
const ATTEMPTS: usize = 3;

/// Shows a numbered list on stderr and reads the answer: a number in the list, or a full name. Returns the index of the
/// chosen name. `items` must be printable, and must correspond to the first names; there may be more names than items.
fn choose(question: &str, items: &[String], names: &[&str], ui: &Ui) -> Result<usize, Failure> {
    let list: String = items.iter().enumerate().map(|(at, item)| format!("  {}  {item}\n", at + 1)).collect();
    signals::run_and_forget(async {
        ui.show(&format!("{question}\n{list}"));
        for _ in 0..ATTEMPTS {
            ui.show(&format!("1 to {}, or a name: ", items.len()));
            // A blocking read cannot be cancelled: after a signal, its thread is abandoned.
            let answer = spawn_blocking(|| line_of_stdin(ANSWER_LIMIT))
                .await
                .map_err(Failure::unable)?
                .map_err(Failure::unable)?;
            let Some(answer) = answer else { break };
            if let Some(place) = place(answer.trim(), items.len(), names) {
                return Ok(place);
            }
            ui.show(&format!("{} is none of them\n", quote(answer.trim())));
        }
        Err(Failure::usage("nothing was chosen"))
    })?
}

/// Returns the index that an answer selects. A number in the list always means that item, even if a name is equal to it.
fn place(answer: &str, numbers: usize, names: &[&str]) -> Option<usize> {
    match answer.parse::<usize>() {
        Ok(number) if (1..=numbers).contains(&number) => Some(number - 1),
        _ => names.iter().position(|name| !answer.is_empty() && *name == answer),
    }
}

/// Runs the agent's program in the terminal. Returns how it ended, unless it succeeded.
fn run_in_terminal(result: &SignInResult, program: Program, is_json: bool, ui: &Ui) -> Result<Option<String>, Failure> {
    if !ui.has_terminal() {
        return Err(Attempt::needs_terminal(result));
    }
    // stdout is reserved for the result.
    let is_shown = !is_json && io::stdout().is_terminal();
    let stdout = if is_shown { Stdio::inherit() } else { io::stderr().into() };
    ui.note(&format!("{} has the terminal now", quote(&result.id)));
    let exit = signals::run_beside_program(attend(program, stdout))?
        .map_err(|error| Failure::unable(format!("{} cannot be started: {error}", quote(&result.id))))?;
    if exit.signal == Some(i32::from(signals::INTERRUPT)) || exit.code == Some(128 + i32::from(signals::INTERRUPT)) {
        return Err(Failure::interrupted(signals::INTERRUPT));
    }
    Ok((exit.code != Some(0)).then(|| exit.describe()))
}

/// Reports that a method must be chosen, if there is no terminal to ask on.
fn several(report: &MethodsReport, is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    let Some(failure) = report.failure() else { return Ok(Exit::Success) };
    if !is_json {
        return Err(failure);
    }
    ui.failure(&failure);
    ui.report(report)?;
    Ok(failure.exit())
}

pub(crate) fn show(report: &SignInReport, is_json: bool, ui: &Ui) -> Result<Exit, Failure> {
    if is_json {
        ui.report(report)?;
    } else {
        ui.result(&text(&report.result, ui.look()))?;
    }
    Ok(report.exit())
}

/// Renders an attempt to sign in or out. Texts of the agent are made printable.
fn text(attempt: &SignInResult, look: Look) -> String {
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
        line("help", help);
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

/// The longest line that is relayed, in bytes.
const LINE: u64 = 4096;

/// Relays between agent and user while it is switched on.
pub(crate) struct Relay {
    shared: Arc<(Mutex<RelayState>, Condvar)>,
    /// The receiver of the agent's output; stderr if there is none.
    events: Option<EventSink>,
    may_ask: bool,
}

#[derive(Default)]
struct RelayState {
    is_on: bool,
    /// Whether the agent has printed anything since the relay was switched on.
    has_spoken: bool,
}

impl Relay {
    pub(crate) fn new(ui: &Ui) -> Self {
        Self { shared: Arc::default(), events: ui.events(), may_ask: ui.may_ask() }
    }
}

impl ops::Relay for Relay {
    /// Returns a listener that shows the agent's output while the relay is on.
    fn listener(&self) -> Listener {
        let (shared, events) = (self.shared.clone(), self.events.clone());
        Arc::new(move |line: &str| {
            let mut heard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.is_on {
                match &events {
                    Some(events) => events.send(&documents::Event::Text { message: &printable(line) }),
                    None => write_stderr(&format!("  | {}\n", printable(line))),
                }
                heard.has_spoken = true;
                shared.1.notify_all();
            }
        })
    }

    /// Switches the relay on. On a terminal, each line that the user types is sent to the agent's stdin once the agent
    /// has printed something.
    fn begin(&self, conversation: &Conversation) {
        let shared = self.shared.clone();
        shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = true;
        if !self.may_ask {
            return;
        }
        let agent = conversation.relay();
        // A blocking read of the terminal cannot be cancelled: the thread ends with the process.
        thread::spawn(move || {
            let heard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            drop(shared.1.wait_while(heard, |heard| !heard.has_spoken));
            while let Ok(Some(line)) = line_of_stdin(LINE) {
                if !agent.say(&line) {
                    break;
                }
            }
        });
    }

    /// Switches the output of the agent off.
    fn end(&self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = false;
    }
}

/// Reads one line of stdin without its line ending, or its first `limit` bytes; `None` at end of file.
fn line_of_stdin(limit: u64) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(limit).read_until(b'\n', &mut line)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_before_a_name_and_a_name_only_in_full() {
        let names = ["2", "login", "7", "", "beyond"];
        for (answer, expected) in [
            ("", None),
            ("0", None),
            ("log", None),
            ("LOGIN", None),
            ("-1", None),
            ("1", Some(0)),
            ("2", Some(1)),
            ("7", Some(2)),
            ("login", Some(1)),
            ("beyond", Some(4)),
        ] {
            assert_eq!(place(answer, 2, &names), expected, "{answer}");
        }
    }
}
