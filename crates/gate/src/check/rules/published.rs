//! Looks up the packages of a manifest in the survey; shared by the rules about npm and PyPI.

use std::sync::Arc;

use crate::check::rule::Subject;
use crate::survey::Survey;
use acp_registry_plan::manifest::{NpmSpec, Package, PackageKind, Pin, PypiSpec, Release};
use acp_registry_sources::SourceError;
use acp_registry_sources::npm::{PackageVersion, Packument};
use acp_registry_sources::pypi::{Project, ProjectFile};

/// A package with the registry's answer.
pub(super) struct NamedPackage<'a, S, T> {
    /// JSON pointer of the package specification.
    pub(super) pointer: String,
    /// The package; `object` is the JSON pointer of its object.
    pub(super) package: &'a Package,
    pub(super) object: String,
    pub(super) spec: S,
    /// The registry's data; `None` if it does not have the package.
    pub(super) known: Option<&'a T>,
}

/// The npm packages of a manifest for which the registry has answered.
pub(super) fn npm<'a>(subject: &'a Subject<'_>, survey: &'a Survey) -> Vec<NamedPackage<'a, NpmSpec, Packument>> {
    let named = specs(subject, PackageKind::Npx).filter_map(|(object, package)| {
        let spec: NpmSpec = package.package.parse().ok()?;
        let known = survey.npm.get(&spec.name)?.as_ref().ok()?.as_deref();
        Some(NamedPackage { pointer: format!("{object}/package"), package, object, spec, known })
    });
    named.collect()
}

/// The Python packages of a manifest for which the index has answered.
pub(super) fn pypi<'a>(subject: &'a Subject<'_>, survey: &'a Survey) -> Vec<NamedPackage<'a, PypiSpec, Project>> {
    let named = specs(subject, PackageKind::Uvx).filter_map(|(object, package)| {
        let spec: PypiSpec = package.package.parse().ok()?;
        let known = survey.pypi.get(&spec.name)?.as_ref().ok()?.as_deref();
        Some(NamedPackage { pointer: format!("{object}/package"), package, object, spec, known })
    });
    named.collect()
}

/// The packages whose registry failed to answer, with JSON pointers.
pub(super) fn failures<'a>(subject: &Subject<'_>, survey: &'a Survey) -> Vec<(String, &'a SourceError)> {
    let npm = specs(subject, PackageKind::Npx).filter_map(|(object, package)| {
        let spec: NpmSpec = package.package.parse().ok()?;
        Some((format!("{object}/package"), survey.npm.get(&spec.name)?.as_ref().err()?))
    });
    let pypi = specs(subject, PackageKind::Uvx).filter_map(|(object, package)| {
        let spec: PypiSpec = package.package.parse().ok()?;
        Some((format!("{object}/package"), survey.pypi.get(&spec.name)?.as_ref().err()?))
    });
    npm.chain(pypi).collect()
}

/// The version that npx would install, and its registry entry; `None` if it is not published or the specification is a
/// range.
pub(super) fn npm_version<'a>(named: &NamedPackage<'a, NpmSpec, Packument>) -> Option<(String, &'a PackageVersion)> {
    let packument: &'a Packument = named.known?;
    let version = match &named.spec.pin {
        Pin::Exact(version) => version,
        Pin::Tag(tag) => packument.tags.get(tag)?,
        Pin::None => packument.tags.get("latest")?,
        Pin::Range(_) => return None,
    };
    Some((version.clone(), packument.version(version)?))
}

/// Lists the first five of `versions`, which are sorted from new to old, for a message.
pub(super) fn newest(versions: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = versions
        .iter()
        .take(SHOWN)
        .map(|version| acp_registry_plan::text::quote(version))
        .collect::<Vec<_>>()
        .join(", ");
    match versions.len().saturating_sub(SHOWN) {
        0 if versions.is_empty() => "no version".to_owned(),
        0 => shown,
        more => format!("{shown} and {more} older ones"),
    }
}

/// The packages of one kind, with the JSON pointers of their objects.
fn specs<'a>(subject: &'a Subject<'_>, wanted: PackageKind) -> impl Iterator<Item = (String, &'a Package)> {
    subject.packages().filter(move |(_, kind, _)| *kind == wanted).map(|(release, kind, package)| {
        let release: Release<'_> = release;
        (format!("{}/distribution/{}", release.pointer(), kind.as_str()), package)
    })
}

/// For examples: adds the npm package `example` with one version, whose entry has these members.
pub(super) fn npm_example(survey: &mut Survey, version: &str, members: &str) {
    put_packument(
        survey,
        &format!("{{\"dist-tags\":{{\"latest\":\"{version}\"}},\"versions\":{{\"{version}\":{{{members}}}}}}}"),
    );
}

/// For examples: adds the npm package `example` with this entry of the registry.
pub(super) fn put_packument(survey: &mut Survey, text: &str) {
    let packument = Packument::parse(text.as_bytes(), "example").ok();
    survey.npm.insert("example".to_owned(), Ok(packument.map(Arc::new)));
}

/// For examples: adds the Python project `example` with one file.
pub(super) fn pypi_example(survey: &mut Survey, name: &str, has_hash: bool, yanked: Option<&str>) {
    put_file(
        survey,
        ProjectFile {
            name: name.to_owned(),
            has_hash,
            yanked: yanked.map(ToOwned::to_owned),
            ..ProjectFile::default()
        },
    );
}

/// For examples: adds the Python project `example` with this file.
pub(super) fn put_file(survey: &mut Survey, file: ProjectFile) {
    survey.pypi.insert("example".to_owned(), Ok(Some(Arc::new(Project::from_files([file])))));
}
