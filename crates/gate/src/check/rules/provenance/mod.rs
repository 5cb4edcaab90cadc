//! Rules about who has built packages.

pub(super) mod lost;
pub(super) mod mismatch;
pub(super) mod unverifiable;

use acp_registry_client::provenance::{Error, Provenance, Publisher};
use acp_registry_plan::manifest::{PackageKind, Pin};

use crate::check::rule::Subject;
use crate::check::rules::published;
use crate::survey::{Built, Survey};

/// A manifest of an agent from a repository.
const MANIFEST: &str = "\"repository\": \"https://github.com/example/agent\", \
                        \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }";

/// The packages of a manifest for which attestations were asked, with their JSON pointers and what these prove.
fn asked<'a>(
    subject: &'a Subject<'_>,
    survey: &'a Survey,
) -> impl Iterator<Item = (String, &'a Result<Vec<Provenance>, Error>)> {
    let npm = published::npm(subject, survey).into_iter().filter_map(|named| {
        let (version, _) = published::npm_version(&named)?;
        Some((named.pointer, PackageKind::Npx, named.spec.name, version))
    });
    let pypi = published::pypi(subject, survey).into_iter().filter_map(|named| {
        let Pin::Exact(version) = named.spec.pin else { return None };
        Some((named.pointer, PackageKind::Uvx, named.spec.name, version))
    });
    npm.chain(pypi).filter_map(|(pointer, kind, name, version)| {
        let repository = subject.agent().repository.clone()?;
        Some((pointer, survey.provenance.get(&Built { kind, name, version, repository })?))
    })
}

/// For examples: adds the npm package `example`, whose version 0.9.0 is attested, and 1.0.0 if there is something to prove.
fn example(survey: &mut Survey, proven: Option<Result<Vec<Provenance>, Error>>) {
    let version = |number, is_attested| {
        let attestations =
            if is_attested { ",\"attestations\":{\"url\":\"/-/npm/v1/attestations/example\"}" } else { "" };
        format!("\"{number}\":{{\"bin\":\"cli.js\",\"dist\":{{\"integrity\":\"sha512-…\"{attestations}}}}}")
    };
    let text = format!(
        "{{\"dist-tags\":{{\"latest\":\"1.0.0\"}},\"versions\":{{{},{}}}}}",
        version("0.9.0", true),
        version("1.0.0", proven.is_some())
    );
    published::put_packument(survey, &text);
    let [name, version, repository] = ["example", "1.0.0", "https://github.com/example/agent"].map(ToOwned::to_owned);
    if let Some(proven) = proven {
        survey.provenance.insert(Built { kind: PackageKind::Npx, name, version, repository }, proven);
    }
}

/// For examples: what an attestation of the repository's own workflow proves.
fn proven() -> Vec<Provenance> {
    let publisher = Publisher {
        issuer: "https://token.actions.githubusercontent.com".to_owned(),
        repository: "https://github.com/example/agent".to_owned(),
        repository_id: None,
        workflow: "https://github.com/example/agent/.github/workflows/release.yml".to_owned(),
    };
    vec![Provenance { publisher, is_logged: true, is_hosted: true }]
}
