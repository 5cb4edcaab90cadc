//! For people at a terminal: the source line with the place underlined.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Level as Title, Origin, Renderer, Snippet};

use super::{Report, plural};
use crate::check::Status;
use crate::finding::{Finding, Level};
use crate::source::Span;
use crate::text::{begins_command, is_hidden, printable};

/// How many characters of a source line are shown.
const WIDTH: usize = 120;

/// In how many files equal findings are shown one by one.
const SINGLE: usize = 3;

/// How many places of equal findings are named.
const PLACES: usize = 10;

/// How many of them stand before the place.
const LEAD: usize = 40;

pub(super) fn render(report: &Report<'_>) -> String {
    let renderer = if report.color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    let equal = equal(&report.checked.findings);
    for finding in &report.checked.findings {
        let others = match equal.get(&key(finding)).map(Vec::as_slice) {
            Some([first, others @ ..]) if std::ptr::eq(*first, finding) => others,
            Some(_) => continue,
            None => &[],
        };
        out.push_str(&one(finding, others, (report.text)(&finding.file), &renderer));
        out.push_str("\n\n");
    }
    let checked = report.checked;
    let skipped = checked.count_agents(Status::Skipped);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{} checked: {}, {}{}",
        plural(checked.agents.len() - skipped, "agent"),
        plural(checked.count(Level::Error), "error"),
        plural(checked.count(Level::Warning), "warning"),
        if skipped == 0 { String::new() } else { format!(" ({} not selected)", plural(skipped, "agent")) },
    );
    out
}

/// What equal findings have in common.
type Key<'a> = (&'a str, Level, Cow<'a, str>, Option<&'a str>);

fn key(finding: &Finding) -> Key<'_> {
    // One dead network is one trouble, whatever the addresses are.
    let message: Cow<'_, str> = if finding.rule.starts_with("url/") {
        finding.message.split('`').step_by(2).collect::<Vec<_>>().join("`").into()
    } else {
        finding.message.as_str().into()
    };
    (finding.rule, finding.level, message, finding.help.as_deref())
}

/// Findings that are equal in so many files that one of them is shown for all.
fn equal(findings: &[Finding]) -> BTreeMap<Key<'_>, Vec<&Finding>> {
    let mut groups: BTreeMap<Key<'_>, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(key(finding)).or_default().push(finding);
    }
    let files = |group: &[&Finding]| group.iter().map(|finding| finding.file.as_str()).collect::<BTreeSet<_>>().len();
    groups.retain(|_, group| files(group) > SINGLE);
    groups
}

/// Where else a finding applies.
fn places(others: &[&Finding]) -> String {
    let place = |finding: &&Finding| {
        let at = finding.span.map_or_else(String::new, |span| format!(":{}:{}", span.line, span.column));
        format!("{}{at}", printable(&finding.file))
    };
    let shown: Vec<String> = others.iter().take(PLACES).map(place).collect();
    let more = if others.len() > PLACES { ", …" } else { "" };
    format!("and {} more: {}{more}", others.len(), shown.join(", "))
}

fn one(finding: &Finding, others: &[&Finding], text: Option<&str>, renderer: &Renderer) -> String {
    let level = if finding.level == Level::Error { Title::ERROR } else { Title::WARNING };
    let file = printable(&finding.file);
    let origin = Origin::path(&*file);
    let title = level.primary_title(&*finding.message).id(finding.rule);
    let mut group = match finding.span.zip(text).and_then(|(span, text)| Some((span, Line::of(text, span)?))) {
        None => title.element(origin),
        Some((span, line)) => {
            let place = AnnotationKind::Primary.span(line.start..line.end);
            let snippet = Snippet::source(line.text).line_start(span.line).annotation(place);
            if line.is_cut {
                // The renderer would count columns from the cut.
                title.element(origin.line(span.line).char_column(span.column)).element(snippet)
            } else {
                title.element(snippet.path(&*file))
            }
        }
    };
    if let Some(help) = &finding.help {
        group = group.element(Title::HELP.message(&**help));
    }
    if !others.is_empty() {
        group = group.element(Title::NOTE.message(places(others)));
    }
    renderer.render(&[group])
}

/// The part of a source line that is shown, with the underlined bytes of it.
struct Line {
    text: String,
    start: usize,
    end: usize,
    /// Whether characters before the place are left out.
    is_cut: bool,
}

impl Line {
    /// The first line of a place, cut to a window around it, with hidden characters replaced one by one.
    fn of(text: &str, span: Span) -> Option<Self> {
        let line = text.split('\n').nth(span.line - 1)?.trim_end_matches('\r');
        let first = span.column - 1;
        let last = if span.end_line == span.line { span.end_column - 1 } else { usize::MAX };
        let skip = if first > LEAD + LEAD { first - LEAD } else { 0 };
        let mut shown = Self { text: String::new(), start: 0, end: 0, is_cut: skip > 0 };
        if skip > 0 {
            shown.text.push('…');
        }
        let mut characters = line.char_indices().enumerate().skip(skip);
        for (at, (offset, c)) in characters.by_ref().take(WIDTH) {
            if at == first {
                shown.start = shown.text.len();
            }
            shown.text.push(match c {
                '\t' => ' ',
                c if is_hidden(c) || begins_command(&line[offset..]) => char::REPLACEMENT_CHARACTER,
                c => c,
            });
            if (first..last).contains(&at) {
                shown.end = shown.text.len();
            }
        }
        if characters.next().is_some() {
            shown.text.push('…');
        }
        if shown.end <= shown.start {
            // The place is the end of the line or of the file.
            shown.start = shown.text.len();
            shown.end = shown.start;
        }
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, column: usize, end_column: usize) -> (String, String) {
        let line = Line::of(text, Span { line: 1, column, end_line: 1, end_column }).unwrap();
        (line.text.clone(), line.text[line.start..line.end].to_owned())
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}HERE{}", "ä".repeat(1000), "b".repeat(1_000_000));
        let (shown, marked) = line(&text, 1001, 1005);
        assert_eq!(marked, "HERE");
        assert_eq!(shown.chars().count(), WIDTH + 2);
        assert!(shown.starts_with('…') && shown.ends_with('…'));
    }

    #[test]
    fn hidden_characters_do_not_reach_the_terminal() {
        assert_eq!(line("x ##[error]y", 5, 6), ("x \u{fffd}#[error]y".into(), "[".into()));
        assert_eq!(line("a\u{1b}[31m\tb\u{202e}", 2, 3), ("a\u{fffd}[31m b\u{fffd}".into(), "\u{fffd}".into()));
    }

    #[test]
    fn the_end_of_a_line_can_be_pointed_at() {
        assert_eq!(line("ab", 3, 3), ("ab".into(), String::new()));
        assert!(Line::of("ab", Span { line: 9, column: 1, end_line: 9, end_column: 1 }).is_none());
    }
}
