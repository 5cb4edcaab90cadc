//! Writes entries to a directory that no other process writes to.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::walk::Sink;
use super::{Entry, EntryKind, Error};
use acp_registry_host::fs::PathError;

/// Writes entries below one directory. Links are created last, so no link can be followed while files are written, and
/// existing files are never opened.
pub(super) struct Unpack {
    root: PathBuf,
    /// Whether a second file of a name takes the place of the first.
    replaces: bool,
    file: Option<(PathBuf, File)>,
}

impl Unpack {
    /// Starts to write to a directory, which must exist and be empty.
    pub(super) fn into(root: &Path) -> Result<Self, Error> {
        let mut items = fs::read_dir(root).map_err(PathError::at(root))?;
        if items.next().is_some() {
            return Err(PathError::at(root)(io::Error::other("is not empty")).into());
        }
        Ok(Self { root: root.to_owned(), replaces: false, file: None })
    }

    /// Like [`Unpack::into`], for an npm package, in which the last file of a name counts.
    pub(super) fn package_into(root: &Path) -> Result<Self, Error> {
        Ok(Self { replaces: true, ..Self::into(root)? })
    }

    /// The path of an entry; creates its parent directories.
    fn place(&self, path: &str) -> Result<PathBuf, Error> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
            make_directory(parent)?;
        }
        Ok(path)
    }
}

impl Sink for Unpack {
    fn directory(&mut self, path: &str) -> Result<(), Error> {
        self.file = None;
        make_directory(&self.root.join(path))
    }

    fn file(&mut self, path: &str, executable: bool) -> Result<(), Error> {
        let path = self.place(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, if executable { 0o755 } else { 0o644 });
        #[cfg(not(unix))]
        let _ = executable;
        let opened = match options.open(&path) {
            Err(error) if self.replaces && error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path).and_then(|()| options.open(&path))
            }
            opened => opened,
        };
        let file = opened.map_err(PathError::at(&path))?;
        self.file = Some((path, file));
        Ok(())
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        Ok(file.write_all(chunk).map_err(PathError::at(path))?)
    }

    fn links(&mut self, entries: &[Entry]) -> Result<(), Error> {
        self.file = None;
        // Creates all directories before the first symbolic link.
        let links = |entry: &&Entry| matches!(entry.kind, EntryKind::Symlink { .. } | EntryKind::Hardlink { .. });
        let places: Vec<(PathBuf, &Entry)> = entries
            .iter()
            .filter(links)
            .map(|entry| Ok((self.place(&entry.path)?, entry)))
            .collect::<Result<_, Error>>()?;
        for (place, entry) in &places {
            if let EntryKind::Hardlink { target } = &entry.kind {
                fs::hard_link(self.root.join(target), place).map_err(PathError::at(place))?;
            }
        }
        for (place, entry) in &places {
            if let EntryKind::Symlink { target } = &entry.kind {
                symlink(target, place).map_err(PathError::at(place))?;
            }
        }
        Ok(())
    }
}

fn make_directory(path: &Path) -> Result<(), Error> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    Ok(builder.recursive(true).create(path).map_err(PathError::at(path))?)
}

#[cfg(unix)]
fn symlink(target: &str, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

/// Windows distinguishes links to files and to directories. If the target does not exist yet, a link to a file is
/// created.
#[cfg(windows)]
fn symlink(target: &str, place: &Path) -> io::Result<()> {
    let target = target.replace('/', "\\");
    let leads_to_directory = place.parent().is_some_and(|parent| parent.join(&target).is_dir());
    if leads_to_directory {
        std::os::windows::fs::symlink_dir(target, place)
    } else {
        std::os::windows::fs::symlink_file(target, place)
    }
}
