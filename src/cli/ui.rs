//! Everything that is printed: stdout is data, stderr is talk.

use std::borrow::Cow;
use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};

use acp_registry::report::documents::{Document, Event};
use acp_registry::report::{Look, alike};
use acp_registry::text::{json_for_log, printable};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use terminal_size::{Width, terminal_size_of};

use super::exit::Failure;
use super::global::{ColorChoice, Global, ProgressChoice};

/// Writes results and notes, and knows what the caller wants to see.
pub(super) struct Ui {
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
    progress: ProgressChoice,
    /// What is drawn on stderr while work is going on. Everything else that is written goes above it.
    bars: MultiProgress,
}

impl Ui {
    pub(super) fn new(global: &Global) -> Self {
        let (quiet, verbose, progress) = (global.quiet, global.verbose, global.progress);
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        let ui = Self { quiet, verbose, color: global.color, progress, bars };
        if ui.may_show_progress() {
            ui.bars.set_draw_target(ProgressDrawTarget::stderr());
        }
        ui
    }

    /// Whether the result may have colours.
    pub(super) fn color_stdout(&self) -> bool {
        self.may_color(io::stdout().is_terminal())
    }

    /// How a result is shown to people.
    pub(super) fn look(&self) -> Look {
        let width = terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns));
        Look { color: self.color_stdout(), width }
    }

    /// How long notes are shown to people.
    pub(super) fn look_of_notes(&self) -> Look {
        let width = terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns));
        Look { color: self.color_stderr(), width }
    }

    /// Whether notes may have colours.
    pub(super) fn color_stderr(&self) -> bool {
        self.may_color(io::stderr().is_terminal())
    }

    /// Whether a person watches the progress.
    pub(super) fn may_show_progress(&self) -> bool {
        let is_wanted = self.progress == ProgressChoice::Auto && !self.quiet && !self.verbose;
        is_wanted && io::stderr().is_terminal() && env::var_os("CI").is_none()
    }

    /// Shows a bar until it is cleared.
    pub(super) fn bar(&self, bar: ProgressBar) -> ProgressBar {
        self.bars.add(bar)
    }

    /// What is drawn.
    pub(super) fn bars(&self) -> MultiProgress {
        self.bars.clone()
    }

    /// Whether the terminal is too narrow for a bar and its numbers.
    pub(super) fn is_narrow() -> bool {
        terminal_size_of(io::stderr()).is_some_and(|(Width(columns), _)| columns < 100)
    }

    /// Writes to stderr, above what is drawn there.
    fn write(&self, text: &str) {
        self.bars.suspend(|| write_stderr(text));
    }

    /// Whether notes are read by a person at a terminal.
    pub(super) fn is_watched(&self) -> bool {
        !self.quiet && !self.sends_events() && io::stderr().is_terminal()
    }

    /// Whether a program reads how far the work is: stderr then holds one JSON object a line.
    pub(super) fn sends_events(&self) -> bool {
        self.progress == ProgressChoice::Json
    }

    fn may_color(&self, is_terminal: bool) -> bool {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                is_terminal
                    && !is_set("NO_COLOR")
                    && !is_set("CI")
                    && env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }

    /// Writes a result.
    pub(super) fn result(&self, text: &str) -> Result<(), Failure> {
        // Results are often printed to the log of a CI job.
        let text = if text.starts_with('{') { json_for_log(text) } else { Cow::Borrowed(text) };
        let write = || io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
        match self.bars.suspend(write) {
            // The reader has closed the pipe.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::unable(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Writes the JSON document of a command that failed.
    pub(super) fn failure_as_json(&self, command: &str, failure: &Failure) {
        let document = Document::of_failure(Some(command), failure.document());
        // What failed is said on stderr as well; a failure of this cannot be reported.
        let _ = self.result(&document.to_text());
    }

    /// Says something that the caller may want to know.
    pub(super) fn note(&self, text: &str) {
        if self.sends_events() {
            send_event(&Event::Note { message: text });
        } else if !self.quiet {
            self.write(&format!("note: {}\n", clean(text)));
        }
    }

    /// Says that a part of long work is done, and how it ended.
    pub(super) fn step(&self, text: &str) {
        if !self.quiet && !self.sends_events() {
            self.write(&format!("{}\n", clean(text)));
        }
    }

    /// Says what is being done, to those who asked.
    pub(super) fn detail(&self, text: &str) {
        if self.verbose && !self.sends_events() {
            self.write(&format!("{}\n", clean(text)));
        }
    }

    /// Says what the caller should know although the command succeeds.
    pub(super) fn warning(&self, text: &str) {
        if self.sends_events() {
            send_event(&Event::Warning { message: text });
        } else if !self.quiet {
            self.write(&format!("{} {}\n", self.head("warning:", "33"), clean(text)));
        }
    }

    /// Says why the command failed.
    pub(super) fn error(&self, text: &str) {
        if self.sends_events() {
            return send_event(&Event::Error { message: text });
        }
        self.write(&format!("{} {}\n", self.head("error:", "31"), clean(text)));
    }

    /// Says why the command failed, and what to do.
    pub(super) fn failure(&self, failure: &Failure) {
        if self.sends_events() {
            return send_event(&Event::Failed(failure.document()));
        }
        self.error(&failure.to_string());
        self.help(failure);
    }

    /// Says that something has failed without which the command goes on, and what to do. `before` stands before the message,
    /// and names the agent.
    pub(super) fn warning_of(&self, before: &str, failure: &Failure) {
        let message = if before.is_empty() { failure.to_string() } else { format!("{before}: {}", failure.reason()) };
        if self.sends_events() {
            return send_event(&Event::Failing { message: &message, help: failure.advice() });
        }
        self.warning(&message);
        if !self.quiet {
            self.help(failure);
        }
    }

    fn help(&self, failure: &Failure) {
        if let Some(advice) = failure.advice() {
            self.write(&format!("{} {}\n", self.head("help:", "36"), clean(&advice)));
        }
    }

    /// Says why agents failed, with what to do; what is the same for many of them once.
    pub(super) fn failures(&self, failures: &[(&str, &Failure)]) {
        self.failures_in(failures, |_, failure| failure.to_string());
    }

    /// The same with the id before each message, for agents that are installed already.
    pub(super) fn failures_by_id(&self, failures: &[(&str, &Failure)]) {
        self.failures_in(failures, |id, failure| format!("{id}: {}", failure.reason()));
    }

    fn failures_in(&self, failures: &[(&str, &Failure)], message: impl Fn(&str, &Failure) -> String) {
        if self.sends_events() {
            let event = |(id, failure): &(&str, &Failure)| Event::AgentFailed(failure.of_agent(id));
            return failures.iter().for_each(|failed| send_event(&event(failed)));
        }
        let messages: Vec<(&str, String)> = failures.iter().map(|(id, failure)| (*id, message(id, failure))).collect();
        for shown in alike(&messages) {
            self.error(&messages[shown.at].1);
            self.help(failures[shown.at].1);
            if let Some(others) = shown.others {
                self.write(&format!("  {others}\n"));
            }
        }
    }

    /// Shows a text that is printable already.
    pub(super) fn show(&self, text: &str) {
        if self.sends_events() {
            return send_event(&Event::Text { message: text });
        }
        self.write(text);
    }

    /// Shows a line of another program.
    pub(super) fn said(line: &str) {
        write_stderr(&format!("  | {}\n", printable(line)));
    }

    fn head(&self, word: &str, color: &str) -> String {
        if self.color_stderr() { format!("\u{1b}[1;{color}m{word}\u{1b}[0m") } else { word.to_owned() }
    }
}

/// Writes an event as one line.
pub(super) fn send_event(event: &Event<'_>) {
    let event = serde_json::to_value(event).unwrap_or_default();
    write_stderr(&format!("{}\n", json_for_log(&acp_registry::json::to_line(&event))));
}

/// Paths and messages of the system go through here: line by line without control characters.
fn clean(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

pub(super) fn write_stderr(text: &str) {
    // Without stderr there is nowhere to complain.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Writes to stdout before there is a [`Ui`].
pub(super) fn write_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
