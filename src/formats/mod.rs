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

pub(crate) mod equal_findings;
pub(crate) mod examination;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod outcome;
pub(crate) mod sarif;

use std::time::Duration;

use acp_registry::check::Checked;
use acp_registry::failure::Failure;
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

    /// Renders the findings for people, without the summary line.
    pub(crate) fn findings(&self) -> String {
        human::findings(self)
    }
}
