//! What is to be asked for.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use acp_registry_core::manifest::{Agent, NpmSpec, Platform, PypiSpec};
use acp_registry_core::net::address;

/// The things that agents name, each once.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Addresses of archives, as written and parsed.
    pub(super) archives: BTreeMap<String, Url>,
    /// The programs that manifests want started from each archive.
    pub(super) cmds: BTreeMap<String, BTreeSet<String>>,
    /// Addresses of pages: repository, web site, licence.
    pub(super) pages: BTreeMap<String, Url>,
    /// Names of npm packages.
    pub(super) npm: BTreeSet<String>,
    /// Names of Python projects.
    pub(super) pypi: BTreeSet<String>,
}

impl Targets {
    /// Collects what the agents name. What is not an address or a package specification is left to the rules that need no
    /// network.
    pub(super) fn of<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Self {
        let mut targets = Self::default();
        for agent in agents {
            for release in agent.releases() {
                // Platforms that nobody has are the schema's concern; there could be thousands of them.
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
