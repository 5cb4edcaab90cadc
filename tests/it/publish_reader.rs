//! What readers of a published tree see while it is published.

use std::collections::BTreeSet;
use std::fs;
#[cfg(unix)]
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use crate::publish::{add, build};
#[cfg(unix)]
use crate::support::tree;
use crate::support::{Env, manifest};

/// Reads what is published as people and programs do, and returns the names that lead nowhere.
pub(crate) fn dangling(read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<String> {
    const BASE: &str = "https://h.example/latest/";
    let mut missing = Vec::new();
    let mut seen = BTreeSet::new();
    let mut queue: Vec<(String, String)> = Vec::new();
    // Where nothing is published yet, nothing is missing; without a home page there is no site yet.
    let lists: &[&str] =
        if read("index.html").is_some() { &["index.html", "SHA256SUMS", "sitemap.xml", "history.json"] } else { &[] };
    for start in ["registry.json"].iter().chain(lists).copied() {
        let Some(bytes) = read(start) else { continue };
        let text = String::from_utf8(bytes).unwrap();
        if start == "SHA256SUMS" {
            queue.extend(text.lines().map(|line| (start.to_owned(), line[66..].to_owned())));
        }
        queue.extend(names(start, &text, BASE).into_iter().map(|name| (start.to_owned(), name)));
    }
    while let Some((from, name)) = queue.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        match read(&name) {
            None => missing.push(format!("{from} names {name}")),
            Some(bytes) if ["html", "atom", "txt"].contains(&ending(&name)) => {
                let text = String::from_utf8(bytes).unwrap();
                queue.extend(names(&name, &text, BASE).into_iter().map(|found| (name.clone(), found)));
            }
            Some(_) => {}
        }
    }
    assert!(!seen.contains("agents/a/index.html") || seen.len() > 20, "{seen:?}");
    missing
}

pub(crate) fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// The published files that a published text names.
fn names(at: &str, text: &str, base: &str) -> Vec<String> {
    let here = url::Url::parse(base).unwrap().join(at).unwrap();
    let is_page = ending(at) == "html";
    let pieces = text.split(|c: char| "\"<>() \n".contains(c)).scan("", |before, piece| {
        let is_link = is_page && (before.ends_with("href=") || before.ends_with("src="));
        *before = piece;
        Some((piece, is_link))
    });
    let urls = pieces.filter_map(|(piece, is_link)| match is_link {
        true => here.join(piece).ok(),
        false if !is_page && piece.starts_with(base) => url::Url::parse(piece).ok(),
        false => None,
    });
    let names = urls.filter_map(|url| {
        let path = url.as_str().split(['?', '#']).next().unwrap().strip_prefix(base)?.to_owned();
        Some(if path.is_empty() || path.ends_with('/') { format!("{path}index.html") } else { path })
    });
    names.collect()
}

/// Six trees with agents that come, change and go, in `tree-0` to `tree-5`.
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

/// What a reader misses who reads what is published again and again while something is done, and how often it has looked.
#[cfg(unix)]
pub(crate) fn missed_during(
    read: &(dyn Fn(&str) -> Option<Vec<u8>> + Sync),
    work: impl FnOnce(),
) -> (Vec<String>, usize) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut passes = 0;
            while !is_over.load(Ordering::Relaxed) {
                passes += 1;
                let missing = dangling(read);
                if !missing.is_empty() {
                    return (missing, passes);
                }
            }
            (Vec::new(), passes)
        });
        // The reader has to end, also when the work has failed.
        let outcome = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::Relaxed);
        let seen = reader.join().unwrap();
        outcome.unwrap_or_else(|failure| resume_unwind(failure));
        seen
    })
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

/// Publishers are killed at any point, fifty times; whoever reads meanwhile misses nothing.
#[cfg(unix)]
#[test]
fn a_reader_never_misses_a_file_whatever_stops_publishers() {
    let env = Env::empty();
    let trees = trees(&env);
    let read = |name: &str| fs::read(env.path(&format!("pub/latest/{name}"))).ok();
    let mut random = fastrand::Rng::with_seed(7);
    let (mut killed, mut finished) = (0, 0);
    let (missing, passes) = missed_during(&read, || {
        for round in 0..50 {
            let from = &trees[random.usize(..trees.len())];
            let mut command = env.command(&["publish", "--to", "pub", "--from", from]);
            let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
            if round % 3 != 2 {
                thread::sleep(Duration::from_millis(random.u64(..120)));
                let _ = child.kill();
            }
            match child.wait().unwrap().code() {
                Some(0) => finished += 1,
                None => killed += 1,
                other => panic!("round {round}: {other:?}"),
            }
            assert_eq!(dangling(&read), [] as [String; 0], "round {round}");
        }
    });
    assert_eq!(missing, [] as [String; 0]);
    assert!(killed >= 5 && finished >= 16 && passes >= 5, "{killed} {finished} {passes}");
    // And in the end everything is as if nothing had happened.
    let run = env.run(&["publish", "--to", "pub", "--from", &trees[1], "--grace", "0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(tree(&env.path("pub/latest")) == tree(&env.path(&trees[1])));
    assert_eq!(fs::read_dir(env.path("pub/.acp-registry")).unwrap().count(), 2, "something is left half-made");
    let (code, again) = env.json(&["publish", "--to", "pub", "--from", &trees[1], "--recheck"]);
    assert_eq!((code, crate::publish::changed(&again)), (0, Vec::new()));
}
