//! REPORT: renders findings and outcomes as text. One file per format. Renderers do not decide what is an error.
//!
//! | format | for | escapes |
//! |---|---|---|
//! | [`Format::Human`] | a terminal | control, bidirectional and zero-width characters |
//! | [`Format::Json`], [`documents`] | programs | everything outside ASCII |
//! | [`Format::Sarif`] | code scanning | everything outside ASCII, file names as URIs |
//! | [`Format::Github`] | annotations of GitHub Actions | text that would begin another workflow command |
//! | [`Format::Junit`] | test reports | everything that XML or a terminal could misread |
//! | [`Format::Markdown`] | a comment on a pull request | nothing: text that is not plain prose is put in code spans |
//!
//! [`outcome`] and [`examination`] are what several formats say of a handshake and of an examination.

pub(crate) mod examination;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod outcome;
pub(crate) mod sarif;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use acp_registry::check::{CheckOutcome, Checked};
use acp_registry::failure::Failure;
use acp_registry::finding::{Finding, Level};
use acp_registry::text::plural;
use clap::ValueEnum;

use crate::terminal::layout::Look;

/// The form of a result. JUnit is for test reports, SARIF for code scanning, GitHub for annotations of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
    Sarif,
    Junit,
    Markdown,
    Github,
}

/// The path of a file within the repository, from that of the registry directory. A configuration may be outside of it.
fn path_within(mut prefix: &str, mut file: &str) -> String {
    while let (Some(above), Some(rest)) = (prefix.strip_suffix('/'), file.strip_prefix("../")) {
        prefix = above.rfind('/').map_or("", |at| &above[..=at]);
        file = rest;
    }
    format!("{prefix}{file}")
}

/// The results of `validate`, and what renderers need to show them.
pub(crate) struct Report<'a> {
    /// The findings, and the status of each agent.
    pub(crate) checked: &'a Checked,
    /// How long the run took.
    pub(crate) duration: Duration,
    /// Returns the text of a file of the registry, for the source lines in the report for people.
    pub(crate) text: &'a dyn Fn(&str) -> Option<&'a str>,
    /// Path of the registry directory within the repository, ending in `/`; empty if the registry is the repository.
    pub(crate) prefix: &'a str,
    /// Colours and width of the output for people.
    pub(crate) look: Look,
    /// Why some of the work could not be done, for the JSON document.
    pub(crate) failure: Option<Failure>,
}

/// How many agents were checked, and what was found, in one line.
fn summary(checked: &Checked) -> String {
    format!(
        "{} checked: {}, {}",
        plural(checked.agents.len() - checked.count_agents(CheckOutcome::Skipped), "agent"),
        plural(checked.count(Level::Error), "error"),
        plural(checked.count(Level::Warning), "warning"),
    )
}

impl Report<'_> {
    /// Renders the report. The text is empty or ends with a newline.
    pub(crate) fn render(&self, format: Format) -> String {
        match format {
            Format::Human => human::render(self),
            Format::Json => json::render(self),
            Format::Sarif => sarif::render(self),
            Format::Github => github::render(self),
            Format::Junit => junit::render(self),
            Format::Markdown => markdown::render(self),
        }
    }
}

/// The largest group whose findings are all shown.
const SINGLE: usize = 3;

/// What equal findings have in common: rule, level, message and help.
type FindingKey<'a> = (&'a str, Level, Cow<'a, str>, Option<String>);

fn key(finding: &Finding) -> FindingKey<'_> {
    // A broken network is one problem, whatever the URLs are; so is a wrong tag, whatever the files are.
    let has_names = ["url/", "github/"].iter().any(|group| finding.rule.starts_with(group));
    let message: Cow<'_, str> = if has_names {
        finding.message.split('`').step_by(2).collect::<Vec<_>>().join("`").into()
    } else {
        finding.message.as_str().into()
    };
    (finding.rule, finding.level, message, finding.help.clone())
}

/// Groups equal findings, within one file or across files. Groups of up to three are left out, since their findings are
/// shown one by one.
pub(crate) fn equal<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> BTreeMap<FindingKey<'a>, Vec<&'a Finding>> {
    let mut groups: BTreeMap<FindingKey<'_>, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        groups.entry(key(finding)).or_default().push(finding);
    }
    groups.retain(|_, group| group.len() > SINGLE);
    groups
}

/// The findings that are shown together with this one; `None` if it is shown with another.
pub(crate) fn others<'a, 'b>(
    finding: &'a Finding,
    equal: &'b BTreeMap<FindingKey<'a>, Vec<&'a Finding>>,
) -> Option<&'b [&'a Finding]> {
    match equal.get(&key(finding)).map(Vec::as_slice) {
        Some([first, others @ ..]) => std::ptr::eq(*first, finding).then_some(others),
        _ => Some(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_findings_of_one_file_are_one_group() {
        let finding = |file: &str, message: String| Finding {
            rule: "github/asset-not-found",
            level: Level::Error,
            agent: Some("a".to_owned()),
            file: file.to_owned(),
            span: None,
            pointer: None,
            message,
            help: Some("correct the tag".into()),
            fix: None,
        };
        let missing = |name: &str| finding("a/agent.json", format!("the release `v1` has no file `{name}`"));
        let mut findings: Vec<Finding> = ["w", "x", "y", "z"].map(missing).to_vec();
        assert_eq!(equal(&findings).values().map(Vec::len).collect::<Vec<_>>(), [4]);
        findings[0].help = None;
        assert!(equal(&findings).is_empty());
    }
}
