//! Rules about the contents of binary archives, of all platforms.

pub(super) mod cmd_not_found;
pub(super) mod digest_mismatch;
pub(super) mod misleading_suffix;
pub(super) mod missing_digest;
pub(super) mod needs_libc;
pub(super) mod too_large;
pub(super) mod unreadable;
pub(super) mod unsafe_entry;
pub(super) mod wrong_platform;

use crate::check::rule::{Example, Subject};
use crate::survey::{Archive, Inspection, Survey};
use acp_registry_archive::{BinaryFormat, Compression, Error};
use acp_registry_http::Answer;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::manifest::{BinaryTarget, Release};

/// The targets whose archive was downloaded.
fn fetched<'a>(
    subject: &'a Subject<'_>,
    survey: &'a Survey,
) -> impl Iterator<Item = (Release<'a>, &'a BinaryTarget, &'a Archive)> {
    subject.targets().filter_map(|(release, target)| {
        let archive = survey.archives.get(&target.archive)?.as_ref().ok()?;
        Some((release, target, archive))
    })
}

/// The targets whose archive was downloaded and read completely.
fn inspected<'a>(
    subject: &'a Subject<'_>,
    survey: &'a Survey,
) -> impl Iterator<Item = (Release<'a>, &'a BinaryTarget, &'a Inspection)> {
    fetched(subject, survey).filter_map(|(release, target, archive)| {
        Some((release, target, archive.inspections.get(&target.cmd)?.as_ref().ok()?))
    })
}

/// The targets whose archive was downloaded but could not be read, or was refused.
fn refused<'a>(
    subject: &'a Subject<'_>,
    survey: &'a Survey,
) -> impl Iterator<Item = (Release<'a>, &'a BinaryTarget, &'a Error)> {
    fetched(subject, survey).filter_map(|(release, target, archive)| {
        Some((release, target, archive.inspections.get(&target.cmd)?.as_ref().err()?))
    })
}

/// For examples: a target with the right digest.
const TARGET: Example = Example::Target(
    "{ \"archive\": \"https://example.com/1.0.0/linux.tar.gz\", \"cmd\": \"./agent\", \
     \"sha256\": \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }",
);

/// For examples: adds a download of [`TARGET`], which is an empty file, with this inspection.
fn found(survey: &mut Survey, inspection: Result<Inspection, Error>) {
    let inspections = [("./agent".to_owned(), inspection)].into();
    let archive = Archive { answer: Answer::default(), sha256: Sha256::of(""), inspections };
    survey.archives.insert("https://example.com/1.0.0/linux.tar.gz".to_owned(), Ok(archive));
}

/// For examples: an inspection without problems.
fn fine() -> Inspection {
    Inspection { format: BinaryFormat::Tar(Compression::Gzip), cmd: Ok(()), program: None }
}
