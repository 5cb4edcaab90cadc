//! Collects and formats warnings.

use std::collections::BTreeMap;

use serde_json::Value;

use acp_registry_plan::text::{plural, quote};

/// Maximum number of method names to count.
const NAMES: usize = 32;

/// The type of a JSON value, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Output of an agent that was not requested.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    noise: usize,
    first_noise: Option<String>,
    /// Whether its output begins with a byte order mark.
    pub(super) has_bom: bool,
    /// Whether its last line has no line end.
    pub(super) has_open_end: bool,
    /// Number of its requests that could not be answered, because it does not read its stdin.
    pub(super) unanswered: usize,
    /// Number of notifications by method; `requests` likewise.
    pub(super) notifications: BTreeMap<String, u64>,
    pub(super) requests: BTreeMap<String, u64>,
}

impl Unasked {
    /// Records a line that is not a message.
    pub(super) fn noise(&mut self, line: &[u8]) {
        self.noise += 1;
        if self.first_noise.is_none() {
            let beginning = &line[..line.len().min(1000)];
            self.first_noise = Some(quote(String::from_utf8_lossy(beginning).trim_end()));
        }
    }

    pub(super) fn notification(&mut self, method: &str) {
        add(&mut self.notifications, method);
    }

    pub(super) fn request(&mut self, method: &str) {
        add(&mut self.requests, method);
    }

    /// Formats the warnings. `when` names the phase of the conversation.
    pub(super) fn warnings(&self, when: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.has_bom {
            warnings
                .push("wrote a byte order mark at the beginning of stdout, which most clients cannot read".to_owned());
        }
        if let Some(first) = &self.first_noise {
            let (is, first_word) = if self.noise == 1 { ("is", "") } else { ("are", "the first is ") };
            warnings.push(format!(
                "wrote {} that {is} not JSON-RPC to stdout {when}: {first_word}{first}",
                plural(self.noise, "line")
            ));
        }
        if self.has_open_end {
            warnings.push("ended its output without a line end, for which most clients wait for ever".to_owned());
        }
        if self.unanswered > 0 {
            warnings.push(format!(
                "does not read its stdin: {} of its own went unanswered",
                plural(self.unanswered, "request")
            ));
        }
        warnings
    }
}

fn add(counts: &mut BTreeMap<String, u64>, method: &str) {
    let name: String = method.chars().take(100).collect();
    if counts.len() < NAMES || counts.contains_key(&name) {
        *counts.entry(name).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_counted_and_its_beginning_quoted() {
        let mut unasked = Unasked::default();
        unasked.noise(b"\x1b[31mhello\r");
        let when = "before the response";
        assert_eq!(
            unasked.warnings(when),
            ["wrote 1 line that is not JSON-RPC to stdout before the response: `\\u{1b}[31mhello`"]
        );
        unasked.noise(&vec![b'x'; 100_000]);
        assert!(
            unasked.warnings(when)[0]
                .starts_with("wrote 2 lines that are not JSON-RPC to stdout before the response: the first is `")
        );
    }

    #[test]
    fn an_agent_cannot_fill_the_memory_with_names() {
        let mut unasked = Unasked::default();
        for number in 0..1000 {
            unasked.notification(&format!("{}{number}", "x".repeat(10)));
        }
        unasked.notification(&"y".repeat(100_000));
        assert_eq!(unasked.notifications.len(), NAMES);
    }
}
