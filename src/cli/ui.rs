//! Everything that is printed: stdout is data, stderr is talk.

use std::borrow::Cow;
use std::env;
use std::io::{self, ErrorKind, IsTerminal, Write};

use acp_registry::report::Look;
use acp_registry::text::{json_for_log, printable};
use serde_json::{Map, Value, json};
use terminal_size::{Width, terminal_size_of};

use super::exit::Failure;
use super::global::{ColorChoice, Global, ProgressChoice};

/// Writes results and notes, and knows what the caller wants to see.
pub(super) struct Ui {
    quiet: bool,
    verbose: bool,
    color: ColorChoice,
    progress: ProgressChoice,
}

impl Ui {
    pub(super) fn new(global: &Global) -> Self {
        Self { quiet: global.quiet, verbose: global.verbose, color: global.color, progress: global.progress }
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

    /// Whether notes may have colours.
    pub(super) fn color_stderr(&self) -> bool {
        self.may_color(io::stderr().is_terminal())
    }

    /// Whether somebody watches who wants to see how far the work is.
    pub(super) fn may_show_progress(&self) -> bool {
        let is_wanted = self.progress == ProgressChoice::Auto && !self.quiet && !self.verbose;
        is_wanted && io::stderr().is_terminal() && env::var_os("CI").is_none()
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
    #[expect(clippy::unused_self, reason = "all output goes through the value that commands are handed")]
    pub(super) fn result(&self, text: &str) -> Result<(), Failure> {
        // Results are often printed to the log of a CI job.
        let text = if text.starts_with('{') { json_for_log(text) } else { Cow::Borrowed(text) };
        match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
            // Whoever was reading has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::unable(format!("cannot write the result: {error}"))),
            Ok(()) => Ok(()),
        }
    }

    /// Writes the JSON document of a command that failed.
    pub(super) fn failure_as_json(&self, command: &str, failure: &Failure) {
        let error = failure.document();
        let document = json!({ "schema": 1, "command": command, "error": error });
        // What failed is said on stderr as well; there is nobody left to tell that this failed too.
        let _ = self.result(&acp_registry::json::to_string(&document));
    }

    /// Says something that the caller may want to know.
    pub(super) fn note(&self, text: &str) {
        if self.sends_events() {
            send_event("note", json!({ "message": text }));
        } else if !self.quiet {
            write_stderr(&format!("note: {}\n", clean(text)));
        }
    }

    /// Says how far long work is, where no progress is drawn.
    pub(super) fn step(&self, text: &str) {
        if !self.quiet && !self.may_show_progress() && !self.sends_events() {
            write_stderr(&format!("{}\n", clean(text)));
        }
    }

    /// Says what is being done, to those who asked.
    pub(super) fn detail(&self, text: &str) {
        if self.verbose && !self.sends_events() {
            write_stderr(&format!("{}\n", clean(text)));
        }
    }

    /// Says what the caller should know although the command succeeds.
    pub(super) fn warning(&self, text: &str) {
        if self.sends_events() {
            send_event("warning", json!({ "message": text }));
        } else if !self.quiet {
            write_stderr(&format!("{} {}\n", self.head("warning:", "33"), clean(text)));
        }
    }

    /// Says why the command failed.
    pub(super) fn error(&self, text: &str) {
        if self.sends_events() {
            return send_event("error", json!({ "message": text }));
        }
        write_stderr(&format!("{} {}\n", self.head("error:", "31"), clean(text)));
    }

    /// Says why the command failed, and what to do.
    pub(super) fn failure(&self, failure: &Failure) {
        if self.sends_events() {
            return send_event("error", failure.document());
        }
        self.error(&failure.to_string());
        if let Some(advice) = failure.advice() {
            write_stderr(&format!("{} {}\n", self.head("help:", "36"), clean(&advice)));
        }
    }

    /// Shows a text that is printable already.
    pub(super) fn show(&self, text: &str) {
        if self.sends_events() {
            return send_event("text", json!({ "message": text }));
        }
        write_stderr(text);
    }

    /// Shows a line that somebody else has said.
    pub(super) fn said(line: &str) {
        write_stderr(&format!("  | {}\n", printable(line)));
    }

    fn head(&self, word: &str, color: &str) -> String {
        if self.color_stderr() { format!("\u{1b}[1;{color}m{word}\u{1b}[0m") } else { word.to_owned() }
    }
}

/// Writes an event with these members as one line.
pub(super) fn send_event(name: &str, members: Value) {
    let mut event = Map::from_iter([("event".to_owned(), name.into())]);
    if let Value::Object(members) = members {
        event.extend(members);
    }
    write_stderr(&format!("{}\n", json_for_log(&acp_registry::json::to_line(&Value::Object(event)))));
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
