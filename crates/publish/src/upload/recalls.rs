//! What is recalled at a target. If a publication or a rollback lost a recall, clients would start that version again.

use acp_registry_plan::digest::Sha256;
use acp_registry_plan::revocations::{REVOKED, REVOKED_LIMIT, Revocation, Revocations};
use acp_registry_plan::text::{brief_list, quote};

use super::send::{Sender, TreeSource};
use super::state::TargetState;
use super::{Error, LATEST, UploadEvent, UploadTarget, statement};

/// How many recalls a warning names.
const NAMED: usize = 10;

/// Refuses a snapshot from before a recall.
pub(super) async fn refuse_lost(sender: &Sender<'_>, state: &TargetState) -> Result<(), Error> {
    let then = read(sender.source).await?;
    for (place, now) in published(sender.run.target, state).await? {
        let keeps = |id: &str, recall: &Revocation| {
            then.get(id).iter().any(|kept| kept.written == recall.written && kept.level >= recall.level)
        };
        if let Some((id, recall)) = now.iter().find(|(id, recall)| !keeps(id, recall)) {
            return Err(Error::LostRecall { place, id: id.to_owned(), versions: recall.written.clone() });
        }
    }
    Ok(())
}

/// Warns of recalls that a new tree lacks. They may have been taken back on purpose, or the tree may be an old one.
pub(super) async fn warn_lost(sender: &Sender<'_>, state: &TargetState) -> Result<(), Error> {
    let then = read(sender.source).await?;
    let mut lost: Vec<String> = Vec::new();
    for (_, now) in published(sender.run.target, state).await? {
        let recalls = now.iter().filter(|(id, recall)| !then.get(id).iter().any(|other| covers(other, recall)));
        lost.extend(recalls.map(|(id, recall)| format!("{} of {}", recall.written, quote(id))));
    }
    lost.sort_unstable();
    lost.dedup();
    if !lost.is_empty() {
        (sender.run.notice)(UploadEvent::Warning(format!(
            "{} recalls {}, and this tree does not: clients start that again; put it back into {REVOKED}, unless it was taken \
             back on purpose",
            sender.run.target.shown(LATEST),
            brief_list(lost, NAMED)
        )));
    }
    Ok(())
}

/// Whether a recall has the versions of another one, as far as that is known by the versions that the other one names: ranges
/// are widened more often than taken back.
fn covers(recall: &Revocation, other: &Revocation) -> bool {
    let is_pattern = other.written.contains(['^', '~', '*', 'x', 'X']);
    let words = other.written.split(|c: char| c.is_whitespace() || "|,<>=[]\"".contains(c));
    let mut named = words.filter(|word| !word.is_empty()).peekable();
    let has_all = !is_pattern && named.peek().is_some() && named.all(|version| recall.versions.has(version));
    recall.level >= other.level && (recall.written == other.written || has_all)
}

/// The recalls of a tree; none if its list cannot be read.
async fn read(source: TreeSource<'_>) -> Result<Revocations, Error> {
    let is_there = source.files().contains_key(REVOKED);
    let list = if is_there { source.content(REVOKED).await? } else { Vec::new() };
    Ok(Revocations::parse(&list).unwrap_or_default())
}

/// The lists that clients have read or may read, each with its place: the one in `latest/`, unless it is there only for readers
/// of an older index, and those of the snapshots that the statement names and that `latest/` is made from. A publisher that was
/// killed may not have put its list into `latest/`.
async fn published(target: &UploadTarget, state: &TargetState) -> Result<Vec<(String, Revocations)>, Error> {
    let is_stale = state.files.get(REVOKED).is_some_and(|file| file.stale_since.is_some());
    let place = format!("{LATEST}/{REVOKED}");
    let latest = if is_stale { None } else { target.get(&place, REVOKED_LIMIT).await? };
    let wrong = |why: String| Error::Unreadable { place: target.shown(&place), why };
    let signed = match statement::current(target).await {
        Err(Error::Unreadable { .. }) => None,
        other => other?,
    };
    let signed = signed.and_then(|signed| Some((signed.snapshot?, *signed.digests.get(REVOKED)?)));
    let made = state.latest.clone().and_then(|name| Some((name, state.tree.get(REVOKED)?.parse().ok()?)));
    let mut lists = Vec::new();
    let mut missing = None;
    for ((snapshot, digest), is_signed) in signed.map(|one| (one, true)).into_iter().chain(made.map(|one| (one, false)))
    {
        let is_meant = |list: &Vec<u8>| Sha256::of(list) == digest;
        if latest.as_ref().is_some_and(is_meant) {
            continue;
        }
        let place = format!("{snapshot}/{REVOKED}");
        match target.get(&place, REVOKED_LIMIT).await?.filter(is_meant) {
            // What was published so, clients could not read either.
            Some(list) => lists.push((place, Revocations::parse(&list).unwrap_or_default())),
            None if is_signed => return Err(wrong("it is not the list that the statement names".to_owned())),
            None => missing = Some(snapshot),
        }
    }
    match (latest.map(|list| Revocations::parse(&list)), missing) {
        (Some(Ok(list)), _) => lists.push((place, list)),
        (Some(Err(why)), _) if lists.is_empty() => return Err(wrong(why.to_string())),
        (None, Some(snapshot)) if lists.is_empty() => {
            return Err(wrong(format!("it is missing, and {snapshot} does not have it either")));
        }
        _ => {}
    }
    Ok(lists)
}
