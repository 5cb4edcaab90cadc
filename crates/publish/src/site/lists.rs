//! Lists of agents: all from A to Z, and the agents of each filter value.

use rayon::prelude::*;

use super::listing::Listing;
use super::pages::{Frame, List, ListSection, ShownGroup, ShownValue, Site, anchor};
use super::text::agents_that_speak;
use super::{SiteError, SiteFile, page};

/// The number of agents on a page.
const PAGE: usize = 100;

/// Renders `/all/N/`.
pub(super) fn all(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<SiteFile>, SiteError> {
    let agents: Vec<&Listing<'_>> = listings.iter().collect();
    pages(site, &agents, "all", "All agents from A to Z", None)
}

/// Renders `/<group>/<value>/` and its further pages `/<group>/<value>/N/`.
pub(super) fn value_list(
    site: &Site,
    listings: &[Listing<'_>],
    group: &ShownGroup,
    value: &ShownValue,
) -> Result<Vec<SiteFile>, SiteError> {
    let has = |listing: &&Listing<'_>| listing.bits[group.column] & value.bits != 0;
    let agents: Vec<&Listing<'_>> = listings.iter().filter(has).collect();
    let heading = format!("{}: {}", group.title, value.label);
    let query = format!("{}={}", group.key, value.slug);
    pages(site, &agents, &format!("{}/{}", group.key, value.slug), &heading, Some(&query))
}

/// The first letter of a name; `#` for everything but the Latin letters without marks.
fn letter(listing: &Listing<'_>) -> char {
    let first = listing.name.chars().next().unwrap_or('#').to_ascii_uppercase();
    if first.is_ascii_uppercase() { first } else { '#' }
}

/// The parts of a page. Each letter is a heading once: names without one can be first and last.
fn by_letter<'a>(cards: &'a [&'a Listing<'a>]) -> Vec<ListSection<'a>> {
    let mut parts: Vec<ListSection<'a>> = Vec::new();
    for cards in cards.chunk_by(|one, other| letter(one) == letter(other)) {
        let letter = cards.first().map(|first| letter(first));
        let is_new = parts.iter().all(|part| part.letter != letter);
        parts.push(ListSection { letter: letter.filter(|_| is_new), cards });
    }
    parts
}

/// The letters that names begin with, each with the path of its first agent in the complete list.
pub(super) fn letters(listings: &[Listing<'_>]) -> Vec<(String, String)> {
    let mut letters: Vec<(String, String)> = Vec::new();
    for (at, listing) in listings.iter().enumerate() {
        let letter = letter(listing);
        if letters.iter().all(|(known, _)| !known.starts_with(letter)) {
            letters.push((letter.to_string(), format!("all/{}/#letter-{}", at / PAGE + 1, anchor(letter))));
        }
    }
    letters
}

fn pages(
    site: &Site,
    agents: &[&Listing<'_>],
    folder: &str,
    heading: &str,
    query: Option<&str>,
) -> Result<Vec<SiteFile>, SiteError> {
    let count = agents.len().div_ceil(PAGE).max(1);
    // The first page of a filter value has no number; all pages of the complete list do.
    let is_bare = |number: usize| number == 1 && query.is_some();
    let address = |number| if is_bare(number) { format!("{folder}/") } else { format!("{folder}/{number}/") };
    let one = |number: usize| {
        let path = address(number);
        let is_near = |other: &usize| *other == 1 || *other == count || other.abs_diff(number) <= 3;
        let title = if count == 1 { heading.to_owned() } else { format!("{heading}, page {number}") };
        let description = format!("{heading}: {} the Agent Client Protocol.", agents_that_speak(agents.len()));
        let cards = agents.chunks(PAGE).nth(number - 1).unwrap_or_default();
        let is_by_letter = query.is_none();
        let list = List {
            f: Frame::new(site, &path, &format!("{title} – ACP agents"), &description),
            heading,
            query,
            parts: if is_by_letter { by_letter(cards) } else { vec![ListSection { letter: None, cards }] },
            has_letters: is_by_letter,
            total: agents.len(),
            page: number,
            pages: count,
            near: (1..=count).filter(is_near).map(|other| (other, address(other), other == number)).collect(),
            previous: (number > 1).then(|| address(number - 1)),
            next: (number < count).then(|| address(number + 1)),
        };
        page(&path, &list)
    };
    (1..=count).into_par_iter().map(one).collect()
}
