//! A web server on loopback that answers what a test tells it to, and remembers what it was asked.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// An answer: status, further headers, body.
pub(crate) type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// Serves until the test process ends.
pub(crate) struct Server {
    /// `127.0.0.1:port`
    pub(crate) host: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server with these answers by path; any other path is not found.
    pub(crate) fn start(answers: impl IntoIterator<Item = (String, Answer)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: HashMap<String, Answer> = answers.into_iter().collect();
        let log = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is no concern of the server.
                let _ = answer(stream, &answers, &log);
            }
        });
        Self { host, asked }
    }

    /// Serves these files below `/r/`.
    pub(crate) fn with_files(files: Vec<(String, Vec<u8>)>) -> Self {
        Self::start(files.into_iter().map(|(name, body)| (format!("/r/{name}"), (200, Vec::new(), body))))
    }

    /// The paths that were asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, answers: &HashMap<String, Answer>, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
    log.lock().unwrap().push(path.clone());
    let not_found = (404, Vec::new(), b"not here".to_vec());
    let (status, headers, body) = answers.get(&path).unwrap_or(&not_found);
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(body)
}
