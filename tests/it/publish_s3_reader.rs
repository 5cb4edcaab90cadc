//! What readers of a bucket see when publishers are stopped, with the S3 server of [`crate::publish_s3`].

use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::publish_reader::{dangling, missed_during, trees};
use crate::s3::{Fate, Moto, ask, bucket, keys, proxy, publish, report};
use crate::support::{Env, tree};

/// How a publisher is stopped.
#[derive(Clone, Copy, PartialEq)]
enum Stop {
    Never,
    /// The store refuses every write after this number.
    Refused(usize),
    /// Every write after this number waits until the publisher is killed.
    Held(usize),
}

/// How publishers are stopped, and whether a write is being held.
struct Gate {
    state: Mutex<(Stop, bool)>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, stop: Stop) {
        *self.state.lock().unwrap() = (stop, false);
        self.changed.notify_all();
    }

    /// Decides how a write is handled.
    fn pass(&self) -> Fate {
        let mut state = self.state.lock().unwrap();
        match &mut state.0 {
            Stop::Never => return Fate::Pass,
            Stop::Refused(0) => return Fate::Answer(403),
            Stop::Held(0) => {}
            Stop::Refused(left) | Stop::Held(left) => {
                *left -= 1;
                return Fate::Pass;
            }
        }
        state.1 = true;
        self.changed.notify_all();
        while state.0 == Stop::Held(0) {
            state = self.changed.wait(state).unwrap();
        }
        Fate::Drop
    }

    /// Waits for a held write. Panics if the publisher ends before.
    fn wait(&self, child: &mut Child) {
        let mut state = self.state.lock().unwrap();
        while !state.1 {
            assert!(child.try_wait().unwrap().is_none(), "it has ended before");
            state = self.changed.wait_timeout(state, Duration::from_millis(200)).unwrap().0;
        }
    }
}

/// Publishers are killed, or refused by the store, at any write, 4 times; a reader misses nothing.
#[test]
fn a_reader_of_a_bucket_never_misses_an_object() {
    let Some(moto) = Moto::shared("a_reader_of_a_bucket_never_misses_an_object") else { return };
    bucket(&moto, "poll");
    let env = Env::empty();
    let trees = trees(&env);
    let gate = Arc::new(Gate { state: Mutex::new((Stop::Never, false)), changed: Condvar::new() });
    let asked_for = gate.clone();
    let server = proxy(&moto.host, move |asked| {
        let is_write = ["PUT", "DELETE"].contains(&asked.method.as_str()) && !asked.path.contains("lease");
        if is_write { asked_for.pass() } else { Fate::Pass }
    });
    // The server may fail to read an object that is replaced meanwhile. Like all clients of S3, a reader asks again.
    let read = |name: &str| {
        let mut answers = (0..10).map(|_| ask(&moto.host, "GET", &format!("/poll/latest/{name}")));
        match answers.find(|answer| !matches!(answer, Some((500, ..)))) {
            Some(Some((200, _, body))) => Some(body),
            Some(Some((404, ..))) => None,
            other => panic!("{name}: {other:?}"),
        }
    };
    // The server runs in Python: a reader without pauses takes a processor from all other tests.
    let look = || {
        thread::sleep(Duration::from_millis(100));
        dangling(&read)
    };
    let mut random = fastrand::Rng::with_seed(11);
    let missing = missed_during(&look, |passes| {
        // Successive trees differ in many files, so that each run has more writes than these numbers.
        for (round, from) in trees.iter().cycle().take(8).enumerate() {
            let writes = random.usize(..30);
            let (stop, code) = match round % 4 {
                1 => (Stop::Refused(writes), Some(3)),
                3 => (Stop::Held(writes), None),
                _ => (Stop::Never, Some(0)),
            };
            gate.set(stop);
            let mut command = publish(&env, &server.host, &["--to", "s3://poll", "--from", from]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            if code.is_none() {
                gate.wait(&mut child);
                // The reader checks while the publisher is stopped midway.
                passes.next();
                child.kill().unwrap();
            }
            assert_eq!(child.wait().unwrap().code(), code, "round {round}");
            gate.set(Stop::Never);
            if code.is_none() {
                // The time until a lease expires is tested elsewhere.
                ask(&moto.host, "DELETE", "/poll/.acp-registry/lease.json").unwrap();
            }
            assert_eq!(look(), [] as [String; 0], "round {round}");
        }
    });
    assert_eq!(missing, [] as [String; 0]);
    report(&env, &server.host, &["--to", "s3://poll", "--from", &trees[1], "--grace", "0"]);
    let latest: Vec<String> =
        keys(&moto, "poll").into_iter().filter_map(|key| key.strip_prefix("latest/").map(ToOwned::to_owned)).collect();
    let expected: Vec<(String, Vec<u8>)> = tree(&env.path(&trees[1]));
    assert_eq!(latest, expected.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    assert!(expected.iter().all(|(name, bytes)| read(name).as_ref() == Some(bytes)));
}
