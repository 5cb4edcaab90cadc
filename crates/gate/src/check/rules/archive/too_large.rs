use super::{TARGET, fine, found, refused};
use crate::check::rules::prelude::*;
use acp_registry_archive::{Error, Excess};
use acp_registry_http::Problem;

pub(crate) static RULE: Rule = Rule {
    name: "archive/too-large",
    level: Level::Error,
    summary: "an archive exceeds the size limits",
    why: "A large archive fills users' disks, and even a small file can unpack to any size.",
    fix: "Leave out what the agent does not need. The limits are set under `archive-limits` in registry.toml.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz holds more than 200,000 files.",
        answers: |survey| found(survey, Err(Error::TooLarge(Excess::Entries { limit: 200_000 }))),
    }),
    marks: "\"https://example.com/1.0.0/linux.tar.gz\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz holds three files.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

const HELP: &str = "leave out what the agent does not need; archive-limits in registry.toml sets the limits";

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, error) in refused(subject, survey) {
        if let Error::TooLarge(excess) = error {
            report.value(release.target_pointer(target, "archive"), format!("the archive {excess}")).help(HELP);
        }
    }
    for (release, target) in subject.targets() {
        if let Some(Err(error)) = survey.archives.get(&target.archive)
            && let Problem::TooLarge { limit } = error.problem
        {
            let message = format!("the archive is larger than {limit} bytes");
            report.value(release.target_pointer(target, "archive"), message).help(HELP);
        }
    }
}
