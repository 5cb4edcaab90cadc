//! Why an agent was not installed.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry_archive as archive;
use acp_registry_archive::{CmdNotFound, Lookalike, Mismatch, Misnamed};
use acp_registry_host::fs::{ANOTHER_TEMPORARY, PathError};
use acp_registry_host::process::SpawnError;
use acp_registry_http::{FetchError, Problem};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::SpecError;
use acp_registry_plan::text::{escape, quote};
use acp_registry_plan::timestamp::Timestamp;

use super::failure::{OTHER_BYTES, ToolFailure, longer, slow};
use super::{DigestSource, InstallFailure, NotForPlatform, Shortfall};
use crate::provenance;

/// The variable with the Python that uv uses.
pub(super) const UV_PYTHON: &str = "UV_PYTHON";

/// Why something was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifest names something else than a package.
    #[error("the package {} {error}", quote(package))]
    Spec {
        /// What it names.
        package: String,
        /// What is wrong.
        error: SpecError,
    },
    /// The manifest leaves it to others which version is installed.
    #[error("the package {} is not pinned to one version", quote(.0))]
    Unpinned(String),
    /// The manifest names something else than a day.
    #[error("`exclude_newer` is {}, which is not a day", quote(day))]
    Cutoff {
        /// What it names.
        day: String,
    },
    /// Something would have to be fetched, and nothing may be.
    #[error("the network is needed, and is not used (--offline): {0}")]
    Offline(String),
    /// A program that is needed is not there.
    #[error("{program} is not in PATH{}", why.as_ref().map(|why| format!(", and is needed: {why}")).unwrap_or_default())]
    MissingRuntime {
        /// Its name.
        program: &'static str,
        /// Why it is needed, where that is not plain. Printable.
        why: Option<String>,
        /// What to do.
        remedy: &'static str,
    },
    /// The package does not run on the runtime that is there.
    #[error("the package {} {}{}", quote(&.0.package), .0.shortfall, .0.note)]
    RuntimeTooOld(Box<TooOld>),
    /// uv finds no Python, or not the one that the person has chosen.
    #[error("{}", no_python(chosen.as_deref(), found))]
    NoPython {
        /// The one that the person has chosen.
        chosen: Option<String>,
        /// The versions that are there.
        found: Vec<String>,
        /// What uv has said.
        failure: Box<ToolFailure>,
    },
    /// uv would have to build a package, which runs code of that package.
    #[error(
        "the package {} cannot be installed without building {} from source, which runs code of that package",
        quote(package),
        built.as_deref().map_or_else(|| "a package".to_owned(), quote)
    )]
    NeedsBuild {
        /// The package that the manifest names.
        package: String,
        /// The one that has no wheel, if uv tells.
        built: Option<String>,
    },
    /// npm would install into another directory.
    #[error("npm needs a path in Unicode, which {} is not", .0.display())]
    NotUnicode(PathBuf),
    /// The variable that names the proxy for the package manager's requests does not name one.
    #[error(transparent)]
    Proxy(#[from] Problem),
    /// The package manager could not be started.
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The package manager failed.
    #[error("{0}")]
    Tool(Box<ToolFailure>),
    /// The package is there, but nothing in it that could be started.
    #[error("the package {} {problem}", quote(package))]
    NoCommand {
        /// The package.
        package: String,
        /// What is wrong, as the rest of a sentence.
        problem: String,
        /// A command that the manifest could name.
        suggestion: Option<String>,
    },
    /// The archive is not offered for this platform.
    #[error(transparent)]
    UnsupportedPlatform(#[from] NotForPlatform),
    /// The address of the archive is none.
    #[error("the archive's address {} is not an address: {message}", quote(url))]
    Address {
        /// What the manifest has.
        url: String,
        /// What is wrong.
        message: String,
    },
    /// The archive's name ends as those do that clients do not unpack.
    #[error("the archive {} is of a kind that clients do not unpack (`{ending}`)", quote(url))]
    Format {
        /// What the manifest has.
        url: String,
        /// The ending.
        ending: &'static str,
    },
    /// The archive is in another format than its name says.
    #[error(transparent)]
    Misnamed(#[from] Misnamed),
    /// The archive was not fetched.
    #[error("the archive was not fetched: {0}")]
    Fetch(#[from] FetchError),
    /// The archive was not fetched in time.
    #[error("the archive was not fetched within {} s", .0.as_secs_f64())]
    Slow(Duration),
    /// The archive is not the one that the manifest means.
    #[error("the archive {}has the SHA-256 {found}, but {} says {}", instead(*lookalike), by.speaker(), quote(wanted))]
    DigestMismatch {
        /// The digest of what came.
        found: Sha256,
        /// What that seems to be, if it is no archive.
        lookalike: Option<Lookalike>,
        /// Who says otherwise.
        by: DigestSource,
        /// What that one says.
        wanted: String,
    },
    /// A package is not the one that a list means.
    #[error("{0} does not have the SHA-512 of the list of packages")]
    OtherBytes(String),
    /// The archive was not unpacked.
    #[error("{}", .0.sentence())]
    Archive(#[from] archive::Error),
    /// The packages of a list take more space together than one archive may.
    #[error("the tree of its packages {0}")]
    TreeTooLarge(archive::Excess),
    /// The package registry has no such version of the package.
    #[error(
        "{} has no version {version} of {}{}{}",
        failure.registry(),
        quote(name),
        failure.place(),
        failure.newest(newest.as_deref())
    )]
    NoVersion {
        /// The package.
        name: String,
        /// What was asked for.
        version: String,
        /// The newest version that can be installed, if the package manager says.
        newest: Option<String>,
        /// What the package manager has written.
        failure: Box<ToolFailure>,
    },
    /// The package registry has no such package.
    #[error("{} has no package {}{}", failure.registry(), quote(name), failure.place())]
    NoPackage {
        /// The package.
        name: String,
        /// What the package manager has written.
        failure: Box<ToolFailure>,
    },
    /// A cooldown holds the version back, or one of a package that it needs.
    #[error("{0}")]
    HeldBack(Box<HeldBack>),
    /// Nothing says which bytes are the right ones.
    #[error("no digest is stated with which all bytes of {} could be compared{}", quote(what), behind(.problem.as_deref()))]
    NoDigest {
        /// The archive or the package.
        what: String,
        /// Which of its parts has none, as a sentence.
        problem: Option<String>,
    },
    /// It is not proven who has built the bytes.
    #[error(transparent)]
    Provenance(Box<provenance::Error>),
    /// The archive does not hold what is to be started.
    #[error("{0}")]
    CmdNotFound(#[from] CmdNotFound),
    /// What is to be started does not run here.
    #[error("{} {mismatch}", quote(cmd))]
    Unfit {
        /// The program.
        cmd: String,
        /// Why not.
        mismatch: Mismatch,
    },
    /// What is to be started needs a dynamic loader that is not there.
    #[error("{} needs {}, which this system does not have (musl, NixOS?)", quote(cmd), quote(loader))]
    NoLoader {
        /// The program.
        cmd: String,
        /// The path of its loader.
        loader: String,
    },
    /// The directory could not be written to.
    #[error("cannot write {0}")]
    Path(#[from] PathError),
}

impl From<provenance::Error> for Error {
    fn from(error: provenance::Error) -> Self {
        Self::Provenance(Box::new(error))
    }
}

impl Error {
    /// The reason, as reports name it.
    #[must_use]
    pub fn reason(&self) -> InstallFailure {
        match self {
            Self::MissingRuntime { .. } | Self::NoPython { .. } => InstallFailure::MissingRuntime,
            Self::RuntimeTooOld(_) => InstallFailure::RuntimeTooOld,
            Self::UnsupportedPlatform(_) => InstallFailure::UnsupportedPlatform,
            Self::DigestMismatch { .. } | Self::OtherBytes(_) => InstallFailure::DigestMismatch,
            Self::Tool(failure) if failure.is_of_integrity() => InstallFailure::DigestMismatch,
            Self::Tool(failure) if failure.lacks_package() => InstallFailure::PackageNotFound,
            Self::NoVersion { .. } | Self::NoPackage { .. } => InstallFailure::PackageNotFound,
            Self::HeldBack(held) if held.is_of_manifest => InstallFailure::PackageNotFound,
            Self::HeldBack(_) => InstallFailure::HeldByCooldown,
            Self::Archive(archive::Error::Unsafe { .. } | archive::Error::TooLarge(_)) | Self::TreeTooLarge(_) => {
                InstallFailure::UnsafeArchive
            }
            Self::CmdNotFound(_) => InstallFailure::CmdNotFound,
            _ => InstallFailure::InstallFailed,
        }
    }

    /// Whether something was refused because it has changed or is not safe.
    #[must_use]
    pub fn is_of_integrity(&self) -> bool {
        matches!(self.reason(), InstallFailure::DigestMismatch | InstallFailure::UnsafeArchive)
            || matches!(self, Self::Unfit { .. } | Self::NoDigest { .. })
            || matches!(self, Self::Provenance(error) if error.is_of_integrity())
    }

    /// Whether the manifest is at fault, whatever the machine.
    #[must_use]
    pub fn is_of_manifest(&self) -> bool {
        use InstallFailure::{CmdNotFound, DigestMismatch, PackageNotFound, UnsafeArchive};

        matches!(self.reason(), DigestMismatch | UnsafeArchive | CmdNotFound | PackageNotFound)
            || matches!(
                self,
                Self::Spec { .. }
                    | Self::Unpinned(_)
                    | Self::Cutoff { .. }
                    | Self::NoCommand { .. }
                    | Self::Address { .. }
                    | Self::Unfit { .. }
                    | Self::Format { .. }
                    | Self::Misnamed(_)
            )
    }

    /// Whether the package registry could not be asked for the package of this name, or the host of an archive did not send
    /// it, so that nothing else can be had from there now. An archive that only takes longer than the time for an installation
    /// says nothing of its host.
    #[must_use]
    pub fn is_of_source(&self, package: &str) -> bool {
        match self {
            Self::Tool(failure) => failure.lacks_source(package),
            // A transfer that breaks off is of one file, and what an address redirects to is another host.
            Self::Fetch(FetchError { problem: Problem::Broken(_) | Problem::TooSlow, .. }) => false,
            Self::Fetch(error) => error.hops.is_empty() && error.problem.is_outage(),
            Self::Proxy(_) => true,
            _ => false,
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Tool(failure) => failure.remedy(),
            Self::NoPackage { failure, .. } | Self::NoVersion { failure, newest: None, .. } => failure.other_registry(),
            Self::HeldBack(held) if held.is_of_manifest => {
                Some("in the manifest, set `exclude_newer` to a later day".into())
            }
            Self::HeldBack(held) if held.until.is_some() => Some("wait until then, or change that setting".into()),
            Self::HeldBack(_) => Some("change that setting".into()),
            Self::OtherBytes(_) => Some(OTHER_BYTES.into()),
            Self::Slow(limit) => Some(slow(*limit)),
            Self::NoDigest { .. } => Some("install it without `--require`".into()),
            Self::Provenance(error) => error.remedy(),
            Self::Fetch(error) => error.remedy(),
            Self::Proxy(problem) => problem.remedy(),
            Self::RuntimeTooOld(too_old) if too_old.is_downloadable => Some(newer(&too_old.shortfall)),
            Self::RuntimeTooOld(too_old) => Some(from_elsewhere(&too_old.shortfall)),
            Self::MissingRuntime { remedy, .. } => Some((*remedy).into()),
            Self::Offline(_) => Some("run it again without --offline".into()),
            Self::NoPython { chosen: Some(_), .. } => {
                Some("set UV_PYTHON to a Python that is there, or unset it: uv then chooses one".into())
            }
            Self::NoPython { chosen: None, .. } => Some("run `uv python install`".into()),
            Self::NeedsBuild { .. } => Some("if you trust that package, allow it with --allow-build".into()),
            Self::NotUnicode(_) => Some("name another directory with --root".into()),
            Self::Cutoff { .. } => Some("in the manifest, write the day as YYYY-MM-DD".into()),
            Self::NoLoader { .. } => Some("name another distribution, if there is one, with --dist".into()),
            Self::NoCommand { suggestion, .. } => {
                Some(format!("in the manifest, set `command` to {}", quote(suggestion.as_deref()?)))
            }
            Self::CmdNotFound(error) => Some(format!("in the manifest, set `cmd` to {}", quote(&error.suggestion()?))),
            Self::Archive(archive::Error::Spool(error)) => Some(error.remedy().unwrap_or(ANOTHER_TEMPORARY).into()),
            Self::Path(error) | Self::Archive(archive::Error::Write(error)) => error.remedy().map(String::from),
            _ => None,
        }
    }

    /// The time for the next attempt in minutes, if this one ran out of time.
    #[must_use]
    pub(crate) fn wanted_minutes(&self) -> Option<u64> {
        match self {
            Self::Slow(limit) => Some(longer(*limit)),
            Self::Tool(failure) if failure.full.is_none() && failure.exit.is_none() => Some(longer(failure.limit)),
            _ => None,
        }
    }

    /// The output of the package manager, as it was written: escape it before it is shown.
    #[must_use]
    pub fn stderr(&self) -> &str {
        match self {
            Self::Tool(failure)
            | Self::NoPython { failure, .. }
            | Self::NoVersion { failure, .. }
            | Self::NoPackage { failure, .. } => &failure.stderr,
            Self::RuntimeTooOld(too_old) => &too_old.stderr,
            Self::HeldBack(held) => &held.stderr,
            _ => "",
        }
    }
}

/// A package that does not run on the runtime that is there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TooOld {
    /// The package.
    pub package: String,
    /// Which runtime is there, and which is wanted.
    pub shortfall: Shortfall,
    /// What else is known of the runtime, as the rest of the sentence. Printable.
    pub note: String,
    /// Whether the package manager may be able to download a newer runtime: it has not failed to.
    pub is_downloadable: bool,
    /// What the package manager wrote to stderr.
    pub stderr: String,
}

impl TooOld {
    pub(super) fn new(package: &str, shortfall: Shortfall, stderr: &str) -> Self {
        let (package, stderr) = (package.to_owned(), stderr.to_owned());
        Self { package, shortfall, note: String::new(), is_downloadable: true, stderr }
    }
}

/// A version that npm or uv does not install because it is too new for a setting. They decide that, and are asked by which setting
/// and until when.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeldBack {
    /// The package that was to be installed, with its version.
    pub package: String,
    /// The package that is held back, with its version or range: the same one, or one that it needs.
    pub held: String,
    /// The setting, with its value and its place. Printable.
    pub setting: String,
    /// Whether the manifest sets it.
    pub is_of_manifest: bool,
    /// When the version may be installed; `None` when only another setting allows it.
    pub until: Option<Timestamp>,
    /// The newest version of the package that may be installed now, if the package manager says.
    pub newest: Option<String>,
    /// What the package manager wrote to stderr.
    pub stderr: String,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (package, held) = (quote(&self.package), quote(&self.held));
        f.write_str(&package)?;
        if held != package {
            write!(f, " needs {held}, which")?;
        }
        match self.until {
            Some(until) => write!(f, " is held back until {until} by {}", self.setting)?,
            None => write!(f, " is held back by {}, until that setting changes", self.setting)?,
        }
        self.newest.iter().try_for_each(|newest| write!(f, "; the newest version that is allowed is {newest}"))
    }
}

/// A setting that holds versions back.
#[derive(Debug, Default)]
pub(super) struct Setting {
    /// Its name, value and place. Printable.
    pub(super) text: String,
    pub(super) value: String,
    pub(super) is_of_manifest: bool,
}

/// The time that is this much later.
#[expect(clippy::cast_possible_truncation, reason = "what is too large is no time")]
pub(super) fn later(time: Timestamp, seconds: f64) -> Option<Timestamp> {
    Timestamp::from_unix(time.unix().checked_add(seconds.ceil() as i64)?)
}

fn behind(problem: Option<&str>) -> String {
    problem.map_or_else(String::new, |problem| format!(": {problem}"))
}

/// What an archive is instead, before another statement about it.
fn instead(lookalike: Option<Lookalike>) -> String {
    lookalike.map_or_else(String::new, |lookalike| format!("is {lookalike}: it "))
}

/// The message that uv finds no Python.
fn no_python(chosen: Option<&str>, found: &[String]) -> String {
    let of = chosen.map(|chosen| format!(" for {UV_PYTHON}={chosen}")).unwrap_or_default();
    match (chosen, found) {
        (_, []) => format!("uv finds no Python{of}"),
        (Some(_), found) => format!("uv finds no Python{of}; there is {}", found.join(", ")),
        (None, found) => format!("uv takes none of the Pythons that are there: {}", found.join(", ")),
    }
}

/// A runtime of the versions that are wanted.
#[must_use]
pub(crate) fn newer(shortfall: &Shortfall) -> String {
    if shortfall.runtime == "Python" {
        format!("run `uv python install {}`", python(&shortfall.wanted))
    } else {
        "put a newer Node.js first in PATH, from https://nodejs.org/en/download or with your version manager".to_owned()
    }
}

/// A Python of the versions that are wanted, where uv cannot download one.
#[must_use]
fn from_elsewhere(shortfall: &Shortfall) -> String {
    let wanted = quote(&shortfall.wanted);
    format!(
        "install Python {wanted} with the packages of this system, or set UV_PYTHON_INSTALL_MIRROR to an address that uv can reach"
    )
}

/// The lower bound of a range, which is a version that is in it, or else the range as uv and a shell read it.
fn python(range: &str) -> String {
    let lowest = range.split(',').find_map(|part| {
        let version = [">=", "~=", "=="].iter().find_map(|operator| part.trim().strip_prefix(operator))?.trim();
        let version = version.strip_suffix(".*").unwrap_or(version);
        let is_plain = version.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        is_plain.then(|| version.to_owned())
    });
    lowest.unwrap_or_else(|| format!("'{}'", escape(range).replace('\'', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_of_the_range_is_installed() {
        for (range, version) in [
            (">=3.12", "3.12"),
            ("<3.14,>=3.12", "3.12"),
            ("~=3.11.2", "3.11.2"),
            ("==3.12.*", "3.12"),
            ("<3.13", "'<3.13'"),
            (">3.11", "'>3.11'"),
        ] {
            assert_eq!(python(range), version, "{range}");
        }
    }

    #[test]
    fn a_version_that_waits_is_said_with_setting_and_time() {
        let mut held = HeldBack {
            package: "p@1.1.0".to_owned(),
            held: "p@1.1.0".to_owned(),
            setting: "`min-release-age=7` in /home/u/.npmrc".to_owned(),
            is_of_manifest: false,
            until: later("2026-11-24T04:43:24Z".parse().unwrap(), 7.0 * 86_400.0),
            newest: Some("1.0.0".to_owned()),
            stderr: String::new(),
        };
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` is held back until 2026-12-01T04:43:24Z by `min-release-age=7` in /home/u/.npmrc; the newest version \
             that is allowed is 1.0.0"
        );
        (held.held, held.until, held.newest) = ("q\u{1b}@^1".to_owned(), None, None);
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` needs `q\\u{1b}@^1`, which is held back by `min-release-age=7` in /home/u/.npmrc, until that setting \
             changes"
        );
    }
}
