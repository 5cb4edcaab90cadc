//! Converts the data of package registries to offers.

use super::offer::{Flaw, LONGEST, Offers, SourceKind, SourceVersion};
use acp_registry_plan::manifest::{Channel, Version};
use acp_registry_sources::{npm, pypi};

impl Offers {
    /// The offers of an npm package.
    pub(crate) fn from_packument(packument: &npm::Packument) -> Self {
        let read = |text: &str| Version::parse_loose(text).filter(|_| text.len() <= LONGEST);
        let offers = packument.all().filter_map(|(text, published)| {
            let flaw = published.deprecated.is_some().then_some(Flaw::Deprecated);
            Some(SourceVersion {
                version: read(text)?,
                text: text.to_owned(),
                published: packument.published(text),
                flaw,
            })
        });
        let recommended = packument.tags.get("latest").and_then(|text| read(text));
        Self::new(SourceKind::Npm, offers, recommended)
    }

    /// The offers of a PyPI project for a channel.
    pub(crate) fn from_project(project: &pypi::Project, channel: Channel) -> Self {
        let offers = project.all().filter_map(|(python, release)| {
            let version = from_python(python, channel)?;
            let flaw = release.yanked.is_some().then_some(Flaw::Yanked);
            Some(SourceVersion { version, text: python.to_string(), published: release.published, flaw })
        });
        Self::new(SourceKind::Pypi, offers, None)
    }
}

/// Converts a Python version to the form that manifests use. By PEP 440, `1.0.0-preview.2` is `1.0.0rc2`. Other
/// prereleases, and development and local versions, have no such form and are left out. So are post-releases, which
/// count as builds of their version, see [`pypi_version_matches`](acp_registry_plan::manifest::pypi_version_matches).
fn from_python(version: &pep440_rs::Version, channel: Channel) -> Option<Version> {
    let numbers: Vec<String> = version.release().iter().map(ToString::to_string).collect();
    let numbers = numbers.join(".");
    if version.is_dev() || version.epoch() != 0 || version.is_post() || version.is_local() {
        return None;
    }
    match version.pre() {
        None => Version::parse_loose(&numbers),
        Some(pre) if channel == Channel::Preview && pre.kind == pep440_rs::PrereleaseKind::Rc => {
            Version::parse_loose(&format!("{numbers}-preview.{}", pre.number))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_versions_are_written_as_manifests_do() {
        for (text, stable, preview) in [
            ("1.10", Some("1.10"), Some("1.10")),
            ("1.0.0rc2", None, Some("1.0.0-preview.2")),
            ("1.0.0b1", None, None),
            ("1.0.0.dev3", None, None),
            ("1!1.0.0", None, None),
            ("1.0.0.post1", None, None),
        ] {
            let python = text.parse().unwrap();
            let of = |channel| from_python(&python, channel).map(|version| version.to_string());
            assert_eq!((of(Channel::Stable).as_deref(), of(Channel::Preview).as_deref()), (stable, preview), "{text}");
        }
    }
}
