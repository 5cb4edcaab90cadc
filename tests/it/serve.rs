//! `serve`: shows the site of a registry on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Stdio};

use crate::support::{Env, manifest};

/// The running program, killed at the end of the test.
struct Served {
    child: Child,
    stderr: BufReader<ChildStderr>,
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
            env.command(&["serve", "--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port =
            line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_else(|| panic!("{line}"));
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { port: port.parse().unwrap(), stderr, child }
    }

    /// Reads the output of the program up to a line with this text.
    fn wait_for(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).unwrap(), 0, "it has ended without `{text}`");
        }
    }

    /// Requests a path; returns the head and the body of the response.
    fn get(&self, path: &str, host: &str) -> (String, String) {
        self.ask("GET", path, host)
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> (String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_ascii_lowercase(), body.to_owned())
    }
}

#[test]
fn pages_come_with_their_headers_and_follow_changes() {
    let env = Env::with(&["one"]);
    let mut served = Served::start(&env);
    let (head, body) = served.get("/agents/one/", "localhost:1");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/html; charset=utf-8"), "{head}");
    assert!(head.contains("frame-ancestors 'none'") && head.contains("nosniff") && body.contains("An agent"));
    assert!(served.get("/one.svg", "127.0.0.1").0.contains("sandbox"));
    let (head, _) = served.get("/agents/one", "127.0.0.1");
    assert!(head.starts_with("http/1.1 307") && head.contains("location: /agents/one/"), "{head}");
    for method in ["POST", "OPTIONS", "TRACE"] {
        let (head, body) = served.ask(method, "/", "127.0.0.1");
        assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head") && body.is_empty(), "{head}");
    }
    assert!(served.get("/matrix?ids=one", "LocalHost").0.contains("location: /matrix/?ids=one"));
    assert!(served.get("/agents/%6fne/", "127.0.0.1").1.contains("An agent"));
    for path in ["/nothing", "/../r/one/agent.json", "/%2e%2e/r/one/agent.json"] {
        let (head, body) = served.get(path, "127.0.0.1");
        assert!(head.starts_with("http/1.1 404") && body.contains("Page not found"), "{head}");
    }
    assert!(served.get("/", "elsewhere.example").0.starts_with("http/1.1 421"));

    // An invalid registry changes nothing; a valid one is served soon, and pages are told to reload.
    let before = served.get("/-/version", "127.0.0.1").1;
    env.write("r/two/agent.json", "{");
    served.wait_for("the site stays as it was: errors in two");
    served.wait_for("help: correct the errors");
    assert_eq!(served.get("/-/version", "127.0.0.1").1, before);
    env.write("r/two/icon.svg", crate::support::ICON);
    env.write("r/two/agent.json", manifest("two"));
    served.wait_for("the registry has changed: 2 agents");
    assert!(served.get("/agents/two/", "127.0.0.1").0.starts_with("http/1.1 200"));
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
