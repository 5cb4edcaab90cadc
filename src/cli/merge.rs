//! `acp-registry verify --merge`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use acp_registry::registry::Registry;
use acp_registry::report::plural;
use acp_registry::sys::fs::{ReadError, check_writable, read_bounded, write_atomic};
use acp_registry::verify::{Merged, Part, SNAPSHOT_LIMIT, Selection, Shard, Snapshot, SnapshotError, merge};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::remedy::unwritable;
use super::ui::Ui;

/// How many missing parts a message names.
const SHOWN: usize = 5;

/// `I/N=FILE`
#[derive(Debug, Clone)]
pub(super) struct PartFile {
    shard: Shard,
    path: PathBuf,
}

impl FromStr for PartFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shard, path) = text.split_once('=').ok_or("I/N=FILE is wanted, such as 1/4=one.json")?;
        let shard = shard.parse().map_err(|error: acp_registry::verify::ShardError| error.to_string())?;
        Ok(Self { shard, path: path.into() })
    }
}

/// Merges the parts into `out`. Agents that no part has started keep their rows there.
pub(super) fn run(
    parts: &[PartFile],
    out: &Path,
    registry: &Registry,
    selection: &Selection,
    ui: &Ui,
    is_json: bool,
) -> Result<Exit, Failure> {
    let counts: BTreeSet<usize> = parts.iter().map(|part| part.shard.count()).collect();
    let shards: BTreeSet<String> = parts.iter().map(|part| part.shard.to_string()).collect();
    if counts.len() != 1 || shards.len() != parts.len() {
        return Err(Failure::usage("--merge takes each part once, all of the same number of parts"));
    }
    refuse_missing(parts)?;
    let read: Vec<Part> = parts.iter().map(|part| read(part, ui)).collect::<Result<_, _>>()?;
    let earlier = match Snapshot::read(out) {
        Ok(earlier) => Some(earlier),
        Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    check_writable(out).map_err(|error| unwritable(error, "--out"))?;
    let merged = merge(registry, selection, &read, earlier.as_ref())?;
    write_atomic(out, merged.text.as_bytes())?;
    ui.result(&if is_json {
        acp_registry::json::to_string(&document(&merged))
    } else {
        let mut text = format!("{} from {}\n", plural(merged.taken, "row"), plural(parts.len(), "part"));
        for one in &merged.unknown {
            let (name, reason) = (format!("{} ({})", one.id, one.distribution), &one.reason);
            text.push_str(&match (reason.as_str(), one.is_kept) {
                ("no_row", true) => format!("{name} has no row in its part; the earlier row stays\n"),
                ("no_row", false) => format!("{name} has no row in its part, and no earlier one\n"),
                (_, true) => format!("{name} was not started: {reason}; the earlier row stays\n"),
                (_, false) => format!("{name} was not started: {reason}; it has no earlier row\n"),
            });
        }
        text
    })?;
    Ok(Exit::Success)
}

/// Refuses a set of parts that is not complete: agents of the others would lose their rows.
fn refuse_missing(parts: &[PartFile]) -> Result<(), Failure> {
    let count = parts.first().map_or(0, |part| part.shard.count());
    let named: BTreeSet<String> = parts.iter().map(|part| part.shard.to_string()).collect();
    // One more than is shown: a part may say that there are millions.
    let missing = (1..=count).map(|index| format!("{index}/{count}")).filter(|part| !named.contains(part));
    let missing: Vec<String> = missing.take(SHOWN + 1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = if missing.len() > SHOWN { ", …" } else { "" };
    let shown = missing[..missing.len().min(SHOWN)].join(", ");
    let message = format!("--merge lacks {} {shown}{more}", if missing.len() == 1 { "part" } else { "parts" });
    Err(Failure::usage(message)
        .help("name all parts with --merge; agents of a part whose file does not exist keep their rows"))
}

fn read(part: &PartFile, ui: &Ui) -> Result<Part, Failure> {
    let failed = |error: &ReadError| Failure::unable(format!("cannot read {}: {error}", part.path.display()));
    // All parts are in memory at once, and together as long as one snapshot; a small one is always read.
    let limit = (SNAPSHOT_LIMIT / part.shard.count() as u64).max(1 << 20);
    let text = match part.path.canonicalize().map_err(ReadError::from) {
        Ok(real) => Some(read_bounded(&real, Path::new("/"), limit).map_err(|error| failed(&error))?),
        Err(ReadError::NotFound) => {
            ui.warning(&format!("part {} has no file {}", part.shard, part.path.display()));
            None
        }
        Err(error) => return Err(failed(&error)),
    };
    Ok(Part { shard: part.shard, text })
}

fn document(merged: &Merged) -> Value {
    let unknown = merged.unknown.iter().map(
        |one| json!({ "id": one.id, "distribution": one.distribution, "reason": one.reason, "kept": one.is_kept }),
    );
    json!({
        "schema": 1, "command": "verify",
        "merged": { "taken": merged.taken, "unknown": unknown.collect::<Vec<_>>() },
    })
}
