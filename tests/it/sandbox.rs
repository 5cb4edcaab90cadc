//! Agents in a sandbox: that of `run --sandbox`, and another program that `run --wrap` names.

use std::fs;
use std::process::Command;

use crate::people::People;
use crate::support::{Run, skipped};

/// What a thief looks for in a home.
const CANARIES: [&str; 12] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".npmrc",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".bashrc",
    ".profile",
    ".claude/settings.json",
    ".cursor/mcp.json",
    ".config/gcloud/application_default_credentials.json",
    ".gnupg/private.key",
];

/// Reads each canary, writes into it, beside it and to its profile, and says what succeeded.
fn thief(home: &str) -> String {
    let steal = |name: &&str| {
        format!(
            "cat '{home}/{name}' && echo READ {name}\n(echo evil >> '{home}/{name}') && echo WROTE {name}\n\
             (mv '{home}/{name}' '{home}/{name}.bak') && echo MOVED {name}\n(: > '{home}/{name}.new') && echo MADE {name}\n"
        )
    };
    let all: String = CANARIES.iter().map(steal).collect();
    format!(
        "#!/bin/sh\nexec 2>/dev/null\n{all}ls '{home}' && echo LISTED\necho work > result && cat result\n\
         echo own > \"$HOME/notes\" && cat \"$HOME/notes\"\necho t > \"$TMPDIR/t\" && echo temporary\n\
         [ -r \"$0\" ] && echo itself\n(echo x >> \"$0\") && echo CHANGED\necho \"agent ${{SSH_AUTH_SOCK:-no socket}}\"\n\
         [ -c /dev/null ] && echo x > /dev/null && echo device\n"
    )
}

#[test]
fn further_directories_are_opened_by_name() {
    let people = people();
    if !has_landlock(&people, "further_directories_are_opened_by_name") {
        return;
    }
    let script = "#!/bin/sh\nexec 2>/dev/null\ncat \"$HOME_OF_PERSON/tools/tool\"\necho x > \"$HOME_OF_PERSON/other/made\" && echo made\n\
                  echo y > \"$HOME_OF_PERSON/tools/made\" && echo MADE\n";
    people.env.write("home/tools/tool", "a tool\n");
    people.env.write("home/other/file", "");
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script(script, &[]);
    let home = people.env.path("home");
    let run = |more: &[&str]| {
        let mut command = command(&people, &[&["run", "a", "--sandbox"], more].concat());
        Run::of(command.env("HOME_OF_PERSON", &home))
    };
    assert_eq!(run(&[]).stdout, "");
    let (tools, other) = (home.join("tools"), home.join("other"));
    let run_open = run(&["--readable", tools.to_str().unwrap(), "--writable", other.to_str().unwrap()]);
    assert_eq!(run_open.stdout, "a tool\nmade\n", "{}", run_open.stderr);
    // Flags that would open everything, or nothing, are refused when an agent starts and when settings are written.
    let (open, config) = (["run", "a"], ["config", "zed", "a"]);
    let missing = home.join("missing");
    for (flag, path, code, message) in [
        ("--readable", &home, 4, "holds the home directory"),
        ("--writable", &home, 4, "holds the home directory"),
        ("--writable", &"/".into(), 4, "holds the home directory"),
        ("--readable", &people.root(), 4, "the installed agents"),
        ("--writable", &missing, 2, "missing: No such file or directory"),
        ("--readable", &missing, 2, "missing: No such file or directory"),
    ] {
        for words in [&open[..], &config] {
            let refused =
                Run::of(&mut command(&people, &[words, &["--sandbox", flag, path.to_str().unwrap()]].concat()));
            assert!(refused.code == code && refused.stdout.is_empty(), "{words:?} {flag}: {}", refused.stderr);
            assert!(refused.stderr.contains(message), "{words:?} {flag}: {}", refused.stderr);
            assert!(
                refused.stderr.contains("help: ") && refused.stderr.trim_end().ends_with(flag),
                "{}",
                refused.stderr
            );
        }
    }
    // On another machine, its paths count.
    let run =
        Run::of(&mut command(&people, &["config", "zed", "a", "--on", "ssh:m", "--sandbox", "--writable", "/srv"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// A home with all canaries, and an agent that looks for them.
fn people() -> People {
    let people = People::new();
    let home = people.env.path("home");
    for name in CANARIES {
        people.env.write(&format!("home/{name}"), format!("secret of {name}\n"));
    }
    people.env.write("home/project/file", "");
    people.install_script(&thief(home.to_str().unwrap()), &[]);
    people
}

fn command(people: &People, arguments: &[&str]) -> Command {
    let mut command = people.command(arguments);
    command.env("HOME", people.env.path("home")).env("SSH_AUTH_SOCK", "/run/agent.sock");
    command.current_dir(people.env.path("home/project"));
    command
}

/// Whether this system has what `--sandbox` needs.
fn has_landlock(people: &People, test: &str) -> bool {
    let run = Run::of(&mut command(people, &["run", "a", "--sandbox"]));
    if run.code == 4 && run.stderr.contains("this system cannot confine a program") {
        assert!(run.stdout.is_empty() && run.stderr.contains("--wrap"), "{}", run.stderr);
        skipped(test, "this system has no Landlock");
        return false;
    }
    true
}

#[test]
fn a_thief_finds_nothing_and_work_goes_on() {
    let people = people();
    if !has_landlock(&people, "a_thief_finds_nothing_and_work_goes_on") {
        return;
    }
    let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.stdout, "work\nown\ntemporary\nitself\nagent no socket\ndevice\n");
    for name in CANARIES {
        assert_eq!(people.env.read(&format!("home/{name}")), format!("secret of {name}\n"));
    }
    let own = people.root().join("homes/a");
    assert_eq!(fs::read_to_string(own.join("notes")).unwrap(), "own\n");
    assert_eq!(people.env.read("home/project/result"), "work\n");
    // Without it, the thief would have succeeded: the canaries are real.
    let run = Run::of(&mut command(&people, &["run", "a"]));
    assert_eq!(run.stdout.matches("READ ").count(), CANARIES.len(), "{}", run.stdout);
    assert!(run.stdout.contains("LISTED"), "{}", run.stdout);
}

#[test]
fn a_link_that_an_agent_leaves_in_a_folder_of_programs_opens_nothing_to_its_next_start() {
    let people = people();
    if !has_landlock(&people, "a_link_that_an_agent_leaves_in_a_folder_of_programs_opens_nothing_to_its_next_start") {
        return;
    }
    // Landlock does not withhold the mode of a file, without which it is not taken for a program.
    let files = [".ssh/id_ed25519", ".config/gh/hosts.yml", "bin/tool"].map(|name| people.env.path("home").join(name));
    let other = people.root().join("homes/b/secret");
    let plant = |(file, name): (&std::path::PathBuf, &str)| {
        let file = file.display();
        format!(
            "cat '{file}' && echo READ {name}\nchmod +x '{file}'\nln -sf '{file}' .venv/bin/{name} && echo planted\n"
        )
    };
    let plants: String = files.iter().chain([&other]).zip(["rg", "git", "node", "uv"]).map(plant).collect();
    let script = format!(
        "#!/bin/sh\nexec 2>/dev/null\nmkdir -p .venv/bin\n{plants}cat '{}/lib/notes'\n",
        people.env.path("home").display()
    );
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script(&script, &[]);
    for path in ["home/bin/tool", "home/lib/notes", "home/next/file"] {
        people.env.write(path, "a secret\n");
    }
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, "a secret\n").unwrap();
    let path = format!("{}:/usr/bin:/bin", people.env.path("home/project/.venv/bin").display());
    let run = |place: &str| {
        let mut command = command(&people, &["run", "a", "--sandbox"]);
        Run::of(command.env("PATH", &path).current_dir(people.env.path(place)))
    };
    assert_eq!(run("home/project").stdout, "planted\n".repeat(4));
    assert_eq!(run("home/project").stdout, "planted\n".repeat(4));
    assert!(people.env.path("home/project/.venv/bin/rg").is_symlink());
    // Elsewhere, that folder is not the agent's, and only a program is opened by a link.
    let opened = "planted\nplanted\na secret\nREAD node\nplanted\nplanted\n";
    assert_eq!(run("home/next").stdout, opened);
}

#[test]
fn the_python_of_an_environment_elsewhere_can_be_started() {
    let people = people();
    if !has_landlock(&people, "the_python_of_an_environment_elsewhere_can_be_started") {
        return;
    }
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script("#!/bin/sh\nexec python3\n", &[]);
    // As a real one does, it ends if it cannot read the file that its environment has beside `bin`.
    let python = "#!/bin/sh\ncat \"${0%/*}/../pyvenv.cfg\" && echo started\ncat \"${0%/*}/../notes\" 2>/dev/null\n";
    people.env.write_program("home/venvs/x/bin/python3", python);
    people.env.write("home/venvs/x/pyvenv.cfg", "home = /usr/bin\n");
    people.env.write("home/venvs/x/notes", "a secret\n");
    let path = format!("{}:/usr/bin:/bin", people.env.path("home/venvs/x/bin").display());
    let run = Run::of(command(&people, &["run", "a", "--sandbox"]).env("PATH", path));
    assert_eq!(run.stdout, "home = /usr/bin\nstarted\n", "{}", run.stderr);
}

#[test]
fn files_that_its_starter_has_open_are_closed_to_an_agent() {
    let people = people();
    if !has_landlock(&people, "files_that_its_starter_has_open_are_closed_to_an_agent") {
        return;
    }
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script("#!/bin/sh\nexec 2>/dev/null\ncat <&9\necho end\n", &[]);
    let run = |flags: &[&str]| {
        let run = command(&people, &[&["run", "a"], flags].concat());
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 9<../.npmrc; exec \"$@\"", "sh"]).arg(run.get_program()).args(run.get_args());
        let variables = run.get_envs().filter_map(|(name, value)| Some((name, value?)));
        Run::of(shell.envs(variables).current_dir(people.env.path("home/project")).stdin(std::process::Stdio::null()))
    };
    assert_eq!(run(&[]).stdout, "secret of .npmrc\nend\n");
    let confined = run(&["--sandbox"]);
    assert_eq!((confined.stdout.as_str(), confined.code), ("end\n", 0), "{}", confined.stderr);
}

#[test]
fn a_home_of_an_agent_that_is_a_link_opens_nothing() {
    let people = people();
    if !has_landlock(&people, "a_home_of_an_agent_that_is_a_link_opens_nothing") {
        return;
    }
    let homes = people.root().join("homes");
    let _ = fs::remove_dir_all(&homes);
    // The home itself, the directory of all homes, and a link to nothing.
    for (link, target) in [("homes/a", "home"), ("homes", "home"), ("homes/a", "missing")] {
        let place = people.root().join(link);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(people.env.path(target), &place).unwrap();
        let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
        assert!(run.code == 4 && run.stdout.is_empty(), "{} {}", run.code, run.stdout);
        assert!(
            run.stderr.contains(&format!("{link} is a link, and what it leads to is not opened")),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("help: put the directory itself in its place"), "{}", run.stderr);
        fs::remove_file(&place).unwrap();
        let _ = fs::remove_dir(&homes);
    }
}

#[test]
fn a_home_that_cannot_be_made_is_a_matter_of_the_disk() {
    let people = people();
    if !has_landlock(&people, "a_home_that_cannot_be_made_is_a_matter_of_the_disk") {
        return;
    }
    let homes = people.root().join("homes");
    let _ = fs::remove_dir_all(&homes);
    fs::write(&homes, "").unwrap();
    let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
    assert!(run.code == 3 && run.stderr.contains("its own home cannot be made: "), "{} {}", run.code, run.stderr);
    assert!(
        run.stderr.contains("help: ") && run.stderr.contains("name another directory with --root"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_home_is_not_opened_as_a_working_directory() {
    let people = people();
    if !has_landlock(&people, "a_home_is_not_opened_as_a_working_directory") {
        return;
    }
    for place in ["home", ""] {
        let mut command = command(&people, &["run", "a", "--sandbox"]);
        let run = Run::of(command.current_dir(people.env.path(place)));
        assert!(run.code == 4 && run.stdout.is_empty(), "{place}: {}", run.stdout);
        assert!(run.stderr.contains("holds the home directory"), "{}", run.stderr);
        assert!(run.stderr.contains("help: start it in the directory of a project"), "{}", run.stderr);
    }
}

#[test]
fn another_sandbox_gets_the_program_and_its_arguments() {
    let people = People::new();
    people.install_script("#!/bin/sh\necho \"agent $* in $WRAPPED\"\n", &["acp"]);
    people.env.write_program("bin/jail", "#!/bin/sh\n[ \"$1\" = --quiet ] && shift\nWRAPPED=jail exec \"$@\"\n");
    let jail = people.env.path("bin/jail");
    let wrap = format!("{} --quiet", jail.display());
    let run = people.run(&["run", "a", "--wrap", &wrap, "--", "more"]);
    assert_eq!((run.stdout.as_str(), run.code), ("agent acp more in jail\n", 0), "{}", run.stderr);
    let run = people.run(&["run", "a", "--wrap", "no-such-program"]);
    assert!(run.code == 2 && run.stderr.contains("no such program"), "{}", run.stderr);
    let run = people.run(&["run", "a", "--wrap", &wrap, "--sandbox"]);
    assert_eq!(run.code, 2);
    // Settings start it in the same way.
    let (_, config) = people.json(&["config", "zed", "a", "--sandbox"]);
    assert!(config["args"].as_array().unwrap().iter().any(|word| word == "--sandbox"), "{config}");
}

#[test]
fn no_name_of_the_home_opens_it() {
    let people = people();
    if !has_landlock(&people, "no_name_of_the_home_opens_it") {
        return;
    }
    let (home, link) = (people.env.path("home"), people.env.path("link"));
    std::os::unix::fs::symlink(&home, &link).unwrap();
    // A runtime in it, named by the link.
    people.env.write_program("home/bin/rg", "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", link.join("bin").display());
    for named in [&home, &link] {
        let mut command = command(&people, &["run", "a", "--sandbox"]);
        let run = Run::of(command.env("PATH", &path).env("HOME", named));
        assert_eq!(run.stdout, "work\nown\ntemporary\nitself\nagent no socket\ndevice\n", "{}", run.stderr);
    }
    // What the agent leaves in its own home leads nobody elsewhere.
    let own = people.root().join("homes/a");
    fs::remove_dir_all(own.join("tmp")).unwrap();
    std::os::unix::fs::symlink(home.join("made"), own.join("tmp")).unwrap();
    let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
    assert!(run.stdout.contains("temporary") && !home.join("made").exists(), "{}{}", run.stdout, run.stderr);
}

#[test]
fn what_an_agent_may_touch_is_listed_for_people_programs_and_a_foreign_sandbox() {
    let people = people();
    let info = |more: &[&str]| Run::of(&mut command(&people, &[&["info", "a", "--permissions"], more].concat()));
    let document: serde_json::Value = serde_json::from_str(&info(&["--json"]).stdout).unwrap();
    let listed = &document["permissions"];
    let paths = |list: &serde_json::Value| -> Vec<std::path::PathBuf> {
        list.as_array().unwrap().iter().map(|path| path.as_str().unwrap().into()).collect()
    };
    let (writes, reads) = (paths(&listed["writes"]), paths(&listed["reads"]));
    let real = |path: &str| people.env.path(path).canonicalize().unwrap();
    let own = people.root().canonicalize().unwrap().join("homes/a");
    assert!(writes.contains(&real("home/project")) && writes.contains(&own), "{writes:?}");
    assert_eq!(listed["variables"]["HOME"], own.to_str().unwrap());
    assert!(!own.exists(), "to list is to write nothing");
    let home = real("home");
    for name in CANARIES {
        let canary = home.join(name);
        assert!(!writes.iter().chain(&reads).any(|path| canary.starts_with(path)), "{name} is opened");
    }
    // The profile of another program has the same paths.
    let profile: serde_json::Value = serde_json::from_str(&info(&["--format", "landlock"]).stdout).unwrap();
    let rules = profile["pathBeneath"].as_array().unwrap();
    assert_eq!((paths(&rules[0]["parent"]), paths(&rules[1]["parent"])), (reads, writes));
    assert_eq!(rules[0]["allowedAccess"], serde_json::json!(["execute", "read_file", "read_dir"]));
    let text = info(&[]).stdout;
    assert!(text.contains(&format!("may write    {}", own.display())), "{text}");
    // A form of the permissions only, of an agent that is there.
    let refused = people.run(&["info", "a", "--format", "landlock"]);
    assert!(refused.code == 2 && refused.stderr.contains("help: add --permissions"), "{}", refused.stderr);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    let refused = info(&[]);
    assert!(refused.code != 0 && refused.stderr.contains("acp-registry install a"), "{}", refused.stderr);
}

#[test]
fn a_profile_names_a_dollar_sign_as_its_form_wants() {
    let people = people();
    people.env.write("home/$HOME/file", "");
    let mut command = command(&people, &["info", "a", "--permissions", "--format", "landlock"]);
    let profile = Run::of(command.current_dir(people.env.path("home/$HOME"))).stdout;
    assert!(profile.contains("/home/$$HOME\""), "{profile}");
}

#[test]
fn without_a_network_an_agent_is_in_one_of_its_own() {
    let people = people();
    if !has_landlock(&people, "without_a_network_an_agent_is_in_one_of_its_own") {
        return;
    }
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script("#!/bin/sh\nreadlink /proc/self/ns/net\nid -u\necho x > made && echo work\n", &[]);
    let run = |more: &[&str]| Run::of(&mut command(&people, &[&["run", "a", "--sandbox"], more].concat()));
    let network = fs::read_link("/proc/self/ns/net").unwrap().display().to_string();
    let user = rustix::process::getuid().as_raw();
    assert_eq!(run(&[]).stdout, format!("{network}\n{user}\nwork\n"));
    assert_eq!(run(&["--network", "shared"]).stdout, format!("{network}\n{user}\nwork\n"));
    let none = run(&["--network", "none"]);
    if none.code == 4 && none.stderr.contains("cannot make a network namespace on this system") {
        assert!(none.stdout.is_empty() && none.stderr.contains("help: leave out --network none"), "{}", none.stderr);
        return skipped("without_a_network_an_agent_is_in_one_of_its_own", "this system has no network namespaces");
    }
    assert!(none.stdout.ends_with(&format!("\n{user}\nwork\n")), "{}{}", none.stdout, none.stderr);
    assert!(none.stdout.starts_with("net:[") && !none.stdout.contains(&network), "{}", none.stdout);
    assert_eq!(people.run(&["run", "a", "--network", "none"]).code, 2, "without a sandbox, it would do nothing");
}

#[test]
fn settings_start_an_agent_with_what_it_is_granted() {
    let people = people();
    for folder in ["other", "tools"] {
        fs::create_dir(people.env.path("home/project").join(folder)).unwrap();
    }
    let granted = ["--sandbox", "--writable", "other", "--readable", "tools", "--network", "none"];
    let mut command = command(&people, &[&["config", "zed", "a", "--json"], &granted[..]].concat());
    let document: serde_json::Value = serde_json::from_str(&Run::of(&mut command).stdout).unwrap();
    let words: Vec<_> = document["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let project = people.env.path("home/project");
    let (other, tools) = (project.join("other"), project.join("tools"));
    let expected = [
        "--sandbox",
        "--writable",
        other.to_str().unwrap(),
        "--readable",
        tools.to_str().unwrap(),
        "--network",
        "none",
    ];
    assert!(words.windows(expected.len()).any(|part| part == expected), "{words:?}");
}
