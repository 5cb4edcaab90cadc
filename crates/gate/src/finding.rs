//! Findings: rules create them, renderers print them.

use std::fmt;

use acp_registry_plan::position::{Edit, Span};
use serde::de::{Deserialize, Deserializer, Error as _};

/// The severity of a finding, or of a rule.
///
/// `registry.toml` also takes the words of the flags: `allow`, `warn` and `deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The rule does not run.
    Off,
    /// Reported; does not change the exit code.
    Warning,
    /// Reported; the command exits with code 1.
    Error,
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Messages offer the words of reports only.
        match String::deserialize(deserializer)?.as_str() {
            "off" | "allow" => Ok(Self::Off),
            "warning" | "warn" => Ok(Self::Warning),
            "error" | "deny" => Ok(Self::Error),
            other => Err(D::Error::unknown_variant(other, &["error", "warning", "off"])),
        }
    }
}

impl Level {
    /// The word used in every output format: `off`, `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
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

/// One problem, and its place.
///
/// `message` and `help` never contain control, bidirectional or zero-width characters, even if the checked file does.
/// `file`, `agent` and `pointer` are not escaped: renderers must escape them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule, such as `icon/size`.
    pub rule: &'static str,
    /// [`Level::Warning`] or [`Level::Error`].
    pub level: Level,
    /// Folder name of the agent; `None` for findings about the whole registry.
    pub agent: Option<String>,
    /// Path relative to the registry directory, with `/` as the separator.
    pub file: String,
    /// Position in the file; `None` if the finding is about the whole file.
    pub span: Option<Span>,
    /// JSON pointer (RFC 6901) of the value; only set in findings about manifests.
    pub pointer: Option<String>,
    /// What is wrong: a sentence fragment without a full stop.
    pub message: String,
    /// How to fix it, as text.
    pub help: Option<String>,
    /// How to fix it, as an edit that `--fix` can apply.
    pub fix: Option<Edit>,
}

impl Finding {
    /// The sort key of all reports: file, position, rule, message.
    pub(crate) fn sort_key(&self) -> impl Ord + '_ {
        (self.file.as_str(), self.span, self.rule, self.message.as_str())
    }
}
