//! Stable names for kinds of failure: `error.code` in JSON documents.

/// A kind of failure. `docs/scripts.md` lists the names. Their meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Findings at deny level, or an agent that failed its check.
    Findings,
    /// A flag or argument, or a combination of them, is invalid.
    Usage,
    /// The index or the registry has no agent with this id.
    UnknownAgent,
    /// The agent has no such version, or the version is not available.
    UnknownVersion,
    /// No rule has this name.
    UnknownRule,
    /// The agent is not installed.
    NotInstalled,
    /// The agent has no distribution for the platform.
    UnsupportedPlatform,
    /// The agent has no distribution of this kind.
    UnsupportedDistribution,
    /// A configuration file is invalid.
    InvalidConfiguration,
    /// The directory is not a registry, or cannot be read.
    InvalidRegistry,
    /// The index does not exist at its URL or path, or could not be fetched.
    IndexUnavailable,
    /// The file at the URL or path is not an index.
    InvalidIndex,
    /// Data must be fetched, and `--offline` forbids it.
    Offline,
    /// A required program is not installed: Node.js, npm, uv, git or bubblewrap.
    MissingRuntime,
    /// The package, or the version of it, does not exist.
    PackageNotFound,
    /// The version is too new for a setting of npm or uv.
    HeldByCooldown,
    /// The package manager or the download failed.
    InstallFailed,
    /// Another process holds the lock of the agent.
    Locked,
    /// An installed version is damaged.
    Damaged,
    /// The agent is running.
    Running,
    /// The network, the disk or a program failed.
    Failed,
    /// A digest does not match the expected one.
    DigestMismatch,
    /// An archive writes outside its directory, or is too large.
    UnsafeArchive,
    /// An archive does not contain the program that the manifest names.
    CmdNotFound,
    /// The bytes of a version have changed since it was installed, or are verified by weaker evidence.
    Changed,
    /// The installation differs from the lock file.
    LockMismatch,
    /// The operation was refused because it is unsafe.
    Refused,
    /// A signal interrupted the command.
    Interrupted,
}

impl Code {
    /// Its name in JSON documents.
    pub(crate) fn as_str(self) -> &'static str {
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
            Self::HeldByCooldown => "held_by_cooldown",
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
