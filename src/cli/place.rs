//! Flags of the commands for people and clients that use agents, and what they stand for.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Duration;

use acp_registry::index::{self, Copies, Index, Loaded, Options, Place, WrongPlace};
use acp_registry::install::{Installer, Kind};
use acp_registry::manifest::Platform;
use acp_registry::net::{AllowedHosts, Client, Problem};
use acp_registry::resolve::Host;
use acp_registry::store::{Agent, Store, Version, remedy};
use acp_registry::sys::fs::PathError;
use acp_registry::sys::process::{Environment, hide_from_agents};
use acp_registry::text::{quote, suggestions};
use acp_registry::upstream::github::Github;
use acp_registry::upstream::{Registries, npm_variables, uv_variables};
use clap::ValueEnum;
use etcetera::BaseStrategy as _;
use futures_util::FutureExt as _;

use super::candidates;
use super::code::Code;
use super::duration;
use super::exit::Failure;
use super::live;
use super::network;
use super::ui::Ui;

/// The heading of these flags in the help.
const HEADING: &str = "Index and storage";

#[derive(Debug, Default, clap::Args)]
pub(super) struct PlaceArgs {
    /// The registry index [env: `ACP_REGISTRY_INDEX`]
    ///
    /// An address, a file, or a registry directory. The default is the public registry's index.
    #[arg(long, help_heading = HEADING, value_name = "URL|FILE|DIR", value_hint = clap::ValueHint::AnyPath)]
    index: Option<String>,

    /// Send nothing; use the last copy of the index
    #[arg(long, help_heading = HEADING, conflicts_with = "refresh")]
    offline: bool,

    /// Ask for the index even if the copy is fresh
    ///
    /// All of it is read again.
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    refresh: bool,

    /// Where agents are installed [env: `ACP_REGISTRY_ROOT`]
    ///
    /// The default is `acp-registry` in the system's directory for data.
    #[arg(long, help_heading = HEADING, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Start agents even if other people can change them
    ///
    /// Without it, a directory of agents to which other people can write is refused.
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    trust_root: bool,

    /// The platform [default: this machine's]
    #[arg(long, help_heading = HEADING, value_name = "OS-ARCH", add = candidates::platforms())]
    platform: Option<Platform>,

    /// How long to wait for other processes [default: 300s]
    ///
    /// Two processes never change the same agent at once.
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "DURATION", value_parser = duration::limit)]
    wait: Option<Duration>,
}

impl PlaceArgs {
    /// The place of the index that was named.
    fn named_index(&self) -> Result<Option<Place>, Failure> {
        let named = self.index.clone().or_else(|| variable("ACP_REGISTRY_INDEX"));
        let wrong =
            |error: WrongPlace| Failure::usage(error).help("name the address or the path of an index with --index");
        named.map(|text| text.parse()).transpose().map_err(wrong)
    }

    /// The directory for agents that was named.
    fn named_root(&self) -> Option<PathBuf> {
        let named = self.root.clone().or_else(|| env::var_os("ACP_REGISTRY_ROOT").map(PathBuf::from));
        named.filter(|root| !root.as_os_str().is_empty())
    }

    /// The flags by which a process with another environment and working directory finds the same index and agents.
    pub(super) fn flags(&self) -> Result<Vec<String>, Failure> {
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).map_err(PathError::at(path))?;
            let text = path.to_str().map(ToOwned::to_owned);
            text.ok_or_else(|| Failure::unable(format!("{} is not Unicode, which settings must be", path.display())))
        };
        let mut flags = Vec::new();
        match self.named_index()? {
            Some(Place::Url(url)) if !url.username().is_empty() || url.password().is_some() => {
                let message = "the address of the index has a name or a password, which settings would show";
                return Err(Failure::usage(message).help("name an address without, or a copy of the index"));
            }
            Some(Place::Url(url)) => flags.extend(["--index".to_owned(), url.to_string()]),
            Some(Place::Path(path)) => flags.extend(["--index".to_owned(), absolute(&path)?]),
            None => {}
        }
        if let Some(root) = self.named_root() {
            flags.extend(["--root".to_owned(), absolute(&root)?]);
        }
        flags.extend(self.trust_root.then(|| "--trust-root".to_owned()));
        flags.extend(self.offline.then(|| "--offline".to_owned()));
        Ok(flags)
    }
}

/// A kind of distribution, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Dist {
    Npx,
    Uvx,
    Binary,
}

impl From<Dist> for Kind {
    fn from(dist: Dist) -> Self {
        match dist {
            Dist::Npx => Self::Npx,
            Dist::Uvx => Self::Uvx,
            Dist::Binary => Self::Binary,
        }
    }
}

/// What a command for people works with. What takes time is made when it is asked for.
pub(super) struct Session<'a> {
    args: &'a PlaceArgs,
    allowed: AllowedHosts,
    ui: &'a Ui,
    pub(super) store: Store,
    client: OnceLock<(Arc<Client>, Github)>,
    /// What the package managers may do.
    pub(super) packages: PackageArgs,
}

/// Flags about package managers.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(super) struct PackageArgs {
    /// Fetch packages again, and keep none
    #[arg(long)]
    no_cache: bool,

    /// Let uv build Python packages from source
    ///
    /// A build runs code of these packages.
    #[arg(long)]
    allow_build: bool,

    /// Time limit for the installation of an agent [default: 1800s]
    ///
    /// npm and uv have limits of their own for an answer that does not come.
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    install_timeout: Option<Duration>,
}

impl<'a> Session<'a> {
    pub(super) fn new(args: &'a PlaceArgs, allowed: AllowedHosts, ui: &'a Ui) -> Result<Self, Failure> {
        let mut store = Store::at(&root(args)?)?;
        store.patience = args.wait.unwrap_or(store.patience);
        store.trusts_others = args.trust_root;
        Ok(Self { args, allowed, ui, store, client: OnceLock::new(), packages: PackageArgs::default() })
    }

    pub(super) fn ui(&self) -> &'a Ui {
        self.ui
    }

    pub(super) fn is_offline(&self) -> bool {
        self.args.offline
    }

    /// The platform that was asked for.
    pub(super) fn platform(&self) -> Option<Platform> {
        self.args.platform
    }

    /// Reads the index, and says whether something is wrong with it.
    pub(super) async fn index(&self) -> Result<Index, Failure> {
        let index = self.load().await?;
        match index.notes.as_slice() {
            [] => {}
            [note] => self.ui.warning(&format!("in the registry index, {note}")),
            _ => self
                .ui
                .warning("some entries of the registry index cannot be used; `acp-registry list` says which and why"),
        }
        Ok(index)
    }

    /// Reads the index, and says everything that is wrong with it.
    pub(super) async fn index_with_notes(&self) -> Result<Index, Failure> {
        let index = self.load().await?;
        for note in &index.notes {
            self.ui.warning(&format!("in the registry index, {note}"));
        }
        Ok(index)
    }

    async fn load(&self) -> Result<Index, Failure> {
        let place = self.args.named_index()?.unwrap_or_default();
        self.ui.detail(&format!("the registry index is {place}"));
        network::warn_of_foreign_cache(self.ui);
        let options = Options { copies: copies(), is_offline: self.args.offline, refresh: self.args.refresh };
        let client = || self.connect().map(|(client, _)| client);
        let Loaded { index, warning } = index::load(&place, &options, client).await?;
        if let Some(warning) = warning {
            self.ui.warning(&warning);
        }
        Ok(index)
    }

    /// The last copy of the index, if there is one: nothing is sent.
    pub(super) fn index_at_hand(&self) -> Option<Index> {
        let place = self.args.named_index().ok()?.unwrap_or_default();
        let options = Options { copies: copies(), is_offline: true, refresh: false };
        let no_client = || Err(Problem::Refused("nothing may be sent"));
        // Without a request, the future is ready at its first poll.
        index::load(&place, &options, no_client).now_or_never()?.ok().map(|loaded| loaded.index)
    }

    /// The ids of all installed agents, which those that were named must be among.
    pub(super) fn installed(&self, named: &[String]) -> Result<Vec<String>, Failure> {
        self.all_with(named, |id| self.not_installed(id))
    }

    /// The same for a command that removes agents: an installation is of no use to it.
    pub(super) fn removable(&self, named: &[String]) -> Result<Vec<String>, Failure> {
        self.all_with(named, |id| self.absent(id))
    }

    fn all_with(&self, named: &[String], missing: impl Fn(&str) -> Failure) -> Result<Vec<String>, Failure> {
        let known = self.store.ids()?;
        match named.iter().find(|id| !known.contains(id)) {
            Some(id) => Err(missing(id)),
            None => Ok(known),
        }
    }

    /// An installed agent, which is whole.
    pub(super) fn agent(&self, id: &str) -> Result<Agent, Failure> {
        let agent = self.store.agent(id)?.ok_or_else(|| self.not_installed(id))?;
        self.whole(&agent.current)?;
        Ok(agent)
    }

    /// Refuses a version that is not what was installed.
    pub(super) fn whole(&self, version: &Version) -> Result<(), Failure> {
        let id = &version.receipt.id;
        if !version.is_whole() {
            let program = version.program().display().to_string();
            let message = format!("{} is damaged: {program} is not what was installed", quote(id));
            return Err(Failure::unable(message).code(Code::Damaged).help(remedy(id)));
        }
        Ok(self.store.vouch_for(version)?)
    }

    /// The agent is not installed. An agent of the index is to be installed; other ids are taken for mistyped ones.
    pub(super) fn not_installed(&self, id: &str) -> Failure {
        let failure = self.absent(id);
        let is_offered = |index: Index| matches!(index.agent(id), Ok(Some(_)));
        if self.index_at_hand().is_some_and(is_offered) {
            failure.help(format!("run `acp-registry install {}`", quote(id).trim_matches('`')))
        } else {
            failure
        }
    }

    /// The agent is not installed, and need not be.
    fn absent(&self, id: &str) -> Failure {
        let root = self.store.root().display();
        let failure = Failure::usage(format!("{} is not installed in {root}", quote(id))).code(Code::NotInstalled);
        let known = self.store.ids().unwrap_or_default();
        match suggestions(id, known.iter().map(String::as_str)) {
            near if near.is_empty() => failure.help("`acp-registry list --installed` shows what is installed"),
            near => failure.suggest(near),
        }
    }

    fn connect(&self) -> Result<(Arc<Client>, Github), Problem> {
        if let Some((client, github)) = self.client.get() {
            return Ok((client.clone(), github.clone()));
        }
        let (client, github) = network::client_with_github(&self.allowed)?;
        let client = Arc::new(client);
        Ok(self.client.get_or_init(|| (client, github)).clone())
    }

    /// What installs a plan for this platform.
    pub(super) fn installer(&self, platform: Option<Platform>) -> Result<Installer, Failure> {
        // Scripts of packages, and agents that are asked whether they answer, run as the person.
        hide_from_agents();
        let (client, github) = self.connect()?;
        let variable = |name: &str| env::var(name).ok();
        let surroundings = network::surroundings(&variable);
        let new = Installer::new(client, environment());
        Ok(Installer {
            npm: npm_variables(&surroundings),
            uv: uv_variables(&surroundings),
            registries: Registries::configured(&surroundings),
            github: Some(github),
            platform,
            launcher: live::launcher(),
            packages: network::package_cache().filter(|_| !self.packages.no_cache),
            allow_build: self.packages.allow_build,
            timeout: self.packages.install_timeout.unwrap_or(new.timeout),
            ..new
        })
    }

    /// Says whom this waits for.
    pub(super) fn waiting(&self, holder: &str) {
        self.ui.note(&format!("waiting for {holder}"));
    }
}

/// What package managers may see of this process, and where programs are.
pub(super) fn environment() -> Environment {
    Environment::from_host(env::vars_os())
}

pub(super) fn host() -> Host {
    Host::detect(&environment())
}

/// The last copy of the index: nothing is sent, and nothing is said.
pub(super) fn index_at_hand() -> Option<Index> {
    let place = PlaceArgs::default().named_index().ok()?.unwrap_or_default();
    let options = Options { copies: copies(), is_offline: true, refresh: false };
    let no_client = || Err(Problem::Refused("nothing may be sent"));
    // Without a request, the future is ready at its first poll.
    index::load(&place, &options, no_client).now_or_never()?.ok().map(|loaded| loaded.index)
}

/// The ids of installed agents; nothing is said.
pub(super) fn installed_at_hand() -> Vec<String> {
    let ids = || Store::at(&root(&PlaceArgs::default()).ok()?).ok()?.ids().ok();
    ids().unwrap_or_default()
}

fn copies() -> Option<Copies> {
    network::cache_dir().map(|directory| Copies::at(&directory.join("indexes")))
}

/// There is no agent of this id.
pub(super) fn unknown(id: &str, index: &Index) -> Failure {
    if let Some(note) = index.notes.iter().find(|note| note.contains(&format!(" ({}) ", quote(id)))) {
        return Failure::usage(format!("in the registry index, {note}")).code(Code::UnknownAgent);
    }
    let failure = Failure::usage(format!("there is no agent {} in the registry index", quote(id)));
    let failure = failure.code(Code::UnknownAgent);
    match suggestions(id, index.entries().map(|entry| entry.id.as_str())) {
        near if near.is_empty() => failure.help("run `acp-registry search WORD` to find agents"),
        near => failure.suggest(near),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn root(args: &PlaceArgs) -> Result<PathBuf, Failure> {
    if let Some(root) = args.named_root() {
        return Ok(root);
    }
    let none = |_| {
        Failure::unable("it is not known where agents are installed: there is no home directory")
            .help("name a directory with --root or ACP_REGISTRY_ROOT")
    };
    let strategy = etcetera::choose_base_strategy().map_err(none)?;
    // On Windows, the directory for data goes over the network at each login, and programs do not belong there.
    let data = if cfg!(windows) { strategy.cache_dir() } else { strategy.data_dir() };
    Ok(data.join("acp-registry"))
}
