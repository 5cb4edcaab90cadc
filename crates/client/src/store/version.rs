//! One installed version: its receipt, how it is started, and its document.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, ReadError, read_bounded, write_durable, write_new};
use acp_registry_host::lock;
use acp_registry_host::process::{Environment, is_executable};
use acp_registry_plan::documents;
use acp_registry_plan::manifest::Platform;

use super::directory::{IN_USE, RECEIPT};
use super::{Error, Receipt, Store};
use crate::install::{DigestSource, Expected, Kind, Source, Start, beside};
use crate::resolve::{Offer, OfferOrigin, Plan};

/// The largest file about a version that is read, in bytes.
const FILE_LIMIT: u64 = 16 << 20;

/// What is wrong with a version whose directory is a link, as the rest of a sentence.
pub(crate) const LINK: &str = "is a link, which is not followed";

/// An installed version.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// Its directory.
    pub directory: PathBuf,
    /// What is in it.
    pub receipt: Receipt,
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
        // It may lead out of the store, where nothing is removed or replaced.
        if directory.is_symlink() {
            return Err(Error::Damaged { id, path: directory.to_owned(), message: format!("it {LINK}") });
        }
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
        Ok(write_durable(&self.directory.join(RECEIPT), self.receipt.text()?.as_bytes())?)
    }

    /// The name of the directory.
    #[must_use]
    pub fn folder(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The agent's own file.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.file_path(&self.receipt.program)
    }

    /// The link to it that npx would start.
    pub(super) fn link(&self) -> Option<PathBuf> {
        self.receipt.link.as_ref().map(|link| self.file_path(link))
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
        self.receipt.platform.is_none_or(|platform| Some(platform) == Platform::host())
    }

    /// How it is started. An interpreter that is no longer where it was is looked for in the environment's `PATH`, and so is
    /// a better one when it falls short of what the package asks for, which takes as long as asking those for their versions;
    /// when there is none, its name is the error.
    ///
    /// # Errors
    /// The name of the interpreter that is missing.
    pub fn find_start(&self, environment: impl FnOnce() -> Environment) -> Result<Start, String> {
        let Receipt { source, interpreter, .. } = &self.receipt;
        let found = interpreter.as_ref().map(|interpreter| interpreter.find(environment)).transpose()?;
        let program = self.program();
        let beside = beside(source.kind(), &program, &self.directory);
        let program = self.link().filter(|link| is_same(link, &program)).unwrap_or(program);
        Ok(Start::new(source, program, interpreter.as_ref().zip(found), beside))
    }

    /// The version as an offer, from which a plan can be made.
    #[must_use]
    pub fn offer(&self) -> Offer {
        let Receipt { source, proof, platform, .. } = &self.receipt;
        let (mut source, mut expected) = (source.clone(), Vec::new());
        if let (Source::Binary(target), Some(digest)) = (&mut source, proof.sha256) {
            // The receipt keeps its source of the digest, and prevents that other bytes are installed.
            let known = Expected { sha256: Some(digest.to_string()), ..Expected::default() };
            match (proof.verified, platform) {
                (DigestSource::Manifest, _) => target.sha256 = known.sha256,
                (DigestSource::Lock, Some(platform)) => expected.push((platform.as_str().to_owned(), known)),
                _ => {}
            }
        }
        Offer {
            origin: OfferOrigin::Installed,
            version: self.receipt.version.clone(),
            distribution: source.into(),
            expected,
            index_sha256: self.receipt.index_sha256.clone(),
            repository: self.receipt.provenance.as_ref().map(|proven| proven.publisher.repository.clone()),
        }
    }

    /// The version of Python, as `3.12`, that the agent was installed for, if it is one of the Python package index.
    #[must_use]
    pub fn python(&self) -> Option<String> {
        if self.receipt.source.kind() != Kind::Uvx {
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
        let path = self.directory.join(IN_USE);
        // The mark may have been removed.
        lock::mark_used(&path).or_else(|| write_new(&path, b"").ok().and_then(|()| lock::mark_used(&path)))
    }

    /// Whether the interpreter of the version is gone, or a better one is in `PATH`: installing the version again then
    /// repairs its receipt.
    #[must_use]
    pub fn is_repairable(&self, environment: &Environment) -> bool {
        self.receipt.interpreter.clone().map_or_else(|| self.has_lost_python(), |mut known| known.follow(environment))
    }

    /// Whether the Python of a package's environment is gone, so that no program in it starts.
    #[must_use]
    pub fn has_lost_python(&self) -> bool {
        let python = self.program().with_file_name("python");
        self.receipt.source.kind() == Kind::Uvx && python.is_symlink() && !python.exists()
    }

    /// Updates the receipt to the interpreter that starts the version now. Returns whether it has changed.
    pub(super) fn follow_interpreter(&mut self, environment: &Environment) -> bool {
        self.receipt.interpreter.as_mut().is_some_and(|interpreter| interpreter.follow(environment))
    }

    /// The document of this version, started by `start` with these directories at the end of `PATH`; `None` where what starts
    /// it was not there yet.
    #[must_use]
    pub fn document(&self, start: Option<Start>, path: Vec<PathBuf>) -> documents::Launch {
        let receipt = self.receipt.clone();
        let program = start.as_ref().map(|start| start.program.clone());
        let start = start.unwrap_or_else(|| Start::new(&receipt.source, self.program(), None, Vec::new()));
        documents::Launch {
            id: receipt.id,
            version: receipt.version,
            distribution: receipt.source.kind().as_str().to_owned(),
            platform: receipt.platform.map(|platform| platform.as_str().to_owned()),
            program,
            args: start.args,
            env: start.env.into_iter().map(|(name, value)| (name, value.into())).collect(),
            installed: true,
            install_dir: self.directory.clone(),
            archive: receipt.source.target().map(|target| target.archive.clone()),
            package: receipt.source.package().map(|package| package.package.clone()),
            sha256: receipt.proof.sha256.map(|digest| digest.to_string()),
            integrity: receipt.proof.integrity,
            verified: receipt.proof.verified.as_str().to_owned(),
            index_sha256: receipt.index_sha256,
            installation: Some(documents::Installation {
                path,
                installed_at: receipt.installed_at,
                size: receipt.size,
                scripts_not_run: receipt.remarks.scripts_not_run.packages,
                scripts_ignored_by: receipt.remarks.scripts_not_run.ignored_by,
                answers: receipt.answers,
                provenance: receipt.provenance.and_then(|proven| serde_json::to_value(proven).ok()),
            }),
        }
    }
}

impl Store {
    /// The document of a plan, which would be installed into this store.
    #[must_use]
    pub fn document(&self, plan: &Plan) -> documents::Launch {
        let place = self.place(&plan.id, &plan.folder());
        documents::Launch::planned(plan, &place, &Self::files(&place))
    }
}

/// Whether two paths lead to one file.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_goes_before_the_agent() {
        let start = Start { program: "/a/agent".into(), args: vec!["acp".into()], env: Vec::new(), beside: Vec::new() };
        let start = start.behind("/bin/box", &["--ro", "/"]);
        assert_eq!(
            (start.program.as_path(), start.args.join(" ").as_str()),
            (Path::new("/bin/box"), "--ro / /a/agent acp")
        );
    }
}
