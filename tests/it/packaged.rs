//! Packages of this program: its archives, and what all packages share.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Env, ICON, PROGRAM, Run, manifest, skipped};

/// The version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The platforms of a release, and the ending of their archives.
pub(crate) const PLATFORMS: [(&str, &str); 6] = [
    ("darwin-aarch64", "tar.gz"),
    ("darwin-x86_64", "tar.gz"),
    ("linux-aarch64", "tar.gz"),
    ("linux-x86_64", "tar.gz"),
    ("windows-aarch64", "zip"),
    ("windows-x86_64", "zip"),
];

/// In place of the program in archives, whose debug build has hundreds of megabytes: becomes it, ends by a signal, or waits
/// for one.
const SCRIPT: &str = r#"#!/bin/sh
case ${1-} in
  die) kill -KILL $$ ;;
  wait) trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done ;;
esac
exec 'PROGRAM' "$@"
"#;

/// Runs the script that builds archives and packages.
pub(crate) fn build(env: &Env, arguments: &[&str]) -> Run {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/packages/build.py");
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(arguments).current_dir(env.path(""));
    Run::of(command.env("SOURCE_DATE_EPOCH", "1700000000"))
}

/// The platform of this machine, as archives name it.
pub(crate) fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
    format!("{system}-{}", std::env::consts::ARCH)
}

/// Whether a tool is here. Only where `.ci/setup` installs it, a run of CI cannot do without it.
pub(crate) fn has(tool: &str, test: &str) -> bool {
    let is_there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    let is_ci = cfg!(target_os = "linux") && std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    let is_set_up = ["python3", "npm", "uv", "curl"].contains(&tool);
    assert!(is_there || !is_ci || !is_set_up, "{tool} is missing");
    if !is_there {
        skipped(test, &format!("{tool} is not installed"));
    }
    is_there
}

/// A folder `archives` with an archive for each of these platforms, if Python is here.
pub(crate) fn archives(platforms: &[&str], test: &str) -> Option<Env> {
    if !has("python3", test) {
        return None;
    }
    let env = Env::empty();
    env.write("acp-registry", SCRIPT.replace("PROGRAM", PROGRAM));
    fs::set_permissions(env.path("acp-registry"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = |platform: &str, ending: &str| env.path(&format!("archives/acp-registry-{VERSION}-{platform}.{ending}"));
    let mut packed: BTreeMap<&str, PathBuf> = BTreeMap::new();
    for (platform, ending) in PLATFORMS.iter().filter(|(platform, _)| platforms.contains(platform)) {
        // The archives of Unix systems are equal, since the script is.
        if let Some(other) = packed.get(ending) {
            fs::copy(other, path(platform, ending)).unwrap();
            continue;
        }
        let run = build(&env, &["pack", "acp-registry", "archives", "--platform", platform]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        packed.insert(ending, path(platform, ending));
    }
    Some(env)
}

/// Builds packages of these kinds in the folder `packages`.
pub(crate) fn packages(env: &Env, kinds: &[&str], flags: &[&str]) -> PathBuf {
    let kinds: Vec<&str> = kinds.iter().flat_map(|kind| ["--kind", kind]).collect();
    let run = build(env, &[&["packages", "archives", "packages"], &kinds[..], flags].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    env.path("packages")
}

/// An index of two agents.
pub(crate) fn index(env: &Env) -> String {
    for id in ["one", "two"] {
        env.write(&format!("r/{id}/agent.json"), manifest(id));
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let run = env.run(&["build", "--no-site", "--out", "dist"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    env.path("dist/registry.json").to_str().unwrap().to_owned()
}

/// The files in a compressed tar file: mode and content.
pub(crate) fn unpacked(path: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let file = flate2::read::GzDecoder::new(fs::File::open(path).unwrap());
    let mut tar = tar::Archive::new(file);
    let entries = tar.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().to_str().unwrap().to_owned(), (entry.header().mode().unwrap(), content))
    });
    entries.collect()
}

#[test]
fn make_builds_packages_of_this_machine() {
    const TEST: &str = "make_builds_packages_of_this_machine";
    let Some(env) = archives(&[], TEST) else { return };
    let out = format!("PACKAGES={}", env.path("packages").display());
    let mut make = Command::new("make");
    make.args(["--no-print-directory", "packages", &out])
        .arg(format!("PROGRAM={}", env.path("acp-registry").display()));
    make.current_dir(env!("CARGO_MANIFEST_DIR")).env("PYTHONDONTWRITEBYTECODE", "1");
    let run = Run::of(&mut make);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(env.path(&format!("packages/acp-registry-{VERSION}.tgz")).is_file(), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("acp-registry-{VERSION}-{}.tar.gz", platform())), "{}", run.stdout);
    // What needs the public address is left out while there is none.
    let left_out = run.stderr.contains("not built: installers: the public address is not known");
    assert_eq!(left_out, env!("CARGO_PKG_REPOSITORY").is_empty(), "{}", run.stderr);
}

/// Readers would run it. `repository` in Cargo.toml holds the public address.
#[test]
fn no_document_names_a_placeholder_of_this_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [".github", "docs", "src", "templates"].map(|folder| crate::support::tree(&root.join(folder)));
    let readme = ("README.md".to_owned(), fs::read(root.join("README.md")).unwrap());
    for (name, content) in folders.into_iter().flatten().chain([readme]) {
        assert!(!String::from_utf8_lossy(&content).contains("example/acp-registry"), "{name}");
    }
}

/// Anyone could register a name that a document gives away before it is ours.
#[test]
fn no_command_names_a_package_that_is_not_ours_yet() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| (name.to_owned(), fs::read(root.join(name)).unwrap());
    let folder = |name: &str| crate::support::tree(&root.join(name)).into_iter();
    let env = Env::empty();
    let laid_out = env.run(&["init", "new"]);
    assert_eq!(laid_out.code, 0, "{}", laid_out.stderr);
    let said = [("init".to_owned(), laid_out.stdout.into_bytes()), read("README.md"), read("CONTRIBUTING.md")];
    let new = crate::support::tree(&env.path("new")).into_iter();
    let starts = [
        "npx acp-registry", "uvx acp-registry", "npm install --global acp-registry", "npm install acp-registry",
        "npm i acp-registry", "uv tool install acp-registry", "uv add acp-registry", "pipx install acp-registry",
        "pip install acp-registry", "brew install", "cargo install acp-registry", "cargo binstall acp-registry",
        "cargo add acp-registry", "gh release download",
    ];
    for (name, content) in said.into_iter().chain(folder("docs")).chain(new) {
        let text = String::from_utf8_lossy(&content);
        let named = starts.iter().find(|start| text.contains(*start));
        assert!(named.is_none() || !env!("CARGO_PKG_REPOSITORY").is_empty(), "{name}: {named:?}");
    }
}

fn all() -> Vec<&'static str> {
    PLATFORMS.iter().map(|(platform, _)| *platform).collect()
}

#[test]
fn what_is_no_release_is_refused() {
    const TEST: &str = "what_is_no_release_is_refused";
    let Some(env) = archives(&["linux-x86_64"], TEST) else { return };
    let own = env.path(&format!("archives/acp-registry-{VERSION}-linux-x86_64.tar.gz"));
    for (arguments, message) in [
        (&["pack", "acp-registry", "x", "--platform", "plan9-mips"][..], "error: `plan9-mips` is not a platform"),
        (&["pack", "missing", "x"], "missing"),
        (&["packages", "r", "x"], "error: r must hold archives of one version"),
        (&["packages", "nowhere", "x"], "nowhere"),
        (&["packages", "two", "x"], "it holds: 0.0.1, "),
        (&["packages", "empty", "x"], "holds no acp-registry\n"),
    ] {
        for folder in ["two", "empty"] {
            fs::create_dir_all(env.path(folder)).unwrap();
        }
        fs::copy(&own, env.path("two").join(own.file_name().unwrap())).unwrap();
        fs::copy(&own, env.path("two/acp-registry-0.0.1-darwin-x86_64.tar.gz")).unwrap();
        env.write(
            "empty/acp-registry-1.0.0-linux-x86_64.tar.gz",
            crate::archives::gz(&crate::archives::tar(&[("x", b"")])),
        );
        let run = build(&env, arguments);
        assert!(run.code == 1 && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.contains("Traceback"), "{}", run.stderr);
    }
    // A program of another version.
    env.write("other", "#!/bin/sh\necho acp-registry 0.0.1\n");
    fs::set_permissions(env.path("other"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = build(&env, &["pack", "other", "x"]);
    assert!(run.code == 1 && run.stderr.contains("is acp-registry 0.0.1, and Cargo.toml"), "{}", run.stderr);
}

#[test]
fn an_archive_has_the_program_manual_pages_and_completions() {
    const TEST: &str = "an_archive_has_the_program_manual_pages_and_completions";
    let Some(env) = archives(&["linux-x86_64", "windows-x86_64"], TEST) else { return };
    let files = unpacked(&env.path(&format!("archives/acp-registry-{VERSION}-linux-x86_64.tar.gz")));
    for name in [
        "./README.md",
        "./LICENSE",
        "./CHANGELOG.md",
        "./man/man1/acp-registry.1",
        "./man/man1/acp-registry-publish-prune.1",
        "./completions/acp-registry.bash",
        "./completions/_acp-registry",
        "./completions/acp-registry.fish",
        "./completions/_acp-registry.ps1",
    ] {
        let (mode, content) = files.get(name).unwrap_or_else(|| panic!("{name}: {:?}", files.keys()));
        assert!(*mode == 0o644 && !content.is_empty(), "{name}");
    }
    assert_eq!(files["./acp-registry"].0, 0o755);
    assert!(files["./completions/_acp-registry"].1.starts_with(b"#compdef acp-registry"));
    let path = env.path(&format!("archives/acp-registry-{VERSION}-windows-x86_64.zip"));
    let zip = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let names: Vec<_> = zip.file_names().map(Result::unwrap).collect();
    for name in ["acp-registry.exe", "man/man1/acp-registry.1"] {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    const TEST: &str = "the_same_input_gives_the_same_bytes";
    let build = || {
        let env = archives(&all(), TEST)?;
        packages(&env, &[], &["--repository", "https://h.example/o/acp-registry"]);
        Some((env.path("archives"), env.path("packages"), env))
    };
    let (Some(one), Some(two)) = (build(), build()) else { return };
    let (archives, packages) = (crate::support::tree(&one.0), crate::support::tree(&one.1));
    assert!(archives.len() == PLATFORMS.len() && packages.len() > PLATFORMS.len(), "{}", packages.len());
    assert!(archives == crate::support::tree(&two.0), "archives differ");
    for ((name, content), (_, other)) in packages.iter().zip(&crate::support::tree(&two.1)) {
        assert!(content == other, "{name} differs");
    }
}
