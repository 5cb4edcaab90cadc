//! The entries of an index, each read by itself.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;
use serde::Deserialize;
use serde_json::error::Category;

use super::Entry;
use acp_registry_core::json::List;

/// How many entries an index may have. Each takes more memory than it takes in the text.
const MOST: usize = 250_000;

/// A text is not an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a registry index: {0}")]
pub struct FormError(String);

impl FormError {
    pub(super) fn of(error: &dyn fmt::Display) -> Self {
        Self(error.to_string())
    }

    pub(super) fn empty() -> Self {
        Self("it holds neither registry.json nor a folder with an agent.json".to_owned())
    }
}

/// What an entry says, or why it is passed over, and where in the text it is.
pub(super) type Read = (Result<Entry, String>, Range<usize>);

#[derive(Deserialize)]
struct Form<'a> {
    #[serde(borrow)]
    agents: List<'a, MOST>,
}

/// Reads all entries of an index, in their order.
pub(super) fn entries(text: &str) -> Result<Vec<Read>, FormError> {
    // Some editors begin every file with a byte order mark.
    let json = text.strip_prefix('\u{feff}').unwrap_or(text);
    let form: Form<'_> = serde_json::from_str(json).map_err(|error| match error.classify() {
        Category::Data => FormError("it is not an object with a list `agents`".to_owned()),
        _ => FormError(error.to_string()),
    })?;
    if form.agents.is_longer {
        return Err(FormError(format!("it has more than {MOST} entries")));
    }
    let read = form.agents.items.par_iter().map(|raw| {
        let start = raw.get().as_ptr().addr() - text.as_ptr().addr();
        (Entry::parse(raw.get()), start..start + raw.get().len())
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
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
            ("7", Some("is passed over: it is not an object")),
            ("[{}]", Some("is passed over: it is not an object")),
            (r#""},{""#, Some("is passed over: it is not an object")),
            ("null", Some("is passed over: it is not an object")),
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
                    assert_eq!([1, 2].map(|at| &json[read[at].1.clone()]), [entry, GOOD]);
                }
                (Err(error), None) => assert!(error.to_string().contains(" at line "), "{entry}: {error}"),
                (read, _) => panic!("{entry}: {read:?}"),
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
            assert!(error.starts_with("is not a registry index: ") && error.contains(place), "{json}: {error}");
        }
    }
}
