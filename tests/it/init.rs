//! `acp-registry init`

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::docs::COMMANDS;
use crate::support::{Env, ICON, manifest, tree};
#[cfg(unix)]
use crate::support::{PROGRAM, Run, scrub};

const FILES: [&str; 16] = [
    ".github/SETUP.md",
    ".github/acp-registry.env",
    ".github/actions/acp-registry/action.yml",
    ".github/actions/acp-registry/install.sh",
    ".github/dependabot.yml",
    ".github/pull_request_template.md",
    ".github/workflows/bump.yml",
    ".github/workflows/publish.yml",
    ".github/workflows/report.yml",
    ".github/workflows/validate.yml",
    ".github/workflows/verify-part.yml",
    ".github/workflows/verify.yml",
    ".gitignore",
    "CONTRIBUTING.md",
    "README.md",
    "registry.toml",
];

#[test]
fn a_new_registry_is_in_order_before_and_after_its_first_agent() {
    let env = Env::empty();
    let (code, document) = env.json(&["init", "r", "--program", "o/acp-registry@v1.2.3"]);
    assert_eq!((code, &document["files"]), (0, &json!(FILES)), "{document}");
    assert_eq!(document["left_to_do"].as_array().unwrap().len(), 3);
    let names: Vec<String> = tree(&env.path("r")).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, FILES);
    assert!(env.read("r/.github/acp-registry.env").ends_with("REPOSITORY=o/acp-registry\nVERSION=v1.2.3\n"));
    for command in ["validate", "bump"] {
        let run = env.run(&[command]);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    // Its workflows run before its first agent is there.
    assert_eq!(env.run(&["build", "--out", "dist"]).code, 0);
    let env = env.file("r/first/agent.json", manifest("first")).file("r/first/icon.svg", ICON);
    let (code, report) = env.json(&["validate", "--deny", "warnings"]);
    assert_eq!((code, &report["findings"]), (0, &json!([])));
    let run = env.run(&["build", "--out", "dist"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("`base-url` is not set in registry.toml"), "{}", run.stderr);
    let run = env.run(&["build", "--out", "dist", "--base-url", "https://h.example/v1/latest"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}

/// A file that is written in its place is cut if the program is killed, and the next run keeps it.
#[cfg(target_os = "linux")]
#[test]
fn every_file_appears_as_a_whole() {
    use std::mem::MaybeUninit;

    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};

    let env = Env::empty();
    let watch = init(CreateFlags::NONBLOCK).unwrap();
    let path = env.path("r");
    let number = add_watch(&watch, &path, WatchFlags::CREATE | WatchFlags::MOVED_TO).unwrap();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut events = Reader::new(&watch, &mut buffer);
    let mut moved = Vec::new();
    while let Ok(event) = events.next() {
        assert_eq!(event.wd(), number);
        let name = event.file_name().unwrap().to_str().unwrap().to_owned();
        if event.events().contains(ReadFlags::MOVED_TO) {
            moved.push(name);
        } else {
            assert!(name == ".github" || !FILES.contains(&name.as_str()), "{name} is written in its place");
        }
    }
    assert_eq!(moved, [".gitignore", "CONTRIBUTING.md", "README.md", "registry.toml"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_written_is_named_and_nothing_stays() {
    let env = Env::empty();
    let script = "ulimit -f 1; trap '' XFSZ; exec \"$0\" init new";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, PROGRAM]).current_dir(env.path("."));
    scrub(&mut command);
    let run = Run::of(&mut command);
    let start = "error: new/.github/SETUP.md: File too large (os error 27)\nhelp: allow larger files";
    assert!(run.code == 3 && run.stderr.starts_with(start), "{}", run.stderr);
    assert!(!env.path("new").exists());
}

#[test]
fn github_pages_give_the_address_of_the_registry() {
    let env = Env::empty();
    let arguments = ["init", "r", "--program", "o/acp-registry@v1.2.3", "--pages", "Someone/agents"];
    let (code, document) = env.json(&arguments);
    assert_eq!(code, 0, "{document}");
    let left = document["left_to_do"].as_array().unwrap();
    let left: Vec<&str> = left.iter().map(|item| item.as_str().unwrap()).collect();
    assert!(left[0].contains("repos/Someone/agents/pages") && left[1].contains("PUBLISH_TO"), "{left:?}");
    assert!(!left.iter().any(|item| item.contains("base-url")), "{left:?}");
    let env = env.file("r/first/agent.json", manifest("first")).file("r/first/icon.svg", ICON);
    let run = env.run(&["build", "--out", "dist"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(env.read("dist/registry.json").contains("https://someone.github.io/agents/latest/first.svg"));
    assert!(env.read("dist/index.html").contains("https://github.com/Someone/agents"));
    let (_, document) = env.json(&arguments);
    assert!(!document["left_to_do"].to_string().contains("base-url"), "{document}");
    // An existing configuration is kept, and the user has to set its `base-url`.
    env.write("r/registry.toml", "base-url = \"https://other.example\"\n");
    let (_, document) = env.json(&arguments);
    assert!(document["left_to_do"].to_string().contains("https://someone.github.io/agents/latest"), "{document}");
    for wrong in ["o/r@v1", "octo"] {
        let run = env.run(&["init", "new", "--pages", wrong]);
        assert!(
            run.code == 2 && run.stderr.contains("tip: write a repository as `OWNER/REPO`, without a tag"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn files_that_are_there_are_named_and_stay() {
    let env = Env::empty().file("r/README.md", "mine").file("r/.gitignore", "mine");
    let run = env.run(&["init", "r", "--dry-run"]);
    assert!(run.code == 0 && run.stdout.starts_with("a registry would be created in r\n"), "{}", run.stdout);
    let (_, would) = env.json(&["init", "r", "--dry-run"]);
    assert_eq!((&would["dry_run"], &would["kept"]), (&json!(true), &json!([".gitignore", "README.md"])));
    assert_eq!(tree(&env.path("r")).len(), 2);
    let run = env.run(&["init", "r", "--program", "o/acp-registry@v1.2.3"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let stays = "files that exist stay as they are:\n  .gitignore\n  README.md\n";
    assert!(run.stdout.contains(stays) && run.stdout.contains("have `/dist`"), "{}", run.stdout);
    assert_eq!((env.read("r/README.md"), env.read("r/.gitignore")), ("mine".to_owned(), "mine".to_owned()));
    let (code, document) = env.json(&["init", "r"]);
    assert_eq!((code, &document["files"], &document["kept"]), (0, &json!([]), &json!(FILES)));
    for tag in ["v1/../../x", "v$(id)", "-x", "."] {
        let run = env.run(&["init", "other", "--program", &format!("o/r@{tag}")]);
        assert!(run.code == 2 && run.stderr.contains("is no version of this program"), "{tag}: {}", run.stderr);
    }
    assert!(!env.path("other").exists());
    // Existing directories with other files are accepted, and missing ones are created.
    let env = Env::empty().file("r/LICENSE", "mine");
    assert_eq!(env.run(&["init", "r"]).code, 0);
    assert_eq!(env.run(&["init", "a/new/one"]).code, 0);
    assert_eq!(env.read("r/LICENSE"), "mine");
    let run = env.run(&["init", "r/LICENSE/x"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
}

#[test]
fn a_second_run_asks_for_nothing_that_is_there() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r", "--program", "o/acp-registry@v1.2.3"]).code, 0);
    let (_, document) = env.json(&["init", "r"]);
    let left = json!(["set `base-url` in `registry.toml`", "add an agent: `acp-registry new ID --npm PACKAGE`"]);
    assert_eq!(document["left_to_do"], left);
    let config = format!("base-url = \"https://h.example/v1/latest\"\n{}", env.read("r/registry.toml"));
    let env = env.file("r/registry.toml", config).file("r/first/agent.json", manifest("first"));
    let before = tree(&env.path("r"));
    let run = env.run(&["init", "r"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "r has all files of a registry; nothing was changed\n"));
    assert!(tree(&env.path("r")) == before);
}

#[test]
fn without_a_known_release_the_person_is_told() {
    let env = Env::empty();
    let run = env.run(&["init", "new"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Cargo.toml says where releases are, as soon as there is such a place.
    let home = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    assert_eq!(run.stdout.contains("say in `.github/acp-registry.env`"), home.is_empty(), "{}", run.stdout);
    assert!(env.read("new/.github/acp-registry.env").contains(&format!("REPOSITORY={home}\n")));
    assert_eq!(env.run(&["init", "other", "--program", "not a repository"]).code, 2);
}

/// The workflows of this project are those of new registries.
#[test]
fn the_workflows_are_those_of_this_project() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in FILES.iter().filter(|file| file.contains("workflows/") || file.contains("actions/")) {
        assert_eq!(env.read(&format!("r/{file}")), fs::read_to_string(own.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn every_command_in_the_texts_is_one() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    let mut seen = 0;
    // The action refers to the program and its arguments.
    for file in FILES.iter().filter(|file| !file.contains("actions/")) {
        let text = env.read(&format!("r/{file}"));
        let text = text.replace("<!-- acp-registry report -->", "");
        for rest in text.split("acp-registry ").skip(1) {
            let word: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            assert!(
                COMMANDS.contains(&word.as_str()) || ["publish", "diff"].contains(&word.as_str()),
                "{file}: {word}"
            );
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen}");
}
