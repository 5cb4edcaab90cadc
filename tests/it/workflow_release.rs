//! Releases of this program: the contents of their archives, and the action that installs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Env, PROGRAM, Run};
use crate::workflows::{has_jq, own, program, script, shell};

/// Runs the action in a registry, with scripts in place of a runner's programs.
fn install(env: &Env, variables: &[(&str, &str)]) -> Run {
    let mut command = shell(env, "bash .github/actions/acp-registry/install.sh");
    command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64").env("GITHUB_SERVER_URL", "https://git.example");
    for name in ["VERSION", "REPOSITORY", "ACTION_REPOSITORY"] {
        command.env(name, "");
    }
    Run::of(command.envs(variables.iter().copied()))
}

/// A `curl` that prints the URL, and creates a program.
const CURL: &str = r#"while [ $# -gt 0 ]; do case $1 in --output) out=$2; shift;; esac; address=$1; shift; done
echo "asked $address"
version=${address##*/acp-registry-}
mkdir -p made && printf '#!/bin/sh\necho acp-registry %s\n' "${MADE:-${version%-linux-*}}" > made/acp-registry && chmod +x made/acp-registry
tar -czf "$out" -C made acp-registry"#;

/// A `gh` that knows the origin of one archive, and fails if another one is expected.
const GH: &str = r#"echo "gh $*"
while [ $# -gt 0 ]; do case $1 in --signer-workflow) signer=$2; shift;; --source-ref) ref=$2; shift;; esac; shift; done
[ "$signer" = "$SIGNER" ] && [ "$ref" = "$ATTESTED" ] || { echo "not attested"; exit 1; }"#;

#[test]
fn the_action_takes_a_release_that_github_vouches_for() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r", "--program", "o/acp-registry@v1.2.3"]).code, 0);
    program(&env, "curl", CURL);
    program(&env, "gh", GH);
    program(&env, "cargo", "echo \"cargo $*\"");
    let attested = [("ATTESTED", "refs/tags/v1.2.3"), ("SIGNER", "o/acp-registry/.github/workflows/release.yml")];
    let run = install(&env, &attested);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let address = "https://git.example/o/acp-registry/releases/download/v1.2.3/acp-registry-1.2.3-linux-x86_64.tar.gz";
    assert!(run.stdout.contains(&format!("asked {address}\ngh attestation verify")), "{}", run.stdout);
    assert!(run.stdout.contains("--repo o/acp-registry") && !run.stdout.contains("cargo"), "{}", run.stdout);
    let path = env.read("GITHUB_PATH");
    let program_there = Path::new(path.trim()).join("acp-registry");
    assert_eq!(Run::of(&mut Command::new(program_there)).stdout, "acp-registry 1.2.3\n");
    // Variables of the workflow take precedence over the file.
    let other = [("ATTESTED", "refs/tags/v2.0.0"), ("SIGNER", "p/fork/.github/workflows/release.yml")];
    let asked = [("VERSION", "v2.0.0"), ("REPOSITORY", "p/fork"), ("RUNNER_ARCH", "ARM64")];
    let run = install(&env, &[&asked[..], &other].concat());
    assert!(
        run.code == 0 && run.stdout.contains("p/fork/releases/download/v2.0.0/acp-registry-2.0.0-linux-aarch64"),
        "{}",
        run.stdout
    );
    // An archive of an older release under the name of this one, one of another workflow, and one that reports another
    // version.
    let [_, signer] = attested;
    for (variables, message) in [
        (&[("ATTESTED", "refs/tags/v1.2.2"), signer][..], "not attested"),
        (&[attested[0], ("SIGNER", "o/acp-registry/.github/workflows/ci.yml")], "not attested"),
        (&[attested[0], signer, ("MADE", "1.2.2")], "the archive of v1.2.3 holds acp-registry 1.2.2"),
    ] {
        fs::remove_dir_all(env.path("temp")).unwrap();
        let run = install(&env, variables);
        assert!(run.code == 1 && run.stdout.contains(message), "{} {}", run.stdout, run.stderr);
        assert_eq!(env.read("GITHUB_PATH"), "");
    }
    // An archive that GitHub does not attest is not unpacked.
    program(&env, "gh", "exit 1");
    fs::remove_dir_all(env.path("temp")).unwrap();
    assert_eq!(install(&env, &[]).code, 1);
    assert!(!env.path("temp/acp-registry/bin/acp-registry").exists());
    assert_eq!(env.read("GITHUB_PATH"), "");
}

#[test]
fn a_release_is_packed() {
    const TEST: &str = "a_release_is_packed";
    if !crate::packaged::has("python3", TEST) {
        return;
    }
    let env = Env::empty();
    fs::create_dir_all(env.path("r/.github")).unwrap();
    std::os::unix::fs::symlink(own(".github/packages"), env.path("r/.github/packages")).unwrap();
    program(&env, "acp-registry", &format!("exec '{PROGRAM}' \"$@\""));
    fs::create_dir_all(env.path("r/target/t/release")).unwrap();
    fs::rename(env.path("bin/acp-registry"), env.path("r/target/t/release/acp-registry")).unwrap();
    let mut command = shell(&env, &script("release", "Pack"));
    command.envs([("TARGET", "t"), ("PLATFORM", "linux-x86_64"), ("RUNNER_OS", "Linux")]);
    let run = Run::of(command.env("PYTHONDONTWRITEBYTECODE", "1"));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let archive = env.path(&format!("r/release/acp-registry-{}-linux-x86_64.tar.gz", env!("CARGO_PKG_VERSION")));
    // The name that the README and the action unpack.
    let listed = Run::of(Command::new("tar").arg("-tzf").arg(archive)).stdout;
    assert!(listed.lines().any(|line| line == "./acp-registry"), "{listed}");
}

#[test]
fn a_release_has_packages_and_all_digests() {
    const TEST: &str = "a_release_has_packages_and_all_digests";
    if !crate::packaged::has("dpkg-deb", TEST) || !has_jq(TEST) {
        return;
    }
    let platforms = crate::packaged::PLATFORMS.map(|(platform, _)| platform);
    let Some(env) = crate::packaged::archives(&platforms, TEST) else { return };
    fs::rename(env.path("archives"), env.path("r/release")).unwrap();
    for (name, content) in crate::support::tree(&own(".github/packages")) {
        env.write(&format!("r/.github/packages/{name}"), content);
    }
    let version = env!("CARGO_PKG_VERSION");
    let run = |step: &str, repository: &str, tag: &str| {
        let manifest = fs::read_to_string(own("Cargo.toml")).unwrap();
        let key = "\nrepository = \"";
        let (before, after) = manifest.split_once(key).unwrap();
        let (_, after) = after.split_once('"').unwrap();
        env.write("r/Cargo.toml", format!("{before}{key}{repository}\"{after}"));
        let package = format!(r#"{{ "name": "acp-registry", "version": "{version}", "repository": "{repository}" }}"#);
        program(&env, "cargo", &format!("echo '{{ \"packages\": [{{ \"name\": \"other\" }}, {package}] }}'"));
        let mut command = shell(&env, &script("release", step));
        command.env("GITHUB_SERVER_URL", "https://h.example").env("GITHUB_REPOSITORY", "o/r");
        Run::of(command.env("GITHUB_REF_NAME", tag).env("PYTHONDONTWRITEBYTECODE", "1"))
    };
    let tag = format!("v{version}");
    for (step, repository, tag, message) in [
        (
            "Compare the tag with the version",
            "https://h.example/o/r",
            "v0.0.9",
            "::error::the tag is v0.0.9, the version ",
        ),
        (
            "Compare the tag with the version",
            "",
            &tag,
            "::error::set repository = \"https://h.example/o/r\" in Cargo.toml",
        ),
        ("Build the packages", "", &tag, "the public address is not known"),
    ] {
        let run = run(step, repository, tag);
        assert!(
            run.code == 1 && format!("{}{}", run.stdout, run.stderr).contains(message),
            "{}{}",
            run.stdout,
            run.stderr
        );
    }
    for step in ["Compare the tag with the version", "Build the packages", "Write the digests"] {
        let run = run(step, "https://h.example/o/r", &tag);
        assert_eq!(run.code, 0, "{step}: {}{}", run.stdout, run.stderr);
    }
    let sums = env.read("r/release/SHA256SUMS");
    let left = crate::support::tree(&env.path("r/release")).len();
    assert_eq!(sums.lines().count() + 1, left);
    for ending in
        [".zip", "_amd64.deb", "_arm64.deb", "-win32-arm64-0.1.0.tgz", "win_amd64.whl", "install.sh", "install.ps1"]
    {
        let ending = ending.replace("0.1.0", version);
        assert_eq!(sums.lines().filter(|line| line.ends_with(&ending)).count().min(1), 1, "{ending}: {sums}");
    }
}

#[test]
fn the_action_says_what_it_is_not_told() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    for (variables, message) in [
        (&[][..], "::error::say in .github/acp-registry.env where"),
        (&[("REPOSITORY", "o/r;x")], "::error::say in .github/acp-registry.env where"),
        (&[("REPOSITORY", "o/r"), ("VERSION", "v1/../x")], "::error::say in .github/acp-registry.env which"),
        (&[("REPOSITORY", "o/r"), ("RUNNER_OS", "Plan9")], "::error::there is no release of acp-registry for Plan9"),
    ] {
        let run = install(&env, variables);
        assert!(run.code == 1 && run.stdout.contains(message), "{} {}", run.stdout, run.stderr);
    }
}

#[test]
fn the_action_builds_the_sources_that_it_lies_in() {
    let env = Env::empty().file("r/Cargo.toml", "[package]\nname = \"acp-registry\"\n");
    assert_eq!(env.run(&["init", "r"]).code, 0);
    program(&env, "cargo", "echo \"cargo $*\"");
    let run = install(&env, &[]);
    let root = env.path("r").canonicalize().unwrap();
    assert!(
        run.stdout.contains(&format!("cargo install --quiet --locked --path {}", root.display())),
        "{}",
        run.stdout
    );
}
