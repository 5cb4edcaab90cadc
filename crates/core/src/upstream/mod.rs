//! Where agents are published: what the package registries and GitHub say of a package or a release.
//!
//! * [`Surroundings`], [`npm_registry`], [`python_index`]: where the package registries are, by the package managers' own
//!   configuration
//! * [`npm_variables`], [`uv_variables`]: the same configuration, for a package manager that runs in another home
//! * [`npm`], [`pypi`], [`github`]: one source each: a question and its answer
//! * [`Sources`]: all of these
//! * [`Registries`]: which of them are configured, and where, for messages
//! * [`About`]: what a publisher says of what it publishes

mod about;
mod config_file;
mod configured;
mod for_install;
pub mod github;
pub mod npm;
mod npm_bin;
mod npm_config;
pub mod pypi;
mod pypi_html;
mod python_config;
mod sources;
mod surroundings;

pub use about::About;
pub use configured::{NamedRegistry, Registries};
pub use for_install::{npm_variables, uv_variables};
pub use npm_config::npm_registry;
pub use python_config::python_index;
pub use sources::{Needs, Sources};
pub use surroundings::{Surroundings, UnknownBase, ask_package_manager};

use std::any::Any;
use std::sync::Arc;

use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use url::Url;

use crate::json;
use crate::net::{Client, Document, FetchError, shown};

/// The longest name, address or range that is kept, in bytes; longer ones count as absent. Reasons are cut here.
const LONGEST: usize = 4096;

/// Why a source has not answered a question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It was not reached, or refused.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It answered something else than it should.
    #[error("{url} did not answer with {expected}: {message}")]
    Malformed {
        /// Where.
        url: String,
        /// What should have come.
        expected: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl SourceError {
    /// What helps where this GitHub or a package registry did not answer, or not as it should.
    #[must_use]
    pub fn remedy(&self, github: &github::Github) -> Option<String> {
        let Self::Fetch(fetch) = self else { return None };
        github.remedy(fetch).or_else(|| fetch.remedy())
    }

    #[expect(clippy::needless_pass_by_value, reason = "errors are handed over")]
    fn malformed(url: &Url, expected: &'static str, message: impl ToString) -> Self {
        Self::Malformed { url: shown(url), expected, message: message.to_string() }
    }
}

/// Asks a source and keeps what `read` finds in its answer. `expected` is what a good answer is, for messages.
async fn ask<T: Any + Send + Sync>(
    client: &Client,
    url: &Url,
    accept: &str,
    limit: u64,
    expected: &'static str,
    read: impl FnOnce(Document) -> Result<T, String>,
) -> Result<Option<Arc<T>>, SourceError> {
    let answer = client.understand(url, accept, limit, read).await?.transpose();
    answer.map_err(|message| SourceError::malformed(url, expected, message))
}

/// A name, an address or the like.
fn word(part: Option<&RawValue>) -> Option<String> {
    json::text(part).filter(|text| text.len() <= LONGEST).map(Into::into)
}

/// A text for people, of which the beginning is enough.
fn sentence(part: Option<&RawValue>) -> Option<String> {
    let text = json::text(part)?;
    Some(text[..text.floor_char_boundary(LONGEST)].to_owned())
}

/// A time as RFC 3339 writes it.
fn time(part: Option<&RawValue>) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&json::text(part)?, &Rfc3339).ok()
}

/// A piece of an address's path, with everything encoded that could be something else than a name.
fn segment(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~@+".contains(&b);
    let encoded: String =
        text.bytes().map(|b| if is_plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect();
    // A dot segment would climb, encoded or not.
    if encoded.bytes().all(|b| b == b'.') { encoded.replace('.', "%252E") } else { encoded }
}
