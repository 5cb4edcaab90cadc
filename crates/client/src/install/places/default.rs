//! The version of Node.js that a version manager uses where no project names another one.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::VariablePaths;
use super::versions::Versions;
use acp_registry_host::fs::read_bounded;

/// The largest setting that is read, in bytes.
const LIMIT: u64 = 1 << 18;

/// How many aliases of nvm may lead from one to the next.
const ALIASES: usize = 8;

/// nvm: the alias `default`, which may name another alias.
pub(super) fn nvm(root: &Path, versions: &Versions) -> Option<PathBuf> {
    let mut text = first_line(&root.join("alias/default"))?;
    for _ in 0..ALIASES {
        if let Some(found) = versions.meant_by(&text) {
            return Some(found);
        }
        // For example `lts/*`, which is the name of a file.
        if !Path::new(&text).components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        text = first_line(&root.join("alias").join(&text))?;
    }
    None
}

/// Volta: the platform of the user.
pub(super) fn volta(root: &Path, versions: &Versions) -> Option<PathBuf> {
    let platform: Value = serde_json::from_str(&text(&root.join("tools/user/platform.json"))?).ok()?;
    versions.meant_by(platform.pointer("/node/runtime")?.as_str()?)
}

/// mise: its configuration for all projects, or else the file that it shares with asdf.
pub(super) fn mise(places: &VariablePaths<'_>, versions: &Versions) -> Option<PathBuf> {
    let config = places.named("MISE_CONFIG_DIR").or_else(|| Some(places.config()?.join("mise")));
    let named = config.and_then(|config| {
        let settings: toml::Table = text(&config.join("config.toml"))?.parse().ok()?;
        let node = settings.get("tools")?.as_table()?.get("node")?;
        let one = node.as_array().and_then(|all| all.first()).unwrap_or(node);
        let one = one.as_table().and_then(|table| table.get("version")).unwrap_or(one);
        versions.meant_by(one.as_str()?)
    });
    named.or_else(|| tool_versions(places, versions))
}

/// asdf: the file `.tool-versions` in the home directory.
pub(super) fn tool_versions(places: &VariablePaths<'_>, versions: &Versions) -> Option<PathBuf> {
    let text = text(&places.home()?.join(".tool-versions"))?;
    let mut lines = text.lines().map(|line| line.split_whitespace());
    let mut words = lines.find_map(|mut words| ["nodejs", "node"].contains(&words.next()?).then_some(words))?;
    words.find_map(|word| versions.meant_by(word))
}

fn first_line(path: &Path) -> Option<String> {
    Some(text(path)?.lines().next()?.trim().to_owned())
}

fn text(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    String::from_utf8(read_bounded(&path, path.parent()?, LIMIT).ok()?).ok()
}
