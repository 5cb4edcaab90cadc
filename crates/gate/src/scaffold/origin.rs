//! Where a new agent comes from, and what its source says of it.

use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;

use super::{Error, words};
use crate::bump::{Choice, Offers, Policy, choose};
use acp_registry_core::archive::Limits;
use acp_registry_core::manifest::{Agent, Channel, Distribution, NpmSpec, PypiSpec, Version};
use acp_registry_core::net::Client;
use acp_registry_core::upstream::About;
use acp_registry_core::upstream::Sources;

/// The longest description that is carried over, in characters.
const DESCRIPTION: usize = 200;

/// How many persons are named.
const AUTHORS: usize = 10;

/// The word for the newest version, in place of a version or tag.
pub(super) const LATEST: &str = "latest";

/// Where a new agent comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A package of the npm registry, perhaps with a version.
    Npm(NpmSpec),
    /// A project of the Python package index, perhaps with a version.
    Pypi(PypiSpec),
    /// A repository on GitHub, perhaps with the tag of a release.
    Github(GithubSpec),
}

/// A repository on GitHub: `OWNER/REPO`, or its address, and `@TAG` behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubSpec {
    /// Its owner.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// The tag of the release that is meant; `None` for the newest, which `latest` names, too.
    pub tag: Option<String>,
}

/// The text names no repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("OWNER/REPO is wanted, or OWNER/REPO@TAG")]
pub struct GithubSpecError;

impl FromStr for GithubSpec {
    type Err = GithubSpecError;

    fn from_str(text: &str) -> Result<Self, GithubSpecError> {
        let path = text.strip_prefix("https://github.com/").unwrap_or(text);
        let (path, tag) = path.split_once('@').map_or((path, None), |(path, tag)| (path, Some(tag)));
        let (owner, name) = path.trim_end_matches('/').split_once('/').ok_or(GithubSpecError)?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        let is_word = |word: &str| {
            let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            is_plain && word.bytes().any(|b| b != b'.') && word.len() <= 100
        };
        let is_tag = |tag: &str| !tag.is_empty() && tag.len() <= 200 && tag.bytes().all(|b| b.is_ascii_graphic());
        if !is_word(owner) || !is_word(name) || !tag.is_none_or(is_tag) {
            return Err(GithubSpecError);
        }
        Ok(Self {
            owner: owner.to_owned(),
            name: name.to_owned(),
            tag: tag.filter(|tag| *tag != LATEST).map(ToOwned::to_owned),
        })
    }
}

/// An agent as its source describes it.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The agent, without arguments.
    pub agent: Agent,
    /// What a person should know of it: what was not found, or might be meant otherwise.
    pub notes: Vec<String>,
}

/// What a source offers of a new agent.
pub(super) struct Found {
    /// As a manifest states it.
    pub(super) version: String,
    pub(super) distribution: Distribution,
    pub(super) about: About,
    pub(super) notes: Vec<String>,
}

/// Asks sources about agents that are to come.
#[derive(Clone, Copy)]
pub struct Scaffolder<'a> {
    /// The client; what it may speak to is its own matter.
    pub client: &'a Client,
    /// The package registries and GitHub.
    pub sources: &'a Sources,
    /// What an archive may ask for.
    pub limits: Limits,
    /// The name of the program in archives, where a person has said it.
    pub command: Option<&'a str>,
}

impl Scaffolder<'_> {
    /// Asks the source of an agent, and makes a draft of its manifest.
    ///
    /// # Errors
    /// Any [`Error`] of a source: it is not known, it has not answered, or it has nothing that could become an agent.
    pub async fn draft(&self, id: &str, origin: &Origin) -> Result<Draft, Error> {
        let found = match origin {
            Origin::Npm(spec) => self.npm(spec).await?,
            Origin::Pypi(spec) => self.pypi(spec).await?,
            Origin::Github(spec) => self.github(id, spec).await?,
        };
        let Found { version, distribution, about, mut notes } = found;
        let name = about.name.as_deref().and_then(words::title_of).unwrap_or_else(|| words::title(id));
        let description = about.description.as_deref().and_then(|text| words::line(text, DESCRIPTION));
        notes.push(match &description {
            Some(_) => {
                "read `description`, which is the publisher's: a sentence for people who choose an agent".to_owned()
            }
            None => "write `description`: the source has none".to_owned(),
        });
        let license = about.licenses.iter().find_map(|text| words::license(text));
        if license.is_none() {
            notes.push(match about.licenses.first().and_then(|text| words::line(text, 60)) {
                Some(text) => {
                    format!(
                        "add `license`: the source says `{}`, which is not an SPDX expression",
                        text.replace('`', "'")
                    )
                }
                None => "add `license`: the source names none; an SPDX expression, or `proprietary`".to_owned(),
            });
        }
        let repository = about.repository.as_deref().and_then(words::repository);
        // The page of a repository is not a home page.
        let website = about.website.as_deref().and_then(words::link);
        let website = website.filter(|website| words::repository(website) != repository || repository.is_none());
        let mut authors: Vec<String> = about.authors.iter().take(100).filter_map(|text| words::person(text)).collect();
        authors.dedup();
        authors.truncate(AUTHORS);
        if authors.is_empty() {
            notes.push("add `authors`: the source names none".to_owned());
        }
        let agent = Agent {
            id: id.to_owned(),
            description: description.unwrap_or_else(|| format!("TODO: say in a sentence what {name} is")),
            name,
            version,
            repository,
            website,
            authors,
            license,
            license_url: about.license_url.as_deref().and_then(words::link),
            distribution,
            ..Agent::default()
        };
        Ok(Draft { agent, notes })
    }
}

/// The version that `bump` would take, too, if an agent had none: as it is compared, and as the source writes it.
pub(super) fn newest(offers: &Offers) -> Option<(Version, String)> {
    let none = Version::parse_loose("0")?;
    let policy = Policy { channel: Channel::Stable, min_age: Duration::ZERO, now: OffsetDateTime::UNIX_EPOCH };
    match choose(&none, std::slice::from_ref(offers), policy) {
        Choice::Update(version) => Some((version.clone(), offers.of(&version)?.text.clone())),
        Choice::UpToDate => Some((none.clone(), offers.of(&none)?.text.clone())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_named_in_words_only() {
        let spec = |text: &str| text.parse::<GithubSpec>().map(|spec| (spec.owner, spec.name, spec.tag));
        let named = |tag: Option<&str>| Ok(("o".to_owned(), "r.x".to_owned(), tag.map(ToOwned::to_owned)));
        assert_eq!(spec("o/r.x"), named(None));
        assert_eq!(spec("https://github.com/o/r.x.git"), named(None));
        assert_eq!(spec("o/r.x@latest"), named(None));
        assert_eq!(spec("o/r.x@cli-v1.0.0"), named(Some("cli-v1.0.0")));
        for text in ["", "o", "o/", "/r", "o/..", "o/r/x", "o/r@", "https://h.example/o/r", "o/r?x", "o r/x", "o/r@a b"]
        {
            assert_eq!(spec(text), Err(GithubSpecError), "{text}");
        }
    }
}
