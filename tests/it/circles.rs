//! Checks that the modules of a folder do not use each other in circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which modules of a folder each of its modules uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()).collect()
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// All source files of a module, which is a file or a folder, without those of its tests.
fn files(module: &Path) -> Vec<PathBuf> {
    match module.file_stem().and_then(|name| name.to_str()) {
        Some("tests") => Vec::new(),
        _ if module.is_dir() => entries(module).iter().flat_map(|path| files(path)).collect(),
        _ if is_source(module) => vec![module.to_owned()],
        _ => Vec::new(),
    }
}

/// A source text without comments and without its tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn name_at(text: &str) -> &str {
    &text[..text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())]
}

/// The names at the top level of braces: `{a, b::{c, d}}` has `a` and `b`.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let Some(inner) = text.strip_prefix('{') else { return vec![name_at(text)] };
    let (mut depth, mut is_next, mut found) = (0_usize, true, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => is_next = true,
            _ if is_next && !c.is_whitespace() => {
                found.push(name_at(&inner[at..]));
                is_next = false;
            }
            _ => {}
        }
    }
    found
}

/// The names that a text takes from a module, which is written as `path`.
fn taken<'a>(text: &'a str, path: &str) -> Vec<&'a str> {
    let is_whole = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    text.match_indices(path)
        .filter(|(at, _)| is_whole(*at))
        .flat_map(|(at, _)| names(&text[at + path.len()..]))
        .collect()
}

/// Reads which modules of a folder use each other. `above` is the folder of the crate's sources.
fn uses(folder: &Path, above: &Path) -> Uses {
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let paths = entries(folder).into_iter().filter(|path| path.is_dir() || is_source(path));
    let modules: BTreeMap<String, PathBuf> = paths
        .map(|path| (name(&path), path))
        .filter(|(name, _)| !["mod", "lib", "tests"].contains(&name.as_str()))
        .collect();
    let root = ["mod.rs", "lib.rs"].map(|root| folder.join(root)).into_iter().find(|root| root.is_file());
    let root = root.map(|root| code(&root)).unwrap_or_default();
    // What the folder's own module re-exports is taken from the module that declares it.
    let mut declared: BTreeMap<&str, &str> = BTreeMap::new();
    for module in modules.keys() {
        declared.extend(taken(&root, &format!("use {module}::")).into_iter().map(|name| (name, module.as_str())));
        declared.extend(taken(&root, &format!("self::{module}::")).into_iter().map(|name| (name, module.as_str())));
    }
    declared.extend(modules.keys().map(|module| (module.as_str(), module.as_str())));
    let within = folder.strip_prefix(above).unwrap().components();
    let absolute = within.fold("crate::".to_owned(), |path, part| path + part.as_os_str().to_str().unwrap() + "::");
    let mut uses = Uses::new();
    for (module, path) in &modules {
        for file in files(path) {
            let depth = file.strip_prefix(folder).unwrap().components().count() - usize::from(file.ends_with("mod.rs"));
            let text = code(&file);
            let names = [taken(&text, &"super::".repeat(depth)), taken(&text, &absolute)].concat();
            let others = names.into_iter().filter_map(|name| declared.get(name)).filter(|other| *other != module);
            uses.entry(module.clone()).or_default().extend(others.map(|other| (*other).to_owned()));
        }
    }
    uses
}

/// The modules that a module uses, also by way of others.
fn reached<'a>(uses: &'a Uses, module: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![module]);
    while let Some(module) = open.pop() {
        open.extend(uses.get(module).into_iter().flatten().map(String::as_str).filter(|used| reached.insert(*used)));
    }
    reached
}

/// The groups of modules that use each other in circles.
fn circles(uses: &Uses) -> BTreeSet<Vec<&str>> {
    let all: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|module| (module.as_str(), reached(uses, module))).collect();
    let is_between = |one: &str, other: &str| all[one].contains(other) && all[other].contains(one);
    let group = |module: &&str| all.keys().copied().filter(|other| is_between(module, other)).collect::<Vec<_>>();
    all.keys().map(group).filter(|group| !group.is_empty()).collect()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let below = entries(folder).into_iter().filter(|path| path.is_dir());
    below.flat_map(|path| folders(&path)).chain([folder.to_owned()]).collect()
}

#[test]
fn modules_of_a_folder_use_each_other_in_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = entries(&root.join("crates")).into_iter().map(|path| path.join("src"));
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for sources in crates.chain([root.join("src")]) {
        for folder in folders(&sources) {
            let name = folder.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            let uses = uses(&folder, &sources);
            found.extend(
                circles(&uses).into_iter().map(|all| (name.clone(), all.into_iter().map(Into::into).collect())),
            );
        }
    }
    assert_eq!(found, []);
}

#[test]
fn circles_are_found_through_braces_and_re_exports() {
    let folder = tempfile::tempdir().unwrap();
    let source = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    source("mod.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use c::{Other, Thing};\n");
    source("a.rs", "use super::b::B;\n// super::d::D\n");
    source(
        "b.rs",
        "use super::{\n    x::{Y, Z}, Thing,\n};\n#[cfg(test)]\nmod tests {\n    use super::super::d::D;\n}\n",
    );
    source("c.rs", "fn c() { crate::a::call() }\n");
    source("d.rs", "use super::a::A;\n");
    let uses = uses(folder.path(), folder.path());
    assert_eq!(circles(&uses), BTreeSet::from([vec!["a", "b", "c"]]));
    source("c.rs", "fn c() {}\n");
    assert_eq!(circles(&self::uses(folder.path(), folder.path())), BTreeSet::new());
}
