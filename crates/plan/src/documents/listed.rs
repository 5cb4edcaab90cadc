use std::borrow::Cow;

use serde::Serialize;

use super::IndexOrigin;
use crate::index::Entry;

/// What the index says about an agent. All members are `None` if there is no index, or if it does not have the agent.
#[derive(Debug, Default, Serialize)]
pub struct About<'a> {
    name: Option<&'a str>,
    description: Option<&'a str>,
    license: Option<&'a str>,
    icon: Option<&'a str>,
    distributions: Option<Vec<&'static str>>,
    platforms: Option<&'a [Cow<'static, str>]>,
    available_version: Option<&'a str>,
}

impl<'a> About<'a> {
    /// Describes an entry.
    #[must_use]
    pub fn of(entry: &'a Entry) -> Self {
        let text = |value: &'a str| Some(value).filter(|value| !value.is_empty());
        Self {
            name: text(&entry.name),
            description: text(&entry.description),
            license: text(&entry.license),
            icon: text(&entry.icon),
            distributions: Some(kinds(entry)),
            platforms: Some(&entry.platforms),
            available_version: text(&entry.version),
        }
    }
}

/// The kinds of distribution of an entry, in order of preference.
#[must_use]
pub fn kinds(entry: &Entry) -> Vec<&'static str> {
    let kinds = [("binary", !entry.platforms.is_empty()), ("npx", entry.has_npx), ("uvx", entry.has_uvx)];
    kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
}

/// An agent in the index, for `list` and `search`.
#[derive(Debug, Serialize)]
pub struct ListedAgent<'a> {
    #[serde(flatten)]
    about: About<'a>,
    installed: bool,
    installed_version: Option<&'a str>,
    pinned: bool,
    id: &'a str,
    version: &'a str,
}

impl<'a> ListedAgent<'a> {
    /// Combines an entry with the agent's installed version, if any, and whether it is pinned.
    #[must_use]
    pub fn of(entry: &'a Entry, installed_version: Option<&'a str>, pinned: bool) -> Self {
        Self {
            about: About::of(entry),
            installed: installed_version.is_some(),
            installed_version,
            pinned,
            id: &entry.id,
            version: &entry.version,
        }
    }
}

/// Members of `list` and `search`.
#[derive(Debug, Serialize)]
pub struct AgentList<'a> {
    /// The index.
    pub index: IndexOrigin,
    /// SHA-256 of the index.
    pub index_sha256: &'a str,
    /// The agents, best match first.
    pub agents: Vec<ListedAgent<'a>>,
    /// The parts of the index that cannot be used, and why.
    pub notes: &'a [String],
}
