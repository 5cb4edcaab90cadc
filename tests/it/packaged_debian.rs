//! The Debian package of this program.

use std::fs;
use std::process::Command;

use crate::packaged::{VERSION, archives, has, packages};
use crate::support::{Env, Run};

fn package(test: &str) -> Option<(Env, String)> {
    if !has("dpkg-deb", test) {
        return None;
    }
    let env = archives(&["linux-aarch64", "linux-x86_64"], test)?;
    let folder = packages(&env, &["debian"], &["--repository", "https://h.example/o/acp-registry"]);
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let names =
        [("arm64", "aarch64"), ("amd64", "x86_64")].map(|(name, _)| format!("acp-registry_{VERSION}-1_{name}.deb"));
    assert!(names.iter().all(|name| folder.join(name).is_file()));
    let own = folder.join(format!("acp-registry_{VERSION}-1_{machine}.deb"));
    Some((env, own.to_str().unwrap().to_owned()))
}

#[test]
fn a_debian_package_has_files_for_root_alone_to_change() {
    let Some((_env, package)) = package("a_debian_package_has_files_for_root_alone_to_change") else { return };
    let listed = Run::of(Command::new("dpkg-deb").args(["--contents", &package])).stdout;
    for (mode, name) in [
        ("drwxr-xr-x", "./usr/bin/"),
        ("-rwxr-xr-x", "./usr/bin/acp-registry"),
        ("-rw-r--r--", "./usr/share/man/man1/acp-registry-install.1.gz"),
        ("-rw-r--r--", "./usr/share/bash-completion/completions/acp-registry"),
        ("-rw-r--r--", "./usr/share/zsh/vendor-completions/_acp-registry"),
        ("-rw-r--r--", "./usr/share/fish/vendor_completions.d/acp-registry.fish"),
        ("-rw-r--r--", "./usr/share/doc/acp-registry/copyright"),
    ] {
        let line =
            listed.lines().find(|line| line.ends_with(&format!(" {name}"))).unwrap_or_else(|| panic!("{listed}"));
        assert!(line.starts_with(mode), "{line}");
    }
    assert!(listed.lines().all(|line| line.contains(" root/root ")), "{listed}");
}

#[test]
fn dpkg_installs_the_program_and_removes_it() {
    const TEST: &str = "dpkg_installs_the_program_and_removes_it";
    let Some((env, package)) = package(TEST) else { return };
    if !rustix::process::geteuid().is_root() {
        return crate::support::skipped(TEST, "only root can install with dpkg");
    }
    let root = env.path("root");
    for folder in ["updates", "info"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |arguments: &[&str]| {
        let run = Run::of(Command::new("dpkg").arg("--root").arg(&root).args(arguments));
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    dpkg(&["--install", &package]);
    let program = root.join("usr/bin/acp-registry");
    let run = Run::of(Command::new(&program).arg("--version"));
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
    dpkg(&["--purge", "acp-registry"]);
    assert!(!root.join("usr/share/doc/acp-registry").exists() && !program.exists());
}

#[test]
fn lintian_finds_nothing() {
    const TEST: &str = "lintian_finds_nothing";
    if !has("lintian", TEST) {
        return;
    }
    let Some((env, package)) = package(TEST) else { return };
    let run = Run::of(Command::new("lintian").args(["--allow-root", "--no-cfg", &package]).env("TMPDIR", env.path("")));
    // The script is not a program of this machine.
    let found: Vec<&str> = run.stdout.lines().filter(|line| !line.contains("unused-override")).collect();
    assert_eq!((run.code, found), (0, Vec::new()), "{}", run.stderr);
}
