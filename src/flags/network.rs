//! Configures the network from the environment: proxies, package registries and the cache. The flags that name an agent on a
//! network.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry::duration;
use acp_registry::failure::Failure;
use acp_registry::host::owner;
use acp_registry::host::process::Environment;
use acp_registry::http::{AllowedHosts, Authorities, Cache, Client, Problem, Proxies, Settings};
use acp_registry::install::{PackageCache, host_environment};
use acp_registry::remote::{BridgeOptions, Endpoint, Headers};
pub(crate) use acp_registry::sources::Needs;
use acp_registry::sources::{Connection, Sources, Surroundings, ask_package_manager};
use etcetera::BaseStrategy as _;

use crate::flags::global::Global;
use crate::terminal::ui::Ui;

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
    Surroundings { variable, names: &variable_names, run: &ask }
}

fn variable_names() -> Vec<String> {
    env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect()
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

/// The environment of package managers, and the search path for programs, as in [`acp_registry::session::Session::environment`].
pub(crate) fn environment() -> Environment {
    host_environment(&env::vars_os().collect::<Vec<_>>(), [])
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The address of an agent on a network
    ///
    /// `https://` and `http://` use streams of events, `wss://` and `ws://` a WebSocket. Without TLS, only addresses of this
    /// machine and hosts named with --allow-host are allowed.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// With --url, send this header with each request (repeatable)
    ///
    /// `${NAME}` stands for the variable NAME, such as in 'Authorization: Bearer ${TOKEN}'. The value is not shown.
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    header: Vec<String>,

    /// With --url, how long the server may send nothing while a request is unanswered [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = duration::limit, requires = "url")]
    silence: Option<Duration>,
}

impl RemoteArgs {
    /// The agent at the address.
    ///
    /// # Errors
    /// Returns [`Failure`] for an address that is refused, and for a header that cannot be sent.
    pub(crate) fn endpoint(&self, url: &str, global: &Global) -> Result<Endpoint, Failure> {
        let headers = Headers::read(self.header.iter().map(String::as_str), &variable)?;
        let settings = settings(&global.allowed_hosts()?)?;
        Ok(Endpoint::new(url, &headers, &settings)?)
    }

    fn silence(&self) -> Duration {
        self.silence.unwrap_or(Duration::from_mins(10))
    }

    pub(crate) fn options(&self, is_examined: bool) -> BridgeOptions {
        BridgeOptions { silence: self.silence(), is_examined }
    }

    /// The arguments of a bridge to the agent for an examination, after the name of this program.
    pub(crate) fn bridge(&self, url: &str, global: &Global) -> Vec<String> {
        let mut words = vec!["run".to_owned(), "--examined".to_owned(), format!("--url={url}")];
        words.extend(self.header.iter().map(|header| format!("--header={header}")));
        words.push(format!("--silence={}s", self.silence().as_secs_f64()));
        words.extend(global.allow_host.iter().map(|host| format!("--allow-host={host}")));
        words
    }
}
