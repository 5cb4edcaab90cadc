//! One installed version.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::places::{IN_USE, RECEIPT};
use super::{Error, Receipt};
use crate::install::{DigestSource, Expected, Kind, beside};
use crate::resolve::{Offer, OfferOrigin};
use acp_registry_host::fs::write_durable;
use acp_registry_host::fs::{PathError, ReadError, read_bounded};
use acp_registry_host::lock;
use acp_registry_host::process::{Environment, is_executable};
use acp_registry_plan::json;
use acp_registry_plan::manifest::{BinaryTarget, Distribution, Package, Platform};

/// The largest file about a version that is read, in bytes.
const FILE_LIMIT: u64 = 16 << 20;

/// An installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// Its directory.
    pub directory: PathBuf,
    /// What is in it.
    pub receipt: Receipt,
}

/// How an installed agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments: flags and file for an interpreter, then those of the manifest.
    pub args: Vec<String>,
    /// Variables of the manifest.
    pub env: Vec<(String, String)>,
    /// Directories with programs that the agent may look for in `PATH`: that of its runtime, and those beside it.
    pub beside: Vec<PathBuf>,
}

impl Launch {
    /// Starts another program instead, such as a sandbox, which gets the agent's command line after its own arguments.
    #[must_use]
    pub fn behind(self, program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let own = self.program.to_string_lossy().into_owned();
        let args = arguments.iter().map(|argument| (*argument).to_owned()).chain([own]).chain(self.args).collect();
        Self { program: program.into(), args, env: self.env, beside: self.beside }
    }
}

impl Version {
    /// Reads the version in a directory; `None` when there is no receipt.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, Error> {
        let id = directory.parent().and_then(Path::file_name).unwrap_or_default();
        Self::read_version(directory, &id.to_string_lossy())
    }

    /// Like [`Self::read`], for an agent whose directory this version may have left.
    pub(super) fn read_version(directory: &Path, id: &str) -> Result<Option<Self>, Error> {
        let (path, id) = (directory.join(RECEIPT), id.to_owned());
        let bytes = match read_bounded(&path, directory, FILE_LIMIT) {
            Ok(bytes) => bytes,
            Err(ReadError::NotFound) => return Ok(None),
            Err(ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
            Err(ReadError::Io(error)) => return Err(PathError { path, error }.into()),
            Err(error) => return Err(Error::Damaged { id, path, message: error.to_string() }),
        };
        match Receipt::parse(&bytes, &id) {
            Ok(receipt) => Ok(Some(Self { directory: directory.to_owned(), receipt })),
            Err(message) => Err(Error::Damaged { id, path, message }),
        }
    }

    /// Writes the receipt, which makes this a version.
    pub(super) fn write_receipt(&self) -> Result<(), Error> {
        // A receipt with a problem is refused when it is read.
        if let Some(problem) = self.receipt.problem() {
            return Err(Error::Unfit { id: self.receipt.id.to_string(), problem });
        }
        let text = json::to_string(&self.receipt);
        Ok(write_durable(&self.directory.join(RECEIPT), text.as_bytes())?)
    }

    /// The name of the directory.
    #[must_use]
    pub fn folder(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The agent's own file.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.receipt.program.split('/').fold(self.directory.clone(), |path, part| path.join(part))
    }

    /// Whether the program has its size and can be started: a quick check, not a proof.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let program = self.program();
        fs::metadata(&program).is_ok_and(|file| file.is_file() && file.len() == self.receipt.program_size)
            && (self.receipt.interpreter.is_some() || !self.is_for_here() || is_executable(&program))
            && !(self.is_for_here() && self.has_lost_python())
    }

    /// Whether this was installed for the system that this program runs on.
    pub(super) fn is_for_here(&self) -> bool {
        self.receipt.platform().is_none_or(|platform| Some(platform) == Platform::host())
    }

    /// How it is started. An interpreter that is no longer where it was is looked for in the environment's `PATH`, and so is
    /// a better one when it falls short of what the package asks for, which takes as long as asking those for their versions;
    /// when there is none, its name is the error.
    ///
    /// # Errors
    /// The name of the interpreter that is missing.
    pub fn launch(&self, environment: impl FnOnce() -> Environment) -> Result<Launch, String> {
        let program = self.program();
        let env = self.receipt.env.clone().into_iter().collect();
        let Some(interpreter) = &self.receipt.interpreter else {
            let beside = self.beside(&program);
            return Ok(Launch { program, args: self.receipt.args.clone(), env, beside });
        };
        let (path, _) = interpreter.find(environment)?;
        let beside = path.parent().map(Path::to_owned).into_iter().chain(self.beside(&program)).collect();
        let mut args = interpreter.flags.clone();
        args.push(OsString::from(program).to_string_lossy().into_owned());
        args.extend_from_slice(&self.receipt.args);
        Ok(Launch { program: path, args, env, beside })
    }

    /// The directories of programs that were installed with the agent.
    fn beside(&self, program: &Path) -> Vec<PathBuf> {
        beside(self.receipt.kind().unwrap_or(Kind::Binary), program, &self.directory)
    }

    /// The version as an offer, from which a plan can be made; `None` for a kind that this program does not know.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        let receipt = &self.receipt;
        let (args, env) = (receipt.args.clone(), receipt.env.clone().into_iter().collect());
        let package = Package {
            package: receipt.package.clone().unwrap_or_default(),
            command: receipt.command.clone(),
            exclude_newer: receipt.exclude_newer.clone(),
            args,
            env,
        };
        let mut distribution = Distribution::default();
        let mut expected = Vec::new();
        match receipt.kind()? {
            Kind::Npx => distribution.npx = Some(package),
            Kind::Uvx => distribution.uvx = Some(package),
            Kind::Binary => distribution.binary.push(BinaryTarget {
                platform: receipt.platform.clone()?,
                archive: receipt.archive.clone()?,
                cmd: receipt.cmd.clone()?,
                sha256: receipt.sha256.clone().filter(|_| receipt.verified() == DigestSource::Manifest),
                args: package.args,
                env: package.env,
            }),
        }
        // The receipt keeps its source of the digest, and prevents that other bytes are installed.
        if receipt.verified() == DigestSource::Lock
            && let (Some(platform), Some(_)) = (&receipt.platform, &receipt.sha256)
        {
            let known = Expected { sha256: receipt.sha256.clone(), ..Expected::default() };
            expected.push((platform.clone(), known));
        }
        Some(Offer {
            origin: OfferOrigin::Installed,
            version: receipt.version.clone(),
            distribution,
            expected,
            index_sha256: receipt.index_sha256.clone(),
        })
    }

    /// The version of Python, as `3.12`, that the agent was installed for, if it is one of the Python package index.
    #[must_use]
    pub fn python(&self) -> Option<String> {
        if self.receipt.kind() != Some(Kind::Uvx) {
            return None;
        }
        // The program lies beside the interpreter of its environment.
        let settings = self.program().parent()?.parent()?.join("pyvenv.cfg");
        let text = String::from_utf8(read_bounded(&settings, &self.directory, FILE_LIMIT).ok()?).ok()?;
        let version =
            text.lines().filter_map(|line| line.split_once('=')).find(|(name, _)| name.trim() == "version_info");
        let mut parts = version?.1.trim().split('.');
        Some(format!("{}.{}", parts.next()?, parts.next()?))
    }

    /// Marks the version as in use while the file is open: it is not removed then. `None` where that cannot be said.
    #[must_use]
    pub fn mark_used(&self) -> Option<File> {
        lock::mark_used(&self.directory.join(IN_USE))
    }
}

impl Version {
    /// Whether the interpreter of the version is gone, or a better one is in `PATH`: installing the version again then
    /// repairs its receipt.
    #[must_use]
    pub fn is_repairable(&self, environment: &Environment) -> bool {
        let Some(interpreter) = &self.receipt.interpreter else { return self.has_lost_python() };
        interpreter
            .find(|| environment.clone())
            .is_ok_and(|(program, is_met)| program != interpreter.program || is_met != interpreter.shortfall.is_none())
    }

    /// Whether the Python of a package's environment is gone, so that no program in it starts.
    #[must_use]
    pub fn has_lost_python(&self) -> bool {
        let python = self.program().with_file_name("python");
        self.receipt.kind() == Some(Kind::Uvx) && python.is_symlink() && !python.exists()
    }

    /// Updates the receipt to the interpreter that starts the version now. Returns whether it has changed.
    pub(super) fn follow_interpreter(&mut self, environment: &Environment) -> bool {
        let Some(interpreter) = &mut self.receipt.interpreter else { return false };
        let Ok((program, is_met)) = interpreter.find(|| environment.clone()) else { return false };
        interpreter.follow(program, is_met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_goes_before_the_agent() {
        let launch =
            Launch { program: "/a/agent".into(), args: vec!["acp".into()], env: Vec::new(), beside: Vec::new() };
        let launch = launch.behind("/bin/box", &["--ro", "/"]);
        assert_eq!(
            (launch.program.as_path(), launch.args.join(" ").as_str()),
            (Path::new("/bin/box"), "--ro / /a/agent acp")
        );
    }
}
