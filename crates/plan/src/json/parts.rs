//! Parses untrusted JSON in parts. A [`serde_json::Value`] of a whole document takes up to fifty times the memory of
//! its text. Here, each part stays text until it is used, and the number of parts is limited.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Error;
use serde_json::value::RawValue;

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
    if values(text) > most {
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
    let (mut count, mut is_in_text, mut is_escaped) = (1, false, false);
    for &byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_text,
            b'"' => is_in_text = !is_in_text,
            b',' | b':' | b'[' | b'{' if !is_in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// A key, borrowed unless it contains escapes.
#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

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
    use serde_json::Value;

    use super::*;

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
        let items = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert!(whole::<Value>(items(1000).as_bytes()).is_ok());
        let error = whole::<Value>(items(VALUES).as_bytes()).unwrap_err().to_string();
        assert_eq!(error, "it has more than 2000000 values");
        assert!(check_share(items(30_000).as_bytes(), 10).is_ok());
        let error = check_share(items(30_000).as_bytes(), 1000).unwrap_err().to_string();
        assert_eq!(error, "it has more than 20000 values");
    }

    #[test]
    fn of_equal_keys_the_last_one_counts() {
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
