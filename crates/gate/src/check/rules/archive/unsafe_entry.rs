use super::{TARGET, fine, found, refused};
use crate::check::rules::prelude::*;
use acp_registry_archive::{Error, UnsafeReason};

pub(crate) static RULE: Rule = Rule {
    name: "archive/unsafe-entry",
    level: Level::Error,
    summary: "an archive holds an entry that must not be unpacked",
    why: "An entry whose name or link leads out of the folder writes elsewhere on the disk. Devices, and names that \
          are equal on some systems but not on others, do other harm. Careful clients refuse the archive; others can \
          be taken over.",
    fix: "Create the archive again with a common tool, from a folder that holds only files and folders.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz has an entry ../../.bashrc.",
        answers: |survey| {
            found(survey, Err(Error::Unsafe { path: "../../.bashrc".to_owned(), reason: UnsafeReason::Parent }));
        },
    }),
    marks: "\"https://example.com/1.0.0/linux.tar.gz\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz has entries with plain relative paths only.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, error) in refused(subject, survey) {
        if let Error::Unsafe { .. } = error {
            report
                .value(release.target_pointer(target, "archive"), error.sentence())
                .help("create the archive again, from a folder that holds only files and folders with plain names");
        }
    }
}
