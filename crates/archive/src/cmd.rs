//! Finds the program that `cmd` of a manifest names, as clients do.

use super::links::LinkTree;
use super::{ArchiveListing, Entry, EntryKind, name};
use acp_registry_plan::text::{nearest, quote};

/// Maximum number of names to compare with a wrong `cmd`, since each comparison is slow.
const COMPARED: usize = 20_000;

/// Maximum length of these names, in bytes.
const COMPARED_LENGTH: usize = 120;

/// The archive has no file at this path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmdNotFound {
    /// The path that was looked for.
    pub cmd: String,
    /// The path of the entry that was probably meant.
    pub nearest: Option<String>,
    /// Whether the path is a directory.
    pub is_directory: bool,
}

impl CmdNotFound {
    /// The value that `cmd` should have, if known.
    pub fn suggestion(&self) -> Option<String> {
        self.nearest.as_ref().map(|path| format!("./{path}"))
    }
}

impl std::fmt::Display for CmdNotFound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.is_directory { "is a directory in the archive" } else { "is not in the archive" };
        write!(f, "{} {what}", quote(&self.cmd))?;
        if let Some(found) = &self.nearest {
            write!(f, "; found {}", quote(found))?;
        }
        Ok(())
    }
}

impl std::error::Error for CmdNotFound {}

impl ArchiveListing {
    /// Finds the file that a client would start: the one at exactly this path below the archive's root. Backslashes are
    /// separators, and a leading `./` is optional. If the path is a link, returns the file that it leads to.
    ///
    /// # Errors
    /// Returns [`CmdNotFound`] with a similar entry.
    pub fn find_cmd(&self, cmd: &str) -> Result<&Entry, CmdNotFound> {
        find_cmd(cmd, &self.entries)
    }
}

fn find_cmd<'a>(cmd: &str, entries: &'a [Entry]) -> Result<&'a Entry, CmdNotFound> {
    let path = cmd_path(cmd);
    let mut tree = LinkTree::new();
    for (index, entry) in entries.iter().enumerate() {
        // Cannot fail: the entries of a listing have been inserted into a tree before.
        let _ = tree.insert(&entry.path, &entry.kind, index);
    }
    let found = path.as_deref().and_then(|path| tree.resolve(path, entries));
    found.and_then(|index| entries.get(index)).ok_or_else(|| {
        let path = path.unwrap_or_else(|| cmd.replace('\\', "/"));
        let below = format!("{path}/");
        let is_directory = !path.is_empty()
            && entries.iter().any(|e| (e.path == path && e.kind == EntryKind::Directory) || e.path.starts_with(&below));
        CmdNotFound { cmd: cmd.to_owned(), nearest: nearest_entry(&path, entries), is_directory }
    })
}

/// The normalized path of `cmd`, as in [`Entry::path`]; `None` if no entry can have it.
pub(super) fn cmd_path(cmd: &str) -> Option<String> {
    name::normalise(cmd.as_bytes()).ok().filter(|path| !path.is_empty())
}

fn nearest_entry(path: &str, entries: &[Entry]) -> Option<String> {
    let wanted = path.rsplit('/').next().unwrap_or_default();
    let files = || entries.iter().filter(|entry| entry.kind != EntryKind::Directory && entry.path != path);
    // If there are several, prefers executable ones, then those nearest to the root.
    let best = |is: &dyn Fn(&str) -> bool| {
        files().filter(|entry| is(entry.file_name())).min_by_key(|e| (!e.executable, e.path.matches('/').count()))
    };
    let with_exe = format!("{wanted}.exe");
    let stem = |name: &str| name.strip_suffix(".exe").map(str::to_ascii_lowercase);
    let named = best(&|name| name == wanted)
        .or_else(|| best(&|name| name.eq_ignore_ascii_case(wanted)))
        .or_else(|| best(&|name| name.eq_ignore_ascii_case(&with_exe)))
        .or_else(|| best(&|name| stem(wanted).is_some_and(|stem| name.eq_ignore_ascii_case(&stem))));
    let alike = || {
        let candidates = files().map(Entry::file_name).filter(|name| name.len() <= COMPARED_LENGTH).take(COMPARED);
        let name = nearest(wanted, candidates)?;
        best(&|other| other == name)
    };
    named.or_else(alike).map(|entry| entry.path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry { path: path.to_owned(), kind, size: 0, executable: true }
    }

    fn link(path: &str, target: &str) -> Entry {
        entry(path, EntryKind::Symlink { target: target.to_owned() })
    }

    fn archive() -> Vec<Entry> {
        vec![
            entry("pkg-1.2", EntryKind::Directory),
            entry("pkg-1.2/bin/agent", EntryKind::File),
            entry("pkg-1.2/bin/other.exe", EntryKind::File),
            entry("pkg-1.2/doc/agent", EntryKind::File),
            link("current", "pkg-1.2"),
            link("agent-link", "current/bin/agent"),
            link("dangling", "nothing"),
            entry("again", EntryKind::Hardlink { target: "pkg-1.2/bin/agent".to_owned() }),
        ]
    }

    #[test]
    fn the_exact_path_is_found_as_clients_join_it() {
        let entries = archive();
        for cmd in [
            "./pkg-1.2/bin/agent", "pkg-1.2/bin/agent", ".\\pkg-1.2\\bin\\agent", "./current/bin/agent",
            "./agent-link", "./again",
        ] {
            assert_eq!(find_cmd(cmd, &entries).map(|entry| entry.path.as_str()), Ok("pkg-1.2/bin/agent"), "{cmd}");
        }
    }

    #[test]
    fn what_is_not_there_is_answered_with_what_was_meant() {
        let entries = archive();
        for (cmd, nearest, is_directory) in [
            ("./agent", Some("pkg-1.2/bin/agent"), false),
            ("./pkg-1.2/bin/Agent", Some("pkg-1.2/bin/agent"), false),
            ("./other", Some("pkg-1.2/bin/other.exe"), false),
            ("./agent.exe", Some("pkg-1.2/bin/agent"), false),
            ("./bin/agnet", Some("pkg-1.2/bin/agent"), false),
            ("./pkg-1.2", None, true),
            ("./current/bin", None, false),
            ("./dangling", None, false),
            ("../pkg-1.2/bin/agent", Some("pkg-1.2/bin/agent"), false),
            ("./zzz", None, false),
            ("", None, false),
        ] {
            let error = find_cmd(cmd, &entries).unwrap_err();
            assert_eq!((error.nearest.as_deref(), error.is_directory), (nearest, is_directory), "{cmd}");
        }
        let error = find_cmd("./agent", &entries).unwrap_err();
        assert_eq!(error.to_string(), "`./agent` is not in the archive; found `pkg-1.2/bin/agent`");
    }
}
