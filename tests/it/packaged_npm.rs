//! The npm packages of this program, installed from a registry on loopback.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::packaged::{VERSION, archives, has, packages, platform, unpacked};
use crate::server::{Server, not_found, ok, write};
use crate::support::{Env, Run};

/// A registry with the packages in a folder.
fn registry(folder: &Path) -> Server {
    let read = |path: &Path| {
        let manifest: Value = serde_json::from_slice(&unpacked(path)["package/package.json"].1).unwrap();
        (manifest["name"].as_str().unwrap().to_owned(), manifest, fs::read(path).unwrap())
    };
    let packages: Vec<_> = fs::read_dir(folder).unwrap().map(|item| read(&item.unwrap().path())).collect();
    Server::raw(move |asked, stream| {
        let base = format!("http://{}", asked.header("host"));
        let path = asked.path.replace("%2f", "/").replace("%2F", "/");
        let answer = packages.iter().find_map(|(name, manifest, bytes)| {
            if path == format!("/{name}.tgz") {
                return Some(ok(bytes.clone()));
            }
            let mut manifest = manifest.clone();
            manifest["dist"] = json!({ "tarball": format!("{base}/{name}.tgz") });
            let packument =
                json!({ "name": name, "dist-tags": { "latest": VERSION }, "versions": { VERSION: manifest } });
            (path == format!("/{name}")).then(|| ok(packument.to_string()))
        });
        write(stream, asked, &answer.unwrap_or_else(not_found))
    })
}

/// npm's program of this name, with nothing of the person's settings.
fn npm(env: &Env, server: &Server, arguments: &[&str]) -> Command {
    let mut command = Command::new(arguments[0]);
    let path = format!("{}:{}", env.path("npm/node_modules/.bin").display(), std::env::var("PATH").unwrap());
    command.args(&arguments[1..]).env_clear().env("PATH", path).env("HOME", env.path("home"));
    command.env("npm_config_registry", server.url("/")).env("npm_config_cache", env.path("cache"));
    command.env("npm_config_update_notifier", "false").env("npm_config_audit", "false");
    fs::create_dir_all(env.path("project")).unwrap();
    command.current_dir(env.path("project")).stdin(Stdio::null());
    command
}

/// The program under its name in a project.
const OWN: &str = "node_modules/.bin/acp-registry";

/// The environment, and a registry with packages for this machine and another one.
fn published(test: &str) -> Option<(Env, Server)> {
    if !has("npm", test) {
        return None;
    }
    let env = archives(&[&platform(), "windows-aarch64"], test)?;
    let server = registry(&packages(&env, &["npm"], &[]));
    Some((env, server))
}

#[test]
fn npm_installs_the_program_of_this_machine() {
    let Some((env, server)) = published("npm_installs_the_program_of_this_machine") else { return };
    let run = Run::of(&mut npm(&env, &server, &["npm", "install", "acp-registry"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let asked = server.asked();
    assert!(!asked.iter().any(|path| path.ends_with("win32-arm64.tgz")), "{asked:?}");
    let run = Run::of(&mut npm(&env, &server, &[OWN, "--version"]));
    assert_eq!((run.code, run.stdout), (0, format!("acp-registry {VERSION}\n")), "{}", run.stderr);
    // Arguments, streams and the exit code are the program's.
    let run = Run::of(&mut npm(&env, &server, &[OWN, "explain", "no/such rule", "--json"]));
    assert!(run.code == 2 && run.stdout.contains("no/such rule") && !run.stderr.is_empty(), "{}", run.stdout);
    let status = npm(&env, &server, &[OWN, "die"]).status().unwrap();
    assert_eq!(status.signal(), Some(9));
    let mut child = npm(&env, &server, &[OWN, "wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

/// A program that uses the client and lists the agents of an index.
const USE: &str = "import { Registry, RpcError, launch } from 'acp-registry';
const registry = new Registry({ args: ['--index', process.argv[2]] });
const { agents } = await registry.request('list');
const failure = await registry.request('info', { agent: 'other' }).catch((error) => error);
await registry.close();
console.log(agents.map((agent) => agent.id).join(), failure instanceof RpcError, typeof launch);
";

#[test]
fn a_project_uses_the_client_of_the_package() {
    let Some((env, server)) = published("a_project_uses_the_client_of_the_package") else { return };
    let index = crate::packaged::index(&env);
    let run = Run::of(&mut npm(&env, &server, &["npm", "install", "acp-registry"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    env.write("project/use.mjs", USE);
    let run = Run::of(&mut npm(&env, &server, &["node", "use.mjs", &index]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "one,two true function\n"), "{}", run.stderr);
    // Without the program, the error says what helps.
    fs::remove_dir_all(env.path("project/node_modules/@acp-registry")).unwrap();
    let run = Run::of(&mut npm(&env, &server, &["node", "use.mjs", &index]));
    assert!(run.code == 1 && run.stderr.contains("help: 'npm install --include=optional"), "{}", run.stderr);
}

#[test]
fn a_missing_package_is_named_with_its_remedy() {
    let Some((env, server)) = published("a_missing_package_is_named_with_its_remedy") else { return };
    let run = Run::of(&mut npm(&env, &server, &["npm", "install", "--omit=optional", "acp-registry"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = Run::of(&mut npm(&env, &server, &[OWN, "--version"]));
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("error: the package @acp-registry/"), "{}", run.stderr);
    let (_, remedy) = run.stderr.trim_end().split_once("\nhelp: ").unwrap();
    let run = Run::of(&mut npm(&env, &server, &remedy.split(' ').collect::<Vec<_>>()));
    assert_eq!(run.code, 0, "{remedy}: {}", run.stderr);
    let run = Run::of(&mut npm(&env, &server, &[OWN, "--version"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    // On a machine without a package.
    let finder = env.path("project/node_modules/acp-registry/program.js");
    let text = fs::read_to_string(&finder).unwrap();
    fs::write(&finder, text.replace("process.arch", "'mips'")).unwrap();
    let run = Run::of(&mut npm(&env, &server, &[OWN, "--version"]));
    assert!(run.code == 3 && run.stderr.contains("mips; there are @acp-registry/"), "{}", run.stderr);
}

/// npm 12 runs no install scripts: there are none.
#[cfg(feature = "world")]
#[test]
fn npx_runs_the_program_under_old_and_new_npm() {
    const TEST: &str = "npx_runs_the_program_under_old_and_new_npm";
    let Some((env, server)) = published(TEST) else { return };
    for version in ["10", "12"] {
        let mut fetch = Command::new("npm");
        fetch.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix", "npm", &format!("npm@{version}")]);
        if !fetch.current_dir(env.path("")).status().unwrap().success() {
            return crate::support::missing(TEST, "the npm registry cannot be reached");
        }
        let own = Run::of(&mut npm(&env, &server, &["npm", "--version"]));
        assert!(own.stdout.starts_with(&format!("{version}.")), "{}", own.stdout);
        let run = Run::of(&mut npm(&env, &server, &["npx", "--yes", "acp-registry", "explain", "no/rule", "--json"]));
        assert!(run.code == 2 && run.stdout.contains("no/rule"), "npm {version}: {}{}", run.stdout, run.stderr);
        let prefix = env.path("global").to_str().unwrap().to_owned();
        let run =
            Run::of(&mut npm(&env, &server, &["npm", "install", "--global", "--prefix", &prefix, "acp-registry"]));
        // npm 12 warns of an older Node.js, and would warn of install scripts.
        assert!(run.code == 0 && !run.stderr.contains("script"), "npm {version}: {}", run.stderr);
        let run = Run::of(&mut npm(&env, &server, &[&format!("{prefix}/bin/acp-registry"), "--version"]));
        assert_eq!(run.stdout, format!("acp-registry {VERSION}\n"), "npm {version}: {}", run.stderr);
        fs::remove_dir_all(env.path("cache")).unwrap();
    }
}
