//! Applies the fixes of findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{CheckOutcome, Checked};
use crate::edit::{self, EditError};
use crate::finding::Level;
use acp_registry_client::registry::Registry;
use acp_registry_plan::source::Edit;

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
