//! Digests of what was installed, and whether they still hold.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::places::{DIGESTS, FILES};
use super::{Error, Version};
use crate::install::Kind;
use crate::sys::fs::{PathError, open_file, read_bounded};
use crate::sys::walk::files_below;
use crate::{hash, json};

/// The largest list that is read, in bytes. It names at most a million files.
const LIMIT: u64 = 128 << 20;

/// How an installed file differs from what was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// It is gone.
    Missing(String),
    /// Its content is another.
    Changed(String),
    /// It cannot be read.
    Unreadable(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Digests {
    schema: u32,
    /// SHA-256 by path below the version's directory.
    files: BTreeMap<String, String>,
}

/// Writes the digests of a version that was just installed. Of packages only the program counts: what is beside it, their
/// runtimes write to themselves. Returns how many bytes all files have.
pub(super) fn record(directory: &Path, program: &Path, kind: Kind) -> Result<u64, PathError> {
    let found = files_below(&directory.join(FILES))?;
    let size = found.iter().map(|(_, bytes)| bytes).sum();
    let mut files: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
    if kind != Kind::Binary {
        files = vec![program.canonicalize().map_err(PathError::at(program))?];
    }
    let real = directory.canonicalize().map_err(PathError::at(directory))?;
    let digests: BTreeMap<String, String> = files
        .into_par_iter()
        .filter_map(|path| {
            let name = name_of(&path, directory).or_else(|| name_of(&path, &real))?;
            Some(digest(&path).map(|digest| (name, digest)).map_err(PathError::at(&path)))
        })
        .collect::<Result<_, _>>()?;
    let path = directory.join(DIGESTS);
    std::fs::write(&path, json::to_string(&Digests { schema: 1, files: digests })).map_err(PathError::at(&path))?;
    Ok(size)
}

impl Version {
    /// Compares what is installed with what was: reads every file whose digest was kept.
    ///
    /// # Errors
    /// [`Error::Damaged`] when nobody knows any more what was installed.
    pub fn damages(&self) -> Result<Vec<Damage>, Error> {
        let found = self.digests()?.files.into_par_iter().filter_map(|(name, wanted)| {
            let path = name.split('/').fold(self.directory.clone(), |path, part| path.join(part));
            match digest(&path) {
                Ok(found) if found == wanted => None,
                Ok(_) => Some(Damage::Changed(name)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Damage::Missing(name)),
                Err(_) => Some(Damage::Unreadable(name)),
            }
        });
        Ok(found.collect())
    }

    /// Whether the bytes of the program are those that were installed.
    pub(super) fn has_its_program(&self) -> Result<bool, Error> {
        let digests = self.digests()?;
        let Some(wanted) = digests.files.get(&self.receipt.program) else {
            return Err(self.damaged_digests("it has no digest of the program".to_owned()));
        };
        Ok(digest(&self.program()).is_ok_and(|found| found == *wanted))
    }

    fn digests(&self) -> Result<Digests, Error> {
        let bytes = read_bounded(&self.directory.join(DIGESTS), &self.directory, LIMIT);
        let bytes = bytes.map_err(|error| self.damaged_digests(error.to_string()))?;
        json::whole(&bytes).map_err(|error| self.damaged_digests(error.to_string()))
    }

    fn damaged_digests(&self, message: String) -> Error {
        Error::Damaged { id: self.receipt.id.clone(), path: self.directory.join(DIGESTS), message }
    }
}

/// The path below a directory, with `/` between the parts; `None` where it is not Unicode.
fn name_of(path: &Path, directory: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> =
        path.strip_prefix(directory).ok()?.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

fn digest(path: &Path) -> io::Result<String> {
    hash(&open_file(path)?)
}
