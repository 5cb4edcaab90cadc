//! Merges the shards of a snapshot.
//!
//! Each shard comes from a machine on which untrusted agents ran, so its file may have been tampered with. Only the
//! rows of the shard's own tasks are used.

use acp_registry_plan::failure::Failure;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::examined;
use super::snapshot::{self, SCHEMA, Snapshot};
use super::{Selection, Shard, Task, TaskKind, plan};
use acp_registry_client::install::Kind;
use acp_registry_client::registry::Registry;
use acp_registry_plan::json::check_share;
use acp_registry_plan::text::{printable, quote};
use acp_registry_plan::timestamp::Timestamp;

/// Maximum size of a row, in bytes of JSON.
const ROW_LIMIT: usize = 1 << 20;

/// One shard of a snapshot, as written by another machine.
#[derive(Debug)]
pub struct ShardSnapshot {
    /// The shard.
    pub shard: Shard,
    /// The contents of the file; `None` if there is none.
    pub text: Option<Vec<u8>>,
}

/// A merged snapshot.
#[derive(Debug)]
pub struct Merged {
    /// The snapshot's text.
    pub text: String,
    /// Number of rows from the shards.
    pub taken: usize,
    /// Agents that were not started in any shard. They keep their earlier rows, if any.
    pub unknown: Vec<Unknown>,
}

/// An agent that was not started in any shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The agent's id.
    pub id: String,
    /// The kind of distribution, or `-`.
    pub distribution: &'static str,
    /// The reason in its row, or `no_row`. Free of control characters.
    pub reason: String,
    /// Whether an earlier row is kept.
    pub is_kept: bool,
}

/// Why a shard was rejected.
#[derive(Debug, thiserror::Error)]
#[error("part {shard} of the snapshot was refused: {message}")]
pub struct MergeError {
    /// The shard.
    pub shard: Shard,
    /// What is wrong with it.
    pub message: String,
}

/// Identifies a row: id, version, channel and kind of distribution.
type RowKey<'a> = (&'a str, &'a str, &'a str, Option<&'a str>);

/// Merges the shards of a snapshot. `selection` is what all shards together were asked to check, and `measured` the
/// snapshot by whose durations they were divided.
///
/// Agents that were not started keep their row of `earlier`, since an outage says nothing about an agent. Agents of an
/// unchanged version keep an examination of `earlier` that went further.
///
/// # Errors
/// Returns [`MergeError`] if a shard is not a snapshot, contains a row of another shard, or contains a row twice.
pub fn merge(
    registry: &Registry,
    selection: &Selection,
    shards: &[ShardSnapshot],
    measured: Option<&Snapshot>,
    earlier: Option<&Snapshot>,
) -> Result<Merged, MergeError> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap_or_default();
    let columns = schema["definitions"]["agent"]["properties"].as_object().cloned().unwrap_or_default();
    let (mut rows, mut unknown, mut taken) = (Vec::new(), Vec::new(), 0);
    for shard in shards {
        let failed = |message: String| MergeError { shard: shard.shard, message };
        let selection = Selection { shard: Some(shard.shard), ..selection.clone() };
        let tasks = plan(registry, &selection, measured, None);
        let tasks: Vec<&Task> = tasks.iter().filter(|task| !matches!(task.work, TaskKind::Skip { .. })).collect();
        let own: BTreeSet<RowKey<'_>> = tasks.iter().map(|task| key_of_task(task)).collect();
        let given = match shard.text.as_deref() {
            Some(text) => read(text, shard.shard.count(), &schema).map_err(failed)?,
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
            for (member, time) in
                [("checked_at", &row["checked_at"]), ("examined_at", &row["examination"]["examined_at"])]
            {
                if !is_past(time) {
                    return Err(failed(format!("`{member}` in the row of {} is not a time in the past", name())));
                }
            }
            if found.insert(key, row).is_some() {
                return Err(failed(format!("there are two rows of {}", name())));
            }
        }
        for task in tasks {
            let row = found.get(&key_of_task(task)).copied();
            let latest = earlier.and_then(|earlier| earlier.latest(&task.id, task.channel, task.kind));
            if let Some(row) = row.filter(|row| row["verdict"] != "error") {
                taken += 1;
                let mut row = only(row, &columns);
                examined::keep(&mut row, latest);
                rows.push(row);
                continue;
            }
            let reason = row.map_or("no_row", |row| row["reason"].as_str().unwrap_or("error"));
            let kept = latest.filter(|row| row["verdict"] != "error");
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

/// Parses and validates the rows of one of `shards` shards. The limit of JSON values is that of one snapshot, divided by
/// the number of shards.
fn read(text: &[u8], shards: usize, schema: &Value) -> Result<Vec<Value>, String> {
    check_share(text, shards).map_err(|error| error.to_string())?;
    let document = snapshot::document(text).map_err(|message| printable(&message).into_owned())?;
    let validator = jsonschema::draft7::new(schema).map_err(|error| error.to_string())?;
    match validator.validate(&document) {
        Ok(()) => Ok(snapshot::into_rows(document)),
        Err(error) => Err(format!(
            "it does not conform to the snapshot's schema at {}",
            quote(&error.instance_path().to_string())
        )),
    }
}

fn key_of_task(task: &Task) -> RowKey<'_> {
    (&task.id, &task.version, task.channel.as_str(), task.kind.map(Kind::as_str))
}

fn key_of_row(row: &Value) -> RowKey<'_> {
    let text = |name: &str| row[name].as_str();
    let or_none = |name: &str| text(name).unwrap_or_default();
    (or_none("id"), or_none("version"), or_none("channel"), text("distribution"))
}

/// Whether `checked_at` is null or in the past. A later run would consider a row from the future as recent for too
/// long.
fn is_past(time: &Value) -> bool {
    let Some(text) = time.as_str() else { return time.is_null() };
    text.parse::<Timestamp>().is_ok_and(|time| time <= Timestamp::now())
}

/// The members of a row that snapshots have.
fn only(row: &Value, columns: &Map<String, Value>) -> Value {
    let members = row.as_object().into_iter().flatten().filter(|(name, _)| columns.contains_key(*name));
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        let help = "verify this part again, into a new file, from the same registry and `capabilities.json` as the other parts";
        Self::refused(error).help(help)
    }
}
