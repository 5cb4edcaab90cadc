//! The name servers of a network namespace: they know no name, and remember those that were asked for.
//!
//! Programs ask the servers of `/etc/resolv.conf`. The keeper gives their addresses to the loopback interface, so that the
//! questions arrive here instead of failing. Programs see the same error in both cases: the name cannot be resolved for now.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::AbortHandle;

use super::loopback;

/// The port of name servers.
const PORT: u16 = 53;

/// The most name servers that the C library asks.
const SERVERS: usize = 3;

/// The most names that are remembered.
const NAMES: usize = 64;

/// The length of a header of DNS, in bytes.
const HEADER: usize = 12;

/// The largest question that is read, in bytes: a message without extensions has at most this length.
const QUESTION: usize = 512;

/// After how many errors of a socket nothing is answered any more.
const FAILURES: usize = 1000;

/// What `/etc/resolv.conf` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResolverConfig {
    servers: Vec<IpAddr>,
    /// Domains that are added to names.
    search: Vec<String>,
}

impl ResolverConfig {
    fn read() -> Self {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let config = Self::parse(&text("/etc/resolv.conf"));
        // These have sockets in the file system, which a network namespace does not hide.
        let has_service = is_service(&text("/etc/nsswitch.conf")) || Path::new("/run/nscd/socket").exists();
        if has_service { Self { servers: Vec::new(), ..config } } else { config }
    }

    fn parse(text: &str) -> Self {
        let (mut config, mut has_server) = (Self::default(), false);
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    has_server = true;
                    config.servers.extend(words.next().and_then(|word| word.parse::<IpAddr>().ok()));
                }
                Some("search" | "domain") => config.search = words.map(str::to_ascii_lowercase).collect(),
                _ => {}
            }
        }
        config.servers.truncate(SERVERS);
        // The C library asks the loopback address then.
        if !has_server {
            config.servers.push(Ipv4Addr::LOCALHOST.into());
        }
        config
    }

    /// A name without the domain that was added to it.
    fn shorten<'a>(&self, name: &'a str) -> &'a str {
        let stem = self.search.iter().find_map(|domain| name.strip_suffix(domain.as_str())?.strip_suffix('.'));
        stem.unwrap_or(name)
    }
}

/// Whether the C library asks a service of the machine for names of hosts before it asks name servers.
fn is_service(nsswitch: &str) -> bool {
    let hosts = nsswitch.lines().find_map(|line| line.trim_start().strip_prefix("hosts:")).unwrap_or_default();
    hosts.split_whitespace().take_while(|word| *word != "dns").any(|word| word == "resolve")
}

/// Binds the ports of the name servers in the network namespace of this process, which has no other interface than the
/// loopback. A server whose port cannot be bound is left out.
pub(super) fn bind() -> Vec<UdpSocket> {
    let bind = |server: IpAddr| -> io::Result<UdpSocket> {
        if !server.is_loopback() {
            loopback::add_address(server)?;
        }
        UdpSocket::bind((server, PORT))
    };
    ResolverConfig::read().servers.into_iter().filter_map(|server| bind(server).ok()).collect()
}

/// Answers the questions of a namespace, until it is dropped.
#[derive(Debug)]
pub(super) struct Resolver {
    names: Arc<Mutex<BTreeSet<String>>>,
    tasks: Vec<AbortHandle>,
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Resolver {
    /// Starts to answer. Requires a tokio runtime with the IO driver.
    pub(super) fn start(sockets: Vec<OwnedFd>) -> io::Result<Self> {
        let names = Arc::new(Mutex::new(BTreeSet::new()));
        let config = Arc::new(ResolverConfig::read());
        let mut tasks = Vec::new();
        for socket in sockets {
            let socket = UdpSocket::from(socket);
            socket.set_nonblocking(true)?;
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            let (names, config) = (names.clone(), config.clone());
            tasks.push(tokio::spawn(async move { serve(&socket, &names, &config).await }).abort_handle());
        }
        Ok(Self { names, tasks })
    }

    /// The names that were asked for; `None` if nothing was heard, because no port could be bound.
    pub(super) fn names(&self) -> Option<BTreeSet<String>> {
        (!self.tasks.is_empty()).then(|| self.names.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

async fn serve(socket: &tokio::net::UdpSocket, names: &Mutex<BTreeSet<String>>, config: &ResolverConfig) {
    let mut bytes = [0; QUESTION];
    let mut failures = 0;
    while failures < FAILURES {
        // An error belongs to an earlier answer, whose receiver has ended.
        let Ok((length, sender)) = socket.recv_from(&mut bytes).await else {
            failures += 1;
            continue;
        };
        let Some((name, answer)) = answer(&bytes[..length]) else { continue };
        if let Some(name) = name {
            let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
            if names.len() < NAMES {
                names.insert(config.shorten(&name).to_owned());
            }
        }
        let _ = socket.send_to(&answer, sender).await;
    }
}

/// The name in a question, if it is the name of a host, and the answer: the server has failed, so that the program may ask
/// again later. `None` if the bytes are no question.
fn answer(question: &[u8]) -> Option<(Option<String>, Vec<u8>)> {
    const IS_ANSWER: u8 = 0x80;
    /// The kind of question, and whether the program wants recursion.
    const KEPT: u8 = 0x79;
    const RECURSION_AND_FAILURE: u8 = 0x80 | 2;
    let header = question.get(..HEADER)?;
    if header[2] & IS_ANSWER != 0 || header[4..6] != [0, 1] {
        return None;
    }
    let mut labels: Vec<&[u8]> = Vec::new();
    let mut at = HEADER;
    loop {
        let length = usize::from(*question.get(at)?);
        at += 1;
        match length {
            0 => break,
            // A pointer to another name, which a question has no use for.
            64.. => return None,
            _ => labels.push(question.get(at..at + length)?),
        }
        at += length;
    }
    // The type and the class of what is asked for.
    let end = at + 4;
    let mut answer = question.get(..end)?.to_vec();
    answer[2] = IS_ANSWER | (header[2] & KEPT);
    answer[3] = RECURSION_AND_FAILURE;
    // No answers, no authorities, no extensions.
    answer[6..HEADER].fill(0);
    let is_host = |label: &&[u8]| label.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    let name = (!labels.is_empty() && labels.iter().all(is_host))
        .then(|| String::from_utf8_lossy(&labels.join(&b'.')).to_ascii_lowercase());
    Some((name, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(labels: &[&str]) -> Vec<u8> {
        let mut bytes = vec![7, 9, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        for label in labels {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.extend([0, 0, 1, 0, 1]);
        // An extension, as most programs send it.
        bytes.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn a_question_is_answered_by_a_failure_and_remembered() {
        let (name, answer) = answer(&question(&["Models", "Example", "com"])).unwrap();
        assert_eq!(name.as_deref(), Some("models.example.com"));
        assert_eq!(answer[..HEADER], [7, 9, 0x81, 0x82, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answer[HEADER..], question(&["Models", "Example", "com"])[HEADER..answer.len()]);
    }

    #[test]
    fn bytes_that_are_no_question_of_a_host_are_no_name() {
        let whole = question(&["a", "b"]);
        for end in 0..HEADER + 9 {
            assert_eq!(answer(&whole[..end]), None, "{end} bytes");
        }
        for odd in [&["a b"][..], &["\u{1b}[2J", "com"], &[]] {
            assert_eq!(answer(&question(odd)).unwrap().0, None, "{odd:?}");
        }
        let mut pointer = whole.clone();
        pointer[HEADER] = 0xc0;
        let mut answered = whole;
        answered[2] |= 0x80;
        assert_eq!((answer(&pointer), answer(&answered)), (None, None));
    }

    #[test]
    fn servers_and_added_domains_are_those_of_the_system() {
        let config = ResolverConfig::parse(
            "# comment\nnameserver 192.0.2.1\nnameserver fe80::1%eth0\nnameserver 2001:db8::1\nsearch Example.NET corp\n",
        );
        assert_eq!(config.servers, ["192.0.2.1", "2001:db8::1"].map(|address| address.parse::<IpAddr>().unwrap()));
        assert_eq!(config.shorten("api.example.com.example.net"), "api.example.com");
        assert_eq!(config.shorten("api.example.com"), "api.example.com");
        assert_eq!(ResolverConfig::parse("").servers, [IpAddr::from(Ipv4Addr::LOCALHOST)]);
        // Of a server that cannot be listened for, nothing is known.
        assert_eq!(ResolverConfig::parse("nameserver fe80::1%eth0\n").servers, [] as [IpAddr; 0]);
    }

    #[test]
    fn a_service_that_is_asked_first_is_known() {
        for (hosts, expected) in [
            ("passwd: files\nhosts: files resolve [!UNAVAIL=return] dns\n", true),
            ("hosts:  mymachines resolve", true),
            ("hosts: files dns resolve", false),
            ("hosts: files dns myhostname", false),
            ("", false),
        ] {
            assert_eq!(is_service(hosts), expected, "{hosts}");
        }
    }
}
