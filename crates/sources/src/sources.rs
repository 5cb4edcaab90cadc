//! All sources of published agents.

use std::thread;

use acp_registry_http::{Client, Credentials, Problem, Settings, remedy, shown};
use acp_registry_plan::failure::Failure;
use url::Url;

use super::github::Github;
use super::{Surroundings, UnknownBase, npm, npm_registry, pypi, python_index};

/// The sources of packages and releases.
#[derive(Debug)]
pub struct Sources {
    /// The npm registry; if `None`, npm packages are not looked up.
    pub npm: Option<npm::Registry>,
    /// The Python package index; if `None`, Python packages are not looked up.
    pub pypi: Option<pypi::PackageIndex>,
    /// GitHub.
    pub github: Github,
}

/// Which package registries are needed, because finding one may require a slow call of a package manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The npm registry.
    pub npm: bool,
    /// The Python package index.
    pub pypi: bool,
}

/// The sources, and a client that may connect to them with their credentials.
#[derive(Debug)]
pub struct Connection {
    /// The client.
    pub client: Client,
    /// The sources.
    pub sources: Sources,
    /// The package registries that are needed, but not known.
    pub unknown: Vec<UnknownBase>,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A variable that is about GitHub cannot be used.
    #[error("{0}")]
    Github(&'static str),
    /// There is no HTTP client, because of a wrong proxy for example.
    #[error(transparent)]
    Client(#[from] Problem),
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Github(problem) => Self::usage(problem).help(remedy::VARIABLE),
            ConnectError::Client(problem) => problem.into(),
        }
    }
}

impl Connection {
    /// Finds the package registries and GitHub, and connects to them with these settings.
    ///
    /// # Errors
    /// [`ConnectError`]
    pub fn open(surroundings: &Surroundings<'_>, needs: Needs, mut settings: Settings) -> Result<Self, ConnectError> {
        let github =
            Github::configured(surroundings.variable, &mut settings.credentials).map_err(ConnectError::Github)?;
        let (mut for_npm, mut for_pypi) = (Credentials::default(), Credentials::default());
        // Each may wait for a package manager.
        let (npm, pypi) = thread::scope(|scope| {
            let npm = scope.spawn(|| needs.npm.then(|| npm_registry(surroundings, &mut for_npm)));
            let pypi = needs.pypi.then(|| python_index(surroundings, &mut for_pypi));
            (npm.join().ok().flatten(), pypi)
        });
        settings.credentials.extend(for_npm);
        settings.credentials.extend(for_pypi);
        let mut unknown = Vec::new();
        let npm = npm.and_then(|npm| npm.map_err(|error| unknown.push(error)).ok());
        let pypi = pypi.and_then(|pypi| pypi.map_err(|error| unknown.push(error)).ok());
        let sources = Sources { npm, pypi, github };
        // The registries that the user has configured may be mirrors in a private network.
        for base in sources.bases() {
            settings.proxies.choose(base)?;
            settings.sources.add(base);
        }
        Ok(Self { client: Client::new(settings)?, sources, unknown })
    }

    /// The addresses of the sources, without secrets.
    pub fn addresses(&self) -> impl Iterator<Item = String> {
        self.sources.bases().map(shown)
    }

    /// What is not looked up because its package registry is not known.
    pub fn notes(&self) -> Vec<String> {
        let note = |unknown: &UnknownBase| format!("packages were not checked: {unknown}; {}", unknown.remedy());
        self.unknown.iter().map(note).collect()
    }
}

impl Sources {
    fn bases(&self) -> impl Iterator<Item = &Url> {
        let npm = self.npm.iter().flat_map(npm::Registry::bases);
        let pypi = self.pypi.iter().map(|index| &index.base);
        npm.chain(pypi).chain([&self.github.api])
    }
}
