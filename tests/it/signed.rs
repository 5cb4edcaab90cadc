//! Signed registries: what clients accept of a host that sends something else, and what publishers write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use acp_registry::digest::Sha256;
use acp_registry::http::AllowedHosts;
use acp_registry::index;
use acp_registry::index::minisign::{PublicKey, SecretKey};
use acp_registry::session::{Session, SessionOptions};
use acp_registry::statement::{STATEMENT, STATEMENT_SIGNATURE, Statement};
use acp_registry::timestamp::Timestamp;
use serde_json::json;

use crate::server::{Server, not_found, ok, status};
use crate::support::{Env, ICON, PROGRAM, Run, manifest, scrub, tree};

/// Secret keys, made for tests.
pub(crate) const KEYS: [&str; 3] = [
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAyPx2JXWPjz8KciuFRP93DB8Lj8xQKF0VxvTtvAnSKZ8XUnBVoTIN\
     dbWs79efsQks2YClq6CnDSwMtSxcyunachdfUk5vy74HAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4OnzjPYX9kBCGvYg+AmBflcMgrj700EMTjHHLT4sVQUKZBHqTN2n\
     aUuAzZ8ULcIvuMA2VTU7gSlGBdKjnKY1y2IGU2bS9vNkAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAo+VK96ZhkqIgmPFqv/IoIQP38HeuF2JeJ/iVZr9Pq4ApNffIDR/p\
     VnsMMCQUXd3pq1cbny/bP1Mi3sxzaE1ruNEN1YXlIVcdAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
];

fn secret(key: usize) -> SecretKey {
    KEYS[key].parse().unwrap()
}

pub(crate) fn public(key: usize) -> PublicKey {
    secret(key).public()
}

/// The files of a host, by path.
type Site = BTreeMap<String, Vec<u8>>;

/// A registry, the place where it is published, and a host that sends any files.
struct Registry {
    env: Env,
    server: Server,
    sent: Arc<Mutex<Site>>,
    /// A client that is watched, if one is.
    watched: Arc<Mutex<Option<Watched>>>,
}

impl Registry {
    fn new() -> Self {
        let sent = Arc::new(Mutex::new(Site::new()));
        let known = sent.clone();
        let watched: Arc<Mutex<Option<Watched>>> = Arc::default();
        let watching = watched.clone();
        let server = Server::answering(move |asked| {
            if let Some((home, seen)) = watching.lock().unwrap().as_mut() {
                seen.push(files_in(home));
            }
            let path = asked.path.split('?').next().unwrap_or_default();
            known.lock().unwrap().get(path).map_or_else(not_found, |body| match body.as_slice() {
                REFUSED => status(400),
                body => ok(body),
            })
        });
        Self { env: Env::empty(), server, sent, watched }
    }

    /// Publishes agent `a` in this version, and returns what a host of files sends.
    fn publish(&self, version: &str, key: usize, more: &[&str]) -> Site {
        self.env.write("r/a/agent.json", manifest("a").replace("1.0.0", version));
        self.env.write("r/a/icon.svg", ICON);
        let items =
            [json!({ "id": "b", "versions": format!("<{version}"), "level": "revoked", "reason": "It reads keys",
            "since": "2026-01-31" })];
        self.env.write("r/revoked.json", json!({ "schema": 1, "revoked": items }).to_string());
        let base = self.server.url("/latest");
        let built = self.env.run(&["--registry-dir", "r", "build", "--no-site", "--base-url", &base, "--out", "dist"]);
        assert_eq!(built.code, 0, "{}", built.stderr);
        let run = self.try_publish(Some(key), more);
        assert_eq!(run.code, 0, "{}", run.stderr);
        tree(&self.env.path("site")).into_iter().map(|(name, bytes)| (format!("/{name}"), bytes)).collect()
    }

    fn try_publish(&self, key: Option<usize>, more: &[&str]) -> Run {
        let mut command = self.env.command(&[&["publish", "--from", "dist", "--to", "site"], more].concat());
        command.envs(key.map(|key| ("ACP_REGISTRY_SIGNING_KEY", KEYS[key])));
        Run::of(&mut command)
    }

    fn send(&self, site: &Site) {
        self.sent.lock().unwrap().clone_from(site);
    }

    /// A client with this memory.
    fn client(&self, home: &Path, signer: Option<PublicKey>, keeps: bool) -> SessionOptions {
        let mut options = SessionOptions::new(home.join("root"), []);
        options.index = self.server.url("/latest/registry.json").parse().unwrap();
        options.cache = keeps.then(|| home.join("cache"));
        options.allowed_hosts = AllowedHosts::parse(["127.0.0.1"]).unwrap();
        options.signer = signer;
        options.refresh = true;
        options
    }

    /// What a client with this memory has learnt, and the code of the first error.
    fn learn(&self, home: &Path, signer: Option<PublicKey>, keeps: bool) -> Result<(), String> {
        self.learn_as(self.client(home, signer, keeps))
    }

    fn learn_as(&self, options: SessionOptions) -> Result<(), String> {
        let session = Session::open(options).unwrap();
        let sent = self.sent.lock().unwrap().clone();
        // A host without a statement that can be read leaves clients with what they have.
        let statement = sent.get("/latest/statement.json").filter(|text| text.len() < 1 << 20);
        // A client that does not ask may have copies of an earlier publication.
        let is_asking = session.options().refresh;
        let promised = statement.filter(|_| is_asking).and_then(|text| Statement::parse(text).ok());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let code = |error: index::Error| {
            let index::Error::Trust(error) = error else { return format!("not of trust: {error}") };
            json!(acp_registry::failure::Failure::from(&error).kind()).as_str().unwrap().to_owned()
        };
        runtime.block_on(async {
            let whole = session.index().await.map_err(code)?;
            let part = session.load_entries(&["a"]).await.map_err(code)?;
            // Whatever the host sends, what is read is what was signed.
            if let Some(promised) = promised {
                let digest: Sha256 = whole.index.sha256().parse().unwrap();
                assert_eq!(promised.digests["registry.json"], digest);
                let [all, some] = [&whole.index, &part.index].map(|index| index.agent("a").unwrap().unwrap().version);
                assert_eq!(all, some);
                assert!(whole.index.origin.signed.is_some() && part.index.origin.signed.is_some());
            }
            session.learn_revocations().await.map_err(code)?;
            let is_newest = whole.index.agent("a").unwrap().unwrap().version == "2.0.0";
            assert!(session.find_revocation("b", "0.5.0").is_some());
            assert!(!is_asking || session.find_revocation("b", "1.5.0").is_some() == is_newest);
            Ok(())
        })
    }
}

/// Signs a statement that is changed.
fn restate(site: &mut Site, key: usize, change: impl FnOnce(&mut Statement)) {
    let mut statement = Statement::parse(&site["/latest/statement.json"]).unwrap();
    change(&mut statement);
    let text = statement.to_text();
    site.insert(format!("/latest/{STATEMENT_SIGNATURE}"), secret(key).sign(text.as_bytes(), "").into_bytes());
    site.insert(format!("/latest/{STATEMENT}"), text.into_bytes());
}

/// A host that sends something else than what was published last, and the code with which that is refused.
type Attack = (&'static str, &'static str, fn(&mut Site, &Site));

/// What the host answers with an error.
const REFUSED: &[u8] = b"refused";

const ATTACKS: [Attack; 33] = [
    ("a byte more", "signature_invalid", |site, _| site.get_mut("/latest/statement.json").unwrap().push(b'\n')),
    ("a signature of another text", "signature_invalid", |site, before| {
        let text = secret(0).sign(&before["/latest/registry.json"], "");
        site.insert("/latest/statement.json.minisig".to_owned(), text.into_bytes());
    }),
    ("no statement", "unsigned", |site, _| drop(site.remove("/latest/statement.json"))),
    ("no signature", "unsigned", |site, _| drop(site.remove("/latest/statement.json.minisig"))),
    ("an index alone", "unsigned", |site, _| site.retain(|name, _| name == "/latest/registry.json")),
    ("everything as before", "statement_older", |site, before| site.clone_from(before)),
    ("the statement as before", "statement_older", |site, before| {
        for name in ["/latest/statement.json", "/latest/statement.json.minisig"] {
            site.insert(name.to_owned(), before[name].clone());
        }
    }),
    ("the text as before", "statement_older", |site, before| {
        site.insert("/latest/statement.json".to_owned(), before["/latest/statement.json"].clone());
    }),
    ("the signature as before", "signature_invalid", |site, before| {
        let name = "/latest/statement.json.minisig";
        site.insert(name.to_owned(), before[name].clone());
    }),
    ("the index as before", "digest_mismatch", |site, before| {
        site.retain(|name, _| name.starts_with("/latest/"));
        site.insert("/latest/registry.json".to_owned(), before["/latest/registry.json"].clone());
    }),
    ("another index everywhere", "digest_mismatch", |site, _| {
        site.retain(|name, _| !name.contains("entries"));
        for (_, index) in site.iter_mut().filter(|(name, _)| name.ends_with("/registry.json")) {
            *index = String::from_utf8_lossy(index).replace("2.0.0", "9.0.0").into_bytes();
        }
    }),
    ("no list of recalls", "digest_mismatch", |site, _| site.retain(|name, _| !name.ends_with("revoked.json"))),
    ("recalls that cannot be had", "unavailable", |site, _| {
        for (_, list) in site.iter_mut().filter(|(name, _)| name.ends_with("revoked.json")) {
            *list = REFUSED.to_vec();
        }
    }),
    ("an earlier list of recalls", "digest_mismatch", |site, before| {
        site.insert("/latest/revoked.json".to_owned(), before["/latest/revoked.json"].clone());
    }),
    ("an empty list of recalls", "digest_mismatch", |site, _| {
        site.insert("/latest/revoked.json".to_owned(), br#"{ "schema": 1, "revoked": [] }"#.to_vec());
    }),
    ("no recalls in the statement", "signature_invalid", |site, _| {
        let text = String::from_utf8_lossy(&site["/latest/statement.json"]).replace("revoked.json", "other.json");
        site.insert("/latest/statement.json".to_owned(), text.into_bytes());
    }),
    ("another key", "signature_invalid", |site, _| restate(site, 1, |_| {})),
    ("another key that names itself", "signature_invalid", |site, _| {
        restate(site, 1, |statement| statement.next_keys = vec![public(1).to_string()]);
    }),
    ("another key that names both", "signature_invalid", |site, _| {
        restate(site, 1, |statement| statement.next_keys.push(public(1).to_string()));
    }),
    ("another registry", "signature_invalid", |site, _| {
        restate(site, 0, |statement| statement.registry.push_str("/other"));
    }),
    ("an expired statement", "statement_expired", |site, _| {
        restate(site, 0, |statement| {
            statement.expires_at = Timestamp::from_unix(Timestamp::now().unix() - 90_000).unwrap();
            statement.sequence += 1;
        });
    }),
    ("a smaller number", "statement_older", |site, _| restate(site, 0, |statement| statement.sequence = 7)),
    ("another statement with one number", "statement_older", |site, _| {
        restate(site, 0, |statement| {
            statement.expires_at = Timestamp::from_unix(statement.expires_at.unix() + 1).unwrap();
        });
    }),
    ("a statement that names no index", "digest_mismatch", |site, _| {
        restate(site, 0, |statement| {
            statement.sequence += 1;
            statement.digests.remove("registry.json");
        });
    }),
    ("a snapshot elsewhere", "signature_invalid", |site, _| {
        restate(site, 0, |statement| statement.snapshot = Some("../../other".to_owned()));
    }),
    ("a form of the future", "signature_invalid", |site, _| {
        let text = String::from_utf8_lossy(&site["/latest/statement.json"]).replace("\"schema\": 1", "\"schema\": 2");
        site.insert(format!("/latest/{STATEMENT_SIGNATURE}"), secret(0).sign(text.as_bytes(), "").into_bytes());
        site.insert("/latest/statement.json".to_owned(), text.into_bytes());
    }),
    ("an empty statement", "unsigned", |site, _| drop(site.insert("/latest/statement.json".to_owned(), Vec::new()))),
    ("half a statement", "signature_invalid", |site, _| {
        let text = site.get_mut("/latest/statement.json").unwrap();
        text.truncate(text.len() / 2);
    }),
    ("a page", "signature_invalid", |site, _| {
        site.insert("/latest/statement.json".to_owned(), b"<!DOCTYPE html><title>Hello</title>".to_vec());
    }),
    ("half a signature", "signature_invalid", |site, _| {
        let text = site.get_mut("/latest/statement.json.minisig").unwrap();
        text.truncate(100);
    }),
    ("a signature with another comment", "signature_invalid", |site, _| {
        let text = site.get_mut("/latest/statement.json.minisig").unwrap();
        *text =
            String::from_utf8_lossy(text).replace("trusted comment: statement", "trusted comment: other").into_bytes();
    }),
    ("many signatures of others", "signature_invalid", |site, _| {
        let text = site["/latest/statement.json"].clone();
        let signatures = secret(1).sign(&text, "") + &secret(2).sign(&text, "");
        site.insert("/latest/statement.json.minisig".to_owned(), signatures.repeat(9).into_bytes());
    }),
    ("a large statement", "unavailable", |site, _| {
        site.get_mut("/latest/statement.json").unwrap().extend(vec![b' '; 2 << 20]);
    }),
];

/// Each attack meets clients that know the signer from their first use or from a person, that keep copies or not, and that
/// have seen the last publication, the one before, or both.
#[test]
fn nothing_but_what_was_signed_is_accepted() {
    let registry = Registry::new();
    let before = registry.publish("1.0.0", 0, &[]);
    let now = registry.publish("2.0.0", 0, &[]);
    let (mut refused, mut accepted) = (0, 0);
    for (what, expected, attack) in ATTACKS {
        let mut site = now.clone();
        attack(&mut site, &before);
        for signer in [None, Some(public(0))] {
            for keeps in [false, true] {
                for seen in [&[&now][..], &[&before, &now], &[&before]] {
                    // A smaller number than any, or one that was not seen, is only known to be old by who has seen another.
                    let has_seen = seen.len() == 2 || std::ptr::eq(seen[0], &raw const now);
                    if !has_seen && expected == "statement_older" {
                        continue;
                    }
                    let home = tempfile::tempdir().unwrap();
                    for site in seen {
                        registry.send(site);
                        registry.learn(home.path(), signer, keeps).unwrap_or_else(|code| panic!("honest: {code}"));
                        accepted += 1;
                    }
                    registry.send(&site);
                    // A copy, or a file of the snapshot, that is what was signed serves where the host has something else.
                    let Err(code) = registry.learn(home.path(), signer, keeps) else {
                        assert!(["digest_mismatch", "unavailable"].contains(&expected), "{what} was accepted");
                        continue;
                    };
                    let is_expected = code == expected
                        // What cannot be read is not there, or not to be had.
                        || (expected == "unavailable" && code == "index_unavailable")
                        || (what == "an empty statement" && code == "signature_invalid");
                    assert!(is_expected, "{what}: {code}, expected {expected}");
                    refused += 1;
                    // The honest registry is still accepted afterwards, unless it has signed something newer.
                    if signer.is_none() && what != "a statement that names no index" {
                        registry.send(&now);
                        let learnt = registry.learn(home.path(), signer, keeps);
                        learnt.unwrap_or_else(|code| panic!("{what}, then honest: {code}"));
                        accepted += 1;
                    }
                }
            }
        }
    }
    println!("{refused} tampered registries refused, {accepted} honest ones accepted");
    assert!(refused >= 300, "{refused}");
}

/// Each attack on a client without copies, and the honest registry: whether they were accepted. The client has seen the
/// publication before, or the last one, too, where only that tells what is old.
pub(crate) fn attacked() -> Vec<(&'static str, [Result<(), String>; 2])> {
    let registry = Registry::new();
    let before = registry.publish("1.0.0", 0, &[]);
    let now = registry.publish("2.0.0", 0, &[]);
    let cases = ATTACKS.into_iter().map(|(what, expected, attack)| {
        let mut site = now.clone();
        attack(&mut site, &before);
        site.retain(|name, _| name.starts_with("/latest/"));
        let home = tempfile::tempdir().unwrap();
        let learn = |home: &Path, site: &Site| {
            registry.send(site);
            registry.learn(home, None, false)
        };
        let seen = if expected == "statement_older" { &now } else { &before };
        learn(home.path(), &before).and(learn(home.path(), seen)).unwrap();
        (what, [learn(home.path(), &site), learn(tempfile::tempdir().unwrap().path(), &now)])
    });
    cases.collect()
}

#[test]
fn a_registry_that_is_just_published_is_read_as_it_was_signed() {
    let registry = Registry::new();
    let before = registry.publish("1.0.0", 0, &[]);
    let now = registry.publish("2.0.0", 0, &[]);
    let statement = ["/latest/statement.json", "/latest/statement.json.minisig"];
    // The statement is new, the index is not yet; then the index is newer than a cache's copy of the statement.
    for (base, other) in [(&before, &now), (&now, &before)] {
        let mut site = base.clone();
        site.extend(now.iter().filter(|(name, _)| !name.starts_with("/latest/")).map(|(k, v)| (k.clone(), v.clone())));
        site.extend(statement.map(|name| (name.to_owned(), other[name].clone())));
        let home = tempfile::tempdir().unwrap();
        registry.send(&before);
        registry.learn(home.path(), None, true).unwrap();
        registry.send(&site);
        registry.learn(home.path(), None, true).unwrap();
    }
    // Only the signature has come: it covers both statements.
    let mut site = before.clone();
    site.insert(statement[1].to_owned(), now[statement[1]].clone());
    registry.send(&site);
    registry.learn(tempfile::tempdir().unwrap().path(), Some(public(0)), false).unwrap();
}

#[test]
fn a_key_is_replaced_by_one_that_it_has_named() {
    let registry = Registry::new();
    let next = public(1).to_string();
    let first = registry.publish("1.0.0", 0, &[]);
    // Without the old key, there is no new one.
    let run = registry.try_publish(Some(1), &[]);
    assert!(run.code == 2 && run.stderr.contains("does not allow"), "{}", run.stderr);
    let announced = registry.publish("1.1.0", 0, &["--next-key", &next]);
    let rotated = registry.publish("2.0.0", 1, &[]);
    let home = tempfile::tempdir().unwrap();
    for site in [&first, &announced, &rotated] {
        registry.send(site);
        // A person who has named the first key goes on, too.
        registry.learn(home.path(), Some(public(0)), true).unwrap();
    }
    let mut back = rotated.clone();
    restate(&mut back, 0, |statement| statement.sequence += 1);
    registry.send(&back);
    assert_eq!(registry.learn(home.path(), Some(public(0)), true), Err("signature_invalid".to_owned()));
    // Who has not seen the announcement needs the new key by name.
    let home = tempfile::tempdir().unwrap();
    registry.send(&first);
    registry.learn(home.path(), None, true).unwrap();
    registry.send(&rotated);
    assert_eq!(registry.learn(home.path(), None, true), Err("signature_invalid".to_owned()));
    registry.learn(home.path(), Some(public(1)), true).unwrap();
    registry.learn(home.path(), None, true).unwrap();
}

/// The tree has got another address before the key is replaced.
#[test]
fn a_new_key_keeps_the_name_of_its_registry() {
    let registry = Registry::new();
    let first = registry.publish("1.0.0", 0, &[]);
    let build = |base: &str| {
        let all = ["--registry-dir", "r", "build", "--no-site", "--base-url", base, "--out", "dist"];
        assert_eq!(registry.env.run(&all).code, 0);
    };
    let current = || Statement::parse(registry.env.read("site/latest/statement.json").as_bytes()).unwrap();
    build("https://new.example/latest");
    assert_eq!(registry.try_publish(Some(0), &["--next-key", &public(1).to_string()]).code, 0);
    let run = registry.try_publish(Some(1), &[]);
    let old = Statement::parse(&first["/latest/statement.json"]).unwrap().registry;
    let help = format!("help: build the tree with --base-url `{old}`, and publish it once with this key");
    assert!(run.code == 2 && run.stderr.contains(&help), "{}", run.stderr);
    for base in [&old, "https://new.example/latest"] {
        build(base);
        let run = registry.try_publish(Some(1), &[]);
        assert_eq!((run.code, current().registry), (0, old.clone()), "{}", run.stderr);
    }
}

/// The clock of a publisher may be ahead, or behind.
#[test]
fn numbers_grow_and_statements_are_valid_whatever_the_clocks() {
    let registry = Registry::new();
    let first = registry.publish("1.0.0", 0, &[]);
    let now = Timestamp::now().unix();
    let day = 86_400;
    let write = |days: i64| {
        let mut site = first.clone();
        restate(&mut site, 0, |statement| {
            statement.sequence = u64::try_from(now + days * day).unwrap();
            statement.expires_at = Timestamp::from_unix(now + (days + 7) * day).unwrap();
            statement.next_keys.push(public(1).to_string());
            statement.digests.insert("other.json".to_owned(), Sha256::of("other"));
        });
        for name in ["latest/statement.json", "latest/statement.json.minisig"] {
            registry.env.write(&format!("site/{name}"), &site[&format!("/{name}")]);
        }
    };
    let current = || Statement::parse(registry.env.read("site/latest/statement.json").as_bytes()).unwrap();
    write(3);
    assert_eq!(registry.try_publish(Some(1), &[]).code, 0);
    assert_eq!(current().sequence, u64::try_from(now + 3 * day + 1).unwrap());
    write(400);
    let run = registry.try_publish(Some(1), &[]);
    assert!(run.code == 2 && run.stderr.contains("more than a year ahead of this clock"), "{}", run.stderr);
    // As after ten days, by the clock of the last publisher.
    write(10);
    let run = registry.try_publish(Some(0), &[]);
    assert!(run.code == 2 && run.stderr.contains("help: correct the clock of this machine"), "{}", run.stderr);
    assert_eq!(registry.try_publish(Some(0), &["--valid-for", "30d"]).code, 0);
}

#[test]
fn no_statement_is_published_that_clients_refuse() {
    let registry = Registry::new();
    registry.publish("1.0.0", 0, &[]);
    let before = tree(&registry.env.path("site"));
    let keys: Vec<String> = ('A'..='P').map(|c| public(1).to_string().replace("RWTg", &format!("RWT{c}"))).collect();
    let keys: Vec<&str> = keys.iter().flat_map(|key| ["--next-key", key]).collect();
    for (more, message) in
        [(&["--valid-for", "3000000d"][..], "--valid-for ends after the year 9999"), (&keys, "at most 16 keys")]
    {
        let run = registry.try_publish(Some(0), more);
        assert!(run.code == 2 && run.stderr.contains(message), "{}", run.stderr);
    }
    // Its index says that there is a statement.
    let run = registry.env.run(&["publish", "--from", "site/latest", "--to", "other"]);
    assert!(run.code == 2 && run.stderr.contains("says that its registry is signed"), "{} {}", run.code, run.stderr);
    assert!(tree(&registry.env.path("site")) == before && !registry.env.path("other").exists());
}

/// A thief of the first key has named the next one, so that people who name it would trust the thief.
#[test]
fn who_names_another_key_trusts_that_key_alone() {
    let registry = Registry::new();
    let first = registry.publish("1.0.0", 0, &[]);
    let home = tempfile::tempdir().unwrap();
    registry.send(&first);
    registry.learn(home.path(), None, true).unwrap();
    let mut stolen = first.clone();
    restate(&mut stolen, 0, |statement| {
        statement.sequence += 1;
        statement.next_keys = vec![public(2).to_string(), public(1).to_string()];
    });
    registry.send(&stolen);
    registry.learn(home.path(), None, true).unwrap();
    restate(&mut stolen, 2, |statement| statement.sequence += 1);
    registry.send(&stolen);
    assert_eq!(registry.learn(home.path(), Some(public(1)), true), Err("signature_invalid".to_owned()));
    restate(&mut stolen, 1, |statement| statement.sequence += 1);
    registry.send(&stolen);
    registry.learn(home.path(), Some(public(1)), true).unwrap();
}

#[test]
fn nothing_of_a_statement_is_signed_that_somebody_else_has_written() {
    let registry = Registry::new();
    let first = registry.publish("1.0.0", 0, &[]);
    let sequence = |site: &Site| Statement::parse(&site["/latest/statement.json"]).unwrap().sequence;
    let file = registry.env.path("site/latest/statement.json");
    let write = |change: &dyn Fn(&mut Statement)| {
        let mut statement = Statement::parse(&first["/latest/statement.json"]).unwrap();
        change(&mut statement);
        fs::write(&file, statement.to_text()).unwrap();
    };
    write(&|statement| statement.sequence = u64::MAX - 1);
    let next = registry.publish("1.1.0", 0, &[]);
    assert!(sequence(&next) < sequence(&first) + 10_000);
    write(&|statement| statement.registry = "https://evil.example".to_owned());
    let run = registry.try_publish(Some(0), &[]);
    assert!(run.code == 2 && run.stderr.contains("is of `https://evil.example`"), "{}", run.stderr);
    // One that is lost does not make the registry an unsigned one.
    fs::remove_file(&file).unwrap();
    let run = registry.try_publish(None, &[]);
    assert!(run.code == 2 && run.stderr.contains("is signed, and this publication is not"), "{}", run.stderr);
    assert_eq!(registry.try_publish(Some(0), &[]).code, 0);
}

#[test]
fn an_expired_statement_is_used_for_a_day_with_a_warning() {
    let registry = Registry::new();
    let mut site = registry.publish("1.0.0", 0, &[]);
    let home = tempfile::tempdir().unwrap();
    restate(&mut site, 0, |statement| {
        statement.expires_at = Timestamp::from_unix(Timestamp::now().unix() - 3600).unwrap();
    });
    registry.send(&site);
    let index = registry.server.url("/latest/registry.json");
    let list = |more: &[&str]| {
        let root = home.path().to_str().unwrap();
        let all = ["list", "--index", &index, "--root", root, "--allow-host", "127.0.0.1"];
        registry.env.run(&[&all, more].concat())
    };
    let run = list(&[]);
    assert!(run.code == 0 && run.stderr.contains("was not renewed"), "{}", run.stderr);
    restate(&mut site, 0, |statement| {
        statement.expires_at = Timestamp::from_unix(Timestamp::now().unix() - 90_000).unwrap();
        statement.sequence += 1;
    });
    registry.send(&site);
    let run = list(&["--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("was valid until") && run.stderr.contains("help: look at the clock"));
    // Without the network, the last copy is what there is.
    let run = list(&["--offline"]);
    assert!(run.code == 0 && run.stderr.contains("was not renewed"), "{}", run.stderr);
}

#[test]
fn publishing_renews_an_old_statement_and_never_drops_it() {
    let registry = Registry::new();
    let first = registry.publish("1.0.0", 0, &[]);
    let statement = |site: &Site| Statement::parse(&site["/latest/statement.json"]).unwrap();
    let again = registry.publish("1.0.0", 0, &[]);
    assert_eq!(statement(&first), statement(&again), "nothing has changed");
    let renewed = registry.publish("1.0.0", 0, &["--valid-for", "30d"]);
    assert!(statement(&renewed).sequence > statement(&first).sequence);
    assert!(statement(&renewed).agrees_with(&statement(&first)));
    let run = registry.try_publish(None, &[]);
    assert!(run.code == 2 && run.stderr.contains("is signed, and this publication is not"), "{}", run.stderr);
    // What is put back is signed with a new number.
    registry.publish("2.0.0", 0, &[]);
    let snapshot = statement(&first).snapshot.unwrap();
    let rollback = || {
        let mut command = registry.env.command(&["publish", "rollback", "--to", "site", &snapshot]);
        Run::of(command.env("ACP_REGISTRY_SIGNING_KEY", KEYS[0]))
    };
    let run = rollback();
    assert!(
        run.code == 4 && run.stderr.contains("recalls <2.0.0 of `b`, and that snapshot does not"),
        "{}",
        run.stderr
    );
    fs::remove_file(registry.env.path("r/revoked.json")).unwrap();
    let base = registry.server.url("/latest");
    registry.env.run(&["--registry-dir", "r", "build", "--no-site", "--base-url", &base, "--out", "dist"]);
    assert_eq!(registry.try_publish(Some(0), &["--grace", "0"]).code, 0);
    let run = rollback();
    assert_eq!(run.code, 0, "{}", run.stderr);
    let back = Statement::parse(&fs::read(registry.env.path("site/latest/statement.json")).unwrap()).unwrap();
    assert!(back.sequence > statement(&renewed).sequence && back.digests == statement(&first).digests);
    registry.env.write("site/latest/statement.json", "{}");
    let run = registry.try_publish(Some(0), &[]);
    assert!(run.code == 3 && run.stderr.contains("latest/statement.json cannot be used: "), "{}", run.stderr);
    assert!(
        run.stderr.contains("help: restore it from a copy, or remove it and statement.json.minisig"),
        "{}",
        run.stderr
    );
    for name in ["statement.json", "statement.json.minisig"] {
        fs::remove_file(registry.env.path(&format!("site/latest/{name}"))).unwrap();
    }
    let run = registry.try_publish(Some(0), &["--signer", &public(0).to_string()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // A key that was announced stays announced, until another key signs.
    let next = public(1).to_string();
    registry.publish("2.0.0", 0, &["--next-key", &next]);
    assert!(statement(&registry.publish("2.1.0", 0, &[])).next_keys.contains(&next));
    let named = public(2).to_string();
    for (more, message) in [
        (&["--signer", &named][..], "is the secret key of"),
        (&["--valid-for", "0s"], "less than an hour"),
        (&["--next-key", "RWQ"], "a public key has 56 characters"),
    ] {
        let run = registry.try_publish(Some(0), more);
        assert!(run.code == 2 && run.stderr.contains(message), "{more:?}: {}", run.stderr);
    }
    // A refusal leaves nothing behind of a new tree.
    registry.env.write("r/a/agent.json", manifest("a").replace("1.0.0", "3.0.0"));
    registry.env.run(&["--registry-dir", "r", "build", "--no-site", "--base-url", &base, "--out", "dist"]);
    let unchanged = tree(&registry.env.path("site"));
    let run = registry.try_publish(None, &[]);
    assert!(run.code == 2 && run.stderr.contains("is signed, and this publication is not"), "{}", run.stderr);
    // A tree without a signer, a wrong key, and a command that signs something else.
    let run = registry.try_publish(None, &["--sign-with", "true"]);
    assert!(run.code == 2 && run.stderr.contains("the key that signs is not known"), "{}", run.stderr);
    let run =
        registry.try_publish(None, &["--sign-with", "true", "--signer", &public(0).to_string(), "--valid-for", "30d"]);
    assert!(run.code == 3 && run.stderr.contains("statement.json was not signed"), "{}", run.stderr);
    let mut command = registry.env.command(&["publish", "--from", "dist", "--to", "site"]);
    let run = Run::of(command.env("ACP_REGISTRY_SIGNING_KEY", "secret"));
    assert!(run.code == 2 && !run.stderr.contains("secret\""), "{}", run.stderr);
    assert_eq!(tree(&registry.env.path("site")), unchanged);
}

#[test]
fn a_snapshot_from_before_the_signature_is_not_put_back() {
    let registry = Registry::new();
    registry.publish("1.0.0", 0, &[]);
    let run = registry.env.run(&["publish", "--from", "dist", "--to", "other", "--revision", "plain", "--json"]);
    let snapshot =
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()["snapshot"].as_str().unwrap().to_owned();
    let signed = |arguments: &[&str]| {
        let mut command = registry.env.command(&[&["publish"], arguments, &["--to", "other"]].concat());
        Run::of(command.env("ACP_REGISTRY_SIGNING_KEY", KEYS[0]))
    };
    assert_eq!(signed(&["--from", "dist"]).code, 0);
    let run = signed(&["rollback", &snapshot]);
    assert!(
        run.code == 2 && run.stderr.contains("is from before the registry was signed"),
        "{} {}",
        run.code,
        run.stderr
    );
    assert!(run.stderr.contains("help: put back the earlier files of the registry"), "{}", run.stderr);
}

/// A publisher was killed after its statement was sent, and before its list of recalls.
#[test]
fn what_a_statement_recalls_is_not_lost_before_it_is_in_latest() {
    let registry = Registry::new();
    let before = registry.publish("1.0.0", 0, &[]);
    registry.publish("2.0.0", 0, &[]);
    for name in [".acp-registry/state.json", "latest/revoked.json"] {
        registry.env.write(&format!("site/{name}"), &before[&format!("/{name}")]);
    }
    let snapshot = Statement::parse(&before["/latest/statement.json"]).unwrap().snapshot.unwrap();
    let mut command = registry.env.command(&["publish", "rollback", "--to", "site", &snapshot]);
    let run = Run::of(command.env("ACP_REGISTRY_SIGNING_KEY", KEYS[0]));
    assert!(run.code == 4 && run.stderr.contains("/revoked.json recalls <2.0.0 of `b`"), "{} {}", run.code, run.stderr);
}

#[test]
fn the_memory_of_a_registry_survives_and_is_not_lost_in_silence() {
    let registry = Registry::new();
    let site = registry.publish("1.0.0", 0, &[]);
    registry.send(&site);
    let home = tempfile::tempdir().unwrap();
    registry.learn(home.path(), None, true).unwrap();
    let folder = home.path().join("root/trust");
    let file = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).find(|file| file.extension().is_some());
    fs::write(file.as_ref().unwrap(), "{").unwrap();
    assert_eq!(registry.learn(home.path(), None, true), Err("signature_invalid".to_owned()));
    // Several at once: the newest statement stays.
    fs::remove_file(file.unwrap()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| registry.learn(home.path(), None, true).unwrap());
        }
    });
    let newer = registry.publish("2.0.0", 0, &[]);
    registry.send(&newer);
    registry.learn(home.path(), None, true).unwrap();
    registry.send(&site);
    assert_eq!(registry.learn(home.path(), None, true), Err("statement_older".to_owned()));
    let mut command = std::process::Command::new(PROGRAM);
    scrub(&mut command);
    let index = registry.env.path("site/latest/registry.json");
    let run = Run::of(command.args(["info", "a", "--index"]).arg(index).arg("--root").arg(home.path().join("other")));
    assert!(run.code == 0 && run.stdout.contains(&public(0).to_string()), "{}{}", run.stdout, run.stderr);
}

/// The files of a client: what is in them, and when it was written.
type Files = BTreeMap<String, (Vec<u8>, SystemTime)>;

/// The directory of a client, and its files at each request.
type Watched = (PathBuf, Vec<Files>);

fn files_in(home: &Path) -> Files {
    let written = |name: &str| home.join(name).metadata().unwrap().modified().unwrap();
    tree(home).into_iter().map(|(name, bytes)| (name.clone(), (bytes, written(&name)))).collect()
}

fn write_files(home: &Path, files: &Files) {
    for (name, (bytes, written)) in files {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(*written).unwrap();
    }
}

/// All states of a client between some that were seen, each with the file that would have been written next. What was written
/// between two requests is ordered by time.
fn states(seen: &[Files]) -> Vec<(Files, Option<String>)> {
    let mut states: Vec<(Files, Option<String>)> = Vec::new();
    for pair in seen.windows(2) {
        let is_new = |name: &&String| pair[0].get(*name).map(|(bytes, _)| bytes) != Some(&pair[1][*name].0);
        let mut written: Vec<&String> = pair[1].keys().filter(is_new).collect();
        written.sort_by_key(|name| pair[1][*name].1);
        let mut files = pair[0].clone();
        for name in written {
            states.push((files.clone(), Some(name.clone())));
            files.insert(name.clone(), pair[1][name].clone());
        }
    }
    states.extend(seen.last().map(|last| (last.clone(), None)));
    states
}

/// What a client has learnt until it was killed never makes it refuse an honest registry, accept another one, or forget a
/// recall. Files are replaced as a whole: a kill leaves what was written before it, and perhaps a file without its name.
#[test]
fn a_client_that_is_killed_at_any_write_goes_on() {
    let registry = Registry::new();
    let before = registry.publish("1.0.0", 0, &[]);
    let now = registry.publish("2.0.0", 0, &[]);
    let tried = ["no statement", "everything as before", "another key", "another registry"];
    let attacks: Vec<Site> = tried
        .iter()
        .map(|what| {
            let (.., attack) = ATTACKS.iter().find(|(name, ..)| name == what).unwrap();
            let mut site = now.clone();
            attack(&mut site, &before);
            site
        })
        .collect();
    let learn = |files: &Files, site: &Site, refresh: bool| {
        let home = tempfile::tempdir().unwrap();
        write_files(home.path(), files);
        registry.send(site);
        let mut options = registry.client(home.path(), None, true);
        options.refresh = refresh;
        registry.learn_as(options)
    };
    let (mut count, mut refused) = (0, 0);
    for has_seen in [false, true] {
        let home = tempfile::tempdir().unwrap();
        if has_seen {
            registry.send(&before);
            registry.learn(home.path(), None, true).unwrap();
        }
        *registry.watched.lock().unwrap() = Some((home.path().to_owned(), vec![files_in(home.path())]));
        registry.send(&now);
        registry.learn(home.path(), None, true).unwrap();
        let (_, mut seen) = registry.watched.lock().unwrap().take().unwrap();
        seen.push(files_in(home.path()));
        let (old, new) = (seen[0].clone(), seen.last().unwrap().clone());
        let mut known = vec![false; attacks.len()];
        let mut written: Vec<String> = Vec::new();
        for (mut files, next) in states(&seen) {
            if let Some(next) = &next {
                let (bytes, time) = seen.iter().rev().find_map(|files| files.get(next)).unwrap();
                let folder = Path::new(next).parent().unwrap().display();
                files.insert(format!("{folder}/.tmp-Ab12Cd"), (bytes[..bytes.len() / 2].to_vec(), *time));
            }
            for refresh in [false, true] {
                learn(&files, &now, refresh).unwrap_or_else(|code| panic!("{code} after {written:?}"));
            }
            // What was refused once is refused ever after, and by those who know the registry from the beginning.
            for ((what, site), known) in tried.iter().zip(&attacks).zip(&mut known) {
                let is_refused = learn(&files, site, true).is_err();
                let must_be = *known || next.is_none() || (has_seen && *what != "everything as before");
                assert!(is_refused || !must_be, "{what} is accepted after {written:?}");
                *known = is_refused;
                refused += usize::from(is_refused);
            }
            if has_seen {
                let home = tempfile::tempdir().unwrap();
                write_files(home.path(), &files);
                let session = Session::open(registry.client(home.path(), None, true)).unwrap();
                assert!(session.find_revocation("b", "0.5.0").is_some(), "after {written:?}");
            }
            written.extend(next);
            count += 1;
        }
        for folder in ["cache/indexes", "root/trust", "root/revoked"] {
            assert!(written.iter().any(|name| name.starts_with(folder)), "{folder}: {written:?}");
        }
        // Runs beside each other write in any order: each file alone is new, or old.
        written.sort_unstable();
        written.dedup();
        for name in &written {
            for is_alone in [true, false] {
                let mut files = old.clone();
                let new_ones = new.iter().filter(|(other, _)| (*other == name) == is_alone);
                files.extend(new_ones.map(|(name, file)| (name.clone(), file.clone())));
                let learnt = learn(&files, &now, false);
                learnt.unwrap_or_else(|code| panic!("{code}, with a new {name}: {is_alone}"));
                count += 1;
            }
        }
    }
    println!("{count} clients that were killed accept what was signed, and refuse something else {refused} times");
    assert!(count > 30, "{count}");
}

#[test]
fn an_earlier_tree_that_somebody_has_changed_is_not_taken_over() {
    let registry = Registry::new();
    registry.publish("1.0.0", 0, &[]);
    registry.env.write("r/a/agent.json", manifest("a").replace("1.0.0", "2.0.0"));
    let base = registry.server.url("/latest");
    let build = |key: usize| {
        let all = ["--registry-dir", "r", "build", "--base-url", &base, "--out", "again", "--previous", "site/latest"];
        registry.env.run(&[&all[..], &["--signer", &public(key).to_string()]].concat())
    };
    let run = build(0);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = build(1);
    assert!(run.code == 3 && run.stderr.contains("has not signed it"), "{}", run.stderr);
    // The same key in the configuration, which the catalog names.
    let configured = |key: &str| {
        registry.env.write("r/registry.toml", format!("signer = \"{key}\"\n"));
        let all = ["--registry-dir", "r", "build", "--base-url", &base, "--out", "again", "--previous", "site/latest"];
        registry.env.run(&all)
    };
    let run = configured(&public(1).to_string());
    assert!(run.code == 3 && run.stderr.contains("has not signed it"), "{}", run.stderr);
    let run = configured(&public(0).to_string());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(registry.env.read("again/api/index.html").contains(&format!("ACP_REGISTRY_SIGNER={}", public(0))));
    let run = configured("RWQ");
    assert!(run.code == 2 && run.stderr.contains("a public key has 56 characters"), "{} {}", run.code, run.stderr);
    fs::remove_file(registry.env.path("r/registry.toml")).unwrap();
    let index = registry.env.read("site/latest/registry.json");
    registry.env.write("site/latest/registry.json", index.replace("a@1.0.0", "evil@1.0.0"));
    // The snapshot that the statement names has what was signed.
    assert!(build(0).code == 0 && !registry.env.read("again/registry.json").contains("evil"));
    let statement = Statement::parse(&fs::read(registry.env.path("site/latest/statement.json")).unwrap()).unwrap();
    fs::remove_dir_all(registry.env.path(&format!("site/{}", statement.snapshot.unwrap()))).unwrap();
    let run = build(0);
    assert!(run.code == 3 && run.stderr.contains("is not what the statement"), "{} {}", run.code, run.stderr);
    // An index of a view that was never signed.
    registry.env.write("site/latest/registry.json", &index);
    registry.env.write("site/latest/more.json", &index);
    registry.env.write("r/registry.toml", "[[view]]\nfile = \"registry.json\"\n[[view]]\nfile = \"more.json\"\n");
    registry.env.write("r/a/agent.json", "{");
    let run = build(0);
    assert!(run.code == 3 && run.stderr.contains("cannot read more.json"), "{} {}", run.code, run.stderr);
    fs::remove_file(registry.env.path("site/latest/statement.json")).unwrap();
    let run = build(0);
    assert!(run.code == 3 && run.stderr.contains("must have signed it"), "{}", run.stderr);
    // A host may hide that there is a tree.
    fs::remove_file(registry.env.path("site/latest/registry.json")).unwrap();
    let nothing = registry.server.url("/nothing/latest");
    let all = ["--registry-dir", "r", "build", "--base-url", &base, "--out", "again", "--previous", &nothing];
    let signer = public(0).to_string();
    let run = registry.env.run(&[&all[..], &["--signer", &signer, "--allow-host", &registry.server.host]].concat());
    assert!(run.code == 3 && run.stderr.contains("must have signed it"), "{}", run.stderr);
}

#[test]
fn a_tree_whose_publisher_was_killed_is_taken_over_from_its_snapshot() {
    let registry = Registry::new();
    registry.publish("1.0.0", 0, &[]);
    let index = registry.env.read("site/latest/registry.json");
    registry.publish("1.1.0", 0, &[]);
    // The statement is the last one, and the index the one before.
    registry.env.write("site/latest/registry.json", index);
    registry.env.write("r/a/agent.json", "{");
    let base = registry.server.url("/latest");
    let all = ["--registry-dir", "r", "build", "--base-url", &base, "--out", "again", "--previous", "site/latest"];
    let run = registry.env.run(&[&all[..], &["--signer", &public(0).to_string()]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(registry.env.read("again/registry.json").contains("a@1.1.0"));
    // Readers of the directory find it there too.
    for place in ["site/latest", "site/latest/registry.json"] {
        let info = registry.env.run(&["info", "a", "--index", place, "--json"]);
        assert!(info.code == 0 && info.stdout.contains("a@1.1.0"), "{place}: {}", info.stderr);
    }
}
