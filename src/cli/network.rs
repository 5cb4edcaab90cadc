//! What the library needs to know of this machine before it speaks to others.

use std::env;
use std::path::PathBuf;

use acp_registry::install::PackageCache;
use acp_registry::net::{
    AllowedHosts, Cache, Client, Credentials, PROXY_VARIABLES, Problem, Settings, proxy_hosts, remedy,
};
use acp_registry::sys::owner;
pub(super) use acp_registry::upstream::Needs;
use acp_registry::upstream::Sources;
use acp_registry::upstream::github::Github;
use acp_registry::upstream::npm::Registry;
use acp_registry::upstream::{Surroundings, UnknownBase, ask_package_manager, npm_registry, python_index};
use etcetera::BaseStrategy as _;

use super::exit::Failure;
use super::ui::Ui;

/// How much is kept from one run to the next, in bytes.
const CACHE_LIMIT: u64 = 2 << 30;

/// Settings for a client that knows the proxies of this machine, and nothing else.
pub(super) fn settings(allowed: &AllowedHosts) -> Result<Settings, Problem> {
    Ok(Settings { allowed: allowed.clone(), proxy_hosts: proxy_hosts(&variable)?, ..Settings::default() })
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

fn sources(needs: Needs, credentials: &mut Credentials) -> Result<(Sources, Vec<UnknownBase>), Failure> {
    let github =
        Github::configured(&variable, credentials).map_err(|problem| Failure::usage(problem).help(remedy::VARIABLE))?;
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
    Surroundings { variable, run: &ask_package_manager }
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
    cache_dir().map(PackageCache::at)
}

/// A variable of the environment.
pub(super) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The variables that name proxies, with their values.
pub(super) fn proxies() -> impl Iterator<Item = (&'static str, String)> {
    PROXY_VARIABLES.iter().filter_map(|name| Some((*name, env::var(name).ok()?))).filter(|(_, value)| !value.is_empty())
}
