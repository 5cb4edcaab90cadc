//! Stable names of what can go wrong, for programs: `error.code` in JSON documents.

/// What kind of failure it is. `docs/scripts.md` lists the names; they never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Findings at deny level, or an agent that fails its check.
    Findings,
    /// A flag, an argument or a combination of them is wrong.
    Usage,
    /// The index or the registry has no agent of this id.
    UnknownAgent,
    /// The agent has no such version, or none that can be had.
    UnknownVersion,
    /// There is no rule of this name.
    UnknownRule,
    /// The agent is not installed.
    NotInstalled,
    /// The agent has no distribution for the platform.
    UnsupportedPlatform,
    /// The agent has no distribution of this kind.
    UnsupportedDistribution,
    /// A configuration file is wrong.
    InvalidConfiguration,
    /// The folder holds no registry, or the registry cannot be read.
    InvalidRegistry,
    /// There is no index at its address, or it cannot be fetched.
    IndexUnavailable,
    /// What the address holds is not an index.
    InvalidIndex,
    /// Something has to be fetched, and `--offline` forbids it.
    Offline,
    /// A program that is needed is not installed: Node.js, npm, uv, git, bubblewrap.
    MissingRuntime,
    /// The package does not exist, or not in this version.
    PackageNotFound,
    /// The package manager or the download failed.
    InstallFailed,
    /// Another process holds the lock of the agent.
    Locked,
    /// An installed version is damaged.
    Damaged,
    /// The agent is running.
    Running,
    /// The network, the disk, or a program failed.
    Failed,
    /// Bytes do not have the digest that they should have.
    DigestMismatch,
    /// An archive would write outside its directory, or is too large.
    UnsafeArchive,
    /// An archive does not hold the program that the manifest names.
    CmdNotFound,
    /// A version has other bytes, or less proof of them, than when it was installed.
    Changed,
    /// The lock file says otherwise.
    LockMismatch,
    /// Refused because it is not safe.
    Refused,
    /// A signal stopped the work.
    Interrupted,
}

impl Code {
    /// Its name in documents.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Findings => "findings",
            Self::Usage => "usage",
            Self::UnknownAgent => "unknown_agent",
            Self::UnknownVersion => "unknown_version",
            Self::UnknownRule => "unknown_rule",
            Self::NotInstalled => "not_installed",
            Self::UnsupportedPlatform => "unsupported_platform",
            Self::UnsupportedDistribution => "unsupported_distribution",
            Self::InvalidConfiguration => "invalid_configuration",
            Self::InvalidRegistry => "invalid_registry",
            Self::IndexUnavailable => "index_unavailable",
            Self::InvalidIndex => "invalid_index",
            Self::Offline => "offline",
            Self::MissingRuntime => "missing_runtime",
            Self::PackageNotFound => "package_not_found",
            Self::InstallFailed => "install_failed",
            Self::Locked => "locked",
            Self::Damaged => "damaged",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::DigestMismatch => "digest_mismatch",
            Self::UnsafeArchive => "unsafe_archive",
            Self::CmdNotFound => "cmd_not_found",
            Self::Changed => "changed",
            Self::LockMismatch => "lock_mismatch",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
        }
    }
}
