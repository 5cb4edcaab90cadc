//! Sends the messages of an exchange again.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use acp_registry_host::process::{Exit, LaunchSpec};
use acp_registry_protocol::handshake::{HandshakeOptions, Peer, Silence, StartError};
use serde_json::Value;
use tokio::time::Instant;

use super::access::Recipe;
use super::agent::add_projects;
use super::engine::{led, serve};
use super::exchange::{CLOSES, Exchange, Part, RELEASES, TERMINATES};
use super::session::CONTENT;
use crate::model::{Model, Play};

/// How long to wait for what the agent wrote the first time.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long the agent is listened to after the last line.
const END: Duration = Duration::from_secs(5);

/// Why an exchange could not be sent again.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The agent could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The scripted model that the agent is to reach could not be served.
    #[error("the scripted model cannot be served: {0}")]
    Model(#[from] io::Error),
}

/// How an agent ended to which an exchange was sent again.
#[derive(Debug)]
pub struct Replayed {
    /// How it ended, if the exchange ends it.
    pub exit: Option<Exit>,
    /// The last part of its stderr. Not escaped.
    pub stderr: String,
    /// Why its directory could not be removed, if so.
    pub left: Option<String>,
}

/// Starts an agent and sends it what the client of an exchange wrote, each time after it has written as much as it did
/// then. Ids of sessions and of the agent's own requests are replaced by those of this run. `tell` gets each line: whether
/// the agent wrote it, and its text, which is not escaped.
///
/// # Errors
/// Returns [`ReplayError`] if the agent cannot be started, or the model not be served.
pub async fn replay(
    launch: &LaunchSpec,
    options: &HandshakeOptions,
    recipe: &Recipe,
    exchange: &Exchange,
    tell: &mut dyn FnMut(bool, &str),
) -> Result<Replayed, ReplayError> {
    let has_model = exchange.parts.contains(&Part::HasModel) || recipe.handshake;
    let model = if has_model { Some(serve(launch).await?) } else { None };
    let (launch, mut options) = led(launch, options, recipe, model.as_ref());
    add_projects(&mut options);
    let peer = Peer::start(&launch, &options).await?;
    let program = launch.launcher.as_deref().map(|path| path.to_string_lossy().into_owned());
    let mut run = Run { peer, then: Vec::new(), heard: Vec::new(), awaited: 0, tell };
    let (mut exit, mut plays, mut expected) = (None, Vec::new(), 0);
    for part in &exchange.parts {
        match part {
            Part::HasModel => {}
            Part::Agent(_) => {
                let message = part.message();
                expected += usize::from(message.as_ref().is_some_and(is_awaited));
                run.then.extend(message);
            }
            Part::Model(number, script) => {
                plays.extend(model.iter().map(|model| model.play_as(*number, script.clone())));
            }
            Part::Client(said) => {
                run.listen(expected, PATIENCE).await;
                if said == RELEASES {
                    // What the agent has not shown the first time, it may show now.
                    run.listen(expected + 1, END).await;
                }
                let said = run.fill(said, program.as_deref(), model.as_ref());
                (run.tell)(false, said.trim_end_matches('\n'));
                match said.as_str() {
                    CLOSES => exit = run.peer.close_input(Instant::now() + PATIENCE).await,
                    RELEASES => plays.iter().for_each(Play::release),
                    TERMINATES => exit = run.peer.terminate(Instant::now() + PATIENCE).await,
                    _ => drop(run.peer.send(said.into_bytes(), Instant::now() + PATIENCE).await),
                }
            }
        }
    }
    exit = run.listen(expected, END).await.or(exit);
    if let Some(Part::Client(_)) = exchange.parts.last() {
        // What was missing then, a mended agent writes.
        exit = run.listen(expected + 1, END).await.or(exit);
    }
    let stderr = run.peer.stderr().await;
    let left = run.peer.end().await;
    Ok(Replayed { exit, stderr, left })
}

/// An exchange that is being sent again.
struct Run<'a> {
    peer: Peer,
    /// The agent's messages of then, as far as the exchange is sent.
    then: Vec<Value>,
    /// The agent's messages so far, and the number of those that are waited for.
    heard: Vec<Value>,
    awaited: usize,
    tell: &'a mut dyn FnMut(bool, &str),
}

impl Run<'_> {
    /// Reads lines of the agent until there are as many as expected of those that are waited for. Returns how it has ended,
    /// if it has.
    async fn listen(&mut self, expected: usize, patience: Duration) -> Option<Exit> {
        let deadline = Instant::now() + patience;
        while self.awaited < expected {
            let line = match self.peer.line(deadline).await {
                Ok(line) => line,
                Err(Silence::Exited(exit)) => return Some(exit),
                Err(_) => return None,
            };
            let line = String::from_utf8_lossy(&line).into_owned();
            (self.tell)(true, &line);
            let message = serde_json::from_str(&line).unwrap_or_default();
            self.awaited += usize::from(is_awaited(&message));
            self.heard.push(message);
        }
        None
    }

    /// What the client writes, with the ids, paths and addresses of this run.
    fn fill(&self, said: &str, program: Option<&str>, model: Option<&Model>) -> String {
        let address = model.map(|model| model.address().to_string());
        let sandbox = self.peer.directory().to_string_lossy();
        let mut said = said.replace("$SANDBOX", &sandbox).replace("$PROGRAM", program.unwrap_or_default());
        said = said.replace("$MODEL", address.as_deref().unwrap_or_default());
        let (then, now) = (&self.then, &self.heard);
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

/// Whether the client waits for a message before it goes on: for responses, requests, and what belongs to a turn. Other
/// notifications come when the agent likes.
fn is_awaited(message: &Value) -> bool {
    let kind = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
    message.get("id").is_some() || CONTENT.contains(&kind)
}

fn session(message: &Value) -> Option<&str> {
    message["result"]["sessionId"].as_str()
}
