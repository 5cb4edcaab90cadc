//! Releases of this program: the contents of their archives, and the action that installs them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Env, PROGRAM, Run};
use crate::workflows::{has_jq, own, program, script, shell};

/// Runs the action in a registry, with scripts in place of a runner's programs.
fn install(env: &Env, variables: &[(&str, &str)]) -> Run {
    let script = "install=.github/actions/acp-registry/install.sh\nbash $install find\n\
         if grep -q ready=true \"$GITHUB_OUTPUT\"; then COMMIT=$(sed -n 's/^commit=//p' \"$GITHUB_OUTPUT\") bash $install install; fi";
    let mut command = shell(env, script);
    command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64").env("GITHUB_SERVER_URL", "https://git.example");
    for name in ["VERSION", "REPOSITORY", "ACTION_REPOSITORY", "OPTIONAL"] {
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

/// A checkout of this project in `r/` whose public address is `repository`, with scripts in place of the tools that compile.
fn checkout(repository: &str) -> Env {
    let env = Env::empty();
    for path in [".ci/release", ".ci/zigbuild", "CHANGELOG.md", "LICENSE", "README.md"] {
        env.write(&format!("r/{path}"), fs::read(own(path)).unwrap());
    }
    for folder in [".github/packages", "crates/client/bindings", "crates/wasm"] {
        for (name, content) in crate::support::tree(&own(folder)) {
            env.write(&format!("r/{folder}/{name}"), content);
        }
    }
    for script in ["crates/wasm/build", ".ci/zigbuild"] {
        fs::set_permissions(env.path(&format!("r/{script}")), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let manifest = fs::read_to_string(own("Cargo.toml")).unwrap();
    let key = "\nrepository = \"";
    let (before, after) = manifest.split_once(key).unwrap();
    let (_, after) = after.split_once('"').unwrap();
    env.write("r/Cargo.toml", format!("{before}{key}{repository}\"{after}"));
    program(&env, "rustup", "");
    program(
        &env,
        "uvx",
        &format!(
            r#"for argument; do
  case $before in --target) targets="$targets $argument" ;; --profile) profile=$argument ;; esac
  before=$argument
done
for target in $targets; do
  case $target in *windows*) end=.exe ;; *) end= ;; esac
  name=CARGO_TARGET_$(echo "$target" | tr a-z- A-Z_)_RUSTFLAGS
  eval "echo \"$target \$$name\"" >> "$HOME/built"
  mkdir -p "target/$target/$profile" && printf '#!/bin/sh\nexec "{PROGRAM}" "$@"\n' > "target/$target/$profile/acp-registry$end"
  chmod +x "target/$target/$profile/acp-registry$end"
done"#
        ),
    );
    program(
        &env,
        "cargo",
        &format!(
            r#"case $1 in
  metadata) echo '{{ "packages": [{{ "name": "other" }}, {{ "name": "acp-registry", "version": "{VERSION}", "repository": "{repository}" }}] }}' ;;
  install) while [ "$1" != --root ]; do shift; done; mkdir -p "$2/bin"; touch "$2/bin/cargo-cyclonedx"; chmod +x "$2/bin/cargo-cyclonedx" ;;
  rustc) mkdir -p target/wasm32-unknown-unknown/wasm; echo > target/wasm32-unknown-unknown/wasm/acp_registry_wasm.wasm ;;
  cyclonedx) echo "{{ \"bom-ref\": \"path+file://$PWD#acp-registry\" }}" > sbom.json ;;
esac"#
        ),
    );
    program(
        &env,
        "git",
        r"case $1 in
  log) echo 1700000000 ;;
  archive) tar -c -T /dev/null ;;
  diff) [ ! -e changed ] ;;
esac",
    );
    env
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn a_release_has_all_archives_packages_and_digests() {
    const TEST: &str = "a_release_has_all_archives_packages_and_digests";
    if ["python3", "dpkg-deb", "npm"].iter().any(|tool| !crate::packaged::has(tool, TEST)) {
        return;
    }
    let env = checkout("https://h.example/o/r");
    let release = |variables: &[(&str, &str)]| {
        let mut command = shell(&env, "bash .ci/release --all");
        Run::of(command.env("PYTHONDONTWRITEBYTECODE", "1").envs(variables.iter().copied()))
    };
    let run = release(&[("PLATFORMS", "linux-x86_64 plan9-x86_64")]);
    assert!(
        run.code == 2 && run.stderr.contains("PLATFORMS names an unknown platform: plan9-x86_64"),
        "{}",
        run.stderr
    );
    let run = release(&[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let files = crate::support::tree(&env.path("r/target/release-files"));
    let sums = env.read("r/target/release-files/SHA256SUMS");
    assert_eq!(sums.lines().count() + 1, files.len(), "{sums}");
    for (platform, ending) in crate::packaged::PLATFORMS {
        let name = format!("acp-registry-{VERSION}-{platform}.{ending}");
        assert_eq!(sums.lines().filter(|line| line.ends_with(&format!("  {name}"))).count(), 1, "{name}: {sums}");
    }
    let wasm = format!("  acp-registry-wasm-{VERSION}.tgz");
    for ending in
        [&wasm, "_amd64.deb", "_arm64.deb", "win_amd64.whl", "install.sh", "install.ps1", "acp-registry.cdx.json"]
    {
        assert_eq!(sums.lines().filter(|line| line.ends_with(ending)).count(), 1, "{ending}: {sums}");
    }
    // No directory of this machine.
    assert_eq!(
        env.read("r/target/release-files/acp-registry.cdx.json"),
        "{ \"bom-ref\": \"path+file://.#acp-registry\" }\n"
    );
    let built = env.read("temp/built");
    assert_eq!(built.lines().count(), crate::packaged::PLATFORMS.len(), "{built}");
    assert!(built.lines().all(|line| line.contains("--remap-path-prefix=")), "{built}");
    assert_eq!(
        built.matches("apple-darwin").count(),
        built.matches(" -Clink-arg=-F.ci/macos -Clink-arg=-L.ci/macos -Clink-arg=-s").count(),
        "{built}"
    );
    // The name that the README and the action unpack.
    let archive = env.path(&format!("r/target/release-files/acp-registry-{VERSION}-linux-x86_64.tar.gz"));
    assert!(crate::packaged::unpacked(&archive).contains_key("./acp-registry"));
    // The same commit has the same bytes.
    assert_eq!(release(&[]).code, 0);
    assert!(crate::support::tree(&env.path("r/target/release-files")) == files);
    // What another system does with its archive.
    fs::rename(env.path("r/target/release-files"), env.path("r/release")).unwrap();
    assert!(Command::new("cp").arg("-r").arg(own("registry")).arg(env.path("r")).status().unwrap().success());
    let run = Run::of(shell(&env, &script("release", "Try")).env("PLATFORM", "linux-x86_64"));
    assert!(
        run.code == 0 && run.stdout.starts_with(&format!("acp-registry {VERSION}\n")),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let run = Run::of(shell(&env, &script("release", "Install")).env("PLATFORM", crate::packaged::platform()));
    let installed = format!("installed acp-registry {VERSION} as ");
    assert!(run.code == 0 && run.stdout.starts_with(&installed), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.ends_with(&format!("\nacp-registry {VERSION}\n")), "{}", run.stdout);
    // Changes that are in no commit.
    env.write("r/changed", "");
    let run = release(&[]);
    assert!(run.code == 1 && run.stderr.contains("commit the changes first"), "{}", run.stderr);
}

#[test]
fn a_release_needs_its_tag_and_its_address() {
    const TEST: &str = "a_release_needs_its_tag_and_its_address";
    if !has_jq(TEST) {
        return;
    }
    let tag = format!("v{VERSION}");
    let here = "https://h.example/o/r";
    let other = "::error::set repository = \"https://h.example/o/r\" in Cargo.toml";
    for (repository, tag, code, message) in
        [(here, "v0.0.9", 1, "::error::the tag is v0.0.9, the version "), ("", &tag, 1, other), (here, &tag, 0, "")]
    {
        let env = checkout(repository);
        let mut command = shell(&env, &script("release", "Compare the tag with the version"));
        command.env("GITHUB_SERVER_URL", "https://h.example").env("GITHUB_REPOSITORY", "o/r");
        let run = Run::of(command.env("GITHUB_REF_NAME", tag));
        assert!(run.code == code && run.stdout.contains(message), "{}{}", run.stdout, run.stderr);
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
        (
            &[("REPOSITORY", "o/r"), ("VERSION", "v1.0.0"), ("RUNNER_OS", "Plan9")],
            "::error::there is no release of acp-registry for Plan9",
        ),
    ] {
        let run = install(&env, variables);
        assert!(run.code == 1 && run.stdout.contains(message), "{} {}", run.stdout, run.stderr);
    }
}

/// What runs by the clock is not red from the first day on; a gate is never open by mistake.
#[test]
fn a_job_that_is_optional_ends_with_a_notice_until_the_program_is_named() {
    let env = Env::empty();
    assert_eq!(env.run(&["init", "r"]).code, 0);
    let run = install(&env, &[("OPTIONAL", "true")]);
    assert!(
        run.code == 0 && run.stdout.starts_with("::notice::nothing was done: say in"),
        "{} {}",
        run.stdout,
        run.stderr
    );
    assert_eq!((env.read("GITHUB_OUTPUT"), env.read("GITHUB_PATH")), ("ready=false\n".to_owned(), String::new()));
    for (workflow, is_optional) in
        [("bump", true), ("publish", true), ("verify", true), ("verify-part", true), ("validate", false)]
    {
        let text = fs::read_to_string(own(&format!(".github/workflows/{workflow}.yml"))).unwrap();
        assert_eq!(text.contains("optional: \"true\""), is_optional, "{workflow}");
        // After an optional installation, every step and every other job that runs the program asks whether it is there.
        for job in text
            .split("\n    name: ")
            .skip(1)
            .filter(|job| is_optional && job.contains("./.github/actions/acp-registry"))
        {
            if !job.contains("optional: \"true\"") {
                assert!(job.contains("if: needs.build.outputs.ready == 'true'"), "{workflow}: {job}");
                continue;
            }
            let runs = job.split("\n      - ").filter(|step| step.contains("\n          acp-registry "));
            let asks = |step: &&str| step.contains("if: steps.tool.outputs.ready == 'true'");
            assert!(runs.clone().count() > 0 && runs.clone().all(|step| asks(&step)), "{workflow}: {job}");
        }
    }
}

/// Before the first release, and between two.
#[test]
fn the_action_builds_a_commit_of_the_program_s_repository() {
    let env = Env::empty().file("srv/o/acp-registry/Cargo.toml", "[package]\nname = \"acp-registry\"\n");
    assert_eq!(env.run(&["init", "r", "--program", "o/acp-registry"]).code, 0);
    assert!(env.read("r/.github/acp-registry.env").ends_with("REPOSITORY=o/acp-registry\nVERSION=HEAD\n"));
    let sources = env.path("srv/o/acp-registry");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let run = Run::of(Command::new("git").args(identity).args(arguments).current_dir(&sources));
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.trim().to_owned()
    };
    for arguments in
        [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "one"], &["branch", "x/main"]]
    {
        git(arguments);
    }
    let first = git(&["rev-parse", "HEAD"]);
    git(&["commit", "-qm", "two", "--allow-empty"]);
    let newest = git(&["rev-parse", "HEAD"]);
    program(&env, "cargo", "git rev-parse HEAD; echo \"cargo $*\"; mkdir -p $HOME/acp-registry/bin");
    let server = format!("file://{}", env.path("srv").display());
    for (version, commit) in [("", &newest), ("main", &newest), ("x/main", &first), (first.as_str(), &first)] {
        let run = install(&env, &[("VERSION", version), ("GITHUB_SERVER_URL", &server)]);
        assert_eq!(run.code, 0, "{version}: {}{}", run.stdout, run.stderr);
        assert!(env.read("GITHUB_OUTPUT").contains(&format!("commit={commit}\n")), "{version}");
        assert!(run.stdout.contains("cargo install --quiet --locked --profile quick --path "), "{}", run.stdout);
        fs::remove_dir_all(env.path("temp")).unwrap();
    }
    // More branches than fit between two programs: the list is read to its end.
    let branches: String = (0..3000).map(|number| format!("{first} refs/heads/branch-{number:060}\n")).collect();
    env.write(
        "srv/o/acp-registry/.git/packed-refs",
        format!("# pack-refs with: peeled fully-peeled sorted \n{branches}"),
    );
    let run = install(&env, &[("VERSION", "HEAD"), ("GITHUB_SERVER_URL", &server)]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    fs::remove_dir_all(env.path("temp")).unwrap();
    // What came from the cache is not built again.
    env.write_program("temp/acp-registry/bin/acp-registry", "#!/bin/sh\n");
    let run = install(&env, &[("GITHUB_SERVER_URL", &server)]);
    assert!(run.code == 0 && !run.stdout.contains("cargo"), "{}{}", run.stdout, run.stderr);
    let run = install(&env, &[("VERSION", "gone"), ("GITHUB_SERVER_URL", &server)]);
    assert!(run.code == 1 && run.stdout.contains("::error::there is no gone in o/acp-registry"), "{}", run.stdout);
}

#[test]
fn the_action_builds_the_sources_that_it_lies_in() {
    let env = Env::empty().file("r/Cargo.toml", "[package]\nname = \"acp-registry\"\n");
    assert_eq!(env.run(&["init", "r"]).code, 0);
    program(&env, "cargo", "echo \"cargo $*\"");
    let run = install(&env, &[]);
    let root = env.path("r").canonicalize().unwrap();
    assert!(
        run.stdout.contains(&format!("cargo install --quiet --locked --profile quick --path {}", root.display())),
        "{}",
        run.stdout
    );
}
