//! The entries of an index, each read by itself.

use std::ops::Range;

use rayon::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::Entry;
use super::split::{Parts, split};

/// A text is no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no registry index: {0}")]
pub struct FormError(String);

impl FormError {
    pub(super) fn of(error: &dyn std::fmt::Display) -> Self {
        Self(error.to_string())
    }

    pub(super) fn empty() -> Self {
        Self("it holds neither registry.json nor a folder with an agent.json".to_owned())
    }
}

/// What an entry says, or why it is passed over, and where it is.
pub(super) type Read = (Result<Entry, String>, Range<usize>);

#[derive(Deserialize)]
struct Form<'a> {
    #[serde(borrow)]
    agents: Vec<&'a RawValue>,
}

/// Reads all entries, in their order.
pub(super) fn entries(json: &str) -> Result<Vec<Read>, FormError> {
    match in_parts(json) {
        Some(read) => Ok(read),
        None => as_whole(json),
    }
}

/// Reads all entries at once. `None` when there is anything that [`as_whole`] may refuse.
fn in_parts(json: &str) -> Option<Vec<Read>> {
    let Parts { list, entries } = split(json)?;
    let rest = format!("{}{}", &json[..list.start], &json[list.end..]);
    serde_json::from_str::<Form<'_>>(&rest).ok()?;
    let read = entries.into_par_iter().map(|range| {
        let text = &json[range.clone()];
        let entry = Entry::parse(text);
        // What is wrong with an entry is its own affair only as long as it is JSON.
        let is_json = entry.is_ok() || serde_json::from_str::<IgnoredAny>(text).is_ok();
        is_json.then_some((entry, range))
    });
    // Collecting in two steps puts each entry into its place at once; fresh memory takes more time than a second look.
    let read: Vec<Option<Read>> = read.collect();
    read.into_iter().collect()
}

/// Reads all entries once the whole is known to be an index.
fn as_whole(json: &str) -> Result<Vec<Read>, FormError> {
    let form: Form<'_> = serde_json::from_str(json).map_err(|error| match error.classify() {
        Category::Data => FormError("it is no object with a list `agents`".to_owned()),
        _ => FormError(error.to_string()),
    })?;
    let read = form.agents.par_iter().map(|raw| {
        let start = raw.get().as_ptr().addr() - json.as_ptr().addr();
        (Entry::parse(raw.get()), start..start + raw.get().len())
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}},"x":["}]{\"",{"y":"\\"}]}"#;

    #[test]
    fn broken_entries_are_told_apart_from_broken_indexes() {
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        // Each stands between two good ones: with the start of its note, or none where the whole is no JSON.
        for (entry, note) in [
            ("{}", Some("is passed over: its id")),
            (r#"{ "id": "b", "id": "c" }"#, Some("is passed over: duplicate field")),
            (r#"{"id":"\ud800"}"#, Some("is passed over: ")),
            (r#"{"name":1e999}"#, Some("is passed over: ")),
            (&deep, Some("is passed over: its id")),
            ("7", Some("is passed over: it is no object")),
            ("[{}]", Some("is passed over: it is no object")),
            (r#""},{""#, Some("is passed over: it is no object")),
            ("null", Some("is passed over: it is no object")),
            ("", None),
            ("{} {}", None),
            ("{},", None),
            ("{", None),
            ("}", None),
            ("{]}", None),
            ("{[}]", None),
            (r#"{"x"}"#, None),
            (r#"{"x":"}"#, None),
            (r#"{"id":"b","id":"c"]}"#, None),
            (r#"{"x":"\y"}"#, None),
            ("{\"x\":\"\n\"}", None),
            (r#"{"x":01}"#, None),
        ] {
            let json = format!(" {{ \"agents\" : [\n{GOOD}\t,\r{entry} , {GOOD} ] }}\n");
            match (entries(&json), note) {
                (Ok(read), Some(note)) => {
                    assert!(read.len() == 3 && read[0].0.is_ok() && read[2].0.is_ok(), "{entry}");
                    assert!(read[1].0.as_ref().unwrap_err().starts_with(note), "{entry}");
                    assert_eq!([&json[read[1].1.clone()], &json[read[2].1.clone()]], [entry, GOOD]);
                }
                (Err(error), None) => assert!(error.to_string().contains(" at line "), "{entry}: {error}"),
                (read, _) => panic!("{entry}: {read:?}"),
            }
        }
    }

    #[test]
    fn the_list_is_that_of_the_index_itself() {
        for json in [
            format!(r#"{{"x":{{"agents":[{{}}]}},"y":"\"agents\":[","agents":[{GOOD}]}}"#),
            format!(r#"{{"agents":[{GOOD}],"x":{{"agents":[{{}}]}}}}"#),
            format!(r#"{{"\u0061gents":[{GOOD}]}}"#),
        ] {
            let read = entries(&json).unwrap();
            assert!(read.len() == 1 && read[0].0.is_ok(), "{read:?}");
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
            assert!(error.starts_with("is no registry index: ") && error.contains(place), "{json}: {error}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_to_read_come_to_the_same(changes in prop::collection::vec((any::<u16>(), 0_usize..14), 0..4)) {
            let broken = r#"{"id":"b"}"#;
            let mut bytes = format!(r#"{{ "v":1, "agents": [{GOOD}, {broken}, {GOOD}], "x":[{{}}] }}"#).into_bytes();
            for (at, byte) in changes {
                let at = usize::from(at) % bytes.len();
                bytes[at] = b"{}[]\",:\\ 7a\n\x01\t"[byte];
            }
            let json = String::from_utf8(bytes).unwrap();
            if let Some(read) = in_parts(&json) {
                prop_assert_eq!(Ok(read), as_whole(&json));
            }
        }
    }
}
