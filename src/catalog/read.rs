//! The text of an index as a [`Catalog`].

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::entries::entries;
use super::usable::keep_usable;
use super::{Entry, FormError};
use crate::hex;
use crate::manifest::Agent;
use crate::sys::bytes::Bytes;
use crate::text::{nearest, quote};

/// How many notes about broken entries there are at most; the last one then counts the rest.
const NOTES: usize = 20;

/// An index that was read.
#[derive(Debug, Clone)]
pub struct Catalog {
    text: Bytes,
    /// Each with the place of its text, behind a byte order mark.
    entries: Vec<(Entry, Range<usize>)>,
    /// What cannot be used, and why; ready to be shown.
    pub notes: Vec<String>,
    /// Not everybody wants to know it, and it takes its time.
    sha256: OnceLock<String>,
}

impl Catalog {
    /// Reads an index. Entries that cannot be used become notes.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn parse(text: String) -> Result<Self, FormError> {
        Self::of_bytes(text.into_bytes().into(), OnceLock::new())
    }

    /// The same, where the digest of the text may be known.
    pub(super) fn of_bytes(text: Bytes, sha256: OnceLock<String>) -> Result<Self, FormError> {
        let json = str::from_utf8(without_mark(&text)).map_err(|error| FormError::of(&error))?;
        let read = entries(json)?;
        let mut ids = HashSet::with_capacity(read.len());
        let is_first: Vec<bool> =
            read.iter().map(|(entry, _)| entry.as_ref().is_ok_and(|entry| ids.insert(entry.id.as_str()))).collect();
        let (mut entries, mut notes) = (Vec::with_capacity(read.len()), Vec::new());
        for (number, ((entry, range), is_first)) in read.into_iter().zip(is_first).enumerate() {
            match entry {
                Err(problem) => notes.push(format!("entry {} {problem}", number + 1)),
                Ok(entry) if is_first => entries.push((entry, range)),
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
        Ok(Self { text, entries, notes, sha256 })
    }

    /// SHA-256 of the index.
    pub fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| hex(&Sha256::digest(&*self.text)))
    }

    /// The agents, in the order of the index.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    /// Everything that the index says of an agent.
    #[must_use]
    pub fn value(&self, id: &str) -> Option<Value> {
        let (_, range) = self.entries.iter().find(|(entry, _)| entry.id == id)?;
        serde_json::from_slice(without_mark(&self.text).get(range.clone())?).ok()
    }

    /// An agent, without the archives and packages of which the index says something unreadable.
    #[must_use]
    pub fn agent(&self, id: &str) -> Option<Agent> {
        let mut value = self.value(id)?;
        keep_usable(&mut value);
        Some(Agent::from_json(&value))
    }

    /// What [`Catalog::agent`] leaves out of an agent, and why; as sentences, printable once they are quoted.
    #[must_use]
    pub fn left_out(&self, id: &str) -> Vec<String> {
        self.value(id).map(|mut value| keep_usable(&mut value)).unwrap_or_default()
    }

    /// The id that was probably meant.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.entries().map(|entry| entry.id.as_str()))
    }
}

/// Some editors begin every file with a byte order mark.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)
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
        let catalog = Catalog::parse(text).unwrap();
        assert_eq!(catalog.entries().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(catalog.notes.len(), 4, "{:?}", catalog.notes);
        assert!(catalog.notes[0].starts_with("entry 2 is passed over"));
        assert!(catalog.notes[3].contains("another `a` before it"));
        assert_eq!(catalog.agent("b").unwrap().id, "b");
        assert_eq!((catalog.nearest("bb"), catalog.nearest("quite-another")), (Some("b"), None));
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in ["", "<html>", "[]", "{}", r#"{"agents":{}}"#, r#"{"agents":[{]}"#] {
            assert!(Catalog::parse(text.to_owned()).unwrap_err().to_string().starts_with("is no registry index"));
        }
        assert_eq!(Catalog::parse(r#"{"agents":[]}"#.to_owned()).unwrap().entries().count(), 0);
    }

    #[test]
    fn many_broken_entries_are_counted() {
        let text = format!(r#"{{"agents":[{}]}}"#, vec!["1"; 50].join(","));
        let notes = Catalog::parse(text).unwrap().notes;
        assert_eq!((notes.len(), notes[20].as_str()), (21, "and 30 more entries are passed over"));
    }

    #[test]
    fn a_byte_order_mark_moves_nothing() {
        let entry = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}}}"#;
        let text = format!("\u{feff} {{\"agents\":[{entry}]}}\n");
        let catalog = Catalog::parse(text.clone()).unwrap();
        assert_eq!(catalog.value("a").unwrap().to_string(), entry);
        assert_eq!(catalog.sha256(), hex(&Sha256::digest(&text)));
    }
}
