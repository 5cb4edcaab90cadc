//! The three ways to walk an archive.

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use super::cmd::cmd_path;
use super::from_tar::fill;
use super::meter::{Consumed, Meter};
use super::unpack::Unpack;
use super::walk::{Content, Member, Sink, Walk};
use super::{Error, Format, HEAD_LENGTH, Limits, Listing, Lookalike, from_tar, from_zip};

/// Lists an archive of any format, reads all of it, and looks at the file that `cmd` names. Nothing is written but, where
/// that file is large, a temporary one without a name.
///
/// # Errors
/// [`Error`]; a missing `cmd` is none, see [`Listing::find_cmd`].
pub fn list<R: Read + Seek>(mut file: R, cmd: &str, limits: &Limits) -> Result<Listing, Error> {
    let listing = run(&mut file, cmd, limits, ())?;
    // Content of a file that only a link names as cmd had gone by before the link was seen.
    if listing.program.is_none()
        && let Ok(found) = listing.find_cmd(cmd)
    {
        let path = found.path.clone();
        return run(&mut file, &path, limits, ());
    }
    Ok(listing)
}

/// The same for bytes that come one after the other, such as a download that is going on. They are read to the end.
///
/// # Errors
/// [`Error`], [`Error::NotSeekable`] for a `.zip`: [`list`] reads it when all of it is there.
pub fn list_stream<R: Read>(mut stream: R, cmd: &str, limits: &Limits) -> Result<Listing, Error> {
    let mut head = [0; HEAD_LENGTH];
    let length = fill(&mut stream, &mut head).map_err(Error::Read)?;
    let format = Format::detect(&head[..length]).map_err(Error::NotAnArchive)?;
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, cmd_path(cmd), ());
    run_stream(Cursor::new(&head[..length]).chain(stream), format, cmd, &meter, &mut walk)?;
    walk.finish(format)
}

/// Unpacks an archive into a directory that exists, is empty, and belongs to the caller alone. Files get the mode 0755 or
/// 0644; a bare executable is named as `cmd` asks. After an error the caller deletes the directory.
///
/// # Errors
/// [`Error`]; nothing has then been written outside the directory, but inside there may be a part of the archive.
pub fn unpack<R: Read + Seek>(file: R, cmd: &str, limits: &Limits, into: &Path) -> Result<Listing, Error> {
    run(file, cmd, limits, Unpack::into(into)?)
}

fn run<R: Read + Seek, S: Sink>(mut file: R, cmd: &str, limits: &Limits, sink: S) -> Result<Listing, Error> {
    let mut head = [0; HEAD_LENGTH];
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
    let length = fill(&mut file, &mut head).map_err(Error::Read)?;
    let format = Format::detect(&head[..length]).map_err(|lookalike| {
        Error::NotAnArchive(if lookalike == Lookalike::Unknown { by_tail(&mut file) } else { lookalike })
    })?;
    file.seek(SeekFrom::Start(0)).map_err(Error::Read)?;
    let meter = Meter::new(limits);
    let mut walk = Walk::new(&meter, cmd_path(cmd), sink);
    if format == Format::Zip {
        from_zip::walk(file, &meter, &mut walk)?;
    } else {
        run_stream(file, format, cmd, &meter, &mut walk)?;
    }
    walk.finish(format)
}

fn run_stream<R: Read, S: Sink>(
    source: R,
    format: Format,
    cmd: &str,
    meter: &Rc<Meter>,
    walk: &mut Walk<S>,
) -> Result<(), Error> {
    let mut source = Consumed { inner: source, meter: Rc::clone(meter) };
    match format {
        Format::Zip => Err(Error::NotSeekable),
        Format::Tar(compression) => from_tar::walk(source, compression, meter, walk),
        Format::Executable => {
            // Clients save it under the last part of cmd.
            let path = cmd_path(cmd).unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            let name = if name.is_empty() { "executable" } else { name };
            let member = Member { name: name.as_bytes(), content: Content::File, size: None, executable: true };
            walk.member(&member, &mut source)
        }
    }
}

/// Disk images of Apple are known by their last block only.
fn by_tail<R: Read + Seek>(file: &mut R) -> Lookalike {
    let mut mark = [0; 4];
    let found = file.seek(SeekFrom::End(-512)).is_ok() && file.read_exact(&mut mark).is_ok() && mark == *b"koly";
    if found { Lookalike::Dmg } else { Lookalike::Unknown }
}
