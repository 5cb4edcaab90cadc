//! The program in an archive, where nobody says which it is.

use crate::archive::{Entry, Kind};
use crate::manifest::Platform;

/// Files that have no ending and are no programs.
const TEXTS: [&str; 8] = ["license", "licence", "copying", "readme", "notice", "changelog", "authors", "version"];

/// Endings of files that may be executable and are nobody's program.
const PARTS: [&str; 12] = ["so", "dylib", "dll", "node", "md", "txt", "json", "js", "py", "html", "1", "sh"];

/// The file that is started: the one of these names nearest to the root, or the only one that can be a program.
///
/// # Errors
/// What could be it, when that is not one.
pub(super) fn find<'a>(entries: &'a [Entry], platform: Platform, names: &[&str]) -> Result<&'a Entry, Vec<&'a str>> {
    let is_windows = platform.os() == "windows";
    let files = || entries.iter().filter(|entry| entry.kind != Kind::Directory);
    let ending = |entry: &Entry| entry.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let can_run = |entry: &&Entry| match ending(entry) {
        Some(ending) if is_windows => ending == "exe",
        Some(ending) => !PARTS.contains(&ending.as_str()) && entry.executable,
        None => !is_windows && !TEXTS.contains(&entry.file_name().to_ascii_lowercase().as_str()),
    };
    let mut programs: Vec<&Entry> = files().filter(can_run).collect();
    // Archives made on Windows mark nothing, others what is started.
    if programs.iter().any(|entry| entry.executable) {
        programs.retain(|entry| entry.executable);
    }
    let depth = |entry: &Entry| entry.path.matches('/').count();
    let is_named = |entry: &Entry, name: &str| {
        let file = entry.file_name();
        let stem = if is_windows { file.get(..file.len().saturating_sub(4)).unwrap_or(file) } else { file };
        file.eq_ignore_ascii_case(name) || stem.eq_ignore_ascii_case(name)
    };
    let likely = names.iter().find_map(|name| {
        let of_name = programs.iter().filter(|entry| is_named(entry, name));
        of_name.min_by_key(|entry| (depth(entry), entry.path.as_str()))
    });
    match (likely, programs.as_slice()) {
        (Some(entry), _) | (None, [entry]) => Ok(entry),
        _ => Err(programs.into_iter().map(|entry| entry.path.as_str()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str], platform: Platform, names: &[&str]) -> Result<String, usize> {
        let entry = |text: &&str| {
            let path = text.trim_end_matches('*').to_owned();
            Entry { path, kind: Kind::File, size: 1, executable: text.ends_with('*') }
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        find(&entries, platform, names).map(|entry| entry.path.clone()).map_err(|programs| programs.len())
    }

    #[test]
    fn the_program_is_known_by_its_name_or_by_being_alone() {
        let (linux, windows) = (Platform::LinuxX8664, Platform::WindowsX8664);
        for (files, platform, expected) in [
            (&["a/bin/agent*", "a/lib/agent*", "a/agent*", "README"][..], linux, Ok("a/agent")),
            (&["tool*", "libtool.so*", "LICENSE"], linux, Ok("tool")),
            (&["tool", "LICENSE", "README.md"], linux, Ok("tool")),
            (&["a*", "b*"], linux, Err(2)),
            (&["README.md"], linux, Err(0)),
            (&["Agent.exe", "other.exe"], windows, Ok("Agent.exe")),
            (&["x.exe", "y.dll", "agent"], windows, Ok("x.exe")),
        ] {
            assert_eq!(found(files, platform, &["agent"]), expected.map(ToOwned::to_owned), "{files:?}");
        }
        assert_eq!(found(&["a*", "b*"], linux, &["none", "b"]), Ok("b".to_owned()));
    }
}
