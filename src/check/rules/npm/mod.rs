//! Rules about what the npm registry says of a package.

pub(super) mod ambiguous_bin;
pub(super) mod deprecated;
pub(super) mod missing_integrity;
pub(super) mod version_not_found;

use crate::survey::Survey;
use crate::upstream::npm::Packument;

/// For examples: the registry has `example` with one version, whose entry has these members.
fn example(survey: &mut Survey, version: &str, members: &str) {
    let text = format!("{{\"dist-tags\":{{\"latest\":\"{version}\"}},\"versions\":{{\"{version}\":{{{members}}}}}}}");
    survey.npm.insert("example".to_owned(), Ok(Packument::parse(text.as_bytes()).ok()));
}
