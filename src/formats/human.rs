//! The report for a terminal: source lines with the place underlined.

use acp_registry::check::CheckOutcome;
use acp_registry::finding::{Finding, Level};
use acp_registry::position::Span;
use acp_registry::text::{begins_command, is_hidden, plural, printable};
use annotate_snippets::{AnnotationKind, Level as Title, Origin, Renderer, Snippet};
use unicode_width::UnicodeWidthChar as _;

use crate::formats::{Report, equal, others, summary};
use crate::terminal::layout::Look;

/// The longest part of a source line that is shown, in columns.
const WIDTH: usize = 120;

/// The shortest part of a source line that is shown, in columns, however narrow the terminal is.
const NARROWEST: usize = 20;

/// Width of the frame beside a source line, without the line number, in columns.
const FRAME: usize = 3;

/// How many places of a group of equal findings are listed.
const PLACES: usize = 10;

/// The narrowest width that messages are wrapped to, in columns.
const TITLE: usize = 20;

/// How many columns before the place are shown of a long line.
const LEAD: usize = 40;

pub(crate) fn render(report: &Report<'_>) -> String {
    let skipped = report.checked.count_agents(CheckOutcome::Skipped);
    let unselected = if skipped == 0 { String::new() } else { format!(" ({} not selected)", plural(skipped, "agent")) };
    findings(report) + &report.look.wrap(&(summary(report.checked) + &unselected), 2)
}

/// Renders the findings without the summary line.
pub(crate) fn findings(report: &Report<'_>) -> String {
    let page = FindingsText { look: report.look, renderer: renderer(report.look) };
    let mut out = String::new();
    let equal = equal(&report.checked.findings);
    for finding in &report.checked.findings {
        let Some(others) = others(finding, &equal) else { continue };
        out.push_str(&page.finding(finding, others, (report.text)(&finding.file)));
        out.push_str("\n\n");
    }
    out
}

/// The other places of a group of equal findings.
fn places(others: &[&Finding]) -> String {
    let place = |finding: &&Finding| {
        let at = finding.span.map_or_else(String::new, |span| format!(":{}:{}", span.line, span.column));
        format!("{}{at}", printable(&finding.file))
    };
    let shown: Vec<String> = others.iter().take(PLACES).map(place).collect();
    let more = if others.len() > PLACES { ", …" } else { "" };
    format!("and {} more: {}{more}", others.len(), shown.join(", "))
}

fn renderer(look: Look) -> Renderer {
    let renderer = if look.color { Renderer::styled() } else { Renderer::plain() };
    // Source lines are cut by `Line`, around the place; the renderer must not cut them again.
    renderer.term_width(WIDTH * 4)
}

/// Renders findings one by one.
struct FindingsText {
    look: Look,
    renderer: Renderer,
}

impl FindingsText {
    fn finding(&self, finding: &Finding, others: &[&Finding], text: Option<&str>) -> String {
        let level = if finding.level == Level::Error { Title::ERROR } else { Title::WARNING };
        let file = printable(&finding.file);
        let origin = Origin::path(&*file);
        let label = if finding.level == Level::Error { "error" } else { "warning" };
        let at = label.len() + finding.rule.len() + "[]: ".len();
        // Beside a long label, wrapped text would become a narrow column.
        let has_room = self.look.width.is_none_or(|width| width >= at + TITLE);
        let message = if has_room { self.wrapped(&finding.message, at) } else { finding.message.clone() };
        let title = level.primary_title(message).id(finding.rule);
        let lines =
            finding.span.zip(text).and_then(|(span, text)| Some((span, Line::of(text, span, self.room(span))?)));
        let digits = lines.as_ref().map_or(1, |(span, _)| digits(span.line));
        let mut group = match lines {
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
        if let Some(help) = finding.help.as_deref() {
            group = group.element(Title::HELP.message(self.wrapped(help, digits + " = help: ".len())));
        }
        if !others.is_empty() {
            group = group.element(Title::NOTE.message(self.wrapped(&places(others), digits + " = note: ".len())));
        }
        self.renderer.render(&[group])
    }

    /// Width available for a source line, in columns.
    fn room(&self, span: Span) -> usize {
        let beside = digits(span.line) + FRAME;
        self.look.width.map_or(WIDTH, |width| width.saturating_sub(beside).clamp(NARROWEST, WIDTH))
    }

    /// Wraps a text that begins at column `at`, after its label. The renderer indents the continuation lines.
    fn wrapped(&self, text: &str, at: usize) -> String {
        let width = self.look.width.map(|width| width.saturating_sub(at));
        Look { width, ..self.look }.wrap(text, 0).trim_end().to_owned()
    }
}

/// Number of digits of a line number.
fn digits(line: usize) -> usize {
    line.to_string().len()
}

/// The visible part of a source line, and the byte range to underline.
struct Line {
    text: String,
    start: usize,
    end: usize,
    /// Whether characters before the visible part were cut.
    is_cut: bool,
}

impl Line {
    /// Returns the first line of a place, cut to `room` columns around it. Each hidden character is replaced.
    fn of(text: &str, span: Span, room: usize) -> Option<Self> {
        let line = text.split('\n').nth(span.line - 1)?.trim_end_matches('\r');
        let first = span.column - 1;
        let last = if span.end_line == span.line { span.end_column - 1 } else { usize::MAX };
        let skip = skipped(line, first, last, room);
        let mut out = Self { text: String::new(), start: 0, end: 0, is_cut: skip > 0 };
        let mut used = 0;
        if skip > 0 {
            out.text.push('…');
            used += 1;
        }
        let mut characters = line.char_indices().enumerate().skip(skip).peekable();
        while let Some((at, (offset, c))) = characters.next() {
            let c = match c {
                '\t' => ' ',
                c if is_hidden(c) || begins_command(&line[offset..]) => char::REPLACEMENT_CHARACTER,
                c => c,
            };
            used += columns(c);
            if used + usize::from(characters.peek().is_some()) > room {
                out.text.push('…');
                break;
            }
            if at == first {
                out.start = out.text.len();
            }
            out.text.push(c);
            if (first..last).contains(&at) {
                out.end = out.text.len();
            }
        }
        if out.end <= out.start {
            // The place is the end of the line or of the file.
            out.start = out.text.len();
            out.end = out.start;
        }
        Some(out)
    }
}

/// How many characters to cut from the beginning of a line so that the place is visible.
fn skipped(line: &str, first: usize, last: usize, room: usize) -> usize {
    let before: usize = line.chars().take(first).map(columns).sum();
    let place: usize = line.chars().skip(first).take((last - first).min(LEAD)).map(columns).sum();
    if before + place < room {
        return 0;
    }
    let lead = LEAD.min(room / 3);
    let mut left = before;
    let passed = line.chars().take(first).take_while(|c| {
        let is_passed = left > lead;
        left -= if is_passed { columns(*c) } else { 0 };
        is_passed
    });
    passed.count()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, column: usize, end_column: usize) -> (String, String) {
        let line = Line::of(text, Span { line: 1, column, end_line: 1, end_column }, WIDTH).unwrap();
        (line.text.clone(), line.text[line.start..line.end].to_owned())
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}HERE{}", "ä".repeat(1000), "b".repeat(1_000_000));
        let (shown, marked) = line(&text, 1001, 1005);
        assert_eq!(marked, "HERE");
        assert_eq!(shown.chars().count(), WIDTH);
        assert!(shown.starts_with('…') && shown.ends_with('…'));
    }

    #[test]
    fn a_line_fits_the_room_there_is() {
        let text = format!("{}HERE{}", "日本".repeat(20), "b".repeat(90));
        let span = Span { line: 1, column: 41, end_line: 1, end_column: 45 };
        for room in NARROWEST..130 {
            let line = Line::of(&text, span, room).unwrap();
            assert_eq!(&line.text[line.start..line.end], "HERE", "{room}: {}", line.text);
            assert!(line.text.chars().map(columns).sum::<usize>() <= room, "{room}: {}", line.text);
            assert_eq!(line.is_cut, line.text.starts_with('…'));
        }
        // A line that fits is shown from its beginning.
        assert_eq!(line("<svg width=\"1\">", 6, 11), ("<svg width=\"1\">".into(), "width".into()));
    }

    #[test]
    fn hidden_characters_do_not_reach_the_terminal() {
        assert_eq!(line("x ##[error]y", 5, 6), ("x \u{fffd}#[error]y".into(), "[".into()));
        assert_eq!(line("a\u{1b}[31m\tb\u{202e}", 2, 3), ("a\u{fffd}[31m b\u{fffd}".into(), "\u{fffd}".into()));
    }

    #[test]
    fn the_end_of_a_line_can_be_pointed_at() {
        assert_eq!(line("ab", 3, 3), ("ab".into(), String::new()));
        assert!(Line::of("ab", Span { line: 9, column: 1, end_line: 9, end_column: 1 }, WIDTH).is_none());
    }
}
