//! All output: results go to stdout, messages to stderr.

use std::borrow::Cow;
use std::env;
use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use acp_registry::failure::{AgentFailure, Failure};
use acp_registry::json;
use acp_registry::ops::Report;
use acp_registry::text::{json_for_log, printable};
use clap::{Args, ValueEnum};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use serde::Serialize;
use terminal_size::{Width, terminal_size_of};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::documents::{Document, Event};
use crate::terminal::call::{EventSink, RpcCall, begin_result, write_result, write_stderr};
use crate::terminal::layout::{ColorChoice, Look};
use crate::terminal::remedy;
use crate::terminal::similar_messages::alike;

/// The heading of the global flags in the help.
pub(crate) const HEADING: &str = "Global options";

/// The flags of every command that are about its output.
#[derive(Debug, Clone, Args)]
pub(crate) struct OutputArgs {
    /// Print results and errors only
    #[arg(short, long, global = true, help_heading = HEADING, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Print what is being done
    #[arg(short, long, global = true, help_heading = HEADING)]
    pub(crate) verbose: bool,

    /// How progress is shown: auto, json or never [default: auto]
    ///
    /// `auto` shows bars on a terminal, unless `CI` is set. `json` writes one JSON object per event to stderr, notes and
    /// errors included.
    #[arg(
        long, global = true, help_heading = HEADING, value_name = "FORM", default_value = "auto",
        hide_default_value = true, hide_possible_values = true
    )]
    pub(crate) progress: ProgressChoice,

    /// When to use colours: auto, always or never [default: auto]
    ///
    /// `auto` uses them on a terminal, unless `NO_COLOR` or `CI` is set.
    #[arg(
        long, global = true, help_heading = HEADING, value_name = "WHEN", default_value = "auto",
        hide_default_value = true, hide_possible_values = true
    )]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressChoice {
    /// Bars on a terminal, unless `CI` is set
    Auto,
    /// One JSON object per event, notes and errors included
    Json,
    /// No progress
    Never,
}

/// Writes results and messages, as far as the flags allow.
pub(crate) struct Ui {
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
    progress: ProgressChoice,
    /// The progress display on stderr. Other output is written above it.
    bars: MultiProgress,
    /// The call of a client, if the command runs for one. It receives all output.
    call: Option<Arc<RpcCall>>,
}

impl Ui {
    pub(crate) fn new(args: &OutputArgs) -> Self {
        let (quiet, verbose, progress) = (args.quiet, args.verbose, args.progress);
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let ui = Self { quiet, verbose, color: args.color, progress, bars, call: None };
        if ui.may_show_progress() {
            ui.bars.set_draw_target(ProgressDrawTarget::stderr());
        }
        ui
    }

    /// The output of a command that runs for a client.
    pub(crate) fn for_call(call: Arc<RpcCall>) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let (color, progress) = (ColorChoice::Never, ProgressChoice::Json);
        Self { quiet: false, verbose: false, color, progress, bars, call: Some(call) }
    }

    /// Whether the command runs beside others, for a client.
    pub(crate) fn is_call(&self) -> bool {
        self.call.is_some()
    }

    /// Is ready once the client has cancelled the command.
    pub(crate) async fn cancelled(&self) {
        match &self.call {
            Some(call) => call.cancelled().await,
            None => pending().await,
        }
    }

    /// Lets the end of the process free a value, which takes time for a large index. For a client, the process goes on.
    pub(crate) fn leave<T>(&self, value: T) {
        if !self.is_call() {
            std::mem::forget(value);
        }
    }

    /// Whether the command may use the terminal that stdin is.
    pub(crate) fn has_terminal(&self) -> bool {
        !self.is_call() && io::stdin().is_terminal()
    }

    /// Whether a question can be asked: stdin and stderr are terminals.
    pub(crate) fn may_ask(&self) -> bool {
        self.has_terminal() && io::stderr().is_terminal()
    }

    /// Colours and width of results.
    pub(crate) fn look(&self) -> Look {
        let width = terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns));
        Look { color: self.color.is_used(io::stdout().is_terminal()), width }
    }

    /// Colours and width of messages.
    pub(crate) fn look_of_notes(&self) -> Look {
        let width = terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns));
        Look { color: self.color.is_used(io::stderr().is_terminal()), width }
    }

    /// Whether progress is displayed.
    pub(crate) fn may_show_progress(&self) -> bool {
        let is_wanted = self.progress == ProgressChoice::Auto && !self.quiet && !self.verbose;
        is_wanted && io::stderr().is_terminal() && env::var_os("CI").is_none()
    }

    /// Adds a bar to the display until it is cleared.
    pub(crate) fn bar(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.add(bar)
    }

    /// The progress display.
    pub(crate) fn bars(&self) -> MultiProgress {
        self.bars.clone()
    }

    /// Whether the terminal is too narrow for a bar with its numbers.
    pub(crate) fn is_narrow() -> bool {
        terminal_size_of(io::stderr()).is_some_and(|(Width(columns), _)| columns < 100)
    }

    /// Writes to stderr, above the progress display.
    fn write(&self, text: &str) {
        self.bars.suspend(|| write_stderr(text));
    }

    /// Whether messages are shown on a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        !self.quiet && !self.sends_events() && io::stderr().is_terminal()
    }

    /// Whether progress is sent as events, so that stderr has one JSON object per line.
    pub(crate) fn sends_events(&self) -> bool {
        self.progress == ProgressChoice::Json
    }

    /// The receiver of events, if progress is sent as events.
    pub(crate) fn events(&self) -> Option<EventSink> {
        let of_call = self.call.clone().map(EventSink::Call);
        of_call.or_else(|| self.sends_events().then_some(EventSink::Stderr))
    }

    /// Writes a document, or hands it to the client.
    pub(crate) fn document<T: Serialize>(&self, document: &Document<'_, T>) -> Result<(), Failure> {
        if let Some(call) = &self.call {
            call.answer(document);
            return Ok(());
        }
        let completed = remedy::complete_document(document);
        self.result(&completed.map_or_else(|| document.to_text(), |document| json::to_string(&document)))
    }

    /// Writes the document of a report, or hands it to the client.
    pub(crate) fn report(&self, report: &impl Report) -> Result<(), Failure> {
        self.document(&Document::new(report.command(), report).failed(report.failure()))
    }

    /// Writes a result. A client gets documents only.
    pub(crate) fn result(&self, text: &str) -> Result<(), Failure> {
        if self.is_call() {
            return Ok(());
        }
        // Results are often printed to the log of a CI job, where some texts would be commands.
        let text = if text.starts_with('{') { json_for_log(text) } else { Cow::Borrowed(text) };
        // First, since who waits here must not keep others from the display.
        let _turn = begin_result();
        self.bars.suspend(|| write_result(&text))
    }

    /// Writes the JSON document of a failed command.
    pub(crate) fn failure_as_json(&self, command: &str, failure: &Failure) {
        let document = Document::failed_command(Some(command), failure.clone());
        // The failure is also written to stderr; an error of this write cannot be reported.
        let _ = self.document(&document);
    }

    /// Prints an informational message.
    pub(crate) fn note(&self, text: &str) {
        let text = &remedy::complete(text);
        if let Some(events) = self.events() {
            events.send(&Event::Note { message: text });
        } else if !self.quiet {
            self.write(&format!("note: {}\n", clean(text)));
        }
    }

    /// Prints the result of one step of a long operation.
    pub(crate) fn step(&self, text: &str) {
        if !self.quiet && !self.sends_events() {
            self.write(&format!("{}\n", clean(text)));
        }
    }

    /// Prints what is being done, with `--verbose`.
    pub(crate) fn detail(&self, text: &str) {
        if self.verbose && !self.sends_events() {
            self.write(&format!("{}\n", clean(text)));
        }
    }

    /// Prints a warning. The command can still succeed.
    pub(crate) fn warning(&self, text: &str) {
        let text = &remedy::complete(text);
        if let Some(events) = self.events() {
            events.send(&Event::Warning { message: text });
        } else if !self.quiet {
            self.write(&format!("{} {}\n", self.head("warning:", "33"), clean(text)));
        }
    }

    /// Prints an error without help.
    pub(crate) fn error(&self, text: &str) {
        if let Some(events) = self.events() {
            return events.send(&Event::Error { message: text });
        }
        self.write(&format!("{} {}\n", self.head("error:", "31"), clean(text)));
    }

    /// Prints the failure of the command, with its help.
    pub(crate) fn failure(&self, failure: &Failure) {
        if let Some(events) = self.events() {
            return events.send(&Event::Failed(failure.clone()));
        }
        self.error(&failure.to_string());
        self.help(failure);
    }

    /// Prints a failure that does not stop the command as a warning, with its help. `before` precedes the message, and
    /// names the agent.
    pub(crate) fn warn_about(&self, before: &str, failure: &Failure) {
        let message = if before.is_empty() { failure.to_string() } else { format!("{before}: {}", failure.reason()) };
        if let Some(events) = self.events() {
            return events.send(&Event::Failing { message: &message, help: failure.advice() });
        }
        self.warning(&message);
        if !self.quiet {
            self.help(failure);
        }
    }

    fn help(&self, failure: &Failure) {
        if let Some(advice) = failure.advice() {
            self.write(&format!("{} {}\n", self.head("help:", "36"), clean(&remedy::complete(&advice))));
        }
    }

    /// Prints the failures of agents, with their help. Similar failures of many agents are printed once.
    pub(crate) fn failures(&self, failures: &[AgentFailure]) {
        self.failures_in(failures, |_, failure| failure.to_string());
    }

    /// Like [`Self::failures`], with the id before each message.
    pub(crate) fn failures_by_id(&self, failures: &[AgentFailure]) {
        self.failures_in(failures, |id, failure| format!("{id}: {}", failure.reason()));
    }

    fn failures_in(&self, failures: &[AgentFailure], message: impl Fn(&str, &Failure) -> String) {
        if let Some(events) = self.events() {
            return failures.iter().for_each(|failed| events.send(&Event::AgentFailed(failed.clone())));
        }
        let message = |failed: &AgentFailure| message(&failed.id, &failed.failure);
        let messages: Vec<(&str, String)> = failures.iter().map(|failed| (&*failed.id, message(failed))).collect();
        for shown in alike(&messages) {
            self.error(&messages[shown.at].1);
            self.help(&failures[shown.at].failure);
            if let Some(others) = shown.others {
                self.write(&format!("  {others}\n"));
            }
        }
    }

    /// Prints a text, which must be printable.
    pub(crate) fn show(&self, text: &str) {
        if let Some(events) = self.events() {
            return events.send(&Event::Text { message: text });
        }
        self.write(text);
    }

    fn head(&self, word: &str, color: &str) -> String {
        self.look_of_notes().paint(&format!("1;{color}"), word)
    }
}

/// Escapes control characters, and keeps line breaks. For paths and for messages of the system.
fn clean(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Writes lines of the log as events. Each is written in one call.
struct EventLog;

impl Write for EventLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        EventSink::Stderr.send(&Event::Text { message: String::from_utf8_lossy(line).trim_end() });
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs to stderr if `ACP_REGISTRY_LOG` holds a filter such as `debug`. Dependencies are not logged, since some would log
/// secrets.
pub(crate) fn start(ui: &Ui) {
    let Ok(filter) = env::var("ACP_REGISTRY_LOG") else { return };
    let filter = match filter.parse::<Targets>() {
        Ok(filter) => filter,
        Err(error) => return ui.warning(&format!("ACP_REGISTRY_LOG is not a log filter, such as `debug`: {error}")),
    };
    let own = filter_fn(|metadata| metadata.target().starts_with("acp_registry"));
    let writer = if ui.sends_events() { BoxMakeWriter::new(|| EventLog) } else { BoxMakeWriter::new(io::stderr) };
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    // Fails only if a log is already installed.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter).with_filter(own)).try_init();
}
