//! The archive of one platform.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::Url;

use super::cache::set_mode;
use super::{
    DigestSource, Error, InstallJob, Installer, NotForPlatform, Placed, Progress, Proof, Remarks, cancellable,
};
use crate::provenance::Artifact;
use acp_registry_archive::{self as archive, ArchiveListing, unpack};
use acp_registry_host::fs::{PathError, open_file};
use acp_registry_http::{Client, Sink};
use acp_registry_plan::digest::{Hasher, Sha256};
use acp_registry_plan::manifest::archive::format;
use acp_registry_plan::manifest::{BinaryTarget, Platform};
use acp_registry_sources::github::Github;

/// Fetches the archive, compares its digest with those that are known, and unpacks it.
pub(super) async fn install(work: &InstallJob<'_>, target: &BinaryTarget) -> Result<Placed, Error> {
    let installer = work.installer;
    let platform = match installer.platform {
        Some(platform) if platform.as_str() == target.platform => platform,
        platform => return Err(NotForPlatform { platform, offered: vec![target.platform.clone()] }.into()),
    };
    let address = |error: url::ParseError| Error::Address { url: target.archive.clone(), message: error.to_string() };
    let url = Url::parse(&target.archive).map_err(address)?;
    // The same question as the rule `distribution/archive-format` asks.
    format(&target.archive).map_err(|ending| Error::Format { url: target.archive.clone(), ending })?;
    let wanted = wanted(work, target, &url).await;
    if installer.requires_digest && wanted.is_empty() {
        return Err(Error::NoDigest { what: target.archive.clone(), problem: None });
    }
    let file = match wanted.first() {
        Some((_, sha256)) => cached(installer, &url, sha256).await,
        None => None,
    };
    let is_kept = file.is_some();
    let (file, found) = match file {
        Some(file) => file,
        None => fetch(work, &url).await?,
    };
    for (by, wanted) in &wanted {
        if found != **wanted {
            let lookalike = archive::lookalike(&file);
            return Err(Error::DigestMismatch { found, lookalike, by: *by, wanted: wanted.clone() });
        }
    }
    if !wanted.is_empty() && !is_kept {
        keep(installer, &url, found, &file).await;
    }
    let provenance = match &installer.inquiry {
        Some(inquiry) => inquiry.ask(&Artifact::Archive(found)).await?,
        None => None,
    };
    (work.progress)(Progress::Unpacking);
    let (target, limits, into) = (target.clone(), installer.limits, work.directory.to_owned());
    let unpacking = cancellable(move |is_cancelled| {
        let listing = unpack(&file, &target.cmd, &limits, &into, is_cancelled)?;
        find_program(&listing, &target, platform, &into)
    });
    let program = unpacking.await.map_err(archive::Error::Read)??;
    let verified = wanted.first().map_or(DigestSource::None, |(verified, _)| *verified);
    Ok(Placed {
        program,
        link: None,
        interpreter: None,
        proof: Proof { verified, sha256: Some(found), integrity: None },
        provenance,
        remarks: Remarks::default(),
    })
}

/// The archive of an earlier run, with its digest, if that is still the wanted one. What may not be fetched is not taken
/// from there either.
async fn cached(installer: &Installer, url: &Url, sha256: &str) -> Option<(File, Sha256)> {
    let sha256 = sha256.parse().ok()?;
    let path = installer.client.cached_file(url, sha256).filter(|_| installer.client.may_ask(url))?;
    let checked = spawn_blocking(move || {
        let file = open_file(&path).ok()?;
        (acp_registry_host::fs::digest(&file).ok()? == sha256).then_some((file, sha256))
    });
    checked.await.ok()?
}

/// Fetches the archive into a file without a name; returns its digest as well.
async fn fetch(work: &InstallJob<'_>, url: &Url) -> Result<(File, Sha256), Error> {
    let installer = work.installer;
    let file = tempfile::tempfile_in(work.temporary).map_err(PathError::at(work.temporary))?;
    let mut sink =
        Receiver { file: &file, directory: work.temporary, hasher: Hasher::default(), progress: work.progress };
    let download = installer.client.download(url, installer.limits.compressed, &mut sink);
    timeout(installer.timeout, download).await.map_err(|_| Error::Slow(installer.timeout))??;
    let found = sink.hasher.finish();
    Ok((file, found))
}

/// Keeps an archive for a later run, if the client has a cache.
async fn keep(installer: &Installer, url: &Url, sha256: Sha256, file: &File) {
    let (client, url) = (installer.client.clone(), url.clone());
    if let Ok(file) = file.try_clone() {
        // Copying a large file takes time; if the copy fails, the next run fetches it again.
        let _ = spawn_blocking(move || client.keep_file(&url, sha256, &file)).await;
    }
}

/// The digests that the archive must have, and who says so. GitHub is asked only if nothing else states one: when it
/// does not answer, there is none.
async fn wanted(work: &InstallJob<'_>, target: &BinaryTarget, url: &Url) -> Vec<(DigestSource, String)> {
    let manifest = target.sha256.clone().map(|digest| (DigestSource::Manifest, digest));
    let lock = work.expected.sha256.clone().map(|digest| (DigestSource::Lock, digest));
    let known: Vec<_> = manifest.into_iter().chain(lock).collect();
    if !known.is_empty() {
        return known;
    }
    let digest = match &work.installer.github {
        Some(github) => github_digest(github, &work.installer.client, url).await,
        None => None,
    };
    digest.map(|digest| (DigestSource::Github, digest.to_string())).into_iter().collect()
}

/// The digest that GitHub has for an address, if it is that of a release's file and GitHub answers.
pub async fn github_digest(github: &Github, client: &Client, url: &Url) -> Option<Sha256> {
    let (id, name) = github.find_asset(url)?;
    match github.release(client, &id).await {
        Ok(release) => release?.asset(&name)?.sha256,
        Err(error) => {
            tracing::debug!("no digest: {error}");
            None
        }
    }
}

/// The program in an archive that was unpacked, which must run on the platform.
fn find_program(
    listing: &ArchiveListing,
    target: &BinaryTarget,
    platform: Platform,
    into: &Path,
) -> Result<PathBuf, Error> {
    let cmd = target.cmd.as_str();
    listing.format.check_name(&target.archive)?;
    let program = into.join(&listing.find_cmd(cmd)?.path);
    // A program behind a link was not looked at while it went by.
    let content = match &listing.program {
        Some(content) => content,
        None => &archive::Program::examine(File::open(&program).map_err(PathError::at(&program))?),
    };
    content.fits(cmd, platform).map_err(|mismatch| Error::Unfit { cmd: cmd.to_owned(), mismatch })?;
    // A program for another platform runs on another machine, which may have its loader.
    if Platform::host() == Some(platform)
        && let archive::Program::Elf { interpreter: Some(loader), .. } = content
        && !Path::new(loader).exists()
    {
        return Err(Error::NoLoader { cmd: cmd.to_owned(), loader: loader.clone() });
    }
    // Many archives do not mark their program.
    set_mode(&program, 0o755).map_err(PathError::at(&program))?;
    Ok(program)
}

/// Takes the bytes of a download: to the file, and into the hash.
struct Receiver<'a> {
    file: &'a File,
    directory: &'a Path,
    hasher: Hasher,
    progress: &'a (dyn Fn(Progress) + Send + Sync),
}

impl Sink for Receiver<'_> {
    fn begin(&mut self, length: Option<u64>) {
        (self.progress)(Progress::Downloading(length));
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece).map_err(PathError::at(self.directory))?;
        self.hasher.update(piece);
        (self.progress)(Progress::Received(piece.len() as u64));
        Ok(())
    }
}
