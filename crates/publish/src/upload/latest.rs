//! Updates `latest/` to a tree, and removes files that have been stale for longer than the grace period.
//!
//! A `latest/` that another tool wrote is taken over. Without a record of what was published, only an index tells that it
//! belongs to a registry. If there is one, identical files are kept, others are replaced in the usual order, and icons and
//! schemas that the new tree lacks are removed after the grace period. All other files are kept. What a snapshot has was
//! published, whatever became of the record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use acp_registry_client::index::{INDEX_LIMIT, entries};
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::index::INDEX;
use acp_registry_plan::sums::{SIGNATURE, SUMS, is_name};
use acp_registry_plan::text::{brief_list, printable};
use acp_registry_plan::{json, sums};

use super::headers::Headers;
use super::send::{INDEXES, Planned, Sender, TreeSource, wave};
use super::state::{LatestFile, TargetState};
use super::statement::SignedStatement;
use super::tree::{FILE_LIMIT, is_index};
use super::{Action, Error, LATEST, Notice, UploadEvent, UploadTarget, What, now, seconds, snapshot, tree};

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
    statement: Option<&SignedStatement>,
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
        if let Some(statement) = statement {
            save(sender, state).await?;
            actions.extend(statement.send(sender).await?);
        }
        return Ok(actions);
    }
    // What no longer holds is removed before anything is sent: the signature of the previous `SHA256SUMS`, and the
    // document that leads clients to the previous entries in place of the index.
    let mut over = [SIGNATURE, DISCOVERY].to_vec();
    over.retain(|name| !wanted.contains(*name) && state.files.contains_key(*name));
    // If the run is interrupted now, they may or may not exist.
    state.files.extend(over.iter().map(|name| ((*name).to_owned(), LatestFile::default())));
    save(sender, state).await?;
    for name in over {
        sender.remove(&[name.to_owned()]).await?;
        state.files.remove(name);
        actions.push(Action { file: format!("{LATEST}/{name}"), what: What::Remove });
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
    let (parts, entry_points): (Vec<Planned>, Vec<Planned>) = planned.into_iter().partition(|file| file.wave < INDEXES);
    let sending = async {
        let mut sent = sender.send(&parts, on_sent).await?;
        if let Some(statement) = statement {
            sent.extend(statement.send(sender).await?);
        }
        sent.extend(sender.send(&entry_points, on_sent).await?);
        Ok::<_, Error>(sent)
    };
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
    if sender.run.is_dry_run { Ok(()) } else { state.save(sender.run.target).await }
}

fn note(state: &mut TargetState, sent: &Mutex<BTreeMap<String, String>>) {
    for (name, form) in sent.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        state.files.insert(name.clone(), LatestFile { form: Some(form.clone()), stale_since: None });
    }
}

/// How many files a warning names.
const NAMED: usize = 10;

/// The kind of a file of another tool, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignFile {
    /// An icon, a schema, or the document that leads to entries.
    Part,
    /// An index, which clients may read.
    Index,
    Other,
}

fn kind(name: &str) -> ForeignFile {
    if name.contains('/') || !is_name(name) {
        return ForeignFile::Other;
    }
    if name == DISCOVERY {
        return ForeignFile::Part;
    }
    match name.rsplit_once('.') {
        Some((_, "svg")) => ForeignFile::Part,
        Some(_) if name.ends_with(".schema.json") => ForeignFile::Part,
        Some((stem, "json")) if stem.starts_with("registry") => ForeignFile::Index,
        _ => ForeignFile::Other,
    }
}

/// Adds the files of another tool to a new state, and warns of files that are kept.
///
/// # Errors
/// [`Error::Foreign`] if a file would be overwritten that is not part of a registry.
pub(super) async fn adopt(
    state: &mut TargetState,
    tree: TreeSource<'_>,
    target: &UploadTarget,
    notice: Notice<'_>,
) -> Result<(), Error> {
    if !state.is_new {
        return Ok(());
    }
    let list = target.sums(LATEST).await?;
    let there: BTreeSet<String> = target.list(LATEST).await?.into_iter().collect();
    let is_registry = there.contains(INDEX) && index(target, INDEX).await?.is_some_and(|index| is_index(&index));
    let is_adopted = |name: &str| is_registry && (list.is_none() || kind(name) != ForeignFile::Other);
    let list_text = String::from_utf8_lossy(list.as_deref().unwrap_or_default());
    let listed = sums::names(&list_text);
    let foreign = there.iter().map(String::as_str).filter(|name| sums::is_foreign(&listed, name));
    let doubtful: Vec<&str> = foreign.filter(|_| list.is_some() || !is_registry).collect();
    let published = published(target, &doubtful).await?;
    // If a list says what was published, any other file that is not part of a registry was added by hand.
    let would_be_lost =
        |name: &&&str| !published.contains(**name) && !is_adopted(name) && (list.is_none() || tree.has(name));
    // Ordered by name.
    if let Some(name) = doubtful.iter().find(would_be_lost) {
        return Err(Error::Foreign(printable(&target.shown(&format!("{LATEST}/{name}"))).into_owned()));
    }
    if !is_registry {
        return Ok(());
    }
    let unknown: Vec<&String> = there.iter().filter(|name| !state.files.contains_key(*name)).collect();
    // A tree without entries must not leave the document that leads to earlier ones.
    let is_known = |name: &&&String| tree.has(name) || name.as_str() == DISCOVERY || published.contains(name.as_str());
    state.files.extend(unknown.iter().filter(is_known).map(|name| ((*name).clone(), LatestFile::default())));
    if list.is_some() {
        return Ok(());
    }
    let place = printable(&target.shown(LATEST)).into_owned();
    notice(UploadEvent::Warning(format!("{place} was written by another tool, and is taken over")));
    let rest: Vec<&str> = unknown.into_iter().map(String::as_str).filter(|name| !tree.has(name)).collect();
    // Clients may read an index that this tree lacks, so its icons are kept, too.
    let mut icons = Some(BTreeSet::new());
    for name in rest.iter().filter(|name| kind(name) == ForeignFile::Index) {
        let named = index(target, name).await?.and_then(|index| named_icons(&index));
        icons = icons.zip(named).map(|(icons, named)| icons.into_iter().chain(named).collect());
        notice(UploadEvent::Warning(format!(
            "{place}/{} is an index that this tree does not have: it is kept, with its icons; add a view of that name to \
             registry.toml to update it, or remove it there",
            printable(name)
        )));
    }
    let is_used = |name: &str| icons.as_ref().is_none_or(|icons| icons.contains(name));
    let leftover = rest.iter().filter(|name| kind(name) == ForeignFile::Part && !is_used(name));
    state.files.extend(leftover.map(|name| ((*name).to_owned(), LatestFile::default())));
    let others: Vec<&str> = rest.into_iter().filter(|name| kind(name) == ForeignFile::Other).collect();
    if !others.is_empty() {
        let named = brief_list(others.iter().map(|name| printable(name)), NAMED);
        notice(UploadEvent::Warning(format!(
            "{place} has files that are not part of a registry, and are kept: {named}"
        )));
    }
    Ok(())
}

/// Those of these files of `latest/` that a snapshot has by the same name and with the same content: they were published
/// earlier, and are kept for readers of an older index.
async fn published<'a>(target: &UploadTarget, names: &[&'a str]) -> Result<BTreeSet<&'a str>, Error> {
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    if names.is_empty() {
        return Ok(BTreeSet::new());
    }
    for folder in target.folders().await?.iter().filter(|folder| snapshot::end_of_day(folder).is_some()) {
        let list = target.sums(folder).await?.unwrap_or_default();
        let mut files = sums::parse(&list).unwrap_or_default();
        for name in names {
            known.entry(name).or_default().extend(files.remove(*name));
        }
    }
    let mut published = BTreeSet::new();
    for (name, digests) in known.into_iter().filter(|(_, digests)| !digests.is_empty()) {
        let bytes = target.get(&format!("{LATEST}/{name}"), FILE_LIMIT).await?;
        if bytes.is_some_and(|bytes| digests.contains(&tree::hex_digest(&bytes))) {
            published.insert(name);
        }
    }
    Ok(published)
}

/// Reads an index in `latest/`.
async fn index(target: &UploadTarget, name: &str) -> Result<Option<Vec<u8>>, Error> {
    target.get(&format!("{LATEST}/{name}"), INDEX_LIMIT).await
}

/// The file names of the agents' icons in an index; `None` if it is not an index or has too many agents.
fn named_icons(index: &[u8]) -> Option<Vec<String>> {
    let agents = entries(str::from_utf8(index).ok()?).ok()?;
    if !agents.iter().all(|agent| agent.starts_with('{')) {
        return None;
    }
    let icons = agents.into_iter().filter_map(|agent| {
        let [icon] = json::members(agent.as_bytes(), ["icon"]).ok()?;
        json::text(icon)
    });
    Some(icons.filter_map(|icon| icon.rsplit('/').next().map(ToOwned::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_has_files_of_few_kinds() {
        for (name, expected) in [
            ("goose.svg", ForeignFile::Part),
            ("agent.schema.json", ForeignFile::Part),
            ("registry.schema.json", ForeignFile::Part),
            ("registry.json", ForeignFile::Index),
            ("registry-for-jetbrains.json", ForeignFile::Index),
            ("history.json", ForeignFile::Other),
            ("index.html", ForeignFile::Other),
            ("svg", ForeignFile::Other),
            ("icons/goose.svg", ForeignFile::Other),
            ("x y.svg", ForeignFile::Other),
            (".svg/../x.svg", ForeignFile::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn icons_are_known_by_the_end_of_their_address() {
        let index =
            r#"{ "agents": [{ "icon": "https://h.example/latest/a.svg" }, {}, { "icon": 7 }, { "icon": "b.svg" }] }"#;
        assert_eq!(named_icons(index.as_bytes()).unwrap(), ["a.svg", "b.svg"]);
        for other in ["", "[]", "{}", r#"{ "agents": {} }"#, r#"{ "agents": [7] }"#] {
            assert_eq!(named_icons(other.as_bytes()), None, "{other}");
        }
    }
}
