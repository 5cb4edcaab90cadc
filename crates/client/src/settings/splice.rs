//! Adds, replaces and removes members of a text in JSON with comments. Every byte outside of them stays.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object};
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use serde_json::Value;

/// The members of an object, or the items of a list, by their places in the text.
#[derive(Debug)]
pub(super) struct Group {
    /// What is between the brackets.
    inner: Range<usize>,
    items: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Group {
    fn from(object: &Object<'_>) -> Self {
        Self { inner: inner(object), items: object.properties.iter().map(place).collect() }
    }
}

impl From<&Array<'_>> for Group {
    fn from(array: &Array<'_>) -> Self {
        Self { inner: inner(array), items: array.elements.iter().map(place).collect() }
    }
}

fn inner(group: &impl Ranged) -> Range<usize> {
    group.start() + 1..group.end() - 1
}

/// Where something is in the text.
pub(super) fn place(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

/// A text, and what is changed in it.
pub(super) struct Splices<'a> {
    text: &'a str,
    /// Without comments.
    tokens: Vec<TokenAndRange<'a>>,
    line_end: &'static str,
    /// What the members of the outermost object are indented by.
    unit: &'a str,
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> Splices<'a> {
    /// `file` is the outermost object.
    pub(super) fn new(text: &'a str, tokens: Vec<TokenAndRange<'a>>, file: &Object<'_>) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut splices = Self { text, tokens, line_end, unit: "  ", changes: Vec::new() };
        let first = file.properties.first().and_then(|first| splices.own_line(first.start()));
        splices.unit = first.filter(|indent| !indent.is_empty()).unwrap_or(splices.unit);
        splices
    }

    /// The text with the changes.
    pub(super) fn text(mut self) -> String {
        // Those at one place stay in their order, and what is removed twice is gone.
        self.changes.sort_by_key(|(place, _)| place.start);
        let (mut text, mut at) = (String::with_capacity(self.text.len()), 0);
        for (place, new) in &self.changes {
            text.push_str(self.text.get(at..place.start).unwrap_or_default());
            text.push_str(new);
            at = at.max(place.end);
        }
        text + &self.text[at..]
    }

    /// Replaces the value of a member or item that begins at `start`.
    pub(super) fn replace(&mut self, start: usize, value: Range<usize>, new: &Value) {
        let new = written(new, self.line_end, self.unit, self.own_line(start));
        self.changes.push((value, new));
    }

    /// Adds members, or items without names, behind the last one: on lines of their own if that one has its own line.
    pub(super) fn append(&mut self, group: &Group, new: &[(Option<&str>, &Value)]) {
        let Some(last) = group.items.last() else { return self.fill(group, new) };
        if new.is_empty() {
            return;
        }
        let indent = self.own_line(last.start);
        let comma = self.comma(last.end);
        let end = comma.map_or(last.end, |comma| comma + 1);
        if comma.is_none() {
            self.changes.push((end..end, ",".to_owned()));
        }
        let start = indent.map_or_else(|| " ".to_owned(), |indent| format!("{}{indent}", self.line_end));
        let mut text = self.entries(new, &start, indent).join(",");
        text.push_str(if comma.is_some() { "," } else { "" });
        let at = indent.map_or(end, |_| self.behind_comments(end));
        self.changes.push((at..at, text));
    }

    /// Adds members to an object without any, or items to a list, behind its comments.
    fn fill(&mut self, group: &Group, new: &[(Option<&str>, &Value)]) {
        if new.is_empty() {
            return;
        }
        let Range { start, end } = group.inner;
        let last = start + self.text[start..end].trim_end().len();
        // Behind a comment on the line of the brackets.
        if last > start && !self.text[last..end].contains('\n') {
            let text = self.entries(new, " ", None).join(",");
            self.changes.push((last..last, text));
            return;
        }
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let outer = indent(&self.text[line..start]);
        let inner = format!("{outer}{}", self.unit);
        let text = self.entries(new, &format!("{}{inner}", self.line_end), Some(&inner)).join(",");
        let change = match self.text[last..end].find('\n') {
            Some(at) => {
                let at = last + self.text[last..last + at].trim_end_matches('\r').len();
                (at..at, text)
            }
            None => (last..end, format!("{text}{}{outer}", self.line_end)),
        };
        self.changes.push(change);
    }

    /// Removes members or items by their numbers. Comments before and behind them stay.
    pub(super) fn remove(&mut self, group: &Group, gone: &[usize]) {
        if !gone.is_empty() && gone.len() == group.items.len() && self.is_bare(group) {
            self.changes.push((group.inner.clone(), String::new()));
            return;
        }
        for item in gone.iter().filter_map(|&at| group.items.get(at)) {
            let mut end = item.end;
            if let Some(comma) = self.comma(end) {
                if self.text[end..comma].trim().is_empty() {
                    end = comma + 1;
                } else {
                    self.changes.push((comma..comma + 1, String::new()));
                }
            }
            let place = self.removed(item.start, end);
            self.changes.push((place, String::new()));
        }
        // The last one that stays has a comma behind it only if the last one had.
        let kept = (0..group.items.len()).rev().find(|at| !gone.contains(at));
        let has_comma = group.items.last().is_some_and(|last| self.comma(last.end).is_some());
        if let Some(comma) = kept.filter(|_| !has_comma).and_then(|at| self.comma(group.items[at].end)) {
            self.changes.push((comma..comma + 1, String::new()));
        }
    }

    /// What goes with a member that is removed: its line if it is alone on it, or the space before it.
    fn removed(&self, start: usize, end: usize) -> Range<usize> {
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = self.before(start);
        let is_free = self.text[before..start].trim().is_empty();
        let tail = self.text[end..].trim_start_matches([' ', '\t', '\r']);
        let behind = self.text.len() - tail.len();
        if !self.text[line..start].trim().is_empty() {
            return before + self.text[before..start].trim_end().len()..end;
        }
        match tail.chars().next() {
            Some('\n') => line..behind + 1,
            Some('}' | ']') if is_free => before..end,
            _ => start..behind,
        }
    }

    /// Whether an object or a list holds nothing but these members: no comment either.
    pub(super) fn is_bare(&self, group: &Group) -> bool {
        let ends = group.items.iter().map(|item| item.start).chain([group.inner.end]);
        let starts = [group.inner.start].into_iter().chain(group.items.iter().map(|item| item.end));
        starts.zip(ends).all(|(start, end)| self.is_free(start..end))
    }

    /// Whether nothing but the signs of JSON is here.
    pub(super) fn is_free(&self, place: Range<usize>) -> bool {
        self.text[place].chars().all(|c| c.is_whitespace() || ",:".contains(c))
    }

    fn entries(&self, new: &[(Option<&str>, &Value)], start: &str, indent: Option<&str>) -> Vec<String> {
        let entry = |(name, value): &(Option<&str>, &Value)| {
            let value = written(value, self.line_end, self.unit, indent);
            format!("{start}{}{value}", name.map(|name| format!("{}: ", Value::from(name))).unwrap_or_default())
        };
        new.iter().map(entry).collect()
    }

    /// The indentation of what begins here, if a line begins between it and the token before it.
    fn own_line(&self, start: usize) -> Option<&'a str> {
        let line = self.text[self.before(start)..start].rfind('\n')? + self.before(start) + 1;
        Some(indent(&self.text[line..start]))
    }

    /// The end of the token before this place.
    fn before(&self, at: usize) -> usize {
        let next = self.tokens.partition_point(|token| token.range.start < at);
        next.checked_sub(1).map_or(0, |last| self.tokens[last].range.end)
    }

    /// The comma that follows.
    fn comma(&self, at: usize) -> Option<usize> {
        let next = self.tokens.get(self.tokens.partition_point(|token| token.range.start < at))?;
        (next.token == Token::Comma).then_some(next.range.start)
    }

    /// The end of the comments that begin on this line.
    fn behind_comments(&self, mut at: usize) -> usize {
        loop {
            let rest = self.text[at..].trim_start_matches([' ', '\t']);
            let length = if rest.starts_with("//") {
                rest.find('\n').map_or(rest.len(), |end| rest[..end].trim_end_matches('\r').len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return if rest.starts_with(['\r', '\n']) { self.text.len() - rest.len() } else { at };
            };
            at = self.text.len() - rest.len() + length;
        }
    }
}

/// The blank start of a line.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// JSON on lines of which the first has this indentation, or on one line.
fn written(value: &Value, line_end: &str, unit: &str, indent: Option<&str>) -> String {
    let inner = indent.map(|indent| format!("{indent}{unit}"));
    let item = |value: &Value| written(value, line_end, unit, inner.as_deref());
    let lines = |entries: Vec<String>, [open, close]: [&str; 2]| match (&inner, indent) {
        (Some(inner), Some(indent)) => {
            let entries = entries.join(&format!(",{line_end}{inner}"));
            format!("{open}{line_end}{inner}{entries}{line_end}{indent}{close}")
        }
        _ => format!("{open} {} {close}", entries.join(", ")),
    };
    match value {
        Value::Object(members) if !members.is_empty() => {
            let entries =
                members.iter().map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), item(value)));
            lines(entries.collect(), ["{", "}"])
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            lines(items.iter().map(item).collect(), ["[", "]"])
        }
        Value::Array(items) => format!("[{}]", items.iter().map(item).collect::<Vec<_>>().join(", ")),
        value => value.to_string(),
    }
}
