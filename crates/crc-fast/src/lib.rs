//! What `object_store` uses of the crate `crc-fast`: the checksum CRC-64/NVME, for uploads that ask for it.
//!
//! The real crate holds tables for 25 checksums, each for several processors: 0.7 MB of the program. Uploads here carry
//! SHA-256 only, so that this one needs no table and no speed.

use crc::{CRC_64_NVME, Crc, NoTable};

/// The supported checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrcAlgorithm {
    /// [CRC-64/NVME](https://reveng.sourceforge.io/crc-catalogue/all.htm#crc.cat.crc-64-nvme)
    Crc64Nvme,
}

/// A checksum that is being computed.
#[derive(Clone)]
pub struct Digest(crc::Digest<'static, u64, NoTable>);

impl Digest {
    /// Begins a checksum.
    #[must_use]
    pub fn new(algorithm: CrcAlgorithm) -> Self {
        static NVME: Crc<u64, NoTable> = Crc::<u64, NoTable>::new(&CRC_64_NVME);
        match algorithm {
            CrcAlgorithm::Crc64Nvme => Self(NVME.digest()),
        }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes that were added.
    #[must_use]
    pub fn finalize(self) -> u64 {
        self.0.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_catalogue() {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        for part in [&b"1234"[..], b"", b"56789"] {
            digest.update(part);
        }
        assert_eq!(digest.finalize(), 0xae8b_1486_0a79_9888);
    }
}
