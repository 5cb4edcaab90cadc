//! Workflow commands of GitHub Actions, which become annotations.

use acp_registry::finding::Level;
use acp_registry::position::Span;
use acp_registry::text::printable;

use crate::formats::{Report, path_within};

pub(crate) fn render(report: &Report<'_>) -> String {
    let annotations = report.checked.findings.iter().map(|finding| {
        let level = if finding.level == Level::Error { "error" } else { "warning" };
        let file = path_within(report.prefix, &finding.file);
        let help = finding.help.as_ref().map_or(String::new(), |help| format!("\nhelp: {help}"));
        annotation(level, &file, finding.span, finding.rule, &format!("{}{help}", finding.message))
    });
    annotations.collect()
}

/// A workflow command. `level` is `error` or `warning`.
pub(crate) fn annotation(level: &str, file: &str, span: Option<Span>, title: &str, text: &str) -> String {
    let place = span.map(|span| {
        // GitHub rejects columns for a range of several lines.
        let is_one = span.line == span.end_line;
        let columns = is_one.then(|| format!(",col={},endColumn={}", span.column, span.end_column));
        format!(",line={},endLine={}{}", span.line, span.end_line, columns.unwrap_or_default())
    });
    let (file, title, place) = (property(file), property(title), place.unwrap_or_default());
    format!("::{level} file={file}{place},title={title}::{}\n", message(text))
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
