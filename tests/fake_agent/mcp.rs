//! The client side of MCP: starts servers as `mcpServers` describes them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A server that was started. It ends when its stdin is closed.
pub(super) struct Server {
    child: Child,
    reader: BufReader<std::process::ChildStdout>,
    next: u64,
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
        Self { child, reader, next: 0 }
    }

    /// Sends a request, and returns its result.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
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

    fn send(&mut self, message: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
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
