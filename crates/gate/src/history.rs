//! LOAD: when agents came, changed and went.
//!
//! * [`History::read`]: from the commits of the git repository that holds the registry
//! * [`History::parse`]: from a `history.json`, which [`History::to_json`] writes
//!
//! Times are those of commits, or of publications. Where nothing is known there is no event: nothing here looks at a clock or
//! at the times of files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use acp_registry_client::registry::{MANIFEST_LIMIT, Registry};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_host::git::{self, Cut, FileChange, Log};
use acp_registry_plan::json::{self, List, Object};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_plan::versions::VERSION_LIMIT;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::release::{is_release_page, release_page_of_entry};

/// What happened to the agents of a registry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    events: Vec<HistoryEvent>,
    extent: Extent,
}

/// How far back a history goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// To the beginning.
    Whole,
    /// Not to the beginning: what was there at its start has no date. The text says why, as a whole sentence.
    Part(String),
    /// Nothing is known. The text says why, as a whole sentence.
    Nothing(String),
}

impl Default for Extent {
    fn default() -> Self {
        Self::Nothing("No history was given.".to_owned())
    }
}

/// Something that happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEvent {
    /// When.
    pub time: Timestamp,
    /// Id of the agent.
    pub id: String,
    /// Its name at that time, as in the manifest.
    pub name: String,
    /// Its version after the event; the last one, when it was withdrawn.
    pub version: String,
    /// The page of that version's release, if its archives are of a GitHub release.
    pub release: Option<String>,
    /// What.
    pub kind: EventKind,
}

/// What happens to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// It was not there before.
    Added,
    /// It has another version. Other changes of an entry are not events.
    Updated {
        /// The version before.
        from: String,
    },
    /// It is not there any more.
    Withdrawn,
}

impl EventKind {
    /// The word used in every output format.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated { .. } => "updated",
            Self::Withdrawn => "withdrawn",
        }
    }
}

impl History {
    /// A history of events in the order in which they happened, oldest first.
    pub fn new(mut events: Vec<HistoryEvent>, extent: Extent) -> Self {
        // Stable, so that those of one agent at one time keep their order.
        events.sort_by_key(|event| event.time);
        events.reverse();
        Self { events, extent }
    }

    /// What happened, newest first.
    pub fn events(&self) -> &[HistoryEvent] {
        &self.events
    }

    /// How far back that goes.
    pub fn extent(&self) -> &Extent {
        &self.extent
    }

    /// The events of each agent, newest first.
    pub fn by_agent(&self) -> BTreeMap<&str, Vec<&HistoryEvent>> {
        let mut agents: BTreeMap<&str, Vec<&HistoryEvent>> = BTreeMap::new();
        for event in &self.events {
            agents.entry(&event.id).or_default().push(event);
        }
        agents
    }
}

/// The history in a registry's directory, beside the agents' folders, and in the published tree.
pub const HISTORY_FILE: &str = "history.json";

/// The largest [`HISTORY_FILE`] that is read, in bytes.
pub const HISTORY_LIMIT: u64 = 64 << 20;

/// The maximum number of events in a file; older ones are left out.
const EVENTS: usize = 100_000;

/// The maximum number of members that are read of an event.
const MEMBERS: usize = 100;

/// The extent of an incomplete history that was read from a file or continued from a published tree.
pub const INCOMPLETE: &str = "The history does not go back to the beginning.";

/// The document is not a history.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The document is not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// The document has another form; the text says where.
    #[error("is not a history: {0}")]
    Form(String),
}

impl History {
    /// Parses a `history.json`.
    ///
    /// # Errors
    /// [`HistoryError`], which gives the number of an invalid event.
    pub fn parse(text: &[u8]) -> Result<Self, HistoryError> {
        let document: &RawValue = serde_json::from_slice(text)?;
        let document: HistoryMembers<'_> = json::object(Some(document)).unwrap_or_default();
        if document.schema.is_none_or(|schema| schema.get() != "1") {
            return Err(HistoryError::Form("`schema` must be 1".to_owned()));
        }
        let list: Option<List<'_, EVENTS>> = document.events.and_then(|list| serde_json::from_str(list.get()).ok());
        let list = list.ok_or_else(|| HistoryError::Form("there is no list `events`".to_owned()))?;
        let read = |(at, part)| {
            event(part).map_err(|problem| HistoryError::Form(format!("event {} of `events` {problem}", at + 1)))
        };
        let mut events = list.items.into_iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        // The file has the newest event first.
        events.reverse();
        let is_whole = json::text(document.incomplete).is_none() && !list.is_longer;
        let extent = if is_whole { Extent::Whole } else { Extent::Part(INCOMPLETE.to_owned()) };
        Ok(Self::new(events, extent))
    }

    /// Why the history in a registry's directory cannot be read; `None` if it can be, or if there is none.
    pub fn problem(registry: &Registry) -> Option<String> {
        match read_bounded(&registry.root.join(HISTORY_FILE), &registry.root, HISTORY_LIMIT) {
            Ok(bytes) => Self::parse(&bytes).err().map(|error| format!("the file {error}")),
            Err(ReadError::NotFound) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Serializes the events that `is_shown` selects as a `history.json`, newest first and at most 100,000; `None` if
    /// nothing is known.
    pub fn to_json(&self, is_shown: impl Fn(&HistoryEvent) -> bool) -> Option<String> {
        let incomplete = match &self.extent {
            Extent::Nothing(_) => return None,
            Extent::Part(why) => Some(why.as_str()),
            Extent::Whole => None,
        };
        let mut shown = self.events.iter().filter(|event| is_shown(event));
        let events = shown.by_ref().take(EVENTS).map(|event| WrittenEvent {
            time: event.time.to_string(),
            event: event.kind.as_str(),
            id: &event.id,
            name: &event.name,
            version: &event.version,
            release: event.release.as_deref(),
            from: if let EventKind::Updated { from } = &event.kind { Some(from) } else { None },
        });
        let events = events.collect();
        let incomplete = if shown.next().is_some() { incomplete.or(Some(INCOMPLETE)) } else { incomplete };
        Some(json::to_string(&Written { schema: 1, incomplete, events }))
    }
}

#[derive(Serialize)]
struct Written<'a> {
    schema: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<&'a str>,
    events: Vec<WrittenEvent<'a>>,
}

#[derive(Serialize)]
struct WrittenEvent<'a> {
    time: String,
    event: &'static str,
    id: &'a str,
    name: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<&'a str>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct HistoryMembers<'a> {
    schema: Option<&'a RawValue>,
    incomplete: Option<&'a RawValue>,
    events: Option<&'a RawValue>,
}

fn event(part: &RawValue) -> Result<HistoryEvent, String> {
    let object: Object<'_, MEMBERS> = json::object(Some(part)).unwrap_or_default();
    let text = |key: &str| {
        let (_, value) = object.members.iter().rfind(|(name, _)| name == key)?;
        json::text(Some(value)).map(Cow::into_owned)
    };
    let needed = |key: &str| text(key).ok_or_else(|| format!("has no text `{key}`"));
    let time = needed("time")?;
    let time = time.parse().map_err(|_| {
        format!("has the time {}, which is not of the form 2026-01-31T23:59:59Z", acp_registry_plan::text::quote(&time))
    })?;
    let id = needed("id")?;
    if !AgentId::is_valid(&id) {
        return Err(format!("has the id {}, which is not a valid agent id", acp_registry_plan::text::quote(&id)));
    }
    let kind = match needed("event")?.as_str() {
        "added" => EventKind::Added,
        "updated" => EventKind::Updated { from: needed("from")? },
        "withdrawn" => EventKind::Withdrawn,
        other => {
            return Err(format!(
                "is {}, which is not one of `added`, `updated` and `withdrawn`",
                acp_registry_plan::text::quote(other)
            ));
        }
    };
    let release = text("release").filter(|address| is_release_page(address));
    Ok(HistoryEvent {
        time,
        release,
        name: text("name").unwrap_or_else(|| id.clone()),
        version: needed("version")?,
        id,
        kind,
    })
}

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
    /// Reads the history of the registry in `directory` from the first parents of `HEAD`, and the manifests of earlier versions.
    /// A merged change counts at the time of the merge. Uncommitted changes are ignored.
    ///
    /// Without git or a repository, the history is empty and its extent says why. In a shallow clone, agents that
    /// were added before its first commit have no date.
    pub fn read(directory: &Path) -> (Self, EarlierManifests) {
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
    use acp_registry_plan::timestamp::Timestamp;

    fn parse(text: &str) -> Result<History, String> {
        History::parse(text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{ "schema": 1, "events": [
            { "time": "2026-01-02T03:04:05Z", "event": "withdrawn", "id": "a", "name": "A", "version": "2" },
            { "time": "2026-01-02T03:04:05Z", "event": "updated", "id": "a", "name": "A", "version": "2", "from": "1" },
            { "time": "2026-01-01T00:00:00+01:00", "event": "added", "id": "a", "version": "1",
              "release": "https://evil.example/o/r/releases/tag/v1" } ] }"#;
        let history = parse(text).unwrap();
        assert_eq!(history.events()[2].release, None);
        let again = History::parse(history.to_json(|_| true).unwrap().as_bytes()).unwrap();
        assert_eq!(again, history);
        assert_eq!(history.events()[2].time.day(), "2025-12-31");
        assert_eq!(history.by_agent()["a"].len(), 3);
        assert_eq!(History::default().to_json(|_| true), None);
    }

    #[test]
    fn the_oldest_events_of_a_long_history_are_left_out() {
        let event = |number: usize| {
            let time = Timestamp::from_unix(number.try_into().unwrap()).unwrap();
            let (id, name) = ("a".to_owned(), "A".to_owned());
            HistoryEvent { time, id, name, version: number.to_string(), release: None, kind: EventKind::Added }
        };
        let history = History::new((0..=EVENTS).map(event).collect(), Extent::Whole);
        let text = history.to_json(|_| true).unwrap();
        let read = parse(&text).unwrap();
        assert_eq!((read.events().len(), &*read.events()[EVENTS - 1].version), (EVENTS, "1"));
        assert!(matches!(read.extent(), Extent::Part(_)));
        // A file that a person has edited may be longer.
        let longer = text.replacen(
            "\"events\": [",
            "\"events\": [{\"time\":\"2026-01-01T00:00:00Z\",\"event\":\"added\",\"id\":\"b\",\"version\":\"1\"},",
            1,
        );
        assert_ne!(longer, text);
        assert_eq!(parse(&longer).unwrap().events().len(), EVENTS);
        assert_eq!(
            history.to_json(|event| event.version != "0"),
            Some(text.replace(&format!("  \"incomplete\": \"{INCOMPLETE}\",\n"), ""))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let event = |body: &str| parse(&format!(r#"{{ "schema": 1, "events": [{{ {body} }}] }}"#)).unwrap_err();
        let rest = r#""id": "a", "version": "1", "event""#;
        for (text, message) in [
            (parse("{").unwrap_err(), "is not JSON"),
            (parse("{}").unwrap_err(), "`schema` must be 1"),
            (parse(r#"{ "schema": 1 }"#).unwrap_err(), "no list `events`"),
            (event(""), "event 1 of `events` has no text `time`"),
            (event(r#""time": "yesterday""#), "has the time `yesterday`"),
            (event(r#""time": "2026-01-02T03:04:05Z", "id": "../a""#), "not a valid agent id"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "renamed""#)), "is `renamed`"),
            (event(&format!(r#""time": "2026-01-02T03:04:05Z", {rest}: "updated""#)), "no text `from`"),
        ] {
            assert!(text.contains(message), "{text}");
        }
    }

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

    fn shown_git(history: &History) -> Vec<String> {
        let shown_git = |event: &HistoryEvent| format!("{} {} {}", event.kind.as_str(), event.id, event.version);
        history.events().iter().map(shown_git).collect()
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
        assert_eq!(
            (shown_git(&history).as_slice(), history.extent()),
            (&expected.map(String::from)[..], &Extent::Whole)
        );
        assert_eq!(history.events()[0].kind, EventKind::Updated { from: "2".to_owned() });
    }

    #[test]
    fn where_a_shallow_clone_begins_nothing_was_added() {
        let heads = heads(&[("a1", "1"), ("a1-edited", "1"), ("a2", "2"), ("a3", "3")]);
        let history = follow(&log(COMMITS, Some(Cut::Shallow)), &heads);
        assert_eq!(shown_git(&history).last().unwrap(), "added b 1");
        assert!(matches!(history.extent(), Extent::Part(why) if why.contains("shallow")));
        let history = follow(&log(COMMITS, Some(Cut::Long)), &heads);
        assert!(!shown_git(&history).iter().any(|event| event.starts_with("added")));
        let mut added = log(COMMITS, Some(Cut::Long));
        added.commits[4].changes[0].is_new = true;
        assert_eq!(shown_git(&follow(&added, &heads)).last().unwrap(), "added a 1");
        let history = follow(&log(&COMMITS[..1], Some(Cut::Shallow)), &heads);
        assert_eq!(history.events(), []);
        assert!(matches!(follow(&log(&[], None), &heads).extent(), Extent::Nothing(_)));
    }
}
