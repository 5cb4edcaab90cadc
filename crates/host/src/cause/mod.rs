//! Extracts the cause of a failure from the output of a program.
//!
//! Programs print banners, progress, stack frames and links around the relevant line. This module returns the line that
//! names an error, an exception or something missing, with the lines that belong to it: the whole chain of `error: …
//! cause: …`, the rest of a multi-line message, or the program's own advice.
//!
//! * [`of`]: the cause as one line
//! * [`quoted`]: the cause as part of a message
//! * [`plain`](fn@plain): any line without terminal escapes
//!
//! The output is not trusted: each parser reads it once, and the length of the result is bounded.

mod any_program;
mod npm;
mod plain;

use acp_registry_plan::text::printable;
pub use plain::plain;

/// Maximum length of a cause, in Unicode scalar values. Longer ones are cut in the middle, since the beginning says
/// what failed and the end says why.
const CAUSE_LIMIT: usize = 600;

/// The cause in a text, as one line without terminal escapes; `None` if no line contains one.
///
/// Other hidden characters are kept: make the line printable before showing it.
pub fn of(text: &str) -> Option<String> {
    let lines: Vec<String> = text.lines().map(plain).collect();
    in_lines(&lines.iter().map(String::as_str).collect::<Vec<_>>()).map(bounded)
}

/// The cause in a text as part of a message: printable, between backticks.
pub fn quoted(text: &str) -> Option<String> {
    of(text).map(|cause| format!("`{}`", printable(&cause).replace('`', "'")))
}

fn in_lines(lines: &[&str]) -> Option<String> {
    npm::cause(lines).or_else(|| cause(lines)).or_else(|| any_program::cause(lines))
}

fn bounded(text: String) -> String {
    let count = text.chars().count();
    if count <= CAUSE_LIMIT {
        return text;
    }
    let tail = CAUSE_LIMIT / 2;
    let head: String = text.chars().take(CAUSE_LIMIT - tail).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{head} … {end}")
}

/// Prefixes of a line with an error.
const HEADS: [&str; 3] = ["error: ", "Error: ", "× "];

/// Prefixes of a line with a cause.
const CAUSES: [&str; 5] = ["cause: ", "Caused by: ", "╰─▶ ", "├─▶ ", "[cause]: "];

/// Maximum number of causes.
const DEPTH: usize = 20;

pub(super) fn cause(lines: &[&str]) -> Option<String> {
    let head = |line: &str| HEADS.iter().find_map(|head| line.trim_start().strip_prefix(head)).map(ToOwned::to_owned);
    let at = lines.iter().rposition(|line| head(line).is_some() && !line.starts_with("    "))?;
    let mut parts = vec![head(lines[at])?];
    let mut has_cause = false;
    for (number, text) in lines.iter().enumerate().skip(at + 1) {
        let bare = text.trim();
        if bare == "Caused by:" || bare.is_empty() {
            continue;
        }
        if bare == "[stderr]" || bare == "[stdout]" {
            // The output of another program, which has a cause of its own.
            parts.extend(any_program::cause(&unindented(&lines[number + 1..])));
            has_cause = true;
            break;
        }
        if !plain::is_indented(text) || plain::is_frame(text) || parts.len() > DEPTH {
            break;
        }
        if let Some(cause) = CAUSES.iter().find_map(|word| bare.strip_prefix(word)).or_else(|| numbered(bare)) {
            parts.push(cause.to_owned());
            has_cause = true;
        } else if let Some(last) = parts.last_mut().filter(|last| last.len() < 4096) {
            last.push(' ');
            last.push_str(bare);
        }
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim().trim_end_matches(':')).collect();
    has_cause.then(|| parts.join(": "))
}

/// A cause with a number in front.
fn numbered(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(": ")?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
}

/// The lines up to the first that is not indented, without their common indentation.
fn unindented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let own: Vec<&str> = lines.iter().copied().take_while(|text| text.is_empty() || plain::is_indented(text)).collect();
    let width = |text: &&str| text.len() - text.trim_start().len();
    let shared = own.iter().filter(|text| !text.trim().is_empty()).map(width).min().unwrap_or(0);
    own.into_iter().map(|text| text.get(shared..).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Each file contains the expected cause, a line of dashes, and real output of a program.
    #[test]
    fn causes_are_found_in_what_programs_really_write() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/cause");
        let mut wrong = Vec::new();
        let mut count = 0;
        for item in fs::read_dir(folder).unwrap() {
            let path = item.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let (expected, output) = text.split_once("\n---\n").unwrap();
            let found = of(output).unwrap_or_default();
            count += 1;
            if found != expected {
                wrong.push(format!("{}:\n  expected {expected}\n  found    {found}", path.display()));
            }
        }
        assert!(wrong.is_empty() && count > 30, "{count} files\n{}", wrong.join("\n"));
    }

    #[test]
    fn what_says_nothing_has_no_cause() {
        for text in [
            "", " \n\n", "Visit https://h.example/docs\n", "-----\n", " ----w |\n", "(oo)\\_________\n",
            "npm warn x\n", "    at a (b:1:2)\n",
        ] {
            assert_eq!(of(text), None, "{text:?}");
        }
        assert_eq!(of("\u{1b}boom").as_deref(), Some("boom"));
        assert_eq!(quoted("xx`\u{202e}yy").as_deref(), Some("`xx'\\u{202e}yy`"));
    }

    #[test]
    fn a_long_cause_keeps_both_ends() {
        let text = format!("error: cannot start {}: Permission denied", "x".repeat(100_000));
        let found = of(&text).unwrap();
        assert!(found.starts_with("cannot start xxx") && found.ends_with(": Permission denied"), "{found}");
        assert_eq!(found.chars().count(), CAUSE_LIMIT + 3);
    }

    #[test]
    fn a_hostile_text_is_read_in_one_pass() {
        for piece in
            ["error: a\n  cause: b\n", "npm error code 1\nnpm error command x\n", "Error: a\n", "         [stderr]\n"]
        {
            assert!(of(&piece.repeat(3000)).is_some_and(|found| found.chars().count() <= CAUSE_LIMIT + 3), "{piece}");
        }
    }
}
