//! `PowerShell`.

use acp_registry_plan::manifest::env_name::is_portable;
use acp_registry_plan::text::is_hidden;

/// Characters that end a quoted string besides the straight apostrophe.
const APOSTROPHES: [char; 4] = ['\u{2018}', '\u{2019}', '\u{201A}', '\u{201B}'];

/// A string literal, in which nothing is expanded; `None` for text with hidden characters, or with quotation marks,
/// which older versions do not pass on to programs.
#[must_use]
pub fn string(text: &str) -> Option<String> {
    if text.contains(|c| c == '"' || is_hidden(c)) {
        return None;
    }
    let mut out = String::from("'");
    for c in text.chars() {
        if c == '\'' || APOSTROPHES.contains(&c) {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
    Some(out)
}

/// One argument, without quotes where they are not needed.
fn argument(text: &str) -> Option<String> {
    // A leading dash with a colon or dot in it would be split in two.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { Some(text.to_owned()) } else { string(text) }
}

/// A command with its variables; `None` where a part has no literal.
#[must_use]
pub fn command<'a>(env: &[(String, String)], program: &str, args: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut out = String::new();
    for (key, value) in env {
        if !is_portable(key) {
            return None;
        }
        out.push_str(&format!("$env:{key} = {}; ", string(value)?));
    }
    let bare = argument(program)?;
    out.push_str(&if bare == program { bare } else { format!("& {bare}") });
    for arg in args {
        out.push(' ');
        out.push_str(&argument(arg)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_string_is_expanded_or_ends_it() {
        assert_eq!(string("$x `n").as_deref(), Some("'$x `n'"));
        assert_eq!(string("it's ‘q’").as_deref(), Some("'it''s ‘‘q’’'"));
        assert_eq!(string("a\nb"), None);
        assert_eq!(string("a\"b"), None);
    }

    #[test]
    fn commands_quote_what_would_be_syntax() {
        let env = [("KEY".to_owned(), "v 1".to_owned())];
        assert_eq!(
            command(&env, "npx", ["-y", "@a/b@1.0", "--acp", "--x=1"]).as_deref(),
            Some("$env:KEY = 'v 1'; npx -y '@a/b@1.0' --acp '--x=1'")
        );
        assert_eq!(command(&[], "./a b.exe", ["acp"]).as_deref(), Some("& './a b.exe' acp"));
        assert_eq!(command(&[("a b".to_owned(), String::new())], "x", []), None);
    }
}
