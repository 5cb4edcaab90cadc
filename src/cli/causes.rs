//! Errors of the library as failures of a command: exit code, code and remedy.

use acp_registry::catalog;
use acp_registry::check::UnknownRule;
use acp_registry::config::ConfigError;
use acp_registry::handshake::{ReservedVariable, SetupError};
use acp_registry::index::{BuildError, PublishedError, TreeError};
use acp_registry::install;
use acp_registry::lockfile;
use acp_registry::net::Problem;
use acp_registry::publish;
use acp_registry::registry::LoadError;
use acp_registry::resolve;
use acp_registry::scaffold;
use acp_registry::site::SiteError;
use acp_registry::store;
use acp_registry::sys::fs::{PathError, ReadError};
use acp_registry::sys::git;
use acp_registry::sys::process::IsolationError;
use acp_registry::text::quote;

use super::code::Code;
use super::exit::Failure;
use super::remedy;

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::unable(error).code(Code::InvalidRegistry).help("name the registry with --registry-dir")
    }
}

impl From<catalog::Error> for Failure {
    fn from(error: catalog::Error) -> Self {
        let code = match &error {
            catalog::Error::Form { .. } | catalog::Error::Text(_) => Code::InvalidIndex,
            catalog::Error::Offline(_) => Code::Offline,
            _ => Code::IndexUnavailable,
        };
        let help = match &error {
            catalog::Error::Fetch(error) => error.problem.remedy(),
            catalog::Error::Client(problem) => problem.remedy(),
            _ => None,
        };
        Self::unable(error).code(code).help_if(help)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let help = problem.remedy();
        Self::unable(problem).help_if(help)
    }
}

impl From<catalog::TextError> for Failure {
    fn from(error: catalog::TextError) -> Self {
        Self::unable(error).code(Code::InvalidIndex)
    }
}

impl From<lockfile::Error> for Failure {
    fn from(error: lockfile::Error) -> Self {
        Self::unable(error)
    }
}

impl From<resolve::Error> for Failure {
    fn from(error: resolve::Error) -> Self {
        use resolve::Error;
        match &error {
            Error::ReservedVariable { .. } => Self::refused(error),
            Error::MissingRuntime { .. } => Self::unable(error).code(Code::MissingRuntime),
            Error::UnknownVersion { known, .. } => {
                let known = known.clone();
                Self::usage(error).code(Code::UnknownVersion).suggest(known.iter().map(String::as_str))
            }
            Error::UnsupportedPlatform { .. } => Self::usage(error).code(Code::UnsupportedPlatform),
            Error::NoSuchKind { .. } => Self::usage(error).code(Code::UnsupportedDistribution),
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        use store::Error;
        let code = match &error {
            Error::Install { error, .. } => of_install(error),
            Error::Locked { .. } => Code::Locked,
            Error::Damaged { .. } => Code::Damaged,
            Error::Changed { .. } | Error::OtherProgram { .. } => Code::Changed,
            Error::Unfit { .. } | Error::Foreign { .. } => Code::Refused,
            Error::Running { .. } => Code::Running,
            Error::NotInstalled(_) => Code::NotInstalled,
            Error::Path(_) | Error::Link(_) => Code::Failed,
        };
        let help = match &error {
            Error::Install { error, .. } => error.remedy(),
            _ => None,
        };
        let versions_instead = match &error {
            Error::Install { error: install::Error::NoVersion { newest, .. }, .. } => {
                Some(newest.clone().into_iter().collect())
            }
            _ => None,
        };
        let failure = match &error {
            Error::NotInstalled(_) => Self::usage(error),
            _ if error.is_of_integrity() => Self::refused(error),
            _ => Self::unable(error),
        };
        failure.code(code).help_if(help.as_deref()).versions_instead(versions_instead)
    }
}

impl From<scaffold::Error> for Failure {
    fn from(error: scaffold::Error) -> Self {
        use scaffold::Error;
        match &error {
            Error::DigestMismatch { .. } => Self::refused(error),
            Error::Source(_) | Error::UnknownSource(_) | Error::Path(_) => Self::unable(error),
            Error::NoPackage { remedy, .. } => {
                let remedy = *remedy;
                Self::unable(error).code(Code::PackageNotFound).help(remedy)
            }
            Error::NoVersion { newest, .. } => {
                let newest = newest.clone();
                let help = newest.as_ref().map_or_else(
                    || "leave the version out to take the newest".to_owned(),
                    |newest| format!("the newest version is {}", quote(newest)),
                );
                Self::usage(error).code(Code::UnknownVersion).help(help).suggest(newest.as_deref())
            }
            Error::Unfit { remedy, .. } => {
                let remedy = remedy.clone();
                Self::usage(error).help_if(remedy.as_deref())
            }
            Error::Id(_) | Error::Exists(_) => Self::usage(error),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let help = remedy::of_config(&error);
        let failure = match error {
            ConfigError::Read { error: ReadError::Io(_), .. } => Self::unable(error),
            _ => Self::usage(error).code(Code::InvalidConfiguration),
        };
        failure.help(help)
    }
}

impl From<UnknownRule> for Failure {
    fn from(error: UnknownRule) -> Self {
        let near = error.suggestion;
        let failure = Self::usage(error).code(Code::UnknownRule);
        if near.is_none() { failure.help(remedy::RULES) } else { failure.suggest(near) }
    }
}

impl From<publish::Error> for Failure {
    fn from(error: publish::Error) -> Self {
        let help = remedy::of_publish(&error);
        let failure = if error.is_of_integrity() {
            Self::refused(error)
        } else if error.is_of_usage() {
            Self::usage(error)
        } else {
            Self::unable(error)
        };
        failure.help(help)
    }
}

impl From<git::Error> for Failure {
    fn from(error: git::Error) -> Self {
        match error {
            git::Error::Start(_) => Self::unable(error).code(Code::MissingRuntime),
            git::Error::Directory(_) | git::Error::Answer { .. } => Self::unable(error),
            git::Error::Inside(_) | git::Error::RemoteInside(_) => Self::refused(error),
            git::Error::Failed { .. } | git::Error::Revision { .. } | git::Error::NoRepository => Self::usage(error),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::unable(error)
    }
}

impl From<PublishedError> for Failure {
    fn from(error: PublishedError) -> Self {
        Self::unable(error).help(remedy::PREVIOUS)
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let help = remedy::of_build(&error);
        let failure = match error {
            BuildError::Findings { .. } | BuildError::NoPrevious { .. } => Self::findings(error),
            BuildError::Empty(_) | BuildError::View { .. } => Self::usage(error),
            BuildError::Schema { .. } => Self::usage(error).code(Code::InvalidConfiguration),
            BuildError::Previous(_) => Self::unable(error),
        };
        failure.help(help)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Self::unable(error)
    }
}

impl From<IsolationError> for Failure {
    fn from(error: IsolationError) -> Self {
        Self::unable(error)
    }
}

impl From<ReservedVariable> for Failure {
    fn from(error: ReservedVariable) -> Self {
        Self::usage(error)
    }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Self {
        Self::unable(error).help(remedy::SITE)
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        let help = remedy::of_tree(&error);
        let failure = match error {
            TreeError::Path(_) => Self::unable(error),
            _ => Self::usage(error),
        };
        failure.help(help)
    }
}

fn of_install(error: &install::Error) -> Code {
    match error.reason() {
        "missing_runtime" => Code::MissingRuntime,
        "unsupported_platform" => Code::UnsupportedPlatform,
        "digest_mismatch" => Code::DigestMismatch,
        "unsafe_archive" => Code::UnsafeArchive,
        "cmd_not_found" => Code::CmdNotFound,
        "package_not_found" => Code::PackageNotFound,
        _ if error.is_of_integrity() => Code::Refused,
        _ => Code::InstallFailed,
    }
}
