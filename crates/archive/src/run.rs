//! Entry points for listing and unpacking archives.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use acp_registry_host::fs::{PathError, refuse_cancelled};

use super::cmd::cmd_path;
use super::format::read_head;
use super::meter::{Consumed, Meter};
use super::walk::{ArchiveMember, Content, Sink, Walk};
use super::{
    ArchiveListing, BinaryFormat, Entry, EntryKind, Error, Excess, HEAD_LENGTH, Limits, Lookalike, from_tar, from_zip,
};

/// Lists an archive of any format, and examines the file that `cmd` names. Reads all of the archive. Writes nothing,
/// except an unnamed temporary file if the examined program is large.
///
/// # Errors
/// Returns [`Error`]. A missing `cmd` is not an error, see [`ArchiveListing::find_cmd`].
pub fn list<R: Read + Seek>(mut file: R, cmd: &str, limits: &Limits) -> Result<ArchiveListing, Error> {
    let listing = run(&mut file, cmd, limits, ())?;
    // `cmd` is a link, and its target was read before the link was seen: read the archive again.
    if listing.program.is_none()
        && let Ok(found) = listing.find_cmd(cmd)
    {
        let path = found.path.clone();
        return run(&mut file, &path, limits, ());
    }
    Ok(listing)
}

/// Like [`list`], for a stream such as a running download. Reads it to the end.
///
/// # Errors
/// Returns [`Error`]; it is [`Error::NotSeekable`] for a `.zip`, which [`list`] can read once it is complete.
pub fn list_stream<R: Read>(mut stream: R, cmd: &str, limits: &Limits) -> Result<ArchiveListing, Error> {
    let head = read_head(&mut stream, HEAD_LENGTH).map_err(Error::Read)?;
    let format = BinaryFormat::detect(&head).map_err(Error::NotAnArchive)?;
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, cmd_path(cmd), ());
    run_stream(Cursor::new(head).chain(stream), format, cmd, &meter, &mut walk)?;
    walk.finish(format)
}

/// Unpacks an archive into an existing, empty directory that no other process writes to. Files get mode 0755 or 0644; a
/// bare executable gets the name in `cmd`. After an error, the caller must delete the directory.
///
/// Another thread may set `is_cancelled`: then this ends with an error, and has written one more piece of a file at most.
///
/// # Errors
/// Returns [`Error`]. Nothing was written outside the directory, which may contain a part of the archive.
pub fn unpack<R: Read + Seek>(
    file: R,
    cmd: &str,
    limits: &Limits,
    into: &Path,
    is_cancelled: &AtomicBool,
) -> Result<ArchiveListing, Error> {
    run(file, cmd, limits, Unpack::into(into, is_cancelled)?)
}

/// Unpacks the archive of an npm package into an existing, empty directory that no other process writes to, as npm does:
/// without the folder around its files, without links, with `.gitignore` as `.npmignore`, and with the last of equal names.
/// Files get the mode of the archive, and can be read and written by all whom the umask allows it.
/// After an error, the caller must delete the directory. `is_cancelled` is that of [`unpack()`].
///
/// # Errors
/// Returns [`Error`]. Nothing was written outside the directory, which may contain a part of the archive.
pub fn unpack_package<R: Read + Seek>(
    mut file: R,
    limits: &Limits,
    into: &Path,
    is_cancelled: &AtomicBool,
) -> Result<ArchiveListing, Error> {
    let format = BinaryFormat::detect(&head(&mut file).map_err(Error::Read)?).map_err(Error::NotAnArchive)?;
    let BinaryFormat::Tar(compression) = format else { return Err(Error::NotAnArchive(Lookalike::Unknown)) };
    let meter = Meter::new(limits);
    let sink = Unpack { replaces: true, ..Unpack::into(into, is_cancelled)? };
    let mut walk = Walk::package(&meter, sink);
    from_tar::walk(Consumed { inner: file, meter: Rc::clone(&meter) }, compression, &meter, &mut walk)?;
    walk.finish(format)
}

/// Reads the files of a `.zip` one by one, each of at most `file_limit` bytes, and gives their paths and contents to `take`.
/// Writes nothing.
///
/// # Errors
/// Returns [`Error`]. Some files may have been taken.
pub fn read_zip<R: Read + Seek>(
    file: R,
    limits: &Limits,
    file_limit: u64,
    take: &mut dyn FnMut(&str, &[u8]),
) -> Result<(), Error> {
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, None, Collect::new(file_limit, take));
    from_zip::walk(file, &meter, &mut walk)?;
    walk.finish(BinaryFormat::Zip)?;
    Ok(())
}

/// What a file is if it is no archive and no program, as far as it can be read.
pub fn lookalike<R: Read + Seek>(mut file: R) -> Option<Lookalike> {
    let lookalike = BinaryFormat::detect(&head(&mut file).ok()?).err()?;
    Some(if lookalike == Lookalike::Unknown { by_tail(&mut file) } else { lookalike })
}

/// The first bytes of a file, which is then at its start again.
fn head(file: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let head = read_head(file, HEAD_LENGTH)?;
    file.rewind()?;
    Ok(head)
}

fn run<R: Read + Seek, S: Sink>(mut file: R, cmd: &str, limits: &Limits, sink: S) -> Result<ArchiveListing, Error> {
    let head = head(&mut file).map_err(Error::Read)?;
    let format =
        BinaryFormat::detect(&head).map_err(|found| Error::NotAnArchive(lookalike(&mut file).unwrap_or(found)))?;
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, cmd_path(cmd), sink);
    if format == BinaryFormat::Zip {
        from_zip::walk(file, &meter, &mut walk)?;
    } else {
        run_stream(file, format, cmd, &meter, &mut walk)?;
    }
    walk.finish(format)
}

fn run_stream<R: Read, S: Sink>(
    source: R,
    format: BinaryFormat,
    cmd: &str,
    meter: &Rc<Meter>,
    walk: &mut Walk<S>,
) -> Result<(), Error> {
    let mut source = Consumed { inner: source, meter: Rc::clone(meter) };
    match format {
        BinaryFormat::Zip => Err(Error::NotSeekable),
        BinaryFormat::Tar(compression) => from_tar::walk(source, compression, meter, walk),
        BinaryFormat::Executable => {
            // Clients save it under the file name of `cmd`.
            let path = cmd_path(cmd).unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let name = if name.is_empty() { "executable" } else { name };
            let member = ArchiveMember { name: name.as_bytes(), content: Content::File, size: None, mode: 0o755 };
            walk.member(&member, &mut source)
        }
    }
}

/// Apple disk images are recognized only by their last block.
fn by_tail<R: Read + Seek>(file: &mut R) -> Lookalike {
    let mut mark = [0; 4];
    let found = file.seek(SeekFrom::End(-512)).is_ok() && file.read_exact(&mut mark).is_ok() && mark == *b"koly";
    if found { Lookalike::Dmg } else { Lookalike::Unknown }
}

/// Writes entries below one directory. Links are created last, so no link can be followed while files are written, and
/// existing files are never opened.
pub(super) struct Unpack<'a> {
    root: PathBuf,
    is_cancelled: &'a AtomicBool,
    /// Whether a second file of a name takes the place of the first, as in a package of npm.
    replaces: bool,
    file: Option<(PathBuf, File)>,
}

impl<'a> Unpack<'a> {
    /// Starts to write to a directory, which must exist and be empty.
    pub(super) fn into(root: &Path, is_cancelled: &'a AtomicBool) -> Result<Self, Error> {
        let mut items = fs::read_dir(root).map_err(PathError::at(root))?;
        if items.next().is_some() {
            return Err(PathError::at(root)(io::Error::other("is not empty")).into());
        }
        Ok(Self { root: root.to_owned(), is_cancelled, replaces: false, file: None })
    }

    /// The permissions of a file, from which the umask is taken: of those that an archive states, only whether it can be
    /// started; of those of a package, all, as npm does.
    #[cfg(unix)]
    fn mode(&self, stated: u32) -> u32 {
        match stated & 0o111 {
            _ if self.replaces => (stated | 0o666) & 0o777,
            0 => 0o644,
            _ => 0o755,
        }
    }

    /// Makes a directory with those above it.
    fn make_directory(&self, path: &Path) -> Result<(), Error> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, if self.replaces { 0o777 } else { 0o755 });
        Ok(builder.recursive(true).create(path).map_err(PathError::at(path))?)
    }

    /// The path of an entry; creates its parent directories.
    fn place(&self, path: &str) -> Result<PathBuf, Error> {
        refuse_cancelled(self.is_cancelled, &self.root)?;
        let path = self.root.join(path);
        if let Some(parent) = path.parent().filter(|parent| !parent.is_dir()) {
            self.make_directory(parent)?;
        }
        Ok(path)
    }
}

impl Sink for Unpack<'_> {
    fn directory(&mut self, path: &str) -> Result<(), Error> {
        self.file = None;
        refuse_cancelled(self.is_cancelled, &self.root)?;
        self.make_directory(&self.root.join(path))
    }

    fn file(&mut self, path: &str, mode: u32) -> Result<(), Error> {
        let path = self.place(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, self.mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
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
        refuse_cancelled(self.is_cancelled, &self.root)?;
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

pub(super) struct Collect<'a> {
    limit: u64,
    take: &'a mut dyn FnMut(&str, &[u8]),
    /// The path of the current file.
    path: Option<String>,
    content: Vec<u8>,
}

impl<'a> Collect<'a> {
    pub(super) fn new(limit: u64, take: &'a mut dyn FnMut(&str, &[u8])) -> Self {
        Self { limit, take, path: None, content: Vec::new() }
    }

    fn end_file(&mut self) {
        if let Some(path) = self.path.take() {
            (self.take)(&path, &self.content);
        }
        self.content.clear();
    }
}

impl Sink for Collect<'_> {
    fn directory(&mut self, _path: &str) -> Result<(), Error> {
        self.end_file();
        Ok(())
    }

    fn file(&mut self, path: &str, _mode: u32) -> Result<(), Error> {
        self.end_file();
        self.path = Some(path.to_owned());
        Ok(())
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if (self.content.len() + chunk.len()) as u64 > self.limit {
            return Err(Error::TooLarge(Excess::Unpacked { limit: self.limit }));
        }
        self.content.extend_from_slice(chunk);
        Ok(())
    }

    fn links(&mut self, _entries: &[Entry]) -> Result<(), Error> {
        self.end_file();
        Ok(())
    }
}
