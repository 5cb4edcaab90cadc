//! Computes the digest of an archive for which no source states one.

use std::io;

use super::{Bumper, Error, ErrorKind};
use acp_registry_http::{Hashing, address};
use acp_registry_plan::digest::Sha256;

/// Maximum size of an archive, in bytes.
const ARCHIVE_LIMIT: u64 = 2 << 30;

impl Bumper<'_> {
    /// Downloads an archive and computes its SHA-256.
    pub(super) async fn digest(&self, url: &str) -> Result<Sha256, Error> {
        let url = address::parse(url).map_err(|error| ErrorKind::AssetMissing.because(format!("{url:?} {error}")))?;
        let mut hashing = Hashing::to(io::sink());
        self.client.download(&url, ARCHIVE_LIMIT, &mut hashing).await?;
        Ok(hashing.digest())
    }
}
