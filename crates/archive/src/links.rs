//! The tree of an archive's entries, without a file system: detects duplicate names, and finds where links lead: loops
//! and escapes.

use std::collections::HashMap;
use std::mem;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::{Entry, EntryKind, UnsafeReason, name};

/// Maximum number of links to follow in one path, as on Linux.
const HOPS: usize = 40;

/// Maximum number of path components to look up for all links of an archive.
const STEPS: usize = 4_000_000;

type Id = usize;

const ROOT: Id = 0;

#[derive(Debug)]
pub(super) struct LinkTree {
    nodes: Vec<Node>,
    steps: usize,
}

#[derive(Debug)]
struct Node {
    parent: Id,
    /// The original spelling of the name, if it differs from its key in [`LinkDirectory::children`].
    spelling: Option<Box<str>>,
    kind: NodeKind,
}

#[derive(Debug)]
enum NodeKind {
    /// Boxed to keep nodes small, since most are files.
    Directory(Box<LinkDirectory>),
    /// Index of the entry.
    File(usize),
    /// Index of the entry.
    Symlink(usize),
    /// Index of the entry.
    Hardlink(usize),
}

#[derive(Debug, Default)]
struct LinkDirectory {
    /// Children by name, normalized with [`fold`].
    children: HashMap<Box<str>, Id>,
    /// Whether the archive has an entry for this directory.
    listed: bool,
}

/// The result of [`LinkTree::insert`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inserted {
    New,
    /// A directory that had an entry before.
    Again,
}

impl LinkTree {
    pub(super) fn new() -> Self {
        let kind = NodeKind::Directory(Box::default());
        Self { nodes: vec![Node { parent: ROOT, spelling: None, kind }], steps: 0 }
    }

    /// Number of files, links and directories, including directories that only occur in paths.
    pub(super) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Inserts the entry with this index.
    pub(super) fn insert(&mut self, path: &str, kind: &EntryKind, index: usize) -> Result<Inserted, UnsafeReason> {
        let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
        let mut at = ROOT;
        for part in name::parts(above) {
            at = match self.child(at, part) {
                None => self.add(at, part, NodeKind::Directory(Box::default())),
                Some(id) => {
                    self.check_spelling(id, part)?;
                    match self.nodes[id].kind {
                        NodeKind::Directory(_) => id,
                        NodeKind::Symlink(_) => return Err(UnsafeReason::ThroughLink { link: self.path(id) }),
                        NodeKind::File(_) | NodeKind::Hardlink(_) => return Err(UnsafeReason::FileAsDirectory),
                    }
                }
            };
        }
        let new = match kind {
            EntryKind::Directory => {
                NodeKind::Directory(Box::new(LinkDirectory { listed: true, ..LinkDirectory::default() }))
            }
            EntryKind::File => NodeKind::File(index),
            EntryKind::Symlink { .. } => NodeKind::Symlink(index),
            EntryKind::Hardlink { .. } => NodeKind::Hardlink(index),
        };
        let Some(id) = self.child(at, last) else {
            self.add(at, last, new);
            return Ok(Inserted::New);
        };
        self.check_spelling(id, last)?;
        match (&mut self.nodes[id].kind, new) {
            (NodeKind::Directory(directory), NodeKind::Directory(_)) => {
                let was_listed = mem::replace(&mut directory.listed, true);
                Ok(if was_listed { Inserted::Again } else { Inserted::New })
            }
            (NodeKind::Directory(_), _) | (_, NodeKind::Directory(_)) => Err(UnsafeReason::FileAsDirectory),
            _ => Err(UnsafeReason::Duplicate),
        }
    }

    /// Finds the regular file at exactly this path, without following links.
    pub(super) fn file(&self, path: &str) -> Option<usize> {
        let mut at = ROOT;
        for part in name::parts(path) {
            at = self.child(at, part).filter(|&id| self.is_spelled(id, part))?;
        }
        if let NodeKind::File(index) = self.nodes[at].kind { Some(index) } else { None }
    }

    /// Checks that a link ends inside the archive on every system. Names are compared without case, since some file
    /// systems ignore it; on others, a link with different case is merely dangling.
    pub(super) fn check_link(&mut self, link: &Entry, target: &str, entries: &[Entry]) -> Result<(), UnsafeReason> {
        let above = link.path.rsplit_once('/').map_or("", |(above, _)| above);
        let Some(from) = self.follow(ROOT, above, entries, false)? else {
            return Err(UnsafeReason::LinkLeaves { target: target.to_owned() });
        };
        self.follow(from, target, entries, false).map(|_| ())
    }

    /// Finds the regular file at a path, following links. All names must be spelled as in the path.
    pub(super) fn resolve(&mut self, path: &str, entries: &[Entry]) -> Option<usize> {
        let id = self.follow(ROOT, path, entries, true).ok()??;
        match self.nodes[id].kind {
            NodeKind::File(index) => Some(index),
            NodeKind::Hardlink(index) => match &entries[index].kind {
                EntryKind::Hardlink { target } => self.file(target),
                _ => None,
            },
            _ => None,
        }
    }

    /// Follows a path, component by component; `None` if it does not exist.
    fn follow(&mut self, from: Id, path: &str, entries: &[Entry], exact: bool) -> Result<Option<Id>, UnsafeReason> {
        let mut pending: Vec<&str> = name::parts(path).rev().collect();
        let (mut at, mut hops) = (from, 0);
        // Number of components below the last existing one. Systems stop there, but `..` might lead back.
        let mut missing = 0_usize;
        while let Some(part) = pending.pop() {
            self.steps += 1;
            if self.steps > STEPS {
                return Err(UnsafeReason::LinkLoop { target: path.to_owned() });
            }
            if part == ".." {
                if missing > 0 {
                    missing -= 1;
                } else if at == ROOT {
                    return Err(UnsafeReason::LinkLeaves { target: path.to_owned() });
                } else {
                    at = self.nodes[at].parent;
                }
                continue;
            }
            let child = if missing > 0 { None } else { self.child(at, part) };
            match child.filter(|&id| !exact || self.is_spelled(id, part)) {
                None => missing += 1,
                Some(id) => match self.nodes[id].kind {
                    NodeKind::Symlink(index) => {
                        hops += 1;
                        let EntryKind::Symlink { target } = &entries[index].kind else { return Ok(None) };
                        if hops > HOPS {
                            return Err(UnsafeReason::LinkLoop { target: path.to_owned() });
                        }
                        pending.extend(name::parts(target).rev());
                    }
                    _ => at = id,
                },
            }
        }
        Ok((missing == 0).then_some(at))
    }

    fn child(&self, of: Id, part: &str) -> Option<Id> {
        match &self.nodes[of].kind {
            NodeKind::Directory(directory) => directory.children.get(fold(part).as_str()).copied(),
            _ => None,
        }
    }

    fn add(&mut self, to: Id, part: &str, kind: NodeKind) -> Id {
        let id = self.nodes.len();
        let key = fold(part);
        let spelling = (key != part).then(|| part.into());
        if let NodeKind::Directory(directory) = &mut self.nodes[to].kind {
            directory.children.insert(key.into_boxed_str(), id);
        }
        self.nodes.push(Node { parent: to, spelling, kind });
        id
    }

    fn is_spelled(&self, id: Id, part: &str) -> bool {
        self.nodes[id].spelling.as_deref().map_or_else(|| fold(part) == part, |spelling| spelling == part)
    }

    fn check_spelling(&self, id: Id, part: &str) -> Result<(), UnsafeReason> {
        if self.is_spelled(id, part) { Ok(()) } else { Err(UnsafeReason::CaseCollision { other: self.path(id) }) }
    }

    /// The path of a node, for messages.
    fn path(&self, mut id: Id) -> String {
        let mut parts = Vec::new();
        while id != ROOT {
            let node = &self.nodes[id];
            let key = || match &self.nodes[node.parent].kind {
                NodeKind::Directory(directory) => {
                    directory.children.iter().find(|(_, child)| **child == id).map_or("", |(key, _)| key)
                }
                _ => "",
            };
            parts.push(node.spelling.as_deref().unwrap_or_else(key));
            id = node.parent;
        }
        parts.reverse();
        parts.join("/")
    }
}

/// Normalizes a name as file systems do that ignore case and Unicode normalization.
fn fold(part: &str) -> String {
    if part.is_ascii() {
        return part.to_ascii_lowercase();
    }
    let decompose = |text: &str| DecomposingNormalizerBorrowed::new_nfd().normalize(text).into_owned();
    decompose(&decompose(part).to_uppercase().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_as_file_systems_fold_them() {
        for (a, b) in [
            ("README", "readme"),
            ("\u{c9}tat", "e\u{301}tat"),
            ("STRASSE", "straße"),
            ("ΣΑΣ", "σας"),
            ("\u{212a}", "k"),
        ] {
            assert_eq!(fold(a), fold(b), "{a} {b}");
        }
        assert_ne!(fold("a"), fold("á"));
    }

    #[test]
    fn many_long_links_take_bounded_work() {
        let mut tree = LinkTree::new();
        let link = |path: String, target: String| Entry {
            path,
            kind: EntryKind::Symlink { target },
            size: 0,
            executable: false,
        };
        let winding = "x/../".repeat(800);
        let mut entries = Vec::new();
        for at in 0..39 {
            entries.push(link(format!("l{at}"), format!("{winding}l{}", at + 1)));
        }
        entries.extend((0..2000).map(|at| link(format!("m{at}"), "l0".to_owned())));
        for (at, entry) in entries.iter().enumerate() {
            tree.insert(&entry.path, &entry.kind, at).unwrap();
        }
        let checked: Result<(), UnsafeReason> = entries.iter().try_for_each(|entry| match &entry.kind {
            EntryKind::Symlink { target } => tree.check_link(entry, target, &entries),
            _ => Ok(()),
        });
        assert_eq!(checked, Err(UnsafeReason::LinkLoop { target: "l0".to_owned() }));
    }
}
