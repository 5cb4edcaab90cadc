//! Converts errors of the library into failures with an exit code, an error code and a remedy.

use acp_registry::bump::TroublesError;
use acp_registry::check::UnknownRule;
use acp_registry::config::ConfigError;
use acp_registry::handshake::{ReservedVariable, SetupError};
use acp_registry::host::fs::{ANOTHER_TEMPORARY, PathError, ReadError};
use acp_registry::host::git;
use acp_registry::host::process::{IsolationError, NamespaceError};
use acp_registry::http::{FetchError, Problem};
use acp_registry::index::{self, Missing};
use acp_registry::registry::LoadError;
use acp_registry::remedy::Action;
use acp_registry::text::quote;
use acp_registry::verify::{MergeError, SnapshotError};
use acp_registry::{install, lockfile, resolve, scaffold, session, store};

use crate::failure::code::Code;
use crate::failure::{Failure, remedies};

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        let help = remedies::registry_remedy(&error);
        Self::unable(error).code(Code::InvalidRegistry).help(help)
    }
}

impl From<index::Error> for Failure {
    fn from(error: index::Error) -> Self {
        let code = match &error {
            index::Error::Form { .. } => Code::InvalidIndex,
            index::Error::Offline(_) => Code::Offline,
            _ => Code::IndexUnavailable,
        };
        let help = error.remedy();
        Self::unable(error).code(code).remedy(help.as_ref())
    }
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        let help = error.remedy();
        Self::unable(error).remedy(help.as_ref())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let help = problem.remedy();
        Self::unable(problem).remedy(help.as_ref())
    }
}

impl From<index::EntryError> for Failure {
    fn from(error: index::EntryError) -> Self {
        Self::unable(error).code(Code::InvalidIndex)
    }
}

impl From<lockfile::Error> for Failure {
    fn from(error: lockfile::Error) -> Self {
        let help = error.remedy();
        let failure = match &error {
            lockfile::Error::Entry { .. } => Self::refused(error),
            lockfile::Error::Read { .. } | lockfile::Error::Form { .. } => Self::unable(error),
        };
        failure.remedy(help.as_ref())
    }
}

impl From<resolve::Error> for Failure {
    fn from(error: resolve::Error) -> Self {
        use resolve::Error;
        let help = error.remedy();
        let failure = match &error {
            Error::ReservedVariable { .. } => Self::refused(error),
            Error::MissingRuntime { .. } => Self::unable(error).code(Code::MissingRuntime),
            Error::UnknownVersion { known, .. } => {
                let known = known.clone();
                Self::usage(error).code(Code::UnknownVersion).suggest(known.iter().map(String::as_str))
            }
            Error::UnsupportedPlatform { .. } => Self::usage(error).code(Code::UnsupportedPlatform),
            Error::NoSuchKind { .. } => Self::usage(error).code(Code::UnsupportedDistribution),
        };
        failure.remedy(help.as_ref())
    }
}

impl From<session::Error> for Failure {
    fn from(error: session::Error) -> Self {
        use session::Error;

        let message = error.to_string();
        match error {
            Error::Index(error) => error.into(),
            Error::Entry(error) => error.into(),
            Error::Resolve(error) => error.into(),
            Error::Store(error) => (*error).into(),
            Error::Client(error) => error.into(),
            Error::Setup(error) => error.into(),
            Error::Path(error) => error.into(),
            Error::Missing(Missing::UnknownAgent { near, .. }) if near.is_empty() => {
                Self::usage(message).code(Code::UnknownAgent).help("run `acp-registry search WORD` to find agents")
            }
            Error::Missing(Missing::UnknownAgent { near, .. }) => {
                Self::usage(message).code(Code::UnknownAgent).suggest(near.iter().map(String::as_str))
            }
            Error::Missing(Missing::UnusableEntry(_)) => Self::usage(message).code(Code::UnknownAgent),
            Error::Offline { .. } => {
                let help = "run it again without --offline";
                Self::unable(format!("{message} (--offline)")).code(Code::Offline).help(help)
            }
            Error::OtherPlatform { .. } => Self::usage(message).code(Code::UnsupportedPlatform),
            Error::Damaged { id, .. } => {
                Self::unable(message).code(Code::Damaged).remedy(Some(&Action::Repair(id.clone()).into()))
            }
            Error::LostInterpreter { id, name } => {
                Self::unable(message).help(format!("install {name}, then run `acp-registry install {id}`"))
            }
            _ => Self::unable(message),
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        use store::Error;
        let code = match &error {
            Error::Install { error, .. } => install_code(error),
            Error::Locked { .. } => Code::Locked,
            Error::Damaged { .. } => Code::Damaged,
            Error::Changed { .. } | Error::OtherProgram { .. } => Code::Changed,
            Error::Unfit { .. } | Error::Foreign { .. } => Code::Refused,
            Error::Running { .. } => Code::Running,
            Error::NotInstalled(_) => Code::NotInstalled,
            Error::Path(_) | Error::Removal(_) | Error::Link(_) => Code::Failed,
        };
        let (help, without_id) = (error.remedy(), error.without_id());
        let versions_instead = match &error {
            Error::Install { error: install::Error::NoVersion { newest, .. }, .. } => {
                Some(newest.clone().into_iter().collect())
            }
            _ => None,
        };
        let cooldown = match &error {
            Error::Install { error: install::Error::HeldBack(cause), .. } if code == Code::HeldByCooldown => {
                Some((cause.until, cause.newest.clone()))
            }
            _ => None,
        };
        let failure = match &error {
            Error::NotInstalled(_) => Self::usage(error),
            _ if error.is_of_integrity() => Self::refused(error),
            _ => Self::unable(error),
        };
        let failure =
            failure.code(code).remedy(help.as_ref()).without_id(without_id).versions_instead(versions_instead);
        match cooldown {
            Some((until, newest)) => failure.held_until(until).suggest(newest.as_deref()),
            None => failure,
        }
    }
}

impl From<scaffold::Error> for Failure {
    fn from(error: scaffold::Error) -> Self {
        use scaffold::Error;
        match &error {
            Error::DigestMismatch { .. } => Self::refused(error),
            Error::Source(_) => Self::unable(error),
            Error::UnknownSource(_) => {
                Self::unable(error).help("install the package manager, or correct the address in its configuration")
            }
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
                Self::usage(error).remedy(remedy.as_ref())
            }
            Error::Id { remedy, near, .. } => {
                let (remedy, near) = (remedy.clone(), near.clone());
                let failure = Self::usage(error).remedy(remedy.as_ref());
                let Some(near) = near else { return failure };
                failure.help(format!("did you mean {}?", quote(&near))).suggest([&*near])
            }
            Error::Path(path) => {
                let remedy = path.remedy();
                Self::unable(error).help_if(remedy)
            }
            Error::Exists(_) => Self::usage(error),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let help = remedies::config_remedy(&error);
        let failure = match error {
            ConfigError::Read { error: ReadError::Io(_), .. } => Self::unable(error),
            _ => Self::usage(error).code(Code::InvalidConfiguration),
        };
        failure.help(help)
    }
}

impl From<UnknownRule> for Failure {
    fn from(error: UnknownRule) -> Self {
        let near = error.suggestion.clone();
        let failure = Self::usage(error).code(Code::UnknownRule);
        if near.is_none() { failure.help(remedies::RULES) } else { failure.suggest(near.as_deref()) }
    }
}

impl From<git::Error> for Failure {
    fn from(error: git::Error) -> Self {
        let help = error.remedy();
        let failure = match error {
            git::Error::Start(_) => Self::unable(error).code(Code::MissingRuntime),
            git::Error::Directory(_) | git::Error::Answer { .. } => Self::unable(error),
            git::Error::Inside(_) | git::Error::RemoteInside(_) => Self::refused(error),
            git::Error::Failed { .. } | git::Error::Revision { .. } | git::Error::NoRepository => Self::usage(error),
        };
        failure.help_if(help.as_deref())
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        let help = remedies::file_system_remedy(&error);
        Self::unable(error).help_if(help)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let SetupError::Sandbox(path) = &error;
        let help = path.remedy().unwrap_or(ANOTHER_TEMPORARY);
        Self::unable(error).help(help)
    }
}

impl From<IsolationError> for Failure {
    fn from(error: IsolationError) -> Self {
        let help = error.remedy().unwrap_or_else(|| remedies::NETWORK.into());
        Self::unable(error).remedy(Some(&help))
    }
}

impl From<NamespaceError> for Failure {
    fn from(error: NamespaceError) -> Self {
        IsolationError::from(error).into()
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Read { .. } => Self::unable(error).help(remedies::SNAPSHOT),
            SnapshotError::Form { .. } => Self::usage(error).help("write a new one with `acp-registry verify --out`"),
        }
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        let help = "verify this part again, into a new file, from the same registry and `capabilities.json` as the other parts";
        Self::refused(error).help(help)
    }
}

impl From<TroublesError> for Failure {
    fn from(error: TroublesError) -> Self {
        let help = match error {
            TroublesError::Form { .. } => "remove it to begin anew",
            TroublesError::Read { .. } => "name a file that can be read and written with --state",
        };
        Self::usage(error).help(help)
    }
}

impl From<ReservedVariable> for Failure {
    fn from(error: ReservedVariable) -> Self {
        Self::usage(error)
    }
}

fn install_code(error: &install::Error) -> Code {
    use install::InstallFailure;

    match error.reason() {
        InstallFailure::MissingRuntime => Code::MissingRuntime,
        InstallFailure::UnsupportedPlatform => Code::UnsupportedPlatform,
        InstallFailure::DigestMismatch => Code::DigestMismatch,
        InstallFailure::UnsafeArchive => Code::UnsafeArchive,
        InstallFailure::CmdNotFound => Code::CmdNotFound,
        InstallFailure::PackageNotFound => Code::PackageNotFound,
        InstallFailure::HeldByCooldown => Code::HeldByCooldown,
        InstallFailure::RuntimeTooOld | InstallFailure::InstallFailed if error.is_of_integrity() => Code::Refused,
        InstallFailure::RuntimeTooOld | InstallFailure::InstallFailed => Code::InstallFailed,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use acp_registry::install::Kind;
    use acp_registry::store::VersionChange;

    use super::*;

    fn text() -> String {
        "x".to_owned()
    }

    fn path() -> PathBuf {
        PathBuf::from("x")
    }

    fn full() -> PathError {
        PathError::at(Path::new("x"))(io::ErrorKind::StorageFull.into())
    }

    fn of_store() -> Vec<Failure> {
        use store::Error;
        let install = |error| Error::Install { id: text(), error };
        let (id, version, message) = (text(), text(), text());
        let errors = vec![
            install(install::Error::MissingRuntime { program: "npm", remedy: install::remedy::NODE }),
            install(install::Error::NeedsBuild { package: text(), built: None }),
            install(install::Error::NoLoader { cmd: text(), loader: text() }),
            install(install::Error::Cutoff { day: text() }),
            install(install::Error::Path(full())),
            install(install::Error::Fetch(FetchError {
                url: text(),
                hops: Vec::new(),
                problem: Problem::Refused("it does not begin with https://"),
            })),
            Error::Path(full()),
            Error::Locked { id: text(), holder: text(), waited: Duration::ZERO },
            Error::Damaged { id: text(), path: path(), message },
            Error::Changed { id, version, change: VersionChange::NoDigest { known: text() } },
            Error::Foreign { path: path(), problem: text() },
            Error::OtherProgram { id: text(), program: path() },
            Error::Running { id: text(), processes: vec![1] },
            Error::Link(path()),
        ];
        errors.into_iter().map(Failure::from).collect()
    }

    fn of_places() -> Vec<Failure> {
        use acp_registry::host::fs::ReadError::NotFound;
        let revision = git::Error::Revision { revision: text(), message: text() };
        vec![
            index::Error::Read { place: text(), error: NotFound }.into(),
            index::Error::Form { place: text(), error: index::Index::parse(text()).unwrap_err() }.into(),
            index::Error::Offline(text()).into(),
            index::Error::Unasked(text()).into(),
            Problem::Refused("it is an address of a private network").into(),
            lockfile::Error::Read { path: path(), error: NotFound }.into(),
            lockfile::Error::Form { path: path(), message: text() }.into(),
            lockfile::Error::Entry { path: path(), place: text(), problem: text() }.into(),
            git::Error::Inside(path()).into(),
            git::Error::RemoteInside(text()).into(),
            revision.into(),
            full().into(),
            IsolationError::Start(io::ErrorKind::NotFound.into()).into(),
            NamespaceError::Refused(text()).into(),
            SnapshotError::Form { path: path(), message: text() }.into(),
            TroublesError::Form { path: text(), message: text() }.into(),
            scaffold::Error::Path(full()).into(),
        ]
    }

    fn of_plans() -> Vec<Failure> {
        use resolve::Error;
        let (id, version) = (text(), text());
        let lacking = vec![(Kind::Npx, "npm", install::remedy::NODE), (Kind::Uvx, "uv", install::remedy::UV)];
        let (offered, packages) = (vec![text()], vec![Kind::Npx]);
        vec![
            Error::MissingRuntime { id: text(), lacking }.into(),
            Error::UnsupportedPlatform { id: text(), version: text(), platform: text(), offered, packages }.into(),
            Error::UnknownVersion { id, version, known: vec![text()], has_packages: false }.into(),
        ]
    }

    #[test]
    fn what_helps_is_in_the_help_and_not_in_the_message() {
        for failure in [of_store(), of_places(), of_plans()].into_iter().flatten() {
            let message = failure.to_string();
            let help = failure.advice().unwrap_or_default();
            assert!(!help.is_empty() && !message.contains(&help), "{message}");
            let is_told = ["--", "acp-registry ", "install ", "remove "].iter().any(|words| message.contains(words));
            assert!(!is_told, "{message}");
        }
    }
}
