//! ADVISORIES: exports of OSV, and the agents whose packages they call malicious.
//!
//! * [`Advisories`]: what the sources of `registry.toml` say
//! * [`MaliciousPackage`]: a package of an agent that an advisory is about

mod osv;
mod read;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use acp_registry_client::registry::Registry;
use acp_registry_http::{Client, address};
use acp_registry_plan::closure::{NpmLock, PublishedClosure, listed};
use acp_registry_plan::manifest::{Channel, Manifest, NpmSpec, PackageKind, Pin, PypiSpec};
use acp_registry_plan::text::quote;

use crate::config::{AdvisoriesConfig, Config};
use osv::{Malice, key};
use read::{Export, SOURCE_LIMIT};

/// How many packages of a way to a dependency are named.
const STEPS: usize = 12;

/// The advisories of all sources about malicious packages.
#[derive(Debug, Default)]
pub struct Advisories {
    malice: HashMap<(PackageKind, String), Vec<Malice>>,
    /// What is wrong with the sources.
    pub problems: Vec<SourceProblem>,
    /// The addresses that were not asked.
    pub unasked: Vec<String>,
}

/// Why a source cannot be relied on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the advisories in {} cannot be used: {problem}", quote(.file))]
pub struct SourceProblem {
    /// The source, or the file in it.
    pub file: String,
    /// What is wrong.
    pub problem: String,
}

impl SourceProblem {
    /// How to correct it.
    pub const REMEDY: &str = "fetch the export again, or correct `sources` below `[advisories]` in registry.toml";
}

/// A package of an agent that an advisory calls malicious.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaliciousPackage {
    /// The id of the advisory.
    pub advisory: String,
    /// The kind of the agent's package.
    pub kind: PackageKind,
    /// The channel of the agent's package.
    pub channel: Channel,
    /// The packages from that of the manifest to the malicious one, each as `NAME@VERSION`.
    pub way: Vec<String>,
    /// Whether the packages between the two are unknown.
    pub is_direct: bool,
}

impl MaliciousPackage {
    /// Whether it is the package that the manifest names.
    pub fn is_own(&self) -> bool {
        self.way.len() == 1
    }

    /// What the advisory says, as a sentence.
    pub fn message(&self) -> String {
        let package = self.way.last().map(String::as_str).unwrap_or_default();
        let says = format!("{} says that {} is malicious", quote(&self.advisory), quote(package));
        if self.is_own() {
            return says;
        }
        let mut steps: Vec<&str> = self.way.iter().map(String::as_str).collect();
        if self.is_direct {
            steps.insert(1, "…");
        }
        if steps.len() > STEPS {
            steps.splice(STEPS / 2..steps.len() - STEPS / 2, ["…"]);
        }
        format!("{says}, which the agent needs: {}", quote(&steps.join(" > ")))
    }
}

impl Advisories {
    /// Reads the files that the configuration names. Addresses are kept for [`Advisories::ask`].
    pub fn read(config: &Config, root: &Path) -> Self {
        let mut new = Self::default();
        for source in &config.advisories.sources {
            if AdvisoriesConfig::is_address(source) {
                new.unasked.push(source.clone());
            } else {
                new.add(Export::read(root, source));
            }
        }
        new
    }

    /// Fetches the exports at addresses.
    pub async fn ask(&mut self, client: &Client) {
        for source in std::mem::take(&mut self.unasked) {
            let answer = match address::parse(&source) {
                Ok(url) => match client.get(&url, SOURCE_LIMIT).await {
                    Ok(Some(bytes)) => Ok(bytes),
                    Ok(None) => Err("there is no such document".to_owned()),
                    Err(error) => Err(error.to_string()),
                },
                Err(error) => Err(error.to_string()),
            };
            match answer {
                Ok(bytes) => self.add(Export::answer(&source, &bytes)),
                Err(problem) => self.problems.push(SourceProblem { file: source, problem }),
            }
        }
    }

    /// Which sources were not asked, if there are any.
    pub fn note(&self) -> Option<String> {
        let first = self.unasked.first()?;
        let more = if self.unasked.len() > 1 { " and others" } else { "" };
        Some(format!("advisories were not fetched from {}{more}: add --urls", quote(first)))
    }

    fn add(&mut self, export: Export) {
        for malice in export.malice {
            self.malice.entry((malice.kind, malice.name.clone())).or_default().push(malice);
        }
        self.problems.extend(export.problems);
    }

    /// The advisory about a version of a package.
    fn about(&self, kind: PackageKind, name: &str, version: &str) -> Option<&str> {
        let about = self.malice.get(&(kind, key(kind, name)))?;
        let ids = about.iter().filter(|malice| malice.has(version)).map(|malice| malice.advisory.as_str());
        ids.min()
    }

    /// The malicious packages of an agent: those that its manifest names, of all channels, and those in the lists beside it.
    pub fn malicious(&self, registry: &Registry, id: &str, manifest: &Manifest) -> Vec<MaliciousPackage> {
        let mut found = Vec::new();
        if self.malice.is_empty() {
            return found;
        }
        for release in manifest.agent().releases() {
            for (kind, package) in release.distribution.packages() {
                let Some((name, version)) = exact(kind, &package.package) else { continue };
                let Some(advisory) = self.about(kind, &name, &version) else { continue };
                let way = vec![format!("{name}@{version}")];
                let channel = release.channel;
                found.push(MaliciousPackage { advisory: advisory.to_owned(), kind, channel, way, is_direct: false });
            }
        }
        for (kind, closure) in registry.closures(id, manifest) {
            // The rule about unusable lists reports the others.
            if let Ok(closure) = closure {
                found.extend(self.listed(kind, &closure));
            }
        }
        found
    }

    /// The malicious packages in a list, without that of the manifest.
    pub fn listed(&self, kind: PackageKind, closure: &PublishedClosure) -> Vec<MaliciousPackage> {
        let Some((own, own_version)) = exact(kind, &closure.package) else { return Vec::new() };
        let first = format!("{own}@{own_version}");
        let channel = Channel::Stable;
        if kind == PackageKind::Uvx {
            let about = |(name, version): (String, String)| {
                let is_own = key(kind, &name) == key(kind, &own);
                let advisory = if is_own { None } else { self.about(kind, &name, &version) }?.to_owned();
                let way = vec![first.clone(), format!("{name}@{version}")];
                Some(MaliciousPackage { advisory, kind, channel, way, is_direct: true })
            };
            return listed(&closure.packages).filter_map(about).collect();
        }
        let Ok(lock) = serde_json::from_str::<NpmLock>(&closure.packages) else { return Vec::new() };
        let top = format!("node_modules/{own}");
        let mut by_name: BTreeMap<String, (&str, &str)> = BTreeMap::new();
        let name = |path: &str| {
            let package = &lock.packages[path];
            format!("{}@{}", package.name(path), package.version.as_deref().unwrap_or_default())
        };
        for (path, package) in lock.packages.iter().filter(|(path, _)| !path.is_empty() && **path != top) {
            let version = package.version.as_deref().unwrap_or_default();
            if let Some(advisory) = self.about(kind, package.name(path), version) {
                by_name.entry(name(path)).or_insert((path, advisory));
            }
        }
        if by_name.is_empty() {
            return Vec::new();
        }
        let ways = lock.ways(&top);
        let malicious = by_name.into_iter().map(|(package, (path, advisory))| {
            let mut way = vec![package];
            let mut at = path;
            while let Some(above) = ways.get(at) {
                way.push(name(above));
                at = above;
            }
            let is_direct = at != top;
            if is_direct {
                way.push(first.clone());
            }
            way.reverse();
            MaliciousPackage { advisory: advisory.to_owned(), kind, channel, way, is_direct }
        });
        malicious.collect()
    }
}

/// The name and version of a package in a manifest; `None` if it names no single version.
fn exact(kind: PackageKind, package: &str) -> Option<(String, String)> {
    let (name, pin) = match kind {
        PackageKind::Npx => package.parse::<NpmSpec>().ok().map(|spec| (spec.name, spec.pin))?,
        PackageKind::Uvx => package.parse::<PypiSpec>().ok().map(|spec| (spec.name, spec.pin))?,
    };
    if let Pin::Exact(version) = pin { Some((name, version)) } else { None }
}
