//! Parses npm's output, in which each line has a prefix and most have a label.

use super::{any_program, plain};

/// Maximum number of lines in a cause.
const LINES: usize = 5;

/// Prefixes of lines without a cause: locations, and generic advice.
const ASIDE: &[&str] = &[
    "code ", "syscall ", "errno ", "path ", "dest ", "file ", "command ", "A complete log", "In most cases",
    "a package version", "This is a problem related", "If you are behind", "'proxy' config", "Note that you can",
    "on a server you do not", "tarball, folder", "For a full report", "There appears to be insufficient space",
    "Clear up some disk space",
];

/// Prefix of a warning about a file that npm could not unpack. It may be the only sign of the failure.
const UNPACKING: &str = "npm warn tar TAR_ENTRY_ERROR ";

/// Labels before a line's text.
const LABELS: &[&str] =
    &["notarget ", "404 ", "403 ", "401 ", "engine ", "notsup ", "network ", "enoent ", "nospc ", "ERESOLVE "];

/// The text of an error line without npm's prefix.
pub(super) fn inner(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("npm error").or_else(|| line.strip_prefix("npm ERR!"));
    let rest = rest.or_else(|| line.strip_prefix(UNPACKING))?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

pub(super) fn cause(lines: &[&str]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().filter_map(|line| inner(line)).collect();
    let code = lines.first()?.strip_prefix("code ").unwrap_or_default().trim();
    // The output of a failed script follows its command.
    let script = lines.iter().rposition(|line| line.starts_with("command sh ") || line.starts_with("command cmd "));
    let behind = script.map_or(&[][..], |at| &lines[at + 1..]);
    let end = behind.iter().position(|line| line.starts_with("A complete log")).unwrap_or(behind.len());
    if let Some(said) = any_program::cause(&behind[..end]) {
        // A script that runs npm itself, to install a package for the platform, rarely says why that failed.
        let nested: Vec<&str> = behind.iter().copied().skip_while(|line| inner(line).is_none()).collect();
        let end = nested.iter().position(|line| line.contains("A complete log")).unwrap_or(nested.len());
        let nested = cause(&nested[..end]).filter(|nested| !said.contains(nested.as_str()));
        return Some(nested.map_or_else(|| said.clone(), |nested| format!("{said} ({nested})")));
    }
    let mut told: Vec<&str> = Vec::new();
    let mut depth = 0_usize;
    for text in &lines {
        let is_aside = depth > 0 || plain::is_frame(text) || ASIDE.iter().any(|aside| text.starts_with(aside));
        // The properties of the error object follow the stack trace.
        depth = if text.ends_with('{') { depth + 1 } else { depth.saturating_sub(usize::from(text.trim() == "}")) };
        let text = LABELS.iter().find_map(|label| text.strip_prefix(label)).unwrap_or(text);
        let is_aside = is_aside || ASIDE.iter().any(|aside| text.trim_start().starts_with(aside));
        let text = LABELS.iter().fold(text.trim(), |text, label| if text == label.trim() { "" } else { text });
        if !is_aside && !["", "}"].contains(&text) && !told.contains(&text) && !text.contains("_logs/") {
            told.push(text);
        }
        if told.len() == LINES {
            break;
        }
    }
    // A script that has said nothing is known by its command.
    told.extend(script.map(|at| lines[at]));
    let is_number = code.bytes().all(|b| b.is_ascii_digit());
    let told = told.join("; ");
    match (told.is_empty(), is_number) {
        (true, true) => None,
        (true, false) => Some(code.to_owned()),
        (false, true) => Some(told),
        (false, false) if told.starts_with(code) => Some(told),
        (false, false) => Some(format!("{code}: {told}")),
    }
}
