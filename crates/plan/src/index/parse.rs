//! The list of agents in an index. Every reader of an index begins here, and reads of each
//! entry what it needs.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::json::List;

/// The largest index that is read, in bytes.
pub const INDEX_LIMIT: u64 = 64 << 20;

/// How many entries an index may have. Each takes more memory than it takes in the text.
const MOST: usize = 250_000;

/// How many notes about entries that are passed over there are at most; one more then counts the rest.
const NOTES: usize = 20;

/// A text is not an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a registry index: {0}")]
pub struct FormError(String);

impl FormError {
    /// What is wrong with the text, as a reader of it says.
    #[must_use]
    pub fn of(error: &dyn Display) -> Self {
        Self(error.to_string())
    }

    /// A folder has no index.
    #[must_use]
    pub fn empty() -> Self {
        Self("it holds neither registry.json nor a folder with an agent.json".to_owned())
    }
}

#[derive(Deserialize)]
struct IndexMembers<'a> {
    #[serde(borrow)]
    agents: List<'a, MOST>,
    version: Option<IgnoredAny>,
    /// Documents of this program's commands have it, and some of them a list `agents`.
    command: Option<IgnoredAny>,
}

/// The texts of an index's entries, in their order; each is JSON.
///
/// # Errors
/// [`FormError`] when the index is not JSON, has no array `agents`, or has too many entries.
pub fn entries(index: &str) -> Result<Vec<&str>, FormError> {
    // Some editors begin every file with a byte order mark.
    let json = index.strip_prefix('\u{feff}').unwrap_or(index);
    let form: IndexMembers<'_> = serde_json::from_str(json).map_err(|error| match error.classify() {
        Category::Data => FormError("it is not an object with a list `agents`".to_owned()),
        _ => FormError(error.to_string()),
    })?;
    if form.command.is_some() && form.version.is_none() {
        return Err(FormError("it is the document of a command of acp-registry".to_owned()));
    }
    if form.agents.is_longer {
        return Err(FormError(format!("it has more than {MOST} entries")));
    }
    Ok(form.agents.items.into_iter().map(RawValue::get).collect())
}

/// Notes about the entries of an index that are passed over.
#[derive(Debug, Default)]
pub struct Notes {
    first: Vec<String>,
    more: usize,
}

impl Notes {
    /// Notes what is wrong with the entry at this place of the list, as the rest of a sentence about it.
    pub fn add(&mut self, at: usize, problem: &str) {
        if self.first.len() < NOTES {
            self.first.push(format!("entry {} {problem}", at + 1));
        } else {
            self.more += 1;
        }
    }

    /// The notes as sentences, ready to be shown.
    #[must_use]
    pub fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            self.first.push(format!("and {} more entries are passed over", self.more));
        }
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}},"x":["}]{\"",{"y":"\\"}]}"#;

    #[test]
    fn broken_entries_are_told_apart_from_broken_indexes() {
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        // Each is between two good ones, and either another entry or what makes the whole no JSON.
        for (entry, is_entry) in [
            ("{}", true),
            (r#"{ "id": "b", "id": "c" }"#, true),
            (r#"{"id":"\ud800"}"#, true),
            (r#"{"name":1e999}"#, true),
            (&deep, true),
            ("7", true),
            ("[{}]", true),
            (r#""},{""#, true),
            ("null", true),
            ("", false),
            ("{} {}", false),
            ("{},", false),
            ("{", false),
            ("}", false),
            ("{]}", false),
            ("{[}]", false),
            (r#"{"x"}"#, false),
            (r#"{"x":"}"#, false),
            (r#"{"id":"b","id":"c"]}"#, false),
            (r#"{"x":"\y"}"#, false),
            ("{\"x\":\"\n\"}", false),
            (r#"{"x":01}"#, false),
        ] {
            let json = format!(" {{ \"agents\" : [\n{GOOD}\t,\r{entry} , {GOOD} ] }}\n");
            match entries(&json) {
                Ok(read) => assert!(is_entry && read == [GOOD, entry, GOOD], "{entry}: {read:?}"),
                Err(error) => assert!(!is_entry && error.to_string().contains(" at line "), "{entry}: {error}"),
            }
        }
    }

    #[test]
    fn a_list_is_not_longer_than_it_may_be() {
        let of = |count: usize| format!(r#"{{"agents":[{}]}}"#, vec!["1"; count].join(","));
        assert_eq!(entries(&of(MOST)).unwrap().len(), MOST);
        let error = entries(&of(MOST + 1)).unwrap_err().to_string();
        assert_eq!(error, "is not a registry index: it has more than 250000 entries");
    }

    #[test]
    fn notes_are_counted() {
        let mut notes = Notes::default();
        (0..50).for_each(|at| notes.add(at, "is passed over"));
        let notes = notes.into_sentences();
        assert_eq!((notes.len(), notes[19].as_str()), (21, "entry 20 is passed over"));
        assert_eq!(notes[20], "and 30 more entries are passed over");
    }

    #[test]
    fn the_list_is_that_of_the_index_itself() {
        for json in [
            format!(r#"{{"x":{{"agents":[{{}}]}},"y":"\"agents\":[","agents":[{GOOD}]}}"#),
            format!(r#"{{"agents":[{GOOD}],"x":{{"agents":[{{}}]}}}}"#),
            format!(r#"{{"\u0061gents":[{GOOD}]}}"#),
        ] {
            assert_eq!(entries(&json).unwrap(), [GOOD]);
        }
        for (json, place) in [
            (format!(r#"{{"agents":[{GOOD}],"agents":[]}}"#), ""),
            (format!(r#"{{"agents":[{GOOD}]"#), " at line 1"),
            (format!(r#"{{"agents":[{GOOD}]}}}}"#), " at line 1"),
            (format!(r#"{{"agents":[{GOOD}],}}"#), " at line 1"),
            (format!(r#"{{7:1,"agents":[{GOOD}]}}"#), " at line 1"),
            (format!(r#"["agents":[{GOOD}]]"#), ""),
        ] {
            let error = entries(&json).unwrap_err().to_string();
            assert!(error.starts_with("is not a registry index: ") && error.contains(place), "{json}: {error}");
        }
    }
}
