//! A network namespace, and the process that keeps it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener, UnixStream as StdStream};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::NamespaceError;
use super::keeper::{self, KEEP, said};
use super::resolver::Resolver;

/// Time limit for each answer of the keeper, which takes a few milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

/// Maximum length of a message of the keeper, in bytes.
const MESSAGE: usize = 1000;

/// A network namespace with a loopback interface of its own, and no other that leads anywhere.
///
/// Programs run in it if they are started with [`LaunchSpec::namespace`](crate::process::LaunchSpec::namespace). They reach
/// the ports that [`listen`](Self::listen) binds, and each other. They reach neither the host's addresses, its loopback
/// ports and its abstract Unix sockets, nor any other host. Unix sockets in the file system can still be opened.
///
/// Clones are the same namespace. A process keeps it, which ends when the last clone is dropped; programs that still run
/// then keep it further.
#[derive(Debug, Clone)]
pub struct Namespace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    keeper: Keeper,
    socket: Mutex<UnixStream>,
    has_users: bool,
    resolver: Resolver,
}

/// A child process that is killed when this is dropped.
#[derive(Debug)]
struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        // It may have ended already. It holds nothing that would have to be put back.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Listeners of the host that the keeper must not reach.
struct Bait {
    tcp: TcpListener,
    unix: UnixListener,
    name: String,
}

impl Bait {
    fn lay() -> io::Result<Self> {
        let name = format!("acp-registry-{}-{:016x}", std::process::id(), fastrand::u64(..));
        let (tcp, unix) = (
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            UnixListener::bind_addr(&UnixAddr::from_abstract_name(&name)?)?,
        );
        tcp.set_nonblocking(true)?;
        unix.set_nonblocking(true)?;
        Ok(Self { tcp, unix, name })
    }

    /// What has connected, if anything has.
    fn taken(&self) -> Option<&'static str> {
        let is_quiet = |result: Result<(), io::Error>| result.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if !is_quiet(self.tcp.accept().map(drop)) {
            return Some("the host's loopback address");
        }
        (!is_quiet(self.unix.accept().map(drop))).then_some("an abstract Unix socket of the host")
    }
}

impl Namespace {
    /// Creates a network namespace, and checks that nothing outside can be reached from it. `launcher` is the
    /// `acp-registry` executable (see [`keep`](super::keep)).
    ///
    /// As root, it is only a network namespace. Other users also get a user namespace, in which they keep their number.
    /// If the future is dropped, no process is left. Requires a tokio runtime with the IO and time drivers, and belongs
    /// to it.
    ///
    /// # Errors
    /// Returns [`NamespaceError`] with the system's reason.
    pub async fn create(launcher: Option<&Path>) -> Result<Self, NamespaceError> {
        let launcher = launcher.ok_or(NamespaceError::NoLauncher)?;
        let bait = Bait::lay().map_err(NamespaceError::Start)?;
        let (keeper, mut socket) = start(launcher, &bait).map_err(NamespaceError::Start)?;
        let (kind, reason) = answer(&socket).await?;
        let reason = acp_registry_plan::text::printable(&reason).into_owned();
        let has_users = match kind {
            said::READY => false,
            said::READY_WITH_USERS => true,
            said::NOT_ISOLATED => return Err(NamespaceError::NotIsolated(reason)),
            _ => return Err(NamespaceError::Refused(reason)),
        };
        if let Some(taken) = bait.taken() {
            return Err(NamespaceError::NotIsolated(format!("it reaches {taken}")));
        }
        // What launchers will open must be accessible, and another namespace than this one.
        let number = |path: &str| fs::metadata(path).map(|metadata| metadata.ino());
        let theirs = number(&format!("/proc/{}/ns/net", keeper.0.id()));
        match theirs.and_then(|theirs| Ok((theirs, number("/proc/self/ns/net")?))) {
            Err(error) => return Err(NamespaceError::Refused(format!("/proc: {error}"))),
            Ok((theirs, own)) if theirs == own => {
                return Err(NamespaceError::NotIsolated("it is the host's own".to_owned()));
            }
            Ok(_) => {}
        }
        let resolver = resolver(&mut socket).await.map_err(NamespaceError::Start)?;
        Ok(Self { inner: Arc::new(Inner { keeper, socket: Mutex::new(socket), has_users, resolver }) })
    }

    /// The names of hosts that programs in the namespace have asked the system's name servers for, at most 64, of which none
    /// was resolved. `None` if they were not heard. Nothing is known of programs that have an address already, or ask by a
    /// Unix socket or by HTTPS.
    #[must_use]
    pub fn lookups(&self) -> Option<BTreeSet<String>> {
        self.inner.resolver.names()
    }

    /// Binds a free port of the loopback address in the namespace. Only programs in the namespace can connect to it; its
    /// listener works in this process like any other. It blocks, unless set otherwise.
    ///
    /// # Errors
    /// Returns an error if the namespace's process has ended.
    pub async fn listen(&self) -> io::Result<TcpListener> {
        let mut socket = self.inner.socket.lock().await;
        let file = ask(&mut socket, said::LISTENER).await?;
        file.map(TcpListener::from).ok_or_else(|| io::Error::other("the process that keeps the namespace has ended"))
    }

    /// The id of the process that keeps the namespace. It is not reused while this exists.
    pub(in crate::process) fn keeper(&self) -> u32 {
        self.inner.keeper.0.id()
    }

    /// Whether the namespace belongs to a user namespace, in which only the caller's user exists.
    pub(in crate::process) fn has_users(&self) -> bool {
        self.inner.has_users
    }
}

fn start(launcher: &Path, bait: &Bait) -> io::Result<(Keeper, UnixStream)> {
    let (own, theirs) = StdStream::pair()?;
    own.set_nonblocking(true)?;
    let port = bait.tcp.local_addr()?.port().to_string();
    #[expect(clippy::disallowed_methods, reason = "the program itself")]
    let mut command = Command::new(launcher);
    command.args([KEEP, &port, &bait.name]).env_clear().current_dir("/");
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C in a terminal is left to this process.
    command.process_group(0);
    Ok((Keeper(command.spawn()?), UnixStream::from_std(own)?))
}

/// The first message of the keeper.
async fn answer(socket: &UnixStream) -> Result<(u8, String), NamespaceError> {
    let mut bytes = vec![0; MESSAGE];
    let length = match timeout(LIMIT, receive(socket, &mut bytes)).await {
        Ok(Ok((length, _))) => length,
        Ok(Err(error)) => return Err(NamespaceError::Start(error)),
        Err(late) => return Err(NamespaceError::Start(late.into())),
    };
    let Some((kind, reason)) = bytes[..length].split_first() else {
        return Err(NamespaceError::Refused("the process that was to keep it has ended".to_owned()));
    };
    Ok((*kind, String::from_utf8_lossy(reason).into_owned()))
}

/// The answers to programs in the namespace that ask for names.
async fn resolver(socket: &mut UnixStream) -> io::Result<Resolver> {
    let mut servers = Vec::new();
    while let Some(server) = ask(socket, said::NAME_SERVER).await? {
        servers.push(server);
    }
    Resolver::start(servers)
}

/// What the keeper has for a request.
async fn ask(socket: &mut UnixStream, request: u8) -> io::Result<Option<OwnedFd>> {
    socket.write_all(&[request]).await?;
    let mut kind = [0];
    Ok(timeout(LIMIT, receive(socket, &mut kind)).await??.1)
}

async fn receive(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    socket.async_io(Interest::READABLE, || keeper::receive(socket.as_fd(), bytes)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(launcher: Option<&str>) -> Result<Namespace, NamespaceError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Namespace::create(launcher.map(Path::new)))
    }

    #[test]
    fn without_a_launcher_that_works_there_is_none() {
        assert!(matches!(created(None), Err(NamespaceError::NoLauncher)));
        let folder = tempfile::tempdir().unwrap();
        let missing = created(folder.path().join("missing").to_str()).unwrap_err();
        assert!(matches!(&missing, NamespaceError::Start(error) if error.kind() == ErrorKind::NotFound), "{missing}");
        let ended = created(Some("/bin/true")).unwrap_err();
        assert!(matches!(&ended, NamespaceError::Refused(reason) if reason.contains("ended")), "{ended}");
    }

    #[test]
    fn a_connection_to_the_host_is_noticed() {
        let bait = Bait::lay().unwrap();
        assert_eq!(bait.taken(), None);
        let tcp = std::net::TcpStream::connect(bait.tcp.local_addr().unwrap()).unwrap();
        assert_eq!(bait.taken(), Some("the host's loopback address"));
        drop(tcp);
        StdStream::connect_addr(&UnixAddr::from_abstract_name(&bait.name).unwrap()).unwrap();
        assert_eq!(bait.taken(), Some("an abstract Unix socket of the host"));
    }
}
