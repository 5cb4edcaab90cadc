//! Measures installing real packages with warm caches, as a ratio to npm and uv alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::people::{in_turn, rounds};
use crate::{PROGRAM, ratio};

/// Kind, package with version, and the package manager's command, which installs below `$OUT` with its cache in
/// `$KEPT`.
const PACKAGES: [(&str, &str, &str); 2] = [
    (
        "npx",
        "@zed-industries/codex-acp@0.9.2",
        "npm install --no-save --no-package-lock --no-audit --no-fund --no-progress --cache \"$KEPT\" --prefix \"$OUT\" -- ",
    ),
    (
        "uvx",
        "minion-code==0.1.45",
        "UV_CACHE_DIR=\"$KEPT\" UV_TOOL_DIR=\"$OUT/tools\" UV_TOOL_BIN_DIR=\"$OUT/bin\" uv tool install --no-build --no-progress -- ",
    ),
];

/// Measures `install` with warm caches, alternating with the package manager. Needs the package registries.
pub(crate) fn compare(folder: &Path) {
    for (kind, package, install) in PACKAGES {
        let [index, root, out, kept, cache] =
            ["index.json", "root", "out", "kept", "cache"].map(|name| folder.join(format!("{kind}-{name}")));
        let distribution = json!({ kind: { "package": package } });
        let version = package.rsplit(['@', '=']).next().expect("a version");
        let agent = json!({ "id": "example", "version": version, "distribution": distribution });
        fs::write(&index, json!({ "agents": [agent] }).to_string()).expect("an index");
        let [index, root, out, kept, cache] =
            [&index, &root, &out, &kept, &cache].map(|path| path.to_str().expect("a path in UTF-8"));
        let baseline =
            format!("mkdir -p '{out}' && OUT='{out}' KEPT='{kept}' && export OUT KEPT && {install}{package}");
        let ours = format!(
            "XDG_CACHE_HOME='{cache}' '{PROGRAM}' -q install --no-check --index '{index}' --root '{root}' example"
        );
        let moved = tempfile::tempdir_in(folder).expect("a directory");
        let clear = || clear(&[root, out].map(str::to_owned), moved.path());
        clear();
        // A first run of both fills the caches.
        if !is_done(&baseline) || !is_done(&ours) {
            println!("installing {package}: SKIPPED, its registry or package manager cannot be reached");
            continue;
        }
        let quiet = format!("{{ {baseline}; }} >/dev/null 2>&1");
        let samples = in_turn(&[&["sh", "-c", &quiet], &["sh", "-c", &ours]], clear);
        println!("installing {package} with warm caches, medians");
        for (name, sample) in ["the package manager by itself", "install"].iter().zip(&samples) {
            println!("  {name:34} {:9.1} ms   {:.2}", sample.wall.as_secs_f64() * 1000.0, ratio(*sample, samples[0]));
        }
    }
}

/// Whether a script of `sh` ends well.
fn is_done(script: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Moves what the last round has made into another directory. It is not removed: for a minute, ext4 looks for inodes other
/// than those of removed files, which takes longer than writing new ones.
fn clear(paths: &[String], into: &Path) {
    for path in paths.iter().filter(|path| Path::new(path).exists()) {
        let place = tempfile::tempdir_in(into).expect("a directory").keep();
        fs::rename(path, place.join("made")).expect("another name");
    }
    // An installation is made durable with all that others have written before it.
    assert!(is_done("sync"), "what was written before is on the disk");
}

/// A small, a middle and a large npm agent, and how often each is installed from empty caches.
const LOCKED: [(&str, usize); 3] = [("pi-acp@0.0.34", 3), ("@google/gemini-cli@0.61.0", 3), ("openclaw@2026.9.6", 1)];

/// How often each is installed with warm caches.
const WARM: usize = 5;

/// Measures the installation of a lock file's packages with warm caches, and from empty ones, beside npm, pnpm and bun with
/// lists of the same versions, without install scripts, and beside npm with them. Needs the package registry of npm, and 20 GB.
pub(crate) fn locked(folder: &Path) {
    let tools = folder.join("tools");
    let tool = tools.to_str().expect("a path in UTF-8");
    if !is_done(&format!("npm install --no-audit --no-fund --prefix '{tool}' pnpm bun")) {
        println!("locked packages: SKIPPED, npm or its registry cannot be reached");
        return;
    }
    for (package, cold) in LOCKED {
        let (name, version) = package.rsplit_once('@').expect("a version");
        let place = folder.join(name.replace(['@', '/'], "-"));
        fs::create_dir_all(&place).expect("a directory");
        let place = place.to_str().expect("a path in UTF-8");
        let agent = json!({ "id": "example", "version": version, "distribution": { "npx": { "package": package } } });
        fs::write(format!("{place}/index.json"), json!({ "agents": [agent] }).to_string()).expect("an index");
        let project = json!({ "name": "agent", "dependencies": { name: version } }).to_string();
        for each in ["npm", "pnpm", "bun"] {
            fs::create_dir_all(format!("{place}/{each}")).expect("a directory");
            fs::write(format!("{place}/{each}/package.json"), &project).expect("a project");
        }
        let bin = format!("{tool}/node_modules/.bin");
        let npm = format!("cd '{place}/npm' && npm ci --no-audit --no-fund --no-progress --cache '{place}/npm-cache'");
        let pnpm = format!(
            "cd '{place}/pnpm' && '{bin}/pnpm' install --frozen-lockfile --ignore-scripts --store-dir '{place}/pnpm-store'"
        );
        let bun = format!(
            "cd '{place}/bun' && BUN_INSTALL_CACHE_DIR='{place}/bun-cache' '{bin}/bun' install --frozen-lockfile --ignore-scripts"
        );
        // The other programs do not ask for recalls. The index is a file here, so that this one sends no request for them either.
        let ours = format!(
            "XDG_CACHE_HOME='{place}/cache' '{PROGRAM}' -q install --no-check --locked --lock '{place}/x.lock' --index '{place}/index.json' --root '{place}/root' example"
        );
        let prepared = is_done(&format!(
            "cd '{place}/npm' && npm install --package-lock-only --ignore-scripts --no-audit --no-fund"
        )) && is_done(&format!(
            "cd '{place}' && cp npm/package-lock.json pnpm && cp npm/package-lock.json bun"
        )) && is_done(&format!("cd '{place}/pnpm' && '{bin}/pnpm' import && rm package-lock.json"))
            && is_done(&format!("cd '{place}/bun' && '{bin}/bun' install --lockfile-only --ignore-scripts"))
            && is_done(&format!(
                "XDG_CACHE_HOME='{place}/cache' '{PROGRAM}' -q install --no-check --index '{place}/index.json' --root '{place}/first' --lock '{place}/x.lock' example"
            ));
        if !prepared {
            println!("locked {package}: SKIPPED, a list could not be made");
            continue;
        }
        let ignore = "export npm_config_ignore_scripts=true; ";
        let plain = [
            ("npm ci", format!("{ignore}{npm}")),
            ("pnpm install", pnpm),
            ("bun install", bun),
            ("install --locked", format!("{ignore}{ours}")),
        ];
        let scripted = [("npm ci", npm), ("install --locked", ours)];
        let mut moved = tempfile::tempdir_in(folder).expect("a directory");
        let made = ["root", "npm/node_modules", "pnpm/node_modules", "bun/node_modules"];
        let caches = &["npm-cache", "pnpm-store", "bun-cache", "cache"];
        let measured = [
            ("warm caches", &[][..], &plain[..], WARM),
            ("warm caches and install scripts", &[], &scripted, WARM),
            ("empty caches", caches, &plain, cold),
            ("empty caches and install scripts", caches, &scripted, cold),
        ];
        for (what, caches, commands, count) in measured {
            let quiet: Vec<String> =
                commands.iter().map(|(_, script)| format!("{{ {script}; }} >/dev/null 2>&1")).collect();
            let shells: Vec<[&str; 3]> = quiet.iter().map(|script| ["sh", "-c", script]).collect();
            let shells: Vec<&[&str]> = shells.iter().map(<[&str; 3]>::as_slice).collect();
            let paths: Vec<String> = made.iter().chain(caches).map(|path| format!("{place}/{path}")).collect();
            let samples = rounds(count, &shells, || clear(&paths, moved.path()));
            // Of the largest agent, all rounds would take 30 GB. The minute is that of `clear`.
            if cold == 1 {
                moved = tempfile::tempdir_in(folder).expect("a directory");
                thread::sleep(Duration::from_mins(1));
            }
            println!("{package} with {what}, medians of {count} runs");
            for ((name, _), sample) in commands.iter().zip(&samples) {
                let (wall, memory) = (sample.wall.as_secs_f64() * 1000.0, sample.memory_kib as f64 / 1024.0);
                println!("  {name:34} {wall:9.1} ms {memory:8.1} MiB   {:.2}", ratio(*sample, samples[0]));
            }
        }
        fs::remove_dir_all(place).expect("what was measured");
    }
}
