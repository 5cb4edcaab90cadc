//! A real S3 server on this machine, moto, which uv installs from the Python package index. Tests that need it are skipped
//! with a message if uv is missing or cannot download it.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{Asked, Server, write};
use crate::support::{Env, Run, missing};

/// The server, while a test uses it.
pub(crate) struct Moto {
    pub(crate) host: String,
    child: Child,
}

static SHARED: Mutex<Weak<Moto>> = Mutex::new(Weak::new());

impl Moto {
    /// The server that all tests share; `None` if it is not available.
    pub(crate) fn shared(test: &str) -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap();
        let moto = shared.upgrade().or_else(|| Self::start().map(Arc::new));
        match &moto {
            Some(moto) => *shared = Arc::downgrade(moto),
            None => missing(test, "uv is not installed, or cannot fetch moto"),
        }
        moto
    }

    /// Tries several times, since another program may take the chosen port before the server does.
    fn start() -> Option<Self> {
        (0..3).find_map(|_| Self::try_start())
    }

    fn try_start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let mut command = Command::new("uvx");
        command.args(["--quiet", "--from", "moto[server]>=5.1,<6", "moto_server", "-H", "127.0.0.1", "-p"]);
        command.arg(port.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // uv has child processes, which are killed with their group.
        let child = command.process_group(0).spawn().ok()?;
        let mut moto = Self { host, child };
        let until = Instant::now() + Duration::from_mins(3);
        while Instant::now() < until && moto.child.try_wait().ok()?.is_none() {
            if TcpStream::connect(&moto.host).is_ok() {
                return Some(moto);
            }
            thread::sleep(Duration::from_millis(100));
        }
        None
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Status, headers by lower-case name, body.
pub(crate) type Reply = (u16, HashMap<String, String>, Vec<u8>);

/// The header `Authorization` of requests with full access.
pub(crate) const KEY: &str =
    "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Sends a request with full access.
pub(crate) fn ask(host: &str, method: &str, path: &str) -> Option<Reply> {
    send(host, method, path, &[])
}

/// Like [`ask`], with a body.
pub(crate) fn send(host: &str, method: &str, path: &str, body: &[u8]) -> Option<Reply> {
    send_with(host, method, path, &[], body)
}

/// Like [`send`], with headers.
pub(crate) fn send_with(host: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Option<Reply> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut stream = TcpStream::connect(host).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {KEY}\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    Some((status, headers, bytes[end + 4..].to_vec()))
}

/// The program with the credentials of the store.
pub(crate) fn publish(env: &Env, host: &str, arguments: &[&str]) -> Command {
    let mut command = env.command(&[&["publish"], arguments].concat());
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    command.env("AWS_ENDPOINT_URL", format!("http://{host}"));
    command
}

pub(crate) fn report(env: &Env, host: &str, arguments: &[&str]) -> Value {
    let run = Run::of(&mut publish(env, host, &[arguments, &["--json"]].concat()));
    assert!(run.code == 0 && !run.stderr.contains("warning"), "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// How the proxy handles a request.
pub(crate) enum Fate {
    Pass,
    Answer(u16),
    Drop,
}

/// A proxy in front of the server that can block requests.
pub(crate) fn proxy(moto: &str, decide: impl Fn(&Asked) -> Fate + Send + Sync + 'static) -> Server {
    let moto = moto.to_owned();
    Server::raw(move |asked, stream| match decide(asked) {
        Fate::Drop => Ok(()),
        Fate::Answer(status) => {
            let body = b"<Error><Code>Injected</Code></Error>".to_vec();
            write(stream, asked, &(status, Vec::new(), body))
        }
        Fate::Pass => forward(&moto, asked, stream),
    })
}

/// Passes a request on.
pub(crate) fn forward(host: &str, asked: &Asked, stream: &mut TcpStream) -> io::Result<()> {
    let mut there = TcpStream::connect(host)?;
    let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", asked.method, asked.path);
    for (name, value) in asked.headers.iter().filter(|(name, _)| *name != "connection") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    there.write_all(format!("{head}\r\n").as_bytes())?;
    there.write_all(&asked.body)?;
    io::copy(&mut there, stream).map(drop)
}

pub(crate) fn bucket(moto: &Moto, name: &str) {
    assert_eq!(ask(&moto.host, "PUT", &format!("/{name}")).unwrap().0, 200);
}

/// The keys of a bucket.
pub(crate) fn keys(moto: &Moto, name: &str) -> BTreeSet<String> {
    let (status, _, body) = ask(&moto.host, "GET", &format!("/{name}?list-type=2")).unwrap();
    let text = String::from_utf8(body).unwrap();
    assert!(status == 200 && !text.contains("<IsTruncated>true"), "{text}");
    text.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap().to_owned()).collect()
}
