//! The receipt of an installation: `receipt.json`, written last.

use std::collections::BTreeSet;
use std::path::{Component, MAIN_SEPARATOR, Path};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::directory::RECEIPT;
use super::error::repair_command;
use super::{Error, Stamp};
use crate::install::{DigestSource, Interpreter, Kind, Placed, Proof, Remarks, Source};
use crate::provenance::Provenance;
use crate::resolve::{Host, Plan};
use acp_registry_host::fs::Replacement;
use acp_registry_plan::json;
use acp_registry_plan::manifest::{AgentId, Platform, env_name};
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;

/// The number of this format. A format that older versions cannot read gets another number.
const SCHEMA: u32 = 1;

/// What was installed, from where, and how it was verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of the format.
    pub schema: u32,
    /// The agent.
    pub id: AgentId,
    /// Its version.
    pub version: String,
    /// The platform it is for; `None` for one that manifests have no name for.
    pub platform: Option<Platform>,
    /// What the manifest names.
    pub source: Source,
    /// How the bytes were verified.
    pub proof: Proof,
    /// The agent's own file, relative to the version's directory, with `/` between the parts.
    pub program: String,
    /// The link to it that is started instead, relative to the version's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Its size in bytes, which shows a file that was lost in a power cut.
    pub program_size: u64,
    /// Its times, which show a file that was written to since.
    pub program_stamp: Stamp,
    /// The interpreter of that file, if the system cannot start it directly.
    pub interpreter: Option<Interpreter>,
    /// The clients whose settings name the path of this program, which garbage collection therefore keeps: each with a blank and
    /// the path of its file, unless the settings were printed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub named_by: BTreeSet<String>,
    /// SHA-256 of the index that named all this.
    pub index_sha256: Option<String>,
    /// Where the registry that the version is from publishes the versions that it recalls: its recalls count for the version, and
    /// updates come from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocations: Option<String>,
    /// When it was installed, by RFC 3339.
    pub installed_at: String,
    /// The bytes of all files.
    pub size: u64,
    /// What may keep the agent from working.
    pub remarks: Remarks,
    /// Who has built it, where that was checked. A later version must be by the same publisher, as well proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// Whether the agent has answered `initialize` after it was installed; `None` when that was not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<bool>,
}

impl Receipt {
    /// Whether a lock file named its packages: without the file, they would be installed with other dependencies.
    pub(crate) fn needs_lock_file(&self) -> bool {
        self.proof.verified == DigestSource::Lock && self.source.kind() != Kind::Binary
    }

    /// The registry whose recalls are in this place, and the one that the version is from if that is another: the folders of their
    /// indexes, as addresses without secrets or paths.
    pub(crate) fn other_registry<'a>(&'a self, revocations: Option<&'a str>) -> Option<(&'a str, &'a str)> {
        let folder = |place: &'a str| place.strip_suffix(REVOKED).unwrap_or(place);
        let (here, there) = (folder(revocations?), folder(self.revocations.as_deref()?));
        (here != there).then_some((here, there))
    }

    /// Whether what starts the agent was there when it was installed.
    pub(crate) fn had_interpreter(&self) -> bool {
        self.interpreter.as_ref().is_none_or(|interpreter| interpreter.program.is_some())
    }

    /// The command that repairs it, for messages.
    pub(crate) fn repair_command(&self) -> String {
        if self.needs_lock_file() {
            return format!("`acp-registry install --locked --lock FILE {}`", self.id);
        }
        repair_command(&self.id)
    }

    pub(super) fn new(plan: &Plan, placed: Placed, directory: &Path, size: u64) -> std::io::Result<Self> {
        Ok(Self {
            schema: SCHEMA,
            id: plan.id.clone(),
            version: plan.version.clone(),
            platform: plan.platform,
            source: plan.source.clone(),
            proof: placed.proof,
            program: relative(&placed.program, directory)?,
            link: placed.link.as_deref().and_then(|link| link_name(link, directory)),
            program_size: placed.program.metadata()?.len(),
            program_stamp: Stamp::of(&placed.program)?,
            interpreter: placed.interpreter,
            named_by: BTreeSet::new(),
            index_sha256: plan.index_sha256.clone(),
            revocations: None,
            installed_at: Timestamp::now().to_string(),
            size,
            remarks: placed.remarks,
            provenance: placed.provenance,
            answers: None,
        })
    }

    /// Writes the receipt beside its path, where [`sync_below`](acp_registry_host::fs::sync_below) makes it durable with the
    /// other files of the version before it takes its place.
    pub(super) fn prepare(&self, directory: &Path) -> Result<Replacement, Error> {
        Ok(Replacement::unsynced(&directory.join(RECEIPT), self.text()?.as_bytes())?)
    }

    pub(super) fn text(&self) -> Result<String, Error> {
        // A receipt with a problem is refused when it is read.
        match self.problem() {
            Some(problem) => Err(Error::Unfit { id: self.id.to_string(), problem }),
            None => Ok(json::to_string(self)),
        }
    }

    /// Reads the receipt of an agent; the error says what is wrong.
    pub(super) fn parse(bytes: &[u8], id: &str) -> Result<Self, String> {
        let receipt: Self = json::whole(bytes).map_err(|error| error.to_string())?;
        if receipt.schema != SCHEMA {
            return Err(format!("form {} is of another version of this program", receipt.schema));
        }
        let is_below = |part| matches!(part, Component::Normal(_));
        let paths = [Some(&receipt.program), receipt.link.as_ref()];
        if !paths.into_iter().flatten().all(|path| !path.is_empty() && Path::new(path).components().all(is_below)) {
            return Err("the program is not below the directory".to_owned());
        }
        if receipt.id != *id {
            return Err(format!("it is of another agent, {}", quote(&receipt.id)));
        }
        receipt.problem().map_or(Ok(receipt), Err)
    }

    /// Why this program cannot have written the receipt, as a sentence: it gives the agent more rights than an
    /// installation does, or hides something from people who read it on a terminal.
    fn problem(&self) -> Option<String> {
        let names = self.source.variables().iter().map(|(name, _)| name);
        let reserved = names.into_iter().find_map(|name| Some((name, env_name::problem(name)?)));
        if let Some((name, problem)) = reserved {
            return Some(format!("it sets the environment variable {}, which {problem}", quote(name)));
        }
        let (name, text) = find_control(&serde_json::to_value(self).ok()?, "")?;
        Some(format!("there are control characters in `{name}`: {}", quote(&text)))
    }

    /// The platform, if its programs do not run on this host: that of a machine or an image for which it was installed.
    pub(crate) fn foreign_platform(&self, host: &Host) -> Option<Platform> {
        self.platform.filter(|platform| ![host.platform, host.emulated].contains(&Some(*platform)))
    }

    /// Takes over which registry the version is from. Returns whether that has changed.
    pub(super) fn set_registry(&mut self, revocations: Option<&String>) -> bool {
        let is_new = revocations.is_some() && self.revocations.as_ref() != revocations;
        if is_new {
            self.revocations = revocations.cloned();
        }
        is_new
    }

    /// Takes over how a newer index starts the same bytes. Returns whether anything has changed.
    pub fn follow(&mut self, plan: &Plan) -> bool {
        let is_new = self.source.follow(&plan.source);
        if is_new {
            self.index_sha256.clone_from(&plan.index_sha256);
        }
        is_new
    }
}

/// Members whose texts may have several lines, such as an instruction for an agent.
const TEXTS: [&str; 5] = ["args", "env", "flags", "named_by", "packages"];

/// A text with control characters in a value, which is the member `name` or in it.
fn find_control(value: &Value, name: &str) -> Option<(String, String)> {
    let is_bad = |c: char| c.is_control() && !(TEXTS.contains(&name) && "\t\n\r".contains(c));
    match value {
        Value::String(text) => text.contains(is_bad).then(|| (name.to_owned(), text.clone())),
        Value::Array(items) => items.iter().find_map(|item| find_control(item, name)),
        Value::Object(members) => {
            members.iter().find_map(|(key, value)| find_control(value, if TEXTS.contains(&name) { name } else { key }))
        }
        _ => None,
    }
}

/// The path below the directory, with the links on the way resolved.
fn relative(path: &Path, directory: &Path) -> std::io::Result<String> {
    let (real, directory) = (path.canonicalize()?, directory.canonicalize()?);
    if !real.starts_with(&directory) {
        return Err(std::io::Error::other("the program is a link that leads out of the installation"));
    }
    file_name(&real, &directory).ok_or_else(|| std::io::Error::other("the program's name is not Unicode"))
}

/// The path of a link below a directory.
fn link_name(link: &Path, directory: &Path) -> Option<String> {
    let folder = link.parent()?.canonicalize().ok()?;
    file_name(&folder.join(link.file_name()?), &directory.canonicalize().ok()?)
}

/// The path below a directory, with `/` between the parts; `None` where it is not Unicode. Compares bytes: a package has tens
/// of thousands of files, and each has the path of the directory before its own.
pub(super) fn file_name(path: &Path, directory: &Path) -> Option<String> {
    let below = path.as_os_str().as_encoded_bytes().strip_prefix(directory.as_os_str().as_encoded_bytes())?;
    let name = str::from_utf8(below).ok()?.strip_prefix(MAIN_SEPARATOR)?;
    Some(if cfg!(windows) { name.replace(MAIN_SEPARATOR, "/") } else { name.to_owned() })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_path_below_the_directory() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let name =
            |path: &[u8]| file_name(Path::new(OsStr::from_bytes(path)), Path::new(OsStr::from_bytes(b"/a/\xff")));
        assert_eq!(name(b"/a/\xff/b/c\\d").as_deref(), Some("b/c\\d"));
        assert_eq!(name(b"/a/\xff/b/\xff"), None);
        assert_eq!(name(b"/a/\xffb/c"), None);
        assert_eq!(name(b"/a/b"), None);
    }
}
