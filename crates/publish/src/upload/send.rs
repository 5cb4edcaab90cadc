//! Sends files in waves, so that readers never find a reference to a missing file.
//!
//! New files can be sent at any time, because no published file refers to them yet: they come first. Existing files
//! follow; a file is sent after the files that it refers to, and the entry points of readers come last.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::index::INDEX;
use acp_registry_plan::sums::{self, SIGNATURE, SIGNATURE_LIMIT, SUMS};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::AwsAuthorizer;
use object_store::client::{HttpRequest, HttpRequestBody, HttpService as _};
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};

use super::bucket::{Store, element_text};
use super::headers::Headers;
use super::state::STATE;
use super::tree::{self, FILE_LIMIT, hex_digest, is_index};
use super::{Action, BuiltTree, Error, LATEST, UploadEvent, UploadRun, UploadTarget, What};

/// A file to be sent, unless the target already has it.
pub(super) struct Planned {
    /// The name in the source.
    pub(super) name: String,
    /// Where it is sent to.
    pub(super) place: String,
    pub(super) headers: Headers,
    pub(super) form: String,
    /// SHA-256 of the content.
    pub(super) digest: String,
    pub(super) wave: usize,
    /// Whether the target may already have the file. Then it is compared first, which can save sending it.
    pub(super) may_be_there: bool,
}

/// Places of large files that a run has sent, by digest and encoding.
pub(super) type Large = Mutex<HashMap<(String, Option<&'static str>), String>>;

/// What is sent, where to and how.
pub(super) struct Sender<'a> {
    pub(super) run: UploadRun<'a>,
    pub(super) source: TreeSource<'a>,
    /// The signature of `SHA256SUMS`, if it is published.
    pub(super) signature: Option<Vec<u8>>,
    /// What the target may copy instead of being sent it again.
    pub(super) large: Large,
    /// Whether what the target records of a file may be wrong, so that its content is read.
    pub(super) doubts: bool,
}

impl Sender<'_> {
    /// Sends files in waves; see [`self`].
    pub(super) async fn send(&self, planned: &[Planned], on_sent: impl Fn(&Planned)) -> Result<Vec<Action>, Error> {
        (self.run.notice)(UploadEvent::Planned(planned.len()));
        let mut actions = Vec::new();
        for wave in 0..WAVES {
            let files = planned.iter().filter(|file| file.wave == wave);
            let one = async |file: &Planned| {
                let what = self.send_one(file).await?;
                on_sent(file);
                (self.run.notice)(UploadEvent::Done);
                Ok::<Action, Error>(Action { file: file.place.clone(), what })
            };
            let done: Vec<Action> =
                stream::iter(files.map(one)).buffer_unordered(self.run.jobs.max(1)).try_collect().await?;
            if !self.run.is_dry_run && done.iter().any(|action| action.what != What::Keep) {
                self.run.target.sync()?;
            }
            actions.extend(done);
        }
        Ok(actions)
    }

    /// Reads all files that would be sent, so that a file that is missing or damaged is found before anything is sent.
    pub(super) async fn rehearse(&self, planned: &[Planned]) -> Result<(), Error> {
        let one = async |file: &Planned| self.read(&file.name).await.map(drop);
        stream::iter(planned.iter().map(one)).buffer_unordered(self.run.jobs.max(1)).try_collect().await
    }

    async fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        match name {
            SUMS => Ok(self.source.sums().to_vec()),
            SIGNATURE => Ok(self.signature.clone().unwrap_or_default()),
            other => self.source.content(other).await,
        }
    }

    async fn send_one(&self, file: &Planned) -> Result<What, Error> {
        // Writing to a directory never waits, and a signal is noticed only where something does.
        tokio::task::yield_now().await;
        let bytes = file.headers.encode(self.read(&file.name).await?);
        let form = (file.form.as_str(), self.doubts);
        if file.may_be_there && self.run.target.holds(&file.place, &bytes, &file.headers, form).await? {
            return Ok(What::Keep);
        }
        let length = bytes.len();
        let what = What::Send(length as u64);
        if self.run.is_dry_run {
            return Ok(what);
        }
        let key = (file.digest.clone(), file.headers.content_encoding);
        let source = self.large.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(source) = source
            && self.run.target.copy(&source, &file.place, &file.headers, &file.form).await
        {
            return Ok(what);
        }
        self.run.target.put(&file.place, bytes, &file.headers, &file.form).await?;
        if length >= LARGE {
            self.large.lock().unwrap_or_else(PoisonError::into_inner).insert(key, file.place.clone());
        }
        Ok(what)
    }

    /// Removes files of `latest/`.
    pub(super) async fn remove(&self, names: &[String]) -> Result<(), Error> {
        if self.run.is_dry_run {
            return Ok(());
        }
        let one = async |name: &String| self.run.target.remove(&format!("{LATEST}/{name}")).await;
        stream::iter(names.iter().map(one)).buffer_unordered(self.run.jobs.max(1)).try_collect().await
    }
}

/// Objects of at least this size are copied; others are sent again, which takes as many requests.
const LARGE: usize = 256 << 10;

/// Where a copy is tried. A store that does not know copies would write an empty object.
const TRIAL: &str = ".acp-registry/copy.json";

impl Store {
    /// Copies an object that this run has sent, with other headers. Returns `false` if that is not possible; the object
    /// must then be sent.
    pub(super) async fn copy(&self, from: &str, to: &str, headers: &Headers, form: &str) -> bool {
        let can_copy = async {
            let can_copy = self.try_copy(STATE, TRIAL, &Headers::OWN, "").await.is_some();
            // A failure is ignored: the object is small, and the next run replaces it.
            let _ = self.remove(TRIAL).await;
            can_copy
        };
        *self.can_copy.get_or_init(|| can_copy).await && self.try_copy(from, to, headers, form).await.is_some()
    }

    /// `object_store` copies objects with their headers only, so this request is written here.
    async fn try_copy(&self, from: &str, to: &str, headers: &Headers, form: &str) -> Option<()> {
        let place = |name: &str| format!("/{}/{}", self.bucket, self.key(name));
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("{}{}", self.endpoint, place(to)).parse().ok()?;
        let source = place(from);
        let encoding = headers.content_encoding.unwrap_or_default();
        let named = [
            ("x-amz-copy-source", source.as_str()),
            ("x-amz-metadata-directive", "REPLACE"),
            ("content-type", headers.content_type),
            ("cache-control", headers.cache_control),
            ("content-encoding", encoding),
            ("x-amz-meta-acp-registry-form", form),
        ];
        for (name, value) in named.into_iter().filter(|(_, value)| !value.is_empty()) {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).ok()?);
        }
        let credential = self.client.credentials().get_credential().await.ok()?;
        AwsAuthorizer::new(&credential, "s3", &self.region).try_authorize(&mut request, None).ok()?;
        let response = self.connection.call(request).await.ok()?;
        let is_done = response.status().is_success();
        let body = response.into_body().bytes().await.ok()?;
        // A store that has begun to answer can only report a failure in the text.
        let result = String::from_utf8_lossy(&body);
        (is_done && result.contains("CopyObjectResult") && element_text(&result, "ETag").is_some()).then_some(())
    }
}

/// The files of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum TreeSource<'a> {
    Tree(&'a BuiltTree),
    Snapshot(&'a KeptSnapshot<'a>),
}

/// A snapshot at a target.
#[derive(Debug)]
pub(super) struct KeptSnapshot<'a> {
    target: &'a UploadTarget,
    name: &'a str,
    files: BTreeMap<String, String>,
    sums: Vec<u8>,
}

impl TreeSource<'_> {
    /// Names and digests of all files, without `SHA256SUMS`.
    pub(super) fn files(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Tree(tree) => tree.files(),
            Self::Snapshot(kept) => &kept.files,
        }
    }

    /// The content of `SHA256SUMS`.
    pub(super) fn sums(&self) -> &[u8] {
        match self {
            Self::Tree(tree) => tree.sums(),
            Self::Snapshot(kept) => &kept.sums,
        }
    }

    /// Whether a file of this name is part of the tree.
    pub(super) fn has(&self, name: &str) -> bool {
        name == SUMS || self.files().contains_key(name)
    }

    /// Reads a file, and verifies its digest.
    pub(super) async fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        match self {
            Self::Tree(tree) => tree.content(name),
            Self::Snapshot(kept) => kept.content(name).await,
        }
    }
}

impl<'a> KeptSnapshot<'a> {
    /// Reads the list of digests of a snapshot. `known` is the list's own digest, if it is recorded.
    pub(super) async fn read(target: &'a UploadTarget, name: &'a str, known: Option<&str>) -> Result<Self, Error> {
        let place = || target.shown(&format!("{name}/{SUMS}"));
        let Some(sums) = target.sums(name).await? else { return Err(Error::NoSnapshot(target.shown(name))) };
        if known.is_some_and(|known| known != hex_digest(&sums)) {
            return Err(Error::Altered(place()));
        }
        let files = sums::parse(&sums).map_err(|why| Error::Unreadable { place: place(), why })?;
        let kept = Self { target, name, files, sums };
        if !kept.files.contains_key(INDEX) || !is_index(&kept.content(INDEX).await?) {
            return Err(Error::Unreadable { place: place(), why: format!("it does not list {INDEX} with agents") });
        }
        Ok(kept)
    }

    /// The signature of its list of digests, if it has one.
    pub(super) async fn signature(&self) -> Result<Option<Vec<u8>>, Error> {
        self.target.get(&format!("{}/{SIGNATURE}", self.name), SIGNATURE_LIMIT).await
    }

    /// Reads a file from the snapshot's folder or from the contents that it shares with others.
    async fn content(&self, name: &str) -> Result<Vec<u8>, Error> {
        let digest = self.files.get(name).map_or("", String::as_str);
        let is_own = tree::is_kept_by_name(name);
        let place = if is_own { format!("{}/{name}", self.name) } else { sums::content_path(digest) };
        match self.target.get(&place, FILE_LIMIT).await? {
            Some(bytes) if hex_digest(&bytes) == digest => Ok(bytes),
            Some(_) => Err(Error::Altered(self.target.shown(&place))),
            None => Err(Error::Missing(self.target.shown(&place))),
        }
    }
}

/// The number of waves. A wave starts after the one before it has been sent completely.
pub(super) const WAVES: usize = 9;

/// The wave of `SHA256SUMS` in a snapshot, which marks the snapshot complete.
pub(super) const LAST: usize = WAVES - 1;

/// The wave of what a statement names, and of what these files lead to: the statement comes before it.
pub(super) const INDEXES: usize = 3;

/// The wave in which a file is sent. `is_new`: no file of this name is published yet.
pub(super) fn wave(name: &str, is_new: bool) -> usize {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    match (folder, file) {
        // All pages link to the home page and it links to them. A new home page comes last, because readers enter
        // through it.
        ("", "index.html") if is_new => 7,
        ("", SUMS | SIGNATURE | "robots.txt") => 6,
        ("", "index.html" | "sitemap.xml") => 5,
        // Leads to entries and their lists. A reader who misses one reads the index instead, which is new by then.
        ("", "llms.txt" | DISCOVERY) => 4,
        ("", "registry.json") => 3,
        // A changed entry does not fit the earlier lists, so that it comes shortly before the new ones are named.
        _ if folder.starts_with("entries/") && !is_new => 3,
        // These refer to no other file: images, schemas, assets, and the data of one agent.
        _ if ["svg", "png"].contains(&ending)
            || folder == "assets"
            || file.ends_with(".schema.json")
            || file == "agent.json" =>
        {
            0
        }
        ("", "_headers" | "opensearch.xml") => 0,
        _ if is_new => 1,
        // Other indexes, feeds and the history.
        ("", _) if ending != "html" && !file.starts_with("sitemap-") => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_before_what_names_it() {
        let order = [
            ("a.svg", true),
            ("agents/a/index.html", true),
            ("agents/b/index.html", false),
            ("registry.json", true),
            ("index.html", true),
            ("SHA256SUMS", false),
        ];
        let waves: Vec<usize> = order.iter().map(|(name, is_new)| wave(name, *is_new)).collect();
        assert_eq!(waves, [0, 1, 2, 3, 7, 6]);
        for (name, is_new, expected) in [
            ("a.svg", false, 0),
            ("agents/a/badge.svg", true, 0),
            ("agents/a/preview.png", false, 0),
            ("assets/app.1234.js", true, 0),
            ("new.atom", true, 1),
            ("new.atom", false, 3),
            ("registry-preview.json", false, 3),
            ("entries.json", true, 4),
            ("entries.json", false, 4),
            ("entries/registry/agent.json", false, 3),
            ("entries/registry/a.json", true, 1),
            ("entry-lists/12.json", true, 1),
            ("agents/a/feed.atom", false, 2),
            ("404.html", false, 2),
            ("sitemap-1.xml", false, 2),
            ("sitemap.xml", true, 5),
            ("robots.txt", true, 6),
            ("llms.txt", true, 4),
            ("index.html", false, 5),
        ] {
            assert_eq!(wave(name, is_new), expected, "{name}");
        }
        assert!(waves.iter().all(|wave| *wave < LAST));
    }
}
