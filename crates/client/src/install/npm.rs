//! Installs a package of the npm registry.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use acp_registry_archive::Program;
use acp_registry_host::fs::{PathError, open_file, read_bounded, resolve_below};
use acp_registry_host::process::is_executable;
use acp_registry_plan::manifest::{NpmSpec, Package, Pin};
use acp_registry_plan::text::{printable, quote};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_sources::npm::{Bin, commands, file_of_command};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::spawn_blocking;

use super::error::{HeldBack, Setting, later};
use super::node::{kept_node_version, node_version};
use super::package_manager::{Tool, write};
use super::package_store::Stop;
use super::scripts::Approval;
use super::tree::{self, Scripts};
use super::{
    DigestSource, Error, Expected, InstallJob, Installer, Interpreter, Placed, Progress, Proof, Remarks, ScriptsNotRun,
    Source, TooOld, ToolFailure, cancellable, failure, scripts,
};
use crate::provenance::{Artifact, Inquiry, Provenance};
use acp_registry_plan::closure;
use acp_registry_plan::json::{self, Object};

/// How many older versions npm is asked for, where the newest that is allowed needs a package that is not.
const OLDER: usize = 3;

const DAY: f64 = 86_400.0;

/// The largest `package.json` that is read, in bytes.
const PACKAGE_FILE_LIMIT: u64 = 8 << 20;

/// How many packages of a lock file are read.
const PACKAGES: usize = 100_000;

/// Flags against settings of the person that would put packages elsewhere, or leave some out: such settings are for the
/// projects of that person. What decides where packages come from, which versions are allowed and whether scripts run
/// stays as it is configured.
pub(super) const OWN: [&str; 11] = [
    "--location=project", "--global=false", "--dry-run=false", "--bin-links=true", "--install-strategy=hoisted",
    "--include=optional", "--include=peer", "--json=false", "--no-audit", "--no-fund", "--no-update-notifier",
];

/// Further flags for an installation. This log level, which overrides the person's configuration, makes npm name the
/// scripts that it has not run, and each answer, from which the progress is read.
const FLAGS: [&str; 4] = ["--package-lock-only=false", "--loglevel=http", "--no-progress", "--prefix"];

/// Installs a package with npm.
pub(super) async fn install(work: &InstallJob<'_>, wanted: &Package) -> Result<Placed, Error> {
    let package = wanted.package.as_str();
    let (installer, directory) = (work.installer, work.directory);
    // Node.js reads other bytes as U+FFFD, and npm would install into another directory.
    let Some(prefix) = directory.to_str() else { return Err(Error::NotUnicode(directory.to_owned())) };
    let (name, version) = exact(package)?;
    let node = installer.environment.find("node");
    let cache = installer.open_cache();
    let (first, kept) = (node.clone(), cache.as_ref().map(|cache| cache.node.clone()));
    let node_answer = spawn_blocking(move || match (first?, kept) {
        (first, Some(kept)) => Some((first.clone(), kept_node_version(&first, &kept))),
        (first, None) => Some((first.clone(), node_version(&first))),
    });
    let npm = |why: Option<&str>| {
        // npm is started by it.
        let program = find(installer, "node", why).and_then(|_| find(installer, "npm", why))?;
        let (environment, registry) = (installer.npm_environment(cache.as_ref()), installer.registries.npm(&name));
        Ok::<_, Error>(Tool { work, name: "npm", program, environment, registry })
    };
    let approval = approval(work.expected, (&name, &version));
    // npm 12 runs only the install scripts that this file allows.
    let approved = approval.iter().flat_map(|approval| &approval.specs).map(String::as_str);
    write(&directory.join("package.json"), &manifest(&name, &version, installer.vouches, approved))?;
    // Install scripts run, so that all bytes must be known before.
    let own_list = if work.expected.packages.is_none() && (installer.inquiry.is_some() || installer.requires_digest) {
        Some(list(work, wanted, (&name, &version), &npm(None)?).await?)
    } else {
        None
    };
    let list = work.expected.packages.as_ref().or(own_list.as_ref());
    let provenance = match &installer.inquiry {
        Some(inquiry) => prove(inquiry, (&name, &version), list.map(String::as_str).unwrap_or_default()).await?,
        None => None,
    };
    let ignores = async {
        match npm(None) {
            Ok(npm) => ignores_scripts(installer, &npm).await == Some(true),
            Err(_) => scripts::are_ignored(installer) == Some(true),
        }
    };
    let made = match list {
        Some(list) => Box::pin(tree::install(work, list, approval.as_ref(), ignores)).await,
        None => Err(Stop::ByNpm("there is no list of packages".to_owned())),
    };
    let (mut are_scripts_done, mut are_ignored) = (false, None);
    let mut to_keep = None;
    let mut stderr = String::new();
    match made {
        Ok(Scripts::None) => {}
        Ok(Scripts::Done) => are_scripts_done = true,
        Ok(Scripts::Ignored) => are_ignored = Some(true),
        Ok(Scripts::ToRun(scripts)) => {
            to_keep = Some(scripts);
            are_ignored = Some(false);
            if installer.is_offline {
                return Err(Error::Offline(tree::SCRIPTS.to_owned()));
            }
            let npm = npm(Some(tree::SCRIPTS))?;
            let ran = run_scripts(work, prefix, approval.as_ref(), &npm).await;
            stderr = ran.map_err(|error| refused(error, &name, package))?;
        }
        Err(Stop::Failed(error)) => return Err(error),
        Err(stop) => {
            let reason = stop.to_string();
            if installer.is_offline {
                return Err(Error::Offline(printable(&reason).into_owned()));
            }
            tracing::debug!("npm installs {package}: {reason}");
            tree::clear(directory)?;
            let npm = match (npm(list.map(|_| printable(&reason)).as_deref()), stop) {
                (Err(_), Stop::Doubtful(error)) => return Err(error),
                (npm, _) => npm?,
            };
            let by_npm = install_by_npm(work, package, (&name, &version), (list, approval.as_ref()), prefix, &npm);
            stderr = by_npm.await?;
        }
    }
    let no_command = |problem| Error::NoCommand { package: package.to_owned(), problem, suggestion: None };
    let own = package_json(&name, directory).map_err(no_command)?;
    let (command, commands) = choose(&name, &own, wanted.command.as_deref(), directory)
        .map_err(|(problem, suggestion)| Error::NoCommand { package: package.to_owned(), problem, suggestion })?;
    let (file, link) = command_file(&name, &command, &commands, directory).map_err(no_command)?;
    let program = open_file(&file).map(Program::examine);
    // The shell through which npx starts commands reads such a file itself.
    let shell = matches!(program, Ok(Program::Other(_))).then(|| installer.environment.find("sh"));
    let flags = match program {
        Ok(Program::Script { interpreter, .. }) => flags_of_node(&interpreter),
        _ => None,
    };
    let notes = notes(directory);
    let verified = match &work.expected.packages {
        Some(_) if !work.expected.is_published => DigestSource::Lock,
        Some(_) => DigestSource::Npm,
        None if notes.as_deref().is_some_and(are_proven) => DigestSource::Npm,
        None => DigestSource::None,
    };
    let integrity = notes.as_deref().and_then(|notes| integrity_in(notes, &name));
    let blocked = ScriptsNotRun { packages: scripts::blocked(&stderr), ignored_by: None };
    let listed = if blocked.is_empty() && !are_scripts_done {
        notes.map(|notes| scripts::listed(&notes, directory))
    } else {
        None
    };
    let listed = listed.filter(|listed| !listed.is_empty());
    if listed.is_some()
        && are_ignored.is_none()
        && !installer.is_offline
        && let Ok(npm) = npm(None)
    {
        are_ignored = ignores_scripts(installer, &npm).await;
    }
    let scripts_not_run = match listed {
        Some(packages) if are_ignored == Some(true) => {
            ScriptsNotRun::ignored(packages, installer.npm.iter().any(|(name, _)| name == scripts::VARIABLE))
        }
        _ => blocked,
    };
    // Those that the registry has not approved are not asked for again.
    let may_keep = scripts_not_run.is_empty();
    let scripts_not_run = match approval.map(|approval| approval.not_run(directory)) {
        Some(refused) if may_keep && !refused.is_empty() => refused,
        _ => scripts_not_run,
    };
    if let Some(scripts) = to_keep.filter(|_| may_keep) {
        let failed = |error| PathError::at(directory)(std::io::Error::other(error));
        cancellable(move |is_cancelled| scripts.keep(is_cancelled)).await.map_err(failed)??;
    }
    let remarks = Remarks { scripts_not_run, is_read_by_shell: shell.is_some(), ..Remarks::default() };
    let interpreter = match (flags, shell) {
        (None, Some(None)) => {
            let problem = format!("has the command {}, but {NO_INTERPRETER}", quote(&command));
            return Err(no_command(problem));
        }
        (None, Some(Some(program))) => Some(Interpreter::shell(program)),
        (Some(flags), _) => {
            let range = own.node();
            let environment = installer.environment.clone();
            let failed = |error| PathError::at(directory)(std::io::Error::other(error));
            let first = node_answer.await.map_err(failed)?;
            let node = spawn_blocking(move || Interpreter::node(&environment, first, range.as_deref(), flags)).await;
            Some(node.map_err(failed)?)
        }
        (None, None) => None,
    };
    let proof = Proof { verified, sha256: None, integrity };
    Ok(Placed { program: file, link, interpreter, proof, provenance, remarks })
}

/// Has npm install a package, or what a list has. Returns the end of what npm writes to stderr.
async fn install_by_npm(
    work: &InstallJob<'_>,
    package: &str,
    (name, version): (&str, &str),
    (list, approval): (Option<&String>, Option<&Approval>),
    prefix: &str,
    npm: &Tool<'_>,
) -> Result<String, Error> {
    let directory = work.directory;
    let spec = [format!("{name}@{version}")];
    let (command, more, specs): (_, &[&str], &[String]) = match list {
        // Installs exactly the packages of the list.
        Some(packages) => {
            let path = directory.join("package-lock.json");
            let list = enforced(packages).map_err(|error| PathError::at(&path)(error.into()))?;
            write(&path, &list)?;
            ("ci", &["--package-lock=true", "--omit-lockfile-registry-resolved"], &[])
        }
        None => ("install", &["--no-save", "--no-package-lock"], &spec),
    };
    let mut arguments = vec![command.to_owned()];
    arguments.extend(approval.map(|_| "--ignore-scripts".to_owned()));
    arguments.extend(more.iter().chain(&OWN).chain(&FLAGS).map(|flag| (*flag).to_owned()));
    arguments.extend([prefix.to_owned(), "--".to_owned()]);
    arguments.extend_from_slice(specs);
    npm.check_proxy()?;
    (work.progress)(Progress::Running("npm"));
    match npm.run(arguments).await {
        Ok(_) if approval.is_some() => {
            run_scripts(work, prefix, approval, npm).await.map_err(|error| refused(error, name, package))
        }
        Ok(ran) => Ok(ran.stderr),
        Err(error) => Err(explain(error, package, (name, version), npm).await),
    }
}

/// Has npm run the install scripts of all packages, or of those that are approved. Returns the end of what npm writes to stderr.
async fn run_scripts(
    work: &InstallJob<'_>,
    prefix: &str,
    approval: Option<&Approval>,
    npm: &Tool<'_>,
) -> Result<String, Error> {
    (work.progress)(Progress::Running("npm"));
    let flags = ["rebuild"].iter().chain(&OWN).chain(&FLAGS).copied().chain([prefix, "--"]).map(OsString::from);
    let paths = approval.map(|approval| approval.paths(work.directory)).transpose();
    let paths = paths.map_err(PathError::at(work.directory))?.unwrap_or_default();
    Ok(npm.run(flags.chain(paths.into_iter().map(PathBuf::into_os_string))).await?.stderr)
}

/// Which install scripts run, if the registry says so.
fn approval(expected: &Expected, own: (&str, &str)) -> Option<Approval> {
    let list = serde_json::from_str(expected.packages.as_deref()?).ok()?;
    Some(Approval::new(&list, own, expected.allow_scripts.as_ref()?))
}

/// All packages that npm would install, with their digests.
async fn list(
    work: &InstallJob<'_>,
    wanted: &Package,
    (name, version): (&str, &str),
    npm: &Tool<'_>,
) -> Result<String, Error> {
    let package = &wanted.package;
    npm.check_proxy()?;
    (work.progress)(Progress::Running("npm"));
    let made = work.installer.closure(&Source::Npx(wanted.clone()), None, None, work.temporary).await;
    let list = match made {
        Ok(made) => made.map(|made| made.packages).unwrap_or_default(),
        Err(error) => return Err(explain(error, package, (name, version), npm).await),
    };
    let unproven = |problem| Error::NoDigest { what: package.clone(), problem: Some(problem) };
    closure::check_npm(&list).map_err(unproven)?;
    Ok(list)
}

/// Who has built the package that a list of npm names.
async fn prove(inquiry: &Inquiry, (name, version): (&str, &str), list: &str) -> Result<Option<Provenance>, Error> {
    let integrity = integrity_in(list.as_bytes(), name).unwrap_or_default();
    let unproven = || Error::NoDigest { what: format!("{name}@{version}"), problem: None };
    Ok(inquiry.ask(&Artifact::npm(name, version, &integrity).ok_or_else(unproven)?).await?)
}

/// What npm's failure means.
async fn explain(error: Error, package: &str, (name, version): (&str, &str), npm: &Tool<'_>) -> Error {
    let absent = |failure| absent(failure, name.to_owned(), version.to_owned(), npm);
    match error {
        Error::Tool(failure) if failure.held_by_npm().is_some() => {
            match explain_cooldown(&failure, (name, version), npm).await {
                Some(held) => Error::HeldBack(Box::new(held)),
                None if failure.lacks_version(name, version) => absent(failure).await,
                None => Error::Tool(failure),
            }
        }
        Error::Tool(failure) if failure.lacks_version(name, version) => absent(failure).await,
        Error::Tool(failure) if failure.lacks_name(name) => Error::NoPackage { name: name.to_owned(), failure },
        error => refused(error, name, package),
    }
}

/// The registry has no such version: npm says which one is the newest.
async fn absent(failure: Box<ToolFailure>, name: String, version: String, npm: &Tool<'_>) -> Error {
    let said = npm.run(["view", &name, "version", "--no-update-notifier"]).await;
    let said = said.map(|ran| ran.stdout.trim().to_owned()).ok();
    let newest = said.filter(|said| semver::Version::parse(said).is_ok());
    Error::NoVersion { name, version, newest, failure }
}

/// What npm's failure means for the package.
fn refused(error: Error, name: &str, package: &str) -> Error {
    match error {
        Error::Tool(failure) => match failure::node_shortfall(&failure.stderr, name) {
            Some(shortfall) => Error::RuntimeTooOld(Box::new(TooOld::new(package, shortfall, &failure.stderr))),
            None => Error::Tool(failure),
        },
        error => error,
    }
}

/// The flags that ask npm whether it runs install scripts.
const ASK: [&str; 4] = ["config", "get", "ignore-scripts", "--no-update-notifier"];

/// Whether npm is configured to run no install scripts; `None` where it does not say. A variable counts for more than the files
/// that only npm finds.
async fn ignores_scripts(installer: &Installer, npm: &Tool<'_>) -> Option<bool> {
    match scripts::are_ignored(installer) {
        Some(answer) => Some(answer),
        None => npm.run(ASK).await.ok()?.stdout.trim().parse().ok(),
    }
}

impl Installer {
    /// Until when a version must have been published for npm to take it, if its configuration says so (`before`,
    /// `min-release-age`). Temporary files are made below `temporary`.
    pub async fn npm_cutoff(&self, temporary: &Path) -> Option<Timestamp> {
        let program = find(self, "npm", None).ok()?;
        let expected = Expected::default();
        let work =
            InstallJob { installer: self, expected: &expected, directory: temporary, temporary, progress: &|_| () };
        let environment = self.npm_environment(None);
        let npm = Tool { work: &work, name: "npm", program, environment, registry: None };
        let listed = npm.run(["config", "list", "--json", "--no-update-notifier"]).await.ok()?;
        let settings: Value = serde_json::from_str(&listed.stdout).ok()?;
        let before = settings["before"].as_str().and_then(|time| time.parse::<Timestamp>().ok());
        let age = settings["min-release-age"].as_f64().and_then(|days| later(Timestamp::now(), -days * DAY));
        before.into_iter().chain(age).min()
    }

    /// Whether npm would run install scripts now, as far as its configuration goes. Temporary files are made below
    /// `temporary`.
    pub(crate) async fn runs_scripts(&self, temporary: &Path) -> bool {
        let Ok(program) = find(self, "npm", None) else { return false };
        let expected = Expected::default();
        let work =
            InstallJob { installer: self, expected: &expected, directory: temporary, temporary, progress: &|_| () };
        let environment = self.npm_environment(None);
        let npm = Tool { work: &work, name: "npm", program, environment, registry: None };
        ignores_scripts(self, &npm).await == Some(false)
    }

    /// Whether a source is installed into a directory from the packages that are kept, without a network.
    pub(crate) fn has_at_hand(&self, source: &Source, expected: &Expected, directory: &Path) -> bool {
        let Source::Npx(package) = source else { return false };
        let Some((list, (name, version))) = expected.packages.as_deref().zip(exact(&package.package).ok()) else {
            return false;
        };
        tree::is_at_hand(self, list, approval(expected, (&name, &version)).as_ref(), directory)
    }

    /// Refuses an npm package that npm is needed for in a directory, although its packages are known, where there is none.
    ///
    /// # Errors
    /// [`Error::MissingRuntime`], or [`Error::Offline`] where nothing may be fetched.
    pub(crate) async fn refuse_npm(
        &self,
        package: &Package,
        expected: &Expected,
        directory: &Path,
    ) -> Result<(), Error> {
        let (name, version) = exact(&package.package)?;
        let list = expected.packages.as_deref().unwrap_or_default();
        let approval = approval(expected, (&name, &version));
        let Err(stop) = tree::refuse_npm(self, list, approval.as_ref(), directory).await else { return Ok(()) };
        let why = printable(&stop.to_string()).into_owned();
        if self.is_offline {
            return Err(Error::Offline(why));
        }
        find(self, "node", Some(&why)).and_then(|_| find(self, "npm", Some(&why))).map(|_| ())
    }
}

/// Name and version of a package that is pinned to one version.
pub(super) fn exact(package: &str) -> Result<(String, String), Error> {
    let spec: NpmSpec = package.parse().map_err(|error| Error::Spec { package: package.to_owned(), error })?;
    match spec.pin {
        Pin::Exact(version) => Ok((spec.name, version)),
        _ => Err(Error::Unpinned(package.to_owned())),
    }
}

/// Finds `npm`, or the `node` that starts it. `why` says why it is needed, where that is not plain.
pub(super) fn find(installer: &Installer, program: &'static str, why: Option<&str>) -> Result<PathBuf, Error> {
    installer.environment.find(program).ok_or_else(|| Error::MissingRuntime {
        program,
        why: why.map(ToOwned::to_owned),
        remedy: acp_registry_plan::resolve::NODE,
    })
}

/// Why a system without a shell does not start a command's file.
const NO_INTERPRETER: &str = "its file does not begin with `#!`, so npx cannot start it with Node.js";

/// The flags for Node.js on the first line of a script that looks for it in `PATH`; `None` where the system starts the
/// script as its first line says.
fn flags_of_node(line: &str) -> Option<Vec<String>> {
    let argument = line.trim().strip_prefix("/usr/bin/env")?.strip_prefix(char::is_whitespace)?.trim_start();
    let split = argument.strip_prefix("-S ");
    let mut words = split.unwrap_or(argument).split_whitespace();
    let is_node = words.next()? == "node";
    let flags: Vec<String> = words.map(ToOwned::to_owned).collect();
    // Linux gives `env` the rest of the line as one word, which only `-S` splits.
    let is_one_name = cfg!(target_os = "linux") && split.is_none() && !flags.is_empty();
    (is_node && !is_one_name).then_some(flags)
}

/// A list of packages as npm gets it, so that it installs no bytes without a digest of the list: a package without one is
/// there only as a part of another archive, since no bytes have the digest that is written instead; and npm does not read the
/// digests of a package's own `npm-shrinkwrap.json` instead of those of the list.
fn enforced(list: &str) -> serde_json::Result<String> {
    let mut list: Value = serde_json::from_str(list)?;
    let packages = list.get_mut("packages").and_then(Value::as_object_mut);
    for (_, package) in packages.into_iter().flatten().filter(|(path, _)| !path.is_empty()) {
        let Some(package) = package.as_object_mut() else { continue };
        if !package.get("integrity").is_some_and(Value::is_string) {
            package.insert("integrity".to_owned(), format!("sha512-{}==", "A".repeat(86)).into());
        }
        for name in ["hasShrinkwrap", "_hasShrinkwrap"] {
            package.remove(name);
        }
    }
    serde_json::to_string(&list)
}

/// Whether npm has compared a SHA-512 of every package that it has installed, as far as it is no part of another archive.
fn are_proven(notes: &[u8]) -> bool {
    let Ok([packages]) = json::members(notes, ["packages"]) else { return false };
    let packages: Object<'_, PACKAGES> = json::object(packages).unwrap_or_default();
    let is_proven = |package: &RawValue| {
        let [integrity, in_bundle] = json::read_members(Some(package), ["integrity", "inBundle"]);
        in_bundle.is_some_and(|value| value.get() == "true")
            || json::text(integrity).is_some_and(|text| closure::sha512(&text).is_some())
    };
    !packages.members.is_empty() && packages.members.iter().all(|(_, package)| is_proven(package))
}

/// The integrity value of a package in a lock file of npm.
pub(crate) fn integrity_in(list: &[u8], name: &str) -> Option<String> {
    let [integrity] = json::read_members(package_in(list, name), ["integrity"]);
    json::text(integrity).map(Into::into)
}

/// A package at the top of a lock file of npm.
fn package_in<'a>(list: &'a [u8], name: &str) -> Option<&'a RawValue> {
    let [packages] = json::members(list, ["packages"]).ok()?;
    let packages: Object<'_, PACKAGES> = json::object(packages)?;
    let path = format!("node_modules/{name}");
    packages.members.into_iter().rev().find(|(key, _)| *key == path).map(|(_, package)| package)
}

/// The commands of a package, from npm's own records: those of the package registry, which npx chooses from. npm 6 has
/// no such records.
fn noted_bin(name: &str, directory: &Path) -> Option<Box<RawValue>> {
    let notes = notes(directory)?;
    let [bin] = json::read_members(package_in(&notes, name), ["bin"]);
    bin.map(ToOwned::to_owned)
}

/// The project that npm installs the package for. Where npm asks for permission, only this package may run install
/// scripts, if it is vouched for, and those that are approved, as `name@1.0.0`.
pub(super) fn manifest<'a>(
    name: &str,
    version: &str,
    is_vouched_for: bool,
    approved: impl IntoIterator<Item = &'a str>,
) -> String {
    let mut project = serde_json::json!({ "name": "agent", "dependencies": { name: version } });
    let approved =
        approved.into_iter().filter_map(|spec| Some(spec.rsplit_once('@')?.0)).filter(|other| *other != name);
    let own = is_vouched_for.then_some(name);
    let allowed: serde_json::Map<String, Value> =
        own.into_iter().chain(approved).map(|name| (name.to_owned(), true.into())).collect();
    if !allowed.is_empty() {
        project["allowScripts"] = allowed.into();
    }
    project.to_string()
}

/// npm's own records of what it has installed.
fn notes(directory: &Path) -> Option<Vec<u8>> {
    let directory = directory.canonicalize().ok()?;
    read_bounded(&directory.join("node_modules/.package-lock.json"), &directory, PACKAGE_FILE_LIMIT).ok()
}

/// The members of a package's `package.json` that are used.
struct Own {
    bin: Option<Box<RawValue>>,
    engines: Option<Box<RawValue>>,
}

impl Own {
    /// The range of Node.js versions that the package requires.
    fn node(&self) -> Option<String> {
        let [node] = json::read_members(self.engines.as_deref(), ["node"]);
        // Lines and tabs separate as blanks do, and are not shown.
        json::text(node).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> String {
    format!("has no package.json that can be read: {error}")
}

/// The `package.json` of an installed package, or what is wrong as the rest of a sentence about it.
fn package_json(name: &str, directory: &Path) -> Result<Own, String> {
    let path = directory.join("node_modules").join(name).join("package.json");
    let directory = directory.canonicalize().map_err(|error| unreadable(&error))?;
    let path = resolve_below(&path, &directory).map_err(|error| unreadable(&error))?;
    let text = read_bounded(&path, &directory, PACKAGE_FILE_LIMIT).map_err(|error| unreadable(&error))?;
    let [bin, engines] = json::members(&text, ["bin", "engines"]).map_err(|error| unreadable(&error))?;
    let owned = |part: Option<&RawValue>| part.map(ToOwned::to_owned);
    Ok(Own { bin: owned(bin), engines: owned(engines) })
}

/// Commands of a package, and whether npm has made links to them.
struct Commands {
    bin: Option<Box<RawValue>>,
    are_linked: bool,
}

/// The wanted command, or else the one that `npx` would start, among the commands of a package. The error is what is wrong
/// as the rest of a sentence about the package, with a command that could be named.
fn choose(
    name: &str,
    own: &Own,
    wanted: Option<&str>,
    directory: &Path,
) -> Result<(String, Commands), (String, Option<String>)> {
    let noted = noted_bin(name, directory);
    let all = Commands { are_linked: noted.is_some(), bin: noted.or_else(|| own.bin.clone()) };
    let shown = |names: &[String]| names.iter().take(5).map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    let only = |names: &[String]| names.first().filter(|_| names.len() == 1).cloned();
    let command = match (wanted, Bin::of(name, all.bin.as_deref())) {
        (_, Bin::None) => return Err(("has no command, so npx has nothing to start".to_owned(), None)),
        (Some(wanted), _) => {
            let names: Vec<String> = commands(name, all.bin.as_deref()).into_iter().map(|(name, _)| name).collect();
            if !names.iter().any(|name| name == wanted) {
                return Err((format!("has no command {}, only {}", quote(wanted), shown(&names)), only(&names)));
            }
            wanted.to_owned()
        }
        (None, Bin::One(command)) => command,
        (None, Bin::Several { names, count }) => {
            let names = shown(&names);
            let problem =
                format!("has {count} commands ({names}), and npx cannot choose; the manifest can, with `command`");
            return Err((problem, None));
        }
    };
    Ok((command, all))
}

/// The file that npx would start for a command, and the link to it. The error is what is wrong as the rest of a sentence about
/// the package.
fn command_file(
    name: &str,
    command: &str,
    commands: &Commands,
    directory: &Path,
) -> Result<(PathBuf, Option<PathBuf>), String> {
    let folder = directory.join("node_modules");
    let directory = directory.canonicalize().map_err(|error| unreadable(&error))?;
    let file = file_of_command(name, commands.bin.as_deref(), command).unwrap_or_default();
    let [link, of_windows] = [command.to_owned(), format!("{command}.cmd")].map(|name| folder.join(".bin").join(name));
    let has_link = if cfg!(windows) { of_windows.exists() } else { link.symlink_metadata().is_ok() };
    let problem =
        |problem: &str| format!("has the command {}, but its file {} {problem}", quote(command), quote(&file));
    if commands.are_linked && !has_link {
        return Err(problem("was not there when npm made the links that npx starts"));
    }
    let path = if commands.are_linked && cfg!(unix) { link.clone() } else { folder.join(name).join(&file) };
    let path = resolve_below(&path, &directory).map_err(|_| problem("is not there or leads elsewhere"))?;
    if commands.are_linked && !is_executable(&path) {
        return Err(problem("is not executable"));
    }
    let link = Some(link).filter(|link| cfg!(unix) && resolve_below(link, &directory).is_ok_and(|real| real == path));
    Ok((path, link))
}

/// What npm's failure means if it refers to a cooldown, and the registry has the version.
async fn explain_cooldown(failure: &ToolFailure, (name, version): (&str, &str), npm: &Tool<'_>) -> Option<HeldBack> {
    let held = failure.held_by_npm()?;
    let held_name = held.rfind('@').filter(|at| *at > 0).map_or(held, |at| &held[..at]);
    let matching = match npm.run(["view", "--json", "--no-update-notifier", "--", held, "version"]).await {
        Ok(output) => versions(&output.stdout).filter(|versions| !versions.is_empty())?,
        Err(Error::Tool(failure)) if failure.lacks_package() => return None,
        Err(_) => Vec::new(),
    };
    let listed = npm.run(["config", "ls", "--no-update-notifier"]).await.map(|output| output.stdout);
    let setting = cooldown_setting(&listed.unwrap_or_default());
    let days = setting.value.parse::<f64>().ok();
    let mut until = None;
    if let (Some(days), Some(first)) = (days, matching.first()) {
        let (spec, field) = (format!("{held_name}@{first}"), format!("time[{first}]"));
        let time = npm.run(["view", "--no-update-notifier", "--", &spec, &field]).await;
        until = time.ok().and_then(|output| later(output.stdout.trim().parse().ok()?, days * DAY));
    }
    Some(HeldBack {
        package: format!("{name}@{version}"),
        held: held.to_owned(),
        setting: setting.text,
        is_of_manifest: false,
        until,
        newest: newest_of_npm(name, version, npm).await,
        stderr: failure.stderr.clone(),
    })
}

/// The newest version of a package that npm would install with its dependencies.
async fn newest_of_npm(name: &str, version: &str, npm: &Tool<'_>) -> Option<String> {
    let place = npm.work.directory.join("newest");
    let path = place.to_str()?;
    let resolve = async |wanted: &str| {
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir(&place).ok()?;
        write(&place.join("package.json"), &manifest(name, wanted, true, [])).ok()?;
        let flags = ["--package-lock=true", "--package-lock-only", "--ignore-scripts", "--prefix", path];
        npm.run(["install"].iter().chain(&OWN).chain(&flags)).await.ok()?;
        let list: Value = serde_json::from_slice(&std::fs::read(place.join("package-lock.json")).ok()?).ok()?;
        let found = list["packages"][format!("node_modules/{name}")]["version"].as_str()?.to_owned();
        semver::Version::parse(&found).is_ok().then_some(found)
    };
    if let Some(newest) = resolve("*").await {
        return Some(newest);
    }
    let all = npm.run(["view", "--json", "--no-update-notifier", "--", name, "versions"]).await.ok()?;
    let wanted = semver::Version::parse(version).ok()?;
    let parsed = versions(&all.stdout)?.into_iter().filter_map(|text| semver::Version::parse(&text).ok());
    let mut older: Vec<_> = parsed.filter(|one| *one < wanted && one.pre.is_empty()).collect();
    older.sort_unstable_by(|a, b| b.cmp(a));
    for version in older.into_iter().take(OLDER) {
        if let Some(newest) = resolve(&version.to_string()).await {
            return Some(newest);
        }
    }
    None
}

/// The versions in an answer of `npm view --json`: one text, or a list.
fn versions(answer: &str) -> Option<Vec<String>> {
    match serde_json::from_str(answer).ok()? {
        Value::String(version) => Some(vec![version]),
        Value::Array(list) => Some(list.iter().filter_map(|one| one.as_str().map(ToOwned::to_owned)).collect()),
        _ => None,
    }
}

/// The cooldown in the answer of `npm config ls`, which begins with the sources that count least. In one source, `before`
/// counts for more.
fn cooldown_setting(listed: &str) -> Setting {
    let unknown = "npm's setting `before` or `min-release-age`".to_owned();
    let mut found = Setting { text: unknown, ..Setting::default() };
    let (mut source, mut place, mut day_from) = ("", "", "");
    for line in listed.lines() {
        if let Some((name, path)) = line.strip_prefix("; \"").and_then(|line| line.split_once("\" config from ")) {
            (source, place) = (name, path);
            continue;
        }
        let Some((key @ ("before" | "min-release-age"), value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        if value == "null" || (key == "min-release-age" && day_from == source) {
            continue;
        }
        if key == "before" {
            day_from = source;
        }
        let text = if source == "env" {
            format!("the variable {}", quote(&format!("npm_config_{}={value}", key.replace('-', "_"))))
        } else {
            format!("{} in {}", quote(&format!("{key}={value}")), printable(place))
        };
        found = Setting { text, value: value.to_owned(), is_of_manifest: false };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_for_node_are_known_by_their_first_line() {
        let flags = |line: &str| flags_of_node(line).map(|flags| flags.join(" "));
        assert_eq!(flags("/usr/bin/env node").as_deref(), Some(""));
        assert_eq!(flags("/usr/bin/env -S node --a --b=c").as_deref(), Some("--a --b=c"));
        // The system starts these, or says why it does not.
        for other in [
            "/bin/sh", "/usr/local/bin/node --no-warnings", "/usr/bin/env -S A=1 node", "/usr/bin/env bun", "",
            "/usr/bin/env nodejs-x", "/usr/bin/envnode",
        ] {
            assert_eq!(flags(other), None, "{other}");
        }
        // Linux looks for a program of that whole name, macOS for `node`.
        assert_eq!(flags("/usr/bin/env node --a").is_none(), cfg!(target_os = "linux"));
    }

    #[test]
    fn of_equal_members_the_last_one_counts_as_for_npm() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("node_modules/p");
        std::fs::create_dir_all(&package).unwrap();
        for file in ["a.js", "b.js", "c.js"] {
            std::fs::write(package.join(file), "").unwrap();
        }
        let text = r#"{ "bin": "a.js", "engines": { "node": "1" }, "bin": { "p": "b.js", "p": "c.js" }, "engines": { "node": "2" } }"#;
        std::fs::write(package.join("package.json"), text).unwrap();
        let own = package_json("p", folder.path()).unwrap();
        assert_eq!(own.node().as_deref(), Some("2"));
        let Ok((command, commands)) = choose("p", &own, None, folder.path()) else { panic!("no command") };
        let (file, _) = command_file("p", &command, &commands, folder.path()).unwrap();
        assert!(file.ends_with("node_modules/p/c.js"), "{}", file.display());
    }

    #[test]
    fn npm_has_proven_what_its_notes_have_a_sha512_of() {
        let digest = format!("sha512-{}==", "A".repeat(86));
        for (packages, expected, own) in [
            (r#""node_modules/@s/p": { "integrity": "DIGEST" }"#, true, true),
            (
                r#""node_modules/@s/p": { "integrity": "DIGEST" }, "node_modules/@s/p/node_modules/q": { "inBundle": true }"#,
                true,
                true,
            ),
            (r#""node_modules/@s/p": { "integrity": "DIGEST" }, "node_modules/q": {}"#, false, true),
            (
                r#""node_modules/@s/p": { "integrity": "DIGEST" }, "node_modules/q": { "integrity": "sha1-x" }"#,
                false,
                true,
            ),
            (r#""node_modules/@s/p": {}"#, false, false),
            ("", false, false),
        ] {
            let notes = format!(r#"{{ "packages": {{ {packages} }} }}"#).replace("DIGEST", &digest);
            assert_eq!(are_proven(notes.as_bytes()), expected, "{notes}");
            assert_eq!(integrity_in(notes.as_bytes(), "@s/p"), own.then(|| digest.clone()), "{notes}");
        }
        assert!(!are_proven(b"{}") && !are_proven(b"7"));
    }

    #[test]
    fn npm_gets_no_list_that_lets_it_install_other_bytes() {
        let list = r#"{ "packages": { "": {}, "node_modules/a": { "integrity": "x", "hasShrinkwrap": true, "_hasShrinkwrap": true },
            "node_modules/a/node_modules/b": { "version": "1.0.0", "inBundle": true } } }"#;
        let list: Value = serde_json::from_str(&enforced(list).unwrap()).unwrap();
        assert_eq!(list["packages"][""], serde_json::json!({}));
        assert_eq!(list["packages"]["node_modules/a"], serde_json::json!({ "integrity": "x" }));
        let part = list["packages"]["node_modules/a/node_modules/b"]["integrity"].as_str().unwrap();
        assert!(closure::sha512(part).is_some(), "{part}");
    }

    #[test]
    fn the_setting_of_npm_that_counts_is_found_with_its_place() {
        let user = "; \"user\" config from /home/u/.npmrc\n\n";
        let env = "; \"env\" config from environment\n\n";
        let unknown = "npm's setting `before` or `min-release-age`";
        for (listed, expected, value) in [
            (format!("{user}min-release-age = 7\nregistry = \"x\"\n"), "`min-release-age=7` in /home/u/.npmrc", "7"),
            (
                format!("{user}; min-release-age = 7 ; overridden by env\n\n{env}min-release-age = 0.5\n"),
                "the variable `npm_config_min_release_age=0.5`",
                "0.5",
            ),
            (
                format!("{user}before = \"2026-11-01\"\nmin-release-age = 7\n"),
                "`before=2026-11-01` in /home/u/.npmrc",
                "2026-11-01",
            ),
            (
                format!("{user}before = \"2026-11-01\"\n{env}min-release-age = 7\n"),
                "the variable `npm_config_min_release_age=7`",
                "7",
            ),
            (format!("{user}before = null\n"), unknown, ""),
            (String::new(), unknown, ""),
        ] {
            let found = cooldown_setting(&listed);
            assert_eq!((found.text.as_str(), found.value.as_str()), (expected, value), "{listed}");
        }
    }
}
