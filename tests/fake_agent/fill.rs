//! Costs its examiner as much memory as it can, and is a good agent otherwise.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::{env, thread};

use serde_json::{Value, json};

use crate::agent::good;

/// The size of a large message, in bytes.
const SIZE: usize = 3900 << 10;

/// What is written to the examiner or sent to its model, by name.
pub(super) fn run(way: &str) {
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let Some(id) = message.get("id") else { continue };
        let answer = match message["method"].as_str() {
            Some("initialize") => {
                fill(way);
                json!({ "result": good() })
            }
            Some("session/new") => json!({ "result": { "sessionId": "s" } }),
            _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
        };
        tell(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{}", &answer.to_string()[1..]));
    }
}

fn tell(line: &str) {
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).unwrap();
}

fn fill(way: &str) {
    let repeated = |before: &str, piece: &str, behind: &str, size: usize| {
        format!("{before}{}{behind}", piece.repeat(size / piece.len()))
    };
    let part = SIZE / 5;
    let body = match way {
        "constants" => {
            let items = json!({ "const": "x".repeat(SIZE - 1000) });
            let schema = json!({ "type": "array", "minItems": 100, "items": items });
            let format = json!({ "type": "json_schema", "json_schema": { "schema": schema } });
            json!({ "messages": [], "response_format": format }).to_string()
        }
        "lists" => repeated("{\"messages\":[", "[],", "[]]}", SIZE),
        "objects" => repeated("{\"messages\":[", "{\"\":0},", "0]}", SIZE),
        "few objects" => repeated("{\"messages\":[", "{\"\":0},", "0]}", 100_000),
        "texts" => repeated("{\"messages\":[{\"content\":\"", "x", "\"}]}", SIZE),
        "results" => return (0..18).for_each(|_| tell(&repeated("{\"id\":77,\"result\":[", "[],", "0]}", part))),
        "small results" => {
            return (0..100).for_each(|_| tell(&repeated("{\"id\":77,\"result\":[", "[],", "0]}", 140_000)));
        }
        "updates" => {
            let before = "{\"method\":\"session/update\",\"params\":[";
            return (0..100).for_each(|_| tell(&repeated(before, "[],", "0]}", 140_000)));
        }
        other => panic!("{other}"),
    };
    let Some(base) = env::var("OPENAI_BASE_URL").ok() else { return };
    let body = Arc::new(body);
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let (body, base) = (body.clone(), base.clone());
            thread::spawn(move || post(&base, &body))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Sends a body to the model, and reads its answer.
fn post(base: &str, body: &str) {
    let address = base.strip_prefix("http://").unwrap().trim_end_matches("/v1");
    let Ok(mut socket) = TcpStream::connect(address) else { return };
    let length = body.len();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    // The model may refuse the body before it has read all of it.
    let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body.as_bytes()));
    let mut bytes = [0; 4096];
    while let Ok(1..) = socket.read(&mut bytes) {}
}
