//! Describes how agents are started, for people and for JSON documents.

use acp_registry::index::Index;
use acp_registry::resolve::Plan;
use acp_registry::session::Session;
use acp_registry::store::{self, Version};

use crate::documents::Launch;
use crate::terminal::age;
use acp_registry::failure::Failure;

/// Describes how an installed version is started.
pub(crate) fn installed(version: &Version, session: &Session) -> Result<Launch, Failure> {
    let launch = session.launch(version)?;
    let path = session.more_path(&launch);
    Ok(version.document(launch, path))
}

/// Describes how the version of a plan is started, or would be if it were installed.
pub(crate) fn planned(plan: &Plan, session: &Session) -> Result<Launch, Failure> {
    let store = &session.store;
    store.refuse_changed(plan)?;
    if let Some(mut version) = store.installed(plan)? {
        version.receipt.follow(plan);
        return installed(&version, session);
    }
    Ok(store.document(plan))
}

/// The age of the index, for people. If the clock was set back, the age is zero.
pub(crate) fn age(index: &Index) -> Option<String> {
    let age = age::age(index.origin.fetched_at?.elapsed().unwrap_or_default());
    Some(if index.origin.is_stale { format!("{age}, and there may be a newer one") } else { age })
}

/// A command line that can be read, and pasted into a shell.
pub(crate) fn command_line(launch: &store::Launch) -> String {
    let variables = launch.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let program = quoted(&launch.program.to_string_lossy());
    variables.chain([program, words(&launch.args)]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Arguments as they are written in a shell.
pub(crate) fn words(arguments: &[String]) -> String {
    arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
