//! The lease of `publish` to a bucket, with a store in memory: other clocks, and stores that answer otherwise.

use std::sync::{Arc, Mutex};

use acp_registry::timestamp::Timestamp;
use serde_json::json;

use crate::publish::build;
use crate::publish_order::Bucket;
use crate::server::{Answer, Asked, Server, not_found};
use crate::support::{Env, Run};

const LEASE: &str = ".acp-registry/lease.json";

/// A tree, and a bucket that is asked through a function.
struct Leased {
    env: Env,
    bucket: Arc<Mutex<Bucket>>,
    server: Server,
}

impl Leased {
    fn new(answer: impl Fn(&mut Bucket, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let env = Env::with(&["a"]);
        build(&env, "dist");
        let bucket = Arc::new(Mutex::new(Bucket::default()));
        let objects = bucket.clone();
        let server = Server::answering(move |asked| answer(&mut objects.lock().unwrap(), asked));
        Self { env, bucket, server }
    }

    /// Another publisher has renewed its lease of a minute so many seconds ago.
    fn hold(&self, seconds: i64) {
        self.bucket.lock().unwrap().insert(LEASE, lease(seconds), &[]);
    }

    fn publish(&self, arguments: &[&str]) -> Run {
        let mut command = self.env.command(&[&["publish", "--to", "s3://bucket"], arguments].concat());
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        Run::of(command.env("AWS_ENDPOINT_URL", format!("http://{}", self.server.host)))
    }
}

fn lease(seconds: i64) -> Vec<u8> {
    let renewed = Timestamp::now().unix() - seconds;
    json!({ "token": "other", "process": "process 7", "renewed": renewed, "lasts": 60 }).to_string().into_bytes()
}

#[test]
fn the_clock_of_another_publisher_does_not_end_its_lease() {
    let leased = Leased::new(Bucket::answer);
    // The clock of its publisher may be hours behind. No lease lasts for days.
    for (seconds, code) in [(-3_600, 3), (0, 3), (3_600, 3), (200_000, 0)] {
        leased.hold(seconds);
        let run = leased.publish(&["--wait", "0"]);
        assert_eq!(run.code, code, "{seconds}: {}", run.stderr);
        assert_eq!(run.stderr.contains("another publisher is writing to s3://bucket/ (process 7)"), code == 3);
    }
}

#[test]
fn who_has_lost_the_lease_at_the_end_reports_no_success() {
    let leased = Leased::new(|bucket, asked| {
        let answer = bucket.answer(asked);
        if asked.method == "PUT" && asked.path.ends_with("/latest/SHA256SUMS") {
            bucket.insert(LEASE, lease(0), &[]);
        }
        answer
    });
    let run = leased.publish(&[]);
    assert!(run.code == 3 && run.stderr.contains("another publisher has taken over s3://bucket/"), "{}", run.stderr);
    assert!(leased.bucket.lock().unwrap().objects.contains_key(LEASE), "the lease of another one is left alone");
}

/// As many requests as the time allows would be thousands.
#[test]
fn a_lease_that_cannot_be_taken_is_asked_for_at_intervals() {
    // It is there for writers and not for readers, or has expired and no condition holds.
    for is_hidden in [true, false] {
        let leased = Leased::new(move |bucket, asked| match asked.path.ends_with("lease.json") {
            true if asked.method == "PUT" => {
                (412, Vec::new(), b"<Error><Code>PreconditionFailed</Code></Error>".to_vec())
            }
            true if is_hidden => not_found(),
            _ => bucket.answer(asked),
        });
        leased.hold(200_000);
        let run = leased.publish(&["--wait", "2s"]);
        assert!(run.code == 3 && run.stderr.contains("another publisher is writing to s3://bucket/"), "{}", run.stderr);
        let asked = leased.server.requests().into_iter().filter(|asked| asked.path.ends_with("lease.json")).count();
        assert!(asked < 30, "{asked}");
    }
}

#[test]
fn a_gateway_that_weakens_tags_does_not_keep_an_expired_lease() {
    let leased = Leased::new(|bucket, asked| {
        let (status, mut headers, body) = bucket.answer(asked);
        for (_, tag) in headers.iter_mut().filter(|(name, _)| *name == "ETag") {
            tag.insert_str(0, "W/");
        }
        (status, headers, body)
    });
    leased.hold(200_000);
    let run = leased.publish(&["--wait", "0"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

#[cfg(unix)]
#[test]
fn a_command_that_signs_may_take_longer_than_the_lease_lasts() {
    let leased = Leased::new(Bucket::answer);
    leased.env.write("sign", "sleep 6\necho signed > \"$1.sig\"\n");
    let run = leased.publish(&["--lease", "4s", "--sign", "sh sign"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(leased.bucket.lock().unwrap().objects["latest/SHA256SUMS.sig"].body, b"signed\n");
}
