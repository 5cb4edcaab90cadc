//! Agents on a network: every pairing has the results of the agent itself, and the server refuses what it must.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::agent::fake_agent;
use crate::support::Env;

/// A served agent, ended with the test.
struct Served {
    child: Child,
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(env: &Env, flags: &[&str]) -> Self {
        Self::serve(env, flags, &[&agent(), "turns", ""])
    }

    fn serve(env: &Env, flags: &[&str], agent: &[&str]) -> Self {
        Self::run(&mut env.command(&[&["serve-agent"], flags, &["--"], agent].concat())).unwrap()
    }

    fn run(command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.env("TOKEN", "secret").stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/acp\n")).unwrap().to_owned();
        Ok(Self { child, address })
    }

    /// Sends a request, and returns the answer up to the end of its headers, with the body if it has a length.
    fn ask(&self, method: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = if headers.contains("host:") { String::new() } else { format!("host: {}\r\n", self.address) };
        let length = body.len();
        write!(stream, "{method} /acp HTTP/1.1\r\n{host}{headers}content-length: {length}\r\n\r\n{body}").unwrap();
        let mut input = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(input.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        input.read_exact(&mut body).unwrap();
        head + &String::from_utf8(body).unwrap()
    }

    fn initialize(&self, headers: &str) -> String {
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
        let answer = self.ask("POST", &format!("content-type: application/json\r\n{headers}"), body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer.lines().find_map(|line| line.strip_prefix("acp-connection-id: ")).unwrap().to_owned()
    }
}

fn agent() -> String {
    fake_agent().to_str().unwrap().to_owned()
}

/// The result of each check.
fn results(env: &Env, arguments: &[&str]) -> BTreeMap<String, String> {
    let run = env.run(&[&["probe", "--level", "sessions", "--json"], arguments].concat());
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    let checks = document["examination"]["checks"].as_array().unwrap_or_else(|| panic!("{document}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks.iter().map(|check| (text(&check["id"]), text(&check["result"]))).collect()
}

#[test]
fn every_pairing_has_the_results_of_the_agent_itself() {
    let env = Env::empty();
    let direct = results(&env, &["--network", "shared", "--", &agent(), "turns", ""]);
    assert!(direct.values().filter(|result| *result == "pass").count() > 20, "{direct:?}");
    for (scheme, flags) in [("http", &[][..]), ("ws", &[]), ("http", &["--one-stream"]), ("ws", &["--one-stream"])] {
        let served = Served::start(&env, &[&["--connections", "50"], flags].concat());
        let mut remote = results(&env, &["--url", &format!("{scheme}://{}/acp", served.address)]);
        let of_server = remote.split_off("transport/");
        assert_eq!(remote, direct, "{scheme} {flags:?}");
        // The earlier revision has no streams of sessions.
        let not_passed: Vec<_> =
            of_server.iter().filter(|(_, result)| *result == "fail" || *result == "warning").collect();
        let earlier = "transport/session-streams";
        let fails = if scheme == "http" && !flags.is_empty() { vec![earlier] } else { Vec::new() };
        assert_eq!(not_passed.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), fails, "{scheme} {flags:?}");
    }
}

#[test]
fn a_server_is_examined_only_at_an_address() {
    let env = Env::empty();
    let served = Served::start(&env, &["--token", "TOKEN"]);
    let url = format!("http://{}/acp", served.address);
    let probe = |header: &str| {
        let flags = ["probe", "--url", &url, "--require", "transport", "--json", "--header", header];
        let mut command = env.command(&flags);
        let output = command.env("KEY", "secret").env("WRONG", "secret-guess").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("secret"), "{text}");
        (output.status.code(), serde_json::from_str::<Value>(&text).unwrap())
    };
    let (code, document) = probe("Authorization: Bearer ${KEY}");
    assert_eq!(document["isolation"], "unknown");
    let examination = &document["examination"];
    // The server passes, and the agent does not for another reason.
    assert_eq!((code, document["reason"].as_str()), (Some(1), Some("no_auth_methods")));
    assert_eq!([&examination["level"], &examination["reached"]], ["transport"; 2]);
    assert_eq!(examination["summary"]["passed"], examination["checks"].as_array().unwrap().len());
    let (code, document) = probe("Authorization: Bearer ${WRONG}");
    let text = document["examination"].to_string();
    assert!(code == Some(1) && text.contains("answers `initialize` with 401 instead of 200"), "{text}");
    // A server that is not there says nothing about an agent.
    let run = env.run(&["probe", "--url", "http://127.0.0.1:1/acp", "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    let cause = "the connection to http://127.0.0.1:1/acp is lost: ";
    assert!(run.code == 3 && message.starts_with(cause), "{} {document}", run.code);
    for arguments in [
        &["probe", "--level", "transport", "--", "x"][..],
        &["verify", "--require", "transport"],
        &["new", "some-agent", "--npm", "x", "--level", "transport"],
    ] {
        let run = env.run(arguments);
        assert!(run.code == 2 && run.stderr.contains("only an agent at an address"), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn the_server_refuses_what_it_must() {
    let env = Env::empty();
    let served = Served::start(&env, &["--connections", "2"]);
    let json = "content-type: application/json\r\n";
    let events = "accept: text/event-stream\r\n";
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}"#;
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
    let connection = format!("acp-connection-id: {}\r\n", served.initialize(""));
    let own = |headers: &str| format!("{connection}{headers}");
    for (method, headers, body, status) in [
        ("POST", "content-type: text/plain\r\n".to_owned(), message, 415),
        ("POST", "content-type: application/jsonl\r\n".to_owned(), message, 415),
        ("POST", json.to_owned(), message, 400),
        ("POST", format!("{json}acp-connection-id: x\r\n"), message, 404),
        ("POST", own(json), "[]", 501),
        ("POST", own(json), prompt, 400),
        ("POST", own(&format!("{json}acp-session-id: other\r\n")), prompt, 400),
        ("GET", own("accept: text/html\r\n"), "", 406),
        // This header offers HTTP/2, and is no WebSocket.
        ("GET", own("connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AA\r\n"), "", 406),
        ("GET", events.to_owned(), "", 400),
        ("GET", format!("{events}acp-connection-id: x\r\n"), "", 404),
        ("DELETE", String::new(), "", 400),
        ("DELETE", "acp-connection-id: x\r\n".to_owned(), "", 404),
        ("PUT", String::new(), "", 405),
        ("POST", own("origin: https://evil.example\r\n"), message, 403),
        ("POST", own("host: evil.example\r\n"), message, 403),
    ] {
        let answer = served.ask(method, &headers, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {headers} {body}: {answer}");
    }
    // What names an unknown connection is refused before its body is read.
    let mut early = TcpStream::connect(&served.address).unwrap();
    let head = format!("{json}acp-connection-id: x\r\ncontent-length: 9\r\n");
    write!(early, "POST /acp HTTP/1.1\r\nhost: localhost\r\n{head}\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(early).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 404 "), "{line}");
    // A second stream is refused while the first one is read.
    let mut first = TcpStream::connect(&served.address).unwrap();
    write!(first, "GET /acp HTTP/1.1\r\nhost: localhost\r\n{events}{connection}\r\n").unwrap();
    let mut line = String::new();
    BufReader::new(first.try_clone().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200"), "{line}");
    assert!(served.ask("GET", &own(events), "").starts_with("HTTP/1.1 409 "));
    // There are no more connections than allowed, until one is closed.
    let second = served.initialize("");
    assert!(served.ask("POST", json, &message.replace("session/new", "initialize")).starts_with("HTTP/1.1 503 "));
    assert!(served.ask("DELETE", &format!("acp-connection-id: {second}\r\n"), "").starts_with("HTTP/1.1 202 "));
    // Its place is free when its process has ended.
    let initialize = message.replace("session/new", "initialize");
    while served.ask("POST", json, &initialize).starts_with("HTTP/1.1 503 ") {}
}

/// As clients of others send it: the request that is answered has the session.
#[cfg(unix)]
#[test]
fn an_answer_to_the_agent_needs_no_session_and_is_refused_for_another() {
    let env = Env::empty();
    let script = r#"read -r line
        echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
        echo '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s"}}'
        while read -r line; do
            echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","heard":'"$line"'}}'
        done"#;
    let served = Served::serve(&env, &[], &["sh", "-c", script]);
    let connection = format!("acp-connection-id: {}\r\n", served.initialize(""));
    let of_session = format!("{connection}acp-session-id: s\r\n");
    let mut stream = TcpStream::connect(&served.address).unwrap();
    let head = format!("host: {}\r\naccept: text/event-stream\r\n{of_session}", served.address);
    write!(stream, "GET /acp HTTP/1.1\r\n{head}\r\n").unwrap();
    let mut events = BufReader::new(stream).lines().map_while(Result::ok);
    let mut next = |word: &str| events.find(|line| line.contains(word)).unwrap();
    next("session/request_permission");
    let answer = |headers: &str, result: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":9,"result":{result}}}"#);
        served.ask("POST", &format!("content-type: application/json\r\n{connection}{headers}"), &body)
    };
    assert!(answer("acp-session-id: other\r\n", "1").starts_with("HTTP/1.1 400 "));
    assert!(answer("", "2").starts_with("HTTP/1.1 202 "));
    assert!(next("heard").contains(r#""result":2"#));
}

/// Whatever it is that the agent repeats, and wherever it is shown.
#[cfg(unix)]
#[test]
fn a_report_has_no_secret_that_the_agent_repeats() {
    let env = Env::empty();
    let answer = r#"{"protocolVersion":1,"agentInfo":{"name":"a secret","version":"1"},"agentCapabilities":{"secret":{}},
        "authMethods":[{"id":"secret","name":"a secret"}],"more":"secret"}"#;
    let script = format!(
        r#"while read -r line; do
            id=$(printf %s "$line" | sed 's/.*"id":\([^,}}]*\).*/\1/')
            case $line in
                *initialize*) printf %s '{{"jsonrpc":"2.0","id":'"$id"',"result":'; echo '{}}}' ;;
                *) echo '{{"jsonrpc":"2.0","id":'"$id"',"error":{{"code":-1,"message":"a secret"}}}}' ;;
            esac
        done"#,
        answer.replace('\n', " ")
    );
    let served = Served::serve(&env, &["--token", "TOKEN", "--connections", "50"], &["sh", "-c", &script]);
    let url = format!("http://{}/acp", served.address);
    for format in ["human", "json", "junit", "sarif", "github", "markdown"] {
        let flags = ["probe", "--url", &url, "--level", "protocol", "--failures", "failures", "--format", format];
        let mut command = env.command(&[&flags[..], &["--header", "Authorization: Bearer ${TOKEN}"]].concat());
        let output = command.env("TOKEN", "secret").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("secret") && text.len() > 100, "{format}: {text}");
        assert!(format != "json" || text.contains(r"a \u2026"), "{text}");
    }
    let files: Vec<_> = std::fs::read_dir(env.path("failures")).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("secret"), "{}: {text}", file.display());
    }
}

/// The server would wait for a client that is not there any more.
#[cfg(unix)]
#[test]
fn a_signal_closes_the_connection() {
    use nix::sys::signal::{Signal, kill};

    let env = Env::empty();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acp", listener.local_addr().unwrap());
    let (asked, methods) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, asked) = (stream.unwrap(), asked.clone());
            std::thread::spawn(move || {
                let mut input = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        if input.read_line(&mut head).unwrap_or_default() == 0 {
                            return;
                        }
                    }
                    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                    input.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
                    asked.send(head.split(' ').next().unwrap().to_owned()).unwrap();
                    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
                    let answer = match head.as_str() {
                        head if head.starts_with("GET") => {
                            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned()
                        }
                        head if head.starts_with("DELETE") => "HTTP/1.1 202 X\r\ncontent-length: 0\r\n\r\n".to_owned(),
                        _ => format!(
                            "HTTP/1.1 200 OK\r\nacp-connection-id: c\r\ncontent-length: {}\r\n\r\n{body}",
                            body.len()
                        ),
                    };
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    let mut command = env.command(&["run", "--url", &url]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{}}}}"#).unwrap();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    // A machine without time for the last request has the bridge say so.
    let is_late = String::from_utf8_lossy(&output.stderr).contains("the connection was not closed in time");
    assert!(is_late || methods.try_iter().any(|method| method == "DELETE"));
}

#[test]
#[cfg(target_os = "linux")]
fn an_agent_does_not_read_the_token_in_the_memory_of_its_server() {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;

    const TEST: &str = "an_agent_does_not_read_the_token_in_the_memory_of_its_server";
    const USER: u32 = 65_534;
    let env = Env::empty();
    for folder in ["", "tmp"] {
        fs::create_dir_all(env.path(folder)).unwrap();
        fs::set_permissions(env.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let script = "cat /proc/$PPID/environ > tmp/learned; echo ended >> tmp/learned\n\
                  echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}'; exec cat > /dev/null";
    let mut command = env.command(&["serve-agent", "--token", "TOKEN", "--", "/bin/sh", "-c", script]);
    command.env("TMPDIR", env.path("tmp"));
    // Root reads everything.
    if rustix::process::geteuid().is_root() {
        chown(env.path("tmp"), Some(USER), Some(USER)).unwrap();
        command.uid(USER).gid(USER);
    }
    let served = match Served::run(&mut command) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return crate::support::skipped(TEST, "other users cannot reach the program under test");
        }
        served => served.unwrap(),
    };
    served.initialize("authorization: Bearer secret\r\n");
    assert_eq!(env.read("tmp/learned"), "ended\n");
}

#[test]
fn a_token_is_asked_for_and_is_not_shown() {
    let env = Env::empty();
    let served = Served::start(&env, &["--token", "TOKEN"]);
    let url = format!("http://{}/acp", served.address);
    let bridge = |header: &str| {
        let mut command = env.command(&["run", "--url", &url, "--header", header]);
        let mut child = command
            .env("KEY", "secret")
            .env("WRONG", "guess")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let request = r#"{"jsonrpc":"2.0","id":"a\u0062","method":"initialize","params":{"protocolVersion":1}}"#;
        // A bridge that refuses its arguments reads nothing.
        let _ = writeln!(child.stdin.take().unwrap(), "{request}");
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("secret") && !text.contains("guess"), "{text}");
        (output.status.code(), text)
    };
    let (code, text) = bridge("Authorization: Bearer ${KEY}");
    assert!(code == Some(0) && text.contains("protocolVersion"), "{text}");
    let (code, text) = bridge("Authorization: Bearer ${WRONG}");
    assert!(code == Some(0) && text.contains("answers 401 Unauthorized"), "{text}");
    let (code, text) = bridge("Authorization: Bearer ${UNSET}");
    assert!(code == Some(2) && text.contains("`UNSET`"), "{text}");
    env.write("index.json", r#"{"agents":[]}"#);
    for (arguments, part) in [
        (&["serve-agent", "--listen", "0.0.0.0:0", "--", "x"][..], "other machines could start the agent"),
        (&["serve-agent", "--token", "NONE", "--", "x"], "NONE is not set"),
        (&["serve-agent", "nobody", "--index", "index.json"], "no agent `nobody`"),
        (&["run", "--url", "http://agents.example.com/"], "is refused"),
        (&["run", "a", "--url", "http://127.0.0.1:1/"], "--url names an agent"),
        (&["probe", "--url", "ws://10.0.0.1/"], "is refused"),
        // Flags that would have no effect.
        (&["run", "--url", "http://127.0.0.1:1/", "--offline"], "cannot be used with"),
        (&["run", "--url", "http://127.0.0.1:1/", "--require", "attested"], "cannot be used with"),
        (&["run", "--url", "http://127.0.0.1:1/", "--no-cache"], "cannot be used with"),
        (&["run", "--url", "http://127.0.0.1:1/", "--digest", "x"], "cannot be used with"),
        (&["serve-agent", "--index", "index.json", "--", "x"], "cannot be used with"),
        (&["serve-agent", "--allow-build", "--", "x"], "cannot be used with"),
    ] {
        let run = env.run(arguments);
        assert!(run.code == 2 && run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    // The port is taken before anything is looked for.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy = other.local_addr().unwrap().to_string();
    let run = env.run(&["serve-agent", "nobody", "--index", "index.json", "--listen", &busy]);
    assert!(run.code == 3 && run.stderr.contains(&format!("cannot listen on {busy}")), "{}", run.stderr);
}
