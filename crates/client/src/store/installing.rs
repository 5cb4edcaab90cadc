//! From a plan to an installed version.

use std::path::{Path, PathBuf};
use std::{fs, io};

use acp_registry_host::fs::{PathError, make_all, rename, sync_below, write_new};
use acp_registry_host::lock::{self, Lock};
use acp_registry_host::process::{Environment, Scratch};
use acp_registry_plan::manifest::{self, AgentId};
use tokio::task::spawn_blocking;

use super::directory::{ASIDE, Current, FILES, IN_USE, NEW, Waiting};
use super::{Damage, Error, LostVersion, PinChange, Receipt, Store, Version, VersionChange, integrity, leftovers};
use crate::install::{
    self, DigestSource, Expected, Installer, Kind, Placed, Progress, Proof, Source, cancellable, is_same_package,
};
use crate::provenance::Provenance;
use crate::resolve::{OfferOrigin, Plan};

/// An order to install.
pub struct InstallOrder<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The installer; its platform must be that of the plan.
    pub installer: &'a Installer,
    /// What happens to the agent's pin.
    pub pin: PinChange,
    /// Whether the version becomes the current one.
    pub make_current: MakeCurrent,
    /// Whether a version is installed again that seems undamaged: it does not start, perhaps because a file has changed
    /// without changing its size.
    pub again: bool,
    /// Receives the progress.
    pub progress: &'a (dyn Fn(Progress) + Send + Sync),
    /// Is called with the process that is waited for.
    pub waiting: &'a (dyn Fn(&str) + Send + Sync),
}

/// Whether a version that is installed becomes the one that is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MakeCurrent {
    /// It does.
    Always,
    /// Only if no other version is started.
    IfNone,
}

/// A version that is installed now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallOutcome {
    /// The version.
    pub version: Version,
    /// Whether it had been installed before.
    pub was_there: bool,
    /// Whether it had been installed before, and is started by another interpreter from now on.
    pub is_repaired: bool,
    /// The previous current version, if it is another one.
    pub replaces: Option<String>,
}

impl Store {
    /// Installs what a plan names, unless it is there already, and makes it the version that is started, if the order
    /// says so.
    ///
    /// Waits for other processes that change the same agent. When the future is dropped, nothing has changed, or it is done.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub async fn install(&self, order: &InstallOrder<'_>) -> Result<InstallOutcome, Error> {
        let plan = order.plan;
        let lock = self.lock(&plan.id, &format!("installing {} {}", plan.id, plan.version), order.waiting).await?;
        let agent = self.directory(&plan.id);
        Current::refuse_directory(&agent)?;
        let mut first = First { store: self, agent: &agent, is_over: agent.exists(), lock: Some(lock) };
        // A process that has uninstalled the last agent removes the directory above.
        make_all(&agent).map_err(PathError::at(&agent))?;
        let done = self.install_locked(order, &agent).await?;
        first.is_over = true;
        Ok(done)
    }

    /// Whether files of the version that a plan would install may have changed, and are not only missing.
    pub(crate) fn has_other_bytes(&self, plan: &Plan) -> bool {
        has_other_bytes(&self.place(&plan.id, &plan.folder()))
    }

    async fn install_locked(&self, order: &InstallOrder<'_>, agent: &Path) -> Result<InstallOutcome, Error> {
        let plan = order.plan;
        self.refuse_changed(plan)?;
        let place = agent.join(plan.folder());
        let there = if order.again { None } else { undamaged(&place).await };
        let was_there = there.is_some();
        // What is only installed again stays that of its registry, whichever index is at hand.
        let registry = self.revocations.as_ref().filter(|_| is_of_index(plan));
        let (mut is_repaired, mut leftover) = (false, None);
        let version = if let Some(mut version) = there {
            is_repaired = version.follow_interpreter(&order.installer.environment);
            let is_moved = version.receipt.set_registry(registry);
            if version.receipt.follow(plan) || is_repaired || is_moved {
                version.write_receipt()?;
            }
            version
        } else {
            self.refuse_instead_of_lost(plan)?;
            leftovers::clear(agent)?;
            let (version, work) = self.install_new(order, agent, &place).await?;
            leftover = Some(work);
            version
        };
        let before = Current::read(agent).ok().flatten();
        let is_there = |before: &Current| matches!(Version::read(&agent.join(&before.folder)), Ok(Some(_)));
        if order.make_current == MakeCurrent::IfNone && before.as_ref().is_some_and(is_there) {
            clean(leftover).await;
            return Ok(InstallOutcome { version, was_there, is_repaired, replaces: None });
        }
        let is_pinned = match order.pin {
            PinChange::Keep => before.as_ref().is_some_and(|before| before.is_pinned),
            PinChange::Set => true,
            PinChange::Clear => false,
        };
        let current = Current::new(plan.folder(), is_pinned);
        if before.as_ref() != Some(&current) {
            current.write(agent)?;
        }
        clean(leftover).await;
        let earlier = before.map(|before| before.folder).filter(|folder| *folder != current.folder);
        let replaces = earlier.and_then(|folder| Some(Version::read(&agent.join(folder)).ok()??.receipt.version));
        Ok(InstallOutcome { version, was_there, is_repaired, replaces })
    }

    /// Installs a version. Also returns the directory of the work, which has no use any more. From the moment that the version
    /// has its receipt, nothing waits until it is the current one.
    async fn install_new(
        &self,
        order: &InstallOrder<'_>,
        agent: &Path,
        place: &Path,
    ) -> Result<(Version, Scratch), Error> {
        let plan = order.plan;
        // Before anything is fetched.
        refuse_foreign_in(place)?;
        // Its processes read the old files, and the mark that they are in use would go with these.
        if lock::is_used(&place.join(IN_USE)) {
            return Err(Error::Running { id: plan.id.to_string(), processes: Vec::new() });
        }
        let new = tempfile::Builder::new().prefix(NEW).tempdir_in(agent).map_err(PathError::at(agent))?;
        // Packages have tens of thousands of files, some of which cannot be removed at first.
        let new = Scratch::adopt(&new.keep());
        let temporary = make(new.path().join("tmp"))?;
        // By this path, processes are found again.
        let temporary = temporary.canonicalize().map_err(PathError::at(&temporary))?;
        let known = self.known(plan)?;
        let named_by = Version::read(place).ok().flatten().map(|version| version.receipt.named_by);
        let is_changed = has_other_bytes(place);
        // An environment of Python cannot be moved, so that packages are installed where they stay. Without a receipt, they do
        // not count as a version.
        let (target, exchange) = match plan.kind() {
            Kind::Binary => (make(new.path().join("version"))?, None),
            Kind::Npx | Kind::Uvx => {
                let exchange = Exchange::begin(place, new.path())?;
                (make(place.to_owned())?, Some(exchange))
            }
        };
        let files = make(target.join(FILES))?;
        let failed = |mut error| {
            // The version of another package says nothing of the agent's.
            if let install::Error::HeldBack(held) = &mut error
                && !["@", "=="].iter().any(|sign| held.package.ends_with(&format!("{sign}{}", plan.version)))
            {
                held.newest = None;
            }
            Error::Install { id: plan.id.to_string(), error }
        };
        let installer = if is_changed { order.installer.after_change(plan.kind()) } else { None };
        let installer = installer.as_ref().unwrap_or(order.installer);
        let placed = installer.place(&plan.source, &plan.expected, &files, &temporary, order.progress).await;
        let mut placed = placed.map_err(failed)?;
        refuse_other_bytes(&known, plan, &mut placed.proof)?;
        let mut receipt = describe(plan, placed, target.clone()).await?;
        let kept = known.iter().filter(|_| !is_of_index(plan)).find_map(|known| known.revocations.clone());
        receipt.revocations = kept.or_else(|| self.revocations.clone());
        receipt.named_by = named_by.unwrap_or_default();
        let exchange = if let Some(exchange) = exchange {
            exchange
        } else {
            // Up to now, the old files could be used.
            let exchange = Exchange::begin(place, new.path())?;
            rename(&target, place)?;
            exchange
        };
        let version = Version { directory: place.to_owned(), receipt };
        // The receipt says that the files are there, after a power failure too.
        let prepared = version.receipt.prepare(place)?;
        let synced = place.to_owned();
        spawn_blocking(move || sync_below(&synced)).await.map_err(io::Error::other).map_err(PathError::at(place))??;
        prepared.put()?;
        exchange.finish();
        Ok((version, new))
    }

    /// Whether the version of an agent that is started is not in its place: another process is installing it again, or was
    /// killed when it did.
    #[must_use]
    pub fn is_unsettled(&self, id: &AgentId) -> bool {
        let agent = self.directory(id);
        let current = Current::read(&agent).ok().flatten();
        current.is_some_and(|current| matches!(Version::read(&agent.join(current.folder)), Ok(None)))
    }

    /// Waits for other processes that change an agent, and puts back a version whose repair was interrupted.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub async fn settle(&self, id: &AgentId, waiting: &Waiting<'_>) -> Result<(), Error> {
        let _lock = self.lock(id, &format!("putting {id} in order"), waiting).await?;
        let agent = self.directory(id);
        if agent.is_dir() {
            leftovers::clear(&agent)?;
        }
        Ok(())
    }

    /// Keeps an agent at its current version, or lets it be updated again.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub async fn set_pin(&self, id: &AgentId, is_pinned: bool, waiting: &Waiting<'_>) -> Result<(), Error> {
        let work = if is_pinned { "pinning" } else { "unpinning" };
        let _lock = self.lock(id, &format!("{work} {id}"), waiting).await?;
        let agent = self.directory(id);
        let current = Current::read(&agent)?.ok_or_else(|| self.not_installed(id))?;
        Current::new(current.folder, is_pinned).write(&agent)
    }

    /// Updates the receipt of an agent to the interpreter that starts it now. Returns whether it has changed.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub async fn follow_interpreter(
        &self,
        id: &AgentId,
        environment: &Environment,
        waiting: &Waiting<'_>,
    ) -> Result<bool, Error> {
        let _lock = self.lock(id, &format!("repairing {id}"), waiting).await?;
        let mut version = self.agent(id)?.ok_or_else(|| self.not_installed(id))?.current;
        let is_other = version.follow_interpreter(environment);
        if is_other {
            version.write_receipt()?;
        }
        Ok(is_other)
    }

    /// Records that an agent is from the registry of this store from now on.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub(crate) async fn take_over(&self, id: &AgentId, waiting: &Waiting<'_>) -> Result<(), Error> {
        let _lock = self.lock(id, &format!("noting the registry of {id}"), waiting).await?;
        let mut version = self.agent(id)?.ok_or_else(|| self.not_installed(id))?.current;
        if version.receipt.set_registry(self.revocations.as_ref()) { version.write_receipt() } else { Ok(()) }
    }

    /// Records whether an installed version has answered, unless it was removed meanwhile.
    ///
    /// # Errors
    /// [`Error`]; the receipt has not changed then.
    pub(crate) async fn note_answer(
        &self,
        version: &mut Version,
        answers: bool,
        waiting: &Waiting<'_>,
    ) -> Result<(), Error> {
        let id = version.receipt.id.clone();
        let lock = self.lock(&id, &format!("checking {id}"), waiting).await?;
        // Another process may also have changed it.
        let Some(mut there) = Version::read(&version.directory)? else {
            if !self.directory(&id).exists() {
                lock.remove();
            }
            return Ok(());
        };
        there.receipt.answers = Some(answers);
        there.write_receipt()?;
        version.receipt.answers = Some(answers);
        Ok(())
    }

    /// Records that settings of a client name the program of a version, which garbage collection keeps from now on; see
    /// [`Receipt::named_by`]. Returns whether that is new.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] if the version is gone. With other errors, garbage collection may remove it when it is not
    /// current.
    pub async fn keep_for(&self, version: &Version, client: &str, wait: &Waiting<'_>) -> Result<bool, Error> {
        self.set_named(version, client, true, wait).await
    }

    /// Records that settings of a client no longer name the program of a version. Returns whether that is new.
    ///
    /// # Errors
    /// [`Error`]; garbage collection keeps the version then.
    pub async fn release_from(&self, version: &Version, client: &str, wait: &Waiting<'_>) -> Result<bool, Error> {
        self.set_named(version, client, false, wait).await
    }

    async fn set_named(
        &self,
        version: &Version,
        client: &str,
        is_named: bool,
        wait: &Waiting<'_>,
    ) -> Result<bool, Error> {
        // It may have been removed since it was read.
        if Version::read(&version.directory)?.is_some_and(|there| there.receipt.named_by.contains(client) == is_named) {
            return Ok(false);
        }
        let id = &version.receipt.id;
        let lock = self.lock(id, &format!("noting which settings name {id}"), wait).await?;
        let Some(mut version) = Version::read(&version.directory)? else {
            if !self.directory(id).exists() {
                lock.remove();
                self.forget_empty();
            }
            return Err(self.not_installed(id));
        };
        let clients = &mut version.receipt.named_by;
        let is_new = if is_named { clients.insert(client.to_owned()) } else { clients.remove(client) };
        version.write_receipt()?;
        Ok(is_new)
    }

    /// Removes the directories above agents once there are none.
    pub(super) fn forget_empty(&self) {
        // Only an empty directory is removed, and it need not be.
        let _ = fs::remove_dir(self.agents()).and_then(|()| fs::remove_dir(self.root()));
    }
}

/// The first installation of an agent, which leaves nothing when it fails or is interrupted.
struct First<'a> {
    store: &'a Store,
    agent: &'a Path,
    is_over: bool,
    lock: Option<Lock>,
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        if !self.is_over && fs::remove_dir(self.agent).is_ok() {
            if let Some(lock) = self.lock.take() {
                lock.remove();
            }
            self.store.forget_empty();
        }
    }
}

/// A version that takes a place. Unless it is finished, it goes, and the old files come back: their receipt has the digests.
struct Exchange<'a> {
    place: &'a Path,
    /// A directory that is removed afterwards.
    work: PathBuf,
    kept: Option<PathBuf>,
    is_finished: bool,
}

impl<'a> Exchange<'a> {
    /// Moves the old files aside.
    fn begin(place: &'a Path, work: &Path) -> Result<Self, Error> {
        refuse_foreign_in(place)?;
        let is_there = place.symlink_metadata().is_ok();
        // By the name of its place, it is put back if this process is killed.
        let kept = make(work.join(ASIDE))?.join(place.file_name().unwrap_or_default());
        if is_there {
            rename(place, &kept)?;
        }
        Ok(Self { place, work: work.to_owned(), kept: is_there.then_some(kept), is_finished: false })
    }

    fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        // A package manager that has just ended may have left what cannot be removed yet: it does not keep the place.
        if rename(self.place, &self.work.join("failed")).is_err() {
            let _ = Scratch::adopt(self.place).remove();
        }
        // What cannot come back is repaired by the next installation.
        let _ = self.kept.as_ref().map(|kept| rename(kept, self.place));
    }
}

/// Refuses to replace what this program did not make.
fn refuse_foreign_in(place: &Path) -> Result<(), Error> {
    let id = || place.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    leftovers::foreign_in_place(place).map_or(Ok(()), |file| Err(Error::KeepsPlace { id: id(), file }))
}

/// The version in a directory, if it is there and what was installed.
async fn undamaged(place: &Path) -> Option<Version> {
    let version = Version::read(place).ok().flatten()?;
    let check = version.clone();
    let is_intact = spawn_blocking(move || check.is_intact()).await;
    is_intact.unwrap_or_default().then_some(version)
}

/// Whether files of a version that is installed again may have changed, and are not only missing.
fn has_other_bytes(place: &Path) -> bool {
    match Version::read(place) {
        Ok(None) => false,
        Ok(Some(version)) => version.damages().map_or(true, |damages| {
            damages.is_empty() || damages.iter().any(|damage| !matches!(damage, Damage::Missing(_)))
        }),
        Err(_) => true,
    }
}

/// Examines what was installed, and writes everything but the receipt.
async fn describe(plan: &Plan, placed: Placed, directory: PathBuf) -> Result<Receipt, Error> {
    let plan = plan.clone();
    let work = cancellable(move |is_cancelled| {
        // Install scripts have run beside it.
        write_new(&directory.join(IN_USE), b"")?;
        let size = integrity::record(&directory, &placed.program, plan.kind(), is_cancelled)?;
        let program = placed.program.clone();
        Receipt::new(&plan, placed, &directory, size).map_err(PathError::at(&program))
    });
    let unfinished = |error| PathError { path: PathBuf::new(), error };
    Ok(work.await.map_err(unfinished)??)
}

/// Removes what is left of the work. The next run would remove it as well.
async fn clean(leftover: Option<Scratch>) {
    if let Some(leftover) = leftover {
        let _ = spawn_blocking(move || leftover.remove()).await;
    }
}

fn make(directory: PathBuf) -> Result<PathBuf, Error> {
    fs::create_dir(&directory).map_err(PathError::at(&directory))?;
    Ok(directory)
}

impl Store {
    /// Refuses a plan that gives other bytes to a version that has a receipt, current or not.
    ///
    /// # Errors
    /// [`Error::Changed`] when the plan differs; other errors when the store cannot be read.
    pub fn refuse_changed(&self, plan: &Plan) -> Result<(), Error> {
        let known = self.known(plan)?;
        let of_kind: Vec<&Receipt> = known.iter().filter(|known| known.source.kind() == plan.kind()).collect();
        let mut change = of_kind.iter().find_map(|known| Some(with_spelling(known, plan, announced(known, plan)?)));
        if of_kind.is_empty() && !plan.is_kind_wanted && plan.origin != OfferOrigin::Lock {
            let other = known.first().map(|known| known.source.kind());
            change = change.or_else(|| Some(VersionChange::Kind { known: other?, now: plan.kind() }));
        }
        change.map_or(Ok(()), |change| Err(changed(plan, change)))
    }

    /// Refuses a plan without a list of packages for a version that was installed by one: its packages would be others.
    ///
    /// # Errors
    /// [`Error::Changed`]; other errors when the store cannot be read.
    pub(crate) fn refuse_lost_list(&self, plan: &Plan) -> Result<(), Error> {
        let is_free = plan.kind() == Kind::Binary || !is_of_index(plan) || plan.expected.packages.is_some();
        let has_list = |there: &Version| {
            let Receipt { version, source, platform, .. } = &there.receipt;
            let same = manifest::Version::is_same(version, &plan.version) && source.kind() == plan.kind();
            // The list is a part of the directory's name.
            let mut bare = plan.clone();
            (bare.version, bare.source, bare.platform) = (version.clone(), source.clone(), *platform);
            bare.expected = Expected::default();
            same && !there.receipt.needs_lock_file() && bare.folder() != there.folder()
        };
        let is_lost = !is_free && self.versions(&plan.id)?.iter().any(has_list);
        if is_lost { Err(changed(plan, VersionChange::NoList)) } else { Ok(()) }
    }

    /// Refuses a plan that gives other bytes to the version that is started, whose receipt is lost. All that is known of it is
    /// the name of its directory, which says where its bytes came from. A kind of distribution that was named is wanted, and a
    /// lock file has digests.
    fn refuse_instead_of_lost(&self, plan: &Plan) -> Result<(), Error> {
        let is_other = |lost: &LostVersion| {
            manifest::Version::is_same(&lost.version, &plan.version) && lost.folder != plan.folder()
        };
        let is_free = plan.is_kind_wanted || plan.origin == OfferOrigin::Lock;
        let lost = self.lost_version(&plan.id).filter(|lost| !is_free && is_other(lost));
        lost.map_or(Ok(()), |_| Err(changed(plan, VersionChange::Lost)))
    }

    /// What the version that is started has proven of its publisher, or the last of the others if none is started.
    ///
    /// # Errors
    /// [`Error`] when the store cannot be read.
    pub(crate) fn known_provenance(&self, id: &AgentId) -> Result<Option<Provenance>, Error> {
        if let Ok(Some(agent)) = self.agent(id) {
            return Ok(agent.current.receipt.provenance);
        }
        let receipts = self.versions(id)?.into_iter().map(|version| version.receipt);
        Ok(receipts.max_by(|a, b| a.installed_at.cmp(&b.installed_at)).and_then(|last| last.provenance))
    }

    /// The receipts of the version and platform of a plan.
    pub(super) fn known(&self, plan: &Plan) -> Result<Vec<Receipt>, Error> {
        let versions = self.versions(&plan.id)?.into_iter().map(|version| version.receipt);
        let is_same = |known: &Receipt| {
            manifest::Version::is_same(&known.version, &plan.version) && known.platform == plan.platform
        };
        Ok(versions.filter(is_same).collect())
    }
}

/// Refuses received bytes that differ from those of a receipt of the same version. Equal bytes keep their proof.
pub(super) fn refuse_other_bytes(known: &[Receipt], plan: &Plan, proof: &mut Proof) -> Result<(), Error> {
    for known in known.iter().filter(|known| known.source.kind() == plan.kind()) {
        if let Some(change) = differing_bytes(&known.proof, proof) {
            return Err(changed(plan, with_spelling(known, plan, change)));
        }
        if proof.verified == DigestSource::None && known.proof.sha256.is_some() {
            proof.verified = known.proof.verified;
        }
    }
    Ok(())
}

fn changed(plan: &Plan, change: VersionChange) -> Error {
    Error::Changed { id: plan.id.to_string(), version: plan.version.clone(), change }
}

/// A change that names both versions, where they are spelled differently.
fn with_spelling(known: &Receipt, plan: &Plan, change: VersionChange) -> VersionChange {
    if known.version == plan.version {
        return change;
    }
    VersionChange::Spelling { known: known.version.clone(), change: Box::new(change) }
}

/// Whether a plan comes from the registry of the index, and not from what is installed or from a lock file.
fn is_of_index(plan: &Plan) -> bool {
    matches!(plan.origin, OfferOrigin::Index | OfferOrigin::Preview | OfferOrigin::Earlier)
}

/// How a plan differs from a receipt of the same kind, before anything is fetched.
fn announced(known: &Receipt, plan: &Plan) -> Option<VersionChange> {
    let target = match &plan.source {
        Source::Binary(target) => target,
        Source::Npx(package) | Source::Uvx(package) => {
            let (known, now) = (&known.source.package()?.package, &package.package);
            let place = || VersionChange::Place { what: "package", known: known.clone(), now: now.clone() };
            return (!is_same_package(plan.kind(), known, now)).then(place);
        }
    };
    let digest = known.proof.sha256?;
    let claims: Vec<&String> = [target.sha256.as_ref(), plan.expected.sha256.as_ref()].into_iter().flatten().collect();
    if let Some(now) = claims.iter().find(|claim| digest != *claim.as_str()) {
        return Some(VersionChange::Digest { known: digest.to_string(), now: (*now).clone() });
    }
    if !claims.is_empty() {
        return None;
    }
    if is_of_index(plan) && known.proof.verified == DigestSource::Manifest {
        return Some(VersionChange::NoDigest { known: digest.to_string() });
    }
    let known = known.source.target()?;
    let places = [("address", &known.archive, &target.archive), ("cmd", &known.cmd, &target.cmd)];
    let (what, known, now) = places.into_iter().find(|(_, known, now)| known != now)?;
    Some(VersionChange::Place { what, known: known.clone(), now: now.clone() })
}

/// How received bytes differ from those of a receipt of the same kind.
fn differing_bytes(known: &Proof, now: &Proof) -> Option<VersionChange> {
    let hex = |proof: &Proof| proof.sha256.map(|digest| digest.to_string());
    let integrity = (known.integrity.clone(), now.integrity.clone());
    [("SHA-256", (hex(known), hex(now))), ("integrity value", integrity)].into_iter().find_map(
        |(what, (known, now))| {
            let (known, now) = (known?, now?);
            (!known.eq_ignore_ascii_case(&now)).then_some(VersionChange::Bytes { what, known, now })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrity_values_are_compared_where_both_are_known() {
        let proof = |integrity: Option<&str>| Proof {
            verified: DigestSource::Npm,
            sha256: None,
            integrity: integrity.map(ToOwned::to_owned),
        };
        assert_eq!(differing_bytes(&proof(None), &proof(Some("sha512-x"))), None);
        assert_eq!(differing_bytes(&proof(Some("sha512-x")), &proof(Some("sha512-x"))), None);
        let change = differing_bytes(&proof(Some("sha512-x")), &proof(Some("sha512-y"))).unwrap();
        assert_eq!(
            change.to_string(),
            "its integrity value was `sha512-x` when it was installed, and is `sha512-y` as it comes now"
        );
    }
}
