//! A store with the part of the interface of S3 that `publish` uses. It keeps objects on disk, equal ones once, and counts
//! writes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use acp_registry::digest::Sha256;

/// Headers that are returned with an object.
const KEPT: [&str; 4] = ["content-type", "cache-control", "content-encoding", "x-amz-meta-acp-registry-form"];

/// Objects per page of a listing.
const PAGE: usize = 1000;

#[derive(Default)]
pub(crate) struct Objects {
    folder: PathBuf,
    /// The digest and the headers of each object.
    kept: BTreeMap<String, (Sha256, Vec<(String, String)>)>,
    /// The objects that were written since the last look, with the bytes of the requests; none for copies in the store.
    pub(crate) written: Vec<(String, u64)>,
    pub(crate) requests: u64,
    /// Objects that a proxy has asked for, with the bytes of the answers.
    pub(crate) of_proxy: Vec<(String, u64)>,
}

pub(crate) struct Store {
    pub(crate) address: String,
    pub(crate) objects: Arc<Mutex<Objects>>,
}

struct Asked {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// Serves a bucket called `bucket` from a folder.
pub(crate) fn serve(folder: &Path) -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let objects = Arc::new(Mutex::new(Objects { folder: folder.to_owned(), ..Objects::default() }));
    let shared = objects.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let objects = shared.clone();
            // A connection ends when the client closes it.
            thread::spawn(move || answer(stream, &objects));
        }
    });
    Store { address, objects }
}

fn answer(mut stream: TcpStream, objects: &Mutex<Objects>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(asked) = read(&mut reader)? {
        let (status, headers, body) = objects.lock().expect("a lock").answer(&asked)?;
        let mut answer = format!("HTTP/1.1 {status} X\r\n");
        if status != 304 {
            answer.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            answer.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{answer}\r\n").as_bytes())?;
        if asked.method != "HEAD" {
            stream.write_all(&body)?;
        }
    }
    Ok(())
}

fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { method, path, headers, body }))
}

type Answer = (u16, Vec<(String, String)>, Vec<u8>);

impl Objects {
    fn answer(&mut self, asked: &Asked) -> io::Result<Answer> {
        self.requests += 1;
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let key = path.trim_start_matches("/bucket").trim_start_matches('/').to_owned();
        let missing = (404, Vec::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec());
        match asked.method.as_str() {
            "PUT" => self.put(&key, asked),
            "DELETE" => {
                self.kept.remove(&key);
                Ok((204, Vec::new(), Vec::new()))
            }
            _ if query.contains("list-type=2") => Ok((200, Vec::new(), self.list(query).into_bytes())),
            _ => {
                let Some((digest, kept)) = self.kept.get(&key) else { return Ok(missing) };
                let mut headers = kept.clone();
                headers.push(("Last-Modified".to_owned(), "Thu, 01 Jan 2026 00:00:00 GMT".to_owned()));
                let known = asked.headers.get("if-none-match");
                let is_known =
                    known.is_some_and(|known| headers.iter().any(|(name, tag)| name == "ETag" && tag == known));
                let body = if is_known { Vec::new() } else { fs::read(self.place(digest))? };
                if asked.headers.contains_key("x-varnish") {
                    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
                    let name = key.trim_start_matches("latest/").to_owned();
                    self.of_proxy.push((name, (bytes + body.len()) as u64));
                }
                Ok((if is_known { 304 } else { 200 }, headers, body))
            }
        }
    }

    fn put(&mut self, key: &str, asked: &Asked) -> io::Result<Answer> {
        let header = |name: &str| asked.headers.get(name).cloned();
        let is_there = self.kept.contains_key(key);
        if header("if-none-match").is_some() && is_there {
            return Ok((412, Vec::new(), b"<Error><Code>PreconditionFailed</Code></Error>".to_vec()));
        }
        let copied = header("x-amz-copy-source").map(|source| source.trim_start_matches("/bucket/").to_owned());
        let digest = match &copied {
            Some(source) => self.kept[source].0,
            None => Sha256::of(&asked.body),
        };
        if !self.place(&digest).exists() {
            fs::create_dir_all(&self.folder)?;
            fs::write(self.place(&digest), &asked.body)?;
        }
        let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), header(name)?)));
        let tag = ("ETag".to_owned(), format!("\"{}\"", self.requests));
        self.kept.insert(key.to_owned(), (digest, kept.chain([tag.clone()]).collect()));
        if !key.ends_with("lease.json") {
            self.written.push((key.to_owned(), asked.body.len() as u64));
        }
        let result = if copied.is_some() { "<CopyObjectResult><ETag>x</ETag></CopyObjectResult>" } else { "" };
        Ok((200, vec![tag], result.into()))
    }

    fn place(&self, digest: &Sha256) -> PathBuf {
        self.folder.join(digest.to_string())
    }

    fn list(&self, query: &str) -> String {
        let pairs: HashMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let text = |name: &str| pairs.get(name).map_or("", String::as_str);
        let (prefix, after) = (text("prefix"), text("continuation-token"));
        let keys = self.kept.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
        let mut out = String::from("<ListBucketResult>");
        if text("delimiter").is_empty() {
            let page: Vec<&String> = keys.take(PAGE + 1).collect();
            for key in page.iter().take(PAGE) {
                out.push_str(&format!(
                    "<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified>\
                     <ETag>x</ETag></Contents>"
                ));
            }
            if page.len() > PAGE {
                let next = page[PAGE - 1];
                out.push_str(&format!(
                    "<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>"
                ));
            }
        } else {
            let folders: BTreeSet<&str> = keys.filter_map(|key| Some(key[prefix.len()..].split_once('/')?.0)).collect();
            for folder in folders {
                out.push_str(&format!("<CommonPrefixes><Prefix>{prefix}{folder}/</Prefix></CommonPrefixes>"));
            }
        }
        out + "</ListBucketResult>"
    }
}
