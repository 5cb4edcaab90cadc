//! What may stand in the place of an argument, for completion: what this machine knows already. Nothing is sent, and nothing
//! is said.

use std::fs;
use std::path::Path;

use acp_registry::check::RULES;
use acp_registry::examination::CHECKS;
use acp_registry::manifest::{AgentId, Platform};
use acp_registry::text::shown;
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use super::place;

/// The longest explanation beside a word, in Unicode scalar values.
const HELP: usize = 80;

fn with_help(word: &str, help: &str) -> CompletionCandidate {
    let help = shown(help, HELP);
    CompletionCandidate::new(word.to_owned()).help((!help.is_empty()).then(|| help.into()))
}

/// Agents of the last copy of the index.
pub(super) fn offered() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some(index) = place::index_at_hand() else { return installed_ids() };
        let candidates = index.entries().map(|entry| with_help(&entry.id, &entry.description)).collect();
        // The process ends: giving back a large index piece by piece takes its time.
        std::mem::forget(index);
        candidates
    })
}

/// Installed agents.
pub(super) fn installed() -> ArgValueCandidates {
    ArgValueCandidates::new(installed_ids)
}

fn installed_ids() -> Vec<CompletionCandidate> {
    words(place::installed_at_hand().into_iter().map(String::from).collect())
}

/// Agents of the registry in the working directory.
pub(super) fn checked_out() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let usual = Path::new("registry");
        let items = fs::read_dir(if usual.is_dir() { usual } else { Path::new(".") });
        let items = items.into_iter().flatten().flatten().filter(|item| item.path().join("agent.json").is_file());
        let mut ids: Vec<String> = items.filter_map(|item| item.file_name().into_string().ok()).collect();
        ids.sort_unstable();
        words(ids)
    })
}

/// Names of folders, but none that a shell could take for anything else than a word.
fn words(names: Vec<String>) -> Vec<CompletionCandidate> {
    names.into_iter().filter(|name| AgentId::is_valid(name)).map(CompletionCandidate::new).collect()
}

/// Rules.
pub(super) fn rules() -> ArgValueCandidates {
    ArgValueCandidates::new(|| RULES.iter().map(|rule| with_help(rule.name, rule.summary)).collect())
}

/// Rules, and checks of agents.
pub(super) fn explained() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let rules = RULES.iter().map(|rule| with_help(rule.name, rule.summary));
        rules.chain(CHECKS.iter().map(|check| with_help(check.id, check.summary))).collect()
    })
}

/// Platforms.
pub(super) fn platforms() -> ArgValueCandidates {
    ArgValueCandidates::new(|| Platform::ALL.iter().map(|platform| platform.as_str().into()).collect())
}
