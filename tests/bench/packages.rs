//! Measures installing real packages with warm caches, as a ratio to npm and uv alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::people::in_turn;
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
        let clear = || {
            for path in [root, out] {
                if Path::new(path).exists() {
                    fs::remove_dir_all(path).expect("the last round's output");
                }
            }
        };
        clear();
        // A first run of both fills the caches.
        let is_done = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
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
