//! Reads untrusted files, and replaces files and directories atomically.

mod read;
mod space;
mod staging;
mod temporary;
mod write;

pub(crate) use read::open_no_follow;
pub use read::{ReadError, linked_folder, open_bounded, open_file, read_at, read_bounded, resolve_below, write_all_at};
pub use space::available;
pub use staging::{Staging, without_path};
pub use temporary::{ANOTHER_TEMPORARY, temporary};
pub(super) use write::InTheWay;
pub use write::{PathError, check_writable, sync_below, write_atomic, write_atomic_from, write_durable, write_new};
