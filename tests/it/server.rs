//! A web server on loopback with responses from tests, which records its requests.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A response: status, additional headers, body.
pub(crate) type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) path: String,
    /// Headers by lower-case name.
    pub(crate) headers: HashMap<String, String>,
    /// How often this method and path were requested before.
    pub(crate) before: usize,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    /// `127.0.0.1:port`
    pub(crate) host: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server that passes each request and its connection to a function, one thread per connection.
    pub(crate) fn raw(handle: impl Fn(&Asked, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::listen("127.0.0.1:0", handle)
    }

    pub(crate) fn listen(
        address: &str,
        handle: impl Fn(&Asked, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (asked, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, handle, ends) = (asked.clone(), Arc::new(handle), is_over.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let (log, handle) = (log.clone(), handle.clone());
                thread::spawn(move || {
                    // A client may close the connection.
                    if let Ok(asked) = read(&stream, &log) {
                        let _ = handle(&asked, &mut stream);
                    }
                });
            }
        });
        Self { host, asked, is_over }
    }

    /// Starts a server with responses from a function.
    pub(crate) fn answering(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::raw(move |asked, stream| write(stream, asked, &answer(asked)))
    }

    /// Starts a server with these responses by path; any other path is not found.
    pub(crate) fn start(answers: impl IntoIterator<Item = (String, Answer)>) -> Self {
        let answers: HashMap<String, Answer> = answers.into_iter().collect();
        Self::answering(move |asked| answers.get(&asked.path).cloned().unwrap_or_else(not_found))
    }

    /// Serves these files below `/r/`.
    pub(crate) fn with_files(files: Vec<(String, Vec<u8>)>) -> Self {
        Self::start(files.into_iter().map(|(name, body)| (format!("/r/{name}"), ok(body))))
    }

    /// The requested paths.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.requests().into_iter().map(|asked| asked.path).collect()
    }

    /// All requests.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host)
    }
}

/// The answers of servers are large. A process that keeps them all takes long to fork, which every started agent needs.
impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(&self.host);
    }
}

pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Answer {
    (200, Vec::new(), body.into())
}

pub(crate) fn status(status: u16) -> Answer {
    (status, Vec::new(), Vec::new())
}

pub(crate) fn redirect(target: impl Into<String>) -> Answer {
    (302, vec![("Location", target.into())], Vec::new())
}

pub(crate) fn not_found() -> Answer {
    (404, Vec::new(), b"not here".to_vec())
}

fn read(stream: &TcpStream, log: &Mutex<Vec<Asked>>) -> io::Result<Asked> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut headers = HashMap::new();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        line.clear();
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut log = log.lock().unwrap();
    let before = log.iter().filter(|asked| asked.method == method && asked.path == path).count();
    let asked = Asked { method, path, headers, before, body };
    log.push(asked.clone());
    Ok(asked)
}

/// Writes a response, without its body for HEAD.
pub(crate) fn write(stream: &mut TcpStream, asked: &Asked, (status, headers, body): &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if asked.method == "HEAD" { Ok(()) } else { stream.write_all(body) }
}

/// Serves TLS with a certificate on loopback: `answer` gets each connection. Returns the host.
pub(crate) fn serve_tls(
    certificate: &rcgen::Certificate,
    key: &rcgen::KeyPair,
    answer: impl Fn(&mut rustls::Stream<'_, rustls::ServerConnection, TcpStream>) + Send + 'static,
) -> String {
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = rustls::ServerConnection::new(config.clone()).unwrap();
            answer(&mut rustls::Stream::new(&mut connection, &mut stream));
        }
    });
    host
}
