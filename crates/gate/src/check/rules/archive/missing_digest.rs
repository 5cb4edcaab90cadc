use super::{TARGET, fetched, fine, found};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "archive/missing-digest",
    level: Level::Warning,
    summary: "an archive has no digest in the manifest",
    why: "Without it, clients do not notice when the file is replaced, by its authors or by others.",
    fix: "Write the archive's SHA-256 as `sha256`; `validate --archives --fix` does it.",
    fails: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.tar.gz\", \"cmd\": \"./agent\" }"),
        world: "The archive linux.tar.gz can be fetched.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    marks: "{ \"archive\": \"https://example.com/1.0.0/linux.tar.gz\", \"cmd\": \"./agent\" }",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz can be fetched.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, archive) in fetched(subject, survey) {
        // No digest is suggested for an archive that could not be read.
        let is_sound = archive.inspections.get(&target.cmd).is_some_and(Result::is_ok);
        let pointer = release.target_pointer(target, "sha256");
        if !is_sound || subject.value().pointer(&pointer).is_some() {
            continue;
        }
        // With duplicate keys, it is unclear which member the fix should edit.
        let target = pointer.rsplit_once('/').filter(|_| !subject.manifest.has_duplicate_keys());
        let fix =
            target.and_then(|(target, key)| subject.manifest.insert_into(target, key, &archive.sha256.to_string()));
        report
            .value(pointer, "the archive has no digest")
            .help(format!("add \"sha256\": \"{}\", or let `--fix` do it", archive.sha256))
            .fix(fix);
    }
}
