//! Versions, and their distributions.

use crate::manifest::{Agent, Channel, Distribution, NpmSpec, Package, Pin, PypiSpec, Version, pypi_version_matches};
use crate::resolve::Expected;

/// Where an offer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferOrigin {
    /// The index, stable channel.
    Index,
    /// The index, preview channel.
    Preview,
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
        };
        agent.releases().map(offer).collect()
    }

    pub(super) fn has_version(&self, version: &str) -> bool {
        self.version == version
            || matches!((Version::parse(&self.version), Version::parse(version)), (Some(a), Some(b)) if a == b)
    }

    /// The same packages in another version, with the command and the arguments of this one. Archives are left out,
    /// since their addresses are for one version, and so is the day of `exclude_newer`.
    pub(super) fn in_version(&self, version: &str) -> Self {
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
    let extras = if spec.extras.is_empty() { String::new() } else { format!("[{}]", spec.extras.join(",")) };
    let text = format!("{}{extras}=={to}", spec.name);
    let is_version = matches!(text.parse(), Ok(PypiSpec { pin: Pin::Exact(_), .. }));
    (is_same && is_version).then(|| Package { package: text, exclude_newer: None, ..package.clone() })
}
