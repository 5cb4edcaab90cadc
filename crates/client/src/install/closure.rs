//! The dependencies of a package, each with its digest, for equal installations everywhere.

use std::ffi::OsString;
use std::path::Path;

use super::package_manager::{Tool, write};
use super::{Error, Expected, InstallJob, Installer, Source, npm, uv};
use acp_registry_host::fs::{PathError, read_bounded};
use acp_registry_plan::manifest::Package;
use acp_registry_plan::timestamp::Timestamp;

/// The longest list that is read, in bytes; a lock file has many.
const LIST_LIMIT: u64 = 8 << 20;

/// A package with its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closure {
    /// The list, as npm (`package-lock.json`) or uv (`requirements.txt` with hashes) reads it. It names no registry.
    pub packages: String,
    /// Integrity value of the package itself, where the list has one.
    pub integrity: Option<String>,
}

impl Installer {
    /// Asks the package manager for all dependencies of a source, for every platform; `None` for an archive. `python`
    /// is the version of Python that they are for, if one is known. npm takes only versions that were published until
    /// `before`. Temporary files are made below `temporary`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn closure(
        &self,
        source: &Source,
        python: Option<&str>,
        before: Option<Timestamp>,
        temporary: &Path,
    ) -> Result<Option<Closure>, Error> {
        let directory = tempfile::tempdir_in(temporary).map_err(PathError::at(temporary))?;
        let (expected, directory) = (Expected::default(), directory.path());
        let work = InstallJob { installer: self, expected: &expected, directory, temporary, progress: &|_| () };
        match source {
            Source::Npx(package) => npm_closure(&work, &package.package, before).await.map(Some),
            Source::Uvx(package) => uv_closure(&work, package, python).await.map(Some),
            Source::Binary(_) => Ok(None),
        }
    }
}

async fn npm_closure(work: &InstallJob<'_>, package: &str, before: Option<Timestamp>) -> Result<Closure, Error> {
    let InstallJob { installer, directory, .. } = *work;
    let (name, version) = npm::exact(package)?;
    let program = npm::find(installer, "npm", None)?;
    write(&directory.join("package.json"), &npm::manifest(&name, &version, true, []))?;
    let flags = [
        "--package-lock=true", "--package-lock-only", "--omit-lockfile-registry-resolved", "--ignore-scripts",
        "--no-progress", "--prefix",
    ];
    let cache = installer.open_cache();
    let environment = installer.npm_environment(cache.as_ref());
    let npm = Tool { work, name: "npm", program, environment, registry: installer.registries.npm(&name) };
    let before = before.map(|before| OsString::from(format!("--before={before}")));
    let flags = ["install"].into_iter().chain(npm::OWN).chain(flags).map(OsString::from);
    npm.run(before.into_iter().chain(flags).chain([directory.into()])).await?;
    let packages = read(&directory.join("package-lock.json"))?;
    Ok(Closure { integrity: npm::integrity_in(packages.as_bytes(), &name), packages })
}

async fn uv_closure(work: &InstallJob<'_>, package: &Package, python: Option<&str>) -> Result<Closure, Error> {
    let InstallJob { installer, directory, .. } = *work;
    let spec = uv::exact(&package.package)?;
    let program = uv::find(installer)?;
    write(&directory.join("wanted.txt"), &spec)?;
    let flags = [
        "pip", "compile", "--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-progress",
        "--output-file", "packages.txt",
    ];
    let mut arguments = flags.to_vec();
    arguments.extend(python.into_iter().flat_map(|python| ["--python-version", python]));
    arguments.extend(uv::build_flags(installer));
    arguments.push("wanted.txt");
    let cache = installer.open_cache();
    let environment = installer.uv_environment(package, cache.as_ref())?;
    let uv = Tool { work, name: "uv", program, environment, registry: installer.registries.python() };
    uv.run(arguments).await.map_err(|error| uv::refused(error, &package.package))?;
    Ok(Closure { integrity: None, packages: read(&directory.join("packages.txt"))? })
}

fn read(path: &Path) -> Result<String, Error> {
    let failed = |error: String| PathError::at(path)(std::io::Error::other(error));
    let folder = path.parent().unwrap_or(path).canonicalize().map_err(PathError::at(path))?;
    let bytes = read_bounded(path, &folder, LIST_LIMIT).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()).into())
}
