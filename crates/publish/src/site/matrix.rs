//! `/matrix/`: the capabilities of all agents.

use askama::Template;
use rayon::prelude::*;

use super::capabilities::State;
use super::examined;
use super::facets::capabilities;
use super::listing::Listing;
use super::pages::{Frame, Site};
use super::text::shown;
use super::{File, SiteError, page};

/// The number of agents on a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "matrix.html")]
struct Matrix<'a> {
    f: Frame<'a>,
    /// Whether any agent was examined, so there is a column for it.
    has_examined: bool,
    labels: Vec<&'static str>,
    rows: Vec<Row<'a>>,
    tested: usize,
    total: usize,
    page: usize,
    pages: usize,
}

/// A row of the matrix.
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    /// The level that was reached, with the failed checks.
    examined: (&'static str, String),
    cells: Vec<(&'static str, &'static str)>,
    version: String,
    day: &'a str,
}

/// Renders `/matrix/` and its further pages `/matrix/N/`.
pub(super) fn pages(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<File>, SiteError> {
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

fn row<'a>(listing: &'a Listing<'_>) -> Row<'a> {
    let state = |feature: &str| listing.answer.map_or(State::Unknown, |answer| State::of(answer, feature));
    let cell = |state: State| match state {
        State::NeedsSignIn => (state.class(), "Sign-in"),
        State::No | State::Unknown => (state.class(), "–"),
        _ => (state.class(), state.label()),
    };
    Row {
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
