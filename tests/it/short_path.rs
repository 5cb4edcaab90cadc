//! Starts without a shell: a short `PATH`, and Node.js only in the directories of version managers.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use serde_json::{Value, json};

use crate::agents::text;
use crate::runtimes::{NPM, OLD, Scene};
use crate::support::{Env, Run};

/// A Node.js that satisfies the package and, asked for it, shows its `PATH`.
const NODE: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo vVERSION && exit\n[ -n \"$SHOW\" ] && echo \"$PATH\" && exit\n\
                    exec \"AGENT\" ok\n";

/// A `uv` for a package that requires Python 3.12, on a machine with 3.11; it may download none if `UV_PYTHON_DOWNLOADS`
/// forbids it.
const UV: &str = r#"#!/bin/sh
case "$*" in
  "python list"*) echo "cpython-3.11.7-linux-x86_64-gnu    /usr/bin/python3.11"; exit ;;
  *--python*)
    [ "$UV_PYTHON_DOWNLOADS" = never ] && { echo "error: No interpreter found for Python >=3.12 in search path

hint: A managed Python download is available for Python >=3.12, but Python downloads are set to 'never'" >&2; exit 2; } ;;
  *)
    [ "$UV_PYTHON" = 3.99 ] && { echo "error: No interpreter found for Python 3.99 in managed installations or search path" >&2; exit 2; }
    echo "error: No solution found when resolving dependencies
  cause: Because the current Python version (3.11.7) does not satisfy Python>=3.12 and q==1.0.0 depends on Python>=3.12, we can
         conclude that q==1.0.0 cannot be used." >&2; exit 1 ;;
esac
mkdir -p "$UV_TOOL_BIN_DIR"
printf '#!/bin/sh\nexec "AGENT" ok\n' > "$UV_TOOL_BIN_DIR/q"; chmod +x "$UV_TOOL_BIN_DIR/q"
"#;

/// A home directory with nvm, and a `PATH` that has the system's programs but neither Node.js nor npm.
struct Machine(Scene);

impl Machine {
    fn new(versions: &[&str]) -> Self {
        let scene = Scene::new();
        fs::create_dir(scene.path("system")).unwrap();
        for name in ["cat", "chmod", "cp", "mkdir", "sleep"] {
            let found = ["/usr/bin", "/bin"]
                .map(|folder| format!("{folder}/{name}"))
                .into_iter()
                .find(|path| fs::exists(path).unwrap());
            symlink(found.unwrap(), scene.path(&format!("system/{name}"))).unwrap();
        }
        let machine = Self(scene);
        for version in versions {
            machine.add(version);
        }
        machine
    }

    fn bin(version: &str) -> String {
        format!("home/.nvm/versions/node/v{version}/bin")
    }

    /// Installs a version with nvm.
    fn add(&self, version: &str) {
        let bin = Self::bin(version);
        let node = if version.starts_with('9') { NODE } else { OLD };
        // npm is a script that the Node.js in `PATH` runs.
        let npm = NPM.replacen('\n', "\ncommand -v node > /dev/null || exit 9\n", 1);
        self.0.program(&format!("{bin}/node"), &node.replace("VERSION", version)).program(&format!("{bin}/npm"), &npm);
    }

    /// Uninstalls one.
    fn remove(&self, version: &str) {
        fs::remove_dir_all(self.0.path(&Self::bin(version))).unwrap();
    }

    fn node(&self, version: &str) -> String {
        self.0.path(&format!("{}/node", Self::bin(version)))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.0.command(arguments);
        command.env("PATH", self.0.path("system"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
    }

    /// The checks of the agent that did not pass.
    fn doctor(&self, arguments: &[&str]) -> Vec<(String, String, String)> {
        let document = self.json(&[&["doctor"], arguments].concat());
        let checks = document["agents"][0]["checks"].as_array().unwrap();
        let bad = checks.iter().filter(|check| check["status"] != "ok");
        bad.map(|check| (text(check, "name").into(), text(check, "message").into(), text(check, "help").into()))
            .collect()
    }

    fn interpreter(&self) -> Value {
        let directory = self.json(&["which", "p"])["install_dir"].as_str().unwrap().to_owned();
        serde_json::from_slice::<Value>(&fs::read(format!("{directory}/receipt.json")).unwrap()).unwrap()["interpreter"]
            .clone()
    }
}

#[test]
fn without_any_node_the_missing_runtime_is_named() {
    let machine = Machine::new(&[]);
    let run = machine.run(&["install", "p"]);
    assert!(run.code == 3 && run.stderr.contains("npm"), "{}", run.stderr);
    assert!(run.stderr.contains("help: install Node.js with npm"), "{}", run.stderr);
    // Anyone could have put that one there.
    machine.add("900.0.1");
    let folder = machine.0.path("home/.nvm/versions/node/v900.0.1");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let run = machine.run(&["install", "p"]);
    assert!(run.code == 3 && run.stderr.contains("help: install Node.js with npm"), "{}", run.stderr);
}

#[test]
fn the_node_of_a_version_manager_is_found_recorded_and_found_again() {
    let machine = Machine::new(&["899.2.0", "900.0.1", "901.0.0"]);
    machine.0.0.env.write("home/.nvm/alias/default", "900\n");
    let installed = machine.json(&["install", "p"]);
    assert_eq!(
        (text(&installed, "program"), &installed["answers"]),
        (&*machine.node("900.0.1"), &json!(true)),
        "{installed}"
    );
    let recorded = machine.interpreter();
    assert_eq!((text(&recorded, "version"), text(&recorded, "wanted")), ("900.0.1", ">=900"));
    assert_eq!(machine.doctor(&["p"]), []);
    let checks = machine.json(&["doctor"])["checks"].clone();
    let npm = format!("11.0.0, {}", machine.0.path(&format!("{}/npm", Machine::bin("900.0.1"))));
    assert_eq!((text(&checks[1], "status"), text(&checks[1], "message")), ("ok", npm.as_str()));

    // `nvm uninstall 900.0.1`
    machine.remove("900.0.1");
    let bad = machine.doctor(&[]);
    let (now, then) = (machine.node("901.0.0"), machine.node("900.0.1"));
    let told = format!("`1.0.0` is started by {now}, no longer by {then} (900.0.1), which is gone");
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert_eq!((bad[0].0.as_str(), bad[0].1.as_str()), ("runtime", told.as_str()));
    assert!(bad[0].2.contains("doctor --fix"), "{bad:?}");
    assert_eq!(machine.doctor(&["--fix"]), []);
    let recorded = machine.interpreter();
    assert_eq!((text(&recorded, "program"), text(&recorded, "version")), (now.as_str(), "901.0.0"));

    // Only one that is too old is left: it is named as such, and not taken for a repair.
    machine.remove("901.0.0");
    assert!(machine.doctor(&["--fix"])[0].1.contains("needs Node.js >=900, found 899.2.0"));
    let recorded = machine.interpreter();
    assert_eq!((text(&recorded, "version"), text(&recorded, "wanted")), ("899.2.0", ">=900"));
    // A better one is noticed as soon as it is there.
    machine.add("902.0.0");
    assert!(machine.doctor(&[])[0].1.contains(&machine.node("902.0.0")));
    assert_eq!(machine.doctor(&["--fix"]), []);

    machine.remove("902.0.0");
    machine.remove("899.2.0");
    let bad = machine.doctor(&["--fix"]);
    let told = format!("it needs `node`, which is not in PATH any more: it was {} (902.0.0)", machine.node("902.0.0"));
    assert!(bad[0].1.ends_with(&told), "{bad:?}");
    assert_eq!(machine.run(&["run", "p"]).code, 3);
}

#[test]
fn a_path_without_a_shell_gets_more_directories_at_its_end() {
    let machine = Machine::new(&["900.0.1"]);
    let installed = machine.json(&["install", "p", "--no-check"]);
    let beside = format!("{}/files/node_modules/.bin", text(&installed, "install_dir"));
    fs::create_dir(&beside).unwrap();
    for name in ["tools", "open", "home/.local/bin"] {
        fs::create_dir_all(machine.0.path(name)).unwrap();
    }
    fs::set_permissions(machine.0.path("open"), fs::Permissions::from_mode(0o1777)).unwrap();
    let shown = |variable: Option<&str>| {
        let mut command = machine.command(&["run", "p"]);
        match variable {
            Some(value) => command.env("ACP_REGISTRY_PATH", value),
            None => command.env_remove("ACP_REGISTRY_PATH"),
        };
        let run = Run::of(command.env("SHOW", "1"));
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.trim_end().to_owned()
    };
    let own = format!("{}:{}:{beside}", machine.0.path("system"), machine.0.path(&Machine::bin("900.0.1")));
    let (tools, open, missing) = (machine.0.path("tools"), machine.0.path("open"), machine.0.path("missing"));
    assert_eq!(shown(Some("")), own);
    let appended = format!(
        "{}:{}",
        machine.0.path("system"),
        machine.json(&["which", "p"])["path"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part.as_str().unwrap())
            .collect::<Vec<_>>()
            .join(":")
    );
    assert_eq!(appended, own);
    assert_eq!(shown(Some(&format!("{open}:relative:{tools}:{missing}:{tools}"))), format!("{own}:{tools}"));
    assert!(shown(None).starts_with(&format!("{own}:{}", machine.0.path("home/.local/bin"))));
    // A directory that everyone can write is not searched for helpers.
    fs::set_permissions(&beside, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(!shown(Some("")).contains(&beside));
}

#[test]
fn a_python_that_is_missing_is_named_with_those_that_are_there() {
    let machine = Machine::new(&[]);
    machine.0.program("system/uv", UV);
    let install =
        |variables: &[(&str, &str)]| Run::of(machine.command(&["install", "q"]).envs(variables.iter().copied()));
    let never = ("UV_PYTHON_DOWNLOADS", "never");
    for (variables, told, help) in [
        (
            &[never][..],
            "the package `q==1.0.0` needs Python >=3.12, found 3.11.7; uv is configured to download none\n",
            "help: run `uv python install 3.12`\n",
        ),
        (
            &[never, ("UV_PYTHON", "3.11")],
            "needs Python >=3.12, found 3.11.7 (by UV_PYTHON=3.11); uv is configured to download none\n",
            "help: run `uv python install 3.12`\n",
        ),
        (
            &[("UV_PYTHON", "3.99")],
            "uv finds no Python for UV_PYTHON=3.99; there is 3.11.7\n",
            "help: set UV_PYTHON to a Python that is there, or unset it: uv then chooses one\n",
        ),
    ] {
        let run = install(variables);
        assert!(run.code == 3 && run.stderr.contains(told), "{told}: {}", run.stderr);
        assert!(run.stderr.ends_with(help), "{}", run.stderr);
    }
    // uv does not use a Python that the package does not accept, even if `UV_PYTHON` names it.
    let run = install(&[("UV_PYTHON", "3.11")]);
    assert!(run.code == 0 && run.stdout.starts_with("installed q 1.0.0 and answers"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error_with_its_file_and_a_remedy() {
    let env = Env::with(&["a"]);
    for (limit, arguments) in [(0, &["build", "--out", "dist"][..]), (1, &["build", "--out", "dist"])] {
        let program = env.command(arguments);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f {limit} && exec \"$0\" \"$@\"")]).arg(program.get_program());
        command.args(program.get_args()).current_dir(program.get_current_dir().unwrap());
        let output =
            command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{limit}: {stderr}");
        assert!(stderr.contains("File too large") || stderr.contains("file too large"), "{stderr}");
        assert!(stderr.contains("dist") && stderr.contains("ulimit -f"), "{stderr}");
        assert!(!env.path("dist").exists());
    }
}
