//! Sends requests to an agent after `initialize`, before the user has signed in.
//!
//! They are safe for any agent in an empty home: they list data, open a session, or name a session that does not exist.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::Handshake;
use super::connection::{Connection, explain};
use super::message;
use super::message::{Body, Response};
use super::probe::{NEW, Probe, SessionChoices};
use super::wire::Silence;
use acp_registry_host::process::ProcessTree;
use acp_registry_plan::text::quote;

/// Time limit for all requests of an agent that keeps answering, as a multiple of the limit for one.
const WHOLE: u32 = 6;

/// The id of the first request; the id of `initialize` is lower.
const FIRST_ID: u64 = 2;

/// Sends requests for everything that the agent advertises: first for a new session, which may be slow, and then all
/// others at once. `limit` is the longest silence to wait for: it starts again with each answer, and all requests
/// together take at most [`WHOLE`] times as long.
pub(super) async fn run(
    connection: &mut Connection,
    tree: &mut ProcessTree,
    handshake: &mut Handshake,
    directory: &Path,
    limit: Duration,
) {
    let mut next_id = FIRST_ID;
    let end = Instant::now() + limit * WHOLE;
    let mut deadline = Instant::now() + limit;
    let advertised = advertised(handshake, directory);
    let (first, others): (Vec<_>, Vec<_>) = advertised.into_iter().partition(|(method, _)| *method == NEW);
    for requests in [first, others] {
        let mut waiting = Vec::new();
        for (method, params) in &requests {
            connection.send(next_id, method, params);
            waiting.push((next_id, *method));
            next_id += 1;
        }
        let mut missing = Probe::Timeout;
        let mut outcomes = Vec::new();
        while !waiting.is_empty() {
            let ids: Vec<u64> = waiting.iter().map(|(id, _)| *id).collect();
            match connection.response(tree, &ids, deadline).await {
                Ok((id, response)) => {
                    deadline = after_answer(Instant::now(), limit, end);
                    let Some(at) = waiting.iter().position(|(waiting, _)| *waiting == id) else { break };
                    let (_, method) = waiting.remove(at);
                    outcomes.push((method, outcome(method, &response, handshake)));
                }
                Err(silence) => {
                    if let Some((id, _)) = waiting.iter().find(|(_, method)| *method == NEW) {
                        let failure = explain(connection, silence, (*id, NEW), limit).await;
                        handshake.probes.refusal = Some(failure.message);
                    }
                    if silence.is_timeout() {
                        break;
                    }
                    let names: Vec<String> = waiting.iter().map(|(_, method)| quote(method)).collect();
                    handshake.warnings.push(format!("{} after {}", stopped(silence), names.join(", ")));
                    missing = Probe::Error;
                    break;
                }
            }
        }
        for (method, _) in &requests {
            let found = outcomes.iter().find(|(known, _)| known == method).map(|(_, probe)| *probe);
            handshake.probes.outcomes.push((method, found.unwrap_or(missing)));
        }
        if missing == Probe::Error {
            break;
        }
    }
    handshake.warnings.extend(handshake.probes.missing());
}

/// The deadline for the next answer, after the agent has just answered.
fn after_answer(now: Instant, limit: Duration, end: Instant) -> Instant {
    (now + limit).min(end)
}

fn stopped(silence: Silence) -> String {
    match silence {
        Silence::Timeout | Silence::Starved(_) => "did not answer".to_owned(),
        Silence::Exited(exit) => format!("ended ({})", exit.describe()),
        Silence::Closed => "closed its stdout".to_owned(),
        Silence::Overflow(_) => "wrote more than it may".to_owned(),
        Silence::Array => "answered in an array".to_owned(),
    }
}

/// The requests that an agent advertises, with harmless parameters.
fn advertised(handshake: &Handshake, directory: &Path) -> Vec<(&'static str, Value)> {
    // A different session per request, because agents refuse concurrent requests for one session.
    let absent = |of: &str| json!({ "sessionId": format!("no-such-session-{of}") });
    let uri = url::Url::from_directory_path(directory).map(String::from).unwrap_or_default();
    let place = |of: &str| {
        let mut params = message::in_directory(directory);
        params["sessionId"] = absent(of)["sessionId"].clone();
        params
    };
    let requests = [
        ("session", NEW, message::in_directory(directory)),
        ("session/list", "session/list", json!({})),
        ("session/load", "session/load", place("load")),
        ("session/resume", "session/resume", place("resume")),
        ("session/fork", "session/fork", place("fork")),
        ("session/close", "session/close", absent("close")),
        ("session/delete", "session/delete", absent("delete")),
        ("providers", "providers/list", json!({})),
        ("nes", "nes/start", json!({ "workspaceUri": uri, "workspaceFolders": [{ "uri": uri, "name": "work" }] })),
    ];
    requests
        .into_iter()
        .filter(|(feature, ..)| handshake.features.has(feature))
        .map(|(_, method, params)| (method, params))
        .collect()
}

fn outcome(method: &str, response: &Response, handshake: &mut Handshake) -> Probe {
    let (probe, said) = match response.body() {
        Ok(Body::Result(result)) => {
            if has_boolean_option(&result) {
                handshake.features.observe("session/config-options/boolean");
            }
            if method == NEW {
                handshake.session = Some(SessionChoices::read(&result));
            }
            return Probe::Ok;
        }
        Ok(Body::Error(error)) => {
            let probe = Probe::of(&error);
            // Signing in does not fix these.
            if method == NEW && [Probe::Error, Probe::InvalidParams, Probe::ResourceNotFound].contains(&probe) {
                handshake.setup_required = Some(error.words());
            }
            (probe, format!("the agent answers {} with {}", quote(method), error.describe()))
        }
        Err(problem) => {
            let said = format!("the response to {} {problem}", quote(method));
            handshake.warnings.push(said.clone());
            (Probe::Error, said)
        }
    };
    if method == NEW {
        handshake.probes.refusal = Some(said);
    }
    probe
}

/// In version 1, no capability announces this kind of option: it appears only in new sessions.
fn has_boolean_option(result: &Value) -> bool {
    let options = result.get("configOptions").and_then(Value::as_array);
    options.is_some_and(|options| options.iter().any(|option| option.get("type").is_some_and(|kind| kind == "boolean")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(capabilities: &Value) -> Handshake {
        let answer = json!({ "protocolVersion": 1, "agentCapabilities": capabilities, "authMethods": [] });
        Handshake::read(&answer, 1).0
    }

    #[test]
    fn only_what_is_advertised_is_asked_for() {
        let methods = |capabilities: Value| -> Vec<&str> {
            advertised(&handshake(&capabilities), "/work".as_ref()).iter().map(|(method, _)| *method).collect()
        };
        assert_eq!(methods(json!({})), [NEW]);
        assert_eq!(
            methods(json!({ "loadSession": true, "sessionCapabilities": { "list": {} }, "nes": {} })),
            [NEW, "session/list", "session/load", "nes/start"]
        );
    }

    #[test]
    fn parameters_are_what_the_protocol_asks_for() {
        let requests = advertised(&handshake(&json!({ "nes": {}, "loadSession": true })), "/a b".as_ref());
        let params = |method| &requests.iter().find(|(known, _)| *known == method).unwrap().1;
        assert_eq!(params(NEW), &json!({ "cwd": "/a b", "mcpServers": [] }));
        assert_eq!(params("session/load")["sessionId"], "no-such-session-load");
        if cfg!(unix) {
            assert_eq!(params("nes/start")["workspaceUri"], "file:///a%20b/");
        }
    }

    #[test]
    fn an_answer_gives_more_time_but_not_for_ever() {
        let (start, limit) = (Instant::now(), Duration::from_secs(5));
        let end = start + limit * WHOLE;
        let left = |after: u64| (after_answer(start + Duration::from_secs(after), limit, end) - start).as_secs();
        assert_eq!([0, 4, 24, 25, 29, 30].map(left), [5, 9, 29, 30, 30, 30]);
    }

    #[test]
    fn boolean_options_are_seen() {
        assert!(has_boolean_option(&json!({ "configOptions": [{ "type": "select" }, { "type": "boolean" }] })));
        assert!(!has_boolean_option(&json!({ "configOptions": [{ "type": "select" }] })));
        assert!(!has_boolean_option(&json!({ "configOptions": 7 })));
    }
}
