//! Sends new and changed files, and removes stale ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::headers::Headers;
use super::order::{LAST, WAVES, wave};
use super::state::{File, Snapshot, State};
use super::{
    Action, Error, Event, LATEST, Notice, Options, Published, Revision, Target, Tree, What, now, seconds, snapshot,
    takeover, tree,
};
use acp_registry_core::entries::DISCOVERY;
use acp_registry_core::remedy::{self, Remedy};
use acp_registry_core::sums::{SIGNATURE, SIGNATURE_LIMIT, SUMS};

/// How often the state is saved while files are sent. Files sent since the last save are compared again after an
/// interruption.
const CHECKPOINT: Duration = Duration::from_secs(20);

/// Publishes a tree: its snapshot first, then `latest/`. Then removes files of `latest/` that have been stale for
/// longer than the grace period.
///
/// With `is_dry_run`, nothing is written, and the result lists what would be done.
///
/// # Errors
/// [`Error`]. Files that were sent before the error stay, and readers find no reference to a missing file. Running
/// again sends the rest.
pub async fn publish(
    tree: &Tree,
    target: &Target,
    options: &Options<'_>,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Published, Error> {
    target.refuse(tree)?;
    let work = Work { tree, target, options, is_dry_run, notice };
    if is_dry_run {
        return work.all().await;
    }
    target.take_turn(options.turns, notice).await?.during(work.all()).await
}

struct Work<'a> {
    tree: &'a Tree,
    target: &'a Target,
    options: &'a Options<'a>,
    is_dry_run: bool,
    notice: Notice<'a>,
}

/// The name of a snapshot, and whether it is already complete.
struct Place {
    name: String,
    is_complete: bool,
}

/// A file to be sent, unless the target already has it.
struct Planned {
    name: String,
    headers: Headers,
    form: String,
    wave: usize,
    /// Whether the target may already have the file. Then it is compared first, which can save sending it.
    may_be_there: bool,
}

impl Work<'_> {
    async fn all(&self) -> Result<Published, Error> {
        let mut state = State::load(self.target).await?;
        let files = self.tree.files().map(|(name, _)| name);
        self.target.refuse_links(files.chain(state.files.keys().map(String::as_str)))?;
        takeover::adopt(&mut state, self.tree, self.target, self.notice).await?;
        if self.options.recheck {
            state.doubt();
        }
        let sums = tree::digest_of(self.tree.sums());
        let place = self.place(&state, &sums).await?;
        let signature = self.signature(&place).await?;
        let mut actions = Vec::new();
        if !place.is_complete {
            let snapshot = Snapshot { sums, created: now(), is_complete: false };
            let snapshot = state.snapshots.entry(place.name.clone()).or_insert(snapshot);
            snapshot.is_complete = false;
            self.save(&state).await?;
        }
        actions.extend(self.send_snapshot(&place, signature.as_deref()).await?);
        if let Some(snapshot) = state.snapshots.get_mut(&place.name).filter(|snapshot| !snapshot.is_complete) {
            snapshot.is_complete = true;
            self.save(&state).await?;
        }
        actions.extend(self.send_latest(&mut state, &place, signature.as_deref()).await?);
        actions.extend(self.remove_stale(&mut state).await?);
        Ok(Published { snapshot: place.name, is_known: place.is_complete, actions })
    }

    async fn save(&self, state: &State) -> Result<(), Error> {
        if self.is_dry_run { Ok(()) } else { state.save(self.target).await }
    }

    /// Finds a complete or interrupted snapshot of this tree, or chooses an unused name.
    async fn place(&self, state: &State, sums: &str) -> Result<Place, Error> {
        let Options { revision, .. } = self.options;
        let latest = state.latest.as_ref().and_then(|name| Some((name, state.snapshots.get(name)?)));
        let is_wanted = |name: &str| match revision {
            Revision::Named(revision) => name.ends_with(&format!("-{revision}")),
            Revision::Known(_) | Revision::Content => true,
        };
        if let Some((name, _)) =
            latest.filter(|(name, found)| found.is_complete && found.sums == sums && is_wanted(name))
        {
            return Ok(Place { name: name.clone(), is_complete: true });
        }
        // An interrupted snapshot is finished, even if its name has an earlier day.
        let mut begun = state.snapshots.iter().filter(|(_, found)| !found.is_complete && found.sums == sums);
        if let Some((name, _)) = begun.find(|(name, _)| is_wanted(name)) {
            return Ok(Place { name: name.clone(), is_complete: false });
        }
        let name = snapshot::name(revision, sums, now());
        for name in [name.clone(), snapshot::other_name(&name, sums)] {
            match self.target.sums(&name).await? {
                Some(list) if list == self.tree.sums() => return Ok(Place { name, is_complete: true }),
                Some(_) => {}
                // The name belongs to an interrupted snapshot of another tree.
                None if state.snapshots.contains_key(&name) => {}
                None if !self.target.list(&name).await?.is_empty() => {}
                None => return Ok(Place { name, is_complete: false }),
            }
        }
        let place = self.target.shown(&name);
        let message = format!("the snapshot {place} already holds another tree");
        Err(Error::Target { message, remedy: Remedy::from("name another ").then(remedy::Action::Revision) })
    }

    /// The signature of `SHA256SUMS`: the one in the snapshot if it has one, else a new one.
    async fn signature(&self, place: &Place) -> Result<Option<Vec<u8>>, Error> {
        let Some(sign) = self.options.sign else { return Ok(None) };
        let known = self.target.get(&format!("{}/{SIGNATURE}", place.name), SIGNATURE_LIMIT).await?;
        if known.is_some() || self.is_dry_run {
            return Ok(Some(known.unwrap_or_default()));
        }
        sign(self.tree.sums()).map(Some).map_err(Error::Sign)
    }

    /// The names and digests of all files to publish: those of the tree, `SHA256SUMS` and the signature.
    fn files(&self, signature: Option<&[u8]>) -> Vec<(String, String)> {
        let files = self.tree.files().map(|(name, digest)| (name.to_owned(), digest.to_owned()));
        let lists = [(SUMS, Some(self.tree.sums())), (SIGNATURE, signature)];
        let lists = lists.into_iter().filter_map(|(name, bytes)| Some((name.to_owned(), tree::digest_of(bytes?))));
        files.chain(lists).collect()
    }

    async fn send_snapshot(&self, place: &Place, signature: Option<&[u8]>) -> Result<Vec<Action>, Error> {
        let there: BTreeSet<String> = self.target.list(&place.name).await?.into_iter().collect();
        let gzip = self.options.gzip_assets && self.target.has_headers();
        let mut planned = Vec::new();
        for (name, digest) in self.files(signature) {
            // A complete snapshot does not change, but a signature may be added to it.
            let is_trusted = place.is_complete && !self.options.recheck;
            if is_trusted && (name != SIGNATURE || there.contains(&name)) {
                continue;
            }
            let headers = Headers::of_snapshot(&name, gzip);
            let (form, may_be_there) = (headers.fingerprint(&digest), there.contains(&name));
            // `SHA256SUMS` marks the snapshot complete, and comes last.
            let wave = if name == SUMS { LAST } else { wave(&name, true) };
            planned.push(Planned { name, headers, form, wave, may_be_there });
        }
        self.send(&place.name, &planned, signature, |_| {}).await
    }

    async fn send_latest(
        &self,
        state: &mut State,
        place: &Place,
        signature: Option<&[u8]>,
    ) -> Result<Vec<Action>, Error> {
        let gzip = self.options.gzip_assets && self.target.has_headers();
        let files = self.files(signature);
        let mut actions = Vec::new();
        let mut planned = Vec::new();
        for (name, digest) in &files {
            let headers = Headers::of_latest(name, gzip);
            let form = headers.fingerprint(digest);
            let known = state.files.get(name);
            if known.is_some_and(|file| file.form.as_ref() == Some(&form)) {
                actions.push(Action { file: format!("{LATEST}/{name}"), what: What::Keep });
                continue;
            }
            let may_be_there = known.is_some_and(|file| file.form.is_none());
            let wave = wave(name, known.is_none());
            planned.push(Planned { name: name.clone(), headers, form, wave, may_be_there });
        }
        let wanted: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        for (name, file) in &mut state.files {
            if wanted.contains(name.as_str()) {
                file.stale_since = None;
            }
        }
        // Until they are sent, the content of these files is unknown.
        state.files.extend(planned.iter().map(|file| (file.name.clone(), File::default())));
        let is_done = state.latest.as_ref() == Some(&place.name);
        let has_stale =
            state.files.iter().any(|(name, file)| !wanted.contains(name.as_str()) && file.stale_since.is_none());
        if planned.is_empty() && is_done && !has_stale {
            return Ok(actions);
        }
        self.save(state).await?;
        // What no longer holds is removed before anything is sent: the signature of the previous `SHA256SUMS`, and the
        // document that leads clients to the previous entries in place of the index.
        for name in [SIGNATURE, DISCOVERY] {
            if !wanted.contains(name) && state.files.contains_key(name) {
                self.remove(&[name.to_owned()]).await?;
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
                self.save(&so_far).await?;
            }
        };
        let sending = self.send(LATEST, &planned, signature, on_sent);
        let sent_now = tokio::select! {
            done = sending => done?,
            failed = checkpoints => return failed,
        };
        actions.extend(sent_now);
        note(state, &sent);
        if self.is_dry_run {
            state.files.extend(
                planned
                    .iter()
                    .map(|file| (file.name.clone(), File { form: Some(file.form.clone()), stale_since: None })),
            );
        }
        let since = now();
        for (name, file) in &mut state.files {
            if !wanted.contains(name.as_str()) && file.stale_since.is_none() {
                file.stale_since = Some(since);
            }
        }
        state.latest = Some(place.name.clone());
        self.save(state).await?;
        Ok(actions)
    }

    /// Sends files in waves; see [`wave`].
    async fn send(
        &self,
        folder: &str,
        planned: &[Planned],
        signature: Option<&[u8]>,
        on_sent: impl Fn(&Planned),
    ) -> Result<Vec<Action>, Error> {
        (self.notice)(Event::Planned(planned.len()));
        let mut actions = Vec::new();
        for wave in 0..WAVES {
            let files = planned.iter().filter(|file| file.wave == wave);
            let one = async |file: &Planned| {
                let name = format!("{folder}/{}", file.name);
                let what = self.send_one(&name, file, signature).await?;
                on_sent(file);
                (self.notice)(Event::Done);
                Ok::<Action, Error>(Action { file: name, what })
            };
            let done: Vec<Action> =
                stream::iter(files.map(one)).buffer_unordered(self.options.jobs.max(1)).try_collect().await?;
            actions.extend(done);
        }
        Ok(actions)
    }

    async fn send_one(&self, name: &str, file: &Planned, signature: Option<&[u8]>) -> Result<What, Error> {
        let bytes = match file.name.as_str() {
            SUMS => self.tree.sums().to_vec(),
            SIGNATURE => signature.unwrap_or_default().to_vec(),
            other => self.tree.content(other)?,
        };
        let bytes = file.headers.encode(bytes);
        if file.may_be_there && self.target.holds(name, &bytes, &file.headers, &file.form).await? {
            return Ok(What::Keep);
        }
        let length = bytes.len() as u64;
        if !self.is_dry_run {
            self.target.put(name, bytes, &file.headers, &file.form).await?;
        }
        Ok(What::Send(length))
    }

    /// Removes the files of `latest/` whose grace period is over.
    async fn remove_stale(&self, state: &mut State) -> Result<Vec<Action>, Error> {
        let (grace, now) = (seconds(self.options.grace), now());
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
            self.save(state).await?;
            self.remove(&over).await?;
            state.files.retain(|name, _| over.binary_search(name).is_err());
            self.save(state).await?;
        }
        Ok(actions)
    }

    async fn remove(&self, names: &[String]) -> Result<(), Error> {
        if self.is_dry_run {
            return Ok(());
        }
        let one = async |name: &String| self.target.remove(&format!("{LATEST}/{name}")).await;
        stream::iter(names.iter().map(one)).buffer_unordered(self.options.jobs.max(1)).try_collect().await
    }
}

fn note(state: &mut State, sent: &Mutex<BTreeMap<String, String>>) {
    for (name, form) in sent.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        state.files.insert(name.clone(), File { form: Some(form.clone()), stale_since: None });
    }
}
