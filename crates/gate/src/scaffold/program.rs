//! Finds the program in an archive.

use acp_registry_archive::{Entry, EntryKind};
use acp_registry_plan::manifest::Platform;

/// Files without an extension that are not programs.
const TEXTS: [&str; 8] = ["license", "licence", "copying", "readme", "notice", "changelog", "authors", "version"];

/// Extensions of files that may be executable but are not the agent's program.
const PARTS: [&str; 12] = ["so", "dylib", "dll", "node", "md", "txt", "json", "js", "py", "html", "1", "sh"];

/// Finds the program to start. If `wanted`, a name or a path, is given, only that file is accepted. Otherwise it is the
/// file with one of `names` that is nearest to the root, or the only file that can be a program.
///
/// # Errors
/// Returns the candidates if none can be chosen.
pub(super) fn find<'a>(
    entries: &'a [Entry],
    platform: Platform,
    wanted: Option<&str>,
    names: &[&str],
) -> Result<&'a Entry, Vec<&'a str>> {
    let is_windows = platform.os() == "windows";
    let files = || entries.iter().filter(|entry| entry.kind != EntryKind::Directory);
    let ending = |entry: &Entry| entry.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let can_run = |entry: &&Entry| match ending(entry) {
        Some(ending) if is_windows => ending == "exe",
        Some(ending) => !PARTS.contains(&ending.as_str()) && entry.executable,
        None => !is_windows && !TEXTS.contains(&entry.file_name().to_ascii_lowercase().as_str()),
    };
    let mut programs: Vec<&Entry> = files().filter(can_run).collect();
    // Archives made on Windows mark no file as executable; others mark the programs.
    if programs.iter().any(|entry| entry.executable) {
        programs.retain(|entry| entry.executable);
    }
    let depth = |entry: &Entry| entry.path.matches('/').count();
    let is_named = |entry: &Entry, name: &str| {
        let file = entry.file_name();
        let stem = if is_windows { file.get(..file.len().saturating_sub(4)).unwrap_or(file) } else { file };
        file.eq_ignore_ascii_case(name) || stem.eq_ignore_ascii_case(name)
    };
    let nearest = |of: &[&'a Entry], name: &str| {
        let of_name = of.iter().filter(|entry| is_named(entry, name));
        of_name.min_by_key(|entry| (depth(entry), entry.path.as_str())).copied()
    };
    let found = match wanted.map(|name| name.strip_prefix("./").unwrap_or(name)) {
        // A file named by the user may be a script, or lack the executable bit.
        Some(name) => {
            let of_path = files().find(|entry| entry.path == name);
            of_path.or_else(|| nearest(&programs, name)).or_else(|| nearest(&files().collect::<Vec<_>>(), name))
        }
        None => names.iter().find_map(|name| nearest(&programs, name)).or(match programs.as_slice() {
            [entry] => Some(entry),
            _ => None,
        }),
    };
    found.ok_or_else(|| programs.into_iter().map(|entry| entry.path.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str], platform: Platform, names: &[&str]) -> Result<String, usize> {
        let entry = |text: &&str| {
            let path = text.trim_end_matches('*').to_owned();
            Entry { path, kind: EntryKind::File, size: 1, executable: text.ends_with('*') }
        };
        let entries: Vec<Entry> = files.iter().map(entry).collect();
        find(&entries, platform, None, names).map(|entry| entry.path.clone()).map_err(|programs| programs.len())
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

    #[test]
    fn a_program_that_was_named_is_that_one_or_none() {
        let entry = |(path, executable): (&str, bool)| Entry {
            path: path.to_owned(),
            kind: EntryKind::File,
            size: 1,
            executable,
        };
        let entries = [("p/agent", true), ("p/run.sh", false), ("q/agent", true)].map(entry);
        for (wanted, expected) in [
            ("agent", Ok("p/agent")),
            ("q/agent", Ok("q/agent")),
            ("./q/agent", Ok("q/agent")),
            ("run.sh", Ok("p/run.sh")),
            ("other", Err(vec!["p/agent", "q/agent"])),
            ("bin/agent", Err(vec!["p/agent", "q/agent"])),
        ] {
            let found = find(&entries, Platform::LinuxX8664, Some(wanted), &["agent"]);
            assert_eq!(found.map(|entry| entry.path.as_str()), expected, "{wanted}");
        }
    }
}
