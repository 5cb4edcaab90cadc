//! The typed model of a manifest, as the RFD and the public schema describe it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{NpmSpec, Pin, PypiSpec, SpecError, Version, escape_segment, extension, pypi_version_matches};

/// One agent.
///
/// Parsed leniently: a member that is missing or has the wrong type is empty here, so that every check can examine the
/// other members. A separate check validates the document against the schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// Unique id, also the name of the folder.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Version of the stable channel.
    pub version: String,
    /// A description in one sentence.
    pub description: String,
    /// URL of the source code.
    pub repository: Option<String>,
    /// URL of the home page.
    pub website: Option<String>,
    /// People and organizations.
    pub authors: Vec<String>,
    /// SPDX expression, or `proprietary`.
    pub license: Option<String>,
    /// URL of the license text.
    pub license_url: Option<String>,
    /// Path or URL of the icon.
    pub icon: Option<String>,
    /// How to obtain and start the agent.
    pub distribution: Distribution,
    /// The preview channel, if there is one.
    pub preview: Option<Preview>,
}

/// The preview channel of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Newest version of the channel.
    pub version: String,
    /// How to obtain and start that version.
    pub distribution: Distribution,
}

/// How to obtain and start one version of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// One archive per platform, in the order of the manifest.
    pub binary: Vec<BinaryTarget>,
    /// A package that `npx` starts.
    pub npx: Option<Package>,
    /// A package that `uvx` starts.
    pub uvx: Option<Package>,
}

/// The archive of one platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BinaryTarget {
    /// The platform as written in the manifest; [`Platform`](super::Platform) has the known ones.
    pub platform: String,
    /// URL of the archive.
    pub archive: String,
    /// Program to start, relative to the unpacked archive.
    pub cmd: String,
    /// SHA-256 of the archive, in hexadecimal.
    pub sha256: Option<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment variables of the program, in the order of the manifest.
    #[serde(with = "members")]
    pub env: Vec<(String, String)>,
}

/// A package for a package runner.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name and version of the package.
    pub package: String,
    /// The command of the package to start, for packages with several; an [extension].
    pub command: Option<String>,
    /// The last day, `YYYY-MM-DD`, whose releases uv uses for dependencies; an [extension].
    pub exclude_newer: Option<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Environment variables of the program, in the order of the manifest.
    #[serde(with = "members")]
    pub env: Vec<(String, String)>,
}

/// A release channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The top level of the manifest.
    #[default]
    Stable,
    /// Its `preview` member.
    Preview,
}

impl Channel {
    /// The name used in reports and in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Preview => "preview",
        }
    }
}

/// The package runner that starts a [`Package`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackageKind {
    /// `npx`, of Node.js.
    Npx,
    /// `uvx`, of uv.
    Uvx,
}

impl PackageKind {
    /// The key in the manifest, which is also the name of the runner.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
        }
    }

    /// The versions that the specification of a package selects.
    ///
    /// # Errors
    /// [`SpecError`] when it is not a name with a version.
    pub fn pin(self, package: &str) -> Result<Pin, SpecError> {
        match self {
            Self::Npx => package.parse().map(|spec: NpmSpec| spec.pin),
            Self::Uvx => package.parse().map(|spec: PypiSpec| spec.pin),
        }
    }

    /// The version that the specification of a package selects, if it is another one than an agent's.
    #[must_use]
    pub fn other_version(self, package: &str, version: &str) -> Option<String> {
        let stated = Version::parse(version)?;
        let Ok(Pin::Exact(found)) = self.pin(package) else { return None };
        let is_same = match self {
            // npm strips leading zeros: `2026.07.01` is published as `2026.7.1`.
            Self::Npx => Version::parse(&found) == Some(stated),
            Self::Uvx => pypi_version_matches(&found, version),
        };
        (!is_same).then_some(found)
    }
}

/// One channel of an agent: a version and its distributions.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    /// The channel.
    pub channel: Channel,
    /// Its version.
    pub version: &'a str,
    /// Its distributions.
    pub distribution: &'a Distribution,
}

impl Release<'_> {
    /// JSON pointer of the object that contains this channel's `version` and `distribution`.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        match self.channel {
            Channel::Stable => "",
            Channel::Preview => "/preview",
        }
    }

    /// JSON pointer of a member of this channel's target for a platform.
    #[must_use]
    pub fn target_pointer(&self, target: &BinaryTarget, member: &str) -> String {
        format!("{}/distribution/binary/{}/{member}", self.pointer(), escape_segment(&target.platform))
    }

    /// JSON pointer of a member of this channel's package.
    #[must_use]
    pub fn package_pointer(&self, kind: PackageKind, member: &str) -> String {
        format!("{}/distribution/{}/{member}", self.pointer(), kind.as_str())
    }
}

impl Distribution {
    /// The declared packages, with their runners.
    pub fn packages(&self) -> impl Iterator<Item = (PackageKind, &Package)> {
        let npx = self.npx.iter().map(|package| (PackageKind::Npx, package));
        npx.chain(self.uvx.iter().map(|package| (PackageKind::Uvx, package)))
    }

    fn from_json(value: Option<&Value>) -> Self {
        let binary = value.and_then(|value| value.get("binary")).and_then(Value::as_object);
        let targets = binary.into_iter().flatten().filter_map(|(platform, target)| {
            let target = target.as_object()?;
            Some(BinaryTarget {
                platform: platform.clone(),
                archive: text(target, "archive").unwrap_or_default(),
                cmd: text(target, "cmd").unwrap_or_default(),
                sha256: text(target, "sha256"),
                args: texts(target, "args"),
                env: pairs(target, "env"),
            })
        });
        let package = |kind: PackageKind| {
            let package = value?.get(kind.as_str())?.as_object()?;
            Some(Package {
                package: text(package, "package").unwrap_or_default(),
                command: text(package, extension::COMMAND),
                exclude_newer: text(package, extension::EXCLUDE_NEWER),
                args: texts(package, "args"),
                env: pairs(package, "env"),
            })
        };
        Self { binary: targets.collect(), npx: package(PackageKind::Npx), uvx: package(PackageKind::Uvx) }
    }
}

impl Agent {
    /// Reads an agent from a JSON value, as far as its members are valid.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        let Some(agent) = value.as_object() else { return Self::default() };
        Self {
            id: text(agent, "id").unwrap_or_default(),
            name: text(agent, "name").unwrap_or_default(),
            version: text(agent, "version").unwrap_or_default(),
            description: text(agent, "description").unwrap_or_default(),
            repository: text(agent, "repository"),
            website: text(agent, "website"),
            authors: texts(agent, "authors"),
            license: text(agent, "license"),
            license_url: text(agent, "license_url"),
            icon: text(agent, "icon"),
            distribution: Distribution::from_json(agent.get("distribution")),
            preview: agent.get("preview").and_then(Value::as_object).map(|preview| Preview {
                version: text(preview, "version").unwrap_or_default(),
                distribution: Distribution::from_json(preview.get("distribution")),
            }),
        }
    }

    /// The stable channel, then the preview channel if there is one.
    pub fn releases(&self) -> impl Iterator<Item = Release<'_>> {
        let stable = Release { channel: Channel::Stable, version: &self.version, distribution: &self.distribution };
        let preview = self.preview.as_ref().map(|preview| Release {
            channel: Channel::Preview,
            version: &preview.version,
            distribution: &preview.distribution,
        });
        std::iter::once(stable).chain(preview)
    }
}

fn text(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(ToOwned::to_owned)
}

fn texts(object: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = object.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}

/// Pairs as the members of an object.
mod members {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};
    use serde_json::{Map, Value};

    pub(super) fn serialize<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(String, String)>, D::Error> {
        let members = Map::<String, Value>::deserialize(deserializer)?;
        let pair = |(name, value)| match value {
            Value::String(value) => Ok((name, value)),
            _ => Err(D::Error::custom("the value of a variable is a string")),
        };
        members.into_iter().map(pair).collect()
    }
}

fn pairs(object: &Map<String, Value>, key: &str) -> Vec<(String, String)> {
    let members = object.get(key).and_then(Value::as_object);
    members.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_of_the_wrong_type_are_empty_and_the_rest_is_read() {
        let agent = Agent::from_json(&json!({
            "id": 7, "name": "N", "authors": ["a", 1, "b"],
            "distribution": { "binary": { "linux-x86_64": { "archive": "u", "env": { "A": "1", "B": 2 } }, "x": 3 },
                              "npx": "no", "uvx": { "package": "p" } },
            "preview": { "version": "1.0.0-preview.1" },
        }));
        assert_eq!(agent.id, "");
        assert_eq!(agent.authors, ["a", "b"]);
        assert_eq!(agent.distribution.binary.len(), 1);
        assert_eq!(agent.distribution.binary[0].env, [("A".to_owned(), "1".to_owned())]);
        assert_eq!(agent.distribution.npx, None);
        assert_eq!(
            agent.releases().map(|release| release.version.to_owned()).collect::<Vec<_>>(),
            ["", "1.0.0-preview.1"]
        );
        assert_eq!(Agent::from_json(&json!([])), Agent::default());
    }
}
