//! Downloads of which the digest is wanted.

use std::io::{self, Write};

use super::Sink;
use acp_registry_plan::digest::{Hasher, Sha256};

/// Takes a download to a writer, and computes its digest.
#[derive(Debug)]
pub struct Hashing<W> {
    to: W,
    hasher: Hasher,
}

impl<W> Hashing<W> {
    /// To this writer; [`io::sink`] where only the digest is of interest.
    pub fn to(to: W) -> Self {
        Self { to, hasher: Hasher::default() }
    }

    /// The digest of everything that was taken.
    pub fn digest(self) -> Sha256 {
        self.hasher.finish()
    }
}

impl<W: Write + Send> Sink for Hashing<W> {
    fn begin(&mut self, _length: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.to.write_all(piece)?;
        self.hasher.update(piece);
        Ok(())
    }
}
