/// How far an installation is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A download begins; how many bytes its host announces.
    Downloading(Option<u64>),
    /// This many more bytes were received.
    Received(u64),
    /// The archive is being unpacked.
    Unpacking,
    /// The package manager of this name was started.
    Running(&'static str),
    /// The progress of the package manager, in a few words without hidden characters.
    Phase(&'static str, String),
}
