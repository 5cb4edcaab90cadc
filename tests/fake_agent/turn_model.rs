//! A client of a language model: Chat Completions, streamed, over plain HTTP.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// What the model has answered.
pub(super) enum Answer {
    /// A text, with the stop reason of the turn.
    Text(&'static str),
    Calls(Vec<Value>),
    Failed,
    /// The turn was cancelled while the model was answering.
    Cancelled,
}

/// How often a silent connection is interrupted to see whether the turn was cancelled.
const TICK: Duration = Duration::from_millis(20);

/// Sends a conversation to the model, which is offered the agent's own tools and those named `more`. `tell` is called with each event (empty if it is the same) and each piece of text,
/// and now and then without any; it returns whether to go on.
pub(super) fn ask(
    history: &[Value],
    more: &[String],
    keeps_connection: bool,
    tell: &mut dyn FnMut(&str, &str) -> bool,
) -> Answer {
    let base = std::env::var("OPENAI_BASE_URL").unwrap();
    let address = base.strip_prefix("http://").unwrap().trim_end_matches("/v1");
    let body = json!({ "model": "m", "stream": true, "messages": history, "tools": tools(more) }).to_string();
    let mut socket = TcpStream::connect(address).unwrap();
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n", body.len());
    socket.write_all(head.as_bytes()).unwrap();
    socket.write_all(body.as_bytes()).unwrap();
    socket.set_read_timeout(Some(TICK)).unwrap();
    let mut lines = BufReader::new(socket);
    let status: u16 = match line(&mut lines, tell) {
        Ok(Some(line)) => line.split(' ').nth(1).unwrap().parse().unwrap(),
        Ok(None) => return Answer::Cancelled,
        Err(_) => return Answer::Failed,
    };
    if status != 200 {
        tell(&format!("fails with {status}"), "");
        return Answer::Failed;
    }
    let answer = read(&mut lines, tell);
    if keeps_connection {
        // Until the agent ends.
        std::mem::forget(lines);
    }
    answer
}

fn read(lines: &mut BufReader<TcpStream>, tell: &mut dyn FnMut(&str, &str) -> bool) -> Answer {
    let (mut calls, mut is_first, mut reason) = (Vec::new(), true, "end_turn");
    loop {
        let line = match line(lines, tell) {
            Ok(Some(line)) => line,
            Ok(None) => return Answer::Cancelled,
            Err(_) => {
                tell("breaks off", "");
                return Answer::Failed;
            }
        };
        // The lengths of chunks and the headers are lines of their own.
        let Some(data) = line.strip_prefix("data: ") else { continue };
        if data == "[DONE]" {
            return if calls.is_empty() { Answer::Text(reason) } else { Answer::Calls(calls) };
        }
        let event: Value = serde_json::from_str(data).unwrap();
        let choice = &event["choices"][0];
        if let Some(call) = choice["delta"]["tool_calls"].get(0) {
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            tell(&format!("calls {} {}", call["function"]["name"].as_str().unwrap(), stem(&arguments)), "");
            calls.push(call.clone());
        }
        if let Some(text) = choice["delta"]["refusal"].as_str() {
            tell("refuses", text);
        }
        if let Some(text) = choice["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
            let event = format!("sends {}", text.split_whitespace().next().unwrap_or_default());
            tell(if std::mem::take(&mut is_first) { &event } else { "" }, text);
        }
        match choice["finish_reason"].as_str() {
            Some("length") => {
                tell("reaches its limit", "");
                reason = "max_tokens";
            }
            Some("content_filter") => reason = "refusal",
            _ => {}
        }
    }
}

/// The next line; `None` if the turn was cancelled.
fn line(lines: &mut BufReader<TcpStream>, tell: &mut dyn FnMut(&str, &str) -> bool) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        if !tell("", "") {
            return Ok(None);
        }
        match lines.by_ref().read_until(b'\n', &mut bytes) {
            Ok(_) if bytes.ends_with(b"\n") => break,
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(String::from_utf8(bytes).unwrap().trim_end().to_owned()))
}

/// The name of the file that a call is about, without its extension.
fn stem(arguments: &Value) -> String {
    let text =
        ["path", "command", "text", "question"].iter().find_map(|name| arguments[name].as_str()).unwrap_or_default();
    let name = text.trim_end_matches('\'').rsplit(['/', ' ']).next().unwrap_or_default();
    name.trim_end_matches(".txt").to_owned()
}

fn tools(more: &[String]) -> Value {
    let tool = |name: &str, members: &[&str]| {
        let properties: serde_json::Map<_, _> =
            members.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let parameters = json!({ "type": "object", "required": members, "properties": properties });
        json!({ "type": "function", "function": { "name": name, "parameters": parameters } })
    };
    let own = [
        tool("shell", &["command"]),
        tool("read", &["path"]),
        tool("write", &["path", "content"]),
        tool("ask_user", &["question"]),
    ];
    own.into_iter().chain(more.iter().map(|name| tool(name, &["text"]))).collect()
}
