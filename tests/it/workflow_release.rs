//! Releases of this program: the contents of their archives, and the action that installs them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Env, PROGRAM, Run};
use crate::workflows::{own, program, script, shell};

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
