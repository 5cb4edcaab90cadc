//! `acp-registry report`: reads the JSON documents of `validate` and `verify`, and renders them.
//!
//! A document may have been written on a machine that runs untrusted agents. It is therefore parsed strictly, and its
//! texts are escaped like those of a manifest.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry::check::{AgentStatus, CheckOutcome, Checked, find};
use acp_registry::examination::Record;
use acp_registry::failure::{Exit, Failure};
use acp_registry::finding::{Finding, Level};
use acp_registry::host::fs::{ReadError, read_bounded};
use acp_registry::json;
use acp_registry::position::Span;
use acp_registry::text::{cell, plural, printable, prose, quote};
use acp_registry::verify::TaskVerdict;
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::Value;

use crate::flags::global::{Global, prefix};
use crate::formats::examination::comment;
use crate::formats::{Format, Report};
use crate::terminal::layout::{Look, cut, stderr};
use crate::terminal::ui::Ui;

/// The largest document that is accepted, in bytes.
const INPUT_LIMIT: u64 = 64 << 20;

/// The longest comment, in bytes. GitHub's limit is 65,536 characters.
const COMMENT_LIMIT: usize = 64_000;

/// The help if a file is not a document.
const EXPECTED: &str = "name a file that `acp-registry validate --json` or `acp-registry verify --json` has written";

/// The help if SARIF is requested for anything but one document of `validate`.
const ONE_DOCUMENT: &str = "name one file that `acp-registry validate --json` has written";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "For jobs with write permission: documents of untrusted jobs are parsed strictly, and every text is escaped."
)]
pub(crate) struct Args {
    /// Documents of `validate --json` or `verify --json`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Form of the report
    ///
    /// Markdown is for a comment. SARIF takes one document of `validate`.
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    format: ReportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Markdown,
    Sarif,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let documents: Vec<Input> = args.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    // Assumes that the registry has the same path in this checkout as where the document was written.
    let prefix = global.registry_dir().canonicalize().map_or_else(|_| String::new(), |root| prefix(&root));
    if args.format == ReportFormat::Sarif {
        let [document] = &documents[..] else {
            return Err(Failure::usage("SARIF is made of one document").help(ONE_DOCUMENT));
        };
        ui.result(&render(document, Format::Sarif, &prefix)?)?;
        return Ok(Exit::Success);
    }
    let mut out = String::new();
    for (document, file) in documents.iter().zip(&args.files) {
        let text = render(document, Format::Markdown, &prefix)?;
        if out.len() + text.len() > COMMENT_LIMIT {
            ui.warning(&format!("{} did not fit into the comment", file.display()));
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
    ui.result(&out)?;
    Ok(Exit::Success)
}

fn render(document: &Input, format: Format, prefix: &str) -> Result<String, Failure> {
    let is_markdown = format == Format::Markdown;
    match document {
        Input::Validate { checked, duration } => {
            let (duration, text) = (*duration, &|_: &str| None);
            Ok(Report { checked, duration, text, prefix, look: Look::default(), failure: None }.render(format))
        }
        Input::Verify(rows) if is_markdown => Ok(verified_markdown(rows)),
        Input::Failed { command, message, results } if is_markdown => {
            let results = results.as_ref().map(|results| render(results, format, prefix)).transpose()?;
            let results = results.map_or_else(String::new, |results| format!("\n{results}"));
            Ok(format!("**`{command}` failed:** {}\n{results}", prose(message)))
        }
        Input::Failed { results: Some(results), .. } => render(results, format, prefix),
        Input::Verify(_) | Input::Failed { .. } => Err(Failure::usage("SARIF is made of findings").help(ONE_DOCUMENT)),
    }
}

/// Reads a document. Links that lead out of its directory are refused.
fn read(path: &Path) -> Result<Input, Failure> {
    let shown = path.display();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unreadable = |error: ReadError| Failure::unable(format!("{shown}: {error}")).help(EXPECTED);
    let root = folder.canonicalize().map_err(|error| unreadable(error.into()))?;
    let path = root.join(path.file_name().unwrap_or_default());
    let bytes = read_bounded(&path, &root, INPUT_LIMIT).map_err(unreadable)?;
    Input::parse(&bytes).map_err(|error| {
        let message = format!("{shown} is not reported on: {error}");
        match error {
            InputError::Other(_) => Failure::usage(message).help(EXPECTED),
            InputError::Forged { .. } => Failure::refused(message),
        }
    })
}

/// The longest text that is kept, in characters. Longer texts are cut.
const TEXT_LIMIT: usize = 4_000;

/// The longest report of one document of `verify`, in bytes. One comment may hold several reports.
const REPORT_LIMIT: usize = 20_000;

/// The contents of a document.
#[derive(Debug)]
enum Input {
    /// A document of `validate`.
    Validate {
        /// The findings, and the status of each agent.
        checked: Checked,
        /// How long the run took.
        duration: Duration,
    },
    /// The rows of a document of `verify`.
    Verify(Vec<InputRow>),
    /// A document of either command that has an error other than its findings.
    Failed {
        /// The command that failed.
        command: &'static str,
        /// The error message as one line. Printable.
        message: String,
        /// What was found nevertheless, such as the other agents when the packages of one could not be had.
        results: Option<Box<Input>>,
    },
}

/// Why a document was rejected. Messages are printable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum InputError {
    /// The file is not a document of `validate` or `verify`.
    #[error("it is not a JSON document of `validate` or `verify`: {0}")]
    Other(String),
    /// The document has contents that the command never writes.
    #[error("it was not written by `{command}`: {message}")]
    Forged {
        /// The command that the document names.
        command: &'static str,
        /// The invalid content.
        message: String,
    },
}

/// A row of `verify`. The texts are unescaped: escape them before showing them.
#[derive(Debug, Deserialize)]
struct InputRow {
    id: String,
    version: String,
    distribution: Option<String>,
    verdict: TaskVerdict,
    reason: Option<String>,
    message: Option<String>,
    handshake: Option<InputHandshake>,
    #[serde(default)]
    flaky: bool,
    #[serde(default)]
    reused: bool,
    #[serde(default)]
    stderr_tail: String,
    #[serde(default)]
    examination: Value,
}

/// The part of a row's handshake that the report needs.
#[derive(Debug, Deserialize)]
struct InputHandshake {
    setup_required: Option<String>,
}

#[derive(Deserialize)]
struct InputFinding {
    rule: String,
    level: String,
    agent: Option<String>,
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    pointer: Option<String>,
    message: String,
    help: Option<String>,
}

#[derive(Deserialize)]
struct InputAgent {
    id: String,
    status: String,
}

/// The members of both kinds of document.
#[derive(Deserialize)]
#[serde(expecting = "an object with `schema` and `command`")]
struct InputDocument {
    schema: u64,
    command: String,
    #[serde(default)]
    findings: Vec<InputFinding>,
    #[serde(default)]
    agents: Vec<InputAgent>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    results: Vec<InputRow>,
    #[serde(default)]
    summary: Value,
    error: Option<InputFailure>,
}

#[derive(Deserialize)]
struct InputFailure {
    #[serde(default)]
    code: String,
    message: String,
}

impl Input {
    /// Parses a document.
    ///
    /// # Errors
    /// Returns [`InputError`] if the text is not a document of `validate` or `verify`, or has contents that they never
    /// write.
    fn parse(text: &[u8]) -> Result<Self, InputError> {
        let other = |error: serde_json::Error| InputError::Other(printable(&error.to_string()).into_owned());
        // `summary` is kept as a tree of values, which takes more memory than its text.
        json::check_count(text).map_err(other)?;
        let members: InputDocument = serde_json::from_slice(text).map_err(other)?;
        if members.schema != 1 {
            return Err(InputError::Other("`schema` is not 1".to_owned()));
        }
        let command = match members.command.as_str() {
            "validate" => "validate",
            "verify" => "verify",
            other => return Err(InputError::Other(format!("it is one of {}", quote(other)))),
        };
        let has_results = !members.results.is_empty() || !members.agents.is_empty() || !members.findings.is_empty();
        // Findings are in the document.
        let failure = members.error.as_ref().filter(|error| error.code != "findings").map(|error| {
            let line = error.message.split_whitespace().collect::<Vec<_>>().join(" ");
            shown(&line)
        });
        let Some(message) = failure else { return Self::results(command, members) };
        let results = has_results.then(|| Self::results(command, members).map(Box::new)).transpose()?;
        Ok(Self::Failed { command, message, results })
    }

    fn results(command: &'static str, members: InputDocument) -> Result<Self, InputError> {
        if command == "verify" {
            return Ok(Self::Verify(members.results));
        }
        let seconds = members.summary["duration_seconds"].as_f64().unwrap_or_default();
        let forged = |message| InputError::Forged { command, message };
        let checked = Checked {
            findings: members.findings.into_iter().map(finding).collect::<Result<_, _>>().map_err(forged)?,
            agents: members.agents.into_iter().map(agent).collect::<Result<_, _>>().map_err(forged)?,
            notes: members.notes.iter().map(|note| shown(note)).collect(),
        };
        Ok(Self::Validate { checked, duration: Duration::try_from_secs_f64(seconds).unwrap_or_default() })
    }
}

fn shown(text: &str) -> String {
    let cut: String = text.chars().take(TEXT_LIMIT).collect();
    printable(&cut).into_owned()
}

fn finding(found: InputFinding) -> Result<Finding, String> {
    let rule = find(&found.rule).ok_or_else(|| format!("there is no rule {}", quote(&found.rule)))?;
    let level = match found.level.as_str() {
        "error" => Level::Error,
        "warning" => Level::Warning,
        other => return Err(format!("{} is not a level", quote(other))),
    };
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    if found.file.len() > TEXT_LIMIT || !found.file.split('/').all(is_plain) {
        return Err(format!("{} is not a file of a registry", quote(&found.file)));
    }
    let place = (found.line, found.column, found.end_line, found.end_column);
    let span = match place {
        (Some(line), Some(column), Some(end_line), Some(end_column)) => {
            Some(Span { line, column, end_line, end_column })
        }
        _ => None,
    };
    Ok(Finding {
        rule: rule.name,
        level,
        agent: found.agent,
        file: found.file,
        span,
        pointer: found.pointer,
        message: shown(&found.message),
        help: found.help.as_deref().map(shown),
        fix: None,
    })
}

fn agent(agent: InputAgent) -> Result<AgentStatus, String> {
    let known = [CheckOutcome::Ok, CheckOutcome::Failed, CheckOutcome::Skipped];
    let status = known.into_iter().find(|status| status.as_str() == agent.status);
    let status = status.ok_or_else(|| format!("{} is not a status", quote(&agent.status)))?;
    Ok(AgentStatus { id: agent.id, status })
}

/// Renders rows of `verify` as Markdown for a comment on GitHub.
fn verified_markdown(rows: &[InputRow]) -> String {
    let count = |verdict: TaskVerdict| rows.iter().filter(|row| row.verdict == verdict && !row.reused).count();
    let reused = rows.iter().filter(|row| row.reused).count();
    let mut out = format!(
        "### Agents: {} passed, {} failed, {}, {} skipped, {reused} reused\n\n",
        count(TaskVerdict::Pass),
        count(TaskVerdict::Fail),
        plural(count(TaskVerdict::Error), "error"),
        count(TaskVerdict::Skipped)
    );
    if rows.is_empty() {
        return out;
    }
    out.push_str("| agent | version | dist | verdict | reason |\n|---|---|---|---|---|\n");
    let mut left_out = 0;
    let mut push = |text: &str| {
        if out.len() + text.len() > REPORT_LIMIT { left_out += 1 } else { out.push_str(text) }
    };
    for row in rows {
        let cells = [&row.id, &row.version, row.distribution(), row.verdict.as_str(), row.reason()];
        push(&format!("| {} |\n", cells.map(|text| cell(&prose(&cut(text)))).join(" | ")));
    }
    for row in rows.iter().filter(|row| row.verdict != TaskVerdict::Pass) {
        let mut details = format!("{}: {}\n", row.verdict.as_str(), cut(&row.name()));
        if let Some(message) = &row.message {
            details.push_str(&format!("  {}\n", shown(message)));
        }
        if !row.stderr_tail.trim().is_empty() {
            details.push_str(&stderr(&row.stderr_tail));
        }
        // Markdown shows lines indented by four spaces literally.
        let indented: String = details.lines().map(|line| format!("    {line}\n")).collect();
        push(&format!("\n{indented}"));
    }
    for (name, record) in rows.iter().filter_map(|row| Some((row.name(), Record::read(&row.examination)?))) {
        push(&comment(&name, &record));
    }
    if left_out > 0 {
        out.push_str(&format!("\n{} did not fit into this comment.\n", plural(left_out, "part")));
    }
    out
}

impl InputRow {
    fn name(&self) -> String {
        format!("{} {} ({})", self.id, self.version, self.distribution())
    }

    fn distribution(&self) -> &str {
        self.distribution.as_deref().unwrap_or("-")
    }

    fn reason(&self) -> &str {
        let needs_setup = self.handshake.as_ref().is_some_and(|answer| answer.setup_required.is_some());
        let other = if needs_setup {
            "setup_required"
        } else if self.flaky {
            "flaky"
        } else {
            ""
        };
        self.reason.as_deref().unwrap_or(other)
    }
}
