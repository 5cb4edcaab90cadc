//! REPORT: renders findings and outcomes as text. One file per format. Renderers do not decide what is an error.
//!
//! | format | for | escapes |
//! |---|---|---|
//! | [`Format::Human`] | a terminal | control, bidirectional and zero-width characters |
//! | [`Format::Json`], [`documents`] | programs | everything outside ASCII |
//! | [`Format::Sarif`] | code scanning | everything outside ASCII, file names as URIs |
//! | [`Format::Github`] | annotations of GitHub Actions | text that would begin another workflow command |
//! | [`junit_by_level`], [`junit_by_agent`] | test reports of examinations | everything that XML or a terminal could misread |
//! | [`Format::Markdown`] | a comment on a pull request | nothing: text that is not plain prose is put in code spans |

pub(crate) mod equal_findings;
pub(crate) mod examination;
pub(crate) mod github;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod outcome;
pub(crate) mod sarif;

use std::str::FromStr;
use std::time::Duration;

use acp_registry::check::Checked;
use acp_registry::failure::Failure;

use crate::terminal::layout::Look;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
    Sarif,
    Github,
    Markdown,
}

impl Format {
    /// All formats, by name.
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("human", Self::Human),
        ("json", Self::Json),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
    ];
}

/// The name of an unknown format was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no such format; known are human, json, sarif, github and markdown")]
pub(crate) struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format).ok_or(UnknownFormat)
    }
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
            Format::Markdown => markdown::render(self),
        }
    }

    /// Renders the findings for people, without the summary line.
    pub(crate) fn findings(&self) -> String {
        human::findings(self)
    }
}
