//! Faults of servers, each alone: a bridge ends, answers every request once, and sends no prompt twice.

use std::future::pending;
use std::io::{BufReader, Read, Write, pipe};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use acp_registry_http::Settings;

use crate::{BridgeError, BridgeOptions, Endpoint, Headers, bridge};

const ANSWER: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
const SESSION: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#;
const STOP: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#;

/// The messages of a turn, of which the last one ends it.
fn turn() -> [String; 4] {
    let update = |text: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","n":"{text}"}}}}"#)
    };
    [update("one"), update("zwei 🦀"), update("three"), STOP.to_owned()]
}

/// Messages as events, each in another form.
fn events<'a>(messages: impl IntoIterator<Item = &'a String>) -> String {
    let event = |(number, message): (usize, &String)| match number % 3 {
        0 => format!("data: {message}\r\n\r\n"),
        1 => format!(": a comment\nid: 7\ndata:{}\ndata: {}\n\n", &message[..17], &message[17..]),
        _ => format!("event: message\rdata: {message}\r\r"),
    };
    messages.into_iter().enumerate().map(event).collect()
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: open\n\n";
const ACCEPTED: &str = "HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n";

/// What a server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Initialize,
    /// The answer to the POST of `session/new`.
    New,
    /// The answer to the POST of the prompt.
    Prompt,
    /// The stream of the connection, with the answer to `session/new`.
    Connection,
    /// The stream of the session, with the turn.
    Session,
}

impl Part {
    const ALL: [Self; 5] = [Self::Initialize, Self::New, Self::Prompt, Self::Connection, Self::Session];

    /// The number of its bytes.
    fn length(self) -> usize {
        match self {
            Self::Initialize => initialized().len(),
            Self::New | Self::Prompt => ACCEPTED.len(),
            Self::Connection => HEAD.len() + events([&SESSION.to_owned()]).len(),
            Self::Session => HEAD.len() + events(&turn()).len(),
        }
    }
}

fn answer(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

fn initialized() -> String {
    answer("acp-connection-id: c\r\nset-cookie: a=1\r\n", ANSWER)
}

/// What a server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
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
    /// Ends the connection after so many bytes of a part.
    Cut(Part, usize),
    /// Sends so many bytes of a part, and then nothing.
    Stall(Part, usize),
    /// Sends these messages of the turn, in this order, in pieces of this size.
    Turn(&'static [usize], usize),
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
    streams: Arc<Mutex<Vec<(Part, std::net::TcpStream, usize)>>>,
    is_over: Arc<AtomicBool>,
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
        let server = Self { fault, asked: Arc::default(), streams: Arc::default(), is_over: Arc::default() };
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
            let is_of_session = text.contains("\r\nacp-session-id: s\r\n");
            let mut part = Part::Initialize;
            let reply = if self.fault == Fault::Mute {
                String::new()
            } else if text.starts_with("get") {
                part = if is_of_session { Part::Session } else { Part::Connection };
                match self.fault {
                    Fault::StreamStatus(code) if !is_of_session => status(code),
                    Fault::OneStream(code) if is_of_session => status(code),
                    Fault::StreamType => answer("content-type: text/html\r\n", "x"),
                    _ => HEAD.to_owned(),
                }
            } else if text.contains("\"initialize\"") {
                match self.fault {
                    Fault::Status(code) => status(code),
                    Fault::Redirect => {
                        "HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n".into()
                    }
                    Fault::NoConnection => answer("", ANSWER),
                    Fault::Text => answer("acp-connection-id: c\r\n", "<html>"),
                    _ => initialized(),
                }
            } else {
                part = if text.contains("session/new") { Part::New } else { Part::Prompt };
                match self.fault {
                    _ if !text.contains("\r\nacp-connection-id: c\r\n") => status(400),
                    _ if text.starts_with("delete") => ACCEPTED.to_owned(),
                    Fault::Later(code) => status(code),
                    Fault::Reset if part == Part::Prompt => return,
                    _ => ACCEPTED.to_owned(),
                }
            };
            let mut sent = 0;
            self.write(part, &mut sent, &mut socket, &reply, usize::MAX);
            if reply == HEAD {
                self.streams.lock().unwrap().push((part, socket.try_clone().unwrap(), sent));
            }
            if reply == ACCEPTED && text.contains("session/new") {
                self.send(Part::Connection, &events([&SESSION.to_owned()]), usize::MAX);
            }
            if reply == ACCEPTED && text.contains("session/prompt") {
                match self.fault {
                    Fault::OneStream(_) => self.send(Part::Connection, &events(&turn()), usize::MAX),
                    Fault::Turn(order, size) => {
                        let turn = turn();
                        self.send(Part::Session, &events(order.iter().map(|number| &turn[*number])), size);
                    }
                    _ => self.send(Part::Session, &events(&turn()), usize::MAX),
                }
            }
        }
    }

    /// Writes a text, as far as the fault lets it.
    fn write(&self, part: Part, sent: &mut usize, socket: &mut std::net::TcpStream, text: &str, size: usize) {
        let limit = match self.fault {
            Fault::Cut(at, limit) | Fault::Stall(at, limit) if at == part => limit,
            _ => usize::MAX,
        };
        let room = limit.saturating_sub(*sent).min(text.len());
        socket.set_nodelay(true).unwrap();
        for piece in text.as_bytes()[..room].chunks(size.min(text.len()).max(1)) {
            let _ = socket.write_all(piece);
        }
        *sent += text.len();
        if matches!(self.fault, Fault::Cut(..)) && *sent > limit {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Writes to a stream as soon as it is open.
    fn send(&self, part: Part, text: &str, size: usize) {
        loop {
            let mut streams = self.streams.lock().unwrap();
            if let Some((_, stream, sent)) = streams.iter_mut().find(|(known, ..)| *known == part) {
                return self.write(part, sent, stream, text, size);
            }
            drop(streams);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            thread::yield_now();
        }
    }
}

const INPUT: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}
{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}
{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}
"#;

fn options(silence: Duration) -> BridgeOptions {
    BridgeOptions { silence, is_examined: false }
}

/// Speaks with a server until each request is answered, or the bridge has ended. Returns its output, what was noted, and its end.
fn speak(url: &str, silence: Duration) -> (Vec<String>, Vec<String>, Result<(), BridgeError>) {
    let (input, client) = pipe().unwrap();
    let (reader, output) = pipe().unwrap();
    let url = url.to_owned();
    let bridged = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let endpoint = Endpoint::new(&url, &Headers::default(), &Settings::default()).unwrap();
        let notes = Mutex::new(Vec::new());
        let note = |text: &str| notes.lock().unwrap().push(text.to_owned());
        let done =
            runtime.block_on(bridge(&endpoint, BufReader::new(input), output, options(silence), pending(), &note));
        runtime.shutdown_background();
        (notes.into_inner().unwrap(), done)
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
    let (notes, done) = bridged.join().unwrap();
    (lines, notes, done)
}

/// Orders of a turn: all of the whole one, and one message left out or sent again.
fn orders() -> Vec<Vec<usize>> {
    let all = (0..256).map(|code| (0..4).map(|place| (code >> (2 * place)) & 3).collect::<Vec<usize>>());
    let is_order = |order: &Vec<usize>| (0..4).all(|number| order.contains(&number));
    let mut orders: Vec<_> = all.filter(is_order).collect();
    for number in 0..4 {
        orders.push((0..4).filter(|other| *other != number).collect());
        orders.push((0..4).flat_map(|other| vec![other; 1 + usize::from(other == number)]).collect());
    }
    orders
}

fn faults() -> Vec<Fault> {
    let orders: Vec<&'static [usize]> = orders().into_iter().map(|order| &*order.leak()).collect();
    let sizes = [1, 2, 3, 5, 8, 13, 21, usize::MAX];
    let mut faults: Vec<Fault> =
        orders.into_iter().flat_map(|order| sizes.map(|size| Fault::Turn(order, size))).collect();
    faults.extend([400, 404, 405, 409, 501].map(Fault::OneStream));
    faults.extend([204, 301, 400, 401, 403, 404, 413, 415, 429, 500, 502, 503].map(Fault::Status));
    faults.extend([400, 404, 409, 410, 415, 500, 502, 503].map(Fault::Later));
    faults.extend([204, 302, 400, 401, 404, 406, 409, 500, 503].map(Fault::StreamStatus));
    faults.extend([Fault::NoConnection, Fault::Text, Fault::StreamType, Fault::Reset, Fault::Mute, Fault::Redirect]);
    for part in Part::ALL {
        // A stream does not need its last byte.
        faults.extend((0..part.length() - 1).map(|at| Fault::Cut(part, at)));
        faults.extend((0..part.length()).step_by(9).map(|at| Fault::Stall(part, at)));
    }
    faults
}

/// What a bridge makes of a server with this fault.
fn judge(fault: Fault) -> Result<(), String> {
    // Only a server that goes silent is waited for. One that a busy machine delays is as silent: the bridge then waits longer.
    let is_silent = match fault {
        Fault::Stall(..) | Fault::Mute => true,
        Fault::Turn(order, _) => !order.contains(&3),
        _ => false,
    };
    if !is_silent {
        return judge_with(fault, false, Duration::from_hours(1));
    }
    let mut judged = judge_with(fault, true, Duration::from_millis(200));
    for seconds in [2, 20] {
        if judged.is_err() {
            judged = judge_with(fault, true, Duration::from_secs(seconds));
        }
    }
    judged
}

fn judge_with(fault: Fault, is_silent: bool, silence: Duration) -> Result<(), String> {
    let (server, url) = Server::start(fault);
    let (lines, notes, result) = speak(&url, silence);
    server.is_over.store(true, Ordering::Relaxed);
    let ensure = |holds: bool, text: &str| {
        if holds { Ok(()) } else { Err(format!("{fault:?}: {text}: {lines:?} {result:?}")) }
    };
    let answers = |id: u8| lines.iter().filter(|line| line.contains(&format!("\"id\":{id}"))).count();
    let asked = server.asked.lock().unwrap();
    let prompts = asked.iter().filter(|text| text.contains("session/prompt")).count();
    ensure(prompts <= 1, "the prompt is sent again")?;
    ensure(asked.iter().all(|text| !text.contains("127.0.0.1:9/")), "follows a redirect")?;
    // Each request that was written is answered once: by the agent, or with an error that says why not.
    let again = usize::from(matches!(fault, Fault::Turn([0, 1, 2, 3, 3], _)));
    let written = if answers(2) > 0 { 3 } else { 1 + usize::from(answers(1) > 0) };
    let count = (0..3).map(answers).sum::<usize>();
    ensure(count == written || count == written + again, "a request has no answer, or two")?;
    let turn = turn().map(|message| message[..17].to_owned() + " " + &message[17..]);
    let plain = self::turn();
    let order = match fault {
        Fault::Turn(order, _) => order,
        _ => &[0, 1, 2, 3],
    };
    // As the agent has sent them; what comes after the end of the turn may be late.
    let sent = order.iter().enumerate().map(|(at, number)| if at % 3 == 1 { &turn[*number] } else { &plain[*number] });
    let end = order.iter().position(|number| *number == 3).unwrap_or(order.len() - 1);
    let sent: Vec<&str> = sent.take(end + 1).map(String::as_str).collect();
    match fault {
        Fault::Turn(..) | Fault::OneStream(_) => {
            let all: Vec<&str> = [ANSWER, SESSION].into_iter().chain(sent).collect();
            ensure(
                lines.len() >= all.len() && lines.iter().zip(&all).all(|(line, sent)| line == sent),
                "a message is lost",
            )?;
            if is_silent {
                return ensure(lines.len() == all.len() + 1 && result.is_err(), "the silence is not told");
            }
            // A machine without time for the last request has the bridge say so.
            let is_closed = asked.last().is_some_and(|text| text.starts_with("delete"))
                || notes.iter().any(|note| note == "the connection was not closed in time");
            ensure(result.is_ok() && is_closed, "is not closed")?;
            let has_cookie = |text: &String| text.contains("\r\ncookie: a=1\r\n");
            ensure(asked.iter().skip(1).all(has_cookie), "a request has no cookie")
        }
        Fault::Status(_) | Fault::Text | Fault::NoConnection | Fault::Later(_) | Fault::Redirect => {
            let is_told = lines.iter().any(|line| line.contains("the server answers"));
            ensure(is_told || result.is_err(), "the answer is not told")
        }
        _ => {
            ensure(matches!(result, Err(BridgeError::Lost(..))), "the loss is not told")?;
            // If the bridge ends before the next request is written, none is open; and what a server refuses to take may
            // be answered all the same.
            let is_told = lines.last().is_some_and(|line| line.contains("is lost"));
            let is_answered =
                matches!(fault, Fault::Cut(Part::New | Part::Prompt, _) | Fault::Stall(Part::New | Part::Prompt, _));
            let is_none_open = lines == [ANSWER] || lines == [ANSWER, SESSION];
            ensure(is_told || is_answered || is_none_open, "no request is answered with the loss")?;
            // What has arrived as a whole before the cut is passed on.
            let whole = if let Fault::Cut(Part::Session, at) | Fault::Stall(Part::Session, at) = fault {
                (0..sent.len()).filter(|count| HEAD.len() + events(&plain[..*count]).len() <= at).max().unwrap_or(0)
            } else {
                0
            };
            let arrived = lines.iter().skip(2).zip(&sent[..whole]).filter(|(line, sent)| line == *sent).count();
            ensure(arrived == whole, "a message before the fault is lost")
        }
    }
}

#[test]
fn no_fault_hangs_a_bridge_loses_a_message_or_repeats_a_prompt() {
    let faults = faults();
    assert!(faults.len() > 1000, "{}", faults.len());
    let (next, wrong) = (Mutex::new(faults.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                loop {
                    let Some(fault) = next.lock().unwrap().next() else { break };
                    let error = judge(fault).err();
                    wrong.lock().unwrap().extend(error);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of the faults:\n{}", wrong.len(), wrong.join("\n"));
}

/// The result of a bridge whose server answers `initialize` with its argument, accepts `session/new`, and sends nothing else.
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
                    if text.contains("session/new") {
                        socket.write_all(ACCEPTED.as_bytes()).unwrap();
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
    let done = runtime.block_on(bridge(
        &endpoint,
        BufReader::new(reader),
        std::io::sink(),
        options(silence),
        pending(),
        &|_| {},
    ));
    runtime.shutdown_background();
    drop(client);
    done.unwrap_err()
}

#[test]
fn a_server_that_does_not_answer_hangs_no_bridge() {
    let initialize = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{}}\n";
    let cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s\"}}\n";
    let both = format!("{initialize}{cancel}");
    let open = format!("{initialize}{}\n", INPUT.lines().nth(1).unwrap());
    let (short, long) = (Duration::from_millis(200), Duration::from_hours(1));
    let longer_than_a_message = Duration::from_secs(2);
    for (scheme, answer, input, ends, silence, part) in [
        ("http", Some(ANSWER), both.as_str(), false, short, "does not answer a message"),
        ("http", Some(ANSWER), &both, true, long, "does not answer a message"),
        // The answers to open requests are waited for, even after the end of the input.
        ("http", Some(ANSWER), &open, true, longer_than_a_message, "has sent nothing"),
        ("http", None, cancel, false, short, "does not answer a message"),
        ("http", None, cancel, true, long, "does not answer a message"),
        ("http", None, initialize, true, short, "the server"),
        ("ws", None, initialize, false, short, "does not answer the handshake"),
        ("ws", None, "", true, short, "does not answer the handshake"),
    ] {
        let mut error = speak_to_mute(scheme, answer, input, ends, silence).to_string();
        let mut longer = silence;
        // A machine with much to do gives even the first answer later than that.
        while answer.is_some()
            && !error.contains(part)
            && error.contains("has sent nothing")
            && longer < Duration::from_mins(1)
        {
            longer *= 2;
            error = speak_to_mute(scheme, answer, input, ends, longer).to_string();
        }
        assert!(error.contains(part), "{scheme} {input} {ends}: {error}");
    }
}

/// The lines of a bridge and its notes, whose server answers `initialize` with these headers and this body, opens streams with
/// these events, and then ends the stream of the connection. Also how many streams were asked for.
fn speak_to_liar(status: &str, headers: &str, answer: &str, events: &str, is_examined: bool) -> (String, usize) {
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
    let templates =
        ["Authorization: Bearer hidden-token", "X-Key: abc", "X-Other: Token token=\"${OTHER}\"; v=${SHORT}"];
    let variable = |name: &str| Some(if name == "OTHER" { "\"own\"-value" } else { "two" }.to_owned());
    let headers = Headers::read(templates, &variable).unwrap();
    let endpoint = Endpoint::new(&url, &headers, &Settings::default()).unwrap();
    let note = |text: &str| notes.lock().unwrap().push_str(&format!("{text}\n"));
    // The end of the stream ends a conversation that has begun.
    let client = Some(client).filter(|_| status.starts_with("200"));
    let read = thread::spawn(move || {
        let mut text = String::new();
        lines.read_to_string(&mut text).map(|_| text).unwrap()
    });
    let options = BridgeOptions { is_examined, ..options(Duration::from_mins(1)) };
    let done = runtime.block_on(bridge(&endpoint, BufReader::new(reader), output, options, pending(), &note));
    runtime.shutdown_background();
    drop(client);
    let error = done.err().map(|error| error.to_string()).unwrap_or_default();
    let opened = *opened.lock().unwrap();
    (format!("{}\n{error}\n{}", notes.into_inner().unwrap(), read.join().unwrap()), opened)
}

#[test]
fn no_message_has_a_secret_that_a_server_repeats() {
    let body = "key abc: Bearer hidden-token, or hidden-token, or cookie-value, or \"own\"-value and two";
    let cookie = "set-cookie: a=cookie-value\r\n";
    let (text, _) = speak_to_liar("401 Unauthorized", cookie, body, "", false);
    assert!(text.contains("answers 401 Unauthorized: key abc: …, or …, or …, or … and two;"), "{text}");
    let secrets = ["hidden-token", "cookie-value", "-value"];
    assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    // An examination repeats parts of messages, an editor gets them as they are.
    let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"a hidden-token":["cookie\u002dvalue", {"b":"\"own\"-value"}]}}"#;
    let headers = format!("{cookie}acp-connection-id: c\r\n");
    let events = "data: no JSON: hidden-token\n\ndata: {\"method\": \"two\", \"a\": 1.0}\n\n";
    let (text, _) = speak_to_liar("200 OK", &headers, answer, events, true);
    assert!(text.contains(r#""result":{"a …":["…",{"b":"…"}]}"#), "{text}");
    assert!(text.contains("\nno JSON: …\n{\"method\": \"two\", \"a\": 1.0}\n"), "{text}");
    assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
    let (text, _) = speak_to_liar("200 OK", &headers, answer, events, false);
    assert!(text.contains(answer), "{text}");
}

/// Yields a line for each read, and counts them.
struct Lines(Arc<Mutex<usize>>);

/// How many requests are sent to a server that answers each by itself.
const MANY: usize = 200;

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut read = self.0.lock().unwrap();
        let line = format!("{}\n", INPUT.lines().next().unwrap());
        *read += 1;
        if *read <= MANY { (&mut buffer[..]).write(line.as_bytes()) } else { Ok(0) }
    }
}

/// Takes nothing until the sender is dropped.
struct Gate(std::sync::mpsc::Receiver<()>);

impl Write for Gate {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_editor_that_does_not_read_is_not_asked_for_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acp", listener.local_addr().unwrap());
    let reply = answer("acp-connection-id: c\r\n", ANSWER);
    thread::spawn(move || {
        for socket in listener.incoming() {
            let (mut socket, reply) = (socket.unwrap(), reply.clone());
            thread::spawn(move || {
                let mut input = BufReader::new(socket.try_clone().unwrap());
                while let Some(text) = request(&mut input) {
                    let _ = socket.write_all(if text.starts_with("get") { HEAD } else { &reply }.as_bytes());
                }
            });
        }
    });
    let read = Arc::new(Mutex::new(0));
    let input = BufReader::with_capacity(1024, Lines(read.clone()));
    let (gate, is_open) = std::sync::mpsc::channel();
    let bridged = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let endpoint = Endpoint::new(&url, &Headers::default(), &Settings::default()).unwrap();
        let options = options(Duration::from_hours(1));
        let done = runtime.block_on(bridge(&endpoint, input, Gate(is_open), options, pending(), &|_| {}));
        runtime.shutdown_background();
        done
    });
    // Until no more is read. A machine that needs longer for a request finds less.
    let mut last = 0;
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = *read.lock().unwrap();
        if now > 0 && now == last {
            break;
        }
        last = now;
    }
    // The answers that wait, and one in each place on the way.
    assert!(last < 64 + 10, "{last}");
    drop(gate);
    bridged.join().unwrap().unwrap();
    assert_eq!(*read.lock().unwrap(), MANY + 1);
}

#[test]
fn a_server_that_invents_answers_opens_no_streams() {
    let invented =
        |id: usize| format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"sessionId\":\"i{id}\"}}}}\n\n");
    let events: String = (100..400).map(invented).collect();
    let (text, opened) = speak_to_liar("200 OK", "acp-connection-id: c\r\n", ANSWER, &events, false);
    assert!(opened <= 1 && text.contains(ANSWER), "{opened} {text}");
}
