//! How names look to a reader: which of them are easily taken for each other.

use std::sync::LazyLock;

use acp_registry_plan::text::is_hidden;
use icu_normalizer::DecomposingNormalizerBorrowed;
use unicode_script::Script;
use unicode_security::skeleton;

/// Words with which a name claims that it was examined, in lower case.
const BADGES: [&str; 10] = [
    "approved", "authentic", "authorised", "authorized", "certified", "endorsed", "genuine", "official", "trusted",
    "verified",
];

/// The letters of these words as they look.
static BADGE_LETTERS: LazyLock<[String; BADGES.len()]> = LazyLock::new(|| BADGES.map(letters));

/// Check marks, and signs that services put beside the names of examined accounts.
const MARKS: &[char] =
    &['√', '☑', '✅', '✓', '✔', '⚜', '🎖', '🏅', '🏆', '🔰', '🗸', '🗹', '🛡', '🥇', '\u{1F196}', '\u{1F197}'];

/// A text by its look: without case, spaces, hyphens, pictures and [badges](badge), with one letter for all that look
/// like it (Unicode's confusables, UTS 39).
///
/// Five characters depend on their neighbours, and keep their case: `1`, `I`, `l`, `L` and `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look(String);

impl Look {
    pub(super) fn new(text: &str) -> Self {
        let plain = decomposed(text);
        let words: Vec<String> = words(&plain).map(letters).filter(|word| !word.is_empty()).collect();
        let is_badge = |word: &&String| BADGE_LETTERS.contains(word);
        let named: String = words.iter().filter(|word| !is_badge(word)).map(String::as_str).collect();
        let look = if named.is_empty() { words.concat() } else { named };
        Self(look.replace("vv", "w"))
    }

    /// The same text for all looks that [`Look::is_like`] may compare as equal.
    pub(super) fn key(&self) -> String {
        self.0.replace(['I', 'L', 'i', 'l'], "1")
    }

    /// Whether two texts can be taken for each other.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.is_like_letters(&other.0)
    }

    fn is_like_letters(&self, other: &str) -> bool {
        let is_like = |(one, other): (char, char)| match (one, other) {
            ('1', 'I' | 'L' | 'i' | 'l')
            | ('I', '1' | 'i' | 'l')
            | ('L', '1' | 'l')
            | ('i', '1' | 'I')
            | ('l', '1' | 'I' | 'L') => true,
            _ => one == other,
        };
        // Letters that are like each other have the same length.
        !self.0.is_empty() && self.0.len() == other.len() && self.0.chars().zip(other.chars()).all(is_like)
    }
}

/// The first word or mark of a name that claims an examination.
pub(super) fn badge(text: &str) -> Option<&str> {
    let marks = || text.char_indices().find(|(_, c)| MARKS.contains(c)).map(|(at, c)| &text[at..at + c.len_utf8()]);
    let is_badge = |word: &&str| {
        let look = Look(letters(&decomposed(word)));
        BADGE_LETTERS.iter().any(|badge| look.is_like_letters(badge))
    };
    words(text).find(is_badge).or_else(marks)
}

/// The ASCII word that a word without Latin letters looks like, or that its letters are variants of.
pub(super) fn look_alike(word: &str) -> Option<String> {
    let plain = decomposed(word);
    // Latin letters that English lacks, such as `ı`, are what they are.
    let is_latin = |c: char| !c.is_ascii() && Script::from(c) == Script::Latin;
    let looks = if plain.is_ascii() || plain.chars().any(is_latin) { plain } else { skeleton(&plain).collect() };
    (looks.len() > 1 && looks.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(looks)
}

/// The compatibility decomposition, without signs of trade marks, which it would turn into letters.
fn decomposed(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let text: String = text.chars().filter(|c| !['™', '℠', '©', '®'].contains(c)).map(boxed).collect();
    DecomposingNormalizerBorrowed::new_nfkd().normalize(&text).into_owned()
}

/// The letter in a white box or circle, and that of a flag, which have no decomposition.
fn boxed(c: char) -> char {
    let place = match u32::from(c) {
        code @ 0x1F150..=0x1F169 => code - 0x1F150,
        code @ 0x1F170..=0x1F189 => code - 0x1F170,
        code @ 0x1F1E6..=0x1F1FF => code - 0x1F1E6,
        _ => return c,
    };
    char::from_u32(u32::from('A') + place).unwrap_or(c)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(separates).filter(|word| !word.is_empty())
}

/// Whether a character stands between words, or shows no letter: spaces, hyphens, brackets, arrows, dingbats and pictures.
fn separates(c: char) -> bool {
    c.is_whitespace()
        || is_hidden(c)
        || matches!(c, '-' | '_' | '.' | ',' | ';' | ':' | '!' | '*' | '\'' | '"' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '\u{2010}'..='\u{2015}' | '\u{2190}'..='\u{2BFF}' | '\u{FE0E}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}')
}

/// The letters of a word as they look.
fn letters(word: &str) -> String {
    /// Most names are ASCII, for which the search of the table is spared.
    static ASCII: LazyLock<[String; 128]> = LazyLock::new(|| {
        std::array::from_fn(|code| char::from(u8::try_from(code).unwrap_or_default()).to_string())
            .map(|c| looked_up(&c))
    });
    if word.is_ascii() {
        return word.bytes().map(|byte| ASCII[usize::from(byte)].as_str()).collect();
    }
    looked_up(word)
}

fn looked_up(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match c {
            '1' | '|' => out.push('1'),
            'I' | 'L' | 'i' | 'l' => out.push(c),
            _ => {
                let folded = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
                let lower: String = skeleton(c.encode_utf8(&mut [0; 4])).flat_map(folded).collect();
                // What looks like `l` and is another character may be meant as `I`.
                out.extend(skeleton(&lower).flat_map(folded).map(|c| if c == 'l' { '1' } else { c }));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_the_same_is_found_under_one_key() {
        let name = Look::new("Claude Code");
        for other in [
            "Claude Code",
            "claude code",
            "CLAUDE CODE",
            "CIaude Code",
            "C1aude C0de",
            "С\u{43b}аudе Соdе".replace('\u{43b}', "l").as_str(),
            "Claude\u{a0}Code",
            "Claude\u{2003}Code",
            "Claude\u{2800}Code",
            "Claude  Code ",
            "Claude\u{2011}Code",
            "ClaudeCode",
            "claude_code",
            "𝐂𝐥𝐚𝐮𝐝𝐞 𝒞ℴ𝒹ℯ",
            "Ｃｌａｕｄｅ Ｃｏｄｅ",
            "Ⓒⓛⓐⓤⓓⓔ Ⓒⓞⓓⓔ",
            "🅒laude 🅲ode",
            "Claude Code ✓ Verified",
            "Official Claude Code™",
            "Claude Code 🚀",
            "Claude\u{200b} Code",
            "ᏟⅬaude Code",
        ] {
            let look = Look::new(other);
            assert!(
                look.is_like(&name) && name.is_like(&look) && look.key() == name.key(),
                "{other}: {look:?} {name:?}"
            );
        }
        for (one, other) in [
            ("Cline", "CL1NE"),
            ("Mistral", "rnistral"),
            ("OpenAI", "OpenAl"),
            ("Qwen", "Qvven"),
            ("Straße", "STRASSE"),
        ] {
            assert!(Look::new(one).is_like(&Look::new(other)), "{one} {other}");
        }
    }

    #[test]
    fn what_reads_differently_is_not_alike() {
        for (one, other) in [
            ("Claude Code", "Claude Coder"),
            ("Mail Agent", "Mall Agent"),
            ("PI Agent", "PL Agent"),
            ("Kimi CLI", "Kimi Code"),
            ("C Agent", "C++ Agent"),
            ("Agent 1", "Agent 2"),
            ("Ångström", "Angstrom"),
            ("日本", "日木"),
            ("✓", "✅"),
            ("", ""),
        ] {
            assert!(!Look::new(one).is_like(&Look::new(other)), "{one} {other}");
        }
        assert!(Look::new("Official").is_like(&Look::new("official")));
    }

    #[test]
    fn badges_are_words_or_marks() {
        for (text, found) in [
            ("Claude Code ✓", Some("✓")),
            ("Claude Code (verified)", Some("verified")),
            ("Claude Code [Official!]", Some("Official")),
            ("VERIFIED Agent", Some("VERIFIED")),
            ("agent-officia1", Some("officia1")),
            ("Unofficial Agent", None),
            ("Agent", None),
        ] {
            assert_eq!(badge(text), found, "{text}");
        }
    }
}
