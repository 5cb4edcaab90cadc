//! `rpc`: what is refused, what runs at once, what is cancelled, and that results are the documents of the commands.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::archives::{gz, sha256, tar};
use crate::at_once::{LONG, held};
use crate::documents::{assert_valid, schemas};
use crate::people::{People, archive};

/// A client of a running program. Every line of the program must be as its schema says.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    pub(crate) lines: Receiver<Value>,
    /// The events that came before the last answer, with the ids of their requests.
    pub(crate) events: Vec<(Value, Value)>,
    next: u64,
}

impl Client {
    pub(crate) fn of(people: &People) -> Self {
        Self::start(people.command(&["rpc"]))
    }

    fn with(people: &People, flags: &[&str]) -> Self {
        Self::start(people.command(&[&["rpc"], flags].concat()))
    }

    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                assert!(line.is_ascii(), "{line}");
                let _ = sender.send(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
            }
        });
        Self { stdin: child.stdin.take(), child, lines, events: Vec::new(), next: 1000 }
    }

    fn send(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(&[line, b"\n"].concat()).unwrap();
    }

    pub(crate) fn begin(&mut self, id: &Value, method: &str, params: &Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(request.to_string().as_bytes());
    }

    pub(crate) fn cancel(&mut self, id: &Value) {
        let params = json!({ "requestId": id });
        let notification = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": params });
        assert_valid("rpc", &notification);
        self.send(notification.to_string().as_bytes());
    }

    /// The next answer to any request. Events before it are kept.
    pub(crate) fn answer(&mut self) -> Value {
        self.events.clear();
        loop {
            let message = self.lines.recv_timeout(LONG).unwrap();
            assert_valid("rpc", &message);
            if message["method"] != "$/progress" {
                return message;
            }
            let params = &message["params"];
            self.events.push((params["requestId"].clone(), params["event"].clone()));
        }
    }

    /// Sends a request, which must be as the schema says, and returns its answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = json!(self.next);
        assert_valid("rpc", &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.begin(&id, method, params);
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) fn result(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(crate) fn error(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params)["error"].clone()
    }

    /// Closes stdin. Returns the exit code, and the messages and the text of stderr that were not read yet.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        drop(self.stdin.take());
        self.wait()
    }

    fn wait(mut self) -> (Option<i32>, Vec<Value>, String) {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let rest: Vec<Value> = self.lines.iter().collect();
        for message in &rest {
            assert_valid("rpc", message);
        }
        assert!(!stderr.contains("panicked"), "{stderr}");
        (self.child.wait().unwrap().code(), rest, stderr)
    }
}

/// An agent `a` whose program is served.
fn people() -> People {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    people
}

pub(crate) fn agents(ids: &[&str]) -> Value {
    json!({ "agents": ids, "no_check": true })
}

#[test]
fn lines_that_are_not_requests_are_refused_and_the_next_one_is_answered() {
    let people = people();
    let mut client = Client::of(&people);
    for (line, id, code) in [
        (b"{".to_vec(), json!(null), -32700),
        (vec![b'"', 0xff, b'"'], json!(null), -32700),
        (vec![b'x'; (1 << 20) + 1], json!(null), -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list\"}]".to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_vec(), json!(1), -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"list"}"#.to_vec(), json!(null), -32600),
        (br#"{"jsonrpc":"2.0","id":"x","method":"instal"}"#.to_vec(), json!("x"), -32601),
        (br#"{"jsonrpc":"2.0","id":2,"method":"list","params":["a"]}"#.to_vec(), json!(2), -32602),
    ] {
        client.send(&line);
        // Notifications have no answer, even wrong ones.
        client.send(br#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":[7]}}"#);
        client.send(br#"{"jsonrpc":"2.0","method":"no/such","params":7}"#);
        client.send(b"");
        let answer = client.answer();
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{shown}: {answer}");
        assert_eq!(client.result("initialize", &json!({}))["protocol_version"], 1);
    }
    client.begin(&json!(1), "instal", &json!({}));
    assert_eq!(client.answer()["error"]["data"]["suggestions"][0], "install");
    let (code, rest, stderr) = client.end();
    assert_eq!((code, rest, stderr.as_str()), (Some(0), Vec::new(), ""));
}

#[test]
fn methods_and_parameters_are_those_of_the_schema() {
    let people = people();
    let mut client = Client::of(&people);
    let schema = &schemas()["rpc"]["$defs"]["request"]["anyOf"];
    let of_schema: Vec<&Value> = schema.as_array().unwrap().iter().map(|request| &request["title"]).collect();
    assert_eq!(client.result("initialize", &json!({}))["methods"], json!(of_schema));
    for request in schema.as_array().unwrap() {
        let method = request["title"].as_str().unwrap();
        let params = &request["properties"]["params"];
        let known: BTreeSet<&str> = params["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required = params["required"].as_array().into_iter().flatten();
        let valid: serde_json::Map<String, Value> =
            required.map(|name| (name.as_str().unwrap().to_owned(), json!("a"))).collect();
        for name in &known {
            let mut wrong = valid.clone();
            wrong.insert((*name).to_owned(), json!({ "x": 1 }));
            client.begin(&json!(1), method, &wrong.into());
            let error = client.answer()["error"].clone();
            assert_eq!(
                (&error["code"], &error["data"]["parameter"]),
                (&json!(-32602), &json!(name)),
                "{method}: {error}"
            );
        }
        for name in valid.keys() {
            let mut wrong = valid.clone();
            wrong.remove(name);
            client.begin(&json!(1), method, &wrong.into());
            assert_eq!(client.answer()["error"]["data"]["parameter"], json!(name), "{method}");
        }
        let mut wrong = valid.clone();
        wrong.insert("\u{1b}[31m".to_owned(), json!(1));
        client.begin(&json!(1), method, &wrong.into());
        let error = client.answer()["error"].clone();
        assert_eq!(error["message"], "`\\u{1b}[31m` is not a parameter of this method");
        // The help names all of them.
        let help = error["data"]["help"].as_str().unwrap();
        let told: BTreeSet<&str> = help.split('`').skip(1).step_by(2).collect();
        assert_eq!(told, known, "{method}");
    }
    for (method, params, parameter) in [
        ("install", json!({}), "agents"),
        ("uninstall", json!({}), "agents"),
        ("uninstall", json!({ "agents": ["a"], "all": true }), "all"),
        ("install", json!({ "agents": [""] }), "agents"),
        ("install", json!({ "agents": ["a"], "dist": "deb" }), "dist"),
        ("doctor", json!({ "timeout_seconds": 0 }), "timeout_seconds"),
        ("update", json!({ "min_age_seconds": 1e300 }), "min_age_seconds"),
        ("update", json!({ "min_age_seconds": -1 }), "min_age_seconds"),
        ("update", json!({ "agents": ["a@1"] }), "agents"),
        ("update", json!({ "to": "1" }), "to"),
        ("update", json!({ "agents": ["a", "b"], "to": "1" }), "to"),
        ("update", json!({ "agents": ["a"], "to": "latest" }), "to"),
        ("update", json!({ "agents": ["a"], "to": "" }), "to"),
        ("update", json!({ "agents": ["a"], "to": "1", "unpin": true }), "unpin"),
    ] {
        client.begin(&json!(1), method, &params);
        let error = client.answer()["error"].clone();
        assert_eq!((&error["code"], &error["data"]["parameter"]), (&json!(-32602), &json!(parameter)), "{error}");
    }
    // As `--min-age 0`: the command begins, and finds no index.
    client.begin(&json!(1), "update", &json!({ "min_age_seconds": 0, "dry_run": true }));
    assert_ne!(client.answer()["error"]["code"], -32602);
    assert_eq!(client.end().0, Some(0));
    assert!(!people.root().exists());
}

#[test]
fn failures_of_commands_have_their_stable_codes() {
    let people = People::new();
    let wrong = people.agent_of("wrong", "1.0.0", &archive("wrong"), Some(&"0".repeat(64)));
    people.publish(&[people.agent("gemini", "1.0.0"), wrong]);
    let mut client = Client::of(&people);
    let error = client.error("resolve", &json!({ "agent": "gemni" }));
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32002), &json!("unknown_agent")));
    assert_eq!(error["message"], "there is no agent `gemni` in the registry index");
    assert_eq!((&error["data"]["suggestions"], &error["data"]["exit_code"]), (&json!(["gemini"]), &json!(2)));
    assert_eq!(client.error("which", &json!({ "agent": "gemini" }))["data"]["code"], "not_installed");
    assert_eq!(client.error("install", &agents(&["gemini", "no"]))["data"]["code"], "unknown_agent");
    assert!(!people.root().exists());

    // One of two is installed, which the document says.
    let error = client.error("install", &agents(&["gemini", "wrong"]));
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32004), &json!("digest_mismatch")), "{error}");
    let result = &error["data"]["result"];
    assert_eq!((&result["agents"][0]["id"], &result["errors"][0]["id"]), (&json!("gemini"), &json!("wrong")));
    assert_eq!(client.end().0, Some(0));

    let missing = people.env.path("missing.json");
    let mut client = Client::with(&people, &["--index", missing.to_str().unwrap()]);
    assert_eq!(client.error("list", &json!({}))["data"]["code"], "index_unavailable");
    assert_eq!(client.result("list", &json!({ "installed": true }))["agents"][0]["id"], "gemini");
    let mut client = Client::with(&people, &["--offline"]);
    assert_eq!(client.error("install", &agents(&["wrong"]))["data"]["code"], "offline");
}

#[test]
fn an_installation_blocks_nothing_and_leaves_nothing_when_it_is_cancelled() {
    let (people, reached, allow) = held("/1.0.0/a.tar.gz");
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "1.0.0")]);
    let mut client = Client::of(&people);
    let id = json!("the installation");
    client.begin(&id, "install", &agents(&["a"]));
    reached.recv_timeout(LONG).unwrap();
    // Others are answered meanwhile.
    assert_eq!(client.result("list", &json!({}))["agents"].as_array().unwrap().len(), 2);
    assert_eq!(client.result("install", &agents(&["b"]))["agents"][0]["id"], "b");
    // The id is taken, and the answer does not look like that of the installation.
    client.begin(&id, "list", &json!({}));
    let refused = client.answer();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)), "{refused}");
    // Another id is not it.
    client.cancel(&json!("the installation "));
    client.cancel(&id);
    let answer = client.answer();
    let error = &answer["error"];
    assert_eq!((&answer["id"], &error["code"], &error["data"]["code"]), (&id, &json!(-32800), &json!("interrupted")));
    assert!(people.left().iter().all(|name| name.starts_with("agents/b/")), "{:?}", people.left());
    drop(allow);
    // An id of an answered request may be used again.
    client.begin(&id, "install", &agents(&["a"]));
    assert_eq!(client.answer()["result"]["id"], "a");
    client.cancel(&id);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn an_agent_whose_first_installation_is_in_progress_is_not_there_yet() {
    let (people, reached, _allow) = held("/1.0.0/a.tar.gz");
    people.publish(&[people.agent("a", "1.0.0")]);
    let mut client = Client::of(&people);
    client.begin(&json!(1), "install", &agents(&["a"]));
    reached.recv_timeout(LONG).unwrap();
    let found = client.result("doctor", &json!({ "agents": ["a"] }));
    let check = &found["agents"][0]["checks"][0];
    assert_eq!(check["message"], "it was not started: no version of it is installed yet", "{found}");
    assert_eq!(check["help"], "run `acp-registry install a`");
    // What is found is a result, with the error that the command has.
    assert_eq!((&found["error"]["code"], &found["error"]["message"]), (&json!("findings"), &json!("1 problem found")));
    client.begin(&json!(2), "uninstall", &json!({ "agents": ["a"] }));
    let text = |message: &Value| message["params"]["event"]["message"].as_str().unwrap_or_default().to_owned();
    while !text(&client.lines.recv_timeout(LONG).unwrap()).starts_with("waiting for ") {}
    client.cancel(&json!(1));
    let mut told = Vec::new();
    for _ in 0..2 {
        let answer = client.answer();
        assert_eq!(answer["id"] == 1, answer["error"]["code"] == -32800, "{answer}");
        told.extend(client.events.drain(..).map(|(_, event)| event["message"].clone()));
    }
    let gone = "a is gone: another process has uninstalled it, or not finished installing it";
    assert!(told.contains(&json!(gone)), "{told:?}");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn the_end_of_the_input_and_signals_end_what_is_in_progress() {
    for signal in [None, Some(Signal::SIGTERM), Some(Signal::SIGINT)] {
        let (people, reached, _allow) = held("/1.0.0/a.tar.gz");
        people.publish(&[people.agent("a", "1.0.0")]);
        let mut client = Client::of(&people);
        client.begin(&json!(1), "install", &agents(&["a"]));
        reached.recv_timeout(LONG).unwrap();
        let (code, rest) = if let Some(signal) = signal {
            let pid = Pid::from_raw(client.child.id().cast_signed());
            kill(pid, signal).unwrap();
            let (code, rest, _) = client.wait();
            (code, rest)
        } else {
            // A request that only reads is still answered.
            client.begin(&json!(2), "list", &json!({}));
            let (code, rest, stderr) = client.end();
            assert_eq!(stderr, "");
            assert!(rest.iter().any(|message| message["id"] == 2 && message["result"]["agents"][0]["id"] == "a"));
            (code, rest)
        };
        assert_eq!(code, Some(signal.map_or(0, |signal| 128 + signal as i32)));
        let answer = rest.iter().find(|message| message["id"] == 1).unwrap();
        assert_eq!(answer["error"]["code"], -32800, "{answer}");
        assert!(!people.root().exists(), "{:?}", people.left());
    }
}

#[test]
fn the_number_of_requests_at_once_is_limited() {
    let (people, reached, allow) = held("/1.0.0/a.tar.gz");
    people.publish(&[people.agent("a", "1.0.0")]);
    let mut client = Client::of(&people);
    for id in 1..=33 {
        client.begin(&json!(id), "install", &agents(&["a"]));
    }
    reached.recv_timeout(LONG).unwrap();
    let answer = client.answer();
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(33), &json!(-32003)), "{answer}");
    drop(allow);
    for _ in 1..=32 {
        assert_eq!(client.answer()["result"]["id"], "a");
    }
    assert_eq!(client.end().0, Some(0));
}

/// The client writes requests and reads no answer, until both pipes are full.
#[test]
fn a_client_that_does_not_read_does_not_keep_the_program_from_ending() {
    let people = people();
    for way in ["SIGTERM", "SIGINT", "stdin ends", "stdout closes"] {
        let mut command = people.command(&["rpc"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        rustix::io::ioctl_fionbio(&stdin, true).unwrap();
        let mut line = json!({ "jsonrpc": "2.0", "id": "x".repeat(1000), "method": "none" }).to_string();
        line.push('\n');
        (&stdin).write_all(line.as_bytes()).unwrap();
        // An answer: the program listens to signals.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let mut full_since = None;
        // Full for a while: the program is not about to read.
        while full_since.is_none_or(|since: Instant| since.elapsed() < Duration::from_secs(1)) {
            if (&stdin).write(line.as_bytes()).is_ok_and(|written| written > 0) {
                full_since = None;
            } else {
                full_since.get_or_insert_with(Instant::now);
                thread::sleep(Duration::from_millis(5));
            }
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        let code = match way {
            "SIGTERM" => kill(pid, Signal::SIGTERM).map(|()| Some(143)).unwrap(),
            "SIGINT" => kill(pid, Signal::SIGINT).map(|()| Some(130)).unwrap(),
            "stdin ends" => {
                drop(stdin);
                Some(0)
            }
            _ => {
                drop((stdin, child.stdout.take()));
                Some(0)
            }
        };
        assert_eq!(ended(child, way), code, "{way}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_of_the_terminal_does_not_end_the_program_under_nohup() {
    let people = people();
    let program = people.command(&["rpc"]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut client = Client::start(command);
    assert_eq!(client.ask("list", &json!({}))["result"]["agents"][0]["id"], "a");
    kill(Pid::from_raw(client.child.id().cast_signed()), Signal::SIGHUP).unwrap();
    assert_eq!(client.ask("list", &json!({}))["result"]["agents"][0]["id"], "a");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_client_that_closes_its_end_while_nothing_is_in_progress_ends_the_program() {
    let people = people();
    let mut command = people.command(&["rpc"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "none" })).unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.read_line(&mut String::new()).unwrap() > 0);
    drop(output);
    assert_eq!(ended(child, "the end"), Some(0));
    drop(stdin);
}

#[cfg(target_os = "linux")]
#[test]
fn answers_that_cannot_be_written_are_an_error() {
    let people = people();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = people.command(&["rpc"]);
    let mut child = command.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", json!({ "jsonrpc": "2.0", "id": 1, "method": "none" })).unwrap();
    let mut stderr = child.stderr.take().unwrap();
    assert_eq!(ended(child, "a full disk"), Some(3));
    let mut error = String::new();
    stderr.read_to_string(&mut error).unwrap();
    assert!(error.contains("cannot write the answers: No space left"), "{error}");
}

/// Waits for the end of a program, which is killed after [`LONG`].
fn ended(mut child: Child, way: &str) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < LONG {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    // What each thread waits for, on Linux.
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let state = |task: DirEntry| {
        let [name, place] =
            ["comm", "wchan"].map(|file| fs::read_to_string(task.path().join(file)).unwrap_or_default());
        format!("{} in {place}", name.trim())
    };
    let threads: Vec<String> = threads.map(state).collect();
    child.kill().unwrap();
    panic!("after {way}, it does not end: {threads:?}");
}

/// Results and events that are not read do not keep other commands from ending either.
#[test]
fn a_signal_ends_a_command_whose_output_is_not_read() {
    let people = people();
    let agents: Vec<Value> = (0..400).map(|number| people.agent(&format!("agent-{number}"), "1.0.0")).collect();
    people.publish(&agents);
    for arguments in [&["list", "--json"][..], &["search", "agent", "--json"]] {
        let mut child = people.command(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // One byte shows that the result is being written.
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "the result is too short for this test");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert_eq!(ended(child, "SIGTERM"), Some(143), "{arguments:?}");
    }
}

#[test]
fn results_are_the_documents_of_the_commands() {
    let people = People::new();
    let large = gz(&tar(&[("bin/agent", b"#!/bin/sh\n"), ("large", &fastrand_bytes(3 << 20))]));
    let agent = people.agent_of("a", "1.0.0", &large, Some(&sha256(&large)));
    people.publish(&[agent, people.agent("b", "1.0.0")]);
    let mut client = Client::of(&people);
    let installed = client.result("install", &agents(&["a"]));
    let of_install: Vec<&Value> = client.events.iter().map(|(_, event)| &event["phase"]).collect();
    assert_eq!((of_install[0], *of_install.last().unwrap()), (&json!("started"), &json!("ended")), "{of_install:?}");
    let received: Vec<u64> = client.events.iter().filter_map(|(_, event)| event["received"].as_u64()).collect();
    assert!(received.len() >= 3 && received.is_sorted() && received.last() == Some(&(large.len() as u64)));
    for (method, params, line) in [
        ("list", json!({}), &["list"][..]),
        ("list", json!({ "installed": true }), &["list", "--installed"]),
        ("search", json!({ "query": "agent b" }), &["search", "agent b"]),
        ("info", json!({ "agent": "a" }), &["info", "a"]),
        ("resolve", json!({ "agent": "b" }), &["resolve", "b"]),
        ("which", json!({ "agent": "a@1.0.0" }), &["which", "a"]),
        ("install", agents(&["a"]), &["install", "a", "--no-check"]),
        ("update", json!({ "dry_run": true }), &["update", "--dry-run"]),
        ("uninstall", json!({ "all": true, "dry_run": true }), &["uninstall", "--all", "--dry-run"]),
        ("doctor", json!({}), &["doctor"]),
    ] {
        let (mut of_method, (_, mut of_command)) = (client.result(method, &params), people.json(line));
        for document in [&mut of_method, &mut of_command] {
            // Each of them may have asked the host.
            if let Some(time) = document.pointer_mut("/index/fetched_at") {
                *time = Value::Null;
            }
        }
        assert_eq!(of_method, of_command, "{method}");
    }
    assert_eq!(client.result("which", &json!({ "agent": "a" }))["program"], installed["program"]);
    // An update that is found is a result.
    people.publish(&[people.agent("a", "1.1.0")]);
    let updates = client.result("update", &json!({ "dry_run": true, "refresh": true }));
    assert_eq!(updates["updates"][0]["to"], "1.1.0", "{updates}");
    assert_eq!(client.result("uninstall", &json!({ "agents": ["a"] }))["ids"], json!(["a"]));
    assert_eq!(client.end().0, Some(0));
    assert!(!people.root().exists());
}

/// Bytes that do not shrink.
fn fastrand_bytes(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}
