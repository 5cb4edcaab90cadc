//! Counts the keys and values of a TOML text before it is parsed: the parser takes up to a hundred times the size of
//! the text.

/// How many keys, values and tables a text has at most, by the signs outside strings and comments.
pub(super) fn signs(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = match byte {
            b'"' | b'\'' => behind_string(byte, behind),
            b'#' => &behind[length_of_line(behind)..],
            _ => {
                count += usize::from(b"=,[{".contains(&byte));
                behind
            }
        };
    }
    count
}

/// What follows a string whose first quote was read.
fn behind_string(quote: u8, text: &[u8]) -> &[u8] {
    let has_escapes = quote == b'"';
    let long = [quote; 3];
    // Two quotes and no third are an empty string.
    if text.first() == Some(&quote) && text.get(1) != Some(&quote) {
        return &text[1..];
    }
    let is_long = text.starts_with(&long[1..]);
    // A string without an end ends with its line, unless it is a multi-line string.
    let end = if is_long { &long[..] } else { &long[..1] };
    let mut at = if is_long { 2 } else { 0 };
    while at < text.len() {
        match text[at] {
            b'\\' if has_escapes => at += 2,
            b'\n' if !is_long => return &text[at..],
            _ if text[at..].starts_with(end) => return &text[at + end.len()..],
            _ => at += 1,
        }
    }
    &[]
}

fn length_of_line(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_count_outside_strings_and_comments() {
        for (text, expected) in [
            ("", 0),
            ("a = 1\nb = [1, 2]\n", 4),
            ("[a]\nb = {c = 1}", 4),
            ("a = \"=,[{\" # =,[{\nb = 1", 2),
            ("a = '=,[{\\'\nb = 1", 2),
            ("a = \"\\\"=\\\\\"\nb = ''\nc = \"\"", 3),
            ("a = '''\n=,'\n'',[{\n'''\nb = 1", 2),
            ("a = \"\"\"\n=\\\"\"\",\"\"\"\nb = 1", 2),
            ("a = \"=\n=", 2),
            ("a = '''=", 1),
            ("a = \"\\", 1),
        ] {
            assert_eq!(signs(text), expected, "{text}");
        }
    }
}
