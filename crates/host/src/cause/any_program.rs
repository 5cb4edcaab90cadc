//! Finds the cause in any program's output: the line that names an error, an exception or something missing.

use super::plain::{bare, is_frame, is_indented};

/// Maximum number of lines to add to the first line of a message.
const MORE: usize = 4;

/// Suffixes of exception names.
const EXCEPTIONS: [&str; 6] = ["Error", "Exception", "Interrupt", "Exit", "Failure", "Panic"];

/// Prefixes of lines with an error, in lower case.
const ERRORS: [&str; 6] = ["error", "fatal", "panic:", "exception in thread", "unhandled", "uncaught"];

/// Other texts that mark an error, in lower case.
const NAMES: [&str; 5] =
    [": error: ", "error while loading shared libraries", "\"level\":\"error\"", "\"level\":\"fatal\"", "level=error"];

/// Words about something missing, refused or wrong, in lower case.
const MISSING: [&str; 40] = [
    "not found", "no such ", "cannot ", "can't ", "could not ", "couldn't ", "unable to ", "failed", "missing",
    "required", "requires ", "not set", "not installed", "not configured", "not supported", "unsupported", "not a ",
    "denied", "refused", "invalid", "unknown ", "unrecognized", "unexpected", "bad option", "no api key", "install it",
    "must be ", "must set", "too old", "expired", "unauthorized", "forbidden", "not logged in", "not authenticated",
    "timed out", "out of memory", "does not exist", "doesn't exist", "no module ", "undefined symbol",
];

/// Prefixes of lines that link elsewhere or follow every failure, in lower case.
const ASIDE: [&str; 22] = [
    "visit ", "see ", "for more", "learn more", "read more", "docs:", "documentation", "usage:", "note:", "hint:",
    "node.js v", "npm warn", "npm notice", "traceback (most recent", "require stack", "stack backtrace", "goroutine ",
    "emitted 'error' event", "begin failed--", "(use `node --trace", "the above exception",
    "during handling of the above",
];

/// Prefixes of progress messages.
const PROGRESS: [&str; 16] = [
    "installing", "downloading", "downloaded", "fetching", "extracting", "resolved", "prepared", "installed",
    "building", "platform:", "architecture:", "loading", "starting", "welcome", "thank", "using ",
];

/// Prefixes of advice, in lower case.
const REMEDIES: [&str; 12] = [
    "install ", "run", "set ", "try ", "export ", "please", "use ", "make sure", "add ", "log in", "sign in", "to fix",
];

pub(super) fn cause(lines: &[&str]) -> Option<String> {
    let weighed = lines.iter().enumerate().map(|(at, line)| (weight(line), at));
    let (weight, at) = weighed.max()?;
    (weight > 0).then(|| message(lines, at))
}

/// How likely a line contains the cause. Of lines with equal weight, the last one counts.
fn weight(line: &str) -> u8 {
    let text = bare(line);
    let lower: String = text.chars().take(1000).collect::<String>().to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    // A full disk causes all failures that follow.
    if has(&["no space left on device", "disk quota exceeded"]) {
        return 6;
    }
    if begins(&ASIDE) || is_frame(line) || is_address(text) || !says_something(text) {
        return 0;
    }
    // Printed together with the exception that it belongs to.
    if begins(&["[cause]: "]) {
        return 1;
    }
    if let Some(weight) = level(text) {
        return weight;
    }
    if is_exception(text) || (begins(&ERRORS) && text.contains(':')) || has(&NAMES) || text.contains("panicked at") {
        return 5;
    }
    if begins(&REMEDIES) && !begins(&PROGRESS) {
        return 3;
    }
    // Source code that a runtime prints above its message may contain these words too.
    if has(&MISSING) && !text.ends_with([';', '{']) && !lower.starts_with("throw ") {
        return 4;
    }
    if begins(&ERRORS) {
        return 3;
    }
    if begins(&PROGRESS) || lower.starts_with("node:internal") || is_indented(line) { 1 } else { 2 }
}

/// The weight of a log line by its level, if one of its first five words is one.
fn level(text: &str) -> Option<u8> {
    text.split_whitespace().take(5).find_map(|word| {
        let is_marked = word.starts_with('[') && word.ends_with(']');
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let upper = if is_marked { word.to_uppercase() } else { word.to_owned() };
        match upper.as_str() {
            // Also matches `FATAL ERROR:` and `ERROR:`.
            "ERROR" | "FATAL" | "CRITICAL" | "ERR" | "SEVERE" => Some(5),
            "WARN" | "WARNING" => Some(2),
            "INFO" | "DEBUG" | "TRACE" | "NOTICE" => Some(1),
            _ => None,
        }
    })
}

/// Whether a line has words rather than only drawing characters.
fn says_something(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    let letters: usize = words.map(|word| word.chars().count()).sum();
    let signs = text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
    letters > 0 && letters * 4 >= signs
}

fn is_address(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://")) && !text.contains(' ')
}

/// Whether a line starts with the name of an exception: `ImportError: …`, `Error [CODE]: …`, `Caused by:
/// a.b.SomeException`.
fn is_exception(text: &str) -> bool {
    let text = text.strip_prefix("Caused by: ").or_else(|| text.strip_prefix("Uncaught ")).unwrap_or(text);
    let name = text.split([':', ' ']).next().unwrap_or_default();
    let rest = &text[name.len()..];
    let is_name = name.chars().all(|c| c.is_alphanumeric() || ['.', '_', '$'].contains(&c));
    is_name
        && EXCEPTIONS.iter().any(|ending| name.ends_with(ending))
        && (rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" ["))
}

/// The message that starts at a line, with the lines that belong to it.
fn message(lines: &[&str], at: usize) -> String {
    let mut parts = vec![bare(lines[at])];
    let after = &lines[(at + 1).min(lines.len())..];
    // All lines before a stack trace belong to the message.
    let trace = after.iter().take(MORE + 1).position(|line| is_frame(line));
    let is_panic = parts[0].contains("panicked at") && parts[0].ends_with(':');
    for (number, line) in after.iter().take(MORE).enumerate() {
        let text = bare(line);
        let lower = text.to_lowercase();
        let begins = |words: &[&str]| words.iter().any(|word| lower.starts_with(word));
        let is_remedy = begins(&REMEDIES) && !begins(&PROGRESS);
        let is_part = trace.is_some_and(|trace| number < trace) || is_indented(line) || is_remedy || is_panic;
        let is_aside = begins(&ASIDE) || is_address(text);
        if !says_something(text) || is_frame(line) || !is_part || is_aside {
            break;
        }
        parts.push(text);
        if is_panic {
            break;
        }
    }
    // Node.js prints the cause of an exception after its stack trace.
    let causes = after.iter().take_while(|line| !line.trim().is_empty()).map(|line| line.trim_start());
    let causes = causes.filter_map(|line| line.strip_prefix("[cause]: "));
    let mut text = parts.join(" ").trim_end_matches([' ', '{']).to_owned();
    for cause in causes.take(MORE) {
        text.push_str(": ");
        text.push_str(cause.trim_end_matches([' ', '{']));
    }
    for prefix in ["error: ", "Uncaught "] {
        text = text.strip_prefix(prefix).map_or_else(|| text.clone(), ToOwned::to_owned);
    }
    text
}
