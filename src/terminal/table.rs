//! Tables, for people.

use std::ops::Range;

use acp_registry::text::printable;

use crate::terminal::layout::{Look, columns, cut_to};

/// The widest padding of a cell without a terminal, in columns. Longer cells are not cut.
const WIDEST: usize = 40;

/// The narrowest last column that holds text, in columns. If less is left, the column gets a line of its own.
const ROOM: usize = 24;

/// Number of spaces between columns.
const GAP: usize = 2;

/// Indentation of lines that continue a row, in columns.
const INDENT: usize = 4;

/// How the last column of a table is treated if the terminal is too narrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// A value, treated like those of the other columns.
    Value,
    /// Text that is cut at the end.
    Beginning,
    /// Text that is wrapped.
    Text,
}

/// The columns of a table.
pub(crate) struct Columns<'a> {
    /// The names of the columns.
    pub(crate) header: &'a [&'a str],
    /// Indexes of the columns with numbers, which are aligned to the right.
    pub(crate) numbers: &'a [usize],
    /// How the last column is treated.
    pub(crate) last: Last,
    /// Returns the colour of a cell, given its row and column, as a code for [`Look::paint`].
    pub(crate) paint: &'a dyn Fn(usize, usize) -> Option<&'static str>,
}

impl<'a> Columns<'a> {
    /// Columns of words without colours.
    pub(crate) fn plain(header: &'a [&'a str]) -> Self {
        Self { header, numbers: &[], last: Last::Value, paint: &|_, _| None }
    }
}

/// Renders rows with aligned columns. Hidden characters are escaped. On a terminal that is too narrow, a row continues on
/// indented lines below it; without a terminal, every row is one line.
pub(crate) fn table<S: AsRef<str>>(of: &Columns<'_>, rows: &[impl AsRef<[S]>], look: Look) -> String {
    let mut widths: Vec<usize> = of.header.iter().map(|name| columns(name)).collect();
    // On a terminal, the full widths are needed to decide where rows break.
    let widest = if look.width.is_some() { usize::MAX } else { WIDEST };
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = columns(&printable(cell.as_ref())).min(widest).max(*width);
        }
    }
    let lines = fold(&mut widths, of.last != Last::Value, look.columns());
    let layout = Layout { of, look, widths, lines };
    let mut out = String::new();
    layout.row(&mut out, of.header, &|_| Some("1"));
    for (number, cells) in rows.iter().enumerate() {
        layout.row(&mut out, cells.as_ref(), &|at| (of.paint)(number, at));
    }
    out
}

/// The layout that all rows share.
struct Layout<'a> {
    of: &'a Columns<'a>,
    look: Look,
    widths: Vec<usize>,
    lines: Vec<Range<usize>>,
}

impl Layout<'_> {
    fn row<S: AsRef<str>>(&self, out: &mut String, cells: &[S], paint: &dyn Fn(usize) -> Option<&'static str>) {
        for (number, line) in self.lines.iter().enumerate() {
            let start = out.len();
            if number > 0 {
                out.extend(std::iter::repeat_n(' ', INDENT));
            }
            for at in line.clone() {
                self.cell(out, at, cells.get(at).map_or("", AsRef::as_ref), paint(at));
            }
            let length = out[start..].trim_end().len();
            out.truncate(start + length);
            // Empty continuation lines are left out; an empty row remains as an empty line.
            if number == 0 || length > 0 {
                out.push('\n');
            }
        }
    }

    /// Column of the terminal at which a cell begins.
    fn start(&self, at: usize) -> usize {
        let Some((number, line)) = self.lines.iter().enumerate().find(|(_, line)| line.contains(&at)) else { return 0 };
        let indent = if number > 0 { INDENT } else { 0 };
        indent + self.widths[line.start..at].iter().map(|width| width + GAP).sum::<usize>()
    }

    fn cell(&self, out: &mut String, at: usize, text: &str, color: Option<&str>) {
        let (text, width) = (printable(text), self.widths[at]);
        if self.of.last == Last::Text && at + 1 == self.widths.len() {
            let indent = format!("\n{}", " ".repeat(self.start(at)));
            let lines = Look { width: self.look.width.map(|_| width), ..self.look }.wrap(&text, 0);
            out.push_str(&lines.trim_end().replace('\n', &indent));
            return;
        }
        let shown = if self.look.width.is_some() { cut_to(&text, width) } else { text.into_owned() };
        let padding = width.saturating_sub(columns(&shown));
        let before = if self.of.numbers.contains(&at) { padding } else { 0 };
        out.extend(std::iter::repeat_n(' ', before));
        match color.filter(|_| self.look.color) {
            Some(code) => out.push_str(&self.look.paint(code, &shown)),
            None => out.push_str(&shown),
        }
        out.extend(std::iter::repeat_n(' ', padding - before + GAP));
    }
}

/// Splits the columns of a row into lines, and reduces their widths to fit the terminal. Returns the columns of each
/// line.
fn fold(widths: &mut [usize], ends_in_text: bool, terminal: Option<usize>) -> Vec<Range<usize>> {
    let all = 0..widths.len();
    let Some(terminal) = terminal else { return vec![all] };
    let last = widths.len().saturating_sub(1);
    let before: usize = widths[..last].iter().map(|width| width + GAP).sum();
    if before + widths[last] <= terminal {
        return vec![all];
    }
    if ends_in_text && before + ROOM <= terminal {
        widths[last] = terminal - before;
        return vec![all];
    }
    let (mut lines, mut start, mut used) = (Vec::new(), 0, 0);
    for at in all.clone() {
        if at > start && used + widths[at] > terminal {
            lines.push(start..at);
            (start, used) = (at, INDENT);
        }
        widths[at] = widths[at].min(terminal.saturating_sub(used));
        used += widths[at] + GAP;
    }
    lines.push(start..all.end);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(width: usize) -> Look {
        Look { color: false, width: Some(width) }
    }

    #[test]
    fn columns_are_aligned_and_nothing_hides() {
        let rows =
            [vec!["a".to_owned(), "é\u{1b}".to_owned(), String::new()], vec!["long".into(), "x".into(), "y".into()]];
        let expected = "id    v        w\na     é\\u{1b}\nlong  x        y\n";
        assert_eq!(table(&Columns::plain(&["id", "v", "w"]), &rows, Look::default()), expected);
        // An empty row remains as an empty line.
        assert_eq!(table(&Columns::plain(&["id"]), &[["a"], [""], ["b"]], Look::default()), "id\na\n\nb\n");
    }

    #[test]
    fn a_text_is_cut_or_has_a_line_of_its_own() {
        let of = Columns { last: Last::Beginning, ..Columns::plain(&["id", "version", "about"]) };
        let rows = [["some-agent", "1.0.0", "What it does, in a sentence that goes on"], ["b", "2", ""]];
        let expected = "id          version  about\nsome-agent  1.0.0    What it does, in a…\nb           2\n";
        assert_eq!(table(&of, &rows, narrow(45)), expected);
        let expected =
            "id          version\n    about\nsome-agent  1.0.0\n    What it does, in a sentence…\nb           2\n";
        assert_eq!(table(&of, &rows, narrow(32)), expected);
        // Without a terminal, or with enough room, nothing is cut.
        assert!(table(&of, &rows, Look::default()).contains("that goes on\n"));
        assert!(table(&of, &rows, narrow(200)).contains("that goes on\n"));
    }

    #[test]
    fn a_text_that_matters_is_wrapped() {
        let of = Columns { last: Last::Text, ..Columns::plain(&["rule", "level", "reports"]) };
        let rows = [["icon/size", "error", "an icon that is too large for editors to show"], ["b", "warning", "c"]];
        let expected = "rule       level    reports\nicon/size  error    an icon that is too large\n                    for editors to show\nb          warning  c\n";
        assert_eq!(table(&of, &rows, narrow(46)), expected);
        let expected = "rule       level\n    reports\nicon/size  error\n    an icon that is too\n    large for editors to\n    show\nb          warning\n    c\n";
        assert_eq!(table(&of, &rows, narrow(28)), expected);
        assert!(table(&of, &rows, Look::default()).contains("an icon that is too large for editors to show\n"));
    }

    #[test]
    fn what_does_not_fit_goes_on_below_and_no_line_is_too_long() {
        let paint = |_: usize, at: usize| (at == 1).then_some("32");
        let of = Columns { numbers: &[3], paint: &paint, ..Columns::plain(&["agent", "verdict", "reason", "seconds"]) };
        let rows = [["some-agent", "fail", "no_supported_auth_type", "1.5"], ["b", "pass", "", "12.0"]];
        let expected = "agent       verdict\n    reason                  seconds\nsome-agent  \u{1b}[32mfail\u{1b}[0m\n    no_supported_auth_type      1.5\nb           \u{1b}[32mpass\u{1b}[0m\n                               12.0\n";
        let look = Look { color: true, width: Some(36) };
        assert_eq!(table(&of, &rows, look).replace("\u{1b}[1m", "").replacen("\u{1b}[0m", "", 4), expected);
        for width in 20..120 {
            let long = "x".repeat(300);
            let text = table(&of, &[[long.as_str(), "fail", "日本語".repeat(9).as_str(), "1"]], narrow(width));
            assert!(text.lines().all(|line| columns(line) <= width), "{width}: {text}");
        }
    }
}
