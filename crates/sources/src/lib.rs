//! Sources of published agents: data of package registries and GitHub about packages and releases.
//!
//! * [`Surroundings`], [`npm_registry`], [`python_index`]: the locations of the package registries, from the package
//!   managers' own configuration
//! * [`npm_variables`], [`uv_variables`]: the same configuration, for a package manager that runs in another home
//! * [`npm`], [`pypi`], [`github`]: one source each, with its requests and responses
//! * [`RepositoryName`]: a repository on GitHub
//! * [`left_to_npm`]: a setting that keeps others from fetching what npm would
//! * [`npm_authorities`]: whose certificates npm trusts
//! * [`Sources`]: all of these
//! * [`Attestations`]: what attests who has built a package or an archive, unchecked
//! * [`Registries`]: which of them are configured, and where, for messages
//! * [`PublisherFacts`]: what a publisher states about a package or a repository

mod about;
mod attestations;
pub mod github;
pub mod npm;
mod npm_config;
pub mod pypi;
mod python_config;
mod repository;
mod sources;
mod surroundings;

use std::any::Any;
use std::sync::Arc;

use acp_registry_http::{Client, FetchError, FetchedDocument, shown};
use acp_registry_plan::json::{self, List};
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

pub use about::PublisherFacts;
pub use attestations::Attestations;
pub use github::REPOSITORIES;
pub use npm_config::{left_to_npm, npm_authorities, npm_registry, npm_variables};
pub use python_config::{python_index, uv_variables};
pub use repository::{RepositoryName, RepositoryNameError};
pub use sources::{ConnectError, Connection, NamedRegistry, Needs, Registries, Sources};
pub use surroundings::{Surroundings, UnknownBase, ask_package_manager};

/// Maximum length of a name, URL or range, in bytes; longer ones count as missing. Longer reasons are cut.
const LONGEST: usize = 4096;

/// Why a source did not provide data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The request failed or was refused.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The response is not valid.
    #[error("{url} did not answer with {expected}: {message}")]
    Malformed {
        /// The URL.
        url: String,
        /// The expected response.
        expected: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl SourceError {
    /// How to fix it if this GitHub or a package registry did not respond, or not as expected.
    pub fn remedy(&self, github: &github::Github) -> Option<String> {
        let Self::Fetch(fetch) = self else { return None };
        github.remedy(fetch).or_else(|| fetch.remedy())
    }

    #[expect(clippy::needless_pass_by_value, reason = "errors are handed over")]
    fn malformed(url: &Url, expected: &'static str, message: impl ToString) -> Self {
        Self::Malformed { url: shown(url), expected, message: message.to_string() }
    }
}

/// Sends a request to a source and parses the response with `read`. `expected` is the expected response, for messages.
async fn ask<T: Any + Send + Sync>(
    client: &Client,
    url: &Url,
    accept: &str,
    limit: u64,
    expected: &'static str,
    read: impl FnOnce(FetchedDocument) -> Result<T, String>,
) -> Result<Option<Arc<T>>, SourceError> {
    let answer = client.understand(url, accept, limit, read).await?.transpose();
    answer.map_err(|message| SourceError::malformed(url, expected, message))
}

/// An address below `base`, which an error names.
fn address(text: &str, base: &Url, expected: &'static str) -> Result<Url, SourceError> {
    Url::parse(text).map_err(|error| SourceError::malformed(base, expected, error))
}

/// A part as a list; `None` if the part is missing or has another type.
fn list<const MOST: usize>(part: Option<&RawValue>) -> Option<List<'_, MOST>> {
    serde_json::from_str(part?.get()).ok()
}

/// A short text, such as a name or a URL.
fn word(part: Option<&RawValue>) -> Option<String> {
    json::text(part).filter(|text| text.len() <= LONGEST).map(Into::into)
}

/// A text for people, which is cut if it is too long.
fn sentence(part: Option<&RawValue>) -> Option<String> {
    let text = json::text(part)?;
    Some(text[..text.floor_char_boundary(LONGEST)].to_owned())
}

/// A time in the format of RFC 3339.
fn time(part: Option<&RawValue>) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&json::text(part)?, &Rfc3339).ok()
}

/// A segment of a URL's path, with all characters encoded that do not belong to a name.
fn segment(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~@+".contains(&b);
    let encoded: String =
        text.bytes().map(|b| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    // A dot segment would lead to the parent, encoded or not.
    if encoded.bytes().all(|b| b == b'.') { encoded.replace('.', "%252E") } else { encoded }
}
