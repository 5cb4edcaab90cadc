//! The changes of a registry: `/changes/`, feeds and `history.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use askama::Template;

use super::listing::Listing;
use super::pages::{Frame, Site};
use super::text::{self, FeedEntry, shown};
use super::{SiteError, SiteFile, page};
use acp_registry_gate::history::{EventKind, Extent, History, HistoryEvent};
use acp_registry_plan::timestamp::Timestamp;

/// The number of events on a page.
const PAGE: usize = 100;

/// The maximum number of pages; `history.json` has all events.
const PAGES: usize = 20;

/// The events of one day.
struct Day {
    /// The Monday of its week, if it is the first day of the week on the page.
    week: Option<String>,
    date: String,
    changes: Vec<AgentChange>,
}

#[derive(Template)]
#[template(path = "changes.html")]
struct Changes<'a> {
    f: Frame<'a>,
    days: Vec<Day>,
    total: usize,
    /// Why earlier events are missing, or all of them.
    why: Option<&'a str>,
    page: usize,
    pages: usize,
    is_last: bool,
}

/// The events that the site shows, with what is needed to render them.
pub(super) struct Changelog<'a> {
    site: &'a Site,
    extent: &'a Extent,
    events: Vec<&'a HistoryEvent>,
    present: BTreeMap<&'a str, &'a Listing<'a>>,
}

impl<'a> Changelog<'a> {
    /// Selects the events of published and withdrawn agents. Agents of the registry that are not in the index are
    /// omitted.
    pub(super) fn new(site: &'a Site, history: &'a History, listings: &'a [Listing<'_>]) -> Self {
        let present: BTreeMap<&str, &Listing<'_>> =
            listings.iter().map(|listing| (listing.id.as_str(), listing)).collect();
        let agents = history.by_agent();
        let is_gone = |id: &str| agents[id].first().is_some_and(|event| event.kind == EventKind::Withdrawn);
        let is_told = |event: &&HistoryEvent| present.contains_key(event.id.as_str()) || is_gone(&event.id);
        let events = history.events().iter().filter(is_told).collect();
        Self { site, extent: history.extent(), events, present }
    }

    fn change(&self, event: &HistoryEvent) -> AgentChange {
        AgentChange::new(event, self.present.get(event.id.as_str()).copied())
    }

    /// Renders `/changes/` and its further pages `/changes/N/`.
    pub(super) fn pages(&self) -> Result<Vec<SiteFile>, SiteError> {
        let pages = self.events.len().div_ceil(PAGE).clamp(1, PAGES);
        let one = |number: usize| {
            let mut days: Vec<Day> = Vec::new();
            let mut week = None;
            for event in self.events.chunks(PAGE).nth(number - 1).unwrap_or_default() {
                let change = self.change(event);
                if let Some(day) = days.last_mut().filter(|day| day.date == change.day) {
                    day.changes.push(change);
                    continue;
                }
                let own = event.time.monday();
                let is_new = week.as_ref() != Some(&own);
                days.push(Day { week: is_new.then(|| own.clone()), date: change.day.clone(), changes: vec![change] });
                week = Some(own);
            }
            let path = if number == 1 { "changes/".to_owned() } else { format!("changes/{number}/") };
            let title = if pages == 1 { "Changes".to_owned() } else { format!("Changes, page {number}") };
            let description = "Agents that are new, have a new version, or were withdrawn.";
            let why = match self.extent {
                Extent::Whole => None,
                Extent::Part(why) | Extent::Nothing(why) => Some(why.as_str()),
            };
            let f = Frame::new(self.site, &path, &format!("{title} – ACP agents"), description);
            page(
                &path,
                &Changes { f, days, total: self.events.len(), why, page: number, pages, is_last: number == pages },
            )
        };
        (1..=pages).map(one).collect()
    }

    /// Renders `new.atom` and `updated.atom`. Without events or an address there is no feed, which needs both.
    pub(super) fn feeds(&self) -> Result<Vec<SiteFile>, SiteError> {
        let Some(newest) = self.events.first().filter(|_| self.site.has_address()) else { return Ok(Vec::new()) };
        let one = |path: &str, title: &str, is_in: fn(&EventKind) -> bool| -> Result<SiteFile, SiteError> {
            let changes = self.events.iter().filter(|event| is_in(&event.kind)).map(|event| self.change(event));
            let changes: Vec<AgentChange> = changes.filter(|change| !change.is_held_back).take(ENTRIES).collect();
            Ok(feed(&self.site.base_url, path, "changes/", title, newest.time, &changes)?)
        };
        Ok(vec![
            one("new.atom", "New ACP agents", |kind| *kind == EventKind::Added)?,
            one("updated.atom", "New versions of ACP agents", |kind| matches!(kind, EventKind::Updated { .. }))?,
        ])
    }

    /// Renders `history.json`; `None` if no history is known.
    pub(super) fn json(&self, history: &History) -> Option<SiteFile> {
        let told: BTreeSet<&str> = self.events.iter().map(|event| event.id.as_str()).collect();
        let text = history.to_json(|event| told.contains(event.id.as_str()))?;
        Some(("history.json".to_owned(), text.into_bytes()))
    }
}

/// Renders the feed of an agent; `None` if it has no events.
pub(super) fn agent_feed(site: &Site, listing: &Listing<'_>) -> Result<Option<SiteFile>, SiteError> {
    let Some(newest) = listing.events.first().filter(|_| site.has_address()) else { return Ok(None) };
    let page = format!("agents/{}/", listing.id);
    let (path, title) = (format!("{page}feed.atom"), format!("{}: versions", listing.name));
    let events = listing.events_in_index().iter().take(ENTRIES);
    let changes: Vec<AgentChange> = events.map(|event| AgentChange::new(event, Some(listing))).collect();
    Ok(Some(feed(&site.base_url, &path, &page, &title, newest.time, &changes)?))
}

/// Renders the feed at a path, with the same changes as a page. A feed without any is as old as the newest event elsewhere.
fn feed(
    base: &str,
    path: &str,
    page: &str,
    title: &str,
    newest: Timestamp,
    changes: &[AgentChange],
) -> io::Result<SiteFile> {
    let entry = |(at, change): (usize, &AgentChange)| {
        let AgentChange { id, kind, label, name, version, time, .. } = change;
        // Of events in the same second, all but the first name their version.
        let is_same = |earlier: &AgentChange| (&earlier.id, earlier.kind, &earlier.time) == (id, *kind, time);
        let of_version = changes[at + 1..].iter().any(is_same).then(|| format!("-{}", text::encoded(version)));
        let address = format!("{base}/agents/{id}/");
        FeedEntry {
            title: format!("{label}: {name} {version}"),
            id: format!("{address}#{kind}-{time}{}", of_version.unwrap_or_default()),
            page: if change.is_there { address } else { format!("{base}/changes/") },
            updated: time.clone(),
            kind: Some(kind),
            summary: summary(change),
        }
    };
    let (page, updated) =
        (format!("{base}/{page}"), changes.first().map_or(newest.to_string(), |last| last.time.clone()));
    let bytes = text::feed(&format!("{base}/{path}"), &page, title, &updated, changes.iter().enumerate().map(entry))?;
    Ok((path.to_owned(), bytes))
}

fn summary(change: &AgentChange) -> String {
    let AgentChange { kind, name, version, from, .. } = change;
    match from {
        Some(from) => format!("{name} {version} follows {from}."),
        None if *kind == "added" => format!("{name} {version} was added to the registry."),
        None => format!("{name} is no longer in the registry; its last version was {version}."),
    }
}

/// The maximum number of events of an agent on its page, and of entries of a feed.
pub(super) const ENTRIES: usize = 50;

/// An event as pages show it.
pub(super) struct AgentChange {
    pub(super) id: String,
    pub(super) kind: &'static str,
    pub(super) label: &'static str,
    pub(super) name: String,
    pub(super) version: String,
    /// The previous version, for updates.
    pub(super) from: Option<String>,
    pub(super) time: String,
    pub(super) day: String,
    /// The page of the version's release.
    pub(super) release: Option<String>,
    /// Whether the agent has a page.
    pub(super) is_there: bool,
    /// Whether a hold keeps the version out of the index.
    pub(super) is_held_back: bool,
}

impl AgentChange {
    /// An event of an agent, which the index has or not.
    fn new(event: &HistoryEvent, listing: Option<&Listing<'_>>) -> Self {
        let name = shown(&event.name, 80);
        let (label, from) = match &event.kind {
            EventKind::Added => ("New", None),
            EventKind::Updated { from } => ("Updated", Some(shown(from, 40))),
            EventKind::Withdrawn => ("Withdrawn", None),
        };
        let is_held_back = listing.is_some_and(|listing| listing.holds_back(event));
        Self {
            id: event.id.clone(),
            kind: event.kind.as_str(),
            label: if is_held_back { "Held back" } else { label },
            name: if name.is_empty() { event.id.clone() } else { name },
            version: shown(&event.version, 40),
            from,
            time: event.time.to_string(),
            day: event.time.day(),
            release: event.release.clone(),
            is_there: listing.is_some(),
            is_held_back,
        }
    }

    /// The latest events of an agent.
    pub(super) fn of(listing: &Listing<'_>) -> Vec<Self> {
        listing.events.iter().take(ENTRIES).map(|event| Self::new(event, Some(listing))).collect()
    }
}

#[cfg(test)]
mod tests {
    use quick_xml::events::Event;

    use super::*;

    #[test]
    fn what_a_manifest_says_is_text() {
        let hostile = "</title><x a=\"'\"> & ]]> é";
        let change = AgentChange {
            id: "a".to_owned(),
            kind: "withdrawn",
            label: "Withdrawn",
            name: hostile.to_owned(),
            version: hostile.to_owned(),
            from: None,
            time: "2026-01-01T00:00:00Z".to_owned(),
            day: "2026-01-01".to_owned(),
            release: None,
            is_there: false,
            is_held_back: false,
        };
        let newest = "2026-01-01T00:00:00Z".parse().unwrap();
        let (path, page) = ("agents/a/feed.atom", "agents/a/");
        let (_, bytes) = feed("https://example.com", path, page, hostile, newest, &[change]).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut reader = quick_xml::Reader::from_str(&text);
        let (mut depth, mut names) = (0, Vec::new());
        loop {
            match reader.read_event().unwrap() {
                Event::Start(start) => {
                    depth += 1;
                    names.push(String::from_utf8(start.name().as_ref().to_vec()).unwrap());
                }
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0);
        assert_eq!(
            names,
            ["feed", "title", "id", "updated", "author", "name", "entry", "title", "id", "updated", "summary"]
        );
        let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>&lt;/title&gt;";
        assert!(text.starts_with(start), "{text}");
        assert!(text.ends_with("</summary>\n</entry>\n</feed>"), "{text}");
    }
}
