//! Members of a package beyond the public format of manifests. Clients that support only that format ignore them, so a
//! view publishes them only if its configuration says so.

use crate::timestamp::date;

/// The command of the package to start. Without it, the package runner chooses.
pub const COMMAND: &str = "command";

/// The last day whose releases uv may use: dependencies are installed as of that day. It repairs a pin whose
/// dependencies have changed incompatibly since.
pub const EXCLUDE_NEWER: &str = "exclude_newer";

/// Whether a text can be the command of a package: not an option or a path, and nothing that a shell or runner
/// interprets.
#[must_use]
pub fn is_command(text: &str) -> bool {
    text.len() <= 214
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// The last second of a day, `YYYY-MM-DD`, in the format of uv, since a day alone would end at another time in each
/// time zone. `None` if the text is not a valid date.
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
