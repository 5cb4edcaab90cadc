use super::{TARGET, fine, found, refused};
use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Online, Rule, Subject};
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_core::archive::{Error, Lookalike};

pub(crate) static RULE: Rule = Rule {
    name: "archive/unreadable",
    level: Level::Error,
    summary: "the file at the address of an archive is not an archive",
    why: "Clients cannot unpack it: it is a page with an error message, cut off, damaged, or of a format that none of them knows.",
    fix: "Upload the archive again, and open it with a common program before you name it here.",
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
    check: Check::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, error) in refused(subject, survey) {
        // Unsafe and too large archives are reported by their own rules.
        if !matches!(error, Error::Unsafe { .. } | Error::TooLarge(_)) {
            report.value(release.target_pointer(target, "archive"), error.sentence()).help(
                if matches!(error, Error::NotAnArchive(_) | Error::Unsupported { .. }) {
                    "publish the archive in one of the formats that clients unpack: .zip, .tar.gz or .tar.bz2"
                } else {
                    "make the archive again and upload it anew"
                },
            );
        }
    }
}
