//! `SHA256SUMS`: the files of a published tree, in the format of `sha256sum`, and the valid names of its files.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::text::quote;

/// Name of the list.
pub const SUMS: &str = "SHA256SUMS";

/// Maximum size of a list, in bytes: about a million files, or 140,000 agents.
pub const SUMS_LIMIT: u64 = 128 << 20;

/// Maximum size of a signature, in bytes.
pub const SIGNATURE_LIMIT: u64 = 1 << 20;

/// Name of the list's signature.
pub const SIGNATURE: &str = "SHA256SUMS.sig";

/// The folder beside a tree of the contents that its snapshots share.
pub const CONTENT: &str = "content";

/// Where the content with a digest is stored, beside a tree.
#[must_use]
pub fn content_path(digest: &str) -> String {
    format!("{CONTENT}/{}/{digest}", digest.get(..2).unwrap_or_default())
}

/// Parses a list: digests by file name. All names are below the tree.
///
/// # Errors
/// Returns a message about the first invalid line.
pub fn parse(list: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let entries = utf8(list)?.lines().enumerate().map(entry);
    entries.map(|entry| entry.map(|(digest, name)| (name.to_owned(), digest.to_owned()))).collect()
}

/// The names in a list that [`parse`] accepts, borrowed to save memory.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn listed(list: &[u8]) -> Result<HashSet<&str>, String> {
    utf8(list)?.lines().enumerate().map(|line| Ok(entry(line)?.1)).collect()
}

/// Checks that [`parse`] accepts a list.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn check(list: &[u8]) -> Result<(), String> {
    utf8(list)?.lines().enumerate().try_for_each(|line| entry(line).map(drop))
}

fn utf8(list: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(list).map_err(|error| format!("{SUMS}: {error}"))
}

/// The digest and the name in a line.
fn entry((at, line): (usize, &str)) -> Result<(&str, &str), String> {
    let entry = line.split_once("  ").filter(|(digest, name)| is_digest(digest) && is_listed(name));
    entry.ok_or_else(|| format!("line {} of {SUMS} is not a digest and the name of a file: {}", at + 1, quote(line)))
}

/// The names in a list, without validation. Use them only to compare a list with existing files.
#[must_use]
pub fn names(list: &str) -> BTreeSet<&str> {
    list.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name).collect()
}

/// Whether a list with these [names] does not contain a file. Such a file was never part of the tree, and must not be
/// overwritten or deleted.
#[must_use]
pub fn is_foreign(listed: &BTreeSet<&str>, name: &str) -> bool {
    name != SUMS && !listed.contains(name)
}

/// Whether a text is a SHA-256 digest as it is written in a list: 64 hexadecimal digits in lower case.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_listed(name: &str) -> bool {
    is_name(name) && ![SUMS, SIGNATURE].contains(&name)
}

/// Whether a text is a valid name of a published file: plain characters, and not outside the tree.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty()
            && ![".", ".."].contains(&part)
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    name.len() <= 500 && name.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let digest = "0".repeat(64);
        let line = |name: &str| {
            let list = format!("{digest}  {name}\n");
            let found = parse(list.as_bytes());
            assert_eq!(check(list.as_bytes()), found.clone().map(drop));
            assert_eq!(listed(list.as_bytes()).map(|names| names.contains(name)), found.clone().map(|_| true));
            found
        };
        for name in ["registry.json", "_headers", "agents/a/index.html", "assets/x.1a-b.js", ".well-known/x"] {
            assert_eq!(line(name).unwrap().len(), 1, "{name}");
        }
        for name in ["", "/x", "a//b", "../x", "a/../b", "a/.", "a\\b", "a b", "é", "x\u{1b}", "SHA256SUMS", "C:x"] {
            assert!(line(name).unwrap_err().contains("line 1 of SHA256SUMS"), "{name:?}");
        }
        assert!(parse(b"0  x\n").is_err() && parse(b"\xff").is_err());
        assert_eq!(content_path(&"ab".repeat(32)), format!("content/ab/{}", "ab".repeat(32)));
        assert!(parse(format!("{}  x", "G".repeat(64)).as_bytes()).is_err());
    }

    #[test]
    fn what_is_not_listed_is_foreign() {
        let list = names("1  b\n2  a/x\n");
        assert_eq!(["a/x", "b", SUMS, "c", "a"].map(|name| is_foreign(&list, name)), [false, false, false, true, true]);
        assert!(is_foreign(&names(""), "b") && !is_foreign(&names(""), SUMS));
    }
}
