//! What the library needs to know of this machine before it speaks to others.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry::install::PackageCache;
use acp_registry::net::{
    AllowedHosts, Cache, Client, Credentials, PROXY_VARIABLES, Problem, Secret, Settings, proxy_host, proxy_problem,
    remedy,
};
use acp_registry::sys::{command, owner};
use acp_registry::upstream::Sources;
use acp_registry::upstream::github::{DEFAULT_API, Github};
use acp_registry::upstream::npm::Registry;
use acp_registry::upstream::{Surroundings, UnknownBase, npm_registry, python_index};
use etcetera::BaseStrategy as _;

use super::exit::Failure;
use super::ui::Ui;

/// How much is kept from one run to the next, in bytes.
const CACHE_LIMIT: u64 = 2 << 30;

/// How long a package manager may take to say what it is configured with.
const PATIENCE: Duration = Duration::from_secs(20);

/// Settings for a client that knows the proxies of this machine, and nothing else.
pub(super) fn settings(allowed: &AllowedHosts) -> Result<Settings, Problem> {
    Ok(Settings { allowed: allowed.clone(), proxy_hosts: proxy_hosts()?, ..Settings::default() })
}

/// Which package registries are needed: asking a package manager for its own takes a while.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    pub(super) npm: bool,
    pub(super) pypi: bool,
}

/// Finds the package registries and GitHub, and makes a client that may speak to them, with their secrets. What is needed
/// and not known is a warning, which is also returned.
pub(super) fn connect(
    allowed: &AllowedHosts,
    needs: Needs,
    use_cache: bool,
    ui: &Ui,
) -> Result<(Client, Sources, Vec<String>), Failure> {
    let mut settings = settings(allowed)?;
    let (sources, unknown) = sources(needs, &mut settings.credentials)?;
    let notes: Vec<String> =
        unknown.iter().map(|unknown| format!("packages were not checked: {unknown}; {}", unknown.remedy())).collect();
    for note in &notes {
        ui.warning(note);
    }
    // What the person's own package managers are configured with may be a mirror in a private network.
    let npm = sources.npm.iter().flat_map(Registry::bases);
    let pypi = sources.pypi.iter().map(|index| &index.base);
    for base in npm.chain(pypi).chain([&sources.github.api]) {
        ui.detail(&format!("source: {}", acp_registry::net::shown(base)));
        settings.sources.add(base);
    }
    if use_cache {
        settings.cache = cache(ui);
    }
    let client = Client::new(settings)?;
    Ok((client, sources, notes))
}

/// A client that knows GitHub with its secret, and no package registries.
pub(super) fn client_with_github(allowed: &AllowedHosts) -> Result<(Client, Github), Problem> {
    let mut settings = settings(allowed)?;
    let github = github(&mut settings.credentials).map_err(Problem::Variable)?;
    settings.sources.add(&github.api);
    Ok((Client::new(settings)?, github))
}

fn github(credentials: &mut Credentials) -> Result<Github, String> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let github = Github::new(variable("GITHUB_API_URL").as_deref().unwrap_or(DEFAULT_API))
        .ok_or("GITHUB_API_URL is not the address of a GitHub")?;
    if let Some(token) = variable("GITHUB_TOKEN") {
        credentials.add(&github.api, &Secret::Bearer(token.trim().to_owned()));
    }
    Ok(github)
}

fn sources(needs: Needs, credentials: &mut Credentials) -> Result<(Sources, Vec<UnknownBase>), Failure> {
    let variable = |name: &str| env::var(name).ok();
    let github = github(credentials).map_err(|problem| Failure::usage(problem).help(remedy::VARIABLE))?;
    let surroundings = surroundings(&variable);
    let (mut of_npm, mut of_pypi) = (Credentials::default(), Credentials::default());
    let (npm, pypi) = rayon::join(
        || needs.npm.then(|| npm_registry(&surroundings, &mut of_npm)),
        || needs.pypi.then(|| python_index(&surroundings, &mut of_pypi)),
    );
    credentials.extend(of_npm);
    credentials.extend(of_pypi);
    let mut unknown = Vec::new();
    let npm = npm.and_then(|npm| npm.map_err(|error| unknown.push(error)).ok());
    let pypi = pypi.and_then(|pypi| pypi.map_err(|error| unknown.push(error)).ok());
    Ok((Sources { npm, pypi, github }, unknown))
}

/// What package managers know, by their own configuration.
pub(super) fn surroundings(variable: &(dyn Fn(&str) -> Option<String> + Sync)) -> Surroundings<'_> {
    Surroundings { variable, run: &ask }
}

/// Asks a package manager, in a directory of our own: they read configuration files in the working directory, and in the
/// checkout of a registry, as in the folder of all temporary files, anybody may have put some.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let directory = tempfile::tempdir().ok()?;
    // Keeps npm from looking in the folders above.
    fs::write(directory.path().join("package.json"), "{}").ok()?;
    command::answer(program, arguments, directory.path(), PATIENCE)
}

/// The cache is a help, not a need: without one everything is fetched anew.
pub(super) fn cache(ui: &Ui) -> Option<Cache> {
    warn_of_foreign_cache(ui);
    let directory = cache_dir()?;
    match Cache::open(&directory, CACHE_LIMIT) {
        Ok(cache) => Some(cache),
        Err(error) => {
            ui.warning(&format!("nothing is kept for the next run: {error}"));
            None
        }
    }
}

/// Where answers, indexes and packages are kept; `None` where other users could change them, as in the home of the person
/// who became root.
pub(super) fn cache_dir() -> Option<PathBuf> {
    usual_cache_dir().filter(|directory| owner::problem(directory).is_none())
}

/// Says that nothing is kept because other users could change it.
pub(super) fn warn_of_foreign_cache(ui: &Ui) {
    if let Some(directory) = usual_cache_dir()
        && let Some(problem) = owner::problem(&directory)
    {
        ui.warning(&format!(
            "the cache is not used: {} {problem}; make it yours alone, or remove it",
            directory.display()
        ));
    }
}

fn usual_cache_dir() -> Option<PathBuf> {
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("acp-registry"))
}

/// Where package managers keep what they have fetched.
pub(super) fn package_cache() -> Option<PackageCache> {
    cache_dir().map(|directory| PackageCache::at(&directory))
}

/// The variables that name proxies, with their values.
pub(super) fn proxies() -> impl Iterator<Item = (&'static str, String)> {
    PROXY_VARIABLES.iter().filter_map(|name| Some((*name, env::var(name).ok()?))).filter(|(_, value)| !value.is_empty())
}

/// Hosts of the proxies that the HTTP client takes from the environment. It ignores what it cannot read, and would go
/// around the proxy.
fn proxy_hosts() -> Result<Vec<String>, Problem> {
    let hosts = proxies().map(|(name, value)| match proxy_problem(name, &value) {
        Some(problem) => Err(Problem::Variable(problem)),
        None => Ok(proxy_host(&value).unwrap_or_default()),
    });
    hosts.collect()
}
