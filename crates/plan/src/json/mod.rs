//! Writes JSON with two spaces of indentation, ASCII only, and a final line end; parses untrusted JSON in parts.
//!
//! * [`to_string`] writes
//! * [`List`], [`Object`]: untrusted documents whose parts stay text; [`object()`], [`text`], [`flag`] parse one part
//! * [`whole`]: parses an untrusted document as a whole, within a limit on the number of values
//! * [`check_at_most`], [`weight`]: limits for documents that are held as trees
//! * [`path`], [`optional_path`], [`paths`]: paths in documents, which need not be Unicode
//! * [`members`]: the members of an object by name; the last of equal keys counts
//!
//! Published indexes have always had this format, and clients compare them byte by byte. In reports, it also keeps
//! bidirectional and other hidden characters off the terminal.
//!
//! Untrusted JSON is parsed in parts. A [`serde_json::Value`] of a whole document takes up to fifty times the memory of
//! its text. Here, each part stays text until it is used, and the number of parts is limited.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};

use memchr::{memchr, memchr2};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, ser};
use serde_json::value::RawValue;
use serde_json::{Error, Value};

/// About how much memory a parsed value takes, in bytes: its texts, and the parts around them.
#[must_use]
pub fn weight(value: &Value) -> usize {
    /// What a value takes by itself, and what a member takes besides.
    const VALUE: usize = size_of::<Value>();
    const MEMBER: usize = 64;
    VALUE
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(members) => members.iter().map(|(key, value)| MEMBER + key.len() + weight(value)).sum(),
        }
}

/// Serializes a value.
///
/// # Panics
/// Panics if the value's `Serialize` fails, which never happens for the types of this program.
#[must_use]
pub fn to_string<T: Serialize>(value: &T) -> String {
    #[expect(clippy::expect_used, reason = "writing to memory does not fail, and all keys are strings")]
    let text = serde_json::to_string_pretty(value).expect("serialisable values");
    ascii(text) + "\n"
}

/// Serializes a path; for `serialize_with`. What is not Unicode in it is replaced by U+FFFD, since JSON cannot have it, and
/// serde would fail.
///
/// # Errors
/// Those of the serializer.
pub fn path<S: ser::Serializer>(path: &impl AsRef<Path>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.as_ref().display())
}

/// Serializes a path like [`path`], or null.
///
/// # Errors
/// Those of the serializer.
pub fn optional_path<S: ser::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// Serializes a list of paths like [`path`].
///
/// # Errors
/// Those of the serializer.
pub fn paths<S: ser::Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Serializes a value to one line, without a line end.
#[must_use]
pub fn to_line<T: Serialize>(value: &T) -> String {
    // The types of this program cannot fail.
    ascii(serde_json::to_string(value).unwrap_or_default())
}

/// Escapes every character outside ASCII, which JSON has in strings only.
fn ascii(json: String) -> String {
    let is_plain = |c: char| c.is_ascii() && c != '\u{7f}';
    if json.chars().all(is_plain) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_plain(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// The first `MOST` items of an array, each as text.
#[derive(Debug, Default)]
pub struct List<'a, const MOST: usize> {
    /// The items, in order.
    pub items: Vec<&'a RawValue>,
    /// Whether there are more.
    pub is_longer: bool,
}

/// The first `MOST` members of an object, each value as text. Keys may be repeated.
#[derive(Debug, Default)]
pub struct Object<'a, const MOST: usize> {
    /// The members, in order.
    pub members: Vec<(Cow<'a, str>, &'a RawValue)>,
    /// Whether there are more.
    pub is_longer: bool,
}

/// Maximum number of values in a document that is parsed as a whole. Each takes about a hundred bytes.
const VALUES: usize = 2_000_000;

/// Parses a whole document with at most two million values, as a [`serde_json::Value`] or as a type whose lists and
/// maps are not limited otherwise.
///
/// # Errors
/// Returns an error if the text is not JSON, does not match the type, or has more values.
pub fn whole<'a, T: Deserialize<'a>>(text: &'a [u8]) -> serde_json::Result<T> {
    check_count(text)?;
    serde_json::from_slice(text)
}

/// Checks that a document may be parsed as a whole.
///
/// # Errors
/// Returns an error if it has more than two million values.
pub fn check_count(text: &[u8]) -> serde_json::Result<()> {
    check_share(text, 1)
}

/// Minimum share of one of several documents.
const SHARE: usize = 20_000;

/// Like [`check_count`], for one of `shares` documents that are kept in memory together.
///
/// # Errors
/// Returns an error if the document has more values than its share of two million, which is at least 20,000.
pub fn check_share(text: &[u8], shares: usize) -> serde_json::Result<()> {
    check_at_most(text, (VALUES / shares.max(1)).max(SHARE))
}

/// Checks that a document has at most this number of values, before it is parsed as a whole. Each value takes up to two
/// hundred bytes.
///
/// # Errors
/// Returns an error if the text has more values.
pub fn check_at_most(text: &[u8], most: usize) -> serde_json::Result<()> {
    // Each value needs a byte at least.
    if text.len() > most && values(text) > most {
        return Err(Error::custom(format_args!("it has more than {most} values")));
    }
    Ok(())
}

/// The members of an object with these names, as text; others are skipped. The last of several equal keys counts, as in
/// the JSON parsers of npm, Node.js and Python; a derived `Deserialize` would reject the object.
///
/// # Errors
/// Returns an error if the text is not a JSON object.
pub fn members<'a, const COUNT: usize>(
    text: &'a [u8],
    names: [&'static str; COUNT],
) -> serde_json::Result<[Option<&'a RawValue>; COUNT]> {
    struct Members<const COUNT: usize>([&'static str; COUNT]);
    impl<'de, const COUNT: usize> Visitor<'de> for Members<COUNT> {
        type Value = [Option<&'de RawValue>; COUNT];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = [None; COUNT];
            while let Some(MemberName(key)) = map.next_key()? {
                match self.0.iter().position(|name| *name == key) {
                    Some(at) => found[at] = Some(map.next_value()?),
                    None => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(found)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let found = deserializer.deserialize_map(Members(names))?;
    deserializer.end()?;
    Ok(found)
}

/// Like [`members`], for a part. Each member is `None` if the part is missing or is not an object.
#[must_use]
pub fn read_members<'a, const COUNT: usize>(
    part: Option<&'a RawValue>,
    names: [&'static str; COUNT],
) -> [Option<&'a RawValue>; COUNT] {
    part.and_then(|part| members(part.get().as_bytes(), names).ok()).unwrap_or([None; COUNT])
}

/// An upper bound for the number of values in a text: counts the characters that precede keys, items and objects.
fn values(text: &[u8]) -> usize {
    let mut count = 1;
    for part in structure(text) {
        for byte in part {
            count += usize::from(matches!(byte, b',' | b':' | b'[' | b'{'));
        }
    }
    count
}

/// Checks that a document is not nested deeper than a [`serde_json::Value`] is parsed. Parts that are only passed over may be.
///
/// # Errors
/// Returns an error if it is.
pub fn check_depth(text: &[u8]) -> serde_json::Result<()> {
    const MOST: usize = 127;
    let mut depth = 0_usize;
    for part in structure(text) {
        for byte in part {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MOST {
                return Err(Error::custom(format_args!("it is nested more than {MOST} times")));
            }
        }
    }
    Ok(())
}

/// The parts of a text that are not in strings.
fn structure(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, string) = rest.split_at(memchr(b'"', rest).unwrap_or(rest.len()));
        let is_end = rest.is_empty();
        rest = string.get(1..).map_or(string, after_string);
        (!is_end).then_some(part)
    })
}

/// What follows the end of a string.
fn after_string(text: &[u8]) -> &[u8] {
    let mut rest = text;
    loop {
        match memchr2(b'"', b'\\', rest) {
            Some(at) if rest[at] == b'"' => return &rest[at + 1..],
            Some(at) => rest = rest.get(at + 2..).unwrap_or_default(),
            None => return &[],
        }
    }
}

/// A key, borrowed unless it contains escapes.
#[derive(Deserialize)]
pub(crate) struct MemberName<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a, const MOST: usize> Deserialize<'de> for List<'a, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<const MOST: usize>;
        impl<'de, const MOST: usize> Visitor<'de> for Items<MOST> {
            type Value = List<'de, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = List::default();
                while list.items.len() < MOST {
                    let Some(item) = seq.next_element()? else { return Ok(list) };
                    list.items.push(item);
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    list.is_longer = true;
                }
                Ok(list)
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

impl<'de: 'a, 'a, const MOST: usize> Deserialize<'de> for Object<'a, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<const MOST: usize>;
        impl<'de, const MOST: usize> Visitor<'de> for Members<MOST> {
            type Value = Object<'de, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut object = Object::default();
                while object.members.len() < MOST {
                    let Some((MemberName(key), value)) = map.next_entry()? else { return Ok(object) };
                    object.members.push((key, value));
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    object.is_longer = true;
                }
                Ok(object)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Parses a part as a type that is read from an object; `None` if the part is missing or has another type.
#[must_use]
pub fn object<'a, T: Deserialize<'a>>(part: Option<&'a RawValue>) -> Option<T> {
    // A derived `Deserialize` also accepts an array.
    let text = part?.get();
    if text.starts_with('{') { serde_json::from_str(text).ok() } else { None }
}

/// A part as a string; `None` if the part is missing or has another type.
#[must_use]
pub fn text(part: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let MemberName(text) = serde_json::from_str(part?.get()).ok()?;
    Some(text)
}

/// A part as a boolean; `None` if the part is missing or has another type.
#[must_use]
pub fn flag(part: Option<&RawValue>) -> Option<bool> {
    serde_json::from_str(part?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn the_form_is_fixed_to_the_byte() {
        let value = json!({ "b": "é\u{7f}\n\u{1}😀\"", "a": [], "o": {}, "n": [1.0, null] });
        let expected = "{\n  \"b\": \"\\u00e9\\u007f\\n\\u0001\\ud83d\\ude00\\\"\",\n  \"a\": [],\n  \"o\": {},\n  \"n\": [\n    1.0,\n    null\n  ]\n}\n";
        assert_eq!(to_string(&value), expected);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(text in any::<String>()) {
            let written = to_string(&json!({ "k": text }));
            prop_assert!(written.is_ascii());
            prop_assert_eq!(&serde_json::from_str::<Value>(&written).unwrap()["k"], &Value::String(text));
        }
    }

    #[test]
    fn parts_stay_text_and_are_counted() {
        let list: List<'_, 2> = serde_json::from_str(r#"[{"a":[1]},"x",7,8]"#).unwrap();
        assert_eq!(list.items.iter().map(|item| item.get()).collect::<Vec<_>>(), [r#"{"a":[1]}"#, r#""x""#]);
        assert!(list.is_longer);
        let list: List<'_, 2> = serde_json::from_str("[1,2]").unwrap();
        assert!(!list.is_longer);
        let object: Object<'_, 2> = serde_json::from_str(r#"{"a":1,"a":2,"b":3}"#).unwrap();
        assert_eq!((object.members[1].0.as_ref(), object.members[1].1.get(), object.is_longer), ("a", "2", true));
        for odd in ["{}", "7", "[1,", "[1,2,3,4"] {
            assert!(serde_json::from_str::<List<'_, 2>>(odd).is_err(), "{odd}");
        }
        for odd in ["[]", "7", r#"{"a":1,"#, r#"{"a":1,"b":2,"c""#] {
            assert!(serde_json::from_str::<Object<'_, 1>>(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_document_of_too_many_values_is_not_read() {
        assert_eq!(values(br#"{"a,[":[1,2,{}],"\\":"\",:"}"#), 1 + 8);
        for (text, count) in [("", 1), ("[,\"[[", 3), (r#"["\"#, 2), (r#"["\"","#, 3), (r#"["\\",1]"#, 3)] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
        for depth in [127, 128] {
            let text = format!("{}\"[{{\\\"[\"{}", "[".repeat(depth), "]".repeat(depth));
            let is_parsed = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            assert_eq!((check_depth(text.as_bytes()).is_ok(), is_parsed), (depth == 127, depth == 127));
        }
        let items = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(whole::<Value>(items(1000).as_bytes()).is_ok());
        let error = whole::<Value>(items(VALUES).as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "it has more than 2000000 values");
        assert!(check_share(items(30_000).as_bytes(), 10).is_ok());
        let error = check_share(items(30_000).as_bytes(), 1000).unwrap_err().to_string();
        assert_eq!(error, "it has more than 20000 values");
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let text = r#"{"a":1,"b":[2],"x":{"a":3},"a":{"c":4},"\u0062":5}"#;
        let found = members(text.as_bytes(), ["a", "b", "y"]).unwrap();
        assert_eq!(found.map(|part| part.map(RawValue::get)), [Some(r#"{"c":4}"#), Some("5"), None]);
        for odd in ["", "[]", "7", r#"{"a":1"#, r#"{"a":1} x"#] {
            assert!(members(odd.as_bytes(), ["a"]).is_err(), "{odd}");
        }
        assert_eq!(read_members(None, ["a"]).map(|part| part.map(RawValue::get)), [None]);
    }

    #[test]
    fn a_part_of_another_type_is_not_there() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let (escaped, number, list) = (raw(r#""\u00e9""#), raw("7"), raw("[true]"));
        assert_eq!(text(Some(&escaped)).as_deref(), Some("é"));
        assert_eq!((text(Some(&number)), text(None)), (None, None));
        assert_eq!((flag(Some(&raw("true"))), flag(Some(&number))), (Some(true), None));
        assert!(object::<Object<'_, 1>>(Some(&list)).is_none());
        assert!(object::<Object<'_, 1>>(Some(&raw("{}"))).is_some());
    }
}
