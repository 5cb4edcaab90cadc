//! Lock files: the same bytes are installed elsewhere, or none.

use std::fs;

use serde_json::{Value, json};

use crate::archives::sha256;
use crate::people::{CMD, People, archive, entry, host};
use crate::server::status;
use crate::support::Run;
#[cfg(target_os = "linux")]
use crate::support::SmallDisk;

/// A platform other than this machine's.
fn foreign() -> &'static str {
    if host() == "linux-aarch64" { "darwin-x86_64" } else { "linux-aarch64" }
}

/// An agent with an archive for this platform, whose digest is in the index, and one for another platform without a
/// digest.
fn people() -> People {
    let people = People::new();
    let mut agent = people.agent("a", "1.0.0");
    people.serve("/1.0.0/foreign.tar.gz", archive("foreign"));
    agent["distribution"]["binary"][foreign()] =
        json!({ "archive": people.server.url("/1.0.0/foreign.tar.gz"), "cmd": CMD });
    people.publish(&[agent, people.agent("b", "2.0.0")]);
    people
}

fn locked() -> (People, String) {
    let people = people();
    let run = people.run(&["install", "--lock", "x.lock", "a", "b"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let text = people.env.read("x.lock");
    (people, text)
}

/// Installs from the lock file into an empty store, while the index is unavailable.
fn elsewhere(people: &People, arguments: &[&str]) -> (Run, Value) {
    people.answer("/registry.json", status(500));
    let root = people.env.path("elsewhere");
    let mut command = people.command(&[&["install", "--locked", "--lock", "x.lock", "--json"], arguments].concat());
    let run = Run::of(command.env("ACP_REGISTRY_ROOT", root));
    let document = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    (run, document)
}

#[test]
fn a_lock_file_knows_every_platform_and_stays_the_same() {
    let (people, text) = locked();
    let file: toml::Table = text.parse().unwrap();
    let binary = &file["agents"]["a"]["binary"];
    assert_eq!(binary[host()]["sha256"].as_str(), Some(sha256(&archive("a-1.0.0")).as_str()));
    assert_eq!(binary[host()]["verified"].as_str(), Some("manifest"));
    assert_eq!(binary[foreign()]["sha256"].as_str(), Some(sha256(&archive("foreign")).as_str()));
    assert_eq!(binary[foreign()]["verified"].as_str(), Some("none"));
    // Writing the file again, even for one agent only, keeps the entries that it has.
    people.serve("/1.0.0/foreign.tar.gz", "something else");
    assert_eq!(people.run(&["install", "--lock", "x.lock", "a"]).code, 0);
    assert_eq!(people.env.read("x.lock"), text);
    // So does a comment, and the line ends of Windows, also with another entry.
    let mine = format!("# Mine\n{text}").replace('\n', "\r\n");
    people.env.write("x.lock", &mine);
    assert_eq!(people.run(&["install", "--lock", "x.lock", "a"]).code, 0);
    assert_eq!(people.env.read("x.lock"), mine);
    people.env.write("x.lock", mine.replace("[agents.b", "[agents.c"));
    assert_eq!(people.run(&["install", "--lock", "x.lock", "b"]).code, 0);
    let after = people.env.read("x.lock");
    assert!(after.contains("[agents.b") && !after.replace("\r\n", "").contains('\n'), "{after}");
}

/// Replacing a file needs no permission to write it.
#[cfg(unix)]
#[test]
fn a_read_only_lock_file_and_a_link_to_nothing_stay_and_another_link_is_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let people = people();
    let path = |name: &str| people.env.path(name);
    let write = |name: &str| people.run(&["install", "a", "--lock", name]);
    people.env.write("x.lock", "schema = 1\n");
    fs::set_permissions(path("x.lock"), fs::Permissions::from_mode(0o444)).unwrap();
    symlink("x.lock", path("link.lock")).unwrap();
    symlink("absent", path("dangling.lock")).unwrap();
    for (name, message) in [
        ("x.lock", "x.lock is read-only\nhelp: make it writable, or name another file with --lock\n"),
        ("link.lock", "link.lock is read-only\nhelp: make it writable, or name another file with --lock\n"),
        (
            "dangling.lock",
            "dangling.lock: it is a symbolic link to a file that is not there\nhelp: remove it, or name another file with --lock\n",
        ),
    ] {
        let run = write(name);
        assert!(run.code == 3 && run.stderr.ends_with(message), "{} {}", run.code, run.stderr);
    }
    assert_eq!(people.env.read("x.lock"), "schema = 1\n");
    assert!(!path("absent").exists() && people.is_gone());
    fs::set_permissions(path("x.lock"), fs::Permissions::from_mode(0o644)).unwrap();
    let run = write("link.lock");
    assert!(run.code == 0 && path("link.lock").is_symlink(), "{}", run.stderr);
    assert!(people.env.read("x.lock").contains("[agents.a]"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_hides_neither_what_was_installed_nor_which_disk_it_is() {
    let people = people();
    let test = "a_full_disk_hides_neither_what_was_installed_nor_which_disk_it_is";
    let Some(disk) = SmallDisk::mount(test, &people.env.path("disk"), "64k") else { return };
    disk.fill();
    let run = people.run(&["install", "a", "--no-check", "--lock", "disk/x.lock"]);
    let error = "error: disk/x.lock: No space left on device (os error 28)\n\
                 help: free space on that disk, or name another file with --lock\n";
    assert!(run.code == 3 && run.stdout.starts_with("installed a 1.0.0"), "{}", run.stdout);
    assert_eq!(run.stderr, error);
    let (code, document) = people.json(&["install", "a", "none", "--lock", "disk/x.lock"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unknown_agent")), "{document}");
    let (code, document) = people.json(&["install", "a", "--lock", "disk/x.lock"]);
    assert_eq!((code, &document["agents"][0]["id"], &document["error"]["code"]), (3, &json!("a"), &json!("failed")));
    let (_, document) = people.json(&["doctor", "--root", "disk/root"]);
    let root = document["checks"].as_array().unwrap().iter().find(|check| check["name"] == "root").unwrap();
    assert_eq!((&root["status"], &document["error"]["code"]), (&json!("error"), &json!("findings")), "{document}");
    // What is stored for a moment is on a disk as well.
    fs::remove_file(people.env.path("disk/fill")).unwrap();
    let (path, bytes) = ("/2.0.0/c.tar.gz", fastrand::choose_multiple(0..=255_u8, 200).repeat(1000));
    people.publish(&[people.agent_of("c", "2.0.0", &bytes, None)]);
    let run = people.run(&["install", "c", "--refresh", "--root", "disk/root"]);
    let place = format!("{} cannot be stored: {}", people.server.url(path), people.env.path("disk/root").display());
    assert!(run.code == 3 && run.stderr.contains(&place), "{}", run.stderr);
}

#[test]
fn commands_that_write_one_lock_file_at_once_lose_nothing() {
    let people = People::new();
    let ids = ["a", "b", "c", "d"];
    people.publish(&ids.map(|id| people.agent(id, "1.0.0")));
    let start = |id: &str| {
        let mut command = people.command(&["install", "--lock", "x.lock", id, "--no-check"]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    for mut child in ids.map(start) {
        assert!(child.wait().unwrap().success());
    }
    let file: toml::Table = people.env.read("x.lock").parse().unwrap();
    let locked = file["agents"].as_table().unwrap();
    assert!(ids.iter().all(|id| locked.contains_key(*id)), "{locked:?}");
    // Windows keeps the file that is locked.
    assert!(cfg!(windows) || !people.env.path("x.lock.acp-registry-lock").exists());
}

#[test]
fn the_same_bytes_come_elsewhere_without_an_index() {
    let (people, _) = locked();
    let (run, document) = elsewhere(&people, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let agents = document["agents"].as_array().unwrap();
    assert_eq!(agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(agents.iter().all(|agent| agent["verified"] == "lock"), "{document}");
    let root = people.env.path("elsewhere");
    let run = Run::of(people.command(&["run", "a"]).env("ACP_REGISTRY_ROOT", &root));
    assert_eq!(run.stdout, "a-1.0.0 acp\n");
    if cfg!(windows) {
        // The program of the archive is a batch file, which no other platform starts.
        return;
    }
    // For an image of another platform, with a store of its own.
    let (run, document) = elsewhere(&people, &["a", "--platform", foreign(), "--root", "image"]);
    assert_eq!((run.code, &document["platform"]), (0, &json!(foreign())), "{}", run.stderr);
    let program = fs::read_to_string(document["program"].as_str().unwrap()).unwrap();
    assert!(program.contains("echo foreign"));
}

#[test]
fn other_bytes_and_other_names_are_refused() {
    let (people, text) = locked();
    for (arguments, part) in [
        (&["c"][..], "`c` is not in the lock file x.lock"),
        (&["a@1.1.0"], "the lock file x.lock has `a` `1.0.0`, not `1.1.0`"),
    ] {
        let (run, _) = elsewhere(&people, arguments);
        assert!(run.code == 4 && run.stderr.contains(part), "{arguments:?} {}", run.stderr);
    }
    people.serve("/1.0.0/a.tar.gz", archive("evil"));
    let (run, document) = elsewhere(&people, &[]);
    assert!(run.code == 4 && run.stderr.contains("but the lock file says"), "{}", run.stderr);
    // The other agent is unchanged.
    assert_eq!((document["agents"][0]["id"].as_str(), &document["errors"][0]["id"]), (Some("b"), &json!("a")));
    // Installed versions are compared as well.
    let other = text.replace(&sha256(&archive("b-2.0.0")), &"0".repeat(64));
    people.env.write("x.lock", other);
    let run = people.run(&["install", "--locked", "--lock", "x.lock", "b"]);
    assert!(run.code == 4 && run.stderr.contains("is refused: its archive had"), "{}", run.stderr);
    let digest = format!("sha256 = \"{}\"\n", sha256(&archive("foreign")));
    people.env.write("x.lock", text.replace(&digest, ""));
    let (run, _) = elsewhere(&people, &["a", "--platform", foreign()]);
    assert!(run.code == 4 && run.stderr.contains("has no digests for `a` by binary"), "{}", run.stderr);
    assert!(run.stderr.contains("record them with `acp-registry install a --lock x.lock`"), "{}", run.stderr);
}

#[test]
fn an_archive_that_cannot_be_fetched_is_told_and_the_rest_is_locked() {
    let people = people();
    people.answer("/1.0.0/foreign.tar.gz", status(404));
    let run = people.run(&["install", "--lock", "x.lock", "a"]);
    assert!(
        run.code == 0 && run.stderr.contains("has no digest in the lock file: the archive was not fetched"),
        "{}",
        run.stderr
    );
    assert!(people.env.read("x.lock").contains(&sha256(&archive("a-1.0.0"))));
}

#[test]
fn a_file_without_agents_is_not_written_and_is_warned_of() {
    let people = people();
    people.answer("/1.0.0/a.tar.gz", status(404));
    people.answer("/2.0.0/b.tar.gz", status(404));
    assert_eq!(people.run(&["install", "--lock", "x.lock", "b"]).code, 3);
    assert!(!people.env.path("x.lock").exists());
    people.env.write("x.lock", "schema = 1\n");
    let (run, _) = elsewhere(&people, &[]);
    assert!(run.code == 0 && run.stderr.contains("x.lock has no agents"), "{}", run.stderr);
}

#[test]
fn a_lock_file_that_is_none_is_told() {
    let people = people();
    let outside = "schema = 1\n[agents.'/a/../../outside']\nversion = '1'\n";
    for (text, part) in [
        ("{", "line 1: "),
        ("schema = 7", "form 7"),
        ("schema = 1\nx = 1", "unknown field"),
        (outside, "`/a/../../outside` is not a valid id"),
    ] {
        people.env.write("acp-registry.lock", text);
        let run = people.run(&["install", "--locked"]);
        assert!(run.code == 3 && run.stderr.contains(part), "{text}: {}", run.stderr);
        let run = people.run(&["install", "a", "--lock", "acp-registry.lock"]);
        assert_eq!((run.code, people.env.read("acp-registry.lock").as_str()), (3, text));
    }
    fs::remove_file(people.env.path("acp-registry.lock")).unwrap();
    let run = people.run(&["install", "--locked"]);
    assert!(run.code == 3 && run.stderr.contains("there is no such file"), "{}", run.stderr);
}

#[test]
fn packages_without_a_package_manager_are_told() {
    let people = People::new();
    let mut agent = people.agent("a", "1.0.0");
    agent["distribution"]["npx"] = json!({ "package": "p@1.0.0" });
    people.publish(&[agent, entry("n", "1.0.0", &json!({ "npx": { "package": "p@1.0.0" } }))]);
    let run = Run::of(people.command(&["install", "--lock", "x.lock", "a"]).env("PATH", people.env.path("empty")));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("the packages of a (npx) are not in the lock file: npm is not in PATH"),
        "{}",
        run.stderr
    );
    let (run, _) = elsewhere(&people, &["a", "--dist", "npx"]);
    assert!([3, 4].contains(&run.code), "{}", run.stderr);
}

#[test]
fn a_package_of_another_version_is_not_locked() {
    let people = People::new();
    let mut agent = people.agent("a", "1.0.0");
    agent["distribution"]["npx"] = json!({ "package": "p@1.0.1" });
    people.publish(&[agent]);
    let run = Run::of(people.command(&["install", "--lock", "x.lock", "a"]).env("PATH", people.env.path("empty")));
    let message = "`a` cannot be in a lock file: `npx.package`: the package has version `1.0.1`, the agent `1.0.0`";
    assert!(run.code == 4 && run.stderr.contains(message), "{}", run.stderr);
    assert!(!people.env.path("x.lock").exists());
}

#[test]
fn digests_that_prove_nothing_are_refused_by_place() {
    let (people, text) = locked();
    let good = format!("sha512-{}==", "A".repeat(86));
    let npx = |more: &str| {
        format!(
            "schema = 1\n[agents.n]\nversion = '1.0.0'\n[agents.n.npx]\npackage = 'p@1.0.0'\npackages = '''{{ \"packages\": {{ \"\": {{}}, \
             \"node_modules/p\": {{ \"version\": \"1.0.0\", \"integrity\": \"{good}\" }}, \
             \"node_modules/@s/q\": {{ \"version\": \"1.0.0\", {more} }} }} }}'''\n"
        )
    };
    let integrity = |value: &str| npx(&format!("\"integrity\": \"{value}\""));
    let uvx = |hash: &str| {
        format!("schema = 1\n[agents.n]\nversion = '1'\n[agents.n.uvx]\npackage = 'p==1'\npackages = 'p==1 {hash}'\n")
    };
    let own = sha256(&archive("a-1.0.0"));
    let mut cases = vec![
        (npx("\"dev\": true"), "`agents.n.npx.packages`: the npm package `node_modules/@s/q` has no integrity value"),
        (
            npx("\"inBundle\": true"),
            "`agents.n.npx.packages`: the npm package `node_modules/@s/q` is in the bundle of no",
        ),
        (uvx(""), "`agents.n.uvx.packages`: the line `p==1` is not"),
        (uvx(&format!("--hash=md5:{}", "0".repeat(32))), "`agents.n.uvx.packages`: the line `p==1 --hash=md5:"),
        (uvx(&format!("--hash=sha256:{}", "0".repeat(63))), "`agents.n.uvx.packages`: the line `p==1 --hash=sha256:"),
        (text.replace(&own, &own[1..]), "`agents.a.binary."),
        (text.replace(&own, ""), ".sha256`: `` is refused: a SHA-256 digest has 64 hexadecimal digits"),
    ];
    cases.push((
        "schema = 1\n[agents.n]\nversion = '1.0.0'\n[agents.n.npx]\npackage = 'p@1.0.1'\n".to_owned(),
        "line 5: `agents.n.npx.package`: the package has version `1.0.1`, the agent `1.0.0`",
    ));
    let two = format!("{good} {good}");
    for weak in ["", " ", "sha1-eHh4eHh4eHh4eHh4eHh4eHh4eHg=", "md5-eHh4eHh4eHh4eHh4eHh4eA==", &good[7..], &two] {
        cases.push((integrity(weak), "`agents.n.npx.packages`: at `/packages/node_modules~1@s~1q/integrity`, `"));
    }
    for (text, place) in cases {
        people.env.write("x.lock", &text);
        let (run, document) = elsewhere(&people, &[]);
        assert!(run.code == 4 && run.stderr.contains(place), "{text} {}", run.stderr);
        assert!(run.stderr.contains("the lock file x.lock: line "), "{text} {}", run.stderr);
        assert_eq!((&document["error"]["code"], document["error"]["exit_code"].as_i64()), (&json!("refused"), Some(4)));
        assert!(
            run.stderr.contains(
                "is acp-registry's, remove it, and write it again with `acp-registry install ID --lock x.lock`"
            )
        );
    }
}
