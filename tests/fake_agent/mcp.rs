//! The client side of MCP: starts servers as `mcpServers` describes them, or connects to them over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A server.
pub(super) struct Server {
    at: Place,
    next: u64,
}

enum Place {
    /// One that was started. It ends when its stdin is closed.
    Child(Child, BufReader<std::process::ChildStdout>),
    /// One on a network: its address and path, and the headers to send.
    Http(String, String, String),
}

impl Server {
    /// Starts a server with these variables, in addition to its own.
    pub(super) fn start(params: &Value, env: &[(String, String)]) -> Self {
        let words = params["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
        let mut child = Command::new(params["command"].as_str().unwrap())
            .args(words)
            .envs(env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        Self { at: Place::Child(child, reader), next: 0 }
    }

    /// A server that is reached over HTTP. Its headers are sent with the value that `sent` returns for theirs.
    pub(super) fn over_http(params: &Value, sent: impl Fn(&str) -> Option<&str>) -> Self {
        let url = params["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (address, path) = url.split_once('/').unwrap();
        let headers = params["headers"].as_array().unwrap().iter();
        let header = |header: &Value| {
            let value = sent(header["value"].as_str().unwrap())?;
            Some(format!("{}: {value}\r\n", header["name"].as_str().unwrap()))
        };
        Self { at: Place::Http(address.to_owned(), path.to_owned(), headers.filter_map(header).collect()), next: 0 }
    }

    /// Sends a request, and returns its result.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let mut line = self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        if let Place::Child(_, reader) = &mut self.at {
            reader.read_line(&mut line).unwrap();
        }
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.next);
        answer["result"].clone()
    }

    /// Connects, and returns the names of its tools.
    pub(super) fn connect(&mut self) -> Vec<String> {
        let client = json!({ "name": "fake-agent", "version": "1.0.0" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.ask("initialize", &params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let tools = self.ask("tools/list", &json!({}));
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Sends a message. Returns the body of the response, if there is one.
    fn send(&mut self, message: &Value) -> String {
        match &mut self.at {
            Place::Child(child, _) => {
                let stdin = child.stdin.as_mut().unwrap();
                stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
                stdin.flush().unwrap();
                String::new()
            }
            Place::Http(address, path, headers) => {
                let mut socket = TcpStream::connect(&*address).unwrap();
                let body = message.to_string();
                let head = format!(
                    "POST /{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
                     accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n",
                    body.len()
                );
                socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
                let mut response = String::new();
                socket.read_to_string(&mut response).unwrap();
                response.split_once("\r\n\r\n").unwrap().1.to_owned()
            }
        }
    }
}

/// The variables in the description of a server.
pub(super) fn env_of(params: &Value) -> Vec<(String, String)> {
    let variables = params["env"].as_array().unwrap().iter();
    variables
        .map(|variable| {
            let text = |name: &str| variable[name].as_str().unwrap().to_owned();
            (text("name"), text("value"))
        })
        .collect()
}
