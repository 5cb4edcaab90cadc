//! Lists of agents: all from A to Z, the agents of each filter value, and the capability matrix.

use rayon::prelude::*;

use super::capabilities::State;
use super::examined;
use super::facets::capabilities;
use super::listing::Listing;
use super::pages::{Frame, List, Matrix, MatrixRow, Site};
use super::text::{agents_that_speak, shown};
use super::{File, SiteError, page};

/// The number of agents on a page.
const PAGE: usize = 100;

/// Renders `/all/N/`.
pub(super) fn all(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<File>, SiteError> {
    let agents: Vec<&Listing<'_>> = listings.iter().collect();
    pages(site, &agents, "all", "All agents from A to Z", None)
}

/// Renders `/<group>/<value>/` and its further pages `/<group>/<value>/N/`.
pub(super) fn by_facet(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<File>, SiteError> {
    let mut files = Vec::new();
    for group in &site.groups {
        for value in &group.values {
            let has = |listing: &&Listing<'_>| listing.bits[group.column] & value.bits != 0;
            let agents: Vec<&Listing<'_>> = listings.iter().filter(has).collect();
            let heading = format!("{}: {}", group.title, value.label);
            let query = format!("{}={}", group.key, value.slug);
            let folder = format!("{}/{}", group.key, value.slug);
            files.extend(pages(site, &agents, &folder, &heading, Some(&query))?);
        }
    }
    Ok(files)
}

fn pages(
    site: &Site,
    agents: &[&Listing<'_>],
    folder: &str,
    heading: &str,
    query: Option<&str>,
) -> Result<Vec<File>, SiteError> {
    let count = agents.len().div_ceil(PAGE).max(1);
    // The first page of a filter value has no number; all pages of the complete list do.
    let is_bare = |number: usize| number == 1 && query.is_some();
    let address = |number| if is_bare(number) { format!("{folder}/") } else { format!("{folder}/{number}/") };
    let one = |number: usize| {
        let path = address(number);
        let is_near = |other: &usize| *other == 1 || *other == count || other.abs_diff(number) <= 3;
        let title = if count == 1 { heading.to_owned() } else { format!("{heading}, page {number}") };
        let description = format!("{heading}: {} the Agent Client Protocol.", agents_that_speak(agents.len()));
        let list = List {
            f: Frame::new(site, &path, &format!("{title} – ACP agents"), &description),
            heading,
            query,
            cards: agents.chunks(PAGE).nth(number - 1).unwrap_or_default(),
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

/// Renders `/matrix/` and its further pages `/matrix/N/`.
pub(super) fn matrix(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<File>, SiteError> {
    let tested = listings.iter().filter(|listing| listing.answer.is_some()).count();
    let has_examined = listings.iter().any(|listing| listing.examined().is_some());
    // Without capabilities the matrix is empty.
    let listings = if tested == 0 { &[] } else { listings };
    let pages = listings.len().div_ceil(PAGE).max(1);
    let one = |number: usize| {
        let path = if number == 1 { "matrix/".to_owned() } else { format!("matrix/{number}/") };
        let description = "The capabilities that each agent reported when it was last started.";
        let matrix = Matrix {
            f: Frame::new(site, &path, "Capabilities of all agents – ACP agents", description),
            has_examined,
            labels: capabilities().map(|(_, value)| value.label).collect(),
            rows: listings.chunks(PAGE).nth(number - 1).unwrap_or_default().iter().map(row).collect(),
            tested,
            total: listings.len(),
            page: number,
            pages,
        };
        page(&path, &matrix)
    };
    (1..=pages).into_par_iter().map(one).collect()
}

fn row<'a>(listing: &'a Listing<'_>) -> MatrixRow<'a> {
    let state = |feature: &str| listing.answer.map_or(State::Unknown, |answer| State::of(answer, feature));
    let cell = |state: State| match state {
        State::NeedsSignIn => (state.class(), "Sign-in"),
        State::No | State::Unknown => (state.class(), "–"),
        _ => (state.class(), state.label()),
    };
    MatrixRow {
        id: &listing.id,
        name: &listing.name,
        examined: examined::cell(listing.examined()),
        cells: capabilities().map(|(feature, _)| cell(state(&feature))).collect(),
        version: listing
            .answer
            .and_then(|answer| answer.version.as_deref())
            .map_or_else(String::new, |text| shown(text, 40)),
        day: listing.answer.and_then(|answer| answer.day.as_deref()).unwrap_or("–"),
    }
}
