//! Words and phrases that mean more than their letters in a search. The catalog's script reads the same table from the
//! published catalog.

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
    use super::*;

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
