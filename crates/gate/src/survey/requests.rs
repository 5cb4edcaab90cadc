//! Chooses what to ask and which agents to start for a selection.

use super::{Scope, Survey, Surveyor};
use crate::config::Config;
use crate::select::{Selection, knows_quarantine};
use crate::verify::{self, Row, Task};
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_plan::manifest::{Agent, Distribution, Platform};
use acp_registry_plan::text::quote;
use acp_registry_sources::Needs;

/// Maximum number of agents that a note names.
const NOTED: usize = 10;

impl Scope {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The package registries that the selected agents need.
    pub fn needs(&self, registry: &Registry, selection: &Selection) -> Needs {
        if !self.urls {
            return Needs::default();
        }
        let agents = selected(registry, selection);
        needs(agents.flat_map(Agent::releases).map(|release| release.distribution))
    }
}

/// The package registries that these distributions are published in.
pub fn needs<'a>(distributions: impl IntoIterator<Item = &'a Distribution>) -> Needs {
    distributions.into_iter().fold(Needs::default(), |needs, distribution| Needs {
        npm: needs.npm || distribution.npx.is_some(),
        pypi: needs.pypi || distribution.uvx.is_some(),
    })
}

impl Surveyor<'_> {
    /// Asks about everything that the selected agents name.
    pub async fn survey_selected(&self, registry: &Registry, selection: &Selection) -> Survey {
        self.survey(selected(registry, selection)).await
    }
}

fn selected<'a>(registry: &'a Registry, selection: &'a Selection) -> impl Iterator<Item = &'a Agent> {
    let entries = registry.entries.iter().filter(|entry| selection.has_folder(&entry.id));
    entries.filter_map(|entry| Some(entry.manifest.present()?.agent()))
}

/// The tasks that install and start the selected agents on this machine. Withdrawn agents are left out. Returns `None`
/// if the quarantine list cannot be read.
pub fn tasks(registry: &Registry, selection: &Selection, config: &Config) -> Option<Vec<Task>> {
    if !knows_quarantine(registry) {
        return None;
    }
    let is_selected =
        |entry: &&AgentFolder| selection.has_folder(&entry.id) && !config.withdrawn.contains_key(&entry.id);
    let selected = registry.entries.iter().filter(is_selected);
    let wanted = verify::Selection {
        ids: Some(selected.map(|entry| entry.id.clone()).collect()),
        platform: Platform::host(),
        ..verify::Selection::default()
    };
    Some(verify::plan(registry, &wanted, None, None))
}

/// A note that names the selected agents that are not started because they are withdrawn; `None` if there are none.
pub fn not_started(registry: &Registry, selection: &Selection, config: &Config) -> Option<String> {
    let ids = registry.entries.iter().map(|entry| &entry.id);
    let is_withdrawn = |id: &&String| selection.has_folder(id) && config.withdrawn.contains_key(*id);
    let ids: Vec<String> = ids.filter(is_withdrawn).map(|id| quote(id)).collect();
    note("started", &ids, "withdrawn")
}

/// A note that these agents were not `work` (such as "started"), with the reason; `None` if there are none.
pub(crate) fn note(work: &str, ids: &[String], why: &str) -> Option<String> {
    let (count, more) = (ids.len(), if ids.len() > NOTED { ", …" } else { "" });
    let named = ids[..count.min(NOTED)].join(", ");
    (count > 0).then(|| format!("not {work} because they are {why}: {count} ({named}{more})"))
}

impl Survey {
    /// Adds the results of starting agents. Returns notes about agents that were not started, which are also added to
    /// `notes`.
    pub fn take_rows(&mut self, rows: Vec<Row>) -> Vec<String> {
        self.lacks_package_managers = verify::lacks_package_managers(&rows);
        let mut notes = Vec::new();
        for (reason, why) in [("quarantined", "in quarantine"), ("unsupported_platform", "not made for this machine")] {
            let ids: Vec<String> =
                rows.iter().filter(|row| row.reason() == Some(reason)).map(|row| quote(&row.id)).collect();
            notes.extend(note("started", &ids, why));
        }
        self.notes.extend(notes.iter().cloned());
        for row in rows {
            self.agents.entry(row.id.clone()).or_default().push(row);
        }
        notes
    }
}
