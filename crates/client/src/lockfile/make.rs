//! Makes the entry of a lock file from an offer.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use url::Url;

use super::{LockFile, Locked, LockedArchive, LockedPackage};
use crate::install::{DigestSource, Error, Installer, Source, github_digest, integrity_in};
use crate::resolve::Offer;
use crate::store::Version;
use acp_registry_http::{FetchError, Hashing};
use acp_registry_plan::closure::{self, PublishedClosure};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{BinaryTarget, NpmSpec, Package, PackageKind};

/// Why a digest is missing if no request may be sent.
const OFFLINE: &str = "finding it needs the network";

/// Finds the digests that pin a version.
pub struct Locker<'a> {
    /// Asks the package managers, GitHub and the hosts of archives; `None` to send nothing.
    pub installer: Option<&'a Installer>,
    /// Where package managers may work.
    pub temporary: &'a Path,
    /// An earlier lock file, whose digests of the same addresses are kept, and whose packages where none are published.
    pub earlier: Option<&'a LockFile>,
    /// What is installed of the agent.
    pub installed: &'a [Version],
    /// The closures that the registry publishes of its packages, which are what is installed.
    pub published: &'a BTreeMap<PackageKind, PublishedClosure>,
}

impl Locker<'_> {
    /// Locks an offer for every platform. The digest of an archive is taken from the manifest, the earlier lock file,
    /// GitHub or the installed version, in this order; if none has it, the archive is fetched. Digests that could not
    /// be found are missing in the result, and the notes say why.
    pub async fn lock(&self, id: &str, offer: &Offer) -> (Locked, Vec<String>) {
        let mut notes = Vec::new();
        let is_proven = self.installed.iter().any(|version| version.receipt.provenance.is_some());
        let mut locked = Locked {
            version: offer.version.clone(),
            index_sha256: offer.index_sha256.clone(),
            repository: offer.repository.clone().filter(|_| is_proven),
            ..Locked::default()
        };
        for target in &offer.distribution.binary {
            let (sha256, verified) = match self.digest(id, target).await {
                Ok(Some((digest, verified))) => (Some(digest.to_ascii_lowercase()), verified),
                without => {
                    let why = without.err().map_or_else(|| OFFLINE.to_owned(), |error| error.to_string());
                    notes.push(format!("{id} for {} has no digest in the lock file: {why}", target.platform));
                    (None, "none".to_owned())
                }
            };
            let (archive, cmd, args) = (target.archive.clone(), target.cmd.clone(), target.args.clone());
            let env = target.env.iter().cloned().collect();
            let target_locked = LockedArchive { archive, sha256, verified, cmd, args, env };
            locked.binary.insert(target.platform.clone(), target_locked);
        }
        let earlier = self.earlier.and_then(|file| file.agents.get(id));
        if let Some(package) = &offer.distribution.npx {
            let known = earlier.and_then(|earlier| earlier.npx.as_ref());
            locked.npx = Some(self.package(id, package, &Source::Npx(package.clone()), known, &mut notes).await);
        }
        if let Some(package) = &offer.distribution.uvx {
            let known = earlier.and_then(|earlier| earlier.uvx.as_ref());
            locked.uvx = Some(self.package(id, package, &Source::Uvx(package.clone()), known, &mut notes).await);
        }
        (locked, notes)
    }

    /// The digest of an archive, and by what it is verified; `None` if only a request could tell, and none may be sent.
    async fn digest(&self, id: &str, target: &BinaryTarget) -> Result<Option<(String, String)>, Error> {
        if let Some(digest) = &target.sha256 {
            return Ok(Some((digest.clone(), "manifest".to_owned())));
        }
        let earlier = self.earlier.and_then(|file| file.agents.get(id)?.binary.get(&target.platform));
        if let Some(LockedArchive { sha256: Some(digest), verified, archive, .. }) = earlier
            && *archive == target.archive
        {
            return Ok(Some((digest.clone(), verified.clone())));
        }
        let address =
            |error: url::ParseError| Error::Address { url: target.archive.clone(), message: error.to_string() };
        let url = Url::parse(&target.archive).map_err(address)?;
        if let Some(installer) = self.installer
            && let Some(github) = &installer.github
            && let Some(digest) = github_digest(github, &installer.client, &url).await
        {
            return Ok(Some((digest.to_string(), "github".to_owned())));
        }
        let is_same = |version: &&Version| version.receipt.source.name() == target.archive;
        if let Some(proof) = self.installed.iter().find(is_same).map(|version| &version.receipt.proof)
            && let Some(digest) = proof.sha256
        {
            // A lock file does not keep which digest another lock file had.
            let verified = if proof.verified == DigestSource::Lock { DigestSource::None } else { proof.verified };
            return Ok(Some((digest.to_string(), verified.to_string())));
        }
        let Some(installer) = self.installer else { return Ok(None) };
        Ok(Some((fetch(installer, &url).await?.to_string(), "none".to_owned())))
    }

    async fn package(
        &self,
        id: &str,
        package: &Package,
        source: &Source,
        known: Option<&LockedPackage>,
        notes: &mut Vec<String>,
    ) -> LockedPackage {
        let python = self.installed.iter().find_map(Version::python);
        let mut locked = LockedPackage {
            package: package.package.clone(),
            command: package.command.clone(),
            exclude_newer: package.exclude_newer.clone(),
            args: package.args.clone(),
            env: package.env.iter().cloned().collect(),
            ..LockedPackage::default()
        };
        let kind = if matches!(source, Source::Uvx(_)) { PackageKind::Uvx } else { PackageKind::Npx };
        if let Some(list) = self.published.get(&kind) {
            let spec = package.package.parse::<NpmSpec>().ok();
            locked.integrity = spec.and_then(|spec| integrity_in(list.packages.as_bytes(), &spec.name));
            locked.python = list.python().filter(|_| kind == PackageKind::Uvx).map(ToOwned::to_owned);
            locked.packages = Some(list.packages.clone());
            return locked;
        }
        let is_same =
            |known: &&LockedPackage| known.package == package.package && known.exclude_newer == package.exclude_newer;
        if let Some(known) = known.filter(is_same).filter(|known| known.packages.is_some()) {
            (locked.integrity, locked.packages) = (known.integrity.clone(), known.packages.clone());
            locked.python.clone_from(&known.python);
            return locked;
        }
        let python = python.filter(|_| kind == PackageKind::Uvx);
        let found = match self.installer {
            Some(installer) => installer
                .closure(source, python.as_deref(), None, self.temporary)
                .await
                .map_err(|error| error.to_string()),
            None => Err(OFFLINE.to_owned()),
        };
        // What `--locked` would refuse is not written.
        let check = if kind == PackageKind::Uvx { closure::check_uv } else { closure::check_npm };
        let found = found
            .and_then(|closure| closure.as_ref().map_or(Ok(()), |closure| check(&closure.packages)).map(|()| closure));
        match found {
            Ok(Some(closure)) => {
                (locked.integrity, locked.packages, locked.python) =
                    (closure.integrity, Some(closure.packages), python);
            }
            Ok(None) => {}
            Err(error) => {
                let kind = source.kind().as_str();
                notes.push(format!("the packages of {id} ({kind}) are not in the lock file: {error}"));
            }
        }
        locked
    }
}

async fn fetch(installer: &Installer, url: &Url) -> Result<Sha256, FetchError> {
    let mut hashing = Hashing::to(io::sink());
    installer.client.download(url, installer.limits.compressed, &mut hashing).await?;
    Ok(hashing.digest())
}
