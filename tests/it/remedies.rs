//! Every error of the library has a remedy, which its message does not repeat.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry::bump::TroublesError;
use acp_registry::config::ConfigError;
use acp_registry::failure::Failure;
use acp_registry::host::fs::{PathError, ReadError};
use acp_registry::host::git;
use acp_registry::host::process::{IsolationError, NamespaceError};
use acp_registry::http::{FetchError, Problem};
use acp_registry::install::Kind;
use acp_registry::registry::LoadError;
use acp_registry::store::VersionChange;
use acp_registry::tree::{BuildError, PublishedError, TreeError};
use acp_registry::verify::SnapshotError;
use acp_registry::{build, index, install, lockfile, resolve, scaffold, store, upload};

fn text() -> String {
    "x".to_owned()
}

fn path() -> PathBuf {
    PathBuf::from("x")
}

fn full() -> PathError {
    PathError::at(Path::new("x"))(io::ErrorKind::StorageFull.into())
}

fn store_failures() -> Vec<Failure> {
    use store::Error;
    let install = |error| Error::Install { id: text(), error };
    let (id, version, message) = (text(), text(), text());
    let errors = vec![
        install(install::Error::MissingRuntime { program: "npm", why: Some(text()), remedy: resolve::NODE }),
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

fn place_failures() -> Vec<Failure> {
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

fn plan_failures() -> Vec<Failure> {
    use resolve::Error;
    let (id, version) = (text(), text());
    let lacking = vec![(Kind::Npx, "npm", resolve::NODE), (Kind::Uvx, "uv", resolve::UV)];
    let (offered, packages) = (vec![text()], vec![Kind::Npx]);
    vec![
        Error::MissingRuntime { id: text(), lacking }.into(),
        Error::UnsupportedPlatform { id: text(), version: text(), platform: text(), offered, packages }.into(),
        Error::UnknownVersion { id, version, known: vec![text()], has_packages: false }.into(),
    ]
}

#[test]
fn what_helps_is_in_the_help_and_not_in_the_message() {
    for failure in [store_failures(), place_failures(), plan_failures()].into_iter().flatten() {
        let message = failure.to_string();
        let help = failure.advice().unwrap_or_default();
        assert!(!help.is_empty() && !message.contains(&help), "{message}");
        let is_told = ["--", "acp-registry ", "install ", "remove "].iter().any(|words| message.contains(words));
        assert!(!is_told, "{message}");
    }
}

/// Every error of `build`, `serve` and `publish` has one remedy, which its message does not repeat.
#[test]
fn every_error_has_a_remedy() {
    let text = || "x".to_owned();
    let path = || PathBuf::from("x");
    let at = || PathError::at(Path::new("x"))(io::Error::other("no"));
    let failures: [Failure; 39] = [
        BuildError::Revocations(text()).into(),
        build::Error::History { file: "history.json", message: text() }.into(),
        build::PlaceError::Address { place: text(), message: text() }.into(),
        BuildError::Findings { agents: vec![] }.into(),
        BuildError::Findings { agents: vec![text()] }.into(),
        BuildError::NoPrevious { agents: vec![text()] }.into(),
        BuildError::Empty(text()).into(),
        BuildError::Withdrawn(text()).into(),
        BuildError::View { file: text(), message: text() }.into(),
        BuildError::Schema { path: text(), message: text() }.into(),
        BuildError::Previous(PublishedError::new("x", &"no")).into(),
        PublishedError::new("x", &"no").into(),
        TreeError::Path(at()).into(),
        TreeError::Foreign(path(), text()).into(),
        TreeError::NoName(path()).into(),
        TreeError::InRegistry(path()).into(),
        TreeError::HoldsRegistry(path()).into(),
        ConfigError::Read { path: path(), error: ReadError::NotFound }.into(),
        ConfigError::Syntax { path: path(), message: text() }.into(),
        ConfigError::Invalid { path: path(), message: text() }.into(),
        LoadError(at()).into(),
        upload::Error::NoTree { path: text(), why: text() }.into(),
        upload::Error::Read { path: text(), error: ReadError::NotFound }.into(),
        upload::Error::Digest(text()).into(),
        upload::Error::Path(at()).into(),
        upload::Error::Store { place: text(), message: text(), remedy: None }.into(),
        upload::Error::Store { place: text(), message: text(), remedy: Some("do it".into()) }.into(),
        upload::Error::Target { message: text(), remedy: "do it".into() }.into(),
        upload::Error::Link(text()).into(),
        upload::Error::Foreign(text()).into(),
        upload::Error::Unpublished(text()).into(),
        upload::Error::State { place: text(), message: text() }.into(),
        upload::Error::Busy { place: text(), holder: text() }.into(),
        upload::Error::Lost(text()).into(),
        upload::Error::Sign(text()).into(),
        upload::Error::NoSnapshot(text()).into(),
        upload::Error::Unreadable { place: text(), why: text() }.into(),
        upload::Error::Missing(text()).into(),
        upload::Error::Altered(text()).into(),
    ];
    for failure in failures {
        let (message, help) = (failure.to_string(), failure.advice());
        assert!(help.is_some_and(|help| !help.is_empty() && !message.contains(&help)), "{message}");
        assert!(!message.contains("--"), "{message}");
    }
}
