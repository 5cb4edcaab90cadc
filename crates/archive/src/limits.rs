/// Limits for archives. They apply to bytes that are actually read; sizes in headers can only cause an archive to be
/// refused sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of the archive, in bytes.
    pub compressed: u64,
    /// Maximum unpacked size, in bytes. For tars, this includes headers.
    pub unpacked: u64,
    /// Maximum number of entries, including directories that only occur in paths.
    pub entries: u64,
    /// Maximum ratio of unpacked to compressed size; applies above `ratio_from`.
    pub ratio: u64,
    /// Unpacked size, in bytes, up to which any ratio is accepted.
    pub ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self { compressed: 2048 * MIB, unpacked: 4096 * MIB, entries: 200_000, ratio: 100, ratio_from: 256 * MIB }
    }
}

/// Maximum length of a path or link target in bytes, as on Linux.
pub(super) const PATH_LENGTH: usize = 4096;

/// Maximum length of a path component in bytes, as on all systems.
pub(super) const NAME_LENGTH: usize = 255;

/// Maximum depth of directories. Deleting a tree recursively keeps a file descriptor open per level.
pub(super) const DEPTH: usize = 128;

/// Maximum total length of all paths and link targets of an archive, in bytes, since they are kept in memory.
pub(super) const NAMES: u64 = 16 * 1024 * 1024;

/// Maximum window of xz and zstd, in bytes: that of `zstd --long`, and twice that of `xz -9`.
pub(super) const WINDOW: u64 = 128 * 1024 * 1024;
