use crate::failure::{Code, Failure};
use crate::manifest::{Version, env_name};
use crate::resolve::Kind;
use crate::text::quote;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The version is not known.
    #[error("{}", unknown_version(id, version, known, *has_packages))]
    UnknownVersion {
        /// The agent.
        id: String,
        /// What was asked for.
        version: String,
        /// The versions that are known.
        known: Vec<String>,
        /// Whether the agent has packages, of which any version can be installed.
        has_packages: bool,
    },
    /// The agent is not made for the platform.
    #[error("{}", not_for_platform(id, version, platform, .offered, .packages))]
    UnsupportedPlatform {
        /// The agent.
        id: String,
        /// Its version.
        version: String,
        /// The platform, ready to be shown.
        platform: String,
        /// The platforms of its archives.
        offered: Vec<String>,
        /// The packages that it has as well, which are for every platform.
        packages: Vec<Kind>,
    },
    /// The agent has no such kind of distribution.
    #[error("{} {version} has no distribution {}; it has {}", quote(id), kind.as_str(), list(&names(.offered)))]
    NoSuchKind {
        /// The agent.
        id: String,
        /// Its version.
        version: String,
        /// What was asked for.
        kind: Kind,
        /// The kinds that it has.
        offered: Vec<Kind>,
    },
    /// The programs that could install or start the agent are not there.
    #[error("{} needs {}", quote(id), needs(lacking))]
    MissingRuntime {
        /// The agent.
        id: String,
        /// Kind of distribution, program, and how to get it.
        lacking: Vec<(Kind, &'static str, &'static str)>,
    },
    /// The manifest sets a variable that decides what runs.
    #[error("{} is refused: its manifest sets {}, which {}", quote(id), quote(name), env_name::problem(name).unwrap_or("has a value with a NUL in it"))]
    ReservedVariable {
        /// The agent.
        id: String,
        /// The variable.
        name: String,
    },
}

impl Error {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::UnknownVersion { version, .. } if begins_with_v(version) => {
                Some("write the version without the `v`".into())
            }
            Self::UnknownVersion { version, has_packages: true, .. } if Version::parse(version).is_none() => {
                Some("write the version in full".into())
            }
            Self::UnknownVersion { has_packages: false, .. } => {
                Some("name a known version, or take an earlier one from a lock file that has it, with --locked".into())
            }
            Self::UnsupportedPlatform { offered, packages, .. } if offered.is_empty() && packages.is_empty() => {
                Some("tell the maintainers of the registry".into())
            }
            Self::UnsupportedPlatform { packages, .. } => {
                let kind = packages.first()?.as_str();
                Some(format!("take its package, which is for every platform, with `--dist {kind}`"))
            }
            Self::MissingRuntime { lacking, .. } => {
                let remedies: Vec<&str> = lacking.iter().map(|(_, _, remedy)| *remedy).collect();
                Some(remedies.join("; or "))
            }
            Self::UnknownVersion { .. } | Self::NoSuchKind { .. } | Self::ReservedVariable { .. } => None,
        }
    }
}

fn not_for_platform(id: &str, version: &str, platform: &str, offered: &[String], packages: &[Kind]) -> String {
    let id = quote(id);
    if offered.is_empty() && packages.is_empty() {
        return format!("the entry of {id} {version} in the index has no distribution that can be used");
    }
    format!("{id} {version} is not made for {platform}; its archives are for {}", list(offered))
}

/// Whether this is a version as tags of git write it.
fn begins_with_v(version: &str) -> bool {
    version.strip_prefix('v').is_some_and(|number| Version::parse(number).is_some())
}

fn unknown_version(id: &str, version: &str, known: &[String], has_packages: bool) -> String {
    let is_whole = Version::parse(version).is_some();
    let id = quote(id);
    let known = if known.is_empty() { "none".to_owned() } else { quote(&known.join(", ")) };
    let why = if begins_with_v(version) {
        "versions begin with a number"
    } else if !is_whole && has_packages {
        "a version has all its numbers"
    } else if has_packages {
        "the version of its package is another one than the agent's, so that no other can be told"
    } else {
        "its archives have addresses for these versions only"
    };
    let version = quote(version);
    format!("version {version} of {id} is not known; known here: {known}; {why}")
}

fn list(offered: &[String]) -> String {
    if offered.is_empty() { "nothing".to_owned() } else { quote(&offered.join(", ")) }
}

fn names(kinds: &[Kind]) -> Vec<String> {
    kinds.iter().map(|kind| kind.as_str().to_owned()).collect()
}

fn needs(lacking: &[(Kind, &str, &str)]) -> String {
    let programs: Vec<&str> = lacking.iter().map(|(_, program, _)| *program).collect();
    let verb = if programs.len() == 1 { "is" } else { "are" };
    format!("{}, which {verb} not in PATH", programs.join(" or "))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
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
        failure.help_if(help)
    }
}
