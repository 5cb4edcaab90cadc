/// How far an installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A download begins; how many bytes its host announces.
    Downloading(Option<u64>),
    /// So many more bytes have come.
    Received(u64),
    /// The archive is being unpacked.
    Unpacking,
    /// The package manager of this name was started.
    Running(&'static str),
    /// It is this far: in short words, without hidden characters.
    Phase(&'static str, String),
}
