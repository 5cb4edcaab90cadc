//! `validate --fix`

use std::collections::{BTreeMap, BTreeSet};

use acp_registry::check::{Checked, Status};
use acp_registry::finding::Level;
use acp_registry::registry::Registry;
use acp_registry::report::plural;
use acp_registry::source::{Edit, apply as edited};
use acp_registry::sys::fs::write_atomic;

use super::exit::Failure;

/// Carries out the changes that findings offer, and takes these findings out of the result. Returns how many there were, in
/// words.
pub(super) fn apply(registry: &Registry, checked: &mut Checked) -> Result<String, Failure> {
    let mut by_file: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for finding in &checked.findings {
        if let Some(fix) = &finding.fix {
            by_file.entry(finding.file.clone()).or_default().push(fix.clone());
        }
    }
    let mut count = 0;
    for (file, edits) in &by_file {
        let Some(text) = registry.text(file) else { continue };
        let path = registry.root.join(file);
        // Between reading and now somebody may have worked on it.
        if std::fs::read_to_string(&path).ok().as_deref() != Some(text) {
            return Err(Failure::unable(format!("{} has changed meanwhile; run again", path.display())));
        }
        write_atomic(&path, edited(text, edits).as_bytes())?;
        count += edits.len();
    }
    checked.findings.retain(|finding| finding.fix.is_none());
    let failed: BTreeSet<&str> = checked
        .findings
        .iter()
        .filter(|one| one.level == Level::Error)
        .filter_map(|one| one.agent.as_deref())
        .collect();
    for agent in checked.agents.iter_mut().filter(|agent| agent.status == Status::Failed) {
        if !failed.contains(agent.id.as_str()) {
            agent.status = Status::Ok;
        }
    }
    Ok(plural(count, "finding"))
}
