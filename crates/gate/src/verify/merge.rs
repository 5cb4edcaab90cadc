//! Putting together the parts of a snapshot.
//!
//! Each part comes from a machine on which agents ran, any of which may have rewritten it. Of each part, only the rows of
//! its own agents are taken.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::snapshot::{self, SCHEMA, Snapshot};
use super::{Selection, Shard, Task, Work, plan};
use acp_registry_client::install::Kind;
use acp_registry_core::json::check_share;
use acp_registry_core::registry::Registry;
use acp_registry_core::text::{printable, quote};

/// The longest row that is taken, in bytes of JSON.
const ROW_LIMIT: usize = 1 << 20;

/// A part of a snapshot, as a machine has written it.
#[derive(Debug)]
pub struct Part {
    /// Which part.
    pub shard: Shard,
    /// The text; `None` when the machine has written nothing.
    pub text: Option<Vec<u8>>,
}

/// A snapshot from parts.
#[derive(Debug)]
pub struct Merged {
    /// Its text.
    pub text: String,
    /// How many rows come from the parts.
    pub taken: usize,
    /// Agents that no part has started; they keep their rows of the earlier snapshot, if any.
    pub unknown: Vec<Unknown>,
}

/// An agent that no part has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The agent.
    pub id: String,
    /// The distribution, or a dash.
    pub distribution: &'static str,
    /// Why: the reason's name in the row, or `no_row`. Printable.
    pub reason: String,
    /// Whether an earlier row stays.
    pub is_kept: bool,
}

/// Why a part was refused.
#[derive(Debug, thiserror::Error)]
#[error("part {shard} of the snapshot was refused: {message}")]
pub struct MergeError {
    /// Which part.
    pub shard: Shard,
    /// What is wrong with it.
    pub message: String,
}

/// What tells the rows of a snapshot apart.
type Key<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

/// Puts parts together. `selection` says what all of them were asked for; `earlier` is the snapshot so far, whose rows
/// stay where an agent was never started: an outage says nothing of an agent.
///
/// # Errors
/// [`MergeError`] for a part that is not a snapshot, or has a row that is not its own, or has one twice.
pub fn merge(
    registry: &Registry,
    selection: &Selection,
    parts: &[Part],
    earlier: Option<&Snapshot>,
) -> Result<Merged, MergeError> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let columns = schema["definitions"]["agent"]["properties"].as_object().cloned().unwrap_or_default();
    let (mut rows, mut unknown, mut taken) = (Vec::new(), Vec::new(), 0);
    for part in parts {
        let failed = |message: String| MergeError { shard: part.shard, message };
        let selection = Selection { shard: Some(part.shard), ..selection.clone() };
        let tasks = plan(registry, &selection, None);
        let tasks: Vec<&Task> = tasks.iter().filter(|task| !matches!(task.work, Work::Skip { .. })).collect();
        let own: BTreeSet<Key<'_>> = tasks.iter().map(|task| key_of_task(task)).collect();
        let given = match part.text.as_deref() {
            Some(text) => read(text, part.shard.count(), &schema).map_err(failed)?,
            None => Vec::new(),
        };
        let mut found = BTreeMap::new();
        for row in &given {
            let key = key_of_row(row);
            let name = || format!("{} {} ({})", quote(key.0), quote(key.1), quote(key.3.unwrap_or("-")));
            if !own.contains(&key) {
                return Err(failed(format!("the row of {} belongs to another part, or to no agent", name())));
            }
            if row.to_string().len() > ROW_LIMIT {
                return Err(failed(format!("the row of {} is longer than {ROW_LIMIT} bytes", name())));
            }
            if !is_past(&row["checked_at"]) {
                return Err(failed(format!("`checked_at` in the row of {} is not a time in the past", name())));
            }
            if found.insert(key, row).is_some() {
                return Err(failed(format!("there are two rows of {}", name())));
            }
        }
        for task in tasks {
            let row = found.get(&key_of_task(task)).copied();
            if let Some(row) = row.filter(|row| row["verdict"] != "error") {
                taken += 1;
                rows.push(only(row, &columns));
                continue;
            }
            let reason = row.map_or("no_row", |row| row["reason"].as_str().unwrap_or("error"));
            let kept = earlier.and_then(|earlier| earlier.latest(&task.id, task.channel, task.kind));
            let kept = kept.filter(|row| row["verdict"] != "error");
            unknown.push(Unknown {
                id: task.id.clone(),
                distribution: task.kind.map_or("-", Kind::as_str),
                reason: printable(reason).chars().take(40).collect(),
                is_kept: kept.is_some(),
            });
            rows.extend(kept.cloned());
        }
    }
    let place = |row: &Value| {
        let (id, _, channel, kind) = key_of_row(row);
        let kind = Kind::ALL.iter().position(|known| Some(known.as_str()) == kind);
        (id.to_owned(), channel != "stable", kind)
    };
    rows.sort_by_cached_key(place);
    Ok(Merged { text: snapshot::text(&rows), taken, unknown })
}

/// The rows of one of several parts, which together have no more values than one snapshot may have.
fn read(text: &[u8], parts: usize, schema: &Value) -> Result<Vec<Value>, String> {
    check_share(text, parts).map_err(|error| error.to_string())?;
    let document = snapshot::document(text).map_err(|message| printable(&message).into_owned())?;
    let validator = jsonschema::draft7::new(schema).map_err(|error| error.to_string())?;
    match validator.validate(&document) {
        Ok(()) => Ok(snapshot::rows_of(document)),
        Err(error) => Err(format!("it is not a snapshot at {}", quote(&error.instance_path().to_string()))),
    }
}

fn key_of_task(task: &Task) -> Key<'_> {
    (&task.id, &task.version, task.channel.as_str(), task.kind.map(Kind::as_str))
}

fn key_of_row(row: &Value) -> Key<'_> {
    let text = |name: &str| row[name].as_str();
    let or_none = |name: &str| text(name).unwrap_or_default();
    (or_none("id"), or_none("version"), or_none("channel"), text("distribution"))
}

/// Whether `checked_at` is null or a time in the past. A later run would take a row from the future for fresh.
fn is_past(time: &Value) -> bool {
    let Some(text) = time.as_str() else { return time.is_null() };
    OffsetDateTime::parse(text, &Rfc3339).is_ok_and(|time| time <= OffsetDateTime::now_utc())
}

/// The members of a row that snapshots have.
fn only(row: &Value, columns: &Map<String, Value>) -> Value {
    let members = row.as_object().into_iter().flatten().filter(|(name, _)| columns.contains_key(*name));
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}
