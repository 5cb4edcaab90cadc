//! The files of a published registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use acp_registry_core::registry::Registry;
use acp_registry_core::sums::{self, SUMS, SUMS_LIMIT};
use acp_registry_core::sys::fs::{PathError, ReadError, Staging, read_bounded};
use acp_registry_core::text::printable;

/// The bytes of a published file.
#[derive(Debug, Clone)]
pub enum Content<'a> {
    /// Bytes that the registry holds anyway.
    Borrowed(&'a [u8]),
    /// Bytes made by the build.
    Owned(Vec<u8>),
}

impl Content<'_> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// All files of a published registry, by name, with their checksums.
pub struct Tree<'a> {
    files: BTreeMap<String, Content<'a>>,
}

/// How a directory differs from a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The file is not there.
    Missing(String),
    /// The file has other content.
    Changed(String),
    /// The file is not part of the tree.
    Extra(String),
}

/// Why a tree is not written.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A file or directory cannot be written or read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The directory holds something that is not part of an earlier tree, and would be lost.
    #[error("{} holds `{}`, which no earlier build has written and which would be deleted", .0.display(), .1)]
    Foreign(PathBuf, String),
    /// The path ends in `..` or `/` and names no directory that could be replaced.
    #[error("{} does not end in the name of a directory", .0.display())]
    NoName(PathBuf),
    /// The directory would become an entry of the registry.
    #[error("{} is inside the registry and would be taken for an agent", .0.display())]
    InRegistry(PathBuf),
    /// The directory is the registry, or holds it.
    #[error("{} holds the registry itself, which would be deleted", .0.display())]
    HoldsRegistry(PathBuf),
}

impl<'a> Tree<'a> {
    pub(super) fn new(mut files: BTreeMap<String, Content<'a>>) -> Self {
        let list: Vec<(&String, &Content<'_>)> = files.iter().collect();
        let lines: Vec<String> = list
            .into_par_iter()
            .map(|(name, content)| {
                format!("{}  {name}\n", acp_registry_core::digest::hex(&Sha256::digest(content.bytes())))
            })
            .collect();
        files.insert(SUMS.to_owned(), Content::Owned(lines.concat().into_bytes()));
        Self { files }
    }

    /// The tree with more files, whose names may have folders; a file of the same name is replaced.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        self.files.extend(more.into_iter().map(|(name, bytes)| (name, Content::Owned(bytes))));
        self.files.remove(SUMS);
        Self::new(self.files)
    }

    /// The content of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Content::bytes)
    }

    /// The files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (name.as_str(), content.bytes()))
    }

    /// Makes a directory hold exactly this tree, and returns how many files had to be written. The old content is replaced
    /// as a whole, or stays; files that are the same stay what they are, with the time at which they were written.
    ///
    /// # Errors
    /// [`TreeError`]; the directory is then as it was.
    pub fn write(&self, directory: &Path, registry: &Path) -> Result<usize, TreeError> {
        refuse_loss(directory, registry)?;
        let files: Vec<(&String, &Content<'_>)> = self.files.iter().collect();
        let is_same: Vec<bool> =
            files.par_iter().map(|(name, content)| holds(&directory.join(name), content.bytes())).collect();
        let changed = is_same.iter().filter(|is_same| !**is_same).count();
        if changed == 0 && self.extra(directory)?.is_empty() {
            return Ok(0);
        }
        let staging = Staging::beside(directory)?;
        let folders: BTreeSet<&str> = files.iter().flat_map(|(name, _)| folders(name)).collect();
        for folder in folders {
            let path = staging.path().join(folder);
            fs::create_dir(&path).map_err(PathError::at(&path))?;
        }
        files.into_par_iter().zip(is_same).try_for_each(|((name, content), is_same)| {
            let path = staging.path().join(name);
            // Not every file system has links; then the file is new.
            if is_same && fs::hard_link(directory.join(name), &path).is_ok() {
                return Ok(());
            }
            fs::write(&path, content.bytes()).map_err(PathError::at(&path))
        })?;
        staging.replace()?;
        Ok(changed)
    }

    /// How a directory differs from this tree, by name.
    ///
    /// # Errors
    /// [`PathError`] when the directory is there and cannot be read.
    pub fn differences(&self, directory: &Path) -> Result<Vec<Difference>, PathError> {
        let mut found = BTreeMap::new();
        for (name, content) in &self.files {
            let path = directory.join(name);
            // Whatever is there instead of a file of this size is a difference, not a failure.
            let difference = match read_bounded(&path, directory, content.bytes().len() as u64) {
                Ok(bytes) if bytes == content.bytes() => continue,
                Err(ReadError::NotFound) => Difference::Missing(name.clone()),
                Err(ReadError::Io(error)) => return Err(PathError { path, error }),
                Ok(_) | Err(_) => Difference::Changed(name.clone()),
            };
            found.insert(name.clone(), difference);
        }
        let extra = self.extra(directory)?;
        found.extend(extra.into_iter().map(|name| (name.clone(), Difference::Extra(name))));
        Ok(found.into_values().collect())
    }

    /// What a directory holds that is not part of this tree.
    fn extra(&self, directory: &Path) -> Result<Vec<String>, PathError> {
        let folders: BTreeSet<&str> = self.files.keys().flat_map(|name| folders(name)).collect();
        let mut extra = Vec::new();
        list(directory, "", &mut |name| {
            let is_folder = folders.contains(name);
            if !is_folder && !self.files.contains_key(name) {
                extra.push(name.to_owned());
            }
            is_folder
        })?;
        Ok(extra)
    }
}

/// Whether there is a file of its own, no link, with these bytes.
fn holds(path: &Path, bytes: &[u8]) -> bool {
    let is_alike = |metadata: fs::Metadata| metadata.is_file() && metadata.len() == bytes.len() as u64;
    // Most files of a new tree are not there, or have another size: only the others are read.
    path.symlink_metadata().is_ok_and(is_alike)
        && read_bounded(path, Path::new("/"), bytes.len() as u64).is_ok_and(|found| found == bytes)
}

/// The folders of a name of a tree, outermost first.
fn folders(name: &str) -> impl Iterator<Item = &str> {
    name.match_indices('/').map(|(at, _)| &name[..at])
}

/// Calls `visit` with the name of everything in a directory. Where it returns true for a directory, what that holds
/// follows; symbolic links are not followed.
fn list(directory: &Path, prefix: &str, visit: &mut impl FnMut(&str) -> bool) -> Result<(), PathError> {
    let items = match fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        items => items.map_err(PathError::at(directory))?,
    };
    for item in items {
        let item = item.map_err(PathError::at(directory))?;
        // A name that is not UTF-8 is nobody's name in a tree, with or without the replacement character.
        let name = format!("{prefix}{}", item.file_name().to_string_lossy());
        let is_directory = item.file_type().map_err(PathError::at(directory))?.is_dir();
        if visit(&name) && is_directory {
            list(&item.path(), &format!("{name}/"), visit)?;
        }
    }
    Ok(())
}

/// Replacing a directory deletes what it holds: that must be an earlier tree, file for file, or nothing.
fn refuse_loss(directory: &Path, registry: &Path) -> Result<(), TreeError> {
    if directory.file_name().is_none() {
        return Err(TreeError::NoName(directory.to_owned()));
    }
    let real = match directory.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !directory.is_symlink() => {
            return refuse_registry(directory, registry);
        }
        Err(error) => return Err(PathError { path: directory.to_owned(), error }.into()),
    };
    if registry.starts_with(&real) {
        return Err(TreeError::HoldsRegistry(directory.to_owned()));
    }
    refuse_registry(&real, registry)?;
    let listed = read_bounded(&real.join(SUMS), &real, SUMS_LIMIT).unwrap_or_default();
    let known = sums::names(&listed);
    let folders: BTreeSet<&str> = known.iter().flat_map(|name| folders(name)).collect();
    let mut found = Vec::new();
    list(&real, "", &mut |name| {
        let is_folder = folders.contains(name);
        if !is_folder {
            found.push(name.to_owned());
        }
        is_folder
    })?;
    match sums::foreign(&listed, found.iter().map(String::as_str)) {
        Some(name) => Err(TreeError::Foreign(directory.to_owned(), printable(name).into_owned())),
        None => Ok(()),
    }
}

/// A tree inside the registry would be an entry of it the next time, unless loading passes it over.
fn refuse_registry(directory: &Path, registry: &Path) -> Result<(), TreeError> {
    // The parent of a name alone is the working directory, which an empty path does not open.
    let parent = directory.parent().map(|parent| Path::new(".").join(parent));
    let parent = parent.and_then(|parent| parent.canonicalize().ok()).unwrap_or_default();
    let is_passed_over = directory.file_name().and_then(|name| name.to_str()).is_some_and(Registry::passes_over);
    if parent.starts_with(registry) && !(parent == registry && is_passed_over) {
        return Err(TreeError::InRegistry(directory.to_owned()));
    }
    Ok(())
}
