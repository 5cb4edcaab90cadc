//! Collects the findings of rules.

use std::borrow::Cow;
use std::ops::Range;

use crate::finding::{Finding, Level};
use acp_registry_plan::manifest::{Manifest, Places};
use acp_registry_plan::position::{Edit, Span};
use acp_registry_plan::text::printable;

/// Maximum number of findings of one rule for one file, so that a hostile file cannot fill a report.
const FINDING_LIMIT: usize = 50;

/// Collects the findings of one rule, and adds their rule, level, agent, file and position.
pub(super) struct Reporter<'a> {
    /// The name of the rule.
    rule: &'static str,
    level: &'a LevelOf<'a>,
    about: FindingFile<'a>,
    count: usize,
    findings: &'a mut Vec<Finding>,
}

/// The file that findings are about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FindingFile<'a> {
    /// Folder name of the agent; `None` for files of the registry itself.
    pub(super) agent: Option<&'a str>,
    /// Path of the file relative to the agent's folder or, without an agent, to the registry directory.
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) manifest: Option<&'a Manifest>,
}

impl<'a> FindingFile<'a> {
    /// The manifest of an agent.
    pub(super) fn manifest(agent: &'a str, manifest: &'a Manifest) -> Self {
        Self { agent: Some(agent), file: "agent.json", text: manifest.text(), manifest: Some(manifest) }
    }
}

/// The place of a finding: the byte range that is marked, and the JSON pointer.
type Place = (Option<Range<usize>>, Option<String>);

/// A finding to which help and a fix can be added.
pub(super) struct Draft<'r> {
    finding: Option<&'r mut Finding>,
    grave: Level,
}

/// The level of a finding about an agent, and that of one that is worse than the rule's usual findings.
pub(super) type LevelOf<'a> = dyn Fn(Option<&str>) -> (Level, Level) + 'a;

impl<'a> Reporter<'a> {
    pub(super) fn new(
        rule: &'static str,
        level: &'a LevelOf<'a>,
        about: FindingFile<'a>,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { rule, level, about, count: 0, findings }
    }

    /// Reports findings about another file. Only rules that check the whole registry need this.
    pub(super) fn about(&mut self, about: FindingFile<'_>, report: impl FnOnce(&mut Reporter<'_>)) {
        report(&mut Reporter { rule: self.rule, level: self.level, about, count: 0, findings: self.findings });
    }

    /// Reports a finding about the whole file.
    pub(super) fn file(&mut self, message: impl Into<String>) -> Draft<'_> {
        self.push(message.into(), |_| (None, None))
    }

    /// Reports a finding about a byte range of the file's text.
    pub(super) fn range(&mut self, range: Range<usize>, message: impl Into<String>) -> Draft<'_> {
        self.push(message.into(), |_| (Some(range), None))
    }

    /// Reports a finding about the value at a JSON pointer. If that does not exist, the nearest enclosing value is
    /// marked.
    pub(super) fn value(&mut self, pointer: impl Into<String>, message: impl Into<String>) -> Draft<'_> {
        let pointer = pointer.into();
        self.push(message.into(), |places| {
            let mut known = pointer.as_str();
            let range = loop {
                match places.and_then(|places| places.value(known)) {
                    None if !known.is_empty() => known = &known[..known.rfind('/').unwrap_or(0)],
                    found => break found,
                }
            };
            // Marks only the first character of the document instead of underlining every line.
            let range = range.map(|range| if known.is_empty() { range.start..range.start } else { range });
            (range, Some(pointer))
        })
    }

    /// Reports a finding about the key of the member at a JSON pointer.
    pub(super) fn key(&mut self, pointer: impl Into<String>, message: impl Into<String>) -> Draft<'_> {
        let pointer = pointer.into();
        self.push(message.into(), |places| (places.and_then(|places| places.key(&pointer)), Some(pointer)))
    }

    /// Reports a finding about a byte range, with its JSON pointer.
    pub(super) fn member(&mut self, pointer: String, range: Range<usize>, message: impl Into<String>) -> Draft<'_> {
        self.push(message.into(), |_| (Some(range), Some(pointer)))
    }

    fn push(&mut self, message: String, place: impl FnOnce(Option<&Places>) -> Place) -> Draft<'_> {
        let (level, grave) = (self.level)(self.about.agent);
        // The rule may run only because another agent enables it.
        if level == Level::Off {
            return Draft { finding: None, grave };
        }
        self.count += 1;
        // Checked before the position is resolved, since that is slow in a large hostile file.
        if self.count > FINDING_LIMIT {
            return Draft { finding: None, grave };
        }
        let places = self.about.manifest.map(Manifest::places);
        let (range, pointer) = place(places.as_deref());
        let span = range.map(|range| Span::of(self.about.text, range));
        let file = match self.about.agent {
            Some(folder) => format!("{folder}/{}", self.about.file),
            None => self.about.file.to_owned(),
        };
        self.findings.push(Finding {
            rule: self.rule,
            level,
            agent: self.about.agent.map(ToOwned::to_owned),
            file,
            span,
            pointer,
            message: match printable(&message) {
                Cow::Borrowed(_) => message,
                Cow::Owned(escaped) => escaped,
            },
            help: None,
            fix: None,
        });
        Draft { finding: self.findings.last_mut(), grave }
    }
}

impl Drop for Reporter<'_> {
    /// Notes what was left out.
    fn drop(&mut self) {
        if let Some(more) = self.count.checked_sub(FINDING_LIMIT).filter(|&more| more > 0)
            && let Some(last) = self.findings.last_mut()
        {
            last.message.push_str(&format!(" (and {more} more of this kind in this file)"));
        }
    }
}

impl Draft<'_> {
    /// Adds how to fix the problem.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.help = Some(printable(&help.into()).into_owned());
        }
        self
    }

    /// Adds the name that was probably meant, or else this help.
    pub(super) fn suggest(self, near: Option<&str>, otherwise: &str) -> Self {
        self.help(near.map_or_else(|| otherwise.to_owned(), |near| format!("did you mean `{near}`?")))
    }

    /// Adds an edit that fixes the problem.
    pub(super) fn fix(mut self, fix: Option<Edit>) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.fix = fix;
        }
        self
    }

    /// Raises the finding to an error, although its rule is a warning by default.
    pub(super) fn grave(mut self) -> Self {
        if let Some(finding) = &mut self.finding {
            finding.level = self.grave;
        }
        self
    }
}
