//! What was found in a large index, so that it need not be found again.
//!
//! A summary is a file beside the copies. It holds for the very text that it was made of; the text itself stays where it is.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Entry;
use acp_registry_core::digest::hex;
use acp_registry_core::manifest::Platform;

/// The size from which on an index has a summary, in bytes. Smaller ones are read as fast.
pub(super) const LARGE: u64 = 1 << 20;

/// What is kept, and what is passed over, may be another thing in the next version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The entries of an index, and notes about those that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    /// Which text it was made of.
    pub(super) of: String,
    pub(super) sha256: String,
    pub(super) notes: Vec<String>,
    pub(super) entries: Vec<Found>,
}

/// An entry, and where in the text it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) place: Range<u64>,
}

impl Summary {
    /// Reads a summary. `None` when it is one of another text or version, or damaged.
    pub(super) fn parse(bytes: &[u8], of: &str) -> Option<Self> {
        let (head, json) = bytes.split_at_checked(bytes.iter().position(|byte| *byte == b'\n')? + 1)?;
        if head != first_line(json).as_bytes() {
            return None;
        }
        let summary: Self = serde_json::from_slice(json).ok()?;
        // What an entry says becomes part of paths.
        let is_usable = summary.entries.iter().all(|found| found.entry.problem().is_none());
        (summary.of == of && is_usable).then_some(summary)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).unwrap_or_default();
        [first_line(&json).as_bytes(), &json].concat()
    }
}

/// What tells whether the rest is as it was written, by this version.
fn first_line(json: &[u8]) -> String {
    format!("{VERSION} {}\n", hex(&Sha256::digest(json)))
}

/// An entry and the place of its text, without the names of members, which would be most of the file: id, name, version,
/// description, authors, licence, icon, platforms, platforms that are not known here, whether there are `npx` and `uvx`, start and end.
///
/// Each platform is one character: its number among those that are known, or `+` for the next of the others.
type Row = (String, String, String, String, String, String, String, String, Vec<String>, bool, bool, u64, u64);

impl From<Row> for Found {
    fn from(
        (id, name, version, description, authors, license, icon, codes, others, has_npx, has_uvx, start, end): Row,
    ) -> Self {
        let mut others = others.into_iter();
        let platform = |code: char| match code.to_digit(10).and_then(|number| Platform::ALL.get(number as usize)) {
            Some(platform) => Some(platform.as_str().into()),
            None => others.next().map(Into::into),
        };
        let platforms = codes.chars().filter_map(platform).collect();
        let entry = Entry { id, name, version, description, authors, license, icon, platforms, has_npx, has_uvx };
        Self { entry, place: start..end }
    }
}

impl From<Found> for Row {
    fn from(Found { entry, place }: Found) -> Self {
        let Entry { id, name, version, description, authors, license, icon, platforms, has_npx, has_uvx } = entry;
        let (mut codes, mut others) = (String::new(), Vec::new());
        for name in platforms {
            let number = Platform::ALL.iter().position(|platform| platform.as_str() == name);
            codes.push(number.and_then(|number| char::from_digit(u32::try_from(number).ok()?, 10)).unwrap_or('+'));
            if number.is_none() {
                others.push(name.into_owned());
            }
        }
        (
            id, name, version, description, authors, license, icon, codes, others, has_npx, has_uvx, place.start,
            place.end,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_holds_for_its_own_text_only_and_damaged_not_at_all() {
        let entry = Entry {
            id: "a".to_owned(),
            name: "é \"\u{1b}".to_owned(),
            version: "1.0.0".to_owned(),
            description: String::new(),
            authors: "A, B".to_owned(),
            license: "MIT".to_owned(),
            icon: "https://h.example/a.svg".to_owned(),
            platforms: vec!["os-x".into(), "linux-x86_64".into(), "+".into(), "darwin-aarch64".into()],
            has_npx: true,
            has_uvx: false,
        };
        let summary = Summary {
            of: "text".to_owned(),
            sha256: "0".to_owned(),
            notes: vec!["note".to_owned()],
            entries: vec![Found { entry, place: 7..u64::MAX }],
        };
        let bytes = summary.to_bytes();
        assert_eq!(Summary::parse(&bytes, "text"), Some(summary.clone()));
        assert_eq!(Summary::parse(&bytes, "another"), None);
        let text = String::from_utf8(bytes).unwrap();
        for damaged in
            [&text[..text.len() - 1], &text.replacen('7', "8", 1), &text.replacen(VERSION, "0.0.0", 1), "", "\n"]
        {
            assert_eq!(Summary::parse(damaged.as_bytes(), "text"), None, "{damaged}");
        }
        let mut evil = summary;
        evil.entries[0].entry.id = "../a".to_owned();
        assert_eq!(Summary::parse(&evil.to_bytes(), "text"), None);
    }
}
