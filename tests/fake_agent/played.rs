//! An agent that follows the protocol except for what an exchange shows: lines that begin with `client` or `agent`, as
//! in the documentation of checks. Whenever this agent receives a `client` line, it replies with the `agent` lines
//! after it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

/// A `client` line of the exchange, with its replies.
struct Step {
    said: String,
    /// Whether the line comes before the answer to `initialize`.
    is_before: bool,
    replies: Vec<String>,
}

fn steps(exchange: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_before = false;
    for line in exchange.lines() {
        if let Some(said) = line.strip_prefix("client ") {
            let is_first = said.contains("\"method\":\"initialize\"");
            steps.push(Step { said: said.to_owned(), is_before: is_before || is_first, replies: Vec::new() });
        } else if line.is_empty() {
            // There is no reply.
        } else if line == "agent starts" {
            is_before = true;
        } else {
            let reply = line.strip_prefix("agent ").unwrap_or_else(|| panic!("{line}"));
            steps.last_mut().unwrap().replies.push(reply.to_owned());
        }
    }
    steps
}

/// Whether a value matches the exchange: it has all members shown, `{}` matches only an empty object, and a text with
/// `$` matches any text.
fn is_like(value: &Value, shown: &Value) -> bool {
    match (value, shown) {
        (Value::String(text), Value::String(shown)) if shown == "$LONG" => text.len() > 100_000,
        (Value::String(text), Value::String(shown)) if shown == "$WORK" => text != ".",
        (Value::String(text), Value::String(shown)) if shown == "$PROJECT" => text.contains("/projects/"),
        (Value::String(_), Value::String(shown)) if shown.starts_with('$') => true,
        (Value::Object(members), Value::Object(shown)) if shown.is_empty() => members.is_empty(),
        (Value::Array(items), Value::Array(shown)) => {
            items.len() == shown.len() && items.iter().zip(shown).all(|(item, shown)| is_like(item, shown))
        }
        (Value::Object(members), Value::Object(shown)) => {
            shown.iter().all(|(name, shown)| members.get(name).is_some_and(|value| is_like(value, shown)))
        }
        _ => value == shown,
    }
}

fn is_meant(step: &Step, line: &str, message: &Value, is_before: bool) -> bool {
    let Ok(shown) = serde_json::from_str::<Value>(&step.said) else { return step.said == line };
    let is_same_id = !(shown["id"].is_string() || shown["id"].is_object()) || shown["id"] == message["id"];
    step.is_before == is_before
        && shown["method"] == message["method"]
        && is_same_id
        && (shown["method"].is_string() || shown["id"].is_string())
        && (shown["params"].is_null() || is_like(&message["params"], &shown["params"]))
}

pub(super) fn write(text: &str) {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).unwrap();
    out.write_all(b"\n").unwrap();
    out.flush().unwrap();
}

/// The agent behind an exchange.
pub(super) trait Player {
    /// Answers a message that the exchange does not show. `is_before` says whether `initialize` has not been received yet.
    fn answer(&mut self, message: &Value, is_before: bool);

    /// Carries out a reply that is not a message, and returns whether it is one of its own.
    fn acts(&mut self, _reply: &str, _message: &Value) -> bool {
        false
    }

    /// Fills in what only this agent knows.
    fn filled(&self, reply: String) -> String {
        reply
    }

    /// Learns of a response that the exchange has given.
    fn replied(&mut self, _message: &Value, _response: &Value) {}
}

impl<F: FnMut(&Value, bool)> Player for F {
    fn answer(&mut self, message: &Value, is_before: bool) {
        self(message, is_before);
    }
}

pub(super) fn run(exchange: &str) {
    run_as(exchange, answer);
}

/// Plays an exchange, and lets the agent answer every other message.
pub(super) fn run_as(exchange: &str, mut player: impl Player) {
    let steps = steps(exchange);
    let goes_on = |said: &str| steps.iter().any(|step| step.said == said && step.replies == ["goes on"]);
    #[cfg(unix)]
    if goes_on("sends SIGTERM") {
        nix::sys::signal::SigSet::from(nix::sys::signal::Signal::SIGTERM).thread_block().unwrap();
    }
    let mut is_before = true;
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let was_before = is_before;
        is_before &= message["method"] != "initialize";
        match steps.iter().find(|step| is_meant(step, &line, &message, was_before)) {
            Some(step) => step.replies.iter().for_each(|reply| reply_as(&mut player, reply, &step.said, &message)),
            None => player.answer(&message, was_before),
        }
    }
    if goes_on("closes stdin") {
        super::agent::forever();
    }
}

/// What is known from earlier lines of the exchange.
#[derive(Default)]
struct Known {
    /// The ids of requests that the client has sent, by the ids in the exchange.
    ids: BTreeMap<String, Value>,
    /// The sessions of requests that the agent has sent, by their ids.
    sessions: BTreeMap<String, String>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { ids: BTreeMap::new(), sessions: BTreeMap::new() });

/// Sends the replies of the exchange, with the ids of the actual requests.
fn reply_as(player: &mut impl Player, reply: &str, said: &str, message: &Value) {
    if reply == "ends" {
        exit(7);
    }
    if player.acts(reply, message) {
        return;
    }
    let shown: Value = serde_json::from_str(said).unwrap_or_default();
    let mut known = KNOWN.lock().unwrap();
    if message.get("method").is_some() && !message["id"].is_null() && !shown["id"].is_null() {
        known.ids.insert(shown["id"].to_string(), message["id"].clone());
    }
    match serde_json::from_str::<Value>(&player.filled(filled(reply, message, &known))) {
        Ok(Value::Object(mut members)) => {
            let shown = members.get("id").map(Value::to_string).unwrap_or_default();
            if members.contains_key("method") {
                let session = members.get("params").and_then(|params| params["sessionId"].as_str());
                known.sessions.extend(session.map(|session| (shown, session.to_owned())));
            } else if let Some(id) = known.ids.get(&shown) {
                members.insert("id".to_owned(), id.clone());
            }
            let response = Value::from(members);
            player.replied(message, &response);
            write(&response.to_string());
        }
        _ => write(reply),
    }
}

/// Replaces `$NEW` by an id that no other session has, `$SESSION` by the id of the request's session, and `$CONNECTION`
/// by the id in the response.
fn filled(reply: &str, message: &Value, known: &Known) -> String {
    static SESSIONS: AtomicUsize = AtomicUsize::new(0);
    let asked = known.sessions.get(&message["id"].to_string()).map(String::as_str);
    let session = message["params"]["sessionId"].as_str().or(asked).unwrap_or_default();
    let connection = message["result"]["connectionId"].as_str().unwrap_or("unknown");
    let reply = &reply.replace("$CONNECTION", connection);
    let new = || format!("new-{}", SESSIONS.fetch_add(1, Ordering::Relaxed));
    let reply = if reply.contains("$NEW") { reply.replace("$NEW", &new()) } else { reply.to_owned() };
    reply.replace("$SESSION", session)
}

/// Behaves as the protocol requires.
fn answer(message: &Value, is_before: bool) {
    if message.is_null() {
        write(
            &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "Parse error" } }).to_string(),
        );
        return;
    }
    let Some(id) = message.get("id") else { return };
    let params = &message["params"];
    let error = |code: i64, text: &str| json!({ "error": { "code": code, "message": text } });
    let method = message["method"].as_str().unwrap_or_default();
    let mut answer = match method {
        // A response to the agent's own request.
        "" => return,
        "initialize" => json!({ "result": {
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": true },
            "agentInfo": { "name": "fake-agent", "version": "1.0.0" },
            "authMethods": [{ "id": "login", "name": "Log in" }],
        } }),
        _ if is_before => error(-32600, "initialize comes first"),
        "session/new" if !params["cwd"].is_string() => error(-32602, "Invalid params"),
        "session/new" => error(-32000, "Authentication required"),
        "session/load" | "session/prompt" => error(-32002, "Resource not found"),
        "authenticate" => error(-32602, "Invalid params"),
        _ => error(-32601, "Method not found"),
    };
    answer["jsonrpc"] = "2.0".into();
    answer["id"] = id.clone();
    write(&answer.to_string());
}
