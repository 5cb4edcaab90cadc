use std::fs::File;
use std::io::{self, Cursor, Write as _};

use super::Program;
use crate::Error;
use acp_registry_host::fs::{PathError, temporary, without_path};

/// Number of bytes of a program to keep in memory. They contain all headers except those of ELF, which can be anywhere.
const HEAD: usize = 64 * 1024;

/// Receives the content of a file, and keeps what [`Program::examine`] needs.
#[derive(Default)]
pub(crate) struct Examiner {
    head: Vec<u8>,
    /// A temporary file with the whole content, if it is ELF and larger than [`HEAD`].
    spool: Option<File>,
}

impl Examiner {
    pub(crate) fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if let Some(spool) = &mut self.spool {
            return spool.write_all(chunk).map_err(failed);
        }
        let (kept, rest) = chunk.split_at(chunk.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(kept);
        if !rest.is_empty() && self.head.starts_with(b"\x7fELF") {
            let mut spool = tempfile::tempfile_in(temporary()).map_err(failed)?;
            spool.write_all(&self.head).and_then(|()| spool.write_all(rest)).map_err(failed)?;
            self.spool = Some(spool);
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Program {
        match self.spool {
            Some(spool) => Program::examine(spool),
            None => Program::examine(Cursor::new(self.head)),
        }
    }
}

fn failed(error: io::Error) -> Error {
    Error::Spool(PathError { path: temporary(), error: without_path(error) })
}
