//! A Python package index: the simple API, as JSON (PEP 691) and as HTML (PEP 503).

use super::{LONGEST, PublisherFacts, SourceError, address, segment, sentence, word};
use acp_registry_http::Client;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::json::{self, List, Object};
pub use acp_registry_plan::manifest::normalized;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use pep440_rs::Version;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use time::OffsetDateTime;
use url::Url;

/// Prefers JSON. Many mirrors respond with HTML regardless.
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.2, \
                      text/html; q=0.1, */*; q=0.01";

/// The expected response, for messages.
const EXPECTED: &str = "a project's files";

/// Maximum size of a response, in bytes.
const ANSWER_LIMIT: u64 = 32 << 20;

/// Maximum length of the name of a file, in bytes.
const NAME: usize = 512;

/// The source of Python packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageIndex {
    /// Base URL of the simple API; its path ends with a slash.
    pub base: Url,
    /// Those of the indexes that uv asks before it. As for uv, the first index that has a project counts.
    pub(super) first: Vec<Url>,
}

/// What an index knows about a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Project {
    releases: BTreeMap<Version, ProjectVersion>,
}

/// One version of a project, with all its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectVersion {
    /// Why it should no longer be used, if all its files were yanked.
    pub yanked: Option<String>,
    /// Whether every file has a digest.
    pub has_hashes: bool,
    /// The supported versions of Python, if all its files agree.
    pub requires_python: Option<String>,
    /// When its first file was uploaded, if known.
    pub first: Option<OffsetDateTime>,
    /// When its last file was uploaded, if known.
    pub published: Option<OffsetDateTime>,
    /// Its wheels that have a digest.
    pub wheels: Vec<Wheel>,
    /// Whether the index says of one of its files that it has attestations.
    pub is_attested: bool,
}

/// A wheel of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    /// Its name.
    pub file: String,
    /// Its digest.
    pub sha256: Sha256,
    /// Where the index has its attestations, as written, if it says so (PEP 740).
    pub attestations: Option<String>,
}

impl PackageIndex {
    /// Fetches a project; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails or the response is not valid.
    pub async fn project(&self, client: &Client, name: &str) -> Result<Option<Arc<Project>>, SourceError> {
        for base in self.bases() {
            let page = page(base, name)?;
            let project = super::ask(client, &page, ACCEPT, ANSWER_LIMIT, EXPECTED, |document| {
                let is_json = document.media_type.ends_with("json");
                if is_json { Project::from_json(&document.body) } else { Project::from_html(&document.body) }
            });
            if let Some(project) = project.await? {
                return Ok(Some(project));
            }
        }
        Ok(None)
    }

    /// The base URLs of all indexes, in the order in which they are asked.
    pub(super) fn bases(&self) -> impl Iterator<Item = &Url> {
        self.first.iter().chain([&self.base])
    }

    /// Fetches the publisher's description of a version. There is no standard API for it: indexes at `simple/` have an
    /// older API next to it; for others, nothing is known.
    ///
    /// # Errors
    /// Returns [`SourceError`] if the request fails.
    pub async fn about(&self, client: &Client, name: &str, version: &str) -> Result<PublisherFacts, SourceError> {
        let Some(root) = self.base.as_str().strip_suffix("simple/") else { return Ok(PublisherFacts::default()) };
        let name = segment(&normalized(name));
        // Some mirrors provide only the newest version.
        for path in [format!("{name}/{}", segment(version)), name] {
            let url = address(&format!("{root}pypi/{path}/json"), &self.base, EXPECTED)?;
            let about = super::ask(client, &url, "application/json", ANSWER_LIMIT, EXPECTED, |document| {
                // A mirror may serve something else at this URL.
                let [info] = json::members(&document.body, ["info"]).unwrap_or_default();
                Ok(info.map(PublisherFacts::from_pypi).unwrap_or_default())
            });
            let Some(about) = about.await? else { continue };
            return Ok(PublisherFacts::clone(&about));
        }
        Ok(PublisherFacts::default())
    }
}

/// The address of the list of a project's files.
pub(super) fn page(base: &Url, name: &str) -> Result<Url, SourceError> {
    address(&format!("{base}{}/", segment(&normalized(name))), base, EXPECTED)
}

impl Project {
    /// Parses the JSON form.
    ///
    /// # Errors
    /// Returns what is missing.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Form<'a> {
            #[serde(borrow)]
            files: List<'a, FILES>,
        }
        let Form { files } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if files.is_longer {
            return Err(too_many());
        }
        Ok(Self::from_files(files.items.into_iter().filter_map(ProjectFile::read)))
    }

    /// Parses the HTML form: each link is a file.
    ///
    /// # Errors
    /// Returns an error if it is not a page of an index.
    fn from_html(bytes: &[u8]) -> Result<Self, String> {
        Ok(Self::from_files(files(bytes)?))
    }

    /// Groups the files by version.
    pub fn from_files(files: impl IntoIterator<Item = ProjectFile>) -> Self {
        let mut versions: BTreeMap<Version, Vec<ProjectFile>> = BTreeMap::new();
        for file in files {
            if let Some(version) = file_version(&file.name) {
                versions.entry(version).or_default().push(file);
            }
        }
        Self { releases: versions.into_iter().map(|(version, files)| (version, ProjectVersion::of(files))).collect() }
    }

    /// All versions, the newest first.
    pub fn versions(&self) -> Vec<String> {
        self.all().map(|(version, _)| version.to_string()).collect()
    }

    /// All versions with their data, the newest first.
    pub fn all(&self) -> impl Iterator<Item = (&Version, &ProjectVersion)> {
        self.releases.iter().rev()
    }

    /// A version, if it has files. Versions are compared by PEP 440.
    pub fn release(&self, version: &str) -> Option<&ProjectVersion> {
        self.releases.get(&Version::from_str(version).ok()?)
    }
}

impl ProjectFile {
    /// Parses a file of the JSON form. A member with another type counts as missing.
    fn read(file: &RawValue) -> Option<Self> {
        let names = ["filename", "hashes", "yanked", "requires-python", "upload-time", "provenance"];
        let [name, hashes, yanked, requires_python, uploaded, attestations] = json::read_members(Some(file), names);
        let hashes: Object<'_, 8> = json::object(hashes).unwrap_or_default();
        let sha256 = hashes.members.iter().find(|(name, _)| name == "sha256");
        Some(Self {
            name: word(name)?,
            has_hash: !hashes.members.is_empty(),
            sha256: sha256.and_then(|(_, value)| json::text(Some(value))?.parse().ok()),
            yanked: match json::flag(yanked) {
                Some(true) => Some(String::new()),
                _ => sentence(yanked),
            },
            requires_python: word(requires_python),
            uploaded: super::time(uploaded),
            attestations: word(attestations),
        })
    }
}

impl ProjectVersion {
    fn of(files: Vec<ProjectFile>) -> Self {
        let agree = files.windows(2).all(|pair| pair[0].requires_python == pair[1].requires_python);
        let first = files.iter().filter_map(|file| file.uploaded).min();
        let published = files.iter().filter_map(|file| file.uploaded).max();
        let has_hashes = files.iter().all(|file| file.has_hash);
        let reasons: Option<Vec<String>> = files.iter().map(|file| file.yanked.clone()).collect();
        let is_attested = files.iter().any(|file| file.attestations.is_some());
        let wheels = files.iter().filter(|file| file.name.strip_suffix(".whl").is_some()).filter_map(|file| {
            Some(Wheel { file: file.name.clone(), sha256: file.sha256?, attestations: file.attestations.clone() })
        });
        let wheels = wheels.collect();
        let requires_python = files.into_iter().next().and_then(|file| file.requires_python).filter(|_| agree);
        let reason = |reasons: Vec<String>| reasons.into_iter().find(|reason| !reason.is_empty()).unwrap_or_default();
        Self { yanked: reasons.map(reason), has_hashes, requires_python, first, published, wheels, is_attested }
    }
}

/// The version in the name of a wheel or a source distribution.
fn file_version(file: &str) -> Option<Version> {
    if file.len() > NAME {
        return None;
    }
    if let Some(stem) = file.strip_suffix(".whl") {
        return Version::from_str(stem.split('-').nth(1)?).ok();
    }
    let stem = [".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz"].into_iter().find_map(|end| file.strip_suffix(end))?;
    // Names and versions may contain hyphens: they are separated by the first hyphen that is followed by a version.
    stem.match_indices('-').find_map(|(at, _)| Version::from_str(&stem[at + 1..]).ok())
}

/// A part of a page.
enum Token {
    /// A sign that it is a page of an index.
    Html,
    /// A link, which is a file.
    File(ProjectFile),
}

/// Parses the files of a page: each link is a file.
///
/// Tags are read one attribute at a time, because a tag may have millions of them.
///
/// # Errors
/// Returns an error if it is not a page of an index, or has too many files.
pub(super) fn files(bytes: &[u8]) -> Result<Vec<ProjectFile>, String> {
    let mut reader = Reader::default();
    let emitter = CallbackEmitter::new(move |event: CallbackEvent<'_>, _: Span<()>| reader.read(&event));
    let mut files = Vec::new();
    let mut is_html = false;
    for Ok(token) in Tokenizer::new_with_emitter(bytes, emitter) {
        match token {
            Token::Html => is_html = true,
            Token::File(_) if files.len() == FILES => return Err(too_many()),
            Token::File(file) => files.push(file),
        }
    }
    if files.is_empty() && !is_html {
        return Err("it is not a page of links".to_owned());
    }
    Ok(files)
}

#[derive(Default)]
struct Reader {
    /// The current link.
    link: Option<ProjectFile>,
    /// Whether its start tag is still being read.
    is_in_tag: bool,
    attribute: Vec<u8>,
}

impl Reader {
    fn read(&mut self, event: &CallbackEvent<'_>) -> Option<Token> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.is_in_tag = *name == b"a";
                if self.is_in_tag {
                    self.link = Some(ProjectFile::default());
                }
                return [&b"html"[..], b"body", b"head"].contains(name).then_some(Token::Html);
            }
            CallbackEvent::AttributeName { name } if self.is_in_tag => {
                self.attribute.clear();
                self.attribute.extend_from_slice(&name[..name.len().min(LONGEST)]);
                self.set("");
            }
            CallbackEvent::AttributeValue { value } if self.is_in_tag => {
                let value = String::from_utf8_lossy(value);
                self.set(&value);
            }
            CallbackEvent::CloseStartTag { .. } => self.is_in_tag = false,
            CallbackEvent::String { value } => {
                if let Some(file) = &mut self.link
                    && file.name.len() + value.len() <= LONGEST
                {
                    file.name.push_str(&String::from_utf8_lossy(value));
                }
            }
            CallbackEvent::EndTag { name } if *name == b"a" => {
                let file = self.link.take()?;
                return Some(Token::File(ProjectFile { name: file.name.trim().to_owned(), ..file }));
            }
            CallbackEvent::Doctype { .. } => return Some(Token::Html),
            _ => {}
        }
        None
    }

    fn set(&mut self, value: &str) {
        let Some(file) = &mut self.link else { return };
        match self.attribute.as_slice() {
            b"href" => {
                let digest = value.split_once('#').and_then(|(_, digest)| digest.split_once('='));
                file.has_hash = digest.is_some();
                file.sha256 = digest.filter(|(kind, _)| *kind == "sha256").and_then(|(_, value)| value.parse().ok());
            }
            b"data-yanked" => file.yanked = Some(value[..value.floor_char_boundary(LONGEST)].to_owned()),
            b"data-provenance" => {
                file.attestations = Some(value.to_owned()).filter(|url| (1..=LONGEST).contains(&url.len()));
            }
            b"data-requires-python" => {
                file.requires_python = Some(value.to_owned()).filter(|range| (1..=LONGEST).contains(&range.len()));
            }
            _ => {}
        }
    }
}

/// Maximum number of files of a project.
pub(super) const FILES: usize = 200_000;

/// One file of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    /// The name, which contains the version.
    pub name: String,
    /// Whether the index provides a digest.
    pub has_hash: bool,
    /// Its SHA-256, if the index provides it.
    pub sha256: Option<Sha256>,
    /// Why it should no longer be used, if it was yanked; empty if no reason is given.
    pub yanked: Option<String>,
    /// The supported versions of Python.
    pub requires_python: Option<String>,
    /// When it was uploaded, if known; HTML does not include it.
    pub uploaded: Option<OffsetDateTime>,
    /// Where its attestations are, as written, if the index says so.
    pub attestations: Option<String>,
}

/// The error for a project with too many files.
pub(super) fn too_many() -> String {
    format!("it has more than {FILES} files, and no more are read")
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
            assert_eq!(file_version(file), version.map(|v| Version::from_str(v).unwrap()), "{file}");
        }
    }

    const DIGEST: &str = "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0";

    fn project() -> [Project; 2] {
        let json = json!({ "files": [
            { "filename": "p-1.0-py3-none-any.whl", "hashes": { "md5": "x", "sha256": DIGEST }, "requires-python": ">=3.10", "yanked": false,
              "provenance": "../a" },
            { "provenance": null, "filename": "p-1.0.tar.gz", "hashes": { "sha256": "x" }, "requires-python": ">=3.10", "yanked": "oops" },
            { "filename": "p-1.1.tar.gz", "hashes": {}, "yanked": "broken" },
            { "filename": "p-1.10.tar.gz", "hashes": { "sha256": "x" }, "yanked": true },
            7,
        ] });
        let html = r#"<!DOCTYPE html><html><body><h1>Links</h1>
            <a href="../p-1.0-py3-none-any.whl#sha256=DIGEST" data-requires-python="&gt;=3.10" data-provenance="../a">p-1.0-py3-none-any.whl</a><br/>
            <A HREF="p-1.0.tar.gz#sha256=x" data-yanked="oops" data-requires-python=">=3.10"> p-1.0.tar.gz </A>
            <a href=p-1.1.tar.gz data-yanked=broken data-provenance="">p-1.1.tar.gz</a>
            <a href="p-1.10.tar.gz#sha256=x" data-yanked>p-1.10.tar.gz</a>"#;
        [
            Project::from_json(json.to_string().as_bytes()).unwrap(),
            Project::from_html(html.replace("DIGEST", DIGEST).as_bytes()).unwrap(),
        ]
    }

    #[test]
    fn both_forms_say_the_same() {
        let [json, html] = project();
        assert_eq!(json, html);
        assert_eq!(json.versions(), ["1.10", "1.1", "1.0"]);
        let release = json.release("1.0.0").unwrap();
        assert_eq!(
            *release,
            ProjectVersion {
                yanked: None,
                has_hashes: true,
                requires_python: Some(">=3.10".into()),
                first: None,
                published: None,
                wheels: vec![Wheel {
                    file: "p-1.0-py3-none-any.whl".to_owned(),
                    sha256: DIGEST.parse().unwrap(),
                    attestations: Some("../a".to_owned()),
                }],
                is_attested: true,
            }
        );
        let release = json.release("1.1").unwrap();
        assert_eq!(
            *release,
            ProjectVersion {
                yanked: Some("broken".into()),
                has_hashes: false,
                requires_python: None,
                first: None,
                published: None,
                wheels: Vec::new(),
                is_attested: false,
            }
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

    #[test]
    fn a_tag_of_many_attributes_is_a_link_like_others() {
        let page = format!("<html><a {} href='x#sha256=1' data-yanked>p-1.0.zip</a>", "b c=d ".repeat(50_000));
        let files = files(page.as_bytes()).unwrap();
        let expected = ProjectFile {
            name: "p-1.0.zip".to_owned(),
            has_hash: true,
            yanked: Some(String::new()),
            ..ProjectFile::default()
        };
        assert_eq!(files, [expected]);
    }

    #[test]
    fn more_files_than_are_read_are_an_error() {
        let page = "<a>p-1.zip</a>".repeat(FILES + 1);
        assert!(files(page.as_bytes()).unwrap_err().contains("more than 200000 files"));
    }
}
