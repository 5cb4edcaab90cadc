/// How much an archive may ask for. All of it is counted while reading; what a header claims can only make an archive
/// be refused sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest archive, in bytes.
    pub compressed: u64,
    /// The most that it may unpack to, in bytes. For a tar the headers between the files count, too.
    pub unpacked: u64,
    /// The most entries, directories that are only implied included.
    pub entries: u64,
    /// How many times its compressed size an archive may unpack to, once `ratio_from` is passed.
    pub ratio: u64,
    /// The unpacked size, in bytes, up to which any ratio is fine.
    pub ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self { compressed: 2048 * MIB, unpacked: 4096 * MIB, entries: 200_000, ratio: 100, ratio_from: 256 * MIB }
    }
}

/// The longest path of an entry or target of a link, in bytes, as on Linux.
pub(super) const PATH_LENGTH: usize = 4096;

/// The longest part of a path, in bytes, as on every system.
pub(super) const NAME_LENGTH: usize = 255;

/// The deepest nesting. Deleting a tree recursively holds a file open for each level.
pub(super) const DEPTH: usize = 128;

/// All paths and targets of one archive together, in bytes: what keeps a list of names from filling the memory.
pub(super) const NAMES: u64 = 16 * 1024 * 1024;

/// The largest window of xz and zstd, in bytes: what `zstd --long` asks for, and twice what `xz -9` does.
pub(super) const WINDOW: u64 = 128 * 1024 * 1024;
