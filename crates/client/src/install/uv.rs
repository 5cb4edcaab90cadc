//! A package of the Python package index.

use std::fs;
use std::path::{Path, PathBuf};

use super::tool::{Tool, write};
use super::{
    Error, Installer, Placed, Progress, Proof, Remarks, Shortfall, TooOld, Verified, Work, cooldown, python, refusal,
    remedy,
};
use acp_registry_core::manifest::{Package, Pin, PypiSpec};
use acp_registry_core::sys::fs::{PathError, read_bounded};
use acp_registry_core::text::quote;
use acp_registry_core::upstream::pypi::normalized;

/// The largest file of entry points that is read, in bytes.
const ENTRY_POINTS_LIMIT: u64 = 1 << 20;

/// Installs a package with uv into an environment of its own.
pub(super) async fn install(work: &Work<'_>, wanted: &Package) -> Result<Placed, Error> {
    let package = wanted.package.as_str();
    let Work { installer, directory, .. } = *work;
    let (spec, program) = (exact(package)?, find(installer)?);
    let name = parse(package)?.name;
    let cache = installer.open_cache();
    let mut environment = installer.uv_environment(wanted, cache.as_ref())?;
    let build = build_flags(installer);
    // What uv fetches must outlive its home.
    environment.set("UV_PYTHON_INSTALL_DIR", directory.join("python"));
    let mut uv = Tool::new(work, "uv", program, environment, installer.registries.of_python());
    uv.check_proxy()?;
    (work.progress)(Progress::Running("uv"));
    (work.progress)(Progress::Phase("uv", "resolving packages".to_owned()));
    let (programs, names) = match &work.expected.packages {
        None => {
            let programs = directory.join("bin");
            uv.environment.set("UV_TOOL_DIR", directory.join("tools"));
            uv.environment.set("UV_TOOL_BIN_DIR", &programs);
            let install = [&["tool", "install", "--no-progress"], build].concat();
            if let Err(error) = uv.run(install.iter().chain(&["--", &spec])).await {
                let Some(shortfall) = shortfall(&error) else {
                    let error = held(error, wanted, directory, &uv, installer).await;
                    return Err(python::none(absent(error, package, directory, &uv, installer).await, &uv).await);
                };
                if let Some(chosen) = python::chosen(&uv) {
                    let (wanted, chosen) = (quote(&shortfall.wanted), quote(&chosen));
                    let phase = format!("the package accepts Python {wanted}, not {chosen} (UV_PYTHON)");
                    (work.progress)(Progress::Phase("uv", phase));
                }
                // Like uvx: with a Python of this machine that the package accepts, or one that uv fetches.
                let again = uv.run(install.iter().chain(&["--python", &shortfall.wanted, "--", &spec])).await;
                if let Err(again) = again {
                    let said = again.stderr().to_owned();
                    return Err(python::explain(refused_again(again, error, package), &said, &uv).await);
                }
            }
            let names = list(&programs)?;
            (programs, names)
        }
        // Installs exactly the packages of the list.
        Some(packages) => {
            write(&directory.join("packages.txt"), packages)?;
            let place = directory.join("tools");
            let place = place.to_string_lossy();
            let mut make = vec!["venv", "--no-progress"];
            make.extend(work.expected.python.iter().flat_map(|python| ["--python", python]));
            make.extend(["--", &place]);
            if let Err(error) = uv.run(make).await {
                return Err(python::none(error, &uv).await);
            }
            let flags = ["pip", "install", "--no-progress", "--require-hashes", "--python", &place];
            let ran = uv.run([&flags[..], build, &["--requirements", "packages.txt"]].concat()).await;
            if let Err(error) = ran {
                return Err(refused(held(error, wanted, directory, &uv, installer).await, package));
            }
            let programs = directory.join("tools").join(if cfg!(windows) { "Scripts" } else { "bin" });
            let names = commands(directory, &name)?;
            (programs, names)
        }
    };
    let problem = |problem| Error::NoCommand { package: package.to_owned(), problem };
    let program = programs.join(choose(&name, wanted.command.as_deref(), names).map_err(problem)?);
    let verified = match work.expected.packages {
        Some(_) => Verified::Lock,
        None if is_secure(installer) => Verified::Pypi,
        None => Verified::None,
    };
    let proof = Proof { verified, sha256: None, integrity: None };
    let remarks = Remarks { may_build: installer.allow_build, ..Remarks::default() };
    Ok(Placed { program, interpreter: None, proof, remarks })
}

/// Whether uv reaches its indexes by connections that cannot be tampered with. The digests that it compares are from there.
fn is_secure(installer: &Installer) -> bool {
    let is_plain = |(name, value): &(String, String)| {
        name == "UV_INSECURE_HOST" || (name.starts_with("UV_") && name.contains("INDEX") && value.contains("http://"))
    };
    let asked = installer.registries.of_python();
    asked.is_none_or(|asked| asked.address.starts_with("https://"))
        && !installer.uv.iter().any(is_plain)
        && cooldown::of_file("allow-insecure-host", installer).is_none()
}

/// The flags that keep uv from building packages, which runs their code, unless that is allowed.
pub(super) fn build_flags(installer: &Installer) -> &'static [&'static str] {
    if installer.allow_build { &[] } else { &["--no-build"] }
}

/// How Python falls short of what a package requires, if uv has refused it for that.
fn shortfall(error: &Error) -> Option<Shortfall> {
    if let Error::Tool(failure) = error { refusal::of_python(&failure.stderr) } else { None }
}

/// What uv's failure means for the package.
pub(super) fn refused(error: Error, package: &str) -> Error {
    match shortfall(&error) {
        Some(shortfall) => Error::RuntimeTooOld(Box::new(TooOld::new(package, shortfall, error.stderr()))),
        None if refusal::is_of_build(error.stderr()) => {
            Error::NeedsBuild { package: package.to_owned(), built: refusal::needs_build(error.stderr()) }
        }
        // Otherwise it names the package only: the reason is on stdout.
        None if error.stderr().lines().any(|line| line.starts_with("error: Failed to install entrypoints for ")) => {
            Error::NoCommand { package: package.to_owned(), problem: NO_COMMAND.to_owned() }
        }
        None => error,
    }
}

/// What is wrong with a package without commands, as the rest of a sentence.
const NO_COMMAND: &str = "has no command, so that uvx has nothing to start";

/// What the failure of a second attempt means, with a Python that the package accepts; if there is no such Python, the
/// first failure is reported.
fn refused_again(again: Error, first: Error, package: &str) -> Error {
    let has_python = again.stderr().lines().any(|line| line.trim_start().starts_with("Resolved "));
    refused(if has_python || refusal::is_of_build(again.stderr()) { again } else { first }, package)
}

pub(super) fn parse(package: &str) -> Result<PypiSpec, Error> {
    package.parse().map_err(|error| Error::Spec { package: package.to_owned(), error })
}

/// What uv's failure means where the index has no such package, or no such version of it: uv, run once more,
/// says which version is the newest that it would install.
async fn absent(error: Error, package: &str, directory: &Path, uv: &Tool<'_>, installer: &Installer) -> Error {
    let (Error::Tool(failure), Ok(PypiSpec { name, pin: Pin::Exact(version), .. })) = (&error, parse(package)) else {
        return refused(error, package);
    };
    if failure.lacks_name(&name) {
        return Error::NoPackage { name, failure: failure.clone() };
    }
    if !failure.lacks_version(&name, &version) {
        return refused(error, package);
    }
    let newest = newest(&name, &["--no-deps"], directory, uv, installer).await;
    Error::NoVersion { name, version, newest, failure: failure.clone() }
}

/// The newest version of a package that uv would install now.
pub(super) async fn newest(
    name: &str,
    more: &[&str],
    directory: &Path,
    uv: &Tool<'_>,
    installer: &Installer,
) -> Option<String> {
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
async fn held(error: Error, wanted: &Package, directory: &Path, uv: &Tool<'_>, installer: &Installer) -> Error {
    let Error::Tool(failure) = &error else { return error };
    let held = cooldown::of_uv(failure, wanted, uv, directory, installer).await;
    held.map_or(error, |held| Error::HeldBack(Box::new(held)))
}

/// A package that is pinned to one version, as uv reads it.
pub(super) fn exact(package: &str) -> Result<String, Error> {
    let spec = parse(package)?;
    let Pin::Exact(version) = &spec.pin else { return Err(Error::Unpinned(package.to_owned())) };
    let extras = if spec.extras.is_empty() { String::new() } else { format!("[{}]", spec.extras.join(",")) };
    Ok(format!("{}{extras}=={version}", spec.name))
}

pub(super) fn find(installer: &Installer) -> Result<PathBuf, Error> {
    installer.environment.find("uv").ok_or(Error::MissingRuntime { program: "uv", remedy: remedy::UV })
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

/// The wanted command; if none is named, the choice of `uvx`: the program named like the package, or else the only one.
fn choose(package: &str, wanted: Option<&str>, mut programs: Vec<String>) -> Result<String, String> {
    let plain = |name: &str| name.trim_end_matches(".exe").to_ascii_lowercase().replace(['_', '.'], "-");
    let shown = |names: &[String]| names.iter().take(5).map(|name| quote(name)).collect::<Vec<_>>().join(", ");
    if let Some(wanted) = wanted.filter(|_| !programs.is_empty()) {
        return match programs.iter().position(|name| name.trim_end_matches(".exe") == wanted) {
            Some(at) => Ok(programs.swap_remove(at)),
            None => Err(format!("has no command {}, only {}", quote(wanted), shown(&programs))),
        };
    }
    if let Some(at) = programs.iter().position(|name| name.trim_end_matches(".exe") == package) {
        return Ok(programs.swap_remove(at));
    }
    if let Some(at) = programs.iter().position(|name| plain(name) == plain(package)) {
        return Ok(programs.swap_remove(at));
    }
    match programs.len() {
        0 => Err(NO_COMMAND.to_owned()),
        1 => Ok(programs.swap_remove(0)),
        number => Err(format!(
            "has {number} commands ({}), none of its own name, and uvx cannot choose; the manifest can, with `command`",
            shown(&programs)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_program_is_chosen_as_uvx_does() {
        let choose =
            |package: &str, programs: &[&str]| choose(package, None, programs.iter().map(|&p| p.to_owned()).collect());
        assert_eq!(choose("tool", &["other", "tool"]).as_deref(), Ok("tool"));
        assert_eq!(choose("tool", &["tool.exe", "x"]).as_deref(), Ok("tool.exe"));
        assert_eq!(choose("my_tool", &["my-tool", "x"]).as_deref(), Ok("my-tool"));
        assert_eq!(choose("tool", &["other"]).as_deref(), Ok("other"));
        assert!(choose("tool", &[]).unwrap_err().contains("nothing to start"));
        assert!(choose("tool", &["a", "b"]).unwrap_err().contains("2 commands (`a`, `b`)"));
        let wanted = |wanted: &str, programs: &[&str]| {
            super::choose("tool", Some(wanted), programs.iter().map(|&p| p.to_owned()).collect())
        };
        assert_eq!(wanted("b", &["a", "b.exe", "tool"]).as_deref(), Ok("b.exe"));
        assert_eq!(wanted("c", &["a", "tool"]).unwrap_err(), "has no command `c`, only `a`, `tool`");
        assert!(wanted("c", &[]).unwrap_err().contains("nothing to start"));
    }
}
