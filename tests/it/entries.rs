//! Agents that are read one by one, from the entries that a published tree offers.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use acp_registry::digest::Sha256;
use serde_json::{Value, json};

use crate::people::{People, files};
use crate::server::{Answer, Server, not_found, ok, status};
use crate::support::{ICON, tree};

/// The files of a published tree, which a server sends with validators.
#[derive(Clone, Default)]
struct Published(Arc<Mutex<BTreeMap<String, Answer>>>);

impl Published {
    fn set(&self, name: &str, answer: Answer) {
        self.0.lock().unwrap().insert(format!("/{name}"), answer);
    }

    fn read(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap()[&format!("/{name}")].2.clone()
    }

    /// Changes the discovery document.
    fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut document: Value = serde_json::from_slice(&self.read("entries.json")).unwrap();
        change(&mut document);
        self.set("entries.json", ok(document.to_string()));
    }

    /// The path of the only file that is named like this and has this text.
    fn with_text(&self, start: &str, text: &str) -> String {
        let files = self.0.lock().unwrap();
        let mut found = files
            .iter()
            .filter(|(name, answer)| name.starts_with(start) && String::from_utf8_lossy(&answer.2).contains(text));
        let (name, _) = found.next().unwrap();
        assert!(found.next().is_none());
        name[1..].to_owned()
    }
}

/// A server without a tree.
fn nothing() -> (People, Published) {
    let published = Published::default();
    let known = published.clone();
    let people = People::with_root("data", move |asked, stream| {
        // As hosts of files do, it ignores a query, unless there is a file for it.
        let path = asked.path.split('?').next().unwrap_or_default();
        let files = known.0.lock().unwrap();
        let answer = files.get(&asked.path).or_else(|| files.get(path)).cloned();
        drop(files);
        let Some((status, _, body)) = answer else { return Ok(false) };
        let tag = format!("\"{}\"", Sha256::of(&body).first(8));
        if asked.header("if-none-match") == tag {
            write!(stream, "HTTP/1.1 304 X\r\nConnection: close\r\n\r\n")?;
            return Ok(true);
        }
        let length = body.len();
        write!(stream, "HTTP/1.1 {status} X\r\nETag: {tag}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n")?;
        stream.write_all(&body)?;
        Ok(true)
    });
    (people, published)
}

/// Publishes a tree of these agents. Files of earlier trees stay, as they do for a while at a real host.
fn publish(people: &People, published: &Published, agents: &[Value]) {
    let _ = fs::remove_dir_all(people.env.path("r"));
    for agent in agents {
        let id = agent["id"].as_str().unwrap();
        people.env.write(&format!("r/{id}/agent.json"), agent.to_string());
        people.env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    people.env.write(
        "r/registry.toml",
        "[rules]\n\"distribution/missing-os\" = \"allow\"\n\n[[view]]\nfile = \"registry.json\"\n\n[[view]]\nfile = \"next.json\"\nchannel = \"preview\"\n",
    );
    let run = people.run(&["build", "--out", "out", "-q"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for (name, bytes) in tree(&people.env.path("out")) {
        published.set(&name, ok(bytes));
    }
}

/// A server with a tree of agents `a` 1.0.0, `b` 2.0.0 and `c` 3.0.0.
fn three() -> (People, Published) {
    let (people, published) = nothing();
    let agents = [("a", "1.0.0"), ("b", "2.0.0"), ("c", "3.0.0")].map(|(id, version)| people.agent(id, version));
    publish(&people, &published, &agents);
    (people, published)
}

/// The paths that a command asks for, and its exit code and document.
fn asked(people: &People, arguments: &[&str]) -> (Vec<String>, i32, Value) {
    let before = people.server.asked().len();
    let (code, document) = people.json(arguments);
    (people.server.asked().split_off(before), code, document)
}

/// How often each kind of file is in a list of paths: discovery documents, lists, entries, indexes.
fn kinds(paths: &[String]) -> [usize; 4] {
    let count = |is: &dyn Fn(&str) -> bool| paths.iter().filter(|path| is(path)).count();
    [
        count(&|path| path == "/entries.json"),
        count(&|path| path.starts_with("/entry-lists/")),
        count(&|path| path.starts_with("/entries/")),
        count(&|path| path == "/registry.json" || path == "/next.json"),
    ]
}

/// Makes the copies of the program as old as this.
fn age(people: &People, ending: &str, age: Duration) {
    let names = files(&people.env.path("home"));
    let copies: Vec<_> = names.iter().filter(|name| name.contains("/indexes/") && name.ends_with(ending)).collect();
    assert!(!copies.is_empty(), "{names:?}");
    for name in copies {
        let file = File::options().write(true).open(people.env.path("home").join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
}

/// Copies a directory with the ages of its files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in files(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&from, &to).unwrap();
        File::options()
            .write(true)
            .open(&to)
            .unwrap()
            .set_modified(from.metadata().unwrap().modified().unwrap())
            .unwrap();
    }
}

const HOUR: Duration = Duration::from_hours(1);

#[test]
fn an_agent_is_read_without_the_others() {
    let (people, published) = three();
    let (paths, code, document) = asked(&people, &["resolve", "a"]);
    assert_eq!((code, kinds(&paths), paths.len()), (0, [1, 2, 1, 0], 4), "{paths:?}");
    let (_, _, from_index) = asked(&people, &["resolve", "a", "--index", "out"]);
    for member in ["version", "archive", "sha256", "args", "env", "index_sha256"] {
        assert_eq!(document[member], from_index[member], "{member}");
    }
    let sha256 = Sha256::of(published.read("registry.json")).to_string();
    assert_eq!((&document["index_sha256"], &document["index"]["sha256"]), (&json!(sha256), &json!(sha256)));
    assert_eq!((&document["index"]["stale"], &document["error"]), (&json!(false), &Value::Null));
    assert_eq!(document["index"]["source"], people.server.url("/registry.json"));
    // Copies suffice from then on; when they are old, one question does.
    for arguments in [&["resolve", "a"][..], &["info", "a"], &["config", "zed", "a"], &["resolve", "a", "--offline"]] {
        assert_eq!(asked(&people, arguments).0, [] as [String; 0], "{arguments:?}");
    }
    age(&people, ".index", HOUR);
    assert_eq!(asked(&people, &["info", "a"]).0, ["/entries.json"]);
    let confirmed = people.server.requests().pop().unwrap();
    assert!(confirmed.headers.contains_key("if-none-match"));
    let (paths, code, document) = asked(&people, &["install", "a"]);
    assert_eq!((code, paths.as_slice()), (0, &["/1.0.0/a.tar.gz".to_owned()][..]), "{document}");
    // Of another agent, only the digests are shared.
    assert_eq!(kinds(&asked(&people, &["resolve", "b"]).0), [0, 2, 1, 0]);
}

#[test]
fn every_view_has_its_own_entries() {
    let (people, published) = nothing();
    let mut agent = people.agent("a", "1.0.0");
    let next = people.agent("a", "1.1.0-preview.1");
    agent["preview"] = json!({ "version": "1.1.0-preview.1", "distribution": next["distribution"] });
    publish(&people, &published, &[agent, people.agent("b", "1.0.0")]);
    let index = people.server.url("/next.json");
    let (paths, _, document) = asked(&people, &["resolve", "a", "--index", &index]);
    assert_eq!((&document["version"], kinds(&paths)), (&json!("1.1.0-preview.1"), [1, 2, 1, 0]), "{paths:?}");
    assert!(paths.contains(&"/entries/next/a.json".to_owned()));
    assert_eq!(document["index_sha256"], Sha256::of(published.read("next.json")).to_string());
    assert_eq!(asked(&people, &["resolve", "a"]).2["version"], "1.0.0");
    // A view that the document does not have is read as a whole.
    published.set("third.json", ok(published.read("next.json")));
    let index = people.server.url("/third.json");
    let (paths, _, document) = asked(&people, &["resolve", "a", "--index", &index, "--refresh"]);
    assert_eq!((&document["version"], paths.len()), (&json!("1.1.0-preview.1"), 2), "{paths:?}");
}

#[test]
fn what_changed_is_asked_for_and_nothing_else() {
    let (people, published) = three();
    let ids = ["a", "b", "c"];
    assert_eq!(people.run(&[&["install"][..], &ids].concat()).code, 0);
    let (paths, _, document) = asked(&people, &["update", "--refresh"]);
    assert_eq!((paths, &document["up_to_date"]), (vec!["/entries.json".to_owned()], &json!(ids)));
    let agents = [("a", "1.0.0"), ("b", "2.1.0"), ("d", "1.0.0")].map(|(id, version)| people.agent(id, version));
    publish(&people, &published, &agents);
    let (paths, code, document) = asked(&people, &["update", "--refresh", "--dry-run"]);
    // `c` is gone, which the lists prove; `d` is not installed.
    assert_eq!((code, kinds(&paths)[2..].to_vec()), (1, vec![1, 0]), "{paths:?}");
    assert!(paths.contains(&"/entries/registry/b.json".to_owned()) && kinds(&paths)[1] <= 5, "{paths:?}");
    assert_eq!(document["updates"][0]["to"], "2.1.0");
    assert_eq!((&document["up_to_date"], &document["gone"]), (&json!(["a"]), &json!(["c"])));
}

/// Publishes agents and recalls.
fn publish_recalls(people: &People, published: &Published, agents: &[Value], recalls: &Value) {
    // `publish` makes the registry anew.
    publish(people, published, agents);
    people.env.write("r/revoked.json", json!({ "schema": 1, "revoked": recalls }).to_string());
    assert_eq!(people.run(&["build", "--out", "out", "-q"]).code, 0);
    for (name, bytes) in tree(&people.env.path("out")) {
        published.set(&name, ok(bytes));
    }
}

/// What a copy of the discovery document says about recalls may be old, and no index is read for a lock file.
#[test]
fn an_installation_by_a_lock_file_asks_for_recalls() {
    let (people, published) = three();
    assert_eq!(people.run(&["install", "a", "--no-check", "--lock", "lock"]).code, 0);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    let agents = [("a", "1.1.0"), ("b", "2.0.0")].map(|(id, version)| people.agent(id, version));
    let recalls = json!([{ "id": "a", "versions": "1.0.0", "level": "revoked", "reason": "x", "since": "2026-01-31" }]);
    publish_recalls(&people, &published, &agents, &recalls);
    let run = people.run(&["install", "--no-check", "--locked", "--lock", "lock", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("a 1.0.0 has been revoked"), "{} {}", run.code, run.stderr);
}

/// The discovery document tells whether the registry has recalled anything, and what.
#[test]
fn recalls_are_asked_for_only_where_there_are_new_ones() {
    let (people, published) = three();
    assert_eq!(people.run(&["install", "a", "b", "--no-check"]).code, 0);
    assert!(!people.server.asked().contains(&"/revoked.json".to_owned()));
    let agents = [("a", "1.1.0"), ("b", "2.0.0")].map(|(id, version)| people.agent(id, version));
    let write = |recalls: Value| publish_recalls(&people, &published, &agents, &recalls);
    write(json!([{ "id": "a", "versions": "1.0.0", "level": "revoked", "reason": "x", "since": "2026-01-31" }]));
    let (paths, code, document) = asked(&people, &["update", "--refresh", "--dry-run"]);
    assert_eq!((code, &document["updates"][0]["to"]), (1, &json!("1.1.0")), "{document}");
    assert_eq!(paths.iter().filter(|path| *path == "/revoked.json").count(), 1, "{paths:?}");
    assert_eq!(people.run(&["run", "a"]).code, 4);
    // It is known from then on, until it changes.
    let (paths, ..) = asked(&people, &["update", "b", "--refresh"]);
    assert_eq!(paths, ["/entries.json"]);
    write(json!([]));
    let (paths, ..) = asked(&people, &["update", "b", "--refresh"]);
    assert!(paths.contains(&"/revoked.json".to_owned()), "{paths:?}");
    assert_eq!(people.run(&["run", "a"]).code, 0);
}

#[test]
fn a_withdrawn_agent_is_unknown_although_its_entry_is_still_served() {
    let (people, published) = three();
    assert_eq!(asked(&people, &["resolve", "c"]).1, 0);
    let agents = [people.agent("a", "1.0.0"), people.agent("cc", "1.0.0")];
    publish(&people, &published, &agents);
    assert!(!published.read("entries/registry/c.json").is_empty());
    let (paths, code, document) = asked(&people, &["resolve", "c", "--refresh"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unknown_agent")), "{document}");
    // The index is read for the suggestions.
    assert_eq!((kinds(&paths)[3], &document["error"]["suggestions"]), (1, &json!(["cc"])), "{paths:?}");
    // Without the index, it is unknown nevertheless.
    let (people, published) = three();
    published.set("registry.json", status(500));
    let (_, code, document) = asked(&people, &["resolve", "other"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unknown_agent")), "{document}");
    // Names that are not ids are never sent.
    let (paths, code, _) = asked(&people, &["resolve", "../registry"]);
    assert!(code == 2 || code == 3);
    assert!(paths.iter().all(|path| path == "/registry.json"), "{paths:?}");
}

/// A tree from which `cc` and the old version of `a` are gone, beside the index of an earlier publication that has them.
fn withdrawn() -> (People, Published) {
    let (people, published) = nothing();
    publish(
        &people,
        &published,
        &[people.agent("a", "1.0.0"), people.agent("cc", "1.0.0"), people.agent("ccc", "1.0.0")],
    );
    let old = published.read("registry.json");
    publish(&people, &published, &[people.agent("a", "2.0.0"), people.agent("ccc", "1.0.0")]);
    published.set("registry.json", ok(old));
    (people, published)
}

#[test]
fn an_older_index_does_not_bring_a_withdrawn_agent_back() {
    // The commands that come before, and whether the copies that they leave are old.
    let stories: [(&[&[&str]], bool); 6] = [
        (&[], false),
        (&[&["resolve", "cc"]], false),
        (&[&["resolve", "cc"]], true),
        (&[&["resolve", "a"], &["list"]], false),
        (&[&["resolve", "cc"], &["list"]], true),
        (&[&["resolve", "cc"], &["resolve", "a"], &["list", "--refresh"]], false),
    ];
    let asks: [&[&str]; 6] = [
        &["resolve", "cc"],
        &["info", "cc"],
        &["install", "cc", "a", "--dry-run"],
        &["config", "zed", "cc"],
        &["resolve", "cc", "--refresh"],
        &["resolve", "cc", "--offline"],
    ];
    for (before, is_old) in stories {
        let (people, _) = withdrawn();
        for arguments in before {
            people.json(arguments);
        }
        if is_old {
            age(&people, ".index", HOUR);
        }
        let (home, kept) = (people.env.path("home"), people.env.path("kept"));
        copy(&home, &kept);
        for ask in asks {
            // Without a request, only a copy of the list can prove it.
            if ask.contains(&"--offline") && !before.contains(&&["resolve", "cc"][..]) {
                continue;
            }
            let _ = fs::remove_dir_all(&home);
            copy(&kept, &home);
            let (_, code, document) = asked(&people, ask);
            let unknown = [&document["error"]["code"], &document["results"][0]["error"]["code"]];
            assert!(unknown.contains(&&json!("unknown_agent")), "{before:?}, {ask:?}: {code} {document}");
            // What has the id itself is not suggested; what the older index has beside it may be.
            assert!(document["error"]["suggestions"] == json!(["ccc"]) || ask[0] == "install", "{document}");
        }
    }
}

#[test]
fn an_entry_that_is_missing_does_not_bring_others_back() {
    for ask in [&["install", "cc", "a"][..], &["install", "a", "cc"], &["update"], &["update", "--refresh"]] {
        let (people, published) = withdrawn();
        let installs = ask[0] == "update";
        if installs {
            // From a mirror that has not seen the withdrawal.
            people.env.write("old.json", published.read("registry.json"));
            assert_eq!(people.run(&["install", "cc", "a", "--index", "old.json"]).code, 0);
        }
        published.set("entries/registry/a.json", not_found());
        let (_, code, document) = asked(&people, ask);
        let text = document.to_string();
        if installs {
            assert_eq!(document["gone"], json!(["cc"]), "{code} {text}");
        } else {
            assert!(text.contains("unknown_agent"), "{code} {text}");
            assert!(!files(&people.env.path("data")).iter().any(|name| name.contains("/cc/")), "{text}");
        }
    }
}

#[test]
fn an_index_that_the_chain_names_is_used() {
    let (people, published) = three();
    // The group and the list of a tree without agents, under the digest of the index that has them.
    let list = Sha256::of("{}\n").to_string();
    let group = json!(vec![list; 64]).to_string();
    let digest = Sha256::of(&group).to_string();
    published.set(&format!("entry-lists/{digest}.json"), ok(group));
    published.edit(|document| document["views"]["registry.json"]["groups"] = json!(vec![digest; 128]));
    let (paths, code, document) = asked(&people, &["resolve", "a"]);
    assert_eq!((code, kinds(&paths)[3], &document["version"]), (0, 1, &json!("1.0.0")), "{document}");
}

/// What is wrong with a tree, and a function that makes it so.
type Damage<'a> = (&'a str, &'a dyn Fn(&People, &Published));

#[test]
fn what_does_not_fit_together_is_not_used() {
    let other = Server::answering(|_| ok("{}"));
    let elsewhere = format!("http://{}/{{id}}", other.host);
    let entry = "entries/registry/a.json";
    let huge = || {
        let mut text = br#"{"id":"a","version":"9.9.9","distribution":{"npx":{"package":"a@9.9.9"}},"x":""#.to_vec();
        text.resize(9 << 20, b' ');
        text.extend_from_slice(b"\"}");
        text
    };
    let set_pattern = |published: &Published, pattern: &str| {
        published.edit(|document| document["views"]["registry.json"]["entry"] = pattern.into());
    };
    let damages: [Damage<'_>; 15] = [
        ("the entry is missing", &|_, published| published.set(entry, not_found())),
        ("the host fails", &|_, published| published.set(entry, status(403))),
        ("the entry is that of another agent", &|_, published| {
            published.set(entry, ok(published.read("entries/registry/b.json")));
        }),
        ("the entry is that of another view's index", &|_, published| {
            let text = String::from_utf8(published.read(entry)).unwrap();
            published.set(entry, ok(text.replace("\"1.0.0\"", "\"0.9.0\"")));
        }),
        ("the entry is too large", &|_, published| published.set(entry, ok(huge()))),
        ("a list is missing", &|_, published| {
            published.set(&published.with_text("/entry-lists/", "{\"a\":"), not_found());
        }),
        ("a list is another", &|_, published| {
            published.set(&published.with_text("/entry-lists/", "{\"a\":"), ok("{}\n"));
        }),
        ("the groups are of another publication", &|_, published| {
            published.edit(|document| {
                let groups = document["views"]["registry.json"]["groups"].as_array_mut().unwrap();
                groups.rotate_left(1);
                for digest in groups {
                    *digest = digest.as_str().unwrap().replace('a', "b").into();
                }
            });
        }),
        ("the document is not JSON", &|_, published| published.set("entries.json", ok("<html>"))),
        ("the document is empty", &|_, published| published.set("entries.json", ok(""))),
        ("the document is too large", &|_, published| published.set("entries.json", ok(vec![b' '; 2 << 20]))),
        ("another host", &|_, published| set_pattern(published, &elsewhere)),
        ("another host without a scheme", &|_, published| set_pattern(published, &elsewhere["http:".len()..])),
        ("a path above", &|_, published| set_pattern(published, "x/../../{id}.json")),
        ("a later form", &|_, published| published.edit(|document| document["schema"] = 2.into())),
    ];
    for (name, damage) in damages {
        let (people, published) = three();
        damage(&people, &published);
        let (paths, code, document) = asked(&people, &["resolve", "a"]);
        assert_eq!((code, &document["version"]), (0, &json!("1.0.0")), "{name}: {document}");
        assert_eq!(kinds(&paths)[3], 1, "{name}: {paths:?}");
        assert!(paths.len() <= 7, "{name}: {paths:?}");
        assert_eq!(document["index_sha256"], Sha256::of(published.read("registry.json")).to_string());
        // While the copy of the index is fresh, it is not tried again.
        assert_eq!(asked(&people, &["resolve", "b"]).0, [] as [String; 0], "{name}");
    }
    assert_eq!(other.asked(), [] as [String; 0]);
}

/// A cache before the host has an old entry, and the current discovery document.
#[test]
fn an_old_entry_of_a_cache_is_passed_by() {
    let (people, published) = three();
    let entry = "entries/registry/b.json";
    let old = published.read(entry);
    publish(&people, &published, &[people.agent("a", "1.0.0"), people.agent("b", "2.1.0")]);
    let current = published.read(entry);
    published.set(&format!("{entry}?sha256={}", Sha256::of(&current)), ok(current));
    published.set(entry, ok(old));
    let (paths, code, document) = asked(&people, &["resolve", "b"]);
    assert_eq!((code, &document["version"], kinds(&paths)), (0, &json!("2.1.0"), [1, 2, 2, 0]), "{paths:?}");
}

/// A cache before the host has an old discovery document, and the current entry.
#[test]
fn an_old_document_of_a_cache_is_passed_by() {
    let (people, published) = three();
    let (old, index) = (published.read("entries.json"), Sha256::of(published.read("registry.json")));
    publish(&people, &published, &[people.agent("a", "1.0.0"), people.agent("b", "2.1.0")]);
    published.set(&format!("entries.json?not={index}"), ok(published.read("entries.json")));
    published.set("entries.json", ok(old));
    let (paths, code, document) = asked(&people, &["resolve", "b"]);
    assert_eq!((code, &document["version"], kinds(&paths)[3]), (0, &json!("2.1.0"), 0), "{paths:?}");
    assert_eq!(document["index_sha256"], Sha256::of(published.read("registry.json")).to_string());
    assert!(paths.len() <= 9, "{paths:?}");
}

#[test]
fn an_older_document_is_read_again_before_the_index() {
    let (people, published) = three();
    assert_eq!(asked(&people, &["resolve", "a"]).1, 0);
    publish(&people, &published, &[people.agent("a", "1.0.0"), people.agent("b", "2.1.0")]);
    // The copy of the document is fresh, and the entry is newer.
    let (paths, _, document) = asked(&people, &["resolve", "b"]);
    assert_eq!((&document["version"], kinds(&paths)[0], kinds(&paths)[3]), (&json!("2.1.0"), 1, 0), "{paths:?}");
    assert_eq!(document["index_sha256"], Sha256::of(published.read("registry.json")).to_string());
    // A fresh copy of the index that is newer has precedence.
    publish(&people, &published, &[people.agent("a", "1.0.0"), people.agent("b", "2.2.0")]);
    assert_eq!(people.run(&["list"]).code, 0);
    let (paths, _, document) = asked(&people, &["resolve", "b"]);
    assert_eq!((&document["version"], paths.len()), (&json!("2.2.0"), 0), "{paths:?}");
}

#[test]
fn a_tree_without_entries_is_asked_once_a_day() {
    let (people, published) = three();
    published.set("entries.json", not_found());
    assert_eq!(asked(&people, &["resolve", "a"]).0, ["/entries.json", "/registry.json"]);
    assert_eq!(asked(&people, &["resolve", "b"]).0, [] as [String; 0]);
    age(&people, ".index", HOUR);
    assert_eq!(asked(&people, &["resolve", "a"]).0, ["/registry.json"]);
    age(&people, ".index", HOUR);
    age(&people, ".none", 25 * HOUR);
    assert_eq!(asked(&people, &["resolve", "a"]).0, ["/entries.json", "/registry.json"]);
    // A tree on disk is read as it is.
    assert_eq!(asked(&people, &["resolve", "a", "--index", "out"]).0, [] as [String; 0]);
    // An address with a query is that of one file.
    let index = people.server.url("/registry.json?token=1");
    published.set("registry.json?token=1", ok(published.read("registry.json")));
    assert_eq!(asked(&people, &["resolve", "a", "--index", &index]).0, ["/registry.json?token=1"]);
}

#[test]
fn copies_serve_without_the_host() {
    let (people, published) = three();
    assert_eq!(asked(&people, &["resolve", "a", "--offline"]).1, 3);
    assert_eq!(asked(&people, &["resolve", "a"]).1, 0);
    age(&people, ".index", HOUR);
    let (paths, code, document) = asked(&people, &["resolve", "a", "--offline"]);
    assert_eq!((paths.len(), code, &document["index"]["stale"]), (0, 0, &json!(true)), "{document}");
    // There is no copy of anything that has the others.
    let (_, code, document) = asked(&people, &["resolve", "b", "--offline"]);
    assert_eq!((code, &document["error"]["code"]), (3, &json!("offline")), "{document}");
    for broken in [status(500), status(429)] {
        published.set("entries.json", broken.clone());
        published.set("registry.json", broken);
        let run = people.run(&["info", "a"]);
        assert!(run.code == 0 && run.stdout.contains("1.0.0"), "{}", run.stderr);
        let warning = run.stderr.split_once("warning: the registry index is a copy of ");
        assert!(warning.is_some_and(|(_, age)| age.contains(" min ago: ")), "{}", run.stderr);
        assert_eq!(people.run(&["info", "b"]).code, 3);
    }
    // With a copy of the index, that serves; the newer of the two has precedence.
    let (people, published) = three();
    assert_eq!(people.run(&["list"]).code, 0);
    assert_eq!(asked(&people, &["resolve", "b", "--offline"]).1, 0);
    publish(&people, &published, &[people.agent("a", "1.1.0")]);
    age(&people, ".index", HOUR);
    assert_eq!(asked(&people, &["resolve", "a"]).2["version"], "1.1.0");
    assert_eq!(asked(&people, &["resolve", "a", "--offline"]).2["version"], "1.1.0");
    assert_eq!(asked(&people, &["resolve", "b", "--offline"]).1, 0);
}

#[test]
fn entries_are_the_values_of_the_indexes() {
    let (people, published) = three();
    for (view, folder) in [("registry.json", "registry"), ("next.json", "next")] {
        let index = String::from_utf8(published.read(view)).unwrap();
        for id in ["a", "b", "c"] {
            let entry = String::from_utf8(published.read(&format!("entries/{folder}/{id}.json"))).unwrap();
            assert_eq!(index.matches(&entry).count(), 1);
            assert_eq!(serde_json::from_str::<Value>(&entry).unwrap()["id"], id);
        }
    }
    let sums = String::from_utf8(published.read("SHA256SUMS")).unwrap();
    for name in ["entries.json", "entries/registry/a.json", &published.with_text("/entry-lists/", "{\"a\":")] {
        assert!(sums.contains(&format!("{}  {name}\n", Sha256::of(published.read(name)))), "{name}");
    }
    let document: Value = serde_json::from_slice(&published.read("entries.json")).unwrap();
    assert!(document["url"].as_str().unwrap().ends_with("/entries.json"));
    let schema: Value = serde_json::from_str(acp_registry::entries::SCHEMA).unwrap();
    assert!(jsonschema::is_valid(&schema, &document));
    for member in ["schema", "lists", "views"] {
        let mut changed = document.clone();
        changed[member] = "x".into();
        let is_refused = acp_registry::entries::View::parse(changed.to_string().as_bytes(), "registry.json").is_err();
        assert!(is_refused && (member == "lists" || !jsonschema::is_valid(&schema, &changed)), "{member}");
    }
    people.env.write("r/registry.toml", "[[view]]\nfile = \"entries.json\"\n");
    let run = people.run(&["build", "--out", "out"]);
    assert!(run.code == 2 && run.stderr.contains("other than"), "{}", run.stderr);
}
