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

mod age;
mod alike;
mod build;
mod bump;
mod diff;
mod doctor;
pub mod documents;
mod equal;
mod examination;
mod github;
mod human;
mod init;
mod input;
mod json;
mod layout;
mod login;
mod markdown;
mod merge;
mod new;
mod notes;
mod outcome;
mod publish;
mod remedy;
mod sarif;
mod snapshots;
mod table;
mod terminal;
mod verify;

use std::str::FromStr;
use std::time::Duration;

pub use self::age::age;
pub use self::alike::{Shown, alike};
pub use self::build::{BuildNotice, BuildReport, build_errors, build_notices};
pub use self::bump::BumpReport;
pub use self::diff::{diff, diff_human, diff_markdown};
pub use self::doctor::doctor;
pub use self::examination::{Examinee, file_of_command, junit_by_agent, junit_by_level, sarif as examination_sarif};
pub use self::init::InitReport;
pub use self::input::{INPUT_LIMIT, Input, InputError, Verified, verified_markdown};
pub use self::layout::Look;
pub use self::login::{login, method};
pub use self::merge::{merged, merged_document};
pub use self::new::{NewReport, ways};
pub use self::notes::{examination_notes, handshake_notes};
pub use self::outcome::outcome;
pub use self::publish::{published, published_human};
pub use self::remedy::{in_words, remedy};
pub use self::snapshots::{pruned, pruned_human, rolled_back, rolled_back_human, snapshots, snapshots_human};
pub use self::table::{Columns, Last, bytes, table, total};
pub use self::terminal::terminal;
pub use self::verify::{nothing_to_verify, verified_one, verify, verify_document, verify_markdown};
use acp_registry_gate::check::Checked;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table above says what each is for")]
pub enum Format {
    Human,
    Json,
    Sarif,
    Github,
    Markdown,
}

impl Format {
    /// All formats, by name.
    pub const ALL: [(&'static str, Self); 5] = [
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
pub struct UnknownFormat;

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format).ok_or(UnknownFormat)
    }
}

/// The results of `validate`, and what renderers need to show them.
pub struct Report<'a> {
    /// The findings, and the status of each agent.
    pub checked: &'a Checked,
    /// How long the run took.
    pub duration: Duration,
    /// Returns the text of a file of the registry, for the source lines in the report for people.
    pub text: &'a dyn Fn(&str) -> Option<&'a str>,
    /// Path of the registry directory within the repository, ending in `/`; empty if the registry is the repository.
    pub prefix: &'a str,
    /// Colours and width of the output for people.
    pub look: Look,
    /// Why some of the work could not be done, for the JSON document.
    pub failure: Option<documents::Error>,
}

impl Report<'_> {
    /// Renders the report. The text is empty or ends with a newline.
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Human => human::render(self),
            Format::Json => json::render(self),
            Format::Sarif => sarif::render(self),
            Format::Github => github::render(self),
            Format::Markdown => markdown::render(self),
        }
    }

    /// Renders the findings for people, without the summary line.
    #[must_use]
    pub fn findings(&self) -> String {
        human::findings(self)
    }
}

/// Formats a number with its noun: `1 agent`, `2 agents`.
#[must_use]
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
