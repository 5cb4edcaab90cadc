//! Registries that are worked on.

use std::ops::Range;
use std::path::Path;

use super::Error;
use crate::config::Config;
use acp_registry_core::manifest::SyntaxError;
use acp_registry_core::registry::{Loaded, Registry};
use acp_registry_core::source::Span;

/// Loads a registry. A folder without agents is refused, so that a wrong path in CI does not pass for ever; a registry that
/// has just been laid out is known by its configuration.
///
/// # Errors
/// [`Error::Load`] and [`Error::Empty`].
pub fn load(directory: &Path) -> Result<Registry, Error> {
    let registry = Registry::load(directory)?;
    if registry.entries.is_empty() && !directory.join("registry.toml").is_file() {
        return Err(Error::Empty(directory.to_owned()));
    }
    Ok(registry)
}

/// Loads a registry for work on its agents, which must know which of them are in quarantine. Agents that are withdrawn are
/// left out.
///
/// # Errors
/// Those of [`load`], and [`Error::Withdrawn`] or [`Error::Unknown`] for a wanted agent that is not there, and
/// [`Error::Quarantine`].
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

/// Whether the list of agents that must not be started is known. Without it, every one of them would be let loose.
#[must_use]
pub fn knows_quarantine(registry: &Registry) -> bool {
    quarantine_problem(registry).is_none()
}

/// Why the list of agents that must not be started is not known, with its place in the file; `None` where it is known.
#[must_use]
pub fn quarantine_problem(registry: &Registry) -> Option<String> {
    let at = |text: &str, range: Range<usize>, problem: &str| {
        let span = Span::of(text, range);
        format!(":{}:{}: {problem}", span.line, span.column)
    };
    let problem = match &registry.quarantine {
        Loaded::Missing => return None,
        Loaded::Present(quarantine) if quarantine.document.value().is_object() => return None,
        Loaded::Present(quarantine) => at(quarantine.document.text(), 0..0, "not a JSON object"),
        Loaded::Unreadable(error) => format!(": {error}"),
        Loaded::NotUtf8 { text, offset } => at(text, *offset..*offset, "not UTF-8"),
        Loaded::Broken(SyntaxError { text, message, range, .. }) => {
            at(text, range.clone(), &format!("not valid JSON: {message}"))
        }
    };
    Some(format!("quarantine.json{problem}"))
}
