//! Merges the shards of a snapshot, and the files that have them.
//!
//! Each shard comes from a machine on which untrusted agents ran, so its file may have been tampered with. Only the
//! rows of the shard's own tasks are used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use acp_registry_client::install::Kind;
use acp_registry_client::registry::Registry;
use acp_registry_host::fs::{PathError, ReadError, check_writable, read_bounded, write_atomic};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::json::check_share;
use acp_registry_plan::text::{printable, quote};
use acp_registry_plan::timestamp::Timestamp;
use serde_json::{Map, Value};

use super::snapshot::SCHEMA;
use super::times;
use super::{
    SNAPSHOT_LIMIT, Selection, Shard, ShardError, Snapshot, SnapshotError, Task, TaskKind, examined, plan, snapshot,
};

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
    let mut columns = schema["definitions"]["agent"]["properties"].as_object().cloned().unwrap_or_default();
    columns.remove("history");
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
                // What a part says of the past is not believed.
                examined::remember(&mut row, latest);
                times::add(&mut row, latest);
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

/// Maximum number of missing shards in a message.
const SHOWN: usize = 5;

/// The file of a shard: `I/N=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardFile {
    /// The shard.
    pub shard: Shard,
    /// The file.
    pub path: PathBuf,
}

/// A text that is not of the form `I/N=FILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShardFileError {
    /// The `=` is missing.
    #[error("is not of the form I/N=FILE")]
    Form,
    /// The text before `=` is not `I/N`.
    #[error(transparent)]
    Shard(#[from] ShardError),
}

impl FromStr for ShardFile {
    type Err = ShardFileError;

    fn from_str(text: &str) -> Result<Self, ShardFileError> {
        let (shard, path) = text.split_once('=').ok_or(ShardFileError::Form)?;
        Ok(Self { shard: shard.parse()?, path: path.into() })
    }
}

/// Why shards could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum ShardFilesError {
    /// A shard is given twice, or the shards have different totals.
    #[error("each part must be given once, and all must have the same number of parts")]
    Mixed,
    /// Parts are missing; merging would lose the rows of their agents.
    #[error("not all parts are given: {names} {} missing", if *.is_one { "is" } else { "are" })]
    Missing {
        /// The first missing shards.
        names: String,
        /// Whether exactly one is missing.
        is_one: bool,
    },
    /// The file of a shard could not be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The existing snapshot could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Unwritable(PathError),
    /// A shard was rejected.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The snapshot could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Merges the files of all shards into the snapshot at `out`. Agents that were not started in any shard keep their rows
/// there. So do the agents of shards without a file; `missing` is called with each of these.
///
/// # Errors
/// Returns [`ShardFilesError`]; the snapshot is unchanged then.
pub fn merge_files(
    registry: &Registry,
    selection: &Selection,
    shards: &[ShardFile],
    out: &Path,
    missing: &dyn Fn(&ShardFile),
) -> Result<Merged, ShardFilesError> {
    refuse_incomplete(shards)?;
    let read: Vec<ShardSnapshot> = shards.iter().map(|shard| read_shard(shard, missing)).collect::<Result<_, _>>()?;
    let earlier = match Snapshot::read(out) {
        Ok(earlier) => Some(earlier),
        Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    check_writable(out).map_err(ShardFilesError::Unwritable)?;
    let measured = Snapshot::read_from(registry)?;
    let fitting = |error: &MergeError| read.iter().position(|part| part.shard == error.shard);
    let merge = |selection, measured| merge(registry, selection, &read, measured, earlier.as_ref());
    // Parts of a first run, without a snapshot in the registry, were divided by number; others began on the day before, when
    // other agents in quarantine were due. All parts must fit: an agent that forges its own part cannot choose.
    let day_before = selection.for_previous_day();
    let others = [
        Some((selection, None)),
        day_before.as_ref().map(|it| (it, measured.as_ref())),
        day_before.as_ref().map(|it| (it, None)),
    ];
    let mut merged = merge(selection, measured.as_ref());
    for (selection, measured) in others.into_iter().flatten() {
        let Err(error) = &merged else { break };
        let next = merge(selection, measured);
        // The error is that of the division that more parts fit.
        if next.as_ref().err().is_none_or(|next| fitting(next) > fitting(error)) {
            merged = next;
        }
    }
    let merged = merged?;
    write_atomic(out, merged.text.as_bytes())?;
    Ok(merged)
}

/// Returns an error if shards are missing, duplicated, or of different totals.
fn refuse_incomplete(shards: &[ShardFile]) -> Result<(), ShardFilesError> {
    let counts: BTreeSet<usize> = shards.iter().map(|shard| shard.shard.count()).collect();
    let named: BTreeSet<String> = shards.iter().map(|shard| shard.shard.to_string()).collect();
    if counts.len() != 1 || named.len() != shards.len() {
        return Err(ShardFilesError::Mixed);
    }
    let count = counts.first().copied().unwrap_or_default();
    // At most one more than are shown, since the total may be in the millions.
    let missing = (1..=count).map(|index| format!("{index}/{count}")).filter(|shard| !named.contains(shard));
    let missing: Vec<String> = missing.take(SHOWN + 1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = if missing.len() > SHOWN { ", …" } else { "" };
    let listed = format!("{}{more}", missing[..missing.len().min(SHOWN)].join(", "));
    Err(ShardFilesError::Missing { names: listed, is_one: missing.len() == 1 })
}

fn read_shard(shard: &ShardFile, missing: &dyn Fn(&ShardFile)) -> Result<ShardSnapshot, ShardFilesError> {
    let failed = |error| ShardFilesError::Read { path: shard.path.clone(), error };
    // All shards are in memory at once, so each gets a share of the limit of one snapshot, but at least 1 MiB.
    let limit = (SNAPSHOT_LIMIT / shard.shard.count() as u64).max(1 << 20);
    let text = match shard.path.canonicalize().map_err(ReadError::from) {
        Ok(real) => Some(read_bounded(&real, Path::new("/"), limit).map_err(failed)?),
        Err(ReadError::NotFound) => {
            missing(shard);
            None
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(ShardSnapshot { shard: shard.shard, text })
}

impl From<ShardFilesError> for Failure {
    fn from(error: ShardFilesError) -> Self {
        match error {
            ShardFilesError::Mixed => Self::usage("--merge takes each part once, all of the same number of parts"),
            ShardFilesError::Missing { names, is_one } => {
                Self::usage(format!("--merge lacks {} {names}", if is_one { "part" } else { "parts" }))
                    .help("name all parts with --merge; agents of a part whose file does not exist keep their rows")
            }
            ShardFilesError::Read { .. } => Self::unable(error).help(super::SNAPSHOT),
            ShardFilesError::Snapshot(error) => error.into(),
            ShardFilesError::Unwritable(error) => error.unwritable("--out"),
            ShardFilesError::Merge(error) => error.into(),
            ShardFilesError::Path(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_merged_once() {
        let refused = |texts: &[&str]| {
            let shards: Vec<ShardFile> = texts.iter().map(|text| text.parse().unwrap()).collect();
            refuse_incomplete(&shards).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["1/2=a", "2/2=b"]), None);
        let mixed = Some("each part must be given once, and all must have the same number of parts");
        for shards in [&[][..], &["1/2=a", "1/2=b"], &["1/2=a", "2/3=b"]] {
            assert_eq!(refused(shards).as_deref(), mixed, "{shards:?}");
        }
        assert_eq!(refused(&["2/2=b"]).as_deref(), Some("not all parts are given: 1/2 is missing"));
        let many = Some("not all parts are given: 2/9, 3/9, 4/9, 5/9, 6/9, … are missing");
        assert_eq!(refused(&["1/9=a"]).as_deref(), many);
        assert_eq!("1=a".parse::<ShardFile>(), Err(ShardFileError::Shard(ShardError)));
        assert_eq!("1/1".parse::<ShardFile>(), Err(ShardFileError::Form));
    }
}
