//! Parses error chains as printed by uv and many Rust programs: an error, followed by indented causes.

use super::{any_program, line};

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
        if !line::is_indented(text) || line::is_frame(text) || parts.len() > DEPTH {
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
    let own: Vec<&str> = lines.iter().copied().take_while(|text| text.is_empty() || line::is_indented(text)).collect();
    let width = |text: &&str| text.len() - text.trim_start().len();
    let shared = own.iter().filter(|text| !text.trim().is_empty()).map(width).min().unwrap_or(0);
    own.into_iter().map(|text| text.get(shared..).unwrap_or_default()).collect()
}
