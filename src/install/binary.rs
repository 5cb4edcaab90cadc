//! The archive of one platform.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::Url;

use super::{Error, Installer};
use crate::archive::{self, Limits, unpack};
use crate::manifest::{BinaryTarget, Platform};
use crate::net::Sink;
use crate::sys::fs::PathError;
use crate::{hash, hex};

/// Fetches the archive, compares its digest with the manifest's, and unpacks it; returns the program.
pub(super) async fn install(
    installer: &Installer,
    target: &BinaryTarget,
    directory: &Path,
    temporary: &Path,
) -> Result<PathBuf, Error> {
    let platform = match installer.platform {
        Some(platform) if platform.as_str() == target.platform => platform,
        platform => return Err(Error::UnsupportedPlatform { platform, offered: vec![target.platform.clone()] }),
    };
    let address = |error: url::ParseError| Error::Address { url: target.archive.clone(), message: error.to_string() };
    let url = Url::parse(&target.archive).map_err(address)?;
    let file = match &target.sha256 {
        Some(sha256) => cached(installer, &url, sha256).await,
        None => None,
    };
    let file = match file {
        Some(file) => file,
        None => fetch(installer, target, &url, temporary).await?,
    };
    let (cmd, limits, into) = (target.cmd.clone(), installer.limits, directory.to_owned());
    let unpacked = spawn_blocking(move || unpack_program(&file, &cmd, platform, &limits, &into)).await;
    unpacked.unwrap_or_else(|error| Err(archive::Error::Read(io::Error::other(error)).into()))
}

/// The archive of an earlier run, if it still has its digest. What may not be fetched is not taken from there either.
async fn cached(installer: &Installer, url: &Url, sha256: &str) -> Option<File> {
    let sha256 = sha256.to_ascii_lowercase();
    let path = installer.client.cached_file(url, &sha256).filter(|_| installer.client.may_ask(url))?;
    let checked = spawn_blocking(move || {
        let file = File::open(path).ok()?;
        (hash(&file).ok()? == sha256).then_some(file)
    });
    checked.await.ok()?
}

/// Fetches the archive into a file without a name, and compares its digest.
async fn fetch(installer: &Installer, target: &BinaryTarget, url: &Url, temporary: &Path) -> Result<File, Error> {
    let file = tempfile::tempfile_in(temporary).map_err(PathError::at(temporary))?;
    let mut sink = Receiver { file: &file, hash: Sha256::new() };
    let download = installer.client.download(url, installer.limits.compressed, &mut sink);
    timeout(installer.timeout, download).await.map_err(|_| Error::Slow(installer.timeout))??;
    let found = hex(&sink.hash.finalize());
    if let Some(wanted) = &target.sha256
        && !wanted.eq_ignore_ascii_case(&found)
    {
        return Err(Error::DigestMismatch { found, wanted: wanted.clone() });
    }
    if target.sha256.is_some() {
        let (client, url) = (installer.client.clone(), url.clone());
        // A large file takes a moment to copy; should that fail, it is fetched again the next time.
        let kept = spawn_blocking(move || {
            client.keep_file(&url, &found, &file);
            file
        });
        return kept.await.map_err(|error| archive::Error::Read(io::Error::other(error)).into());
    }
    Ok(file)
}

fn unpack_program(file: &File, cmd: &str, platform: Platform, limits: &Limits, into: &Path) -> Result<PathBuf, Error> {
    let listing = unpack(file, cmd, limits, into)?;
    let program = into.join(&listing.find_cmd(cmd)?.path);
    // A program behind a link was not looked at while it went by.
    let content = match listing.program {
        Some(content) => content,
        None => archive::Program::examine(File::open(&program).map_err(PathError::at(&program))?),
    };
    content.fits(platform).map_err(|mismatch| Error::Unfit { cmd: cmd.to_owned(), mismatch })?;
    // Many archives do not mark their program.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).map_err(PathError::at(&program))?;
    }
    Ok(program)
}

/// Takes the bytes of a download: to the file, and into the hash.
struct Receiver<'a> {
    file: &'a File,
    hash: Sha256,
}

impl Sink for Receiver<'_> {
    fn begin(&mut self, _length: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.hash.update(piece);
        Ok(())
    }
}
