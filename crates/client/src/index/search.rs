//! Ranks agents by search words, for the command `search`. The catalog ranks in its own script, which also finds words
//! with typos: `crates/publish/src/site/assets/search.js`.

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::entry::Entry;

/// The text in lower case and without accents.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_mark = |c: &char| matches!(c, '\u{300}'..='\u{36F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}');
    let plain = DecomposingNormalizerBorrowed::new_nfkd().normalize(text);
    plain.chars().filter(|c| !is_mark(c)).collect::<String>().to_lowercase()
}

/// Words to look for, which must all be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query(Vec<String>);

impl Query {
    /// The words of these texts.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(texts.into_iter().flat_map(str::split_whitespace).map(fold).collect())
    }

    /// How well an agent fits, best the highest; `None` when it lacks a word. A whole name weighs more than the start of a
    /// word, and that more than the middle of one; a name weighs more than an author, the licence and the description.
    #[must_use]
    pub fn rank(&self, entry: &Entry) -> Option<u32> {
        let other = format!("{} {} {}", entry.license, kinds(entry).join(" "), entry.platforms.join(" "));
        let [name, authors, text, other] =
            [&entry.name, &entry.authors, &entry.description, &other].map(|text| fold(text));
        let weigh = |word: &str| {
            if name == word || entry.id == word {
                return Some(100);
            }
            let fields = [(&name, 25, 12), (&entry.id, 20, 10), (&authors, 6, 3), (&text, 4, 1), (&other, 3, 1)];
            let weights = fields.into_iter().map(|(field, start, middle)| match place(field, word) {
                Some(Place::Start) => start,
                Some(Place::Middle) => middle,
                None => 0,
            });
            weights.max().filter(|weight| *weight > 0)
        };
        self.0.iter().map(|word| weigh(word)).sum()
    }
}

/// How an agent runs, and where, in the words of manifests and of the catalog site.
fn kinds(entry: &Entry) -> Vec<&'static str> {
    let has_system = |system: &str| entry.platforms.iter().any(|platform| platform.starts_with(system));
    let is_packaged = entry.has_npx || entry.has_uvx;
    let words = [
        (entry.has_npx, "npx npm Node.js"),
        (entry.has_uvx, "uvx uv Python"),
        (!entry.platforms.is_empty(), "binary"),
        // Packages run on every system, as on the site.
        (is_packaged || has_system("darwin"), "macOS"),
        (is_packaged || has_system("linux"), "Linux"),
        (is_packaged || has_system("windows"), "Windows"),
    ];
    words.into_iter().filter(|(is_there, _)| *is_there).map(|(_, words)| words).collect()
}

/// Where a word was found.
enum Place {
    /// At the start of a word.
    Start,
    /// Within one.
    Middle,
}

fn place(text: &str, word: &str) -> Option<Place> {
    let mut found = text.match_indices(word).peekable();
    found.peek()?;
    let is_start = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    Some(if found.any(|(at, _)| is_start(at)) { Place::Start } else { Place::Middle })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, name: &str, description: &str) -> Entry {
        Entry { id: id.to_owned(), name: name.to_owned(), description: description.to_owned(), ..Entry::default() }
    }

    #[test]
    fn whole_names_come_before_starts_and_those_before_parts() {
        let agents = [
            entry("d", "D", "Does precoding"),
            entry("c", "C", "For code"),
            entry("transcode", "Trans", ""),
            entry("code-x", "Code X", ""),
            entry("code", "Code", ""),
        ];
        let ranks: Vec<u32> = agents.iter().map(|agent| Query::new(["Code"]).rank(agent).unwrap_or_default()).collect();
        assert_eq!(ranks, [0, 4, 10, 25, 100]);
        assert_eq!(Query::new(["cod"]).rank(&agents[0]), Some(1));
    }

    #[test]
    fn authors_licence_and_kinds_are_found_and_accents_do_not_matter() {
        let agent = Entry {
            authors: "Émile Société".to_owned(),
            license: "Apache-2.0".to_owned(),
            has_npx: true,
            platforms: vec!["linux-x86_64".into()],
            ..entry("a", "A", "")
        };
        for words in ["emile", "SOCIÉTÉ", "apache", "2.0", "npx", "linux binary"] {
            assert!(Query::new([words]).rank(&agent).is_some(), "{words}");
        }
        assert_eq!(Query::new(["emile uvx"]).rank(&agent), None);
        // The words of the site.
        for words in ["npm", "node.js", "macOS", "windows"] {
            assert!(Query::new([words]).rank(&agent).is_some(), "{words}");
        }
        let binary = Entry { platforms: vec!["darwin-aarch64".into()], ..entry("b", "B", "") };
        assert!(Query::new(["macos binary"]).rank(&binary).is_some());
        assert_eq!(Query::new(["windows"]).rank(&binary), None);
    }
}
