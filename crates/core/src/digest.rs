//! SHA-256 of files, and bytes as hexadecimal digits.

use std::fs::File;
use std::io::{self, Read as _};

use sha2::{Digest as _, Sha256};

/// SHA-256 of a file, from its current position to its end, in lower-case hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn hash(mut file: &File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// Bytes in lower-case hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
