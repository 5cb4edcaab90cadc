//! One connection: where each message of its agent goes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use crate::message::{Envelope, into_line};
use crate::{MESSAGE, NAMES};

/// How many messages wait for the reader of a stream.
const WAITING: usize = 256;

/// How many bytes wait for the readers of all streams of a connection.
const BYTES: usize = 2 * MESSAGE;

/// How many streams a connection has at most.
const STREAMS: usize = 256;

/// How many unanswered requests are remembered.
const REQUESTS: usize = 4096;

/// How long a full stream, or an agent, may take to read further.
const STALLED: Duration = Duration::from_mins(1);

pub(super) struct Link {
    to_agent: mpsc::Sender<Vec<u8>>,
    state: Mutex<State>,
    stop: Notify,
    /// The bytes that may still wait.
    bytes: Arc<Semaphore>,
    is_one_stream: bool,
}

#[derive(Default)]
struct State {
    /// By session; the one of the connection has none.
    streams: HashMap<Option<String>, Outlet>,
    /// How often a stream was used.
    turn: u64,
    /// Where the answers to the client's requests go, by their ids as written.
    answers: HashMap<String, Option<String>>,
    /// The sessions of the agent's requests.
    asked: HashMap<String, String>,
    /// The id of `initialize`, and what waits for its answer.
    initialize: Option<(String, oneshot::Sender<Vec<u8>>)>,
    has_ended: bool,
}

/// A message that waits, and its share of the bytes that may wait.
type Waiting = (Vec<u8>, OwnedSemaphorePermit);

struct Outlet {
    /// The turn of its last use.
    used: u64,
    sender: mpsc::Sender<Waiting>,
    /// `None` while a client reads.
    receiver: Option<mpsc::Receiver<Waiting>>,
}

impl Default for Outlet {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        Self { used: 0, sender, receiver: Some(receiver) }
    }
}

/// A client that reads a stream. When it goes, another one may read the rest.
pub(super) struct Listener {
    peer: Arc<Link>,
    key: Option<String>,
    receiver: Option<mpsc::Receiver<Waiting>>,
}

impl Listener {
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.receiver.as_mut()?.recv().await.map(|(line, _)| line)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another stream may have taken the place of one that was ended.
        let receiver = self.receiver.take().filter(|receiver| !receiver.is_closed());
        if let Some(receiver) = receiver
            && let Some(outlet) = self.peer.state().streams.get_mut(&self.key)
        {
            outlet.receiver = Some(receiver);
        }
    }
}

impl State {
    /// The stream of a session, or of the connection. A new one ends the one that was not used for longest, of those whose
    /// sessions have nothing open: a client asks for it again when it needs it. `None` if there is no such stream.
    fn outlet(&mut self, key: Option<String>) -> Option<&mut Outlet> {
        if self.streams.len() >= STREAMS && !self.streams.contains_key(&key) {
            let idle = self.streams.iter().filter(|(key, outlet)| {
                let is_empty = outlet.sender.capacity() == WAITING && outlet.sender.strong_count() == 1;
                key.is_some() && is_empty && !self.answers.values().any(|way| way == *key)
            });
            let (last, _) = idle.min_by_key(|(_, outlet)| outlet.used)?;
            let last = last.clone();
            self.streams.remove(&last);
        }
        self.turn += 1;
        let outlet = self.streams.entry(key).or_default();
        outlet.used = self.turn;
        Some(outlet)
    }
}

impl Link {
    pub(super) fn new(is_one_stream: bool) -> (Arc<Self>, mpsc::Receiver<Vec<u8>>) {
        let (to_agent, messages) = mpsc::channel(1);
        let (stop, bytes) = (Notify::new(), Arc::new(Semaphore::new(BYTES)));
        (Arc::new(Self { to_agent, state: Mutex::default(), stop, bytes, is_one_stream }), messages)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the agent to end.
    pub(super) fn stop(&self) {
        self.stop.notify_one();
    }

    pub(super) async fn stopped(&self) {
        self.stop.notified().await;
    }

    /// Ends all streams.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.has_ended = true;
        state.initialize = None;
        state.streams.clear();
    }

    /// Whether a client reads any stream, or waits for `initialize`.
    pub(super) fn is_read(&self) -> bool {
        let state = self.state();
        state.initialize.is_some() || state.streams.values().any(|outlet| outlet.receiver.is_none())
    }

    /// Passes a line to the agent, once it has read those before. The error says why that is not possible.
    pub(super) async fn send(&self, line: Vec<u8>) -> Result<(), &'static str> {
        match timeout(STALLED, self.to_agent.send(line)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err("the agent of the connection has ended"),
            Err(_) => Err("the agent of the connection does not read"),
        }
    }

    pub(super) fn expect_initialize(&self, envelope: &Envelope) -> oneshot::Receiver<Vec<u8>> {
        let (sender, answer) = oneshot::channel();
        let mut state = self.state();
        if !state.has_ended {
            state.initialize = envelope.id.clone().map(|id| (id, sender));
        }
        answer
    }

    /// Notes where the answer to a message goes, which was sent for a session.
    pub(super) fn accept(&self, envelope: &Envelope, session: Option<&str>) -> Result<(), &'static str> {
        let mut state = self.state();
        let Some(id) = envelope.id.clone() else { return self.check(envelope.session.as_deref(), session, envelope) };
        if envelope.is_response() {
            let asked = state.asked.get(&id).cloned();
            // The page asks for the header, and leaves it out where it draws the exchange, as do clients. The request that is
            // answered has the session.
            self.check(session.and(asked.as_deref()), session, envelope)?;
            state.asked.remove(&id);
            return Ok(());
        }
        self.check(envelope.session.as_deref(), session, envelope)?;
        if state.answers.len() >= REQUESTS {
            return Err("there are too many unanswered requests");
        }
        if id.len() + session.map_or(0, str::len) > NAMES {
            return Err("the id of the request is too long");
        }
        let way = session.filter(|_| !self.is_one_stream && !envelope.opens_session());
        state.answers.insert(id, way.map(str::to_owned));
        Ok(())
    }

    fn check(&self, named: Option<&str>, header: Option<&str>, envelope: &Envelope) -> Result<(), &'static str> {
        match (named, header) {
            _ if self.is_one_stream => Ok(()),
            (Some(named), Some(header)) if named != header => Err("the header Acp-Session-Id names another session"),
            (Some(_), None) if !envelope.opens_session() => Err("the header Acp-Session-Id is missing"),
            _ => Ok(()),
        }
    }

    /// Opens the stream of a session, or of the connection.
    pub(super) fn listen(self: &Arc<Self>, session: Option<&str>) -> Result<Listener, &'static str> {
        if self.is_one_stream && session.is_some() {
            return Err("a connection has one stream here");
        }
        let key = session.map(str::to_owned);
        let mut state = self.state();
        let outlet = if state.has_ended { None } else { state.outlet(key.clone()) };
        let receiver = outlet.ok_or("no more streams are opened")?.receiver.take();
        let receiver = receiver.ok_or("the stream is open already")?;
        Ok(Listener { peer: self.clone(), key, receiver: Some(receiver) })
    }

    /// Passes a line of the agent on. The error says why that is not possible.
    pub(super) async fn route(&self, line: Vec<u8>) -> Result<(), &'static str> {
        let line = into_line(line);
        let envelope = Envelope::read(&line);
        let sender = {
            let mut state = self.state();
            let mut key = envelope.session.clone();
            if let Some(id) = &envelope.id {
                if envelope.is_response() {
                    if let Some((_, waiting)) = state.initialize.take_if(|(initialize, _)| initialize == id) {
                        let _ = waiting.send(line);
                        return Ok(());
                    }
                    key = state.answers.remove(id).flatten();
                } else if let Some(session) = &envelope.session
                    && state.asked.len() < REQUESTS
                    && id.len() + session.len() <= NAMES
                {
                    state.asked.insert(id.clone(), session.clone());
                }
            }
            let key = key.filter(|_| !self.is_one_stream);
            if key.as_ref().is_some_and(|session| session.len() > NAMES) {
                return Err("the id of a session is too long");
            }
            state.outlet(key).ok_or("the agent has too many sessions")?.sender.clone()
        };
        let size = u32::try_from(line.len().min(BYTES)).unwrap_or(u32::MAX);
        let sent = async {
            let share = self.bytes.clone().acquire_many_owned(size).await.ok()?;
            sender.send((line, share)).await.ok()
        };
        match timeout(STALLED, sent).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err("a stream has ended"),
            Err(_) => Err("the client does not read a stream"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_does_not_read_keeps_no_client_waiting() {
        let (link, messages) = Link::new(false);
        assert_eq!(link.send(b"1\n".to_vec()).await, Ok(()));
        assert_eq!(link.send(b"2\n".to_vec()).await, Err("the agent of the connection does not read"));
        drop(messages);
        assert_eq!(link.send(b"3\n".to_vec()).await, Err("the agent of the connection has ended"));
    }

    #[tokio::test]
    async fn ids_that_are_remembered_have_a_limit() {
        let (link, _messages) = Link::new(false);
        let accept = |length: usize| {
            let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{}\",\"method\":\"a\"}}", "x".repeat(length));
            link.accept(&Envelope::read(request.as_bytes()), None)
        };
        assert_eq!(accept(NAMES - 2), Ok(()));
        assert_eq!(accept(NAMES), Err("the id of the request is too long"));
        let update = |length: usize| {
            format!("{{\"method\":\"a\",\"params\":{{\"sessionId\":\"{}\"}}}}\n", "x".repeat(length)).into_bytes()
        };
        assert_eq!(link.route(update(NAMES)).await, Ok(()));
        assert_eq!(link.route(update(NAMES + 1)).await, Err("the id of a session is too long"));
    }

    #[tokio::test]
    async fn the_stream_that_was_not_used_for_longest_makes_room() {
        let (link, _messages) = Link::new(false);
        let mut read: Vec<_> = (0..STREAMS).map(|at| link.listen(Some(&at.to_string())).unwrap()).collect();
        let ask = |session: &str| {
            let text = format!("{{\"id\":{session},\"method\":\"a\",\"params\":{{\"sessionId\":\"{session}\"}}}}");
            link.accept(&Envelope::read(text.as_bytes()), Some(session)).unwrap();
        };
        let update = |session: &str| {
            link.route(format!("{{\"method\":\"a\",\"params\":{{\"sessionId\":\"{session}\"}}}}\n").into_bytes())
        };
        // The first session has an open request, the second one a message that waits.
        ask("0");
        assert_eq!(update("1").await, Ok(()));
        assert_eq!(update("new").await, Ok(()));
        assert_eq!(read[2].next().await, None);
        assert!(read[1].next().await.is_some() && link.state().streams.contains_key(&Some("0".to_owned())));
        // The client asks for it again, before the end of the earlier one is known.
        let mut again = link.listen(Some("2")).unwrap();
        drop(read.remove(2));
        assert_eq!(update("2").await, Ok(()));
        assert!(again.next().await.is_some());
        (1..STREAMS).for_each(|at| ask(&at.to_string()));
        ask("new");
        assert_eq!(update("newer").await, Err("the agent has too many sessions"));
    }

    #[tokio::test(start_paused = true)]
    async fn messages_that_wait_have_a_limit_in_bytes_for_all_streams() {
        let (link, _messages) = Link::new(false);
        let update = |session: &str| {
            let text = "x".repeat(MESSAGE - 1000);
            format!("{{\"method\":\"a\",\"params\":{{\"sessionId\":\"{session}\",\"text\":\"{text}\"}}}}\n")
                .into_bytes()
        };
        assert_eq!(link.route(update("a")).await, Ok(()));
        assert_eq!(link.route(update("b")).await, Ok(()));
        assert_eq!(link.route(update("c")).await, Err("the client does not read a stream"));
        link.listen(Some("a")).unwrap().next().await.unwrap();
        assert_eq!(link.route(update("c")).await, Ok(()));
    }
}
