//! The library as other programs use it: runs the example.

use std::future::poll_fn;
use std::process::Command;
use std::sync::Arc;
use std::task::Poll;

use acp_registry_client::failure::Code;
use acp_registry_client::handshake::{Conversation, Listener};
use acp_registry_client::ops::{self, Attempt, Event, Events, Relay};
use acp_registry_client::session::{AgentSpec, InstallRequest, Session, SessionOptions};
use acp_registry_http::AllowedHosts;

use crate::agent::{example, fake_agent};
use crate::archives::sha256;
use crate::people::{CMD, People, entry, host, packed};
use crate::support::{Run, scrub};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Runs the example with an index that has the fake agent with this digest, and with these allowed hosts.
fn use_agents(people: &People, digest: Option<&str>, id: &str, hosts: &[&str]) -> Run {
    // The program needs the argument and the variable from the manifest.
    let program = fake_agent();
    let bytes = packed(&if cfg!(windows) {
        format!("@if \"%EXAMPLE%\"==\"manifest\" \"{}\" %*\r\n", program.display())
    } else {
        format!("#!/bin/sh\n[ \"$EXAMPLE\" = manifest ] && exec '{}' \"$@\"\n", program.display())
    });
    people.serve("/fake.tar.gz", bytes.clone());
    let digest = digest.map_or_else(|| sha256(&bytes), ToOwned::to_owned);
    let target = json!({
        "archive": people.server.url("/fake.tar.gz"), "sha256": digest, "cmd": CMD, "args": ["ok"],
        "env": { "EXAMPLE": "manifest" },
    });
    people.publish(&[
        entry("fake", "1.0.0", &json!({ "binary": { host(): target } })),
        entry("other", "2.0.0", &json!({ "npx": { "package": "other@2.0.0" } })),
    ]);
    let mut command = Command::new(example("use_agents"));
    scrub(&mut command);
    command.args([&people.server.url("/registry.json"), id]).args(hosts).current_dir(people.env.path(""));
    command.env("TMPDIR", people.env.path("tmp")).env("TEMP", people.env.path("tmp"));
    Run::of(&mut command)
}

#[test]
fn the_example_installs_starts_and_asks() {
    let people = People::new();
    for _ in 0..2 {
        let run = use_agents(&people, None, "fake", &[&people.server.host]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (head, answer) = run.stdout.lines().find_map(|line| line.split_once(" answers ")).expect(&run.stdout);
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!((head, &answer["id"], &answer["result"]["protocolVersion"]), ("1.0.0", &json!(0), &json!(1)));
    }
    let fetched = people.server.asked().iter().filter(|path| path.contains("fake.tar.gz")).count();
    assert_eq!(fetched, 1, "the second run starts what is installed");
    assert!(people.env.path("agents-of-the-example/agents/fake/current").is_file());
}

#[test]
fn the_example_hears_of_progress() {
    let people = People::new();
    let run = use_agents(&people, None, "fake", &[&people.server.host]);
    for step in ["Downloading(Some(", "Received(", "Unpacking"] {
        assert!(run.stdout.contains(step), "{step}: {}", run.stdout);
    }
}

#[test]
fn the_example_fails_with_the_errors_of_the_library() {
    let people = People::new();
    let allowed = people.server.host.clone();
    for (digest, id, hosts, problem) in [
        (None, "fake", &[][..], "Fetch("),
        (None, "fak", &[allowed.as_str()], "UnknownAgent"),
        (Some(&*"0".repeat(64)), "fake", &[&allowed], "Digest"),
        (None, "fake", &["not a host"], "HostError"),
    ] {
        let run = use_agents(&people, digest, id, hosts);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(run.stderr.contains(problem), "{problem}: {}", run.stderr);
        assert!(!people.env.path("agents-of-the-example/agents/fake").exists());
    }
}

/// Dropping the future at each point where it waits is what a signal does.
#[test]
fn an_installation_that_is_dropped_has_changed_nothing_or_is_done() {
    let people = People::new();
    let bytes = packed(if cfg!(windows) { "@exit\r\n" } else { "#!/bin/sh\n" });
    people.serve("/fake.tar.gz", bytes.clone());
    let target = json!({ "archive": people.server.url("/fake.tar.gz"), "sha256": sha256(&bytes), "cmd": CMD });
    people.publish(&[entry("fake", "1.0.0", &json!({ "binary": { host(): target } }))]);
    let environment = [("HOME".into(), people.env.path("home").into())];
    let mut interruptions = 0;
    loop {
        let root = people.env.path(&format!("root-{interruptions}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let done = runtime.block_on(async {
            let mut options = SessionOptions::new(&root, environment.clone());
            options.index = people.server.url("/registry.json").parse().unwrap();
            options.allowed_hosts = AllowedHosts::parse(std::slice::from_ref(&people.server.host)).unwrap();
            let session = Session::open(options).unwrap();
            let named: AgentSpec = "fake".parse().unwrap();
            let loaded = session.load_index(&[&named.id]).await.unwrap();
            let request = InstallRequest::new(session.plan(&named, None, &loaded.index).await.unwrap());
            let mut work = Box::pin(session.install(&request, &|_| ()));
            let mut waits = 0;
            poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if waits == interruptions => Poll::Ready(None),
                Poll::Pending => {
                    waits += 1;
                    Poll::Pending
                }
            })
            .await
        });
        // Ends when its threads have.
        drop(runtime);
        let agent = root.join("agents/fake");
        let found = std::fs::read_dir(&agent).into_iter().flatten().map(|item| item.unwrap().file_name());
        let mut names: Vec<String> = found.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        let is_whole = names.len() == 2 && names[0].starts_with("1.0.0-") && names[1] == "current";
        if let Some(done) = done {
            done.unwrap();
            assert!(is_whole, "{names:?}");
            break;
        }
        assert!(!agent.exists() || is_whole, "after {interruptions} waits: {names:?}");
        interruptions += 1;
    }
    assert!(interruptions > 0);
}

/// A session with the agents of these people, which sends nothing.
fn offline(people: &People) -> Session {
    let mut options = SessionOptions::new(people.root(), [("HOME".into(), people.env.path("home").into())]);
    options.is_offline = true;
    Session::open(options).unwrap()
}

/// A person who sees nothing and types nothing.
struct Silence;

impl Relay for Silence {
    fn listener(&self) -> Listener {
        Arc::new(|_| ())
    }

    fn begin(&self, _: &Conversation) {}

    fn end(&self) {}
}

/// Programs carry out use cases as tasks of a runtime, which moves them between threads.
#[test]
fn every_future_may_move_between_threads() {
    // The compiler refuses a future that may not.
    fn move_between_threads(_: impl Send) {}
    fn request<T: DeserializeOwned>(members: &Value) -> T {
        serde_json::from_value(members.clone()).unwrap()
    }
    let people = People::new();
    people.install_fake(&["ok"]);
    let (mut session, named) = (offline(&people), json!({ "agent": "a" }));
    let spec: AgentSpec = "a".parse().unwrap();
    let events: &Events<'_> = &|_: Event<'_>| ();
    let attempt = Attempt::new(&session, &spec, None, &Silence, events).unwrap();
    move_between_threads((attempt.methods(), attempt.sign_in(None), attempt.sign_out()));
    drop(attempt);
    let (install, update, diagnose) = (request(&json!({})), request(&json!({})), request(&json!({})));
    let (describe, resolve, search) = (request(&named), request(&named), request(&json!({ "query": "a" })));
    move_between_threads((ops::install(&session, &install, events), ops::update(&session, &update, events)));
    move_between_threads((ops::diagnose(&session, &diagnose, events), ops::list(&session, events)));
    move_between_threads((ops::describe(&session, &describe, events), ops::resolve(&session, &resolve, events)));
    move_between_threads((ops::search(&session, &search, events), ops::load_entry(&session, "a", events)));
    move_between_threads((
        ops::settle(&session, "a", events),
        session.learn_revocations(),
        session.learn_versions("a"),
    ));
    move_between_threads((session.index(), session.facts(), session.load_index(&["a"]), session.load_entries(&["a"])));
    let version = session.store.agent("a").unwrap().unwrap().current;
    move_between_threads(session.plan_again(&version));
    move_between_threads(ops::uninstall(&mut session, &request(&json!({})), events));
    move_between_threads(ops::collect_garbage(&mut session, &ops::CollectGarbage::default(), events));
}

#[test]
fn an_agent_that_is_removed_while_it_is_diagnosed_is_not_installed() {
    let people = People::new();
    people.install_fake(&["ok"]);
    let session = offline(&people);
    let agent = people.root().join("agents/a");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (agents, expected) in [(json!(["a"]), Some(Code::NotInstalled)), (json!([]), None)] {
        let kept = people.env.path("kept");
        let remove = |event: Event<'_>| {
            if matches!(event, Event::Detail("looking at a")) {
                std::fs::rename(&agent, &kept).unwrap();
            }
        };
        let request = serde_json::from_value(json!({ "agents": agents })).unwrap();
        let done = runtime.block_on(ops::diagnose(&session, &request, &remove));
        std::fs::rename(&kept, &agent).unwrap();
        match expected {
            Some(code) => assert_eq!(done.unwrap_err().kind(), code),
            None => assert!(done.unwrap().agents.is_empty()),
        }
    }
}
