//! The text of an index as an [`Index`].

use std::collections::HashSet;
use std::time::SystemTime;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entries::entries;
use super::summary::{Found, Summary};
use super::text::{Text, TextError};
use super::usable::keep_usable;
use super::{Entry, FormError};
use acp_registry_core::digest::hex;
use acp_registry_core::manifest::Agent;
use acp_registry_core::text::{nearest, quote};

/// How many notes about broken entries there are at most; the last one then counts the rest.
const NOTES: usize = 20;

/// An index that was read. One of which an earlier run left a summary keeps its file open, and reads there what is asked of an
/// agent.
#[derive(Debug, Clone)]
pub struct Index {
    text: Text,
    entries: Vec<Found>,
    /// What cannot be used, and why; ready to be shown.
    pub notes: Vec<String>,
    /// Where it came from, and how old it may be.
    pub origin: Origin,
    sha256: String,
}

/// Where an index came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its address without secrets, or its path; empty for a text that a program handed over.
    pub source: String,
    /// When its host sent it, or last confirmed it; for a file or a directory, when that last changed.
    pub fetched_at: Option<SystemTime>,
    /// Whether its host may have a newer one: it could not be asked, or it was not to be asked for longer than it allows.
    pub is_stale: bool,
}

impl Index {
    /// Reads an index. Entries that cannot be used become notes.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn parse(text: String) -> Result<Self, FormError> {
        Self::of_bytes(text.into_bytes())
    }

    pub(super) fn of_bytes(text: Vec<u8>) -> Result<Self, FormError> {
        let read = entries(&text)?;
        let mut ids = HashSet::with_capacity(read.len());
        let is_first: Vec<bool> =
            read.iter().map(|(entry, _)| entry.as_ref().is_ok_and(|entry| ids.insert(entry.id.as_str()))).collect();
        let (mut entries, mut notes) = (Vec::with_capacity(read.len()), Vec::new());
        for (number, ((entry, place), is_first)) in read.into_iter().zip(is_first).enumerate() {
            match entry {
                Err(problem) => notes.push(format!("entry {} {problem}", number + 1)),
                Ok(entry) if is_first => entries.push(Found { entry, place }),
                Ok(entry) => {
                    let id = quote(&entry.id);
                    notes.push(format!("entry {} is passed over: there is another {id} before it", number + 1));
                }
            }
        }
        if notes.len() > NOTES {
            let more = notes.len() - NOTES;
            notes.truncate(NOTES);
            notes.push(format!("and {more} more entries are passed over"));
        }
        let sha256 = hex(&Sha256::digest(&text));
        Ok(Self { text: text.into(), entries, notes, sha256, origin: Origin::default() })
    }

    /// What an earlier run has found in this text.
    pub(super) fn of_summary(text: Text, summary: Summary) -> Self {
        let Summary { of: _, sha256, notes, entries } = summary;
        Self { text, entries, notes, sha256, origin: Origin::default() }
    }

    /// What was found in this text.
    pub(super) fn summary(&self, of: String) -> Summary {
        Summary { of, sha256: self.sha256.clone(), notes: self.notes.clone(), entries: self.entries.clone() }
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

    /// Everything that the index says of an agent; `None` when it has none of this id.
    ///
    /// # Errors
    /// [`TextError`] when the entry cannot be represented (numbers and depth have limits), or is in a file that is not what it was.
    pub fn value(&self, id: &str) -> Result<Option<Value>, TextError> {
        let Some(found) = self.entries.iter().find(|found| found.entry.id == id) else { return Ok(None) };
        let text = self.text.part(found.place.clone())?;
        let is_same =
            str::from_utf8(&text).is_ok_and(|text| Entry::parse(text).is_ok_and(|entry| entry == found.entry));
        if !is_same {
            return Err(self.text.changed());
        }
        serde_json::from_slice(&text).map(Some).map_err(|error| TextError::Entry { id: id.to_owned(), error })
    }

    /// An agent, without the archives and packages of which the index says something unreadable; `None` when the index has
    /// none of this id.
    ///
    /// # Errors
    /// [`TextError`] when the entry cannot be represented (numbers and depth have limits), or is in a file that is not what it was.
    pub fn agent(&self, id: &str) -> Result<Option<Agent>, TextError> {
        let Some(mut value) = self.value(id)? else { return Ok(None) };
        keep_usable(&mut value);
        Ok(Some(Agent::from_json(&value)))
    }

    /// What [`Index::agent`] leaves out of an agent, and why; as sentences, printable once they are quoted.
    ///
    /// # Errors
    /// [`TextError`] when the entry cannot be represented (numbers and depth have limits), or is in a file that is not what it was.
    pub fn left_out(&self, id: &str) -> Result<Vec<String>, TextError> {
        Ok(self.value(id)?.map(|mut value| keep_usable(&mut value)).unwrap_or_default())
    }

    /// The id that was probably meant.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.entries().map(|entry| entry.id.as_str()))
    }
}

#[cfg(test)]
mod tests {
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
    fn many_broken_entries_are_counted() {
        let text = format!(r#"{{"agents":[{}]}}"#, vec!["1"; 50].join(","));
        let notes = Index::parse(text).unwrap().notes;
        assert_eq!((notes.len(), notes[20].as_str()), (21, "and 30 more entries are passed over"));
    }

    #[test]
    fn a_byte_order_mark_moves_nothing() {
        let entry = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}}}"#;
        let text = format!("\u{feff} {{\"agents\":[{entry}]}}\n");
        let index = Index::parse(text.clone()).unwrap();
        assert_eq!(index.value("a").unwrap().unwrap().to_string(), entry);
        assert_eq!(index.sha256(), hex(&Sha256::digest(&text)));
    }
}
