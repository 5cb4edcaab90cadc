//! A Python package index: the simple API, as JSON (PEP 691) and as HTML (PEP 503).

use std::collections::BTreeSet;
use std::str::FromStr;

use html5gum::{Token, Tokenizer};
use pep440_rs::Version;
use serde_json::Value;
use time::OffsetDateTime;
use url::Url;

use super::{About, SourceError, segment};
use crate::net::Client;

/// JSON where the index knows it; many mirrors answer HTML whatever they are asked.
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.2, \
                      text/html; q=0.1, */*; q=0.01";

/// What a good answer is, for messages.
const EXPECTED: &str = "a project's files";

/// The largest answer that is read, in bytes.
const LIMIT: u64 = 64 << 20;

/// Where Python packages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Base of the simple API; its path ends with a slash.
    pub base: Url,
}

/// What an index knows of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    /// The files of all its versions.
    pub files: Vec<File>,
}

/// One file of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Its name, which tells its version.
    pub name: String,
    /// Whether the index gives a digest for it.
    pub has_hash: bool,
    /// Why nobody should use it any more; empty where no reason is given.
    pub yanked: Option<String>,
    /// The versions of Python that it runs on.
    pub requires_python: Option<String>,
    /// When it came, if the index tells; those that answer HTML do not.
    pub uploaded: Option<OffsetDateTime>,
}

/// One version of a project: its files together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Why nobody should use it any more, if that holds for all its files.
    pub yanked: Option<String>,
    /// Whether every file has a digest.
    pub has_hashes: bool,
    /// The versions of Python that it runs on, where all its files agree.
    pub requires_python: Option<String>,
    /// When the last of its files came, if the index tells.
    pub published: Option<OffsetDateTime>,
}

impl Index {
    /// Asks for a project; `None` when there is none of this name.
    ///
    /// # Errors
    /// [`SourceError`] when the index cannot be asked, or does not answer like one.
    pub async fn project(&self, client: &Client, name: &str) -> Result<Option<Project>, SourceError> {
        let url = format!("{}{}/", self.base, segment(&normalized(name)));
        let url = Url::parse(&url).map_err(|error| SourceError::malformed(&self.base, EXPECTED, error))?;
        let Some(document) = client.document(&url, ACCEPT, LIMIT).await? else { return Ok(None) };
        let project = if document.media_type.ends_with("json") {
            Project::from_json(&document.body).map_err(|error| SourceError::malformed(&url, EXPECTED, error))?
        } else {
            Project::from_html(&document.body).map_err(|error| SourceError::malformed(&url, EXPECTED, error))?
        };
        Ok(Some(project))
    }

    /// What the publisher says of a version. Indexes have no standard way to ask for it: those that lie at `simple/` have
    /// an older interface beside it, and of others nothing is known.
    ///
    /// # Errors
    /// [`SourceError`] when the index cannot be asked.
    pub async fn about(&self, client: &Client, name: &str, version: &str) -> Result<About, SourceError> {
        let Some(root) = self.base.as_str().strip_suffix("simple/") else { return Ok(About::default()) };
        let name = segment(&normalized(name));
        // Some mirrors know the newest version only.
        for path in [format!("{name}/{}", segment(version)), name] {
            let url = Url::parse(&format!("{root}pypi/{path}/json"))
                .map_err(|error| SourceError::malformed(&self.base, EXPECTED, error))?;
            let Some(document) = client.document(&url, "application/json", LIMIT).await? else { continue };
            // A mirror may have something else there.
            let value: Value = serde_json::from_slice(&document.body).unwrap_or_default();
            return Ok(About::of_pypi(&value["info"]));
        }
        Ok(About::default())
    }
}

/// A name as PEP 503 compares it.
#[must_use]
pub fn normalized(name: &str) -> String {
    let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("-").to_ascii_lowercase()
}

impl Project {
    /// Reads the JSON form.
    ///
    /// # Errors
    /// What is missing.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let files = value.get("files").and_then(Value::as_array).ok_or("there is no array `files`")?;
        let file = |file: &Value| {
            let text = |key: &str| file.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
            let yanked = match file.get("yanked") {
                Some(Value::Bool(true)) => Some(String::new()),
                Some(Value::String(reason)) => Some(reason.clone()),
                _ => None,
            };
            let has_hash = file.get("hashes").and_then(Value::as_object).is_some_and(|hashes| !hashes.is_empty());
            let requires_python = text("requires-python");
            let uploaded = super::time(file.get("upload-time"));
            Some(File { name: text("filename")?, has_hash, yanked, requires_python, uploaded })
        };
        Ok(Self { files: files.iter().filter_map(file).collect() })
    }

    /// Reads the HTML form: each link is a file.
    ///
    /// # Errors
    /// When it is no page of an index.
    pub fn from_html(bytes: &[u8]) -> Result<Self, String> {
        let mut files = Vec::new();
        let mut open: Option<File> = None;
        let mut is_html = false;
        for token in Tokenizer::new(bytes) {
            let Ok(token) = token;
            match token {
                Token::StartTag(tag) if &**tag.name == b"a" => {
                    let attribute = |name: &str| {
                        let value = tag.attributes.get(name.as_bytes());
                        value.map(|value| String::from_utf8_lossy(value).into_owned())
                    };
                    let address = attribute("href").unwrap_or_default();
                    let has_hash = address.split_once('#').is_some_and(|(_, digest)| digest.contains('='));
                    open = Some(File {
                        name: String::new(),
                        has_hash,
                        yanked: attribute("data-yanked"),
                        requires_python: attribute("data-requires-python").filter(|range| !range.is_empty()),
                        uploaded: None,
                    });
                }
                Token::String(text) => {
                    if let Some(file) = &mut open {
                        file.name.push_str(&String::from_utf8_lossy(&text));
                    }
                }
                Token::EndTag(tag) if &**tag.name == b"a" => {
                    files.extend(open.take().map(|file| File { name: file.name.trim().to_owned(), ..file }));
                }
                Token::StartTag(tag) => is_html |= [&b"html"[..], b"body", b"head"].contains(&&**tag.name),
                Token::Doctype(_) => is_html = true,
                _ => {}
            }
        }
        if files.is_empty() && !is_html {
            return Err("it is no page of links".to_owned());
        }
        Ok(Self { files })
    }

    /// All versions, the newest first.
    #[must_use]
    pub fn versions(&self) -> Vec<String> {
        let versions: BTreeSet<Version> = self.files.iter().filter_map(|file| version_of(&file.name)).collect();
        versions.into_iter().rev().map(|version| version.to_string()).collect()
    }

    /// A version, if it has files; versions are equal as PEP 440 says.
    #[must_use]
    pub fn release(&self, version: &str) -> Option<Release> {
        let wanted = Version::from_str(version).ok()?;
        let files: Vec<&File> =
            self.files.iter().filter(|file| version_of(&file.name).as_ref() == Some(&wanted)).collect();
        let first = files.first()?;
        let reasons: Option<Vec<&String>> = files.iter().map(|file| file.yanked.as_ref()).collect();
        let agree = files.iter().all(|file| file.requires_python == first.requires_python);
        Some(Release {
            yanked: reasons
                .map(|reasons| reasons.into_iter().find(|reason| !reason.is_empty()).cloned().unwrap_or_default()),
            has_hashes: files.iter().all(|file| file.has_hash),
            requires_python: first.requires_python.clone().filter(|_| agree),
            published: files.iter().filter_map(|file| file.uploaded).max(),
        })
    }
}

/// The version in the name of a wheel or a source distribution.
fn version_of(file: &str) -> Option<Version> {
    if let Some(stem) = file.strip_suffix(".whl") {
        return Version::from_str(stem.split('-').nth(1)?).ok();
    }
    let stem = [".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz"].into_iter().find_map(|end| file.strip_suffix(end))?;
    // A name may have hyphens in it, and so may a version: the first hyphen behind which a version stands divides them.
    stem.match_indices('-').find_map(|(at, _)| Version::from_str(&stem[at + 1..]).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_normalised() {
        for (name, expected) in [("My.Pack__age", "my-pack-age"), ("a-_.b", "a-b"), ("a", "a")] {
            assert_eq!(normalized(name), expected);
        }
    }

    #[test]
    fn file_names_tell_versions() {
        for (file, version) in [
            ("my_pack-1.0-py3-none-any.whl", Some("1.0")),
            ("my-pack-1.0rc1.tar.gz", Some("1.0rc1")),
            ("my-2-pack-1.0.zip", Some("1.0")),
            ("pack-1.0.exe", None),
            ("pack.whl", None),
            ("", None),
        ] {
            assert_eq!(version_of(file), version.map(|v| Version::from_str(v).unwrap()), "{file}");
        }
    }

    fn project() -> [Project; 2] {
        let json = json!({ "files": [
            { "filename": "p-1.0-py3-none-any.whl", "hashes": { "sha256": "x" }, "requires-python": ">=3.10", "yanked": false },
            { "filename": "p-1.0.tar.gz", "hashes": { "sha256": "x" }, "requires-python": ">=3.10", "yanked": "oops" },
            { "filename": "p-1.1.tar.gz", "hashes": {}, "yanked": "broken" },
            { "filename": "p-1.10.tar.gz", "hashes": { "sha256": "x" }, "yanked": true },
            7,
        ] });
        let html = r#"<!DOCTYPE html><html><body><h1>Links</h1>
            <a href="../p-1.0-py3-none-any.whl#sha256=x" data-requires-python="&gt;=3.10">p-1.0-py3-none-any.whl</a><br/>
            <A HREF="p-1.0.tar.gz#sha256=x" data-yanked="oops" data-requires-python=">=3.10"> p-1.0.tar.gz </A>
            <a href=p-1.1.tar.gz data-yanked=broken>p-1.1.tar.gz</a>
            <a href="p-1.10.tar.gz#sha256=x" data-yanked>p-1.10.tar.gz</a>"#;
        [Project::from_json(json.to_string().as_bytes()).unwrap(), Project::from_html(html.as_bytes()).unwrap()]
    }

    #[test]
    fn both_forms_say_the_same() {
        let [json, html] = project();
        assert_eq!(json, html);
        assert_eq!(json.versions(), ["1.10", "1.1", "1.0"]);
        let release = json.release("1.0.0").unwrap();
        assert_eq!(
            release,
            Release { yanked: None, has_hashes: true, requires_python: Some(">=3.10".into()), published: None }
        );
        let release = json.release("1.1").unwrap();
        assert_eq!(
            release,
            Release { yanked: Some("broken".into()), has_hashes: false, requires_python: None, published: None }
        );
        assert_eq!(json.release("1.10").unwrap().yanked.as_deref(), Some(""));
        assert_eq!(json.release("2"), None);
        assert_eq!(json.release("nonsense"), None);
    }

    #[test]
    fn what_is_no_index_is_told_from_an_empty_one() {
        assert_eq!(Project::from_html(b"<html><body></body>").unwrap(), Project::default());
        for odd in ["", "gone", "{\"files\":[]}"] {
            assert!(Project::from_html(odd.as_bytes()).is_err(), "{odd}");
        }
        for odd in ["", "{}", "[]", "{\"files\":{}}"] {
            assert!(Project::from_json(odd.as_bytes()).is_err(), "{odd}");
        }
    }
}
