//! Git in checkouts with hostile content.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use acp_registry::history::{Extent, History};
use acp_registry::host::git::{Remote, Repository, changed_paths};

use crate::support::{Env, ICON, Run, manifest, skipped};

/// A checkout whose `registry/` looks like a bare repository. Its configuration runs a program wherever git can be made
/// to run one; the program creates a marker file.
struct Hostile {
    env: Env,
}

impl Hostile {
    fn new() -> Self {
        let env = Env::empty();
        env.write("r/registry/a/agent.json", manifest("a"));
        env.write("r/registry/a/icon.svg", ICON);
        env.git(&["init", "-q"]);
        env.git(&["config", "user.name", "Bot"]);
        env.git(&["config", "user.email", "bot@example.com"]);
        env.git(&["remote", "add", "origin", "../remote"]);
        env.git(&["init", "-q", "--bare", "../remote"]);
        commit(&env, "one");
        let hostile = Self { env };
        hostile.add();
        commit(&hostile.env, "two");
        hostile
    }

    /// The files that the branch adds.
    fn add(&self) {
        let registry = self.env.path("r/registry");
        let run = format!("touch {}; cat", self.marker().display());
        self.env.write("r/registry/HEAD", "ref: refs/heads/main\n");
        let config = format!(
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = {}\n\tfsmonitor = \"{run}\"\n\
             \tsshCommand = \"{run}\"\n\thooksPath = {}\n\tpager = \"{run}\"\n[filter \"x\"]\n\tclean = \"{run}\"\n\
             \tsmudge = \"{run}\"\n[diff]\n\texternal = \"{run}\"\n[diff \"x\"]\n\ttextconv = \"{run}\"\n\
             [credential]\n\thelper = \"!{run}\"\n[remote \"origin\"]\n\turl = \"ext::sh -c '{run}' %S\"\n\
             [url \"ext::sh -c '{run}' %S\"]\n\tinsteadOf = ../\n",
            registry.display(),
            registry.join("hooks").display()
        );
        self.env.write("r/registry/config", config);
        self.env.write("r/registry/refs/heads/keep", "");
        let objects = self.env.path("r/.git/objects");
        self.env.write("r/registry/objects/info/alternates", format!("{}\n", objects.display()));
        self.env.write("r/registry/refs/heads/main", self.env.read("r/.git/refs/heads/main"));
        self.env.write("r/registry/.gitattributes", "* filter=x diff=x\n");
        for hook in ["post-index-change", "pre-push", "reference-transaction"] {
            self.env.write_program(&format!("r/registry/hooks/{hook}"), &format!("#!/bin/sh\n{run}\n"));
        }
        self.env.write("r/registry/a/agent.json", manifest("a").replace("Made for", "Written for"));
    }

    fn marker(&self) -> PathBuf {
        self.env.path("marker")
    }

    fn registry(&self) -> PathBuf {
        self.env.path("r/registry")
    }

    fn assert_unharmed(&self, after: &str) {
        assert!(!self.marker().exists(), "{after} ran a program that the checkout names");
    }
}

fn commit(env: &Env, message: &str) {
    env.git(&["add", "-A", "-f"]);
    env.git(&["commit", "-qm", message]);
}

/// Runs git in a directory, as a user would.
fn git_in(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=P", "-c", "user.email=p@example.com"]).args(arguments).current_dir(folder);
    Run::of(&mut command)
}

fn changed(folder: &Path, revision: &str) -> Vec<String> {
    changed_paths(folder, revision).unwrap().into_iter().collect()
}

#[test]
fn a_checkout_that_looks_like_a_repository_runs_nothing() {
    let hostile = Hostile::new();
    // If git is started there, it runs the program.
    git_in(&hostile.registry(), &["-c", "safe.bareRepository=all", "add", "-A", "."]);
    assert!(hostile.marker().exists(), "the attack does not work, so this test proves nothing");
    fs::remove_file(hostile.marker()).unwrap();

    let env = &hostile.env;
    for arguments in [
        &["validate", "--changed-since", "HEAD^1", "--json"][..],
        &["verify", "--changed-since", "HEAD^1", "--dist", "binary", "--json"],
        &["build", "--out", "dist"],
    ] {
        let run = env.run(&[&["--registry-dir", "r/registry"], arguments].concat());
        hostile.assert_unharmed(arguments[0]);
        assert!(run.code <= 1, "{arguments:?} {} {}", run.code, run.stderr);
    }
    let paths = changed(&hostile.registry(), "HEAD^1");
    for path in ["HEAD", "a/agent.json", "objects/info/alternates"] {
        assert!(paths.contains(&path.to_owned()), "{path} {paths:?}");
    }
    assert!(!paths.contains(&"a/icon.svg".to_owned()), "{paths:?}");
    assert_eq!(*History::read(&hostile.registry()).0.extent(), Extent::Whole);
    hostile.assert_unharmed("the history");
}

#[test]
fn a_checkout_that_looks_like_a_repository_has_no_remote() {
    let hostile = Hostile::new();
    let remote = Remote::new(&hostile.registry(), "origin").unwrap();
    assert_eq!(remote.address().unwrap(), "../remote");
    let identity = remote.configured_identity().unwrap();
    let head = remote.head().unwrap();
    let commit = remote.commit(&head, &[("a/agent.json", b"new")], "Update a", &identity).unwrap();
    remote.push("bump/a", &commit, None).unwrap();
    let branches = remote.branches("bump/").unwrap();
    assert!(remote.is_own(&branches[0], &identity).unwrap());
    remote.delete(&branches[0]).unwrap();
    hostile.assert_unharmed("a push");
}

#[test]
fn files_of_git_are_errors() {
    let hostile = Hostile::new();
    let env = &hostile.env;
    env.write("r/registry/a/HEAD", "ref: refs/heads/main\n");
    env.write("r/registry/a/refs/x", "");
    let (code, report) = env.json(&["--registry-dir", "r/registry", "validate"]);
    let found = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "registry/git-files");
    let files: Vec<&str> = found.map(|finding| finding["file"].as_str().unwrap()).collect();
    assert_eq!((code, files), (1, vec!["HEAD", "a/HEAD", "a/refs", "config", "objects", "refs"]));
    // `--changed-since` finds them as well.
    let (code, report) = env.json(&["--registry-dir", "r/registry", "validate", "--changed-since", "HEAD^1"]);
    let count = report["findings"].as_array().unwrap().iter().filter(|one| one["rule"] == "registry/git-files").count();
    assert_eq!((code, count), (1, 6), "{report:#}");

    // An agent may have such an id, and a registry may be the root of its checkout.
    let env = Env::with(&["refs", "objects", "config"]);
    env.git(&["init", "-q"]);
    assert_eq!(env.findings(), (0, Vec::new()));
}

#[test]
fn filters_and_hooks_of_the_repository_do_not_answer() {
    let env = Env::with(&["a", "b"]);
    let marker = env.path("marker");
    env.git(&["init", "-q"]);
    env.write("r/.gitattributes", "* filter=x diff=x\n");
    commit(&env, "one");
    let run = format!("touch {}; cat", marker.display());
    for key in ["filter.x.clean", "filter.x.process", "diff.x.textconv", "diff.external", "core.fsmonitor"] {
        env.git(&["config", key, &run]);
    }
    // The modification time differs from that in the index, so that git reads the file.
    env.write("r/a/agent.json", manifest("a"));
    git_in(&env.path("r"), &["diff", "HEAD"]);
    assert!(marker.exists(), "the attack does not work, so this test proves nothing");
    fs::remove_file(&marker).unwrap();
    env.write("r/a/agent.json", manifest("a"));
    assert_eq!(changed(&env.path("r"), "HEAD"), [] as [&str; 0]);
    env.write("r/b/agent.json", manifest("b").replace("Made for", "Written for"));
    assert_eq!(changed(&env.path("r"), "HEAD"), ["b/agent.json"]);
    let _ = History::read(&env.path("r")).0;
    assert!(!marker.exists());
}

/// The result equals that of `git diff` and `git ls-files` for every kind of change.
#[test]
fn what_has_changed_is_what_git_says() {
    let env = Env::empty();
    env.git(&["init", "-q"]);
    for name in
        ["same", "edited", "staged", "gone", "unstaged", "linked", "back", "large", "old name", "crlf", "ä\n\"x"]
    {
        env.write(&format!("r/sub/{name}/agent.json"), format!("{name}\n"));
    }
    env.write("r/sub/large/agent.json", "x".repeat(3 << 20));
    env.write("r/sub/large/icon.svg", "y".repeat(3 << 20));
    env.write("r/beside", "1");
    symlink("same", env.path("r/sub/link")).unwrap();
    symlink("same", env.path("r/sub/moved")).unwrap();
    env.write("r/.gitignore", "ignored\n");
    commit(&env, "one");
    env.write("r/sub/edited/agent.json", "edited!\n");
    env.write("r/sub/staged/agent.json", "staged!\n");
    env.git(&["add", "-A"]);
    env.write("r/sub/back/agent.json", "other\n");
    env.git(&["add", "-A"]);
    env.write("r/sub/back/agent.json", "back\n");
    env.write("r/sub/unstaged/agent.json", "UNSTAGED\n");
    fs::remove_dir_all(env.path("r/sub/gone")).unwrap();
    fs::remove_file(env.path("r/sub/linked/agent.json")).unwrap();
    symlink("../same/agent.json", env.path("r/sub/linked/agent.json")).unwrap();
    fs::remove_file(env.path("r/sub/moved")).unwrap();
    symlink("edited", env.path("r/sub/moved")).unwrap();
    fs::rename(env.path("r/sub/old name"), env.path("r/sub/new name")).unwrap();
    env.write("r/sub/large/icon.svg", format!("{}z", "y".repeat((3 << 20) - 1)));
    env.write("r/sub/ä\n\"x/icon.svg", "new\n");
    env.write("r/sub/ignored", "");
    env.write("r/beside", "2");
    let folder = env.path("r/sub");
    let ask = |arguments: &[&str]| {
        let run = git_in(&folder, arguments);
        let paths = run.stdout.split('\0').filter(|path| !path.is_empty()).map(ToOwned::to_owned);
        paths.collect::<BTreeSet<String>>()
    };
    let mut expected = ask(&["diff", "--no-renames", "--name-only", "--relative", "-z", "HEAD", "--", "."]);
    expected.extend(ask(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."]));
    // The index differs although the file equals the commit. The agent is checked nevertheless: checking too much is
    // safe.
    expected.insert("back/agent.json".to_owned());
    // So is what a link leads to.
    expected.insert("link".to_owned());
    assert_eq!(changed_paths(&folder, "HEAD").unwrap(), expected);
    assert_eq!(expected.len(), 12, "{expected:?}");
    // CRLF line ends, as git writes them on Windows, are not a change.
    commit(&env, "two");
    let links = ["link", "linked/agent.json", "moved"];
    assert_eq!(changed(&folder, "HEAD"), links);
    env.git(&["config", "core.autocrlf", "true"]);
    env.write("r/sub/crlf/agent.json", "crlf\r\n");
    assert_eq!(changed(&folder, "HEAD"), links);
    for wrong in ["nosuch", "--output=x", "HEAD:beside", "HEAD^..HEAD"] {
        let error = changed_paths(&folder, wrong).unwrap_err();
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("fetch it first")), "{wrong}: {error}");
    }
}

#[test]
fn a_change_of_the_configuration_or_the_snapshot_is_judged() {
    let env = Env::with(&["a", "b"]);
    env.git(&["init", "-q"]);
    commit(&env, "one");
    let check = || {
        let run = env.run(&["validate", "--changed-since", "HEAD", "--json"]);
        let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let findings = report["findings"].as_array().unwrap().iter();
        let findings = findings.map(|finding| format!("{} {}", text(&finding["agent"]), text(&finding["rule"])));
        (run.code, findings.collect::<BTreeSet<_>>())
    };
    let found = |findings: &[&str]| findings.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(check(), (0, found(&[])));
    env.write("r/registry.toml", "[withdrawn]\na = \"gone\"\nb = \"gone\"\n");
    assert_eq!(check(), (0, found(&[" registry/config"])));
    fs::remove_file(env.path("r/registry.toml")).unwrap();
    env.write("r/capabilities.json", "{");
    assert_eq!(check(), (1, found(&[" registry/snapshot"])));
}

#[test]
fn a_caller_s_variables_choose_no_repository() {
    let hostile = Hostile::new();
    let env = &hostile.env;
    let registry = hostile.registry();
    let marker = format!("touch {}; cat", hostile.marker().display());
    let mut command = env.command(&["--registry-dir", "r/registry", "validate", "--changed-since", "HEAD^1", "--json"]);
    command.env("GIT_DIR", &registry).env("GIT_WORK_TREE", &registry).env("GIT_INDEX_FILE", registry.join("index"));
    command.env("GIT_OBJECT_DIRECTORY", registry.join("objects")).env("GIT_EXTERNAL_DIFF", &marker);
    command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "core.fsmonitor").env("GIT_CONFIG_VALUE_0", &marker);
    command.env("GIT_CONFIG_PARAMETERS", format!("'core.fsmonitor={marker}'"));
    command.env("GIT_ALLOW_PROTOCOL", "ext:file").env("GIT_CEILING_DIRECTORIES", &registry);
    let run = Run::of(&mut command);
    assert!(run.code == 1 && run.stdout.contains("registry/git-files"), "{} {}", run.code, run.stderr);
    hostile.assert_unharmed("validate");
}

#[test]
fn linked_work_trees_and_submodules_are_repositories() {
    let env = Env::with(&["a"]);
    env.git(&["init", "-q"]);
    commit(&env, "one");
    env.git(&["worktree", "add", "-q", "../linked"]);
    env.git(&["worktree", "add", "-q", "-b", "inner", "trees/inner"]);
    git_in(&env.path("."), &["init", "-q", "outer"]);
    let source = env.path("r").display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &source, "registry"];
    let run = git_in(&env.path("outer"), &add);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for folder in ["linked", "r/trees/inner", "outer/registry"] {
        assert_eq!(changed(&env.path(folder), "HEAD"), [] as [&str; 0], "{folder}");
        env.write(&format!("{folder}/b/agent.json"), manifest("b"));
        assert_eq!(changed(&env.path(folder), "HEAD"), ["b/agent.json"], "{folder}");
        assert_eq!(History::read(&env.path(folder)).0.events().len(), 1, "{folder}");
        let remote = Remote::new(&env.path(folder), "origin").unwrap();
        assert_eq!(remote.head().unwrap().len(), 40, "{folder}");
    }
}

#[test]
fn a_git_file_that_leads_into_the_checkout_is_refused() {
    let hostile = Hostile::new();
    let env = &hostile.env;
    env.write("r/registry/a/.git", "gitdir: ..\n");
    let error = Repository::around(&env.path("r/registry/a")).unwrap_err().to_string();
    assert!(error.contains("inside the checkout"), "{error}");
    fs::remove_file(env.path("r/registry/a/.git")).unwrap();
    symlink("..", env.path("r/registry/a/.git")).unwrap();
    assert!(Repository::around(&env.path("r/registry/a")).is_err());
    // An empty directory named `.git` is not a repository.
    fs::remove_file(env.path("r/registry/a/.git")).unwrap();
    fs::create_dir(env.path("r/registry/a/.git")).unwrap();
    assert!(Repository::around(&env.path("r/registry/a")).is_ok());
    let error = Repository::around(Path::new("/")).unwrap_err().to_string();
    assert!(error.contains("not in a git repository"), "{error}");
    hostile.assert_unharmed("the search");
}

#[test]
fn a_remote_runs_no_command_and_is_no_folder_of_the_checkout() {
    let env = Env::with(&["a"]);
    let marker = env.path("marker");
    env.git(&["init", "-q"]);
    commit(&env, "one");
    git_in(&env.path("r"), &["init", "-q", "--bare", "inside"]);
    env.git(&["config", "protocol.ext.allow", "always"]);
    env.git(&["remote", "add", "origin", &format!("ext::sh -c 'touch {}' %S", marker.display())]);
    let remote = Remote::new(&env.path("r"), "origin").unwrap();
    let error = remote.branches("x").unwrap_err().to_string();
    assert!(error.contains("'ext' not allowed") && !marker.exists(), "{error}");
    // Another transport is refused as well.
    let other = format!("ext::sh -c 'touch {}' %S", marker.display());
    assert!(Remote::new(&env.path("r"), &other).unwrap().branches("x").is_err() && !marker.exists());
    for (address, word) in [("inside", "inside the checkout"), ("../r/inside", "inside the checkout")] {
        env.git(&["remote", "set-url", "origin", address]);
        let error = Remote::new(&env.path("r"), "origin").unwrap_err().to_string();
        assert!(error.contains(word), "{address}: {error}");
    }
    env.git(&["remote", "set-url", "origin", &format!("file://{}", env.path("r/inside").display())]);
    let error = Remote::new(&env.path("r"), "origin").unwrap().branches("x").unwrap_err().to_string();
    assert!(error.contains("'file' not allowed"), "{error}");
}

/// With `--git-dir`, git does not check who owns a repository, whose configuration names programs.
#[test]
fn a_repository_of_another_user_is_not_trusted() {
    let env = Env::with(&["a"]);
    env.git(&["init", "-q"]);
    commit(&env, "one");
    for path in ["r", "r/.git"] {
        if std::os::unix::fs::chown(env.path(path), Some(12_345), None).is_err() {
            return skipped("a_repository_of_another_user_is_not_trusted", "only root may give files away");
        }
    }
    let run = |home: &str| {
        let mut command = env.command(&["validate", "--changed-since", "HEAD"]);
        Run::of(command.env("HOME", env.path(home)))
    };
    let refused = run("nowhere");
    assert!(refused.code == 2 && refused.stderr.contains("dubious ownership"), "{} {}", refused.code, refused.stderr);
    // As in containers, where the checkout belongs to a user of the host.
    env.write(
        "home/.gitconfig",
        format!("[safe]\n\tdirectory = {}\n", env.path("r").canonicalize().unwrap().display()),
    );
    let trusted = run("home");
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
}
