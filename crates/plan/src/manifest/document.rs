//! Parses JSON strictly, keeps details that JSON libraries usually discard, and edits the text in place.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Agent, PackageKind, Places, escape_segment};
use crate::json::MemberName;
use crate::position::{Edit, Span};

/// One `agent.json`: its text, its typed model, and the positions of its values in the text.
#[derive(Debug)]
pub struct Manifest {
    text: String,
    id: String,
    name: String,
    agent: OnceLock<Box<Agent>>,
    packages: [Option<PackageKind>; 2],
    is_object: bool,
    has_duplicate_keys: bool,
    places: Mutex<Option<Arc<Places>>>,
}

/// Why a text is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The text that failed to parse.
    pub text: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it, if known.
    pub help: Option<&'static str>,
    /// The position, in bytes of the text.
    pub range: Range<usize>,
}

impl Manifest {
    /// Parses a manifest.
    ///
    /// Accepts any JSON document, whatever its members: the model is lenient, and checks report what is wrong.
    ///
    /// # Errors
    /// Returns [`SyntaxError`] if the text is not JSON by RFC 8259, is nested deeper than 62 levels, or contains a
    /// lone surrogate or a number that cannot be represented.
    pub fn parse(text: String) -> Result<Self, SyntaxError> {
        let duplicate = Cell::new(false);
        // Most of a registry's manifests are parsed for this alone.
        let value = match strict(&text, &duplicate, 2) {
            Ok(value) => value,
            Err(error) => return Err(describe(text, &error)),
        };
        let [id, name] =
            ["id", "name"].map(|key| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
        let packages = [PackageKind::Npx, PackageKind::Uvx]
            .map(|kind| value["distribution"][kind.as_str()].is_object().then_some(kind));
        Ok(Self {
            id,
            name,
            agent: OnceLock::new(),
            packages,
            is_object: value.is_object(),
            has_duplicate_keys: duplicate.get(),
            places: Mutex::new(None),
            text,
        })
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The JSON value. For a repeated key, it contains the last value.
    ///
    /// Parsed on each call, because a value takes several times the memory of its text, and a registry has many
    /// manifests.
    #[must_use]
    pub fn value(&self) -> Value {
        strict(&self.text, &Cell::new(false), usize::MAX).unwrap_or_default()
    }

    /// The agent's id; empty if there is none.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The agent's display name; empty if there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The typed model. Made on first use; what looks at all agents of a registry makes its own from
    /// [`Manifest::value`], which does not stay in memory.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        self.agent.get_or_init(|| Box::new(Agent::from_json(&self.value())))
    }

    /// Whether the stable version has a package of this kind.
    #[must_use]
    pub fn has_package(&self, kind: PackageKind) -> bool {
        self.packages.contains(&Some(kind))
    }

    /// Whether the document is a JSON object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.is_object
    }

    /// Whether any object of the document has a repeated key.
    #[must_use]
    pub fn has_duplicate_keys(&self) -> bool {
        self.has_duplicate_keys
    }

    /// The positions of the values in the text. Computed on first use, because most manifests need none, and kept until
    /// [`Manifest::forget_places`].
    #[must_use]
    pub fn places(&self) -> Arc<Places> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(places.get_or_insert_with(|| Arc::new(Places::of(&self.text))))
    }

    /// Frees the positions, which take several times the memory of the text.
    pub fn forget_places(&self) {
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Line and column of the value at a JSON pointer.
    #[must_use]
    pub fn span(&self, pointer: &str) -> Option<Span> {
        self.places().value(pointer).map(|range| Span::of(&self.text, range))
    }
}

/// Parses a text, and notes in `duplicate` whether an object has a repeated key. Values that are nested deeper than `levels`
/// are checked and left out: their objects and lists are empty, and the rest is null.
fn strict(text: &str, duplicate: &Cell<bool>, levels: usize) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { duplicate, levels, members: MEMBERS, depth: DEPTH }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// How deep a manifest is nested at most: its entry in an index is two levels deeper, and many parsers read 64.
const DEPTH: usize = 62;

/// Room for the members of a manifest, so that they are moved less often.
const MEMBERS: usize = 14;

const TOO_DEEP: &str = "too deep";

/// Builds a [`Value`] and records repeated keys, which `serde_json` would silently drop.
#[derive(Clone, Copy)]
struct Strict<'a> {
    duplicate: &'a Cell<bool>,
    levels: usize,
    members: usize,
    /// How many levels may follow.
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(if self.levels > 0 { Value::String(value.to_owned()) } else { Value::Null })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.below()?)? {
            if self.levels > 0 {
                array.push(item);
            }
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let (mut object, mut keys) = (Map::with_capacity(self.members), BTreeSet::new());
        while let Some(MemberName(key)) = members.next_key()? {
            let value = members.next_value_seed(self.below()?)?;
            let is_new = match self.levels {
                0 => keys.insert(key),
                _ => object.insert(key.into_owned(), value).is_none(),
            };
            if !is_new {
                self.duplicate.set(true);
            }
        }
        Ok(Value::Object(object))
    }
}

impl Strict<'_> {
    fn below<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1).ok_or_else(|| E::custom(TOO_DEEP))?;
        Ok(Self { levels: self.levels.saturating_sub(1), members: 0, depth, ..self })
    }
}

fn describe(text: String, error: &serde_json::Error) -> SyntaxError {
    let line_start = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    // serde_json counts columns in bytes, and reports the offending byte or the end of the line. It reports a line
    // break inside a string as column 0 of the next line, although the break belongs to the previous one.
    let offset = if error.column() == 0 { line_start.saturating_sub(1) } else { line_start + error.column() - 1 };
    let mut start = text.floor_char_boundary(offset.min(text.len()));
    let mut message = error.to_string();
    if let Some(place) = message.rfind(" at line ") {
        message.truncate(place);
    }
    let word_start = text[..start].trim_end_matches(|c: char| c == '-' || c.is_ascii_alphabetic()).len();
    let word = text[word_start..].split(|c: char| c != '-' && !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let mut help = remedy(&text[start..], &message);
    if text.trim().is_empty() {
        (start, help) = (0, Some("write a JSON object, from `{` to `}`"));
        "the file is empty".clone_into(&mut message);
    } else if text.starts_with('\u{feff}') {
        (start, help) = (0, Some("save the file as UTF-8 without a byte order mark"));
        "the file starts with a byte order mark".clone_into(&mut message);
    } else if ["nan", "inf", "infinity"].contains(&word.trim_start_matches('-').to_ascii_lowercase().as_str()) {
        start = word_start;
        help = Some("write a number, or a text in double quotes");
        message = format!("{word} is not a JSON number");
    } else if message == TOO_DEEP {
        message = format!("nested deeper than {DEPTH} levels");
    } else if message.contains("surrogate") || message.contains("end of hex escape") {
        "half of a surrogate pair, which encodes no character".clone_into(&mut message);
    }
    SyntaxError { text, message, help, range: start..start }
}

/// How to fix an error at which the parser stopped before `rest`.
fn remedy(rest: &str, message: &str) -> Option<&'static str> {
    match message {
        _ if rest.starts_with('\'') => Some("use double quotes: JSON has no other quotes"),
        _ if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') => {
            Some("remove the comment: JSON has none")
        }
        "trailing comma" => Some("remove the comma before the closing bracket"),
        "trailing characters" => Some("remove what follows the closing bracket"),
        "key must be a string" => Some("put the name of the member in double quotes"),
        "expected `,` or `}`" | "expected `,` or `]`" => Some("add the comma or the closing bracket that is missing"),
        "expected `:`" => Some("add the colon between the name of the member and its value"),
        _ if message.starts_with("EOF ") => Some("add what is missing at the end of the file: a bracket or a quote"),
        _ => None,
    }
}

impl Manifest {
    /// Inserts a member with a string value after the member at a JSON pointer. The white space before the key and
    /// around the colon is copied from that member.
    ///
    /// Returns `None` if there is no such member.
    #[must_use]
    fn insert_behind(&self, pointer: &str, key: &str, value: &str) -> Option<Edit> {
        let text = self.text();
        let (old_key, old_value) = (self.places().key(pointer)?, self.places().value(pointer)?);
        let before = &text[..old_key.start];
        let space = &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
        let colon = text.get(old_key.end..old_value.start)?;
        let quoted = |text: &str| Value::from(text).to_string();
        let text = format!(",{space}{}{colon}{}", quoted(key), quoted(value));
        Some(Edit { range: old_value.end..old_value.end, text })
    }

    /// Inserts a member with a string value after the last member of the object at a JSON pointer.
    ///
    /// Returns `None` if there is no such object, or if it is empty.
    #[must_use]
    pub fn insert_into(&self, object: &str, key: &str, value: &str) -> Option<Edit> {
        let document = self.value();
        let last = document.pointer(object)?.as_object()?.keys().next_back()?;
        self.insert_behind(&format!("{object}/{}", escape_segment(last)), key, value)
    }

    /// Replaces the string at a JSON pointer. The common beginning and end of both strings stay as they are written,
    /// including escapes.
    ///
    /// Returns `None` if there is no string.
    #[must_use]
    pub fn replace_text(&self, pointer: &str, new: &str) -> Option<Edit> {
        let place = self.places().value(pointer)?;
        let letters = letters(self.text().get(place.clone())?, place.start)?;
        let new: Vec<char> = new.chars().collect();
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| pairs.take_while(|(a, b)| a == b).count();
        let head = same(&mut letters.iter().map(|(letter, _)| *letter).zip(new.iter().copied()));
        let rest = letters.len().min(new.len()) - head;
        let tail = same(&mut letters.iter().rev().map(|(letter, _)| *letter).zip(new.iter().rev().copied()).take(rest));
        let going = &letters[head..letters.len() - tail];
        let start = letters.get(head).map_or(place.end - 1, |(_, written)| written.start);
        let range = start..going.last().map_or(start, |(_, written)| written.end);
        let coming: String = new[head..new.len() - tail].iter().collect();
        let mut text = Value::from(coming).to_string();
        text = text[1..text.len() - 1].to_owned();
        if self.text()[place].contains("\\/") {
            text = text.replace('/', "\\/");
        }
        Some(Edit { range, text })
    }

    /// Removes the member at a JSON pointer, with its comma and white space.
    ///
    /// Returns `None` if there is no such member.
    #[must_use]
    pub fn remove(&self, pointer: &str) -> Option<Edit> {
        let text = self.text();
        let (key, value) = (self.places().key(pointer)?, self.places().value(pointer)?);
        let blank = [' ', '\t', '\r', '\n'];
        let before = text[..key.start].trim_end_matches(blank);
        let behind = &text[value.end..];
        let comma = behind.trim_start_matches(blank).strip_prefix(',');
        let range = match (before.ends_with(','), comma) {
            // White space before a member belongs to the member; white space before the closing brace belongs to the
            // object.
            (true, _) => before.len() - 1..value.end,
            (false, Some(rest)) => key.start..text.len() - rest.trim_start_matches(blank).len(),
            (false, None) => key.start..value.end,
        };
        Some(Edit { range, text: String::new() })
    }
}

/// The characters of a JSON string, each with its position in the text; `None` for other values.
fn letters(raw: &str, offset: usize) -> Option<Vec<(char, Range<usize>)>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut letters = Vec::new();
    let mut at = 0;
    while let Some(first) = inner[at..].chars().next() {
        let length = match (first, inner.as_bytes().get(at + 1)) {
            // A surrogate pair is one character.
            ('\\', Some(b'u')) => match u16::from_str_radix(inner.get(at + 2..at + 6)?, 16).ok()? {
                0xd800..=0xdbff => 12,
                _ => 6,
            },
            ('\\', _) => 2,
            _ => first.len_utf8(),
        };
        let written = inner.get(at..at + length)?;
        let decoded: String = serde_json::from_str(&format!("\"{written}\"")).ok()?;
        letters.push((decoded.chars().next()?, offset + 1 + at..offset + 1 + at + length));
        at += length;
    }
    Some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::apply;
    use proptest::prelude::*;

    fn error(text: &str) -> (String, Range<usize>) {
        let error = Manifest::parse(text.to_owned()).expect_err("must not parse");
        (error.message, error.range)
    }

    #[test]
    fn everything_that_is_not_json_is_refused_at_its_place() {
        assert_eq!(error("{\"a\": NaN}"), ("NaN is not a JSON number".into(), 6..6));
        assert_eq!(error("{\"a\":\n -Infinity}").0, "-Infinity is not a JSON number");
        assert_eq!(error("{\"a\": \"\\ud800\"}").0, "half of a surrogate pair, which encodes no character");
        assert_eq!(error(&"[".repeat(10_000)).0, format!("nested deeper than {DEPTH} levels"));
        let deep =
            |depth: usize| Manifest::parse(format!("{{\"a\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1)));
        assert!(deep(DEPTH).is_ok() && deep(DEPTH + 1).is_err());
        assert_eq!(error("\u{feff}{}").0, "the file starts with a byte order mark");
        assert_eq!(error("{\"a\": 1e999}").0, "number out of range");
        assert_eq!(error("{} {}"), ("trailing characters".into(), 3..3));
        assert_eq!(error("{\"ä\": tru}").1, 10..10);
        assert_eq!(error("").0, "the file is empty");
        assert_eq!(error(" \n").0, "the file is empty");
        assert_eq!(error("{\"a\": \"x\ny\"}").1, 8..8);
    }

    #[test]
    fn common_mistakes_have_a_remedy() {
        for (text, part) in [
            ("", "write a JSON object"),
            ("{'a': 1}", "double quotes"),
            ("{\"a\": 'x'}", "double quotes"),
            ("{ // note\n\"a\": 1}", "remove the comment"),
            ("// note\n{}", "remove the comment"),
            ("{\"a\": 1, /* x */ \"b\": 2}", "remove the comment"),
            ("{\"a\": 1,}", "remove the comma"),
            ("{a: 1}", "name of the member in double quotes"),
            ("{\"a\": 1 \"b\": 2}", "comma"),
            ("{\"a\": 1", "at the end of the file"),
            ("\u{feff}{}", "without a byte order mark"),
            ("{\"a\": NaN}", "write a number"),
        ] {
            let error = Manifest::parse(text.to_owned()).expect_err("must not parse");
            assert!(error.help.is_some_and(|help| help.contains(part)), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_repeated_key_is_noticed_at_any_depth() {
        assert!(Manifest::parse(r#"{"a":[{"b":1,"b":2}]}"#.into()).unwrap().has_duplicate_keys());
        assert!(Manifest::parse(r#"{"a":{"b":{"c":1,"\u0063":2}}}"#.into()).unwrap().has_duplicate_keys());
        assert!(!Manifest::parse(r#"{"a":[{"b":1},{"b":2}]}"#.into()).unwrap().has_duplicate_keys());
    }

    proptest! {
        #[test]
        fn the_parser_takes_what_serde_json_takes(text in r#"[\[\]{}",:0-9eE.+\- a\\u\n]{0,40}"#) {
            let ours = Manifest::parse(text.clone());
            let theirs = serde_json::from_str::<Value>(&text);
            prop_assert_eq!(ours.is_ok(), theirs.is_ok());
            if let (Ok(ours), Ok(theirs)) = (&ours, &theirs) {
                prop_assert_eq!(&ours.value(), theirs);
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>()) {
            if let Err(error) = Manifest::parse(text.clone()) {
                let _ = Span::of(&text, error.range);
            }
        }
    }

    fn inserted(text: &str) -> String {
        let manifest = Manifest::parse(text.to_owned()).unwrap();
        let edit = manifest.insert_behind("/a/b", "new", "x\"y").unwrap();
        let edited = apply(text, &[edit]);
        let value: Value = serde_json::from_str(&edited).unwrap();
        assert_eq!(value["a"]["new"], "x\"y");
        edited
    }

    #[test]
    fn a_member_is_put_in_as_its_neighbour_stands() {
        for (text, expected) in [
            ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1,\"new\":\"x\\\"y\"}}"),
            ("{\"a\": { \"b\": 1, \"c\": 2 }}", "{\"a\": { \"b\": 1, \"new\": \"x\\\"y\", \"c\": 2 }}"),
            ("{\"a\": {\r\n\t\"b\" : 1\r\n}}\r\n", "{\"a\": {\r\n\t\"b\" : 1,\r\n\t\"new\" : \"x\\\"y\"\r\n}}\r\n"),
            (
                "{\"a\": {\n  \"c\": 0,\n  \"b\": 1\n}}",
                "{\"a\": {\n  \"c\": 0,\n  \"b\": 1,\n  \"new\": \"x\\\"y\"\n}}",
            ),
        ] {
            assert_eq!(inserted(text), expected);
        }
    }

    #[test]
    fn only_what_differs_is_written_anew() {
        for (raw, new, expected) in [
            ("https:\\/\\/h\\/v1.0.0\\/\\u0061", "https://h/v1.1.0/a", "https:\\/\\/h\\/v1.1.0\\/\\u0061"),
            ("a1.0.0b1.0.0c", "a1.1.0b1.1.0c", "a1.1.0b1.1.0c"),
            ("1.0.0", "1.0.0.1", "1.0.0.1"),
            ("1.0.0.1", "1.0.0", "1.0.0"),
            ("", "x", "x"),
            ("x", "", ""),
            ("aa", "aaa", "aaa"),
            ("\\ud83d\\ude00-1", "😀-2", "\\ud83d\\ude00-2"),
            ("a\\/1", "b\\/\"2", "b\\\\\\/\\\"2"),
            ("same", "same", "same"),
        ] {
            let text = format!("{{ \"a\" : [ \"{raw}\" ]\r\n}}");
            let manifest = Manifest::parse(text.clone()).unwrap();
            let edited = apply(&text, &[manifest.replace_text("/a/0", new).unwrap()]);
            assert_eq!(edited, format!("{{ \"a\" : [ \"{expected}\" ]\r\n}}"));
            let value: Value = serde_json::from_str(&edited).unwrap();
            assert_eq!(value["a"][0], new);
        }
        let manifest = Manifest::parse("{\"a\":[1]}".to_owned()).unwrap();
        assert_eq!((manifest.replace_text("/a", "x"), manifest.replace_text("/a/0", "x")), (None, None));
    }

    #[test]
    fn a_member_goes_with_its_comma() {
        for (text, expected) in [
            ("{\"a\": 1, \"b\": 2}", "{\"a\": 1}"),
            ("{\"b\": 2, \"a\": 1}", "{\"a\": 1}"),
            ("{ \"b\": 2 }", "{  }"),
            ("{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n  \"c\": 3\r\n}", "{\r\n  \"a\": 1,\r\n  \"c\": 3\r\n}"),
            ("{\n\t\"a\": 1,\n\t\"b\": 2\n}", "{\n\t\"a\": 1\n}"),
            ("{\n\t\"b\": 2,\n\t\"a\": 1\n}", "{\n\t\"a\": 1\n}"),
        ] {
            let manifest = Manifest::parse(text.to_owned()).unwrap();
            assert_eq!(apply(text, &[manifest.remove("/b").unwrap()]), expected);
            assert_eq!(manifest.remove("/z"), None);
        }
    }

    #[test]
    fn without_the_neighbour_there_is_no_place() {
        let manifest = Manifest::parse("{\"a\":[1]}".to_owned()).unwrap();
        for pointer in ["", "/b", "/a/0"] {
            assert_eq!(manifest.insert_behind(pointer, "k", "v"), None, "{pointer}");
        }
    }
}
