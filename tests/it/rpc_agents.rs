//! `rpc`: requests that start agents.

use std::fs;

#[cfg(target_os = "linux")]
use nix::sys::signal::{Signal, kill};
#[cfg(target_os = "linux")]
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::agent::{fake_agent, left_with, tag};
use crate::archives::{gz, tar};
use crate::at_once::LONG;
use crate::login::{Person, login, offering};
use crate::packages::{npm_command, with_npm};
use crate::people::People;
use crate::rpc::Client;
use crate::support::wait_until;

#[test]
fn agents_of_other_requests_are_left_alone_and_hidden_processes_end_with_the_last_request() {
    let (people, tag) = (People::new(), tag());
    let agent = |id: &str, script: &str| {
        let script = format!("#!/bin/sh\n{script}\n");
        people.agent_of(id, "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None)
    };
    let (fake, started, go) = (fake_agent(), people.env.path("started"), people.env.path("go"));
    let (fake, marks) = (fake.display(), [&started, &go].map(|path| path.display().to_string()));
    let slow = format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.02; done; exec '{fake}' ok", marks[0], marks[1]);
    // It leaves a process that can only be found through its parent.
    let hiding = format!("exec '{fake}' parent-of-dead hide {tag}");
    people.publish(&[agent("slow", &slow), agent("hiding", &hiding)]);

    let mut client = Client::of(&people);
    client.begin(&json!(1), "install", &json!({ "agents": ["slow"] }));
    wait_until("the slow agent was started", || started.exists());
    assert_eq!(client.result("install", &json!({ "agents": ["hiding"] }))["answers"], true);
    // Other systems cannot find it.
    let hidden = usize::from(cfg!(target_os = "linux"));
    assert_eq!(left_with("cmdline", &tag).len(), hidden, "nothing is hidden, so that this proves nothing");
    fs::write(&go, "").unwrap();
    let answer = client.answer();
    assert_eq!((&answer["id"], &answer["result"]["answers"]), (&json!(1), &json!(true)), "{answer}");
    wait_until("the hidden process was ended", || left_with("cmdline", &tag).is_empty());
    assert_eq!(client.end().0, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn the_browser_of_a_person_who_signs_in_outlives_later_requests() {
    let person = Person::of("browser", &offering(&login()));
    let mut client = Client::of(&person.people);
    assert_eq!(client.result("login", &json!({ "agent": "a" }))["status"], "signed_in");
    let browser = left_with("environ", &person.tag);
    assert_eq!(browser.len(), 1, "{browser:?}");
    // It starts agents, and ends what they leave behind.
    client.result("doctor", &json!({ "agents": ["a"] }));
    assert_eq!(client.end().0, Some(0));
    assert_eq!(left_with("environ", &person.tag), browser);
    kill(Pid::from_raw(browser[0].cast_signed()), Signal::SIGKILL).unwrap();
    wait_until("the browser has ended", || left_with("environ", &person.tag).is_empty());
    person.assert_clean();
}

#[test]
fn package_managers_neither_read_requests_nor_write_answers_and_end_when_cancelled() {
    let people = with_npm();
    let npm = people.env.read("bin/npm").replace("#!/bin/sh\n", "#!/bin/sh\ncat >> \"${0%/*}/heard\"; echo '{}'\n");
    people.env.write("bin/npm", npm);
    people.env.write("bin/slow", "");
    let mut client = Client::start(npm_command(&people, &["rpc"]));
    let install = json!({ "agents": ["p"], "no_check": true });
    client.begin(&json!(1), "install", &install);
    wait_until("npm is running", || people.env.path("bin/started").exists());
    client.cancel(&json!(1));
    assert_eq!(client.answer()["error"]["code"], -32800);
    assert!(people.is_gone(), "{:?}", people.left());
    fs::remove_file(people.env.path("bin/slow")).unwrap();
    assert_eq!(client.result("install", &install)["id"], "p");
    let is_running = |event: &Value| event["phase"] == "running" && event["program"] == "npm";
    assert!(client.events.iter().any(|(_, event)| is_running(event)), "{:?}", client.events);
    assert_eq!(people.env.read("bin/heard"), "");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_person_signs_in_without_a_terminal() {
    let methods = json!([
        { "id": "login", "name": "Log in" },
        { "id": "shell", "name": "Shell", "type": "terminal", "args": ["login"] },
    ]);
    let person = Person::of("ok", &offering(&methods));
    let mut client = Client::of(&person.people);
    let offered = client.result("login/methods", &json!({ "agent": "a" }));
    let ids: Vec<&Value> = offered["methods"].as_array().unwrap().iter().map(|method| &method["id"]).collect();
    assert_eq!(ids, ["login", "shell"]);
    // Which one is not chosen for the person.
    let error = client.error("login", &json!({ "agent": "a" }));
    assert_eq!((&error["code"], &error["data"]["suggestions"]), (&json!(-32002), &json!(["login", "shell"])));
    assert_eq!(error["data"]["result"]["methods"], offered["methods"]);
    let error = client.error("login", &json!({ "agent": "a", "method": "shell" }));
    assert_eq!(error["data"]["help"], "run `acp-registry login a --method shell` in a terminal", "{error}");
    assert!(!person.is_signed_in());
    let done = client.result("login", &json!({ "agent": "a", "method": "login" }));
    assert_eq!(done["status"], "signed_in", "{done}");
    let texts: Vec<&str> = client.events.iter().filter_map(|(_, event)| event["message"].as_str()).collect();
    assert!(texts.contains(&"open https://h.example/device\\u{1b}[31m"), "{texts:?}");
    assert_eq!(client.end().0, Some(0));
    person.assert_clean();

    // An agent that offers no sign-out is left signed in.
    let done = Client::of(&person.people).result("logout", &json!({ "agent": "a" }));
    assert_eq!((&done["status"], &done["reason"]), (&json!("failed"), &json!("not_offered")), "{done}");
    assert_eq!(done["error"]["code"], "findings", "{done}");
    assert!(person.is_signed_in());
    let mut offered = offering(&methods);
    offered["agentCapabilities"] = json!({ "auth": { "logout": {} } });
    let person = Person::of("ok", &offered);
    fs::write(person.token(), "").unwrap();
    let done = Client::of(&person.people).result("logout", &json!({ "agent": "a" }));
    assert_eq!(done["status"], "signed_out", "{done}");
    assert!(!person.is_signed_in());
    person.assert_clean();

    // An agent that never answers is ended when the person gives up.
    let person = Person::of("silent", &offering(&login()));
    let mut client = Client::of(&person.people);
    client.begin(&json!(1), "login", &json!({ "agent": "a" }));
    let begun = client.lines.recv_timeout(LONG).unwrap();
    let started = json!({ "event": "checking", "name": "a", "phase": "starting" });
    assert_eq!(begun["params"]["event"], started, "{begun}");
    client.cancel(&json!(1));
    assert_eq!(client.answer()["error"]["code"], -32800);
    person.assert_clean();
    assert_eq!(client.end().0, Some(0));
}
