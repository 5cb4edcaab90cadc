/// Why an agent was not installed, as reports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallFailure {
    /// A program that installs or starts the agent is not there.
    MissingRuntime,
    /// The runtime is older than the package asks for.
    RuntimeTooOld,
    /// The agent has no archive for the platform.
    UnsupportedPlatform,
    /// The bytes are not those that were stated.
    DigestMismatch,
    /// The package registry has no such package, or no such version of it.
    PackageNotFound,
    /// The version is too new for a setting of the person's npm or uv.
    HeldByCooldown,
    /// The archive was refused.
    UnsafeArchive,
    /// The archive does not have the program that the manifest names.
    CmdNotFound,
    /// Anything else.
    InstallFailed,
}

impl InstallFailure {
    /// The word in JSON documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MissingRuntime => "missing_runtime",
            Self::RuntimeTooOld => "runtime_too_old",
            Self::UnsupportedPlatform => "unsupported_platform",
            Self::DigestMismatch => "digest_mismatch",
            Self::PackageNotFound => "package_not_found",
            Self::HeldByCooldown => "held_by_cooldown",
            Self::UnsafeArchive => "unsafe_archive",
            Self::CmdNotFound => "cmd_not_found",
            Self::InstallFailed => "install_failed",
        }
    }
}
