//! Packages of a list that are put in place without npm.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha512};

use crate::archives::{gz, link, tar};
use crate::authorities::Private;
use crate::people::{People, host};
use crate::server::redirect;
use crate::support::{Run, wait_until};

/// An `npm` that notes how it was called, installs nothing, and fails, unless it is asked for scripts: these write a file of
/// the agent's package anew, and remove another.
const NPM: &str = r#"#!/bin/sh
echo "$@" >> "${0%/*}/called"
case "$1" in config) echo false; exit ;; rebuild) ;; *) exit 9 ;; esac
while [ $# -gt 0 ]; do
  case "$1" in --prefix) package="$2/node_modules/own" ;; esac
  shift
done
find "$package/data" "$package/../dep" -type f -links +1 >> "${0%/*}/shared"
echo built > "$package/data"
mkdir "$package/new" && echo new > "$package/new/file" && chmod 755 "$package/new/file"
rm -f "$package/gone"
"#;

const CLI: (&str, &[u8]) = ("package/cli.js", b"#!/usr/bin/env node\r\nstart\r\n");

fn sha512(bytes: &[u8]) -> String {
    format!("sha512-{}", BASE64_STANDARD.encode(Sha512::digest(bytes)))
}

fn pack(files: &[(&str, &[u8])]) -> Vec<u8> {
    gz(&tar(&[&[("package/package.json", br#"{"bin":{"own":"./cli.js"}}"#.as_slice())], files].concat()))
}

/// Packs files with their modes.
fn pack_with_modes(files: &[(&str, &[u8], u32)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content, mode) in files {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(content.len() as u64);
        header.set_mode(*mode);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    gz(&archive.into_inner().unwrap())
}

/// A store, a stand-in for npm, and a registry of npm.
struct World {
    people: People,
    packages: BTreeMap<String, Value>,
}

impl World {
    fn new() -> Self {
        Self::before(|_| ())
    }

    /// Calls a function with the path of each request, before it is answered.
    fn before(first: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let people = People::with_root("data", move |asked, _| {
            first(&asked.path);
            Ok(false)
        });
        for (name, script) in [("npm", NPM), ("node", "#!/bin/sh\necho v24.0.0\n")] {
            people.env.write_program(&format!("bin/{name}"), script);
        }
        Self { people, packages: BTreeMap::new() }
    }

    /// Serves a package, and lists it at a path of the tree.
    fn add(&mut self, path: &str, archive: &[u8], more: &Value) -> &mut Self {
        let name = path.rsplit_once("node_modules/").unwrap().1.to_owned();
        let last = name.rsplit('/').next().unwrap();
        self.people.serve(&format!("/npm/{name}/-/{last}-1.0.0.tgz"), archive);
        let mut package = json!({ "version": "1.0.0", "integrity": sha512(archive) });
        package.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.packages.insert(path.to_owned(), package);
        self
    }

    /// Adds the agent's own package.
    fn add_own(&mut self, files: &[(&str, &[u8])], more: &Value) -> &mut Self {
        let mut all = json!({ "bin": { "own": "./cli.js" } });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.add("node_modules/own", &pack(&[&[CLI], files].concat()), &all)
    }

    fn command(&self, root: &str) -> Command {
        let list = json!({ "name": "agent", "lockfileVersion": 3, "requires": true, "packages": self.packages });
        let lock = format!(
            "schema = 1\n[agents.own]\nversion = '1.0.0'\n[agents.own.npx]\npackage = 'own@1.0.0'\npackages = '''{list}'''\n"
        );
        self.people.env.write("x.lock", lock);
        let arguments = ["install", "--locked", "--lock", "x.lock", "--no-check", "--json", "own"];
        let mut command = self.people.command(&arguments);
        let path = format!("{}:/usr/bin:/bin", self.people.env.path("bin").display());
        command.env("PATH", path).env("ACP_REGISTRY_ROOT", self.people.env.path(root));
        command.env("ACP_REGISTRY_NPM", self.people.server.url("/npm/"));
        command.env("XDG_CACHE_HOME", self.people.env.path("cache"));
        command
    }

    /// Installs below a root. Returns the directory with `node_modules`.
    fn install(&self, root: &str) -> PathBuf {
        let run = Run::of(&mut self.command(root));
        assert_eq!(run.code, 0, "{} {}", run.stderr, self.called());
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(document["verified"], "lock", "{document}");
        Path::new(document["install_dir"].as_str().unwrap()).join("files")
    }

    /// How npm was called.
    fn called(&self) -> String {
        fs::read_to_string(self.people.env.path("bin/called")).unwrap_or_default()
    }

    /// How often archives were asked for.
    fn requests(&self) -> usize {
        self.people.server.asked().iter().filter(|path| path.contains("/npm/")).count()
    }

    /// The packages in the store.
    fn stored(&self) -> Vec<PathBuf> {
        let below = |path: &Path| fs::read_dir(path).unwrap().map(|item| item.unwrap().path()).collect::<Vec<_>>();
        below(&self.people.env.path("cache/acp-registry/packages")).iter().flat_map(|path| below(path)).collect()
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_tree_is_laid_out_as_npm_does_and_made_once() {
    let mut world = World::new();
    let mut archive = tar(&[
        ("package/package.json", b"{}"),
        ("package/lib/.gitignore", b"ignored"),
        ("package/lib/plain.js", b"first"),
        ("package/lib/plain.js", b"last"),
        ("package/tool.js", b"#!/usr/bin/env node\n"),
        ("package/node_modules/part/package.json", b"{}"),
        ("package/node_modules/part/part.js", b"#!/usr/bin/env node\n"),
    ]);
    archive.truncate(archive.len() - 1024);
    archive.extend(link(tar::EntryType::Symlink, "package/leads-away", "/etc/passwd"));
    let foreign = if host().starts_with("linux") { "darwin" } else { "linux" };
    world
        .add_own(&[], &json!({ "dependencies": { "@s/dep": "1" }, "optionalDependencies": { "other": "1" } }))
        .add(
            "node_modules/@s/dep",
            &gz(&archive),
            &json!({ "bin": { "tool": "tool.js", "own": "tool.js", "none": "none.js", "../../../up": "tool.js" },
                     "bundleDependencies": ["part"] }),
        )
        .add("node_modules/own/node_modules/@s/deep", &pack(&[("package/deep.js", b"deep")]), &json!({}))
        .add("node_modules/other", &pack(&[]), &json!({ "optional": true, "os": [foreign] }));
    let part = json!({ "version": "1.0.0", "inBundle": true, "bin": { "part": "part.js" } });
    world.packages.insert("node_modules/@s/dep/node_modules/part".to_owned(), part);
    let tree = world.install("data");
    let modules = tree.join("node_modules");
    let linked = |path: &str| fs::read_link(modules.join(path)).unwrap().to_str().unwrap().to_owned();
    // The first package of a name has the command, by the order of their names.
    assert_eq!(linked(".bin/own"), "../@s/dep/tool.js");
    assert_eq!(linked(".bin/tool"), "../@s/dep/tool.js");
    assert_eq!(linked("@s/dep/node_modules/.bin/part"), "../part/part.js");
    assert_eq!(linked(".bin/up"), "../@s/dep/tool.js");
    assert!(modules.join(".bin/none").symlink_metadata().is_err(), "its file is not there");
    assert!(
        tree.join("up").symlink_metadata().is_err() && tree.parent().unwrap().join("up").symlink_metadata().is_err()
    );
    assert_eq!(fs::read(modules.join("@s/dep/lib/.npmignore")).unwrap(), b"ignored");
    assert_eq!(fs::read(modules.join("@s/dep/lib/plain.js")).unwrap(), b"last");
    assert!(modules.join("@s/dep/leads-away").symlink_metadata().is_err());
    assert_eq!(fs::read(modules.join("own/node_modules/@s/deep/deep.js")).unwrap(), b"deep");
    assert!(!modules.join("other").exists(), "it is for another system");
    let notes: Value = serde_json::from_slice(&fs::read(modules.join(".package-lock.json")).unwrap()).unwrap();
    assert_eq!(notes["packages"].as_object().unwrap().len(), 4, "{notes}");
    // Files are shared, and requests sent once.
    assert_eq!((world.requests(), world.called().as_str()), (3, ""));
    let again = world.install("elsewhere");
    assert_eq!((world.requests(), world.called().as_str()), (3, ""));
    let ino = |tree: &Path| tree.join("node_modules/@s/dep/lib/plain.js").metadata().unwrap().ino();
    let has_clones = tree.join("node_modules/@s/dep/lib/plain.js").metadata().unwrap().nlink() == 1;
    assert!(has_clones || ino(&tree) == ino(&again));
}

#[test]
fn the_file_of_a_command_is_made_executable_without_touching_what_is_shared() {
    let mut world = World::new();
    world.add_own(&[], &json!({ "bin": { "own": "cli.js", "data": "data.json" } }));
    let files = [("package/package.json", b"{}".as_slice()), CLI, ("package/data.json", b"[]")];
    let more = json!({ "bin": { "own": "cli.js", "data": "data.json" } });
    world.add("node_modules/own", &pack_with_modes(&files.map(|(name, content)| (name, content, 0o640))), &more);
    let tree = find_tree(&Run::of(&mut masked("022", &world.command("data"))));
    let package = tree.join("node_modules/own");
    assert_eq!(fs::read(package.join("cli.js")).unwrap(), b"#!/usr/bin/env node\nstart\r\n");
    assert_eq!([mode(&package.join("cli.js")), mode(&package.join("data.json"))], [0o755, 0o755]);
    assert_eq!(mode(&package.join("package.json")), 0o644);
    let stored = world.stored().into_iter().next().unwrap().join("files");
    assert_eq!(fs::read(stored.join("cli.js")).unwrap(), CLI.1);
    assert_eq!(mode(&stored.join("data.json")), 0o644);
}

#[test]
fn a_stored_package_that_has_changed_is_fetched_again() {
    for change in [
        (|file: &Path| fs::write(file, "changed and longer").unwrap()) as fn(&Path),
        |file| fs::write(file, "evil!").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", file).unwrap();
        },
        |file| fs::write(file.ancestors().nth(2).unwrap().join("files.json"), "{").unwrap(),
        |file| {
            fs::write(file.ancestors().nth(2).unwrap().join("files.json"), r#"{ "schema": 1, "files": [] }"#).unwrap();
        },
        |file| fs::remove_dir_all(file.parent().unwrap()).unwrap(),
    ] {
        let mut world = World::new();
        world.add_own(&[("package/data", b"good!")], &json!({}));
        world.install("data");
        change(&world.stored()[0].join("files/data"));
        let tree = world.install("elsewhere");
        assert_eq!(fs::read(tree.join("node_modules/own/data")).unwrap(), b"good!");
        assert!(tree.join("node_modules/own/data").symlink_metadata().unwrap().is_file());
        assert_eq!((world.requests(), world.called().as_str()), (2, ""));
    }
}

#[test]
fn an_installation_that_has_changed_is_repaired_with_bytes_of_its_own() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"good!")], &json!({}));
    let tree = world.install("data");
    fs::write(tree.join("node_modules/own/data"), "changed").unwrap();
    let tree = world.install("data");
    assert_eq!(fs::read(tree.join("node_modules/own/data")).unwrap(), b"good!");
    assert_eq!((world.requests(), world.called().as_str()), (2, ""));
}

#[test]
fn what_is_not_the_bytes_of_the_list_is_left_to_npm() {
    let other = pack(&[("package/other", b"other bytes")]);
    for (name, change) in [
        (
            "other bytes",
            Box::new(move |world: &mut World| world.people.serve("/npm/own/-/own-1.0.0.tgz", other.clone()))
                as Box<dyn Fn(&mut World)>,
        ),
        ("cut off", Box::new(|world| world.people.serve("/npm/own/-/own-1.0.0.tgz", &pack(&[CLI])[..40]))),
        ("not there", Box::new(|world| world.people.answer("/npm/own/-/own-1.0.0.tgz", crate::server::not_found()))),
        ("no archive", Box::new(|world| _ = world.add("node_modules/own", b"no archive", &json!({})))),
        ("for another system", Box::new(|world| _ = world.add_own(&[], &json!({ "os": ["aix"] })))),
        (
            "two names in one",
            Box::new(|world| _ = world.add_own(&[("package/a", b""), ("package/A", b"")], &json!({}))),
        ),
        (
            "no part",
            Box::new(|world| {
                world.add_own(&[], &json!({ "bundleDependencies": ["part"] }));
                let part = json!({ "version": "1.0.0", "inBundle": true });
                world.packages.insert("node_modules/own/node_modules/part".to_owned(), part);
            }),
        ),
    ] {
        let mut world = World::new();
        world.add_own(&[], &json!({}));
        change(&mut world);
        let run = Run::of(&mut world.command("data"));
        assert!(run.code != 0 && world.called().starts_with("ci "), "{name}: {} {}", run.stderr, world.called());
        assert!(!world.people.env.path("data/agents/own").exists(), "{name}");
    }
}

#[test]
fn settings_that_only_npm_obeys_are_left_to_npm() {
    for (setting, value) in [
        ("npm_config_min_release_age", "7"),
        ("npm_config_cafile", "ca.pem"),
        ("npm_config_proxy", "http://127.0.0.1:1"),
    ] {
        let mut world = World::new();
        world.add_own(&[], &json!({}));
        let run = Run::of(world.command("data").env(setting, value));
        assert!(run.code != 0 && world.called().starts_with("ci "), "{setting}: {}", run.stderr);
        assert_eq!(world.requests(), 0);
    }
}

#[test]
fn an_authority_that_npm_trusts_is_trusted_for_its_packages() {
    let mut world = World::new();
    world.add_own(&[], &json!({}));
    let private = Private::serving(pack(&[CLI]));
    world.people.env.write("broken.pem", "no certificate");
    world.people.env.write("ca.pem", &private.pem);
    let run = |file: &str| {
        let mut command = world.command("data");
        command.env("npm_config_cafile", world.people.env.path(file));
        Run::of(command.env("ACP_REGISTRY_NPM", format!("https://{}/npm/", private.host)))
    };
    for file in ["broken.pem", "missing.pem"] {
        let run = run(file);
        assert!(run.code != 0 && world.called().starts_with("ci "), "{file}: {}", run.stderr);
    }
    let before = world.called();
    let run = run("ca.pem");
    assert_eq!((run.code, world.called()), (0, before), "{}", run.stderr);
}

#[test]
fn hostile_archives_are_refused_and_npm_does_not_get_them() {
    let bomb = vec![0; 300 << 20];
    for (name, archive, part) in [
        ("above", gz(&tar(&[("package/../../../../evil", b"x")])), "leads out of the archive"),
        ("absolute", gz(&tar(&[("/evil", b"x")])), "absolute path"),
        ("device", gz(&link(tar::EntryType::Fifo, "package/pipe", "")), "FIFO"),
        ("both", gz(&tar(&[("package/a", b"x"), ("package/a/b", b"x")])), "a file in one place"),
        ("bomb", gz(&tar(&[("package/zeros", &bomb)])), "times its size"),
    ] {
        let mut world = World::new();
        world.add_own(&[], &json!({ "dependencies": { "dep": "1" } }));
        world.add("node_modules/dep", &archive, &json!({}));
        let run = Run::of(&mut world.command("data"));
        assert!(run.code == 4 && run.stderr.contains(part), "{name}: {} {}", run.code, run.stderr);
        assert_eq!(world.called(), "", "{name}");
        assert!(!world.people.env.path("evil").exists() && !world.people.env.path("data/agents/own").exists());
    }
}

#[test]
fn a_lack_of_room_is_said_with_its_place_and_leaves_no_part_of_a_package() {
    let numbers: String = (0..100_000).map(|number| format!("{}\n", number * 7919)).collect();
    for (name, data) in [("archive", numbers), ("file", " ".repeat(200_000))] {
        let mut world = World::new();
        world.add_own(&[], &json!({}));
        world.add("node_modules/dep", &pack(&[("package/data", data.as_bytes())]), &json!({}));
        let own = world.command("data");
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 100 && exec \"$0\" \"$@\""]).arg(own.get_program()).args(own.get_args());
        command.current_dir(own.get_current_dir().unwrap());
        command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = Run::of(&mut command);
        let error: Value = serde_json::from_str(&run.stdout).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        let place = world.people.env.path("cache/acp-registry/packages");
        assert!(run.code == 3 && message.contains(place.to_str().unwrap()), "{name}: {} {message}", run.code);
        assert!(message.contains("ile too large"), "{name}: {message}");
        assert!(error["error"]["help"].as_str().unwrap().contains("ulimit -f"), "{name}: {error}");
        assert_eq!(world.called(), "", "{name}");
        assert!(world.stored().iter().all(|path| path.extension().is_none()), "{:?}", world.stored());
        world.install("data");
    }
}

#[test]
fn scripts_are_run_once_by_npm_and_write_into_no_other_installation() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain"), ("package/gone", b"")], &json!({ "hasInstallScript": true }));
    world.add("node_modules/dep", &pack(&[("package/data", b"plain")]), &json!({}));
    let first = world.install("data").join("node_modules");
    assert!(world.called().contains("\nrebuild ") && !world.called().contains("\nci "), "{}", world.called());
    let count = world.called().lines().count();
    let built = |modules: &Path| {
        assert_eq!(fs::read(modules.join("own/data")).unwrap(), b"built\n");
        assert_eq!(fs::read(modules.join("own/new/file")).unwrap(), b"new\n");
        assert_eq!(mode(&modules.join("own/new/file")) & 0o100, 0o100);
        assert!(!modules.join("own/gone").exists() && modules.join("dep/data").exists());
    };
    built(&first);
    // The next one has what they have made, without them.
    let second = world.install("elsewhere").join("node_modules");
    assert_eq!(world.called().lines().count(), count, "{}", world.called());
    built(&second);
    // What scripts can write to is shared with nothing, and with the store when they have ended.
    assert_eq!(world.people.env.read("bin/shared"), "");
    for file in ["own/data", "own/new/file", "dep/data"] {
        let inodes = [&first, &second].map(|modules| modules.join(file).metadata().unwrap().ino());
        assert_eq!(inodes[0], inodes[1], "{file}");
    }
    assert_eq!(everything(&first), everything(&second));
    assert!(!first.with_file_name("copies").exists());
    // With another setting of npm, they run again; without npm, they cannot.
    let run = Run::of(world.command("other").env("npm_config_fetch_retries", "3"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(world.called().lines().count() > count);
    assert_eq!(world.requests(), 2);
    fs::remove_file(world.people.env.path("bin/npm")).unwrap();
    let run =
        Run::of(world.command("none").env("npm_config_fetch_retries", "4").env("PATH", world.people.env.path("bin")));
    let needed = "npm is not in PATH, and is needed: its packages have install scripts\nhelp: install Node.js with npm";
    assert!(run.code == 3 && run.stderr.contains(needed), "{} {}", run.code, run.stderr);
}

/// What scripts make is kept, but for links and the removal of directories, for which they run again.
#[test]
fn scripts_change_permissions_directories_and_links_and_all_stays() {
    for (change, is_kept) in [
        ("chmod 755 \"$package/tool.sh\"", true),
        ("mkdir -p \"$package/empty/cache\"", true),
        ("mkdir \"$package/ro\" && echo x > \"$package/ro/x\" && chmod 555 \"$package/ro\"", true),
        ("ln -s ../own/cli.js \"$package/../.bin/extra\"", false),
        ("ln -s cli.js \"$package/link\"", false),
        ("rm -r \"$package/d\" && echo file > \"$package/d\"", false),
        ("rm -r \"$package/d\"", false),
        ("chmod 700 \"$package/d\"", true),
        #[cfg(target_os = "linux")] // Others know no such name.
        ("echo x > \"$package/$(printf 'a\\377')\"", false),
    ] {
        let mut world = World::new();
        let files: [(&str, &[u8]); 3] = [("package/data", b"plain"), ("package/tool.sh", b"x"), ("package/d/f", b"x")];
        world.add_own(&files, &json!({ "hasInstallScript": true }));
        world.people.env.write_program("bin/npm", &format!("{NPM}echo ran >> \"${{0%/*}}/ran\"\n{change}\n"));
        let first = world.install("data").join("node_modules");
        let second = world.install("elsewhere").join("node_modules");
        assert_eq!(everything(&first), everything(&second), "{change}");
        let runs = world.people.env.read("bin/ran").lines().count();
        assert_eq!(runs, if is_kept { 1 } else { 2 }, "{change}");
        let own = first.join("own");
        let is_there = match change.split(' ').next().unwrap() {
            "chmod" => mode(&own.join("tool.sh")) == 0o755 || mode(&own.join("d")) == 0o700,
            "mkdir" => own.join("empty/cache").is_dir() || mode(&own.join("ro")) == 0o555,
            "ln" => own.join("link").is_symlink() || first.join(".bin/extra").is_symlink(),
            "rm" => !own.join("d").is_dir(),
            _ => fs::read_dir(&own).unwrap().any(|item| item.unwrap().file_name().to_str().is_none()),
        };
        assert!(is_there && !first.with_file_name("copies").exists(), "{change}: {:?}", everything(&first));
    }
}

/// A file of another agent's directory leads nowhere when that agent is gone.
#[test]
fn what_names_its_directory_is_used_there_alone() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain")], &json!({ "hasInstallScript": true }));
    let change = "echo ran >> \"${0%/*}/ran\"; echo \"in $package\" > \"$package/where\"";
    world.people.env.write_program("bin/npm", &format!("{NPM}{change}\n"));
    for (root, runs) in [("data", 1), ("data", 1), ("elsewhere", 2)] {
        let files = world.install(root);
        let where_it_is = fs::read_to_string(files.join("node_modules/own/where")).unwrap();
        assert_eq!(where_it_is, format!("in {}\n", files.join("node_modules/own").display()));
        assert_eq!(world.people.env.read("bin/ran").lines().count(), runs, "{root}");
        fs::remove_dir_all(world.people.env.path(root)).unwrap();
    }
}

#[test]
fn a_missing_file_comes_from_the_store_without_a_network() {
    let mut world = World::new();
    world.add_own(&[("package/lib/x.js", b"x")], &json!({}));
    let file = world.install("data").join("node_modules/own/lib/x.js");
    fs::remove_file(&file).unwrap();
    let requests = world.requests();
    let offline = || Run::of(world.command("data").arg("--offline"));
    let run = offline();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!((fs::read(&file).unwrap(), world.requests()), (b"x".to_vec(), requests));
    // Other bytes may be those of the store.
    fs::write(&file, "yy").unwrap();
    let run = offline();
    assert!(
        run.code == 3 && run.stderr.contains("own 1.0.0 is damaged, and repairing it needs the network"),
        "{}",
        run.stderr
    );
    world.install("data");
    assert_eq!((fs::read(&file).unwrap(), world.requests()), (b"x".to_vec(), requests + 1));
    // Nor does a file in the place of a package, or one that cannot be read, go into the tree.
    let [stored] = world.stored().try_into().unwrap();
    fs::set_permissions(stored.join("files/lib/x.js"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_ne!(mode(&world.install("second").join("node_modules/own/lib/x.js")), 0);
    fs::remove_dir_all(&stored).unwrap();
    fs::write(&stored, "in the way").unwrap();
    world.install("third");
    assert!(stored.is_dir() && world.called().is_empty(), "{}", world.called());
}

#[test]
fn npm_does_not_go_where_the_program_does_not() {
    let mut world = World::new();
    world.add_own(&[], &json!({}));
    world.people.answer("/npm/own/-/own-1.0.0.tgz", redirect("http://10.0.0.1/own-1.0.0.tgz"));
    let run = Run::of(&mut world.command("data"));
    assert!(run.code == 3 && run.stderr.contains("http://10.0.0.1/own-1.0.0.tgz"), "{} {}", run.code, run.stderr);
    assert_eq!(world.called(), "");
}

/// A list of a few kilobytes may name one package at many places.
#[test]
fn a_tree_has_the_limits_of_an_archive() {
    let mut world = World::new();
    let names: Vec<String> = (0..5_000).map(|number| format!("package/{number}")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"x".as_slice())).collect();
    let archive = pack(&files);
    world.add_own(&[], &json!({})).add("node_modules/big", &archive, &json!({}));
    for number in 0..40 {
        let place = json!({ "name": "big", "version": "1.0.0", "integrity": sha512(&archive) });
        world.packages.insert(format!("node_modules/p{number}"), place);
    }
    let run = Run::of(&mut world.command("data"));
    assert!(
        run.code == 4 && run.stderr.contains("the tree of its packages has more than 200000 entries"),
        "{} {}",
        run.code,
        run.stderr
    );
    assert_eq!(world.called(), "", "npm has no limit");
    assert!(!world.people.env.path("data/agents/own").exists());
}

#[test]
fn where_npm_ignores_scripts_it_is_only_asked_and_all_files_are_shared() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain")], &json!({ "hasInstallScript": true }));
    world.people.env.write_program("bin/npm", &NPM.replace("echo false", "echo true"));
    let run = Run::of(&mut world.command("data"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected =
        "npm has not run the install scripts of own@1.0.0, because npm's setting `ignore-scripts` forbids it";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert_eq!(world.called(), "config get ignore-scripts --no-update-notifier\n");
    let second = Run::of(&mut world.command("elsewhere"));
    let document: Value = serde_json::from_str(&second.stdout).unwrap();
    let data = Path::new(document["install_dir"].as_str().unwrap()).join("files/node_modules/own/data");
    assert_eq!((fs::read(&data).unwrap(), data.metadata().unwrap().nlink()), (b"plain".to_vec(), 3));
    let called = world.called();
    let run = Run::of(world.command("by variable").env("npm_config_ignore_scripts", "true"));
    assert!(run.code == 0 && run.stderr.contains("`npm_config_ignore_scripts` forbids it"), "{}", run.stderr);
    assert_eq!(world.called(), called, "the variable says it");
}

#[test]
fn a_tree_keeps_its_copies_if_a_stored_package_changes_while_scripts_run() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain"), ("package/gone", b"")], &json!({ "hasInstallScript": true }));
    let change = "find \"${0%/*}/../cache/acp-registry/packages\" -name data -exec sh -c 'echo x >> \"$1\"' . {} ';'";
    world.people.env.write_program("bin/npm", &format!("{NPM}{change}\n"));
    let modules = world.install("data").join("node_modules");
    assert_eq!(fs::read(modules.join("own/data")).unwrap(), b"built\n");
    assert!(!modules.join("own/gone").exists() && !modules.with_file_name("copies").exists());
    assert_eq!(modules.join("own/package.json").metadata().unwrap().nlink(), 1);
}

#[test]
fn a_script_that_fails_leaves_neither_an_agent_nor_what_it_has_made() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain"), ("package/new", b"in the way")], &json!({ "hasInstallScript": true }));
    world.people.env.write_program("bin/npm", &NPM.replace("rm -f", "echo the script failed >&2; exit 1 #"));
    let run = Run::of(&mut world.command("data"));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("the script failed") && !world.people.env.path("data/agents/own").exists());
    assert_eq!(world.stored().len(), 1, "{:?}", world.stored());
}

#[test]
fn a_list_of_the_store_removes_nothing_elsewhere() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain"), ("package/gone", b"")], &json!({ "hasInstallScript": true }));
    world.install("data");
    world.people.env.write("mine", "mine");
    let above = "../".repeat(12);
    let mine = format!("{above}{}", world.people.env.path("mine").display());
    for package in world.stored() {
        let list = package.join("files.json");
        let mut value: Value = serde_json::from_str(&fs::read_to_string(&list).unwrap()).unwrap();
        value["removed"] = json!([mine]);
        fs::write(list, value.to_string()).unwrap();
    }
    let modules = world.install("elsewhere").join("node_modules");
    assert_eq!(fs::read(modules.join("own/data")).unwrap(), b"built\n");
    assert_eq!(world.people.env.read("mine"), "mine");
}

#[test]
fn what_scripts_have_made_and_has_changed_is_made_again() {
    let mut world = World::new();
    world.add_own(&[("package/data", b"plain"), ("package/gone", b"")], &json!({ "hasInstallScript": true }));
    world.install("data");
    let made = world
        .stored()
        .into_iter()
        .find(|path| path.join("files/new/file").exists() || path.join("files/own/new/file").exists());
    fs::write(made.unwrap().join("files/own/data"), "evil").unwrap();
    let modules = world.install("elsewhere").join("node_modules");
    assert_eq!(fs::read(modules.join("own/data")).unwrap(), b"built\n");
    assert_eq!(world.called().matches("rebuild ").count(), 2);
}

#[test]
fn two_processes_share_one_download() {
    let mut world = World::new();
    world.add_own(&[], &json!({}));
    for at in 0..20 {
        world.add(
            &format!("node_modules/dep{at}"),
            &pack(&[("package/number", at.to_string().as_bytes())]),
            &json!({}),
        );
    }
    let mut commands = ["a", "b", "c"].map(|root| world.command(root));
    let children =
        commands.each_mut().map(|command| command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((world.requests(), world.called().as_str()), (21, ""));
}

#[test]
fn a_killed_installation_leaves_nothing_that_the_next_one_minds() {
    let is_held = Arc::new(AtomicBool::new(true));
    let held = is_held.clone();
    let mut world = World::before(move |path| {
        if path.contains("/held-") {
            wait_until("the archive", || !held.load(Ordering::Relaxed));
        }
    });
    world.add_own(&[], &json!({}));
    world.add("node_modules/held", &pack(&[]), &json!({}));
    let mut child = world.command("data").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The other package is there, and this one is waited for.
    let is_there = |path: &PathBuf| path.extension().is_none();
    wait_until("the first package", || world.requests() == 2 && world.stored().iter().any(is_there));
    child.kill().unwrap();
    child.wait().unwrap();
    is_held.store(false, Ordering::Relaxed);
    let tree = world.install("data");
    assert!(tree.join("node_modules/held/package.json").is_file());
    assert_eq!((world.requests(), world.called().as_str()), (3, ""));
    assert!(world.stored().iter().all(|path| path.extension().is_none()), "{:?}", world.stored());
}

/// The files, directories and links below a directory, with modes and contents.
fn everything(directory: &Path) -> BTreeMap<String, String> {
    let (mut found, mut waiting) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            let what = if kind.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if kind.is_dir() {
                waiting.push(path.clone());
                format!("{:o} directory", mode(&path))
            } else {
                format!("{:o} {}", mode(&path), String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            found.insert(path.strip_prefix(directory).unwrap().to_string_lossy().into_owned(), what);
        }
    }
    found
}

/// One has another home, cache, place and time zone.
#[test]
fn two_machines_have_the_same_tree() {
    let tree = |zone: &str, root: &str| {
        let mut world = World::new();
        world
            .add_own(&[("package/data", b"first")], &json!({ "dependencies": { "dep": "1" } }))
            .add(
                "node_modules/dep",
                &pack(&[("package/a", b"1"), ("package/b/c", b"2")]),
                &json!({ "bin": { "c": "b/c" } }),
            )
            .add("node_modules/dep/node_modules/deep", &pack(&[("package/x", b"3")]), &json!({}));
        let run = Run::of(world.command(root).env("TZ", zone));
        everything(&find_tree(&run))
    };
    let (one, other) = (tree("UTC", "data"), tree("Pacific/Auckland", "else where/dätä"));
    assert!(one.len() > 12, "{one:?}");
    assert_eq!(one, other);
}

/// The directory with `node_modules`.
fn find_tree(run: &Run) -> PathBuf {
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    Path::new(document["install_dir"].as_str().unwrap()).join("files")
}

/// A command of a person whose new files have not these permissions.
fn masked(mask: &str, command: &Command) -> Command {
    let mut masked = Command::new("sh");
    masked
        .args(["-c", &format!("umask {mask}; exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args());
    masked.current_dir(command.get_current_dir().unwrap()).env_clear();
    masked.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    masked
}

#[cfg(feature = "world")]
#[test]
fn the_tree_is_the_same_as_npm_makes_it() {
    const TEST: &str = "the_tree_is_the_same_as_npm_makes_it";
    if !crate::real::is_there("npm") {
        return crate::support::missing(TEST, "npm is not installed");
    }
    let foreign = if host().starts_with("linux") { "darwin" } else { "linux" };
    let needs = json!({ "dependencies": { "@s/dep": "1.0.0", "bundle": "1.0.0", "modes": "1.0.0" }, "optionalDependencies": { "other": "1.0.0", "here": "1.0.0" } });
    let manifest = |name: &str, more: &Value| {
        let mut manifest = json!({ "name": name, "version": "1.0.0" });
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        manifest.to_string()
    };
    let pack = |name: &str, more: &Value, files: &[(&str, &[u8])]| {
        gz(&tar(&[&[("package/package.json", manifest(name, more).as_bytes())], files].concat()))
    };
    let mut own = json!({ "bin": { "own": "cli.js" } });
    own.as_object_mut().unwrap().extend(needs.as_object().unwrap().clone());
    let dep = json!({ "bin": { "tool": "bin/tool.js", "own": "bin/tool.js" }, "dependencies": { "deep": "1.0.0" } });
    let bundle = json!({ "bundleDependencies": ["part"], "dependencies": { "part": "1.0.0" } });
    let other = json!({ "os": [foreign], "dependencies": { "alone": "1.0.0" } });
    let here = json!({ "os": [if foreign == "linux" { "darwin" } else { "linux" }] });
    let part = manifest("part", &json!({ "bin": { "part": "part.js" } }));
    let tool: &[u8] = b"#!/usr/bin/env node\r\nstart\r\n";
    let odd = manifest("modes", &json!({}));
    let modes = [
        ("package/package.json", odd.as_bytes(), 0o600),
        ("package/owner", b"x", 0o744),
        ("package/group/file", b"x", 0o754),
        ("package/none", b"x", 0),
        ("package/others", b"x", 0o001),
        ("package/all", b"x", 0o777),
    ];
    let mut world = World::new();
    world
        .add(
            "node_modules/own",
            &pack("own", &own, &[CLI, ("package/.gitignore", b"x"), ("package/lib/.npmignore", b"y")]),
            &own,
        )
        .add(
            "node_modules/@s/dep",
            &pack("@s/dep", &dep, &[("package/bin/tool.js", tool), ("package/a", b"1"), ("package/a", b"2")]),
            &dep,
        )
        .add("node_modules/@s/dep/node_modules/deep", &pack("deep", &json!({}), &[("other/file", b"deep")]), &json!({}))
        .add(
            "node_modules/bundle",
            &pack(
                "bundle",
                &bundle,
                &[
                    ("package/node_modules/part/package.json", part.as_bytes()),
                    ("package/node_modules/part/part.js", tool),
                ],
            ),
            &bundle,
        )
        .add("node_modules/modes", &pack_with_modes(&modes), &json!({}))
        .add("node_modules/other", &pack("other", &other, &[]), &other)
        .add("node_modules/alone", &pack("alone", &json!({}), &[]), &json!({}))
        .add("node_modules/here", &pack("here", &here, &[]), &here);
    for name in ["other", "alone", "here"] {
        world.packages.get_mut(&format!("node_modules/{name}")).unwrap()["optional"] = true.into();
    }
    let bundled = json!({ "version": "1.0.0", "inBundle": true, "bin": { "part": "part.js" } });
    world.packages.insert("node_modules/bundle/node_modules/part".to_owned(), bundled);
    world.packages.insert(String::new(), json!({ "name": "agent", "dependencies": { "own": "1.0.0" } }));
    for mask in ["022", "077", "002"] {
        let mut command = world.command(mask);
        command.env("XDG_CACHE_HOME", world.people.env.path(&format!("cache-{mask}")));
        let ours = find_tree(&Run::of(&mut masked(mask, &command)));
        assert_eq!(world.called(), "");
        is_as_of_npm(&world, &ours, mask);
    }
}

/// Compares a tree with the one that npm makes of the same list.
#[cfg(feature = "world")]
fn is_as_of_npm(world: &World, ours: &Path, mask: &str) {
    let list = fs::read_to_string(ours.join("package-lock.json")).unwrap();
    let mut with_addresses: Value = serde_json::from_str(&list).unwrap();
    for (path, package) in with_addresses["packages"].as_object_mut().unwrap() {
        if let Some((_, name)) = path.rsplit_once("node_modules/").filter(|_| package["integrity"].is_string()) {
            let file = name.rsplit('/').next().unwrap();
            package["resolved"] = world.people.server.url(&format!("/npm/{name}/-/{file}-1.0.0.tgz")).into();
        }
    }
    let theirs = world.people.env.path(&format!("npm-{mask}"));
    fs::create_dir(&theirs).unwrap();
    fs::write(
        theirs.join("package.json"),
        json!({ "name": "agent", "version": "1.0.0", "dependencies": { "own": "1.0.0" } }).to_string(),
    )
    .unwrap();
    fs::write(theirs.join("package-lock.json"), with_addresses.to_string()).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--no-update-notifier", "--omit-lockfile-registry-resolved"]);
    npm.args(["--registry", &world.people.server.url("/npm/"), "--cache"]).arg(world.people.env.path("npm-cache"));
    npm.current_dir(&theirs).env("HOME", world.people.env.path("home")).env("PATH", std::env::var_os("PATH").unwrap());
    let output = masked(mask, &npm).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [mut ours, mut theirs] = [ours, &theirs].map(|tree| everything(&tree.join("node_modules")));
    let notes = [&mut ours, &mut theirs].map(|tree| {
        let text = tree.remove(".package-lock.json").unwrap();
        let notes: Value = serde_json::from_str(text.split_once(' ').unwrap().1).unwrap();
        notes["packages"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    });
    assert_eq!(notes[0], notes[1], "{mask}");
    assert_eq!(ours, theirs, "{mask}");
}
