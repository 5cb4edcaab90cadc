//! The order in which `publish` writes: after every change, no readable file refers to a missing one. A store in memory
//! checks this at every change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::publish_reader::{dangling, trees};
use crate::server::{Answer, Asked, Server, not_found, ok};
use crate::support::{Env, Run};

/// An object of a bucket.
pub(crate) struct Object {
    pub(crate) body: Vec<u8>,
    tag: String,
    /// The headers that readers get as well.
    headers: Vec<(&'static str, String)>,
}

/// The headers that a store returns with an object.
const HEADERS: [&str; 4] = ["content-type", "cache-control", "content-encoding", "x-amz-meta-acp-registry-form"];

/// The objects of a bucket, and what was missing after any change.
#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Object>,
    changes: usize,
    pub(crate) missing: Vec<String>,
}

impl Bucket {
    /// Adds an object without a check.
    pub(crate) fn insert(&mut self, key: &str, body: Vec<u8>, headers: &[(&'static str, &str)]) {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.objects.insert(key.to_owned(), Object { body, tag: "\"old\"".to_owned(), headers });
    }

    pub(crate) fn answer(&mut self, asked: &Asked) -> Answer {
        let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
        let key = path.trim_start_matches("/bucket").trim_start_matches('/').to_owned();
        match asked.method.as_str() {
            "PUT" => {
                let tag = self.objects.get(&key).map_or("", |object| &object.tag);
                let wants_none = asked.header("if-none-match") == "*" && !tag.is_empty();
                let wants_other = ![tag, ""].contains(&asked.header("if-match"));
                if wants_none || wants_other {
                    return (412, Vec::new(), b"<Error><Code>PreconditionFailed</Code></Error>".to_vec());
                }
                let tag = format!("\"{}\"", self.changes);
                let headers = HEADERS.map(|name| (name, asked.header(name).to_owned()));
                let headers = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
                self.objects.insert(key.clone(), Object { body: asked.body.clone(), tag: tag.clone(), headers });
                self.look(&key);
                (200, vec![("ETag", tag)], Vec::new())
            }
            "DELETE" => {
                self.objects.remove(&key);
                self.look(&key);
                (204, Vec::new(), Vec::new())
            }
            _ if query.contains("list-type=2") => {
                let pairs = url::form_urlencoded::parse(query.as_bytes());
                let prefix = pairs.into_iter().find(|(name, _)| name == "prefix").map(|(_, value)| value.into_owned());
                let keys = self.objects.keys().filter(|key| key.starts_with(prefix.as_deref().unwrap_or_default()));
                let entry = |key: &String| {
                    format!(
                        "<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>x</ETag></Contents>"
                    )
                };
                let entries: String = keys.map(entry).collect();
                ok(format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"))
            }
            _ => match self.objects.get(&key) {
                Some(object) => {
                    let time = "Thu, 01 Jan 2026 00:00:00 GMT".to_owned();
                    let mut headers = vec![("ETag", object.tag.clone()), ("Last-Modified", time)];
                    headers.extend(object.headers.iter().cloned());
                    (200, headers, object.body.clone())
                }
                None => not_found(),
            },
        }
    }

    fn look(&mut self, key: &str) {
        self.changes += 1;
        if key.starts_with("latest/") {
            let read = |name: &str| self.objects.get(&format!("latest/{name}")).map(|object| object.body.clone());
            let missing = dangling(&read);
            self.missing.extend(missing.into_iter().map(|missing| format!("after {key}: {missing}")));
        }
    }
}

#[test]
fn after_every_change_all_that_is_named_is_there() {
    let env = Env::empty();
    let trees = trees(&env);
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let objects = bucket.clone();
    let server = Server::answering(move |asked| objects.lock().unwrap().answer(asked));
    let publish = |from: &str, grace: &str| {
        let mut command = env.command(&["publish", "--to", "s3://bucket", "--from", from, "--grace", grace]);
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let run = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host)));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert_eq!(bucket.lock().unwrap().missing, [] as [String; 0], "{from}");
    };
    // From an empty bucket to a tree, then to each next tree; outdated files are removed at the end of each.
    for from in [&trees[..], &trees[..2]].concat() {
        publish(&from, "1h");
    }
    for from in &trees[2..] {
        publish(from, "0");
    }
    let keys: Vec<String> = bucket.lock().unwrap().objects.keys().cloned().collect();
    let latest: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix("latest/")).collect();
    let expected = crate::support::tree(&env.path(&trees[5]));
    assert_eq!(latest, expected.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>());
    assert!(bucket.lock().unwrap().changes > 500);
}

#[test]
fn a_lost_answer_is_not_taken_for_another_publisher() {
    let env = Env::with(&["a"]);
    crate::publish::build(&env, "dist");
    let bucket = Mutex::new(Bucket::default());
    let server = Server::raw(move |asked, stream| {
        let answer = bucket.lock().unwrap().answer(asked);
        // The first response about the lease is lost.
        let is_lost = asked.method == "PUT" && asked.path.ends_with("lease.json") && asked.before == 0;
        if is_lost { Ok(()) } else { crate::server::write(stream, asked, &answer) }
    });
    let mut command = env.command(&["publish", "--to", "s3://bucket", "--wait", "0"]);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    let run = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host)));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

/// Such a store would write an empty index.
#[test]
fn a_store_that_does_not_know_copies_gets_every_byte() {
    let env = Env::empty();
    crate::publish::large(&env);
    let bucket = Arc::new(Mutex::new(Bucket::default()));
    let objects = bucket.clone();
    let server = Server::answering(move |asked| objects.lock().unwrap().answer(asked));
    let mut command = env.command(&["publish", "--to", "s3://bucket", "--from", "large"]);
    command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
    let run = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", server.host)));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let copies = server.requests().into_iter().filter(|asked| !asked.header("x-amz-copy-source").is_empty());
    assert_eq!(copies.map(|asked| asked.path).collect::<Vec<_>>(), ["/bucket/.acp-registry/copy.json"]);
    let objects = &bucket.lock().unwrap().objects;
    assert!(objects["latest/registry.json"].body == std::fs::read(env.path("large/registry.json")).unwrap());
    assert!(!objects.contains_key(".acp-registry/copy.json"));
}
