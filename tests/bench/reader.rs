//! One connection of readers: sends what the client sends to use agents of a published tree, and counts what it receives.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use acp_registry::digest::Sha256;
use acp_registry::entries::{DISCOVERY, View, entry_in, list_in};
use acp_registry::manifest::AgentId;

/// The file name of the index.
pub(crate) const INDEX: &str = "registry.json";

/// Requests and bytes with headers, by kind of file.
pub(crate) type Counts = BTreeMap<&'static str, (u64, u64)>;

/// A machine with copies of an earlier use.
#[derive(Default)]
pub(crate) struct Machine {
    discovery: Option<(View, Validators)>,
    /// Groups, lists and entries. Their texts are kept once, by the reader.
    parts: HashSet<Sha256>,
    agents: Vec<AgentId>,
}

#[derive(Default)]
struct Validators {
    etag: String,
    last_modified: String,
}

pub(crate) struct Reader {
    host: String,
    stream: BufReader<TcpStream>,
    /// The texts of groups, lists and entries.
    texts: HashMap<Sha256, Vec<u8>>,
    pub(crate) received: Counts,
    /// How often the proxy had the entry of an earlier publication.
    pub(crate) mismatches: u64,
}

impl Machine {
    /// A machine without copies that uses these agents.
    pub(crate) fn new(agents: Vec<AgentId>) -> Self {
        Self { agents, ..Self::default() }
    }
}

/// The kind of a file, by its path.
pub(crate) fn kind(path: &str) -> &'static str {
    match path.split('?').next().unwrap_or_default() {
        DISCOVERY => "discovery document",
        INDEX => "index",
        path if path.starts_with("entry-lists/") => "lists of digests",
        path if path.starts_with("entries/") => "entries",
        _ => "other",
    }
}

impl Reader {
    pub(crate) fn new(host: &str) -> Self {
        let stream = TcpStream::connect(host).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        let (stream, host) = (BufReader::new(stream), host.to_owned());
        Self { host, stream, texts: HashMap::new(), received: Counts::new(), mismatches: 0 }
    }

    /// Reads the agents of a machine as the client does: the discovery document, only if it has changed since the last visit,
    /// and what it names and the machine does not have. If an entry belongs to another publication, other addresses lead past
    /// the proxy; if that does not help, it reads the whole index.
    pub(crate) fn visit(&mut self, machine: &mut Machine) {
        let known = machine.discovery.as_ref().map(|(_, validators)| validators);
        let (status, validators, body) = self.get(DISCOVERY, known);
        if status == 304 {
            return;
        }
        let mut view = View::parse(&body, INDEX).expect("a discovery document").expect("a view");
        if !self.entries(machine, &view) {
            let (_, _, body) = self.get(&format!("{DISCOVERY}?not={}", view.index), None);
            view = View::parse(&body, INDEX).expect("a discovery document").expect("a view");
            if !self.entries(machine, &view) {
                self.get(INDEX, None);
            }
        }
        machine.discovery = Some((view, validators));
    }

    /// Reads the entries of all agents of a machine; `false` if one of them belongs to another publication.
    fn entries(&mut self, machine: &mut Machine, view: &View) -> bool {
        machine.agents.clone().iter().all(|id| self.entry(machine, view, id).is_some())
    }

    fn entry(&mut self, machine: &mut Machine, view: &View, id: &AgentId) -> Option<Vec<u8>> {
        let group = self.part(machine, &view.list_path(view.group(id)), view.group(id))?;
        let list = list_in(&group, id).expect("a group");
        let list = self.part(machine, &view.list_path(list), list)?;
        let entry = entry_in(&list, id).expect("a list").expect("the agent");
        self.part(machine, &view.entry_path(id), entry)
    }

    /// A file that the machine has, or else of the host; `None` if it has another digest.
    fn part(&mut self, machine: &mut Machine, path: &str, digest: Sha256) -> Option<Vec<u8>> {
        if machine.parts.contains(&digest) {
            return Some(self.texts.get(&digest).cloned().unwrap_or_default());
        }
        let (_, _, mut body) = self.get(path, None);
        if Sha256::of(&body) != digest {
            self.mismatches += 1;
            body = self.get(&format!("{path}?sha256={digest}"), None).2;
        }
        if Sha256::of(&body) != digest {
            return None;
        }
        machine.parts.insert(digest);
        self.texts.entry(digest).or_insert_with(|| body.clone());
        Some(body)
    }

    /// Sends a request with the headers of the client.
    fn get(&mut self, path: &str, known: Option<&Validators>) -> (u16, Validators, Vec<u8>) {
        let mut request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {}\r\nUser-Agent: acp-registry\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n",
            self.host
        );
        for (name, value) in known.iter().flat_map(|known| known.conditions()) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        self.stream.get_mut().write_all(format!("{request}\r\n").as_bytes()).expect("a request");
        let (mut validators, mut length, mut status, mut bytes) = (Validators::default(), 0, 0, 0);
        for at in 0.. {
            let mut line = String::new();
            bytes += self.stream.read_line(&mut line).expect("an answer");
            let line = line.trim_end();
            if at == 0 {
                status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
            } else if let Some((name, value)) = line.split_once(": ") {
                match name.to_ascii_lowercase().as_str() {
                    "etag" => value.clone_into(&mut validators.etag),
                    "last-modified" => value.clone_into(&mut validators.last_modified),
                    "content-length" if status != 304 => length = value.parse().expect("a length"),
                    "transfer-encoding" => panic!("{path} has no length"),
                    _ => {}
                }
            } else {
                break;
            }
        }
        assert!([200, 304].contains(&status), "{path} is answered with {status}");
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("a body");
        let (requests, sum) = self.received.entry(kind(path)).or_default();
        (*requests, *sum) = (*requests + 1, *sum + (bytes + length) as u64);
        (status, validators, body)
    }
}

impl Validators {
    fn conditions(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let pairs = [("If-None-Match", self.etag.as_str()), ("If-Modified-Since", self.last_modified.as_str())];
        pairs.into_iter().filter(|(_, value)| !value.is_empty())
    }
}
