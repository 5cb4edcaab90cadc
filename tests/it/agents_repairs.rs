//! What repairs, updates and removals leave as it is: the version that is started, its platform, and what needs no network.

use std::fs;
use std::path::PathBuf;

#[cfg(unix)]
use acp_registry::manifest::Platform;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use crate::agents::{people, text};
use crate::archives::sha256;
use crate::people::{AGENT, People, archive, host};
#[cfg(unix)]
use crate::support::Run;

fn install_dir(people: &People, id: &str) -> PathBuf {
    let (code, document) = people.json(&["which", id]);
    assert_eq!(code, 0, "{document}");
    PathBuf::from(text(&document, "install_dir"))
}

#[cfg(unix)]
#[test]
fn an_archive_is_in_use_while_it_is_installed_again() {
    let (people, waiting, allow) = crate::at_once::held("/1.1.0/a.tar.gz");
    let bytes = archive("a-1.1.0");
    let agent = |version| people.agent_of("a", version, &bytes, Some(&sha256(&bytes)));
    people.publish(&[agent("1.1.0")]);
    allow.send(()).unwrap();
    assert_eq!(people.run(&["install", "a@1.1.0"]).code, 0);
    waiting.recv_timeout(crate::at_once::LONG).unwrap();
    people.publish(&[agent("1.2.0")]);
    fs::write(install_dir(&people, "a").join("files/README"), "other").unwrap();
    let mut repair = people.command(&["doctor", "--fix", "a"]);
    let mut repair = repair.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    waiting.recv_timeout(crate::at_once::LONG).unwrap();
    // The archive is not there yet.
    let run = people.run(&["run", "a", "--refresh"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "a-1.1.0 acp\n"), "{}", run.stderr);
    allow.send(()).unwrap();
    // The script is no agent, so that the command reports this.
    assert_eq!(repair.wait().unwrap().code(), Some(1));
    let (_, found) = people.json(&["which", "a"]);
    assert_eq!((text(&found, "version"), &found["pinned"]), ("1.1.0", &json!(true)));
    assert_eq!(fs::read(install_dir(&people, "a").join("files/README")).unwrap(), b"text");
}

#[test]
fn an_update_repairs_what_is_missing_and_takes_over_other_arguments() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let file = install_dir(&people, "a").join("files/README");
    fs::remove_file(&file).unwrap();
    let mut changed = people.agent("b", "2.0.0");
    changed["distribution"]["binary"][host()]["args"] = json!(["serve"]);
    people.publish(&[people.agent("a", "1.0.0"), changed]);
    let (code, planned) = people.json(&["update", "--dry-run", "--refresh"]);
    assert_eq!((code, &planned["repairs"], &planned["up_to_date"]), (0, &json!(["a", "b"]), &json!([])), "{planned}");
    let run = people.run(&["update"]);
    let told = "repaired b: the index had other arguments or variables for it\n\
                repaired a: files were missing or changed\nnothing else is to be updated\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, told), "{}", run.stderr);
    assert!(file.exists());
    assert_eq!(people.run(&["run", "b"]).stdout, "b-2.0.0 serve\n");
    assert_eq!(people.run(&["update"]).stdout, "everything is up to date\n");
}

#[cfg(unix)]
#[test]
fn a_running_package_is_not_installed_again() {
    let people = crate::packages::with_npm();
    let run = |arguments: &[&str]| Run::of(&mut crate::packages::npm_command(&people, arguments));
    assert_eq!(run(&["install", "p"]).code, 0);
    let (_, found) = people.json(&["which", "p"]);
    let directory = PathBuf::from(text(&found, "install_dir"));
    let file = directory.join("files/node_modules/p/package.json");
    fs::remove_file(&file).unwrap();
    let used = acp_registry::host::lock::mark_used(&directory.join("in-use")).unwrap();
    let refused = run(&["install", "p"]);
    assert!(refused.code == 3 && refused.stderr.contains("`p` is running"), "{}", refused.stderr);
    assert!(directory.join("receipt.json").exists());
    drop(used);
    assert_eq!((run(&["install", "p"]).code, file.exists()), (0, true));
}

#[cfg(unix)]
#[test]
fn a_package_of_a_lock_file_is_not_installed_again_without_it() {
    let people = crate::packages::with_npm();
    let run = |arguments: &[&str]| Run::of(&mut crate::packages::npm_command(&people, arguments));
    assert_eq!(run(&["install", "p"]).code, 0);
    let (_, found) = people.json(&["which", "p"]);
    let directory = PathBuf::from(text(&found, "install_dir"));
    let receipt = directory.join("receipt.json");
    let mut content: serde_json::Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    content["proof"]["verified"] = "lock".into();
    fs::write(&receipt, content.to_string()).unwrap();
    fs::remove_file(directory.join("files/node_modules/p/cli.js")).unwrap();
    let refused = run(&["run", "p"]);
    let told = "`p` was installed by a lock file, which must be there to install it again";
    assert!(refused.code == 3 && refused.stderr.contains(told), "{}", refused.stderr);
}

#[test]
fn an_entry_that_cannot_be_read_is_not_gone() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "v2")]);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!((code, &report["gone"], &report["up_to_date"]), (2, &json!([]), &json!(["a"])), "{report}");
    assert_eq!(report["errors"][0]["id"], "b");
}

/// On Windows, the program is a batch file, which no other platform starts.
#[cfg(unix)]
#[test]
fn an_image_keeps_its_platform() {
    let people = people();
    let other = if Platform::host() == Some(Platform::LinuxAarch64) { "linux-x86_64" } else { "linux-aarch64" };
    let agent = |version| {
        let mut agent = people.agent("a", version);
        let binary = &mut agent["distribution"]["binary"];
        binary[other] = binary[host()].clone();
        agent
    };
    people.publish(&[agent("1.0.0")]);
    let image = people.env.path("image").display().to_string();
    let run = |arguments: &[&str]| people.run(&[arguments, &["--root", &image]].concat());
    assert_eq!(run(&["install", "a", "--platform", other]).code, 0);
    let platform = || {
        let (_, listed) = people.json(&["list", "--installed", "--root", &image]);
        (text(&listed["agents"][0], "version").to_owned(), text(&listed["agents"][0], "platform").to_owned())
    };
    people.publish(&[agent("1.1.0")]);
    let updated = run(&["update", "--refresh"]);
    assert_eq!((updated.code, updated.stdout.as_str()), (0, "updated a 1.0.0 -> 1.1.0\n"), "{}", updated.stderr);
    assert_eq!(platform(), ("1.1.0".to_owned(), other.to_owned()));
    let name = crate::people::files(&people.env.path("image")).into_iter().find(|name| name.ends_with(AGENT)).unwrap();
    fs::write(people.env.path("image").join(name), "other").unwrap();
    let repaired = run(&["doctor", "--fix", "a"]);
    assert!(!repaired.stderr.contains("was not repaired"), "{}", repaired.stderr);
    assert_eq!(platform(), ("1.1.0".to_owned(), other.to_owned()));
}

#[test]
fn garbage_is_not_collected_where_the_current_version_is_unknown() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let directory = install_dir(&people, "a");
    fs::remove_file(directory.with_file_name("current")).unwrap();
    let run = people.run(&["gc"]);
    assert!(run.code == 3 && run.stderr.contains("doctor --fix a` repairs it"), "{}{}", run.stdout, run.stderr);
    assert!(directory.join("receipt.json").exists());
    assert!(people.run(&["doctor", "--fix", "a"]).stderr.contains("1.0.0"));
    assert_eq!((people.run(&["gc"]).code, people.run(&["run", "a"]).code), (0, 0));
}

#[test]
fn an_agent_that_is_named_twice_is_meant_once() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    let run = people.run(&["update", "a", "a", "--refresh"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "updated a 1.0.0 -> 1.1.0\n"), "{}", run.stderr);
    let run = people.run(&["uninstall", "a@3.0.0"]);
    assert!(run.code == 2 && run.stderr.contains("version `3.0.0` of `a` is not installed"), "{}", run.stderr);
    let (code, document) = people.json(&["uninstall", "a", "a"]);
    assert_eq!((code, &document["ids"], &document["errors"]), (0, &json!(["a"]), &json!([])), "{document}");
}

#[test]
fn nothing_is_sent_offline() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    let before = people.server.asked().len();
    let (code, report) = people.json(&["update", "--offline", "--min-age", "1d"]);
    assert_eq!((code, text(&report["held"][0], "reason")), (0, "unknown-age"), "{report}");
    let run = people.run(&["install", "a@1.0.0", "--offline", "--lock", "x.lock"]);
    assert_eq!((run.code, people.server.asked().len()), (0, before), "{}", run.stderr);
}

#[test]
fn a_pinned_version_is_the_one_that_is_resolved() {
    let people = people();
    assert_eq!(people.run(&["install", "a@1.0.0"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    let (_, plan) = people.json(&["resolve", "a", "--refresh"]);
    assert_eq!((text(&plan, "version"), &plan["installed"]), ("1.0.0", &json!(true)));
    assert!(people.run(&["resolve", "a"]).stderr.contains("stays at 1.0.0, to which it is pinned"));
    assert_eq!(text(&people.json(&["resolve", "a@latest"]).1, "version"), "1.1.0");
}

#[test]
fn a_private_index_gets_the_name_and_the_password_of_its_address() {
    let expected = format!("Basic {}", BASE64_STANDARD.encode("me:p@ss"));
    let people = People::with_root("data", move |asked, stream| {
        let is_private = asked.path.starts_with("/private/") && asked.header("authorization") != expected;
        let is_wrong =
            is_private || (!asked.path.starts_with("/private/") && !asked.header("authorization").is_empty());
        if is_wrong {
            crate::server::write(stream, asked, &(401, Vec::new(), Vec::new()))?;
        }
        Ok(is_wrong)
    });
    people.publish(&[people.agent("a", "1.0.0")]);
    people.serve(
        "/private/registry.json",
        json!({ "version": "1.0.0", "agents": [people.agent("a", "1.0.0")] }).to_string(),
    );
    let address = people.server.url("/private/registry.json").replace("http://", "http://me:p%40ss@");
    // The archive is elsewhere on the host, and gets nothing.
    let run = people.run(&["install", "a", "--index", &address]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let wrong = people.server.url("/private/registry.json");
    assert!(people.run(&["list", "--refresh", "--index", &wrong]).stderr.contains("answers 401"));
}
