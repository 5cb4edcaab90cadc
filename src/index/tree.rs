//! The files of a published registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::sys::fs::{PathError, Staging};

/// The file that lists the digests of all others.
const CHECKSUMS: &str = "SHA256SUMS";

/// The file by which a published tree is known.
const INDEX: &str = "registry.json";

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
    /// The directory holds something else, which would be lost.
    #[error("{} is not empty and holds no published registry; it would be deleted. Choose another directory, or empty it", .0.display())]
    Foreign(PathBuf),
    /// The directory is the registry, or holds it.
    #[error("{} holds the registry itself, which would be deleted. Choose another directory", .0.display())]
    HoldsRegistry(PathBuf),
}

impl<'a> Tree<'a> {
    pub(super) fn new(mut files: BTreeMap<String, Content<'a>>) -> Self {
        let list: Vec<(&String, &Content<'_>)> = files.iter().collect();
        let lines: Vec<String> = list
            .into_par_iter()
            .map(|(name, content)| format!("{}  {name}\n", crate::hex(&Sha256::digest(content.bytes()))))
            .collect();
        files.insert(CHECKSUMS.to_owned(), Content::Owned(lines.concat().into_bytes()));
        Self { files }
    }

    /// The files, by name.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (name.as_str(), content.bytes()))
    }

    /// Makes a directory hold exactly this tree. The old content is replaced as a whole, or stays.
    ///
    /// # Errors
    /// [`TreeError`]; the directory is then as it was.
    pub fn write(&self, directory: &Path, registry: &Path) -> Result<(), TreeError> {
        refuse_loss(directory, registry)?;
        let staging = Staging::beside(directory)?;
        let files: Vec<(&String, &Content<'_>)> = self.files.iter().collect();
        files.into_par_iter().try_for_each(|(name, content)| {
            let path = staging.path().join(name);
            fs::write(&path, content.bytes()).map_err(PathError::at(&path))
        })?;
        staging.replace()?;
        Ok(())
    }

    /// How a directory differs from this tree, by name.
    ///
    /// # Errors
    /// [`PathError`] when the directory is there and cannot be read.
    pub fn differences(&self, directory: &Path) -> Result<Vec<Difference>, PathError> {
        let mut found = BTreeMap::new();
        for (name, content) in &self.files {
            let path = directory.join(name);
            match fs::read(&path) {
                Ok(bytes) if bytes == content.bytes() => {}
                Ok(_) => drop(found.insert(name.clone(), Difference::Changed(name.clone()))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    found.insert(name.clone(), Difference::Missing(name.clone()));
                }
                Err(error) => return Err(PathError { path, error }),
            }
        }
        match fs::read_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(PathError { path: directory.to_owned(), error }),
            Ok(items) => {
                for item in items {
                    let name = item.map_err(PathError::at(directory))?.file_name().to_string_lossy().into_owned();
                    if !self.files.contains_key(&name) {
                        found.insert(name.clone(), Difference::Extra(name));
                    }
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Replacing a directory deletes what it holds: that must be an earlier tree, or nothing.
fn refuse_loss(directory: &Path, registry: &Path) -> Result<(), TreeError> {
    let real = match directory.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(PathError { path: directory.to_owned(), error }.into()),
    };
    if registry.starts_with(&real) {
        return Err(TreeError::HoldsRegistry(directory.to_owned()));
    }
    let mut items = fs::read_dir(&real).map_err(PathError::at(directory))?;
    if items.next().is_some() && !real.join(INDEX).is_file() {
        return Err(TreeError::Foreign(directory.to_owned()));
    }
    Ok(())
}
