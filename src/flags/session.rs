//! The flags of the commands that use agents, and the session that they describe.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry::duration;
use acp_registry::host::fs::PathError;
use acp_registry::host::process::hide_from_agents;
use acp_registry::index::minisign::{PublicKey, WrongKey};
use acp_registry::index::{self, Index, IndexLocation};
use acp_registry::manifest::{AgentId, Platform};
use acp_registry::provenance::Require;
use acp_registry::session::{self, AgentSpec, Session, Terms};
use acp_registry::store::Store;
use acp_registry::text::quote;
use etcetera::BaseStrategy as _;

use crate::flags::global::Global;
use crate::flags::{isolation, network, value};
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
    pub(crate) offline: bool,

    /// Ask for the index even if the copy is fresh
    ///
    /// A copy is fresh for 5m, or for the time that its host sets, at most 1h.
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    refresh: bool,

    /// Where agents are installed [env: `ACP_REGISTRY_ROOT`]
    ///
    /// The default is `acp-registry` in `XDG_DATA_HOME`, else in `~/.local/share`; on Windows, in `%LOCALAPPDATA%`.
    #[arg(long, help_heading = HEADING, value_name = "DIR")]
    root: Option<PathBuf>,

    /// Start, change and remove agents even if other people can change them
    ///
    /// Without it, a directory of agents to which other people can write is refused.
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    trust_root: bool,

    /// The key that signs the registry [env: `ACP_REGISTRY_SIGNER`]
    ///
    /// A public key of minisign. The default is the key that this machine has seen first.
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "KEY")]
    signer: Option<PublicKey>,

    /// Install and start this version although the registry has revoked it (repeatable)
    #[arg(long, help_heading = HEADING, hide_short_help = true, value_name = "ID@VERSION")]
    allow_revoked: Vec<AgentSpec>,

    /// The platform [default: this machine's]
    #[arg(long, help_heading = HEADING, value_name = "OS-ARCH", add = value::platforms())]
    platform: Option<Platform>,

    /// How long to wait for other processes [default: 5m]
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
    fn named_index(&self) -> Option<IndexLocation> {
        let named = self.index.clone().or_else(|| variable("ACP_REGISTRY_INDEX"));
        named.map(|text| text.parse().unwrap_or_else(IndexLocation::Unusable))
    }

    fn index(&self) -> IndexLocation {
        self.named_index().unwrap_or_default()
    }

    /// The directory for agents, from the flag or the environment.
    fn named_root(&self) -> Option<PathBuf> {
        let named = self.root.clone().or_else(|| env::var_os("ACP_REGISTRY_ROOT").map(PathBuf::from));
        named.filter(|root| !root.as_os_str().is_empty())
    }

    /// The flags that select the same index and agents for a process with another environment and working directory.
    pub(crate) fn flags(&self) -> Result<Vec<String>, Failure> {
        let mut flags = match self.named_index() {
            Some(IndexLocation::Path(path)) => vec!["--index".to_owned(), in_settings(&path)?],
            named => address_flags(named)?,
        };
        flags.extend(self.root_flags()?);
        Ok([flags, self.trust_flags()?].concat())
    }

    /// The flags that select the same agents of this machine.
    pub(crate) fn root_flags(&self) -> Result<Vec<String>, Failure> {
        let root = self.named_root().map(|root| in_settings(&root)).transpose()?;
        Ok(root.into_iter().flat_map(|root| ["--root".to_owned(), root]).collect())
    }

    /// The flags that select the same index for a process on another machine. `--root` names a directory of this one.
    pub(crate) fn flags_elsewhere(&self) -> Result<Vec<String>, Failure> {
        let named = self.named_index();
        if let Some(IndexLocation::Path(path)) = &named {
            let message = format!("the index {} is on this machine only", quote(&path.display().to_string()));
            return Err(Failure::usage(message)
                .help("name with --index the address of an index that the other machine can reach"));
        }
        let refresh = self.refresh.then(|| "--refresh".to_owned());
        let platform = self.platform.map(|platform| format!("--platform={platform}"));
        let wait = self.wait.map(|limit| format!("--wait={}s", limit.as_secs_f64()));
        let more = refresh.into_iter().chain(platform).chain(wait).collect();
        Ok([address_flags(named)?, self.trust_flags()?, more].concat())
    }

    /// The flags about what is trusted, also if the environment states it: another process may have another one.
    fn trust_flags(&self) -> Result<Vec<String>, Failure> {
        let given = flags([("--offline", self.offline), ("--trust-root", self.trust_root)]);
        let signer = signer(self.signer)?.into_iter().flat_map(|key| ["--signer".to_owned(), key.to_string()]);
        let allowed = self.allow_revoked.iter().flat_map(|named| ["--allow-revoked".to_owned(), named.to_string()]);
        Ok(given.chain(signer).chain(allowed).collect())
    }
}

/// A path for a process with another working directory.
pub(crate) fn in_settings(path: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(path).map_err(PathError::at(path))?;
    let text = path.to_str().map(ToOwned::to_owned);
    text.ok_or_else(|| Failure::unable(format!("{} is not Unicode, which settings must be", path.display())))
}

/// The flags that select an index by its address.
fn address_flags(index: Option<IndexLocation>) -> Result<Vec<String>, Failure> {
    match index {
        Some(IndexLocation::Url(url)) if !url.username().is_empty() || url.password().is_some() => {
            let message = "the address of the index has a name or a password, which settings would show";
            Err(Failure::usage(message).help("name an address without, or a copy of the index"))
        }
        Some(IndexLocation::Url(url)) => Ok(vec!["--index".to_owned(), url.to_string()]),
        Some(IndexLocation::Unusable(wrong)) => Err(index::Error::from(wrong).into()),
        Some(IndexLocation::Path(_)) | None => Ok(Vec::new()),
    }
}

/// Flags about what must be proven of the bytes that are installed.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct TermsArgs {
    /// What must be proven [default: none]
    ///
    /// `digest`: a digest was stated, and the bytes have it. `attested`: a workflow of the repository that the manifest names
    /// has built them; its publisher is remembered, and later versions must be by the same one.
    #[arg(long, value_name = "PROOF", value_parser = value::parse_name(&Require::ALL, Require::as_str), default_value = "none", hide_default_value = true)]
    pub(crate) require: Require,

    /// Agree to a new publisher, to a weaker proof, or to none
    ///
    /// For agents whose publisher is remembered. An attestation that is forged or of another repository is still refused.
    #[arg(long)]
    pub(crate) accept_publisher: bool,
}

impl TermsArgs {
    /// The same flags, for this program on another machine.
    pub(crate) fn flags(self) -> Vec<String> {
        let accept = self.accept_publisher.then(|| "--accept-publisher".to_owned());
        ["--require".to_owned(), self.require.as_str().to_owned()].into_iter().chain(accept).collect()
    }

    pub(crate) fn terms(self) -> Terms {
        Terms::new(self.require, self.accept_publisher)
    }
}

/// Flags about package managers.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct PackageArgs {
    /// Use no cache of packages, and leave nothing in one
    #[arg(long)]
    no_cache: bool,

    /// Let uv build Python packages from source
    ///
    /// A build runs code of these packages.
    #[arg(long)]
    allow_build: bool,

    /// Time limit for the installation of an agent [default: 30m]
    ///
    /// npm and uv have their own limits for hosts that do not answer.
    #[arg(long, value_name = "DURATION", value_parser = duration::limit)]
    install_timeout: Option<Duration>,
}

impl PackageArgs {
    /// The same flags, for this program on another machine.
    pub(crate) fn flags(self) -> Vec<String> {
        let limit = self.install_timeout.map(|limit| format!("--install-timeout={}s", limit.as_secs_f64()));
        flags([("--no-cache", self.no_cache), ("--allow-build", self.allow_build)]).chain(limit).collect()
    }
}

/// The flags that are given.
pub(crate) fn flags<const N: usize>(flags: [(&str, bool); N]) -> impl Iterator<Item = String> {
    flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag.to_owned())
}

/// Opens the session that these flags describe.
pub(crate) fn open(args: &SessionArgs, packages: PackageArgs, global: &Global) -> Result<Session, Failure> {
    let mut options = session::SessionOptions::new(root(args)?, env::vars_os());
    options.index = args.index();
    options.cache = network::cache_dir();
    options.cache_problem = network::cache_problem();
    options.is_offline = args.offline;
    options.refresh = args.refresh;
    options.trusts_others = args.trust_root;
    options.patience = args.wait.unwrap_or(options.patience);
    options.platform = args.platform;
    if let Some(named) = args.allow_revoked.iter().find(|named| named.version.is_none()) {
        let failure = Failure::usage(format!("--allow-revoked {named} names no version"));
        return Err(failure.help("name the version that you trust, as ID@VERSION"));
    }
    options.signer = signer(args.signer)?;
    options.allowed_revoked.clone_from(&args.allow_revoked);
    options.allowed_hosts = global.allowed_hosts()?;
    options.keeps_packages = !packages.no_cache;
    options.allow_build = packages.allow_build;
    if let IndexLocation::Path(registry) = &options.index
        && registry.is_dir()
    {
        let config = global.config_in(registry)?;
        options.builders = config.builders();
        options.approved_scripts = config.approved_scripts();
    }
    options.install_timeout = packages.install_timeout;
    options.launcher = isolation::launcher();
    // Install scripts, and agents that are started to check them, run as the user.
    hide_from_agents();
    Ok(Session::open(options)?)
}

/// Returns the cached index. No request is sent, and nothing is printed.
pub(crate) fn index_at_hand() -> Option<Index> {
    let args = SessionArgs::default();
    let mut options = session::SessionOptions::new(root(&args).ok()?, env::vars_os());
    options.index = args.index();
    options.cache = network::cache_dir();
    Session::open(options).ok()?.index_at_hand()
}

/// Returns the ids of installed agents. Nothing is printed.
pub(crate) fn installed_at_hand() -> Vec<AgentId> {
    let ids = || Store::at(&root(&SessionArgs::default()).ok()?).ok()?.ids().ok();
    ids().unwrap_or_default()
}

/// The key that a flag or the environment names.
pub(crate) fn signer(named: Option<PublicKey>) -> Result<Option<PublicKey>, Failure> {
    let of_variable = || variable("ACP_REGISTRY_SIGNER").map(|text| text.parse());
    named.map(Ok).or_else(of_variable).transpose().map_err(|error: WrongKey| {
        Failure::usage(format!("ACP_REGISTRY_SIGNER: {error}"))
            .help("set it to the key that signs the registry, or unset it")
    })
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
