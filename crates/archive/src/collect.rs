//! Gives the content of each file to a function.

use super::walk::Sink;
use super::{Entry, Error, Excess};

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

    fn file(&mut self, path: &str, _executable: bool) -> Result<(), Error> {
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
