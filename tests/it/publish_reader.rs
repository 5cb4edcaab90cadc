//! What readers see while a tree is being published.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
#[cfg(unix)]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
#[cfg(unix)]
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(unix)]
use std::sync::{Condvar, Mutex};
#[cfg(unix)]
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use acp_registry::digest::Sha256;
use acp_registry::entries;
use serde_json::Value;

use crate::publish::{add, build};
#[cfg(unix)]
use crate::support::tree;
use crate::support::{Env, manifest};

/// The base URL of the trees in tests.
const BASE: &str = "https://h.example/latest/";

/// Reads the published tree as people and programs do, and returns names that refer to missing files.
pub(crate) fn dangling(read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    dangling_from(BASE, &["registry.json"], read)
}

/// Like [`dangling`], from these indexes, with this base URL.
pub(crate) fn dangling_from(base: &str, indexes: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    let mut missing = Vec::new();
    let mut seen = BTreeSet::new();
    let mut queue: Vec<(String, String)> = Vec::new();
    // If nothing is published yet, nothing is missing; without a home page there is no site yet.
    let lists: &[&str] =
        if read("index.html").is_some() { &["index.html", "SHA256SUMS", "sitemap.xml", "history.json"] } else { &[] };
    for start in indexes.iter().chain(lists).copied() {
        let Some(bytes) = read(start) else { continue };
        let text = String::from_utf8(bytes).unwrap();
        if start == "SHA256SUMS" {
            queue.extend(text.lines().map(|line| (start.to_owned(), line[66..].to_owned())));
        }
        queue.extend(names(start, &text, base).into_iter().map(|name| (start.to_owned(), name)));
    }
    while let Some((from, name)) = queue.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        match read(&name) {
            None => missing.push(format!("{from} names {name}")),
            Some(bytes) if ["html", "atom", "txt"].contains(&ending(&name)) => {
                let text = String::from_utf8(bytes).unwrap();
                queue.extend(names(&name, &text, base).into_iter().map(|found| (name.clone(), found)));
            }
            Some(_) => {}
        }
    }
    missing.extend(missing_entries(read));
    assert!(!seen.contains("agents/a/index.html") || seen.len() > 20, "{seen:?}");
    missing
}

/// The files that a reader of single agents misses.
fn missing_entries(read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    let Some(document) = read(entries::DISCOVERY) else { return Vec::new() };
    let document: Value = serde_json::from_slice(&document).unwrap();
    let view = &document["views"]["registry.json"];
    let path = |digest: &str| document["lists"].as_str().unwrap().replace("{sha256}", digest);
    let mut missing = Vec::new();
    let groups: BTreeSet<&str> =
        view["groups"].as_array().unwrap().iter().map(|digest| digest.as_str().unwrap()).collect();
    for group in groups {
        let Some(lists) = read(&path(group)) else {
            missing.push(format!("there is no group {group}"));
            continue;
        };
        let lists: BTreeSet<String> = serde_json::from_slice(&lists).unwrap();
        for list in lists.iter().filter(|digest| **digest != Sha256::of(entries::EMPTY).to_string()) {
            let Some(agents) = read(&path(list)) else {
                missing.push(format!("there is no list {list}"));
                continue;
            };
            let agents: BTreeMap<String, String> = serde_json::from_slice(&agents).unwrap();
            let entry = |id: &String| view["entry"].as_str().unwrap().replace("{id}", id);
            missing.extend(agents.keys().map(entry).filter(|entry| read(entry).is_none()));
        }
    }
    missing
}

pub(crate) fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The published files that a text refers to.
fn names(at: &str, text: &str, base: &str) -> Vec<String> {
    let here = url::Url::parse(base).unwrap().join(at).unwrap();
    let is_page = ending(at) == "html";
    // Searches for strings, not characters, since tests read every page after every change.
    let until =
        |rest: &'static str| move |text: &str| text[..text.find(|c| rest.contains(c)).unwrap_or(text.len())].to_owned();
    let urls: Vec<url::Url> = if is_page {
        let links = ["href=\"", "src=\""].into_iter().flat_map(|before| text.split(before).skip(1)).map(until("\"<>"));
        links.filter_map(|link| here.join(&link).ok()).collect()
    } else {
        let links = text.split(base).skip(1).map(until("\"<>() \n"));
        links.map(|link| url::Url::parse(&format!("{base}{link}")).unwrap()).collect()
    };
    let names = urls.into_iter().filter_map(|url| {
        let path = url.as_str().split(['?', '#']).next().unwrap().strip_prefix(base)?.to_owned();
        Some(if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path })
    });
    names.collect()
}

/// Six trees, in `tree-0` to `tree-5`, between which agents are added, changed and removed.
pub(crate) fn trees(env: &Env) -> Vec<String> {
    let trees = (0..6).map(|number| {
        for id in ["a", "b", "c", "d", "e"] {
            let _ = fs::remove_dir_all(env.path(&format!("r/{id}")));
        }
        for (at, id) in ["a", "b", "c", "d", "e"].iter().enumerate() {
            if (number + at) % 3 != 0 || *id == "a" {
                add(env, id);
                env.write(&format!("r/{id}/agent.json"), manifest(id).replace("1.0.0", &format!("1.{number}.{at}")));
            }
        }
        let out = format!("tree-{number}");
        build(env, &out);
        out
    });
    trees.collect()
}

/// Counts the passes of a reader.
#[cfg(unix)]
#[derive(Default)]
pub(crate) struct Passes {
    /// The number of complete passes, and whether the reader has ended.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

#[cfg(unix)]
impl Passes {
    /// Waits for a complete pass that begins after this call, unless the reader has ended.
    pub(crate) fn next(&self) {
        let mut state = self.state.lock().unwrap();
        // The current pass began earlier.
        let wanted = state.0 + 2;
        while state.0 < wanted && !state.1 {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn note(&self, has_ended: bool) {
        let mut state = self.state.lock().unwrap();
        *state = (state.0 + usize::from(!has_ended), state.1 || has_ended);
        self.changed.notify_all();
    }
}

/// Marks the reader as ended when dropped.
#[cfg(unix)]
struct Ended<'a>(&'a Passes);

#[cfg(unix)]
impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.note(true);
    }
}

/// Runs `work` while a reader checks the tree repeatedly. Returns what the reader missed.
#[cfg(unix)]
pub(crate) fn missed_during(look: &(dyn Fn() -> Vec<String> + Sync), work: impl FnOnce(&Passes)) -> Vec<String> {
    let (is_over, passes) = (AtomicBool::new(false), Passes::default());
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let _ended = Ended(&passes);
            while !is_over.load(Ordering::Relaxed) {
                let missing = look();
                if !missing.is_empty() {
                    return missing;
                }
                passes.note(false);
            }
            Vec::new()
        });
        // The reader must end even if the work fails.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&passes)));
        is_over.store(true, Ordering::Relaxed);
        let seen = reader.join().unwrap();
        outcome.unwrap_or_else(|failure| resume_unwind(failure));
        seen
    })
}

/// Variables of the publishing process: the number of events after which it kills itself, the source and the target.
#[cfg(unix)]
const CHILD: [&str; 3] = ["ACP_TEST_PUBLISHER_EVENTS", "ACP_TEST_PUBLISHER_FROM", "ACP_TEST_PUBLISHER_TO"];

/// Publishes in another process, which kills itself after this number of events: a file was sent, or a number of files
/// planned.
#[cfg(unix)]
pub(crate) fn publish_and_die(from: &Path, to: &Path, events: usize) {
    use std::os::unix::process::ExitStatusExt as _;

    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "publish_reader::a_publisher_can_be_killed_at_a_counted_file"]);
    let [counted, source, target] = CHILD;
    command.env(counted, events.to_string()).env(source, from).env(target, to);
    let output = command.output().unwrap();
    let killed = output.status.signal() == Some(nix::sys::signal::Signal::SIGKILL as i32);
    assert!(killed, "{events}: {:?} {}", output.status, String::from_utf8_lossy(&output.stdout));
}

/// The code of the process for [`publish_and_die`].
#[cfg(unix)]
fn die_while_publishing(events: usize, from: &Path, to: &Path) {
    use acp_registry::upload::{
        BuiltTree, Gzip, LeaseTimes, PublishOptions, Revision, UploadEvent, UploadRun, UploadTarget, publish,
    };
    use nix::sys::signal::{Signal, raise};

    let seen = AtomicUsize::new(0);
    let notice = |event| {
        let is_counted = matches!(event, UploadEvent::Planned(_) | UploadEvent::Done);
        if is_counted && seen.fetch_add(1, Ordering::Relaxed) + 1 == events {
            raise(Signal::SIGKILL).unwrap();
        }
    };
    let options = PublishOptions {
        signing: None,
        revision: Revision::Content,
        grace: Duration::from_hours(1),
        sign: None,
        gzip: Gzip::default(),
        recheck: false,
    };
    let turns = LeaseTimes { wait: Duration::from_mins(10), lease: Duration::from_mins(1) };
    let (tree, target) = (BuiltTree::read(from).unwrap(), UploadTarget::directory(to));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = UploadRun { target: &target, jobs: 16, turns, is_dry_run: false, notice: &notice };
    let done = runtime.block_on(publish(run, &tree, &options));
    panic!("it has ended before: {done:?}");
}

#[test]
fn the_reader_of_the_tests_finds_what_is_missing() {
    let env = Env::empty();
    let trees = trees(&env);
    let read = |name: &str| fs::read(env.path(&format!("{}/{name}", trees[0]))).ok();
    assert_eq!(dangling(&read), [] as [String; 0]);
    let without = |gone: &'static str| move |name: &str| if name == gone { None } else { read(name) };
    for gone in ["b.svg", "agents/b/index.html", "agents/b/badge.svg"] {
        assert!(!dangling(&without(gone)).is_empty(), "{gone}");
    }
    assert_eq!(dangling(&|_| None), [] as [String; 0]);
}

#[cfg(unix)]
#[test]
fn a_publisher_can_be_killed_at_a_counted_file() {
    if let [Ok(events), Ok(from), Ok(to)] = CHILD.map(std::env::var) {
        return die_while_publishing(events.parse().unwrap(), &PathBuf::from(from), &PathBuf::from(to));
    }
    let env = crate::publish::env();
    publish_and_die(&env.path("dist"), &env.path("pub"), 1);
    assert!(!env.path("pub/latest").exists());
    // One event is the number of planned files, the other a sent file.
    publish_and_die(&env.path("dist"), &env.path("pub"), 2);
    let sent = tree(&env.path("pub")).into_iter().filter(|(name, _)| !name.starts_with(".acp-registry/"));
    assert_eq!(sent.count(), 1);
}

/// Publishers are killed at any point, 36 times; a reader misses nothing.
#[cfg(unix)]
#[test]
fn a_reader_never_misses_a_file_whatever_stops_publishers() {
    let env = Env::empty();
    let trees = trees(&env);
    let read = |name: &str| fs::read(env.path(&format!("pub/latest/{name}"))).ok();
    let look = || dangling(&read);
    let mut random = fastrand::Rng::with_seed(7);
    let missing = missed_during(&look, |passes| {
        // Successive trees differ in many files.
        for (round, from) in trees.iter().cycle().take(54).enumerate() {
            if round % 3 == 2 {
                let run = env.run(&["publish", "--to", "pub", "--from", from]);
                assert_eq!(run.code, 0, "round {round}: {}", run.stderr);
            } else {
                publish_and_die(&env.path(from), &env.path("pub"), 1 + random.usize(..30));
            }
            passes.next();
            assert_eq!(look(), [] as [String; 0], "round {round}");
        }
    });
    assert_eq!(missing, [] as [String; 0]);
    // A final run leaves the tree as if nothing had happened.
    let run = env.run(&["publish", "--to", "pub", "--from", &trees[1], "--grace", "0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path(&trees[1])));
    assert_eq!(fs::read_dir(env.path("pub/.acp-registry")).unwrap().count(), 2, "something is left half-made");
    let (code, again) = env.json(&["publish", "--to", "pub", "--from", &trees[1], "--recheck"]);
    assert_eq!((code, crate::publish::changed(&again)), (0, Vec::new()));
}
