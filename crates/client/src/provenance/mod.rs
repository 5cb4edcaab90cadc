//! PROVENANCE: who built what is installed, by attestations of sigstore: npm's provenance, those of Python package indexes (PEP
//! 740), GitHub's artifact attestations.
//!
//! * [`TrustRoots`]: whose certificates and logs count
//! * [`Artifact`]: the bytes that an attestation must be about, by name and digest
//! * [`Provenance`]: what a checked attestation proves: the [`Publisher`], and how well
//! * [`Inquiry`]: asks the package registry or GitHub for attestations of an artifact, and checks them
//! * [`Memory`]: the publisher that a person has agreed to, and what a later version changes about it
//!
//! An attestation counts if its certificate was issued by a trusted authority when it was made, the transparency logs of the
//! trusted root have recorded it, its statement is about the artifact, and the certificate was issued to a workflow of the
//! repository that the manifest names. It says which workflow built the bytes. It does not say that they are harmless.

#[cfg(feature = "provenance")]
mod crypto;
#[cfg(feature = "provenance")]
mod verify;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::closure::sha512;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::text::{printable, quote};
use acp_registry_sources::pypi::Wheel;
use acp_registry_sources::{Attestations, Connection, RepositoryName, SourceError};
use serde::{Deserialize, Serialize};
use url::Url;

/// The variable that names a file with other trusted authorities and logs.
pub const VARIABLE: &str = "ACP_REGISTRY_TRUSTED_ROOT";

/// The largest file with a trusted root that is read, in bytes.
const ROOT_LIMIT: u64 = 1 << 20;

/// How many files of a Python package are asked about: one for each platform.
pub const WHEELS: usize = 64;

/// Who has built an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Publisher {
    /// Who has identified the workflow: the address of GitHub Actions or of a GitLab.
    pub issuer: String,
    /// The address of the repository that it was built from.
    pub repository: String,
    /// The number of that repository at its host, which another repository of that name does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_id: Option<String>,
    /// The workflow that has built and signed it, without its revision.
    pub workflow: String,
}

/// What a checked attestation proves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Who has built the artifact.
    pub publisher: Publisher,
    /// Whether public logs have recorded the certificate and the attestation.
    #[serde(rename = "logged")]
    pub is_logged: bool,
    /// Whether the host of the repository has run the workflow, and not a machine of the repository's owner.
    #[serde(rename = "hosted")]
    pub is_hosted: bool,
}

/// The bytes that an attestation must be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Artifact {
    /// A version of an npm package.
    Npm {
        /// The package.
        name: String,
        /// Its version.
        version: String,
        /// The digest of its archive.
        sha512: [u8; 64],
    },
    /// An archive, by its digest.
    Archive(Sha256),
    /// A file of a version of a Python package.
    Wheel {
        /// The package.
        name: String,
        /// Its version.
        version: String,
        /// The file.
        wheel: Wheel,
    },
}

/// Why an artifact has no provenance that counts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This program was built without the feature.
    #[error("this build of the program cannot check who has built it")]
    NotBuilt,
    /// The file with the trusted root cannot be used.
    #[error("{VARIABLE}: {} {problem}", .path.display())]
    Root {
        /// Which.
        path: PathBuf,
        /// What is wrong, as the rest of a sentence.
        problem: String,
    },
    /// The manifest does not say who should have built it.
    #[error("its manifest names no repository, with which its publisher could be compared")]
    NoRepository,
    /// There is no attestation of how it was built.
    #[error("nothing attests who has built {artifact}{}", attested_before(.known.as_deref()))]
    Missing {
        /// What.
        artifact: String,
        /// The repository that has attested an earlier version.
        known: Option<String>,
    },
    /// There is one, and it is not what it should be.
    #[error("the attestation of {artifact} does not count: {problem}")]
    Mismatch {
        /// Of what.
        artifact: String,
        /// What is wrong. Printable.
        problem: String,
    },
    /// There is one that cannot be understood.
    #[error("the attestation of {artifact} cannot be checked: {problem}")]
    Unverifiable {
        /// Of what.
        artifact: String,
        /// What is wrong. Printable.
        problem: String,
    },
    /// Someone else has built it than the version before.
    #[error("{artifact} was built by {}, and the installed version by {}", .new.shown(), .known.shown())]
    Changed {
        /// What.
        artifact: String,
        /// Who has built it.
        new: Box<Publisher>,
        /// Who has built the installed version.
        known: Box<Publisher>,
    },
    /// Its provenance proves less than that of the version before.
    #[error("the attestation of {artifact} proves less than that of the installed version: {problem}")]
    Weaker {
        /// Of what.
        artifact: String,
        /// What it does not prove any more.
        problem: &'static str,
    },
    /// The attestations were not fetched.
    #[error("who has built {artifact} is not known: {error}")]
    Source {
        /// What.
        artifact: String,
        /// Why not.
        error: SourceError,
    },
    /// Its package registry is not known.
    #[error("who has built {artifact} is not known: {problem}")]
    NoRegistry {
        /// What.
        artifact: String,
        /// Why not.
        problem: String,
    },
}

fn attested_before(repository: Option<&str>) -> String {
    repository.map_or_else(String::new, |known| format!("; {} has attested the installed version", quote(known)))
}

impl Publisher {
    /// The workflow and its repository, as a part of a sentence.
    fn shown(&self) -> String {
        let id = self.repository_id.as_ref().map(|id| format!(" (number {})", quote(id))).unwrap_or_default();
        format!("{} of {}{id}", quote(&self.workflow), quote(&self.repository))
    }

    /// Whether another publisher is this one: a workflow may be renamed inside its repository.
    fn is_same(&self, other: &Self) -> bool {
        self.issuer == other.issuer
            && is_same_repository(&self.repository, &other.repository)
            && self.repository_id == other.repository_id
            && is_same_repository(repository_address(&self.workflow), repository_address(&other.workflow))
    }
}

impl Provenance {
    /// What this does not prove and `before` does.
    fn weakness(&self, before: &Self) -> Option<&'static str> {
        if before.is_logged && !self.is_logged {
            return Some("no public log has recorded it");
        }
        (before.is_hosted && !self.is_hosted).then_some("a machine of the repository's owner has run the workflow")
    }
}

/// What a person has agreed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// What the installed version has proved.
    pub known: Option<Provenance>,
    /// Whether a person has agreed to another publisher, to a weaker proof and to none.
    pub accepts: bool,
}

impl Memory {
    /// Chooses what counts of what was found about an artifact: what is known, if that was found.
    ///
    /// # Errors
    /// [`Error::Changed`] and [`Error::Weaker`], if no person has agreed.
    pub fn choose(&self, artifact: &str, mut found: Vec<Provenance>) -> Result<Option<Provenance>, Error> {
        let Some(known) = &self.known else { return Ok(strongest(found)) };
        let is_same = |one: &Provenance| one.publisher.is_same(&known.publisher);
        if let Some(at) = found.iter().position(|one| is_same(one) && one.weakness(known).is_none()) {
            return Ok(Some(found.swap_remove(at)));
        }
        let same = found.iter().find(|one| is_same(one)).and_then(|one| one.weakness(known));
        let best = strongest(found);
        if self.accepts {
            return Ok(best);
        }
        let artifact = artifact.to_owned();
        match (same, best) {
            (Some(problem), _) => Err(Error::Weaker { artifact, problem }),
            (None, Some(new)) => {
                let (new, known) = (Box::new(new.publisher), Box::new(known.publisher.clone()));
                Err(Error::Changed { artifact, new, known })
            }
            (None, None) => Err(Error::Missing { artifact, known: Some(known.publisher.repository.clone()) }),
        }
    }
}

fn strongest(found: Vec<Provenance>) -> Option<Provenance> {
    // The first of equals.
    found.into_iter().rev().max_by_key(|one| (one.is_logged, one.is_hosted))
}

/// The authorities and logs that are trusted: those of sigstore's public instance and of GitHub, or those of a file.
#[derive(Debug, Clone)]
pub struct TrustRoots {
    #[cfg(feature = "provenance")]
    roots: std::sync::Arc<verify::Roots>,
}

impl TrustRoots {
    /// The roots of a file, as sigstore writes `trusted_root.json`; without one, those that the program holds.
    ///
    /// # Errors
    /// [`Error::Root`] for a file that cannot be used, and [`Error::NotBuilt`].
    pub fn open(file: Option<&Path>) -> Result<Self, Error> {
        if !cfg!(feature = "provenance") {
            return Err(Error::NotBuilt);
        }
        let wrong = |problem: String| Error::Root { path: file.unwrap_or(Path::new("")).to_owned(), problem };
        let read = |path: &Path| {
            let real = path.canonicalize().map_err(|error| wrong(format!("cannot be read: {error}")))?;
            let unread = |error: ReadError| wrong(format!("cannot be read: {error}"));
            let bytes = read_bounded(&real, &real, ROOT_LIMIT).map_err(unread)?;
            String::from_utf8(bytes).map_err(|error| wrong(format!("is no trusted root: {error}")))
        };
        let text = file.map(read).transpose()?;
        Self::parse(text.as_deref()).map_err(|problem| wrong(format!("is no trusted root: {problem}")))
    }

    #[cfg(feature = "provenance")]
    fn parse(text: Option<&str>) -> Result<Self, String> {
        Ok(Self { roots: std::sync::Arc::new(verify::Roots::new(text)?) })
    }

    #[cfg(not(feature = "provenance"))]
    fn parse(_: Option<&str>) -> Result<Self, String> {
        Ok(Self {})
    }

    /// Checks the bundles about an artifact. Returns what each of those proves that count; nothing, if none is about how it
    /// was built.
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::Unverifiable`] for the first bundle, if none counts.
    pub fn check(&self, bundles: &[String], artifact: &Artifact, repository: &str) -> Result<Vec<Provenance>, Error> {
        #[cfg(feature = "provenance")]
        return self.roots.check(bundles, artifact, repository);
        #[cfg(not(feature = "provenance"))]
        {
            let _ = (bundles, artifact, repository);
            Err(Error::NotBuilt)
        }
    }
}

impl Artifact {
    /// A version of an npm package, by its integrity value; `None` if that is not one SHA-512.
    #[must_use]
    pub fn npm(name: &str, version: &str, integrity: &str) -> Option<Self> {
        let sha512 = sha512(integrity)?;
        Some(Self::Npm { name: name.to_owned(), version: version.to_owned(), sha512 })
    }

    /// The name that its attestation must have; `None` where the digest says everything.
    #[cfg(any(test, feature = "provenance"))]
    fn subject(&self) -> Option<String> {
        let (name, version) = match self {
            Self::Npm { name, version, .. } => (name, version),
            Self::Wheel { wheel, .. } => return Some(wheel.file.clone()),
            Self::Archive(_) => return None,
        };
        // Package URLs encode the sign of a scope.
        let name = name.strip_prefix('@').map_or_else(|| name.clone(), |name| format!("%40{name}"));
        Some(format!("pkg:npm/{name}@{version}"))
    }

    /// Its name or its digest, for messages.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Npm { name, version, .. } => quote(&format!("{name}@{version}")),
            Self::Archive(digest) => format!("the archive with the SHA-256 {digest}"),
            Self::Wheel { wheel, .. } => quote(&wheel.file),
        }
    }
}

impl Error {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let agree = "if you know why, agree with --accept-publisher";
        match self {
            Self::NotBuilt => Some("take the program of a release, or build it with the feature `provenance`".into()),
            Self::Root { .. } => Some(format!("set {VARIABLE} to a trusted_root.json of sigstore, or unset it")),
            Self::NoRepository | Self::Mismatch { .. } => Some("tell the maintainers of the registry".into()),
            Self::Missing { known: None, .. } => Some("install it without `--require attested`".into()),
            Self::Missing { .. } | Self::Changed { .. } | Self::Weaker { .. } => Some(agree.into()),
            Self::Unverifiable { .. } => Some("try a newer version of this program".into()),
            Self::Source { error: SourceError::Fetch(error), .. } => error.remedy(),
            Self::Source { .. } | Self::NoRegistry { .. } => None,
        }
    }

    /// Whether what is there is refused, and not only unknown.
    pub(crate) fn is_of_integrity(&self) -> bool {
        use Code::{ProvenanceMismatch, ProvenanceMissing, ProvenanceWeaker, PublisherChanged};

        matches!(self.code(), ProvenanceMissing | ProvenanceMismatch | ProvenanceWeaker | PublisherChanged)
    }

    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Root { .. } => Code::InvalidConfiguration,
            Self::NoRepository | Self::Missing { .. } => Code::ProvenanceMissing,
            Self::Mismatch { .. } | Self::Unverifiable { .. } => Code::ProvenanceMismatch,
            Self::Weaker { .. } => Code::ProvenanceWeaker,
            Self::Changed { .. } => Code::PublisherChanged,
            Self::NotBuilt | Self::Source { .. } | Self::NoRegistry { .. } => Code::InstallFailed,
        }
    }
}

/// Where no agent is named.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = match &error {
            Error::Root { .. } => Self::usage(&error),
            error if error.is_of_integrity() => Self::refused(error),
            error => Self::unable(error),
        };
        failure.code(error.code()).help_if(error.remedy())
    }
}

/// What must be proven of the bytes that are installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Require {
    /// Nothing but what an earlier installation has proven.
    #[default]
    None,
    /// That they have the digest that the manifest, a lock file, GitHub or the package registry states.
    Digest,
    /// That a workflow of the manifest's repository has built them.
    Attested,
}

impl Require {
    /// All of them, the weakest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Digest, Self::Attested];

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Digest => "digest",
            Self::Attested => "attested",
        }
    }
}

/// How it is asked who has built what is installed.
#[derive(Debug)]
pub struct Inquiry {
    /// The package registries and GitHub.
    pub connection: Connection,
    /// Whose attestations count.
    pub roots: TrustRoots,
    /// The repository that the manifest names.
    pub repository: Option<String>,
    /// What is known of the agent.
    pub memory: Memory,
    /// Whether there must be an attestation, even if a person has agreed to none.
    pub is_required: bool,
}

impl Inquiry {
    /// Who has built an artifact; `None` if a person has agreed that nothing attests it.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn ask(&self, artifact: &Artifact) -> Result<Option<Provenance>, Error> {
        let Some(repository) = &self.repository else {
            return if self.may_lack() { Ok(None) } else { Err(Error::NoRepository) };
        };
        let found = self.fetch(artifact, repository).await?;
        let proven = self.roots.check(&found.bundles, artifact, repository)?;
        if !proven.is_empty() {
            return self.memory.choose(&artifact.shown(), proven);
        }
        if found.unread > 0 {
            let problem = "it is larger than this program reads, or kept elsewhere".to_owned();
            return Err(Error::Unverifiable { artifact: artifact.shown(), problem });
        }
        self.lack(artifact.shown())
    }

    /// Who has built a Python package, and which of its files are attested, of those that have one of these digests. Nothing
    /// and none, if a person has agreed that nothing attests it.
    ///
    /// # Errors
    /// [`Error`], if none is.
    pub(crate) async fn ask_python(
        &self,
        (name, version): (&str, &str),
        listed: &BTreeSet<Sha256>,
    ) -> Result<(Option<Provenance>, BTreeSet<Sha256>), Error> {
        let artifact = quote(&format!("{name}=={version}"));
        let Connection { client, sources, .. } = &self.connection;
        let Some(index) = &sources.pypi else { return Err(self.no_registry(artifact)) };
        let project = index.project(client, name).await;
        let project = project.map_err(|error| Error::Source { artifact: artifact.clone(), error })?;
        let wheels =
            project.as_ref().and_then(|project| project.release(version)).map_or(&[][..], |found| &found.wheels);
        let (mut attested, mut proven, mut refused) = (BTreeSet::new(), None, None);
        for wheel in wheels.iter().filter(|wheel| listed.contains(&wheel.sha256)).take(WHEELS) {
            let (name, version, sha256) = (name.to_owned(), version.to_owned(), wheel.sha256);
            match self.ask(&Artifact::Wheel { name, version, wheel: wheel.clone() }).await {
                Ok(found) => {
                    attested.extend(found.as_ref().map(|_| sha256));
                    proven = proven.or(found);
                }
                Err(error) if error.is_of_integrity() => refused = refused.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match (proven, refused) {
            (None, Some(error)) => Err(error),
            (None, None) => Ok((self.lack(artifact)?, attested)),
            (proven, _) => Ok((proven, attested)),
        }
    }

    /// The result for what nothing attests.
    ///
    /// # Errors
    /// [`Error::Missing`], unless a person has agreed.
    pub fn lack(&self, artifact: String) -> Result<Option<Provenance>, Error> {
        if self.may_lack() {
            return Ok(None);
        }
        let known = self.memory.known.as_ref().map(|known| known.publisher.repository.clone());
        Err(Error::Missing { artifact, known })
    }

    fn no_registry(&self, artifact: String) -> Error {
        Error::NoRegistry { artifact, problem: printable(&self.connection.notes().join("; ")).into_owned() }
    }

    fn may_lack(&self) -> bool {
        self.memory.accepts && !self.is_required
    }

    async fn fetch(&self, artifact: &Artifact, repository: &str) -> Result<Attestations, Error> {
        let Connection { client, sources, .. } = &self.connection;
        let found = match artifact {
            Artifact::Npm { name, version, .. } => {
                let Some(registry) = &sources.npm else { return Err(self.no_registry(artifact.shown())) };
                registry.attestations(client, name, version).await
            }
            Artifact::Wheel { name, version, wheel } => match &sources.pypi {
                Some(index) => index.attestations(client, (name, version), wheel).await,
                None => Ok(None),
            },
            Artifact::Archive(sha256) => match sources.github.find_repository(repository) {
                Some(RepositoryName { owner, name }) => {
                    sources.github.attestations(client, (&owner, &name), *sha256).await
                }
                None => Ok(None),
            },
        };
        let found = found.map_err(|error| Error::Source { artifact: artifact.shown(), error })?;
        Ok(found.map(|found| Attestations::clone(&found)).unwrap_or_default())
    }
}

/// Whether two addresses lead to the same repository. Hosts of repositories ignore case.
#[must_use]
pub fn is_same_repository(a: &str, b: &str) -> bool {
    canonical(a).is_some_and(|a| canonical(b) == Some(a))
}

/// Host and path, as all addresses of a repository have them; `None` for what is not an address of a host.
fn canonical(address: &str) -> Option<String> {
    let url = Url::parse(address.strip_prefix("git+").unwrap_or(address)).ok()?;
    let path = url.path().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).to_ascii_lowercase();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let is_plain = url.query().is_none() && url.fragment().is_none() && !path.is_empty();
    is_plain.then_some(format!("{}{port}/{path}", url.host_str()?.to_ascii_lowercase()))
}

/// The address of the repository in that of a workflow: GitHub's path begins with `.github`, and GitLab's after `//`.
fn repository_address(workflow: &str) -> &str {
    let start = workflow.find("://").map_or(0, |at| at + 3);
    let ends = ["/.github/", "//"].into_iter().filter_map(|sign| workflow[start..].find(sign));
    ends.min().map_or(workflow, |end| &workflow[..start + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance(repository: &str, id: Option<&str>, workflow: &str, strength: [bool; 2]) -> Provenance {
        let publisher = Publisher {
            issuer: "https://token.actions.githubusercontent.com".to_owned(),
            repository: repository.to_owned(),
            repository_id: id.map(ToOwned::to_owned),
            workflow: workflow.to_owned(),
        };
        Provenance { publisher, is_logged: strength[0], is_hosted: strength[1] }
    }

    #[test]
    fn a_new_publisher_and_a_weaker_proof_need_a_person() {
        const ON: [bool; 2] = [true, true];
        let (repository, workflow) = ("https://github.com/o/r", "https://github.com/o/r/.github/workflows/a.yml");
        let known = provenance(repository, Some("1"), workflow, ON);
        let renamed = "https://github.com/O/R/.github/workflows/b.yml";
        let shared = "https://github.com/other/r/.github/workflows/a.yml";
        for (found, expected) in [
            (provenance(repository, Some("1"), workflow, ON), None),
            (provenance("https://github.com/O/r", Some("1"), renamed, ON), None),
            (provenance("https://github.com/o/r2", Some("1"), workflow, ON), Some(Code::PublisherChanged)),
            (provenance(repository, Some("2"), workflow, ON), Some(Code::PublisherChanged)),
            (provenance(repository, None, workflow, ON), Some(Code::PublisherChanged)),
            (provenance(repository, Some("1"), shared, ON), Some(Code::PublisherChanged)),
            (provenance(repository, Some("1"), workflow, [false, true]), Some(Code::ProvenanceWeaker)),
            (provenance(repository, Some("1"), workflow, [true, false]), Some(Code::ProvenanceWeaker)),
        ] {
            let code = |memory: &Memory| {
                let chosen = memory.choose("it", vec![found.clone()]);
                chosen.err().map(|error| error.code())
            };
            assert_eq!(code(&Memory { known: Some(known.clone()), accepts: false }), expected, "{found:?}");
            assert_eq!(code(&Memory { known: Some(known.clone()), accepts: true }), None, "{found:?}");
            assert_eq!(code(&Memory::default()), None, "{found:?}");
        }
        let memory = Memory { known: Some(known.clone()), accepts: false };
        assert!(matches!(memory.choose("it", Vec::new()), Err(Error::Missing { known: Some(_), .. })));
        // What is known is found among others, whatever their order.
        let other = provenance("https://github.com/o/r2", Some("1"), workflow, ON);
        assert_eq!(memory.choose("it", vec![other, known.clone()]).unwrap(), Some(known));
    }

    #[test]
    fn packages_have_the_names_of_package_urls() {
        let integrity = format!("sha512-{}==", "A".repeat(86));
        let name = |name| Artifact::npm(name, "1.0.0", &integrity).unwrap().subject().unwrap();
        assert_eq!(name("p"), "pkg:npm/p@1.0.0");
        assert_eq!(name("@s/p"), "pkg:npm/%40s/p@1.0.0");
        for weak in ["sha1-AAAA", "sha512-AAAA", ""] {
            assert_eq!(Artifact::npm("p", "1.0.0", weak), None, "{weak}");
        }
    }

    #[test]
    fn addresses_of_one_repository_are_the_same() {
        let own = "https://github.com/Owner/Repo";
        for same in [
            "https://github.com/owner/repo/", "git+https://GitHub.com/owner/repo.git",
            "https://github.com/owner/repo.git/",
        ] {
            assert!(is_same_repository(own, same), "{same}");
        }
        for other in [
            "https://github.com/owner/repo2",
            "https://github.com/owner",
            "https://github.com.evil.example/owner/repo",
            "https://evil.example/github.com/owner/repo",
            "https://github.com/owner/repo?x",
            "https://github.com:8443/owner/repo",
            "https://github.com/owner/repo/tree/main",
            "owner/repo",
            "",
        ] {
            assert!(!is_same_repository(own, other), "{other}");
        }
        assert!(!is_same_repository("", ""));
    }

    #[test]
    fn workflows_have_the_repository_in_their_address() {
        for (workflow, repository) in [
            ("https://github.com/o/r/.github/workflows/a.yml", "https://github.com/o/r"),
            ("https://gitlab.com/g/s/p//.gitlab-ci.yml", "https://gitlab.com/g/s/p"),
            ("https://ci.example/x", "https://ci.example/x"),
            ("", ""),
        ] {
            assert_eq!(repository_address(workflow), repository);
        }
    }
}
