//! The text of an index as an [`Index`].

use crate::failure::{Code, Failure};
use crate::statement::Signed;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::time::SystemTime;

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::entry::Entry;
use super::parse::{FormError, Notes, entries};
use crate::digest::Sha256;
use crate::manifest::{Agent, AgentId};
use crate::text::{nearest, quote};
use crate::timestamp::age;

/// An index. Its text stays in memory: what lists do not show of an agent is read from there when it is asked for.
#[derive(Debug, Clone)]
pub struct Index {
    text: String,
    entries: Vec<EntrySpan>,
    /// Ids of agents that the index may have, which serve for suggestions only.
    others: Vec<String>,
    /// Which entries cannot be used, and why; ready to be shown.
    pub notes: Vec<String>,
    /// Where it comes from, and how old it may be.
    pub origin: IndexSource,
    sha256: String,
}

/// An entry, and where in the text it is.
#[derive(Debug, Clone)]
struct EntrySpan {
    entry: Entry,
    place: Range<usize>,
}

/// An agent's entry is valid JSON, but a number is out of range or the nesting too deep.
#[derive(Debug, thiserror::Error)]
#[error("what the registry index says of {} cannot be read: {error}", quote(id))]
pub struct EntryError {
    /// The agent.
    pub id: String,
    /// What is wrong.
    #[source]
    pub error: serde_json::Error,
}

/// Where an index came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexSource {
    /// Its address without secrets, or its path; empty for a text that a program has passed.
    pub source: String,
    /// When its host sent it, or last confirmed it; for a file or a directory, when that last changed.
    pub fetched_at: Option<SystemTime>,
    /// Whether its host may have a newer one: the host could not be asked, or the session is offline and the copy no
    /// longer fresh.
    pub is_stale: bool,
    /// Who has signed it, if the registry signs.
    pub signed: Option<Signed>,
}

impl Index {
    /// The age of the index, for people. If the clock was set back, the age is zero.
    #[must_use]
    pub fn age(&self) -> Option<String> {
        let age = age(self.origin.fetched_at?.elapsed().unwrap_or_default());
        Some(if self.origin.is_stale { format!("{age}, and there may be a newer one") } else { age })
    }

    /// Reads an index. Entries that cannot be used become notes.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn parse(text: String) -> Result<Self, FormError> {
        let sha256 = Sha256::of(&text).to_string();
        Self::with_digest(text, sha256)
    }

    /// Reads an index whose digest is known.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn with_digest(text: String, sha256: String) -> Result<Self, FormError> {
        let texts = entries(&text)?;
        let read: Vec<Result<Entry, String>> = texts.par_iter().map(|text| Entry::parse(text)).collect();
        let (mut found, mut notes, mut ids) = (Vec::with_capacity(read.len()), Notes::default(), HashSet::new());
        for (at, (entry, part)) in read.into_iter().zip(texts).enumerate() {
            match entry {
                Err(problem) => notes.add(at, &problem),
                Ok(entry) if ids.contains(&entry.id) => {
                    notes.add(at, &format!("is passed over: there is another {} before it", quote(&entry.id)));
                }
                Ok(entry) => {
                    ids.insert(entry.id.clone());
                    let start = part.as_ptr().addr() - text.as_ptr().addr();
                    found.push(EntrySpan { entry, place: start..start + part.len() });
                }
            }
        }
        let notes = notes.into_sentences();
        Ok(Self { text, entries: found, others: Vec::new(), notes, sha256, origin: IndexSource::default() })
    }

    /// Removes agents that another proof shows to be withdrawn.
    pub fn remove(&mut self, ids: &BTreeSet<AgentId>) {
        self.entries.retain(|found| !ids.iter().any(|id| **id == *found.entry.id));
    }

    /// Adds the ids of another index to those that may be suggested. It adds no agent.
    pub fn suggest(&mut self, other: &Self) {
        let ids = other.entries().map(|entry| &entry.id);
        self.others.extend(ids.filter(|id| self.entries.iter().all(|found| found.entry.id != **id)).cloned());
    }

    /// The ids that may be suggested in place of an unknown one.
    pub(super) fn known(&self, unknown: &str) -> impl Iterator<Item = &str> {
        let ids = self.entries().map(|entry| entry.id.as_str()).chain(self.others.iter().map(String::as_str));
        ids.filter(move |id| *id != unknown)
    }

    /// All of the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the index, in lower-case hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The agents, in the order of the index.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|found| &found.entry)
    }

    /// The whole entry of an agent; `None` when the index has no agent of this id.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn value(&self, id: &str) -> Result<Option<Value>, EntryError> {
        let Some(found) = self.entries.iter().find(|found| found.entry.id == id) else { return Ok(None) };
        let value = serde_json::from_str(&self.text[found.place.clone()]);
        value.map(Some).map_err(|error| EntryError { id: id.to_owned(), error })
    }

    /// An agent, without archives and packages that have unreadable members; `None` when the index has no agent of this
    /// id.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn agent(&self, id: &str) -> Result<Option<Agent>, EntryError> {
        let Some(mut value) = self.value(id)? else { return Ok(None) };
        keep_usable(&mut value);
        Ok(Some(Agent::from_json(&value)))
    }

    /// What [`Index::agent`] leaves out of an agent, and why; as sentences, printable once they are quoted.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn left_out(&self, id: &str) -> Result<Vec<String>, EntryError> {
        Ok(self.value(id)?.map(|mut value| keep_usable(&mut value)).unwrap_or_default())
    }

    /// The id that was probably meant.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.known(id))
    }
}

/// Removes archives and packages with members of a wrong type: if such a member was ignored, a digest or an argument
/// would get lost. Returns what was removed and why, as sentences.
pub(super) fn keep_usable(agent: &mut Value) -> Vec<String> {
    let mut notes = Vec::new();
    for channel in ["", "/preview"] {
        let place = format!("{channel}/distribution");
        let Some(distribution) = agent.pointer_mut(&place).and_then(Value::as_object_mut) else { continue };
        if let Some(targets) = distribution.get_mut("binary").and_then(Value::as_object_mut) {
            keep(targets, &format!("{place}/binary"), |_| true, &mut notes);
        }
        keep(distribution, &place, |kind| kind == "npx" || kind == "uvx", &mut notes);
    }
    notes
}

fn keep(ways: &mut Map<String, Value>, place: &str, is_way: impl Fn(&str) -> bool, notes: &mut Vec<String>) {
    ways.retain(|name, way| {
        let problem = if is_way(name) { problem(way) } else { None };
        notes.extend(problem.map(|problem| format!("{place}/{name} is passed over: {problem}")));
        problem.is_none()
    });
}

fn problem(way: &Value) -> Option<&'static str> {
    let Some(way) = way.as_object() else { return Some("it is not an object") };
    // Some writers have `null` for missing members.
    let of = |name: &str| way.get(name).filter(|value| !value.is_null());
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
    let are_texts = |value: &Value| value.as_array().is_some_and(|values| values.iter().all(is_text));
    let are_pairs = |value: &Value| value.as_object().is_some_and(|values| values.values().all(is_text));
    if of("archive").is_some_and(|value| !is_text(value)) {
        Some("its `archive` is not a text without NUL characters")
    } else if of("cmd").is_some_and(|value| !is_text(value)) {
        Some("its `cmd` is not a text without NUL characters")
    } else if of("sha256").is_some_and(|value| !is_text(value)) {
        Some("its `sha256` is not a text without NUL characters")
    } else if of("package").is_some_and(|value| !is_text(value)) {
        Some("its `package` is not a text without NUL characters")
    } else if of("args").is_some_and(|value| !are_texts(value)) {
        Some("its `args` is not a list of texts without NUL characters")
    } else if of("env").is_some_and(|value| !are_pairs(value)) {
        Some("its `env` does not give texts without NUL characters to names")
    } else {
        None
    }
}

impl From<EntryError> for Failure {
    fn from(error: EntryError) -> Self {
        Self::unable(error).code(Code::InvalidIndex)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_entry_never_hides_the_others() {
        let good = |id: &str| format!(r#"{{ "id": "{id}", "version": "1.0.0", "distribution": {{ "npx": {{}} }} }}"#);
        let deep = format!("{{\"id\":\"deep\",\"x\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(
            r#"{{ "version": 2, "agents": [{}, 7, {{}}, {}, {deep}, {}], "new": {{}} }}"#,
            good("a"),
            good("b"),
            good("a")
        );
        let index = Index::parse(text).unwrap();
        assert_eq!(index.entries().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(index.notes.len(), 4, "{:?}", index.notes);
        assert!(index.notes[0].starts_with("entry 2 is passed over"));
        assert!(index.notes[3].contains("another `a` before it"));
        assert_eq!(index.agent("b").unwrap().unwrap().id, "b");
        assert_eq!((index.nearest("bb"), index.nearest("quite-another")), (Some("b"), None));
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in ["", "<html>", "[]", "{}", r#"{"agents":{}}"#, r#"{"agents":[{]}"#] {
            assert!(Index::parse(text.to_owned()).unwrap_err().to_string().starts_with("is not a registry index"));
        }
        assert_eq!(Index::parse(r#"{"agents":[]}"#.to_owned()).unwrap().entries().count(), 0);
    }

    #[test]
    fn a_byte_order_mark_moves_nothing() {
        let entry = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}}}"#;
        let text = format!("\u{feff} {{\"agents\":[{entry}]}}\n");
        let index = Index::parse(text.clone()).unwrap();
        assert_eq!(index.value("a").unwrap().unwrap().to_string(), entry);
        assert_eq!(index.sha256(), Sha256::of(&text).to_string());
    }

    #[test]
    fn what_says_something_unreadable_of_what_runs_is_no_way() {
        for (way, problem) in [
            (json!(7), "not an object"),
            (json!({ "archive": 7 }), "`archive`"),
            (json!({ "cmd": ["a"] }), "`cmd`"),
            (json!({ "sha256": ["a"] }), "`sha256`"),
            (json!({ "package": {} }), "`package`"),
            (json!({ "args": "acp" }), "`args`"),
            (json!({ "args": ["acp", 7] }), "`args`"),
            (json!({ "args": ["a\u{0}b"] }), "`args`"),
            (json!({ "env": ["A=b"] }), "`env`"),
            (json!({ "env": { "A": 7 } }), "`env`"),
        ] {
            let good = json!({ "archive": "a", "sha256": null });
            let mut agent = json!({
                "distribution": { "binary": { "bad": way, "good": good }, "other": 7 },
                "preview": { "distribution": { "npx": way, "uvx": { "package": "a" } } },
            });
            let notes = keep_usable(&mut agent);
            assert_eq!(notes.len(), 2, "{way}");
            assert!(notes[0].starts_with("/distribution/binary/bad is passed over: ") && notes[0].contains(problem));
            assert!(notes[1].starts_with("/preview/distribution/npx is passed over: "), "{notes:?}");
            assert_eq!(agent["distribution"], json!({ "binary": { "good": good }, "other": 7 }));
            assert_eq!(agent["preview"]["distribution"], json!({ "uvx": { "package": "a" } }));
        }
    }
}
