//! Answers that are kept for later runs, how a host names their versions, and results that one run keeps.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use acp_registry_host::fs::{PathError, make_private, open_file, write_atomic_from};
use acp_registry_plan::digest::Sha256;
use reqwest::header::{self, HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use url::Url;

use super::error::FetchError;

/// The largest document that is kept, in bytes.
const DOCUMENT_LIMIT: u64 = 64 << 20;

/// A directory of answers. Damaged entries are fetched again; failures to write are ignored.
///
/// Documents are used only after their host has confirmed that they have not changed. Files with a known digest never
/// change, and are found by address and digest.
#[derive(Debug, Clone)]
pub struct Cache {
    directory: PathBuf,
}

/// A document, and how its host names this version of it. All but the body is the first line of its file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    #[serde(flatten)]
    pub(super) validators: Validators,
    pub(super) media_type: String,
    sha256: String,
    #[serde(skip)]
    pub(super) body: Vec<u8>,
}

impl Cache {
    /// The size of the cache that this program keeps between runs, in bytes.
    pub const LIMIT: u64 = 2 << 30;

    /// The folders of a cache in this directory.
    pub fn folders(directory: &Path) -> [PathBuf; 2] {
        ["documents", "files"].map(|part| directory.join(part))
    }

    /// Opens or creates a cache, readable for its owner only, and deletes the least recently used entries until at most
    /// `limit` bytes are left.
    ///
    /// # Errors
    /// [`PathError`] when the directory cannot be made.
    pub fn open(directory: &Path, limit: u64) -> Result<Self, PathError> {
        for folder in Self::folders(directory) {
            make_private(&folder).map_err(PathError::at(directory))?;
        }
        let cache = Self { directory: directory.to_owned() };
        cache.prune(limit);
        Ok(cache)
    }

    pub(super) fn load(&self, key: &str) -> Option<Stored> {
        let path = self.document_path(key);
        let mut bytes = Vec::new();
        open_file(&path).ok()?.take(DOCUMENT_LIMIT + (1 << 16)).read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|&b| b == b'\n')?;
        let mut stored: Stored = serde_json::from_slice(&bytes[..end]).ok()?;
        stored.body = bytes.split_off(end + 1);
        if Sha256::of(&stored.body).to_string() != stored.sha256 {
            return None;
        }
        touch(&path);
        Some(stored)
    }

    pub(super) fn store(&self, key: &str, media_type: &str, body: &[u8], headers: &HeaderMap) {
        let validators = Validators::of(headers);
        let control = headers.get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let may_not = control.to_ascii_lowercase().contains("no-store");
        if may_not || validators == Validators::default() || body.len() as u64 > DOCUMENT_LIMIT {
            return;
        }
        let (media_type, sha256) = (media_type.to_owned(), Sha256::of(body).to_string());
        let head = Stored { validators, media_type, sha256, body: Vec::new() };
        if let Ok(mut bytes) = serde_json::to_vec(&head) {
            bytes.push(b'\n');
            bytes.extend_from_slice(body);
            // A cache that cannot be written only costs time.
            let path = self.document_path(key);
            let _ = write_atomic_from(&self.directory.join("documents"), &path, &bytes);
        }
    }

    /// A file that was fetched from this address and had this SHA-256. The caller must hash it again before using it.
    pub fn file(&self, url: &Url, sha256: Sha256) -> Option<PathBuf> {
        let path = self.file_path(url, sha256);
        path.is_file().then(|| touch(&path)).map(|()| path)
    }

    /// Keeps a copy of a file that was fetched from this address and has this SHA-256.
    ///
    /// # Errors
    /// The error of the operating system; the cache has not changed then.
    pub fn keep(&self, url: &Url, sha256: Sha256, mut file: &File) -> io::Result<()> {
        let mut part = tempfile::Builder::new().prefix(".tmp-").tempfile_in(self.directory.join("files"))?;
        file.seek(SeekFrom::Start(0))?;
        io::copy(&mut file, &mut part)?;
        part.persist(self.file_path(url, sha256)).map_err(|error| error.error)?;
        Ok(())
    }

    fn document_path(&self, key: &str) -> PathBuf {
        self.directory.join("documents").join(Sha256::of(key).to_string())
    }

    fn file_path(&self, url: &Url, sha256: Sha256) -> PathBuf {
        self.directory.join("files").join(Sha256::of(format!("{url}\n{sha256}")).to_string())
    }

    /// Deletes the least recently used entries. What cannot be deleted is tried again in the next run.
    fn prune(&self, limit: u64) {
        // What a link leads to is not the cache's.
        let folders = Self::folders(&self.directory).into_iter().filter(|folder| !folder.is_symlink());
        let items = folders.flat_map(fs::read_dir).flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = items
            .filter_map(|item| {
                let metadata = item.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), item.path()))
            })
            .collect();
        files.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
        let mut total = 0;
        for (_, length, path) in files {
            total += length;
            if total > limit {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn touch(path: &Path) {
    // This only affects the order of deletion.
    let _ = open_file(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// The names of a version of a document; each is empty where the host has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`
    pub etag: String,
    /// `Last-Modified`
    pub last_modified: String,
}

impl Validators {
    /// The validators of an answer.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
        let text = |name| text(name).unwrap_or_default().to_owned();
        Self { etag: text(header::ETAG), last_modified: text(header::LAST_MODIFIED) }
    }

    /// The headers that ask whether another version holds now.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (HeaderName, &str)> {
        let pairs = [(header::IF_NONE_MATCH, self.etag.as_str()), (header::IF_MODIFIED_SINCE, &self.last_modified)];
        pairs.into_iter().filter(|(_, value)| !value.is_empty())
    }
}

/// What was read in a document, or what is wrong with it; `None` when there is no such document.
pub type Understood<T> = Result<Option<Result<Arc<T>, String>>, FetchError>;

/// What was read in the documents of this run, by address, accepted media types and what was read.
#[derive(Debug, Default)]
pub(super) struct Memo(pub(super) Mutex<HashMap<(String, String, TypeId), Cell>>);

pub(super) type Cell = Arc<OnceCell<Understood<dyn Any + Send + Sync>>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn store(cache: &Cache, key: &str, headers: &HeaderMap) {
        cache.store(key, "text/plain", b"body", headers);
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_is_damaged_or_may_not_be_kept_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), 1 << 20).unwrap();
        let etag = headers(&[("etag", "\"1\"")]);
        store(&cache, "good", &etag);
        let stored = cache.load("good").unwrap();
        assert_eq!(
            (stored.validators.etag.as_str(), stored.media_type.as_str(), stored.body.as_slice()),
            ("\"1\"", "text/plain", &b"body"[..])
        );
        store(&cache, "plain", &headers(&[]));
        store(&cache, "secret", &headers(&[("etag", "\"1\""), ("cache-control", "private, no-store")]));
        store(&cache, "torn", &etag);
        let path = cache.document_path("torn");
        fs::write(&path, fs::read_to_string(&path).unwrap().replace("body", "bod")).unwrap();
        for key in ["plain", "secret", "torn", "never"] {
            assert!(cache.load(key).is_none(), "{key}");
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path(), 1 << 20).unwrap();
        let url = Url::parse("https://h.example/a").unwrap();
        let source = folder.path().join("source");
        fs::write(&source, [0; 100]).unwrap();
        let [old, new] = ["old", "new"].map(Sha256::of);
        for (digest, age) in [(old, 200), (new, 100)] {
            cache.keep(&url, digest, &File::open(&source).unwrap()).unwrap();
            let file = File::open(cache.file_path(&url, digest)).unwrap();
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(age)).unwrap();
        }
        Cache::open(folder.path(), 150).unwrap();
        assert!(cache.file(&url, old).is_none());
        assert!(cache.file(&url, new).is_some());
        assert!(cache.file(&Url::parse("https://h.example/b").unwrap(), new).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_not_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, mine) = (folder.path().join("cache"), folder.path().join("mine"));
        for path in [&cache, &mine] {
            fs::create_dir(path).unwrap();
        }
        fs::write(mine.join("picture"), [0; 100]).unwrap();
        std::os::unix::fs::symlink(&mine, cache.join("files")).unwrap();
        Cache::open(&cache, 10).unwrap();
        assert!(mine.join("picture").exists());
    }
}
