//! Members of a package that go beyond the public form of a manifest. Clients that know only that form do not read them, so
//! that a view publishes them only when its configuration says so.

use crate::timestamp::date;

/// Names the command of a package that is started; without it, the package runner chooses.
pub const COMMAND: &str = "command";

/// Names the last day whose releases uv may take: what a package needs is installed as it was then. A pin whose
/// dependencies have moved on works again with it.
pub const EXCLUDE_NEWER: &str = "exclude_newer";

/// Whether a text can be the command of a package: no option, no path, nothing that a shell or a runner reads otherwise.
#[must_use]
pub fn is_command(text: &str) -> bool {
    text.len() <= 214
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// The last second of a day, `YYYY-MM-DD`, as uv reads it: a day alone would end at another time in each time zone. `None`
/// for a text that is not a day of the calendar.
#[must_use]
pub fn end_of_day(day: &str) -> Option<String> {
    date(day).map(|_| format!("{day}T23:59:59Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_plain_name() {
        for name in ["someagent", "some-agent", "_x", "a.b", "7z"] {
            assert!(is_command(name), "{name}");
        }
        for name in ["", "-c", "a b", "a/b", "..", ".a", "a\\b", "a;b", "a@1", "ä", "$(a)"] {
            assert!(!is_command(name), "{name}");
        }
    }

    #[test]
    fn a_day_ends_at_the_same_time_everywhere() {
        assert_eq!(end_of_day("2026-02-28").as_deref(), Some("2026-02-28T23:59:59Z"));
        for text in ["2026-02-30", "2026-2-3", "+2026-02-01", "26-02-01", "2026-02-01T00:00:00Z", "tomorrow", ""] {
            assert_eq!(end_of_day(text), None, "{text}");
        }
    }
}
