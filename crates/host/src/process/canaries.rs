//! Files with invented secrets in the home of a launch, and which of them were opened. Only Linux can tell, so other systems
//! get none.

use std::collections::BTreeSet;
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// What several launches have done to their canary files. Nothing that starts a program needs these files, so that a program
/// that opens one has looked for secrets.
#[derive(Debug, Default)]
pub struct Canaries(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    opened: BTreeSet<&'static str>,
    problem: Option<String>,
}

impl Canaries {
    /// The files that were opened so far, as paths relative to the home. A launch counts once its sandbox is removed or kept.
    pub fn opened(&self) -> Vec<&'static str> {
        self.lock().opened.iter().copied().collect()
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

/// Watches the files of one launch. Dropped after the program and before its files, it records what was opened.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Watch {
    inotify: rustix::fd::OwnedFd,
    files: Vec<(i32, &'static str)>,
    canaries: Arc<Canaries>,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// Fails if the system has no watches left.
    pub(super) fn new(canaries: &Arc<Canaries>) -> std::io::Result<Self> {
        use rustix::fs::inotify::{CreateFlags, init};

        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify, files: Vec::new(), canaries: canaries.clone() })
    }

    /// Watches a file, wherever it is moved or linked to. To list it or to ask for its size is not to open it.
    pub(super) fn add(&mut self, file: &'static str, path: &std::path::Path) -> std::io::Result<()> {
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
    use std::path::Path;

    use super::super::{Home, Sandbox};
    use super::*;

    /// What is known after something was done in a home with canary files.
    fn after(act: impl FnOnce(&Path)) -> (Vec<&'static str>, Option<String>) {
        let parent = tempfile::tempdir().unwrap();
        let canaries = Arc::new(Canaries::default());
        let mut sandbox = Sandbox::below(parent.path(), Home::Empty).unwrap();
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
        let mut sandbox = Sandbox::below(parent.path(), Home::Empty).unwrap();
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
        let mut sandbox = Sandbox::below(parent.path(), Home::Persons).unwrap();
        sandbox.plant(&Arc::default()).unwrap();
        assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 1);
    }
}
