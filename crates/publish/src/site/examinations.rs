//! `/examined/`: when which version of each agent was examined, and what failed; as a page, `examinations.json`, and a feed of
//! verdicts that changed.

use std::collections::BTreeMap;
use std::io;

use acp_registry_examine::examination::{Judgement, Level};
use acp_registry_gate::verify::PastExamination;
use acp_registry_plan::json;
use askama::Template;
use serde::Serialize;

use super::listing::{Listing, system_name};
use super::pages::{Frame, Site};
use super::text::shown;
use super::xml::{Xml, empty_line, end_line, text_line};
use super::{SiteError, SiteFile, page, xml};

/// The maximum number of lines on the page and entries of the feed; `examinations.json` has all.
const LINES: usize = 500;
const ENTRIES: usize = 50;
/// The maximum number of failed checks that a line names.
const NAMED: usize = 12;

#[derive(Template)]
#[template(path = "examinations.html")]
struct Examined<'a> {
    f: Frame<'a>,
    levels: Vec<&'static str>,
    lines: Vec<Line<'a>>,
    total: usize,
}

/// The examination of one version.
struct Line<'a> {
    listing: &'a Listing<'a>,
    past: &'a PastExamination,
    /// The version before, and how it was judged.
    before: Option<&'a PastExamination>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u8,
    examinations: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: &'a str,
    #[serde(flatten)]
    past: &'a PastExamination,
}

impl Line<'_> {
    fn version(&self) -> String {
        shown(&self.past.version, 40)
    }

    fn system(&self) -> Option<String> {
        let os = self.past.platform.as_deref()?.split('-').next().unwrap_or_default();
        Some(shown(system_name(os), 40))
    }

    /// The class and the word of a level.
    fn judgement(&self, level: &str) -> (&'static str, &'static str) {
        judgement(self.past.judgements.get(level).copied())
    }

    /// The failed checks; no more than fit.
    fn failed(&self) -> String {
        let names = self.past.failed.iter().take(NAMED).map(|id| shown(id, 80)).collect::<Vec<_>>().join(", ");
        match self.past.failed.len().saturating_sub(NAMED) {
            0 => names,
            more => format!("{names} and {more} more"),
        }
    }

    /// What differs from the version before, as a sentence; `None` if nothing does.
    fn change(&self) -> Option<String> {
        let before = self.before?;
        let levels = Level::ALL.iter().map(|level| level.as_str());
        let changed = levels.filter(|level| before.judgements.get(*level) != self.past.judgements.get(*level));
        let changed: Vec<String> = changed
            .map(|level| {
                let words = |past: &PastExamination| judgement(past.judgements.get(level).copied()).1.to_lowercase();
                format!("{level}: {} after {} in {}", words(self.past), words(before), shown(&before.version, 40))
            })
            .collect();
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}

fn judgement(judgement: Option<Judgement>) -> (&'static str, &'static str) {
    match judgement {
        Some(Judgement::Passed) => ("tested", "Passed"),
        Some(Judgement::Failed) => ("failed", "Failed"),
        Some(Judgement::Incomplete) => ("auth", "Incomplete"),
        None => ("none", "Not examined"),
    }
}

/// The first version since which all that were examined have passed a level; `None` if the last one has not.
pub(super) fn passed_since(past: &[PastExamination], level: Level) -> Option<&PastExamination> {
    let passed = |line: &&PastExamination| line.judgements.get(level.as_str()) == Some(&Judgement::Passed);
    past.iter().rev().take_while(passed).last()
}

/// All lines, the newest day first.
fn lines<'a>(listings: &'a [Listing<'a>]) -> Vec<Line<'a>> {
    let past = |listing: &'a Listing<'a>| listing.answer.map(|answer| answer.past.as_slice()).unwrap_or_default();
    let mut lines: Vec<Line<'a>> = listings
        .iter()
        .flat_map(|listing| {
            let past = past(listing);
            past.iter().enumerate().map(move |(at, line)| Line {
                listing,
                past: line,
                before: at.checked_sub(1).map(|before| &past[before]),
            })
        })
        .collect();
    lines.sort_by(|a, b| b.past.day.cmp(&a.past.day));
    lines
}

/// Renders the files; none if no agent was examined.
pub(super) fn files(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<SiteFile>, SiteError> {
    let all = lines(listings);
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let entries = all.iter().map(|line| Entry { id: &line.listing.id, past: line.past }).collect();
    let text = json::to_string(&Document { schema: 1, examinations: entries });
    let mut files = vec![("examinations.json".to_owned(), text.into_bytes())];
    if site.has_address() {
        files.push(("examined.atom".to_owned(), feed(site, &all)?));
    }
    let total = all.len();
    let path = "examined/";
    let description = "When which version of each agent was examined, up to which level, and what failed.";
    let examined = Examined {
        f: Frame::new(site, path, "Examined – ACP agents", description),
        levels: Level::ALL.iter().filter(|level| **level > Level::Handshake).map(|level| level.as_str()).collect(),
        lines: all.into_iter().take(LINES).collect(),
        total,
    };
    files.push(page(path, &examined)?);
    Ok(files)
}

/// Verdicts that differ from those of the version before.
fn feed(site: &Site, lines: &[Line<'_>]) -> io::Result<Vec<u8>> {
    let base = &site.base_url;
    let changed: Vec<(&Line<'_>, String)> =
        lines.iter().filter_map(|line| Some((line, line.change()?))).take(ENTRIES).collect();
    // A day is known to the day only. Without one, the feed has never changed.
    let time = |day: Option<&str>| format!("{}T00:00:00Z", day.unwrap_or("1970-01-01"));
    let updated = time(changed.first().and_then(|(line, _)| line.past.day.as_deref()));
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    xml::document("feed", "http://www.w3.org/2005/Atom", |xml| {
        text_line(xml, "title", "Verdicts on ACP agents that changed")?;
        text_line(xml, "id", &format!("{base}/examined.atom"))?;
        let own = format!("{base}/examined.atom");
        empty_line(xml, "link", &[("rel", "self"), ("type", "application/atom+xml"), ("href", &own)])?;
        let html = format!("{base}/examined/");
        empty_line(xml, "link", &[("rel", "alternate"), ("type", "text/html"), ("href", &html)])?;
        text_line(xml, "updated", &updated)?;
        xml.create_element("author").write_inner_content(|xml| xml::text(xml, "name", &[], "ACP agents"))?;
        end_line(xml)?;
        for (line, change) in &changed {
            let count = used.entry(&line.listing.id).or_default();
            *count += 1;
            entry(xml, base, line, change, &time(line.past.day.as_deref()), *count)?;
        }
        Ok(())
    })
}

fn entry(xml: &mut Xml, base: &str, line: &Line<'_>, change: &str, time: &str, count: usize) -> io::Result<()> {
    let address = format!("{base}/agents/{}/", line.listing.id);
    xml.create_element("entry").write_inner_content(|xml| {
        end_line(xml)?;
        text_line(xml, "title", &format!("{} {}: {change}", line.listing.name, line.version()))?;
        // Versions are the publishers' text, and not part of an address.
        text_line(xml, "id", &format!("{address}#examined-{time}-{count}"))?;
        empty_line(xml, "link", &[("rel", "alternate"), ("type", "text/html"), ("href", &address)])?;
        text_line(xml, "updated", time)?;
        let failed = line.failed();
        let failed = if failed.is_empty() { String::new() } else { format!(" Fails: {failed}.") };
        text_line(xml, "summary", &format!("{change}.{failed}"))
    })?;
    end_line(xml)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_the_first_of_the_last_versions_that_pass() {
        let line = |version: &str, turns: Option<Judgement>| PastExamination {
            version: version.to_owned(),
            day: None,
            platform: None,
            judgements: turns.map(|turns| ("turns".to_owned(), turns)).into_iter().collect(),
            failed: Vec::new(),
        };
        let (passed, failed) = (Some(Judgement::Passed), Some(Judgement::Failed));
        let since = |past: &[PastExamination]| passed_since(past, Level::Turns).map(|line| line.version.clone());
        assert_eq!(
            since(&[line("1", passed), line("2", failed), line("3", passed), line("4", passed)]).as_deref(),
            Some("3")
        );
        assert_eq!(since(&[line("1", passed)]).as_deref(), Some("1"));
        assert_eq!(since(&[line("1", passed), line("2", None)]), None);
        assert_eq!(since(&[]), None);
    }
}
