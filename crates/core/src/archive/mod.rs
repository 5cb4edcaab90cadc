//! What is in a downloaded archive, and unpacking it so that nothing is ever written outside one directory.
//!
//! [`list`], [`list_stream`] and [`unpack()`] walk an archive with the same code, which refuses rather than skips: whoever
//! has listed an archive knows what unpacking it would say. All of them read every byte, so that damage and bombs are
//! found, and none of them believes a size that a header claims.
//!
//! ```text
//! bytes ─ decompress ─ from_tar ┐
//! bytes ─ from_zip ─────────────┼─ walk (name, tree, limits, program) ─ nothing | unpack
//! bytes, a bare executable ─────┘
//! ```

mod cmd;
mod decompress;
mod entry;
mod error;
mod format;
mod from_tar;
mod from_zip;
mod limits;
mod meter;
mod name;
mod program;
mod run;
mod tree;
mod unpack;
mod walk;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use cmd::{CmdNotFound, find_cmd};
pub use entry::{Entry, Kind, Listing};
pub use error::{Error, Excess, Reason};
pub use format::{Compression, Format, HEAD_LENGTH, Lookalike, Misnamed};
pub use limits::Limits;
pub use program::{Fit, Glibc, Machine, Mismatch, Program};
pub use run::{list, list_stream, unpack};
