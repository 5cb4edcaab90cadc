//! Rules about the registry directory and its files outside the agents' folders.

pub(super) mod config;
pub(super) mod git_files;
pub(super) mod history;
pub(super) mod quarantine;
pub(super) mod revoked;
pub(super) mod revoked_version;
pub(super) mod similar_name;
pub(super) mod snapshot;
pub(super) mod stray_entry;
pub(super) mod unreadable_file;

use crate::check::rules::prelude::*;
use acp_registry_client::registry::Loaded;
use acp_registry_plan::manifest::{Manifest, SyntaxError};

/// Looks at a file of the registry that is JSON, or reports why it cannot be read. `form` is what the file has.
fn check_file<T>(
    file: &str,
    loaded: &Loaded<T>,
    document: impl FnOnce(&T) -> &Manifest,
    form: &str,
    look: impl FnOnce(&T, &mut Reporter<'_>),
    report: &mut Reporter<'_>,
) {
    let about = FindingFile { file, ..FindingFile::default() };
    match loaded {
        Loaded::Missing => {}
        Loaded::Unreadable(error) => report.about(about, |report| {
            report.file(error.to_string()).grave().help("put a regular file that can be read in its place");
        }),
        Loaded::NotUtf8 { text, offset } => report.about(FindingFile { text, ..about }, |report| {
            report.range(*offset..*offset, "not UTF-8").grave().help("save the file as UTF-8");
        }),
        Loaded::Broken(SyntaxError { text, message, help, range }) => {
            report.about(FindingFile { text, ..about }, |report| {
                report.range(range.clone(), format!("not valid JSON: {message}")).grave().help(help.unwrap_or(form));
            });
        }
        Loaded::Present(present) => {
            let document = document(present);
            let about = FindingFile { text: document.text(), manifest: Some(document), ..about };
            report.about(about, |report| look(present, report));
        }
    }
}
