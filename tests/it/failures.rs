//! Unusable paths in arguments: each command reports the path once, as it was given, with help.

use std::fs;

use crate::support::Env;

/// Paths that cannot be used, relative to the directory of a test.
const PATHS: [&str; 5] = ["nothing", "file/below", "place", "empty.json", "list.json"];

/// Command lines that read or write a path, `@`, with the paths that they accept nevertheless.
const LINES: [(&str, &[&str]); 24] = [
    ("--registry-dir @ validate", &[]),
    ("--registry-dir @ build --out out", &[]),
    ("--registry-dir @ verify", &[]),
    ("--registry-dir @ bump", &[]),
    ("--registry-dir @ new x --npm y", &["place"]),
    ("--config @ validate", &["empty.json"]),
    ("list --index @", &[]),
    ("resolve one --index @", &[]),
    ("list --installed --root @", &["nothing", "place"]),
    ("diff @ r", &[]),
    ("report @", &[]),
    ("serve @", &[]),
    ("init @", &["nothing", "place"]),
    ("build --out out --previous @", &[]),
    ("build --out out --capabilities @", &[]),
    ("build --out out --history @", &[]),
    ("build --out @", &["nothing", "place"]),
    ("publish --from @ --to out", &[]),
    ("publish --from out --to @", &["nothing", "place"]),
    ("verify --reuse @", &["nothing"]),
    ("verify --out snapshot --merge 1/1=@", &["nothing", "empty.json", "list.json"]),
    ("verify --out @", &["nothing", "empty.json", "list.json"]),
    ("bump --state @", &["nothing"]),
    ("man --out @", &["nothing", "place"]),
];

/// Returns a part of a message that occurs twice in it.
fn said_twice(message: &str, path: &str) -> Option<String> {
    let parts: Vec<&str> = message.split([':', ';']).map(str::trim).collect();
    let same = parts.iter().enumerate().find(|(at, part)| !part.is_empty() && parts[..*at].contains(part));
    let words = ["be read", "cannot read", "be written", "there is no", "No such file", "not a directory", path];
    let again = || {
        let count = |words: &str| message.to_lowercase().matches(&words.to_lowercase()).count();
        let both = count("cannot read") + count("be read") > 1;
        words.into_iter().find(|words| count(words) > 1).or(both.then_some("cannot read"))
    };
    same.map(|(_, part)| (*part).to_owned()).or_else(|| again().map(ToOwned::to_owned))
}

fn scene() -> Env {
    let env = Env::with(&["one"]).file("file", "x").file("empty.json", "").file("list.json", "[]");
    fs::create_dir(env.path("place")).unwrap();
    env
}

#[cfg(unix)]
#[test]
fn a_path_is_named_once_with_one_cause_and_one_remedy() {
    let mut wrong = Vec::new();
    for (line, good) in LINES {
        for path in PATHS.into_iter().filter(|path| !good.contains(path)) {
            let env = scene();
            let arguments: Vec<String> = line.split(' ').map(|word| word.replace('@', path)).collect();
            if line.contains("--to @") {
                assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
            }
            let run = env.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            let line = arguments.join(" ");
            let (_, error) = run.stderr.split_once("error: ").unwrap_or_default();
            let (message, help) = error.split_once("\nhelp: ").unwrap_or((error, ""));
            let mut blame = |what: &str| wrong.push(format!("{line}: {what}: {}", run.stderr));
            if ![1, 2, 3].contains(&run.code) || message.is_empty() {
                blame("no failure");
            } else if let Some(part) = said_twice(message, path) {
                blame(&format!("says {part:?} twice"));
            } else if message.contains("struct ") {
                blame("speaks of the program's own types");
            } else if !message.contains(path) || message.contains(".new-") || message.contains(".tmp-") {
                blame("does not name the path");
            } else if help.is_empty() || message.contains(help.trim()) {
                blame("has no help");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_said_twice_is_noticed() {
    assert_eq!(said_twice("cannot read x: cannot be read: Not a directory", "x").as_deref(), Some("cannot read"));
    assert_eq!(said_twice("x: No such file: No such file", "x").as_deref(), Some("No such file"));
    assert_eq!(said_twice("folder: it is not at path folder", "folder").as_deref(), Some("folder"));
    assert_eq!(said_twice("x: cannot be read: Not a directory (os error 20)", "x/"), None);
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_takes_no_directory_is_named_as_it_was_given() {
    let run = scene().run(&["build", "--out", "/proc/x"]);
    let expected = "error: /proc/x: No such file or directory (os error 2)\n\
                    help: make the directory writable, or name another directory with --out\n";
    assert_eq!((run.code, run.stderr.as_str()), (3, expected));
}
