//! Copies of lists and entries, by their digests, and the record that a tree offers none.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use url::Url;

use super::copies::Copies;
use acp_registry_host::fs::open_bounded;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::ENTRY_LIMIT;

/// How the names of parts end.
pub(super) const PART: &str = "part";

/// How the names of records end that a tree offers no entries.
pub(super) const LACK: &str = "none";

/// For how long a tree is not asked again whether it offers entries.
const ASKED: Duration = Duration::from_hours(24);

/// How old the time of a file may become that is in use: old files are removed.
const TOUCHED: Duration = Duration::from_hours(24);

impl Copies {
    /// The part with this digest. Damaged parts count as missing.
    pub(super) fn part(&self, digest: Sha256) -> Option<Vec<u8>> {
        let path = self.file(digest, PART);
        let directory = self.directory().canonicalize().ok()?;
        let (file, _) = open_bounded(&path, &directory, ENTRY_LIMIT).ok()?;
        let mut bytes = Vec::new();
        file.take(ENTRY_LIMIT).read_to_end(&mut bytes).ok()?;
        if Sha256::of(&bytes) != digest {
            return None;
        }
        if age(&path).is_none_or(|age| age > TOUCHED) {
            // If this fails, the part is fetched again once it was removed.
            let _ = File::options().write(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(bytes)
    }

    /// Keeps a part. One that cannot be kept is fetched again.
    pub(super) fn keep_part(&self, digest: Sha256, bytes: &[u8]) {
        if let Err(error) = self.write(&self.file(digest, PART), bytes) {
            tracing::debug!("no copy is kept: {error}");
        }
    }

    /// Whether the tree of an index has offered no entries when it was last asked, less than a day ago.
    pub(super) fn lacks_entries(&self, index: &Url) -> bool {
        age(&self.lack(index)).is_some_and(|age| age < ASKED)
    }

    /// Records that the tree of an index offers no entries now.
    pub(super) fn note_lack(&self, index: &Url) {
        if let Err(error) = self.write(&self.lack(index), b"") {
            tracing::debug!("it is not recorded that there are no entries: {error}");
        }
    }

    fn lack(&self, index: &Url) -> std::path::PathBuf {
        self.file(Sha256::of(index.as_str()), LACK)
    }
}

/// The age of a file; `None` if it is missing or its time is in the future.
fn age(path: &Path) -> Option<Duration> {
    fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_age(path: &Path, age: Duration) {
        File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_damaged_part_is_missing_and_one_in_use_stays_new() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::at(&folder.path().join("new"));
        let digest = Sha256::of("part");
        assert_eq!(copies.part(digest), None);
        copies.keep_part(digest, b"part");
        let path = copies.file(digest, PART);
        set_age(&path, TOUCHED * 20);
        assert_eq!(copies.part(digest).as_deref(), Some(&b"part"[..]));
        assert!(age(&path).unwrap() < TOUCHED);
        for damaged in ["", "par", "other", "part "] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(copies.part(digest), None, "{damaged}");
        }
    }

    #[test]
    fn a_tree_without_entries_is_asked_again_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::at(folder.path());
        let [one, two] = ["https://h.example/1", "https://h.example/2"].map(|url| Url::parse(url).unwrap());
        copies.note_lack(&one);
        assert!(copies.lacks_entries(&one) && !copies.lacks_entries(&two));
        set_age(&copies.lack(&one), ASKED + Duration::from_secs(1));
        assert!(!copies.lacks_entries(&one));
        copies.note_lack(&one);
        assert!(copies.lacks_entries(&one));
    }
}
