//! Entry points for listing and unpacking archives.

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use super::cmd::cmd_path;
use super::collect::Collect;
use super::format::fill;
use super::meter::{Consumed, Meter};
use super::unpack::Unpack;
use super::walk::{ArchiveMember, Content, Sink, Walk};
use super::{ArchiveListing, BinaryFormat, Error, HEAD_LENGTH, Limits, Lookalike, from_tar, from_zip};

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
    let mut head = [0; HEAD_LENGTH];
    let length = fill(&mut stream, &mut head).map_err(Error::Read)?;
    let format = BinaryFormat::detect(&head[..length]).map_err(Error::NotAnArchive)?;
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, cmd_path(cmd), ());
    run_stream(Cursor::new(&head[..length]).chain(stream), format, cmd, &meter, &mut walk)?;
    walk.finish(format)
}

/// Unpacks an archive into an existing, empty directory that no other process writes to. Files get mode 0755 or 0644; a
/// bare executable gets the name in `cmd`. After an error, the caller must delete the directory.
///
/// # Errors
/// Returns [`Error`]. Nothing was written outside the directory, which may contain a part of the archive.
pub fn unpack<R: Read + Seek>(file: R, cmd: &str, limits: &Limits, into: &Path) -> Result<ArchiveListing, Error> {
    run(file, cmd, limits, Unpack::into(into)?)
}

/// Unpacks the archive of an npm package into an existing, empty directory that no other process writes to, as npm does:
/// without the folder around its files, without links, with `.gitignore` as `.npmignore`, and with the last of equal names.
/// Files get mode 0755 or 0644.
/// After an error, the caller must delete the directory.
///
/// # Errors
/// Returns [`Error`]. Nothing was written outside the directory, which may contain a part of the archive.
pub fn unpack_package<R: Read + Seek>(mut file: R, limits: &Limits, into: &Path) -> Result<ArchiveListing, Error> {
    let mut head = [0; HEAD_LENGTH];
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
    let length = fill(&mut file, &mut head).map_err(Error::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
    let format = BinaryFormat::detect(&head[..length]).map_err(Error::NotAnArchive)?;
    let BinaryFormat::Tar(compression) = format else { return Err(Error::NotAnArchive(Lookalike::Unknown)) };
    let meter = Meter::new(limits);
    let mut walk = Walk::package(&meter, Unpack::package_into(into)?);
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
    let mut head = [0; HEAD_LENGTH];
    file.seek(SeekFrom::Start(0)).ok()?;
    let length = fill(&mut file, &mut head).ok()?;
    let lookalike = BinaryFormat::detect(&head[..length]).err()?;
    Some(if lookalike == Lookalike::Unknown { by_tail(&mut file) } else { lookalike })
}

fn run<R: Read + Seek, S: Sink>(mut file: R, cmd: &str, limits: &Limits, sink: S) -> Result<ArchiveListing, Error> {
    let mut head = [0; HEAD_LENGTH];
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
    let length = fill(&mut file, &mut head).map_err(Error::Read)?;
    let format = BinaryFormat::detect(&head[..length])
        .map_err(|found| Error::NotAnArchive(lookalike(&mut file).unwrap_or(found)))?;
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
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
            let member = ArchiveMember { name: name.as_bytes(), content: Content::File, size: None, executable: true };
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
