//! A package of the Python package index.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::{PathError, read_bounded};
use acp_registry_host::process::{Environment, is_executable};
use acp_registry_plan::closure;
use acp_registry_plan::manifest::extension::{self, is_command};
use acp_registry_plan::manifest::{Package, Pin, PypiSpec};
use acp_registry_plan::text::{escape, printable, quote};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_sources::pypi::normalized;

use super::cache::Open;
use super::error::{HeldBack, Setting, UV_PYTHON, later};
use super::failure::unfolded;
use super::package_manager::{Tool, write};
use super::{
    DigestSource, Error, Expected, InstallJob, Installer, Placed, Progress, Proof, Remarks, Shortfall, Source, TooOld,
    ToolFailure, failure,
};
use crate::provenance::{Inquiry, Provenance};

/// The largest file of entry points that is read, in bytes.
const ENTRY_POINTS_LIMIT: u64 = 1 << 20;

/// Installs a package with uv into an environment of its own.
pub(super) async fn install(work: &InstallJob<'_>, wanted: &Package) -> Result<Placed, Error> {
    let package = wanted.package.as_str();
    let InstallJob { installer, directory, .. } = *work;
    let (spec, program) = (exact(package)?, find(installer)?);
    let name = parse(package)?.name;
    if installer.requires_digest && work.expected.packages.is_none() && !is_secure(installer) {
        return Err(Error::NoDigest { what: package.to_owned(), problem: None });
    }
    let (packages, provenance) = match &installer.inquiry {
        Some(inquiry) => prove(work, inquiry, wanted).await.map(|(list, provenance)| (Some(list), provenance))?,
        None => (work.expected.packages.clone(), None),
    };
    let cache = installer.open_cache();
    let mut environment = installer.uv_environment(wanted, cache.as_ref())?;
    let build = build_flags(installer);
    // What uv fetches must outlive its home.
    environment.set("UV_PYTHON_INSTALL_DIR", directory.join("python"));
    let mut uv = Tool { work, name: "uv", program, environment, registry: installer.registries.python() };
    uv.check_proxy()?;
    (work.progress)(Progress::Running("uv"));
    (work.progress)(Progress::Phase("uv", "resolving packages".to_owned()));
    let tools = directory.join("tools");
    let own = match &packages {
        None => {
            let programs = directory.join("bin");
            uv.environment.set("UV_TOOL_DIR", &tools);
            uv.environment.set("UV_TOOL_BIN_DIR", &programs);
            // Otherwise the last that uv says is that it should be there, and errors would quote that.
            uv.environment.append_to_path([programs.clone()]);
            let install = [&["tool", "install", "--no-progress"], build].concat();
            let first = uv.run(install.iter().chain(&["--", &spec])).await;
            let shortfall = first.as_ref().err().and_then(shortfall);
            let ran = match (&shortfall, first) {
                (Some(shortfall), Err(error)) => {
                    if let Some(chosen) = chosen(&uv) {
                        let (wanted, chosen) = (quote(&shortfall.wanted), quote(&chosen));
                        let phase = format!("the package accepts Python {wanted}, not {chosen} (UV_PYTHON)");
                        (work.progress)(Progress::Phase("uv", phase));
                    }
                    // Like uvx: with a Python of this machine that the package accepts, or one that uv fetches.
                    match uv.run(install.iter().chain(&["--python", &shortfall.wanted, "--", &spec])).await {
                        Err(again) if !lacks_commands(&again) => {
                            let said = again.stderr().to_owned();
                            return Err(explain(refused_again(again, error, package), &said, &uv).await);
                        }
                        again => again,
                    }
                }
                (_, first) => first,
            };
            match ran {
                Ok(_) => list(&programs)?,
                // uvx also starts the commands of dependencies, for which `uv tool install` makes no links.
                Err(error) if lacks_commands(&error) => {
                    let python = shortfall.as_ref().map(|shortfall| shortfall.wanted.as_str());
                    // uv makes no environment over what it has left there.
                    let _ = fs::remove_dir_all(&tools);
                    install_into(&tools, python, &[build, &["--", &spec]].concat(), &uv).await?;
                    Vec::new()
                }
                Err(error) => {
                    let error = held(error, wanted, &uv).await;
                    return Err(none(absent(error, package, &uv).await, &uv).await);
                }
            }
        }
        // Installs exactly the packages of the list.
        Some(packages) => {
            write(&directory.join("packages.txt"), packages)?;
            let python = work.expected.python.as_deref();
            let listed = ["--require-hashes", "--requirements", "packages.txt"];
            let ran = install_into(&tools, python, &[build, &listed].concat(), &uv).await;
            if let Err(error) = ran {
                return Err(refused(held(error, wanted, &uv).await, package));
            }
            commands(directory, &name)?
        }
    };
    let places = [directory.join("bin"), programs_in(&tools.join(normalized(&name))), programs_in(&tools)];
    let no_command = |(problem, suggestion)| Error::NoCommand { package: package.to_owned(), problem, suggestion };
    let program = choose(&name, wanted.command.as_deref(), &own, &places).map_err(no_command)?;
    let verified = match work.expected.packages {
        Some(_) if !work.expected.is_published => DigestSource::Lock,
        Some(_) => DigestSource::Pypi,
        None if is_secure(installer) => DigestSource::Pypi,
        None => DigestSource::None,
    };
    let proof = Proof { verified, sha256: None, integrity: None };
    let remarks = Remarks { may_build: installer.allow_build, ..Remarks::default() };
    Ok(Placed { program, link: None, interpreter: None, proof, provenance, remarks })
}

/// Who has built a package, and a list of it and its dependencies in which it has only files that are attested.
async fn prove(
    work: &InstallJob<'_>,
    inquiry: &Inquiry,
    wanted: &Package,
) -> Result<(String, Option<Provenance>), Error> {
    let list = if let Some(list) = &work.expected.packages {
        list.clone()
    } else {
        (work.progress)(Progress::Running("uv"));
        let made = work.installer.closure(&Source::Uvx(wanted.clone()), None, None, work.temporary).await?;
        made.map(|made| made.packages).unwrap_or_default()
    };
    closure::check_uv(&list)
        .map_err(|problem| Error::NoDigest { what: wanted.package.clone(), problem: Some(problem) })?;
    let PypiSpec { name, pin, .. } = parse(&wanted.package)?;
    let version = if let Pin::Exact(version) = pin { version } else { String::new() };
    let (provenance, files) = inquiry.ask_python((&name, &version), &closure::digests(&list, &name)).await?;
    let list = if provenance.is_some() { closure::retain_digests(&list, &name, &files) } else { list };
    Ok((list, provenance))
}

/// Whether uv reaches its indexes by connections that cannot be tampered with. The digests that it compares are from there.
fn is_secure(installer: &Installer) -> bool {
    let is_plain = |(name, value): &(String, String)| {
        ["UV_INSECURE_HOST", "UV_FIND_LINKS"].contains(&name.as_str())
            || (name.starts_with("UV_") && name.contains("INDEX") && value.contains("http://"))
    };
    let in_file = |key: &str| read_uv_setting(key, installer);
    let is_plain_in_file = |key: &&str| in_file(key).is_some_and(|value| value.to_string().contains("http://"));
    let of_pip = |key: &str| in_file("pip").is_some_and(|pip| pip.get(key).is_some());
    let asked = installer.registries.python();
    asked.is_none_or(|asked| asked.address.starts_with("https://"))
        && !installer.uv.iter().any(is_plain)
        && !["index", "index-url", "extra-index-url", "pip"].iter().any(is_plain_in_file)
        // What is in a folder has no digest of an index.
        && ["allow-insecure-host", "find-links"].iter().all(|key| in_file(key).is_none() && !of_pip(key))
}

impl Installer {
    /// The command that `uvx` has to be told to start a package, which has none of its own name; `None` if it needs none. uv
    /// fetches the package into a directory below `temporary`, and its dependencies if it has no command of its own: uvx also
    /// starts the commands of these.
    ///
    /// # Errors
    /// [`Error`]; it is [`Error::NoCommand`] if the package has several other commands, or none and no dependency has one of
    /// its name.
    pub async fn command_for_uvx(&self, package: &Package, temporary: &Path) -> Result<Option<String>, Error> {
        let (spec, name) = (exact(&package.package)?, parse(&package.package)?.name);
        let (program, cache) = (find(self)?, self.open_cache());
        let environment = self.uv_environment(package, cache.as_ref())?;
        let directory = tempfile::tempdir_in(temporary).map_err(PathError::at(temporary))?;
        let (expected, directory) = (Expected::default(), directory.path());
        let work = InstallJob { installer: self, expected: &expected, directory, temporary, progress: &|_| () };
        let uv = Tool { work: &work, name: "uv", program, environment, registry: self.registries.python() };
        let fetch = async |flags: &[&str]| {
            let usual = ["pip", "install", "--no-progress", "--target", "files"];
            let ran = uv.run([&usual[..], flags, build_flags(self), &["--", &spec]].concat()).await;
            ran.map_err(|error| refused(error, &package.package))
        };
        fetch(&["--no-deps"]).await?;
        let place = directory.join("files/bin");
        let own = if place.is_dir() { list(&place)? } else { Vec::new() };
        if own.is_empty() {
            fetch(&[]).await?;
        }
        match choose(&name, package.command.as_deref(), &own, &[place]) {
            Ok(_) => Ok(None),
            Err((_, Some(only))) if is_command(&only) => Ok(Some(only)),
            Err((problem, suggestion)) => {
                Err(Error::NoCommand { package: package.package.clone(), problem, suggestion })
            }
        }
    }
}

/// Makes an environment at a place, and installs into it what the arguments name.
async fn install_into(place: &Path, python: Option<&str>, what: &[&str], uv: &Tool<'_>) -> Result<(), Error> {
    let place = place.to_string_lossy();
    let mut make = vec!["venv", "--no-progress"];
    make.extend(python.iter().flat_map(|python| ["--python", python]));
    make.extend(["--", &place]);
    if let Err(error) = uv.run(make).await {
        return Err(none(error, uv).await);
    }
    uv.run([&["pip", "install", "--no-progress", "--python", &place], what].concat()).await?;
    Ok(())
}

/// Where the programs of an environment are.
fn programs_in(environment: &Path) -> PathBuf {
    environment.join(if cfg!(windows) { "Scripts" } else { "bin" })
}

/// The flags that keep uv from building packages, which runs their code, unless that is allowed.
pub(super) fn build_flags(installer: &Installer) -> &'static [&'static str] {
    if installer.allow_build { &[] } else { &["--no-build"] }
}

/// How Python falls short of what a package requires, if uv has refused it for that.
fn shortfall(error: &Error) -> Option<Shortfall> {
    if let Error::Tool(failure) = error { failure::python_shortfall(&failure.stderr) } else { None }
}

/// What uv's failure means for the package.
pub(super) fn refused(error: Error, package: &str) -> Error {
    match shortfall(&error) {
        Some(shortfall) => Error::RuntimeTooOld(Box::new(TooOld::new(package, shortfall, error.stderr()))),
        None if failure::is_of_build(error.stderr()) => {
            Error::NeedsBuild { package: package.to_owned(), built: failure::needs_build(error.stderr()) }
        }
        None => error,
    }
}

/// Whether uv has refused a package that has no commands of its own.
fn lacks_commands(error: &Error) -> bool {
    error.stderr().lines().any(|line| line.starts_with("error: Failed to install entrypoints for "))
}

/// What the failure of a second attempt means, with a Python that the package accepts; if there is no such Python, the
/// first failure is reported.
fn refused_again(again: Error, first: Error, package: &str) -> Error {
    let has_python = again.stderr().lines().any(|line| line.trim_start().starts_with("Resolved "));
    refused(if has_python || failure::is_of_build(again.stderr()) { again } else { first }, package)
}

pub(super) fn parse(package: &str) -> Result<PypiSpec, Error> {
    package.parse().map_err(|error| Error::Spec { package: package.to_owned(), error })
}

/// What uv's failure means where the index has no such package, or no such version of it: uv, run once more,
/// says which version is the newest that it would install.
async fn absent(error: Error, package: &str, uv: &Tool<'_>) -> Error {
    let (Error::Tool(failure), Ok(PypiSpec { name, pin: Pin::Exact(version), .. })) = (&error, parse(package)) else {
        return refused(error, package);
    };
    if failure.lacks_name(&name) {
        return Error::NoPackage { name, failure: failure.clone() };
    }
    if !failure.lacks_version(&name, &version) {
        return refused(error, package);
    }
    let newest = newest(&name, &["--no-deps"], uv).await;
    Error::NoVersion { name, version, newest, failure: failure.clone() }
}

/// The newest version of a package that uv would install now.
async fn newest(name: &str, more: &[&str], uv: &Tool<'_>) -> Option<String> {
    let InstallJob { installer, directory, .. } = *uv.work;
    write(&directory.join("wanted.txt"), name).ok()?;
    let flags = ["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-progress"];
    let said = uv.run(flags.iter().chain(more).chain(build_flags(installer)).chain(&["wanted.txt"])).await.ok()?.stdout;
    let mut pins = said.lines().filter_map(|line| line.split_once("=="));
    let (_, version) = pins.find(|(found, _)| normalized(found) == normalized(name))?;
    let version = version.split_whitespace().next()?;
    let is_version = version.len() < 40 && version.chars().all(|c| c.is_ascii_alphanumeric() || ".!+-".contains(c));
    is_version.then(|| version.to_owned())
}

/// The failure of uv as that of a cooldown, if it is one.
async fn held(error: Error, wanted: &Package, uv: &Tool<'_>) -> Error {
    let Error::Tool(failure) = &error else { return error };
    let held = explain_cooldown(failure, wanted, uv).await;
    held.map_or(error, |held| Error::HeldBack(Box::new(held)))
}

/// A package that is pinned to one version, as uv reads it.
pub(super) fn exact(package: &str) -> Result<String, Error> {
    let spec = parse(package)?;
    let Pin::Exact(version) = &spec.pin else { return Err(Error::Unpinned(package.to_owned())) };
    Ok(spec.in_version(version))
}

pub(super) fn find(installer: &Installer) -> Result<PathBuf, Error> {
    installer.environment.find("uv").ok_or(Error::MissingRuntime {
        program: "uv",
        why: None,
        remedy: acp_registry_plan::resolve::UV,
    })
}

/// The commands of the package itself, from its own records: the environment has those of all packages.
fn commands(directory: &Path, package: &str) -> Result<Vec<String>, Error> {
    let tools = directory.join("tools");
    let libraries = if cfg!(windows) {
        vec![tools.join("Lib")]
    } else {
        list(&tools.join("lib"))?.into_iter().map(|name| tools.join("lib").join(name)).collect()
    };
    for packages in libraries.iter().map(|library| library.join("site-packages")) {
        let is_own = |name: &&String| {
            let stem = name.strip_suffix(".dist-info").and_then(|name| name.split('-').next());
            stem.is_some_and(|stem| normalized(stem) == normalized(package))
        };
        if let Some(own) = list(&packages)?.iter().find(is_own) {
            let notes = packages.canonicalize().ok().and_then(|packages| {
                read_bounded(&packages.join(own).join("entry_points.txt"), &packages, ENTRY_POINTS_LIMIT).ok()
            });
            return Ok(console_scripts(&String::from_utf8_lossy(&notes.unwrap_or_default())));
        }
    }
    Ok(Vec::new())
}

/// The commands in a file of entry points.
fn console_scripts(notes: &str) -> Vec<String> {
    let mut is_in = false;
    let mut names = Vec::new();
    for line in notes.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_in = section.trim_end_matches(']').trim() == "console_scripts";
        } else if let Some((name, _)) = line.split_once('=').filter(|_| is_in) {
            let ending = if cfg!(windows) { ".exe" } else { "" };
            names.push(format!("{}{ending}", name.trim()));
        }
    }
    names
}

fn list(folder: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for item in fs::read_dir(folder).map_err(PathError::at(folder))? {
        let name = item.map_err(PathError::at(folder))?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The program that `uvx` would start, in the first of these directories that has it: the one of exactly the wanted name, or
/// else of the name of the package as it is written. `own` are the package's own commands. The error is what is wrong as the
/// rest of a sentence about the package, with a command that could be named.
fn choose(
    package: &str,
    wanted: Option<&str>,
    own: &[String],
    places: &[PathBuf],
) -> Result<PathBuf, (String, Option<String>)> {
    let command = wanted.unwrap_or(package);
    let file = format!("{command}{EXE_SUFFIX}");
    if let Some(program) = places.iter().map(|place| place.join(&file)).find(|program| is_named(program, &file)) {
        return Ok(program);
    }
    let names: Vec<&str> = own.iter().map(|name| name.strip_suffix(EXE_SUFFIX).unwrap_or(name)).collect();
    let shown = names.iter().take(5).map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    let problem = match (names.as_slice(), wanted) {
        ([], _) => "has no command, so that uvx has nothing to start".to_owned(),
        (_, Some(_)) => format!("has no command {}, only {shown}", quote(command)),
        ([_], None) => format!("has no command {}, which uvx would start, only {shown}", quote(command)),
        (_, None) => {
            let others = format!("only {shown}; the manifest can name one, with `command`");
            format!("has no command {}, which uvx would start, {others}", quote(command))
        }
    };
    Err((problem, names.first().filter(|_| names.len() == 1).map(|&name| name.to_owned())))
}

/// Whether a program is there under exactly this name, which file systems that ignore case do not tell.
fn is_named(program: &Path, name: &str) -> bool {
    let Some(folder) = program.parent().filter(|_| is_executable(program)) else { return false };
    list(folder).is_ok_and(|names| names.iter().any(|known| known == name))
}

/// How many versions of Python are named.
const NAMED: usize = 8;

/// The Python that the person has chosen for uv.
pub(super) fn chosen(uv: &Tool<'_>) -> Option<String> {
    let value = uv.environment.get(UV_PYTHON)?.to_str()?;
    (!value.is_empty()).then(|| escape(value))
}

/// The failure of uv with no Python named, as the lack of a Python if it is that.
pub(super) async fn none(error: Error, uv: &Tool<'_>) -> Error {
    match error {
        Error::Tool(failure) if has_none(&failure.stderr) => {
            Error::NoPython { chosen: chosen(uv), found: installed(uv).await, failure }
        }
        error => error,
    }
}

/// Completes the message that a package accepts no Python that is there: `again` is what uv wrote when it was told which
/// ones the package accepts.
pub(super) async fn explain(error: Error, again: &str, uv: &Tool<'_>) -> Error {
    let Error::RuntimeTooOld(too_old) = error else { return error };
    let by = chosen(uv).map(|chosen| format!(" (by {UV_PYTHON}={chosen})")).unwrap_or_default();
    let mut others = installed(uv).await;
    others.retain(|version| *version != too_old.shortfall.found);
    let there = if others.is_empty() { String::new() } else { format!("; there is also {}", others.join(", ")) };
    let words = unfolded(again);
    let download = failed_download(again);
    let hint = if words.contains("Python downloads are set to") {
        "; uv is configured to download none".to_owned()
    } else {
        download.as_ref().map(|why| format!("; uv could not download another: {why}")).unwrap_or_default()
    };
    let is_downloadable = download.is_none();
    Error::RuntimeTooOld(Box::new(TooOld { note: format!("{by}{there}{hint}"), is_downloadable, ..*too_old }))
}

/// Why uv could not download a Python: the address and the last cause, both printable. `None` if it has not tried.
fn failed_download(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().map(str::trim);
    // Packages are named, not their addresses.
    let mut named = lines.by_ref().filter_map(|line| line.split_once("Failed to download `")?.1.strip_suffix('`'));
    let address = named.find(|text| text.contains("://"))?;
    let mut causes = lines.filter_map(|line| line.strip_prefix("cause: ").or(line.strip_prefix("Caused by: ")));
    let cause = causes.next_back().unwrap_or("the request failed");
    Some(format!("{}: {}", quote(address), printable(cause)))
}

/// The versions of Python that uv finds.
async fn installed(uv: &Tool<'_>) -> Vec<String> {
    let listed = uv.run(["python", "list", "--only-installed", "--no-progress"]).await;
    listed.map(|output| versions(&output.stdout)).unwrap_or_default()
}

/// Whether uv has found no Python of the kind that it was to use.
fn has_none(stderr: &str) -> bool {
    let words = unfolded(stderr);
    [
        "error: No interpreter found ",
        "error: No download found for request",
        "error: Failed to inspect Python interpreter ",
    ]
    .iter()
    .any(|begin| words.contains(begin))
}

/// The versions of `CPython` in uv's list, in its order.
fn versions(list: &str) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for key in list.lines().filter_map(|line| line.split_whitespace().next()) {
        let Some(version) = key.strip_prefix("cpython-").and_then(|rest| rest.split('-').next()) else { continue };
        let is_plain = version.len() < 40 && version.chars().all(|c| c.is_ascii_alphanumeric() || ".+".contains(c));
        if is_plain && !versions.iter().any(|known| known == version) && versions.len() < NAMED {
            versions.push(version.to_owned());
        }
    }
    versions
}

/// What uv's failure means if it would install the package without a cooldown.
async fn explain_cooldown(failure: &ToolFailure, wanted: &Package, uv: &Tool<'_>) -> Option<HeldBack> {
    let InstallJob { installer, directory, .. } = *uv.work;
    // uv says it whatever it makes of a package without versions: a version that is missing, or a range that none is in.
    let hint = Hint::parse(&unfolded(&failure.stderr));
    if hint.is_none() && !failure.lacks_package() {
        return None;
    }
    let (package, name) = (exact(&wanted.package).ok()?, parse(&wanted.package).ok()?.name);
    let hint = if let Some(hint) = hint {
        hint
    } else {
        // Older versions of uv do not give the reason.
        let key = "exclude-newer";
        uv_setting(key, &name, wanted, installer)?;
        write(&directory.join("wanted.txt"), &package).ok()?;
        let flags = ["pip", "compile", "--quiet", "--exclude-newer", "9000-01-01T00:00:00Z"];
        uv.run(flags.iter().chain(build_flags(installer)).chain(&["wanted.txt"])).await.ok()?;
        Hint { name: normalized(&name), key: key.to_owned(), ..Hint::default() }
    };
    let unknown = || Setting { text: format!("uv's setting {}", quote(&hint.key)), ..Setting::default() };
    let setting = uv_setting(&hint.key, &hint.name, wanted, installer).unwrap_or_else(unknown);
    // uv gives the end of an age as of now.
    let cutoff = hint.cutoff.filter(|_| !setting.value.is_empty() && !is_day(&setting.value));
    let age = cutoff.map(|cutoff| seconds_between(cutoff, Timestamp::now()));
    let held = match hint.version {
        _ if hint.name == normalized(&name) => package.clone(),
        Some(version) => format!("{}=={version}", hint.name),
        None => hint.name,
    };
    Some(HeldBack {
        package,
        held,
        setting: setting.text,
        is_of_manifest: setting.is_of_manifest,
        until: hint.published.zip(age).and_then(|(published, age)| later(published, age)),
        newest: newest(&name, &[], uv).await,
        stderr: failure.stderr.clone(),
    })
}

/// What uv says of a package that a cooldown has filtered.
#[derive(Debug, Default, PartialEq)]
struct Hint {
    name: String,
    key: String,
    cutoff: Option<Timestamp>,
    version: Option<String>,
    published: Option<Timestamp>,
}

impl Hint {
    fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once("` was filtered by `")?;
        let (key, rest) = rest.split_once("` to only include packages uploaded before ")?;
        let first = |text: &str| text.split(' ').next().unwrap_or_default().trim_end_matches('.').to_owned();
        // Of one version, or of the latest in a range.
        let begins = [". The requested version, v", ". The latest version satisfying the requirement is v"];
        let version = begins.iter().find_map(|begin| rest.split_once(begin)?.1.split_once(','));
        let published = version.and_then(|(_, rest)| rest.trim_start_matches(" was").strip_prefix(" published at "));
        Some(Self {
            name: before.rsplit('`').next()?.to_owned(),
            key: key.to_owned(),
            cutoff: first(rest).parse().ok(),
            version: version.map(|(version, _)| version.to_owned()),
            published: published.and_then(|rest| first(rest).parse().ok()),
        })
    }
}

/// Where a setting of uv with this name is: a variable, its configuration file, or the manifest.
fn uv_setting(key: &str, held: &str, wanted: &Package, installer: &Installer) -> Option<Setting> {
    let of = |name: &str| installer.uv.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let setting = |text, value: &str| Setting { text, value: value.to_owned(), is_of_manifest: false };
    if key == "exclude-newer" {
        if let Some(value) = of(CUTOFF) {
            return Some(setting(format!("the variable {}", quote(&format!("{CUTOFF}={value}"))), value));
        }
        if let (Some(day), None) = (&wanted.exclude_newer, read_uv_setting(key, installer)) {
            let text = format!("{} of its manifest", quote(&format!("exclude_newer: {day}")));
            return Some(Setting { text, value: day.clone(), is_of_manifest: true });
        }
    }
    let value = read_uv_setting(key, installer)?;
    let value = value.get(held).cloned().unwrap_or(value);
    let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let place = printable(of("UV_CONFIG_FILE")?).into_owned();
    Some(setting(format!("{} in {place}", quote(&format!("{key}={value}"))), &value))
}

/// Whether a cutoff is a day or a time, not an age such as `7 days` or `P7D`.
fn is_day(value: &str) -> bool {
    value.len() > 4 && value.as_bytes()[..4].iter().all(u8::is_ascii_digit) && value.as_bytes()[4] == b'-'
}

#[expect(clippy::cast_precision_loss, reason = "a time has seconds")]
fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.unix() - from.unix()) as f64
}

/// The variable with the time whose later releases uv does not take.
const CUTOFF: &str = "UV_EXCLUDE_NEWER";

/// The largest configuration file of uv that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// A value in the configuration file of uv.
fn read_uv_setting(key: &str, installer: &Installer) -> Option<toml::Value> {
    let (_, path) = installer.uv.iter().find(|(name, _)| name == "UV_CONFIG_FILE")?;
    let path = Path::new(path).canonicalize().ok()?;
    let text = String::from_utf8(read_bounded(&path, &path, FILE_LIMIT).ok()?).ok()?;
    text.parse::<toml::Table>().ok()?.remove(key)
}

impl Installer {
    /// The shared caches, for as long as the result lives.
    pub(super) fn open_cache(&self) -> Option<Open> {
        self.packages.as_ref()?.open()
    }

    /// The environment of npm. Before npm asks a registry again that does not answer, it waits 10 and then 60 s by itself, once
    /// for each level of dependencies that it has in its cache. Shorter pauses cost a slow network nothing: how long an answer
    /// may take is another setting, and stays as it is.
    pub(super) fn npm_environment(&self, cache: Option<&Open>) -> Environment {
        const PAUSES: [(&str, &str); 2] =
            [("npm_config_fetch_retry_mintimeout", "1000"), ("npm_config_fetch_retry_maxtimeout", "3000")];
        let mut environment = self.environment.clone();
        // npm refuses a lower bound above the upper one, so that the person's count alone.
        if self.npm.iter().all(|(name, _)| PAUSES.iter().all(|(known, _)| name != known)) {
            for (name, value) in PAUSES {
                environment.set(name, value);
            }
        }
        // As this program does, trust the authorities of the system, and those of the variable that npm does not read.
        environment.set("NODE_USE_SYSTEM_CA", "1");
        // npm has a new temporary directory each time, in which the compiler's cache would only be written.
        environment.set("NODE_DISABLE_COMPILE_CACHE", "1");
        if let Some(file) = environment.get("SSL_CERT_FILE").map(ToOwned::to_owned)
            && environment.get("NODE_EXTRA_CA_CERTS").is_none()
        {
            environment.set("NODE_EXTRA_CA_CERTS", file);
        }
        set_all(&mut environment, &self.npm);
        if let Some(cache) = cache {
            environment.set("npm_config_cache", &cache.npm);
        }
        environment
    }

    /// The environment of uv for a package. A cutoff that the person has set for uv, by a variable or in its configuration
    /// file, counts for more than the manifest's.
    pub(super) fn uv_environment(&self, package: &Package, cache: Option<&Open>) -> Result<Environment, Error> {
        let mut environment = self.environment.clone();
        set_all(&mut environment, &self.uv);
        // uv looks for a Python in `PATH`, where those of version managers come last.
        let python = if cfg!(windows) { "python" } else { "python3" };
        let pythons = environment.find_all(python).filter_map(|python| python.parent().map(Path::to_owned));
        let pythons = pythons.collect::<Vec<_>>();
        environment.append_to_path(pythons);
        if environment.get("UV_NATIVE_TLS").is_none() && environment.get("UV_SYSTEM_CERTS").is_none() {
            environment.set("UV_SYSTEM_CERTS", "1");
        }
        if let Some(day) = &package.exclude_newer
            && self.uv.iter().all(|(name, _)| name != CUTOFF)
            && read_uv_setting("exclude-newer", self).is_none()
        {
            let end = extension::end_of_day(day);
            environment.set(CUTOFF, end.ok_or_else(|| Error::Cutoff { day: day.clone() })?);
        }
        if let Some(cache) = cache {
            environment.set("UV_CACHE_DIR", &cache.uv);
        }
        Ok(environment)
    }
}

fn set_all(environment: &mut Environment, variables: &[(String, String)]) {
    for (name, value) in variables {
        environment.set(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_http::{Client, Settings};
    use std::sync::Arc;

    #[test]
    fn commands_are_read_from_a_packages_own_notes() {
        let notes = "[other]\nx = a:b\n[console_scripts]\n tool = p.cli:main\ntool-acp=p:acp [extra]\n\n[gui]\ny = z";
        let names = console_scripts(notes);
        assert_eq!(names.iter().map(|name| name.trim_end_matches(".exe")).collect::<Vec<_>>(), ["tool", "tool-acp"]);
        assert_eq!(console_scripts(""), [] as [&str; 0]);
    }

    #[cfg(unix)]
    #[test]
    fn notes_that_are_too_long_or_elsewhere_name_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("tools/lib/python3.12/site-packages/p-1.dist-info");
        fs::create_dir_all(&own).unwrap();
        let notes = "[console_scripts]\nx = p:main\n";
        fs::write(own.join("entry_points.txt"), notes).unwrap();
        assert_eq!(commands(folder.path(), "p").unwrap(), ["x"]);
        fs::write(own.join("entry_points.txt"), notes.repeat(1 << 16)).unwrap();
        assert_eq!(commands(folder.path(), "p").unwrap(), [] as [&str; 0]);
        fs::write(folder.path().join("outside"), notes).unwrap();
        fs::remove_file(own.join("entry_points.txt")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("outside"), own.join("entry_points.txt")).unwrap();
        assert_eq!(commands(folder.path(), "p").unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn what_is_fetched_without_https_is_not_vouched_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("uv.toml");
        let vouches = |config: &str, variable: Option<(&str, &str)>| {
            fs::write(&file, config).unwrap();
            let mut installer = Installer::new(Arc::new(Client::new(Settings::default())), Environment::default());
            let config = ("UV_CONFIG_FILE", file.to_str().unwrap());
            let variables = [Some(config), variable].into_iter().flatten();
            installer.uv = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            is_secure(&installer)
        };
        assert!(vouches("[[index]]\nurl = \"https://h.example\"\n", Some(("UV_INDEX", "https://i.example"))));
        for config in [
            "[[index]]\nurl = \"http://h.example\"\n",
            "extra-index-url = [\"http://h.example\"]\n",
            "find-links = [\"/folder\"]\n",
            "allow-insecure-host = [\"h.example\"]\n",
            "[pip]\nfind-links = [\"/folder\"]\n",
        ] {
            assert!(!vouches(config, None), "{config}");
        }
        for variable in [("UV_FIND_LINKS", "/folder"), ("UV_INDEX", "http://i.example"), ("UV_INSECURE_HOST", "h")] {
            assert!(!vouches("", Some(variable)), "{variable:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_chosen_as_uvx_does() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let [own, all] = ["bin", "tools/bin"].map(|name| folder.path().join(name));
        for (place, name) in [(&own, "tool"), (&own, "my-tool"), (&all, "tool"), (&all, "of-dependency")] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join(name), "").unwrap();
            fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let places = [own.clone(), folder.path().join("nothing"), all.clone()];
        let names = ["my-tool".to_owned(), "tool".to_owned()];
        let choose = |package: &str, wanted: Option<&str>| choose(package, wanted, &names, &places);
        assert_eq!(choose("tool", None), Ok(own.join("tool")));
        assert_eq!(choose("of-dependency", None), Ok(all.join("of-dependency")));
        assert_eq!(choose("other", Some("my-tool")), Ok(own.join("my-tool")));
        // Neither another spelling nor the only command is started.
        for package in ["my_tool", "My-Tool", "my.tool", "other"] {
            let problem = format!(
                "has no command `{package}`, which uvx would start, only `my-tool`, `tool`; the manifest can name one, with \
                 `command`"
            );
            assert_eq!(choose(package, None), Err((problem, None)), "{package}");
        }
        assert_eq!(choose("tool", Some("x")), Err(("has no command `x`, only `my-tool`, `tool`".to_owned(), None)));
        let problem = "has no command `other`, which uvx would start, only `my-tool`".to_owned();
        assert_eq!(super::choose("other", None, &names[..1], &places), Err((problem, Some("my-tool".to_owned()))));
        let nothing = super::choose("tool", None, &[], &[]);
        assert_eq!(nothing, Err(("has no command, so that uvx has nothing to start".to_owned(), None)));
    }

    #[test]
    fn the_lack_of_a_python_is_told_from_other_failures() {
        for text in [
            "error: No interpreter found for Python 3.99 in managed installations or search path",
            "error: No interpreter found at path `/nowhere/python`",
            "warning: x\nerror: No interpreter found for Python\n  >=3.15 in search path\n\nhint: A managed Python download is",
            "error: Failed to inspect Python interpreter from search path at `/x/python3.9`",
        ] {
            assert!(has_none(text), "{text}");
        }
        for text in ["", "error: x", "warning: Failed to inspect Python interpreter from search path at `/x/python3.9`"]
        {
            assert!(!has_none(text), "{text}");
        }
    }

    #[test]
    fn a_download_that_failed_is_told_with_its_last_cause() {
        let text = "error: Request failed after 3 retries in 7.5s\n  cause: Failed to download `https://h.example/p.tar.gz`\n  \
                    cause: client error (Connect)\n  cause: dns error\u{1b}[2J";
        assert_eq!(failed_download(text).as_deref(), Some("`https://h.example/p.tar.gz`: dns error\\u{1b}[2J"));
        let old = "error: Failed to download `https://h.example/p`\n  Caused by: timeout";
        assert_eq!(failed_download(old).as_deref(), Some("`https://h.example/p`: timeout"));
        for other in
            ["error: No interpreter found for Python >=3.12", "error: Failed to download `q==1.0.0`\n  cause: timeout"]
        {
            assert_eq!(failed_download(other), None, "{other}");
        }
    }

    #[test]
    fn versions_are_read_from_the_list_of_uv() {
        let list = "cpython-3.14.0a1+freethreaded-linux-x86_64-gnu  /a\ncpython-3.11.7-linux-x86_64-gnu    /opt/python3.11\n\
                    cpython-3.11.7-linux-x86_64-gnu  /b\npypy-3.10.14-linux-x86_64-gnu /c\ncpython-\u{1b}[2J-x /d\n\ngarbage";
        assert_eq!(versions(list), ["3.14.0a1+freethreaded", "3.11.7"]);
        assert_eq!(
            versions(&(0..99).map(|minor| format!("cpython-3.{minor}.0-x /a\n")).collect::<String>()).len(),
            NAMED
        );
    }

    #[test]
    fn the_hint_of_uv_names_package_setting_and_times() {
        let text = "error: No solution found when resolving dependencies cause: Because there is no version of q==1.1 and you \
                    require p==1, we can conclude that your requirements are unsatisfiable. hint: `q` was filtered by \
                    `exclude-newer` to only include packages uploaded before 2026-11-18T04:43:24.43Z. The requested version, \
                    v1.1, was published at 2026-11-24T04:43:24Z. Consider using `exclude-newer-package` to override";
        let hint = Hint::parse(text).unwrap();
        assert_eq!(
            (hint.name.as_str(), hint.key.as_str(), hint.version.as_deref()),
            ("q", "exclude-newer", Some("1.1"))
        );
        assert_eq!(hint.cutoff, "2026-11-18T04:43:24Z".parse().ok());
        assert_eq!(hint.published, "2026-11-24T04:43:24Z".parse().ok());
        let range = "error: No solution found when resolving dependencies cause: Because there are no versions of q and all \
                     versions of p depend on q, we can conclude that all versions of p cannot be used. hint: `q` was \
                     filtered by `exclude-newer` to only include packages uploaded before 2026-11-18T04:43:24.4Z. The latest \
                     version satisfying the requirement is v1.1, published at 2026-11-24T04:43:24Z. Consider";
        let hint = Hint::parse(range).unwrap();
        assert_eq!((hint.name.as_str(), hint.version.as_deref()), ("q", Some("1.1")));
        assert_eq!(hint.published, "2026-11-24T04:43:24Z".parse().ok());
        let undated = "hint: `q` was filtered by `exclude-newer-package` to only include packages uploaded before \
                       2026-11-18T04:43:24Z. Consider removing";
        let hint = Hint::parse(undated).unwrap();
        assert_eq!((hint.key.as_str(), hint.version, hint.published), ("exclude-newer-package", None, None));
        assert_eq!(Hint::parse("hint: `q` was not found"), None);
    }

    #[test]
    fn a_day_is_no_age() {
        for day in ["2026-11-18", "2026-11-18T00:00:00Z"] {
            assert!(is_day(day), "{day}");
        }
        for age in ["", "7 days", "P7D", "1 week", "2026"] {
            assert!(!is_day(age), "{age}");
        }
    }

    #[test]
    fn package_managers_trust_the_authorities_that_this_program_trusts() {
        let installer = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Installer::new(Arc::new(Client::new(Settings::default())), Environment::from_host(variables))
        };
        let npm = installer(&[("SSL_CERT_FILE", "/a.pem")]).npm_environment(None);
        assert_eq!(npm.get("NODE_EXTRA_CA_CERTS"), Some("/a.pem".as_ref()));
        assert_eq!(npm.get("NODE_USE_SYSTEM_CA"), Some("1".as_ref()));
        let own = installer(&[("SSL_CERT_FILE", "/a.pem"), ("NODE_EXTRA_CA_CERTS", "/b.pem")]);
        assert_eq!(own.npm_environment(None).get("NODE_EXTRA_CA_CERTS"), Some("/b.pem".as_ref()));
        let mut own = installer(&[]);
        assert_eq!(own.npm_environment(None).get("NODE_EXTRA_CA_CERTS"), None);
        let uv =
            |own: &Installer| own.uv_environment(&Package::default(), None).unwrap().get("UV_SYSTEM_CERTS").is_some();
        assert!(uv(&own));
        // uv warns of both, and the person has decided.
        own.uv.push(("UV_NATIVE_TLS".to_owned(), "false".to_owned()));
        assert!(!uv(&own));
    }
}
