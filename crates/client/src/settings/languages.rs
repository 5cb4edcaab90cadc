//! The serialisers of languages: the result is one literal or one command, whatever a manifest holds.

use acp_registry_plan::text::is_hidden;

/// A string literal in double quotes, as Emacs Lisp and Lua have it. They differ in how hidden characters are written.
fn write_literal(text: &str, write_hidden: impl Fn(char) -> String) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if is_hidden(c) => out.push_str(&write_hidden(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

pub mod elisp {
    //! Emacs Lisp.

    use super::write_literal;

    /// A string literal. Hidden characters are written by their numbers.
    #[must_use]
    pub fn string(text: &str) -> String {
        write_literal(text, |c| format!("\\U{:08x}", u32::from(c)))
    }

    /// A quoted list of strings.
    #[must_use]
    pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
        let items: Vec<String> = items.into_iter().map(string).collect();
        if items.is_empty() { "nil".to_owned() } else { format!("'({})", items.join(" ")) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn strings_are_escaped() {
            assert_eq!(string("a\"b\\c\nd\u{7}1"), r#""a\"b\\c\nd\U000000071""#);
            assert_eq!(string("\u{202e}a"), r#""\U0000202ea""#);
            assert_eq!(list(["a b", "c"]), r#"'("a b" "c")"#);
            assert_eq!(list([]), "nil");
        }
    }
}

pub mod lua {
    //! Lua, as Neovim reads it.

    use super::write_literal;

    /// A string literal. Every byte is kept; hidden characters are written as decimal bytes.
    #[must_use]
    pub fn string(text: &str) -> String {
        // Three digits, so that a following digit is not read as a part of the number.
        write_literal(text, |c| c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03}")).collect())
    }

    /// A table that lists strings.
    #[must_use]
    pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
        table(items.into_iter().map(string))
    }

    /// A table from strings to strings.
    #[must_use]
    pub fn map(pairs: &[(String, String)]) -> String {
        table(pairs.iter().map(|(key, value)| format!("[{}] = {}", string(key), string(value))))
    }

    /// A table from strings to functions that return strings, for code that interprets plain strings.
    #[must_use]
    pub fn functions(pairs: &[(String, String)]) -> String {
        table(pairs.iter().map(|(key, value)| format!("[{}] = function() return {} end", string(key), string(value))))
    }

    fn table(fields: impl Iterator<Item = String>) -> String {
        let fields: Vec<String> = fields.collect();
        if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn strings_are_escaped() {
            assert_eq!(string("a\"b\\c\nd\u{0}1é"), r#""a\"b\\c\nd\0001é""#);
            assert_eq!(string("\u{202e}"), r#""\226\128\174""#);
            assert_eq!(list(["a", "b"]), r#"{ "a", "b" }"#);
            assert_eq!(map(&[("end".into(), "]]".into())]), r#"{ ["end"] = "]]" }"#);
            assert_eq!(functions(&[("K".into(), "cmd:x".into())]), r#"{ ["K"] = function() return "cmd:x" end }"#);
            assert_eq!((list([]), map(&[])), ("{}".to_owned(), "{}".to_owned()));
        }
    }
}

pub mod powershell {
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
    pub fn command<'a>(
        env: &[(String, String)],
        program: &str,
        args: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
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
}

pub mod shell {
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
        let variables =
            env.iter().map(|(key, value)| is_portable(key).then(|| Some(format!("{key}={}", word(value)?)))?);
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
}
