//! Processes entries of all formats, for listing and for unpacking.

use std::io::{self, Read};
use std::mem;
use std::rc::Rc;

use super::links::{Inserted, LinkTree};
use super::meter::{Meter, NAMES};
use super::program::Examiner;
use super::{ArchiveListing, BinaryFormat, Entry, EntryKind, Error, Excess, UnsafeReason, name};
use acp_registry_plan::text::quote;

const BUFFER: usize = 128 * 1024;

/// An entry as read from an archive.
pub(super) struct ArchiveMember<'a> {
    pub(super) name: &'a [u8],
    pub(super) content: Content<'a>,
    /// Size in bytes as stated in the archive, if it is.
    pub(super) size: Option<u64>,
    /// The permissions as stated; 0 in archives made on Windows.
    pub(super) mode: u32,
}

#[derive(Clone, Copy)]
pub(super) enum Content<'a> {
    File,
    Directory,
    Symlink(&'a [u8]),
    Hardlink(&'a [u8]),
}

/// Receives the entries. Every path is safe, all its parents are real directories, and no path occurs twice.
pub(super) trait Sink {
    fn directory(&mut self, _path: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Starts a file. Its content follows with [`Sink::write`] until another method is called.
    fn file(&mut self, _path: &str, _mode: u32) -> Result<(), Error> {
        Ok(())
    }

    fn write(&mut self, _chunk: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// Called once at the end, after all links were checked.
    fn links(&mut self, _entries: &[Entry]) -> Result<(), Error> {
        Ok(())
    }
}

/// Discards everything, for listings.
impl Sink for () {}

pub(super) struct Walk<S> {
    meter: Rc<Meter>,
    sink: S,
    /// Whether the archive is an npm package, which is unpacked as npm does.
    is_package: bool,
    /// The path of the file to examine.
    wanted: Option<String>,
    examiner: Option<Examiner>,
    entries: Vec<Entry>,
    tree: LinkTree,
    members: u64,
    names: u64,
    buffer: Vec<u8>,
    /// Path of the current or last entry.
    at: String,
}

impl<S: Sink> Walk<S> {
    pub(super) fn new(meter: &Rc<Meter>, wanted: Option<String>, sink: S) -> Self {
        Self {
            meter: Rc::clone(meter),
            sink,
            is_package: false,
            wanted,
            examiner: None,
            entries: Vec::new(),
            tree: LinkTree::new(),
            members: 0,
            names: 0,
            buffer: vec![0; BUFFER],
            at: String::new(),
        }
    }

    /// Like [`Walk::new`], for the archive of an npm package.
    pub(super) fn package(meter: &Rc<Meter>, sink: S) -> Self {
        Self { is_package: true, ..Self::new(meter, None, sink) }
    }

    /// Processes the next entry, and reads its content to the end.
    pub(super) fn member(&mut self, member: &ArchiveMember<'_>, content: &mut dyn Read) -> Result<(), Error> {
        let refuse = |reason| Error::refused(member.name, reason);
        self.count()?;
        let path = if self.is_package {
            let is_link = matches!(member.content, Content::Symlink(_) | Content::Hardlink(_));
            match name::normalise_member(member.name).map_err(refuse)? {
                Some(path) if !is_link => path,
                _ => return Ok(()),
            }
        } else {
            name::normalise(member.name).map_err(refuse)?
        };
        if path.is_empty() {
            // The root directory, which `tar -c .` includes.
            return if matches!(member.content, Content::Directory) {
                Ok(())
            } else {
                Err(refuse(UnsafeReason::Empty))
            };
        }
        let kind = Self::kind(&member.content).map_err(refuse)?;
        self.count_names(&path, &kind)?;
        match self.tree.insert(&path, &kind, self.entries.len()) {
            Ok(Inserted::New) => {}
            Ok(Inserted::Again) => return Ok(()),
            Err(UnsafeReason::Duplicate) if self.is_package => {}
            Err(reason) => return Err(refuse(reason)),
        }
        self.check_count(self.tree.len() as u64)?;
        self.at.clone_from(&path);
        let mut entry = Entry { path, kind, size: 0, executable: member.mode & 0o111 != 0 };
        match &entry.kind {
            EntryKind::Directory => self.sink.directory(&entry.path)?,
            EntryKind::File => entry.size = self.file(&entry, member, content)?,
            EntryKind::Symlink { .. } => {}
            EntryKind::Hardlink { target } => {
                let Some(file) = self.tree.file(target).and_then(|index| self.entries.get(index)) else {
                    return Err(refuse(UnsafeReason::HardlinkToNothing { target: target.clone() }));
                };
                (entry.size, entry.executable) = (file.size, file.executable);
            }
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Counts a header in the archive that is not an entry of its own.
    pub(super) fn count(&mut self) -> Result<(), Error> {
        self.members += 1;
        self.check_count(self.members)
    }

    /// Ends the walk: checks all links and has them created.
    pub(super) fn finish(mut self, format: BinaryFormat) -> Result<ArchiveListing, Error> {
        for entry in &self.entries {
            if let EntryKind::Symlink { target } = &entry.kind {
                self.tree
                    .check_link(entry, target, &self.entries)
                    .map_err(|reason| Error::refused(entry.path.as_bytes(), reason))?;
            }
        }
        self.sink.links(&self.entries)?;
        let program = self.examiner.map(Examiner::finish);
        Ok(ArchiveListing { format, entries: self.entries, program })
    }

    fn kind(content: &Content<'_>) -> Result<EntryKind, UnsafeReason> {
        Ok(match content {
            Content::File => EntryKind::File,
            Content::Directory => EntryKind::Directory,
            Content::Symlink(target) => EntryKind::Symlink { target: name::normalise_target(target)? },
            Content::Hardlink(target) => EntryKind::Hardlink {
                target: name::normalise(target).map_err(|reason| match reason {
                    UnsafeReason::Absolute | UnsafeReason::Drive | UnsafeReason::Parent | UnsafeReason::Unc => {
                        UnsafeReason::LinkLeaves { target: String::from_utf8_lossy(target).into_owned() }
                    }
                    reason => reason,
                })?,
            },
        })
    }

    /// Reads the content of a file and passes it on. Returns its size in bytes.
    fn file(&mut self, entry: &Entry, member: &ArchiveMember<'_>, content: &mut dyn Read) -> Result<u64, Error> {
        self.meter.check_claim(member.size.unwrap_or_default()).map_err(Error::TooLarge)?;
        self.sink.file(&entry.path, member.mode)?;
        let mut examiner = (self.wanted.as_ref() == Some(&entry.path)).then(Examiner::default);
        let mut buffer = mem::take(&mut self.buffer);
        let mut size = 0;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.explain(&error)),
            };
            size += count as u64;
            self.sink.write(&buffer[..count])?;
            if let Some(examiner) = &mut examiner {
                examiner.write(&buffer[..count])?;
            }
        }
        self.buffer = buffer;
        self.examiner = examiner.or(self.examiner.take());
        match member.size {
            Some(stated) if size < stated && self.meter.has_ended() => Err(Error::Truncated { at: quote(&self.at) }),
            Some(stated) if size != stated => {
                Err(self.corrupt_at(entry.path.as_bytes(), &format!("holds {size} bytes instead of {stated}")))
            }
            _ => Ok(size),
        }
    }

    fn check_count(&self, count: u64) -> Result<(), Error> {
        let limit = self.meter.limits().entries;
        if count > limit { Err(Error::TooLarge(Excess::Entries { limit })) } else { Ok(()) }
    }

    fn count_names(&mut self, path: &str, kind: &EntryKind) -> Result<(), Error> {
        let target = match kind {
            EntryKind::Symlink { target } | EntryKind::Hardlink { target } => target.len(),
            EntryKind::File | EntryKind::Directory => 0,
        };
        self.names += (path.len() + target) as u64;
        if self.names > NAMES { Err(Error::TooLarge(Excess::Names { limit: NAMES })) } else { Ok(()) }
    }

    /// Converts an I/O error to an error about the current entry.
    pub(super) fn explain(&self, error: &io::Error) -> Error {
        self.meter.explain(error, &self.at)
    }

    /// Like [`Walk::explain`], for an entry with this name.
    pub(super) fn explain_at(&self, error: &io::Error, name: &[u8]) -> Error {
        self.meter.explain(error, &String::from_utf8_lossy(name))
    }

    pub(super) fn corrupt_at(&self, name: &[u8], message: &str) -> Error {
        self.meter.explain(&io::Error::other(message.to_owned()), &String::from_utf8_lossy(name))
    }
}
