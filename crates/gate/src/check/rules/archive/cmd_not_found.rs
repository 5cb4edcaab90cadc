use super::{TARGET, fine, found, inspected};
use crate::check::rules::prelude::*;
use crate::survey::Inspection;
use acp_registry_archive::CmdNotFound;

pub(crate) static RULE: Rule = Rule {
    name: "archive/cmd-not-found",
    level: Level::Error,
    summary: "the program is not where `cmd` says",
    why: "Clients unpack the archive and start exactly this path. If the file is missing, the agent installs but does \
          not start, for every user of this platform. Many archives put everything in a folder named after the \
          release.",
    fix: "Set `cmd` to the path inside the archive, including that folder.",
    fails: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz holds the file agent-1.0.0/bin/agent, and no file agent.",
        answers: |survey| {
            found(
                survey,
                Ok(Inspection {
                    cmd: Err(CmdNotFound {
                        cmd: "./agent".to_owned(),
                        nearest: Some("agent-1.0.0/bin/agent".to_owned()),
                        is_directory: false,
                    }),
                    ..fine()
                }),
            );
        },
    }),
    marks: "\"./agent\"",
    passes: Example::Online(&Online {
        manifest: TARGET,
        world: "The archive linux.tar.gz holds the file agent.",
        answers: |survey| found(survey, Ok(fine())),
    }),
    check: CheckFn::Online(check),
};

const SEARCH: &str = "clients join cmd to the folder of the archive, and search nowhere else";

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (release, target, inspection) in inspected(subject, survey) {
        let Err(missing) = &inspection.cmd else { continue };
        report.value(release.target_pointer(target, "cmd"), missing.to_string()).help(match missing.suggestion() {
            Some(cmd) => format!("set cmd to {}: {SEARCH}", quote(&cmd)),
            None => SEARCH.to_owned(),
        });
    }
}
