//! An npm registry.

use std::any::Any;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use acp_registry_http::Client;
use acp_registry_plan::json::{self, Object};
use serde::de::Error as _;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use url::Url;

use super::{PublisherFacts, SourceError, address, segment, sentence, word};

/// Prefers the abbreviated form, which omits what installers do not need. Old mirrors provide only the full form.
const ACCEPT: &str = "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*; q=0.1";

const ACCEPT_FULL: &str = "application/json";

/// The expected response, for messages.
const EXPECTED: &str = "a package's versions";

/// Maximum size of a response, in bytes: some packages have thousands of versions.
const ANSWER_LIMIT: u64 = 64 << 20;

/// Maximum number of versions of a package.
const VERSIONS: usize = 100_000;

/// Maximum number of tags.
const TAGS: usize = 10_000;

/// The source of npm packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    /// The registry of packages whose scope has none of its own; its path ends with a slash.
    pub default: Url,
    /// The registries of scopes, by `@scope`.
    pub scopes: BTreeMap<String, Url>,
}

/// The packument of a package: what a registry knows about it.
#[derive(Debug)]
pub struct Packument {
    /// Versions by tag. `npx` uses `latest` by default.
    pub tags: BTreeMap<String, String>,
    versions: BTreeMap<String, DatedVersion>,
}

/// A packument with the publisher's description of each version.
#[derive(Debug)]
pub struct Described {
    /// The packument.
    pub packument: Packument,
    about: BTreeMap<String, PublisherFacts>,
}

#[derive(Debug)]
struct DatedVersion {
    published: PackageVersion,
    /// When it was published; unknown in the abbreviated form.
    time: Option<OffsetDateTime>,
}

/// One published version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageVersion {
    /// Why it should no longer be used, if it is deprecated.
    pub deprecated: Option<String>,
    /// Subresource integrity of the tarball, with which npm verifies downloads.
    pub integrity: Option<String>,
    /// URL of the tarball.
    pub tarball: Option<String>,
    /// Whether the registry has attestations of who has built it.
    pub is_attested: bool,
    /// The command that `npx` starts.
    pub bin: Bin,
    /// The first commands that `npx` does not start, if it starts one.
    pub others: Vec<String>,
    /// The range of supported Node.js versions.
    pub node: Option<String>,
}

impl Registry {
    /// The registry of a package.
    pub fn base(&self, name: &str) -> &Url {
        name.split_once('/').and_then(|(scope, _)| self.scopes.get(scope)).unwrap_or(&self.default)
    }

    /// All registries that may receive requests.
    pub fn bases(&self) -> impl Iterator<Item = &Url> {
        std::iter::once(&self.default).chain(self.scopes.values())
    }

    /// Fetches a package; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn packument(&self, client: &Client, name: &str) -> Result<Option<Arc<Packument>>, SourceError> {
        self.ask(client, name, ACCEPT, Packument::parse).await
    }

    /// Fetches the full form, which includes the time of each version and may be many times larger.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::packument`].
    pub async fn packument_in_full(&self, client: &Client, name: &str) -> Result<Option<Arc<Packument>>, SourceError> {
        self.ask(client, name, ACCEPT_FULL, Packument::parse).await
    }

    /// Fetches the full form with the publisher's descriptions.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::packument`].
    pub async fn described(&self, client: &Client, name: &str) -> Result<Option<Arc<Described>>, SourceError> {
        self.ask(client, name, ACCEPT_FULL, Described::parse).await
    }

    /// Where registries have the archive of a version by convention; `None` where that is no address.
    pub fn tarball(&self, name: &str, version: &str) -> Option<Url> {
        let path = name.split('/').map(segment).collect::<Vec<_>>().join("/");
        let last = segment(own_command(name));
        Url::parse(&format!("{}{path}/-/{last}-{}.tgz", self.base(name), segment(version))).ok()
    }

    async fn ask<T: Any + Send + Sync>(
        &self,
        client: &Client,
        name: &str,
        accept: &str,
        parse: fn(&[u8], &str) -> Result<T, String>,
    ) -> Result<Option<Arc<T>>, SourceError> {
        let base = self.base(name);
        // The slash after a scope is part of the name.
        let path = name.split('/').map(segment).collect::<Vec<_>>().join("%2F");
        let url = address(&format!("{base}{path}"), base, EXPECTED)?;
        super::ask(client, &url, accept, ANSWER_LIMIT, EXPECTED, |document| parse(&document.body, name)).await
    }
}

struct PackageMembers<'a> {
    tags: Option<&'a RawValue>,
    times: Option<&'a RawValue>,
    versions: Object<'a, VERSIONS>,
}

impl<'a> PackageMembers<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let read = || {
            let [tags, times, versions] = json::members(bytes, ["dist-tags", "time", "versions"])?;
            let versions = versions.ok_or_else(|| serde_json::Error::missing_field("versions"))?;
            Ok(Self { tags, times, versions: serde_json::from_str(versions.get())? })
        };
        let form: Self = read().map_err(|error: serde_json::Error| error.to_string())?;
        if form.versions.is_longer {
            return Err(format!("it has more than {VERSIONS} versions, and no more are read"));
        }
        Ok(form)
    }

    /// Parses everything except the publisher's descriptions. `name` is the name of the package.
    fn read(&self, name: &str) -> Packument {
        let tags: Object<'_, TAGS> = json::object(self.tags).unwrap_or_default();
        let tags = tags.members.into_iter().filter_map(|(tag, version)| Some((tag.into_owned(), word(Some(version))?)));
        // A withdrawn version still has its time.
        let times: Object<'_, { 2 * VERSIONS }> = json::object(self.times).unwrap_or_default();
        let times = times.members.into_iter().filter_map(|(version, time)| Some((version, super::time(Some(time))?)));
        let times: BTreeMap<Cow<'_, str>, OffsetDateTime> = times.collect();
        let versions = self.versions.members.iter().map(|(version, facts)| {
            let time = times.get(version).copied();
            (version.clone().into_owned(), DatedVersion { published: PackageVersion::read(facts, name), time })
        });
        Packument { tags: tags.collect(), versions: versions.collect() }
    }
}

impl Packument {
    /// Parses a packument, abbreviated or full. `name` is the name of the package.
    ///
    /// # Errors
    /// Returns an error if it is not JSON, has no versions, or has too many.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, String> {
        Ok(PackageMembers::parse(bytes)?.read(name))
    }

    /// The names of all versions, the newest first.
    pub fn versions(&self) -> Vec<&str> {
        let mut versions: Vec<(Option<semver::Version>, &str)> =
            self.versions.keys().map(|text| (semver::Version::parse(text).ok(), text.as_str())).collect();
        versions.sort_by(|a, b| b.cmp(a));
        versions.into_iter().map(|(_, text)| text).collect()
    }

    /// All versions with their data, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (&str, &PackageVersion)> {
        self.versions.iter().map(|(text, version)| (text.as_str(), &version.published))
    }

    /// When a version was published, if known.
    pub fn published(&self, version: &str) -> Option<OffsetDateTime> {
        self.versions.get(version)?.time
    }

    /// A version, if it was published.
    pub fn version(&self, version: &str) -> Option<&PackageVersion> {
        self.versions.get(version).map(|version| &version.published)
    }
}

impl Described {
    fn parse(bytes: &[u8], name: &str) -> Result<Self, String> {
        let form = PackageMembers::parse(bytes)?;
        let versions = form.versions.members.iter();
        let about = versions.map(|(version, facts)| (version.clone().into_owned(), PublisherFacts::from_npm(facts)));
        Ok(Self { packument: form.read(name), about: about.collect() })
    }

    /// The publisher's description of a version.
    pub fn about(&self, version: &str) -> PublisherFacts {
        self.about.get(version).cloned().unwrap_or_default()
    }
}

impl PackageVersion {
    /// Parses the entry of a version of the package `name`. A member with another type counts as missing.
    fn read(facts: &RawValue, name: &str) -> Self {
        let [deprecated, dist, bin, engines] =
            json::read_members(Some(facts), ["deprecated", "dist", "bin", "engines"]);
        let [shasum, integrity, tarball, attestations] =
            json::read_members(dist, ["shasum", "integrity", "tarball", "attestations"]);
        let [node] = json::read_members(engines, ["node"]);
        let deprecated = match json::flag(deprecated) {
            Some(true) => Some(String::new()),
            _ => sentence(deprecated).filter(|reason| !reason.is_empty()),
        };
        let own = Bin::of(name, bin);
        Self {
            deprecated,
            integrity: word(integrity).or_else(|| word(shasum)),
            tarball: word(tarball),
            is_attested: attestations.is_some_and(|value| value.get() != "null"),
            others: match &own {
                Bin::One(named) => {
                    let others = commands(name, bin).into_iter().map(|(name, _)| name).filter(|name| name != named);
                    others.take(NAMED).collect()
                }
                Bin::None | Bin::Several { .. } => Vec::new(),
            },
            bin: own,
            node: word(node),
        }
    }

    /// The names of its commands; if there are many, the first ones.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let (own, several): (Option<&String>, &[String]) = match &self.bin {
            Bin::One(own) => (Some(own), &[]),
            Bin::None => (None, &[]),
            Bin::Several { names, .. } => (None, names),
        };
        own.into_iter().chain(several).chain(&self.others).map(String::as_str)
    }

    /// Whether it has this command; `None` if it has too many to know all of them.
    pub fn has_command(&self, name: &str) -> Option<bool> {
        if self.commands().any(|known| known == name) {
            return Some(true);
        }
        let is_cut = match &self.bin {
            Bin::One(_) => self.others.len() >= NAMED,
            Bin::None => false,
            Bin::Several { names, count } => *count > names.len(),
        };
        (!is_cut).then_some(false)
    }
}

/// Maximum number of commands of a version.
const COMMANDS: usize = 1000;

/// Maximum number of names in a [`Bin::Several`], which are for messages.
pub(super) const NAMED: usize = 20;

/// The commands of a package, as `npx` selects among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bin {
    /// `npx` starts this command.
    One(String),
    /// There are no commands.
    None,
    /// There are several, and none has the package's name, so `npx` fails.
    Several {
        /// The first ones.
        names: Vec<String>,
        /// The number of commands.
        count: usize,
    },
}

impl Bin {
    /// Selects as `npx` does: the command with the package's name without its scope, or the only command. Several names
    /// of one file count as one command.
    ///
    /// `name` is the name of the package, `bin` the member of its `package.json`.
    pub fn of(name: &str, bin: Option<&RawValue>) -> Self {
        let own = own_command(name);
        let commands = files_of_commands(name, bin);
        if let Some((name, _)) = commands.iter().find(|(name, _)| *name == own) {
            return Self::One(name.clone().into_owned());
        }
        let files: BTreeSet<&str> = commands.iter().map(|(_, path)| path.trim_start_matches("./")).collect();
        match (files.len(), commands.first()) {
            (1, Some((name, _))) => Self::One(name.clone().into_owned()),
            (0, _) | (_, None) => Self::None,
            _ => Self::Several {
                count: commands.len(),
                names: commands.into_iter().take(NAMED).map(|(name, _)| name.into_owned()).collect(),
            },
        }
    }
}

/// A path below a package. As in npm, it cannot leave the package: `../a` is `a`.
fn below(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The name of a single command that the package does not name.
fn own_command(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// All commands of a package, in order, each with its file, relative to the package.
pub fn commands(name: &str, bin: Option<&RawValue>) -> Vec<(String, String)> {
    files_of_commands(name, bin).into_iter().map(|(name, path)| (name.into_owned(), below(&path))).collect()
}

/// The file of a command, relative to the package.
pub fn file_of_command(name: &str, bin: Option<&RawValue>, command: &str) -> Option<String> {
    commands(name, bin).into_iter().find(|(known, _)| known == command).map(|(_, file)| file)
}

/// Commands with their files, in order of first occurrence. As in npm, the last of equal names counts.
fn files_of_commands<'a>(name: &'a str, bin: Option<&'a RawValue>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    if let Some(path) = json::text(bin) {
        return if is_short(&path) { vec![(own_command(name).into(), path)] } else { Vec::new() };
    }
    let object: Object<'_, COMMANDS> = json::object(bin).unwrap_or_default();
    let mut places = BTreeMap::new();
    let mut members: Vec<(Cow<'_, str>, &RawValue)> = Vec::new();
    for (name, path) in object.members {
        let name = last_part(name);
        let at = *places.entry(name.clone()).or_insert(members.len());
        match members.get_mut(at) {
            Some(known) => known.1 = path,
            None => members.push((name, path)),
        }
    }
    let named = members.into_iter().filter_map(|(name, path)| Some((name, json::text(Some(path))?)));
    named.filter(|(name, path)| is_short(name) && is_short(path)).collect()
}

/// The name of a command, as npm makes links: `@scope/tool` is `tool`. Without a name, it is empty.
fn last_part(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.rsplit(['/', '\\', ':']).find(|part| !part.is_empty()).unwrap_or_default() {
        "." | ".." => Cow::Borrowed(""),
        part if part.len() == name.len() => name,
        part => Cow::Owned(part.to_owned()),
    }
}

fn is_short(text: &str) -> bool {
    (1..=super::LONGEST).contains(&text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_command_is_known_unless_there_are_too_many() {
        let has = |bin: Value, command: &str| {
            let facts = RawValue::from_string(json!({ "bin": bin }).to_string()).unwrap();
            PackageVersion::read(&facts, "tool").has_command(command)
        };
        let many: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("c{n}"), json!(format!("{n}.js")))).collect();
        let mut more = many.clone();
        more.insert("tool".to_owned(), json!("t.js"));
        for (bin, command, expected) in [
            (json!({ "tool": "a.js", "x": "b.js" }), "x", Some(true)),
            (json!({ "tool": "a.js", "x": "b.js" }), "y", Some(false)),
            (json!({ "x": "a.js", "y": "b.js" }), "y", Some(true)),
            (json!({ "x": "a.js", "y": "b.js" }), "tool", Some(false)),
            (json!({}), "tool", Some(false)),
            (json!(many), "c1", Some(true)),
            (json!(many), "z", None),
            (json!(more), "z", None),
        ] {
            assert_eq!(has(bin.clone(), command), expected, "{bin} {command}");
        }
    }

    #[test]
    fn of_equal_members_the_last_one_counts() {
        let packument = r#"{ "versions": {}, "versions": {
            "1.0.0": { "bin": "a.js", "bin": { "x": "a.js" }, "dist": { "integrity": "a", "integrity": "b" }, "bin": { "y": "b.js" } },
            "1.0.0": { "bin": { "z": "c.js" }, "engines": {}, "engines": { "node": ">=1", "node": ">=2" } }
        } }"#;
        let packument = Packument::parse(packument.as_bytes(), "tool").unwrap();
        let version = packument.version("1.0.0").unwrap();
        assert_eq!((&version.bin, version.node.as_deref()), (&Bin::One("z".to_owned()), Some(">=2")));
    }

    #[test]
    fn a_version_is_read_whatever_its_members_are() {
        let packument = json!({ "dist-tags": { "latest": "1.10.0" }, "versions": {
            "1.9.0": { "deprecated": "use 2", "bin": "x", "dist": { "integrity": "sha512-x", "tarball": "t" }, "engines": { "node": ">=20" } },
            "1.10.0": { "deprecated": "", "dist": 7, "engines": "x" },
            "odd": 7,
        } });
        let packument = Packument::parse(packument.to_string().as_bytes(), "p").unwrap();
        assert_eq!(packument.versions(), ["1.10.0", "1.9.0", "odd"]);
        let old = packument.version("1.9.0").unwrap();
        assert_eq!((old.has_command("p"), old.has_command("x")), (Some(true), Some(false)));
        assert_eq!(old.deprecated.as_deref(), Some("use 2"));
        assert_eq!(old.integrity.as_deref(), Some("sha512-x"));
        assert_eq!(old.node.as_deref(), Some(">=20"));
        let new = packument.version("1.10.0").unwrap().clone();
        assert_eq!((new.deprecated, new.integrity, new.bin), (None, None, Bin::None));
        assert!(packument.version("odd").is_some() && packument.version("2").is_none());
        for odd in ["", "[]", "{}", "<html>", "{\"versions\":[]}", "{\"versions\":{\"1\":"] {
            assert!(Packument::parse(odd.as_bytes(), "p").is_err(), "{odd}");
        }
    }

    fn raw(value: &Value) -> Box<RawValue> {
        RawValue::from_string(value.to_string()).unwrap()
    }

    #[test]
    fn a_command_is_chosen_as_npx_does() {
        let one = |name: &str| Bin::One(name.to_owned());
        for (name, bin, expected) in [
            ("@s/tool", json!("cli.js"), one("tool")),
            ("tool", json!({ "other": "a.js" }), one("other")),
            ("tool", json!({ "other": "a.js", "tool": "b.js" }), one("tool")),
            ("tool", json!({ "x": "a.js", "y": "./a.js" }), one("x")),
            (
                "tool",
                json!({ "x": "a.js", "y": "b.js" }),
                Bin::Several { names: vec!["x".into(), "y".into()], count: 2 },
            ),
            ("@s/tool", json!({ "@s/tool": "a.js", "other": "b.js" }), one("tool")),
            ("tool", json!({ "a\\b:tool/": "a.js", "other": "b.js" }), one("tool")),
            ("tool", json!({ "..": "a.js", "/": "b.js" }), Bin::None),
            ("tool", json!({ "x": 7 }), Bin::None),
            ("tool", json!({}), Bin::None),
            ("tool", json!(null), Bin::None),
            ("tool", json!(""), Bin::None),
            ("tool", json!(["a.js"]), Bin::None),
        ] {
            assert_eq!(Bin::of(name, Some(&raw(&bin))), expected, "{bin}");
        }
        assert_eq!(Bin::of("tool", None), Bin::None);
    }

    #[test]
    fn of_equal_names_the_last_one_counts() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let bin = raw(r#"{ "tool": "first.js", "other": "o.js", "tool": "last.js" }"#);
        assert_eq!(Bin::of("tool", Some(&bin)), Bin::One("tool".to_owned()));
        assert_eq!(file_of_command("tool", Some(&bin), "tool").as_deref(), Some("last.js"));
        assert_eq!(Bin::of("tool", Some(&raw(r#"{ "x": "a.js", "x": "b.js" }"#))), Bin::One("x".to_owned()));
        // Only the last value counts.
        assert_eq!(Bin::of("tool", Some(&raw(r#"{ "tool": "a.js", "tool": 7 }"#))), Bin::None);
    }

    #[test]
    fn no_command_leads_above_its_package() {
        for (path, file) in [("./a/b.js", "a/b.js"), ("../dist/a.js", "dist/a.js"), ("/a", "a"), ("a\\..\\..\\b", "b")]
        {
            assert_eq!(file_of_command("tool", Some(&raw(&json!(path))), "tool").as_deref(), Some(file));
        }
        assert_eq!(file_of_command("tool", Some(&raw(&json!({ "x": "a" }))), "y"), None);
    }
}
