use super::{AGENT, MARKS, not_started, passed, release, report_row, rows, target};
use crate::check::rules::prelude::*;
use crate::verify::Row;
use acp_registry_client::install::Kind;
use acp_registry_plan::text::escape;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/install-failed",
    level: Level::Error,
    summary: "an agent cannot be installed",
    why: "The agent could not be installed on this machine, so it is not known whether it works: the version does not \
          exist, its dependencies conflict, a script of the package fails, or the archive does not hold the expected \
          files.",
    fix: "Install it by hand, as the message says. If the cause is this machine (an outdated runtime, no network), \
          check the agent on another one.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "npm cannot install example@1.0.0.",
        answers: |survey| {
            let message = "npm failed (exit code 1): `ETARGET: No matching version found`";
            not_started(survey, "package_not_found", message, None);
        },
    }),
    marks: MARKS,
    passes: Example::Online(&Online {
        manifest: AGENT,
        world: "npm installs example@1.0.0, and the agent answers.",
        answers: passed,
    }),
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] =
    &["install_failed", "package_not_found", "digest_mismatch", "unsafe_archive", "cmd_not_found"];

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for row in rows(subject, survey).iter().filter(|row| !row.is_not_startable) {
        if row.reason().is_some_and(|reason| REASONS.contains(&reason)) && !is_told_already(subject, survey, row) {
            // For other reasons, there is no output: nothing ran.
            let usual = (row.reason() == Some("install_failed")).then(|| {
                format!("`acp-registry verify {}` shows the whole output of the installation", escape(&row.id))
            });
            let remedy = row.remedy().map(ToOwned::to_owned).or(usual);
            report_row(subject, row, remedy, report);
        }
    }
}

/// Whether the rules about archives report the same failure for the same archive.
fn is_told_already(subject: &Subject<'_>, survey: &Survey, row: &Row) -> bool {
    let is_of_archive = row.kind == Some(Kind::Binary) && row.reason() != Some("install_failed");
    let archive = release(subject, row).and_then(|release| target(&release).map(|target| target.archive.clone()));
    is_of_archive && archive.is_some_and(|archive| matches!(survey.archives.get(&archive), Some(Ok(_))))
}
