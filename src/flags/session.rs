//! The flags of the commands that use agents, and the session that they describe.

use std::env;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry::config::Config;
use acp_registry::host::fs::PathError;
use acp_registry::host::process::hide_from_agents;
use acp_registry::http::AllowedHosts;
use acp_registry::index::{self, Index, IndexLocation, Loaded, WrongPlace};
use acp_registry::install::Kind;
use acp_registry::manifest::{AgentId, Platform};
use acp_registry::session::{self, InstallEvent};
use acp_registry::store::{Store, StoredAgent};
use acp_registry::text::{escape, is_mistyped, quote, suggestions};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use etcetera::BaseStrategy as _;

use crate::flags::{duration, isolation, network, value};
use crate::terminal::ui::Ui;
use acp_registry::failure::Code;
use acp_registry::failure::Failure;

/// The heading of these flags in the help.
const HEADING: &str = "Index and storage";

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SessionArgs {
    /// The registry index [env: `ACP_REGISTRY_INDEX`]
    ///
    /// An address, a file, or a registry directory. The default is the public registry's index.
    #[arg(long, help_heading = HEADING, value_name = "URL|FILE|DIR", value_hint = clap::ValueHint::AnyPath)]
    index: Option<String>,

    /// Send nothing; use the last copy of the index
    #[arg(long, help_heading = HEADING, conflicts_with = "refresh")]
    offline: bool,

    /// Ask for the index even if the copy is fresh
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
    #[arg(long, help_heading = HEADING, value_name = "OS-ARCH", add = value::platforms())]
    platform: Option<Platform>,

    /// How long to wait for other processes [default: 300s]
    ///
    /// Two processes never change the same agent at once.
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "DURATION", value_parser = duration::limit)]
    wait: Option<Duration>,
}

impl SessionArgs {
    /// The same flags, with `--refresh` if it is wanted and allowed.
    pub(crate) fn with_refresh(&self, refresh: bool) -> Self {
        Self { refresh: self.refresh || (refresh && !self.offline), ..self.clone() }
    }

    /// The place of the index, from the flag or the environment.
    fn named_index(&self) -> Result<Option<IndexLocation>, WrongPlace> {
        let named = self.index.clone().or_else(|| variable("ACP_REGISTRY_INDEX"));
        named.map(|text| text.parse()).transpose()
    }

    /// The directory for agents, from the flag or the environment.
    fn named_root(&self) -> Option<PathBuf> {
        let named = self.root.clone().or_else(|| env::var_os("ACP_REGISTRY_ROOT").map(PathBuf::from));
        named.filter(|root| !root.as_os_str().is_empty())
    }

    /// The flags that select the same index and agents for a process with another environment and working directory.
    pub(crate) fn flags(&self) -> Result<Vec<String>, Failure> {
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).map_err(PathError::at(path))?;
            let text = path.to_str().map(ToOwned::to_owned);
            text.ok_or_else(|| Failure::unable(format!("{} is not Unicode, which settings must be", path.display())))
        };
        let mut flags = Vec::new();
        match self.named_index().map_err(wrong_index)? {
            Some(IndexLocation::Url(url)) if !url.username().is_empty() || url.password().is_some() => {
                let message = "the address of the index has a name or a password, which settings would show";
                return Err(Failure::usage(message).help("name an address without, or a copy of the index"));
            }
            Some(IndexLocation::Url(url)) => flags.extend(["--index".to_owned(), url.to_string()]),
            Some(IndexLocation::Path(path)) => flags.extend(["--index".to_owned(), absolute(&path)?]),
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

/// Parses a kind of distribution.
pub(crate) fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::as_str)).try_map(|name| Kind::named(&name).ok_or("is not a kind"))
}

/// The session of a command, and the output for its warnings.
pub(crate) struct CommandSession<'a> {
    inner: session::Session,
    /// Why the given index cannot be used. Installed agents can be used nevertheless.
    wrong_index: Option<WrongPlace>,
    ui: &'a Ui,
}

impl Deref for CommandSession<'_> {
    type Target = session::Session;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl DerefMut for CommandSession<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.inner
    }
}

/// Flags about package managers.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PackageArgs {
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

impl<'a> CommandSession<'a> {
    pub(crate) fn new(args: &SessionArgs, allowed: AllowedHosts, ui: &'a Ui) -> Result<Self, Failure> {
        Self::with_packages(args, PackageArgs::default(), allowed, ui)
    }

    /// Creates a session with settings for package managers.
    pub(crate) fn with_packages(
        args: &SessionArgs,
        packages: PackageArgs,
        allowed: AllowedHosts,
        ui: &'a Ui,
    ) -> Result<Self, Failure> {
        let mut options = session::SessionOptions::new(root(args)?, env::vars_os());
        let index = args.named_index();
        options.index = index.as_ref().ok().and_then(Clone::clone).unwrap_or_default();
        options.cache = network::cache_dir();
        options.is_offline = args.offline;
        options.refresh = args.refresh;
        options.trusts_others = args.trust_root;
        options.patience = args.wait.unwrap_or(options.patience);
        options.platform = args.platform;
        options.allowed_hosts = allowed;
        options.keeps_packages = !packages.no_cache;
        options.allow_build = packages.allow_build;
        if let IndexLocation::Path(registry) = &options.index {
            // A configuration that cannot be read allows nothing.
            options.builders = Config::read(&registry.join("registry.toml")).unwrap_or_default().builders();
        }
        options.install_timeout = packages.install_timeout;
        options.launcher = isolation::launcher();
        // Install scripts, and agents that are started to check them, run as the user.
        hide_from_agents();
        Ok(Self { inner: session::Session::open(options)?, wrong_index: index.err(), ui })
    }

    pub(crate) fn ui(&self) -> &'a Ui {
        self.ui
    }

    /// The requested platform.
    pub(crate) fn platform(&self) -> Option<Platform> {
        self.options().platform
    }

    /// Reads the index. Warns once if parts of it cannot be used.
    pub(crate) async fn index(&self) -> Result<Index, Failure> {
        Ok(self.warned(self.loaded(self.inner.index()).await?))
    }

    /// Like [`Self::index`], with these agents. Other agents may be missing, unless one of these is not in the index.
    pub(crate) async fn load_index(&self, ids: &[&str]) -> Result<Index, Failure> {
        Ok(self.warned(self.loaded(self.inner.load_index(ids)).await?))
    }

    /// Like [`Self::load_index`], but other agents may be missing in any case.
    pub(crate) async fn load_entries(&self, ids: &[&str]) -> Result<Index, Failure> {
        Ok(self.warned(self.loaded(self.inner.load_entries(ids)).await?))
    }

    fn warned(&self, index: Index) -> Index {
        match index.notes.as_slice() {
            [] => {}
            [note] => self.ui.warning(&format!("in the registry index, {note}")),
            _ => self
                .ui
                .warning("some entries of the registry index cannot be used; `acp-registry list` says which and why"),
        }
        index
    }

    /// Reads the index. Warns about every part of it that cannot be used.
    pub(crate) async fn index_with_notes(&self) -> Result<Index, Failure> {
        let index = self.loaded(self.inner.index()).await?;
        for note in &index.notes {
            self.ui.warning(&format!("in the registry index, {note}"));
        }
        Ok(index)
    }

    async fn loaded(&self, loading: impl Future<Output = Result<Loaded, index::Error>>) -> Result<Index, Failure> {
        self.refuse_wrong_index()?;
        self.ui.detail(&format!("the registry index is {}", self.options().index));
        network::warn_of_foreign_cache(self.ui);
        let Loaded { index, warning, .. } = loading.await?;
        if let Some(warning) = warning {
            self.ui.warning(&warning);
        }
        Ok(index)
    }

    /// Reads the index, and returns what would be a warning.
    pub(crate) async fn examine_index(&self) -> Result<Loaded, Failure> {
        self.refuse_wrong_index()?;
        Ok(self.inner.index().await?)
    }

    fn refuse_wrong_index(&self) -> Result<(), Failure> {
        self.wrong_index.as_ref().map_or(Ok(()), |wrong| Err(wrong_index(wrong.clone())))
    }

    /// Returns the cached entry of an agent, or the cached index. No request is sent.
    pub(crate) fn entry_at_hand(&self, id: &str) -> Option<Index> {
        if self.wrong_index.is_some() { None } else { self.inner.entry_at_hand(id) }
    }

    /// Returns the cached index, if there is one. No request is sent.
    pub(crate) fn index_at_hand(&self) -> Option<Index> {
        if self.wrong_index.is_some() { None } else { self.inner.index_at_hand() }
    }

    /// Returns the named agents, which must be installed, or all installed agents if none is named.
    pub(crate) fn installed(&self, named: &[String]) -> Result<Vec<AgentId>, Failure> {
        self.all_with(named, |id| self.not_installed(id))
    }

    /// Like [`Self::installed`], for commands that remove agents. The help for an unknown id suggests no installation,
    /// and only ids that differ by a typing mistake.
    pub(crate) fn removable(&self, named: &[String]) -> Result<Vec<AgentId>, Failure> {
        let near = |id: &str| {
            self.absent(id, |known| known.iter().map(AgentId::as_str).filter(|known| is_mistyped(id, known)).collect())
        };
        self.all_with(named, near)
    }

    fn all_with(&self, named: &[String], missing: impl Fn(&str) -> Failure) -> Result<Vec<AgentId>, Failure> {
        let known = self.store.ids()?;
        if named.is_empty() {
            return Ok(known);
        }
        let find = |id: &String| known.iter().find(|known| **known == **id).cloned().ok_or_else(|| missing(id));
        let mut found = Vec::new();
        for id in named {
            let id = find(id)?;
            // An agent that is named twice is meant once.
            if !found.contains(&id) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Returns an installed agent; damaged agents are refused.
    pub(crate) fn agent(&self, id: &str) -> Result<StoredAgent, Failure> {
        let Some(agent) = self.store.agent(id)? else {
            let lost = if let Ok(id) = id.parse() { self.store.lost(&id)? } else { None };
            return Err(match lost {
                Some(error) => error.into(),
                None => self.not_installed(id),
            });
        };
        self.refuse_unfit(&agent.current)?;
        Ok(agent)
    }

    /// The failure for an agent that is not installed. If the index has the agent, the help is to install it; otherwise
    /// similar ids are suggested.
    pub(crate) fn not_installed(&self, id: &str) -> Failure {
        let failure = self.absent(id, |known| suggestions(id, known.iter().map(AgentId::as_str)));
        let is_offered = |index: Index| matches!(index.agent(id), Ok(Some(_)));
        if self.entry_at_hand(id).is_some_and(is_offered) {
            failure.help(format!("run `acp-registry install {}`", escape(id)))
        } else {
            failure
        }
    }

    /// The failure for an agent that is not installed, without the help to install it. `near` chooses the ids to suggest.
    fn absent(&self, id: &str, near: impl Fn(&[AgentId]) -> Vec<&str>) -> Failure {
        let root = self.store.root().display();
        let failure = Failure::usage(format!("{} is not installed in {root}", quote(id))).code(Code::NotInstalled);
        let mut known = self.store.ids().unwrap_or_default();
        // One that is being installed has files already.
        known.retain(|known| **known != *id);
        match near(&known) {
            near if near.is_empty() => failure.help("`acp-registry list --installed` shows what is installed"),
            near => failure.suggest(near),
        }
    }

    /// Reports which process an installation waits for.
    pub(crate) fn waits(&self, event: &InstallEvent<'_>) {
        if let InstallEvent::Waiting(holder) = event {
            self.waiting(holder);
        }
    }

    /// Waits while another process installs the version that is started again, and puts it back if that process was killed.
    /// Returns whether there was such a version.
    pub(crate) async fn settle(&self, id: &str) -> Result<bool, Failure> {
        let Some(id) = id.parse().ok().filter(|id| self.store.is_unsettled(id)) else { return Ok(false) };
        self.store.settle(&id, &|holder| self.waiting(holder)).await?;
        Ok(true)
    }

    /// Reports which process the command waits for.
    pub(crate) fn waiting(&self, holder: &str) {
        self.ui.note(&format!("waiting for {holder}"));
    }
}

/// Returns the cached index. No request is sent, and nothing is printed.
pub(crate) fn index_at_hand() -> Option<Index> {
    let args = SessionArgs::default();
    let mut options = session::SessionOptions::new(root(&args).ok()?, env::vars_os());
    options.index = args.named_index().ok()?.unwrap_or_default();
    options.cache = network::cache_dir();
    session::Session::open(options).ok()?.index_at_hand()
}

/// Returns the ids of installed agents. Nothing is printed.
pub(crate) fn installed_at_hand() -> Vec<AgentId> {
    let ids = || Store::at(&root(&SessionArgs::default()).ok()?).ok()?.ids().ok();
    ids().unwrap_or_default()
}

fn wrong_index(error: WrongPlace) -> Failure {
    Failure::usage(error).help("name the address or the path of an index with --index")
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn root(args: &SessionArgs) -> Result<PathBuf, Failure> {
    if let Some(root) = args.named_root() {
        return Ok(root);
    }
    let none = |_| {
        Failure::unable("it is not known where agents are installed: there is no home directory")
            .help("name a directory with --root or ACP_REGISTRY_ROOT")
    };
    let strategy = etcetera::choose_base_strategy().map_err(none)?;
    // On Windows, the data directory is copied over the network at each login, and is not meant for programs.
    let data = if cfg!(windows) { strategy.cache_dir() } else { strategy.data_dir() };
    Ok(data.join("acp-registry"))
}
