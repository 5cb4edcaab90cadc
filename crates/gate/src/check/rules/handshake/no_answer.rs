use super::{AGENT, ANSWERS, MARKS, failed, report_row, rows};
use crate::check::rules::prelude::*;
use acp_registry_plan::text::escape;
use acp_registry_protocol::handshake::FailReason;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/no-answer",
    level: Level::Error,
    summary: "an agent does not answer `initialize`",
    why: "Editors wait for the response, and then show an unhelpful error. The agent exited, could not be started, or \
          did not respond in time: it often needs a setting, a terminal, a newer runtime or a sign-in before it speaks \
          the protocol.",
    fix: "Start the agent as the manifest says, in an empty home directory: `acp-registry probe -- COMMAND`. It must \
          answer before it asks for anything, and must not need a user's files or variables.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent ends with exit code 1, and answers nothing.",
        answers: |survey| failed(survey, FailReason::Exited, "the agent ended before it answered (exit code 1)"),
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["exited", "machine_busy", "spawn_failed", "timeout"];

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for row in rows(subject, survey).iter().filter(|row| !row.is_not_startable) {
        let Some(reason) = row.reason().filter(|reason| REASONS.contains(reason)) else { continue };
        // An agent that was not started has no stderr.
        let usual = ["exited", "timeout"].contains(&reason).then(|| {
            format!("`acp-registry verify {}` starts it again, and shows the end of its stderr", escape(&row.id))
        });
        report_row(subject, row, row.remedy().map(ToOwned::to_owned).or(usual), report);
    }
}
