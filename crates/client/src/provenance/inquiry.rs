//! Asks who has built an artifact.

use acp_registry_plan::text::printable;
use acp_registry_sources::github::Github;
use acp_registry_sources::{Attestations, Connection, RepositoryName};
use serde::Deserialize;
use url::Url;

use super::{Artifact, Error, Memory, Provenance, TrustRoots};

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

    fn may_lack(&self) -> bool {
        self.memory.accepts && !self.is_required
    }

    async fn fetch(&self, artifact: &Artifact, repository: &str) -> Result<Attestations, Error> {
        let Connection { client, sources, .. } = &self.connection;
        let found = match artifact {
            Artifact::Npm { name, version, .. } => {
                let Some(registry) = &sources.npm else {
                    let problem = printable(&self.connection.notes().join("; ")).into_owned();
                    return Err(Error::NoRegistry { artifact: artifact.shown(), problem });
                };
                registry.attestations(client, name, version).await
            }
            Artifact::Archive(sha256) => match find_repository(&sources.github, repository) {
                Some((owner, name)) => sources.github.attestations(client, (&owner, &name), *sha256).await,
                None => Ok(None),
            },
        };
        let found = found.map_err(|error| Error::Source { artifact: artifact.shown(), error })?;
        Ok(found.map(|found| Attestations::clone(&found)).unwrap_or_default())
    }
}

/// Owner and name of a repository on this GitHub.
fn find_repository(github: &Github, address: &str) -> Option<RepositoryName> {
    let url = Url::parse(address.strip_prefix("git+").unwrap_or(address)).ok().filter(|url| github.is_page(url))?;
    let mut parts = url.path_segments()?.filter(|part| !part.is_empty());
    let (owner, name) = (parts.next()?, parts.next()?);
    Some((owner.to_owned(), name.strip_suffix(".git").unwrap_or(name).to_owned()))
}
