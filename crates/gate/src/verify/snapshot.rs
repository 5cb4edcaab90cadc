//! The capability snapshot, `capabilities.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use acp_registry_client::install::Kind;
use acp_registry_client::registry::{Loaded, Registry};
use acp_registry_host::fs::{ReadError, read_bounded};
use acp_registry_plan::json;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::timestamp::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::examined::{self, EarlierExamination};
use super::times;
use super::{FormError, LastAnswer, Row, SnapshotError, State, TaskVerdict, Unanswered};

/// The JSON Schema of the file.
pub const SCHEMA: &str = include_str!("../../../../schemas/capabilities.schema.json");

/// Name of the file in a registry.
pub const SNAPSHOT_FILE: &str = "capabilities.json";

/// Maximum size of the file, in bytes.
pub const SNAPSHOT_LIMIT: u64 = 64 << 20;

/// The members of a handshake to write, in this order.
const KEPT: [&str; 10] = [
    "protocol_version", "agent_info", "auth_methods", "features", "capabilities", "extra", "probes", "session",
    "setup_required", "warnings",
];

/// The members of [`KEPT`] that are kept as the agent has answered, if they are not longer than [`ANSWERED`].
const AS_ANSWERED: [&str; 4] = ["agent_info", "auth_methods", "capabilities", "extra"];

/// Maximum length of a member as answered, in bytes of JSON. Real ones have up to 3 KB.
const ANSWERED: usize = 16 << 10;

/// What the observation of an agent adds to its row: lists that grow from run to run.
const OBSERVED: [&str; 2] = ["writes", "hosts"];

/// How many items each list of [`OBSERVED`] has.
pub(super) const LISTED: usize = 32;

/// A capability snapshot: one row per agent, channel and distribution.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    rows: BTreeMap<DistributionKey, Value>,
}

/// Id, channel and kind of distribution.
type DistributionKey = (String, String, String);

impl Snapshot {
    /// Reads a snapshot file.
    ///
    /// # Errors
    /// Returns [`SnapshotError`] if the file cannot be read or is not a snapshot.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let failed = |error| SnapshotError::Read { path: path.to_owned(), error };
        let real = path.canonicalize().map_err(|error| failed(ReadError::from(error)))?;
        let bytes = read_bounded(&real, Path::new("/"), SNAPSHOT_LIMIT).map_err(failed)?;
        let document = document(&bytes).map_err(|message| SnapshotError::Form { path: path.to_owned(), message })?;
        Ok(Self::from_rows(into_rows(document)))
    }

    /// The snapshot in a registry, `capabilities.json`; `None` if there is none.
    ///
    /// # Errors
    /// Returns [`SnapshotError`] if the file cannot be read or is not a snapshot.
    pub fn read_from(registry: &Registry) -> Result<Option<Self>, SnapshotError> {
        match Self::read(&registry.root.join(SNAPSHOT_FILE)) {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Why the snapshot in a registry cannot be shown; `None` if it can, or if there is none.
    pub fn problem(registry: &Registry) -> Option<String> {
        let path = registry.root.join(SNAPSHOT_FILE);
        match read_bounded(&path, &registry.root, SNAPSHOT_LIMIT) {
            Ok(bytes) => check(&bytes).err().map(|error| format!("the file {error}")),
            Err(ReadError::NotFound) => None,
            Err(error) => Some(error.to_string()),
        }
    }

    /// Reads whatever lists rows, for those who only show them: a snapshot of any version, or the report of `verify`.
    ///
    /// # Errors
    /// [`FormError`] when the text is not JSON, or lists no agents.
    pub fn parse(text: &[u8]) -> Result<Self, FormError> {
        Ok(Self::from_rows(serde_json::from_str(rows(text)?.get())?))
    }

    fn from_rows(rows: Vec<Value>) -> Self {
        Self { rows: rows.into_iter().map(|row| (key(&row), row)).collect() }
    }

    /// What agents answered in their stable channel, by id. Of several distributions of an agent, the one that tells most
    /// counts, and it names those that failed. Agents that gave no answer are left out.
    pub fn answers(&self) -> BTreeMap<String, LastAnswer> {
        let mut answers: BTreeMap<String, LastAnswer> = BTreeMap::new();
        let mut failed: Vec<(&String, Unanswered)> = Vec::new();
        for ((id, channel, _), row) in self.in_order() {
            if channel == Channel::Preview.as_str() {
                continue;
            }
            let Some(answer) = LastAnswer::of(row) else {
                failed.extend(Unanswered::of(row).map(|found| (id, found)));
                continue;
            };
            let kept = answers.entry(id.clone()).or_default();
            if answer.tells_more(kept) {
                *kept = answer;
            }
        }
        for (id, found) in failed {
            if let Some(answer) = answers.get_mut(id) {
                answer.failed.push(found);
            }
        }
        answers
    }

    /// Why agents gave no answer in their stable channel, by id. Of several distributions, one that was started counts.
    pub fn unanswered(&self) -> BTreeMap<String, Unanswered> {
        let mut unanswered: BTreeMap<String, Unanswered> = BTreeMap::new();
        let mut answered: BTreeSet<&String> = BTreeSet::new();
        for ((id, channel, _), row) in self.in_order() {
            if channel == Channel::Preview.as_str() {
                continue;
            }
            if LastAnswer::of(row).is_some() {
                answered.insert(id);
            } else if let Some(found) = Unanswered::of(row)
                && unanswered.get(id).is_none_or(|kept| kept.day.is_none() && found.day.is_some())
            {
                unanswered.insert(id.clone(), found);
            }
        }
        unanswered.retain(|id, _| !answered.contains(id));
        unanswered
    }

    /// The row of an agent, for any version.
    pub(super) fn latest(&self, id: &str, channel: Channel, kind: Option<Kind>) -> Option<&Value> {
        let kind = kind.map_or("", Kind::as_str);
        self.rows.get(&(id.to_owned(), channel.as_str().to_owned(), kind.to_owned()))
    }

    /// The features of an agent by stable name, for any version; `None` if it did not answer.
    pub fn features(&self, id: &str, channel: Channel, kind: Kind) -> Option<&Map<String, Value>> {
        self.latest(id, channel, Some(kind))?["features"].as_object().filter(|features| !features.is_empty())
    }

    /// The examination of this version of an agent, if there is one.
    pub fn examined(&self, id: &str, version: &str, channel: Channel, kind: Kind) -> Option<EarlierExamination> {
        EarlierExamination::of(self.latest(id, channel, Some(kind))?).filter(|examined| examined.version == version)
    }

    /// Adds the result of a task. Skipped rows are ignored. So are errors if there is an earlier result: the agent's
    /// last answer stays. So does an examination of the same version that went further.
    ///
    /// Returns the row that it has now; `None` if nothing has changed.
    pub(super) fn renew(&mut self, row: &Row) -> Option<&Value> {
        let mut value = row_json(row)?;
        let key = key(&value);
        let is_known = self.rows.get(&key).is_some_and(|earlier| earlier["verdict"] != "error");
        if row.verdict() == TaskVerdict::Error && is_known {
            return None;
        }
        // The manifest could not be read earlier, and can be read now.
        if row.kind.is_some() {
            self.rows.remove(&(row.id.clone(), row.channel.as_str().to_owned(), String::new()));
        }
        examined::keep(&mut value, self.rows.get(&key));
        add_observed(&mut value, self.rows.get(&key));
        examined::remember(&mut value, self.rows.get(&key));
        times::add(&mut value, self.rows.get(&key));
        self.rows.insert(key.clone(), value);
        self.rows.get(&key)
    }

    /// Adds a row that [`Snapshot::renew`] returned in a run that was killed, unless there is a later one.
    pub(super) fn recover(&mut self, row: Value) {
        let at = |row: &Value| row["checked_at"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        let key = key(&row);
        if row.is_object() && self.rows.get(&key).is_none_or(|known| at(&row) >= at(known)) {
            self.rows.insert(key, row);
        }
    }

    /// Removes rows of agents and distributions that the registry no longer has.
    pub(super) fn retain_declared(&mut self, registry: &Registry) {
        let is_declared = |(id, channel, kind): &DistributionKey| {
            let Some(entry) = registry.entry(id) else { return false };
            // It is unknown what a broken manifest declares, so its rows are kept.
            let Loaded::Present(manifest) = &entry.manifest else { return true };
            let kind = Kind::named(kind);
            manifest.agent().releases().any(|release| {
                let declares = |kind: Kind| !matches!(kind.source(release.distribution, None), Ok(None));
                release.channel.as_str() == channel && kind.is_none_or(declares)
            })
        };
        self.rows.retain(|key, _| is_declared(key));
    }

    /// The text of the snapshot, sorted by id, channel and distribution. Apart from `checked_at` and `timing`, equal
    /// answers give equal text.
    pub(super) fn to_text(&self) -> String {
        let agents: Vec<Value> = self.in_order().into_iter().map(|(_, row)| row.clone()).collect();
        text(&agents)
    }

    fn in_order(&self) -> Vec<(&DistributionKey, &Value)> {
        let mut rows: Vec<(&DistributionKey, &Value)> = self.rows.iter().collect();
        let place = |name: &str| Kind::ALL.iter().position(|kind| kind.as_str() == name);
        rows.sort_by_key(|((id, channel, kind), _)| (id, channel != Channel::Stable.as_str(), channel, place(kind)));
        rows
    }
}

/// The text of a snapshot with these rows.
pub(super) fn text(rows: &[Value]) -> String {
    json::to_string(&json!({ "schema": 1, "agents": rows }))
}

/// Parses a snapshot without checking its rows.
pub(super) fn document(bytes: &[u8]) -> Result<Value, String> {
    let document: Value = json::whole(bytes).map_err(|error| error.to_string())?;
    if document["schema"] != 1 {
        return Err("`schema` is not 1".to_owned());
    }
    if document["agents"].is_array() { Ok(document) } else { Err("`agents` is not an array".to_owned()) }
}

/// The rows of a snapshot.
pub(super) fn into_rows(mut document: Value) -> Vec<Value> {
    match document["agents"].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    }
}

fn key(row: &Value) -> DistributionKey {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (text("id"), text("channel"), text("distribution"))
}

fn row_json(row: &Row) -> Option<Value> {
    let checked_at = match &row.state {
        State::Skipped { .. } => return None,
        State::Reused(earlier) => return Some(earlier.clone()),
        State::NotStarted(_) => None,
        State::Checked { at, .. } => Timestamp::of(*at).map(|time| time.to_string()),
    };
    let result = row.to_json();
    let mut kept = Map::new();
    for name in KEPT {
        kept.insert(name.to_owned(), result["handshake"][name].clone());
    }
    bound(&mut kept);
    let agent = json!({
        "id": row.id, "version": row.version, "channel": row.channel.as_str(),
        "distribution": row.kind.map(Kind::as_str), "verdict": row.verdict(), "reason": row.reason(),
        "basis": row.basis, "checked_at": checked_at, "isolation": row.isolation(), "timing": result["timing"],
    });
    let Value::Object(mut agent) = agent else { return None };
    agent.extend(kept);
    if result["exit"].is_object() && row.reason().is_some() {
        agent.insert("exit".to_owned(), result["exit"].clone());
    }
    agent.extend(OBSERVED.iter().filter_map(|&name| Some((name.to_owned(), result.get(name)?.clone()))));
    if let State::Checked { examination: Some(examination), at, .. } = &row.state {
        agent.insert("examination".to_owned(), examined::member(examination, &row.version, *at));
    }
    let mut agent = Value::Object(agent);
    make_steady(&mut agent);
    Some(agent)
}

/// The rows of a document.
fn rows(text: &[u8]) -> Result<&RawValue, FormError> {
    json::check_count(text)?;
    // The report has the same rows by another name.
    match json::members(text, ["agents", "results"]) {
        Ok(lists) => {
            let rows = lists.into_iter().flatten().find(|list| list.get().starts_with('['));
            rows.ok_or(FormError::NoRows)
        }
        Err(error) if error.is_data() => Err(FormError::NoRows),
        Err(error) => Err(error.into()),
    }
}

/// Checks that [`Snapshot::parse`] reads a text, without the memory and the time for all rows.
fn check(text: &[u8]) -> Result<(), FormError> {
    rows(text)?;
    Ok(json::check_depth(text)?)
}

/// Empties the members that are too long: rows of one agent must not fill a snapshot. A warning says so.
fn bound(kept: &mut Map<String, Value>) {
    for name in AS_ANSWERED {
        let Some(value) = kept.get_mut(name).filter(|value| value.to_string().len() > ANSWERED) else { continue };
        match value {
            Value::Array(items) => items.clear(),
            Value::Object(members) => members.clear(),
            other => *other = Value::Null,
        }
        if let Some(Value::Array(warnings)) = kept.get_mut("warnings") {
            warnings.push(format!("`{name}` of the answer is longer than {ANSWERED} bytes, and is left out").into());
        }
    }
}

/// Adds what was observed in earlier runs of the same version: an agent that was not examined does less.
fn add_observed(row: &mut Value, earlier: Option<&Value>) {
    let Some(earlier) = earlier.filter(|earlier| earlier["version"] == row["version"]) else { return };
    let Some(row) = row.as_object_mut() else { return };
    for name in OBSERVED {
        let Some(Value::Array(known)) = earlier.get(name) else { continue };
        let seen = row.get(name).and_then(Value::as_array).into_iter().flatten();
        let all: BTreeSet<&str> = known.iter().chain(seen).filter_map(Value::as_str).collect();
        let all = json!(all.into_iter().take(LISTED).collect::<Vec<_>>());
        row.insert(name.to_owned(), all);
    }
}

/// Replacement for UUIDs.
const UUID: &str = "$UUID";

/// Replaces UUIDs, which some agents generate at each start, by `$UUID`, and removes warnings about leftover processes,
/// which depend on the load of the machine.
pub(super) fn make_steady(row: &mut Value) {
    if let Some(warnings) = row["warnings"].as_array_mut() {
        warnings.retain(|warning| !warning.as_str().is_some_and(is_of_leftovers));
    }
    for name in ["agent_info", "capabilities", "extra", "session"] {
        hide_uuids(&mut row[name]);
    }
    for name in OBSERVED {
        if let Some(list) = row.get_mut(name) {
            hide_uuids(list);
        }
    }
}

fn is_of_leftovers(warning: &str) -> bool {
    warning.starts_with("left ") && warning.ends_with(" behind when it ended")
}

fn hide_uuids(value: &mut Value) {
    match value {
        Value::String(text) if is_uuid(text) => UUID.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide_uuids),
        Value::Object(members) => members.values_mut().for_each(hide_uuids),
        _ => {}
    }
}

/// Whether a text is a UUID in its usual form: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-');
    groups.clone().map(str::len).eq([8, 4, 4, 4, 12])
        && groups.flat_map(str::bytes).all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_members_of_an_answer_are_left_out() {
        let mut kept = Map::new();
        kept.insert("auth_methods".to_owned(), vec![json!({ "id": "a" }); 3_000].into());
        kept.insert("extra".to_owned(), json!({ "_meta": vec![0; 9_000] }));
        kept.insert("capabilities".to_owned(), json!({ "loadSession": true }));
        kept.insert("warnings".to_owned(), json!(["w"]));
        bound(&mut kept);
        assert_eq!((&kept["auth_methods"], &kept["extra"]), (&json!([]), &json!({})));
        assert_eq!(kept["capabilities"]["loadSession"], true);
        let warnings: Vec<&str> = kept["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(warnings[0], "w");
        assert!(warnings[1].starts_with("`auth_methods`") && warnings[2].starts_with("`extra`"), "{warnings:?}");
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        for (text, message) in [
            ("", "EOF"),
            ("[]", "`schema` is not 1"),
            ("{\"schema\":2,\"agents\":[]}", "`schema` is not 1"),
            ("{\"schema\":1,\"agents\":{}}", "`agents` is not an array"),
        ] {
            let error = document(text.as_bytes()).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let deep = format!("{{\"agents\":[{}1{}]}}", "[".repeat(127), "]".repeat(127));
        for text in ["{", "{\"agents\":[}", &deep] {
            assert!(matches!(Snapshot::parse(text.as_bytes()), Err(FormError::Syntax(_))), "{text}");
            assert!(matches!(check(text.as_bytes()), Err(FormError::Syntax(_))), "{text}");
        }
        let allowed = format!("{{\"agents\":[{}1{}]}}", "[".repeat(125), "]".repeat(125));
        assert!(check(allowed.as_bytes()).is_ok() && Snapshot::parse(allowed.as_bytes()).is_ok());
        for text in ["{}", "[]", r#"{"agents":{}}"#] {
            assert!(matches!(Snapshot::parse(text.as_bytes()), Err(FormError::NoRows)), "{text}");
            assert!(matches!(check(text.as_bytes()), Err(FormError::NoRows)), "{text}");
        }
    }

    #[test]
    fn what_varies_is_hidden_and_nothing_else() {
        let uuid = "bd2699a4-eb69-5eca-8b19-be481c6e470a";
        let mut row = json!({
            "id": uuid,
            "extra": { "agentId": uuid, "list": [uuid, format!("{uuid}0"), "bd2699a4eb695eca8b19be481c6e470a"], "n": 7 },
            "agent_info": null,
            "warnings": ["left 3 processes behind when it ended", "left is right"],
        });
        make_steady(&mut row);
        assert_eq!(row["id"], uuid);
        assert_eq!(
            row["extra"],
            json!({ "agentId": "$UUID", "list": ["$UUID", format!("{uuid}0"), "bd2699a4eb695eca8b19be481c6e470a"], "n": 7 })
        );
        assert_eq!(row["warnings"], json!(["left is right"]));
    }
}
