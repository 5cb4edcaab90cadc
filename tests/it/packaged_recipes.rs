//! Definitions of this program for other package managers.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::archives::sha256;
use crate::packaged::{PLATFORMS, VERSION, archives, has, packages, platform};
use crate::server::Server;
use crate::support::{Env, Run, scrub, skipped};

const ADDRESS: &str = "https://h.example/o/acp-registry";

/// The archives of all platforms, and packages of these kinds.
pub(crate) fn made(kinds: &[&str], test: &str) -> Option<Env> {
    let env = archives(&PLATFORMS.map(|(platform, _)| platform), test)?;
    packages(&env, kinds, &["--repository", ADDRESS]);
    Some(env)
}

/// The URL of a platform's archive, and its digest.
pub(crate) fn archive(env: &Env, platform: &str) -> (String, String) {
    let (_, ending) = PLATFORMS.iter().find(|(name, _)| *name == platform).unwrap();
    let name = format!("acp-registry-{VERSION}-{platform}.{ending}");
    let digest = sha256(&fs::read(env.path(&format!("archives/{name}"))).unwrap());
    (format!("{ADDRESS}/releases/download/v{VERSION}/{name}"), digest)
}

/// A release on loopback, with its digests.
pub(crate) fn release(env: &Env) -> Server {
    let files = crate::support::tree(&env.path("archives"));
    let sums: String = files.iter().map(|(name, content)| format!("{}  {name}\n", sha256(content))).collect();
    let files = files.into_iter().chain([("SHA256SUMS".to_owned(), sums.into_bytes())]);
    let path = |name: String| format!("/o/acp-registry/releases/download/v{VERSION}/{name}");
    Server::start(files.map(|(name, content)| (path(name), crate::server::ok(content))))
}

#[test]
fn mise_installs_the_program() {
    const TEST: &str = "mise_installs_the_program";
    let Some(env) = made(&["mise"], TEST) else { return };
    let file: toml::Table = toml::from_str(&env.read("packages/mise.toml")).unwrap();
    let tool = &file["tools"]["http:acp-registry"];
    assert_eq!(tool["version"].as_str(), Some(VERSION));
    for (name, platform) in [
        ("linux-arm64", "linux-aarch64"),
        ("linux-x64", "linux-x86_64"),
        ("macos-arm64", "darwin-aarch64"),
        ("macos-x64", "darwin-x86_64"),
        ("windows-arm64", "windows-aarch64"),
        ("windows-x64", "windows-x86_64"),
    ] {
        let (url, digest) = archive(&env, platform);
        let stated = &tool["platforms"][name];
        assert_eq!(stated["url"].as_str(), Some(url.as_str()));
        assert_eq!(stated["checksum"].as_str(), Some(format!("sha256:{digest}").as_str()));
    }
    if !has("mise", TEST) {
        return;
    }
    let server = release(&env);
    packages(&env, &["mise"], &["--repository", &server.url("/o/acp-registry")]);
    let mise = |arguments: &[&str]| {
        let mut command = Command::new("mise");
        scrub(&mut command);
        command.args(arguments).current_dir(env.path("packages")).env("HOME", env.path("home"));
        Run::of(command.env("MISE_YES", "1").env("MISE_TRUSTED_CONFIG_PATHS", env.path("packages")))
    };
    let run = mise(&["install"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = mise(&["exec", "--", "acp-registry", "--version"]);
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
    let (_, digest) = archive(&env, &platform());
    env.write("packages/mise.toml", env.read("packages/mise.toml").replace(&digest, &"0".repeat(64)));
    fs::remove_dir_all(env.path("home")).unwrap();
    let run = mise(&["install"]);
    assert!(run.code != 0 && run.stderr.contains("Checksum mismatch"), "{}", run.stderr);
}

/// `aqua install` would fetch another program first, from GitHub; `aqua exec` needs this one alone.
#[cfg(feature = "world")]
#[test]
fn aqua_installs_the_program_with_the_digest_of_its_release() {
    const TEST: &str = "aqua_installs_the_program_with_the_digest_of_its_release";
    if !has("uv", TEST) {
        return;
    }
    let Some(env) = made(&[], TEST) else { return };
    let server = release(&env);
    packages(&env, &["aqua"], &["--repository", &server.url("/o/acp-registry")]);
    env.write(
        "packages/aqua.yaml",
        format!(
            "checksum: {{ enabled: true, require_checksum: true, supported_envs: [linux, darwin] }}\n\
             registries: [{{ name: own, type: local, path: aqua-registry.yaml }}]\n\
             packages: [{{ name: acp-registry@v{VERSION}, registry: own }}]\n"
        ),
    );
    let aqua = |arguments: &[&str]| {
        let mut command = Command::new("uvx");
        command.args(["--from", "aquaproj-aqua", "aqua"]).args(arguments).current_dir(env.path("packages"));
        Run::of(command.env("AQUA_ROOT_DIR", env.path("aqua")).env("AQUA_DISABLE_POLICY", "true"))
    };
    if aqua(&["--version"]).code != 0 {
        return crate::support::missing(TEST, "the Python index cannot be reached");
    }
    // No digest, no program.
    let run = aqua(&["exec", "--", "acp-registry", "--version"]);
    assert!(run.code != 0 && run.stderr.contains("checksum is required"), "{}", run.stderr);
    let run = aqua(&["update-checksum"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let sums = env.read("packages/aqua-checksums.json").to_ascii_lowercase();
    for platform in ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64"] {
        let (url, digest) = archive(&env, platform);
        assert!(sums.contains(&digest) && sums.contains(url.rsplit('/').next().unwrap()), "{sums}");
    }
    let run = aqua(&["exec", "--", "acp-registry", "--version"]);
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
}

#[test]
fn the_image_has_the_files_of_the_archives_and_no_root() {
    const TEST: &str = "the_image_has_the_files_of_the_archives_and_no_root";
    let Some(env) = made(&["container"], TEST) else { return };
    let text = env.read("packages/Containerfile");
    let added = text.lines().find_map(|line| line.strip_prefix("ADD ")?.strip_suffix(" /")).unwrap();
    for platform in ["linux-aarch64", "linux-x86_64"] {
        let files = crate::packaged::unpacked(&env.path("archives").join(added.replace("${PLATFORM}", platform)));
        for path in text.lines().filter_map(|line| line.strip_prefix("COPY --from=archive /")) {
            assert!(files.contains_key(&format!("./{}", path.split(' ').next().unwrap())), "{platform}: {path}");
        }
    }
    assert!(text.contains("\nUSER 65532:65532\n") && text.contains("static-debian12:nonroot\n"), "{text}");
    if !has("buildah", TEST) {
        return;
    }
    // The base image is on another machine.
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command
            .args(["--storage-driver", "vfs", "--root"])
            .arg(env.path("images"))
            .arg("--runroot")
            .arg(env.path("run"));
        Run::of(command.args(arguments).current_dir(env.path("")))
    };
    let build = ["build", "--isolation", "chroot", "--build-arg", "BASE=scratch", "--tag", "own"];
    let run = buildah(&[&build[..], &["--file", "packages/Containerfile", "archives"]].concat());
    if run.code != 0 && run.stderr.contains("permitted") {
        return skipped(TEST, "buildah may not build here");
    }
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = buildah(&["inspect", "--type", "image", "own"]).stdout;
    let image: Value = serde_json::from_str(&told).unwrap();
    let config = &image["OCIv1"]["config"];
    assert_eq!((config["User"].as_str(), config["WorkingDir"].as_str()), (Some("65532:65532"), Some("/registry")));
    assert_eq!(config["Entrypoint"][0], "/usr/local/bin/acp-registry");
}

/// In place of nixpkgs, which is on another machine: what is built is told.
const NIX: &str = r#"
let
  names = [ "aarch64-darwin" "aarch64-linux" "x86_64-darwin" "x86_64-linux" ];
  all = f: names: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
  packages = { rustPlatform.buildRustPackage = told: told; installShellFiles = "tool"; lib.licenses.asl20 = "Apache-2.0"; };
  nixpkgs = { lib.genAttrs = names: f: all f names; legacyPackages = all (_: packages) names; };
  made = (import (ROOT + "/flake.nix")).outputs { self = "sources"; inherit nixpkgs; };
in builtins.mapAttrs (_: all: { inherit (all.default) pname version meta; lock = builtins.pathExists all.default.cargoLock.lockFile; })
  made.packages
"#;

#[test]
fn the_flake_builds_this_version_for_four_systems() {
    const TEST: &str = "the_flake_builds_this_version_for_four_systems";
    if !has("nix-instantiate", TEST) {
        return;
    }
    let expression = NIX.replace("ROOT", env!("CARGO_MANIFEST_DIR"));
    let mut nix = Command::new("nix-instantiate");
    nix.args(["--eval", "--strict", "--json", "--store", "dummy://", "--expr", &expression]);
    let run = Run::of(&mut nix);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let made: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(made.as_object().unwrap().len(), 4);
    for package in made.as_object().unwrap().values() {
        assert_eq!((package["version"].as_str(), &package["lock"]), (Some(VERSION), &Value::Bool(true)));
        assert_eq!(
            (package["pname"].as_str(), package["meta"]["mainProgram"].as_str()),
            (Some("acp-registry"), Some("acp-registry"))
        );
    }
}

/// In place of nixpkgs, which is on another machine: takes a program that is compiled already.
const NIXPKGS: &str = r#"
{
  outputs = { self }:
    let
      all = f: names: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
      packages = system: {
        lib.licenses.asl20 = "Apache-2.0";
        installShellFiles = "tool";
        rustPlatform.buildRustPackage = told: derivation {
          inherit system;
          inherit (told) src postInstall;
          name = "${told.pname}-${told.version}";
          lock = told.cargoLock.lockFile;
          builder = "/bin/sh";
          args = [ "-euc" ''
            PATH=/usr/bin:/bin
            test -f $src/Cargo.toml && test -f $lock
            mkdir -p $out/bin $out/share
            cp PROGRAM $out/bin/acp-registry
            installManPage() { cp "$@" $out/share; }
            installShellCompletion() {
              shift 2
              while test $# -gt 0; do cp $2 $out/share/$1; shift 2; done
            }
            eval "$postInstall"
          '' ];
        };
      };
    in {
      lib.genAttrs = names: f: all f names;
      legacyPackages = all packages [ "aarch64-darwin" "aarch64-linux" "x86_64-darwin" "x86_64-linux" ];
    };
}
"#;

#[cfg(target_os = "linux")]
#[test]
fn nix_builds_and_runs_the_flake() {
    const TEST: &str = "nix_builds_and_runs_the_flake";
    if !has("nix", TEST) {
        return;
    }
    let env = Env::empty();
    for name in ["flake.nix", "Cargo.toml", "Cargo.lock"] {
        env.write(&format!("flake/{name}"), fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap());
    }
    env.write("nixpkgs/flake.nix", NIXPKGS.replace("PROGRAM", crate::support::PROGRAM));
    let nix = |arguments: &[&str]| {
        let mut nix = Command::new("nix");
        scrub(&mut nix);
        nix.current_dir(env.path("")).env("HOME", env.path("home")).env("NIX_CONF_DIR", env.path("nix"));
        for (name, folder) in [("NIX_STORE_DIR", "store"), ("NIX_STATE_DIR", "state"), ("NIX_LOG_DIR", "log")] {
            nix.env(name, env.path(folder));
        }
        nix.args(["--extra-experimental-features", "nix-command flakes", "--option", "sandbox", "false"]);
        nix.args(["--option", "substitute", "false", "--option", "build-users-group", "", arguments[0]]);
        let nixpkgs = format!("path:{}", env.path("nixpkgs").display());
        nix.args(["--no-write-lock-file", "--override-input", "nixpkgs", &nixpkgs]);
        Run::of(nix.arg(format!("path:{}", env.path("flake").display())).args(&arguments[1..]))
    };
    let run = nix(&["run", "--", "--version"]);
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
    let run = nix(&["build", "--out-link", "result"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    for name in ["bin/acp-registry", "share/acp-registry-install.1", "share/--bash", "share/--fish", "share/--zsh"] {
        assert!(env.path("result").join(name).is_file(), "{name}");
    }
    // Nix makes its store read-only, which only root can remove.
    assert!(Command::new("chmod").args(["-R", "u+w", "store"]).current_dir(env.path("")).status().unwrap().success());
}

/// binstall checks no digest.
#[test]
fn binstall_installs_the_program() {
    const TEST: &str = "binstall_installs_the_program";
    // Its `--version` is that of the package to install.
    if !Command::new("cargo-binstall").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skipped(TEST, "cargo-binstall is not installed");
    }
    let Some(env) = archives(&[&platform()], TEST) else { return };
    let name = format!("archives/acp-registry-{VERSION}-{}.tar.gz", platform());
    // It downloads by https only.
    let server = crate::authorities::Private::serving(fs::read(env.path(&name)).unwrap());
    env.write("authority.pem", &server.pem);
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let own = toml::Table::from_iter([("binstall".to_owned(), manifest["package"]["metadata"]["binstall"].clone())]);
    let text = toml::to_string(&own).unwrap().replace("[binstall", "[package.metadata.binstall");
    let head = format!(
        "[package]\nname = \"acp-registry\"\nversion = \"{VERSION}\"\nrepository = \"{}\"\n\n",
        format_args!("https://{}/o/acp-registry", server.host)
    );
    env.write("Cargo.toml", head + &text);
    env.write("src/main.rs", "");
    let mut command = Command::new("cargo-binstall");
    scrub(&mut command);
    command.env("HOME", env.path("home")).env("CARGO_HOME", env.path("home/cargo")).current_dir(env.path(""));
    command.args([
        "--no-confirm", "--disable-telemetry", "--strategies", "crate-meta-data", "--manifest-path", "Cargo.toml",
    ]);
    command.args(["--root-certificates", "authority.pem", "--install-path", "bin", "acp-registry"]);
    let run = Run::of(&mut command);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = Run::of(Command::new("bin/acp-registry").arg("--version").current_dir(env.path("")));
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
}

/// The words of a target that binstall replaces in addresses.
#[test]
fn binstall_finds_the_archive_of_each_target() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = toml::from_str(&manifest).unwrap();
    let own = &manifest["package"]["metadata"]["binstall"];
    assert_eq!(own["bin-dir"].as_str(), Some("{ bin }{ binary-ext }"));
    let mut found = Vec::new();
    for target in [
        "aarch64-apple-darwin", "x86_64-apple-darwin", "aarch64-unknown-linux-musl", "x86_64-unknown-linux-gnu",
        "aarch64-pc-windows-msvc", "x86_64-pc-windows-msvc",
    ] {
        let parts: Vec<&str> = target.split('-').collect();
        let given = own["overrides"].get(target).unwrap_or(own);
        let url = given["pkg-url"].as_str().unwrap();
        let url = [("repo", ADDRESS), ("version", VERSION), ("target-arch", parts[0]), ("target-family", parts[2])]
            .iter()
            .fold(url.to_owned(), |url, (word, value)| url.replace(&format!("{{ {word} }}"), value));
        let name =
            url.strip_prefix(&format!("{ADDRESS}/releases/download/v{VERSION}/acp-registry-{VERSION}-")).unwrap();
        let (platform, ending) = name.split_once('.').unwrap();
        assert_eq!(given["pkg-fmt"].as_str(), Some(if ending == "zip" { "zip" } else { "tgz" }));
        found.push((platform.to_owned(), ending.to_owned()));
    }
    assert_eq!(found, PLATFORMS.map(|(platform, ending)| (platform.to_owned(), ending.to_owned())));
}
