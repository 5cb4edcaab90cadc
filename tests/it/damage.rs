//! Damaged installations, and agent directories with foreign files.

use std::fs;
use std::io::Read as _;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::archives::{gz, sha256, tar};
use crate::people::{AGENT, People, archive, host};
use crate::support::wait_until;

/// Installs agent `a` 1.0.0; also returns the directory of the version.
pub(crate) fn installed() -> (People, PathBuf) {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let (code, document) = people.json(&["install", "a"]);
    assert_eq!(code, 0, "{document}");
    (people, document["install_dir"].as_str().unwrap().into())
}

pub(crate) fn program(folder: &Path) -> PathBuf {
    folder.join("files").join(AGENT)
}

#[test]
fn what_was_not_installed_is_named_and_stays() {
    let (people, folder) = installed();
    let agents = people.root().join("agents");
    for name in
        ["work/notes.txt", "a/notes.txt", "a/mine/file", "a/1.0.0-0123456789ab/thesis.txt", "old-abc/x", "b/current/x"]
    {
        let path = agents.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    let before = people.left();
    let gc = people.run(&["gc"]);
    assert!(
        gc.code == 0 && gc.stdout.starts_with("no unused versions\ncaches hold copies of indexes "),
        "{}",
        gc.stdout
    );
    assert_eq!(gc.stderr.matches("was not made by this program, and stays").count(), 3, "{}", gc.stderr);
    assert_eq!(people.left(), before);
    let other = people.run(&["uninstall", "work"]);
    assert!(other.stderr.contains("`work` is not installed"), "{}", other.stderr);
    assert!(
        other.stderr.ends_with("help: `acp-registry list --installed` shows what is installed\n"),
        "{}",
        other.stderr
    );

    // It would go with the version.
    let within = folder.join("notes.txt");
    fs::write(&within, "mine").unwrap();
    let before_refusal = people.left();
    let refused = people.run(&["uninstall", "a"]);
    assert!(
        refused.code == 3 && refused.stderr.contains(&format!("{} was not made by this program\n", within.display())),
        "{}",
        refused.stderr
    );
    assert_eq!(people.left(), before_refusal);
    fs::remove_file(within).unwrap();

    let (code, document) = people.json(&["uninstall", "--all"]);
    assert_eq!((code, &document["ids"]), (0, &json!(["a"])));
    let kept = document["kept"].as_array().unwrap().iter().filter_map(Value::as_str);
    let kept: Vec<String> = kept.map(|path| path.replace('\\', "/")).collect();
    assert_eq!(kept.len(), 3, "{kept:?}");
    assert!(kept[0].ends_with("a/1.0.0-0123456789ab") && kept[2].ends_with("a/notes.txt"), "{kept:?}");
    assert!(!folder.exists());
    let left = people.left();
    let mine: Vec<&String> =
        before.iter().filter(|name| !name.contains("a/current") && !of_version(name, &folder)).collect();
    assert_eq!(left.iter().collect::<Vec<_>>(), mine);
    assert!(people.run(&["install", "a"]).code == 0 && people.run(&["run", "a"]).stdout == "a-1.0.0 acp\n");
}

fn of_version(name: &str, folder: &Path) -> bool {
    name.contains(folder.file_name().unwrap().to_str().unwrap())
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_an_agent_is_not_followed() {
    let (people, folder) = installed();
    let (agent, elsewhere) = (folder.parent().unwrap().to_owned(), people.env.path("elsewhere"));
    fs::rename(&agent, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &agent).unwrap();
    for arguments in [&["install", "a@1.0.0"][..], &["uninstall", "a"], &["which", "a"], &["run", "a"], &["update"]] {
        let run = people.run(arguments);
        assert_ne!(run.code, 0);
        assert!(
            run.stderr.contains(&format!("{} is a link, which is not followed", agent.display())),
            "{}",
            run.stderr
        );
    }
    let help = "remove it, or name the directory that is meant with --root";
    for arguments in [&["doctor"][..], &["doctor", "a"], &["doctor", "a", "--fix"]] {
        let (code, document) = people.json(arguments);
        let check = &document["agents"][0]["checks"][0];
        assert_eq!(
            (code, check["status"].as_str(), check["help"].as_str()),
            (1, Some("error"), Some(help)),
            "{document}"
        );
    }
    let (_, listed) = people.json(&["list", "--installed"]);
    assert_eq!((&listed["agents"], &listed["errors"][0]["id"]), (&json!([]), &json!("a")), "{listed}");
    for arguments in [&["gc"][..], &["gc", "--dry-run"]] {
        let run = people.run(arguments);
        let warning = format!("{} is a link, which is not followed, and stays\n", agent.display());
        assert!(run.code == 0 && run.stderr.matches(&warning).count() == 1, "{} {}", run.code, run.stderr);
    }
    assert!(elsewhere.join("current").exists() && program(&elsewhere.join(folder.file_name().unwrap())).exists());
}

#[cfg(unix)]
#[test]
fn only_a_version_is_put_back_and_nothing_foreign_is_moved_or_replaced() {
    let (people, folder) = installed();
    let (agent, pictures) = (folder.parent().unwrap(), people.env.path("pictures"));
    let write = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    };
    write(&pictures.join("aside/1.0.0-0123456789ab/a.jpg"));
    write(&pictures.join("aside/notes/b.jpg"));
    write(&agent.join("mydir/thesis.txt"));
    write(&agent.join(".new-b/aside/mydir/other"));
    write(&agent.join(".new-b/aside/2.0.0-0123456789ab/other"));
    std::os::unix::fs::symlink(&pictures, agent.join(".new-a")).unwrap();
    fs::create_dir(agent.join(".new-c")).unwrap();
    std::os::unix::fs::symlink(pictures.join("aside"), agent.join(".new-c/aside")).unwrap();
    let (_, would) = people.json(&["gc", "--dry-run"]);
    let (code, done) = people.json(&["gc"]);
    assert_eq!((code, &done["freed_bytes"], &done["freed_bytes"]), (0, &json!(8), &would["freed_bytes"]), "{done}");
    assert!(!agent.join(".new-b").exists() && !agent.join(".new-c").exists() && agent.join(".new-a").is_symlink());
    assert!(!agent.join("notes").exists() && !agent.join("2.0.0-0123456789ab").exists());
    for next in [&["doctor", "--fix", "a"][..], &["install", "a"], &["uninstall", "a"]] {
        people.run(next);
        assert_eq!(fs::read_to_string(agent.join("mydir/thesis.txt")).unwrap(), "mine", "{next:?}");
        assert_eq!(crate::people::files(&pictures).len(), 2, "{next:?}");
    }
}

#[test]
fn nothing_foreign_is_replaced_by_a_repair_or_an_update() {
    let (people, folder) = installed();
    fs::remove_file(program(&folder)).unwrap();
    let notes = folder.join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    for arguments in [&["install", "a"][..], &["run", "a"], &["doctor", "--fix", "a"], &["update"]] {
        let run = people.run(arguments);
        let told = format!("{} was not made by this program", notes.display());
        assert!(run.code != 0 && run.stderr.contains(&told), "{arguments:?}: {}{}", run.stdout, run.stderr);
        let help = "move that file to another place, then try again";
        assert!(run.stderr.contains(help) || run.stdout.contains(help), "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine", "{arguments:?}");
    }
    fs::remove_file(&notes).unwrap();
    assert_eq!(people.run(&["install", "a"]).code, 0);

    // The folder of the next version is known once it was installed.
    people.publish(&[people.agent("a", "2.0.0")]);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    let next = PathBuf::from(people.json(&["which", "a"]).1["install_dir"].as_str().unwrap());
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    people.publish(&[people.agent("a", "2.0.0")]);
    let folder: &dyn Fn() = &|| {
        fs::create_dir(&next).unwrap();
        fs::write(next.join("thesis.txt"), "mine").unwrap();
    };
    let file: &dyn Fn() = &|| {
        fs::remove_dir_all(&next).unwrap();
        fs::write(&next, "mine").unwrap();
    };
    for put in [folder, file] {
        put();
        let before = people.left();
        let run = people.run(&["update", "--refresh"]);
        assert!(run.code == 3 && run.stderr.contains("was not made by this program"), "{}{}", run.stdout, run.stderr);
        assert_eq!(people.left(), before);
    }
}

#[test]
fn a_version_is_put_back_where_the_receipt_of_the_new_one_was_being_written() {
    let (people, folder) = installed();
    for next in ["gc", "install"] {
        let aside = folder.with_file_name(".new-abcdef").join("aside");
        fs::create_dir_all(&aside).unwrap();
        fs::rename(&folder, aside.join(folder.file_name().unwrap())).unwrap();
        fs::create_dir_all(folder.join("files")).unwrap();
        fs::write(folder.join(".tmp-receipt.json-abcdef"), "{").unwrap();
        let run = people.run(if next == "gc" { &["gc"] } else { &["install", "a"] });
        assert_eq!(run.code, 0, "{next}: {}", run.stderr);
        assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n", "{next}");
    }
}

#[test]
fn a_damaged_version_that_settings_name_is_repaired_beside_the_current_one() {
    let (people, folder) = installed();
    assert_eq!(people.run(&["config", "zed", "a", "--direct"]).code, 0);
    people.publish(&[people.agent("a", "2.0.0")]);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    fs::remove_file(program(&folder)).unwrap();
    let (code, document) = people.json(&["doctor"]);
    assert_eq!(code, 1, "{document}");
    let checks = document["agents"][0]["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["status"] == "error").unwrap();
    assert_eq!(check["help"], "`acp-registry doctor --fix a` repairs it");
    let run = people.run(&["doctor", "--fix"]);
    assert!(run.stderr.contains("repaired a 1.0.0: files were missing or changed"), "{}{}", run.stdout, run.stderr);
    assert!(program(&folder).exists());
    assert_eq!(people.json(&["which", "a"]).1["version"], "2.0.0");
    assert!(people.run(&["gc"]).code == 0 && program(&folder).exists());
}

#[cfg(unix)]
/// Neither an editor nor the clients of a server would be told.
#[cfg(unix)]
#[test]
fn an_agent_that_run_refuses_is_not_named_in_settings_and_not_served() {
    let (people, folder) = installed();
    let refused = |told: &str| {
        for words in
            [&["run", "a"][..], &["config", "zed", "a", "--direct"], &["serve-agent", "a", "--listen", "127.0.0.1:0"]]
        {
            let run = people.run(words);
            let is_refused = run.code == 4 && run.stdout.is_empty() && run.stderr.contains(told);
            assert!(is_refused, "{words:?}: {} {}", run.stdout, run.stderr);
        }
    };
    let bin = program(&folder).parent().unwrap().to_owned();
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o777)).unwrap();
    refused("is refused");
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(people.run(&["config", "zed", "a", "--direct"]).code, 0);
    let text = fs::read_to_string(program(&folder)).unwrap();
    fs::write(program(&folder), text.replace("a-1.0.0", "b-1.0.0")).unwrap();
    refused("has other content than was installed");
}

/// A repair would take its files and the mark that it runs away.
#[cfg(unix)]
#[test]
fn a_version_that_runs_is_not_repaired_and_not_removed() {
    let people = People::new();
    people.install_script("#!/bin/sh\necho up\nexec cat\n", &[]);
    let (_, found) = people.json(&["which", "a"]);
    let folder = PathBuf::from(found["install_dir"].as_str().unwrap());
    let mark = folder.join("in-use");
    for has_mark in [true, false] {
        if !has_mark {
            fs::remove_file(&mark).unwrap();
        }
        let mut command = people.command(&["run", "a"]);
        let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 3];
        running.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(line, *b"up\n");
        fs::remove_file(folder.join("files/README")).unwrap();
        for repair in [&["update"][..], &["install", "a"], &["doctor", "--fix", "a"]] {
            let run = people.run(repair);
            let told = format!("{}{}", run.stdout, run.stderr);
            assert!(run.code != 0 && told.contains("`a` is running"), "{repair:?}: {told}");
        }
        let run = people.run(&["uninstall", "a"]);
        assert!(run.code == 3 && run.stderr.contains("`a` is running"), "{}", run.stderr);
        drop(running.stdin.take());
        assert!(running.wait().unwrap().success());
        assert_eq!(people.run(&["update"]).code, 0);
        assert!(folder.join("files/README").exists());
    }
}

/// Shared libraries and launchers are reached through links.
#[cfg(unix)]
#[test]
fn a_link_that_is_gone_or_leads_elsewhere_is_put_back() {
    use std::os::unix::fs::symlink;

    let people = People::new();
    let script = b"#!/bin/sh\nexec \"${0%/*}/../lib/engine\"\n";
    let files: [(&str, &[u8]); 3] =
        [(AGENT, script), ("lib/engine-1", b"#!/bin/sh\necho one\n"), ("lib/engine-2", b"#!/bin/sh\necho two\n")];
    let mut bytes = crate::archives::link(::tar::EntryType::Symlink, "lib/engine", "engine-1");
    // The end of the first archive is two empty blocks.
    bytes.truncate(512);
    bytes.extend(tar(&files));
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&bytes), None)]);
    let (code, document) = people.json(&["install", "a"]);
    assert_eq!(code, 0, "{document}");
    let link = Path::new(document["install_dir"].as_str().unwrap()).join("files/lib/engine");
    assert_eq!(people.run(&["run", "a"]).stdout, "one\n");
    let harms: [(&str, &dyn Fn()); 3] = [
        ("is gone", &|| ()),
        ("has other content", &|| symlink("engine-2", &link).unwrap()),
        ("has other content", &|| fs::write(&link, "").unwrap()),
    ];
    for (told, harm) in harms {
        for repair in [&["doctor", "--fix"][..], &["update"], &["install", "a"]] {
            fs::remove_file(&link).unwrap();
            harm();
            let run = people.run(&["doctor"]);
            assert!(run.code == 1 && run.stdout.contains("lib/engine` "), "{told}: {}", run.stdout);
            assert!(run.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{}", run.stdout);
            let run = people.run(repair);
            assert_eq!(run.code, 0, "{repair:?}: {}{}", run.stdout, run.stderr);
            assert_eq!(fs::read_link(&link).unwrap(), Path::new("engine-1"), "{repair:?}");
            assert_eq!(people.run(&["run", "a"]).stdout, "one\n");
        }
    }
}

#[test]
fn what_a_link_in_the_cache_leads_to_stays() {
    let (people, _) = installed();
    let (cache, pictures) = (people.env.path("home/.cache/acp-registry"), people.env.path("pictures"));
    fs::create_dir_all(pictures.join("2025")).unwrap();
    fs::write(pictures.join("2025/a.jpg"), "mine").unwrap();
    for name in ["documents", "files", "indexes"] {
        let place = cache.join(name);
        let _ = fs::remove_dir_all(&place);
        std::os::unix::fs::symlink(&pictures, &place).unwrap();
    }
    let (code, document) = people.json(&["gc", "--cache"]);
    assert_eq!((code, &document["caches"][1]["size"], &document["caches"][2]["size"]), (0, &json!(0), &json!(0)));
    assert_eq!(fs::read_to_string(pictures.join("2025/a.jpg")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a_damaged_version_is_repaired_as_it_was_and_stays_pinned() {
    let (people, folder) = installed();
    let run = people.run(&["install", "a@1.0.0"]);
    assert!(run.code == 0 && run.stderr.contains("stays at 1.0.0 from now on"), "{}", run.stderr);
    assert!(people.run(&["info", "a"]).stdout.contains("1.0.0 (binary, current, pinned)"));
    people.publish(&[people.agent("a", "2.0.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    for harm in [
        |program: &Path| fs::remove_file(program),
        |program: &Path| fs::write(program, "short"),
        |program: &Path| fs::set_permissions(program, fs::Permissions::from_mode(0o644)),
    ] {
        harm(&program(&folder)).unwrap();
        let which = people.run(&["which", "a"]);
        assert_eq!(which.code, 3, "{}", which.stdout);
        assert!(which.stderr.contains("`acp-registry doctor --fix a` repairs it"), "{}", which.stderr);
        // An installation that cannot begin is not announced.
        let offline = people.run(&["run", "a", "--offline"]);
        let told = "error: a 1.0.0 is damaged, and repairing it needs the network (--offline)\n";
        assert!(offline.code == 3 && offline.stderr.starts_with(told), "{}", offline.stderr);
        // It is not left to the first client to learn that.
        let served = people.run(&["serve-agent", "a", "--offline"]);
        assert!(served.code == 3 && served.stderr.starts_with(told), "{}", served.stderr);
        let run = people.run(&["run", "a"]);
        assert_eq!(run.stdout, "a-1.0.0 acp\n", "{}", run.stderr);
        assert!(run.stderr.starts_with("warning: a is damaged, and will be installed again\n"), "{}", run.stderr);
    }
    // The help does not depend on the index.
    people.publish(&[people.agent("b", "1.0.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    fs::write(program(&folder), "short").unwrap();
    assert!(people.run(&["doctor"]).stdout.contains("`acp-registry doctor --fix a` repairs it"));
    let fixed = people.run(&["doctor", "--fix", "a"]);
    assert!(fixed.stderr.contains("repaired a: files were missing or changed"), "{}", fixed.stderr);
    let (_, which) = people.json(&["which", "a"]);
    assert_eq!((&which["version"], &which["pinned"]), (&json!("1.0.0"), &json!(true)));
}

#[test]
fn bytes_that_somebody_has_changed_are_installed_again() {
    let (people, folder) = installed();
    assert_eq!(people.run(&["install", "a", "--lock", "some.lock"]).code, 0);
    for arguments in [["install", "a"].as_slice(), &["install", "--locked", "--lock", "some.lock"]] {
        // The size does not change.
        let good = fs::read_to_string(program(&folder)).unwrap();
        fs::write(program(&folder), good.replace("a-1.0.0", "evil   ")).unwrap();
        assert_ne!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
        let offline = people.run(&[arguments, &["--offline"]].concat());
        assert_eq!(offline.code, 3, "{}", offline.stdout);
        let told = "a 1.0.0 is damaged, and repairing it needs the network (--offline)\nhelp: run it again without";
        assert!(offline.stderr.contains(told), "{}", offline.stderr);
        // After a failed repair, another repair is not the help.
        let doctor = people.run(&["doctor", "--fix", "--offline"]);
        assert!(
            doctor.code == 1 && doctor.stderr.contains("a was not repaired: a 1.0.0 is damaged"),
            "{}",
            doctor.stderr
        );
        assert!(doctor.stdout.contains("run it again without --offline"), "{}", doctor.stdout);
        assert!(!doctor.stdout.contains("repairs it"), "{}", doctor.stdout);
        let run = people.run(arguments);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
        fs::write(folder.join("files/README"), "else").unwrap();
        assert_eq!(people.run(arguments).code, 0);
        assert_eq!(fs::read_to_string(folder.join("files/README")).unwrap(), "text");
    }
}

#[test]
fn a_damaged_agent_whose_archive_was_replaced_has_a_remedy_that_is_true() {
    let (people, folder) = installed();
    fs::write(program(&folder), "broken").unwrap();
    // The index has other bytes: `install a` would be refused.
    let other = archive("other");
    people.publish(&[people.agent_of("a", "1.0.0", &other, Some(&sha256(&other)))]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 4);
    let refused = "if you trust what comes now, run `acp-registry uninstall a` first";
    for arguments in [&["doctor"][..], &["doctor", "--fix"]] {
        let doctor = people.run(arguments);
        let text = doctor.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(doctor.code == 1 && !text.contains("repairs it"), "{text}");
        assert!(text.contains("`acp-registry uninstall a`"), "{text}");
    }
    assert!(people.run(&["install", "a"]).stderr.contains(refused));
    // If there is another version, the help is to install it.
    people.publish(&[people.agent("a", "2.0.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    let doctor = people.run(&["doctor", "--fix"]);
    assert!(doctor.stdout.contains("run `acp-registry install a@2.0.0`"), "{}{}", doctor.stdout, doctor.stderr);
    assert_eq!(people.run(&["install", "a@2.0.0"]).code, 0);
}

#[test]
fn a_replaced_archive_of_a_damaged_agent_is_told_in_the_same_way_by_all_commands() {
    let (people, folder) = installed();
    fs::write(program(&folder), "broken").unwrap();
    people.serve("/1.0.0/a.tar.gz", archive("other"));
    let help = "help: tell the agent's publisher that its archive is not the one that was published; or remove it with \
                `acp-registry uninstall a`\n";
    for (arguments, begin) in [
        (&["install", "a"][..], "error: `a` was not installed: the archive has the SHA-256 "),
        (&["run", "a"], "error: `a` was not installed: the archive has the SHA-256 "),
        (&["update"], "error: a: the archive has the SHA-256 "),
        (&["doctor", "--fix"], "warning: a was not repaired: the archive has the SHA-256 "),
    ] {
        let run = people.run(arguments);
        assert!(run.code != 0 && run.stderr.contains(begin) && run.stderr.contains(help), "{}", run.stderr);
    }
    let (code, document) = people.json(&["doctor", "--fix"]);
    let error = &document["errors"][0];
    assert_eq!((code, &error["id"], &error["code"]), (1, &json!("a"), &json!("digest_mismatch")), "{document}");
    for arguments in [["--progress", "json", "install", "a"].as_slice(), &["--progress", "json", "update"]] {
        let run = people.run(arguments);
        let events = run.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let failed: Vec<Value> = events.filter(|event| event["event"] == "error").collect();
        assert_eq!(
            (failed.len(), &failed[0]["id"], &failed[0]["code"]),
            (1, &json!("a"), &error["code"]),
            "{failed:?}"
        );
    }
}

/// Opening a FIFO blocks until another process opens it for writing.
#[cfg(unix)]
#[test]
fn nothing_waits_where_an_agent_has_put_something_else() {
    let (people, folder) = installed();
    let fifo = |path: &Path| {
        fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    fifo(&folder.join("in-use"));
    fifo(&folder.join("files/README"));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    let run = people.run(&["doctor"]);
    assert!(run.code == 1 && run.stdout.contains("`files/README` cannot be read"), "{}", run.stdout);
    assert_eq!(people.run(&["gc"]).code, 0);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    fifo(&folder.join("files").join(AGENT));
    let (code, document) = people.json(&["doctor"]);
    assert!(code == 1 && document.to_string().contains("is not a file"), "{document}");
    fifo(&folder.join("receipt.json"));
    fifo(&folder.join("files.json"));
    assert_eq!(people.run(&["doctor"]).code, 1);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
}

#[test]
fn installing_and_uninstalling_at_once_is_no_error() {
    let (people, _) = installed();
    for _ in 0..15 {
        let start = |arguments: &[&str]| people.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        // An agent that is being checked is running, and is not removed.
        let install = ["install", "a", "--no-check"];
        let children = [start(&install), start(&["uninstall", "--all"]), start(&install), start(&["gc"])];
        for child in children {
            let output = child.unwrap().wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(people.run(&["install", "a"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn what_an_interrupted_first_installation_leaves_goes_with_the_garbage() {
    let people = People::with_root("data", |asked, stream| {
        if !asked.path.ends_with(".tar.gz") {
            return Ok(false);
        }
        // Keeps the connection open until the program closes it.
        let _ = stream.read(&mut [0]);
        Ok(true)
    });
    people.publish(&[people.agent("a", "1.0.0")]);
    let mut child = people.command(&["install", "a"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the agent has a folder", || people.root().join("agents/a").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(people.run(&["gc"]).code, 0);
    assert!(people.is_gone(), "{:?}", people.left());
}

#[test]
fn an_unreadable_way_to_get_an_agent_is_no_way() {
    let people = People::new();
    let bytes = archive("a");
    let cases: [(&str, Value); 4] =
        [("sha256", json!(["x"])), ("args", json!("acp")), ("env", json!(["A=b"])), ("args", json!(["a\u{0}b"]))];
    for (member, value) in cases {
        let mut agent = people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)));
        agent["distribution"]["binary"][host()][member] = value;
        people.publish(&[agent]);
        let run = people.run(&["install", "a", "--refresh"]);
        assert_eq!(run.code, 2, "{member}: {}", run.stderr);
        assert!(run.stderr.contains(&format!("is passed over: its `{member}`")), "{}", run.stderr);
        assert_eq!(people.left(), [] as [&str; 0]);
    }
}

#[test]
fn quiet_means_results_and_errors_only() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0"), json!({ "id": "broken" }), json!(7)]);
    let run = people.run(&["list", "--quiet"]);
    assert!(run.code == 0 && run.stdout.contains("a ") && run.stderr.is_empty(), "{}", run.stderr);
    assert_eq!(people.run(&["list"]).stderr.matches("warning:").count(), 2);
    let run = people.run(&["info", "a"]);
    assert_eq!(run.stderr.matches("warning:").count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("`acp-registry list` says which and why"), "{}", run.stderr);
    let run = people.run(&["info", "broken"]);
    assert!(run.code == 2 && run.stderr.contains("error: in the registry index, entry 2 (`broken`)"), "{}", run.stderr);
    let run = people.run(&["info", "a@1.0.0"]);
    assert!(run.code == 0 && run.stdout.contains("1.0.0"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn an_index_may_begin_with_a_byte_order_mark() {
    let people = People::new();
    let bytes = gz(&tar(&[(AGENT, b"#!/bin/sh\necho hello\n")]));
    let index = json!({ "agents": [people.agent_of("a", "1.0.0", &bytes, None)] });
    people.serve("/registry.json", format!("\u{feff}{index}"));
    assert_eq!(people.run(&["run", "a"]).stdout, "hello\n");
    people.serve("/registry.json", "[]");
    let run = people.run(&["list", "--refresh", "--index", &people.server.url("/registry.json")]);
    assert!(run.stderr.contains("it is not an object with a list `agents`"), "{}", run.stderr);
}
