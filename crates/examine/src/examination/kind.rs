//! Types of JSON values: required members and their types. Unknown members are allowed, and every object may have `_meta`.

use acp_registry_plan::text::quote;
use serde_json::Value;

/// Type of a value.
#[derive(Clone, Copy)]
pub(super) enum ValueKind {
    Bool,
    Text,
    /// A string or `null`.
    Note,
    Version,
    Object(&'static [ObjectMember]),
    /// An object or `null`.
    Maybe(&'static [ObjectMember]),
    List(&'static ValueKind),
    /// A list or `null`.
    Lists(&'static ValueKind),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A natural number.
    Count,
    /// A natural number or `null`.
    Size,
    /// A number.
    Number,
    /// An object whose members depend on the string in one of them; objects with other strings are not checked.
    Tagged(&'static str, &'static [(&'static str, &'static [ObjectMember])]),
    Null,
    /// Any of these.
    Either(&'static [ValueKind]),
}

/// A member of an object.
#[derive(Clone, Copy)]
pub(super) struct ObjectMember {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) kind: ValueKind,
}

pub(super) const fn wanted(name: &'static str, kind: ValueKind) -> ObjectMember {
    ObjectMember { name, is_required: true, kind }
}

pub(super) const fn optional(name: &'static str, kind: ValueKind) -> ObjectMember {
    ObjectMember { name, is_required: false, kind }
}

use ValueKind::{
    Bool, Count, Either, List, Lists, Maybe, Note, Null, Number, Object, OneOf, Size, Tagged, Text, Version,
};

/// The first violation in a value, if any, with its place.
pub(super) fn problem(value: &Value, kind: ValueKind, place: &str) -> Option<String> {
    let not = |what: &str| Some(format!("{} is not {what}", quote(place)));
    match kind {
        Bool if !value.is_boolean() => not("a boolean"),
        Text if !value.is_string() => not("a string"),
        Note if !value.is_string() && !value.is_null() => not("a string"),
        Version if value.as_u64().is_none_or(|number| number > 65_535) => not("an integer from 0 to 65535"),
        OneOf(words) if value.as_str().is_none_or(|text| !words.contains(&text)) => {
            Some(format!("{} is none of {}", quote(place), words.join(", ")))
        }
        Count if !value.is_u64() => not("a natural number"),
        Size if !value.is_u64() && !value.is_null() => not("a natural number"),
        Number if !value.is_number() => not("a number"),
        Null if !value.is_null() => not("null"),
        Bool | Text | Note | Version | OneOf(_) | Count | Size | Number | Null => None,
        Maybe(_) | Lists(_) if value.is_null() => None,
        Either(kinds) => {
            // The first form is the most common one.
            let mut problems = kinds.iter().map(|kind| problem(value, *kind, place));
            let first = problems.next()??;
            problems.all(|other| other.is_some()).then_some(first)
        }
        Tagged(tag, forms) => {
            if let Some(found) = problem(value, Object(&[]), place) {
                return Some(found);
            }
            let Some(word) = value[tag].as_str() else {
                return Some(format!("{} has no string {}", quote(place), quote(tag)));
            };
            let (_, members) = forms.iter().find(|(name, _)| *name == word)?;
            problem(value, Object(members), place)
        }
        Object(members) | Maybe(members) => {
            let Value::Object(found) = value else { return not("an object") };
            if found.get("_meta").is_some_and(|meta| !meta.is_object() && !meta.is_null()) {
                return Some(format!("{} is not an object", quote(&format!("{place}._meta"))));
            }
            members.iter().find_map(|member| match found.get(member.name) {
                Some(value) => problem(value, member.kind, &format!("{place}.{}", member.name)),
                None if member.is_required => Some(format!("{} has no {}", quote(place), quote(member.name))),
                None => None,
            })
        }
        List(of) | Lists(of) => {
            let Value::Array(items) = value else { return not("an array") };
            items.iter().enumerate().find_map(|(at, item)| problem(item, *of, &format!("{place}[{at}]")))
        }
    }
}
