use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::index::Index;
use crate::manifest::{AgentId, Platform};
use crate::resolve::{Plan, Source};
use crate::timestamp::Timestamp;

/// How to start a version of an agent, where its bytes come from, and how they are verified.
#[derive(Debug, Clone, Serialize)]
pub struct Launch {
    /// The id of the agent.
    pub id: AgentId,
    /// The version.
    pub version: String,
    /// The kind of distribution.
    pub distribution: String,
    /// The platform of the distribution, if it depends on one.
    pub platform: Option<String>,
    /// Absolute path of the program; `None` if it is only known after the installation.
    pub program: Option<PathBuf>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// Environment variables that the manifest sets.
    pub env: Map<String, Value>,
    /// Whether this version is installed.
    pub installed: bool,
    /// The directory of this version, whether it exists yet or not.
    pub install_dir: PathBuf,
    /// URL of the archive.
    pub archive: Option<String>,
    /// The package and its version.
    pub package: Option<String>,
    /// SHA-256 of the archive in hexadecimal, if known.
    pub sha256: Option<String>,
    /// The digest that the package manager reports, in its own format.
    pub integrity: Option<String>,
    /// How the bytes were verified, or would be.
    pub verified: String,
    /// SHA-256 of the index that the version was taken from.
    pub index_sha256: Option<String>,
    /// The members that exist only for an installed version.
    #[serde(flatten)]
    pub installation: Option<Installation>,
}

/// What is known only of an installed version.
#[derive(Debug, Clone, Serialize)]
pub struct Installation {
    /// Directories that `run` appends to the agent's `PATH`.
    pub path: Vec<PathBuf>,
    /// Time of the installation. RFC 3339.
    pub installed_at: String,
    /// Size on disk in bytes.
    pub size: u64,
    /// Packages whose install scripts npm did not run.
    pub scripts_not_run: Vec<String>,
    /// The setting that stopped npm from running them.
    pub scripts_ignored_by: Option<String>,
    /// Whether the agent answered `initialize`; `None` if it was not started.
    pub answers: Option<bool>,
}

impl Launch {
    /// Describes a plan, which installs files into `files`, a folder of `install_dir`. Members that only an installation can
    /// fill are left empty.
    #[must_use]
    pub fn planned(plan: &Plan, install_dir: &Path, files: &Path) -> Self {
        let variables = plan.source.variables().iter();
        let planned = Self {
            id: plan.id.clone(),
            version: plan.version.clone(),
            distribution: plan.kind().as_str().to_owned(),
            platform: plan.platform.map(|platform: Platform| platform.as_str().to_owned()),
            program: None,
            args: plan.source.arguments().to_vec(),
            env: variables.map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
            installed: false,
            install_dir: install_dir.to_owned(),
            archive: None,
            package: None,
            sha256: None,
            integrity: None,
            verified: String::new(),
            index_sha256: plan.index_sha256.clone(),
            installation: None,
        };
        match &plan.source {
            Source::Binary(target) => {
                let verified = match (&target.sha256, &plan.expected.sha256) {
                    (Some(_), _) => "manifest",
                    (None, Some(_)) => "lock",
                    (None, None) => "none",
                };
                let sha256 = target.sha256.as_ref().or(plan.expected.sha256.as_ref());
                Self {
                    program: Some(program(files, &target.cmd)),
                    archive: Some(target.archive.clone()),
                    sha256: sha256.map(|digest| digest.to_ascii_lowercase()),
                    verified: verified.to_owned(),
                    ..planned
                }
            }
            Source::Npx(package) | Source::Uvx(package) => {
                let usual = if matches!(plan.source, Source::Npx(_)) { "npm" } else { "pypi" };
                let verified = if plan.expected.packages.is_some() { "lock" } else { usual };
                Self { package: Some(package.package.clone()), verified: verified.to_owned(), ..planned }
            }
        }
    }
}

/// The path that an archive's program will have. It is built from the manifest's `cmd` alone; the installation checks the
/// path once the archive is unpacked.
fn program(files: &Path, cmd: &str) -> PathBuf {
    let parts = cmd.split(['/', '\\']).filter(|part| !["", ".", ".."].contains(part));
    parts.fold(files.to_owned(), |path, part| path.join(part))
}

/// The index that a document was made from.
#[derive(Debug, Clone, Serialize)]
pub struct IndexOrigin {
    /// URL or path of the index.
    pub source: String,
    /// SHA-256 of the index.
    pub sha256: String,
    /// When the server sent or last confirmed the index; for a file, its modification time. RFC 3339.
    pub fetched_at: Option<String>,
    /// Whether this is a cached copy, used because the index could not be fetched.
    pub stale: bool,
}

impl IndexOrigin {
    /// Describes an index.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        let fetched_at = index.origin.fetched_at.and_then(Timestamp::of).map(|time| time.to_string());
        Self {
            source: index.origin.source.clone(),
            sha256: index.sha256().to_owned(),
            fetched_at,
            stale: index.origin.is_stale,
        }
    }
}
