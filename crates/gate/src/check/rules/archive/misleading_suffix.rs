use super::{TARGET, fine, found, inspected};
use crate::check::rules::prelude::*;
use crate::survey::Inspection;
use acp_registry_archive::BinaryFormat;

pub(crate) static RULE: Rule = Rule {
    name: "archive/misleading-suffix",
    level: Level::Error,
    summary: "the format of an archive does not match its file extension",
    why: "Many clients choose the format by the file extension. They fail to unpack the file, or take the archive for \
          the program.",
    fix: "Name the file after its format.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz is actually a .zip.",
        answers: |survey| found(survey, Ok(Inspection { format: BinaryFormat::Zip, ..fine() })),
    }),
    marks: "\"https://example.com/1.0.0/linux.tar.gz\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz is what its name says.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, inspection) in inspected(subject, survey) {
        // Unknown file extensions are reported by `distribution/archive-format`.
        if let Err(misnamed) = inspection.format.check_name(&target.archive) {
            report
                .value(release.target_pointer(target, "archive"), misnamed.to_string())
                .help("publish it as .zip, .tar.gz or .tar.bz2, and name it so");
        }
    }
}
