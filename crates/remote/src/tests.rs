//! Faults of servers, each alone: a bridge ends, answers every request once, and sends no prompt twice.

use std::io::{BufReader, Read, Write, pipe};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use acp_registry_http::Settings;

use crate::{BridgeError, Endpoint, Headers, bridge};

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
const SESSION: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#;
const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}"#;
const STOP: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;

/// What a server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// Nothing; the bytes of its streams are sent in pieces of this size.
    None(usize),
    /// Sends messages by the stream of the connection, and refuses another one with this status.
    OneStream(u16),
    /// Answers the first message with this status.
    Status(u16),
    /// Answers every later message with this status.
    Later(u16),
    /// Names no connection.
    NoConnection,
    /// Answers `initialize` with a text that is not JSON.
    Text,
    /// Refuses the stream of the connection with this status.
    StreamStatus(u16),
    /// Opens streams of another type.
    StreamType,
    /// Ends the stream of the session after so many bytes of the turn.
    Cut(usize),
    /// Sends so many bytes of the turn, and then nothing.
    Stall(usize),
    /// Accepts the prompt, and closes the connection without an answer to the POST.
    Reset,
    /// Accepts connections and sends nothing.
    Mute,
    /// Redirects to another host.
    Redirect,
}

/// A server of one conversation, which speaks HTTP/1.1 without a library, so that it can break every rule.
#[derive(Clone)]
struct Server {
    fault: Fault,
    /// The heads and bodies of all requests.
    asked: Arc<Mutex<Vec<String>>>,
    streams: Arc<Mutex<Vec<(bool, std::net::TcpStream)>>>,
}

fn request(input: &mut impl Read) -> Option<String> {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") {
        input.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    let head = String::from_utf8(text).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8(body).unwrap())
}

impl Server {
    fn start(fault: Fault) -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/acp", listener.local_addr().unwrap());
        let server = Self { fault, asked: Arc::default(), streams: Arc::default() };
        let own = server.clone();
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (server, socket) = (own.clone(), socket.unwrap());
                thread::spawn(move || server.serve(socket));
            }
        });
        (server, url)
    }

    fn serve(&self, mut socket: std::net::TcpStream) {
        let mut input = BufReader::new(socket.try_clone().unwrap());
        while let Some(text) = request(&mut input) {
            self.asked.lock().unwrap().push(text.clone());
            let status = |code: u16| format!("HTTP/1.1 {code} X\r\ncontent-length: 4\r\n\r\nwhy\n");
            let answer = |headers: &str, body: &str| {
                format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
            };
            let is_of_session = text.contains("\r\nacp-session-id: s\r\n");
            let reply = if self.fault == Fault::Mute {
                String::new()
            } else if text.starts_with("get") {
                match self.fault {
                    Fault::StreamStatus(code) if !is_of_session => status(code),
                    Fault::OneStream(code) if is_of_session => status(code),
                    Fault::StreamType => answer("content-type: text/html\r\n", "x"),
                    _ => {
                        let head =
                            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: open\n\n";
                        socket.write_all(head.as_bytes()).unwrap();
                        self.streams.lock().unwrap().push((is_of_session, socket.try_clone().unwrap()));
                        String::new()
                    }
                }
            } else if text.contains("\"initialize\"") {
                match self.fault {
                    Fault::Status(code) => status(code),
                    Fault::Redirect => {
                        "HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n".into()
                    }
                    Fault::NoConnection => answer("", ANSWER),
                    Fault::Text => answer("acp-connection-id: c\r\n", "<html>"),
                    _ => answer("acp-connection-id: c\r\nset-cookie: a=1\r\n", ANSWER),
                }
            } else if text.starts_with("delete") {
                "HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n".to_owned()
            } else if let Fault::Later(code) = self.fault {
                status(code)
            } else if self.fault == Fault::Reset && text.contains("session/prompt") {
                return;
            } else {
                "HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n".to_owned()
            };
            socket.write_all(reply.as_bytes()).unwrap();
            if text.contains("session/new") {
                self.send(false, &format!("data: {SESSION}\n\n"), usize::MAX);
            }
            if text.contains("session/prompt") {
                let turn = format!("data: {UPDATE}\r\n\r\nid: 7\ndata: {}\ndata: {}\n\n", &STOP[..17], &STOP[17..]);
                match self.fault {
                    Fault::Cut(bytes) => {
                        self.send(true, &turn[..bytes], usize::MAX);
                        self.streams.lock().unwrap().iter().for_each(|(_, stream)| {
                            let _ = stream.shutdown(std::net::Shutdown::Both);
                        });
                    }
                    Fault::Stall(bytes) => self.send(true, &turn[..bytes], usize::MAX),
                    Fault::OneStream(_) => self.send(false, &turn, usize::MAX),
                    Fault::None(size) => self.send(true, &turn, size),
                    _ => self.send(true, &turn, usize::MAX),
                }
            }
        }
    }

    /// Writes to the stream of the session, or of the connection, as soon as it is open.
    fn send(&self, is_of_session: bool, text: &str, size: usize) {
        loop {
            let mut streams = self.streams.lock().unwrap();
            if let Some((_, stream)) = streams.iter_mut().find(|(is_for, _)| *is_for == is_of_session) {
                stream.set_nodelay(true).unwrap();
                for piece in text.as_bytes().chunks(size.min(text.len()).max(1)) {
                    let _ = stream.write_all(piece);
                }
                return;
            }
            drop(streams);
            thread::yield_now();
        }
    }
}

const INPUT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}
"#;

/// Speaks with a server until each request is answered, or the bridge has ended. Returns its output and what was noted.
fn speak(url: &str) -> (Vec<String>, Result<(), BridgeError>) {
    let (input, client) = pipe().unwrap();
    let (reader, output) = pipe().unwrap();
    let url = url.to_owned();
    let bridged = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let endpoint = Endpoint::new(&url, &Headers::default(), &Settings::default()).unwrap();
        let done = bridge(&endpoint, BufReader::new(input), output, Duration::from_millis(300), &|_| {});
        let done = runtime.block_on(done);
        runtime.shutdown_background();
        done
    });
    let mut requests = INPUT.lines();
    let mut lines = Vec::new();
    let mut client = Some(client);
    // Dropping the writer ends the input.
    let mut write = move || match (requests.next(), &mut client) {
        (Some(line), Some(client)) => drop(writeln!(client, "{line}")),
        _ => client = None,
    };
    write();
    for line in std::io::BufRead::lines(BufReader::new(reader)) {
        let line = line.unwrap();
        let is_answer = line.contains("\"id\":");
        lines.push(line);
        if is_answer {
            write();
        }
    }
    drop(write);
    (lines, bridged.join().unwrap())
}

fn faults() -> Vec<Fault> {
    let turn = UPDATE.len() + STOP.len() + 30;
    let mut faults: Vec<Fault> = (1..20).map(Fault::None).collect();
    faults.extend([400, 404, 405, 409, 501].map(Fault::OneStream));
    faults.extend([204, 301, 400, 401, 403, 404, 413, 415, 429, 500, 502, 503].map(Fault::Status));
    faults.extend([400, 404, 409, 410, 415, 500, 502, 503].map(Fault::Later));
    faults.extend([204, 302, 400, 401, 404, 406, 409, 500, 503].map(Fault::StreamStatus));
    faults.extend([Fault::NoConnection, Fault::Text, Fault::StreamType, Fault::Reset, Fault::Mute, Fault::Redirect]);
    faults.extend((0..turn).step_by(3).map(Fault::Cut));
    faults.extend((0..turn).step_by(9).map(Fault::Stall));
    faults
}

#[test]
fn no_fault_hangs_a_bridge_loses_a_message_or_repeats_a_prompt() {
    for fault in faults() {
        let (server, url) = Server::start(fault);
        let (lines, result) = speak(&url);
        let answers = |id: u8| lines.iter().filter(|line| line.contains(&format!("\"id\":{id}"))).count();
        let asked = server.asked.lock().unwrap();
        let prompts = asked.iter().filter(|text| text.contains("session/prompt")).count();
        assert!(prompts <= 1, "{fault:?}: {asked:?}");
        // Each request that was written is answered once: by the agent, or with an error that says why not.
        let written = if answers(2) == 1 { 3 } else { 1 + usize::from(answers(1) > 0) };
        assert_eq!((0..3).map(answers).sum::<usize>(), written, "{fault:?}: {lines:?}");
        assert!(asked.iter().all(|text| !text.contains("127.0.0.1:9/")), "{fault:?}");
        match fault {
            Fault::None(_) | Fault::OneStream(_) => {
                assert!(result.is_ok(), "{fault:?}: {result:?}");
                let rejoined = STOP[..17].to_owned() + " " + &STOP[17..];
                assert_eq!(lines, [ANSWER, SESSION, UPDATE, rejoined.as_str()], "{fault:?}");
                assert!(asked.last().unwrap().starts_with("delete"), "{fault:?}: {asked:?}");
                let cookies = asked.iter().skip(1).all(|text| text.contains("\r\ncookie: a=1\r\n"));
                assert!(cookies, "{fault:?}: {asked:?}");
            }
            Fault::Status(_) | Fault::Text | Fault::NoConnection | Fault::Later(_) | Fault::Redirect => {
                assert!(
                    lines.iter().any(|line| line.contains("the server answers")) || result.is_err(),
                    "{fault:?}: {lines:?}"
                );
            }
            _ => {
                let Err(error) = result else { panic!("{fault:?}: {lines:?}") };
                assert!(matches!(error, BridgeError::Lost(..)), "{fault:?}: {error}");
                // If the bridge ends before the next request is written, none is open.
                let is_told = lines.last().is_some_and(|line| line.contains("is lost"));
                assert!(is_told || lines == [ANSWER], "{fault:?}: {lines:?}");
            }
        }
    }
}

/// The result of a bridge whose server answers `initialize` with its first argument, and nothing after that.
fn speak_to_mute(
    scheme: &str,
    answer: Option<&'static str>,
    input: &str,
    ends: bool,
    silence: Duration,
) -> BridgeError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{scheme}://{}/acp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for socket in listener.incoming() {
            thread::spawn(move || {
                let mut socket = socket.unwrap();
                let mut input = BufReader::new(socket.try_clone().unwrap());
                while let Some(text) = request(&mut input) {
                    if let Some(answer) = answer.filter(|_| text.contains("\"initialize\"")) {
                        let length = answer.len();
                        let head =
                            format!("HTTP/1.1 200 OK\r\nacp-connection-id: c\r\ncontent-length: {length}\r\n\r\n");
                        socket.write_all((head + answer).as_bytes()).unwrap();
                    }
                }
            });
        }
    });
    let (reader, mut client) = pipe().unwrap();
    client.write_all(input.as_bytes()).unwrap();
    let client = Some(client).filter(|_| !ends);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let endpoint = Endpoint::new(&url, &Headers::default(), &Settings::default()).unwrap();
    let done = runtime.block_on(bridge(&endpoint, BufReader::new(reader), std::io::sink(), silence, &|_| {}));
    runtime.shutdown_background();
    drop(client);
    done.unwrap_err()
}

#[test]
fn a_server_that_does_not_answer_hangs_no_bridge() {
    let initialize = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n";
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s\"}}\n";
    let both = format!("{initialize}{cancel}");
    let (short, long) = (Duration::from_millis(200), Duration::from_hours(1));
    for (scheme, answer, input, ends, silence, part) in [
        ("http", Some(ANSWER), both.as_str(), false, short, "does not answer a message"),
        ("http", Some(ANSWER), &both, true, long, "does not answer a message"),
        ("http", None, cancel, false, short, "does not answer a message"),
        ("http", None, cancel, true, long, "does not answer a message"),
        ("http", None, initialize, true, short, "the server"),
        ("ws", None, initialize, false, short, "does not answer the handshake"),
        ("ws", None, "", true, short, "does not answer the handshake"),
    ] {
        let error = speak_to_mute(scheme, answer, input, ends, silence).to_string();
        assert!(error.contains(part), "{scheme} {input} {ends}: {error}");
    }
}

/// The lines of a bridge and its notes, whose server answers `initialize` with these headers and this body, opens streams with
/// these events, and then ends the stream of the connection. Also how many streams were asked for.
fn speak_to_liar(status: &str, headers: &str, answer: &str, events: &str) -> (String, usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acp", listener.local_addr().unwrap());
    let reply = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{answer}", answer.len());
    let stream = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}");
    let opened = Arc::new(Mutex::new(0));
    let count = opened.clone();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            let (reply, stream, count) = (reply.clone(), stream.clone(), count.clone());
            thread::spawn(move || {
                let mut input = BufReader::new(socket.try_clone().unwrap());
                while let Some(text) = request(&mut input) {
                    if text.starts_with("get") {
                        *count.lock().unwrap() += 1;
                        let _ = socket.write_all(stream.as_bytes());
                        return;
                    }
                    let _ = socket.write_all(reply.as_bytes());
                }
            });
        }
    });
    let (reader, mut client) = pipe().unwrap();
    client.write_all(INPUT.lines().next().unwrap().as_bytes()).unwrap();
    client.write_all(b"\n").unwrap();
    let (mut lines, output) = pipe().unwrap();
    let notes = Mutex::new(String::new());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let headers = Headers::read(["Authorization: Bearer hidden-token", "X-Key: abc"], &|_| None).unwrap();
    let endpoint = Endpoint::new(&url, &headers, &Settings::default()).unwrap();
    let note = |text: &str| notes.lock().unwrap().push_str(&format!("{text}\n"));
    // The end of the stream ends a conversation that has begun.
    let client = Some(client).filter(|_| status.starts_with("200"));
    let read = thread::spawn(move || {
        let mut text = String::new();
        lines.read_to_string(&mut text).map(|_| text).unwrap()
    });
    let done = runtime.block_on(bridge(&endpoint, BufReader::new(reader), output, Duration::from_mins(1), &note));
    runtime.shutdown_background();
    drop(client);
    let error = done.err().map(|error| error.to_string()).unwrap_or_default();
    let opened = *opened.lock().unwrap();
    (format!("{}\n{error}\n{}", notes.into_inner().unwrap(), read.join().unwrap()), opened)
}

#[test]
fn no_message_has_a_secret_that_a_server_repeats() {
    let body = "key abc: Bearer hidden-token, or hidden-token, or cookie-value";
    let (text, _) = speak_to_liar("401 Unauthorized", "set-cookie: a=cookie-value\r\n", body, "");
    assert!(text.contains("answers 401 Unauthorized: key abc: …, or …, or …;"), "{text}");
    assert!(!text.contains("hidden-token") && !text.contains("cookie-value"), "{text}");
}

#[test]
fn a_server_that_invents_answers_opens_no_streams() {
    let invented =
        |id: usize| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"sessionId\":\"i{id}\"}}}}\n\n");
    let events: String = (100..400).map(invented).collect();
    let (text, opened) = speak_to_liar("200 OK", "acp-connection-id: c\r\n", ANSWER, &events);
    assert!(opened <= 1 && text.contains(ANSWER), "{opened} {text}");
}
