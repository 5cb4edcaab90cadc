//! RESOLVE: makes a plan from an agent's id: version, platform, source and runtime.
//!
//! * [`PlanOptions`]: what is asked for
//! * [`Offer`]: a version and its distributions, from an index, a lock file, or what is installed
//! * [`Host`]: what the machine can run
//! * [`resolve()`]: the [`Plan`], or an [`Error`] that names the alternatives
//!
//! Nothing is guessed: the error names what is missing, and how to get it.
//!
//! ```
//! use acp_registry_plan::index::Index;
//! use acp_registry_plan::resolve::{Host, Offer, PlanOptions, resolve};
//!
//! let text = r#"{ "agents": [ { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let index = Index::parse(text.to_owned())?;
//! let agent = index.agent("a")?.ok_or("no such agent")?;
//! let wanted = PlanOptions::new("a".parse()?);
//! let host = Host { platform: None, emulated: None, lacks_glibc: false, has_npm: true, has_uv: false };
//! let plan = resolve(&Offer::from_agent(&agent, index.sha256()), &wanted, &host)?;
//! assert_eq!((plan.kind().as_str(), plan.source.name()), ("npx", "a@1.0.0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::closure::PublishedClosure;
use crate::digest::Sha256;
use crate::failure::{Code, Failure};
use crate::manifest::{
    Agent, AgentId, BinaryTarget, Channel, Distribution, NpmSpec, Package, Pin, Platform, PypiSpec, Version, env_name,
    extension, pypi_version_matches,
};
use crate::text::quote;
use crate::versions::{EarlierVersion, Versions};

/// What a machine can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its platform; `None` for one that manifests have no name for.
    pub platform: Option<Platform>,
    /// Another platform whose programs run here too, more slowly.
    pub emulated: Option<Platform>,
    /// Whether most Linux programs find no loader here, so that packages are the better choice.
    pub lacks_glibc: bool,
    /// Whether Node.js and npm are there.
    pub has_npm: bool,
    /// Whether uv is there.
    pub has_uv: bool,
}

impl Host {
    /// The program that an installation of this kind needs and that is missing here, and how to get it.
    fn lacks(&self, kind: Kind) -> Option<(&'static str, &'static str)> {
        match kind {
            Kind::Npx if !self.has_npm => Some(("npm", NODE)),
            Kind::Uvx if !self.has_uv => Some(("uv", UV)),
            _ => None,
        }
    }
}

/// The word for the version in the index.
const LATEST: &str = "latest";

/// An agent, with its version if one is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub struct AgentSpec {
    /// Its id.
    pub id: String,
    /// An exact version.
    pub version: Option<String>,
    /// Whether it is written as `ID@latest`: the version in the index.
    pub is_latest: bool,
}

/// A text that names no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected ID or ID@VERSION")]
pub struct WrongName;

impl AgentSpec {
    /// The agent in its default version: the installed one, else that of the index.
    #[must_use]
    pub fn any(id: &str) -> Self {
        Self { id: id.to_owned(), version: None, is_latest: false }
    }

    /// One version of the agent.
    #[must_use]
    pub fn exact(id: &str, version: &str) -> Self {
        Self { id: id.to_owned(), version: Some(version.to_owned()), is_latest: false }
    }

    /// Whether a version is named, by number or as `latest`.
    #[must_use]
    pub fn has_version(&self) -> bool {
        self.version.is_some() || self.is_latest
    }
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.version, self.is_latest) {
            (Some(version), _) => write!(f, "{}@{version}", self.id),
            (None, true) => write!(f, "{}@{LATEST}", self.id),
            (None, false) => f.write_str(&self.id),
        }
    }
}

impl TryFrom<String> for AgentSpec {
    type Error = WrongName;

    fn try_from(text: String) -> Result<Self, WrongName> {
        text.parse()
    }
}

impl FromStr for AgentSpec {
    type Err = WrongName;

    fn from_str(text: &str) -> Result<Self, WrongName> {
        match text.split_once('@') {
            Some(("", _) | (_, "")) => Err(WrongName),
            Some((id, LATEST)) => Ok(Self { is_latest: true, ..Self::any(id) }),
            Some((id, version)) => Ok(Self::exact(id, version)),
            None if text.is_empty() => Err(WrongName),
            None => Ok(Self::any(text)),
        }
    }
}

/// Where an offer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOrigin {
    /// The index, stable channel.
    Index,
    /// The index, preview channel.
    Preview,
    /// An entry that the index had earlier.
    Earlier,
    /// A lock file.
    Lock,
    /// An installed version.
    Installed,
}

/// One version of an agent, and its distributions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Where the offer comes from.
    pub origin: OfferOrigin,
    /// The version.
    pub version: String,
    /// The ways to get it.
    pub distribution: Distribution,
    /// The digests that are known before anything is fetched, by kind and platform.
    pub expected: Vec<(String, Expected)>,
    /// SHA-256 of the index that this is from.
    pub index_sha256: Option<String>,
    /// The address of the repository that the manifest names, from which the version must have been built.
    pub repository: Option<String>,
}

impl Offer {
    /// What an index offers: its stable channel, then its preview channel.
    #[must_use]
    pub fn from_agent(agent: &Agent, index_sha256: &str) -> Vec<Self> {
        let offer = |release: crate::manifest::Release<'_>| Self {
            origin: if release.channel == Channel::Stable { OfferOrigin::Index } else { OfferOrigin::Preview },
            version: release.version.to_owned(),
            distribution: release.distribution.clone(),
            expected: Vec::new(),
            index_sha256: Some(index_sha256.to_owned()),
            repository: agent.repository.clone(),
        };
        agent.releases().map(offer).collect()
    }

    /// What an index offered earlier.
    #[must_use]
    pub fn from_earlier(versions: &Versions, index_sha256: &str) -> Vec<Self> {
        let offer = |earlier: &EarlierVersion| {
            let agent = Agent::from_json(&earlier.entry);
            let stable = Self::from_agent(&agent, index_sha256).into_iter().next()?;
            Some(Self { origin: OfferOrigin::Earlier, ..stable })
        };
        versions.versions.iter().filter_map(offer).collect()
    }

    /// Whether its npm package is installed without npm: all packages are known, and this system makes trees of them.
    fn needs_no_npm(&self, host: &Host) -> bool {
        let makes_trees = host.platform.is_some_and(|platform| platform.os() != "windows");
        let is_known =
            |(kind, expected): &(String, Expected)| *kind == *Kind::Npx.as_str() && expected.packages.is_some();
        makes_trees && self.expected.iter().any(is_known)
    }

    /// The same packages in another version, with the command and the arguments of this one. Archives are left out,
    /// since their addresses are for one version, and so is the day of `exclude_newer`.
    fn in_version(&self, version: &str) -> Self {
        let npx = self.distribution.npx.as_ref().and_then(|package| npm_in_version(package, &self.version, version));
        let uvx = self.distribution.uvx.as_ref().and_then(|package| pypi_in_version(package, &self.version, version));
        Self {
            version: version.to_owned(),
            distribution: Distribution { binary: Vec::new(), npx, uvx },
            expected: Vec::new(),
            ..self.clone()
        }
    }
}

/// `None` where the version of the package differs from that of the agent: the package's other version is then unknown.
fn npm_in_version(package: &Package, from: &str, to: &str) -> Option<Package> {
    let spec: NpmSpec = package.package.parse().ok()?;
    let is_same = matches!(&spec.pin, Pin::Exact(version) if version == from);
    let is_version = matches!(format!("{}@{to}", spec.name).parse(), Ok(NpmSpec { pin: Pin::Exact(_), .. }));
    (is_same && is_version).then(|| Package {
        package: format!("{}@{to}", spec.name),
        exclude_newer: None,
        ..package.clone()
    })
}

fn pypi_in_version(package: &Package, from: &str, to: &str) -> Option<Package> {
    let spec: PypiSpec = package.package.parse().ok()?;
    let is_same = matches!(&spec.pin, Pin::Exact(version) if pypi_version_matches(version, from));
    let text = spec.in_version(to);
    let is_version = matches!(text.parse(), Ok(PypiSpec { pin: Pin::Exact(_), .. }));
    (is_same && is_version).then(|| Package { package: text, exclude_newer: None, ..package.clone() })
}

/// What is installed, with all details.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The agent.
    pub id: AgentId,
    /// Its version.
    pub version: String,
    /// The platform it is for; `None` where that is this machine, and manifests have no name for it.
    pub platform: Option<Platform>,
    /// What the manifest names.
    pub source: Source,
    /// The digests that are known before anything is fetched.
    pub expected: Expected,
    /// Whether its kind of distribution was asked for, and not chosen.
    pub is_kind_wanted: bool,
    /// Where the offer comes from.
    pub origin: OfferOrigin,
    /// SHA-256 of the index that this is from.
    pub index_sha256: Option<String>,
    /// The address of the repository that the manifest names.
    pub repository: Option<String>,
}

impl Plan {
    /// The kind of distribution.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.source.kind()
    }

    /// A name for the folder of the version: equal for equal bytes. It consists of the version and a part of the digest
    /// of everything that says where the bytes come from.
    #[must_use]
    pub fn folder(&self) -> String {
        let platform = self.platform.map_or("-", Platform::as_str);
        let (cmd, extensions) = match &self.source {
            Source::Binary(target) => (target.cmd.as_str(), [&None, &None]),
            Source::Npx(package) | Source::Uvx(package) => ("", [&package.command, &package.exclude_newer]),
        };
        let parts = [&self.version, self.kind().as_str(), platform, self.source.name(), cmd];
        let mut parts = parts.join("\n");
        // Both are included only where they are set, so that the folders of other packages keep their names.
        for (name, value) in [extension::COMMAND, extension::EXCLUDE_NEWER].iter().zip(extensions) {
            if let Some(value) = value {
                parts.push_str(&format!("\n{name} {value}"));
            }
        }
        if let Some(packages) = &self.expected.packages {
            parts.push_str(packages);
        }
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-+.".contains(c);
        let version: String = self.version.chars().take(100).map(|c| if is_plain(c) { c } else { '_' }).collect();
        format!("{}-{}", version.trim_start_matches('.'), Sha256::of(parts).first(12))
    }
}

/// A kind of distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A package of the npm registry.
    Npx,
    /// A package of the Python package index.
    Uvx,
    /// An archive for each platform.
    Binary,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Npx, Self::Uvx, Self::Binary];

    /// The key in the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Binary => "binary",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What a manifest names for this kind; `None` when it does not declare the kind.
    ///
    /// # Errors
    /// [`NotForPlatform`] when the kind is declared, but not for this platform; `None` is a platform for
    /// which no agent is made.
    pub fn source(
        self,
        distribution: &Distribution,
        platform: Option<Platform>,
    ) -> Result<Option<Source>, NotForPlatform> {
        Ok(match self {
            Self::Npx => distribution.npx.clone().map(Source::Npx),
            Self::Uvx => distribution.uvx.clone().map(Source::Uvx),
            Self::Binary if distribution.binary.is_empty() => None,
            Self::Binary => {
                let of_host = |target: &&BinaryTarget| platform.is_some_and(|host| target.platform == host.as_str());
                let target = distribution.binary.iter().find(of_host);
                let offered = || distribution.binary.iter().map(|target| target.platform.clone()).collect();
                let target = target.ok_or_else(|| NotForPlatform { platform, offered: offered() })?;
                Some(Source::Binary(target.clone()))
            }
        })
    }
}

/// What a manifest names for one kind of distribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A package for `npx`.
    Npx(Package),
    /// A package for `uvx`.
    Uvx(Package),
    /// The archive of one platform.
    Binary(BinaryTarget),
}

impl Source {
    /// The kind of distribution.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Npx(_) => Kind::Npx,
            Self::Uvx(_) => Kind::Uvx,
            Self::Binary(_) => Kind::Binary,
        }
    }

    /// The package with its version, or the address of the archive, as the manifest has it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.package,
            Self::Binary(target) => &target.archive,
        }
    }

    /// The arguments in the manifest.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.args,
            Self::Binary(target) => &target.args,
        }
    }

    /// The variables in the manifest.
    #[must_use]
    pub fn variables(&self) -> &[(String, String)] {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.env,
            Self::Binary(target) => &target.env,
        }
    }

    /// Takes over the arguments and variables of another source. Returns whether any is new.
    pub fn follow(&mut self, other: &Self) -> bool {
        let is_new = self.arguments() != other.arguments() || self.variables() != other.variables();
        let (args, env) = match self {
            Self::Npx(package) | Self::Uvx(package) => (&mut package.args, &mut package.env),
            Self::Binary(target) => (&mut target.args, &mut target.env),
        };
        (*args, *env) = (other.arguments().to_vec(), other.variables().to_vec());
        is_new
    }

    /// The package; `None` for an archive.
    #[must_use]
    pub fn package(&self) -> Option<&Package> {
        match self {
            Self::Npx(package) | Self::Uvx(package) => Some(package),
            Self::Binary(_) => None,
        }
    }

    /// The archive; `None` for a package.
    #[must_use]
    pub fn target(&self) -> Option<&BinaryTarget> {
        if let Self::Binary(target) = self { Some(target) } else { None }
    }
}

/// The source as the only one of a version.
impl From<Source> for Distribution {
    fn from(source: Source) -> Self {
        match source {
            Source::Npx(package) => Self { npx: Some(package), ..Self::default() },
            Source::Uvx(package) => Self { uvx: Some(package), ..Self::default() },
            Source::Binary(target) => Self { binary: vec![target], ..Self::default() },
        }
    }
}

/// There is no archive for a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no archive for {}; there are some for {}", platform.map_or("this system", Platform::as_str), quote(&offered.join(", ")))]
pub struct NotForPlatform {
    /// The platform; `None` for one that manifests have no name for.
    pub platform: Option<Platform>,
    /// Those of the manifest.
    pub offered: Vec<String>,
}

/// What is known beforehand of the bytes that will come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// SHA-256 of the archive in a lock file.
    pub sha256: Option<String>,
    /// All packages with their digests, as npm (`package-lock.json`) or uv (`requirements.txt` with hashes) reads them.
    pub packages: Option<String>,
    /// The version of Python that they are for.
    pub python: Option<String>,
    /// Whether the packages are those that the registry publishes, not those of a lock file.
    pub is_published: bool,
    /// The dependencies of an npm package whose install scripts may run, as `name@1.0.0 sha512-…`; `None` leaves it to npm.
    pub allow_scripts: Option<Vec<String>>,
}

impl From<PublishedClosure> for Expected {
    fn from(closure: PublishedClosure) -> Self {
        // Only a list for uv names one.
        let python = closure.python().map(ToOwned::to_owned);
        let PublishedClosure { packages, allow_scripts, .. } = closure;
        Self { packages: Some(packages), python, is_published: true, allow_scripts, ..Self::default() }
    }
}

/// Node.js, and npm with it.
pub const NODE: &str =
    "install Node.js with npm, from https://nodejs.org/en/download or with your system's package manager";

/// uv, which brings Python where there is none.
pub const UV: &str =
    "install uv, from https://docs.astral.sh/uv/getting-started/installation/ or with your system's package manager";

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
    /// What the manifest has for the digest of its archive is none.
    #[error("{} is refused: its archive should have the SHA-256 {}, which is no digest", quote(id), quote(sha256))]
    InvalidDigest {
        /// The agent.
        id: String,
        /// What the manifest has.
        sha256: String,
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
            Self::UnknownVersion { has_packages: false, .. } => Some(
                "name a known version, or take it from a lock file that has it, with `acp-registry install --locked`"
                    .into(),
            ),
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
            Self::NoSuchKind { offered, .. } => {
                let kind = offered.first()?.as_str();
                Some(format!("leave out `--dist`, or write `--dist {kind}`"))
            }
            Self::InvalidDigest { .. } => Some("tell the maintainers of the registry".into()),
            Self::UnknownVersion { .. } | Self::ReservedVariable { .. } => None,
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
            Error::InvalidDigest { .. } => Self::refused(error).code(Code::DigestMismatch),
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

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOptions {
    /// The agent.
    pub id: AgentId,
    /// Its version; `None` for that of the index.
    pub version: Option<String>,
    /// The kind of distribution; `None` for the best one.
    pub kind: Option<Kind>,
    /// The platform; `None` for the host's.
    pub platform: Option<Platform>,
}

impl PlanOptions {
    /// The agent in the version of the index, by the best kind of distribution for this machine.
    #[must_use]
    pub fn new(id: AgentId) -> Self {
        Self { id, version: None, kind: None, platform: None }
    }
}

/// Chooses among offers; the first one when no version is asked for.
///
/// If no kind is asked for, an archive for the platform comes first, then `npx`, then `uvx`, each only if the programs
/// that it needs are installed. On machines without the usual loader for Linux programs, packages come before archives.
/// Where none is left, an `npx` package whose packages are all known is installed without npm.
///
/// # Errors
/// [`Error`].
pub fn resolve(offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Result<Plan, Error> {
    let offer = pick(offers, wanted)?;
    let (id, version) = (&wanted.id, &offer.version);
    let kinds = wanted.kind.map_or_else(|| order(host), |kind| vec![kind]);
    let declared: Vec<(Kind, Option<Source>)> =
        kinds.iter().filter_map(|kind| Some((*kind, source(*kind, &offer, wanted, host)?))).collect();
    if declared.is_empty()
        && let Some(kind) = wanted.kind
    {
        let (id, version) = (id.to_string(), version.clone());
        return Err(Error::NoSuchKind { id, version, kind, offered: offered_kinds(&offer) });
    }
    let made: Vec<(Kind, Source)> = declared.into_iter().filter_map(|(kind, source)| Some((kind, source?))).collect();
    if made.is_empty() {
        let platform = wanted.platform.or(host.platform).map_or("this system", Platform::as_str).to_owned();
        let (id, version) = (id.to_string(), version.clone());
        let offered = offer.distribution.binary.iter().map(|target| target.platform.clone()).collect();
        let mut packages = offered_kinds(&offer);
        packages.retain(|kind| *kind != Kind::Binary);
        return Err(Error::UnsupportedPlatform { id, version, platform, offered, packages });
    }
    let lacks = |kind: Kind| host.lacks(kind).map(|(program, remedy)| (kind, program, remedy));
    let lacking = made.iter().filter_map(|(kind, _)| lacks(*kind)).collect();
    let ready = made.iter().find(|(kind, _)| lacks(*kind).is_none());
    // What nothing here could start can be installed all the same.
    let ready = ready.or_else(|| made.iter().find(|(kind, _)| *kind == Kind::Npx && offer.needs_no_npm(host)));
    let Some((kind, source)) = ready.cloned() else {
        return Err(Error::MissingRuntime { id: id.to_string(), lacking });
    };
    let is_bad = |(name, value): &&(String, String)| env_name::problem_with_value(name, value).is_some();
    if let Some((name, _)) = source.variables().iter().find(is_bad) {
        return Err(Error::ReservedVariable { id: id.to_string(), name: name.clone() });
    }
    if let Source::Binary(target) = &source
        && let Some(sha256) = target.sha256.clone().filter(|digest| digest.parse::<Sha256>().is_err())
    {
        return Err(Error::InvalidDigest { id: id.to_string(), sha256 });
    }
    let (platform, key) = match &source {
        Source::Binary(target) => (target.platform.parse().ok(), target.platform.as_str()),
        Source::Npx(_) | Source::Uvx(_) => (wanted.platform.or(host.platform), kind.as_str()),
    };
    let expected = offer.expected.iter().find(|(known, _)| known == key).map(|(_, expected)| expected.clone());
    Ok(Plan {
        id: id.clone(),
        version: version.clone(),
        platform,
        expected: expected.unwrap_or_else(Expected::default),
        is_kind_wanted: wanted.kind.is_some(),
        origin: offer.origin,
        index_sha256: offer.index_sha256.clone(),
        repository: offer.repository.clone(),
        source,
    })
}

/// The offer of the wanted version: the installed or locked one, or else the index's offer with its packages in that
/// version.
///
/// # Errors
/// [`Error::UnknownVersion`].
pub fn pick(offers: &[Offer], wanted: &PlanOptions) -> Result<Offer, Error> {
    let known = || offers.iter().map(|offer| offer.version.clone()).collect::<Vec<_>>();
    let unknown = |version: &str, has_packages| {
        let (id, version, mut known) = (wanted.id.to_string(), version.to_owned(), known());
        known.sort_unstable();
        known.dedup();
        Error::UnknownVersion { id, version, known, has_packages }
    };
    let Some(version) = &wanted.version else {
        return offers.first().cloned().ok_or_else(|| unknown("", false));
    };
    let is_declared = |offer: &&Offer| wanted.kind.is_none_or(|kind| declares(offer, kind));
    let exact = || offers.iter().filter(|offer| Version::is_same(&offer.version, version));
    if let Some(offer) = exact().find(is_declared).or_else(|| exact().next()) {
        return Ok(offer.clone());
    }
    let of_index = offers.iter().find(|offer| offer.origin == OfferOrigin::Index);
    let packages = of_index.map(|offer| offer.in_version(version));
    let has_packages = |offer: &Offer| offer.distribution.packages().next().is_some();
    packages.filter(has_packages).ok_or_else(|| unknown(version, of_index.is_some_and(has_packages)))
}

fn declares(offer: &Offer, kind: Kind) -> bool {
    match kind {
        Kind::Npx => offer.distribution.npx.is_some(),
        Kind::Uvx => offer.distribution.uvx.is_some(),
        Kind::Binary => !offer.distribution.binary.is_empty(),
    }
}

fn order(host: &Host) -> Vec<Kind> {
    if host.lacks_glibc { vec![Kind::Npx, Kind::Uvx, Kind::Binary] } else { vec![Kind::Binary, Kind::Npx, Kind::Uvx] }
}

/// What an offer names for a kind: `None` when it does not declare it, and `Some(None)` when it does, but not for the
/// platform.
#[expect(clippy::option_option, reason = "these are three cases, each used once")]
fn source(kind: Kind, offer: &Offer, wanted: &PlanOptions, host: &Host) -> Option<Option<Source>> {
    let platform = wanted.platform.or(host.platform);
    let of = |platform| kind.source(&offer.distribution, platform).ok().flatten();
    if !declares(offer, kind) {
        return None;
    }
    let emulated = if wanted.platform.is_none() { host.emulated } else { None };
    Some(of(platform).or_else(|| of(Some(emulated?))))
}

/// The kinds of distribution that an offer has.
fn offered_kinds(offer: &Offer) -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| declares(offer, *kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Agent;
    use serde_json::{Value, json};

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["gemini", "gemini@0.61.0", "gemini@latest"] {
            assert_eq!(text.parse::<AgentSpec>().map(|named| named.to_string()).as_deref(), Ok(text));
        }
        assert!("gemini@latest".parse::<AgentSpec>().is_ok_and(|named| named.has_version() && named.version.is_none()));
        for wrong in ["", "@1.0.0", "gemini@"] {
            assert_eq!(wrong.parse::<AgentSpec>(), Err(WrongName), "{wrong:?}");
        }
    }

    fn host() -> Host {
        let platform = Some(Platform::LinuxX8664);
        Host { platform, emulated: None, lacks_glibc: false, has_npm: true, has_uv: true }
    }

    fn agent(distribution: &Value) -> Vec<Offer> {
        let agent = json!({ "id": "a", "version": "1.2.0", "distribution": distribution,
            "preview": { "version": "1.3.0-preview.1", "distribution": { "npx": { "package": "p@1.3.0-preview.1" } } } });
        Offer::from_agent(&Agent::from_json(&agent), "digest")
    }

    fn everything() -> Value {
        json!({
            "binary": { "linux-x86_64": { "archive": "https://h/l" }, "darwin-x86_64": { "archive": "https://h/d" } },
            "npx": { "package": "p@1.2.0", "args": ["--acp"] }, "uvx": { "package": "p[x]==1.2.0" },
        })
    }

    fn name(offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Result<String, String> {
        let plan = resolve(offers, wanted, host).map_err(|error| error.to_string())?;
        Ok(format!("{} {}", plan.version, plan.source.name()))
    }

    fn wanted(version: Option<&str>, kind: Option<Kind>, platform: Option<Platform>) -> PlanOptions {
        PlanOptions { id: "a".parse().unwrap(), version: version.map(ToOwned::to_owned), kind, platform }
    }

    #[test]
    fn the_best_that_can_run_is_chosen() {
        let offers = agent(&everything());
        let plain = wanted(None, None, None);
        let choose = |host: &Host| name(&offers, &plain, host).unwrap();
        assert_eq!(choose(&host()), "1.2.0 https://h/l");
        assert_eq!(choose(&Host { lacks_glibc: true, ..host() }), "1.2.0 p@1.2.0");
        assert_eq!(choose(&Host { lacks_glibc: true, has_npm: false, has_uv: false, ..host() }), "1.2.0 https://h/l");
        let arm = Host { platform: Some(Platform::DarwinAarch64), ..host() };
        assert_eq!(choose(&arm), "1.2.0 p@1.2.0");
        assert_eq!(choose(&Host { has_npm: false, ..arm.clone() }), "1.2.0 p[x]==1.2.0");
        assert_eq!(choose(&Host { emulated: Some(Platform::DarwinX8664), ..arm }), "1.2.0 https://h/d");
        assert_eq!(choose(&Host { platform: None, ..host() }), "1.2.0 p@1.2.0");
    }

    #[test]
    fn known_packages_are_installed_without_npm_where_nothing_else_is_left() {
        let mut offers = agent(&json!({ "npx": { "package": "p@1.2.0" }, "uvx": { "package": "p==1.2.0" } }));
        let plain = wanted(None, None, None);
        let without_npm = Host { has_npm: false, ..host() };
        let bare = Host { has_uv: false, ..without_npm.clone() };
        assert!(name(&offers, &plain, &bare).is_err());
        offers[0].expected = vec![("npx".into(), Expected { packages: Some("{}".into()), ..Expected::default() })];
        assert_eq!(name(&offers, &plain, &bare).unwrap(), "1.2.0 p@1.2.0");
        assert_eq!(name(&offers, &plain, &without_npm).unwrap(), "1.2.0 p==1.2.0");
        let windows = Host { platform: Some(Platform::WindowsX8664), ..bare };
        assert_eq!(name(&offers, &plain, &windows).unwrap_err(), "`a` needs npm or uv, which are not in PATH");
    }

    #[test]
    fn what_is_missing_is_named() {
        let offers = agent(&everything());
        let bare = Host { platform: Some(Platform::WindowsX8664), has_npm: false, has_uv: false, ..host() };
        let error = name(&offers, &wanted(None, None, None), &bare).unwrap_err();
        assert_eq!(error, "`a` needs npm or uv, which are not in PATH");
        let error = resolve(&offers, &wanted(None, Some(Kind::Binary), None), &bare).unwrap_err();
        let told = "`a` 1.2.0 is not made for windows-x86_64; its archives are for `linux-x86_64, darwin-x86_64`";
        assert_eq!(error.to_string(), told);
        assert!(error.remedy().unwrap().ends_with(", with `--dist npx`"));
        let only_npx = agent(&json!({ "npx": { "package": "p@1.2.0" } }));
        let error = name(&only_npx, &wanted(None, Some(Kind::Uvx), None), &host()).unwrap_err();
        assert_eq!(error, "`a` 1.2.0 has no distribution uvx; it has `npx`");
        let only_archives = agent(&json!({ "binary": everything()["binary"] }));
        let error = name(&only_archives, &wanted(None, Some(Kind::Uvx), None), &host()).unwrap_err();
        assert_eq!(error, "`a` 1.2.0 has no distribution uvx; it has `binary`");
        let error = name(&only_archives, &wanted(None, None, None), &bare).unwrap_err();
        assert!(error.ends_with("windows-x86_64; its archives are for `linux-x86_64, darwin-x86_64`"), "{error}");
        let error = resolve(&agent(&json!({})), &wanted(None, None, None), &host()).unwrap_err();
        assert_eq!(error.to_string(), "the entry of `a` 1.2.0 in the index has no distribution that can be used");
        assert!(error.remedy().is_some());
        let foreign = wanted(None, None, Some(Platform::DarwinX8664));
        assert_eq!(name(&offers, &foreign, &bare).unwrap(), "1.2.0 https://h/d");
    }

    #[test]
    fn other_versions_are_those_of_packages_or_known() {
        let offers = agent(&everything());
        let choose = |version| name(&offers, &wanted(Some(version), None, None), &host());
        assert_eq!(choose("1.2.0").unwrap(), "1.2.0 https://h/l");
        assert_eq!(choose("1.1.0").unwrap(), "1.1.0 p@1.1.0");
        assert_eq!(choose("1.3.0-preview.1").unwrap(), "1.3.0-preview.1 p@1.3.0-preview.1");
        for odd in ["latest", "^1", "1.1.0 --x", "git+https://evil.example", ""] {
            let error = choose(odd).unwrap_err();
            assert!(error.contains("is not known") && error.ends_with("a version has all its numbers"), "{error}");
        }
        let binary = agent(&json!({ "binary": { "linux-x86_64": { "archive": "https://h/l" } } }));
        let old = wanted(Some("1.1.0"), None, None);
        let error = resolve(&binary, &old, &host()).unwrap_err();
        assert!(error.remedy().unwrap().ends_with("with `acp-registry install --locked`"), "{error}");
        let mut with_lock = binary.clone();
        let mut locked = binary[0].clone();
        (locked.version, locked.origin) = ("1.1.0".to_owned(), OfferOrigin::Lock);
        locked.expected =
            vec![("linux-x86_64".to_owned(), Expected { sha256: Some("d".into()), ..Expected::default() })];
        with_lock.push(locked);
        let plan = resolve(&with_lock, &old, &host()).unwrap();
        assert_eq!((plan.origin, plan.expected.sha256.as_deref()), (OfferOrigin::Lock, Some("d")));
        // The package has a version of its own.
        let own = agent(&json!({ "npx": { "package": "p@9.0.0" } }));
        assert!(name(&own, &old, &host()).unwrap_err().contains("is another one than the agent's"));
    }

    #[test]
    fn no_manifest_sets_what_decides_what_runs() {
        let offers = agent(&json!({ "npx": { "package": "p@1.2.0", "env": { "node_options": "--require /x" } } }));
        let error = name(&offers, &wanted(None, None, None), &host()).unwrap_err();
        assert_eq!(
            error,
            "`a` is refused: its manifest sets `node_options`, which belongs to the system or to another program"
        );
    }

    #[test]
    fn a_digest_that_is_none_is_refused_before_anything_is_fetched() {
        let with = |sha256: &str| {
            let target = json!({ "archive": "https://h/l", "cmd": "./a", "sha256": sha256 });
            resolve(&agent(&json!({ "binary": { "linux-x86_64": target } })), &wanted(None, None, None), &host())
        };
        let digest = "Ab".repeat(32);
        assert!(with(&digest).is_ok());
        for wrong in ["", " ", "abc", &digest[1..], &format!("{digest} "), &format!("sha256:{digest}")] {
            let failure = Failure::from(with(wrong).unwrap_err());
            assert_eq!((failure.exit(), failure.kind()), (crate::failure::Exit::Refused, Code::DigestMismatch));
            assert!(failure.to_string().ends_with("which is no digest"), "{failure}");
        }
    }

    #[test]
    fn folders_differ_where_the_bytes_may() {
        let plan = |version: Option<&str>, kind| {
            resolve(&agent(&everything()), &wanted(version, kind, None), &host()).unwrap().folder()
        };
        let folders =
            [plan(None, None), plan(None, Some(Kind::Npx)), plan(None, Some(Kind::Uvx)), plan(Some("1.2.1"), None)];
        let different: std::collections::BTreeSet<_> = folders.iter().collect();
        assert_eq!(different.len(), 4);
        assert!(folders[0].starts_with("1.2.0-") && folders[0].len() == 18, "{}", folders[0]);
    }
}
