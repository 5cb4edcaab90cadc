//! All sources of published agents.

use std::collections::BTreeMap;
use std::thread;

use acp_registry_http::{Client, Credentials, Problem, Settings, remedy, shown};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::{printable, without_secrets};
use url::Url;

use super::github::Github;
use super::{Surroundings, UnknownBase, npm, npm_config, npm_registry, pypi, python_config, python_index};

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
        Ok(Self { client: Client::new(settings), sources, unknown })
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
        let pypi = self.pypi.iter().flat_map(pypi::PackageIndex::bases);
        npm.chain(pypi).chain([&self.github.api])
    }
}

/// A configured package registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRegistry {
    /// The URL, without secrets. Safe to print.
    pub address: String,
    /// Where it is set: a variable, or a part of a file. Safe to print.
    pub setting: String,
}

impl NamedRegistry {
    fn new(address: &str, setting: &str) -> Self {
        let plain = |text: &str| printable(&without_secrets(text.trim())).into_owned();
        Self { address: plain(address), setting: plain(setting) }
    }
}

/// The configured package registries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registries {
    npm: Option<NamedRegistry>,
    scopes: BTreeMap<String, NamedRegistry>,
    python: Option<NamedRegistry>,
}

impl Registries {
    /// The settings of variables and configuration files that [`npm_variables`](super::npm_variables) and
    /// [`uv_variables`](super::uv_variables) pass on.
    pub fn configured(surroundings: &Surroundings<'_>) -> Self {
        let settings = npm_config::NpmConfig::read(surroundings).settings;
        let npm = npm_config::configured(surroundings, &settings);
        let scopes = npm_config::scopes(&settings);
        let python = python_config::configured(surroundings);
        Self {
            npm: npm.map(|(address, setting)| NamedRegistry::new(&address, &setting)),
            scopes: scopes.map(|(scope, address, key)| (scope, NamedRegistry::new(&address, &key))).collect(),
            python: python.map(|(text, setting)| NamedRegistry::new(python_config::address(&text), &setting)),
        }
    }

    /// The registry that npm is configured to use for a package.
    pub fn npm(&self, package: &str) -> Option<&NamedRegistry> {
        let scope = package.split_once('/').map_or("", |(scope, _)| scope);
        self.scopes.get(scope).or(self.npm.as_ref())
    }

    /// The index that uv is configured to use.
    pub fn python(&self) -> Option<&NamedRegistry> {
        self.python.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::surroundings::with_home;
    use super::*;

    #[test]
    fn the_setting_and_the_address_are_known_without_secrets() {
        let npmrc = "registry=https://u:secret@all.example/npm?token=secret\n@me:registry=https://me.example/\n";
        let found = |variables: &[(&str, &str)]| {
            let files = [(".npmrc", npmrc)];
            with_home(&files, variables, &|_, _| panic!("nothing is run"), |surroundings, _| {
                Registries::configured(surroundings)
            })
        };
        let told = |named: Option<&NamedRegistry>| named.map(|named| format!("{} {}", named.address, named.setting));
        let plain = found(&[]);
        assert_eq!(told(plain.npm("p")).as_deref(), Some("https://all.example/npm?… `registry` in .npmrc"));
        assert_eq!(told(plain.npm("@me/p")).as_deref(), Some("https://me.example/ `@me:registry` in .npmrc"));
        assert_eq!(told(plain.python()), None);
        let set =
            [("NPM_CONFIG_REGISTRY", "http://v.example"), ("UV_DEFAULT_INDEX", "own=https://u:p@py.example/simple")];
        let set = found(&set);
        assert_eq!(told(set.npm("@you/p")).as_deref(), Some("http://v.example NPM_CONFIG_REGISTRY"));
        assert_eq!(told(set.python()).as_deref(), Some("https://py.example/simple UV_DEFAULT_INDEX"));
    }
}
