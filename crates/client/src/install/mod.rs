//! INSTALL: puts what a manifest names below a directory, and finds its program.
//!
//! ```text
//! package ─→ npm ─┐
//! package ─→ uv ──┼─→ Installed: an absolute path, arguments, variables
//! archive ────────┘
//! ```
//!
//! * [`Installer`]: the package managers, the HTTP client and the limits that an installation uses
//! * [`Source`]: what a manifest names for one kind of distribution
//! * [`Installed`]: how the agent is started
//! * [`host_environment`]: the variables of a host, with a `PATH` that a start without a shell lacks
//! * [`Placed`], [`Proof`], [`Progress`]: like `Installed`, with the proof of its bytes and its progress, for those who
//!   keep it
//!
//! Package managers run as agents do (see [`acp_registry_host::process`]): without access to the person's home, in
//! a session of their own, and ended with all processes that they have started. They also get the configuration of the
//! person's own package managers. Install scripts of npm packages run, as with `npx`, since some agents fetch their
//! program in one; they see the variables of npm.
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
//! let client = Arc::new(Client::new(Settings { proxies, ..Settings::default() })?);
//! let installer = Installer::new(client, Environment::from_host(std::env::vars_os()));
//! let package = Package { package: "someagent@1.0.0".to_owned(), ..Package::default() };
//! let (place, temporary) = (std::path::absolute("empty")?, std::env::temp_dir());
//! let installed = installer.install(&Source::Npx(package), &place, &temporary).await?;
//! println!("{} {}", installed.program.display(), installed.arguments.join(" "));
//! # Ok(())
//! # }
//! ```

mod binary;
mod cache;
mod closure;
mod cooldown;
mod environment;
mod error;
mod failure;
mod node;
mod npm;
mod npm_range;
mod output;
mod places;
mod progress;
mod proof;
mod python;
mod reason;
mod refusal;
pub mod remedy;
mod same_package;
mod scripts;
mod tool;
mod uv;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use acp_registry_archive::Limits;
use acp_registry_host::fs::PathError;
use acp_registry_host::process::Environment;
use acp_registry_http::Client;
use acp_registry_plan::manifest::Platform;
use acp_registry_sources::Registries;
use acp_registry_sources::github::Github;

pub use acp_registry_plan::resolve::{Expected, Kind, NotForPlatform, Source};
pub use binary::github_digest;
pub use cache::PackageCache;
pub use cooldown::HeldBack;
pub use error::{Error, TooOld};
pub use failure::ToolFailure;
pub use node::Shortfall;
pub(crate) use node::{better_node, node_version};
pub use places::host_environment;
pub use progress::Progress;
pub(crate) use proof::is_sha512;
pub use proof::{DigestSource, Proof};
pub use reason::InstallFailure;
pub(crate) use same_package::is_same_package;
pub use scripts::ScriptsNotRun;

/// An agent that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments: the agent's file where the program is an interpreter, then those of the manifest.
    pub arguments: Vec<String>,
    /// Directories with programs that it may look for in `PATH`, as it does when a package runner starts it.
    pub beside: Vec<PathBuf>,
    /// What may keep it from working.
    pub remarks: Remarks,
}

/// Remarks of a successful installation: what may keep the agent from working.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remarks {
    /// The install scripts that npm has not run.
    pub scripts_not_run: ScriptsNotRun,
    /// How the runtime falls short of what the package requires; many packages run all the same.
    pub shortfall: Option<Shortfall>,
    /// Whether packages could be built from source, which runs their code.
    pub may_build: bool,
    /// Whether the file of the npm package's command has no `#!`, so that a shell reads it, as it does for `npx`.
    pub is_read_by_shell: bool,
}

/// An interpreter that starts a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interpreter {
    /// Its name, by which it is found again when it has moved.
    pub name: &'static str,
    /// Where it is.
    pub program: PathBuf,
    /// Its flags, which come before the program's file.
    pub flags: Vec<String>,
    /// Its version, if it prints one.
    pub version: Option<String>,
    /// The versions that the package requires, if it requires some.
    pub wanted: Option<String>,
}

/// An agent whose files are in place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// Absolute path of the agent's own file.
    pub program: PathBuf,
    /// The interpreter of that file, if the system cannot start it directly.
    pub interpreter: Option<Interpreter>,
    /// How the bytes were verified.
    pub proof: Proof,
    /// What may keep the agent from working.
    pub remarks: Remarks,
}

/// Installs agents.
#[derive(Debug, Clone)]
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
    /// Where npm and uv keep what they have fetched; with `None`, each installation fetches everything.
    pub packages: Option<PackageCache>,
    /// Whether uv may build packages from source, which runs code of these packages.
    pub allow_build: bool,
    /// Whether the manifest vouches for the install scripts of the npm package that it names, where npm (since version
    /// 12) runs those alone that its user allows. `npx` then runs none.
    pub vouches: bool,
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
            timeout: Duration::from_mins(30),
            launcher: None,
            packages: None,
            allow_build: false,
            vouches: true,
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
    pub async fn install(&self, source: &Source, directory: &Path, temporary: &Path) -> Result<Installed, Error> {
        self.install_with_progress(source, directory, temporary, &|_| ()).await
    }

    /// Like [`Installer::install`]; `progress` receives the progress.
    ///
    /// # Errors
    /// [`Error`]; what is below the directory is then of no use.
    pub async fn install_with_progress(
        &self,
        source: &Source,
        directory: &Path,
        temporary: &Path,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<Installed, Error> {
        let placed = self.place(source, &Expected::default(), directory, temporary, progress).await?;
        let real = |path: &Path| path.canonicalize().map_err(PathError::at(path));
        let beside = beside(source.kind(), &real(&placed.program)?, &real(directory)?);
        let (program, mut arguments) = match placed.interpreter {
            None => (placed.program, Vec::new()),
            Some(interpreter) => {
                let mut arguments = interpreter.flags;
                arguments.push(placed.program.to_string_lossy().into_owned());
                (interpreter.program, arguments)
            }
        };
        arguments.extend_from_slice(source.arguments());
        Ok(Installed { program, arguments, beside, remarks: placed.remarks })
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
    /// uv links files of its cache into environments, so that a file that was changed there is changed in the cache as
    /// well: uv's cache is emptied, or not used while another installation needs it. npm verifies what it takes from
    /// its cache.
    #[must_use]
    pub(crate) fn after_change(&self, kind: Kind) -> Option<Self> {
        let cache = self.packages.as_ref().filter(|_| kind == Kind::Uvx)?;
        (!cache.empty_uv()).then(|| Self { packages: None, ..self.clone() })
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
