//! Updates `latest/` to a tree, and removes files that have been stale for longer than the grace period.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::headers::Headers;
use super::order::wave;
use super::send::{Planned, Sender};
use super::state::{LatestFile, TargetState};
use super::{Action, Error, LATEST, What, now, seconds, tree};
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::sums::{SIGNATURE, SUMS};

/// How often the state is saved while files are sent. Files sent since the last save are compared again after an
/// interruption.
const CHECKPOINT: Duration = Duration::from_secs(20);

/// The files of `latest/` that a tree changes.
pub(super) struct LatestChanges {
    pub(super) planned: Vec<Planned>,
    /// The names of all files that `latest/` will have.
    wanted: BTreeSet<String>,
    kept: Vec<Action>,
}

/// The names and digests of all files to publish: those of the tree, `SHA256SUMS` and the signature.
pub(super) fn files(sender: &Sender<'_>) -> Vec<(String, String)> {
    let files = sender.source.files().iter().map(|(name, digest)| (name.clone(), digest.clone()));
    let lists = [(SUMS, Some(sender.source.sums())), (SIGNATURE, sender.signature.as_deref())];
    let lists = lists.into_iter().filter_map(|(name, bytes)| Some((name.to_owned(), tree::hex_digest(bytes?))));
    files.chain(lists).collect()
}

/// Compares `latest/`, as the state has it, with a tree.
pub(super) fn plan(sender: &Sender<'_>, state: &TargetState) -> LatestChanges {
    let mut plan = LatestChanges { planned: Vec::new(), wanted: BTreeSet::new(), kept: Vec::new() };
    for (name, digest) in files(sender) {
        let headers = Headers::for_latest(&name, state.gzip());
        let form = headers.fingerprint(&digest);
        let known = state.files.get(&name);
        let place = format!("{LATEST}/{name}");
        plan.wanted.insert(name.clone());
        if known.is_some_and(|file| file.form.as_ref() == Some(&form)) {
            plan.kept.push(Action { file: place, what: What::Keep });
            continue;
        }
        let may_be_there = known.is_some_and(|file| file.form.is_none());
        let wave = wave(&name, known.is_none());
        plan.planned.push(Planned { name, place, headers, form, digest, wave, may_be_there });
    }
    plan
}

/// Sends what has changed, and notes the snapshot that `latest/` is then made from.
pub(super) async fn update(
    sender: &Sender<'_>,
    state: &mut TargetState,
    snapshot: &str,
    plan: LatestChanges,
) -> Result<Vec<Action>, Error> {
    let LatestChanges { planned, wanted, kept: mut actions } = plan;
    for (name, file) in &mut state.files {
        if wanted.contains(name) {
            file.stale_since = None;
        }
    }
    // Until they are sent, the content of these files is unknown.
    state.files.extend(planned.iter().map(|file| (file.name.clone(), LatestFile::default())));
    let is_done = state.latest.as_deref() == Some(snapshot);
    let has_stale = state.files.iter().any(|(name, file)| !wanted.contains(name) && file.stale_since.is_none());
    if planned.is_empty() && is_done && !has_stale {
        return Ok(actions);
    }
    save(sender, state).await?;
    // What no longer holds is removed before anything is sent: the signature of the previous `SHA256SUMS`, and the
    // document that leads clients to the previous entries in place of the index.
    for name in [SIGNATURE, DISCOVERY] {
        if !wanted.contains(name) && state.files.contains_key(name) {
            sender.remove(&[name.to_owned()]).await?;
            state.files.remove(name);
            actions.push(Action { file: format!("{LATEST}/{name}"), what: What::Remove });
        }
    }
    let sent: Mutex<BTreeMap<String, String>> = Mutex::default();
    let on_sent = |file: &Planned| {
        sent.lock().unwrap_or_else(PoisonError::into_inner).insert(file.name.clone(), file.form.clone());
    };
    let checkpoints = async {
        loop {
            tokio::time::sleep(CHECKPOINT).await;
            let mut so_far = state.clone();
            note(&mut so_far, &sent);
            save(sender, &so_far).await?;
        }
    };
    let sending = sender.send(&planned, on_sent);
    let sent_now = tokio::select! {
        done = sending => done?,
        failed = checkpoints => return failed,
    };
    actions.extend(sent_now);
    note(state, &sent);
    let since = now();
    for (name, file) in &mut state.files {
        if !wanted.contains(name) && file.stale_since.is_none() {
            file.stale_since = Some(since);
        }
    }
    state.arrive(snapshot, sender.source.files().clone(), &tree::hex_digest(sender.source.sums()));
    save(sender, state).await?;
    Ok(actions)
}

/// Removes the files of `latest/` whose grace period is over.
pub(super) async fn remove_stale(
    sender: &Sender<'_>,
    state: &mut TargetState,
    grace: Duration,
) -> Result<Vec<Action>, Error> {
    let (grace, now) = (seconds(grace), now());
    let mut actions = Vec::new();
    let mut over = Vec::new();
    for (name, file) in &mut state.files {
        let Some(since) = file.stale_since else { continue };
        let until = since.saturating_add(grace);
        let what = if until <= now { What::Remove } else { What::Stale(until) };
        if what == What::Remove {
            // If the run is interrupted now, the file may or may not exist.
            file.form = None;
            over.push(name.clone());
        }
        actions.push(Action { file: format!("{LATEST}/{name}"), what });
    }
    if !over.is_empty() {
        save(sender, state).await?;
        sender.remove(&over).await?;
        state.files.retain(|name, _| over.binary_search(name).is_err());
        save(sender, state).await?;
    }
    Ok(actions)
}

/// Writes the state, except in a dry run.
pub(super) async fn save(sender: &Sender<'_>, state: &TargetState) -> Result<(), Error> {
    if sender.is_dry_run { Ok(()) } else { state.save(sender.target).await }
}

fn note(state: &mut TargetState, sent: &Mutex<BTreeMap<String, String>>) {
    for (name, form) in sent.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        state.files.insert(name.clone(), LatestFile { form: Some(form.clone()), stale_since: None });
    }
}
