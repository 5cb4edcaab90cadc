//! What a check says about a registry: the one type that every rule makes and every renderer reads.

use std::fmt;

use acp_registry_core::source::{Edit, Span};

/// How much a finding weighs, or whether a rule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The rule does not run.
    Allow,
    /// Reported; the command still succeeds.
    Warning,
    /// Reported; the command fails with exit code 1.
    Error,
}

impl Level {
    /// The word used in every output format: `off`, `warning` or `error`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "off",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One thing that is wrong, and where.
///
/// `message` and `help` hold no control, bidirectional or zero-width characters, whatever the checked file holds;
/// `file`, `agent` and `pointer` are the names as they are and must be escaped for the medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule, such as `icon/size`.
    pub rule: &'static str,
    /// [`Level::Warning`] or [`Level::Error`].
    pub level: Level,
    /// Folder name of the agent concerned; `None` for the registry as a whole.
    pub agent: Option<String>,
    /// Path relative to the registry directory, with `/` between its parts.
    pub file: String,
    /// Place in the file; `None` where the file as a whole is meant.
    pub span: Option<Span>,
    /// JSON pointer (RFC 6901) of the value concerned; only for findings about a manifest.
    pub pointer: Option<String>,
    /// What is wrong: a sentence fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The same as a change to the file that a program can make.
    pub fix: Option<Edit>,
}

impl Finding {
    /// The order of every report: file, line, column, rule, and then whatever tells two findings apart.
    #[must_use]
    pub fn sort_key(&self) -> impl Ord + '_ {
        (self.file.as_str(), self.span, self.rule, self.message.as_str())
    }
}
