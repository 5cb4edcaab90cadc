use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use acp_registry_client::index::Index;
use acp_registry_client::install::Source;
use acp_registry_client::resolve::Plan;
use acp_registry_client::store::{self, Store};
use acp_registry_core::manifest::{AgentId, Platform};
use acp_registry_core::timestamp::Timestamp;

/// How an agent is started, and what is known of the bytes that were or would be installed.
#[derive(Debug, Clone, Serialize)]
pub struct Launch {
    /// The agent.
    pub id: AgentId,
    /// Its version.
    pub version: String,
    /// The kind of distribution that is or would be installed.
    pub distribution: String,
    /// The platform that it is for, where that is known.
    pub platform: Option<String>,
    /// Absolute path of the program to start; `None` where only the installation will show it.
    pub program: Option<PathBuf>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// Variables that the manifest sets for the agent.
    pub env: Map<String, Value>,
    /// Whether this version is installed.
    pub installed: bool,
    /// The directory that holds, or would hold, this version.
    pub install_dir: PathBuf,
    /// Address of the archive.
    pub archive: Option<String>,
    /// The package with its version.
    pub package: Option<String>,
    /// SHA-256 of the archive, where it is known.
    pub sha256: Option<String>,
    /// What the package manager states of the package's bytes, in its own form.
    pub integrity: Option<String>,
    /// How the bytes were, or would be, verified.
    pub verified: String,
    /// SHA-256 of the index that the version was taken from.
    pub index_sha256: Option<String>,
    /// What only an installation shows.
    #[serde(flatten)]
    pub installation: Option<Installation>,
}

/// What only an installation shows.
#[derive(Debug, Clone, Serialize)]
pub struct Installation {
    /// When it was installed. RFC 3339.
    pub installed_at: String,
    /// Bytes that it takes on disk.
    pub size: u64,
    /// Packages whose install scripts npm has not run.
    pub scripts_not_run: Vec<String>,
    /// What forbade npm to run them.
    pub scripts_ignored_by: Option<String>,
    /// Whether it answered; `None`: it was not asked.
    pub answers: Option<bool>,
}

impl Launch {
    /// Of an installed version, which is started like this.
    #[must_use]
    pub fn of_version(version: &store::Version, launch: store::Launch) -> Self {
        let receipt = version.receipt.clone();
        Self {
            id: receipt.id,
            version: receipt.version,
            distribution: receipt.distribution,
            platform: receipt.platform,
            program: Some(launch.program),
            args: launch.args,
            env: launch.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
            installed: true,
            install_dir: version.directory.clone(),
            archive: receipt.archive,
            package: receipt.package,
            sha256: receipt.sha256,
            integrity: receipt.integrity,
            verified: receipt.verified,
            index_sha256: receipt.index_sha256,
            installation: Some(Installation {
                installed_at: receipt.installed_at,
                size: receipt.size,
                scripts_not_run: receipt.scripts_not_run,
                scripts_ignored_by: receipt.scripts_ignored_by,
                answers: receipt.answers,
            }),
        }
    }

    /// Of a plan. What an installation has yet to find out is missing.
    #[must_use]
    pub fn of_plan(plan: &Plan, store: &Store) -> Self {
        let place = store.place(&plan.id, &plan.folder());
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
            install_dir: place.clone(),
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
                    program: Some(program(&Store::files(&place), &target.cmd)),
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

/// Where an archive's program will be: its path as the manifest has it, which is looked at when the archive is there.
fn program(files: &Path, cmd: &str) -> PathBuf {
    let parts = cmd.split(['/', '\\']).filter(|part| !["", ".", ".."].contains(part));
    parts.fold(files.to_owned(), |path, part| path.join(part))
}

/// The index that a document is made from.
#[derive(Debug, Clone, Serialize)]
pub struct IndexOrigin {
    /// Its address or path.
    pub source: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// When its host sent or last confirmed it; for a file, when it last changed. RFC 3339.
    pub fetched_at: Option<String>,
    /// Whether it is an earlier copy because it could not be fetched now.
    pub stale: bool,
}

impl IndexOrigin {
    /// Of an index.
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
