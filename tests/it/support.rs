//! A registry in a temporary directory, and runs of the program on it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_acp-registry");

/// A valid icon.
pub(crate) const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" viewBox=\"0 0 16 16\">\n  <path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>\n</svg>\n";

/// A valid manifest.
pub(crate) fn manifest(id: &str) -> String {
    format!(
        r#"{{
  "id": "{id}",
  "name": "An agent {id}",
  "version": "1.0.0",
  "description": "Made for a test",
  "license": "MIT", "authors": ["An author"],
  "distribution": {{
    "npx": {{
      "package": "{id}@1.0.0",
      "args": ["--acp"]
    }}
  }}
}}
"#
    )
}

/// A temporary directory with a registry in `r/` and the other files of a test.
pub(crate) struct Env {
    folder: TempDir,
}

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Env {
    /// An empty registry.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("r")).unwrap();
        Self { folder }
    }

    /// A registry with valid agents.
    pub(crate) fn with(ids: &[&str]) -> Self {
        let env = Self::empty();
        ids.iter().fold(env, |env, id| {
            env.file(&format!("r/{id}/agent.json"), manifest(id)).file(&format!("r/{id}/icon.svg"), ICON)
        })
    }

    /// Writes a file, and creates its parent directories.
    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    /// Like [`Env::file`], after the environment was created.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a program. Another process writes it: one that another thread starts meanwhile would inherit the open file, and
    /// the system starts no program that is open for writing.
    #[cfg(unix)]
    pub(crate) fn write_program(&self, path: &str, script: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "rm -f \"$0\" && cat > \"$0\" && chmod 755 \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success(), "{}", path.display());
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// The program with these arguments, in the directory, without the caller's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        if !arguments.contains(&"--registry-dir") {
            command.args(["--registry-dir", "r"]);
        }
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        scrub(&mut command);
        record(command.get_args());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    /// Runs with `--json` and parses the document, which must be the only output on stdout.
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert!(run.stdout.is_ascii());
        (
            run.code,
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr)),
        )
    }

    /// The rule and file of each finding of `validate`.
    pub(crate) fn findings(&self) -> (i32, Vec<(String, String)>) {
        let (code, report) = self.json(&["validate"]);
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        (code, report["findings"].as_array().unwrap().iter().map(|f| (text(f, "rule"), text(f, "file"))).collect())
    }

    /// Runs git in the registry.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"]);
        command.args(arguments).current_dir(self.path("r"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Clears the environment except for variables that every program needs.
pub(crate) fn scrub(command: &mut Command) {
    // On Windows, programs open no connection without the latter.
    let needed = ["PATH", "SYSTEMROOT"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    // Otherwise, programs of this machine would be found where a test's own are missing.
    command.env_clear().envs(needed).env("ACP_REGISTRY_PATH", "");
}

impl Run {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::try_of(command).unwrap()
    }

    /// Like [`Run::of`], if the system may refuse to start the program.
    pub(crate) fn try_of(command: &mut Command) -> io::Result<Self> {
        record(command.get_args());
        let output = command.output()?;
        // Commands in remedies repeat the host of the test's server, whose port changes.
        let arguments: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
        let is_own = |pair: &[Cow<'_, str>]| pair[0] == "--allow-host" && pair[1].starts_with("127.0.0.1:");
        let own: Vec<_> =
            arguments.windows(2).filter(|pair| is_own(pair)).map(|pair| format!(" {}", pair.join(" "))).collect();
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap().replace(if cfg!(windows) { "\r\n" } else { "\n" }, "\n");
            let without = |part: &str| own.iter().fold(part.to_owned(), |part, flag| part.replace(flag, ""));
            let parts = text
                .split('`')
                .map(|part| if part.starts_with("acp-registry ") { without(part) } else { part.to_owned() });
            parts.collect::<Vec<_>>().join("`")
        };
        let run =
            Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        crate::documents::check(&run);
        Ok(run)
    }
}

/// Appends the running test and these arguments to the file that `ACP_REGISTRY_TEST_RUNS` names. `.ci/matrix` reads there which
/// tests start which command.
fn record<'a>(arguments: impl Iterator<Item = &'a OsStr>) {
    // Tests run at the same time, and not every system appends a line as a whole.
    static LINES: Mutex<()> = Mutex::new(());
    let Some(path) = std::env::var_os("ACP_REGISTRY_TEST_RUNS") else {
        return;
    };
    let arguments: Vec<_> = arguments.map(OsStr::to_string_lossy).collect();
    let run = serde_json::json!({ "test": std::thread::current().name(), "arguments": arguments });
    let _one = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    File::options().append(true).create(true).open(path).unwrap().write_all(format!("{run}\n").as_bytes()).unwrap();
}

/// Path, with slashes, and content of every file below a directory.
pub(crate) fn tree(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                // Windows keeps the lock of the command that removes it.
                if cfg!(windows) && path.ends_with(".acp-registry/lock") {
                    continue;
                }
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Has programs that tests start end by SIGHUP, even where `nohup` has started the tests.
#[cfg(unix)]
pub(crate) fn undo_nohup() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    if u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 != 0 {
        // A signal with a handler has its default again in what is started.
        signal_hook::flag::register(nix::libc::SIGHUP, Arc::default()).unwrap();
    }
}

/// Waits until a condition is true. The limit only ends a test that hangs.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_mins(2);
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        sleep(Duration::from_millis(5));
    }
}

/// A small file system in memory, which is unmounted at the end.
#[cfg(target_os = "linux")]
pub(crate) struct SmallDisk(PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    /// Mounts it at this path; `None` where that is not allowed, which skips the test.
    pub(crate) fn mount(test: &str, path: &Path, size: &str) -> Option<Self> {
        fs::create_dir(path).unwrap();
        let mut mount = Command::new("mount");
        let status = mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(path).status();
        if !status.is_ok_and(|status| status.success()) {
            skipped(test, "cannot mount a small file system");
            return None;
        }
        Some(Self(path.to_owned()))
    }

    /// Leaves no block free.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.0.join("fill")).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}

/// Reports that a test was skipped, and why. Written past the test runner, which would capture it.
pub(crate) fn skipped(test: &str, why: &str) {
    record([OsStr::new("SKIPPED")].into_iter());
    told(&format!("SKIPPED {test}: {why}"));
}

/// Reports that an external dependency is missing, so that a test is skipped; a failure if `CI` is set.
#[cfg(any(feature = "world", target_os = "linux"))]
pub(crate) fn missing(test: &str, what: &str) {
    assert!(std::env::var_os("CI").is_none_or(|value| value.is_empty()), "{test} cannot run: {what}");
    skipped(test, what);
}

/// Prints information past the test runner, which would capture it.
pub(crate) fn told(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Markdown without its code spans. A span ends at the next run of backticks of the same length.
pub(crate) fn outside_code(markdown: &str) -> String {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let mut out = String::new();
    let mut rest = markdown;
    while let Some(at) = rest.find('`') {
        let length = run(&rest[at..]);
        let behind = &rest[at + length..];
        let mut from = 0;
        let mut end = None;
        while let (None, Some(start)) = (end, behind[from..].find('`').map(|start| start + from)) {
            let found = run(&behind[start..]);
            from = start + found;
            end = (found == length).then_some(from);
        }
        out.push_str(&rest[..at + if end.is_none() { length } else { 0 }]);
        rest = &behind[end.unwrap_or_default()..];
    }
    out + rest
}
