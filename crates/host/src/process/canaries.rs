//! Files with invented secrets in the home of a launch, which of them were opened, and what was written beside them. Only on
//! Linux is it noticed that a file is opened, though not by whom, so that other systems get none.

use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
#[cfg(target_os = "linux")]
use std::time::SystemTime;

/// What several launches have done to their canary files. Nothing that starts a program needs these files, so that a program
/// that opens one has looked for secrets.
#[derive(Debug, Default)]
pub struct Canaries(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    opened: BTreeSet<&'static str>,
    written: Option<BTreeSet<String>>,
    problem: Option<String>,
}

impl Canaries {
    /// The files that were opened so far, as paths relative to the home. A launch counts once its sandbox is removed or kept.
    pub fn opened(&self) -> Vec<&'static str> {
        self.lock().opened.iter().copied().collect()
    }

    /// What is new or changed in the homes so far, as paths relative to the home: the first ones only. Caches do not count.
    /// Unescaped. `None` if nothing was watched.
    pub fn written(&self) -> Option<BTreeSet<String>> {
        self.lock().written.clone()
    }

    /// Why a launch was not watched, or not to its end, if so.
    pub fn problem(&self) -> Option<String> {
        self.lock().problem.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(target_os = "linux")]
    pub(super) fn fail(&self, problem: String) {
        self.lock().problem.get_or_insert(problem);
    }
}

/// The files, with contents that no two launches share. Left out is what npm, uv and other runners read while they start a
/// program (`.npmrc`, `.netrc`), what belongs to coding agents, and what some sign in with (`.aws`, `.config/gh`).
#[cfg(target_os = "linux")]
pub(super) fn files() -> [(&'static str, String); 4] {
    let random = |length| -> String { std::iter::repeat_with(fastrand::alphanumeric).take(length).collect() };
    let key = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", random(70));
    [
        (
            ".docker/config.json",
            format!("{{ \"auths\": {{ \"example.com\": {{ \"auth\": \"{}\" }} }} }}\n", random(40)),
        ),
        (".git-credentials", format!("https://someone:{}@example.com\n", random(40))),
        (
            ".kube/config",
            format!("apiVersion: v1\nkind: Config\nusers:\n- name: someone\n  user:\n    token: {}\n", random(40)),
        ),
        (".ssh/id_ed25519", key),
    ]
}

/// How many paths are recorded.
#[cfg(target_os = "linux")]
const WRITTEN: usize = 32;

/// How many entries of a directory are looked at.
#[cfg(target_os = "linux")]
const ENTRIES: usize = 10_000;

/// Directories in a home that are not recorded: caches, and that of projects, in which examinations let agents work.
#[cfg(target_os = "linux")]
const PASSED_OVER: [&str; 3] = [".cache", ".npm", "projects"];

/// The paths in a home, relative to it, with what changes when a file does; `None` for directories.
#[cfg(target_os = "linux")]
type Contents = std::collections::BTreeMap<PathBuf, Option<(Option<SystemTime>, u64)>>;

#[cfg(target_os = "linux")]
fn contents(home: &Path, descends: impl Fn(&Path) -> bool) -> Contents {
    let (mut found, mut folders) = (Contents::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for item in std::fs::read_dir(home.join(&folder)).into_iter().flatten().flatten().take(ENTRIES) {
            let path = folder.join(item.file_name());
            let Ok(metadata) = item.metadata() else { continue };
            if PASSED_OVER.iter().any(|name| path == Path::new(name)) {
                continue;
            }
            let state = (!metadata.is_dir()).then(|| (metadata.modified().ok(), metadata.len()));
            if state.is_none() && descends(&path) {
                folders.push(path.clone());
            }
            found.insert(path, state);
        }
    }
    found
}

/// Watches the files of one launch. Dropped after the program and before its files, it records what was opened.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Watch {
    inotify: rustix::fd::OwnedFd,
    files: Vec<(i32, &'static str)>,
    home: PathBuf,
    before: Contents,
    canaries: Arc<Canaries>,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// Fails if the system has no watches left.
    pub(super) fn new(canaries: &Arc<Canaries>) -> std::io::Result<Self> {
        use rustix::fs::inotify::{CreateFlags, init};

        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let (home, before) = (PathBuf::new(), Contents::new());
        Ok(Self { inotify, files: Vec::new(), home, before, canaries: canaries.clone() })
    }

    /// Remembers what is in the home, once all is there that the program finds.
    pub(super) fn remember(&mut self, home: PathBuf) {
        (self.before, self.home) = (contents(&home, |_| true), home);
    }

    fn record_written(&self) {
        let after = contents(&self.home, |folder| self.before.contains_key(folder));
        let is_new = |(path, state): &(&PathBuf, _)| self.before.get(*path) != Some(*state);
        let written = after.iter().filter(is_new).map(|(path, _)| path.to_string_lossy().into_owned());
        let mut seen = self.canaries.lock();
        let all = seen.written.get_or_insert_default();
        all.extend(written.take(WRITTEN));
        while all.len() > WRITTEN {
            all.pop_last();
        }
    }

    /// Watches a file, wherever it is moved or linked to. To list it or to ask for its size is not to open it.
    pub(super) fn add(&mut self, file: &'static str, path: &Path) -> std::io::Result<()> {
        use rustix::fs::inotify::{WatchFlags, add_watch};

        let number = add_watch(&self.inotify, path, WatchFlags::OPEN | WatchFlags::DONT_FOLLOW)?;
        self.files.push((number, file));
        Ok(())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Watch {
    fn drop(&mut self) {
        use rustix::fs::inotify::{ReadFlags, Reader};

        self.record_written();
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => {
                    self.canaries.fail("the system's list of events was full".to_owned());
                }
                Ok(event) if event.events().contains(ReadFlags::OPEN) => {
                    let file = self.files.iter().find(|(number, _)| *number == event.wd());
                    self.canaries.lock().opened.extend(file.map(|(_, file)| *file));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                Err(error) => return self.canaries.fail(error.to_string()),
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{Home, LaunchDirectories};
    use super::*;

    /// What is known after something was done in a home with canary files.
    fn after(act: impl FnOnce(&Path)) -> (Vec<&'static str>, Option<String>) {
        let parent = tempfile::tempdir().unwrap();
        let canaries = Arc::new(Canaries::default());
        let mut sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        sandbox.plant(&canaries).unwrap();
        act(&sandbox.path().join("home"));
        assert_eq!(canaries.opened(), [] as [&str; 0]);
        sandbox.remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
        (canaries.opened(), canaries.problem())
    }

    #[test]
    fn who_opens_a_file_is_seen_wherever_it_went_and_who_looks_around_is_not() {
        let looks = after(|home| {
            let found = crate::fs::files_below(home).unwrap();
            assert_eq!(found.len(), files().len());
            assert!(found.iter().all(|(path, size)| path.exists() && *size > 0));
        });
        assert_eq!(looks, (vec![], None));
        let reads = after(|home| drop(fs::read(home.join(".git-credentials")).unwrap()));
        assert_eq!(reads, (vec![".git-credentials"], None));
        let moves = after(|home| {
            fs::rename(home.join(".kube"), home.join("b")).unwrap();
            fs::hard_link(home.join(".ssh/id_ed25519"), home.join("c")).unwrap();
            std::os::unix::fs::symlink(home.join("b/config"), home.join("d")).unwrap();
            fs::read(home.join("c")).unwrap();
            fs::copy(home.join("d"), home.join("e")).unwrap();
            fs::remove_dir_all(home.join("b")).unwrap();
        });
        assert_eq!(moves, (vec![".kube/config", ".ssh/id_ed25519"], None));
    }

    #[test]
    fn what_is_written_is_known_and_what_was_there_and_caches_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let canaries = Arc::new(Canaries::default());
        assert_eq!(canaries.written(), None);
        for run in 0..2 {
            let mut sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
            sandbox.add_to_home(".config/a/recipe", "").unwrap();
            sandbox.add_to_home("projects/first/file", "").unwrap();
            sandbox.plant(&canaries).unwrap();
            let home = sandbox.path().join("home");
            fs::read(home.join(".config/a/recipe")).unwrap();
            for folder in [".claude/deep/er", ".config/x", ".cache/x", ".npm/_logs", ".local/share/y"] {
                fs::create_dir_all(home.join(folder)).unwrap();
                fs::write(home.join(folder).join("file"), "x").unwrap();
            }
            fs::write(home.join("projects/first/made"), "x").unwrap();
            if run == 1 {
                fs::write(home.join(".config/a/recipe"), "changed").unwrap();
                std::os::unix::fs::symlink("/etc", home.join(".link")).unwrap();
            }
            sandbox.remove().unwrap();
            let expected: &[&str] = match run {
                0 => &[".claude", ".config/x", ".local/share/y"],
                _ => &[".claude", ".config/a/recipe", ".config/x", ".link", ".local/share/y"],
            };
            assert_eq!(canaries.written().unwrap().iter().collect::<Vec<_>>(), expected);
        }
        let mut sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        sandbox.plant(&canaries).unwrap();
        (0..100).for_each(|number| fs::write(sandbox.path().join(format!("home/{number}")), "").unwrap());
        sandbox.remove().unwrap();
        assert_eq!(canaries.written().unwrap().len(), WRITTEN);
    }

    #[test]
    fn a_full_list_of_events_hides_no_file_and_is_told() {
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        let limit: usize = limit.trim().parse().unwrap();
        let (opened, problem) = after(|home| {
            // Two files in turn, since equal events that follow each other count once.
            for _ in 0..=limit / 2 {
                fs::File::open(home.join(".ssh/id_ed25519")).unwrap();
                fs::File::open(home.join(".kube/config")).unwrap();
            }
        });
        assert_eq!(opened, [".kube/config", ".ssh/id_ed25519"]);
        assert_eq!(problem.as_deref(), Some("the system's list of events was full"));
    }

    #[test]
    fn what_cannot_be_watched_is_no_pass() {
        let parent = tempfile::tempdir().unwrap();
        let canaries = Arc::new(Canaries::default());
        let mut watch = Watch::new(&canaries).unwrap();
        assert!(watch.add(".ssh/id_ed25519", &parent.path().join("missing")).is_err());
        // An earlier file is there already, as where a recipe has made one, and is not a canary.
        let mut sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        sandbox.add_to_home(".kube/config", "").unwrap();
        sandbox.plant(&canaries).unwrap();
        fs::read(sandbox.path().join("home/.kube/config")).unwrap();
        drop(sandbox);
        assert_eq!((canaries.opened(), canaries.problem()), (vec![], None));
        canaries.fail("a".to_owned());
        canaries.fail("b".to_owned());
        assert_eq!(canaries.problem().as_deref(), Some("a"));
    }

    #[test]
    fn contents_differ_between_launches_and_the_persons_home_gets_none() {
        assert!(files().iter().zip(files()).all(|(one, other)| one.0 == other.0 && one.1 != other.1));
        let parent = tempfile::tempdir().unwrap();
        let mut sandbox = LaunchDirectories::below(parent.path(), Home::Persons).unwrap();
        sandbox.plant(&Arc::default()).unwrap();
        assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 1);
    }
}
