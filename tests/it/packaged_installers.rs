//! The installers of this program, with a release on loopback.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::packaged::{VERSION, archives, has, packages, platform};
use crate::server::{Server, not_found, ok, write};
use crate::support::{Env, Run};

/// What the script starts, but for what downloads. A system has one of `sha256sum` and `shasum` at least.
const TOOLS: [&str; 11] = ["gzip", "mkdir", "mktemp", "mv", "rm", "sed", "sh", "sha256sum", "shasum", "tar", "uname"];

/// A release on loopback, with its installer.
struct Release {
    env: Env,
    server: Server,
    /// What is served in place of the archive: its bytes, and its length as told.
    archive: Arc<Mutex<(Vec<u8>, usize)>>,
}

impl Release {
    fn new(test: &str) -> Option<Self> {
        if !has("curl", test) {
            return None;
        }
        let env = archives(&[&platform(), "windows-x86_64"], test)?;
        let name = format!("acp-registry-{VERSION}-{}.tar.gz", platform());
        let bytes = fs::read(env.path(&format!("archives/{name}"))).unwrap();
        let archive = Arc::new(Mutex::new((bytes.clone(), bytes.len())));
        let (given, path) = (archive.clone(), format!("/o/acp-registry/releases/download/v{VERSION}/{name}"));
        let server = Server::raw(move |asked, stream| {
            let (bytes, length) = given.lock().unwrap().clone();
            if asked.path != path {
                return write(stream, asked, &not_found());
            }
            if bytes.len() == length {
                return write(stream, asked, &ok(bytes));
            }
            let head = format!("HTTP/1.1 200 X\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            std::io::Write::write_all(stream, &[head.as_bytes(), &bytes].concat())
        });
        packages(&env, &["installers"], &["--repository", &server.url("/o/acp-registry")]);
        let release = Self { env, server, archive };
        fs::create_dir(release.env.path("bin")).unwrap();
        for tool in TOOLS {
            release.tool(tool);
        }
        release.tool("curl");
        Some(release)
    }

    /// Puts a program of this machine into `PATH`.
    fn tool(&self, name: &str) -> bool {
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
        real.is_some_and(|real| symlink(real, self.env.path("bin").join(name)).is_ok())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.env.path("bin/sh"));
        command.arg(self.env.path("packages/install.sh")).env_clear().env("PATH", self.env.path("bin"));
        command.env("HOME", self.env.path("home")).current_dir(self.env.path("")).stdin(Stdio::null());
        command
    }

    fn run(&self, variables: &[(&str, &str)]) -> Run {
        Run::of(self.command().envs(variables.iter().copied()))
    }

    /// Where the program is by default.
    fn folder(&self) -> PathBuf {
        self.env.path("home/.local/bin")
    }

    /// Asserts that a run fails with this message, and leaves nothing.
    fn refuses(&self, variables: &[(&str, &str)], message: &str) {
        let run = self.run(variables);
        assert!(run.code == 1 && run.stdout.is_empty() && run.stderr.contains(message), "{}{}", run.stdout, run.stderr);
        assert_eq!(left(&self.folder()), [] as [String; 0]);
    }
}

fn left(folder: &Path) -> Vec<String> {
    let items = fs::read_dir(folder).into_iter().flatten();
    items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

fn assert_runs(program: &Path) {
    let run = Run::of(Command::new(program).arg("--version"));
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
}

#[test]
fn damaged_downloads_are_not_installed() {
    let Some(release) = Release::new("damaged_downloads_are_not_installed") else { return };
    let (bytes, length) = release.archive.lock().unwrap().clone();
    let mut other = bytes.clone();
    *other.last_mut().unwrap() ^= 1;
    for tool in ["curl", "wget"] {
        if tool == "wget" {
            fs::remove_file(release.env.path("bin/curl")).unwrap();
            if !release.tool("wget") {
                return crate::support::skipped("damaged_downloads_are_not_installed", "wget is not installed");
            }
        }
        *release.archive.lock().unwrap() = (other.clone(), length);
        release.refuses(&[], "; nothing was installed\n");
        // A connection that breaks. GNU wget asks again for the rest.
        if tool == "curl" {
            *release.archive.lock().unwrap() = (bytes[..length / 2].to_vec(), length);
            release.refuses(&[], "cannot be downloaded\n");
        }
        // A file that was cut off on the server.
        *release.archive.lock().unwrap() = (bytes[..length / 2].to_vec(), length / 2);
        release.refuses(&[], "; nothing was installed\n");
        let mirror = release.server.url("/nowhere");
        release.refuses(&[("ACP_REGISTRY_INSTALL_FROM", &mirror)], "cannot be downloaded\n");
    }
    // What was there stays.
    fs::create_dir_all(release.folder()).unwrap();
    fs::write(release.folder().join("acp-registry"), "old").unwrap();
    assert_eq!(release.run(&[]).code, 1);
    assert_eq!(fs::read_to_string(release.folder().join("acp-registry")).unwrap(), "old");
    assert_eq!(left(&release.folder()), ["acp-registry"]);
}

#[test]
fn what_cannot_be_installed_is_said() {
    let Some(release) = Release::new("what_cannot_be_installed_is_said") else { return };
    for from in [
        "http://h.example/x", "http://127.0.0.1@h.example/x", "http://127.0.0.1:80@h.example/x",
        "http://localhost.h.example/x", "http://h.example/@localhost", "http://localhost\\@h.example/",
    ] {
        release.refuses(&[("ACP_REGISTRY_INSTALL_FROM", from)], "is not encrypted\nhelp: use an address");
    }
    for from in ["ftp://h.example/x", "file:///etc", "h.example", "https://"] {
        release.refuses(&[("ACP_REGISTRY_INSTALL_FROM", from)], "is not an address that begins with https://\n");
    }
    let run = Run::of(release.command().arg("--to=x"));
    assert!(run.code == 1 && run.stderr.contains("there are no arguments: --to=x"), "{}", run.stderr);
    let run = Run::of(release.command().env_remove("HOME"));
    assert!(run.code == 1 && run.stderr.contains("help: set ACP_REGISTRY_INSTALL_DIR"), "{}", run.stderr);
    release.env.write("file", "");
    fs::create_dir_all(release.env.path("folder/acp-registry")).unwrap();
    for (folder, message) in
        [("file/x", "/file/x cannot be created\nhelp: set"), ("folder", "is a directory\nhelp: set")]
    {
        let run = release.run(&[("ACP_REGISTRY_INSTALL_DIR", folder)]);
        assert!(run.code == 1 && run.stderr.contains(message), "{}", run.stderr);
    }
    assert_eq!(release.server.asked(), [] as [String; 0]);
    fs::remove_file(release.env.path("bin/curl")).unwrap();
    release.refuses(&[], "error: neither curl nor wget is installed\n");
    for (name, message) in
        [("SunOS i86pc", "there is no archive for SunOS-i86pc"), ("MINGW64_NT x86_64", "run install.ps1")]
    {
        fs::remove_file(release.env.path("bin/uname")).unwrap();
        let (system, machine) = name.split_once(' ').unwrap();
        crate::workflows::program(
            &release.env,
            "uname",
            &format!("case $1 in -s) echo {system} ;; *) echo {machine} ;; esac"),
        );
        release.refuses(&[], message);
    }
}

#[test]
fn the_installer_puts_the_program_where_it_is_told() {
    const TEST: &str = "the_installer_puts_the_program_where_it_is_told";
    let Some(release) = Release::new(TEST) else { return };
    let run = release.run(&[("SHELL", "/bin/zsh")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let program = release.folder().join("acp-registry");
    assert_runs(&program);
    let told = format!("installed acp-registry {VERSION} as {}\n", program.display());
    assert!(run.stdout.starts_with(&told) && run.stdout.contains(" to ~/.zshrc:\n  export PATH="), "{}", run.stdout);
    assert_eq!(left(&release.folder()), ["acp-registry"]);
    // An older program is replaced, and a folder in `PATH` needs no advice.
    fs::write(&program, "old").unwrap();
    let path = format!("{}:{}", release.folder().display(), release.env.path("bin").display());
    let run = release.run(&[("PATH", &path)]);
    assert_eq!((run.code, run.stdout), (0, told), "{}", run.stderr);
    assert_runs(&program);
    let path = format!("{}:{}", release.env.path("bin").display(), release.folder().display());
    crate::workflows::program(&release.env, "acp-registry", "exit 1");
    let run = release.run(&[("PATH", &path)]);
    assert!(run.stdout.ends_with("bin/acp-registry comes first in PATH\n"), "{}", run.stdout);
    // The folders that people name.
    let [one, two] = ["one's $(x) folder", "two"].map(|name| release.env.path(name).to_str().unwrap().to_owned());
    for variables in
        [&[("XDG_BIN_HOME", two.as_str())][..], &[("XDG_BIN_HOME", &two), ("ACP_REGISTRY_INSTALL_DIR", &one)]]
    {
        let run = release.run(variables);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_runs(&Path::new(variables.last().unwrap().1).join("acp-registry"));
    }
    // A mirror, and no curl.
    fs::remove_file(release.env.path("bin/curl")).unwrap();
    if !release.tool("wget") {
        return crate::support::skipped(TEST, "wget is not installed");
    }
    let mirror = release.server.url(&format!("/o/acp-registry/releases/download/v{VERSION}"));
    fs::remove_file(&program).unwrap();
    let run = release.run(&[("ACP_REGISTRY_INSTALL_FROM", &mirror)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_runs(&program);
}

/// A shell runs what it reads from a connection, also if that breaks.
#[test]
fn an_installer_that_was_cut_off_does_nothing() {
    let Some(release) = Release::new("an_installer_that_was_cut_off_does_nothing") else { return };
    let path = release.env.path("packages/install.sh");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for count in (0..lines.len()).step_by(7).chain([lines.len() - 1]) {
        fs::write(&path, lines[..count].join("\n")).unwrap();
        let run = release.run(&[]);
        assert!(run.stdout.is_empty() && !release.env.path("home").exists(), "{count}: {}{}", run.stdout, run.stderr);
    }
    assert_eq!(release.server.asked(), [] as [String; 0]);
}

#[test]
fn installers_hold_the_digests_of_their_archives() {
    const TEST: &str = "installers_hold_the_digests_of_their_archives";
    let Some(release) = Release::new(TEST) else { return };
    for (installer, name) in [
        ("install.sh", format!("acp-registry-{VERSION}-{}.tar.gz", platform())),
        ("install.ps1", format!("acp-registry-{VERSION}-windows-x86_64.zip")),
    ] {
        let digest = crate::archives::sha256(&fs::read(release.env.path(&format!("archives/{name}"))).unwrap());
        let text = release.env.read(&format!("packages/{installer}"));
        assert!(text.contains(&digest), "{text}");
        for word in ["{version}", "{address}", "{digests}"] {
            assert!(!text.contains(word), "{installer} has {word}");
        }
    }
    // Where releases are must be known.
    let run = crate::packaged::build(
        &release.env,
        &["packages", "archives", "x", "--repository", "", "--kind", "installers"],
    );
    assert!(run.code == 1 && run.stderr.contains("set `repository` in Cargo.toml"), "{}", run.stderr);
    if has("shellcheck", TEST) {
        let run = Run::of(Command::new("shellcheck").arg(release.env.path("packages/install.sh")));
        assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    }
}

/// Names each file with the lines that do not follow the grammar.
#[cfg(feature = "world")]
const GRAMMAR: &str = r#"
import sys, tree_sitter, tree_sitter_powershell
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
def wrong(node):
    if node.type == "ERROR" or node.is_missing:
        yield node.start_point.row + 1
    for child in node.children:
        yield from wrong(child)
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        print(path, *wrong(parser.parse(file.read()).root_node))
"#;

#[cfg(feature = "world")]
#[test]
fn scripts_for_powershell_follow_its_grammar() {
    const TEST: &str = "scripts_for_powershell_follow_its_grammar";
    if !has("uv", TEST) {
        return;
    }
    let Some(release) = Release::new(TEST) else { return };
    let env = &release.env;
    env.write("grammar.py", GRAMMAR);
    env.write("wrong.ps1", "function f {\n    if ($x { 1 }\n}\n");
    env.write("completions.ps1", Run::of(&mut env.command(&["completions", "powershell"])).stdout);
    let mut uv = Command::new("uv");
    uv.args(["run", "--quiet", "--no-project", "--with", "tree-sitter==0.26.1,tree-sitter-powershell==0.26.4"]);
    uv.args(["python", "grammar.py", "wrong.ps1", "packages/install.ps1", "completions.ps1"]);
    let run = Run::of(uv.current_dir(env.path("")));
    if run.code != 0 {
        return crate::support::missing(TEST, &format!("the Python index cannot be reached: {}", run.stderr));
    }
    let (first, rest) = run.stdout.split_once('\n').unwrap();
    assert!(first.starts_with("wrong.ps1 2"), "{first}");
    assert_eq!(rest, "packages/install.ps1\ncompletions.ps1\n");
}
