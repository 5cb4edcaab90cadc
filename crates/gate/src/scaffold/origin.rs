//! The source of a new agent, and what it says about the agent.

use std::str::FromStr;
use std::time::Duration;

use time::OffsetDateTime;

use super::{Error, words};
use crate::bump::{Choice, Offers, Policy, choose};
use acp_registry_archive::Limits;
use acp_registry_http::Client;
use acp_registry_plan::manifest::{Agent, Channel, Distribution, NpmSpec, PypiSpec, Version};
use acp_registry_sources::{PublisherFacts, RepositoryName, RepositoryNameError, Sources};

/// Maximum length of a description, in characters.
const DESCRIPTION: usize = 200;

/// Maximum number of authors.
const AUTHORS: usize = 10;

/// The word for the newest version, in place of a version or tag.
pub(super) const LATEST: &str = "latest";

/// The source of a new agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewOrigin {
    /// An npm package, with an optional version.
    Npm(NpmSpec),
    /// A PyPI project, with an optional version.
    Pypi(PypiSpec),
    /// A GitHub repository, with an optional release tag.
    Github(GithubSpec),
}

/// A GitHub repository, `OWNER/REPO` or its URL, with an optional `@TAG`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubSpec {
    /// The repository.
    pub repository: RepositoryName,
    /// The release's tag; `None` for the newest release, also if `latest` is given.
    pub tag: Option<String>,
}

impl FromStr for GithubSpec {
    type Err = RepositoryNameError;

    fn from_str(text: &str) -> Result<Self, RepositoryNameError> {
        let path = text.strip_prefix("https://github.com/").unwrap_or(text);
        let (path, tag) = path.split_once('@').map_or((path, None), |(path, tag)| (path, Some(tag)));
        let is_tag = |tag: &str| !tag.is_empty() && tag.len() <= 200 && tag.bytes().all(|b| b.is_ascii_graphic());
        if !tag.is_none_or(is_tag) {
            return Err(RepositoryNameError);
        }
        Ok(Self { repository: path.parse()?, tag: tag.filter(|tag| *tag != LATEST).map(ToOwned::to_owned) })
    }
}

/// An agent as described by its source.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The agent, without arguments.
    pub agent: Agent,
    /// Steps for a person: values that were not found, or may be wrong.
    pub notes: Vec<String>,
}

/// What a source says about an agent.
pub(super) struct SourceFacts {
    /// The version in the form that manifests use.
    pub(super) version: String,
    pub(super) distribution: Distribution,
    pub(super) about: PublisherFacts,
    pub(super) notes: Vec<String>,
}

/// Asks sources about new agents.
#[derive(Clone, Copy)]
pub struct Scaffolder<'a> {
    /// The HTTP client; it decides which hosts may be contacted.
    pub client: &'a Client,
    /// The package registries and GitHub.
    pub sources: &'a Sources,
    /// Limits for archives.
    pub limits: Limits,
    /// The program in archives, or the command of a package, if named by the user.
    pub command: Option<&'a str>,
}

impl Scaffolder<'_> {
    /// Asks the agent's source, and creates a draft of its manifest.
    ///
    /// # Errors
    /// Returns [`Error`] if the source is unknown, does not answer, or contains nothing that can be an agent.
    pub async fn draft(&self, id: &str, origin: &NewOrigin) -> Result<Draft, Error> {
        let found = match origin {
            NewOrigin::Npm(spec) => self.npm(spec).await?,
            NewOrigin::Pypi(spec) => self.pypi(spec).await?,
            NewOrigin::Github(spec) => self.github(id, spec).await?,
        };
        let SourceFacts { version, distribution, about, mut notes } = found;
        let name = about.name.as_deref().and_then(words::package_title).unwrap_or_else(|| words::title(id));
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
        // The repository's page is not used as the website.
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

/// The version that `bump` would choose for a new agent, for comparison and as written by the source.
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
    fn a_repository_may_have_a_tag_behind_it() {
        let spec = |text: &str| text.parse::<GithubSpec>().map(|spec| (spec.repository.to_string(), spec.tag));
        let named = |tag: Option<&str>| Ok(("o/r.x".to_owned(), tag.map(ToOwned::to_owned)));
        assert_eq!(spec("o/r.x"), named(None));
        assert_eq!(spec("https://github.com/o/r.x.git"), named(None));
        assert_eq!(spec("o/r.x@latest"), named(None));
        assert_eq!(spec("o/r.x@cli-v1.0.0"), named(Some("cli-v1.0.0")));
        for text in ["", "o/r/x", "o/r@", "https://h.example/o/r", "o/r@a b"] {
            assert_eq!(spec(text), Err(RepositoryNameError), "{text}");
        }
    }
}
