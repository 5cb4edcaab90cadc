//! Ranks agents by search words, for the command `search`. The catalog's script ranks by the same rules:
//! `crates/publish/src/site/assets/rank.js`. `tests/fixtures/search.json` has queries and results for both.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use acp_registry_plan::index::{Entry, INDEX_LIMIT};
use acp_registry_plan::text::shown;
use icu_normalizer::DecomposingNormalizerBorrowed;
use serde::Deserialize;

use super::beside::Beside;
use super::phrases::{LONGEST, Meaning, meaning};
use super::place::IndexReader;

/// The number of words of a query that count.
const WORDS: usize = 8;
/// The part of a description that is searched, in Unicode scalar values: what lists of the catalog show.
pub const SUMMARY: usize = 160;
/// The part of the authors that is searched, in Unicode scalar values.
pub const BY: usize = 200;
/// The part of the names of packages and commands that is searched, in Unicode scalar values.
const PROGRAMS: usize = 200;
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

/// The names of packages, without versions, and of commands, without folders, that say more than the id.
#[must_use]
pub fn programs<'a>(
    id: &str,
    packages: impl IntoIterator<Item = &'a str>,
    commands: impl IntoIterator<Item = &'a str>,
) -> String {
    let packages = packages.into_iter().map(|package| {
        let end = package.char_indices().skip(1).find(|(_, c)| "@=<>~![; ".contains(*c));
        end.map_or(package, |(at, _)| &package[..at])
    });
    let commands = commands.into_iter().map(|command| {
        let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
        name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
    });
    let mut names: Vec<&str> = Vec::new();
    for name in packages.chain(commands).filter(|name| !name.is_empty() && *name != id) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    shown(&names.join(" "), PROGRAMS)
}

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// All words, as in a name.
    words: String,
    terms: Vec<Term>,
    /// Whether a word says something. Where none does, and no agent mentions one, all agents are found.
    has_meaning: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    /// The words of the query.
    text: String,
    /// What they mean, if they have a meaning of their own.
    meaning: Option<Meaning>,
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

/// What a search finds.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found<'a> {
    /// The agents that fit, the best first.
    pub hits: Vec<Hit<'a>>,
    /// How words were read that no agent has.
    pub reading: Reading,
}

/// How words were read that no agent has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// Words that were read as others with a similar spelling.
    pub similar: BTreeMap<String, Vec<String>>,
    /// Words that were left out.
    pub unknown: Vec<String>,
    /// Phrases about what agents can do that were left out, because the registry publishes no such facts and no agent
    /// mentions them.
    pub untold: Vec<String>,
}

/// Which agents a term selects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Selects {
    /// All: an editor.
    #[default]
    All,
    /// Those of a class.
    Class,
    /// Those that mention a word.
    Word,
}

/// Match, number of terms, weight.
type Rank = (Match, usize, u32);

/// What an agent has of a term, and its weight.
type Points = (Match, u32);

impl Query {
    /// The words of these texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let words: Vec<String> = texts.into_iter().flat_map(str::split_whitespace).map(fold).take(WORDS).collect();
        let is_filler = |word: &str| meaning(word) == Some(Meaning::Filler);
        let mut terms: Vec<Term> = Vec::new();
        let mut at = 0;
        while at < words.len() {
            // A phrase as it stands, else with fillers between its words.
            let all: Vec<usize> = (at..words.len()).collect();
            let told: Vec<usize> = all.iter().copied().filter(|at| !is_filler(&words[*at])).collect();
            let phrase = |places: &[usize], length: usize| {
                let places = places.get(..length)?;
                let text = places.iter().map(|at| words[*at].as_str()).collect::<Vec<_>>().join(" ");
                Some((places.last()? + 1, meaning(&text)?, text))
            };
            // No phrase starts with a filler that is passed over.
            let told = if is_filler(&words[at]) { &[][..] } else { &told };
            let found = (1..=LONGEST).rev().find_map(|length| phrase(&all, length).or_else(|| phrase(told, length)));
            let (next, meaning, text) = found
                .map_or_else(|| (at + 1, None, words[at].clone()), |(next, meaning, text)| (next, Some(meaning), text));
            at = next;
            let term = match meaning {
                Some(Meaning::Filler) => continue,
                Some(Meaning::Word(other)) => Term { text: other.to_owned(), meaning: None },
                meaning => Term { text, meaning },
            };
            let merged = terms.iter_mut().find_map(|earlier| match (earlier.meaning, term.meaning) {
                (Some(Meaning::Class(a)), Some(Meaning::Class(b))) => a.merged(b).map(|class| (earlier, class)),
                _ => None,
            });
            match merged {
                Some((earlier, class)) => {
                    earlier.text = format!("{} {}", earlier.text, term.text);
                    earlier.meaning = Some(Meaning::Class(class));
                }
                None => terms.push(term),
            }
        }
        let has_meaning = !terms.is_empty();
        if !has_meaning {
            terms = words.iter().map(|word| Term { text: word.clone(), meaning: None }).collect();
        }
        Self { words: words.join(" "), terms, has_meaning }
    }

    /// Whether facts decide which agents fit.
    #[must_use]
    pub fn needs_facts(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.meaning, Some(Meaning::Fact(..))))
    }

    /// The agents that fit, the best first; equally good ones by name. Agents that have some of the words follow, if few
    /// have all. A word that no agent has is read as others with a similar spelling, or left out. Without facts, phrases
    /// that need them are words.
    pub fn search<'a>(&self, entries: impl IntoIterator<Item = &'a Entry>, facts: Option<&Facts>) -> Found<'a> {
        let agents: Vec<Fields<'a>> = entries.into_iter().map(Fields::from).collect();
        let mut reading = Reading::default();
        let mut terms: Vec<(Selects, Vec<Points>)> = Vec::new();
        let mut vocabulary = None;
        for term in &self.terms {
            let is_whole = !self.has_meaning;
            let mut points: Vec<Points> = agents.iter().map(|agent| term.weigh(agent, facts, is_whole)).collect();
            let is_nowhere = points.iter().all(|(_, points)| *points == 0);
            let selects = match term.meaning {
                Some(Meaning::Editor(..)) => Selects::All,
                Some(Meaning::Fact(..)) if is_nowhere && facts.is_none() => {
                    reading.untold.push(term.text.clone());
                    continue;
                }
                Some(Meaning::Class(_) | Meaning::Fact(..)) => Selects::Class,
                _ => Selects::Word,
            };
            if is_nowhere && selects == Selects::Word {
                let others = if self.has_meaning {
                    similar(&term.text, vocabulary.get_or_insert_with(|| words(&agents)))
                } else {
                    Vec::new()
                };
                if others.is_empty() {
                    reading.unknown.push(term.text.clone());
                    continue;
                }
                points = agents.iter().map(|agent| agent.weigh_others(&others)).collect();
                reading.similar.insert(term.text.clone(), others);
            }
            terms.push((selects, points));
        }
        // Agents that have none of the words are no results for what else is asked of them, nor all agents for an editor
        // where the words are unknown.
        let most = terms.iter().map(|(selects, _)| *selects).max().unwrap_or_default();
        if most == Selects::All && terms.len() < self.terms.len() {
            terms.clear();
        }
        let is_all = !self.has_meaning && !self.terms.is_empty() && terms.is_empty();
        if is_all {
            reading.unknown.clear();
        }
        let rank = |(at, agent): (usize, &Fields<'a>)| -> Option<(Rank, &'a Entry)> {
            if is_all {
                return Some(((Match::Whole, 0, 0), agent.entry));
            }
            let own = || terms.iter().map(|(selects, points)| (*selects, points[at].0, points[at].1));
            let matched = own().map(|(_, matched, _)| matched).min()?;
            let has = || own().filter(|(_, matched, _)| *matched != Match::Some);
            let is_name = self.terms.len() > 1 && agent.name().contains(&self.words);
            let weight = own().map(|(.., points)| points).sum::<u32>() + if is_name { 50 } else { 0 };
            has().any(|(selects, ..)| selects == most).then(|| ((matched, has().count(), weight), agent.entry))
        };
        let mut ranked: Vec<(Rank, &Entry)> = agents.iter().enumerate().filter_map(rank).collect();
        let whole = ranked.iter().filter(|((matched, ..), _)| *matched != Match::Some).count();
        if whole >= FEW {
            ranked.retain(|((matched, ..), _)| *matched != Match::Some);
        }
        ranked.sort_by_cached_key(|(rank, entry)| (Reverse(*rank), entry.name.to_lowercase(), entry.id.clone()));
        let hits = ranked.into_iter().map(|((matched, ..), entry)| Hit { entry, matched }).collect();
        Found { hits, reading }
    }
}

impl Term {
    /// What an agent has of this term. With `is_whole`, a word must not be a part of another one.
    fn weigh(&self, agent: &Fields<'_>, facts: Option<&Facts>, is_whole: bool) -> Points {
        let as_class = |held: Match| match (held, agent.weigh(&self.text, true)) {
            (Match::Whole, points) => (Match::Whole, points.max(5)),
            (held, 0) => (held, 0),
            (_, points) => (Match::Whole, points),
        };
        match self.meaning {
            Some(Meaning::Class(class)) => as_class(match class.holds(agent.entry) {
                Some(true) => Match::Whole,
                Some(false) => Match::Some,
                None => Match::SystemUnknown,
            }),
            Some(Meaning::Fact(group, value)) => {
                let has = facts.is_some_and(|facts| facts.has(&agent.entry.id, group, value));
                as_class(if has { Match::Whole } else { Match::Some })
            }
            Some(Meaning::Editor(..)) => (Match::Whole, agent.weigh(&self.text, true)),
            Some(Meaning::Family(others)) => match agent.weigh(&self.text, false) {
                0 => agent.weigh_others(others),
                points => (Match::Whole, points),
            },
            Some(Meaning::Word(_) | Meaning::Filler) | None => match agent.weigh(&self.text, is_whole) {
                0 => (Match::Some, 0),
                points => (Match::Whole, points),
            },
        }
    }
}

/// What is searched of an agent, as it is typed.
struct Fields<'a> {
    entry: &'a Entry,
    /// Name, id, authors, description, licence, programs.
    texts: [String; 6],
}

/// The weights of a word in each field: at the start of a word, and within one.
const WEIGHTS: [(u32, u32); 6] = [(25, 12), (20, 10), (6, 3), (4, 1), (3, 1), (8, 4)];

impl<'a> From<&'a Entry> for Fields<'a> {
    fn from(entry: &'a Entry) -> Self {
        let names = |texts: &'a [String]| texts.iter().map(String::as_str);
        let texts = [
            &entry.name,
            &entry.id,
            &shown(&without_addresses(&entry.authors), BY),
            &shown(&entry.description, SUMMARY),
            &entry.license,
            &programs(&entry.id, names(&entry.packages), names(&entry.commands)),
        ];
        Self { entry, texts: texts.map(|text| fold(text)) }
    }
}

impl Fields<'_> {
    fn name(&self) -> &str {
        &self.texts[0]
    }

    /// How much a word counts for the agent. With `is_whole`, it must not be a part of a word.
    fn weigh(&self, word: &str, is_whole: bool) -> u32 {
        if self.texts[..2].iter().any(|text| text == word) {
            return 100;
        }
        let weights = self.texts.iter().zip(WEIGHTS).map(|(text, weights)| weigh(text, word, is_whole, weights));
        let first = if !is_whole && self.name().starts_with(word) { 40 } else { 0 };
        weights.max().unwrap_or_default().max(first)
    }

    /// The points of words that stand for the one of the query.
    fn weigh_others(&self, others: &[impl AsRef<str>]) -> Points {
        match others.iter().map(|other| self.weigh(other.as_ref(), true)).max().unwrap_or_default() {
            0 => (Match::Some, 0),
            points => (Match::Whole, (points / 2).max(1)),
        }
    }
}

/// The words of agents, without those that have digits.
fn words(agents: &[Fields<'_>]) -> BTreeSet<String> {
    let texts = agents.iter().flat_map(|agent| &agent.texts);
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    words
        .filter(|word| (3..=30).contains(&word.chars().count()) && word.chars().all(char::is_alphabetic))
        .map(ToOwned::to_owned)
        .collect()
}

/// The words that are spelled like this one, or longer words that begin so, which is one mistake more: those with the fewest
/// mistakes, at most one in a short word and two in others, and none in the first letter.
fn similar(word: &str, vocabulary: &BTreeSet<String>) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let most = match letters.len() {
        4..=5 => 1,
        6..=30 => 2,
        _ => return Vec::new(),
    };
    let mut nearest = (most, Vec::new());
    for other in vocabulary.range(letters[0].to_string()..).take_while(|other| other.starts_with(letters[0])) {
        let length = other.chars().count();
        let beginnings = (letters.len()..length).take(most).map(|length| {
            let beginning: String = other.chars().take(length).collect();
            strsim::osa_distance(&beginning, word) + 1
        });
        let distance = beginnings.chain([strsim::osa_distance(other, word)]).min().unwrap_or(usize::MAX);
        if distance < nearest.0 {
            nearest = (distance, Vec::new());
        }
        if distance == nearest.0 {
            nearest.1.push(other.clone());
        }
    }
    nearest.1
}

/// What a word counts in a text: at the start of a word, or within one. With `is_whole`, only a whole word is found.
fn weigh(text: &str, word: &str, is_whole: bool, (start, middle): (u32, u32)) -> u32 {
    let is_start = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let is_end = |at: usize| !text[at..].starts_with(char::is_alphanumeric);
    let found = text.match_indices(word).map(|(at, _)| at);
    let mut found = found.filter(|at| !is_whole || (is_start(*at) && is_end(at + word.len()))).peekable();
    if found.peek().is_none() {
        return 0;
    }
    if found.any(is_start) { start } else { middle }
}

/// The name of the file beside the index.
pub const FACETS: &str = "facets.json";

/// The values that agents have in the filters of the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Facts {
    /// By filter and value, the ids of agents.
    facets: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl IndexReader<'_> {
    /// Reads the facts beside an index. `None` where the registry publishes none, or where they cannot be had: searches do
    /// without them.
    pub async fn load_facts(&self) -> Option<Facts> {
        let parse = |text: &[u8]| serde_json::from_slice(text).map_err(|error| error.to_string());
        match self.load_beside((FACETS, INDEX_LIMIT), self.options.refresh, parse).await {
            Beside::Known(facts) | Beside::Unknown(Some(facts), _) => Some(facts),
            Beside::Nothing | Beside::Unknown(None, _) => None,
        }
    }
}

impl Facts {
    /// Whether an agent has a value of a filter.
    #[must_use]
    pub fn has(&self, id: &str, filter: &str, value: &str) -> bool {
        self.facets.get(filter).and_then(|values| values.get(value)).is_some_and(|ids| ids.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

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
    fn programs_are_packages_and_commands_that_the_id_does_not_name() {
        let found = programs(
            "ant",
            ["@example/ant-cli@1.0.0", "ant==1.0.0", "bee[all]>=2", ""],
            ["./bin/ant.exe", "dist\\queen.cmd", "queen"],
        );
        assert_eq!(found, "@example/ant-cli bee queen");
    }

    #[test]
    fn words_beyond_the_limit_do_not_count() {
        let entry = Entry { id: "a".to_owned(), name: "Ant".to_owned(), license: "MIT".to_owned(), ..Entry::default() };
        let query = format!("{} proprietary", "ant ".repeat(WORDS));
        assert_eq!(Query::new([query.as_str()]).search([&entry], None).hits[0].matched, Match::Whole);
        assert_eq!(Query::new(["ant proprietary"]).search([&entry], None).hits[0].matched, Match::Some);
    }

    #[test]
    fn a_similar_word_starts_with_the_same_letter() {
        let vocabulary = ["codex", "kodex", "gemini", "anthropic", "codices"].map(ToOwned::to_owned).into();
        for (word, expected) in [
            ("cdex", &["codex"][..]),
            ("cdxe", &[]),
            ("kodek", &["kodex"]),
            ("gemnii", &["gemini"]),
            ("gmn", &[]),
            ("antrop", &["anthropic"]),
            ("jemini", &[]),
        ] {
            assert_eq!(similar(word, &vocabulary), expected, "{word}");
        }
    }
}
