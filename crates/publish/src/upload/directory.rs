//! A local directory as a target.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::{CONTENT, Error, LATEST, LeaseTimes, Notice, UploadEvent};
use acp_registry_host::fs::{PathError, ReadError, linked_folder, read_bounded, sync_below, write_atomic_from};
use acp_registry_host::lock::{Acquisition, Lock};
use acp_registry_plan::text::printable;

/// Where files are written before they are renamed into place.
const MAKING: &str = ".acp-registry/making";

const LOCK: &str = ".acp-registry/lock";

/// Interval between two attempts to take a lock that another publisher holds.
const INTERVAL: Duration = Duration::from_millis(100);

/// A local directory as a target.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    pub(super) fn new(path: &Path) -> Self {
        Self { root: path.to_owned() }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn shown(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// Returns the path of a file. Refuses names whose folders are symbolic links, which could lead outside the
    /// target.
    fn path(&self, name: &str) -> Result<PathBuf, Error> {
        match linked_folder(&self.root, name) {
            Some(link) => Err(Error::Link(link.display().to_string())),
            None => Ok(self.root.join(name)),
        }
    }

    /// Refuses symbolic links among the folders of `latest/`, `content/` and `.acp-registry/`, before anything is changed.
    pub(super) fn refuse_links<'a>(&self, files: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        self.path(&format!("{MAKING}/x"))?;
        self.path(&format!("{CONTENT}/x"))?;
        let folders: BTreeSet<&str> = files.filter_map(|name| Some(name.rsplit_once('/')?.0)).chain([""]).collect();
        folders.into_iter().try_for_each(|folder| self.path(&format!("{LATEST}/{folder}/x")).map(drop))
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.path(&format!("{MAKING}/x"))?;
        let path = self.path(name)?;
        let folder = path.parent().unwrap_or(&self.root);
        let making = self.root.join(MAKING);
        for folder in [folder, &making] {
            fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        }
        Ok(write_atomic_from(&making, &path, bytes)?)
    }

    /// Makes everything that was put durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        if self.root.is_dir() { Ok(sync_below(&self.root)?) } else { Ok(()) }
    }

    pub(super) fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(name)?;
        let root = match self.root.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(PathError::at(&self.root))?,
        };
        match read_bounded(&path, &root, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::NotFound) => Ok(None),
            Err(error) => Err(Error::Read { path: path.display().to_string(), error }),
        }
    }

    /// Whether the name is a regular file with these bytes, not a symbolic link.
    pub(super) fn holds(&self, name: &str, bytes: &[u8]) -> Result<bool, Error> {
        if self.path(name)?.is_symlink() {
            return Ok(false);
        }
        match self.get(name, bytes.len() as u64) {
            Err(Error::Read { error: ReadError::TooLarge { .. }, .. }) => Ok(false),
            found => Ok(found?.is_some_and(|found| found == bytes)),
        }
    }

    /// Modification time in seconds since 1970; `None` if the file system does not know it.
    pub(super) fn modified(&self, name: &str) -> Result<Option<i64>, Error> {
        let modified = self.path(name)?.symlink_metadata().and_then(|metadata| metadata.modified());
        Ok(modified.ok().map(|time| OffsetDateTime::from(time).unix_timestamp()))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name)?;
        // A directory of this name was not published by this program, and stays.
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(PathError { path, error }.into()),
            _ => {}
        }
        // Removes parent folders that are empty now; `remove_dir` fails for others.
        for folder in path.ancestors().skip(1).take_while(|folder| **folder != self.root) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        self.path(&format!("{folder}/x"))?;
        let mut found = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            for (name, is_folder) in items(&self.root.join(folder).join(&below))? {
                let name = if below.is_empty() { name } else { format!("{below}/{name}") };
                if is_folder { folders.push(name) } else { found.push(name) }
            }
        }
        Ok(found)
    }

    /// The names of the files directly in a folder.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        self.path(&format!("{folder}/x"))?;
        let files = items(&self.root.join(folder))?.into_iter().filter(|(_, is_folder)| !is_folder);
        Ok(files.map(|(name, _)| name).collect())
    }

    pub(super) fn folders(&self) -> Result<Vec<String>, Error> {
        let folders = items(&self.root)?.into_iter().filter(|(_, is_folder)| *is_folder);
        Ok(folders.map(|(name, _)| name).collect())
    }

    /// Waits for the lock, then removes temporary files that a killed publisher left behind.
    pub(super) async fn lock(&self, turns: LeaseTimes, notice: Notice<'_>) -> Result<Lock, Error> {
        let path = self.path(LOCK)?;
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        let began = Instant::now();
        let mut is_told = false;
        loop {
            match Lock::ask(&path, "publish")? {
                Acquisition::Mine(lock) => {
                    let making = self.root.join(MAKING);
                    match fs::remove_dir_all(&making) {
                        Err(error) if error.kind() != ErrorKind::NotFound => {
                            return Err(PathError::at(&making)(error).into());
                        }
                        _ => return Ok(lock),
                    }
                }
                Acquisition::Held(holder) => {
                    let holder = printable(&holder).into_owned();
                    if began.elapsed() >= turns.wait {
                        return Err(Error::Busy { place: self.shown(""), holder });
                    }
                    if !is_told {
                        is_told = true;
                        notice(UploadEvent::Waiting(holder));
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }
        }
    }
}

/// The names in a folder, and whether each is a folder; empty if the folder does not exist. Names that are not UTF-8
/// are skipped, because no published file has one.
fn items(folder: &Path) -> Result<Vec<(String, bool)>, Error> {
    let items = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        items => items.map_err(PathError::at(folder))?,
    };
    let mut found = Vec::new();
    for item in items {
        let item = item.map_err(PathError::at(folder))?;
        let is_folder = item.file_type().map_err(PathError::at(folder))?.is_dir();
        found.extend(item.file_name().into_string().ok().map(|name| (name, is_folder)));
    }
    Ok(found)
}
