//! Checks bundles of sigstore.

use acp_registry_plan::manifest::normalized;
use acp_registry_plan::text::{printable, quote};
use sigstore_verify::trust_root::{SIGSTORE_GITHUB_TRUSTED_ROOT, SIGSTORE_PRODUCTION_TRUSTED_ROOT, TrustedRoot};
use sigstore_verify::types::{ArtifactDigest, Bundle, HashAlgorithm, Sha512Hash, SignatureContent, Statement, Subject};
use sigstore_verify::{Error as Sigstore, VerificationPolicy, VerificationResult, Verifier as Verification};
use url::Url;

use super::{Artifact, Error, Provenance, Publisher, crypto, is_same_repository};

/// Statements about how something was built. A bundle may also hold a list of dependencies, or the notice of a publication.
const PREDICATE: &str = "https://slsa.dev/provenance/";

/// How the statement ends that the workflow which has built a Python package has published it, whatever the index.
const PUBLISHED: &str = "/attestations/publish/v1";

/// The most entries of logs, and timestamps, that a bundle may have: each takes time to check, and one of each is usual.
const ENTRIES: usize = 8;

/// The longest text of a certificate that is taken, in bytes.
const LONGEST: usize = 1024;

/// Who identifies the workflows of the public GitHub.
const GITHUB_ACTIONS: &str = "token.actions.githubusercontent.com";

/// The trusted roots, of which each is for the bundles of its own instance.
#[derive(Debug)]
pub(super) struct Roots(Vec<Root>);

struct Root {
    verification: Verification,
    /// Whether it has transparency logs, in which attestations must be recorded.
    has_logs: bool,
    /// Whether it has logs of certificates.
    has_certificate_logs: bool,
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Root").field("has_logs", &self.has_logs).finish_non_exhaustive()
    }
}

/// Why a bundle does not count.
enum Refusal {
    Mismatch(String),
    Unverifiable(String),
}

impl Roots {
    pub(super) fn new(text: Option<&str>) -> Result<Self, String> {
        crypto::install();
        let public = [SIGSTORE_PRODUCTION_TRUSTED_ROOT, SIGSTORE_GITHUB_TRUSTED_ROOT];
        let texts = text.map_or_else(|| public.to_vec(), |text| vec![text]);
        texts.into_iter().map(Root::new).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn check(
        &self,
        bundles: &[String],
        artifact: &Artifact,
        repository: &str,
    ) -> Result<Vec<Provenance>, Error> {
        let (mut found, mut refused) = (Vec::new(), None);
        for bundle in bundles {
            match self.check_one(bundle, artifact, repository) {
                Ok(provenance) => found.extend(provenance),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        match refused.filter(|_| found.is_empty()) {
            None => Ok(found),
            Some(Refusal::Mismatch(problem)) => Err(Error::Mismatch { artifact: artifact.shown(), problem }),
            Some(Refusal::Unverifiable(problem)) => Err(Error::Unverifiable { artifact: artifact.shown(), problem }),
        }
    }

    fn check_one(&self, text: &str, artifact: &Artifact, wanted: &str) -> Result<Option<Provenance>, Refusal> {
        let unclear =
            |problem: &dyn std::fmt::Display| Refusal::Unverifiable(printable(&problem.to_string()).into_owned());
        let bundle = Bundle::from_json(text).map_err(|error| unclear(&error))?;
        let SignatureContent::DsseEnvelope(envelope) = &bundle.content else {
            return Err(unclear(&"it holds no statement"));
        };
        let statement: Statement =
            serde_json::from_slice(envelope.payload.as_bytes()).map_err(|error| unclear(&error))?;
        let is_published = matches!(artifact, Artifact::Wheel { .. }) && statement.predicate_type.ends_with(PUBLISHED);
        if !statement.predicate_type.starts_with(PREDICATE) && !is_published {
            return Ok(None);
        }
        let material = &bundle.verification_material;
        let times = &material.timestamp_verification_data.rfc3161_timestamps;
        if material.tlog_entries.len().max(times.len()) > ENTRIES {
            return Err(unclear(&format!("it has more than {ENTRIES} entries of logs or timestamps")));
        }
        let has_entries = !material.tlog_entries.is_empty();
        let root = match self.0.as_slice() {
            [only] => Some(only),
            roots => roots.iter().find(|root| root.has_logs == has_entries),
        };
        let root = root.ok_or_else(|| unclear(&"no trusted root is for it"))?;
        let (algorithm, digest) = match artifact {
            Artifact::Archive(sha256) => (HashAlgorithm::Sha2256, sha256.bytes().to_vec()),
            Artifact::Wheel { wheel, .. } => (HashAlgorithm::Sha2256, wheel.sha256.bytes().to_vec()),
            Artifact::Npm { sha512, .. } => (HashAlgorithm::Sha2512, sha512.to_vec()),
        };
        let signed = ArtifactDigest::new(algorithm, digest).map_err(|error| unclear(&error))?;
        let result = root.verification.verify(signed, &bundle, &root.policy()).map_err(|error| match error {
            Sigstore::InvalidBundle(_) | Sigstore::UnsupportedBundle(_) | Sigstore::Bundle(_) => unclear(&error),
            error => Refusal::Mismatch(printable(&error.to_string()).into_owned()),
        })?;
        let is_named = |one: &Subject, name: &str| match artifact {
            Artifact::Npm { sha512, .. } => one.name == name && one.digest.sha512 == Some(Sha512Hash::new(*sha512)),
            // The same name may be written in several ways.
            Artifact::Wheel { wheel, .. } => {
                let signed = one.digest.sha256;
                let is_same = signed.is_some_and(|digest| digest.as_slice() == wheel.sha256.bytes().as_slice());
                is_same && normalized(&one.name) == normalized(name)
            }
            Artifact::Archive(_) => true,
        };
        if let Some(name) = artifact.subject()
            && !statement.subject.iter().any(|one| is_named(one, &name))
        {
            let names: Vec<String> = statement.subject.iter().take(3).map(|subject| quote(&subject.name)).collect();
            return Err(Refusal::Mismatch(format!("it is about {}", names.join(", "))));
        }
        let publisher = publisher(&result).map_err(Refusal::Mismatch)?;
        if !is_same_repository(&publisher.repository, wanted) {
            let (own, wanted) = (quote(&publisher.repository), quote(wanted));
            return Err(Refusal::Mismatch(format!("it is by {own}, and the manifest names {wanted}")));
        }
        let claims = result.certificate().map(|certificate| &certificate.ci_claims);
        // GitLab's own word for its machines.
        let is_hosted = claims
            .and_then(|claims| claims.runner_environment.as_deref())
            .is_some_and(|runner| ["github-hosted", "gitlab-hosted"].contains(&runner));
        let is_logged = result.tlog_verified() && result.sct_verified();
        Ok(Some(Provenance { publisher, is_logged, is_hosted }))
    }
}

impl Root {
    fn new(text: &str) -> Result<Self, String> {
        let root = TrustedRoot::from_json(text).map_err(|error| error.to_string())?;
        if root.certificate_authorities.is_empty() {
            return Err("it has no certificate authority".to_owned());
        }
        Ok(Self {
            has_logs: !root.tlogs.is_empty(),
            has_certificate_logs: !root.ctlogs.is_empty(),
            verification: Verification::new(&root).map_err(|error| error.to_string())?,
        })
    }

    /// Everything that the root has must have seen the bundle. Who has signed it is compared afterwards.
    fn policy(&self) -> VerificationPolicy {
        let mut policy = VerificationPolicy::any_identity();
        if !self.has_logs {
            policy = policy.skip_tlog_unsafe();
        }
        if !self.has_certificate_logs {
            policy = policy.skip_sct();
        }
        policy
    }
}

/// The publisher that a certificate names, or what is wrong with it.
fn publisher(result: &VerificationResult) -> Result<Publisher, String> {
    let claims = &result.certificate().ok_or("it has no certificate")?.ci_claims;
    let text = |claim: Option<&String>, what: &str| {
        let claim = claim.ok_or_else(|| format!("its certificate names no {what}"))?;
        let is_fit = claim.len() <= LONGEST && !claim.contains(char::is_control);
        if is_fit { Ok(claim.clone()) } else { Err(format!("its certificate names an unusable {what}")) }
    };
    let issuer = text(result.issuer().map(ToOwned::to_owned).as_ref(), "issuer")?;
    let repository = text(claims.source_repository_uri.as_ref(), "repository")?;
    let signer = text(claims.build_signer_uri.as_ref(), "workflow")?;
    // Other services that sign may let their users name any repository.
    let (by, of) = (host(&issuer), host(&repository));
    let is_own = match (by.as_deref(), of.as_deref()) {
        (Some(GITHUB_ACTIONS), of) => of == Some("github.com"),
        (by, of) => by.is_some() && by == of,
    };
    if !is_own {
        let (issuer, repository) = (quote(&issuer), quote(&repository));
        return Err(format!("its certificate was issued for {issuer}, which is not the host of {repository}"));
    }
    let repository_id = claims.source_repository_identifier.as_ref();
    let repository_id = repository_id.map(|id| text(Some(id), "number of its repository")).transpose()?;
    let workflow = signer.rsplit_once('@').map_or(signer.as_str(), |(workflow, _)| workflow).to_owned();
    Ok(Publisher { issuer, repository, repository_id, workflow })
}

/// The host of a repository's address.
fn host(address: &str) -> Option<String> {
    let url = Url::parse(address).ok().filter(|url| url.scheme() == "https")?;
    url.host_str().map(ToOwned::to_owned)
}
