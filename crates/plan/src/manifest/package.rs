//! Package specifications: what `npx` and `uvx` fetch.
//!
//! Package runners accept much more than a name and a version: options, URLs, paths, aliases. Only the plain form is
//! safe to pass to a runner, so everything else is an error.

use std::str::FromStr;

use pep440_rs::Version as PypiVersion;

/// Why a specification is not a plain name with an optional version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// It starts with `-` or contains white space, so a runner could parse it as an option.
    #[error("begins with `-` or has white space in it, and could be read as options of the package runner")]
    Option,
    /// It names a URL, a repository, a path or an alias instead of a package.
    #[error("names a place to load code from, not a package")]
    Source,
    /// The name violates the package registry's rules.
    #[error("is not a valid package name")]
    Name,
    /// The text after the name is not a version, range or tag.
    #[error("has something other than a version behind the package name")]
    Version,
    /// `uvx` would start an interpreter of Python, with any code as its arguments.
    #[error("names an interpreter, and no package")]
    Interpreter,
}

/// How precisely a specification selects a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// Exactly one version.
    Exact(String),
    /// A distribution tag, such as `latest`, which can move to another version.
    Tag(String),
    /// A range, or a wildcard.
    Range(String),
    /// No version: the newest one is used.
    None,
}

/// A package of the npm registry: `name` or `@scope/name`, optionally followed by `@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmSpec {
    /// The name, including the scope.
    pub name: String,
    /// The selected versions.
    pub pin: Pin,
}

/// The name of a Python package, normalized by PEP 503.
#[must_use]
pub fn normalized(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

/// A package of the Python package index: `name` or `name[extra]`, optionally followed by `==version` or `@version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PypiSpec {
    /// The name as written, without extras.
    pub name: String,
    /// The extras, without brackets.
    pub extras: Vec<String>,
    /// The selected versions.
    pub pin: Pin,
}

fn refuse_tricks(text: &str) -> Result<(), SpecError> {
    if text.starts_with('-') || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(SpecError::Option);
    }
    let lower = text.to_ascii_lowercase();
    let is_source = lower.contains("://")
        || lower.contains(':')
        || lower.starts_with(['.', '/', '~', '\\'])
        || lower.starts_with("git+")
        || lower.contains('\\')
        || lower.contains("..")
        || lower.contains('#');
    if is_source { Err(SpecError::Source) } else { Ok(()) }
}

fn is_word(text: &str, extra: &[u8]) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || extra.contains(&b))
}

impl FromStr for NpmSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        refuse_tricks(text)?;
        let scope_length = usize::from(text.starts_with('@'));
        let (name, version) = match text[scope_length..].find('@') {
            Some(at) => (&text[..scope_length + at], Some(&text[scope_length + at + 1..])),
            None => (text, None),
        };
        let bare = match name.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
            Some(Some((scope, bare))) if is_word(scope, b"-_.") && !scope.starts_with('.') => bare,
            Some(_) => return Err(SpecError::Name),
            None if name.contains('/') => return Err(SpecError::Source),
            None => name,
        };
        // Names that npm keeps for itself.
        let is_reserved = ["node_modules", "favicon.ico"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
        if !is_word(bare, b"-_.") || bare.starts_with(['.', '_']) || name.len() > 214 || is_reserved {
            return Err(SpecError::Name);
        }
        // npm reads these as files.
        let lower = name.to_ascii_lowercase();
        if !name.starts_with('@') && [".tgz", ".tar", ".tar.gz"].iter().any(|end| lower.ends_with(end)) {
            return Err(SpecError::Source);
        }
        Ok(Self { name: name.to_owned(), pin: version.map_or(Ok(Pin::None), npm_pin)? })
    }
}

fn npm_pin(version: &str) -> Result<Pin, SpecError> {
    if semver::Version::parse(version).is_ok() {
        return Ok(Pin::Exact(version.to_owned()));
    }
    let is_range =
        !version.is_empty() && version.bytes().all(|b| b.is_ascii_alphanumeric() || b"^~<>=*.|-+".contains(&b));
    if !is_range {
        return Err(SpecError::Version);
    }
    let has_digit_first = version.trim_start_matches(['v', '=']).starts_with(|c: char| c.is_ascii_digit());
    let is_tag = is_word(version, b".-") && !has_digit_first && !["x", "X"].contains(&version);
    Ok(if is_tag { Pin::Tag(version.to_owned()) } else { Pin::Range(version.to_owned()) })
}

impl PypiSpec {
    /// The package in exactly this version: `name[extra]==version`.
    #[must_use]
    pub fn in_version(&self, version: &str) -> String {
        let extras = if self.extras.is_empty() { String::new() } else { format!("[{}]", self.extras.join(",")) };
        format!("{}{extras}=={version}", self.name)
    }
}

impl FromStr for PypiSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        refuse_tricks(text)?;
        let name_length = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(name_length);
        let edges_are_plain = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        };
        if rest.starts_with('/') {
            return Err(SpecError::Source);
        }
        if !edges_are_plain(name) {
            return Err(SpecError::Name);
        }
        let mut extras = Vec::new();
        if let Some(list) = rest.strip_prefix('[') {
            let (list, behind) = list.split_once(']').ok_or(SpecError::Name)?;
            for extra in list.split(',') {
                if !is_word(extra, b"-_.") {
                    return Err(SpecError::Name);
                }
                extras.push(extra.to_owned());
            }
            rest = behind;
        }
        if is_interpreter(name, rest) {
            return Err(SpecError::Interpreter);
        }
        Ok(Self { name: name.to_owned(), extras, pin: pypi_pin(rest)? })
    }
}

/// Whether `uvx` takes a specification for that of an interpreter: the name of an implementation, which a version may follow,
/// and a version of Python.
fn is_interpreter(name: &str, pin: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let version = ["cpython", "python", "pypy", "graalpy", "pyodide"].iter().find_map(|one| lower.strip_prefix(one));
    let is_named = version.is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
    let major = pin.trim_start_matches(|c: char| !c.is_ascii_digit()).split('.').next();
    is_named && matches!(major, Some("" | "2" | "3"))
}

fn pypi_pin(rest: &str) -> Result<Pin, SpecError> {
    if rest.is_empty() {
        return Ok(Pin::None);
    }
    let exact = ["===", "==", "@"].into_iter().find_map(|operator| rest.strip_prefix(operator));
    match exact {
        Some(version) if PypiVersion::from_str(version).is_ok() => Ok(Pin::Exact(version.to_owned())),
        Some(word) if rest.starts_with('@') && is_word(word, b"-_.") => Ok(Pin::Tag(word.to_owned())),
        Some(wildcard) if is_word(wildcard, b".*!+") => Ok(Pin::Range(rest.to_owned())),
        None if rest.starts_with(['<', '>', '!', '~', '=', ';']) && is_word(rest, b"<>!~=.*,+-_") => {
            Ok(Pin::Range(rest.to_owned()))
        }
        _ => Err(SpecError::Version),
    }
}

/// Whether a version pinned for the Python package index equals the version in a manifest.
///
/// By PEP 440, `1.0` equals `1.0.0`, and `1.0.0-preview.1` equals `1.0.0rc1`. Post-releases and local versions count as
/// builds of the version that they extend, because manifests cannot express them.
#[must_use]
pub fn pypi_version_matches(pinned: &str, stated: &str) -> bool {
    let (Ok(pinned), Ok(stated)) = (PypiVersion::from_str(pinned), PypiVersion::from_str(stated)) else {
        return pinned == stated;
    };
    let base = |version: PypiVersion| version.without_local();
    let (pinned, stated) = (base(pinned), base(stated));
    pinned == stated || (pinned.post().is_some() && pinned.with_post(None) == stated.with_post(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn npm(text: &str) -> Result<(String, Pin), SpecError> {
        text.parse::<NpmSpec>().map(|spec| (spec.name, spec.pin))
    }

    fn pypi(text: &str) -> Result<(String, Pin), SpecError> {
        text.parse::<PypiSpec>().map(|spec| (spec.name, spec.pin))
    }

    #[test]
    fn anything_but_a_name_and_a_version_is_refused() {
        for (text, error) in [
            ("--registry=https://evil.example p", SpecError::Option),
            ("-p", SpecError::Option),
            ("p@1.0.0 other", SpecError::Option),
            ("git+https://host.example/r.git", SpecError::Source),
            ("https://host.example/p.tgz", SpecError::Source),
            ("github:user/repo", SpecError::Source),
            ("npm:other@1.0.0", SpecError::Source),
            ("p@npm:other@1.0.0", SpecError::Source),
            ("user/repo", SpecError::Source),
            ("../local", SpecError::Source),
            ("./local", SpecError::Source),
            ("/abs", SpecError::Source),
            ("p@file:../x", SpecError::Source),
            ("p@1.0.0@evil", SpecError::Version),
            ("p@", SpecError::Version),
            ("@scope", SpecError::Name),
            ("@/x", SpecError::Name),
            ("@scope/a/b", SpecError::Name),
            ("", SpecError::Name),
            ("päckage", SpecError::Name),
            ("Node_Modules@1.0.0", SpecError::Name),
            ("x.tgz@1.0.0", SpecError::Source),
            ("x.TAR.gz@1.0.0", SpecError::Source),
        ] {
            assert_eq!(npm(text), Err(error), "{text}");
        }
        for (text, error) in [
            ("--from evil p==1.0.0", SpecError::Option),
            ("git+https://host.example/r", SpecError::Source),
            ("p@git+https://host.example/r", SpecError::Source),
            ("p@https://host.example/p.whl", SpecError::Source),
            ("./p", SpecError::Source),
            ("a/b", SpecError::Source),
            ("p==1.0.0==2", SpecError::Version),
            ("p[extra", SpecError::Name),
            ("p[ä]==1.0.0", SpecError::Name),
            ("p|q", SpecError::Version),
            ("-", SpecError::Option),
            ("", SpecError::Name),
            ("python@3.11.7", SpecError::Interpreter),
            ("PyPy3.10==3.10", SpecError::Interpreter),
            ("python", SpecError::Interpreter),
        ] {
            assert_eq!(pypi(text), Err(error), "{text}");
        }
    }

    #[test]
    fn pins_are_told_from_tags_and_ranges() {
        let exact = |version: &str| Pin::Exact(version.to_owned());
        assert_eq!(npm("@scope/name@1.2.3-preview.4").unwrap(), ("@scope/name".into(), exact("1.2.3-preview.4")));
        assert_eq!(npm("name").unwrap().1, Pin::None);
        assert_eq!(npm("name@latest").unwrap().1, Pin::Tag("latest".into()));
        for range in ["^1.0.0", "~1", "1.x", "*", "x", ">=1.0.0", "1", "1.0", "01.0.0", "v1.0.0"] {
            assert_eq!(npm(&format!("name@{range}")).unwrap().1, Pin::Range(range.into()), "{range}");
        }
        assert_eq!(pypi("name[a,b]==1.0.0.post1").unwrap(), ("name".into(), exact("1.0.0.post1")));
        assert_eq!(pypi("name@1.0").unwrap().1, exact("1.0"));
        assert_eq!(pypi("name@latest").unwrap().1, Pin::Tag("latest".into()));
        assert_eq!(pypi("name").unwrap().1, Pin::None);
        assert_eq!(pypi("python-agent==1.0").unwrap().1, exact("1.0"));
        assert_eq!(npm("@s/x.tgz@1.0.0").unwrap().1, exact("1.0.0"));
        for range in [">=1.0", "~=1.0.0", "!=1.0", "==1.*", "<2,>1"] {
            assert_eq!(pypi(&format!("name{range}")).unwrap().1, Pin::Range(range.into()), "{range}");
        }
    }

    #[test]
    fn python_versions_are_compared_as_pep_440_says() {
        for (pinned, stated, same) in [
            ("1.0", "1.0.0", true),
            ("1.0.0.post1", "1.0.0", true),
            ("1.0.0+cu118", "1.0.0", true),
            ("1.0.0rc3", "1.0.0-preview.3", true),
            ("2026.7.1", "2026.07.01", true),
            ("1.0.0rc1", "1.0.0", false),
            ("1.0.0.dev1", "1.0.0", false),
            ("1.0.1", "1.0.0", false),
        ] {
            assert_eq!(pypi_version_matches(pinned, stated), same, "{pinned} {stated}");
        }
    }

    proptest! {
        #[test]
        fn an_accepted_name_can_never_be_an_option_or_a_path(text in "[@a-z0-9./:#=<>~! -]{0,24}") {
            for name in [npm(&text).map(|spec| spec.0), pypi(&text).map(|spec| spec.0)].into_iter().flatten() {
                prop_assert!(!name.starts_with(['-', '.', '/']) && !name.contains("..") && !name.contains(' '));
                prop_assert!(text.starts_with(&name));
            }
        }
    }
}
