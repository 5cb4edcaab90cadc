//! What a client and an agent wrote to each other, as a text that can be sent again.
//!
//! A line begins with who wrote it: `client` and `agent`, each followed by what was written, and `model`, followed by a
//! script. `bytes` is what a client wrote that is no line, as a JSON string. Other lines are comments. `$SANDBOX`,
//! `$PROGRAM` and `$MODEL` stand for what differs between runs.

use serde_json::Value;

use crate::model::Script;

/// Maximum size of an exchange, in bytes. A longer one cannot be sent again.
const LIMIT: usize = 2 << 20;

/// Requests that prepare an agent for all checks of an instance.
const PREPARES: [&str; 6] =
    ["initialize", "authenticate", "auth/login", "providers/list", "providers/set", "session/new"];

/// What the client does at the end of some exchanges.
pub(super) const CLOSES: &str = "closes stdin";
pub(super) const TERMINATES: &str = "sends SIGTERM";

/// The client's part in an answer that the model holds.
pub(super) const RELEASES: &str = "lets the model end its answer";

const ACTS: &[&str] = &[CLOSES, TERMINATES, RELEASES];

/// A part of an exchange.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// What the client writes, with its line end, or one of the two acts above.
    Client(String),
    /// A line of the agent.
    Agent(String),
    /// A script of the model, under the number of its marker.
    Model(u64, Script),
    /// The agent has a model.
    HasModel,
}

/// What a client and an agent wrote to each other, in order.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub(super) parts: Vec<Part>,
    size: usize,
}

/// Why a text is not an exchange: the number of the line, and the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ExchangeError {
    line: usize,
    problem: String,
}

impl Exchange {
    fn add(&mut self, part: Part, size: usize) {
        self.size = self.size.saturating_add(size);
        if self.size <= LIMIT {
            self.parts.push(part);
        }
    }

    /// Begins the part of a check: of what came before, only what prepares an agent and opens its sessions is kept.
    pub(super) fn begin(&mut self) {
        let mut prepared = Vec::new();
        self.parts.retain(|part| {
            let (Part::Client(line) | Part::Agent(line)) = part else { return *part == Part::HasModel };
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            match (part, message["method"].as_str()) {
                (Part::Client(_), Some(method)) if PREPARES.contains(&method) => {
                    prepared.push(message["id"].clone());
                    true
                }
                (Part::Agent(_), None) => prepared.contains(&message["id"]),
                _ => false,
            }
        });
        self.size = self.parts.iter().map(Part::size).sum();
    }

    /// How long the exchange is.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The parts since it was so long.
    pub(super) fn since(&self, length: usize) -> Vec<Part> {
        self.parts[length.min(self.parts.len())..].to_vec()
    }

    /// Adds parts of an earlier check on whose outcome this one is based.
    pub(super) fn repeat(&mut self, parts: &[Part]) {
        self.parts.retain(|part| !parts.contains(part));
        self.parts.extend_from_slice(parts);
        self.size = self.parts.iter().map(Part::size).sum();
    }

    pub(super) fn client(&mut self, text: &str) {
        self.add(Part::Client(text.to_owned()), text.len());
    }

    pub(super) fn agent(&mut self, line: &[u8]) {
        self.add(Part::Agent(String::from_utf8_lossy(line).into_owned()), line.len());
    }

    pub(super) fn model(&mut self) {
        self.add(Part::HasModel, 0);
    }

    pub(super) fn play(&mut self, number: u64, script: &Script) {
        self.add(Part::Model(number, script.clone()), 0);
    }

    /// The text, in which `names` stand for what differs between runs; `None` if the exchange is too long.
    pub(super) fn to_text(&self, names: &[(String, &str)]) -> Option<String> {
        if self.size > LIMIT {
            return None;
        }
        let mut text = String::new();
        for part in &self.parts {
            text.push_str(&match part {
                Part::Client(act) if ACTS.contains(&act.as_str()) => format!("client {act}\n"),
                Part::Client(line) => match line.strip_suffix('\n').filter(|line| !line.contains('\n')) {
                    Some(line) => format!("client {line}\n"),
                    None => format!("bytes {}\n", Value::from(line.as_str())),
                },
                Part::Agent(line) => format!("agent {line}\n"),
                Part::Model(number, script) => format!("model {number} {}\n", serde_json::to_string(script).ok()?),
                Part::HasModel => "model\n".to_owned(),
            });
        }
        for (value, name) in names.iter().filter(|(value, _)| !value.is_empty()) {
            text = text.replace(value, name);
        }
        Some(text)
    }

    /// Reads the text of an exchange.
    ///
    /// # Errors
    /// Returns [`ExchangeError`] for a line that is none of an exchange.
    pub fn parse(text: &str) -> Result<Self, ExchangeError> {
        let mut exchange = Self::default();
        for (at, line) in text.lines().enumerate() {
            let wrong = |problem: String| ExchangeError { line: at + 1, problem };
            match line.split_once(' ').unwrap_or((line, "")) {
                ("" | "#", _) => {}
                ("client", act) if ACTS.contains(&act) => exchange.client(act),
                ("client", said) => exchange.client(&format!("{said}\n")),
                ("bytes", said) => {
                    let said: String = serde_json::from_str(said).map_err(|error| wrong(error.to_string()))?;
                    exchange.client(&said);
                }
                ("agent", said) => exchange.agent(said.as_bytes()),
                ("model", "") => exchange.model(),
                ("model", script) => {
                    let (number, script) = script.split_once(' ').unwrap_or_default();
                    let number = number.parse().map_err(|_| wrong("a script has no number".to_owned()))?;
                    let script = serde_json::from_str(script).map_err(|error| wrong(error.to_string()))?;
                    exchange.play(number, &script);
                }
                _ => return Err(wrong("it begins with none of client, agent, model, bytes and #".to_owned())),
            }
        }
        if exchange.size > LIMIT {
            return Err(ExchangeError { line: 1, problem: format!("it has more than {LIMIT} bytes of messages") });
        }
        if !exchange.parts.iter().any(|part| matches!(part, Part::Client(_))) {
            return Err(ExchangeError { line: 1, problem: "the client says nothing".to_owned() });
        }
        Ok(exchange)
    }
}

impl Part {
    fn size(&self) -> usize {
        if let Self::Client(line) | Self::Agent(line) = self { line.len() } else { 0 }
    }

    /// The message of the agent, if it is one.
    pub(super) fn message(&self) -> Option<Value> {
        if let Self::Agent(line) = self { serde_json::from_str(line).ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{Step, ToolCall};

    #[test]
    fn an_exchange_reads_back_from_its_text() {
        let mut exchange = Exchange::default();
        exchange.model();
        let steps = vec![
            Step::Call(vec![ToolCall::Shell { command: "echo a".to_owned() }]),
            Step::Fail(500).once("Recovered"),
            Step::Say { chunks: vec!["a\nb".to_owned()], pause: Duration::from_millis(2) },
        ];
        exchange.play(7, &Script::repeating(steps));
        exchange.client("{\"id\":1,\"cwd\":\"/tmp/x/work\"}\n");
        exchange.agent(b"{\"id\":1}");
        exchange.client("{\"half");
        exchange.client(RELEASES);
        exchange.client(CLOSES);
        let text = exchange.to_text(&[("/tmp/x".to_owned(), "$SANDBOX")]).unwrap();
        assert!(text.contains("client {\"id\":1,\"cwd\":\"$SANDBOX/work\"}\nagent {\"id\":1}\nbytes \"{\\\"half\"\n"));
        let read = Exchange::parse(&format!("# a comment\n\n{text}")).unwrap();
        assert_eq!(read.to_text(&[]), Some(text));
    }

    #[test]
    fn what_is_no_exchange_is_refused_with_its_line() {
        let problem = |text: &str| Exchange::parse(text).unwrap_err().to_string();
        assert_eq!(problem("client {}\nserver {}"), "line 2: it begins with none of client, agent, model, bytes and #");
        let long = format!("client {}\nclient {{}}", "x".repeat(LIMIT));
        assert_eq!(problem(&long), format!("line 1: it has more than {LIMIT} bytes of messages"));
        assert_eq!(problem("# nothing"), "line 1: the client says nothing");
        assert_eq!(problem("model x {}"), "line 1: a script has no number");
        assert!(problem("client {}\nmodel 1 {}").starts_with("line 2: missing field"));
        assert!(problem("bytes x").starts_with("line 1: expected value"));
    }

    #[test]
    fn a_check_keeps_of_earlier_ones_what_opens_sessions() {
        let mut exchange = Exchange::default();
        exchange.model();
        exchange.client(r#"{"id":1,"method":"session/new"}"#);
        exchange.agent(br#"{"method":"session/update"}"#);
        exchange.agent(br#"{"id":1,"result":{"sessionId":"a"}}"#);
        exchange.play(1, &Script::default());
        exchange.client(r#"{"id":2,"method":"session/prompt"}"#);
        exchange.agent(br#"{"id":2,"result":{}}"#);
        exchange.begin();
        let expected = "model\nbytes \"{\\\"id\\\":1,\\\"method\\\":\\\"session/new\\\"}\"\n\
                        agent {\"id\":1,\"result\":{\"sessionId\":\"a\"}}\n";
        assert_eq!(exchange.to_text(&[]).as_deref(), Some(expected));
    }

    #[test]
    fn a_check_repeats_the_turn_that_it_shares_with_an_earlier_one() {
        let mut exchange = Exchange::default();
        exchange.client("{\"id\":1,\"method\":\"initialize\"}\n");
        let before = exchange.len();
        exchange.client("{\"id\":2,\"method\":\"session/new\"}\n");
        exchange.play(1, &Script::default());
        exchange.client("{\"id\":3,\"method\":\"session/prompt\"}\n");
        exchange.agent(br#"{"id":3,"result":{}}"#);
        let (whole, turn) = (exchange.to_text(&[]), exchange.since(before));
        exchange.begin();
        assert!(exchange.to_text(&[]) != whole && turn.len() == 4);
        exchange.repeat(&turn);
        assert_eq!(exchange.to_text(&[]), whole);
    }

    #[test]
    fn a_long_exchange_has_no_text() {
        let mut exchange = Exchange::default();
        (0..3).for_each(|_| exchange.client(&"x".repeat(LIMIT / 2)));
        assert_eq!(exchange.to_text(&[]), None);
    }
}
