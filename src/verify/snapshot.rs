//! What agents can do, as a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Row, State, Task};
use crate::install::Kind;
use crate::json;
use crate::manifest::Channel;
use crate::sys::fs::{ReadError, read_bounded};

/// The JSON Schema of the file.
pub const SCHEMA: &str = include_str!("../../schemas/capabilities.schema.json");

/// The largest file that is read, in bytes.
pub const LIMIT: u64 = 64 << 20;

/// Members of a handshake that a snapshot has, in this order.
const KEPT: [&str; 8] =
    ["protocol_version", "agent_info", "auth_methods", "features", "capabilities", "extra", "probes", "warnings"];

/// Why a snapshot was not read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: ReadError,
    },
    /// It is not a snapshot.
    #[error("{} is no capability snapshot: {message}; write a new one with `verify --out`", .path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A capability snapshot: a row for each agent and distribution that was started, or should have been.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    rows: BTreeMap<Key, Value>,
}

/// Id, version, and distribution.
type Key = (String, String, String);

impl Snapshot {
    /// Reads the file of an earlier run.
    ///
    /// # Errors
    /// [`SnapshotError`].
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let failed = |error| SnapshotError::Read { path: path.to_owned(), error };
        let real = path.canonicalize().map_err(|error| failed(ReadError::from(error)))?;
        let bytes = read_bounded(&real, Path::new("/"), LIMIT).map_err(failed)?;
        Self::parse(&bytes).map_err(|message| SnapshotError::Form { path: path.to_owned(), message })
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let key = |row: &Value| (text(row, "id"), text(row, "version"), text(row, "distribution"));
        Ok(Self { rows: rows(bytes)?.into_iter().map(|row| (key(&row), row)).collect() })
    }

    /// The row of an agent, whatever its version was then.
    pub(super) fn latest(&self, id: &str, channel: Channel, kind: Option<Kind>) -> Option<&Value> {
        let is_it = |row: &&Value| {
            row["id"] == id
                && row["channel"] == channel.as_str()
                && row["distribution"].as_str() == kind.map(Kind::as_str)
        };
        self.rows.values().rfind(is_it)
    }

    /// What an agent could do, by the stable names of features, whatever its version was then; `None` for an agent that did
    /// not answer.
    #[must_use]
    pub fn features(&self, id: &str, channel: Channel, kind: Kind) -> Option<&Map<String, Value>> {
        self.latest(id, channel, Some(kind))?["features"].as_object().filter(|features| !features.is_empty())
    }

    /// The row of a task that passed.
    pub(super) fn passed(&self, task: &Task) -> Option<&Value> {
        let kind = task.kind?.as_str().to_owned();
        let row = self.rows.get(&(task.id.clone(), task.version.clone(), kind))?;
        (row["verdict"] == "pass").then_some(row)
    }

    /// The text of a snapshot of these rows, without those that were skipped. The same answers give the same text, but for
    /// the members `checked_at` and `timing`.
    #[must_use]
    pub fn write(rows: &[Row]) -> String {
        let agents: Vec<Value> = rows.iter().filter_map(of_row).collect();
        text(&agents)
    }
}

/// The text of a snapshot of these rows.
pub(super) fn text(rows: &[Value]) -> String {
    json::to_string(&json!({ "schema": 1, "agents": rows }))
}

/// The rows of a snapshot, as they are.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let mut document: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if document["schema"] != 1 {
        return Err("`schema` is not 1".to_owned());
    }
    match document["agents"].take() {
        Value::Array(rows) => Ok(rows),
        _ => Err("`agents` is not an array".to_owned()),
    }
}

fn of_row(row: &Row) -> Option<Value> {
    let checked_at = match &row.state {
        State::Skipped { .. } => return None,
        State::Reused(earlier) => return Some(earlier.clone()),
        State::NotStarted { .. } => None,
        State::Checked { at, .. } => Some(rfc_3339(*at)),
    };
    let result = row.to_json();
    let mut kept = Map::new();
    for name in KEPT {
        kept.insert(name.to_owned(), result["handshake"][name].clone());
    }
    let mut agent = json!({
        "id": row.id, "version": row.version, "channel": row.channel.as_str(),
        "distribution": row.kind.map(Kind::as_str), "verdict": row.verdict(), "reason": row.reason(),
        "checked_at": checked_at, "isolation": row.isolation(), "timing": result["timing"],
    });
    if let Value::Object(agent) = &mut agent {
        agent.extend(kept);
    }
    Some(agent)
}

/// A time, to the second.
fn rfc_3339(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time).replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_to_the_second() {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_900);
        assert_eq!(rfc_3339(time), "2023-11-14T22:13:20Z");
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        for (text, message) in [
            ("", "EOF"),
            ("[]", "`schema` is not 1"),
            ("{\"schema\":2,\"agents\":[]}", "`schema` is not 1"),
            ("{\"schema\":1,\"agents\":{}}", "`agents` is not an array"),
        ] {
            let error = Snapshot::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
