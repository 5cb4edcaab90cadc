use super::{TARGET, fine, found, refused};
use crate::check::rules::prelude::*;
use acp_registry_archive::{Error, Lookalike};

pub(crate) static RULE: Rule = Rule {
    name: "archive/unreadable",
    level: Level::Error,
    summary: "the file at an archive's address is not an archive",
    why: "Clients cannot unpack it: it is an HTML page with an error message, truncated, damaged, or in a format that \
          no client knows.",
    fix: "Upload the archive again, and check that common tools can unpack it.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The address answers with an HTML page.",
        answers: |survey| found(survey, Err(Error::NotAnArchive(Lookalike::Html))),
    }),
    marks: "\"https://example.com/1.0.0/linux.tar.gz\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz can be unpacked.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, error) in refused(subject, survey) {
        // Unsafe and too large archives are reported by their own rules.
        if !matches!(error, Error::Unsafe { .. } | Error::TooLarge(_)) {
            report.value(release.target_pointer(target, "archive"), error.sentence()).help(
                if matches!(error, Error::NotAnArchive(_) | Error::Unsupported { .. }) {
                    "publish the archive in one of the formats that clients unpack: .zip, .tar.gz or .tar.bz2"
                } else {
                    "create the archive again and upload it"
                },
            );
        }
    }
}
