//! The POSIX shell.

use acp_registry_plan::manifest::env_name::is_portable;
use acp_registry_plan::text::is_hidden;

/// One word of a command; `None` for text with hidden characters, which has no readable form.
#[must_use]
pub fn word(text: &str) -> Option<String> {
    if text.contains(is_hidden) {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Some(text.to_owned());
    }
    Some(format!("'{}'", text.replace('\'', r"'\''")))
}

/// A command with its variables; `None` where a word has no readable form, or a variable's name is not valid.
#[must_use]
pub fn command<'a>(env: &[(String, String)], words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let variables = env.iter().map(|(key, value)| is_portable(key).then(|| Some(format!("{key}={}", word(value)?)))?);
    let parts: Option<Vec<String>> = variables.chain(words.into_iter().map(word)).collect();
    Some(parts?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_they_must_be() {
        for (text, expected) in [
            ("plain/1.0@x", "plain/1.0@x"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x)`y`\\", r"'$(x)`y`\'"),
            ("~", "'~'"),
            ("a=b", "'a=b'"),
        ] {
            assert_eq!(word(text).as_deref(), Some(expected));
        }
        assert_eq!(word("a\nb"), None);
        let env = [("A_1".to_owned(), "x y".to_owned())];
        assert_eq!(command(&env, ["npx", "-y", "p@1"]).as_deref(), Some("A_1='x y' npx -y p@1"));
        assert_eq!(command(&[("A-B".to_owned(), String::new())], ["x"]), None);
    }
}
