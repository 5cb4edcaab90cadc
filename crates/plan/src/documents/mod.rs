//! The JSON documents that describe an index and a plan, as described by `schemas/cli/`: those of `list` and `resolve`, and
//! the parts that they share with the documents of other commands.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::index::{Entry, Index};
use crate::manifest::{AgentId, Platform};
use crate::resolve::{Plan, Source};
use crate::statement::Signed;
use crate::timestamp::Timestamp;
use crate::versions::HeldVersion;

/// The `schema` member of all documents.
const SCHEMA: u32 = 1;

/// The document of a command: its members, and the error if the command failed.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: u32,
    command: Option<&'a str>,
    #[serde(flatten)]
    members: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl<'a, T: Serialize> Document<'a, T> {
    /// Creates the document of a command, without an error.
    pub fn new(command: &'a str, members: T) -> Self {
        Self { schema: SCHEMA, command: Some(command), members, error: None }
    }

    /// Sets the `error` member, if the command failed.
    #[must_use]
    pub fn failed(self, error: Option<Failure>) -> Self {
        Self { error, ..self }
    }

    /// Why the command failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&Failure> {
        self.error.as_ref()
    }

    /// Returns the document as JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        crate::json::to_string(self)
    }
}

/// No members besides `error`: the command failed before it had a result.
#[derive(Debug, Serialize)]
pub struct Nothing {}

impl<'a> Document<'a, Nothing> {
    /// Creates the document of a failed command. `command` is `None` if the arguments name no known command.
    #[must_use]
    pub fn failed_command(command: Option<&'a str>, error: Failure) -> Self {
        Self { schema: SCHEMA, command, members: Nothing {}, error: Some(error) }
    }
}

/// Members of `resolve`.
#[derive(Debug, Serialize)]
pub struct Resolve {
    /// What would be installed, and its command line.
    #[serde(flatten)]
    pub launch: Launch,
    /// The index.
    pub index: IndexOrigin,
}

/// What the index says about an agent. All members are `None` if there is no index, or if it does not have the agent.
#[derive(Debug, Default, Serialize)]
pub struct About<'a> {
    name: Option<&'a str>,
    description: Option<&'a str>,
    license: Option<&'a str>,
    icon: Option<&'a str>,
    distributions: Option<Vec<&'static str>>,
    platforms: Option<&'a [Cow<'static, str>]>,
    available_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'a HeldVersion>,
}

impl<'a> About<'a> {
    /// Describes an entry.
    #[must_use]
    pub fn of(entry: &'a Entry) -> Self {
        let text = |value: &'a str| Some(value).filter(|value| !value.is_empty());
        Self {
            name: text(&entry.name),
            description: text(&entry.description),
            license: text(&entry.license),
            icon: text(&entry.icon),
            distributions: Some(kinds(entry)),
            platforms: Some(&entry.platforms),
            available_version: text(&entry.version),
            held: entry.held.as_deref(),
        }
    }
}

/// The kinds of distribution of an entry, in order of preference.
#[must_use]
pub fn kinds(entry: &Entry) -> Vec<&'static str> {
    let kinds = [("binary", !entry.platforms.is_empty()), ("npx", entry.has_npx), ("uvx", entry.has_uvx)];
    kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
}

/// An agent in the index, for `list` and `search`.
#[derive(Debug, Serialize)]
pub struct ListedAgent<'a> {
    #[serde(flatten)]
    about: About<'a>,
    installed: bool,
    installed_version: Option<&'a str>,
    pinned: bool,
    id: &'a str,
    version: &'a str,
}

impl<'a> ListedAgent<'a> {
    /// Combines an entry with the agent's installed version, if any, and whether it is pinned.
    #[must_use]
    pub fn of(entry: &'a Entry, installed_version: Option<&'a str>, pinned: bool) -> Self {
        Self {
            about: About::of(entry),
            installed: installed_version.is_some(),
            installed_version,
            pinned,
            id: &entry.id,
            version: &entry.version,
        }
    }
}

/// Members of `list` and `search`.
#[derive(Debug, Serialize)]
pub struct AgentList<'a> {
    /// The index.
    pub index: IndexOrigin,
    /// SHA-256 of the index.
    pub index_sha256: &'a str,
    /// The agents: of `list` in the order of the index, of `search` the best match first.
    pub agents: Vec<ListedAgent<'a>>,
    /// The parts of the index that cannot be used, and why.
    pub notes: &'a [String],
}

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
    #[serde(serialize_with = "crate::json::optional_path")]
    pub program: Option<PathBuf>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// Environment variables that the manifest sets.
    pub env: Map<String, Value>,
    /// Whether this version is installed.
    pub installed: bool,
    /// The directory of this version, whether it exists yet or not.
    #[serde(serialize_with = "crate::json::path")]
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
    #[serde(serialize_with = "crate::json::paths")]
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
    /// Who has built it, where that was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Value>,
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
                let is_locked = plan.expected.packages.is_some() && !plan.expected.is_published;
                let verified = if is_locked { "lock" } else { usual };
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
    /// Who has signed the index; absent where the registry signs nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
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
            signed: index.origin.signed.clone(),
        }
    }
}
