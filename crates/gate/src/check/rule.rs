//! The definition of a rule.

use std::cell::OnceCell;

use serde_json::Value;

use super::CheckOptions;
use super::icon::{Icon, IconFile};
use super::reporter::Reporter;
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_client::registry::{ClosureProblem, Loaded, Registry};
use acp_registry_plan::closure::{NpmLock, PublishedClosure};
use acp_registry_plan::manifest::archive::{UrlVersion, compare_version};
use acp_registry_plan::manifest::{
    Agent, BinaryTarget, Manifest, Package, PackageKind, Release, Version, escape_segment,
};

/// A rule: name, default level, documentation, examples and check function.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, `group/problem`, such as `icon/missing`. Named after the problem, so that "allow icon/missing"
    /// makes sense.
    pub name: &'static str,
    /// Default level.
    pub level: Level,
    /// What the rule reports, in one line.
    pub summary: &'static str,
    /// Why it is a problem, and for whom.
    pub why: &'static str,
    /// How to fix it.
    pub fix: &'static str,
    /// An example that the rule reports.
    pub fails: Example,
    /// The part of [`Rule::fails`] that the report underlines; empty if the finding is about the whole file.
    pub marks: &'static str,
    /// The corrected example.
    pub passes: Example,
    pub(super) check: CheckFn,
}

/// An example for the documentation, which tests also run.
#[derive(Debug, Clone, Copy)]
pub enum Example {
    /// Members to put into an otherwise valid manifest.
    Manifest(&'static str),
    /// The `linux-x86_64` target of an otherwise valid binary distribution, without `args`.
    Target(&'static str),
    /// A complete icon.
    Icon(&'static str),
    /// A complete registry: paths and contents.
    Files(&'static [(&'static str, &'static str)]),
    /// A manifest with answers of package registries, hosts or the agent itself.
    Online(&'static Online),
}

/// Examples longer than this, in bytes, are shortened in the documentation.
const LONG: usize = 2000;

/// Length of a shortened example, in bytes.
const BEGINNING: usize = 80;

impl Example {
    /// The files of the example: names and contents.
    pub fn files(self) -> Vec<(&'static str, String)> {
        match self {
            Self::Manifest(members) => vec![("agent.json", members.to_owned())],
            Self::Target(target) => vec![("agent.json", format!("\"linux-x86_64\": {target}"))],
            Self::Icon(icon) => vec![("icon.svg", icon.to_owned())],
            Self::Online(online) => {
                let mut files = online.manifest.files();
                files.push(("answers.txt", online.world.to_owned()));
                files
            }
            Self::Files(files) => files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
        }
    }

    /// The files for display, with long ones shortened.
    pub fn excerpts(self) -> Vec<(&'static str, String)> {
        let cut = |text: String| match text.get(..text.floor_char_boundary(BEGINNING)) {
            Some(head) if text.len() > LONG => format!("{head}…"),
            _ => text.trim_end().to_owned(),
        };
        self.files().into_iter().map(|(name, text)| (name, cut(text))).collect()
    }
}

/// An example that needs a survey.
#[derive(Debug, Clone, Copy)]
pub struct Online {
    /// The manifest.
    pub manifest: Example,
    /// The answers, in words.
    pub world: &'static str,
    /// Adds the answers to a survey.
    pub answers: fn(&mut Survey),
}

/// The check function of a rule, by the input that it needs.
#[derive(Debug)]
pub(super) enum CheckFn {
    /// The manifest's file, parsed or not.
    ManifestFile(fn(&Loaded<Manifest>, &mut Reporter<'_>)),
    /// A manifest that is valid JSON.
    Manifest(fn(&Subject<'_>, &mut Reporter<'_>)),
    /// A manifest that is valid JSON, and the survey. Not run without a survey.
    Online(fn(&Subject<'_>, &Survey, &mut Reporter<'_>)),
    /// The icon's file, parsed or not.
    IconFile(fn(&IconFile<'_>, &mut Reporter<'_>)),
    /// An icon that is well-formed XML.
    Icon(fn(&Icon<'_>, &mut Reporter<'_>)),
    /// The list of an agent's packages beside its manifest, usable or not.
    Closure(fn(&Subject<'_>, &ClosureFile, &mut Reporter<'_>)),
    /// The whole registry.
    Registry(fn(&Registry, &CheckOptions<'_>, &mut Reporter<'_>)),
}

/// The list of an agent's packages.
pub(super) struct ClosureFile {
    pub(super) closure: Result<PublishedClosure, ClosureProblem>,
    /// What npm reads in it.
    pub(super) npm: Option<NpmLock>,
}

impl ClosureFile {
    pub(super) fn new(kind: PackageKind, closure: Result<PublishedClosure, ClosureProblem>) -> Self {
        let list = closure.as_ref().ok().filter(|_| kind == PackageKind::Npx);
        Self { npm: list.and_then(|closure| serde_json::from_str(&closure.packages).ok()), closure }
    }
}

/// A manifest and its context.
pub(super) struct Subject<'a> {
    /// Name of the agent's folder.
    pub(super) folder: &'a str,
    /// The manifest.
    pub(super) manifest: &'a Manifest,
    /// The options of the check.
    pub(super) options: &'a CheckOptions<'a>,
    value: Value,
    agent: Agent,
    url_versions: OnceCell<Vec<Option<UrlVersion>>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(folder: &'a str, manifest: &'a Manifest, options: &'a CheckOptions<'a>) -> Self {
        let value = manifest.value();
        Self { folder, manifest, options, agent: Agent::from_json(&value), value, url_versions: OnceCell::new() }
    }

    /// The manifest as a JSON value.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    /// The manifest as a typed value.
    pub(super) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// All binary targets, of all channels.
    pub(super) fn targets(&self) -> impl Iterator<Item = (Release<'_>, &BinaryTarget)> {
        self.agent()
            .releases()
            .flat_map(|release| release.distribution.binary.iter().map(move |target| (release, target)))
    }

    /// All binary targets whose channel states a version, with how the version in the archive's URL compares with it.
    pub(super) fn url_versions(&self) -> impl Iterator<Item = (Release<'_>, &BinaryTarget, &UrlVersion)> {
        let compare = |(release, target): (Release<'_>, &BinaryTarget)| {
            Some(compare_version(&target.archive, &Version::parse(release.version)?))
        };
        let versions = self.url_versions.get_or_init(|| self.targets().map(compare).collect());
        self.targets()
            .zip(versions)
            .filter_map(|((release, target), version)| Some((release, target, version.as_ref()?)))
    }

    /// All packages, of all channels, with their kind.
    pub(super) fn packages(&self) -> impl Iterator<Item = (Release<'_>, PackageKind, &Package)> {
        self.agent()
            .releases()
            .flat_map(|release| release.distribution.packages().map(move |(kind, package)| (release, kind, package)))
    }

    /// The environment variables that all of them set, with the JSON pointers of their names.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, String)> {
        // Most have none, and pointers cost more than looking.
        let targets = self.targets().filter(|(_, target)| !target.env.is_empty());
        let targets = targets.map(|(release, target)| (&target.env, release.target_pointer(target, "env")));
        let packages = self.packages().filter(|(.., package)| !package.env.is_empty());
        let packages = packages.map(|(release, kind, package)| (&package.env, release.package_pointer(kind, "env")));
        targets.chain(packages).flat_map(|(env, pointer)| {
            env.iter().map(move |(name, _)| (name.as_str(), format!("{pointer}/{}", escape_segment(name))))
        })
    }
}

impl Rule {
    /// The part of the name before the slash.
    pub fn group(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }
}
