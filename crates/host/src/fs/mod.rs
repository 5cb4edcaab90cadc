//! Reads untrusted files, and replaces files and directories atomically.

mod error;
mod read;
mod rename;
mod space;
mod staging;
mod temporary;
mod write;

pub(super) use error::InTheWay;
pub use error::{PathError, SPACE, is_full, without_path};
pub(crate) use read::open_no_follow;
pub use read::{ReadError, linked_folder, open_bounded, open_file, read_at, read_bounded, resolve_below, write_all_at};
pub use rename::rename;
pub use space::available;
pub use staging::Staging;
pub use temporary::{ANOTHER_TEMPORARY, temporary};
pub use write::{check_writable, sync_below, write_atomic, write_atomic_from, write_durable, write_new};
