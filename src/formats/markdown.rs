//! A comment for a pull request: one table per agent.

use std::fmt::Write as _;

use acp_registry::finding::{Finding, Level};
use acp_registry::text::{cell, code_span, plural, prose};

use crate::formats::{Report, equal, others, summary};

/// The longest comment, in bytes. GitHub's limit is 65,536 characters.
const COMMENT_LIMIT: usize = 60_000;

/// The part of a comment that is reserved for notes, in bytes, if there are any.
const NOTES: usize = 4_000;

/// How many places of a group of equal findings are listed.
const PLACES: usize = 10;

/// Space reserved for the lines that count omitted findings and notes, in bytes.
const REST: usize = 100;

pub(crate) fn render(report: &Report<'_>) -> String {
    let checked = report.checked;
    let mut out = format!("**{}.**\n", summary(checked));
    let notes = || checked.notes.iter().map(|note| format!("\n⚠️ {}\n", prose(note)));
    let limit =
        COMMENT_LIMIT - 2 * REST - notes().map(|note| note.len()).fold(0, |sum, length| (sum + length).min(NOTES));
    let mut left_out = 0;
    for group in checked.findings.chunk_by(|a, b| a.agent == b.agent) {
        let mut table = format!("\n### {}\n\n", title(&group[0]));
        table.push_str("| | Rule | Place | Finding |\n|---|---|---|---|\n");
        if out.len() + table.len() > limit {
            left_out += group.len();
            continue;
        }
        out.push_str(&table);
        let equal = equal(group);
        for finding in group {
            let Some(others) = others(finding, &equal) else { continue };
            let row = row(finding, others);
            if out.len() + row.len() > limit {
                left_out += 1 + others.len();
            } else {
                out.push_str(&row);
            }
        }
    }
    if left_out > 0 {
        // Writing to a String cannot fail.
        let _ = write!(out, "\n{} more did not fit into this comment.\n", plural(left_out, "finding"));
    }
    let mut left_out = 0;
    for note in notes() {
        if out.len() + note.len() > COMMENT_LIMIT - REST { left_out += 1 } else { out.push_str(&note) }
    }
    if left_out > 0 {
        let _ = write!(out, "\n{} did not fit into this comment.\n", plural(left_out, "note"));
    }
    out
}

fn title(finding: &Finding) -> String {
    finding.agent.as_deref().map_or_else(|| "The registry".to_owned(), code_span)
}

fn row(finding: &Finding, others: &[&Finding]) -> String {
    let sign = if finding.level == Level::Error { "❌ error" } else { "⚠️ warning" };
    let name = finding.file.rsplit('/').next().unwrap_or_default();
    let at = |finding: &Finding| finding.span.map(|span| format!("{}:{}", span.line, span.column));
    let place = at(finding).map_or(String::new(), |at| format!(":{at}"));
    let more = if others.is_empty() {
        String::new()
    } else {
        let places: Vec<String> = others.iter().take(PLACES).filter_map(|other| at(other)).collect();
        let rest = if places.is_empty() || others.len() <= PLACES { "" } else { ", …" };
        let places = if places.is_empty() { String::new() } else { format!(": {}", places.join(", ")) };
        format!("<br>and {} more{places}{rest}", others.len())
    };
    let help = finding.help.as_ref().map_or(String::new(), |help| format!("<br>{}", cell(&prose(help))));
    let (place, message) = (cell(&code_span(&format!("{name}{place}"))), cell(&prose(&finding.message)));
    format!("| {sign} | `{}` | {place}{more} | {message}{help} |\n", finding.rule)
}
