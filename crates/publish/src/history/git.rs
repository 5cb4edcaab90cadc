//! Reads the history from the git commits of the registry.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use super::{EventKind, Extent, History, HistoryEvent};
use crate::release::release_page_of_entry;
use acp_registry_host::git::{self, Cut, FileChange, Log};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_plan::versions::VERSION_LIMIT;

/// The largest manifest that is read, in bytes.
const MANIFEST_LIMIT: u64 = 1 << 20;

/// The maximum length of name and version together, in bytes, because those of all commits are in memory at once.
/// Manifests with longer ones are ignored.
const HEAD_LIMIT: usize = 1 << 10;

/// The most bytes of earlier manifests that are read.
const MANIFESTS_LIMIT: usize = 256 << 20;

/// What the history needs of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ManifestHead {
    name: String,
    version: String,
    release: Option<String>,
}

impl ManifestHead {
    /// Reads a manifest; `None` if it has no version, or is not JSON.
    fn parse(manifest: &[u8]) -> Option<Self> {
        let manifest: Value = serde_json::from_slice(manifest).ok()?;
        let version = manifest.get("version")?.as_str()?.to_owned();
        let name = manifest.get("name").map_or(Some(""), Value::as_str)?.to_owned();
        Some(Self { name, version, release: release_page_of_entry(&manifest) })
    }
}

impl History {
    /// Reads the history of the registry in `directory` from the first parents of `HEAD`: a merged change counts at
    /// the time of the merge. Uncommitted changes are ignored.
    ///
    /// Without git or a repository, the history is empty and its extent says why. In a shallow clone, agents that
    /// were added before its first commit have no date.
    pub fn read(directory: &Path) -> Self {
        match read(directory) {
            Ok((log, heads)) => follow(&log, &heads),
            Err(error) => Self::new(Vec::new(), Extent::Nothing(reason(&error))),
        }
    }
}

/// A manifest of a version that a registry has had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierManifest {
    /// The version.
    pub version: String,
    /// When it came; `None` if it was there at the start of a shallow clone.
    pub since: Option<Timestamp>,
    /// The manifest, as it was last.
    pub text: Vec<u8>,
}

/// The manifests of the versions that a registry has had, by agent, the newest first.
pub type EarlierManifests = BTreeMap<String, Vec<EarlierManifest>>;

impl History {
    /// Reads the history like [`History::read`], and the manifests of earlier versions.
    pub fn read_with_manifests(directory: &Path) -> (Self, EarlierManifests) {
        match read(directory) {
            // What git does not give now is only missing.
            Ok((log, heads)) => (follow(&log, &heads), manifests(directory, &log, &heads).unwrap_or_default()),
            Err(error) => (Self::new(Vec::new(), Extent::Nothing(reason(&error))), EarlierManifests::new()),
        }
    }
}

/// Reads the last manifest of each version but the newest of each agent.
fn manifests(
    directory: &Path,
    log: &Log,
    heads: &HashMap<String, ManifestHead>,
) -> Result<EarlierManifests, git::Error> {
    /// A version: its number, since when it is there, and its last blob.
    type Found<'a> = (&'a str, Option<Timestamp>, &'a str);
    let mut found: BTreeMap<&str, Vec<Found<'_>>> = BTreeMap::new();
    for commit in log.commits.iter().rev() {
        let is_start = log.cut == Some(Cut::Shallow) && commit.is_root;
        for FileChange { path, blob, .. } in &commit.changes {
            let Some(id) = path.strip_suffix("/agent.json").filter(|id| AgentId::is_valid(id)) else { continue };
            let Some((blob, head)) = blob.as_deref().and_then(|blob| Some((blob, heads.get(blob)?))) else { continue };
            let versions = found.entry(id).or_default();
            if let Some((.., last)) = versions.last_mut().filter(|(version, ..)| *version == head.version) {
                *last = blob;
            } else {
                versions.retain(|(version, ..)| *version != head.version);
                let since = Timestamp::from_unix(commit.time).filter(|_| !is_start);
                versions.push((&head.version, since, blob));
            }
        }
    }
    for versions in found.values_mut() {
        versions.pop();
        versions.reverse();
        versions.truncate(VERSION_LIMIT);
    }
    let blobs: BTreeSet<&str> = found.values().flatten().map(|(.., blob)| *blob).collect();
    let mut texts: HashMap<String, Vec<u8>> = HashMap::new();
    if !blobs.is_empty() {
        let mut left = MANIFESTS_LIMIT;
        git::blobs(directory, &blobs, MANIFEST_LIMIT, |blob, bytes| {
            if let Some(rest) = left.checked_sub(bytes.len()) {
                left = rest;
                texts.insert(blob.to_owned(), bytes.to_vec());
            }
        })?;
    }
    let read = |(version, since, blob): Found<'_>| {
        Some(EarlierManifest { version: version.to_owned(), since, text: texts.get(blob)?.clone() })
    };
    let all = found.into_iter().map(|(id, versions)| (id.to_owned(), versions.into_iter().filter_map(read).collect()));
    Ok(all.collect())
}

fn reason(error: &git::Error) -> String {
    match error {
        git::Error::NoRepository => "The registry is not in a git repository.".to_owned(),
        git::Error::Start(_) => "The program git could not be started.".to_owned(),
        _ => "The program git failed.".to_owned(),
    }
}

fn read(directory: &Path) -> Result<(Log, HashMap<String, ManifestHead>), git::Error> {
    let log = git::log(directory, "*/agent.json")?;
    let blobs: BTreeSet<&str> =
        log.commits.iter().flat_map(|commit| &commit.changes).filter_map(|change| change.blob.as_deref()).collect();
    let mut heads = HashMap::with_capacity(blobs.len());
    if !blobs.is_empty() {
        git::blobs(directory, &blobs, MANIFEST_LIMIT, |blob, bytes| {
            // An unreadable manifest is ignored; the last readable one counts.
            if let Some(head) = ManifestHead::parse(bytes)
                && head.name.len() + head.version.len() <= HEAD_LIMIT
            {
                heads.insert(blob.to_owned(), head);
            }
        })?;
    }
    Ok((log, heads))
}

/// Compares the manifests of consecutive commits, and returns the changes as events.
fn follow(log: &Log, heads: &HashMap<String, ManifestHead>) -> History {
    let mut state: BTreeMap<&str, &ManifestHead> = BTreeMap::new();
    let mut events = Vec::new();
    for commit in log.commits.iter().rev() {
        let Some(time) = Timestamp::from_unix(commit.time) else { continue };
        // In reverse, because [`History::new`] reverses the events: the agents of a commit are then in alphabetical
        // order.
        for FileChange { path, blob, is_new } in commit.changes.iter().rev() {
            let Some(id) = path.strip_suffix("/agent.json").filter(|id| AgentId::is_valid(id)) else { continue };
            // At the start of a shallow clone, all files look new. In a log that was cut, the first change of an
            // agent does.
            let is_start = match log.cut {
                None => false,
                Some(Cut::Shallow) => commit.is_root,
                Some(Cut::Long) => !is_new && !state.contains_key(id),
            };
            let head = blob.as_ref().and_then(|blob| heads.get(blob));
            let (kind, shown) = match (state.get(id), blob, head) {
                (Some(last), None, _) => (EventKind::Withdrawn, *last),
                (None, Some(_), Some(head)) => (EventKind::Added, head),
                (Some(last), Some(_), Some(head)) if last.version != head.version => {
                    (EventKind::Updated { from: last.version.clone() }, head)
                }
                (Some(_), Some(_), Some(head)) => {
                    state.insert(id, head);
                    continue;
                }
                // Removed before a readable manifest was found, or not readable.
                _ => continue,
            };
            if kind == EventKind::Withdrawn {
                state.remove(id)
            } else {
                state.insert(id, shown)
            };
            if !is_start {
                let ManifestHead { name, version, release } = shown.clone();
                let release = release.filter(|_| kind != EventKind::Withdrawn);
                events.push(HistoryEvent { time, id: id.to_owned(), name, version, release, kind });
            }
        }
    }
    let extent = match log.cut {
        None if events.is_empty() => Extent::Nothing("No agent of the registry is committed to git.".to_owned()),
        None => Extent::Whole,
        Some(Cut::Shallow) => Extent::Part("The clone is shallow: earlier changes have no date.".to_owned()),
        Some(Cut::Long) => Extent::Part(format!("Only the last {} commits are read.", git::COMMIT_LIMIT)),
    };
    History::new(events, extent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_host::git::Commit;

    fn heads(names: &[(&str, &str)]) -> HashMap<String, ManifestHead> {
        let head = |version: &str| ManifestHead { name: "N".to_owned(), version: version.to_owned(), release: None };
        names.iter().map(|(blob, version)| ((*blob).to_owned(), head(version))).collect()
    }

    /// Creates a log from commits, oldest first: each has a time and its changes.
    fn log(commits: &[(i64, &[(&str, &str)])], cut: Option<Cut>) -> Log {
        let change = |(path, blob): &(&str, &str)| {
            let blob = (!blob.is_empty()).then(|| (*blob).to_owned());
            FileChange { path: (*path).to_owned(), blob, is_new: false }
        };
        let commits = commits.iter().enumerate();
        let commits = commits.map(|(at, (time, list))| Commit {
            time: *time,
            is_root: at == 0,
            changes: list.iter().map(change).collect(),
        });
        let mut commits: Vec<Commit> = commits.collect();
        commits.reverse();
        Log { commits, cut }
    }

    fn shown(history: &History) -> Vec<String> {
        let shown = |event: &HistoryEvent| format!("{} {} {}", event.kind.as_str(), event.id, event.version);
        history.events().iter().map(shown).collect()
    }

    const COMMITS: &[(i64, &[(&str, &str)])] = &[
        (1, &[("a/agent.json", "a1"), ("b/agent.json", "broken"), ("../x/agent.json", "a1"), ("A/agent.json", "a1")]),
        (2, &[("a/agent.json", "a1-edited"), ("b/agent.json", "a1")]),
        (3, &[("a/agent.json", "a2")]),
        (3, &[("a/agent.json", "broken"), ("b/agent.json", "")]),
        (4, &[("a/agent.json", "a3"), ("b/agent.json", "a2")]),
    ];

    #[test]
    fn only_new_versions_count_and_what_cannot_be_read_changes_nothing() {
        let heads = heads(&[("a1", "1"), ("a1-edited", "1"), ("a2", "2"), ("a3", "3")]);
        let history = follow(&log(COMMITS, None), &heads);
        let expected = ["updated a 3", "added b 2", "withdrawn b 1", "updated a 2", "added b 1", "added a 1"];
        assert_eq!((shown(&history).as_slice(), history.extent()), (&expected.map(String::from)[..], &Extent::Whole));
        assert_eq!(history.events()[0].kind, EventKind::Updated { from: "2".to_owned() });
    }

    #[test]
    fn where_a_shallow_clone_begins_nothing_was_added() {
        let heads = heads(&[("a1", "1"), ("a1-edited", "1"), ("a2", "2"), ("a3", "3")]);
        let history = follow(&log(COMMITS, Some(Cut::Shallow)), &heads);
        assert_eq!(shown(&history).last().unwrap(), "added b 1");
        assert!(matches!(history.extent(), Extent::Part(why) if why.contains("shallow")));
        let history = follow(&log(COMMITS, Some(Cut::Long)), &heads);
        assert!(!shown(&history).iter().any(|event| event.starts_with("added")));
        let mut added = log(COMMITS, Some(Cut::Long));
        added.commits[4].changes[0].is_new = true;
        assert_eq!(shown(&follow(&added, &heads)).last().unwrap(), "added a 1");
        let history = follow(&log(&COMMITS[..1], Some(Cut::Shallow)), &heads);
        assert_eq!(history.events(), []);
        assert!(matches!(follow(&log(&[], None), &heads).extent(), Extent::Nothing(_)));
    }
}
