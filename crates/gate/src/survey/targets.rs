//! Collects what a survey asks for.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use acp_registry_http::address;
use acp_registry_plan::manifest::{Agent, NpmSpec, Platform, PypiSpec};

/// Everything that agents name, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Archive URLs, keyed by the URL as written.
    pub(super) archives: BTreeMap<String, Url>,
    /// The programs (`cmd`) that manifests start, by archive URL.
    pub(super) cmds: BTreeMap<String, BTreeSet<String>>,
    /// URLs of repositories, websites and licences, keyed by the URL as written.
    pub(super) pages: BTreeMap<String, Url>,
    /// Names of npm packages.
    pub(super) npm: BTreeSet<String>,
    /// Names of Python projects.
    pub(super) pypi: BTreeSet<String>,
}

impl Targets {
    /// Collects what `agents` name. Invalid URLs and package specifications are skipped; offline rules report them.
    pub(super) fn of<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Self {
        let mut targets = Self::default();
        for agent in agents {
            for release in agent.releases() {
                // Unknown platforms are reported by the schema rule, and could be thousands in a hostile manifest.
                let targets_of_platforms =
                    release.distribution.binary.iter().filter(|t| t.platform.parse::<Platform>().is_ok());
                for target in targets_of_platforms {
                    add(&mut targets.archives, &target.archive);
                    targets.cmds.entry(target.archive.clone()).or_default().insert(target.cmd.clone());
                }
                if let Some(Ok(spec)) = release.distribution.npx.as_ref().map(|npx| npx.package.parse::<NpmSpec>()) {
                    targets.npm.insert(spec.name);
                }
                if let Some(Ok(spec)) = release.distribution.uvx.as_ref().map(|uvx| uvx.package.parse::<PypiSpec>()) {
                    targets.pypi.insert(spec.name);
                }
            }
            for page in [&agent.repository, &agent.website, &agent.license_url].into_iter().flatten() {
                add(&mut targets.pages, page);
            }
        }
        targets
    }
}

fn add(urls: &mut BTreeMap<String, Url>, text: &str) {
    if let Ok(url) = address::parse(text) {
        urls.insert(text.to_owned(), url);
    }
}
