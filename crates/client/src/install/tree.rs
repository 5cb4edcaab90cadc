//! The tree of a closure of npm, `node_modules`, made without npm from packages that are kept unpacked.
//!
//! The layout, the modes and the links to commands are those of `npm ci` with the same list. npm itself installs what this
//! cannot: see [`Stop::ByNpm`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use acp_registry_archive::{Excess, Limits, Machine, Program};
use acp_registry_host::abilities::lacks_glibc;
use acp_registry_host::fs::{FileSharing, PathError, open_file, refuse_cancelled};
use acp_registry_plan::closure::{NodeMachine, NpmLock, NpmLockPackage, sha512};
use acp_registry_plan::manifest::Platform;
use acp_registry_sources::Connection;
use acp_registry_sources::npm::{self, commands};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use memchr::memmem;
use rayon::prelude::*;
use ring::digest::{Context, SHA512};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use url::Url;

use super::cache::{FileState, mode};
use super::package_store::{self, Digest, PackageStore, Stop, StoredPackage, TreeChanges};
use super::scripts::{self, Approval};
use super::{Error, InstallJob, Installer, Progress, cancellable};

/// How many packages are fetched at once.
const AT_ONCE: usize = 32;

/// npm's record of a tree, below `node_modules`.
const NOTES: &str = ".package-lock.json";

/// The size of the largest file that is searched for the name of its directory, in bytes. Programs that scripts fetch are larger.
const SEARCHED: u64 = 256 << 20;

/// How often the tree is made again because a stored package has changed.
const ATTEMPTS: usize = 3;

/// Connects to the package registry of npm that a person has configured.
#[derive(Clone)]
pub struct NpmConnection(Arc<dyn Fn() -> Option<Arc<Connection>> + Send + Sync>);

impl NpmConnection {
    /// `open` may take a while, and is called when an archive is needed. `None` where no registry is known.
    pub fn new(open: impl Fn() -> Option<Arc<Connection>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }
}

impl std::fmt::Debug for NpmConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NpmConnection")
    }
}

/// Why npm is needed.
const NO_CACHE: &str = "packages are not kept";
pub(super) const SCRIPTS: &str = "its packages have install scripts";

fn by_npm(reason: &str) -> Stop {
    Stop::ByNpm(reason.to_owned())
}

/// One package in the tree.
struct TreePackage {
    path: String,
    /// The digest of its archive; `None` where it is in the archive of a package above it.
    digest: Option<Digest>,
    /// Its commands, with their files below its folder.
    commands: Vec<(String, String)>,
}

/// A tree that is being made.
struct Tree {
    directory: PathBuf,
    /// By path.
    packages: Vec<TreePackage>,
    stored: HashMap<Digest, StoredPackage>,
    sharing: FileSharing,
    limits: Limits,
}

/// What is left to do for the install scripts of a tree that is made.
pub(super) enum Scripts {
    /// There are none.
    None,
    /// What they made before was put in place.
    Done,
    /// npm is configured to run none.
    Ignored,
    /// npm has to run them.
    ToRun(Box<ScriptsToRun>),
}

/// A tree before its install scripts run.
pub(super) struct ScriptsToRun {
    store: PathBuf,
    tree: Tree,
    /// A digest of what the scripts depend on.
    digest: Digest,
    before: TreeState,
}

/// What is below `node_modules`.
type TreeState = BTreeMap<PathBuf, ItemState>;

#[derive(Debug, PartialEq, Eq)]
enum ItemState {
    File(FileState),
    /// With its permission bits.
    Directory(u32),
    /// Where it leads.
    Link(PathBuf),
    Special,
}

/// What a list has for this machine.
struct TreeRequest {
    packages: Vec<TreePackage>,
    /// Names and versions of the archives.
    archives: BTreeMap<Digest, (String, String)>,
    /// Whether install scripts run, as far as the registry says.
    has_scripts: bool,
    /// A digest of what the scripts depend on.
    scripts: Digest,
}

impl TreeRequest {
    fn new(installer: &Installer, list: &str, approval: Option<&Approval>) -> Result<Self, Stop> {
        let platform = Platform::host().filter(|_| cfg!(unix)).ok_or_else(|| by_npm("npm is to do it"))?;
        let lock: NpmLock = serde_json::from_str(list).map_err(|error| Stop::ByNpm(error.to_string()))?;
        let node = installer.environment.find("node");
        let machine = machine(platform, node.as_deref());
        let needed = lock.needed(&machine);
        let needed = needed.ok_or_else(|| by_npm("a package is not for this machine"))?;
        let runs = |path: &str| approval.is_none_or(|approval| approval.allows(path));
        let has_scripts = needed.iter().any(|(path, package)| package.has_install_script && runs(path));
        let mut archives = BTreeMap::new();
        let mut packages = Vec::with_capacity(needed.len());
        for (path, package) in &needed {
            let name = package.name(path);
            let digest = package.integrity.as_deref().and_then(sha512);
            let known = digest.zip(package.version.as_deref());
            archives.extend(known.map(|(digest, version)| (digest, (name.to_owned(), version.to_owned()))));
            let commands = commands(name, package.bin.as_deref());
            packages.push(TreePackage { path: (*path).to_owned(), digest, commands });
        }
        let scripts = scripts_digest(installer, (list, approval), &machine, node.as_deref());
        Ok(Self { packages, archives, has_scripts, scripts })
    }
}

/// Whether all that the tree of a list needs in a directory is kept, so that it is made without npm and without a network.
pub(super) fn is_at_hand(installer: &Installer, list: &str, approval: Option<&Approval>, directory: &Path) -> bool {
    let Some(cache) = installer.open_cache().filter(|_| installer.npm_connection.is_ok()) else { return false };
    let Ok(request) = TreeRequest::new(installer, list, approval) else { return false };
    let store = PackageStore { directory: &cache.packages };
    let is_intact = |stored: Option<StoredPackage>| stored.is_some_and(|stored| stored.is_intact());
    request.archives.par_iter().all(|(digest, _)| is_intact(store.find_package(digest)))
        && (!request.has_scripts || is_intact(store.find_made(&request.scripts, directory)))
}

/// Looks whether npm would be needed for the tree of a list in a directory.
///
/// # Errors
/// Why it is.
pub(super) async fn refuse_npm(
    installer: &Installer,
    list: &str,
    approval: Option<&Approval>,
    directory: &Path,
) -> Result<(), Stop> {
    let connection = installer.npm_connection.as_ref().map_err(|reason| by_npm(reason))?;
    let cache = installer.open_cache().ok_or_else(|| by_npm(NO_CACHE))?;
    let request = TreeRequest::new(installer, list, approval)?;
    let store = PackageStore { directory: &cache.packages };
    if request.has_scripts
        && !scripts::are_ignored(installer).unwrap_or(false)
        && store.find_made(&request.scripts, directory).is_none()
    {
        return Err(by_npm(SCRIPTS));
    }
    if request.archives.keys().any(|digest| store.find_package(digest).is_none()) {
        connect(connection).await?;
    }
    Ok(())
}

/// Connects to the registry of npm.
async fn connect(connection: &NpmConnection) -> Result<(Arc<Connection>, npm::Registry), Stop> {
    let open = connection.0.clone();
    let connection = spawn_blocking(move || open()).await.ok().flatten();
    let connection = connection.ok_or_else(|| by_npm("npm is to fetch them"))?;
    let unknown = || Stop::ByNpm(connection.unknown.iter().map(ToString::to_string).collect());
    let registry = connection.sources.npm.clone().ok_or_else(unknown)?;
    Ok((connection, registry))
}

/// Makes the tree of a list. `are_ignored` asks npm whether it runs no install scripts, which takes as long as a download.
pub(super) async fn install(
    work: &InstallJob<'_>,
    list: &str,
    approval: Option<&Approval>,
    are_ignored: impl Future<Output = bool>,
) -> Result<Scripts, Stop> {
    let installer = work.installer;
    let connection = installer.npm_connection.as_ref().map_err(|reason| by_npm(reason))?;
    let cache = installer.open_cache().ok_or_else(|| by_npm(NO_CACHE))?;
    let TreeRequest { packages, archives: wanted, mut has_scripts, scripts: digest } =
        TreeRequest::new(installer, list, approval)?;
    let store = PackageStore { directory: &cache.packages };
    let mut kept =
        if has_scripts && !installer.distrusts_packages { store.find_made(&digest, work.directory) } else { None };
    // Scripts write into packages, also into those of others.
    let sharing = FileSharing::new(has_scripts && kept.is_none());
    let directory = work.directory.to_owned();
    let mut tree = Tree { directory, packages, stored: HashMap::new(), sharing, limits: installer.limits };
    // The files of an installation that is made again have changed, and may be those of the store.
    let mut stale = BTreeSet::new();
    if installer.distrusts_packages {
        stale.extend(wanted.keys().copied());
    } else {
        tree.stored =
            wanted.par_iter().filter_map(|(digest, _)| Some((*digest, store.find_package(digest)?))).collect();
    }
    let mut are_ignored = Some(are_ignored).filter(|_| has_scripts && kept.is_none());
    let mut ignores = false;
    for _ in 0..ATTEMPTS {
        let missing: Vec<_> = wanted.iter().filter(|(digest, _)| !tree.stored.contains_key(*digest)).collect();
        let fetching = async {
            if missing.is_empty() {
                return Ok(Vec::new());
            }
            let (connection, registry) = connect(connection).await?;
            let archives = missing.into_iter().map(|(digest, (name, version))| {
                let url = registry.tarball(name, version).ok_or_else(|| by_npm("it is no address"))?;
                Ok(Wanted { digest: *digest, url, is_stale: stale.contains(digest) })
            });
            let archives: Vec<Wanted> = archives.collect::<Result<_, Stop>>()?;
            fetch(work, &store, &connection, archives).await
        };
        if let Some(are_ignored) = are_ignored.take() {
            let (fetched, answer) = tokio::join!(fetching, are_ignored);
            tree.stored.extend(fetched?);
            ignores = answer;
            has_scripts = !ignores;
            tree.sharing = FileSharing::new(has_scripts);
        } else {
            tree.stored.extend(fetching.await?);
        }
        let made = cancellable(move |is_cancelled| {
            let made = tree.make(is_cancelled);
            (tree, made)
        });
        let made = made.await.map_err(|error| Stop::ByNpm(error.to_string()))?;
        tree = made.0;
        let changed = made.1?;
        if changed.is_empty() {
            tree.write_notes(list)?;
            let modules = tree.directory.join("node_modules");
            match kept.take() {
                _ if ignores => return Ok(Scripts::Ignored),
                _ if !has_scripts => return Ok(Scripts::None),
                Some(kept) if kept.apply(&modules, &tree.sharing, &AtomicBool::default())? => return Ok(Scripts::Done),
                None => {
                    let before = states(&modules)?;
                    let store = cache.packages.clone();
                    return Ok(Scripts::ToRun(Box::new(ScriptsToRun { store, tree, digest, before })));
                }
                // What was kept has changed.
                Some(_) => {
                    clear(&tree.directory)?;
                    tree.sharing = FileSharing::new(true);
                    continue;
                }
            }
        }
        tree.stored.retain(|digest, _| !changed.contains(digest));
        stale = changed;
    }
    Err(by_npm("packages change while they are read"))
}

impl ScriptsToRun {
    /// Keeps what the scripts have made, for the next installation of the same list. They see nothing of the person but the
    /// settings of npm, and write nowhere else. Nothing writes into the tree any more then, and it shares its files with the
    /// store. Without either, the tree is whole.
    ///
    /// # Errors
    /// That the tree is gone.
    pub(super) fn keep(mut self, is_cancelled: &AtomicBool) -> Result<(), Error> {
        match self.store_changes(is_cancelled) {
            Ok(Some(kept)) => self.share(&kept, is_cancelled),
            Ok(None) => Ok(()),
            Err(problem) => {
                tracing::debug!("what install scripts have made is not kept: {problem}");
                Ok(())
            }
        }
    }

    /// Keeps what the scripts have changed; `None` where that is more than files and directories.
    fn store_changes(&self, is_cancelled: &AtomicBool) -> Result<Option<StoredPackage>, Stop> {
        let directory = &self.tree.directory;
        let modules = directory.join("node_modules");
        let Some(mut changes) = compare(&self.before, &states(&modules)?) else { return Ok(None) };
        if contain_path(directory, &modules, &changes.files)? {
            changes.directory = Some(directory.clone());
        }
        let store = PackageStore { directory: &self.store };
        store.keep(&self.digest, &modules, changes, is_cancelled)?;
        Ok(store.find_made(&self.digest, directory))
    }

    /// Puts the files of the store in place of their copies, if that takes less space.
    fn share(&mut self, kept: &StoredPackage, is_cancelled: &AtomicBool) -> Result<(), Error> {
        let [modules, copies] = ["node_modules", "copies"].map(|name| self.tree.directory.join(name));
        // Files of another file system would be copied again.
        if device(&modules) != device(&self.store) || fs::rename(&modules, &copies).is_err() {
            return Ok(());
        }
        self.tree.sharing = FileSharing::new(false);
        let is_made = matches!(self.tree.share_copies(&copies, kept, is_cancelled), Ok(true));
        refuse_cancelled(is_cancelled, &modules)?;
        if is_made {
            package_store::remove(&copies)?;
        } else {
            clear(&self.tree.directory)?;
            fs::rename(&copies, &modules).map_err(PathError::at(&modules))?;
        }
        Ok(())
    }
}

/// The number of the file system that a path is on.
#[cfg(unix)]
fn device(path: &Path) -> Option<u64> {
    path.metadata().ok().map(|metadata| std::os::unix::fs::MetadataExt::dev(&metadata))
}

/// npm makes trees on other systems.
#[cfg(not(unix))]
fn device(_: &Path) -> Option<u64> {
    None
}

/// A digest of all that decides what install scripts make: the packages, which of them are approved, the machine, Node.js and npm, and npm's settings.
fn scripts_digest(
    installer: &Installer,
    (list, approval): (&str, Option<&Approval>),
    machine: &NodeMachine,
    node: Option<&Path>,
) -> Digest {
    let mut context = Context::new(&SHA512);
    let npm = installer.environment.find("npm");
    let program = |path: &Path| {
        let real = path.canonicalize().ok();
        real.and_then(|real| Some((real.metadata().ok().as_ref().map(FileState::from)?, real)))
    };
    let programs = (node.and_then(program), npm.as_deref().and_then(program));
    let files = installer.npm.iter().filter(|(name, _)| name.ends_with("config"));
    let files: Vec<_> = files.map(|(_, path)| fs::read(path).ok()).collect();
    context.update(
        format!(
            "scripts\n{machine:?}\n{programs:?}\n{:?}\n{files:?}\n{}\n{approval:?}\n",
            installer.npm, installer.vouches
        )
        .as_bytes(),
    );
    context.update(list.as_bytes());
    let mut digest = [0; 64];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// What is below `node_modules`.
fn states(modules: &Path) -> Result<TreeState, PathError> {
    let (mut found, mut waiting) = (TreeState::new(), vec![modules.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for item in fs::read_dir(&folder).map_err(PathError::at(&folder))? {
            let path = item.map_err(PathError::at(&folder))?.path();
            let metadata = path.symlink_metadata().map_err(PathError::at(&path))?;
            let state = if metadata.is_dir() {
                waiting.push(path.clone());
                ItemState::Directory(mode(&metadata))
            } else if metadata.is_file() {
                ItemState::File(FileState::from(&metadata))
            } else if metadata.is_symlink() {
                ItemState::Link(path.read_link().map_err(PathError::at(&path))?)
            } else {
                ItemState::Special
            };
            found.insert(path.strip_prefix(modules).unwrap_or(&path).to_owned(), state);
        }
    }
    Ok(found)
}

/// What differs between two states of a tree. `None` where a link or a removed directory does, or a name that is not UTF-8.
fn compare(before: &TreeState, after: &TreeState) -> Option<TreeChanges> {
    let mut changes = TreeChanges::default();
    for (path, state) in before.iter().filter(|(path, _)| !after.contains_key(*path)) {
        match state {
            ItemState::File(_) => changes.removed.push(path.to_str()?.to_owned()),
            _ => return None,
        }
    }
    for (path, state) in after {
        let text = || path.to_str().map(ToOwned::to_owned);
        match (before.get(path), state) {
            (Some(same), state) if same == state => {}
            (None | Some(ItemState::File(_)), ItemState::File(_)) => changes.files.push(text()?),
            (None | Some(ItemState::Directory(_)), ItemState::Directory(mode)) => {
                changes.directories.push((text()?, *mode));
            }
            _ => return None,
        }
    }
    Some(changes)
}

/// Whether one of these files names a directory, or is too large to be searched.
fn contain_path(directory: &Path, modules: &Path, files: &[String]) -> Result<bool, PathError> {
    let real = directory.canonicalize().map_err(PathError::at(directory))?;
    let names = [directory, &real].map(|path| path.as_os_str().as_encoded_bytes());
    let finders = names.map(memmem::Finder::new);
    for path in files.iter().map(|path| modules.join(path)) {
        let mut file = fs::File::open(&path).map_err(PathError::at(&path))?;
        if file.metadata().map_err(PathError::at(&path))?.len() > SEARCHED {
            return Ok(true);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(PathError::at(&path))?;
        if finders.iter().any(|finder| finder.find(&bytes).is_some()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An archive to fetch.
struct Wanted {
    digest: Digest,
    url: Url,
    /// Whether the package that is there has changed.
    is_stale: bool,
}

async fn fetch(
    work: &InstallJob<'_>,
    store: &PackageStore<'_>,
    connection: &Connection,
    archives: Vec<Wanted>,
) -> Result<Vec<(Digest, StoredPackage)>, Stop> {
    let (all, done) = (archives.len(), AtomicUsize::new(0));
    let done = &done;
    let fetched = archives.into_iter().map(|Wanted { digest, url, is_stale }| async move {
        let package = store.fetch(&digest, &url, &connection.client, &work.installer.limits, is_stale).await?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        (work.progress)(Progress::Phase("packages", format!("{done} of {all}")));
        Ok((digest, package))
    });
    let fetched = stream::iter(fetched).buffer_unordered(AT_ONCE).try_collect();
    let limit = work.installer.timeout;
    timeout(limit, fetched).await.unwrap_or(Err(Stop::Failed(Error::Slow(limit))))
}

/// What packages may ask of this machine: its platform, with the processor and the C library of the Node.js that is there.
fn machine(platform: Platform, node: Option<&Path>) -> NodeMachine {
    let os = if platform.os() == "windows" { "win32" } else { platform.os() };
    let mut machine = NodeMachine {
        os,
        cpu: if platform.as_str().ends_with("aarch64") { "arm64" } else { "x64" },
        libc: (os == "linux").then_some(if node.is_none() && lacks_glibc() { "musl" } else { "glibc" }),
    };
    if let Some(Ok(Program::Elf { machine: found, interpreter, .. })) =
        node.map(|node| open_file(node).map(Program::examine))
    {
        match found {
            Machine::Aarch64 => machine.cpu = "arm64",
            Machine::X8664 => machine.cpu = "x64",
            _ => {}
        }
        if interpreter.is_some_and(|loader| loader.contains("ld-musl")) {
            machine.libc = machine.libc.map(|_| "musl");
        }
    }
    machine
}

impl Tree {
    /// Puts all packages in place, those above others first. Returns those whose stored files have changed; nothing is in
    /// place then.
    fn make(&self, is_cancelled: &AtomicBool) -> Result<BTreeSet<Digest>, Stop> {
        self.refuse_excess()?;
        let mut levels: BTreeMap<usize, Vec<&TreePackage>> = BTreeMap::new();
        for package in &self.packages {
            levels.entry(package.path.matches("node_modules/").count()).or_default().push(package);
        }
        let mut changed = BTreeSet::new();
        for level in levels.into_values() {
            let placed = level.into_par_iter().filter_map(|package| self.place(package, is_cancelled).transpose());
            changed.extend(placed.collect::<Result<Vec<Digest>, PathError>>()?);
        }
        if !changed.is_empty() {
            clear(&self.directory)?;
            return Ok(changed);
        }
        let archives: HashMap<&str, Digest> =
            self.packages.iter().filter_map(|one| Some((one.path.as_str(), one.digest?))).collect();
        let lacking =
            self.packages.iter().find(|one| one.digest.is_none() && !self.has(&archives, one, "package.json"));
        if let Some(TreePackage { path, .. }) = lacking {
            return Err(Stop::ByNpm(format!("no archive has {path}")));
        }
        self.link_commands(&archives)?;
        Ok(changed)
    }

    /// Refuses packages that take more space together than one archive may. A list of a few kilobytes may name one package at
    /// thousands of places.
    fn refuse_excess(&self) -> Result<(), Stop> {
        let (mut files, mut bytes) = (0, 0_u64);
        for stored in self.packages.iter().filter_map(|package| self.stored.get(&package.digest?)) {
            let (more_files, more_bytes) = stored.size();
            (files, bytes) = (files + more_files, bytes.saturating_add(more_bytes));
        }
        let Limits { entries, unpacked, .. } = self.limits;
        let excess = if bytes > unpacked {
            Excess::Unpacked { limit: unpacked }
        } else if files > entries {
            Excess::Entries { limit: entries }
        } else {
            return Ok(());
        };
        Err(Stop::Failed(Error::TreeTooLarge(excess)))
    }

    /// Makes the tree whose install scripts have run anew, beside its copies. Returns whether all stored files are as they were.
    fn share_copies(&self, copies: &Path, kept: &StoredPackage, is_cancelled: &AtomicBool) -> Result<bool, Stop> {
        if !self.make(is_cancelled)?.is_empty() {
            return Ok(false);
        }
        let modules = self.directory.join("node_modules");
        let [from, to] = [copies, modules.as_path()].map(|folder| folder.join(NOTES));
        fs::copy(&from, &to).map_err(PathError::at(&to))?;
        Ok(kept.apply(&modules, &self.sharing, is_cancelled)?)
    }

    /// Puts a package in place. Returns its digest if its stored files have changed.
    fn place(&self, package: &TreePackage, is_cancelled: &AtomicBool) -> Result<Option<Digest>, PathError> {
        let Some(digest) = package.digest else { return Ok(None) };
        let Some(stored) = self.stored.get(&digest) else { return Ok(Some(digest)) };
        let place = self.directory.join(&package.path);
        // A package above has it in its archive, where the list has another one.
        if place.symlink_metadata().is_ok() {
            fs::remove_dir_all(&place).map_err(PathError::at(&place))?;
        }
        Ok(if stored.share(&place, &self.sharing, is_cancelled)? { None } else { Some(digest) })
    }

    /// Makes the links by which the commands of packages are found, as npm does: the first one of a name counts, and a file
    /// that is not there has none.
    fn link_commands(&self, archives: &HashMap<&str, Digest>) -> Result<(), Stop> {
        let mut seen = BTreeSet::new();
        for package in &self.packages {
            let (above, folder) = package.path.rsplit_once("node_modules/").unwrap_or(("", &package.path));
            let beside = self.directory.join(above).join("node_modules");
            for (command, file) in &package.commands {
                let link = beside.join(".bin").join(command);
                if command.is_empty() || !seen.insert(link.clone()) || !self.has(archives, package, file) {
                    continue;
                }
                make_executable(&self.directory.join(&package.path).join(file))?;
                let folders = link.parent().unwrap_or(&link);
                fs::create_dir_all(folders).map_err(PathError::at(folders))?;
                if link.symlink_metadata().is_ok() {
                    fs::remove_file(&link).map_err(PathError::at(&link))?;
                }
                #[cfg(unix)]
                std::os::unix::fs::symlink(format!("../{folder}/{file}"), &link).map_err(PathError::at(&link))?;
                #[cfg(not(unix))]
                let _ = folder;
            }
        }
        Ok(())
    }

    /// Whether a package has a file, in its own archive or in that of the package that has it in its bundle.
    fn has(&self, archives: &HashMap<&str, Digest>, package: &TreePackage, file: &str) -> bool {
        let path = format!("{}/{file}", package.path);
        let mut folders = path.rmatch_indices('/').map(|(end, _)| path.split_at(end));
        let owner = folders.find_map(|(folder, rest)| Some((archives.get(folder)?, &rest[1..])));
        owner.is_some_and(|(digest, file)| self.stored.get(digest).is_some_and(|stored| stored.has(file)))
    }

    /// Writes the records that npm keeps of a tree, and the list itself.
    fn write_notes(&self, list: &str) -> Result<(), Stop> {
        let unreadable = |error: serde_json::Error| Stop::ByNpm(error.to_string());
        let mut notes: Value = serde_json::from_str(list).map_err(unreadable)?;
        if let Some(packages) = notes.get_mut("packages").and_then(Value::as_object_mut) {
            let paths: BTreeSet<&str> = self.packages.iter().map(|package| package.path.as_str()).collect();
            packages.retain(|path, _| paths.contains(path.as_str()));
            for package in packages.values_mut().filter_map(Value::as_object_mut) {
                package.retain(|member, _| !NpmLockPackage::OWN_MEMBERS.contains(&member.as_str()));
            }
        }
        let notes = format!("{}\n", serde_json::to_string_pretty(&notes).map_err(unreadable)?);
        let places = [self.directory.join("package-lock.json"), self.directory.join("node_modules").join(NOTES)];
        for (path, text) in places.into_iter().zip([list, notes.as_str()]) {
            fs::write(&path, text).map_err(PathError::at(&path))?;
        }
        Ok(())
    }
}

/// Removes a tree that is not whole.
pub(super) fn clear(directory: &Path) -> Result<(), PathError> {
    package_store::remove(&directory.join("node_modules"))
}

/// Makes the file of a command one that the system starts, as npm does: executable, and without a carriage return behind
/// the name of its interpreter. A file that is not so gets a copy of its own, for it may be shared.
fn make_executable(path: &Path) -> Result<(), PathError> {
    let at = || PathError::at(path);
    let file = open_file(path).map_err(at())?;
    // The directory, which was made for this tree, has all that the person's umask allows.
    let directory = path.parent().unwrap_or(path).metadata().map_err(at())?;
    let is_executable = mode(&file.metadata().map_err(at())?) & 0o777 == mode(&directory) & 0o777;
    let has_return = matches!(Program::examine(&file), Program::Script { has_return: true, .. });
    if is_executable && !has_return {
        return Ok(());
    }
    let mut bytes = fs::read(path).map_err(at())?;
    if let (true, Some(end)) = (has_return, bytes.windows(2).position(|pair| pair == b"\r\n")) {
        bytes.remove(end);
    }
    fs::remove_file(path).map_err(at())?;
    let mut new = fs::OpenOptions::new();
    new.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o777);
    new.open(path).and_then(|mut file| file.write_all(&bytes)).map_err(at())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in which scripts have made a file, in a directory with the store of packages.
    fn after_scripts(root: &Path) -> ScriptsToRun {
        let (directory, store) = (root.join("files"), root.join("store"));
        let package = directory.join("node_modules/a");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("index.js"), "").unwrap();
        let before = states(&directory.join("node_modules")).unwrap();
        fs::write(package.join("made.js"), "").unwrap();
        let sharing = FileSharing::new(true);
        let limits = Limits::default();
        let tree = Tree { directory, packages: Vec::new(), stored: HashMap::new(), sharing, limits };
        ScriptsToRun { store, tree, digest: [7; 64], before }
    }

    #[test]
    fn what_scripts_have_made_is_kept_unless_the_work_is_cancelled() {
        for is_cancelled in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let scripts = after_scripts(root.path());
            let modules = scripts.tree.directory.join("node_modules");
            let before = states(&modules).unwrap();
            let (store, digest) = (scripts.store.clone(), scripts.digest);
            scripts.keep(&AtomicBool::new(is_cancelled)).unwrap();
            let store = PackageStore { directory: &store };
            assert_eq!(store.find_made(&digest, root.path()).is_some(), !is_cancelled);
            // A part would stay until garbage collection.
            let left = fs::read_dir(store.directory.join("07")).unwrap().map(|item| item.unwrap().path());
            // On Windows, a lock that is held keeps its file.
            assert_eq!(left.filter(|path| path.is_dir()).count(), usize::from(!is_cancelled));
            assert!(states(&modules).unwrap() == before);
        }
    }
}
