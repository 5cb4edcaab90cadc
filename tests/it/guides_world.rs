//! The environment of the guides' commands: an index, package registries, package managers, GitHub and a bucket, all on
//! loopback.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use acp_registry::registry::DEFAULT_BASE_URL;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::archives::{gz, sha256, tar};
use crate::guides::NOT_RUN;
use crate::people::{People, entry, host};
use crate::s3::{Moto, bucket};
use crate::server::{not_found, ok, write};
use crate::support::{PROGRAM, Run, missing};

/// Documents that show the output of real agents, which are not available here.
const OTHERS: [&str; 4] = ["docs/verifying.md", "docs/examining.md", "docs/installing.md", "docs/bumping.md"];

const NPM: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 11.0.0 && exit
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; --) spec=$2 ;; esac
  shift
done
name=${spec%@*}
folder=$prefix/node_modules/$name
mkdir -p "$folder"
echo '{"bin":"run.sh"}' > "$folder/package.json"
printf '#!/bin/sh\n[ "$1" = --acp ] && exec "AGENT" ok\nexit 2\n' > "$folder/run.sh"
chmod +x "$folder/run.sh"
"#;

const UV: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo uv 0.9.0 && exit
spec=$(printf '%s' "$*" | sed 's/.*-- //')
name=${spec%%==*}
case "$*" in *--target*) bin=files/bin ;; *) bin=$UV_TOOL_BIN_DIR ;; esac
mkdir -p "$bin"
printf '#!/bin/sh\n[ "$1" = acp ] && exec "AGENT" ok\necho "no module" >&2\nexit 2\n' > "$bin/$name"
chmod +x "$bin/$name"
"#;

const NODE: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo v22.0.0 && exit\nexec \"AGENT\" ok\n";

/// A `gpg` that writes a fixed signature.
const GPG: &str = "#!/bin/sh\n[ \"$1\" = --detach-sign ] && echo signed > \"$2.sig\"\n";

/// A `gh` that sends no requests, but knows those in the documents.
const GH: &str = r#"#!/bin/sh
case "$*" in
  "api --method POST repos/example/registry/pages --raw-field build_type=workflow") ;;
  "variable set PUBLISH_TO --repo example/registry --body pages") ;;
  "api repos/example/registry/dispatches --raw-field event_type=release --raw-field client_payload[id]=someagent")
    [ -n "$GH_TOKEN" ] ;;
  *) echo "unknown request: $*" >&2; exit 2 ;;
esac
"#;

/// The environment in which a document's commands run.
pub(crate) struct World {
    pub(crate) people: People,
    /// Texts of documents, and their replacements in tests.
    meant: Vec<(String, String)>,
    npm: Vec<&'static str>,
    moto: Option<Arc<Moto>>,
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let published: Arc<OnceLock<PathBuf>> = Arc::default();
        let folder = published.clone();
        let people = People::with_root("data", move |asked, stream| {
            let Some(name) = asked.path.strip_prefix("/published/") else { return Ok(false) };
            let file = fs::read(folder.get().unwrap().join(name)).map_or_else(|_| not_found(), ok);
            write(stream, asked, &file).map(|()| true)
        });
        let at = |path: &str| people.env.path(path).to_str().unwrap().to_owned();
        published.set(people.env.path("srv/registry/latest")).unwrap();
        let moto = Moto::shared(name);
        let store = moto.as_ref().map_or_else(String::new, |moto| format!("http://{}", moto.host));
        let bucket_name = format!("guides-{}", name.replace('_', "-"));
        if let Some(moto) = &moto {
            bucket(moto, &bucket_name);
        }
        let meant = [
            (DEFAULT_BASE_URL, people.server.url("/index")),
            ("https://example.com/registry/v1/latest", people.server.url("/published")),
            ("https://example.com/registry/latest", people.server.url("/published")),
            ("https://ACCOUNT.r2.example.com", store),
            ("https://api.github.com", people.server.url("/api")),
            ("s3://BUCKET", format!("s3://{bucket_name}")),
            ("/srv/registry", at("srv/registry")),
            (" /opt/acp", format!(" {}", at("opt/acp"))),
            // The server would not end by itself, and the port may be in use.
            ("acp-registry serve", "timeout --preserve-status --signal INT 3 acp-registry serve --port 0".to_owned()),
            ("…", "x".to_owned()),
        ];
        let meant = meant.map(|(word, meaning)| (word.to_owned(), meaning)).into();
        let world = Self { people, meant, npm: vec!["1.2.0"], moto };
        for (name, script) in [("npm", NPM), ("uv", UV), ("node", NODE), ("gpg", GPG), ("gh", GH)] {
            world.program(name, &script.replace("AGENT", fake_agent().to_str().unwrap()));
        }
        // Documents use public URLs with https.
        world.program("acp-registry", &format!("#!/bin/sh\nexec '{PROGRAM}' --allow-host 127.0.0.1 \"$@\"\n"));
        for folder in ["work", "home/.local/bin"] {
            fs::create_dir_all(world.people.env.path(folder)).unwrap();
        }
        world.answer();
        world
    }

    fn program(&self, name: &str, script: &str) {
        let path = format!("bin/{name}");
        self.people.env.write_program(&path, script);
    }

    /// Serves packages, a release, and an index with two agents.
    fn answer(&self) {
        let people = &self.people;
        let serve = |path: &str, body: &Value| {
            let kind = if path.contains("simple") { "application/vnd.pypi.simple.v1+json" } else { "application/json" };
            people.answer(path, (200, vec![("Content-Type", kind.to_owned())], body.to_string().into_bytes()));
        };
        for package in ["@example/agent", "@google/gemini-cli"] {
            self.answer_as_npm(package, &serve);
        }
        let file = json!({ "filename": "example_agent-1.2.0-py3-none-any.whl", "hashes": { "sha256": "x" } });
        serve("/py/simple/example-agent/", &json!({ "files": [file] }));
        serve(
            "/py/pypi/example-agent/1.2.0/json",
            &json!({ "info": { "summary": "An agent", "license_expression": "MIT" } }),
        );

        let script = format!("#!/bin/sh\n[ \"$1\" = acp ] && exec '{}' ok\nexit 2\n", fake_agent().display());
        let names = ["linux-x64", "linux-arm64", "macos-arm64", "macos-x64", "windows-x64"];
        let assets = names.map(|name| {
            let program = if name.starts_with("windows") { "agent.exe" } else { "agent" };
            let bytes = if name.starts_with("windows") { pe() } else { script.clone().into_bytes() };
            let name = format!("agent-{name}.tar.gz");
            people.serve(&format!("/example/agent/releases/download/v1.2.0/{name}"), gz(&tar(&[(program, &bytes)])));
            json!({ "name": name, "state": "uploaded", "digest": null })
        });
        let page = people.server.url("/example/agent");
        serve(
            "/api/repos/example/agent",
            &json!({ "description": "An agent", "owner": { "login": "example" },
            "license": { "spdx_id": "MIT" }, "html_url": page }),
        );
        let release = json!({ "tag_name": "v1.2.0", "assets": assets });
        serve("/api/repos/example/agent/releases/tags/v1.2.0", &release);
        serve("/api/repos/example/agent/releases?per_page=100&page=1", &json!([release]));
        people.answer("/api/repos/example/registry/dispatches", (204, Vec::new(), Vec::new()));
        self.publish("1.2.0");
    }

    /// Serves a package as npm's registry does.
    fn answer_as_npm(&self, package: &str, serve: &dyn Fn(&str, &Value)) {
        let path = format!("/npm/{}", package.replace('/', "%2F"));
        let version = |version: &&str| {
            let about = json!({ "version": version, "description": "An agent for tests", "license": "MIT", "bin": "cli.js",
                                "author": "Example Team", "dist": { "integrity": "sha512-x" } });
            serve(&format!("{path}/{version}"), &about);
            ((*version).to_owned(), about)
        };
        let versions: serde_json::Map<String, Value> = self.npm.iter().map(version).collect();
        serve(&path, &json!({ "name": package, "dist-tags": { "latest": self.npm.last() }, "versions": versions }));
    }

    /// Publishes an index with this version of one agent, and with another agent.
    pub(crate) fn publish(&self, version: &str) {
        let methods = json!([{ "id": "login", "name": "Log in" }]);
        let result = json!({ "protocolVersion": 1, "agentInfo": { "name": "x", "version": "1" }, "authMethods": methods,
                             "agentCapabilities": { "auth": { "logout": {} } } });
        let script = format!("#!/bin/sh\nexec '{}' account ok '{result}'\n", fake_agent().display());
        let bytes = gz(&tar(&[("bin/agent", script.as_bytes())]));
        let agent = |id: &str, version: &str| {
            let path = format!("/{version}/{id}.tar.gz");
            self.people.serve(&path, bytes.clone());
            let target = || {
                json!({ "archive": self.people.server.url(&path), "sha256": sha256(&bytes), "cmd": "./bin/agent",
                                    "env": { "EXAMPLE": "1" } })
            };
            let mut agent = entry(id, version, &json!({ "binary": { host(): target(), "linux-aarch64": target() } }));
            agent["description"] = "Writes code".into();
            agent
        };
        let index = json!({ "version": "1.0.0", "agents": [agent("someagent", version), agent("other", "2.0.0"), agent("gemini", version)] });
        self.people.serve("/index/registry.json", index.to_string());
    }

    /// Adds a version to npm's registry.
    pub(crate) fn release(&mut self, version: &'static str) {
        self.npm.push(version);
        self.answer();
    }

    /// The working directory of the shell.
    pub(crate) fn folder(&self) -> PathBuf {
        let state = fs::read_to_string(self.people.env.path("state")).unwrap_or_default();
        let last = state.lines().last().and_then(|line| line.strip_prefix("cd "));
        last.map_or_else(|| self.people.env.path("work"), PathBuf::from)
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.folder().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Runs lines in a shell that continues in the state of the last one.
    fn shell(&self, lines: &str) -> Run {
        let env = &self.people.env;
        let lines = self.meant.iter().fold(lines.to_owned(), |lines, (word, meaning)| lines.replace(word, meaning));
        let script = format!(
            "[ -f \"$STATE\" ] && . \"$STATE\"\ntrap 'export -p > \"$STATE\"; printf \"cd %q\\n\" \"$PWD\" >> \"$STATE\"' EXIT\n{lines}\n"
        );
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300", "bash", "-euo", "pipefail", "-c", &script]);
        let path = format!("{}:{}", env.path("bin").display(), std::env::var("PATH").unwrap());
        command.env_clear().env("PATH", path).env("STATE", env.path("state"));
        command.env("HOME", env.path("home")).env("TMPDIR", env.path("tmp")).env("LC_ALL", "C.UTF-8");
        command.env("ACP_REGISTRY_NPM", self.people.server.url("/npm/"));
        command.env("ACP_REGISTRY_PYPI", self.people.server.url("/py/simple/"));
        command.env("GITHUB_API_URL", self.people.server.url("/api"));
        command.env("ACP_REGISTRY_INDEX", self.people.server.url("/index/registry.json"));
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Test").env(format!("GIT_{who}_EMAIL"), "test@example.com");
        }
        command.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(env.path("work")).stdin(Stdio::null());
        Run::of(&mut command)
    }

    /// Performs steps that the reader of a document does between its commands.
    pub(crate) fn prepare(&self, lines: &str) {
        let run = self.shell(lines);
        assert_eq!(run.code, 0, "{lines}: {}", run.stderr);
    }

    /// Runs a document. `before` is called before each block with commands.
    pub(crate) fn follow(&mut self, path: &str, before: impl Fn(&mut Self, &Block)) {
        let seen = self.run_blocks(path, &before);
        assert!(seen >= 8 || path == "README.md", "{path}: only {seen} blocks");
    }

    /// Runs the blocks of a document, and counts those with commands.
    pub(crate) fn run_blocks(&mut self, path: &str, before: &impl Fn(&mut Self, &Block)) -> usize {
        let mut last: Option<Run> = None;
        let mut seen = 0;
        for block in blocks(&document(path)) {
            let place = format!("{path}, “{}”:\n{}", block.section, block.text);
            if let Some(file) = block.file() {
                self.write(file, &block.text);
            } else if block.kind == "json" {
                let run = last.as_ref().unwrap_or_else(|| panic!("{place}nothing has printed this"));
                let printed: Value = serde_json::from_str(&run.stdout).unwrap();
                assert_members(&serde_json::from_str(&block.text).unwrap(), &printed, &place);
            }
            let script = block.script();
            if script.is_empty() {
                continue;
            }
            if self.moto.is_none() && script.contains("s3://") {
                missing(path, "the block with a bucket: there is no store");
                continue;
            }
            before(self, &block);
            let run = self.shell(&script);
            // Remedies repeat the flag that this program has here.
            let all = format!("{}{}", run.stdout, run.stderr).replace(" --allow-host 127.0.0.1`", "`");
            assert_eq!(run.code, block.exit(), "{place}\n{all}\nasked: {:?}", self.people.server.asked());
            let is_printed = |line: &&str| all.lines().any(|printed| printed.trim_end() == *line);
            let untrue: Vec<&str> = block.shown().filter(|line| !is_printed(line)).collect();
            let is_other = OTHERS.contains(&path);
            assert!(is_other || untrue.is_empty(), "{place}does not print {untrue:#?}\n{all}");
            last = Some(run);
            seen += 1;
        }
        seen
    }
}

/// A file with the header of a Windows program.
fn pe() -> Vec<u8> {
    let mut bytes = vec![0; 512];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c] = 0x80;
    bytes[0x80..0x86].copy_from_slice(b"PE\0\0\x64\x86");
    bytes
}

/// A block of a document.
pub(crate) struct Block {
    /// The heading above it.
    pub(crate) section: String,
    pub(crate) kind: String,
    /// The words after the kind.
    words: Vec<String>,
    pub(crate) text: String,
}

pub(crate) fn document(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut section, mut is_heading) = (Vec::new(), String::new(), false);
    let mut open: Option<Block> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => (section, is_heading) = (String::new(), true),
            Event::End(TagEnd::Heading(_)) => is_heading = false,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let mut words = info.split(' ').map(ToOwned::to_owned);
                let kind = words.next().unwrap_or_default();
                let section = section.clone();
                open = Some(Block { section, kind, words: words.collect(), text: String::new() });
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            Event::Text(text) | Event::Code(text) if is_heading => section.push_str(&text),
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&text);
                }
            }
            _ => (),
        }
    }
    blocks
}

impl Block {
    /// The lines that are commands or parts of commands.
    pub(crate) fn commands(&self) -> Vec<&str> {
        let lines = self.text.lines();
        let lines: Vec<&str> = match self.kind.as_str() {
            "sh" => lines.collect(),
            "console" => lines.filter_map(|line| line.strip_prefix("$ ")).collect(),
            _ => Vec::new(),
        };
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    pub(crate) fn script(&self) -> String {
        let is_run = |line: &&str| !NOT_RUN.iter().any(|(start, _)| line.starts_with(start));
        self.commands().into_iter().filter(is_run).collect::<Vec<_>>().join("\n")
    }

    /// The lines of output that the document shows. A line with an ellipsis stands for any number of lines.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines().filter(|_| self.kind == "console");
        lines.filter(|line| !line.starts_with("$ ") && !line.is_empty() && !line.contains('…'))
    }

    pub(crate) fn exit(&self) -> i32 {
        self.words.iter().find_map(|word| word.strip_prefix("exit-")).map_or(0, |code| code.parse().unwrap())
    }

    pub(crate) fn file(&self) -> Option<&String> {
        self.words.iter().find(|word| !word.starts_with("exit-"))
    }
}

/// Asserts that the JSON in a document has members of the same names and types as the printed JSON. Null matches any
/// type.
pub(crate) fn assert_members(shown: &Value, printed: &Value, place: &str) {
    match (shown, printed) {
        (Value::Object(shown), Value::Object(printed)) => {
            for (name, value) in shown {
                let printed = printed.get(name).unwrap_or_else(|| panic!("{place}{name} is not printed"));
                assert_members(value, printed, place);
            }
            let untold: Vec<&String> = printed.keys().filter(|name| !shown.contains_key(*name)).collect();
            assert_eq!(untold, [] as [&String; 0], "{place}also printed");
        }
        _ => assert_eq!(
            std::mem::discriminant(shown),
            std::mem::discriminant(printed),
            "{place}{shown} is printed as {printed}"
        ),
    }
}
