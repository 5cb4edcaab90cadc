//! Publishes a tree, its snapshot first, then `latest/`; or puts an earlier snapshot into `latest/`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use acp_registry_plan::index::INDEX;
use acp_registry_plan::statement::{is_marked, mark};
use acp_registry_plan::sums::{self, SIGNATURE, SIGNATURE_LIMIT, SUMS};

use super::headers::Headers;
use super::prune::refuse_unpublished;
use super::send::{KeptSnapshot, LAST, Large, Planned, Sender, TreeSource, wave};
use super::state::{Snapshot, TargetState};
use super::{
    Action, BuiltTree, Error, Gzip, PublishOptions, Revision, Signing, UploadEvent, UploadResult, UploadRun, latest,
    now, recalls, signature, snapshot, statement, tree,
};

/// Publishes a tree: its snapshot first, then `latest/`. Then removes files of `latest/` that have been stale for
/// longer than the grace period.
///
/// # Errors
/// [`Error`]. Files that were sent before the error stay, and readers find no reference to a missing file. Running
/// again sends the rest.
pub async fn publish(run: UploadRun<'_>, tree: &BuiltTree, options: &PublishOptions) -> Result<UploadResult, Error> {
    run.target.refuse(tree)?;
    if options.signing.is_none() && is_marked(&String::from_utf8_lossy(&tree.content(INDEX)?)) {
        let message = format!("{INDEX} of the tree says that its registry is signed, and this publication is not");
        let remedy = "name --sign-with or set ACP_REGISTRY_SIGNING_KEY, or build the tree again; clients refuse it without a signature";
        return Err(Error::Target { message, remedy: remedy.to_owned() });
    }
    let signed = options.signing.as_ref().map(|_| tree.signed()).transpose()?;
    let tree = signed.as_ref().unwrap_or(tree);
    run.in_turn(Upload { run, tree, options }.all()).await
}

#[derive(Clone, Copy)]
struct Upload<'a> {
    run: UploadRun<'a>,
    tree: &'a BuiltTree,
    options: &'a PublishOptions,
}

/// The name of a snapshot, and whether it is already complete.
struct SnapshotName {
    name: String,
    is_complete: bool,
    /// Whether an earlier run may have sent a part of it.
    is_begun: bool,
}

impl SnapshotName {
    fn complete(name: &str) -> Self {
        Self { name: name.to_owned(), is_complete: true, is_begun: true }
    }
}

impl Upload<'_> {
    async fn all(self) -> Result<UploadResult, Error> {
        let mut state = TargetState::load(self.run.target).await?;
        let previous = state.latest.clone();
        let files = self.tree.files().keys().chain(state.files.keys());
        self.run.target.refuse_links(files.map(String::as_str))?;
        let source = TreeSource::Tree(self.tree);
        latest::adopt(&mut state, source, self.run.target, self.run.notice).await?;
        if self.options.recheck {
            state.doubt();
        }
        state.set_gzip(self.gzip(state.gzip()).await?);
        let sums = tree::hex_digest(self.tree.sums());
        let place = self.place(&state, &sums).await?;
        let signature = self.signature(&place).await?;
        let sender = Sender { run: self.run, source, signature, large: Large::default(), doubts: self.options.recheck };
        recalls::warn_lost(&sender, &state).await?;
        // Signed before anything is sent, so that a refusal leaves nothing behind.
        let statement = statement::sign(&sender, &state, &place.name, self.options.signing.as_ref()).await?;
        let mut actions = self.keep(&sender, &mut state, &place, sums).await?;
        let plan = latest::plan(&sender, &state);
        state.signed |= self.options.signing.is_some();
        actions.extend(latest::update(&sender, &mut state, &place.name, plan, statement.as_ref()).await?);
        actions.extend(latest::remove_stale(&sender, &mut state, self.options.grace).await?);
        let signed = statement.map(|statement| statement.signed);
        Ok(UploadResult { snapshot: place.name, previous, signed, is_known: place.is_complete, actions })
    }

    /// What is stored compressed: only what the target returns with its encoding. `known` was stored so by an earlier run.
    async fn gzip(&self, known: Gzip) -> Result<Gzip, Error> {
        let wanted = self.options.gzip;
        if wanted == Gzip::default() || !self.run.target.has_headers() {
            return Ok(Gzip::default());
        }
        if wanted == known || self.run.is_dry_run || self.run.target.keeps_encodings().await? {
            return Ok(wanted);
        }
        let message = "the store loses the header Content-Encoding: nothing is stored compressed";
        (self.run.notice)(UploadEvent::Warning(message.to_owned()));
        Ok(Gzip::default())
    }

    /// Finds a complete or interrupted snapshot of this tree, or chooses an unused name.
    async fn place(&self, state: &TargetState, sums: &str) -> Result<SnapshotName, Error> {
        let PublishOptions { revision, .. } = self.options;
        let latest = state.latest.as_ref().and_then(|name| Some((name, state.snapshots.get(name)?)));
        let is_wanted = |name: &str| match revision {
            Revision::Named(revision) => name.ends_with(&format!("-{revision}")),
            Revision::Known(_) | Revision::Content => true,
        };
        if let Some((name, _)) =
            latest.filter(|(name, found)| found.is_complete && found.sums == sums && is_wanted(name))
        {
            return Ok(SnapshotName::complete(name));
        }
        // An interrupted snapshot is finished, even if its name has an earlier day.
        let mut begun = state.snapshots.iter().filter(|(_, found)| !found.is_complete && found.sums == sums);
        if let Some((name, _)) = begun.find(|(name, _)| is_wanted(name)) {
            return Ok(SnapshotName { name: name.clone(), is_complete: false, is_begun: true });
        }
        let name = snapshot::name(revision, sums, now());
        for name in [name.clone(), snapshot::other_name(&name, sums)] {
            match self.run.target.sums(&name).await? {
                Some(list) if list == self.tree.sums() => return Ok(SnapshotName::complete(&name)),
                Some(_) => {}
                // The name belongs to an interrupted snapshot of another tree.
                None if state.snapshots.contains_key(&name) => {}
                None if !self.run.target.list(&name).await?.is_empty() => {}
                None => return Ok(SnapshotName { name, is_complete: false, is_begun: false }),
            }
        }
        let place = self.run.target.shown(&name);
        let message = format!("the snapshot {place} already holds another tree");
        Err(Error::Target { message, remedy: "name another --revision".to_owned() })
    }

    /// The signature of `SHA256SUMS`: the one in the snapshot if it has one, which is of the same digests; else a new one, if
    /// it is to be signed.
    async fn signature(&self, place: &SnapshotName) -> Result<Option<Vec<u8>>, Error> {
        if self.options.sign.is_none() && !place.is_complete {
            return Ok(None);
        }
        let known = self.run.target.get(&format!("{}/{SIGNATURE}", place.name), SIGNATURE_LIMIT).await?;
        let Some(sign) = &self.options.sign else { return Ok(known) };
        if known.is_some() || self.run.is_dry_run {
            return Ok(Some(known.unwrap_or_default()));
        }
        signature(sign, self.tree.sums()).await.map(Some).map_err(Error::Sign)
    }

    /// Sends the snapshot: contents that are not stored yet, then the indexes, and at last the list of digests, which
    /// marks the snapshot complete.
    async fn keep(
        &self,
        sender: &Sender<'_>,
        state: &mut TargetState,
        place: &SnapshotName,
        sums: String,
    ) -> Result<Vec<Action>, Error> {
        let there: BTreeSet<String> = self.run.target.list(&place.name).await?.into_iter().collect();
        let contents = self.contents(state, place).await?;
        if !state.snapshots.contains_key(&place.name) || !place.is_complete {
            let known = if place.is_complete { snapshot::created(self.run.target, &place.name).await? } else { None };
            let created = known.unwrap_or_else(now);
            let begun = Snapshot { sums, created, is_complete: place.is_complete };
            let begun = state.snapshots.entry(place.name.clone()).or_insert(begun);
            begun.is_complete = place.is_complete;
            latest::save(sender, state).await?;
        }
        let mut actions = sender.send(&contents, |_| {}).await?;
        let own = self.own(sender, state.gzip(), place, &there);
        actions.extend(sender.send(&own, |_| {}).await?);
        if let Some(snapshot) = state.snapshots.get_mut(&place.name).filter(|snapshot| !snapshot.is_complete) {
            snapshot.is_complete = true;
            latest::save(sender, state).await?;
        }
        Ok(actions)
    }

    /// The contents that may not be stored yet.
    async fn contents(&self, state: &TargetState, place: &SnapshotName) -> Result<Vec<Planned>, Error> {
        let recheck = self.options.recheck;
        if place.is_complete && !recheck {
            return Ok(Vec::new());
        }
        let known = state.contents().filter(|_| !recheck).unwrap_or_default();
        let mut wanted: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, digest) in self.tree.files() {
            if !tree::is_kept_by_name(name) && !known.contains(digest.as_str()) {
                wanted.entry(digest).or_insert(name);
            }
        }
        // Listing is cheap compared to sending everything again, but not compared to sending a few changes.
        let is_unknown = recheck || place.is_begun || known.is_empty();
        let there = if is_unknown { snapshot::stored(self.run.target, self.run.jobs).await? } else { BTreeMap::new() };
        let gzip = state.gzip();
        let planned = wanted.into_iter().map(|(digest, name)| {
            let headers = Headers::for_content(name, gzip);
            Planned {
                name: name.to_owned(),
                place: sums::content_path(digest),
                headers,
                form: headers.fingerprint(digest),
                digest: digest.to_owned(),
                wave: 0,
                may_be_there: there.contains_key(digest),
            }
        });
        Ok(planned.collect())
    }

    /// The files in the snapshot's own folder that may not be there yet.
    fn own(&self, sender: &Sender<'_>, gzip: Gzip, place: &SnapshotName, there: &BTreeSet<String>) -> Vec<Planned> {
        let mut planned = Vec::new();
        for (name, digest) in latest::files(sender) {
            // A complete snapshot does not change, but a signature may be added to it.
            let is_trusted = place.is_complete && !self.options.recheck;
            let is_known = is_trusted && (name != SIGNATURE || there.contains(&name));
            if is_known || !tree::is_kept_by_name(&name) {
                continue;
            }
            let headers = Headers::for_snapshot(&name, gzip);
            let (form, may_be_there) = (headers.fingerprint(&digest), there.contains(&name));
            // `SHA256SUMS` marks the snapshot complete, and comes last.
            let wave = if name == SUMS { LAST } else { wave(&name, true) };
            let place = format!("{}/{name}", place.name);
            planned.push(Planned { name, place, headers, form, digest, wave, may_be_there });
        }
        planned
    }
}

/// Puts a snapshot into `latest/`, with the guarantees of [`publish()`](super::publish()): readers never find a reference to a
/// missing file. Every file that is sent has the digest that the snapshot's list has for it, and all of them are read before
/// the first one is sent. Files that are then no longer referenced are kept for `grace`.
///
/// # Errors
/// [`Error::Unpublished`], [`Error::NoSnapshot`], [`Error::Missing`] and [`Error::Altered`] before anything is changed,
/// and other variants of [`Error`]. After an interruption, run it again.
pub async fn rollback(
    run: UploadRun<'_>,
    name: &str,
    grace: Duration,
    signing: Option<&Signing>,
) -> Result<UploadResult, Error> {
    if snapshot::end_of_day(name).is_none() {
        return Err(Error::NoSnapshot(name.to_owned()));
    }
    refuse_unpublished(run.target).await?;
    run.in_turn(rollback_in_turn(run, name, grace, signing)).await
}

async fn rollback_in_turn(
    run: UploadRun<'_>,
    name: &str,
    grace: Duration,
    signing: Option<&Signing>,
) -> Result<UploadResult, Error> {
    let target = run.target;
    let mut state = TargetState::load(target).await?;
    let previous = state.latest.clone();
    let known = state.snapshots.get(name).map(|known| known.sums.clone());
    let kept = KeptSnapshot::read(target, name, known.as_deref()).await?;
    let source = TreeSource::Snapshot(&kept);
    let files = source.files().keys().chain(state.files.keys());
    target.refuse_links(files.map(String::as_str))?;
    latest::adopt(&mut state, source, target, run.notice).await?;
    let signature = kept.signature().await?;
    let sender = Sender { run, source, signature, large: Large::default(), doubts: false };
    if signing.is_some() {
        refuse_unmarked(source, name).await?;
    }
    recalls::refuse_lost(&sender, &state).await?;
    let plan = latest::plan(&sender, &state);
    sender.rehearse(&plan.planned).await?;
    let statement = statement::sign(&sender, &state, name, signing).await?;
    state.signed |= signing.is_some();
    if known.is_none() {
        let created = snapshot::created(target, name).await?.unwrap_or_else(now);
        let sums = tree::hex_digest(source.sums());
        let found = Snapshot { sums, created, is_complete: true };
        state.snapshots.insert(name.to_owned(), found);
    }
    let mut actions = latest::update(&sender, &mut state, name, plan, statement.as_ref()).await?;
    actions.extend(latest::remove_stale(&sender, &mut state, grace).await?);
    let signed = statement.map(|statement| statement.signed);
    Ok(UploadResult { snapshot: name.to_owned(), previous, signed, is_known: true, actions })
}

/// Refuses a snapshot from before its registry was signed: its indexes do not say that there is a statement.
async fn refuse_unmarked(source: TreeSource<'_>, name: &str) -> Result<(), Error> {
    if mark(&source.content(INDEX).await?).is_none() {
        return Ok(());
    }
    let message = format!("{name} is from before the registry was signed: clients would not ask for its statement");
    let remedy = "put back the earlier files of the registry, build them, and publish that";
    Err(Error::Target { message, remedy: remedy.to_owned() })
}
