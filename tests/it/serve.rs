//! `serve`: a registry's site on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Env, manifest};

/// The program, ended with the test.
struct Served {
    child: Child,
    port: u16,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    fn start(env: &Env) -> Self {
        let mut child =
            env.command(&["serve", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port =
            line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_else(|| panic!("{line}"));
        Self { port: port.parse().unwrap(), child }
    }

    /// The head and the body of an answer.
    fn get(&self, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }
}

#[test]
fn pages_come_with_their_headers_and_follow_changes() {
    let env = Env::with(&["one"]);
    let served = Served::start(&env);
    let (head, body) = served.get("/agents/one/", "localhost:1");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/html; charset=utf-8"), "{head}");
    assert!(head.contains("frame-ancestors 'none'") && head.contains("nosniff") && body.contains("An agent"));
    assert!(served.get("/one.svg", "127.0.0.1").0.contains("sandbox"));
    let (head, _) = served.get("/agents/one", "127.0.0.1");
    assert!(head.starts_with("http/1.1 308") && head.contains("location: /agents/one/"), "{head}");
    for path in ["/nothing", "/../r/one/agent.json", "/%2e%2e/r/one/agent.json"] {
        let (head, body) = served.get(path, "127.0.0.1");
        assert!(head.starts_with("http/1.1 404") && body.contains("There is no such page"), "{head}");
    }
    assert!(served.get("/", "elsewhere.example").0.starts_with("http/1.1 421"));

    // A broken registry changes nothing; a good one is there soon, and pages learn of it.
    let before = served.get("/-/version", "127.0.0.1").1;
    env.write("r/two/agent.json", "{");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(served.get("/-/version", "127.0.0.1").1, before);
    env.write("r/two/icon.svg", crate::support::ICON);
    env.write("r/two/agent.json", manifest("two"));
    let started = Instant::now();
    while !served.get("/agents/two/", "127.0.0.1").0.starts_with("http/1.1 200") {
        assert!(started.elapsed() < Duration::from_mins(1), "the change was not followed");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_ne!(served.get("/-/version", "127.0.0.1").1, before);
}

#[test]
fn a_busy_port_and_a_broken_registry_are_clear_errors() {
    let env = Env::with(&["one"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let run = env.run(&["serve", "--port", &port]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains(&format!("port {port} is in use")) && run.stderr.contains("--port 0"),
        "{}",
        run.stderr
    );
    env.write("r/one/agent.json", "{");
    let run = env.run(&["serve", "--port", "0"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("one/agent.json"), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn an_interrupt_is_how_it_ends() {
    use nix::sys::signal::{Signal, kill};

    let env = Env::with(&["one"]);
    let mut served = Served::start(&env);
    kill(nix::unistd::Pid::from_raw(served.child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}
