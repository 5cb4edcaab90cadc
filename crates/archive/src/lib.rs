//! Lists and unpacks archives, without ever writing outside the target directory.
//!
//! [`list`], [`list_stream`] and [`unpack()`] share the same code, and refuse archives with unsafe entries instead of
//! skipping these: listing an archive fails exactly when unpacking it would. All of them read every byte, so that
//! damage and decompression bombs are found, and do not rely on sizes in headers.
//!
//! ```text
//! bytes ─ decompress ─ from_tar ┐
//! bytes ─ from_zip ─────────────┼─ walk (name, links, meter, program) ─ nothing | unpack
//! bytes, a bare executable ─────┘
//! ```
//!
//! `links` detects duplicate names, and finds where links lead: loops and escapes. `meter` has the limits.

mod cmd;
mod entry;
mod error;
mod format;
mod from_tar;
mod from_zip;
mod links;
mod meter;
mod name;
mod program;
mod run;
mod walk;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use cmd::CmdNotFound;
pub use entry::{ArchiveListing, Entry, EntryKind};
pub use error::{Error, Excess, UnsafeReason};
pub use format::{BinaryFormat, Compression, HEAD_LENGTH, Lookalike, Misnamed};
pub use meter::Limits;
pub use name::{is_device, path_problem};
pub use program::{Fit, Glibc, Machine, Mismatch, Program};
pub use run::{list, list_stream, lookalike, read_zip, unpack, unpack_package};
