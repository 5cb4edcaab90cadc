//! Copies of indexes and discovery documents from earlier runs.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acp_registry_host::fs::{PathError, is_unfinished, make_private, open_bounded, read_bounded, write_atomic_from};
use acp_registry_http::{Validators, shown};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::ENTRY_LIMIT;
use acp_registry_plan::index::INDEX_LIMIT;
use serde::{Deserialize, Serialize};
use url::Url;

/// How long a copy is used without a request when its host sets no time.
const USUAL: Duration = Duration::from_mins(5);

/// For how long unused copies are kept.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// How many digits of an address's digest are in the name of its copy.
const STEM: usize = 32;

/// The longest first line of a copy, in bytes.
const HEAD: u64 = 1 << 16;

/// The longest time that a host can set.
const LONGEST: Duration = Duration::from_hours(1);

/// A copy that its host confirmed at this time, in words.
pub(super) fn describe_copy(checked: SystemTime) -> String {
    format!("a copy of {}", ago(checked.elapsed().unwrap_or_default().as_secs()))
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s ago"),
        120..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// How the names of parts end.
const PART: &str = "part";

/// How the names of records end that a tree offers no entries.
const LACK: &str = "none";

/// For how long a tree is not asked again whether it offers entries.
const ASKED: Duration = Duration::from_hours(24);

/// How old the time of a file may become that is in use: old files are removed.
const TOUCHED: Duration = Duration::from_hours(24);

/// A directory of copies. Damaged copies count as missing.
#[derive(Debug, Clone)]
pub struct Copies {
    directory: PathBuf,
}

/// An index or a discovery document as its host has sent it.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) head: CopyHeader,
    pub(super) text: String,
}

/// The first line of a copy, whose text may turn out to be damaged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CopyHeader {
    /// The address without its secrets; the name of the file has a digest of the whole address.
    pub(super) url: String,
    pub(super) validators: Validators,
    pub(super) max_age_seconds: Option<u64>,
    /// Of the text after this line.
    pub(super) sha256: String,
    /// When its host last confirmed it; the time of the file.
    #[serde(skip, default = "SystemTime::now")]
    pub(super) checked: SystemTime,
}

impl CopyHeader {
    /// Whether the copy may be used without a request.
    pub(super) fn is_fresh(&self) -> bool {
        let time = self.max_age_seconds.map_or(USUAL, Duration::from_secs).min(LONGEST);
        // A time in the future shows that a clock was wrong.
        self.checked.elapsed().is_ok_and(|age| age < time)
    }
}

impl Copies {
    /// Copies in this directory, which is created with the first one.
    #[must_use]
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// The copies in a cache directory of this program.
    #[must_use]
    pub fn below(cache: &Path) -> Self {
        Self::at(&cache.join("indexes"))
    }

    pub(super) fn find(&self, url: &Url) -> Option<Copy> {
        let (head, mut reader, length) = self.open(url)?;
        let mut text = String::with_capacity(usize::try_from(length).ok()?);
        reader.read_to_string(&mut text).ok()?;
        let is_whole = Sha256::of(&text).to_string() == head.sha256;
        is_whole.then_some(Copy { head, text })
    }

    /// What is known of a copy before its text is read.
    pub(super) fn head(&self, url: &Url) -> Option<CopyHeader> {
        Some(self.open(url)?.0)
    }

    /// Opens a copy behind its first line.
    fn open(&self, url: &Url) -> Option<(CopyHeader, BufReader<io::Take<File>>, u64)> {
        let path = self.path(url);
        let checked = fs::metadata(&path).and_then(|metadata| metadata.modified()).ok()?;
        let directory = self.directory.canonicalize().ok()?;
        let (file, length) = open_bounded(&path, &directory, INDEX_LIMIT + HEAD).ok()?;
        let mut reader = BufReader::new(file.take(INDEX_LIMIT + HEAD));
        let mut line = Vec::new();
        reader.by_ref().take(HEAD).read_until(b'\n', &mut line).ok()?;
        let head = CopyHeader { checked, ..serde_json::from_slice(line.strip_suffix(b"\n")?).ok()? };
        (head.url == shown(url)).then_some((head, reader, length))
    }

    /// Keeps a document with this SHA-256 that was just fetched.
    pub(super) fn keep(
        &self,
        url: &Url,
        (text, sha256): (&str, &str),
        validators: Validators,
        max_age: Option<Duration>,
    ) -> Result<(), PathError> {
        let max_age_seconds = max_age.map(|age| age.as_secs());
        let (sha256, checked) = (sha256.to_owned(), SystemTime::now());
        let head = CopyHeader { url: shown(url), validators, max_age_seconds, sha256, checked };
        let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
        bytes.push(b'\n');
        bytes.extend_from_slice(text.as_bytes());
        self.write(&self.path(url), &bytes)?;
        self.forget();
        Ok(())
    }

    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
        make_private(&self.directory).map_err(PathError::at(&self.directory))?;
        write_atomic_from(&self.directory, path, bytes)
    }

    /// Records that the host has confirmed the copy now.
    pub(super) fn confirm(&self, url: &Url) {
        // If this fails, the host is only asked again.
        let _ = File::options().write(true).open(self.path(url)).and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Removes what was written before [`KEPT`]. A file that cannot be removed does no harm.
    fn forget(&self) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
            // A killed run has left it.
            if is_unfinished(&name.to_string_lossy()) && age > LONGEST {
                let _ = fs::remove_file(entry.path());
            }
            let Some((stem, ending)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
            let is_ours = stem.len() == STEM && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
            let has_age = ["index", PART, LACK].contains(&ending);
            if is_ours && has_age && age > KEPT {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn path(&self, url: &Url) -> PathBuf {
        self.file(Sha256::of(url.as_str()), "index")
    }

    /// The file of what has this digest.
    pub(super) fn file(&self, digest: Sha256, ending: &str) -> PathBuf {
        self.directory.join(format!("{}.{ending}", digest.first(STEM)))
    }

    /// The directory of the copies.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The part with this digest. Damaged parts count as missing.
    pub(super) fn part(&self, digest: Sha256) -> Option<Vec<u8>> {
        let path = self.file(digest, PART);
        let directory = self.directory().canonicalize().ok()?;
        let bytes = read_bounded(&path, &directory, ENTRY_LIMIT).ok().filter(|bytes| Sha256::of(bytes) == digest)?;
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

    /// Whether it has offered none when it was last asked, as far as that is known.
    pub(super) fn lacked_entries(&self, index: &Url) -> bool {
        self.lack(index).is_file()
    }

    /// Records that the tree of an index offers no entries now.
    pub(super) fn note_lack(&self, index: &Url) {
        if let Err(error) = self.write(&self.lack(index), b"") {
            tracing::debug!("it is not recorded that there are no entries: {error}");
        }
    }

    fn lack(&self, index: &Url) -> PathBuf {
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

    const TEXT: &str = r#"{"agents":[],"x":"é"}"#;

    fn keep(copies: &Copies, url: &Url, max_age: Option<Duration>) {
        let sha256 = Sha256::of(TEXT).to_string();
        copies.keep(url, (TEXT, &sha256), Validators::default(), max_age).unwrap();
    }

    #[test]
    fn passwords_of_registries_are_not_kept_and_copies_are_private() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::at(&folder.path().join("new"));
        let [one, two] = ["https://u:one-secret@h.example/r.json?t=1", "https://u:two-secret@h.example/r.json?t=1"]
            .map(|url| Url::parse(url).unwrap());
        keep(&copies, &one, None);
        assert!(copies.find(&one).is_some() && copies.find(&two).is_none());
        for item in fs::read_dir(folder.path().join("new")).unwrap() {
            let text = fs::read_to_string(item.unwrap().path()).unwrap();
            assert!(!text.contains("secret") && !text.contains("t=1"), "{text}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = folder.path().join("new").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }

    #[test]
    fn a_copy_is_fresh_for_a_while_and_never_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::at(&folder.path().join("new"));
        let url = Url::parse("https://h.example/r.json").unwrap();
        assert!(copies.find(&url).is_none());
        let age = |seconds: u64| {
            let file = File::options().write(true).open(copies.path(&url)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
            copies.find(&url).unwrap().head.is_fresh()
        };
        keep(&copies, &url, None);
        assert_eq!(copies.find(&url).unwrap().text, TEXT);
        assert_eq!((age(200), age(400)), (true, false));
        keep(&copies, &url, Some(Duration::from_mins(15)));
        assert_eq!((age(800), age(1000)), (true, false));
        keep(&copies, &url, Some(Duration::from_hours(1000)));
        assert!(!age(3700));
        copies.confirm(&url);
        assert!(copies.find(&url).unwrap().head.is_fresh());
        let whole = fs::read_to_string(copies.path(&url)).unwrap();
        let changed =
            [whole.replace("\"x\"", "\"y\""), whole.replace('é', "\u{0}"), format!("{whole} "), String::new()];
        for damaged in changed.iter().map(String::as_str).chain([&whole[..whole.len() - 1]]) {
            fs::write(copies.path(&url), damaged).unwrap();
            assert!(copies.find(&url).is_none(), "{damaged}");
        }
        assert!(copies.find(&Url::parse("https://h.example/other").unwrap()).is_none());
    }

    #[test]
    fn what_nobody_asks_for_goes_and_what_is_not_ours_stays() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::at(folder.path());
        let [old, new] = ["https://h.example/old", "https://h.example/new"].map(|url| Url::parse(url).unwrap());
        keep(&copies, &old, None);
        let others = ["notes.index", "0123.entries", "0123456789abcdef0123456789abcdeg.index"]
            .map(|name| folder.path().join(name));
        for path in &others {
            fs::write(path, "mine").unwrap();
        }
        let unfinished = folder.path().join(".tmp-Ab12Cd");
        fs::write(&unfinished, "of a killed run").unwrap();
        for path in others.iter().chain([&copies.path(&old), &unfinished]) {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - KEPT - Duration::from_mins(1)).unwrap();
        }
        assert!(copies.find(&old).is_some());
        keep(&copies, &new, None);
        assert!(copies.find(&old).is_none() && copies.find(&new).is_some());
        assert!(others.iter().all(|path| path.exists()) && !unfinished.exists());
    }

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
