//! `/matrix/`: the capabilities of all agents that answered. The page's own script compares chosen agents, for which it
//! reads their pages.

use std::collections::BTreeSet;

use askama::Template;
use rayon::prelude::*;

use super::capabilities::{GROUPS, Member, Support};
use super::listing::Listing;
use super::pages::{Frame, Site};
use super::{SiteError, SiteFile, page};
use acp_registry_gate::verify::LastAnswer;

/// The number of agents on a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "matrix.html")]
struct Matrix<'a> {
    f: Frame<'a>,
    /// The groups of columns, without the capabilities that no agent has.
    heads: &'a [ColumnGroup],
    /// Whether any agent was examined, so there is a column for it.
    has_examined: bool,
    /// The capabilities that no agent has.
    missing: &'a [String],
    /// The states to explain.
    legend: &'a [Support],
    rows: &'a [&'a Listing<'a>],
    answered: usize,
    total: usize,
    /// The first agents that did not answer, and how many more there are.
    silent: &'a [&'a Listing<'a>],
    more_silent: usize,
    page: usize,
    pages: usize,
}

/// A group of columns.
struct ColumnGroup {
    title: &'static str,
    members: Vec<&'static Member>,
}

/// Renders `/matrix/` and its further pages `/matrix/N/`.
pub(super) fn pages(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<SiteFile>, SiteError> {
    let (answered, silent): (Vec<&Listing<'_>>, Vec<&Listing<'_>>) =
        listings.iter().partition(|listing| listing.answer.is_some());
    let has_examined = listings.iter().any(|listing| listing.examined().is_some());
    let answers: Vec<&LastAnswer> = answered.iter().filter_map(|listing| listing.answer).collect();
    let (heads, missing) = columns(&answers);
    let legend = legend(&answers, &heads);
    let pages = answered.len().div_ceil(PAGE).max(1);
    let one = |number: usize| {
        let path = if number == 1 { "matrix/".to_owned() } else { format!("matrix/{number}/") };
        let description = "Compare agents: what each of them announced and was tested for when it was last started.";
        let shown = &silent[..silent.len().min(PAGE)];
        let matrix = Matrix {
            f: Frame::new(site, &path, "What agents can do – ACP agents", description),
            heads: &heads,
            has_examined,
            missing: &missing,
            legend: &legend,
            rows: answered.chunks(PAGE).nth(number - 1).unwrap_or_default(),
            answered: answered.len(),
            total: listings.len(),
            silent: shown,
            more_silent: silent.len() - shown.len(),
            page: number,
            pages,
        };
        page(&path, &matrix)
    };
    (1..=pages).into_par_iter().map(one).collect()
}

/// Whether the state is worth a column: the agent announced the capability, or it was tested.
fn is_known(state: Support) -> bool {
    !matches!(state, Support::No | Support::Unknown)
}

/// The columns, and the names of the capabilities that no agent has.
fn columns(answers: &[&LastAnswer]) -> (Vec<ColumnGroup>, Vec<String>) {
    let mut missing = Vec::new();
    let mut heads = Vec::new();
    for group in &GROUPS {
        let is_there = |member: &&Member| answers.iter().any(|answer| is_known(member.of(Some(answer))));
        let (members, without): (Vec<&Member>, Vec<&Member>) = group.members.iter().partition(is_there);
        missing.extend(without.into_iter().map(|member| match group.title {
            "Other" => member.label.to_owned(),
            title => format!("{title}: {}", member.label),
        }));
        if !members.is_empty() {
            heads.push(ColumnGroup { title: group.title, members });
        }
    }
    (heads, missing)
}

/// The states that occur, in the order of the type.
fn legend(answers: &[&LastAnswer], heads: &[ColumnGroup]) -> Vec<Support> {
    let members = || heads.iter().flat_map(|head| &head.members);
    let found: BTreeSet<&str> =
        answers.iter().flat_map(|answer| members().map(|member| member.of(Some(answer)).class())).collect();
    let all =
        [Support::Tested, Support::Announced, Support::NeedsSignIn, Support::Failed, Support::No, Support::Unknown];
    all.into_iter().filter(|state| found.contains(state.class())).collect()
}
