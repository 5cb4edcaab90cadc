//! The name of a repository on GitHub.

use std::fmt;
use std::str::FromStr;

/// Maximum length of an owner and of a name, in bytes; this is also GitHub's limit.
const LONGEST: usize = 100;

/// Owner and name of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepositoryName {
    /// The owner.
    pub owner: String,
    /// The name.
    pub name: String,
}

/// A text that does not name a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not the name of a repository")]
pub struct RepositoryNameError;

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl FromStr for RepositoryName {
    type Err = RepositoryNameError;

    /// Reads `owner/name`, with the `.git` and the slash that addresses may have at the end.
    fn from_str(text: &str) -> Result<Self, RepositoryNameError> {
        let (owner, name) = text.trim_end_matches('/').split_once('/').ok_or(RepositoryNameError)?;
        let name = name.strip_suffix(".git").unwrap_or(name);
        // `.github` is a repository; `.` and `..` are steps in a path.
        let is_word = |word: &str| {
            word.len() <= LONGEST
                && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
                && word.bytes().any(|b| b != b'.')
        };
        if !is_word(owner) || !is_word(name) {
            return Err(RepositoryNameError);
        }
        Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_github_accepts_is_a_name() {
        let name = |text: &str| text.parse::<RepositoryName>().map(|name| name.to_string()).ok();
        for (text, expected) in [
            ("o/r.x", "o/r.x"),
            ("O-1/r_x", "O-1/r_x"),
            ("o/.github", "o/.github"),
            ("o/r.git", "o/r"),
            ("o/r/", "o/r"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected));
        }
        let long = format!("o/{}", "r".repeat(101));
        for text in ["", "o", "o/", "/r", "o/..", "./r", "o/.git", "o/r/x", "o//r", "o/r?x", "o r/x", "o/r%2e", &long] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
