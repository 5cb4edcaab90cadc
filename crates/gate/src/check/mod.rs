//! Checks a loaded registry and returns findings. Rules print nothing, and know neither levels nor output formats.
//!
//! * [`check()`]: runs all rules that are not off over the selected agents
//! * [`Rule`], [`RULES`]: the rules; each has a file in `rules/` with its documentation
//! * [`Levels`]: resolves defaults, `registry.toml` and flags
//! * [`fix()`]: applies the fixes of findings
//! * `icon`: the parsed icon that icon rules read
//! * `schema`: the JSON Schemas

mod icon;
mod levels;
mod reporter;
mod rule;
mod rules;
mod run;
pub mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use acp_registry_client::registry::Registry;
use acp_registry_http::AllowedHosts;
use acp_registry_plan::source::Edit;
pub use icon::draw_icon;
pub use levels::{Levels, UnknownRule};
pub use rule::{Example, Online, Rule};
pub use rules::{RULES, find, rule_of_reason, rule_of_runner};
pub use run::{AgentStatus, CheckOutcome, Checked, check};

use crate::advisories::Advisories;
use crate::config::Config;
use crate::edit::{self, EditError};
use crate::finding::Level;
pub use crate::select::Selection;
use crate::survey::Survey;

/// The result of [`fix`].
#[derive(Debug, Default)]
pub struct Fixed {
    /// Number of applied fixes.
    pub count: usize,
    /// Errors of files that could not be written.
    pub errors: Vec<EditError>,
}

/// Applies the fixes of all findings, and removes these findings from `checked`. A file that cannot be written keeps
/// its findings, and the other files are still fixed.
pub fn fix(registry: &Registry, checked: &mut Checked) -> Fixed {
    let mut by_file: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for finding in &checked.findings {
        if let Some(fix) = &finding.fix {
            by_file.entry(finding.file.clone()).or_default().push(fix.clone());
        }
    }
    let mut fixed = Fixed::default();
    let mut done: BTreeSet<String> = BTreeSet::new();
    // Several paths may lead to one file through links; it must be edited only once.
    let mut written: BTreeSet<PathBuf> = BTreeSet::new();
    for (file, edits) in by_file {
        let path = registry.root.join(&file);
        let is_new = path.canonicalize().is_ok_and(|real| written.insert(real));
        match if is_new { edit::write(registry, &file, &edits) } else { Ok(()) } {
            Ok(()) => {
                fixed.count += edits.len();
                done.insert(file);
            }
            Err(error) => fixed.errors.push(error),
        }
    }
    checked.findings.retain(|finding| finding.fix.is_none() || !done.contains(&finding.file));
    let failed: BTreeSet<&str> = checked
        .findings
        .iter()
        .filter(|one| one.level == Level::Error)
        .filter_map(|one| one.agent.as_deref())
        .collect();
    for agent in checked.agents.iter_mut().filter(|agent| agent.status == CheckOutcome::Failed) {
        if !failed.contains(agent.id.as_str()) {
            agent.status = CheckOutcome::Ok;
        }
    }
    fixed
}

/// Options of [`check`](check()).
#[derive(Debug)]
pub struct CheckOptions<'a> {
    /// The level of each rule.
    pub levels: &'a Levels,
    /// Hosts that may be private and may be used without TLS.
    pub allowed_hosts: &'a AllowedHosts,
    /// The registry's configuration.
    pub config: &'a Config,
    /// The survey; without it, rules that need one do not run.
    pub survey: Option<&'a Survey>,
    /// The advisories that the configuration names; without them, rules that need them do not run.
    pub advisories: Option<&'a Advisories>,
}
