//! `/examined/`: when which version of each agent was examined, and what failed; as a page, `examinations.json`, and a feed of
//! verdicts that changed.

use std::cmp::Reverse;
use std::io;

use acp_registry_examine::examination::{Check, CheckRecord, CheckVerdict, Force, Judgement, Level, Record, find};
use acp_registry_gate::verify::{EarlierExamination, PastExamination};
use acp_registry_plan::json;
use acp_registry_plan::text::{brief_list, plural};
use acp_registry_plan::timestamp::Timestamp;
use askama::Template;
use serde::Serialize;

use super::listing::{Listing, system_name};
use super::pages::{Frame, Site};
use super::text::{self, FeedEntry, shown};
use super::{SiteError, SiteFile, page};

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
    legend: [(&'static str, &'static str); 4],
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
        system(self.past.platform.as_deref())
    }

    /// The class and the word of a level.
    fn judgement(&self, level: &str) -> (&'static str, &'static str) {
        mark(self.past.judgements.get(level).copied())
    }

    /// The failed checks; no more than fit.
    fn failed(&self) -> String {
        brief_list(self.past.failed.iter().map(|id| shown(id, 80)), NAMED)
    }

    /// What differs from the version before, as a sentence; `None` if nothing does.
    fn change(&self) -> Option<String> {
        let before = self.before?;
        let levels = Level::OF_COMMANDS.iter().map(|level| level.as_str());
        let changed = levels.filter(|level| before.judgements.get(*level) != self.past.judgements.get(*level));
        let changed: Vec<String> = changed
            .map(|level| {
                let words = |past: &PastExamination| mark(past.judgements.get(level).copied()).1.to_lowercase();
                format!("{level}: {} after {} in {}", words(self.past), words(before), shown(&before.version, 40))
            })
            .collect();
        (!changed.is_empty()).then(|| changed.join("; "))
    }
}

fn mark(judgement: Option<Judgement>) -> (&'static str, &'static str) {
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
    let mut lines: Vec<Line<'a>> = listings
        .iter()
        .flat_map(|listing| {
            let past = listing.past();
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
        levels: Level::OF_COMMANDS
            .iter()
            .filter(|level| **level > Level::Handshake)
            .map(|level| level.as_str())
            .collect(),
        legend: [Some(Judgement::Passed), Some(Judgement::Failed), Some(Judgement::Incomplete), None].map(mark),
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
    // A day is known to the day only. A feed without an entry is as old as the last examination.
    let time = |day: Option<&str>| format!("{}T00:00:00Z", day.unwrap_or("1970-01-01"));
    let last = changed.first().map(|(line, _)| *line).or(lines.first());
    let updated = time(last.and_then(|line| line.past.day.as_deref()));
    let entries = changed.iter().map(|(line, change)| {
        let (page, time) = (format!("{base}/agents/{}/", line.listing.id), time(line.past.day.as_deref()));
        let failed = line.failed();
        let failed = if failed.is_empty() { String::new() } else { format!(" Fails: {failed}.") };
        FeedEntry {
            title: format!("{} {}: {change}", line.listing.name, line.version()),
            // Stays the same when there are later verdicts.
            id: format!("{page}#examined-{time}-{}", text::encoded(&line.past.version)),
            page,
            updated: time,
            kind: None,
            summary: format!("{change}.{failed}"),
        }
    });
    let (address, page) = (format!("{base}/examined.atom"), format!("{base}/examined/"));
    text::feed(&address, &page, "Verdicts on ACP agents that changed", &updated, entries)
}

/// Maximum number of results on a page.
const SHOWN: usize = 400;
/// Maximum length of a message, in Unicode scalar values.
const MESSAGE: usize = 300;

/// The results of an examination.
pub(super) struct Tests {
    /// The level up to which the agent was to be examined.
    pub(super) level: &'static str,
    /// The class of the judgement, and the judgement as a sentence without a full stop.
    pub(super) class: &'static str,
    pub(super) judgement: String,
    pub(super) version: String,
    /// The system of the machine, if known.
    pub(super) system: Option<String>,
    pub(super) day: Option<String>,
    /// How much of the network the agent could reach.
    pub(super) network: &'static str,
    pub(super) failed: Vec<Test>,
    pub(super) warnings: Vec<Test>,
    /// The checks that could not run, by the reason; the most frequent first.
    pub(super) unrun: Vec<(String, Vec<Test>)>,
    pub(super) passed: Vec<Test>,
}

/// The result of a check.
pub(super) struct Test {
    pub(super) id: String,
    /// The page of the protocol, of a check that this program knows.
    pub(super) page: Option<&'static str>,
    pub(super) is_proposal: bool,
    /// What an agent does that passes; the id of a check that this program does not know.
    pub(super) sentence: String,
    /// What the agent did instead; may be empty.
    pub(super) evidence: String,
}

impl Tests {
    pub(super) fn of(examined: &EarlierExamination) -> Self {
        let record = &examined.record;
        let checks = || record.checks.iter().take(SHOWN);
        let with = |verdict| checks().filter(|check| check.verdict == verdict).map(Test::of).collect();
        let (class, judgement) = judgement(record, record.level);
        Self {
            level: record.level.as_str(),
            class,
            judgement,
            version: shown(&examined.version, 40),
            system: system(examined.platform.as_deref()),
            day: examined.at.map(Timestamp::day),
            network: match record.has_network {
                Some(true) => ", with access to the network",
                Some(false) => ", without access to the network",
                None => "",
            },
            failed: with(CheckVerdict::Fail),
            warnings: with(CheckVerdict::Warning),
            unrun: by_reason(checks().filter(|check| check.verdict == CheckVerdict::NotExercised)),
            passed: with(CheckVerdict::Pass),
        }
    }

    /// How many checks could not run.
    pub(super) fn unrun_count(&self) -> usize {
        self.unrun.iter().map(|(_, tests)| tests.len()).sum()
    }
}

impl Test {
    fn of(check: &CheckRecord) -> Self {
        let known = find(&check.id);
        let id = shown(&check.id, 80);
        Self {
            page: known.map(|check| check.spec),
            is_proposal: known.is_some_and(Check::is_proposal),
            sentence: known.map_or_else(|| id.clone(), |check| capitalized(check.summary)),
            evidence: check.message.as_deref().map(|message| shown(message, MESSAGE)).unwrap_or_default(),
            id,
        }
    }
}

/// A summary begins with a verb.
fn capitalized(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // Code spans are not rendered.
    (first + chars.as_str()).replace('`', "")
}

fn by_reason<'a>(checks: impl Iterator<Item = &'a CheckRecord>) -> Vec<(String, Vec<Test>)> {
    let mut reasons: Vec<(String, Vec<Test>)> = Vec::new();
    for test in checks.map(Test::of) {
        match reasons.iter_mut().find(|(reason, _)| *reason == test.evidence) {
            Some((_, tests)) => tests.push(test),
            None => reasons.push((test.evidence.clone(), vec![test])),
        }
    }
    reasons.sort_by_key(|(_, tests)| Reverse(tests.len()));
    reasons
}

/// The operating system of a platform, if known.
pub(super) fn system(platform: Option<&str>) -> Option<String> {
    let os = platform?.split('-').next().unwrap_or_default();
    Some(shown(system_name(os), 40))
}

/// The class of a judgement, and the judgement in words: "passed", "failed: 2 requirements", or "incomplete" with the number of
/// checks that could not run and the most frequent reason.
pub(super) fn judgement(record: &Record, level: Level) -> (&'static str, String) {
    let count = |is: fn(&&CheckRecord) -> bool| record.up_to(level).filter(is).count();
    match record.judgement(level) {
        Judgement::Passed => ("tested", "passed".to_owned()),
        Judgement::Failed => {
            let failed = count(|check| check.verdict == CheckVerdict::Fail && check.force == Force::Must);
            ("failed", format!("failed: {}", plural(failed, "requirement")))
        }
        Judgement::Incomplete => {
            let all = record.up_to(level).count();
            let unrun = by_reason(record.up_to(level).filter(|check| check.verdict == CheckVerdict::NotExercised));
            let count: usize = unrun.iter().map(|(_, tests)| tests.len()).sum();
            let reason = unrun.first().map(|(reason, _)| format!("; mostly: {reason}")).unwrap_or_default();
            ("auth", format!("incomplete: {count} of {all} checks could not run{reason}"))
        }
    }
}

/// The cell of the matrix: its class, and the level with its judgement.
pub(super) fn cell(examined: Option<&EarlierExamination>) -> (&'static str, String) {
    let Some(record) = examined.map(|examined| &examined.record) else { return ("none", "Not examined".to_owned()) };
    let (class, words) = judgement(record, record.level);
    let words = words.split(':').next().unwrap_or_default();
    (class, format!("{}: {words}", record.level.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    fn record(reached: Option<&str>, results: &[(&str, &str, &str)]) -> Record {
        let checks: Vec<_> = results
            .iter()
            .map(|(id, result, message)| json!({ "id": id, "result": result, "force": "must", "message": message }))
            .collect();
        Record::read(&json!({ "level": "turns", "reached": reached, "checks": checks })).unwrap()
    }

    #[test]
    fn nothing_passes_because_nothing_ran() {
        let none = record(None, &[("turns/a", "not_exercised", "it did not answer"); 3]);
        let (class, words) = judgement(&none, Level::Turns);
        assert_eq!(
            (class, words.as_str()),
            ("auth", "incomplete: 3 of 3 checks could not run; mostly: it did not answer")
        );
        let some = record(
            Some("protocol"),
            &[
                ("protocol/a", "pass", ""),
                ("turns/b", "not_exercised", "needs sign-in"),
                ("turns/c", "not_exercised", "x"),
                ("turns/d", "not_exercised", "needs sign-in"),
            ],
        );
        assert_eq!(judgement(&some, Level::Protocol).1, "passed");
        assert_eq!(judgement(&some, Level::Turns).1, "incomplete: 3 of 4 checks could not run; mostly: needs sign-in");
        let failed =
            record(Some("turns"), &[("protocol/a", "fail", "x"), ("turns/b", "fail", "y"), ("turns/c", "pass", "")]);
        assert_eq!(judgement(&failed, Level::Protocol), ("failed", "failed: 1 requirement".to_owned()));
        assert_eq!(judgement(&failed, Level::Turns), ("failed", "failed: 2 requirements".to_owned()));
        assert_eq!(cell(None), ("none", "Not examined".to_owned()));
    }

    #[test]
    fn reasons_are_counted() {
        let record = record(
            None,
            &[("turns/a", "not_exercised", "x"), ("turns/b", "not_exercised", "y"), ("turns/c", "not_exercised", "y")],
        );
        let reasons: Vec<_> =
            by_reason(record.checks.iter()).into_iter().map(|(reason, tests)| (reason, tests.len())).collect();
        assert_eq!(reasons, [("y".to_owned(), 2), ("x".to_owned(), 1)]);
    }
}
