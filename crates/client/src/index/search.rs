//! Ranks agents by search words, for the command `search`. The catalog's script ranks by the same rules:
//! `crates/publish/src/site/assets/search.js`. `tests/fixtures/search.json` has queries and results for both.

use std::cmp::Reverse;

use acp_registry_plan::index::Entry;
use acp_registry_plan::text::shown;
use icu_normalizer::DecomposingNormalizerBorrowed;

/// The number of words of a query that count.
const WORDS: usize = 8;
/// The part of a description that is searched, in Unicode scalar values: what lists of the catalog show.
pub const SUMMARY: usize = 160;
/// The part of the authors that is searched, in Unicode scalar values.
pub const BY: usize = 200;
/// Agents that have only some of the words are results if fewer than this have all.
const FEW: usize = 5;

/// Marks that do not count: accents above, below and through letters, from the first to the last of each block.
pub const MARKS: [(char, char); 4] =
    [('\u{300}', '\u{36F}'), ('\u{1AB0}', '\u{1AFF}'), ('\u{1DC0}', '\u{1DFF}'), ('\u{20D0}', '\u{20FF}')];

/// Characters that have no decomposition, and how they are typed. The catalog publishes both tables for its script.
pub const SPELLINGS: &[(char, &str)] = &[
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('ı', "i"),
    ('ȷ', "j"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ħ', "h"),
    ('ŋ', "n"),
    ('ŧ', "t"),
    ('ĸ', "k"),
    ('ƀ', "b"),
    ('ȼ', "c"),
    ('ɇ', "e"),
    ('ƒ', "f"),
    ('ǥ', "g"),
    ('ɨ', "i"),
    ('ɍ', "r"),
    ('ɏ', "y"),
    ('ƶ', "z"),
    ('ς', "σ"),
    ('‘', "'"),
    ('’', "'"),
    ('‛', "'"),
    ('ʻ', "'"),
    ('ʼ', "'"),
    ('′', "'"),
    ('´', "'"),
    ('‐', "-"),
    ('‑', "-"),
    ('‒', "-"),
    ('–', "-"),
    ('—', "-"),
    ('―', "-"),
    ('−', "-"),
    ('\u{AD}', ""),
];

/// The text in lower case and without accents, as it is typed.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_mark = |c: &char| MARKS.iter().any(|(first, last)| (first..=last).contains(&c));
    let spelled = |text: &str| -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.to_lowercase().chars() {
            match SPELLINGS.iter().find(|(known, _)| *known == c) {
                Some((_, typed)) => out.push_str(typed),
                None => out.push(c),
            }
        }
        out
    };
    // A letter with an accent may have none of these characters before it is decomposed, or none afterwards.
    let plain = DecomposingNormalizerBorrowed::new_nfkd().normalize(&spelled(text)).into_owned();
    spelled(&plain.chars().filter(|c| !is_mark(c)).collect::<String>())
}

/// The authors without their mail addresses.
#[must_use]
pub fn without_addresses(authors: &str) -> String {
    let parts = authors.split('<').enumerate();
    let kept = parts.map(|(at, part)| if at == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) });
    kept.collect::<String>().replace(" ,", ",").trim().to_owned()
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// All words, as in a name.
    words: String,
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    Word(String),
    /// Agents of the class, and those that mention the phrase.
    Class(Class, String),
    /// Every agent has it; those that mention the word come first.
    Editor(String),
}

/// How far an agent has what was searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// It has some of the words.
    Some,
    /// It has all, except that its packages do not state their systems.
    SystemUnknown,
    /// It has all.
    Whole,
}

/// An agent that was found.
#[derive(Debug, Clone, Copy)]
pub struct Hit<'a> {
    /// The agent.
    pub entry: &'a Entry,
    /// How far it has what was searched for.
    pub matched: Match,
}

/// Match, number of terms, weight.
type Rank = (Match, usize, u32);

impl Query {
    /// The words of these texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let words: Vec<String> = texts.into_iter().flat_map(str::split_whitespace).map(fold).take(WORDS).collect();
        let mut terms = Vec::new();
        let mut rest = &words[..];
        while !rest.is_empty() {
            let phrase = |length: usize| meaning(&rest.get(..length)?.join(" ")).map(|meaning| (length, meaning));
            let (length, meaning) = (1..=LONGEST).rev().find_map(phrase).unwrap_or((1, Meaning::Word("")));
            match meaning {
                Meaning::Filler => {}
                Meaning::Word("") => terms.push(Term::Word(rest[0].clone())),
                Meaning::Word(other) => terms.push(Term::Word(other.to_owned())),
                Meaning::Class(class) => terms.push(Term::Class(class, rest[..length].join(" "))),
                Meaning::Editor(..) => terms.push(Term::Editor(rest[..length].join(" "))),
            }
            rest = &rest[length..];
        }
        if terms.is_empty() {
            terms = words.iter().cloned().map(Term::Word).collect();
        }
        Self { words: words.join(" "), terms }
    }

    /// The agents that fit, the best first; equally good ones by name. Agents that have some of the words follow, if few
    /// have all.
    pub fn search<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Hit<'a>> {
        let ranked = entries.into_iter().filter_map(|entry| Some((self.rank(entry)?, entry)));
        let mut ranked: Vec<(Rank, &Entry)> = ranked.collect();
        let whole = ranked.iter().filter(|((matched, ..), _)| *matched != Match::Some).count();
        if whole >= FEW {
            ranked.retain(|((matched, ..), _)| *matched != Match::Some);
        }
        ranked.sort_by_cached_key(|(rank, entry)| (Reverse(*rank), entry.name.to_lowercase(), entry.id.clone()));
        ranked.into_iter().map(|((matched, ..), entry)| Hit { entry, matched }).collect()
    }

    /// How well an agent fits; `None` if it has none of the words.
    fn rank(&self, entry: &Entry) -> Option<Rank> {
        let [name, id, authors, text, license] = [
            &entry.name,
            &entry.id,
            &shown(&without_addresses(&entry.authors), BY),
            &shown(&entry.description, SUMMARY),
            &entry.license,
        ]
        .map(|text| fold(text));
        let weigh = |word: &str| {
            if name == word || id == word {
                return 100;
            }
            let fields = [(&name, 25, 12), (&id, 20, 10), (&authors, 6, 3), (&text, 4, 1), (&license, 3, 1)];
            let weights = fields.into_iter().map(|(field, start, middle)| match place(field, word) {
                Some(MatchedField::Start) => start,
                Some(MatchedField::Middle) => middle,
                None => 0,
            });
            let first = if name.starts_with(word) { 40 } else { 0 };
            weights.max().unwrap_or_default().max(first)
        };
        let (mut matched, mut found, mut weight) = (Match::Whole, 0, 0);
        for term in &self.terms {
            let (of_term, points) = match term {
                Term::Word(word) => {
                    let points = weigh(word);
                    (if points > 0 { Match::Whole } else { Match::Some }, points)
                }
                Term::Class(class, phrase) => match (class.holds(entry), weigh(phrase)) {
                    (Match::Whole, points) => (Match::Whole, points.max(5)),
                    (other, 0) => (other, 0),
                    (_, points) => (Match::Whole, points),
                },
                Term::Editor(word) => (Match::Whole, weigh(word)),
            };
            matched = matched.min(of_term);
            found += usize::from(of_term != Match::Some);
            weight += points;
        }
        let is_name = self.terms.len() > 1 && name.contains(&self.words);
        (found > 0).then_some((matched, found, weight + if is_name { 50 } else { 0 }))
    }
}

impl Class {
    fn holds(self, entry: &Entry) -> Match {
        let is_there = match self {
            Self::OpenSource => is_open_source(&entry.license),
            Self::Proprietary => !entry.license.is_empty() && !is_open_source(&entry.license),
            Self::System(system) => {
                let is_stated = entry.platforms.iter().any(|platform| platform.starts_with(system));
                // Packages state no system.
                if !is_stated && (entry.has_npx || entry.has_uvx) {
                    return Match::SystemUnknown;
                }
                is_stated
            }
            Self::Binary => !entry.platforms.is_empty(),
            Self::Npx => entry.has_npx,
            Self::Uvx => entry.has_uvx,
        };
        if is_there { Match::Whole } else { Match::Some }
    }
}

/// Where a word was found.
enum MatchedField {
    /// At the start of a word.
    Start,
    /// Within one.
    Middle,
}

fn place(text: &str, word: &str) -> Option<MatchedField> {
    let mut found = text.match_indices(word).peekable();
    found.peek()?;
    let is_start = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    Some(if found.any(|(at, _)| is_start(at)) { MatchedField::Start } else { MatchedField::Middle })
}

/// What a phrase means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing: the word is skipped.
    Filler,
    /// The same as another word.
    Word(&'static str),
    /// The agents of a class.
    Class(Class),
    /// An editor, by its name and the id of the client with which it starts agents. Every agent works in it.
    Editor(&'static str, &'static str),
}

/// A class of agents that the index tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The licence is open source.
    OpenSource,
    /// There is a licence, and it is not open source.
    Proprietary,
    /// There is an archive for this system, by its name in platforms. Packages do not state their systems.
    System(&'static str),
    /// There is an archive.
    Binary,
    /// There is a package for npx.
    Npx,
    /// There is a package for uvx.
    Uvx,
}

/// The number of words in the longest phrase.
pub(super) const LONGEST: usize = 3;

/// Phrases in lower case, with single spaces.
pub const PHRASES: &[(&str, Meaning)] = &[
    ("a", Meaning::Filler),
    ("an", Meaning::Filler),
    ("and", Meaning::Filler),
    ("for", Meaning::Filler),
    ("in", Meaning::Filler),
    ("of", Meaning::Filler),
    ("on", Meaning::Filler),
    ("the", Meaning::Filler),
    ("to", Meaning::Filler),
    ("with", Meaning::Filler),
    // The adapter of this program has another name.
    ("claude code", Meaning::Word("claude")),
    ("open source", Meaning::Class(Class::OpenSource)),
    ("open-source", Meaning::Class(Class::OpenSource)),
    ("opensource", Meaning::Class(Class::OpenSource)),
    ("oss", Meaning::Class(Class::OpenSource)),
    ("free", Meaning::Class(Class::OpenSource)),
    ("free software", Meaning::Class(Class::OpenSource)),
    ("proprietary", Meaning::Class(Class::Proprietary)),
    ("closed source", Meaning::Class(Class::Proprietary)),
    ("windows", Meaning::Class(Class::System("windows"))),
    ("mac", Meaning::Class(Class::System("darwin"))),
    ("macos", Meaning::Class(Class::System("darwin"))),
    ("linux", Meaning::Class(Class::System("linux"))),
    ("binary", Meaning::Class(Class::Binary)),
    ("npx", Meaning::Class(Class::Npx)),
    ("npm", Meaning::Class(Class::Npx)),
    ("node", Meaning::Class(Class::Npx)),
    ("node.js", Meaning::Class(Class::Npx)),
    ("nodejs", Meaning::Class(Class::Npx)),
    ("uvx", Meaning::Class(Class::Uvx)),
    ("uv", Meaning::Class(Class::Uvx)),
    ("python", Meaning::Class(Class::Uvx)),
    ("zed", Meaning::Editor("Zed", "zed")),
    ("jetbrains", Meaning::Editor("JetBrains", "jetbrains")),
    ("intellij", Meaning::Editor("IntelliJ", "jetbrains")),
    ("pycharm", Meaning::Editor("PyCharm", "jetbrains")),
    ("webstorm", Meaning::Editor("WebStorm", "jetbrains")),
    ("neovim", Meaning::Editor("Neovim", "codecompanion")),
    ("nvim", Meaning::Editor("Neovim", "codecompanion")),
    ("vim", Meaning::Editor("Neovim", "codecompanion")),
    ("codecompanion", Meaning::Editor("CodeCompanion", "codecompanion")),
    ("avante", Meaning::Editor("avante", "avante")),
    ("emacs", Meaning::Editor("Emacs", "emacs")),
    ("vscode", Meaning::Editor("VS Code", "vscode")),
    ("vs code", Meaning::Editor("VS Code", "vscode")),
];

/// What a phrase means, if it has a meaning of its own.
pub(super) fn meaning(phrase: &str) -> Option<Meaning> {
    PHRASES.iter().find(|(known, _)| *known == phrase).map(|(_, meaning)| *meaning)
}

/// Whether a licence is open source: approved by the OSI or free according to the FSF.
#[must_use]
pub fn is_open_source(license: &str) -> bool {
    spdx::Expression::parse_mode(license, spdx::ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|requirement| {
            requirement.license.id().is_some_and(|id| id.is_osi_approved() || id.is_fsf_free_libre())
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::Index;

    use super::*;

    /// The queries that the catalog's script answers in the same way, in a test of its own.
    #[test]
    fn results_are_those_of_the_catalog() {
        let text = include_str!("../../../../tests/fixtures/search.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let index = Index::parse(vectors.to_string()).unwrap();
        assert!(index.notes.is_empty());
        for one in vectors["queries"].as_array().unwrap() {
            let list = |key: &str| -> Vec<&str> {
                one[key].as_array().into_iter().flatten().map(|id| id.as_str().unwrap()).collect()
            };
            let hits = Query::new([one["query"].as_str().unwrap()]).search(index.entries());
            let ids = |is_whole: bool| -> Vec<&str> {
                let of_kind = hits.iter().filter(|hit| (hit.matched == Match::Whole) == is_whole);
                of_kind.map(|hit| hit.entry.id.as_str()).collect()
            };
            assert_eq!((ids(true), ids(false)), (list("ids"), list("partial")), "{}", one["query"]);
            assert!(hits.is_sorted_by_key(|hit| Reverse(hit.matched)), "{}", one["query"]);
        }
    }

    /// The catalog's script folds the same texts, in a test of the site.
    #[test]
    fn texts_are_folded_as_they_are_typed() {
        let vectors: Value = serde_json::from_str(include_str!("../../../../tests/fixtures/search.json")).unwrap();
        for (text, folded) in vectors["folds"].as_object().unwrap() {
            assert_eq!(fold(text), folded.as_str().unwrap(), "{text}");
        }
        assert!(SPELLINGS.iter().all(|(c, typed)| !c.is_ascii() && fold(&c.to_string()) == *typed));
    }

    #[test]
    fn addresses_of_authors_are_left_out() {
        for (authors, names) in [
            ("A B <a@example.com>", "A B"),
            ("A <a@example.com>, B", "A, B"),
            ("A <a", "A"),
            ("a > b", "a > b"),
            ("<x>", ""),
        ] {
            assert_eq!(without_addresses(authors), names);
        }
    }

    #[test]
    fn words_beyond_the_limit_do_not_count() {
        let entry = Entry { id: "a".to_owned(), name: "Ant".to_owned(), ..Entry::default() };
        let query = format!("{} zzz", "ant ".repeat(WORDS));
        assert_eq!(Query::new([query.as_str()]).search([&entry])[0].matched, Match::Whole);
        assert!(Query::new(["zzz"]).search([&entry]).is_empty());
    }

    #[test]
    fn phrases_are_as_queries_are_read() {
        let mut seen: Vec<&str> = PHRASES.iter().map(|(phrase, _)| *phrase).collect();
        for (phrase, _) in PHRASES {
            let words: Vec<&str> = phrase.split_whitespace().collect();
            assert!(
                words.join(" ") == *phrase && words.len() <= LONGEST && phrase.to_lowercase() == *phrase,
                "{phrase}"
            );
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), PHRASES.len());
    }

    #[test]
    fn licences_are_open_source_as_a_whole() {
        for license in ["MIT", "MIT OR Apache-2.0", "GPL-3.0-only WITH Classpath-exception-2.0", "MIT OR LicenseRef-x"]
        {
            assert!(is_open_source(license), "{license}");
        }
        for license in ["", "proprietary", "MIT AND LicenseRef-x", "see LICENSE"] {
            assert!(!is_open_source(license), "{license}");
        }
    }
}
