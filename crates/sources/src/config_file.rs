//! Parses the lines of `.npmrc` and `pip.conf`.

/// A setting: its section, key and value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) section: String,
    pub(super) key: String,
    pub(super) value: String,
}

/// Parses `key = value` lines below `[section]` lines. Comment lines begin with `#` or `;`; values may be quoted.
pub(super) fn settings(text: &str) -> Vec<Setting> {
    let mut section = String::new();
    let mut settings = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.trim().clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once('=') {
            settings.push(Setting {
                section: section.clone(),
                key: key.trim().to_owned(),
                value: unquoted(value.trim()).to_owned(),
            });
        }
    }
    settings
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

/// Replaces `${NAME}` with the variable's value. As in npm, unset variables are kept as written.
pub(super) fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, behind)) = from.split_once('}') else {
            out.push_str("${");
            rest = from;
            continue;
        };
        // In npm, `${NAME?}` is a variable that may be unset.
        match variable(name.trim_end_matches('?')) {
            Some(value) => out.push_str(&value),
            None if name.ends_with('?') => {}
            None => out.push_str(&format!("${{{name}}}")),
        }
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_the_package_managers_do() {
        let text =
            "\u{feff}; c\n# c = d\nplain=1\n [global] \nindex-url = \"https://h.example/s?a=b\"\nno setting\nq='x'\n";
        let read: Vec<_> = settings(text).into_iter().map(|s| (s.section, s.key, s.value)).collect();
        let expected = [("", "plain", "1"), ("global", "index-url", "https://h.example/s?a=b"), ("global", "q", "x")];
        assert_eq!(read, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn variables_are_filled_in_once() {
        let variable = |name: &str| (name == "A").then(|| "${A}".to_owned());
        for (text, expected) in
            [("x${A}y", "x${A}y"), ("${B}", "${B}"), ("${B?}z", "z"), ("${A", "${A"), ("$A", "$A"), ("", "")]
        {
            assert_eq!(expanded(text, &variable), expected);
        }
    }
}
