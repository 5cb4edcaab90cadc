//! Loads registries.

use std::ops::Range;
use std::path::Path;

use super::Error;
use crate::config::Config;
use acp_registry_client::registry::{Loaded, Registry};
use acp_registry_plan::manifest::{AgentId, SyntaxError};
use acp_registry_plan::source::Span;

/// Loads a registry. A directory without agents is an error, so that CI does not pass with a wrong path, unless it has
/// a `registry.toml`, as a newly created registry does.
///
/// # Errors
/// Returns [`Error::Load`] or [`Error::Empty`].
pub fn load(directory: &Path) -> Result<Registry, Error> {
    let registry = Registry::load(directory)?;
    if registry.entries.is_empty() && !directory.join("registry.toml").is_file() {
        return Err(Error::Empty(directory.to_owned()));
    }
    Ok(registry)
}

/// Loads a registry without its withdrawn agents, and checks that the quarantine list can be read.
///
/// # Errors
/// Returns the errors of [`load`]; [`Error::Withdrawn`] or [`Error::Unknown`] for an id in `wanted`;
/// [`Error::Quarantine`] if the quarantine list cannot be read.
pub fn load_active(directory: &Path, config: &Config, wanted: &[String]) -> Result<Registry, Error> {
    let mut registry = load(directory)?;
    registry.entries.retain(|entry| !config.withdrawn.contains_key(&entry.id));
    if let Some(id) = wanted.iter().find(|id| config.withdrawn.contains_key(*id)) {
        return Err(Error::Withdrawn(id.clone()));
    }
    if let Some(id) = wanted.iter().find(|id| registry.entry(id).is_none()) {
        return Err(Error::unknown(id, &registry));
    }
    match quarantine_problem(&registry) {
        Some(problem) => Err(Error::Quarantine(problem)),
        None => Ok(registry),
    }
}

/// Whether a registry that was loaded for work has no agents because its configuration withdraws all of them.
#[must_use]
pub fn are_all_withdrawn(registry: &Registry, config: &Config) -> bool {
    let is_there = |id: &String| AgentId::is_valid(id) && registry.root.join(id).join("agent.json").is_file();
    registry.entries.is_empty() && config.withdrawn.keys().any(is_there)
}

/// Whether the quarantine list is readable or missing. If it cannot be read, no agent must be started, since any could
/// be in quarantine.
#[must_use]
pub(crate) fn knows_quarantine(registry: &Registry) -> bool {
    quarantine_problem(registry).is_none()
}

/// Why the quarantine list cannot be read, preceded by the place in the file; `None` if it is readable or missing.
#[must_use]
pub fn quarantine_problem(registry: &Registry) -> Option<String> {
    let at = |text: &str, range: Range<usize>, problem: &str| {
        let span = Span::of(text, range);
        format!(":{}:{}: {problem}", span.line, span.column)
    };
    let problem = match &registry.quarantine {
        Loaded::Missing => return None,
        Loaded::Present(quarantine) if quarantine.document.is_object() => return None,
        Loaded::Present(quarantine) => at(quarantine.document.text(), 0..0, "not a JSON object"),
        Loaded::Unreadable(error) => format!(": {error}"),
        Loaded::NotUtf8 { text, offset } => at(text, *offset..*offset, "not UTF-8"),
        Loaded::Broken(SyntaxError { text, message, range, .. }) => {
            at(text, range.clone(), &format!("not valid JSON: {message}"))
        }
    };
    Some(format!("quarantine.json{problem}"))
}
