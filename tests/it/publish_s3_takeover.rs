//! `publish` to a bucket whose `latest/` was written by another tool, with a reader: several indexes and icons in one
//! folder, like the public registry. With the S3 server of [`crate::publish_s3`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::publish::changed;
use crate::publish_reader::{dangling_from, missed_during};
use crate::s3::{Fate, Moto, ask, bucket, keys, proxy, publish, report, send};
use crate::support::{Env, ICON, Run, manifest, tree};

const BASE: &str = "https://h.example/latest/";

const INDEXES: [&str; 3] = ["registry.json", "registry-for-editors.json", "registry-for-editors-preview.json"];

const CONFIG: &str = r#"base-url = "https://h.example/latest"
[[view]]
file = "registry.json"
exclude = ["b"]
[[view]]
file = "registry-for-editors.json"
[[view]]
file = "registry-for-editors-preview.json"
channel = "preview"
"#;

#[test]
fn a_bucket_with_several_indexes_is_taken_over_while_it_is_read() {
    let Some(moto) = Moto::shared("a_bucket_with_several_indexes_is_taken_over_while_it_is_read") else { return };
    bucket(&moto, "takeover");
    let env = Env::with(&["a", "b", "gone"]);
    env.write("r/registry.toml", CONFIG);
    assert_eq!(env.run(&["build", "--out", "foreign", "--no-site"]).code, 0);
    for (name, bytes) in tree(&env.path("foreign")) {
        if INDEXES.contains(&name.as_str()) || Path::new(&name).extension().is_some_and(|ending| ending == "svg") {
            assert_eq!(send(&moto.host, "PUT", &format!("/takeover/latest/{name}"), &bytes).unwrap().0, 200);
        }
    }
    // Meanwhile one agent was removed, one got another icon, and one was added.
    fs::remove_dir_all(env.path("r/gone")).unwrap();
    env.write("r/b/icon.svg", ICON.replace("M2 2h12v12H2z", "M3 3h9v9H3z"));
    env.write("r/c/agent.json", manifest("c"));
    env.write("r/c/icon.svg", ICON);
    let run = env.run(&["build", "--out", "dist"]);
    assert_eq!(run.code, 0, "{}", run.stderr);

    let read = |name: &str| match ask(&moto.host, "GET", &format!("/takeover/latest/{name}")) {
        Some((200, _, body)) => Some(body),
        Some((404, ..)) => None,
        other => panic!("{name}: {other:?}"),
    };
    // As in `publish_s3_reader`, the server needs pauses.
    let look = || {
        thread::sleep(Duration::from_millis(100));
        dangling_from(BASE, &INDEXES, &read)
    };
    assert_eq!(look(), [] as [String; 0]);
    // The number of writes after which the store refuses all others.
    let left = Arc::new(AtomicUsize::new(0));
    let taken = left.clone();
    let server = proxy(&moto.host, move |asked| {
        let is_write = ["PUT", "DELETE"].contains(&asked.method.as_str()) && !asked.path.contains("lease");
        let one_less = |left: usize| left.checked_sub(1);
        let is_refused = is_write && taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err();
        if is_refused { Fate::Answer(403) } else { Fate::Pass }
    });
    let files = tree(&env.path("dist")).len();
    let missing = missed_during(&look, |passes| {
        for writes in [2, files / 2, files, files / 4] {
            left.store(writes, Ordering::SeqCst);
            let run = Run::of(&mut publish(&env, &server.host, &["--to", "s3://takeover"]));
            assert_eq!(run.code, 3, "{writes} of {files}: {}", run.stderr);
            passes.next();
        }
        left.store(usize::MAX, Ordering::SeqCst);
        let run = Run::of(&mut publish(&env, &server.host, &["--to", "s3://takeover", "--json"]));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let done = changed(&serde_json::from_str(&run.stdout).unwrap());
        assert!(done.contains(&"send latest/SHA256SUMS".to_owned()), "{done:?}");
        passes.next();
    });
    assert_eq!(missing, [] as [String; 0]);
    let latest = || -> BTreeMap<String, Vec<u8>> {
        let names = keys(&moto, "takeover");
        let names = names.iter().filter_map(|key| key.strip_prefix("latest/"));
        names.map(|name| (name.to_owned(), read(name).unwrap())).collect()
    };
    let mut expected: BTreeMap<String, Vec<u8>> = tree(&env.path("dist")).into_iter().collect();
    expected.insert("gone.svg".to_owned(), ICON.into());
    assert!(latest() == expected, "{:?}", latest().keys());
    // Files that no index refers to are removed after the grace period.
    let removed = changed(&report(&env, &server.host, &["--to", "s3://takeover", "--grace", "0"]));
    assert_eq!(removed, ["remove latest/gone.svg"]);
    expected.remove("gone.svg");
    assert!(latest() == expected);
}
