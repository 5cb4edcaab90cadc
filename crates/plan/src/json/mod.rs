//! Writes JSON with two spaces of indentation, ASCII only, and a final line end; parses untrusted JSON in parts.
//!
//! * [`to_string`] writes
//! * [`List`], [`Object`]: untrusted documents whose parts stay text; [`object()`], [`text`], [`flag`] parse one part
//! * [`whole`]: parses an untrusted document as a whole, within a limit on the number of values
//! * [`check_at_most`], [`weight`]: limits for documents that are held as trees
//! * [`members`]: the members of an object by name; the last of equal keys counts
//!
//! Published indexes have always had this format, and clients compare them byte by byte. In reports, it also keeps
//! bidirectional and other hidden characters off the terminal.

mod parts;

use std::io;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::{Serializer, Value};

pub use parts::{
    List, Object, check_at_most, check_count, check_share, flag, members, object, read_members, text, whole,
};

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
    let mut bytes = Vec::with_capacity(4096);
    let mut serializer = Serializer::with_formatter(&mut bytes, Ascii(PrettyFormatter::new()));
    #[expect(clippy::expect_used, reason = "writing to memory does not fail, and all keys are strings")]
    value.serialize(&mut serializer).expect("serialisable values");
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// Serializes a value to one line, without a line end.
#[must_use]
pub fn to_line<T: Serialize>(value: &T) -> String {
    let mut bytes = Vec::with_capacity(256);
    // Neither the types of this program nor writing to memory can fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Ascii(CompactFormatter)));
    String::from_utf8(bytes).unwrap_or_default()
}

/// Wraps another formatter, and escapes every character outside ASCII.
struct Ascii<F>(F);

impl<F: Formatter> Formatter for Ascii<F> {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let is_plain = |c: char| c.is_ascii() && c != '\u{7f}';
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| !is_plain(c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            let end = rest[at..].find(is_plain).map_or(rest.len(), |length| at + length);
            for unit in rest[at..end].encode_utf16() {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = &rest[end..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
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
}
