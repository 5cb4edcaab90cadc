//! Excerpts of what agents print.

use acp_registry::text::printable;

/// Column at which values begin.
pub(crate) const INDENT: usize = 12;

/// The most lines of stderr that are shown.
const LINES: usize = 20;

/// The longest line that is shown, in characters.
const WIDTH: usize = 300;

pub(crate) fn stderr(tail: &str) -> String {
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "  stderr    nothing\n".to_owned();
    }
    let shown = &lines[lines.len().saturating_sub(LINES)..];
    let head = if shown.len() < lines.len() { format!("the last {LINES} lines") } else { "all of it".to_owned() };
    let body: String = shown.iter().map(|line| format!("    | {}\n", cut(line))).collect();
    format!("  stderr    {head}\n{body}")
}

pub(crate) fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(WIDTH).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(&cut).into_owned()
}
