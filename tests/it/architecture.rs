//! The edges between modules: data flows one way.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which modules each module may use. Whatever is not listed here does not compile past this test.
const ALLOWED: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("cause", &["text"]),
    ("digest", &[]),
    ("sums", &["text"]),
    ("json", &[]),
    ("source", &[]),
    ("finding", &["source"]),
    ("diff", &["json", "manifest", "text"]),
    ("sys", &["text"]),
    ("net", &["digest", "sys"]),
    ("manifest", &["source"]),
    ("upstream", &["json", "net", "sys"]),
    ("archive", &["manifest", "sys", "text"]),
    ("registry", &["manifest", "sys"]),
    ("config", &["manifest", "net", "registry", "sys"]),
    ("survey", &["archive", "digest", "manifest", "net", "sys", "upstream", "verify"]),
    (
        "check",
        &[
            "archive", "config", "finding", "handshake", "install", "manifest", "net", "registry", "source", "survey",
            "sys", "text", "upstream", "verify",
        ],
    ),
    ("handshake", &["cause", "manifest", "sys", "text"]),
    ("history", &["diff", "json", "sys", "text"]),
    ("install", &["archive", "cause", "digest", "json", "manifest", "net", "sys", "text", "upstream"]),
    ("catalog", &["digest", "json", "manifest", "net", "registry", "sys", "text"]),
    ("resolve", &["digest", "install", "manifest", "sys", "text"]),
    ("store", &["digest", "install", "json", "manifest", "resolve", "sys", "text"]),
    ("lockfile", &["digest", "install", "json", "manifest", "net", "resolve", "store", "sys", "text"]),
    ("doctor", &["handshake", "install", "store", "sys", "text"]),
    ("login", &["handshake", "store", "text"]),
    ("update", &["install", "manifest", "net", "resolve", "store", "upstream"]),
    ("verify", &["digest", "handshake", "install", "json", "manifest", "registry", "sys", "text"]),
    (
        "bump",
        &[
            "check", "config", "digest", "finding", "json", "manifest", "net", "registry", "source", "survey", "sys",
            "upstream",
        ],
    ),
    (
        "scaffold",
        &[
            "archive", "bump", "check", "config", "digest", "finding", "manifest", "net", "registry", "sys", "text",
            "upstream",
        ],
    ),
    ("propose", &["bump", "json", "manifest", "net", "sys", "text", "upstream"]),
    (
        "report",
        &[
            "bump", "check", "diff", "digest", "doctor", "finding", "handshake", "json", "login", "manifest",
            "propose", "publish", "source", "text", "verify",
        ],
    ),
    ("index", &["check", "config", "digest", "finding", "json", "manifest", "registry", "sums", "sys", "text"]),
    ("settings", &["json", "manifest", "text"]),
    ("site", &["check", "config", "digest", "history", "json", "manifest", "registry", "settings", "text"]),
    ("preview", &["site"]),
    ("publish", &["digest", "json", "net", "site", "sums", "sys", "text"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = items.partition(|path| path.is_dir());
    files.into_iter().chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The first part of a path below `src`, without its ending.
fn module_of(path: &Path, root: &Path) -> String {
    let first = path.strip_prefix(root).unwrap().components().next().unwrap();
    Path::new(&first).file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn modules_use_only_what_comes_before_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(&root) {
        let module = module_of(&path, &root);
        if ["main", "lib", "cli"].contains(&module.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("crate::") {
            let used: String = text[at + 7..].chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
            if used != module && ALLOWED.iter().any(|(known, _)| *known == used) {
                edges.entry(module.clone()).or_default().insert(used);
            }
        }
        edges.entry(module).or_default();
    }
    let allowed: BTreeMap<String, BTreeSet<String>> = ALLOWED
        .iter()
        .map(|(module, uses)| ((*module).to_owned(), uses.iter().map(|&used| used.to_owned()).collect()))
        .collect();
    assert_eq!(edges, allowed);
}

#[test]
fn only_the_command_line_prints_or_reads_the_environment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&root).into_iter().filter(|path| !path.starts_with(root.join("cli"))) {
        // Examples in comments are programs of their own.
        let text = fs::read_to_string(&path).unwrap();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        for forbidden in ["println!", "eprintln!", "io::stdout", "io::stderr", "env::var", "clap::"] {
            assert!(!code.contains(forbidden), "{} has {forbidden}", path.display());
        }
    }
}
