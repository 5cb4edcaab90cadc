//! What was installed, as a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Stamp, StoredInterpreter};
use crate::install::{DigestSource, Kind, Placed, ScriptsNotRun, Source};
use crate::resolve::{Host, Plan};
use acp_registry_plan::json;
use acp_registry_plan::manifest::{AgentId, Platform, env_name};
use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;

/// The number of this format. A format that older versions cannot read gets another number.
const SCHEMA: u32 = 1;

/// What was installed, from where, and how it was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of the format.
    pub schema: u32,
    /// The agent.
    pub id: AgentId,
    /// Its version.
    pub version: String,
    /// The kind of distribution: `npx`, `uvx` or `binary`.
    pub distribution: String,
    /// The platform, as manifests write it.
    pub platform: Option<String>,
    /// The package with its version.
    pub package: Option<String>,
    /// The command of the package, where the manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The last day whose releases uv has taken, where the manifest names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_newer: Option<String>,
    /// The address of the archive.
    pub archive: Option<String>,
    /// Program to start, as the manifest has it.
    pub cmd: Option<String>,
    /// SHA-256 of the archive.
    pub sha256: Option<String>,
    /// Integrity value of the package.
    pub integrity: Option<String>,
    /// Where the expected digest comes from.
    pub verified: String,
    /// The agent's own file, relative to the version's directory, with `/` between the parts.
    pub program: String,
    /// Its size in bytes, which shows a file that was lost in a power cut.
    pub program_size: u64,
    /// Its times, which show a file that was written to since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_stamp: Option<Stamp>,
    /// The clients whose settings were printed with the path of this program, which garbage collection therefore keeps.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub named_by: BTreeSet<String>,
    /// The interpreter of that file, if the system cannot start it directly.
    pub interpreter: Option<StoredInterpreter>,
    /// Arguments of the manifest.
    pub args: Vec<String>,
    /// Variables of the manifest.
    pub env: BTreeMap<String, String>,
    /// SHA-256 of the index that named all this.
    pub index_sha256: Option<String>,
    /// When it was installed, by RFC 3339.
    pub installed_at: String,
    /// The bytes of all files.
    pub size: u64,
    /// Packages, each with its version, whose install scripts npm has not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts_not_run: Vec<String>,
    /// What kept npm from running them, see [`ScriptsNotRun::ignored_by`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts_ignored_by: Option<String>,
    /// Whether packages could be built from source.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_build: bool,
    /// Whether the agent has answered `initialize` after it was installed; `None` when that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<bool>,
}

impl Receipt {
    pub(super) fn of(plan: &Plan, placed: &Placed, directory: &Path, size: u64) -> std::io::Result<Self> {
        let (package, target) = match &plan.source {
            Source::Npx(package) | Source::Uvx(package) => (Some(package), None),
            Source::Binary(target) => (None, Some(target)),
        };
        let interpreter = placed.interpreter.as_ref();
        let interpreter =
            interpreter.map(|interpreter| StoredInterpreter::of(interpreter, placed.remarks.shortfall.as_ref()));
        Ok(Self {
            schema: SCHEMA,
            id: plan.id.clone(),
            version: plan.version.clone(),
            distribution: plan.kind().as_str().to_owned(),
            platform: plan.platform.map(|platform| platform.as_str().to_owned()),
            package: package.map(|package| package.package.clone()),
            command: package.and_then(|package| package.command.clone()),
            exclude_newer: package.and_then(|package| package.exclude_newer.clone()),
            archive: target.map(|target| target.archive.clone()),
            cmd: target.map(|target| target.cmd.clone()),
            sha256: placed.proof.sha256.map(|digest| digest.to_string()),
            integrity: placed.proof.integrity.clone(),
            verified: placed.proof.verified.as_str().to_owned(),
            program: relative(&placed.program, directory)?,
            program_size: placed.program.metadata()?.len(),
            program_stamp: Some(Stamp::of(&placed.program)?),
            named_by: BTreeSet::new(),
            interpreter,
            args: plan.source.arguments().to_vec(),
            env: plan.source.variables().iter().cloned().collect(),
            index_sha256: plan.index_sha256.clone(),
            installed_at: Timestamp::now().to_string(),
            size,
            scripts_not_run: placed.remarks.scripts_not_run.packages.clone(),
            scripts_ignored_by: placed.remarks.scripts_not_run.ignored_by.clone(),
            may_build: placed.remarks.may_build,
            answers: None,
        })
    }

    /// Reads the receipt of an agent; the error says what is wrong.
    pub(super) fn parse(bytes: &[u8], id: &str) -> Result<Self, String> {
        let receipt: Self = json::whole(bytes).map_err(|error| error.to_string())?;
        if receipt.schema != SCHEMA {
            return Err(format!("form {} is of another version of this program", receipt.schema));
        }
        let is_below = |part| matches!(part, Component::Normal(_));
        if receipt.program.is_empty() || !Path::new(&receipt.program).components().all(is_below) {
            return Err("the program is not below the directory".to_owned());
        }
        if receipt.id != *id {
            return Err(format!("it is of another agent, {}", quote(&receipt.id)));
        }
        receipt.problem().map_or(Ok(receipt), Err)
    }

    /// Why this program cannot have written the receipt, as a sentence: it gives the agent more rights than an
    /// installation does, or hides something from people who read it on a terminal.
    pub(super) fn problem(&self) -> Option<String> {
        let reserved = self.env.keys().find_map(|name| Some((name, env_name::problem(name)?)));
        if let Some((name, problem)) = reserved {
            return Some(format!("it sets the environment variable {}, which {problem}", quote(name)));
        }
        let (name, text) = find_control(&serde_json::to_value(self).ok()?, "")?;
        Some(format!("there are control characters in `{name}`: {}", quote(&text)))
    }

    /// Whether this is a receipt of a version, in any spelling of its number.
    pub(super) fn is_of_version(&self, version: &str) -> bool {
        let parse = acp_registry_plan::manifest::Version::parse;
        self.version == version || matches!((parse(&self.version), parse(version)), (Some(a), Some(b)) if a == b)
    }

    /// The kind of distribution; `None` for one that this program does not know.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::named(&self.distribution)
    }

    /// The platform; `None` for one that this program does not know.
    #[must_use]
    pub fn platform(&self) -> Option<Platform> {
        self.platform.as_deref()?.parse().ok()
    }

    /// The platform, if its programs do not run on this host: that of a machine or an image for which it was installed.
    pub(crate) fn foreign_platform(&self, host: &Host) -> Option<Platform> {
        self.platform().filter(|platform| ![host.platform, host.emulated].contains(&Some(*platform)))
    }

    /// The install scripts that npm has not run.
    #[must_use]
    pub fn unrun_scripts(&self) -> ScriptsNotRun {
        ScriptsNotRun { packages: self.scripts_not_run.clone(), ignored_by: self.scripts_ignored_by.clone() }
    }

    /// Where the expected digest comes from.
    #[must_use]
    pub fn verified(&self) -> DigestSource {
        self.verified.parse().unwrap_or(DigestSource::None)
    }

    /// Takes over how a newer index starts the same bytes. Returns whether anything has changed.
    pub fn follow(&mut self, plan: &Plan) -> bool {
        let (args, env) = (plan.source.arguments().to_vec(), plan.source.variables().iter().cloned().collect());
        let is_new = self.args != args || self.env != env;
        (self.args, self.env) = (args, env);
        if is_new {
            self.index_sha256.clone_from(&plan.index_sha256);
        }
        is_new
    }
}

/// Members whose texts may have several lines, such as an instruction for an agent.
const TEXTS: [&str; 5] = ["args", "env", "flags", "named_by", "scripts_not_run"];

/// A text with control characters in a value, with the member `name` that the value is in.
fn find_control(value: &Value, name: &str) -> Option<(String, String)> {
    let is_bad = |c: char| c.is_control() && !(TEXTS.contains(&name) && "\t\n\r".contains(c));
    match value {
        Value::String(text) => text.contains(is_bad).then(|| (name.to_owned(), text.clone())),
        Value::Array(items) => items.iter().find_map(|item| find_control(item, name)),
        Value::Object(members) => members.iter().find_map(|(key, value)| {
            let is_named = name.is_empty() || TEXTS.contains(&key.as_str());
            find_control(value, if is_named { key } else { name })
        }),
        _ => None,
    }
}

/// The path below the directory, with the links on the way resolved.
fn relative(path: &Path, directory: &Path) -> std::io::Result<String> {
    let (real, directory) = (path.canonicalize()?, directory.canonicalize()?);
    let outside = || std::io::Error::other("the program is a link that leads out of the installation");
    let parts: Option<Vec<&str>> = real
        .strip_prefix(directory)
        .map_err(|_| outside())?
        .components()
        .map(|part| part.as_os_str().to_str())
        .collect();
    Ok(parts.ok_or_else(|| std::io::Error::other("the program's name is not Unicode"))?.join("/"))
}
