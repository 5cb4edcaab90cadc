//! The scripts that are being played, and the requests that were received.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::Model;
use super::api::Api;
use super::conversation::{Conversation, Item, Output};
use super::reply::{ModelReply, ReplyMessage, harmless, scripted};
use super::script::Script;
use super::tools::is_search;
use crate::mcp::Record;

/// Maximum number of requests that are kept of one script, and of those without a marker.
const REQUESTS: usize = 100;

/// Maximum number of scripts.
const SCRIPTS: usize = 10_000;

/// Maximum size of all texts that are kept, in bytes. The oldest requests lose theirs first.
const TEXTS: usize = 8 << 20;

/// Maximum number of tools whose names are kept of one request.
const TOOLS: usize = 500;

/// A request that an agent sent to the model for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The API.
    pub api: Api,
    /// The path of the URL.
    pub path: String,
    /// Whether the answer was streamed.
    pub is_streamed: bool,
    /// The step of the script that was the answer. `None` for requests beside the turn, such as those for a title.
    pub step: Option<usize>,
    /// The texts of the user, the oldest first. They include those of earlier turns, and what the agent adds.
    pub texts: Vec<String>,
    /// The number of texts of the model in the conversation, including those of earlier turns.
    pub answers: usize,
    /// The results of tool calls, the oldest first, including those of earlier turns.
    pub results: Vec<String>,
    /// The number of results of tool calls of this turn; they are the last of [`results`](Self::results).
    pub new_results: usize,
    /// The number of images.
    pub images: usize,
    /// The names of the tools offered.
    pub tools: Vec<String>,
    /// The names of the tools that were called in the answer.
    pub called: Vec<String>,
    /// Descriptions of tools that the script called, but the agent did not offer.
    pub missing: Vec<String>,
    /// Whether the agent closed the connection before the end of the answer.
    pub is_aborted: bool,
}

/// A script that is being played.
#[derive(Debug, Clone)]
pub struct Play {
    number: u64,
    state: Arc<Shared>,
}

impl Play {
    /// The text by which requests are known to belong to the script.
    pub fn marker(&self) -> String {
        format!("{PREFIX}{:04}", self.number)
    }

    /// The number in the marker.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The requests that have the marker, the oldest first.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.state.lock().plays.get(&self.number).map(|entry| entry.requests.clone()).unwrap_or_default()
    }

    /// Waits until the requests are as wanted, at most for `limit`. Returns whether they are. `is_wanted` must not use
    /// the model.
    pub async fn wait(&self, limit: Duration, is_wanted: impl Fn(&[ModelRequest]) -> bool) -> bool {
        self.state.wait(limit, self.number, |run| run.is_some_and(|run| is_wanted(&run.requests))).await
    }

    /// Lets the model end the answers of [`Step::Hold`](super::Step::Hold).
    pub fn release(&self) {
        if let Some(run) = self.state.lock().plays.get_mut(&self.number) {
            run.is_released = true;
        }
        self.state.changes.send_replace(());
    }

    /// Tools that the script called, but that no request of the turn offered.
    pub fn missing(&self) -> Vec<String> {
        let requests = self.requests();
        let of_turn = || requests.iter().filter(|request| request.step.is_some());
        let mut missing: Vec<String> = of_turn().flat_map(|request| request.missing.clone()).collect();
        missing.retain(|tool| !of_turn().any(|request| !request.called.is_empty() && !request.missing.contains(tool)));
        missing.dedup();
        missing
    }
}

impl ModelRequest {
    /// The size of its texts, in bytes.
    fn size(&self) -> usize {
        [&self.texts, &self.results, &self.tools].into_iter().flatten().map(String::len).sum()
    }

    fn forget(&mut self) {
        (self.texts, self.results, self.tools) = (Vec::new(), Vec::new(), Vec::new());
    }
}

#[derive(Debug)]
struct ScriptRun {
    script: Script,
    requests: Vec<ModelRequest>,
    is_released: bool,
}

#[derive(Debug, Default)]
struct Inner {
    plays: BTreeMap<u64, ScriptRun>,
    others: Vec<ModelRequest>,
    /// Number of the newest script.
    number: u64,
    /// Number of the newest answer.
    serial: u64,
    /// Whether any request has offered tools.
    has_tools: bool,
    /// Size of the texts kept, in bytes.
    kept: usize,
    /// What MCP servers have received, by their numbers.
    mcp: BTreeMap<u64, Record>,
}

impl Inner {
    fn add(&mut self, number: u64, script: Script) {
        self.number = self.number.max(number);
        self.plays.insert(number, ScriptRun { script, requests: Vec::new(), is_released: false });
        if self.plays.len() > SCRIPTS {
            self.plays.pop_first();
        }
    }

    /// Makes the oldest requests forget their texts, until those of this size can be kept too.
    fn make_room(&mut self, size: usize) {
        let of_plays = self.plays.values_mut().flat_map(|entry| &mut entry.requests);
        for request in self.others.iter_mut().chain(of_plays) {
            if self.kept + size <= TEXTS {
                return;
            }
            self.kept -= request.size();
            request.forget();
        }
    }
}

/// Everything that connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    inner: Mutex<Inner>,
    /// Is held while the body of a request is in memory as a tree.
    pub(super) reading: Mutex<()>,
    changes: watch::Sender<()>,
}

/// An answer that is being sent. Unless it is finished, dropping it records that the client has gone.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Number of the answer, for unique ids.
    pub(super) serial: u64,
    /// The script and the index of the request in it.
    of: Option<(u64, usize)>,
    state: Arc<Shared>,
}

impl Ticket {
    /// Waits until the script is released, at most for `limit`. Returns whether it is.
    pub(super) async fn is_released_within(&self, limit: Duration) -> bool {
        let Some((number, _)) = self.of else { return true };
        self.state.wait(limit, number, |run| run.is_none_or(|run| run.is_released)).await
    }

    pub(super) fn finish(&mut self) {
        self.of = None;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let Some((number, index)) = self.of else { return };
        let mut inner = self.state.lock();
        let request = inner.plays.get_mut(&number).and_then(|entry| entry.requests.get_mut(index));
        if let Some(request) = request {
            request.is_aborted = true;
        }
        drop(inner);
        self.state.changes.send_replace(());
    }
}

impl Model {
    /// Adds a script, under a new marker.
    pub fn play(&self, script: Script) -> Play {
        let mut inner = self.state.lock();
        let number = inner.number + 1;
        inner.add(number, script);
        Play { number, state: Arc::clone(&self.state) }
    }

    /// Adds a script under the marker of this number, to repeat an exchange.
    pub fn play_as(&self, number: u64, script: Script) -> Play {
        self.state.lock().add(number, script);
        Play { number, state: Arc::clone(&self.state) }
    }

    /// Serves one more MCP server over HTTP. Returns its number, for [`mcp_record`](Self::mcp_record), and its path.
    pub fn serve_mcp(&self) -> (u64, String) {
        let mut inner = self.state.lock();
        let number = inner.mcp.last_key_value().map_or(1, |(last, _)| last + 1);
        inner.mcp.insert(number, Record::default());
        (number, format!("/mcp/{number}"))
    }

    /// What the MCP server with this number has received.
    pub fn mcp_record(&self, number: u64) -> Record {
        self.state.lock().mcp.get(&number).cloned().unwrap_or_default()
    }

    /// Requests that had no marker, the oldest first. Model lists and token counts are not included.
    pub fn others(&self) -> Vec<ModelRequest> {
        self.state.lock().others.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a script is as wanted, at most for `limit`. Returns whether it is.
    async fn wait(&self, limit: Duration, number: u64, is_wanted: impl Fn(Option<&ScriptRun>) -> bool) -> bool {
        let mut changes = self.changes.subscribe();
        let wanted = async {
            while !is_wanted(self.lock().plays.get(&number)) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        tokio::time::timeout(limit, wanted).await.is_ok()
    }

    /// Records a message to an MCP server.
    pub(super) fn add_mcp(&self, number: u64, variable: Option<String>, message: &Value) {
        if let Some(record) = self.lock().mcp.get_mut(&number) {
            record.add(variable, message);
        }
    }

    /// Decides the answer to a conversation, and records the request.
    pub(super) fn reply(state: &Arc<Self>, api: Api, path: &str, conversation: &Conversation) -> (ModelReply, Ticket) {
        let mut inner = state.lock();
        inner.serial += 1;
        let serial = inner.serial;
        let place = locate(conversation, |number| inner.plays.contains_key(&number));
        // A turn offers tools, unless the agent has none. A request for a title can come before the turn's first one.
        inner.has_tools |= !conversation.tools.is_empty() && place.is_some();
        let is_turn = place.is_some_and(|place| {
            let has_tools = !conversation.tools.is_empty();
            conversation.output == Output::Any && (has_tools || !(inner.has_tools || is_about(conversation, place)))
        });
        let entry = place.and_then(|place| inner.plays.get(&place.number));
        let reply = match (entry, place) {
            (Some(entry), Some(place)) if is_turn => {
                let is_repeated = entry.requests.iter().any(|request| request.step == Some(place.turns));
                scripted(entry.script.step(place.turns, is_repeated), conversation)
            }
            _ => ModelReply::Message(harmless(conversation)),
        };
        let mut request = record(api, path, conversation, &reply);
        request.step = place.filter(|_| is_turn).map(|place| place.turns);
        request.new_results = place.map_or(0, |place| count(&conversation.items[place.item..]));
        let size = request.size();
        inner.make_room(size);
        let (mut of, mut kept) = (None, 0);
        let list = match place {
            Some(place) => inner.plays.get_mut(&place.number).map(|entry| &mut entry.requests),
            None => Some(&mut inner.others),
        };
        if let Some(list) = list.filter(|list| list.len() < REQUESTS) {
            of = place.map(|place| (place.number, list.len()));
            list.push(request);
            kept = size;
        }
        inner.kept += kept;
        drop(inner);
        state.changes.send_replace(());
        (reply, Ticket { serial, of, state: Arc::clone(state) })
    }
}

fn count(items: &[Item]) -> usize {
    items.iter().filter(|item| matches!(item, Item::Result(_))).count()
}

fn record(api: Api, path: &str, conversation: &Conversation, reply: &ModelReply) -> ModelRequest {
    let texts =
        conversation.items.iter().filter_map(|item| if let Item::User(text) = item { Some(text) } else { None });
    let results =
        conversation.items.iter().filter_map(|item| if let Item::Result(text) = item { Some(text) } else { None });
    let message = if let ModelReply::Message(message) = reply { message } else { &ReplyMessage::default() };
    ModelRequest {
        api,
        path: path.chars().take(500).collect(),
        is_streamed: conversation.is_streamed,
        step: None,
        texts: texts.cloned().collect(),
        answers: conversation.items.iter().filter(|item| **item == Item::Model).count(),
        results: results.cloned().collect(),
        new_results: 0,
        images: conversation.items.iter().filter(|item| **item == Item::Image).count(),
        tools: conversation.tools.iter().take(TOOLS).map(|tool| tool.name.clone()).collect(),
        called: message.calls().map(|call| call.name.clone()).collect(),
        missing: message.missing.clone(),
        is_aborted: false,
    }
}

/// The start of each marker; a number follows.
pub(super) const PREFIX: &str = "acp-registry-turn-";

/// Maximum length of instructions that are searched for words, in bytes. Those of titles are short.
const INSTRUCTIONS: usize = 6000;

/// The place of a request in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptPosition {
    /// The number of the script.
    pub(super) number: u64,
    /// The number of the model's turns after the marker.
    pub(super) turns: usize,
    /// The index of the item that has the marker.
    pub(super) item: usize,
}

/// The place of a conversation: the last known marker in the last text of the user that has one.
pub(super) fn locate(conversation: &Conversation, is_known: impl Fn(u64) -> bool) -> Option<ScriptPosition> {
    let items = &conversation.items;
    let (item, number) = items.iter().enumerate().rev().find_map(|(at, item)| {
        let Item::User(text) = item else { return None };
        let numbers = text.rmatch_indices(PREFIX).filter_map(|(at, _)| number(&text[at + PREFIX.len()..]));
        numbers.into_iter().find(|number| is_known(*number)).map(|number| (at, number))
    })?;
    let mut turns = 0;
    let mut was_model = false;
    for item in &items[item..] {
        let is_model = match item {
            Item::Model => true,
            // A search for a tool is no step: the script goes on with what it finds.
            Item::Call(name) => !is_search(name),
            Item::User(_) | Item::Image | Item::Result(_) => false,
        };
        turns += usize::from(is_model && !was_model);
        was_model = is_model;
    }
    Some(ScriptPosition { number, turns, item })
}

fn number(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Whether a request without tools is for a title or a summary, so that it repeats a prompt without being its turn.
pub(super) fn is_about(conversation: &Conversation, place: ScriptPosition) -> bool {
    let text = match &conversation.items[place.item] {
        Item::User(text) => text.find(PREFIX).map_or("", |at| &text[..at]),
        _ => "",
    };
    let is_named = |text: &str| {
        let text = text.to_lowercase();
        text.len() <= INSTRUCTIONS && ["title", "summary", "summarize"].iter().any(|word| text.contains(word))
    };
    is_named(&conversation.system) || is_named(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Item {
        Item::User(text.to_owned())
    }

    fn place(items: Vec<Item>) -> Option<(u64, usize)> {
        let conversation = Conversation { items, ..Conversation::default() };
        locate(&conversation, |number| [7, 71].contains(&number)).map(|place| (place.number, place.turns))
    }

    #[test]
    fn only_known_markers_of_the_user_count() {
        let result = Item::Result("acp-registry-turn-7".to_owned());
        assert_eq!(place(vec![user("acp-registry-turn-8 acp-registry-turn- acp-registry-turn"), result]), None);
        assert_eq!(place(vec![user(&format!("{PREFIX}99999999999999999999999"))]), None);
        assert_eq!(place(vec![]), None);
    }

    #[test]
    fn the_last_marker_counts_with_the_turns_after_it() {
        let result = || Item::Result("x".to_owned());
        assert_eq!(place(vec![user("acp-registry-turn-71.")]), Some((71, 0)));
        assert_eq!(place(vec![user("acp-registry-turn-7 acp-registry-turn-71")]), Some((71, 0)));
        let old = [user("acp-registry-turn-7"), Item::Model, user("go on: acp-registry-turn-71 (acp-registry-turn-9)")];
        // Two calls in one turn, their results, a reminder, and another turn.
        let call = |name: &str| Item::Call(name.to_owned());
        let new = [user("reminder"), call("a"), call("b"), result(), result(), user("reminder"), Item::Model];
        assert_eq!(place(old.into_iter().chain(new).collect()), Some((71, 2)));
        let searched = [user("acp-registry-turn-7"), call("ToolSearch"), result(), call("a"), result()];
        assert_eq!(place(searched.into()), Some((7, 1)));
    }

    #[test]
    fn titles_are_told_by_their_instructions() {
        let about = |system: &str, text: &str| {
            let conversation =
                Conversation { system: system.to_owned(), items: vec![user(text)], ..Conversation::default() };
            is_about(&conversation, ScriptPosition { number: 7, turns: 0, item: 0 })
        };
        assert!(about("Generate a title.", "acp-registry-turn-7") && about("", "Summarize: acp-registry-turn-7"));
        assert!(!about("You are an agent.", "acp-registry-turn-7 title"));
        assert!(!about(&format!("title{}", " ".repeat(INSTRUCTIONS)), "acp-registry-turn-7"));
    }
}
