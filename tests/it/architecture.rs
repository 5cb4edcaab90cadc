//! Checks which modules use which: data flows in one direction.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skipped;

/// The modules of each crate, and the modules that each may use. Dependencies between crates are in their `Cargo.toml`.
const ALLOWED: &[(&str, &str, &[&str])] = &[
    ("plan", "text", &[]),
    ("plan", "digest", &[]),
    ("plan", "json", &[]),
    ("plan", "position", &[]),
    ("plan", "timestamp", &["text"]),
    ("plan", "failure", &["text", "timestamp"]),
    ("plan", "manifest", &["json", "position", "text", "timestamp"]),
    ("plan", "sums", &["text"]),
    ("plan", "closure", &["digest", "json", "manifest", "text", "timestamp"]),
    ("plan", "versions", &["json", "manifest", "text", "timestamp"]),
    ("plan", "statement", &["digest", "sums", "text", "timestamp"]),
    ("plan", "index", &["digest", "json", "manifest", "text", "failure", "timestamp", "statement", "versions"]),
    ("plan", "resolve", &["closure", "digest", "manifest", "failure", "text", "versions"]),
    ("plan", "revocations", &["json", "manifest", "text"]),
    ("plan", "documents", &["index", "json", "manifest", "resolve", "timestamp", "failure", "statement", "versions"]),
    ("plan", "duration", &[]),
    ("plan", "entries", &["digest", "manifest", "sums", "statement"]),
    ("wasm", "answers", &["documents", "index", "manifest", "resolve", "text", "failure"]),
    ("protocol", "handshake", &["host", "json", "manifest", "text", "failure"]),
    ("remote", "media", &[]),
    ("remote", "message", &[]),
    ("remote", "endpoint", &["http", "failure", "text"]),
    ("remote", "client", &["endpoint", "media", "message", "text"]),
    ("remote", "events", &["client"]),
    ("remote", "wire", &["client", "endpoint", "events", "media"]),
    ("remote", "bridge", &["client", "endpoint", "events", "message", "failure", "text"]),
    ("remote", "serve", &["media", "message", "host", "digest", "text"]),
    ("remote", "tests", &["bridge", "http"]),
    ("examine", "mcp", &["json", "host"]),
    ("examine", "model", &["json", "mcp", "text"]),
    ("examine", "examination", &["handshake", "json", "mcp", "model", "host", "text"]),
    ("client", "provenance", &["closure", "digest", "failure", "host", "manifest", "sources", "text"]),
    (
        "client",
        "install",
        &[
            "archive", "digest", "host", "http", "json", "manifest", "resolve", "text", "timestamp", "sources",
            "closure", "provenance",
        ],
    ),
    ("client", "registry", &["host", "manifest", "position", "timestamp", "failure", "revocations", "closure"]),
    (
        "client",
        "index",
        &[
            "archive", "digest", "entries", "manifest", "http", "registry", "failure", "host", "text", "revocations",
            "timestamp", "statement", "sums", "versions", "closure",
        ],
    ),
    ("client", "resolve", &["manifest", "host"]),
    (
        "client",
        "store",
        &[
            "documents", "install", "json", "manifest", "failure", "resolve", "host", "text", "timestamp",
            "provenance", "revocations",
        ],
    ),
    (
        "client",
        "lockfile",
        &[
            "digest", "install", "manifest", "http", "failure", "resolve", "position", "store", "host", "text",
            "closure",
        ],
    ),
    (
        "client",
        "doctor",
        &["failure", "handshake", "install", "manifest", "store", "host", "text", "revocations", "resolve"],
    ),
    ("client", "login", &["handshake", "install", "store", "text"]),
    ("client", "elsewhere", &["digest", "failure", "host", "manifest", "text"]),
    ("client", "settings", &["failure", "host", "json", "manifest", "text"]),
    (
        "client",
        "session",
        &[
            "doctor", "handshake", "index", "install", "manifest", "http", "resolve", "store", "host", "text",
            "sources", "failure", "revocations", "versions", "closure", "json", "provenance",
        ],
    ),
    (
        "client",
        "ops",
        &[
            "doctor", "documents", "failure", "handshake", "host", "http", "index", "install", "lockfile", "login",
            "manifest", "resolve", "session", "sources", "store", "text", "timestamp", "revocations", "versions",
            "json", "provenance",
        ],
    ),
    ("gate", "finding", &["position"]),
    ("gate", "release", &[]),
    ("gate", "history", &["json", "manifest", "registry", "release", "host", "text", "timestamp", "versions"]),
    (
        "gate",
        "config",
        &[
            "archive", "closure", "duration", "entries", "examination", "finding", "history", "manifest", "http",
            "index", "registry", "revocations", "statement", "versions", "host", "failure", "text", "timestamp",
        ],
    ),
    ("gate", "advisories", &["archive", "closure", "config", "host", "http", "manifest", "registry", "text"]),
    ("gate", "select", &["config", "manifest", "registry", "host", "text", "failure", "revocations"]),
    ("gate", "edit", &["registry", "position", "host"]),
    (
        "gate",
        "survey",
        &[
            "archive", "config", "digest", "manifest", "http", "registry", "select", "host", "text", "sources",
            "verify", "provenance",
        ],
    ),
    (
        "gate",
        "check",
        &[
            "advisories", "archive", "config", "digest", "edit", "finding", "handshake", "history", "install",
            "manifest", "http", "registry", "failure", "select", "position", "survey", "host", "text", "timestamp",
            "sources", "verify", "revocations", "closure", "provenance", "index",
        ],
    ),
    (
        "gate",
        "verify",
        &[
            "advisories", "closure", "digest", "examination", "handshake", "install", "json", "manifest", "registry",
            "failure", "select", "host", "text", "timestamp",
        ],
    ),
    (
        "gate",
        "bump",
        &[
            "advisories", "archive", "check", "closures", "config", "digest", "edit", "examination", "finding",
            "install", "json", "manifest", "http", "registry", "revocations", "position", "survey", "host", "text",
            "sources", "verify", "failure",
        ],
    ),
    (
        "gate",
        "scaffold",
        &[
            "archive", "bump", "check", "config", "digest", "examination", "finding", "handshake", "install",
            "manifest", "http", "registry", "failure", "host", "text", "sources", "verify",
        ],
    ),
    (
        "gate",
        "closures",
        &[
            "advisories", "closure", "failure", "host", "http", "install", "manifest", "registry", "sources", "text",
            "timestamp",
        ],
    ),
    (
        "gate",
        "propose",
        &["bump", "closures", "json", "manifest", "http", "registry", "failure", "position", "host", "text", "sources"],
    ),
    (
        "publish",
        "diff",
        &["history", "index", "json", "manifest", "release", "revocations", "text", "timestamp", "versions"],
    ),
    (
        "publish",
        "build",
        &[
            "check", "config", "diff", "history", "index", "http", "registry", "failure", "site", "host", "timestamp",
            "tree", "verify",
        ],
    ),
    (
        "publish",
        "tree",
        &[
            "check", "config", "digest", "entries", "finding", "json", "manifest", "registry", "failure", "sums",
            "host", "text", "revocations", "index", "versions", "history", "statement", "closure",
        ],
    ),
    (
        "publish",
        "site",
        &[
            "check", "config", "contents", "digest", "examination", "history", "index", "json", "manifest", "registry",
            "release", "settings", "text", "timestamp", "tree", "verify", "failure", "revocations", "versions",
        ],
    ),
    ("publish", "contents", &["config", "entries"]),
    ("publish", "server", &["contents", "site"]),
    (
        "publish",
        "upload",
        &[
            "config", "contents", "digest", "entries", "index", "json", "http", "failure", "sums", "host", "text",
            "timestamp", "revocations", "statement",
        ],
    ),
    ("src", "documents", &[]),
    ("src", "terminal", &["documents"]),
    ("src", "formats", &["documents", "terminal"]),
    ("src", "flags", &["documents", "formats", "terminal"]),
    ("src", "commands", &["documents", "flags", "formats", "terminal"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(folder).unwrap().map(|item| item.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = items.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}

/// The source directory of a crate.
fn sources_of(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if name == "src" { root.join("src") } else { root.join("crates").join(name).join("src") }
}

/// Crates that are one module for others; `tests/it/circles.rs` is about what is in them.
const WHOLE: [&str; 4] = ["archive", "host", "http", "sources"];

/// The crates whose modules have lines in [`ALLOWED`].
fn crates() -> BTreeSet<&'static str> {
    ALLOWED.iter().map(|(name, _, _)| *name).collect()
}

/// The first component of a path below `src`, without its extension.
fn module_of(path: &Path, root: &Path) -> String {
    let first = path.strip_prefix(root).unwrap().components().next().unwrap();
    Path::new(&first).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The modules that a source text refers to: `crate::module` and `acp_registry_name::module`, or a whole crate.
fn named(text: &str) -> BTreeSet<String> {
    // Examples in comments are programs of their own.
    let is_of_example = |line: &str| ["//! use ", "/// use "].iter().any(|start| line.trim_start().starts_with(start));
    let text = text.lines().filter(|line| !is_of_example(line)).collect::<Vec<_>>().join("\n");
    let modules = text.match_indices("::").flat_map(|(at, _)| {
        let before = text[..at].rsplit(|c: char| !c.is_ascii_lowercase() && c != '_').next().unwrap_or_default();
        match before.strip_prefix("acp_registry_") {
            Some(whole) if WHOLE.contains(&whole) => vec![whole],
            None if before != "crate" => Vec::new(),
            _ => crate::circles::names(&text[at + 2..]),
        }
    });
    modules.map(ToOwned::to_owned).collect()
}

#[test]
fn modules_use_only_what_comes_before_them() {
    let mut edges: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for name in crates() {
        let root = sources_of(name);
        for path in sources(&root) {
            let module = module_of(&path, &root);
            if ["main", "lib"].contains(&module.as_str()) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            // Tests of the program parse its whole command line.
            let text = if name == "src" { text.split("#[cfg(test)]").next().unwrap() } else { &text };
            let used = named(text);
            let is_known = |used: &str| ALLOWED.iter().any(|(_, known, _)| *known == used) || WHOLE.contains(&used);
            let known = used.into_iter().filter(|used| *used != module && is_known(used));
            edges.entry((name.to_owned(), module.clone())).or_default().extend(known);
        }
    }
    let allowed: BTreeMap<(String, String), BTreeSet<String>> = ALLOWED
        .iter()
        .map(|(name, module, uses)| {
            (((*name).to_owned(), (*module).to_owned()), uses.iter().map(|&used| used.to_owned()).collect())
        })
        .collect();
    let differ = |module: &&(String, String)| edges.get(*module) != allowed.get(*module);
    if let Some(module) = edges.keys().chain(allowed.keys()).find(differ) {
        panic!("{module:?} uses {:?}, and may use {:?}", edges.get(module), allowed.get(module));
    }
}

/// `crates/plan` is WebAssembly, too; callers that have a clock ask it through `timestamp.rs`.
#[test]
fn plans_use_no_machine() {
    for path in sources(&sources_of("plan")).iter().filter(|path| !path.ends_with("timestamp.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        for forbidden in ["std::fs", "std::net", "Command::new", "SystemTime::now", "Instant::now"] {
            assert!(!code.contains(forbidden), "{} has {forbidden}", path.display());
        }
    }
}

#[test]
fn only_the_program_prints_or_reads_the_environment() {
    for root in crates().into_iter().filter(|name| *name != "src").chain(WHOLE).map(sources_of) {
        for path in sources(&root) {
            // Examples in comments are programs of their own.
            let text = fs::read_to_string(&path).unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            let code = code.join("\n");
            for forbidden in ["println!", "eprintln!", "io::stdout", "io::stderr", "env::var", "clap::"] {
                assert!(!code.contains(forbidden), "{} has {forbidden}", path.display());
            }
        }
    }
}

/// Who clones the repository gets all files, and a file that was in it once stays in its history.
#[test]
fn no_file_of_the_repository_is_large() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        return skipped("the size of files", "this is no repository of git, or git is not installed");
    };
    let names = String::from_utf8(listed.stdout).unwrap();
    let size = |name: &&str| fs::metadata(root.join(name)).map_or(0, |file| file.len());
    let large: Vec<&str> = names.split_terminator('\0').filter(|name| size(name) > 1 << 20).collect();
    assert_eq!(large, [] as [&str; 0]);
}
