//! What a rule is.

use super::icon::{Icon, IconFile};
use super::reporter::Reporter;
use super::run::Options;
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_core::manifest::{Agent, BinaryTarget, Manifest, Package, PackageKind, Release};
use acp_registry_core::registry::{Loaded, Registry};

/// A rule: a name, a default level, documentation, two examples, and the function that looks.
#[derive(Debug)]
pub struct Rule {
    /// Stable name, `group/what-is-wrong`; it reads well after "allow".
    pub name: &'static str,
    /// Level when neither configuration nor flags say otherwise.
    pub level: Level,
    /// What the rule reports, in one line.
    pub summary: &'static str,
    /// Why that is a problem, and for whom.
    pub why: &'static str,
    /// What to do about it.
    pub fix: &'static str,
    /// An example that the rule reports.
    pub fails: Example,
    /// The part of [`Rule::fails`] that the report underlines; empty where the file as a whole is meant.
    pub marks: &'static str,
    /// The example put right.
    pub passes: Example,
    pub(super) check: Check,
}

/// An example for the documentation, which a test also runs.
#[derive(Debug, Clone, Copy)]
pub enum Example {
    /// Members of a manifest that is otherwise in order.
    Manifest(&'static str),
    /// The `linux-x86_64` target of a binary distribution that is otherwise in order and has no arguments.
    Target(&'static str),
    /// A whole icon.
    Icon(&'static str),
    /// A whole registry: paths and contents.
    Files(&'static [(&'static str, &'static str)]),
    /// A manifest, and what the world outside answers.
    Online(&'static Online),
}

/// Examples longer than this, in bytes, are there for their length: their beginning says enough.
const LONG: usize = 2000;

/// How much of a long example is shown, in bytes.
const BEGINNING: usize = 80;

impl Example {
    /// The files of the example, by name.
    #[must_use]
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

    /// The files as documentation shows them: long ones cut.
    #[must_use]
    pub fn excerpts(self) -> Vec<(&'static str, String)> {
        let cut = |text: String| match text.get(..text.floor_char_boundary(BEGINNING)) {
            Some(head) if text.len() > LONG => format!("{head}…"),
            _ => text.trim_end().to_owned(),
        };
        self.files().into_iter().map(|(name, text)| (name, cut(text))).collect()
    }
}

/// An example that hangs on more than the registry's own files.
#[derive(Debug, Clone, Copy)]
pub struct Online {
    /// The manifest.
    pub manifest: Example,
    /// What the world outside answers, in words.
    pub world: &'static str,
    /// Puts the same into a survey.
    pub answers: fn(&mut Survey),
}

/// What a rule looks at. Kinds exist so that a rule is handed just what it needs.
#[derive(Debug)]
pub(super) enum Check {
    /// The manifest's file, parsed or not.
    ManifestFile(fn(&Loaded<Manifest>, &mut Reporter<'_>)),
    /// A manifest that is JSON.
    Manifest(fn(&Subject<'_>, &mut Reporter<'_>)),
    /// A manifest that is JSON, and what the world outside says of what it names; only where that was asked.
    Online(fn(&Subject<'_>, &Survey, &mut Reporter<'_>)),
    /// The icon's file, parsed or not.
    IconFile(fn(&IconFile<'_>, &mut Reporter<'_>)),
    /// An icon that is XML.
    Icon(fn(&Icon<'_>, &mut Reporter<'_>)),
    /// The registry as a whole.
    Registry(fn(&Registry, &Options<'_>, &mut Reporter<'_>)),
}

/// A manifest and what is known around it.
pub(super) struct Subject<'a> {
    /// Name of the folder.
    pub(super) folder: &'a str,
    /// The manifest.
    pub(super) manifest: &'a Manifest,
    /// How the check was called.
    pub(super) options: &'a Options<'a>,
}

impl Subject<'_> {
    /// The typed model.
    pub(super) fn agent(&self) -> &Agent {
        self.manifest.agent()
    }

    /// Every binary target of every channel.
    pub(super) fn targets(&self) -> impl Iterator<Item = (Release<'_>, &BinaryTarget)> {
        self.agent()
            .releases()
            .flat_map(|release| release.distribution.binary.iter().map(move |target| (release, target)))
    }

    /// Every package of every channel, with its runner.
    pub(super) fn packages(&self) -> impl Iterator<Item = (Release<'_>, PackageKind, &Package)> {
        self.agent()
            .releases()
            .flat_map(|release| release.distribution.packages().map(move |(kind, package)| (release, kind, package)))
    }
}

impl Rule {
    /// The part of the name before the slash.
    #[must_use]
    pub fn group(&self) -> &'static str {
        self.name.split('/').next().unwrap_or(self.name)
    }
}
