//! An npm registry.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use url::Url;

use super::{About, SourceError, segment};
use crate::net::Client;

/// The abbreviated form, which leaves out what no installer needs; old mirrors know the full one only.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*; q=0.1";

const ACCEPT_FULL: &str = "application/json";

/// What a good answer is, for messages.
const EXPECTED: &str = "a package's versions";

/// The largest answer that is read, in bytes: some packages have thousands of versions.
const LIMIT: u64 = 128 << 20;

/// Where npm packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// The registry of every package that has no other; its path ends with a slash.
    pub default: Url,
    /// The registries of scopes, by `@scope`.
    pub scopes: BTreeMap<String, Url>,
}

/// What a registry knows of a package: its packument.
#[derive(Debug)]
pub struct Packument {
    /// Versions by tag; `latest` is what `npx` takes when it is not told.
    pub tags: BTreeMap<String, String>,
    /// When versions came out; empty in the abbreviated form.
    times: BTreeMap<String, Value>,
    versions: BTreeMap<String, Box<RawValue>>,
}

/// One published version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Why nobody should use it any more.
    pub deprecated: Option<String>,
    /// Subresource integrity of its tarball, by which npm checks what it downloads.
    pub integrity: Option<String>,
    /// Address of its tarball.
    pub tarball: Option<String>,
    /// What `npx` would start.
    pub bin: Bin,
    /// The range of Node.js versions that it runs on.
    pub node: Option<String>,
}

/// The commands of a package, as `npx` chooses among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bin {
    /// `npx` starts the command of this name.
    One(String),
    /// There is none.
    None,
    /// There are several, and none has the package's name: `npx` gives up.
    Several(Vec<String>),
}

impl Registry {
    /// The registry of a package.
    #[must_use]
    pub fn base(&self, name: &str) -> &Url {
        name.split_once('/').and_then(|(scope, _)| self.scopes.get(scope)).unwrap_or(&self.default)
    }

    /// Every registry that may be asked.
    pub fn bases(&self) -> impl Iterator<Item = &Url> {
        std::iter::once(&self.default).chain(self.scopes.values())
    }

    /// Asks for a package; `None` when there is none of this name.
    ///
    /// # Errors
    /// [`SourceError`] when the registry cannot be asked, or does not answer like one.
    pub async fn packument(&self, client: &Client, name: &str) -> Result<Option<Packument>, SourceError> {
        self.ask(client, name, ACCEPT).await
    }

    /// Asks for the full form, which tells when each version came out and what publishers say of it, and may be many times
    /// larger.
    ///
    /// # Errors
    /// As [`Self::packument`].
    pub async fn packument_in_full(&self, client: &Client, name: &str) -> Result<Option<Packument>, SourceError> {
        self.ask(client, name, ACCEPT_FULL).await
    }

    async fn ask(&self, client: &Client, name: &str, accept: &str) -> Result<Option<Packument>, SourceError> {
        let base = self.base(name);
        // The slash behind a scope is part of the name.
        let path = name.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        let url =
            Url::parse(&format!("{base}{path}")).map_err(|error| SourceError::malformed(base, EXPECTED, error))?;
        let Some(document) = client.document(&url, accept, LIMIT).await? else { return Ok(None) };
        Packument::parse(&document.body).map(Some).map_err(|error| SourceError::malformed(&url, EXPECTED, error))
    }
}

impl Packument {
    /// Reads a packument, abbreviated or full.
    ///
    /// # Errors
    /// When it is not JSON, or has no versions where they should be.
    pub fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Form {
            #[serde(rename = "dist-tags", default)]
            tags: BTreeMap<String, String>,
            #[serde(rename = "time", default)]
            times: BTreeMap<String, Value>,
            versions: BTreeMap<String, Box<RawValue>>,
        }
        let Form { tags, times, versions } = serde_json::from_slice(bytes)?;
        Ok(Self { tags, times, versions })
    }

    /// The names of all versions, the newest first.
    #[must_use]
    pub fn versions(&self) -> Vec<&str> {
        let mut versions: Vec<(Option<semver::Version>, &str)> =
            self.versions.keys().map(|text| (semver::Version::parse(text).ok(), text.as_str())).collect();
        versions.sort_by(|a, b| b.cmp(a));
        versions.into_iter().map(|(_, text)| text).collect()
    }

    /// When a version came out, if the registry has told.
    #[must_use]
    pub fn published(&self, version: &str) -> Option<OffsetDateTime> {
        super::time(self.times.get(version))
    }

    /// What the publisher says of a version; nothing in the abbreviated form.
    #[must_use]
    pub fn about(&self, version: &str) -> About {
        let value = self.versions.get(version).and_then(|raw| serde_json::from_str(raw.get()).ok());
        About::of_npm(&value.unwrap_or_default())
    }

    /// A version, if it was published. `name` is the package's.
    #[must_use]
    pub fn version(&self, name: &str, version: &str) -> Option<Published> {
        let value: Value = serde_json::from_str(self.versions.get(version)?.get()).unwrap_or_default();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
        let dist = value.get("dist");
        let shasum = text(dist.and_then(|dist| dist.get("shasum")));
        let deprecated = match value.get("deprecated") {
            Some(Value::Bool(true)) => Some(String::new()),
            other => text(other).filter(|reason| !reason.is_empty()),
        };
        Some(Published {
            deprecated,
            integrity: text(dist.and_then(|dist| dist.get("integrity"))).or(shasum),
            tarball: text(dist.and_then(|dist| dist.get("tarball"))),
            bin: Bin::of(name, value.get("bin")),
            node: text(value.get("engines").and_then(|engines| engines.get("node"))),
        })
    }
}

impl Bin {
    /// Chooses as `npx` does: the command named like the package without its scope, or else the only one. Several names of
    /// one file count as one.
    ///
    /// `name` is the package's, `bin` the member of its `package.json`.
    #[must_use]
    pub fn of(name: &str, bin: Option<&Value>) -> Self {
        let own = own_command(name);
        let commands = commands(name, bin);
        if let Some((name, _)) = commands.iter().find(|(name, _)| *name == own) {
            return Self::One((*name).to_owned());
        }
        let files: BTreeSet<&str> = commands.iter().map(|(_, path)| path.trim_start_matches("./")).collect();
        match (files.len(), commands.first()) {
            (1, Some((name, _))) => Self::One((*name).to_owned()),
            (0, _) | (_, None) => Self::None,
            _ => Self::Several(commands.into_iter().map(|(name, _)| name.to_owned()).collect()),
        }
    }
}

/// The file of a command, relative to the package. As npm reads it, nothing leads above the package: `../a` is `a`.
#[must_use]
pub fn file_of_command(name: &str, bin: Option<&Value>, command: &str) -> Option<String> {
    let (_, path) = commands(name, bin).into_iter().find(|(known, _)| *known == command)?;
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The name that a package's only unnamed command has.
fn own_command(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Commands with their files.
fn commands<'a, 'b: 'a>(name: &'a str, bin: Option<&'b Value>) -> Vec<(&'a str, &'b str)> {
    match bin {
        Some(Value::String(path)) if !path.is_empty() => vec![(own_command(name), path)],
        Some(Value::Object(commands)) => {
            let named = commands.iter().filter_map(|(name, path)| Some((name.as_str(), path.as_str()?)));
            named.filter(|(name, path)| !name.is_empty() && !path.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_chosen_as_npx_does() {
        let one = |name: &str| Bin::One(name.to_owned());
        for (name, bin, expected) in [
            ("@s/tool", json!("cli.js"), one("tool")),
            ("tool", json!({ "other": "a.js" }), one("other")),
            ("tool", json!({ "other": "a.js", "tool": "b.js" }), one("tool")),
            ("tool", json!({ "x": "a.js", "y": "./a.js" }), one("x")),
            ("tool", json!({ "x": "a.js", "y": "b.js" }), Bin::Several(vec!["x".into(), "y".into()])),
            ("tool", json!({ "x": 7 }), Bin::None),
            ("tool", json!({}), Bin::None),
            ("tool", json!(null), Bin::None),
            ("tool", json!(""), Bin::None),
            ("tool", json!(["a.js"]), Bin::None),
        ] {
            assert_eq!(Bin::of(name, Some(&bin)), expected, "{bin}");
        }
        assert_eq!(Bin::of("tool", None), Bin::None);
    }

    #[test]
    fn no_command_leads_above_its_package() {
        for (path, file) in [("./a/b.js", "a/b.js"), ("../dist/a.js", "dist/a.js"), ("/a", "a"), ("a\\..\\..\\b", "b")]
        {
            assert_eq!(file_of_command("tool", Some(&json!(path)), "tool").as_deref(), Some(file));
        }
        assert_eq!(file_of_command("tool", Some(&json!({ "x": "a" })), "y"), None);
    }

    #[test]
    fn a_version_is_read_whatever_its_members_are() {
        let packument = json!({ "dist-tags": { "latest": "1.10.0" }, "versions": {
            "1.9.0": { "deprecated": "use 2", "bin": "x", "dist": { "integrity": "sha512-x", "tarball": "t" }, "engines": { "node": ">=20" } },
            "1.10.0": { "deprecated": "", "dist": 7, "engines": "x" },
            "odd": 7,
        } });
        let packument = Packument::parse(packument.to_string().as_bytes()).unwrap();
        assert_eq!(packument.versions(), ["1.10.0", "1.9.0", "odd"]);
        let old = packument.version("p", "1.9.0").unwrap();
        assert_eq!(old.deprecated.as_deref(), Some("use 2"));
        assert_eq!(old.integrity.as_deref(), Some("sha512-x"));
        assert_eq!(old.node.as_deref(), Some(">=20"));
        let new = packument.version("p", "1.10.0").unwrap();
        assert_eq!((new.deprecated, new.integrity, new.bin), (None, None, Bin::None));
        assert!(packument.version("p", "odd").is_some() && packument.version("p", "2").is_none());
        for odd in ["", "[]", "{}", "<html>", "{\"versions\":[]}", "{\"versions\":{\"1\":"] {
            assert!(Packument::parse(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
