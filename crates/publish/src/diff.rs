//! COMPARE: what has changed from one published index to another, and the history that this continues.
//!
//! Reading is lenient: an unusable entry still counts, as long as it has an id, and one that has none hides no
//! other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use acp_registry_client::index::{FormError, Notes, entries};
use acp_registry_gate::history::{EventKind, Extent, History, HistoryEvent, INCOMPLETE};
use acp_registry_gate::release::release_page_of_entry;
use acp_registry_plan::json;
use acp_registry_plan::manifest::{AgentId, Version};
use acp_registry_plan::revocations::{Revocation, Revocations};
use acp_registry_plan::text::quote;
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_plan::versions::{HELD, HeldVersion};

/// The agents of an index, by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agents {
    by_id: BTreeMap<String, Value>,
    /// The ids of entries that cannot be read: whether these agents have changed is not known, but they are there.
    unreadable: BTreeSet<String>,
    /// Which entries were passed over, and why; ready to be shown.
    pub notes: Vec<String>,
}

/// An agent, as an index names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffAgent {
    /// Its id.
    pub id: String,
    /// Its display name; the id where it has none.
    pub name: String,
    /// Its version; empty where it has none.
    pub version: String,
    /// The page of its release, if its archives are of a GitHub release.
    pub release: Option<String>,
}

/// An agent that is in both indexes, and not the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Updated {
    /// The agent, as the newer index has it.
    pub agent: DiffAgent,
    /// The version that the older index has.
    pub from: String,
    /// JSON pointers to what has changed, come or gone, from the entry on. Arrays count as a whole.
    pub fields: Vec<String>,
    /// Why the newer index has this version, if it is held there and was not, or otherwise.
    pub held: Option<HeldVersion>,
}

impl Updated {
    /// Whether the version has changed, and not only something else.
    pub fn is_new_version(&self) -> bool {
        self.from != self.agent.version
    }

    /// Whether the version is older than the one before, as far as both can be compared.
    pub fn is_older_version(&self) -> bool {
        let both = Version::parse_loose(&self.from).zip(Version::parse_loose(&self.agent.version));
        both.is_some_and(|(from, to)| to < from)
    }
}

/// What has changed, each list by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Agents that only the newer index has.
    pub added: Vec<DiffAgent>,
    /// Agents that only the older index has.
    pub removed: Vec<DiffAgent>,
    /// Agents whose entries differ.
    pub updated: Vec<Updated>,
    /// Versions that the older registry has not recalled, or less severely.
    pub recalled: Vec<Recalled>,
}

/// Recalled versions of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// The id of the agent.
    pub id: String,
    /// The versions as written, and why they are recalled.
    pub revocation: Revocation,
}

impl Changes {
    /// Whether both indexes say the same of the same agents.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.updated.is_empty() && self.recalled.is_empty()
    }

    /// Adds what a newer list has recalled.
    pub fn add_recalls(&mut self, old: &Revocations, new: &Revocations) {
        let is_same = |one: &Revocation, other: &Revocation| one.versions == other.versions && one.level == other.level;
        let is_new = |id: &str, one: &Revocation| !old.get(id).iter().any(|known| is_same(known, one));
        let new = new.iter().filter(|(id, one)| is_new(id, one));
        self.recalled.extend(new.map(|(id, one)| Recalled { id: id.to_owned(), revocation: one.clone() }));
    }
}

/// As much of an entry as can be read when the rest is nested too deep.
#[derive(Deserialize)]
struct BareEntry {
    id: String,
}

impl Agents {
    /// Reads an index. Entries without an id, or with that of another before them, become notes.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, has no array `agents`, or is too large.
    pub fn parse(index: &[u8]) -> Result<Self, FormError> {
        let text = str::from_utf8(index).map_err(|error| FormError::of(&error))?;
        let texts = entries(text)?;
        // All entries stay in memory.
        json::check_count(index).map_err(|error| FormError::of(&error))?;
        let (mut agents, mut notes) = (Self::default(), Notes::default());
        for (at, text) in texts.into_iter().enumerate() {
            if let Err(problem) = agents.add(text) {
                notes.add(at, &format!("is passed over: {problem}"));
            }
        }
        agents.notes = notes.into_sentences();
        Ok(agents)
    }

    /// Adds an entry; the error says why it is passed over.
    fn add(&mut self, text: &str) -> Result<(), String> {
        let entry: Value = match serde_json::from_str(text) {
            Ok(entry) => entry,
            Err(error) => {
                let Ok(BareEntry { id }) = serde_json::from_str(text) else { return Err(error.to_string()) };
                if id.is_empty() || self.has(&id) {
                    return Err(error.to_string());
                }
                let problem = format!("{} cannot be read ({error}), changed or not", quote(&id));
                self.unreadable.insert(id);
                return Err(problem);
            }
        };
        match entry.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            None => Err("it has no id".to_owned()),
            Some(id) if self.has(id) => Err(format!("there is another {} before it", quote(id))),
            Some(id) => {
                self.by_id.insert(id.to_owned(), entry);
                Ok(())
            }
        }
    }

    fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id) || self.unreadable.contains(id)
    }

    fn listed(&self) -> impl Iterator<Item = (DiffAgent, &Value)> {
        self.by_id.iter().map(|(id, entry)| (listed(id, entry), entry))
    }
}

fn listed(id: &str, entry: &Value) -> DiffAgent {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = Some(text("name")).filter(|name| !name.trim().is_empty()).unwrap_or(id);
    let version = text("version").to_owned();
    DiffAgent { id: id.to_owned(), name: name.to_owned(), version, release: release_page_of_entry(entry) }
}

fn hold(entry: &Value) -> Option<HeldVersion> {
    HeldVersion::parse(entry.get(HELD)?, entry.get("version")?.as_str()?)
}

/// What has changed from an older index to a newer one.
pub fn compare(old: &Agents, new: &Agents) -> Changes {
    let mut changes = Changes::default();
    for (agent, entry) in new.listed() {
        match old.by_id.get(&agent.id) {
            None if old.unreadable.contains(&agent.id) => {}
            None => changes.added.push(agent),
            Some(before) if before == entry => {}
            Some(before) => {
                let from = listed(&agent.id, before).version;
                let mut fields = Vec::new();
                differences(before, entry, &mut String::new(), &mut fields);
                let held = hold(entry).filter(|held| hold(before).as_ref() != Some(held));
                changes.updated.push(Updated { agent, from, fields, held });
            }
        }
    }
    let is_gone = |(agent, _): &(DiffAgent, &Value)| !new.has(&agent.id);
    changes.removed = old.listed().filter(is_gone).map(|(agent, _)| agent).collect();
    changes
}

/// The pointers to what differs. The depth is that of a JSON text, which is bounded where it is read.
fn differences(old: &Value, new: &Value, at: &mut String, found: &mut Vec<String>) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            found.push(at.clone());
        }
        return;
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    for key in after.keys().chain(gone) {
        let length = at.len();
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        match (before.get(key), after.get(key)) {
            (Some(before), Some(after)) => differences(before, after, at, found),
            _ => found.push(at.clone()),
        }
        at.truncate(length);
    }
}

impl Changes {
    /// Appends these changes, since an earlier tree was published, to the history of that tree.
    ///
    /// `own` is the history that the registry itself has, which may be incomplete. It gives the time of the changes
    /// that it contains; others get the time `now`.
    ///
    /// Without an earlier history, the result continues `own`.
    pub fn continue_history(&self, earlier: Option<History>, own: &History, now: Timestamp) -> History {
        let earlier = earlier.unwrap_or_else(|| {
            let extent = match own.extent() {
                Extent::Nothing(_) => Extent::Part(INCOMPLETE.to_owned()),
                other => other.clone(),
            };
            History::new(own.events().iter().rev().cloned().collect(), extent)
        });
        let event = |agent: &DiffAgent, kind: EventKind| {
            let (id, name, version) = (agent.id.clone(), agent.name.clone(), agent.version.clone());
            let release = agent.release.clone().filter(|_| kind != EventKind::Withdrawn);
            HistoryEvent { time: now, id, name, version, release, kind }
        };
        let added = self.added.iter().map(|agent| event(agent, EventKind::Added));
        let removed = self.removed.iter().map(|agent| event(agent, EventKind::Withdrawn));
        let updated = self.updated.iter().filter(|one| one.is_new_version());
        let updated = updated.map(|one| event(&one.agent, EventKind::Updated { from: one.from.clone() }));
        let mut since = Vec::new();
        // In reverse, because [`History::new`] reverses the events.
        for mut event in removed.chain(updated).chain(added).filter(|event| AgentId::is_valid(&event.id)) {
            let is_same = |other: &&HistoryEvent| {
                (&other.id, &other.version, other.kind.as_str()) == (&event.id, &event.version, event.kind.as_str())
            };
            let last = earlier.events().iter().find(|other| other.id == event.id);
            if last.as_ref().is_some_and(is_same) {
                continue;
            }
            if let Some(known) = own.events().iter().find(is_same) {
                event.time = known.time;
            }
            // An agent's events keep their order, even if a clock was set back.
            event.time = last.map_or(event.time, |last| event.time.max(last.time));
            since.push(event);
        }
        if since.is_empty() && earlier.events().is_empty() && matches!(own.extent(), Extent::Nothing(_)) {
            return own.clone();
        }
        let events = earlier.events().iter().rev().cloned().chain(since).collect();
        History::new(events, earlier.extent().clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(agents: &str) -> Agents {
        Agents::parse(format!(r#"{{ "version": "1", "agents": [{agents}] }}"#).as_bytes()).unwrap()
    }

    #[test]
    fn what_came_changed_and_went_is_told_by_id() {
        let old = index(
            r#"{ "id": "gone", "version": "1" }, { "id": "same", "version": "1", "x": {"a": 1, "b": 2} },
               { "id": "b", "name": "B", "version": "1", "distribution": { "npx": { "package": "b@1", "args": ["x"] } } },
               { "id": "a", "version": "2", "description": "d", "a/~b": 1 }"#,
        );
        let new = index(
            r#"{ "id": "new", "name": " ", "version": "3" }, { "x": {"b": 2, "a": 1}, "id": "same", "version": "1" },
               { "id": "a", "version": "2", "a/~b": 2 },
               { "id": "b", "name": "B2", "version": "2", "distribution": { "npx": { "package": "b@2", "args": ["x"] } } }"#,
        );
        let changes = compare(&old, &new);
        let listed = |id: &str, name: &str, version: &str| DiffAgent {
            release: None,
            id: id.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
        };
        assert_eq!(changes.added, [listed("new", "new", "3")]);
        assert_eq!(changes.removed, [listed("gone", "gone", "1")]);
        let [a, b] = &changes.updated[..] else { panic!("{changes:?}") };
        assert_eq!((a.is_new_version(), a.fields.join(" ")), (false, "/a~1~0b /description".to_owned()));
        assert_eq!((b.is_new_version(), b.from.as_str(), &b.agent), (true, "1", &listed("b", "B2", "2")));
        assert_eq!(b.fields, ["/name", "/version", "/distribution/npx/package"]);
        assert!(compare(&new, &old).updated[1].is_older_version() && !b.is_older_version() && !a.is_older_version());
        assert!(compare(&new, &new).is_empty() && !changes.is_empty());
    }

    #[test]
    fn a_broken_entry_never_hides_the_others() {
        let deep = format!("{{\"id\":\"deep\",\"x\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(r#"7, {{}}, {{ "id": 1 }}, {deep}, {{ "id": "a" }}, {{ "id": "a", "version": "2" }}"#);
        let index = index(&text);
        assert_eq!(index.by_id.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(index.notes.len(), 5, "{:?}", index.notes);
        assert!(index.notes[3].contains("entry 4 is passed over: `deep` cannot be read (recursion limit"));
        // It has neither come nor gone.
        let deep = self::index(r#"{ "id": "deep", "version": "1" }, { "id": "a" }"#);
        assert!(compare(&deep, &index).is_empty() && compare(&index, &deep).is_empty());
        assert!(index.notes[4].ends_with("there is another `a` before it"));
        let changes = compare(&Agents::default(), &index);
        assert_eq!((changes.added[0].id.as_str(), changes.added[0].version.as_str()), ("a", ""));
        let many = self::index(&vec!["1"; 50].join(","));
        assert_eq!((many.notes.len(), many.notes[20].as_str()), (21, "and 30 more entries are passed over"));
        let values = format!(r#"{{"agents":[[{}0]]}}"#, "0,".repeat(2_000_000));
        for wrong in ["", "[]", "{}", r#"{"agents":{}}"#, &values] {
            assert!(Agents::parse(wrong.as_bytes()).unwrap_err().to_string().starts_with("is not a registry index"));
        }
    }

    fn changes(old: &str, new: &str) -> Changes {
        compare(&index(old), &index(new))
    }

    fn shown(history: &History) -> Vec<String> {
        let shown = |event: &HistoryEvent| {
            format!("{} {} {} {}", event.time.unix(), event.kind.as_str(), event.id, event.version)
        };
        history.events().iter().map(shown).collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix(seconds).unwrap()
    }

    #[test]
    fn an_event_leads_to_the_release_of_its_version() {
        let archive =
            r#""distribution":{"binary":{"x":{"archive":"https://github.com/o/r/releases/download/v2/a.zip"}}}"#;
        let newer = format!(r#"{{"id":"a","name":"A","version":"2",{archive}}}"#);
        let history = changes(A1, &newer).continue_history(None, &History::default(), at(10));
        let page = Some("https://github.com/o/r/releases/tag/v2");
        assert_eq!(history.events()[0].release.as_deref(), page);
        let gone = changes(&newer, "").continue_history(Some(history), &History::default(), at(20));
        assert_eq!((gone.events()[0].release.as_deref(), gone.events()[1].release.as_deref()), (None, page));
        assert_eq!(History::parse(gone.to_json(|_| true).unwrap().as_bytes()).unwrap(), gone);
    }

    const A1: &str = r#"{"id":"a","name":"A","version":"1"}"#;
    const A2: &str = r#"{"id":"a","name":"A","version":"2"}"#;
    const B1: &str = r#"{"id":"b","version":"1"}, {"id":"../x","version":"1"}"#;

    #[test]
    fn what_has_changed_since_comes_after_what_was_told() {
        let nothing = History::default();
        let first = changes(A1, &format!("{A2},{B1}")).continue_history(None, &nothing, at(10));
        assert_eq!(shown(&first), ["10 added b 1", "10 updated a 2"]);
        assert!(matches!(first.extent(), Extent::Part(_)));
        let second = changes(&format!("{A2},{B1}"), A2).continue_history(Some(first.clone()), &nothing, at(20));
        assert_eq!(shown(&second), ["20 withdrawn b 1", "10 added b 1", "10 updated a 2"]);
        // A clock that was set back does not change the order.
        let third = changes(A2, A1).continue_history(Some(second.clone()), &nothing, at(5));
        assert_eq!(shown(&third)[1..], ["10 updated a 1", "10 added b 1", "10 updated a 2"].map(String::from)[..]);
        assert_eq!(Changes::default().continue_history(Some(second.clone()), &nothing, at(30)), second);
        assert_eq!(Changes::default().continue_history(None, &nothing, at(30)), nothing);
    }

    #[test]
    fn what_the_registry_knows_itself_has_its_own_time() {
        let event = |time, version: &str, kind| HistoryEvent {
            time: at(time),
            id: "a".to_owned(),
            name: "A".to_owned(),
            version: version.to_owned(),
            release: None,
            kind,
        };
        let update = || EventKind::Updated { from: "1".to_owned() };
        let own = History::new(vec![event(7, "2", update())], Extent::Part("shallow".to_owned()));
        let told = History::new(vec![event(1, "1", EventKind::Added)], Extent::Whole);
        let continued = changes(A1, A2).continue_history(Some(told), &own, at(20));
        assert_eq!(shown(&continued), ["7 updated a 2", "1 added a 1"]);
        assert_eq!(continued.extent(), &Extent::Whole);
        assert_eq!(changes(A1, A2).continue_history(None, &own, at(20)), own);
    }
}
