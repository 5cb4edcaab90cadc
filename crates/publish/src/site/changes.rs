//! The changes of a registry: `/changes/`, feeds and `history.json`.

use std::collections::BTreeSet;

use askama::Template;

use super::change::{AgentChange, ENTRIES};
use super::feed::Feed;
use super::listing::Listing;
use super::pages::{Frame, Site};
use super::{SiteError, SiteFile, page};
use crate::history::{EventKind, Extent, History, HistoryEvent};

/// The number of events on a page.
const PAGE: usize = 100;

/// The maximum number of pages; `history.json` has all events.
const PAGES: usize = 20;

/// The events of one day.
struct Day {
    day: String,
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
    present: BTreeSet<&'a str>,
}

impl<'a> Changelog<'a> {
    /// Selects the events of published and withdrawn agents. Agents of the registry that are not in the index are
    /// omitted.
    pub(super) fn new(site: &'a Site, history: &'a History, listings: &'a [Listing<'_>]) -> Self {
        let present: BTreeSet<&str> = listings.iter().map(|listing| listing.id.as_str()).collect();
        let agents = history.by_agent();
        let is_gone = |id: &str| agents[id].first().is_some_and(|event| event.kind == EventKind::Withdrawn);
        let is_told = |event: &&HistoryEvent| present.contains(event.id.as_str()) || is_gone(&event.id);
        let events = history.events().iter().filter(is_told).collect();
        Self { site, extent: history.extent(), events, present }
    }

    fn change(&self, event: &HistoryEvent) -> AgentChange {
        AgentChange::new(event, self.present.contains(event.id.as_str()))
    }

    /// Renders `/changes/` and its further pages `/changes/N/`.
    pub(super) fn pages(&self) -> Result<Vec<SiteFile>, SiteError> {
        let pages = self.events.len().div_ceil(PAGE).clamp(1, PAGES);
        let one = |number: usize| {
            let mut days: Vec<Day> = Vec::new();
            for event in self.events.chunks(PAGE).nth(number - 1).unwrap_or_default() {
                let change = self.change(event);
                match days.last_mut().filter(|day| day.day == change.day) {
                    Some(day) => day.changes.push(change),
                    None => days.push(Day { day: change.day.clone(), changes: vec![change] }),
                }
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

    /// Renders `new.atom` and `updated.atom`. Without events there is no feed, because a feed needs an update time.
    pub(super) fn feeds(&self) -> Result<Vec<SiteFile>, SiteError> {
        let Some(newest) = self.events.first() else { return Ok(Vec::new()) };
        let feed = |path: &str, title: &str, is_in: fn(&EventKind) -> bool| -> Result<SiteFile, SiteError> {
            let events = self.events.iter().filter(|event| is_in(&event.kind)).take(ENTRIES);
            let changes: Vec<AgentChange> = events.map(|event| self.change(event)).collect();
            let (base_url, updated) = (&self.site.base_url, &newest.time.to_string());
            Feed { base_url, path, page: "changes/", title, updated, changes: &changes }.file()
        };
        Ok(vec![
            feed("new.atom", "New ACP agents", |kind| *kind == EventKind::Added)?,
            feed("updated.atom", "New versions of ACP agents", |kind| matches!(kind, EventKind::Updated { .. }))?,
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
    let Some(newest) = listing.events.first() else { return Ok(None) };
    let page = format!("agents/{}/", listing.id);
    let feed = Feed {
        base_url: &site.base_url,
        path: &format!("{page}feed.atom"),
        page: &page,
        title: &format!("{}: versions", listing.name),
        updated: &newest.time.to_string(),
        changes: &AgentChange::of(listing),
    };
    feed.file().map(Some)
}
