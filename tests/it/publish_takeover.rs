//! `publish` to a `latest/` that was written by another tool.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::publish::{add, changed};
use crate::publish_order::Bucket;
use crate::server::{Server, write};
use crate::support::{Env, ICON, Run, manifest, tree};

/// The files of another tool in `latest/`, by name: an index, icons, a second index with an icon of its own, and other
/// files.
fn foreign(env: &Env) -> BTreeMap<String, Vec<u8>> {
    for id in ["a", "b", "gone", "other"] {
        add(env, id);
    }
    build(env, "foreign");
    let mut files: BTreeMap<String, Vec<u8>> = tree(&env.path("foreign")).into_iter().collect();
    files.remove("SHA256SUMS");
    files.remove("agent.schema.json");
    for (name, text) in [("orphan.svg", ICON), ("old.schema.json", "{}"), ("notes.txt", "mine"), ("sub/x.svg", "mine")]
    {
        files.insert(name.to_owned(), text.into());
    }
    // Only the second index refers to this icon.
    let editor = r#"{ "version": "1.0.0", "agents": [{ "id": "x", "icon": "https://h.example/latest/other.svg" }] }"#;
    files.insert("registry-editor.json".to_owned(), editor.into());
    files
}

/// Builds the registry without its site.
fn build(env: &Env, out: &str) {
    let run = env.run(&["build", "--out", out, "--no-site", "--base-url", "https://h.example/latest"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// The registry later: `b` has another icon, `gone` and `other` were removed, and `c` was added.
fn later(env: &Env) {
    for id in ["gone", "other"] {
        fs::remove_dir_all(env.path(&format!("r/{id}"))).unwrap();
    }
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    add(env, "c");
    build(env, "dist");
}

/// The first changes in `latest/`.
const CHANGES: [&str; 8] = [
    "send latest/SHA256SUMS", "send latest/agent.schema.json", "send latest/b.svg", "send latest/c.svg",
    "send latest/registry.json", "stale latest/gone.svg", "stale latest/old.schema.json", "stale latest/orphan.svg",
];

/// Files that this program did not publish, and does not change.
const UNTOUCHED: [&str; 4] = ["notes.txt", "other.svg", "registry-editor.json", "sub/x.svg"];

fn assert_taken_over(env: &Env, latest: &BTreeMap<String, Vec<u8>>, foreign: &BTreeMap<String, Vec<u8>>) {
    let mut expected: BTreeMap<String, Vec<u8>> = tree(&env.path("dist")).into_iter().collect();
    expected.extend(UNTOUCHED.map(|name| (name.to_owned(), foreign[name].clone())));
    assert!(*latest == expected, "{:?}", latest.keys());
}

#[test]
fn a_folder_of_another_tool_is_taken_over() {
    let env = Env::empty();
    let foreign = foreign(&env);
    for (name, bytes) in &foreign {
        env.write(&format!("pub/latest/{name}"), bytes);
    }
    env.write("pub/v1/registry.json", "mine");
    later(&env);
    let before = tree(&env.path("pub"));
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(env.path("pub/latest/a.svg")).unwrap().set_modified(old).unwrap();
    let (code, tried) = env.json(&["publish", "--to", "pub", "--dry-run"]);
    assert_eq!((code, changed(&tried)), (0, CHANGES.map(ToOwned::to_owned).to_vec()), "{tried}");
    assert!(tree(&env.path("pub")) == before);

    let run = env.run(&["publish", "--to", "pub", "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for part in [
        "latest was written by another tool, and is taken over",
        "latest/registry-editor.json is an index that this tree does not have",
        "not part of a registry, and are kept: notes.txt, sub/x.svg\n",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    let done: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(changed(&done), CHANGES);
    let modified = fs::metadata(env.path("pub/latest/a.svg")).unwrap().modified().unwrap();
    assert_eq!(modified, old, "what is the same is not written again");
    for name in ["gone.svg", "orphan.svg", "old.schema.json"] {
        assert!(fs::read(env.path(&format!("pub/latest/{name}"))).unwrap() == foreign[name], "{name}");
    }

    // After the grace period, only files of the registry are removed; the others are not mentioned again.
    let run = env.run(&["publish", "--to", "pub", "--grace", "0"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_taken_over(&env, &tree(&env.path("pub/latest")).into_iter().collect(), &foreign);
    assert_eq!(env.read("pub/v1/registry.json"), "mine");
    let (code, again) = env.json(&["publish", "--to", "pub", "--recheck"]);
    assert_eq!((code, changed(&again)), (0, Vec::new()));
}

#[test]
fn a_further_index_that_cannot_be_read_keeps_every_icon() {
    let env = Env::empty();
    for (name, bytes) in foreign(&env) {
        env.write(&format!("pub/latest/{name}"), bytes);
    }
    env.write("pub/latest/registry-editor.json", "not an index");
    later(&env);
    assert_eq!(env.run(&["publish", "--to", "pub", "--grace", "0"]).code, 0);
    for name in ["gone.svg", "orphan.svg", "old.schema.json"] {
        assert!(env.path(&format!("pub/latest/{name}")).exists(), "{name}");
    }
}

/// A bucket with the files of another tool, behind a proxy that passes this number of writes, not counting the lease.
struct Taken {
    bucket: Arc<Mutex<Bucket>>,
    server: Server,
    left: Arc<Mutex<usize>>,
}

impl Taken {
    fn new(foreign: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut bucket = Bucket::default();
        for (name, bytes) in foreign {
            // One file has the right headers; the others have none.
            let headers = [("content-type", "image/svg+xml"), ("cache-control", "public, max-age=300")];
            bucket.insert(&format!("latest/{name}"), bytes.clone(), if name == "a.svg" { &headers } else { &[] });
        }
        let (bucket, left) = (Arc::new(Mutex::new(bucket)), Arc::new(Mutex::new(usize::MAX)));
        let (objects, budget) = (bucket.clone(), left.clone());
        let server = Server::raw(move |asked, stream| {
            let is_write = ["PUT", "DELETE"].contains(&asked.method.as_str()) && !asked.path.contains("lease");
            let may = !is_write || {
                let mut left = budget.lock().unwrap();
                let may = *left > 0;
                *left = left.saturating_sub(1);
                may
            };
            let refused = (403, Vec::new(), b"<Error><Code>Refused</Code></Error>".to_vec());
            let answer = if may { objects.lock().unwrap().answer(asked) } else { refused };
            write(stream, asked, &answer)
        });
        Self { bucket, server, left }
    }

    fn publish(&self, env: &Env, writes: usize, arguments: &[&str]) -> Run {
        *self.left.lock().unwrap() = writes;
        let mut command = env.command(&[&["publish", "--to", "s3://bucket"], arguments].concat());
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let run = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", self.server.host)));
        assert_eq!(self.bucket.lock().unwrap().missing, [] as [String; 0]);
        run
    }

    fn latest(&self) -> BTreeMap<String, Vec<u8>> {
        let bucket = self.bucket.lock().unwrap();
        let objects = bucket.objects.iter();
        objects
            .filter_map(|(key, object)| Some((key.strip_prefix("latest/")?.to_owned(), object.body.clone())))
            .collect()
    }
}

#[test]
fn a_bucket_of_another_tool_is_taken_over_whatever_stops_it() {
    let env = Env::empty();
    let foreign = foreign(&env);
    later(&env);
    // Files with the same bytes and headers are kept; those with only the same bytes are sent with their headers.
    let whole = Taken::new(&foreign);
    let run = whole.publish(&env, usize::MAX, &["--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("was written by another tool, and is taken over"), "{}", run.stderr);
    let mut expected: Vec<&str> = CHANGES.into_iter().chain(["send latest/registry.schema.json"]).collect();
    expected.sort_unstable();
    assert_eq!(changed(&serde_json::from_str(&run.stdout).unwrap()), expected);
    let writes = usize::MAX - *whole.left.lock().unwrap();
    assert!(writes > 10, "{writes}");
    // Stopped after any write, a reader misses nothing, and the next run completes the work.
    for stop in 0..writes {
        let taken = Taken::new(&foreign);
        let run = taken.publish(&env, stop, &[]);
        assert_eq!(run.code, 3, "{stop} of {writes}: {}", run.stderr);
        let run = taken.publish(&env, usize::MAX, &["--grace", "0"]);
        assert_eq!(run.code, 0, "{stop} of {writes}: {}", run.stderr);
        assert_taken_over(&env, &taken.latest(), &foreign);
    }
}

#[test]
fn what_is_not_a_registry_is_not_taken_over() {
    let env = Env::with(&["a"]);
    build(&env, "dist");
    for (name, text) in [("registry.json", "{}"), ("registry.json", "[]"), ("a.svg", ICON), ("index.html", "mine")] {
        env.write(&format!("pub/latest/{name}"), text);
        let run = env.run(&["publish", "--to", "pub"]);
        assert!(run.code == 3 && run.stderr.contains("already exists"), "{name}: {}", run.stderr);
        assert_eq!(tree(&env.path("pub")), [(format!("latest/{name}"), text.as_bytes().to_vec())]);
        fs::remove_dir_all(env.path("pub")).unwrap();
    }
    // Beside a tree of this program whose state was lost, a file that no list has belongs to the user.
    env.write("r/a/agent.json", manifest("a"));
    assert_eq!(env.run(&["publish", "--to", "pub"]).code, 0);
    fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    env.write("pub/latest/mine.svg", ICON);
    let run = env.run(&["publish", "--to", "pub", "--grace", "0"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(env.read("pub/latest/mine.svg"), ICON);
}

/// Without the state, what earlier publications have left for readers is known by their snapshots.
#[test]
fn what_a_snapshot_has_is_published_again_after_the_state_is_lost() {
    const PAGE: &str = "pub/latest/agents/c/index.html";
    let env = Env::with(&["a", "c"]);
    let publish = |grace: &str| {
        assert_eq!(env.run(&["build", "--out", "dist", "--base-url", "https://h.example/latest"]).code, 0);
        env.run(&["publish", "--to", "pub", "--grace", grace])
    };
    let lose = || fs::remove_file(env.path("pub/.acp-registry/state.json")).unwrap();
    assert_eq!(publish("1h").code, 0);
    let old = env.read(PAGE);
    fs::remove_dir_all(env.path("r/c")).unwrap();
    assert_eq!(publish("1h").code, 0);
    lose();
    add(&env, "c");
    env.write("r/c/agent.json", manifest("c").replace("Made for", "Made again for"));
    let run = publish("1h");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(env.read(PAGE) != old);

    // It goes once its grace period is over, unlike a file of the same name that no snapshot has.
    fs::remove_dir_all(env.path("r/c")).unwrap();
    assert_eq!(publish("1h").code, 0);
    for is_own in [true, false] {
        lose();
        if !is_own {
            env.write(PAGE, "mine");
        }
        let run = publish("0");
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert_eq!(env.path(PAGE).exists(), !is_own);
    }
    lose();
    add(&env, "c");
    let run = publish("0");
    assert!(run.code == 3 && run.stderr.contains("agents/c/index.html already exists"), "{}", run.stderr);
    assert_eq!(env.read(PAGE), "mine");
}

/// The public registry's own folder, as its tool leaves it, becomes that of this program while a reader polls it.
#[cfg(unix)]
#[test]
fn the_public_registry_publishes_over_its_own_latest() {
    use crate::publish_reader::{dangling_from, missed_during, publish_and_die};

    const INDEXES: [&str; 3] = ["registry.json", "registry-for-jetbrains.json", "registry-for-jetbrains-preview.json"];
    let Some(corpus) = crate::corpus::corpus("the_public_registry_publishes_over_its_own_latest") else { return };
    let env = Env::empty();
    for (name, bytes) in tree(&corpus.join("registry-2026-10")) {
        if let Some(id) = name.strip_suffix("/icon.svg") {
            env.write(&format!("pub/latest/{id}.svg"), &bytes);
        }
        env.write(&format!("r/{name}"), bytes);
    }
    for (name, bytes) in tree(&corpus.join("registry-2026-10.expected")) {
        env.write(&format!("pub/latest/{name}"), bytes);
    }
    let before: BTreeMap<String, Vec<u8>> = tree(&env.path("pub/latest")).into_iter().collect();
    // Meanwhile one agent was removed, and one got another icon.
    fs::remove_dir_all(env.path("r/goose")).unwrap();
    env.write("r/gemini/icon.svg", ICON);
    let run = env.run(&["--config", &crate::corpus::public_config(), "build", "--out", "dist"]);
    assert_eq!(run.code, 0, "{}", run.stderr);

    let base = format!("{}/", acp_registry::registry::DEFAULT_BASE_URL);
    let read = |name: &str| fs::read(env.path(&format!("pub/latest/{name}"))).ok();
    let look = || dangling_from(&base, &INDEXES, &read);
    assert_eq!(look(), [] as [String; 0]);
    let missing = missed_during(&look, |passes| {
        // Killed twice each during the snapshot and `latest/`, with a reader in between, then completed.
        let files = tree(&env.path("dist")).len();
        for events in [1, files / 2, files + 20, files / 2] {
            publish_and_die(&env.path("dist"), &env.path("pub"), events);
            passes.next();
        }
        let (code, report) = env.json(&["publish", "--to", "pub"]);
        assert_eq!(code, 0, "{report}");
        assert!(changed(&report).contains(&"stale latest/goose.svg".to_owned()), "{:?}", changed(&report));
        passes.next();
    });
    assert_eq!(missing, [] as [String; 0]);
    let after: BTreeMap<String, Vec<u8>> = tree(&env.path("pub/latest")).into_iter().collect();
    let mut expected: BTreeMap<String, Vec<u8>> = tree(&env.path("dist")).into_iter().collect();
    expected.insert("goose.svg".to_owned(), before["goose.svg"].clone());
    assert!(after == expected, "{:?}", after.keys());
    assert_eq!(env.run(&["publish", "--to", "pub", "--grace", "0"]).code, 0);
    assert!(!env.path("pub/latest/goose.svg").exists());
}
