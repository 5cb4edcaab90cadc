//! Parses JSON strictly, and keeps details that JSON libraries usually discard.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Agent, Places};
use crate::source::Span;

/// One `agent.json`: its text, its typed model, and the positions of its values in the text.
#[derive(Debug)]
pub struct Manifest {
    text: String,
    id: String,
    name: String,
    agent: OnceLock<Box<Agent>>,
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
    /// Returns [`SyntaxError`] if the text is not JSON by RFC 8259, is nested deeper than 127 levels, or contains a
    /// lone surrogate or a number that cannot be represented.
    pub fn parse(text: String) -> Result<Self, SyntaxError> {
        let duplicate = Cell::new(false);
        let value = match strict(&text, &duplicate) {
            Ok(value) => value,
            Err(error) => return Err(describe(text, &error)),
        };
        let [id, name] =
            ["id", "name"].map(|key| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned());
        let (agent, places) = (OnceLock::new(), Mutex::new(None));
        Ok(Self { id, name, agent, is_object: value.is_object(), has_duplicate_keys: duplicate.get(), places, text })
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
        strict(&self.text, &Cell::new(false)).unwrap_or_default()
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

/// Parses a text, and notes in `duplicate` whether an object has a repeated key.
fn strict(text: &str, duplicate: &Cell<bool>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict { duplicate }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Builds a [`Value`] and records repeated keys, which `serde_json` would silently drop.
#[derive(Clone, Copy)]
struct Strict<'a> {
    duplicate: &'a Cell<bool>,
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
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                self.duplicate.set(true);
            }
        }
        Ok(Value::Object(object))
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
    } else if message.contains("recursion limit") {
        "nested deeper than 127 levels".clone_into(&mut message);
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

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(error(&"[".repeat(10_000)).0, "nested deeper than 127 levels");
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
}
