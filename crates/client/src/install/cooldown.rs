//! A version that a cooldown holds back: by which setting, and until when. npm and uv decide and are asked.

use std::fmt;

use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;

/// A version that npm or uv does not install because it is too new for a setting.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeldBack {
    /// The package that was to be installed, with its version.
    pub package: String,
    /// The package that is held back, with its version or range: the same one, or one that it needs.
    pub held: String,
    /// The setting, with its value and its place. Printable.
    pub setting: String,
    /// Whether the manifest sets it.
    pub is_of_manifest: bool,
    /// When the version may be installed; `None` when only another setting allows it.
    pub until: Option<Timestamp>,
    /// The newest version of the package that may be installed now, if the package manager says.
    pub newest: Option<String>,
    /// What the package manager wrote to stderr.
    pub stderr: String,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (package, held) = (quote(&self.package), quote(&self.held));
        f.write_str(&package)?;
        if held != package {
            write!(f, " needs {held}, which")?;
        }
        match self.until {
            Some(until) => write!(f, " is held back until {until} by {}", self.setting)?,
            None => write!(f, " is held back by {}, until that setting changes", self.setting)?,
        }
        self.newest.iter().try_for_each(|newest| write!(f, "; the newest version that is allowed is {newest}"))
    }
}

/// A setting that holds versions back.
#[derive(Debug, Default)]
pub(super) struct Setting {
    /// Its name, value and place. Printable.
    pub(super) text: String,
    pub(super) value: String,
    pub(super) is_of_manifest: bool,
}

/// The time that is this much later.
#[expect(clippy::cast_possible_truncation, reason = "what is too large is no time")]
pub(super) fn later(time: Timestamp, seconds: f64) -> Option<Timestamp> {
    Timestamp::from_unix(time.unix().checked_add(seconds.ceil() as i64)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_waits_is_said_with_setting_and_time() {
        let mut held = HeldBack {
            package: "p@1.1.0".to_owned(),
            held: "p@1.1.0".to_owned(),
            setting: "`min-release-age=7` in /home/u/.npmrc".to_owned(),
            is_of_manifest: false,
            until: later("2026-11-24T04:43:24Z".parse().unwrap(), 7.0 * 86_400.0),
            newest: Some("1.0.0".to_owned()),
            stderr: String::new(),
        };
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` is held back until 2026-12-01T04:43:24Z by `min-release-age=7` in /home/u/.npmrc; the newest version \
             that is allowed is 1.0.0"
        );
        (held.held, held.until, held.newest) = ("q\u{1b}@^1".to_owned(), None, None);
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` needs `q\\u{1b}@^1`, which is held back by `min-release-age=7` in /home/u/.npmrc, until that setting \
             changes"
        );
    }
}
