//! Configures the network from the environment: proxies, package registries and the cache.

use std::env;
use std::path::PathBuf;

use acp_registry::host::owner;
use acp_registry::host::process::Environment;
use acp_registry::http::{
    self, AllowedHosts, Authorities, Cache, Client, Credentials, Problem, Proxies, Settings, remedy,
};
use acp_registry::install::{PackageCache, host_environment};
use acp_registry::resolve::{self, Host};
pub(crate) use acp_registry::sources::Needs;
use acp_registry::sources::github::Github;
use acp_registry::sources::npm::Registry;
use acp_registry::sources::{Sources, Surroundings, UnknownBase, ask_package_manager, npm_registry, python_index};
use etcetera::BaseStrategy as _;

use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

/// The size of the cache that is kept between runs, in bytes.
const CACHE_LIMIT: u64 = 2 << 30;

/// Settings of an HTTP client with the proxies and certificate authorities of this machine. Sources, credentials and cache are not set.
pub(crate) fn settings(allowed: &AllowedHosts) -> Result<Settings, Problem> {
    let authorities = Authorities::named(&variable)?;
    Ok(Settings { allowed: allowed.clone(), proxies: Proxies::new(&variable), authorities, ..Settings::default() })
}

/// Finds the package registries and GitHub, and creates a client that may connect to them with their credentials. A
/// source that is needed but not known causes a warning, which is also returned.
pub(crate) fn connect(
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
    // The registries that the user has configured may be mirrors in a private network.
    let npm = sources.npm.iter().flat_map(Registry::bases);
    let pypi = sources.pypi.iter().map(|index| &index.base);
    for base in npm.chain(pypi).chain([&sources.github.api]) {
        ui.detail(&format!("source: {}", http::shown(base)));
        settings.proxies.choose(base)?;
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

/// Access to the configuration of the package managers.
pub(crate) fn surroundings(variable: &(dyn Fn(&str) -> Option<String> + Sync)) -> Surroundings<'_> {
    Surroundings { variable, run: &ask }
}

/// Runs a package manager, which may be one that is not in the `PATH` of this program.
fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let environment = environment();
    ask_package_manager(environment.path().map(|(_, value)| value), program, arguments)
}

/// Opens the cache. Without one, everything is fetched again.
pub(crate) fn cache(ui: &Ui) -> Option<Cache> {
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

/// The cache directory; `None` if other users can change it, which is the case in the home directory of a user who became
/// root.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    usual_cache_dir().filter(|directory| owner::problem(directory).is_none())
}

/// Warns that the cache is not used because other users can change it.
pub(crate) fn warn_of_foreign_cache(ui: &Ui) {
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

/// The directory for the caches of npm and uv.
pub(crate) fn package_cache() -> Option<PackageCache> {
    cache_dir().map(PackageCache::at)
}

/// Returns an environment variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The environment of package managers, and the search path for programs, as in [`session::Session::environment`].
pub(crate) fn environment() -> Environment {
    host_environment(&env::vars_os().collect::<Vec<_>>(), [])
}

pub(crate) fn host() -> Host {
    resolve::host(&environment())
}
