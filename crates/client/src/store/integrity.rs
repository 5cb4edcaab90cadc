//! Digests and sizes of what was installed, where its links lead, and whether that still holds.
//!
//! Of an archive, the digest of every file is kept. A package has tens of thousands of files with those that it needs, and
//! hashing them all would take longer than installing them: only its program has a digest, and of the other files the sizes
//! are kept. Comparing these reads no file, and finds what has gone or was cut off. Package managers have lists of their own,
//! but npm's names packages only, and neither covers an environment with its interpreter.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use acp_registry_host::fs::{PathError, files_and_links_below, open_file, read_bounded, refuse_cancelled, write_new};
use acp_registry_plan::json;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::directory::{DIGESTS, FILES};
use super::receipt::file_name;
use super::{Error, Version};
use crate::install::Kind;

/// The largest list that is read, in bytes. It names at most a million files.
const DIGESTS_LIMIT: u64 = 128 << 20;

/// How many sizes are kept. For a package with more files, only the program is compared.
const SIZES: usize = 500_000;

/// How an installed file differs from what was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// It is gone.
    Missing(String),
    /// Its content is another.
    Changed(String),
    /// It cannot be read.
    Unreadable(String),
}

impl Damage {
    fn of(name: String, is_same: io::Result<bool>) -> Option<Self> {
        match is_same {
            Ok(true) => None,
            Ok(false) => Some(Self::Changed(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Self::Missing(name)),
            Err(_) => Some(Self::Unreadable(name)),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Digests {
    schema: u32,
    /// SHA-256 by path below the version's directory.
    files: BTreeMap<String, String>,
    /// Bytes by path below the version's directory, of the files that have no digest.
    sizes: BTreeMap<String, u64>,
    /// Where links lead, by their paths below the version's directory.
    links: BTreeMap<String, String>,
}

/// Writes the digests, sizes and links of a version that was just installed. Returns how many bytes all files have.
pub(super) fn record(
    directory: &Path,
    program: &Path,
    kind: Kind,
    is_cancelled: &AtomicBool,
) -> Result<u64, PathError> {
    let (found, links) = files_and_links_below(&directory.join(FILES))?;
    let named = links.into_iter().filter_map(|link| {
        let (name, target) = (file_name(&link, directory)?, fs::read_link(&link).ok()?.to_str()?.to_owned());
        (!is_rewritten(&name)).then_some((name, target))
    });
    let links = named.collect();
    let size = found.iter().map(|(_, bytes)| bytes).sum();
    let (files, mut sizes): (Vec<PathBuf>, BTreeMap<String, u64>) = if kind == Kind::Binary {
        (found.into_iter().map(|(path, _)| path).collect(), BTreeMap::new())
    } else {
        let named = found.into_par_iter().filter_map(|(path, bytes)| Some((file_name(&path, directory)?, bytes)));
        let mut named: Vec<_> = named.filter(|(name, _)| !is_rewritten(name)).collect();
        named.par_sort_unstable();
        let program = program.canonicalize().map_err(PathError::at(program))?;
        (vec![program], named.into_iter().collect())
    };
    let real = directory.canonicalize().map_err(PathError::at(directory))?;
    let digests: BTreeMap<String, String> = files
        .into_par_iter()
        .filter_map(|path| {
            if let Err(cancelled) = refuse_cancelled(is_cancelled, &path) {
                return Some(Err(cancelled));
            }
            let name = file_name(&path, directory).or_else(|| file_name(&path, &real))?;
            Some(digest(&path).map(|digest| (name, digest)).map_err(PathError::at(&path)))
        })
        .collect::<Result<_, _>>()?;
    sizes.retain(|name, _| !digests.contains_key(name));
    if sizes.len() > SIZES {
        sizes.clear();
    }
    let path = directory.join(DIGESTS);
    write_new(&path, json::to_string(&Digests { schema: 1, files: digests, sizes, links }).as_bytes())?;
    Ok(size)
}

/// Whether runtimes write to a file of a package: compiled modules, caches and logs.
fn is_rewritten(name: &str) -> bool {
    let is_cache = |part: &str| ["__pycache__", ".cache"].contains(&part);
    name.split('/').any(is_cache) || [".pyc", ".log"].iter().any(|ending| name.ends_with(ending))
}

impl Version {
    /// Compares the files with their state after the installation: reads every file that has a digest, and compares the
    /// sizes of the others, and where links lead.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the list of installed files cannot be read.
    pub fn damages(&self) -> Result<Vec<Damage>, Error> {
        let Digests { files, sizes, links, .. } = self.digests()?;
        let found = files.into_par_iter().filter_map(|(name, wanted)| {
            let is_same = digest(&self.file_path(&name)).map(|found| found == wanted);
            Damage::of(name, is_same)
        });
        let mut damages: Vec<Damage> = found.collect();
        damages.extend(self.resized(sizes));
        damages.extend(self.changed_links(links));
        Ok(damages)
    }

    /// Whether nothing of the version is damaged, see [`Version::damages`].
    #[must_use]
    pub fn is_intact(&self) -> bool {
        self.is_whole() && self.damages().is_ok_and(|damages| damages.is_empty())
    }

    /// Whether the program and the files beside it are there, those of packages with their sizes, and links lead where they did.
    /// Reads only the list of files.
    #[must_use]
    pub fn seems_intact(&self) -> bool {
        let are_there = |digests: Digests| {
            let has = |name: &String| self.file_path(name).symlink_metadata().is_ok();
            digests.files.par_iter().all(|(name, _)| has(name))
                && self.resized(digests.sizes).is_empty()
                && self.changed_links(digests.links).is_empty()
        };
        self.is_whole() && self.digests().is_ok_and(are_there)
    }

    /// The files that have gone or have another size.
    fn resized(&self, sizes: BTreeMap<String, u64>) -> Vec<Damage> {
        let found = sizes.into_par_iter().filter_map(|(name, wanted)| {
            let found = self.file_path(&name).symlink_metadata();
            Damage::of(name, found.map(|found| found.is_file() && found.len() == wanted))
        });
        found.collect()
    }

    /// The links that have gone or lead to something else.
    fn changed_links(&self, links: BTreeMap<String, String>) -> Vec<Damage> {
        let found = links.into_par_iter().filter_map(|(name, wanted)| {
            let path = self.file_path(&name);
            // Something that is no link cannot be read as one.
            let found = path.symlink_metadata().map(|found| found.is_symlink().then(|| fs::read_link(&path)));
            let leads =
                found.and_then(|found| found.map_or(Ok(false), |target| Ok(target?.as_os_str() == wanted.as_str())));
            Damage::of(name, leads)
        });
        found.collect()
    }

    /// The path of a file that the receipt or the list of files names.
    pub(super) fn file_path(&self, name: &str) -> PathBuf {
        name.split('/').fold(self.directory.clone(), |path, part| path.join(part))
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
        let bytes = read_bounded(&self.directory.join(DIGESTS), &self.directory, DIGESTS_LIMIT);
        let bytes = bytes.map_err(|error| self.damaged_digests(error.to_string()))?;
        json::whole(&bytes).map_err(|error| self.damaged_digests(error.to_string()))
    }

    fn damaged_digests(&self, message: String) -> Error {
        Error::Damaged { id: self.receipt.id.to_string(), path: self.directory.join(DIGESTS), message }
    }
}

fn digest(path: &Path) -> io::Result<String> {
    Ok(acp_registry_host::fs::digest(&open_file(path)?)?.to_string())
}

/// What the files below a directory take, as far as they can be seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Space {
    /// All their bytes.
    pub(super) bytes: u64,
    /// The bytes that are free when they are removed: a file with a name elsewhere stays, such as one of a package that is kept
    /// unpacked.
    pub(super) removable: u64,
}

impl Space {
    pub(super) fn below(directory: &Path) -> Self {
        let (mut space, mut names) = (Self::default(), HashMap::new());
        // What a link leads to is elsewhere, and stays.
        let mut waiting: Vec<PathBuf> =
            Some(directory.to_owned()).into_iter().filter(|path| !path.is_symlink()).collect();
        while let Some(directory) = waiting.pop() {
            for item in fs::read_dir(directory).into_iter().flatten().flatten() {
                match item.metadata() {
                    Ok(metadata) if metadata.is_dir() => waiting.push(item.path()),
                    Ok(metadata) if metadata.is_file() => {
                        space.bytes += metadata.len();
                        let is_last = links(&metadata).is_none_or(|(file, links)| {
                            let seen = names.entry(file).or_insert(0);
                            *seen += 1;
                            *seen == links
                        });
                        space.removable += if is_last { metadata.len() } else { 0 };
                    }
                    _ => {}
                }
            }
        }
        space
    }
}

/// The numbers of a file that has several names, and how many it has.
#[cfg(unix)]
fn links(metadata: &fs::Metadata) -> Option<((u64, u64), u64)> {
    use std::os::unix::fs::MetadataExt as _;

    Some(((metadata.dev(), metadata.ino()), metadata.nlink())).filter(|(_, links)| *links > 1)
}

/// Other systems share no files.
#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> Option<((u64, u64), u64)> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_free_when_the_last_of_its_names_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (place, elsewhere) = (folder.path().join("place"), folder.path().join("elsewhere"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("alone"), "1").unwrap();
        fs::write(place.join("twice"), "22").unwrap();
        fs::hard_link(place.join("twice"), place.join("again")).unwrap();
        fs::write(&elsewhere, "333").unwrap();
        fs::hard_link(&elsewhere, place.join("shared")).unwrap();
        let Space { bytes, removable } = Space::below(&place);
        assert_eq!((bytes, removable), (1 + 2 + 2 + 3, 1 + 2));
    }
}
