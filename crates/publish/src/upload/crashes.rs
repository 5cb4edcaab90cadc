//! What a target holds after publishers were stopped at any change.
//!
//! A target in memory, which fails from a chosen change on. A run that is stopped while it reads leaves what one leaves
//! that is stopped at its next change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_client::index::minisign::{PublicKey, SecretKey, Signatures};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::statement::{STATEMENT, STATEMENT_SIGNATURE, Statement};
use acp_registry_plan::sums::{self, SIGNATURE, SUMS};

use super::{Error, *};

const TURNS: LeaseTimes = LeaseTimes { wait: Duration::ZERO, lease: Duration::from_mins(1) };

/// The names of files of synthetic trees.
const NAMES: [&str; 8] = [
    "a.svg", "agents/a/index.html", "agents/b/index.html", "assets/app.js", "entries.json", "history.json",
    "index.html", "registry-preview.json",
];

/// Writes a tree with some of these files. Contents repeat in a tree, and in later ones.
fn tree(folder: &Path, random: &mut fastrand::Rng) -> BuiltTree {
    let _ = fs::remove_dir_all(folder);
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    files.insert("registry.json", format!("{{\"agents\":[{}]}}", random.u8(..3)));
    for name in NAMES {
        if random.u8(..4) == 0 {
            continue;
        }
        files.insert(name, format!("text {}", random.u8(..12)));
    }
    let mut list = String::new();
    for (name, text) in &files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        list.push_str(&format!("{}  {name}\n", Sha256::of(text.as_bytes())));
    }
    fs::write(folder.join(SUMS), list).unwrap();
    BuiltTree::read(folder).unwrap()
}

/// What is done to the target.
enum Step {
    Publish(BuiltTree, u32),
    /// Back to the snapshot at this place in the list.
    Rollback(usize),
    Prune,
}

struct Place {
    target: UploadTarget,
    key: SecretKey,
    /// The keys that publications announce.
    next: Vec<PublicKey>,
}

/// A secret key as minisign writes it.
const KEY: &str = "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAyPx2JXWPjz8KciuFRP93DB8Lj8xQKF0VxvTtvAnSKZ8X\
                   UnBVoTINdbWs79efsQks2YClq6CnDSwMtSxcyunachdfUk5vy74HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

impl Place {
    fn new() -> Self {
        Self { target: UploadTarget::Memory(Memory::new()), key: KEY.parse().unwrap(), next: Vec::new() }
    }

    fn memory(&self) -> &Memory {
        let UploadTarget::Memory(memory) = &self.target else { unreachable!() };
        memory
    }

    fn upload(&self) -> UploadRun<'_> {
        UploadRun { target: &self.target, jobs: 3, turns: TURNS, is_dry_run: false, notice: &|_| {} }
    }

    fn signing(&self) -> Signing {
        let sign: Sign = Arc::new(|text| Ok(KEY.parse::<SecretKey>().unwrap().sign(text, "").into_bytes()));
        let signer = Some(self.key.public());
        Signing { sign, signer, next: self.next.clone(), valid_for: Duration::from_hours(48) }
    }

    /// A client finds a statement with its signature, and what it names: in `latest/` or in the snapshot.
    fn check_statement(&self, files: &BTreeMap<String, Vec<u8>>, at: &str) {
        let Some(text) = files.get("latest/statement.json") else { return };
        let signatures = files.get("latest/statement.json.minisig").map(|bytes| String::from_utf8_lossy(bytes));
        let signatures = Signatures::parse(&signatures.unwrap_or_default()).unwrap();
        assert!(self.key.public().verifies(text, &signatures), "{at}");
        let statement = Statement::parse(text).unwrap();
        for (name, digest) in statement.digests.iter().filter(|(name, _)| *name != "entries.json") {
            let snapshot = statement.snapshot.as_deref().unwrap();
            let places = [format!("latest/{name}"), format!("{snapshot}/{name}")];
            let mut found = places.iter().filter_map(|place| files.get(place));
            assert!(found.any(|bytes| Sha256::of(bytes) == *digest), "{at}: {name}");
        }
    }

    fn run(&self, step: &Step) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (run, grace) = (self.upload(), Duration::ZERO);
        runtime.block_on(async {
            match step {
                Step::Publish(tree, number) => {
                    let options = PublishOptions {
                        revision: Revision::Named(format!("r{number}")),
                        grace,
                        sign: Some(Arc::new(|sums| Ok(sums.iter().rev().copied().collect()))),
                        signing: Some(self.signing()),
                        gzip: Gzip::default(),
                        recheck: false,
                    };
                    publish(run, tree, &options).await.map(drop)
                }
                Step::Rollback(at) => {
                    let all = list(&self.target).await?;
                    let complete: Vec<&SnapshotEntry> = all.iter().filter(|one| one.is_complete).collect();
                    let name = &complete[at % complete.len()].name;
                    rollback(run, name, grace, Some(&self.signing())).await.map(drop)
                }
                Step::Prune => prune(run, Duration::ZERO).await.map(drop),
            }
        })
    }

    /// The files of a tree by name, as a reader of a snapshot finds them, or what is missing.
    fn read_back(files: &BTreeMap<String, Vec<u8>>, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let list = files.get(&format!("{folder}/{SUMS}")).ok_or("no list")?;
        let read = |(name, digest): (String, String)| {
            let own = tree::is_kept_by_name(&name).then(|| format!("{folder}/{name}"));
            let bytes = files.get(&own.unwrap_or_else(|| sums::content_path(&digest)));
            let bytes = bytes.ok_or(format!("{folder} misses {name}"))?;
            assert_eq!(Sha256::of(bytes).to_string(), digest, "{folder}/{name}");
            Ok((name, bytes.clone()))
        };
        sums::parse(list).unwrap().into_iter().map(read).collect()
    }

    /// Every snapshot that has a list reads back whole.
    fn check(&self, at: &str) {
        let files = self.memory().files();
        self.check_statement(&files, at);
        for name in files.keys().filter_map(|name| name.strip_suffix(&format!("/{SUMS}"))) {
            if name != LATEST {
                Self::read_back(&files, name).unwrap_or_else(|missing| panic!("{at}: {missing}"));
            }
        }
    }

    /// `latest/` holds exactly the tree.
    fn check_latest(&self, tree: &BuiltTree, at: &str) {
        let tree = tree.signed().unwrap();
        let files = self.memory().files();
        let latest: BTreeMap<&str, &Vec<u8>> =
            files.iter().filter_map(|(name, bytes)| Some((name.strip_prefix("latest/")?, bytes))).collect();
        let names = tree.files().keys().map(String::as_str).chain([SUMS, SIGNATURE]);
        let names: BTreeSet<&str> = names.chain([STATEMENT, STATEMENT_SIGNATURE]).collect();
        assert_eq!(latest.keys().copied().collect::<BTreeSet<_>>(), names, "{at}");
        for (name, digest) in tree.files() {
            assert_eq!(Sha256::of(latest[name.as_str()]).to_string(), *digest, "{at}: {name}");
        }
        assert_eq!(latest[SUMS], tree.sums());
        let statement = Statement::parse(latest[STATEMENT]).unwrap();
        assert!(statement.digests.iter().all(|(name, digest)| Sha256::of(latest[name.as_str()]) == *digest), "{at}");
        assert_eq!(latest[SIGNATURE], &tree.sums().iter().rev().copied().collect::<Vec<u8>>());
    }

    /// The stored contents are those that snapshots name.
    fn check_contents(&self, at: &str) {
        let files = self.memory().files();
        let lists = files.iter().filter(|(name, _)| name.starts_with('v') && name.ends_with(&format!("/{SUMS}")));
        let named: BTreeSet<String> = lists
            .flat_map(|(_, list)| sums::parse(list).unwrap())
            .filter(|(name, _)| !tree::is_kept_by_name(name))
            .map(|(_, digest)| sums::content_path(&digest))
            .collect();
        let stored: BTreeSet<String> = files.into_keys().filter(|name| name.starts_with("content/")).collect();
        assert_eq!(stored, named, "{at}");
    }
}

/// Stops each step at each of its changes. Afterwards every snapshot reads back whole, and a repetition of the step
/// leaves what it would have left at once.
#[test]
fn whatever_stops_a_run_snapshots_read_back_and_the_next_run_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let mut stops = 0;
    for seed in 0..3 {
        let mut random = fastrand::Rng::with_seed(seed);
        let place = Place::new();
        for round in 0..7_u32 {
            let step = match (round, random.u8(..6)) {
                (0..=1, _) | (_, 0..=2) => Step::Publish(tree(&folder.path().join("tree"), &mut random), round),
                (_, 3) => Step::Rollback(random.usize(..9)),
                _ => Step::Prune,
            };
            let before = place.memory().files();
            for stop in 0.. {
                let at = format!("seed {seed}, round {round}, stopped at {stop}");
                place.memory().set(before.clone());
                place.memory().allow(stop);
                let is_whole = place.run(&step).is_ok();
                place.memory().allow(usize::MAX);
                place.check(&at);
                // What another program does next must not lose anything either.
                if stop % 5 == 4 {
                    place
                        .run(&Step::Prune)
                        .or_else(|error| match error {
                            Error::Unpublished(_) => Ok(()),
                            other => Err(other),
                        })
                        .unwrap();
                    place.check(&at);
                }
                place.run(&step).unwrap_or_else(|error| panic!("{at}: {error}"));
                place.check(&at);
                if let Step::Publish(tree, _) = &step {
                    place.check_latest(tree, &at);
                }
                place.run(&Step::Prune).unwrap();
                place.check(&at);
                place.check_contents(&at);
                if is_whole {
                    break;
                }
                stops += 1;
            }
            // The next round begins with what an undisturbed run leaves.
            place.memory().set(before);
            place.run(&step).unwrap();
        }
    }
    assert!(stops > 300, "{stops}");
}

/// The last statement is at the target with its signature, however many publishers were killed after they had sent theirs.
#[test]
fn a_statement_keeps_its_signature_and_what_it_announces() {
    const NEXT: &str = "RWTg6fOM9hf2QEuAzZ8ULcIvuMA2VTU7gSlGBdKjnKY1y2IGU2bS9vNk";
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(8);
    let mut place = Place::new();
    let mut publication = |number| Step::Publish(tree(&folder.path().join("tree"), &mut random), number);
    place.next = vec![NEXT.parse().unwrap()];
    place.run(&publication(1)).unwrap();
    place.next.clear();
    let first = place.memory().files();
    for number in 2..=4 {
        let step = publication(number);
        let before = place.memory().files();
        for stop in 0.. {
            place.memory().set(before.clone());
            place.memory().allow(stop);
            place.run(&step).unwrap_err();
            place.memory().allow(usize::MAX);
            if place.memory().files()["latest/statement.json.minisig"] != before["latest/statement.json.minisig"] {
                break;
            }
        }
        assert_eq!(place.memory().files()["latest/statement.json"], first["latest/statement.json"]);
        place.check(&format!("killed in publication {number}"));
    }
    place.run(&publication(5)).unwrap();
    let statement = Statement::parse(&place.memory().files()["latest/statement.json"]).unwrap();
    assert!(statement.next_keys.contains(&NEXT.to_owned()), "{:?}", statement.next_keys);
}

/// A publisher was killed on the way to another tree, and the earlier one is published again.
#[test]
fn what_was_removed_until_a_run_was_stopped_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    let mut tree_if = |has_entries: bool| loop {
        let tree = tree(&folder.path().join(format!("{has_entries}")), &mut random);
        if tree.files().contains_key("entries.json") == has_entries {
            return tree;
        }
    };
    let (one, two) = (Step::Publish(tree_if(true), 1), Step::Publish(tree_if(false), 2));
    let Step::Publish(tree, _) = &one else { unreachable!() };
    let place = Place::new();
    place.run(&one).unwrap();
    let before = place.memory().files();
    for stop in 0.. {
        place.memory().set(before.clone());
        place.memory().allow(stop);
        let is_whole = place.run(&two).is_ok();
        place.memory().allow(usize::MAX);
        place.run(&one).unwrap();
        place.check_latest(tree, &format!("stopped at {stop}"));
        if is_whole {
            break;
        }
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_back_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    let place = Place::new();
    for number in 1..=2 {
        place.run(&Step::Publish(tree(&folder.path().join("tree"), &mut random), number)).unwrap();
    }
    let whole = place.memory().files();
    let first = whole.keys().find(|name| name.contains("-r1/") && name.ends_with(SUMS)).unwrap().clone();
    let contents = sums::parse(&whole[&first]).unwrap();
    let (_, digest) = contents
        .iter()
        .find(|(name, digest)| {
            let latest = whole.get(&format!("latest/{name}"));
            !tree::is_kept_by_name(name) && latest.is_none_or(|bytes| Sha256::of(bytes).to_string() != **digest)
        })
        .unwrap();
    let list = String::from_utf8_lossy(&whole[&first]).into_owned();
    let part = format!("{}\n", list.lines().next().unwrap());
    let damages: [(&str, &str, Option<&str>); 5] = [
        ("missing", &sums::content_path(digest), None),
        ("does not match its digest", &sums::content_path(digest), Some("x")),
        ("does not match its digest", &first, Some("x")),
        ("does not match its digest", &first, Some(&part)),
        ("is not a snapshot", &first, None),
    ];
    for (why, name, text) in damages {
        let mut files = whole.clone();
        match text {
            Some(text) => drop(files.insert(name.to_owned(), text.into())),
            None => drop(files.remove(name)),
        }
        place.memory().set(files.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (snapshot, signing) = (first.split('/').next().unwrap(), place.signing());
        let done = runtime.block_on(rollback(place.upload(), snapshot, Duration::ZERO, Some(&signing)));
        let error = done.unwrap_err();
        assert!(error.to_string().contains(why), "{why}: {error}");
        assert_eq!(error.is_of_integrity(), text.is_some());
        assert_eq!(place.memory().files(), files);
        // What a list names is not known without the list: nothing is collected.
        if name == first {
            place.run(&Step::Prune).unwrap_or_default();
            let left = place.memory().files();
            assert!(contents.values().all(|digest| {
                let path = sums::content_path(digest);
                left.contains_key(&path) == whole.contains_key(&path)
            }));
        }
    }
}

/// The state of a target may be lost on top of it.
#[test]
fn a_snapshot_that_only_the_statement_names_is_not_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(6);
    let place = Place::new();
    for number in 1..=2 {
        place.run(&Step::Publish(tree(&folder.path().join("tree"), &mut random), number)).unwrap();
    }
    let before = place.memory().files();
    for stop in 0.. {
        place.memory().set(before.clone());
        place.memory().allow(stop);
        let is_whole = place.run(&Step::Rollback(1)).is_ok();
        place.memory().allow(usize::MAX);
        place.memory().remove(state::STATE).unwrap();
        place.run(&Step::Prune).unwrap();
        place.check(&format!("stopped at {stop}"));
        if is_whole {
            break;
        }
    }
}

/// A target in memory: its files, and how many more changes succeed.
#[derive(Debug)]
#[allow(unreachable_pub, reason = "a variant of a public type has it")]
pub struct Memory(Mutex<(BTreeMap<String, Vec<u8>>, usize)>);

impl Memory {
    pub fn new() -> Self {
        Self(Mutex::new((BTreeMap::new(), usize::MAX)))
    }

    fn change(&self, work: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> Result<(), Error> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, left) = &mut *inner;
        if *left == 0 {
            return Err(Error::Store { place: String::new(), message: "stopped".to_owned(), remedy: None });
        }
        *left -= 1;
        work(files);
        Ok(())
    }

    fn look<T>(&self, work: impl FnOnce(&BTreeMap<String, Vec<u8>>) -> T) -> T {
        work(&self.0.lock().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Lets this many changes succeed.
    pub fn allow(&self, changes: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = changes;
    }

    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.look(Clone::clone)
    }

    pub fn set(&self, files: BTreeMap<String, Vec<u8>>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = files;
    }

    pub(super) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), Error> {
        self.change(|files| drop(files.insert(name.to_owned(), bytes)))
    }

    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.look(|files| files.get(name).cloned())
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(|files| drop(files.remove(name)))
    }

    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        let below = format!("{folder}/");
        self.look(|files| files.keys().filter_map(|name| Some(name.strip_prefix(&below)?.to_owned())).collect())
    }

    pub(super) fn folders(&self) -> Vec<String> {
        let first = |name: &String| Some(name.split_once('/')?.0.to_owned());
        self.look(|files| files.keys().filter_map(first).collect::<BTreeSet<_>>()).into_iter().collect()
    }
}
