use super::{TARGET, fetched, fine, found};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "archive/digest-mismatch",
    level: Level::Error,
    summary: "an archive does not match its digest",
    why: "Clients compare the digest and refuse the download, often with an unhelpful message such as \"corrupted\". \
          The file was replaced after its digest was written, the digest was wrong from the start, or the file was \
          tampered with.",
    fix: "Find out why the file changed. If the version was published with the old digest, publish a new version: clients \
          refuse other bytes of a version that they have. If it was not, write the new digest.",
    fails: Example::Online(&Online {
        manifest: Example::Target(
            "{ \"archive\": \"https://example.com/1.0.0/linux.tar.gz\", \"cmd\": \"./agent\", \
             \"sha256\": \"0000000000000000000000000000000000000000000000000000000000000000\" }",
        ),
        world: "The archive linux.tar.gz has the digest e3b0…b855.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    marks: "\"0000000000000000000000000000000000000000000000000000000000000000\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz has the digest e3b0…b855.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, archive) in fetched(subject, survey) {
        let actual = archive.sha256;
        let shown = quote(&actual.to_string());
        if let Some(stated) = &target.sha256
            && actual != **stated
        {
            report
                .value(
                    release.target_pointer(target, "sha256"),
                    format!("{} is not the digest of the archive, which is {shown}", quote(stated)),
                )
                .help(
                    "find out why the file has changed; write its new digest only if this version was never published",
                );
        }
        if let Some(published) = survey.github_digest(&target.archive)
            && published != actual
        {
            report
                .value(
                    release.target_pointer(target, "archive"),
                    format!("the file has the digest {shown}, but GitHub says {}", quote(&published.to_string())),
                )
                .help("do not publish this release: something between GitHub and here replaces the file");
        }
    }
}
