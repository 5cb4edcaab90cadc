//! A list of packages in npm's own form, `package-lock.json`, and which of them a machine needs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use time::{Date, Duration};

use crate::timestamp::day;

/// The list.
#[derive(Debug, Deserialize)]
pub struct NpmLock {
    /// By path; that of the project itself is empty.
    pub packages: BTreeMap<String, NpmLockPackage>,
}

/// A package at one place of the tree.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NpmLockPackage {
    /// The name, if it is not that of the directory.
    pub name: Option<String>,
    /// The version.
    pub version: Option<String>,
    /// The digest of its archive, as npm writes it.
    pub integrity: Option<String>,
    pub(super) resolved: Option<IgnoredAny>,
    pub(super) link: Option<IgnoredAny>,
    /// Whether it is in the archive of a package above it.
    pub in_bundle: bool,
    pub(super) bundle_dependencies: Value,
    pub(super) dependencies: BTreeMap<String, String>,
    pub(super) optional_dependencies: BTreeMap<String, String>,
    pub(super) peer_dependencies: BTreeMap<String, String>,
    peer_dependencies_meta: BTreeMap<String, PeerMeta>,
    /// Whether the tree is whole without it.
    optional: bool,
    /// Whether npm would run a script of it.
    pub has_install_script: bool,
    /// Its commands, as in `package.json`.
    pub bin: Option<Box<RawValue>>,
    /// The day on which its version was published, in UTC, where the registry of packages has said so. npm does not read it.
    #[serde(deserialize_with = "day")]
    pub published: Option<Date>,
    /// The size of its archive, in bytes, where the registry of packages has said so. npm does not read it.
    pub size: Option<u64>,
    os: Value,
    cpu: Value,
    libc: Value,
}

#[derive(Debug, Deserialize)]
struct PeerMeta {
    #[serde(default)]
    optional: bool,
}

/// What packages may ask of a machine, in npm's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeMachine {
    /// `linux`, `darwin` or `win32`.
    pub os: &'static str,
    /// `x64` or `arm64`.
    pub cpu: &'static str,
    /// `glibc` or `musl` on Linux.
    pub libc: Option<&'static str>,
}

impl NodeMachine {
    /// Whether a package is for it.
    fn meets(&self, package: &NpmLockPackage) -> bool {
        let libc = self.libc.unwrap_or_default();
        [(&package.os, self.os), (&package.cpu, self.cpu), (&package.libc, libc)]
            .into_iter()
            .all(|(wanted, found)| is_named(wanted, found))
    }
}

/// Whether a list of npm names a word: by itself, or by not forbidding it where it forbids only. No list names all.
fn is_named(wanted: &Value, found: &str) -> bool {
    let names: Vec<&str> = match wanted {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return true,
    };
    if names == ["any"] {
        return true;
    }
    let (forbidden, allowed): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| name.starts_with('!'));
    !forbidden.iter().any(|name| &name[1..] == found) && (allowed.is_empty() || allowed.contains(&found))
}

/// A package of a list whose install scripts npm would run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptedPackage {
    /// Its place in the tree.
    pub path: String,
    /// Its name and version, `name@1.0.0`.
    pub package: String,
    /// The digest of the archive that it is in, as npm writes it; empty if there is none.
    pub digest: String,
}

impl std::fmt::Display for ScriptedPackage {
    /// As a registry approves it: `name@1.0.0 sha512-…`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.package, self.digest)
    }
}

impl NpmLock {
    /// The packages with install scripts, apart from one at the top, which a manifest names.
    #[must_use]
    pub fn dependencies_with_scripts(&self, own: &str) -> Vec<ScriptedPackage> {
        let own = format!("node_modules/{own}");
        let with_scripts = self.packages.iter().filter(|(path, package)| **path != own && package.has_install_script);
        let one = |(path, package): (&String, &NpmLockPackage)| {
            let name = format!("{}@{}", package.name(path), package.version.as_deref().unwrap_or_default());
            // One in a bundle is in the archive of a package above it.
            let mut above = std::iter::successors(Some(path.as_str()), |at| Some(&at[..at.rfind("/node_modules/")?]));
            let digest = above.find_map(|at| self.packages.get(at)?.integrity.clone()).unwrap_or_default();
            ScriptedPackage { path: path.clone(), package: name, digest }
        };
        with_scripts.map(one).collect()
    }
}

impl NpmLockPackage {
    /// The members that npm does not read.
    pub const OWN_MEMBERS: [&str; 2] = ["published", "size"];

    /// The name in the package registry, of the package at this path.
    #[must_use]
    pub fn name<'a>(&'a self, path: &'a str) -> &'a str {
        self.name.as_deref().unwrap_or_else(|| package_folder(path))
    }
}

/// Whether a path is made of `node_modules` and names of packages, so that no other path leads to the same directory.
pub(super) fn is_place(path: &str) -> bool {
    let is_name =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\\') && part != "node_modules";
    let mut parts = path.split('/').peekable();
    while parts.next() == Some("node_modules") {
        let Some(mut name) = parts.next() else { return false };
        if name.starts_with('@') && name.len() > 1 {
            name = parts.next().unwrap_or_default();
        }
        if !is_name(name) {
            return false;
        }
        if parts.peek().is_none() {
            return true;
        }
    }
    false
}

/// The packages in whose folders a package is, the nearest first.
pub(super) fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices("/node_modules/").map(|(end, _)| &path[..end])
}

/// The name of a package's folder, as npm finds it: the path behind the last `node_modules/`.
#[must_use]
pub fn package_folder(path: &str) -> &str {
    path.rsplit_once("node_modules/").map_or(path, |(_, name)| name)
}

/// Who depends on whom, by places in the sorted list of paths.
struct Dependencies {
    /// The packages that each one depends on, and whether it is whole without them.
    wanted: Vec<Vec<(usize, bool)>>,
    wanting: Vec<Vec<(usize, bool)>>,
}

impl NpmLock {
    /// The first dependency that is not in the list, and the path of the package that names it: one that may be missing counts
    /// as well, since another platform may need it. Those of packages in a bundle are left to it.
    #[must_use]
    pub fn lacking(&self) -> Option<(&str, &str)> {
        let places: BTreeMap<&str, usize> = self.packages.keys().map(|path| (path.as_str(), 0)).collect();
        self.packages.iter().filter(|(_, package)| !package.in_bundle).find_map(|(path, package)| {
            let mut names = package.dependencies.keys().chain(package.optional_dependencies.keys());
            let name = names.find(|name| Dependencies::find(&places, path, name).is_none())?;
            Some((path.as_str(), name.as_str()))
        })
    }

    /// The version of a package at the top. Another package that is put in its place has none.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<&str> {
        let path = format!("node_modules/{name}");
        self.packages.get(&path).filter(|package| package.name(&path) == name)?.version.as_deref()
    }

    /// The packages that were published more than these days after one at the top, whose day is known.
    #[must_use]
    pub fn newer(&self, own: &str, days: u16) -> Vec<(&str, &NpmLockPackage)> {
        let own = self.packages.get(&format!("node_modules/{own}")).and_then(|package| package.published);
        let Some(last) = own.and_then(|own| own.checked_add(Duration::days(days.into()))) else { return Vec::new() };
        let newer = self.packages.iter().filter(|(_, package)| package.published.is_some_and(|day| day > last));
        newer.map(|(path, package)| (path.as_str(), package)).collect()
    }

    /// For each package that the one at `start` needs, directly or through others, the path of a package that depends on it: the
    /// one by which it is reached in the fewest steps.
    #[must_use]
    pub fn ways(&self, start: &str) -> BTreeMap<&str, &str> {
        let all: Vec<(&str, &NpmLockPackage)> = self.packages.iter().map(|(path, one)| (path.as_str(), one)).collect();
        let Some(start) = all.iter().position(|(path, _)| *path == start) else { return BTreeMap::new() };
        let dependencies = Dependencies::new(&all);
        let (mut found, mut waiting) = (BTreeMap::new(), VecDeque::from([start]));
        while let Some(from) = waiting.pop_front() {
            for (to, _) in &dependencies.wanted[from] {
                if *to != start && !found.contains_key(all[*to].0) {
                    found.insert(all[*to].0, all[from].0);
                    waiting.push_back(*to);
                }
            }
        }
        found
    }

    /// The packages, by path and without the project itself, that npm installs on a machine: without optional ones that are
    /// not for it, and without what these alone need. `None` where a package is not for this machine and not optional.
    #[must_use]
    pub fn needed(&self, machine: &NodeMachine) -> Option<BTreeMap<&str, &NpmLockPackage>> {
        let all: Vec<(&str, &NpmLockPackage)> = self.packages.iter().map(|(path, one)| (path.as_str(), one)).collect();
        let unfit: Vec<usize> = (0..all.len()).filter(|at| !machine.meets(all[*at].1)).collect();
        let mut left_out: BTreeSet<usize> = BTreeSet::new();
        if !unfit.is_empty() {
            let dependencies = Dependencies::new(&all);
            for at in unfit {
                if !all[at].1.optional {
                    return None;
                }
                if !left_out.contains(&at) {
                    left_out.extend(dependencies.go_with(at, &left_out));
                }
            }
        }
        let gone: BTreeSet<&str> = left_out.into_iter().map(|at| all[at].0).collect();
        let is_there =
            |path: &str| !path.is_empty() && !gone.contains(path) && !parents(path).any(|path| gone.contains(path));
        Some(all.into_iter().filter(|(path, _)| is_there(path)).collect())
    }
}

impl Dependencies {
    /// The place of a package that one at a path finds by a name.
    fn find(places: &BTreeMap<&str, usize>, path: &str, name: &str) -> Option<usize> {
        let inside = if path.is_empty() { String::new() } else { format!("{path}/") };
        let own = places.get(format!("{inside}node_modules/{name}").as_str());
        let above = || parents(path).find_map(|path| places.get(format!("{path}/node_modules/{name}").as_str()));
        own.or_else(above).or_else(|| places.get(format!("node_modules/{name}").as_str())).copied()
    }

    fn new(all: &[(&str, &NpmLockPackage)]) -> Self {
        let places: BTreeMap<&str, usize> = all.iter().enumerate().map(|(at, (path, _))| (*path, at)).collect();
        let mut new = Self { wanted: vec![Vec::new(); all.len()], wanting: vec![Vec::new(); all.len()] };
        for (at, (path, package)) in all.iter().enumerate() {
            let needed = package.dependencies.keys().map(|name| (name, false));
            let optional = package.optional_dependencies.keys().map(|name| (name, true));
            let peers = package.peer_dependencies.keys();
            let peers =
                peers.map(|name| (name, package.peer_dependencies_meta.get(name).is_some_and(|meta| meta.optional)));
            let mut named: BTreeMap<&String, bool> = peers.collect();
            named.extend(needed.chain(optional));
            for (to, is_optional) in named
                .into_iter()
                .filter_map(|(name, is_optional)| Some((Self::find(&places, path, name)?, is_optional)))
            {
                new.wanted[at].push((to, is_optional));
                new.wanting[to].push((at, is_optional));
            }
        }
        new
    }

    /// What goes with an optional package: those that cannot be without it, and what they alone need, with those that are gone.
    fn go_with(&self, at: usize, gone: &BTreeSet<usize>) -> BTreeSet<usize> {
        let (mut set, mut waiting) = (BTreeSet::from([at]), vec![at]);
        while let Some(at) = waiting.pop() {
            let needing = self.wanting[at].iter().filter(|(_, is_optional)| !is_optional);
            waiting.extend(needing.filter_map(|(from, _)| set.insert(*from).then_some(*from)));
        }
        let (mut all, mut waiting) = (set.clone(), set.iter().copied().collect::<Vec<_>>());
        while let Some(at) = waiting.pop() {
            let new = self.wanted[at].iter().filter(|(to, _)| !set.contains(to));
            waiting.extend(new.filter_map(|(to, _)| all.insert(*to).then_some(*to)));
        }
        // What stays keeps what it needs.
        let needs_it = |from: &usize| !all.contains(from) && !gone.contains(from);
        let is_kept = |at: &usize| !set.contains(at) && self.wanting[*at].iter().any(|(from, _)| needs_it(from));
        let mut kept: Vec<usize> = all.iter().copied().filter(is_kept).collect();
        while let Some(at) = kept.pop() {
            if all.remove(&at) && !gone.contains(&at) {
                kept.extend(
                    self.wanted[at].iter().map(|(to, _)| *to).filter(|to| all.contains(to) && !set.contains(to)),
                );
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: NodeMachine = NodeMachine { os: "linux", cpu: "x64", libc: Some("glibc") };

    fn needed(packages: &str) -> Option<Vec<String>> {
        let lock: NpmLock = serde_json::from_str(&format!(r#"{{ "packages": {packages} }}"#)).unwrap();
        let needed = lock.needed(&LINUX)?;
        Some(needed.keys().map(|path| path.replace("node_modules/", "")).collect())
    }

    #[test]
    fn lists_of_systems_name_and_forbid() {
        for (wanted, is_met) in [
            (r#"["linux"]"#, true),
            (r#""linux""#, true),
            (r#"["darwin", "linux"]"#, true),
            (r#"["darwin"]"#, false),
            (r#"["!linux"]"#, false),
            (r#"["!win32", "!darwin"]"#, true),
            (r#"["any"]"#, true),
            ("[]", true),
            ("7", true),
        ] {
            assert_eq!(is_named(&serde_json::from_str(wanted).unwrap(), "linux"), is_met, "{wanted}");
        }
    }

    #[test]
    fn optional_packages_of_other_machines_go_with_all_that_only_they_need() {
        let packages = r#"{
            "": { "dependencies": { "a": "1" } },
            "node_modules/a": { "optionalDependencies": { "mac": "1", "musl": "1", "here": "1" }, "dependencies": { "both": "1" } },
            "node_modules/mac": { "optional": true, "os": ["darwin"], "dependencies": { "only": "1", "both": "1" } },
            "node_modules/mac/node_modules/inside": { "optional": true },
            "node_modules/musl": { "optional": true, "libc": ["musl"] },
            "node_modules/here": { "optional": true, "os": ["linux"], "cpu": ["x64"], "libc": "glibc" },
            "node_modules/only": { "optional": true, "peerDependencies": { "deep": "1" } },
            "node_modules/deep": { "optional": true },
            "node_modules/both": {}
        }"#;
        assert_eq!(needed(packages).unwrap(), ["a", "both", "here"]);
    }

    #[test]
    fn what_two_packages_of_other_machines_need_goes_with_both() {
        let packages = r#"{
            "": { "optionalDependencies": { "bsd": "1", "wasm": "1" } },
            "node_modules/bsd": { "optional": true, "os": ["freebsd"], "dependencies": { "both": "1" } },
            "node_modules/wasm": { "optional": true, "cpu": ["wasm32"], "dependencies": { "both": "1" } },
            "node_modules/both": { "optional": true, "dependencies": { "deep": "1" } },
            "node_modules/deep": { "optional": true }
        }"#;
        assert_eq!(needed(packages).unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn an_optional_package_goes_when_it_cannot_be_without_one_that_goes() {
        let packages = r#"{
            "": { "dependencies": { "a": "1" } },
            "node_modules/a": { "optionalDependencies": { "b": "1" } },
            "node_modules/b": { "optional": true, "dependencies": { "mac": "1", "c": "1" } },
            "node_modules/b/node_modules/c": { "optional": true },
            "node_modules/mac": { "optional": true, "os": ["darwin"] }
        }"#;
        assert_eq!(needed(packages).unwrap(), ["a"]);
    }

    #[test]
    fn what_a_list_lacks_is_named_for_every_platform() {
        let lacking = |packages: &str| {
            let lock: NpmLock = serde_json::from_str(&format!(r#"{{ "packages": {packages} }}"#)).unwrap();
            lock.lacking().map(|(path, name)| format!("{path} {name}"))
        };
        let whole = r#"{ "": { "dependencies": { "a": "1" } }, "node_modules/a": { "optionalDependencies": { "b": "1" } },
            "node_modules/a/node_modules/b": { "dependencies": { "a": "1" } },
            "node_modules/a/node_modules/c": { "inBundle": true, "dependencies": { "none": "1" } } }"#;
        assert_eq!(lacking(whole), None);
        assert_eq!(lacking(&whole.replace("node_modules/b", "node_modules/x")).as_deref(), Some("node_modules/a b"));
        assert_eq!(lacking(&whole.replace("\"node_modules/a\"", "\"node_modules/x\"")).as_deref(), Some(" a"));
    }

    #[test]
    fn a_way_to_a_package_is_the_shortest_one() {
        let text = r#"{ "packages": { "": { "dependencies": { "x": "1" } },
            "node_modules/a": { "dependencies": { "b": "1" }, "optionalDependencies": { "c": "1" } },
            "node_modules/b": { "dependencies": { "c": "1", "a": "1" } },
            "node_modules/c": { "peerDependencies": { "d": "1" } },
            "node_modules/c/node_modules/d": {}, "node_modules/d": {}, "node_modules/x": {} } }"#;
        let lock: NpmLock = serde_json::from_str(text).unwrap();
        let ways = lock.ways("node_modules/a");
        let expected = [
            ("node_modules/b", "node_modules/a"),
            ("node_modules/c", "node_modules/a"),
            ("node_modules/c/node_modules/d", "node_modules/c"),
        ];
        assert_eq!(ways, expected.into());
        assert_eq!(lock.ways("node_modules/none"), BTreeMap::new());
    }

    #[test]
    fn without_a_package_that_is_needed_npm_says_why() {
        assert_eq!(needed(r#"{ "": {}, "node_modules/a": { "os": ["darwin"] } }"#), None);
    }
}
