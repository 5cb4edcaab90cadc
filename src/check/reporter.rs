//! Where rules put what they find.

use std::ops::Range;

use super::{Levels, Rule};
use crate::finding::{Finding, Level};
use crate::manifest::Manifest;
use crate::source::Span;
use crate::text::printable;

/// How many findings of one rule about one file are kept: a hostile file must not fill a report.
const LIMIT: usize = 50;

/// Takes the findings of one rule, and adds what all findings need: rule, level, agent, file and place.
pub(super) struct Reporter<'a> {
    rule: &'static Rule,
    levels: &'a Levels,
    about: About<'a>,
    count: usize,
    findings: &'a mut Vec<Finding>,
}

/// The file that findings are about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct About<'a> {
    /// The agent's folder, if the file is in one.
    pub(super) agent: Option<&'a str>,
    /// Name of the file, in the agent's folder or in the registry directory.
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) manifest: Option<&'a Manifest>,
}

/// A finding that can still be completed.
pub(super) struct Draft<'r> {
    finding: Option<&'r mut Finding>,
    grave: Level,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(
        rule: &'static Rule,
        levels: &'a Levels,
        about: About<'a>,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { rule, levels, about, count: 0, findings }
    }

    /// Reports about another file; only rules about the registry as a whole need this.
    pub(super) fn about(&mut self, about: About<'_>, report: impl FnOnce(&mut Reporter<'_>)) {
        report(&mut Reporter { rule: self.rule, levels: self.levels, about, count: 0, findings: self.findings });
    }

    /// Reports about the file as a whole.
    pub(super) fn file(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.push(None, None, &message.into())
    }

    /// Reports about a range of bytes of the file's text.
    pub(super) fn range(&mut self, range: Range<usize>, message: impl Into<String>) -> Draft<'_> {
        let text = self.about.text;
        self.push(Some(range).map(|range| Span::of(text, range)), None, &message.into())
    }

    /// Reports about the value at a JSON pointer; where there is none, about the nearest one around it.
    pub(super) fn value(&mut self, pointer: impl Into<String>, message: impl Into<String>) -> Draft<'_> {
        let pointer = pointer.into();
        let range = self.about.manifest.and_then(|manifest| {
            let mut known = pointer.as_str();
            loop {
                match manifest.places().value(known) {
                    None if !known.is_empty() => known = &known[..known.rfind('/').unwrap_or(0)],
                    found => break found,
                }
            }
        });
        self.placed(range, pointer, &message.into())
    }

    /// Reports about the key of the member at a JSON pointer.
    pub(super) fn key(&mut self, pointer: impl Into<String>, message: impl Into<String>) -> Draft<'_> {
        let pointer = pointer.into();
        let range = self.about.manifest.and_then(|manifest| manifest.places().key(&pointer));
        self.placed(range, pointer, &message.into())
    }

    /// Reports about a place that the caller has found, with its JSON pointer.
    pub(super) fn member(&mut self, pointer: String, range: Range<usize>, message: impl Into<String>) -> Draft<'_> {
        self.placed(Some(range), pointer, &message.into())
    }

    fn placed(&mut self, range: Option<Range<usize>>, pointer: String, message: &str) -> Draft<'_> {
        let text = self.about.text;
        // The document as a whole would underline every line of the file: its first character is enough.
        let range = range.map(|range| if pointer.is_empty() { range.start..range.start } else { range });
        self.push(range.map(|range| Span::of(text, range)), Some(pointer), message)
    }

    fn push(&mut self, span: Option<Span>, pointer: Option<String>, message: &str) -> Draft<'_> {
        let grave = self.levels.of_grave(self.rule);
        self.count += 1;
        if self.count > LIMIT {
            return Draft { finding: None, grave };
        }
        let file = match self.about.agent {
            Some(folder) => format!("{folder}/{}", self.about.file),
            None => self.about.file.to_owned(),
        };
        self.findings.push(Finding {
            rule: self.rule.name,
            level: self.levels.of(self.rule),
            agent: self.about.agent.map(ToOwned::to_owned),
            file,
            span,
            pointer,
            message: printable(message).into_owned(),
            help: None,
        });
        Draft { finding: self.findings.last_mut(), grave }
    }

    fn note_what_was_left_out(&mut self) {
        if let Some(more) = self.count.checked_sub(LIMIT).filter(|&more| more > 0)
            && let Some(last) = self.findings.last_mut()
        {
            last.message.push_str(&format!(" (and {more} more of this kind in this file)"));
        }
    }
}

impl Drop for Reporter<'_> {
    fn drop(&mut self) {
        self.note_what_was_left_out();
    }
}

impl Draft<'_> {
    /// Says what to do about it.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.help = Some(printable(&help.into()).into_owned());
        }
        self
    }

    /// Says that this finding is an error although its rule is a warning.
    pub(super) fn grave(mut self) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.level = self.grave;
        }
        self
    }
}
