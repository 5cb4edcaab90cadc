//! Rules about npm packages.

pub(super) mod ambiguous_bin;
pub(super) mod command_not_found;
pub(super) mod deprecated;
pub(super) mod missing_integrity;
pub(super) mod version_not_found;

use std::sync::Arc;

use crate::survey::Survey;
use acp_registry_sources::npm::Packument;

/// For examples: adds the npm package `example` with one version, whose entry has these members.
fn example(survey: &mut Survey, version: &str, members: &str) {
    let text = format!("{{\"dist-tags\":{{\"latest\":\"{version}\"}},\"versions\":{{\"{version}\":{{{members}}}}}}}");
    let packument = Packument::parse(text.as_bytes(), "example").ok();
    survey.npm.insert("example".to_owned(), Ok(packument.map(Arc::new)));
}
