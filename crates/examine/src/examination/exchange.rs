//! What a client and an agent wrote to each other, as a text that can be sent again.
//!
//! A line begins with who wrote it: `client` and `agent`, each followed by what was written, and `model`, followed by a
//! script. `bytes` is what a client wrote that is no line, as a JSON string. Other lines are comments. `$SANDBOX`,
//! `$PROGRAM` and `$MODEL` stand for what differs between runs.

use std::collections::BTreeMap;
use std::time::Duration;

use acp_registry_host::process::{Exit, LaunchSpec};
use acp_registry_protocol::handshake::{HandshakeOptions, Peer, StartError};
use serde_json::Value;
use tokio::time::Instant;

use super::agent::add_projects;
use super::engine::{led, serve};
use super::recipe::Recipe;
use super::session::CONTENT;
use crate::model::{Model, Script};

/// Maximum size of an exchange, in bytes. A longer one cannot be sent again.
const LIMIT: usize = 2 << 20;

/// How long to wait for what the agent wrote the first time.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long the agent is listened to after the last line.
const END: Duration = Duration::from_secs(5);

/// Requests that prepare an agent for all checks of an instance.
const PREPARES: [&str; 6] =
    ["initialize", "authenticate", "auth/login", "providers/list", "providers/set", "session/new"];

/// What the client does at the end of some exchanges.
pub(super) const CLOSES: &str = "closes stdin";
pub(super) const TERMINATES: &str = "sends SIGTERM";

/// A part of an exchange.
#[derive(Debug, Clone, PartialEq)]
enum Part {
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
    parts: Vec<Part>,
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
        let size = |part: &Part| if let Part::Client(line) | Part::Agent(line) = part { line.len() } else { 0 };
        self.size = self.parts.iter().map(size).sum();
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
                Part::Client(act) if [CLOSES, TERMINATES].contains(&act.as_str()) => format!("client {act}\n"),
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
                ("client", act @ (CLOSES | TERMINATES)) => exchange.client(act),
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
        if !exchange.parts.iter().any(|part| matches!(part, Part::Client(_))) {
            return Err(ExchangeError { line: 1, problem: "the client says nothing".to_owned() });
        }
        Ok(exchange)
    }
}

/// How an agent ended to which an exchange was sent again.
#[derive(Debug)]
pub struct Replayed {
    /// How it ended, if the exchange ends it.
    pub exit: Option<Exit>,
    /// The last part of its stderr. Not escaped.
    pub stderr: String,
}

/// Starts an agent and sends it what the client of an exchange wrote, each time after it has written as much as it did
/// then. Ids of sessions and of the agent's own requests are replaced by those of this run. `tell` gets each line: whether
/// the agent wrote it, and its text, which is not escaped.
///
/// # Errors
/// Returns [`StartError`] if the agent cannot be started, or the model not be served.
pub async fn replay(
    launch: &LaunchSpec,
    options: &HandshakeOptions,
    recipe: &Recipe,
    exchange: &Exchange,
    tell: &mut dyn FnMut(bool, &str),
) -> Result<Replayed, StartError> {
    let has_model = exchange.parts.contains(&Part::HasModel) || recipe.handshake;
    let model = if has_model { Some(serve(launch).await.map_err(StartError::Model)?) } else { None };
    let (launch, mut options) = led(launch, options, recipe, model.as_ref());
    add_projects(&mut options);
    let peer = Peer::start(&launch, &options).await?;
    let program = launch.launcher.as_deref().map(|path| path.to_string_lossy().into_owned());
    let mut run = Run { peer, exchange, heard: Vec::new(), awaited: 0, tell };
    let mut exit = None;
    for (at, part) in exchange.parts.iter().enumerate() {
        match part {
            Part::HasModel | Part::Agent(_) => {}
            Part::Model(number, script) => model.iter().for_each(|model| model.play_as(*number, script.clone())),
            Part::Client(said) => {
                let expected = exchange.parts[..at].iter().filter_map(Part::message).filter(is_awaited).count();
                run.listen(expected, PATIENCE).await;
                let said = run.fill(at, said, program.as_deref(), model.as_ref());
                (run.tell)(false, said.trim_end_matches('\n'));
                match said.as_str() {
                    CLOSES => exit = run.peer.close_input(Instant::now() + PATIENCE).await,
                    TERMINATES => exit = run.peer.terminate(Instant::now() + PATIENCE).await,
                    _ => drop(run.peer.send(said.into_bytes(), Instant::now() + PATIENCE).await),
                }
            }
        }
    }
    let all = exchange.parts.iter().filter_map(Part::message).filter(is_awaited).count();
    run.listen(all, END).await;
    let stderr = run.peer.stderr().await;
    run.peer.end().await;
    Ok(Replayed { exit, stderr })
}

/// An exchange that is being sent again.
struct Run<'a> {
    peer: Peer,
    exchange: &'a Exchange,
    /// The agent's messages so far, and the number of those that are waited for.
    heard: Vec<Value>,
    awaited: usize,
    tell: &'a mut dyn FnMut(bool, &str),
}

impl Run<'_> {
    /// Reads lines of the agent until there are as many as expected of those that are waited for.
    async fn listen(&mut self, expected: usize, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.awaited < expected {
            let Ok(line) = self.peer.line(deadline).await else { return };
            let line = String::from_utf8_lossy(&line).into_owned();
            (self.tell)(true, &line);
            let message = serde_json::from_str(&line).unwrap_or_default();
            self.awaited += usize::from(is_awaited(&message));
            self.heard.push(message);
        }
    }

    /// What the client writes, with the ids, paths and addresses of this run.
    fn fill(&self, at: usize, said: &str, program: Option<&str>, model: Option<&Model>) -> String {
        let address = model.map(|model| model.address().to_string());
        let sandbox = self.peer.directory().to_string_lossy();
        let mut said = said.replace("$SANDBOX", &sandbox).replace("$PROGRAM", program.unwrap_or_default());
        said = said.replace("$MODEL", address.as_deref().unwrap_or_default());
        let then: Vec<Value> = self.exchange.parts[..at].iter().filter_map(Part::message).collect();
        let now = &self.heard;
        // The ids of sessions, by the request that opened them.
        for (message, old) in then.iter().filter_map(|message| Some((message, session(message)?))) {
            let same = now.iter().find(|new| new["id"] == message["id"] && new.get("method").is_none());
            if let Some(new) = same.and_then(session) {
                said = said.replace(&Value::from(old).to_string(), &Value::from(new).to_string());
            }
        }
        let Ok(mut message) = serde_json::from_str::<Value>(&said) else { return said };
        if message.get("method").is_none() && message.get("id").is_some() {
            // The id of the agent's request, by its number among those of the same method.
            let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
            for request in then.iter().filter(|message| message.get("method").is_some() && message.get("id").is_some())
            {
                let method = request["method"].as_str().unwrap_or_default();
                let number = numbers.entry(method).or_default();
                let mut same = now.iter().filter(|new| new["method"] == method && new.get("id").is_some());
                if let Some(new) = same.nth(*number).filter(|_| request["id"] == message["id"]) {
                    message["id"] = new["id"].clone();
                    return format!("{message}\n");
                }
                *number += 1;
            }
        }
        said
    }
}

impl Part {
    /// The message of the agent, if it is one.
    fn message(&self) -> Option<Value> {
        if let Self::Agent(line) = self { serde_json::from_str(line).ok() } else { None }
    }
}

/// Whether the client waits for a message before it goes on: for responses, requests, and what belongs to a turn. Other
/// notifications come when the agent likes.
fn is_awaited(message: &Value) -> bool {
    let kind = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
    message.get("id").is_some() || CONTENT.contains(&kind)
}

fn session(message: &Value) -> Option<&str> {
    message["result"]["sessionId"].as_str()
}

#[cfg(test)]
mod tests {
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
    fn a_long_exchange_has_no_text() {
        let mut exchange = Exchange::default();
        (0..3).for_each(|_| exchange.client(&"x".repeat(LIMIT / 2)));
        assert_eq!(exchange.to_text(&[]), None);
    }
}
