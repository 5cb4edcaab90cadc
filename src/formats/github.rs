//! Workflow commands of GitHub Actions, which become annotations.

use std::fmt::Write as _;

use acp_registry::finding::Level;
use acp_registry::text::printable;

use crate::formats::Report;

pub(crate) fn render(report: &Report<'_>) -> String {
    let mut out = String::new();
    for finding in &report.checked.findings {
        let command = if finding.level == Level::Error { "error" } else { "warning" };
        let file = format!("{}{}", report.prefix, finding.file);
        // Writing to a String cannot fail.
        let _ = write!(out, "::{command} file={}", property(&file));
        if let Some(span) = finding.span {
            let _ = write!(out, ",line={},endLine={}", span.line, span.end_line);
            // GitHub rejects columns for a range of several lines.
            if span.line == span.end_line {
                let _ = write!(out, ",col={},endColumn={}", span.column, span.end_column);
            }
        }
        let help = finding.help.as_ref().map_or(String::new(), |help| format!("\nhelp: {help}"));
        let _ = writeln!(out, ",title={}::{}", property(finding.rule), message(&format!("{}{help}", finding.message)));
    }
    out
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(&printable(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_begin_another_command() {
        assert_eq!(message("50%\r\n::error::x"), "50%25%0D%0A::error::x");
        assert_eq!(property("a,b:c\n\u{1b}"), "a%2Cb%3Ac\\u{a}\\u{1b}");
    }
}
