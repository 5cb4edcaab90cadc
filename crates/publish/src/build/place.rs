//! Locations of earlier trees: a directory or a URL.

use acp_registry_plan::failure::Failure;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use acp_registry_http::{Client, Problem, Settings};
use tokio::runtime::Runtime;
use url::Url;

use crate::tree::{PublishedError, PublishedTree, TreeDirectory};

/// The largest file that is fetched, in bytes.
const FILE_LIMIT: u64 = 64 << 20;

/// The location of a published tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeLocation {
    /// A local directory.
    Directory(PathBuf),
    /// A base URL, which ends in a slash.
    Web(Url),
}

/// Why a published tree cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The text is not a valid URL.
    #[error("the previous tree {place}: {message}")]
    Address {
        /// The text.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Client(#[from] Problem),
    /// The async runtime cannot be created.
    #[error(transparent)]
    Runtime(#[from] io::Error),
}

impl PlaceError {
    /// What the user can do about it, if known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Address { .. } => Some("write the address or the directory of a published tree".into()),
            Self::Client(problem) => problem.remedy(),
            Self::Runtime(_) => None,
        }
    }
}

impl FromStr for TreeLocation {
    type Err = PlaceError;

    fn from_str(place: &str) -> Result<Self, PlaceError> {
        let Some((scheme, _)) = place.split_once("://") else { return Ok(Self::Directory(place.into())) };
        let wrong = |message: String| PlaceError::Address { place: place.to_owned(), message };
        let base =
            Url::parse(&format!("{}/", place.trim_end_matches('/'))).map_err(|error| wrong(error.to_string()))?;
        if scheme == "file" {
            // Windows would read from that host, and send it the person's credentials.
            if base.host().is_some() {
                return Err(wrong("the address of a file names no host".to_owned()));
            }
            return base.to_file_path().map(Self::Directory).map_err(|()| wrong("no path".to_owned()));
        }
        Ok(Self::Web(base))
    }
}

impl TreeLocation {
    /// Opens the tree. Its files are read on demand.
    ///
    /// A tree at a URL blocks while it waits for responses, and must not be read inside an async runtime. `settings`
    /// is only called for a URL.
    ///
    /// # Errors
    /// [`PlaceError`] when the HTTP client or the runtime for it cannot be created.
    pub fn open(
        self,
        settings: impl FnOnce() -> Result<Settings, Problem>,
    ) -> Result<Box<dyn PublishedTree>, PlaceError> {
        Ok(match self {
            Self::Directory(path) => Box::new(TreeDirectory(path)),
            Self::Web(base) => {
                let client = settings().and_then(Client::new)?;
                Box::new(Remote { base, client, runtime: Runtime::new()? })
            }
        })
    }
}

struct Remote {
    base: Url,
    client: Client,
    runtime: Runtime,
}

impl PublishedTree for Remote {
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, PublishedError> {
        let url = self.base.join(name).map_err(|error| PublishedError::new(name, &error))?;
        self.runtime
            .block_on(self.client.get(&url, FILE_LIMIT))
            .map_err(|error| PublishedError { remedy: error.problem.remedy(), ..PublishedError::new(name, &error) })
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Self {
        let help = error.remedy();
        let failure = match error {
            PlaceError::Address { .. } => Self::usage(error),
            PlaceError::Client(_) | PlaceError::Runtime(_) => Self::unable(error),
        };
        failure.help_if(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_or_an_address() {
        let web = |url: &str| TreeLocation::Web(Url::parse(url).unwrap());
        let directory = |path: &str| TreeLocation::Directory(path.into());
        for (text, expected) in [
            ("https://example.com/r", web("https://example.com/r/")),
            ("https://example.com/r//", web("https://example.com/r/")),
            ("dist", directory("dist")),
            ("", directory("")),
        ] {
            assert_eq!(text.parse::<TreeLocation>().unwrap(), expected);
        }
        for wrong in ["http://", "https://a b/", "file://host.example/r"] {
            let error = wrong.parse::<TreeLocation>().unwrap_err();
            assert!(matches!(error, PlaceError::Address { .. }) && error.remedy().is_some(), "{wrong}");
        }
    }
}
