//! Serves a published tree from memory to a browser on this machine.
//!
//! * [`Preview`]: the served files, which can be replaced while the server runs
//! * [`serve`]: the server, with the headers that a host of the site should send
//! * [`fingerprint`]: detects changes in a directory

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::contents::{FIXED, caching, media_type};
use crate::site::{CSP, ICON_CSP};

/// Script that reloads a page when the files have changed.
const RELOAD: &str = "let known;\nsetInterval(async () => {\n  try {\n    const now = await (await fetch('/-/version')).text();\n    \
    if (known && now !== known) location.reload();\n    known = now;\n  } catch { /* the server has ended */ }\n}, 1000);\n";

/// How long a connection may take to its next request, with all headers.
const HEAD: Duration = Duration::from_secs(10);

/// How many connections there may be at a time; further ones wait.
const CONNECTIONS: usize = 64;

/// The element that loads [`RELOAD`], appended to every page.
const RELOAD_ELEMENT: &str = "<script src=\"/-/reload.js\" defer></script>";

/// The served files, by name.
#[derive(Debug, Default)]
pub struct Preview {
    files: RwLock<Arc<BTreeMap<String, Vec<u8>>>>,
}

impl Preview {
    /// Replaces all files at once.
    pub fn replace(&self, files: BTreeMap<String, Vec<u8>>) {
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(files);
    }

    fn files(&self) -> Arc<BTreeMap<String, Vec<u8>>> {
        Arc::clone(&self.files.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Serves the files of `preview` to all who connect, for as long as the future is kept. Responses are not compressed,
/// because they do not leave this machine.
pub async fn serve(listener: TcpListener, preview: Arc<Preview>) {
    accept(listener, preview, HEAD, CONNECTIONS).await;
}

async fn accept(listener: TcpListener, preview: Arc<Preview>, head: Duration, connections: usize) {
    let routes = Router::new().fallback(answer).with_state(preview);
    let places = Arc::new(Semaphore::new(connections));
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head);
    while let Ok(place) = places.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // There are too many open files, perhaps.
            sleep(Duration::from_secs(1)).await;
            continue;
        };
        let (builder, service) = (builder.clone(), TowerToHyperService::new(routes.clone()));
        tokio::spawn(async move {
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

async fn answer(State(preview): State<Arc<Preview>>, request: Request) -> Response {
    // Prevents DNS rebinding: a page of another site whose name resolves to 127.0.0.1 must not read these files.
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.split(':').next().unwrap_or_default();
    if !["127.0.0.1", "localhost"].iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return (StatusCode::MISDIRECTED_REQUEST, "only 127.0.0.1 and localhost are served\n").into_response();
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    let files = preview.files();
    let path = percent_decode_str(request.uri().path()).decode_utf8_lossy();
    let path = path.trim_start_matches('/');
    match path {
        "-/reload.js" => return file("reload.js", RELOAD.as_bytes(), StatusCode::OK),
        "-/version" => {
            let version = files.get("SHA256SUMS").map(hash).unwrap_or_default();
            return file("version.txt", version.to_string().as_bytes(), StatusCode::OK);
        }
        _ => {}
    }
    let is_folder = path.is_empty() || path.ends_with('/');
    let name = if is_folder { format!("{path}index.html") } else { path.to_owned() };
    if let Some(bytes) = files.get(&name) {
        return file(&name, bytes, StatusCode::OK);
    }
    if files.contains_key(&format!("{name}/index.html")) {
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        // Browsers keep a permanent one, also for what is on this port next.
        return Redirect::temporary(&format!("/{name}/{query}")).into_response();
    }
    file("404.html", files.get("404.html").map_or(&[][..], Vec::as_slice), StatusCode::NOT_FOUND)
}

fn file(name: &str, bytes: &[u8], status: StatusCode) -> Response {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    // A card has its policy in itself, and other pages may frame it.
    let policy = match ending {
        "svg" => Some(ICON_CSP.to_owned()),
        _ if name.starts_with("agents/") && name.ends_with("/card.html") => None,
        _ => Some(format!("{CSP}; frame-ancestors 'none'")),
    };
    // The registry is being edited: what may change is asked for each time.
    let cache = if caching(name) == FIXED { FIXED } else { "no-cache" };
    let mut body = bytes.to_vec();
    if ending == "html" && policy.is_some() {
        body.extend_from_slice(RELOAD_ELEMENT.as_bytes());
    }
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    for (key, value) in [
        (header::CONTENT_TYPE, media_type(name)),
        (header::CACHE_CONTROL, cache),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(key, HeaderValue::from_static(value));
    }
    if let Some(Ok(policy)) = policy.map(HeaderValue::try_from) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash that changes when a file of a registry directory is written, added or removed. It covers the names, sizes
/// and modification times of the files in the directory and in its folders.
pub fn fingerprint(directory: &Path) -> u64 {
    let mut seen = Vec::new();
    let mut folders = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for item in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_hidden = item.file_name().to_string_lossy().starts_with('.');
            let Ok(metadata) = item.metadata() else { continue };
            if metadata.is_dir() && depth == 0 && !is_hidden {
                folders.push((item.path(), 1));
            } else if metadata.is_file() {
                seen.push((item.path(), metadata.len(), metadata.modified().ok()));
            }
        }
    }
    seen.sort();
    hash(&seen)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn a_connection_without_a_whole_request_is_ended_and_lets_the_next_one_in() {
        let whole = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        for text in ["", "GET / HT", "GET / HTTP/1.1\r\nhost: localhost\r\n", whole] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let head = if text == whole { Duration::from_hours(1) } else { Duration::from_millis(20) };
            let server = tokio::spawn(accept(listener, Arc::default(), head, 1));
            for _ in 0..2 {
                let mut client = TcpStream::connect(address).await.unwrap();
                client.write_all(text.as_bytes()).await.unwrap();
                let mut answer = Vec::new();
                // A reset ends it, too.
                let _ = client.read_to_end(&mut answer).await;
                assert_eq!(answer.starts_with(b"HTTP/1.1 404 "), text == whole, "{text}");
            }
            server.abort();
        }
    }

    #[test]
    fn a_fingerprint_sees_what_is_written_added_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, agent) = (folder.path(), folder.path().join("a/agent.json"));
        let empty = fingerprint(path);
        fs::create_dir(path.join("a")).unwrap();
        fs::write(&agent, "1").unwrap();
        let first = fingerprint(path);
        assert_eq!(first, fingerprint(path));
        fs::write(&agent, "12").unwrap();
        let second = fingerprint(path);
        fs::remove_file(&agent).unwrap();
        assert!(empty != first && first != second && fingerprint(path) == empty);
    }
}
