//! Completion candidates for arguments. They come from data on this machine: no request is sent, and nothing is printed.

use std::path::Path;

use acp_registry::check::RULES;
use acp_registry::examination::CHECKS;
use acp_registry::manifest::AgentId;
use acp_registry::registry::agent_folders;
use acp_registry::text::shown;
use clap_complete::{ArgValueCandidates, CompletionCandidate};

use crate::flags::session;

/// The longest description of a candidate, in Unicode scalar values.
const HELP: usize = 80;

fn with_help(word: &str, help: &str) -> CompletionCandidate {
    let help = shown(help, HELP);
    CompletionCandidate::new(word.to_owned()).help((!help.is_empty()).then(|| help.into()))
}

/// The agents in the cached index, or the installed ones if there is no cached index.
pub(crate) fn offered() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some(index) = session::index_at_hand() else { return installed_ids() };
        let candidates = index.entries().map(|entry| with_help(&entry.id, &entry.description)).collect();
        // The process is about to exit: freeing a large index takes time.
        std::mem::forget(index);
        candidates
    })
}

/// The installed agents.
pub(crate) fn installed() -> ArgValueCandidates {
    ArgValueCandidates::new(installed_ids)
}

fn installed_ids() -> Vec<CompletionCandidate> {
    words(session::installed_at_hand().into_iter().map(String::from).collect())
}

/// The agents of the registry in the working directory.
pub(crate) fn checked_out() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let usual = Path::new("registry");
        let folders = agent_folders(if usual.is_dir() { usual } else { Path::new(".") });
        let mut ids: Vec<String> = folders.filter_map(|name| name.into_string().ok()).collect();
        ids.sort_unstable();
        words(ids)
    })
}

/// Folder names as candidates. Names that are not valid ids are left out, since a shell could interpret them.
fn words(names: Vec<String>) -> Vec<CompletionCandidate> {
    names.into_iter().filter(|name| AgentId::is_valid(name)).map(CompletionCandidate::new).collect()
}

/// The rules of `validate`.
pub(crate) fn rules() -> ArgValueCandidates {
    ArgValueCandidates::new(|| RULES.iter().map(|rule| with_help(rule.name, rule.summary)).collect())
}

/// The rules of `validate` and the checks of agents.
pub(crate) fn explained() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let rules = RULES.iter().map(|rule| with_help(rule.name, rule.summary));
        rules.chain(CHECKS.iter().map(|check| with_help(check.id, check.summary))).collect()
    })
}
