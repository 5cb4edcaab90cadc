//! Computes the digest of an archive for which no source states one.

use std::io;

use sha2::{Digest as _, Sha256};

use super::{Bumper, Error, ErrorKind};
use acp_registry_core::digest::hex;
use acp_registry_core::net::{Sink, address};

/// Maximum size of an archive, in bytes.
const ARCHIVE_LIMIT: u64 = 2 << 30;

/// Receives a download and keeps only its SHA-256.
struct Hash(Sha256);

impl Sink for Hash {
    fn begin(&mut self, _: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.0.update(piece);
        Ok(())
    }
}

impl Bumper<'_> {
    /// Downloads an archive and computes its SHA-256.
    pub(super) async fn digest(&self, url: &str) -> Result<String, Error> {
        let url = address::parse(url).map_err(|error| ErrorKind::AssetMissing.because(format!("{url:?} {error}")))?;
        let mut hash = Hash(Sha256::new());
        self.client.download(&url, ARCHIVE_LIMIT, &mut hash).await?;
        Ok(hex(&hash.0.finalize()))
    }
}
