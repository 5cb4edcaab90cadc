use super::OfferOrigin;
use crate::digest::Sha256;
use crate::manifest::{AgentId, Platform, extension};
use crate::resolve::{Expected, Kind, Source};

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
        let cmd = match &self.source {
            Source::Binary(target) => target.cmd.as_str(),
            Source::Npx(_) | Source::Uvx(_) => "",
        };
        let extensions = match &self.source {
            Source::Npx(package) | Source::Uvx(package) => [&package.command, &package.exclude_newer],
            Source::Binary(_) => [&None, &None],
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
