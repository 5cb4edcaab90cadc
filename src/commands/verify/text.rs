//! The results of `verify`, for people: a table, and details of what did not pass.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use acp_registry::text::{cell, plural, printable, prose, quote};
use acp_registry::verify::{Nothing, Row, RowCounts, State, TaskVerdict};
use serde::Serialize;
use serde_json::Value;

use crate::documents::Document;
use crate::formats::examination::examination;
use crate::formats::outcome::{found, isolation, outcome};
use crate::terminal::excerpt::{INDENT, cut, stderr};
use crate::terminal::layout::Look;
use crate::terminal::similar_messages::alike;
use crate::terminal::table::{Columns, table};

/// Index of the column with verdicts.
const VERDICT: usize = 3;

/// Indexes of the columns with numbers.
const NUMBERS: [usize; 2] = [5, 6];

const HEAD: [&str; 7] = ["agent", "version", "dist", "verdict", "reason", "install s", "answer s"];

/// Renders the rows as a table, followed by details of failures.
pub(crate) fn verify(rows: &[Row], duration: Duration, look: Look) -> String {
    let cells: Vec<[String; 7]> = rows.iter().map(cells).collect();
    let paint = |row: usize, column: usize| (column == VERDICT).then(|| code(rows[row].verdict()));
    let of = Columns { numbers: &NUMBERS, paint: &paint, ..Columns::plain(&HEAD) };
    let mut out = table(&of, &cells, look);
    let told: Vec<&Row> = rows.iter().filter(|row| has_details(row)).collect();
    let messages: Vec<(&str, String)> =
        told.iter().enumerate().map(|(at, row)| (row.id.as_str(), sameness(at, row))).collect();
    for shown in alike(&messages) {
        out.push('\n');
        out.push_str(&details(told[shown.at], look));
        if let Some(others) = shown.others {
            out.push_str(&look.wrap(&format!("  {others}"), INDENT));
        }
    }
    let end = format!("{}{}", notes(rows), summary(rows, duration));
    out.push('\n');
    out.extend(end.lines().map(|line| look.wrap(line, 2)));
    out
}

/// Returns the JSON document.
pub(crate) fn verify_document(rows: &[Row], duration: Duration) -> Document<'static, VerifyDocument> {
    let summary = VerifyCounts { rows: RowCounts::of(rows), duration_seconds: duration.as_secs_f64() };
    Document::new("verify", VerifyDocument { results: rows.iter().map(Row::to_json).collect(), summary })
}

/// Members of `verify`.
#[derive(Debug, Serialize)]
pub(crate) struct VerifyDocument {
    /// One row per distribution, in the form of a snapshot.
    results: Vec<Value>,
    summary: VerifyCounts,
}

/// How many rows have each verdict, and how long the run took.
#[derive(Debug, Serialize)]
struct VerifyCounts {
    #[serde(flatten)]
    rows: RowCounts,
    duration_seconds: f64,
}

/// Says why there was nothing to verify.
pub(crate) fn nothing_to_verify(nothing: &Nothing) -> String {
    format!("no agents to verify: {}\n", why(nothing))
}

/// Why there are no agents to process.
pub(crate) fn why(nothing: &Nothing) -> String {
    match nothing {
        Nothing::NoAgents => "the registry has none; `acp-registry new` adds one".to_owned(),
        Nothing::Withdrawn => {
            "registry.toml withdraws all of them; remove an entry below `[withdrawn]` to publish it again".to_owned()
        }
        Nothing::Unchanged(revision) => format!("none has changed since {}", quote(revision)),
        Nothing::OtherKinds { kinds, is_of_changed } => {
            let of = if *is_of_changed { "none of those that have changed" } else { "none" };
            format!("{of} has a distribution {}", kinds.join(" or "))
        }
        Nothing::EmptyShard(shard) => format!("part {shard} has none"),
        Nothing::NotSelected => "none was selected".to_owned(),
    }
}

/// Renders a row as one line of progress: the `number`th result of `total`.
pub(crate) fn verified_one(row: &Row, number: usize, total: usize) -> String {
    let verdict = if matches!(row.state, State::Reused(_)) { "reused" } else { row.verdict().as_str() };
    let verdict = row.reason().map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}, {reason}"));
    format!("{number} of {total}: {} ({}) {verdict}", printable(&row.id), row.distribution())
}

/// Renders the table and the details as Markdown for a comment on GitHub.
pub(crate) fn verify_markdown(rows: &[Row], duration: Duration) -> String {
    let mut out =
        format!("### Agents: {}\n\n| {} |\n|{}\n", summary(rows, duration), HEAD.join(" | "), "---|".repeat(7));
    for row in rows {
        let _ = writeln!(out, "| {} |", cells(row).map(|text| cell(&prose(&text))).join(" | "));
    }
    for row in rows.iter().filter(|row| has_details(row)) {
        // Markdown shows lines indented by four spaces literally.
        let text: String = details(row, Look::default()).lines().map(|line| format!("    {line}\n")).collect();
        let _ = write!(out, "\n{text}");
    }
    let _ = write!(out, "\n{}", notes(rows));
    out
}

/// Describes how agents were isolated, and explains `flaky` if any row is.
fn notes(rows: &[Row]) -> String {
    let names: BTreeSet<&str> = rows.iter().filter_map(Row::isolation).collect();
    let mut out = String::new();
    for name in &names {
        let ids: BTreeSet<&str> =
            rows.iter().filter(|row| row.isolation() == Some(name)).map(|row| row.id.as_str()).collect();
        // If all agents were isolated in one way, there is no need to list them.
        let ids = if names.len() > 1 { format!(" ({})", cut(&Vec::from_iter(ids).join(", "))) } else { String::new() };
        let _ = writeln!(out, "isolation: {}{ids}", isolation(name));
    }
    if rows.iter().any(Row::is_flaky) {
        out.push_str("flaky: passed only when it was started again, while no other agent ran\n");
    }
    out
}

fn summary(rows: &[Row], duration: Duration) -> String {
    let RowCounts { passed, failed, errors, skipped, reused, held } = RowCounts::of(rows);
    let seconds = duration.as_secs_f64();
    let held = if held > 0 { format!(", {held} still held") } else { String::new() };
    format!(
        "{passed} passed, {failed} failed, {}, {skipped} skipped, {reused} reused{held} in {seconds:.1} s",
        plural(errors, "error")
    )
}

fn has_details(row: &Row) -> bool {
    has_trouble(row) || row.examination().is_some()
}

/// Whether the row has details other than an examination.
fn has_trouble(row: &Row) -> bool {
    row.verdict() != TaskVerdict::Pass
        || row.advice().is_some()
        || row.setup_required().is_some()
        || !row.scripts_not_run.is_empty()
}

/// A key that is equal for rows with the same problem. A row whose agent was started has a key of its own.
fn sameness(at: usize, row: &Row) -> String {
    match (&row.state, row.explanation()) {
        (State::Checked { .. } | State::Reused(_), _) | (_, None) => at.to_string(),
        (_, Some(message)) => format!("{} {} {message}", row.verdict().as_str(), row.reason().unwrap_or_default()),
    }
}

fn cells(row: &Row) -> [String; 7] {
    let seconds = |time: Option<Duration>| time.map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64()));
    let (verdict, answer) = match &row.state {
        State::Checked { outcome, .. } => (row.verdict().as_str(), outcome.timing.start_to_response),
        State::Reused(_) => ("reused", None),
        _ => (row.verdict().as_str(), None),
    };
    let install = Some(row.install).filter(|time| !time.is_zero());
    [
        cut(&row.id),
        cut(&row.version),
        row.distribution().to_owned(),
        verdict.to_owned(),
        note(row).to_owned(),
        seconds(install),
        seconds(answer),
    ]
}

/// The reason why a row did not pass; otherwise what its agent needs or did.
fn note(row: &Row) -> &'static str {
    let other = if row.is_flaky() { "flaky" } else { "" };
    row.reason().or_else(|| row.setup_required().map(|_| "setup_required")).unwrap_or(other)
}

fn code(verdict: TaskVerdict) -> &'static str {
    match verdict {
        TaskVerdict::Pass => "32",
        TaskVerdict::Fail | TaskVerdict::Error => "31",
        TaskVerdict::Skipped => "33",
    }
}

fn details(row: &Row, look: Look) -> String {
    let mut out = match &row.state {
        State::Checked { outcome: checked, .. } if has_trouble(row) => {
            outcome(checked, row.examination(), &name(row), look)
        }
        _ => state(row, look) + &row.examination().map(|found| examination(found, look)).unwrap_or_default(),
    };
    let mut more = String::new();
    if !row.scripts_not_run.is_empty() {
        let _ = writeln!(more, "  scripts   {}", row.scripts_not_run.message());
    }
    if let (Some(held), Some(advice)) = (&row.held, row.advice()) {
        let _ = write!(more, "  held      {}\n            {}\n", cut(&held.hold.reason), printable(&advice));
    }
    out.extend(more.lines().map(|line| look.wrap(line, INDENT)));
    out
}

fn name(row: &Row) -> String {
    format!("{} {} ({})", row.id, row.version, row.distribution())
}

fn heading(row: &Row) -> String {
    format!("{}: {}\n", found(row.verdict().as_str(), row.examination()), cut(&name(row)))
}

fn state(row: &Row, look: Look) -> String {
    let mut out = heading(row);
    if let (Some(reason), Some(message)) = (row.reason(), row.explanation()) {
        let _ = write!(out, "  reason    {reason}\n            {}\n", printable(&message));
    }
    if let Some(words) = row.setup_required() {
        let _ = write!(
            out,
            "  setup     it opens no session before it is set up, in its own words:\n            | {}\n",
            printable(words)
        );
    }
    if let State::NotStarted { stderr: text, .. } = &row.state
        && !text.trim().is_empty()
    {
        out.push_str(&stderr(text));
    }
    out.lines().map(|line| look.wrap(line, INDENT)).collect()
}
