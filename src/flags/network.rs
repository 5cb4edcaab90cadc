//! Configures the network from the environment: proxies, package registries and the cache.

use std::env;
use std::path::PathBuf;

use acp_registry::host::owner;
use acp_registry::host::process::Environment;
use acp_registry::http::{AllowedHosts, Authorities, Cache, Client, Problem, Proxies, Settings};
use acp_registry::install::{PackageCache, host_environment};
pub(crate) use acp_registry::sources::Needs;
use acp_registry::sources::{Connection, Sources, Surroundings, ask_package_manager};
use etcetera::BaseStrategy as _;

use crate::terminal::ui::Ui;
use acp_registry::failure::Failure;

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
    settings.cache = if use_cache { cache(ui) } else { None };
    let connection = Connection::open(&surroundings(&variable), needs, settings)?;
    connection.client.prepare()?;
    let notes = connection.notes();
    for note in &notes {
        ui.warning(note);
    }
    for address in connection.addresses() {
        ui.detail(&format!("source: {address}"));
    }
    Ok((connection.client, connection.sources, notes))
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
    if let Some(problem) = cache_problem() {
        ui.warning(&problem);
    }
    let directory = cache_dir()?;
    match Cache::open(&directory, Cache::LIMIT) {
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

/// Why the cache is not used: other users can change it.
pub(crate) fn cache_problem() -> Option<String> {
    let directory = usual_cache_dir()?;
    let problem = owner::problem(&directory)?;
    let shown = directory.display();
    Some(format!("the cache is not used: {shown} {problem}; make it yours alone, or remove it"))
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
