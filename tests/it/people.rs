//! Shared by tests of the commands that use agents: an index and archives on loopback, and a store.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use acp_registry::manifest::Platform;
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use crate::agent::left_with;
use crate::agent::{fake_agent, tag};
use crate::archives::{gz, sha256, tar};
use crate::server::{Answer, Asked, Server, not_found, ok, write};
use crate::support::{Env, Run};

/// Responses of the server by path.
type Answers = Arc<Mutex<HashMap<String, Answer>>>;

/// A registry index and archives on loopback, and a directory for all files that the program writes.
pub(crate) struct People {
    pub(crate) env: Env,
    pub(crate) server: Server,
    answers: Answers,
    root: String,
}

/// The platform of this machine.
pub(crate) fn host() -> &'static str {
    Platform::host().unwrap().as_str()
}

/// The path of an agent's program in its archive.
pub(crate) const AGENT: &str = if cfg!(windows) { "bin/agent.cmd" } else { "bin/agent" };

/// The same, as `cmd` in a manifest.
pub(crate) const CMD: &str = if cfg!(windows) { "./bin/agent.cmd" } else { "./bin/agent" };

/// An archive with a program that prints a word and its arguments.
pub(crate) fn archive(word: &str) -> Vec<u8> {
    let script = if cfg!(windows) {
        format!(
            "@echo {word} %*\r\n@if \"%1\"==\"env\" set\r\n@if \"%1\"==\"fail\" exit /b 7\r\n@if \"%1\"==\"cat\" more\r\n@exit /b 0\r\n"
        )
    } else {
        format!(
            "#!/bin/sh\necho {word} \"$@\"\n[ \"$1\" = env ] && env\n[ \"$1\" = fail ] && exit 7\n[ \"$1\" = cat ] && cat\nexit 0\n"
        )
    };
    packed(&script)
}

/// An archive with this program, a script of the system's shell, and another file.
pub(crate) fn packed(script: &str) -> Vec<u8> {
    gz(&tar(&[(AGENT, script.as_bytes()), ("README", b"text")]))
}

impl People {
    pub(crate) fn new() -> Self {
        Self::with_root("data", |_, _| Ok(false))
    }

    /// Like `new`, with another store, and a function that may handle requests before the server does.
    pub(crate) fn with_root(
        root: &str,
        first: impl Fn(&Asked, &mut std::net::TcpStream) -> std::io::Result<bool> + Send + Sync + 'static,
    ) -> Self {
        let answers = Answers::default();
        let known = answers.clone();
        let server = Server::raw(move |asked, stream| {
            if first(asked, stream)? {
                return Ok(());
            }
            let answer = known.lock().unwrap().get(&asked.path).cloned();
            write(stream, asked, &answer.unwrap_or_else(not_found))
        });
        let env = Env::empty();
        fs::create_dir(env.path("tmp")).unwrap();
        Self { env, server, answers, root: root.to_owned() }
    }

    pub(crate) fn answer(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    pub(crate) fn serve(&self, path: &str, body: impl Into<Vec<u8>>) {
        self.answer(path, ok(body));
    }

    /// Publishes an index of these agents.
    pub(crate) fn publish(&self, agents: &[Value]) {
        self.serve("/registry.json", json!({ "version": "1.0.0", "agents": agents }).to_string());
    }

    /// An agent whose archive is served; `sha256` is its digest.
    pub(crate) fn agent(&self, id: &str, version: &str) -> Value {
        let bytes = archive(&format!("{id}-{version}"));
        self.agent_of(id, version, &bytes, Some(&sha256(&bytes)))
    }

    pub(crate) fn agent_of(&self, id: &str, version: &str, bytes: &[u8], digest: Option<&str>) -> Value {
        let path = format!("/{version}/{id}.tar.gz");
        self.serve(&path, bytes);
        let mut target = json!({
            "archive": self.server.url(&path), "cmd": CMD, "args": ["acp"], "env": { "EXAMPLE": "manifest" },
        });
        if let Some(digest) = digest {
            target["sha256"] = digest.into();
        }
        entry(id, version, &json!({ "binary": { host(): target } }))
    }

    /// Installs agent `a` 1.0.0, whose program is the fake agent in a case. Returns a value that all its processes have
    /// in their environment.
    pub(crate) fn install_fake(&self, case: &[&str]) -> String {
        let program = fake_agent();
        let script = if cfg!(windows) {
            format!("@\"{}\" %*\r\n", program.display())
        } else {
            format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display())
        };
        self.install_script(&script, case)
    }

    /// Like `install_fake`, with another program, and arguments in the manifest.
    pub(crate) fn install_script(&self, script: &str, args: &[&str]) -> String {
        let tag = tag();
        let mut agent = self.agent_of("a", "1.0.0", &packed(script), None);
        let target = &mut agent["distribution"]["binary"][host()];
        target["args"] = json!(args);
        target["env"]["FAKE_AGENT_TAG"] = tag.as_str().into();
        self.publish(&[agent]);
        // It may never answer, which other tests check.
        assert_eq!(self.run(&["install", "a", "--no-check"]).code, 0);
        tag
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.env.path(&self.root)
    }

    /// The program, with its store, cache and temporary files in the test's directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(&[&["--allow-host", &self.server.host], arguments].concat());
        command.env("ACP_REGISTRY_INDEX", self.server.url("/registry.json")).env("ACP_REGISTRY_ROOT", self.root());
        command.env("HOME", self.env.path("home")).env("TMPDIR", self.env.path("tmp"));
        command.env("TEMP", self.env.path("tmp")).env("LOCALAPPDATA", self.env.path("home"));
        command.env("GITHUB_API_URL", self.server.url("/api/v3"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let split = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
        let run = self.run(&[&arguments[..split], &["--json"], &arguments[split..]].concat());
        assert!(run.stdout.is_ascii());
        let document = serde_json::from_str(&run.stdout);
        (run.code, document.unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr)))
    }

    /// Whether the store is gone. Windows keeps the lock of the command that removes it.
    pub(crate) fn is_gone(&self) -> bool {
        if cfg!(windows) { self.left().is_empty() } else { !self.root().exists() }
    }

    /// All files in the store except locks.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = files(&self.root());
        names.retain(|name| !name.ends_with("lock"));
        names
    }
}

/// A test that fails in the middle leaves scripts that would run for ever.
#[cfg(target_os = "linux")]
impl Drop for People {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for process in left_with("environ", &self.env.path("").display().to_string()) {
            let process = rustix::process::Pid::from_raw(process.cast_signed());
            let _ = process.map(|process| rustix::process::kill_process(process, rustix::process::Signal::KILL));
        }
    }
}

/// An entry of an index.
pub(crate) fn entry(id: &str, version: &str, distribution: &Value) -> Value {
    json!({ "id": id, "name": format!("The {id}"), "version": version, "description": "Made for a test",
            "license": "MIT", "distribution": distribution })
}

pub(crate) fn files(directory: &Path) -> Vec<String> {
    if !directory.exists() {
        return Vec::new();
    }
    crate::support::tree(directory).into_iter().map(|(name, _)| name).collect()
}
