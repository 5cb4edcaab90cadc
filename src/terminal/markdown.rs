//! Renders Markdown for a terminal: headings, code and lists, wrapped to its width.

use acp_registry::text::printable;
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::terminal::layout::Look;

/// Indentation of code blocks.
const CODE: &str = "    ";

/// Renders a Markdown document. Without colours, inline code keeps its backticks.
pub(crate) fn terminal(markdown: &str, look: Look) -> String {
    let mut page = MarkdownText { look, out: String::new(), line: String::new(), lists: Vec::new(), code: None };
    for event in Parser::new(markdown) {
        page.take(event);
    }
    page.end_line();
    page.out
}

/// The state of the renderer.
struct MarkdownText {
    look: Look,
    out: String,
    /// The current paragraph, heading or list item.
    line: String,
    /// The enclosing lists, outermost first, each with the number of its next item if it is numbered.
    lists: Vec<Option<u64>>,
    /// The current code block.
    code: Option<String>,
}

impl MarkdownText {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Paragraph) => self.begin(),
            Event::Start(Tag::CodeBlock(_)) => {
                self.begin();
                self.code = Some(String::new());
            }
            Event::Start(Tag::List(first)) => {
                self.begin();
                self.lists.push(first);
            }
            Event::Start(Tag::Item) => self.begin_item(),
            Event::End(TagEnd::Heading(level)) => {
                let code = if level == HeadingLevel::H1 { "1;4" } else { "1" };
                self.line = self.look.paint(code, &self.line);
                self.end_line();
            }
            Event::End(TagEnd::CodeBlock) => self.end_code(),
            Event::End(TagEnd::Paragraph | TagEnd::Item) => self.end_line(),
            Event::End(TagEnd::List(_)) => drop(self.lists.pop()),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.line.push_str(&printable(&text)),
            },
            Event::Code(text) => {
                let text = printable(&text);
                let shown = if self.look.color { self.look.paint("36", &text) } else { format!("`{text}`") };
                self.line.push_str(&shown);
            }
            Event::SoftBreak | Event::HardBreak => self.line.push(' '),
            _ => {}
        }
    }

    /// Ends the current block. Outside of lists, adds an empty line.
    fn begin(&mut self) {
        if !self.line.is_empty() && !self.lists.is_empty() && self.line.trim_start().len() <= 3 {
            // The first paragraph of an item continues the item's line.
            return;
        }
        self.end_line();
        if !self.out.is_empty() && self.lists.is_empty() {
            self.out.push('\n');
        }
    }

    fn begin_item(&mut self) {
        self.end_line();
        let depth = self.lists.len().saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.line = format!("{}{mark}", "  ".repeat(depth));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.out.push_str(&self.look.wrap(&line, self.lists.len() * 2));
        }
    }

    /// Code is not wrapped, so that it can be copied.
    fn end_code(&mut self) {
        for line in self.code.take().unwrap_or_default().lines() {
            let line = format!("{CODE}{}", self.look.paint("2", &printable(line)));
            self.out.push_str(line.trim_end());
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# icon/size\n\nSet `width` on\nthe root.\n\n## Why\n\n- one\n- two `x`\n\n1. first\n\nEnd:\n\n```json\n{ \"a\": 1 }\n\n  b\n```\n";

    #[test]
    fn off_a_terminal_the_text_reads_well() {
        let expected = "icon/size\n\nSet `width` on the root.\n\nWhy\n\n- one\n- two `x`\n\n1. first\n\nEnd:\n\n    { \"a\": 1 }\n\n      b\n";
        assert_eq!(terminal(PAGE, Look::default()), expected);
    }

    #[test]
    fn a_terminal_shows_headings_and_code() {
        let text = terminal(PAGE, Look { color: true, width: Some(20) });
        for part in [
            "\u{1b}[1;4micon/size\u{1b}[0m\n",
            "Set \u{1b}[36mwidth\u{1b}[0m on the\nroot.\n",
            "\u{1b}[1mWhy\u{1b}[0m\n",
        ] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
        assert!(!text.contains('`') && !text.contains('#'), "{text}");
    }

    #[test]
    fn nothing_hides() {
        let text = terminal("a\u{1b}[31m `b\u{202e}`\n\n    c\u{7}\n", Look::default());
        assert_eq!(text, "a\\u{1b}[31m `b\\u{202e}`\n\n    c\\u{7}\n");
    }
}
