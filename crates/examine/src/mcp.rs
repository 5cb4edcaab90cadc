//! An MCP server for examinations: agents start it over stdio, or reach it over HTTP beside the scripted model, and
//! it records what they request.
//!
//! The `acp-registry` executable is the server if its first argument is [`MCP`], so that an examination needs no
//! further program. The record is a file of JSON lines: a [`Started`] for each instance, then a [`Requested`] for each
//! message that it receives.

use std::fs::File;
use std::io::{self, BufRead, Read as _, Write};
use std::path::{Path, PathBuf};

use acp_registry_host::fs::read_bounded;
use acp_registry_plan::json::{check_at_most, weight};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The first argument with which the `acp-registry` executable must call [`serve`]. The second is the path of the record.
pub const MCP: &str = "__mcp";

/// The environment variable whose value is recorded.
pub const VARIABLE: &str = "ACP_REGISTRY_MCP";

/// The header of HTTP requests whose value is recorded, as that of [`VARIABLE`] is.
pub const HEADER: &str = "acp-registry-mcp";

/// The only tool of the server. It returns its argument `text` after [`ECHO`].
pub const TOOL: &str = "acp_registry_echo";

/// What the result of the tool begins with.
pub const ECHO: &str = "acp-registry echoes: ";

/// The version of MCP that is offered to a client that names none.
const VERSION: &str = "2025-06-18";

/// Maximum length of a message, in bytes. A longer one ends the server.
const LINE: u64 = 4 << 20;

/// Maximum length of the parameters of a recorded message, in bytes. Longer ones are recorded as `null`.
const PARAMS: usize = 64 << 10;

/// Maximum number of values in the record. One with more is not read.
const VALUES: usize = 50_000;

/// Maximum length of the record, in bytes. Nothing is added to a longer one.
const RECORD: u64 = 1 << 20;
const RECORDED: usize = 1 << 20;

/// An entry of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum McpEvent {
    Started(Started),
    Requested(Requested),
}

/// An instance of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its working directory.
    pub directory: Option<PathBuf>,
    /// The value of [`VARIABLE`].
    pub variable: Option<String>,
}

/// A message to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Requested {
    /// The method.
    pub method: String,
    /// The parameters, unless they are too long.
    pub params: Value,
}

/// What all instances with one record have received.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// The instances.
    pub started: Vec<Started>,
    /// The messages, in order of their arrival at each instance.
    pub requested: Vec<Requested>,
}

impl Record {
    /// Reads a record in a directory, a canonical path. Empty if there is none, or if another program has replaced it
    /// by something that cannot be read. Invalid lines are skipped.
    pub fn read(path: &Path, directory: &Path) -> Self {
        // One message can exceed the limit.
        let limit = RECORD + PARAMS as u64 + 1000;
        let bytes = read_bounded(path, directory, limit).unwrap_or_default();
        // The agent can write to it as well.
        let bytes = if check_at_most(&bytes, VALUES).is_ok() { bytes } else { Vec::new() };
        let mut record = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(McpEvent::Started(started)) => record.started.push(started),
                Ok(McpEvent::Requested(requested)) => record.requested.push(requested),
                Err(_) => {}
            }
        }
        record
    }

    /// Records a message that came over HTTP, with the value of [`HEADER`], as far as there is room.
    pub(crate) fn add(&mut self, variable: Option<String>, message: &Value) {
        let kept: usize = self.requested.iter().map(|requested| weight(&requested.params) + 100).sum();
        let Some(requested) = requested(message).filter(|_| kept <= RECORDED) else { return };
        if requested.method == "initialize" {
            self.started.push(Started { directory: None, variable });
        }
        self.requested.push(requested);
    }

    /// Whether a message with this method was received.
    pub fn has(&self, method: &str) -> bool {
        self.requested.iter().any(|requested| requested.method == method)
    }
}

/// Serves one client until `input` ends. Errors of the record are ignored: it shows them by what it lacks.
///
/// # Errors
/// Returns an error if a stream fails, or if a message is too long.
pub fn serve(record: &Path, started: Started, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(record).ok();
    add(&mut file, &McpEvent::Started(started));
    loop {
        let mut line = Vec::new();
        let length = input.by_ref().take(LINE).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        if line.len() as u64 == LINE {
            return Err(io::Error::other("a message is too long"));
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let Some(requested) = requested(&message) else { continue };
        // Written before the response, so that the client's next step finds it.
        add(&mut file, &McpEvent::Requested(requested));
        let Some(response) = response(&message) else { continue };
        output.write_all(format!("{response}\n").as_bytes())?;
        output.flush()?;
    }
}

/// What is recorded of a message; `None` for a response, since this server requests nothing.
fn requested(message: &Value) -> Option<Requested> {
    let params = Some(&message["params"]).filter(|params| params.to_string().len() <= PARAMS);
    let params = params.cloned().unwrap_or_default();
    Some(Requested { method: message["method"].as_str()?.to_owned(), params })
}

/// The response to a request; `None` for other messages.
pub(crate) fn response(message: &Value) -> Option<Value> {
    let mut response = match result(message["method"].as_str()?, &message["params"]) {
        Some(result) => json!({ "result": result }),
        None => json!({ "error": { "code": -32601, "message": "Method not found" } }),
    };
    response["jsonrpc"] = "2.0".into();
    response["id"] = message.get("id")?.clone();
    Some(response)
}

/// Adds a line to the record in one write, since several instances may have it open.
fn add(file: &mut Option<File>, entry: &McpEvent) {
    let Some(file) = file else { return };
    let has_room = file.metadata().is_ok_and(|metadata| metadata.len() <= RECORD);
    if let Ok(text) = serde_json::to_string(entry)
        && has_room
    {
        let _ = file.write_all(format!("{text}\n").as_bytes());
    }
}

fn result(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"].as_str().unwrap_or(VERSION),
            "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
            "serverInfo": { "name": "acp-registry", "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": [{
            "name": TOOL,
            "description": "Returns a text unchanged.",
            "inputSchema": {
                "type": "object",
                "properties": { "text": { "type": "string", "description": "The text." } },
                "required": ["text"],
            },
            "annotations": { "readOnlyHint": true },
        }] }),
        "tools/call" if params["name"] == TOOL => {
            let text = params["arguments"]["text"].as_str().unwrap_or_default();
            json!({ "content": [{ "type": "text", "text": format!("{ECHO}{text}") }], "isError": false })
        }
        "tools/call" => json!({ "content": [{ "type": "text", "text": "There is no such tool." }], "isError": true }),
        "resources/list" => json!({ "resources": [] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "prompts/list" => json!({ "prompts": [] }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of this test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("acp-registry-mcp-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path.canonicalize().unwrap())
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn start() -> Started {
        Started { directory: Some("/work".into()), variable: Some("a value".to_owned()) }
    }

    /// The responses to these lines.
    fn told(record: &Path, lines: &str) -> Vec<Value> {
        let mut output = Vec::new();
        serve(record, start(), lines.as_bytes(), &mut output).unwrap();
        let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    #[test]
    fn a_record_that_is_not_there_or_hostile_is_empty() {
        let folder = Folder::new("hostile");
        let path = folder.0.join("record");
        assert_eq!(Record::read(&path, &folder.0), Record::default());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
            assert_eq!(Record::read(&path, &folder.0), Record::default());
            std::fs::remove_file(&path).unwrap();
        }
        std::fs::write(&path, vec![b'x'; 3 << 20]).unwrap();
        assert_eq!(Record::read(&path, &folder.0), Record::default());
        let lines =
            "{\"started\":{\"directory\":7}}\n\u{0}\n{\"requested\":{\"method\":\"ping\",\"params\":null}}\n{\"re";
        std::fs::write(&path, lines).unwrap();
        assert!(Record::read(&path, &folder.0).has("ping"));
    }

    #[test]
    fn bad_messages_are_survived_and_a_record_is_not_needed() {
        let folder = Folder::new("bad");
        let lines = "no JSON\n[]\n{\"id\":1,\"result\":{}}\n{\"id\":2,\"method\":\"logging/setLevel\"}\n\
                     {\"method\":\"notifications/initialized\"}\n{\"id\":\"3\",\"method\":\"ping\"}";
        let answers = told(&folder.0.join("missing/record"), lines);
        assert_eq!(answers[0]["error"]["code"], -32601);
        assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": "3", "result": {} }));
        assert_eq!(answers.len(), 2);
        let long = vec![b'x'; 5 << 20];
        assert!(serve(&folder.0.join("record"), start(), long.as_slice(), Vec::new()).is_err());
    }

    #[test]
    fn requests_are_answered_and_recorded() {
        let folder = Folder::new("record");
        let path = folder.0.join("record");
        let request = |id: u64, method: &str, params: Value| {
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
        };
        let call = |name: &str| json!({ "name": name, "arguments": { "text": "grüezi" } });
        let lines = [
            request(0, "initialize", json!({ "protocolVersion": "2024-11-05" })),
            request(1, "tools/list", json!({})),
            request(2, "tools/call", call(TOOL)),
            request(3, "tools/call", call("rm")),
            request(4, "prompts/list", json!({ "cursor": "x".repeat(100_000) })),
        ];
        let results: Vec<Value> = told(&path, &lines.concat()).iter().map(|answer| answer["result"].clone()).collect();
        assert_eq!(results[0]["protocolVersion"], "2024-11-05");
        assert_eq!(results[1]["tools"][0]["name"], TOOL);
        assert_eq!(results[2]["content"][0]["text"], "acp-registry echoes: grüezi");
        assert_eq!((&results[3]["isError"], &results[4]["prompts"]), (&json!(true), &json!([])));
        let record = Record::read(&path, &folder.0);
        assert_eq!(record.started, [start()]);
        assert_eq!(record.requested[2], Requested { method: "tools/call".to_owned(), params: call(TOOL) });
        assert_eq!(record.requested[4].params, Value::Null);
        told(&path, "");
        assert_eq!(Record::read(&path, &folder.0).started.len(), 2);
    }

    #[test]
    fn a_record_in_memory_does_not_grow_without_end() {
        let mut record = Record::default();
        let message = json!({ "id": 1, "method": "initialize", "params": { "text": "x".repeat(60_000) } });
        (0..100).for_each(|_| record.add(Some("a value".to_owned()), &message));
        assert!((10..30).contains(&record.requested.len()) && record.started.len() == record.requested.len());
        record.add(None, &json!({ "id": 1, "result": {} }));
        assert_eq!(record.started[0].variable.as_deref(), Some("a value"));
    }

    #[test]
    fn a_record_does_not_grow_without_end() {
        let folder = Folder::new("long");
        let path = folder.0.join("record");
        let line = format!("{}\n", json!({ "method": "ping", "params": { "text": "x".repeat(60_000) } }));
        told(&path, &line.repeat(40));
        let length = std::fs::metadata(&path).unwrap().len();
        assert!((RECORD..RECORD + 70_000).contains(&length), "{length}");
        assert!(!Record::read(&path, &folder.0).requested.is_empty());
    }
}
