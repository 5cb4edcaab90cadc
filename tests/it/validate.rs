//! `validate`: selection of agents, rule levels, output.

use std::fs;

use serde_json::json;

use crate::support::Env;

#[test]
fn levels_come_from_the_configuration_and_flags_win_in_their_order() {
    let env = Env::with(&["a"]);
    fs::remove_file(env.path("r/a/icon.svg")).unwrap();
    let level = |arguments: &[&str]| {
        let (code, report) = env.json(&[&["validate"], arguments].concat());
        (code, report["findings"][0]["level"].as_str().map(ToOwned::to_owned))
    };
    assert_eq!(level(&[]), (0, Some("warning".into())));
    assert_eq!(level(&["--error", "icon/missing"]), (1, Some("error".into())));
    assert_eq!(level(&["--error", "warnings"]), (1, Some("error".into())));
    assert_eq!(level(&["--error", "icon/*", "--off", "icon/missing"]), (0, None));
    assert_eq!(level(&["--off", "icon/missing", "--error", "icon/*"]), (1, Some("error".into())));
    env.write("r/registry.toml", "[rules]\n\"icon/missing\" = \"error\"\n");
    assert_eq!(level(&[]), (1, Some("error".into())));
    assert_eq!(level(&["--warning", "icon/missing"]), (0, Some("warning".into())));
    env.write("r/registry.toml", "[rules]\nwarnings = \"error\"\n");
    assert_eq!(level(&[]), (1, Some("error".into())));
    env.write("r/registry.toml", "[rules]\n\"icon/missing\" = \"warn\"\n\"icon/*\" = \"error\"\n");
    assert_eq!(level(&[]), (0, Some("warning".into())));
    // The words of earlier versions, in their order among the others.
    assert_eq!(level(&["--deny", "icon/*", "--off", "icon/missing"]), (0, None));
    assert_eq!(level(&["--error", "icon/*", "--allow", "icon/missing", "--warn", "icon/missing"]).0, 0);
    for (rule, help) in [("icon/nonsense", "run `acp-registry rules`"), ("icon/mising", "did you mean `icon/missing`?")]
    {
        env.write("r/registry.toml", format!("[rules]\n\"{rule}\" = \"error\"\n"));
        let run = env.run(&["validate"]);
        let message = format!("registry.toml: there is no rule `{rule}`\nhelp: {help}");
        assert!(run.code == 2 && run.stderr.contains(&message), "{}", run.stderr);
    }
    env.write("r/registry.toml", "[rules]\n\"icon/missing\" = \"fatal\"\n");
    let run = env.run(&["validate"]);
    assert!(
        run.code == 2 && run.stderr.contains("unknown variant `fatal`, expected one of `error`, `warning`, `off`"),
        "{}",
        run.stderr
    );
}

#[test]
fn unknown_names_are_wrong_usage_with_a_suggestion() {
    let env = Env::with(&["codex"]);
    let run = env.run(&["validate", "codx"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("error: there is no agent `codx`\nhelp: did you mean `codex`?"), "{}", run.stderr);
    for command in ["validate", "verify"] {
        let run = env.run(&[command, "something"]);
        assert!(
            run.code == 2
                && run
                    .stderr
                    .contains("help: the registry has `codex`; `acp-registry new --registry-dir r` adds an agent"),
            "{}",
            run.stderr
        );
        let run = env.run(&[command, "--changed-since", "HEAD"]);
        assert!(run.code == 2 && run.stderr.contains("help: leave out --changed-since"), "{}", run.stderr);
    }
    let run = env.run(&["validate", "--fix"]);
    assert!(run.code == 0 && run.stderr.contains("add --archives"), "{}", run.stderr);
    for flag in ["--deny", "--warn", "--allow"] {
        let run = env.run(&["validate", flag, "icon/sise"]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("did you mean `icon/size`?"), "{}", run.stderr);
    }
    env.write("r/registry.toml", "[rules]\n\"icon/sise\" = \"deny\"\n");
    let run = env.run(&["validate"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("in the configuration") && run.stderr.contains("icon/size"), "{}", run.stderr);
}

#[test]
fn a_broken_configuration_is_shown_with_its_line() {
    let env = Env::with(&["a"]).file("r/registry.toml", "base-url = 1\n");
    let run = env.run(&["validate"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("registry.toml") && run.stderr.contains("base-url = 1") && run.stderr.contains("line 1"),
        "{}",
        run.stderr
    );
    for (text, help) in [
        ("baseurl = \"x\"\n", "did you mean `base-url`?"),
        ("[[views]]\nfile = \"registry.json\"\n", "did you mean `view`?"),
        ("[rules]\nicon/size = \"deny\"\n", "quote the key: \"icon/size\""),
        ("[archive-limits]\ncompressed = \"2GB\"\n", "write a whole number, without quotes and units"),
        ("base-url = 1\n", "correct r/registry.toml"),
    ] {
        env.write("r/registry.toml", text);
        let run = env.run(&["validate"]);
        assert!(
            run.code == 2 && run.stderr.replace('\\', "/").ends_with(&format!("help: {help}\n")),
            "{text}: {}",
            run.stderr
        );
    }
    // Ids below `[withdrawn]` that are mistakes, and some that are not.
    let withdrawn = "\"Aaaa\" = \"x\"\naaab = \"x\"\naaaa-old = \"x\"\nelse = \" \"\n";
    env.write("r/registry.toml", format!("[withdrawn]\n{withdrawn}"));
    fs::rename(env.path("r/a"), env.path("r/aaaa")).unwrap();
    let (_, report) = env.json(&["validate"]);
    let findings = report["findings"].as_array().unwrap();
    let own = findings.iter().filter(|finding| finding["rule"] == "registry/config");
    let told: Vec<String> = own.map(|finding| format!("{}; {}", finding["message"], finding["help"])).collect();
    let expected = [
        r#""`[withdrawn]` gives no reason for `else`"; "write why the agent is no longer published""#,
        r#""`[withdrawn]` names `Aaaa`, which is not a valid id"; "did you mean `aaaa`? If not, remove the id""#,
        r#""`[withdrawn]` names `aaab`, but there is no such agent"; "did you mean `aaaa`? If not, remove the id""#,
    ];
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(expected.iter().all(|text| told.iter().any(|told| told == text)), "{told:?}");
    fs::rename(env.path("r/aaaa"), env.path("r/a")).unwrap();
    let run = env.run(&["--config", "nowhere.toml", "validate"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nowhere.toml: there is no such file"), "{}", run.stderr);
}

#[test]
fn findings_about_the_configuration_name_the_file_that_was_read() {
    let env = Env::with(&["a"]);
    let text = "advisories.sources = [\"none.json\"]\n[agents.unknown]\n";
    for (path, file) in [("r/registry.toml", "registry.toml"), ("r/b.toml", "b.toml"), ("ci/c.toml", "../ci/c.toml")] {
        env.write(path, text);
        let flags = if path == "r/registry.toml" { vec!["validate"] } else { vec!["--config", path, "validate"] };
        let (code, report) = env.json(&flags);
        let found: Vec<_> =
            report["findings"].as_array().unwrap().iter().map(|one| (&one["rule"], &one["file"])).collect();
        let rules = [json!("advisory/unreadable"), json!("registry/config")];
        assert_eq!((code, found), (1, rules.iter().zip([&json!(file); 2]).collect()), "{report}");
        // Annotations have the path within the repository.
        let run = env.run(&[&flags[..], &["--format", "github"]].concat());
        assert_eq!(run.stdout.matches(&format!(" file={path},")).count(), 2, "{}", run.stdout);
        fs::remove_file(env.path(path)).unwrap();
    }
}

#[test]
fn only_the_named_agents_are_checked() {
    let env = Env::with(&["a", "b"]).file("r/b/icon.svg", "<svg").file("r/stray/x", "");
    let (code, report) = env.json(&["validate", "a"]);
    assert_eq!((code, report["findings"].as_array().unwrap().len()), (0, 0));
    assert_eq!(report["agents"].to_string(), r#"[{"id":"a","status":"ok"},{"id":"b","status":"skipped"}]"#);
    assert_eq!(report["summary"]["skipped"], 1);
    assert_eq!(report["summary"]["agents"], 2);
    assert_eq!(env.json(&["validate", "a", "b"]).0, 1);
    assert_eq!(env.json(&["validate", "r/a/"]).0, 0);
    // A folder of another registry with that name is not meant.
    env.write("other/a/agent.json", "broken");
    for path in ["other/a", "other/a/agent.json", "/nowhere/a"] {
        let run = env.run(&["validate", path]);
        let message = format!("error: `{path}` is not in the registry `");
        assert!(run.code == 2 && run.stderr.starts_with(&message), "{path}: {}", run.stderr);
    }
    let run = env.run(&["validate", "stray"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`stray` has no agent.json\nhelp: add one"), "{}", run.stderr);
    // A registry without agents is reported.
    let env = Env::empty().file("r/registry.toml", "");
    let run = env.run(&["validate"]);
    assert!(run.code == 0 && run.stderr.contains("note: the registry has no agents yet"), "{}", run.stderr);
    for format in ["human", "markdown"] {
        let run = env.run(&["verify", "--format", format]);
        assert!(
            run.code == 0 && run.stdout.starts_with("no agents to verify: the registry has none"),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn only_changed_agents_are_checked() {
    let env = Env::with(&["committed", "edited", "untouched"]).file("r/untouched/icon.svg", "<svg");
    env.git(&["init", "-q"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "first"]);
    env.write("r/committed/icon.svg", "<svg");
    env.git(&["commit", "-qam", "second"]);
    for (flags, why) in [
        (&["HEAD"][..], "none has changed since `HEAD`"),
        (&["HEAD~1", "--dist", "uvx"], "none of those that have changed has a distribution uvx"),
    ] {
        let run = env.run(&[&["verify", "--changed-since"], flags].concat());
        assert_eq!((run.code, run.stdout), (0, format!("no agents to verify: {why}\n")), "{}", run.stderr);
    }
    env.write("r/edited/icon.svg", "<svg");
    env.write("r/added/agent.json", "{");
    env.write("r/stray/agents.json", "{}");
    env.write("r/quarantine.json", "{ \"nobody\": \"x\" }");
    let files = |revision: &str| {
        let (code, report) = env.json(&["validate", "--changed-since", revision]);
        let mut files: Vec<_> =
            report["findings"].as_array().unwrap().iter().map(|f| f["file"].as_str().unwrap().to_owned()).collect();
        files.dedup();
        (code, files)
    };
    let all =
        ["added/agent.json", "added/icon.svg", "committed/icon.svg", "edited/icon.svg", "quarantine.json", "stray"];
    assert_eq!(files("HEAD~1"), (1, all.iter().map(|&file| file.to_owned()).collect()));
    let without_committed =
        all.iter().filter(|file| !file.starts_with("committed")).map(|&file| file.to_owned()).collect();
    assert_eq!(files("HEAD"), (1, without_committed));
    #[cfg(unix)]
    {
        for (target, link) in [(".store/folder", "r/folder"), ("../.store/file.json", "r/file/agent.json")] {
            fs::create_dir_all(env.path(link).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, env.path(link)).unwrap();
        }
        env.write("r/.store/folder/agent.json", "{}");
        env.write("r/.store/file.json", "{}");
        env.git(&["add", "."]);
        env.git(&["commit", "-qm", "links"]);
        env.write("r/.store/folder/agent.json", "[");
        env.write("r/.store/file.json", "[");
        let changed = files("HEAD").1;
        assert!(
            ["file/agent.json", "folder/agent.json"].iter().all(|file| changed.iter().any(|f| f == file)),
            "{changed:?}"
        );
    }
    let run = env.run(&["validate", "--changed-since", "nosuch"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("has no revision `nosuch`") && run.stderr.contains("fetch it first"), "{}", run.stderr);
    assert_eq!(env.run(&["validate", "--changed-since=--output=pwned"]).code, 2);
    assert!(!env.path("r/pwned").exists());
}

#[test]
fn outside_a_repository_changes_are_unknown() {
    let env = Env::with(&["a"]);
    let mut command = env.command(&["validate", "--changed-since", "HEAD"]);
    let run = crate::support::Run::of(command.env("GIT_CEILING_DIRECTORIES", env.path("r").parent().unwrap()));
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("not in a git repository"), "{}", run.stderr);
}

#[test]
fn one_run_writes_several_forms() {
    let env = Env::with(&["a"]).file("r/a/icon.svg", "<svg");
    let run =
        env.run(&["validate", "--output", "json=report.json", "--output", "markdown=report.md", "--format", "github"]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.starts_with("::error file=r/a/icon.svg,line=1,"), "{}", run.stdout);
    assert!(env.read("report.json").starts_with("{\n  \"schema\": 1"));
    assert!(env.read("report.md").starts_with("**1 agent checked"));
    let run = env.run(&["validate", "--output", "only.txt"]);
    assert_eq!(run.stdout, "");
    assert!(env.read("only.txt").contains("error[icon/syntax]"));
    assert_eq!(env.run(&["validate", "--output", "a", "--output", "b"]).code, 2);
    assert_eq!(env.run(&["validate", "--output", "xml=a"]).code, 2);
    for (outputs, message) in [
        (["a", "json=./a"], "error: `./a` would be written twice\nhelp: name another file with --output\n"),
        (["json=a", "sarif=r/../a"], "error: `r/../a` would be written twice\nhelp: name another file with --output\n"),
        (["a", "json=-"], "error: --output - names no file\nhelp: write --format FORMAT for stdout\n"),
    ] {
        let run = env.run(&["validate", "--output", outputs[0], "--output", outputs[1]]);
        assert_eq!((run.code, run.stderr.as_str()), (2, message));
    }
    let run = env.run(&["verify", "--out", "snapshot.json", "--output", "json=snapshot.json"]);
    assert!(run.code == 2 && run.stderr.contains("`snapshot.json` would be written twice"), "{}", run.stderr);
    let run = env.run(&["validate", "--output", "json=no/such/folder/x", "--output", "markdown=o.md"]);
    assert!(run.code == 3 && run.stderr.contains("error: no/such/folder/x: "), "{}", run.stderr);
    assert!(run.stderr.contains("\nhelp: create the directory"), "{}", run.stderr);
    assert!(!env.path("o.md").exists(), "found before the work");
}

#[cfg(unix)]
#[test]
fn outputs_go_where_the_path_leads() {
    let env = Env::with(&["a"]).file("real.json", "old");
    std::os::unix::fs::symlink("real.json", env.path("link.json")).unwrap();
    assert_eq!(env.run(&["validate", "--output", "json=link.json", "--output", "json=/dev/null"]).code, 0);
    assert!(env.path("link.json").is_symlink() && env.read("real.json").starts_with('{'));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn the_same_input_gives_the_same_output() {
    let env = Env::with(&["a", "b", "c"])
        .file("r/a/icon.svg", "<svg")
        .file("r/b/agent.json", "{}")
        .file("r/c/agent.json", "{\"id\":1}");
    let report = || {
        let (_, mut report) = env.json(&["validate"]);
        report["summary"]["duration_seconds"] = 0.into();
        report.to_string()
    };
    let first = report();
    for _ in 0..5 {
        assert_eq!(report(), first);
    }
}

#[test]
fn the_folder_named_registry_is_the_default() {
    let env = Env::with(&["a"]);
    fs::rename(env.path("r"), env.path("registry")).unwrap();
    let run = |folder: &str| {
        let mut command = std::process::Command::new(crate::support::PROGRAM);
        crate::support::scrub(&mut command);
        crate::support::Run::of(command.arg("validate").current_dir(env.path(folder))).stdout
    };
    assert_eq!(run("."), "1 agent checked: 0 errors, 0 warnings\n");
    assert_eq!(run("registry"), "1 agent checked: 0 errors, 0 warnings\n");
}
