//! INSTALL: puts what a manifest names below a directory, and finds its program.
//!
//! ```text
//! package ─→ npm, or a tree of its list ─┐
//! package ─→ uv ─────────────────────────┼─→ Start: an absolute path, arguments, variables
//! archive ───────────────────────────────┘
//! ```
//!
//! * [`Installer`]: the package managers, the HTTP client and the limits that an installation uses
//! * [`Source`]: what a manifest names for one kind of distribution
//! * [`Start`]: how an installed agent is started
//! * [`host_environment`]: the variables of a host, with a `PATH` that a start without a shell lacks
//! * [`Placed`]: what was installed: its files, the interpreter that they need, and the proof of their bytes
//! * [`Progress`]: how far an installation is
//!
//! Package managers run as agents do (see [`acp_registry_host::process`]): without access to the person's home, in
//! a session of their own, and ended with all processes that they have started. They also get the configuration of the
//! person's own package managers. Install scripts of npm packages run, as with `npx`, since some agents fetch their
//! program in one; they see the variables of npm. With a list of packages, only those of the agent's own package and approved
//! ones run.
//!
//! The store keeps what is installed, and starts it again. To install into a directory of your own:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use acp_registry_client::install::{Installer, Source};
//! use acp_registry_plan::manifest::Package;
//! use acp_registry_http::{Client, Proxies, Settings};
//! use acp_registry_host::process::Environment;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let proxies = Proxies::new(&|name| std::env::var(name).ok());
//! let client = Arc::new(Client::new(Settings { proxies, ..Settings::default() }));
//! let installer = Installer::new(client, Environment::from_host(std::env::vars_os()));
//! let package = Package { package: "someagent@1.0.0".to_owned(), ..Package::default() };
//! let (place, temporary) = (std::path::absolute("empty")?, std::env::temp_dir());
//! let source = Source::Npx(package);
//! let start = installer.install(&source, &place, &temporary).await?.start(&source, &place)?;
//! println!("{} {}", start.program.display(), start.args.join(" "));
//! # Ok(())
//! # }
//! ```

mod binary;
mod cache;
mod cancel;
mod closure;
mod error;
mod failure;
mod node;
mod npm;
mod package_manager;
mod package_store;
mod places;
mod scripts;
mod tree;
mod uv;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::provenance::{Inquiry, Provenance};
use acp_registry_archive::Limits;
use acp_registry_host::fs::PathError;
use acp_registry_host::process::Environment;
use acp_registry_http::Client;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{NpmSpec, Platform, PypiSpec};
pub use acp_registry_plan::resolve::{Expected, Kind, NotForPlatform, Source};
use acp_registry_sources::Registries;
use acp_registry_sources::github::Github;
use acp_registry_sources::pypi::normalized;
pub use binary::github_digest;
pub use cache::PackageCache;
pub(crate) use cancel::cancellable;
pub use closure::Closure;
pub(crate) use error::newer;
pub use error::{Error, HeldBack, TooOld};
pub use failure::ToolFailure;
pub use node::{Interpreter, Shortfall};
pub(crate) use npm::integrity_in;
pub use places::host_environment;
pub(crate) use places::{path_environment, variable};
pub use scripts::ScriptsNotRun;
use serde::{Deserialize, Serialize};
pub use tree::NpmConnection;

/// How an installed agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Start {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments: flags and the agent's file where the program is an interpreter, then those of the manifest.
    pub args: Vec<String>,
    /// Variables of the manifest.
    pub env: Vec<(String, String)>,
    /// Directories with programs that the agent may look for in `PATH`, as it does when a package runner starts it: that of
    /// its runtime, and those beside it.
    pub beside: Vec<PathBuf>,
}

impl Start {
    /// The start of a source by its file, or by a link to it. `beside` has the directories of programs that were installed with it.
    pub(crate) fn new(
        source: &Source,
        program: PathBuf,
        interpreter: Option<(&Interpreter, PathBuf)>,
        beside: Vec<PathBuf>,
    ) -> Self {
        let (args, env) = (source.arguments().iter().cloned(), source.variables().to_vec());
        let Some((interpreter, runtime)) = interpreter else {
            return Self { program, args: args.collect(), env, beside };
        };
        let file = program.to_string_lossy().into_owned();
        Self {
            args: interpreter.flags.iter().cloned().chain([file]).chain(args).collect(),
            env,
            beside: runtime.parent().map(Path::to_owned).into_iter().chain(beside).collect(),
            program: runtime,
        }
    }

    /// Starts another program instead, such as a sandbox, which gets the agent's command line after its own arguments.
    #[must_use]
    pub fn behind(self, program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let own = self.program.to_string_lossy().into_owned();
        let args = arguments.iter().map(|argument| (*argument).to_owned()).chain([own]).chain(self.args).collect();
        Self { program: program.into(), args, ..self }
    }
}

/// Remarks of a successful installation: what may keep the agent from working.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Remarks {
    /// The install scripts that npm has not run.
    pub scripts_not_run: ScriptsNotRun,
    /// Whether packages could be built from source, which runs their code.
    pub may_build: bool,
    /// Whether the file of the npm package's command has no `#!`, so that a shell reads it, as it does for `npx`.
    pub is_read_by_shell: bool,
}

/// An agent whose files are in place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// Absolute path of the agent's own file.
    pub program: PathBuf,
    /// The link to it that npx starts: a program may look at the name by which it is started.
    pub link: Option<PathBuf>,
    /// The interpreter of that file, if the system cannot start it directly.
    pub interpreter: Option<Interpreter>,
    /// How the bytes were verified.
    pub proof: Proof,
    /// Who has built them, where that was asked.
    pub provenance: Option<Provenance>,
    /// What may keep the agent from working.
    pub remarks: Remarks,
}

/// Default timeout of an installation for people, who may have a slow network.
pub const INSTALL_TIMEOUT: Duration = Duration::from_mins(30);

/// Installs agents.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches that a caller sets by name")]
pub struct Installer {
    /// What package managers may see of the host, as agents do.
    pub environment: Environment,
    /// Further variables for npm, see [`acp_registry_sources::npm_variables`].
    pub npm: Vec<(String, String)>,
    /// Further variables for uv, see [`acp_registry_sources::uv_variables`].
    pub uv: Vec<(String, String)>,
    /// The package registries that are configured, for messages.
    pub registries: Registries,
    /// Fetches archives.
    pub client: Arc<Client>,
    /// The host that is asked for the digest of an archive when the manifest has none; with `None`, no host is asked.
    pub github: Option<Github>,
    /// What an archive may ask for.
    pub limits: Limits,
    /// The platform that archives must be for; `None` where no agent is made for the host.
    pub platform: Option<Platform>,
    /// How long an installation may take.
    pub timeout: Duration,
    /// The `acp-registry` executable, which sets the limits of package managers; see
    /// [`LaunchSpec::launcher`](acp_registry_host::process::LaunchSpec::launcher).
    pub launcher: Option<PathBuf>,
    /// Where npm and uv keep what they have fetched, and this program unpacked packages of npm; with `None`, each
    /// installation fetches everything.
    pub packages: Option<PackageCache>,
    /// Fetches the packages of a list, which are then put in place without npm; or why npm installs them.
    pub npm_connection: Result<NpmConnection, String>,
    /// Whether nothing may be fetched, by npm neither.
    pub is_offline: bool,
    /// Whether packages of npm that are kept unpacked are fetched again.
    pub distrusts_packages: bool,
    /// Whether uv may build packages from source, which runs code of these packages.
    pub allow_build: bool,
    /// Whether the manifest vouches for the install scripts of the npm package that it names, where npm (since version
    /// 12) runs those alone that its user allows. `npx` then runs none.
    pub vouches: bool,
    /// Whether bytes without a digest to compare are refused.
    pub requires_digest: bool,
    /// How it is asked who has built the bytes; with `None`, it is not asked.
    pub inquiry: Option<Arc<Inquiry>>,
}

impl Installer {
    /// An installer for this machine that asks no host for digests, sets nothing for package managers, has no package cache and
    /// builds no package from source. An installation may take 30 minutes.
    #[must_use]
    pub fn new(client: Arc<Client>, environment: Environment) -> Self {
        Self {
            environment,
            npm: Vec::new(),
            uv: Vec::new(),
            registries: Registries::default(),
            client,
            github: None,
            limits: Limits::default(),
            platform: Platform::host(),
            timeout: INSTALL_TIMEOUT,
            launcher: None,
            packages: None,
            npm_connection: Err("npm installs its packages".to_owned()),
            is_offline: false,
            distrusts_packages: false,
            allow_build: false,
            vouches: true,
            requires_digest: false,
            inquiry: None,
        }
    }

    /// Puts what a manifest names below `directory`, which must be absolute, empty, and the caller's alone. Temporary
    /// files are made below `temporary`, and removed when this returns or is dropped.
    ///
    /// Takes as long as the timeout at most, and then up to 9 s for the end of the package manager's processes; the
    /// unpacking of an archive is bounded by its limits.
    ///
    /// # Errors
    /// [`Error`]; what is below the directory is then of no use.
    pub async fn install(&self, source: &Source, directory: &Path, temporary: &Path) -> Result<Placed, Error> {
        self.place(source, &Expected::default(), directory, temporary, &|_| ()).await
    }

    /// Like [`Installer::install`], with expected digests and progress.
    ///
    /// # Errors
    /// [`Error`]; what is below the directory is then of no use.
    pub async fn place(
        &self,
        source: &Source,
        expected: &Expected,
        directory: &Path,
        temporary: &Path,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Placed, Error> {
        let work = InstallJob { installer: self, expected, directory, temporary, progress };
        match source {
            Source::Npx(package) => npm::install(&work, package).await,
            Source::Uvx(package) => uv::install(&work, package).await,
            Source::Binary(target) => binary::install(&work, target).await,
        }
    }

    /// The installer that repairs files with changed bytes; `None` where this one does.
    ///
    /// Files of the cache are linked into installations, so that a file that was changed there is changed in the cache as
    /// well: unpacked packages of npm are fetched again; uv's cache is emptied, or not used while another installation needs
    /// it. npm verifies what it takes from its cache.
    #[must_use]
    pub(crate) fn after_change(&self, kind: Kind) -> Option<Self> {
        let cache = self.packages.as_ref()?;
        match kind {
            Kind::Npx => Some(Self { distrusts_packages: true, ..self.clone() }),
            Kind::Uvx => (!cache.empty_uv()).then(|| Self { packages: None, ..self.clone() }),
            Kind::Binary => None,
        }
    }
}

impl Placed {
    /// How the agent is started that was installed from `source` into `directory`.
    ///
    /// # Errors
    /// [`PathError`] when its files cannot be read, or its interpreter is not there.
    pub fn start(&self, source: &Source, directory: &Path) -> Result<Start, PathError> {
        let real = |path: &Path| path.canonicalize().map_err(PathError::at(path));
        let beside = beside(source.kind(), &real(&self.program)?, &real(directory)?);
        let absent = |name: &str| PathError::at(Path::new(name))(std::io::ErrorKind::NotFound.into());
        let found = |one: &Interpreter| one.program.clone().ok_or_else(|| absent(&one.name));
        let runtime = self.interpreter.as_ref().map(|one| Ok::<_, PathError>((one, found(one)?))).transpose()?;
        let file = self.link.as_ref().unwrap_or(&self.program);
        Ok(Start::new(source, file.clone(), runtime, beside))
    }
}

/// The directories of programs that were installed below a directory with an agent's own: npm's links to them, or those
/// beside it.
pub(crate) fn beside(kind: Kind, program: &Path, directory: &Path) -> Vec<PathBuf> {
    if kind != Kind::Npx {
        return program.parent().map(Path::to_owned).into_iter().collect();
    }
    let above = program.ancestors().skip(1).take_while(|folder| folder.starts_with(directory));
    above.map(|folder| folder.join("node_modules/.bin")).filter(|folder| folder.is_dir()).collect()
}

/// One installation.
struct InstallJob<'a> {
    installer: &'a Installer,
    expected: &'a Expected,
    directory: &'a Path,
    temporary: &'a Path,
    progress: &'a (dyn Fn(Progress) + Send + Sync),
}

/// How far an installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A download begins; how many bytes its host announces.
    Downloading(Option<u64>),
    /// This many more bytes were received.
    Received(u64),
    /// The archive is being unpacked.
    Unpacking,
    /// The package manager of this name was started.
    Running(&'static str),
    /// The progress of the package manager, in a few words without hidden characters.
    Phase(&'static str, String),
}

/// Where the expected digest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DigestSource {
    /// The manifest, by the archive's SHA-256.
    Manifest,
    /// GitHub, by the SHA-256 that it computed when the archive was uploaded.
    Github,
    /// A lock file.
    Lock,
    /// The npm registry, by the SHA-512 that npm compares of each package.
    Npm,
    /// The Python package index, over connections that cannot be tampered with. uv compares the digests that it states.
    Pypi,
    /// Nowhere, or by a weak digest: the bytes are what the host has sent.
    None,
}

impl DigestSource {
    /// The name in JSON documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Github => "github",
            Self::Lock => "lock",
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::None => "none",
        }
    }

    /// The source, as a part of a sentence.
    fn speaker(self) -> &'static str {
        match self {
            Self::Manifest => "the manifest",
            Self::Github => "GitHub",
            Self::Lock => "the lock file",
            Self::Npm => "the npm registry",
            Self::Pypi => "the Python package index",
            Self::None => "no source",
        }
    }
}

impl fmt::Display for DigestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is known of the bytes that were installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Proof {
    /// Where the expected digest comes from.
    pub verified: DigestSource,
    /// SHA-256 of the archive, in lower-case hexadecimal; `None` for packages.
    pub sha256: Option<Sha256>,
    /// Integrity value of the package, as npm writes it; `None` where the package manager reports none.
    pub integrity: Option<String>,
}

impl Proof {
    /// The digest of the archive, or the integrity of the package.
    #[must_use]
    pub fn digest(&self) -> Option<String> {
        self.sha256.map(|sha256| sha256.to_string()).or_else(|| self.integrity.clone())
    }

    /// Whether the archive or package has this digest.
    #[must_use]
    pub fn has_digest(&self, digest: &str) -> bool {
        self.digest().is_some_and(|own| own == digest)
    }
}

/// Why an agent was not installed, as reports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallFailure {
    /// A program that installs or starts the agent is not there.
    MissingRuntime,
    /// The runtime is older than the package asks for.
    RuntimeTooOld,
    /// The agent has no archive for the platform.
    UnsupportedPlatform,
    /// The bytes are not those that were stated.
    DigestMismatch,
    /// The package registry has no such package, or no such version of it.
    PackageNotFound,
    /// The version is too new for a setting of the person's npm or uv.
    HeldByCooldown,
    /// The archive was refused.
    UnsafeArchive,
    /// The archive does not have the program that the manifest names.
    CmdNotFound,
    /// Anything else.
    InstallFailed,
}

impl InstallFailure {
    /// The word in JSON documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingRuntime => "missing_runtime",
            Self::RuntimeTooOld => "runtime_too_old",
            Self::UnsupportedPlatform => "unsupported_platform",
            Self::DigestMismatch => "digest_mismatch",
            Self::PackageNotFound => "package_not_found",
            Self::HeldByCooldown => "held_by_cooldown",
            Self::UnsafeArchive => "unsafe_archive",
            Self::CmdNotFound => "cmd_not_found",
            Self::InstallFailed => "install_failed",
        }
    }
}

/// Whether two specifications name the same version of the same package, however they are written.
#[must_use]
pub(crate) fn is_same_package(kind: Kind, a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    match kind {
        Kind::Npx => match (a.parse::<NpmSpec>(), b.parse::<NpmSpec>()) {
            (Ok(a), Ok(b)) => a.name == b.name && a.pin == b.pin,
            _ => false,
        },
        Kind::Uvx => match (a.parse::<PypiSpec>(), b.parse::<PypiSpec>()) {
            (Ok(a), Ok(b)) => normalized(&a.name) == normalized(&b.name) && a.pin == b.pin,
            _ => false,
        },
        Kind::Binary => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_compared_by_what_they_mean() {
        for (kind, a, b, expected) in [
            (Kind::Npx, "@s/p@1.0.0", "@s/p@1.0.0", true),
            (Kind::Npx, "p@1.0.0", "q@1.0.0", false),
            (Kind::Npx, "p@1.0.0", "p@1.0.1", false),
            (Kind::Npx, "p@1.0.0", "git+https://h.example/p", false),
            (Kind::Uvx, "My_Tool==1.0.0", "my-tool==1.0.0", true),
            (Kind::Uvx, "tool[acp]==1.0.0", "tool==1.0.0", true),
            (Kind::Uvx, "tool==1.0.0", "tool==1.0.1", false),
            (Kind::Binary, "a", "b", false),
        ] {
            assert_eq!(is_same_package(kind, a, b), expected, "{a} {b}");
        }
    }
}
