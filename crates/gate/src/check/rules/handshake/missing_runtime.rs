use super::{AGENT, ANSWERS, MARKS, not_started, own_remedy, report_row, rows};
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/missing-runtime",
    level: Level::Error,
    summary: "an agent was not checked: a runtime is missing or too old, or a cooldown holds the version back",
    why: "It is not known whether the agent works. Without this finding, a machine without the runtime, or with a \
          cooldown of npm or uv that holds the version back, would pass every agent that needs it. The manifest is \
          not at fault.",
    fix: "Install Node.js with npm, or uv, or update the outdated runtime; wait for the cooldown; or switch the rule off \
          on machines that are not meant to check such agents.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "npm is not installed.",
        answers: |survey| {
            not_started(survey, "missing_runtime", "npm is not in PATH", Some("install Node.js with npm"));
        },
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["missing_runtime", "runtime_too_old", "held_by_cooldown"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    for row in rows(subject, survey) {
        if row.reason().is_some_and(|reason| REASONS.contains(&reason)) {
            let remedy = own_remedy(row, |_| "install it".into());
            report_row(
                subject,
                row,
                Some(format!("{remedy}, or switch off handshake/missing-runtime on this machine")),
                reporter,
            );
        }
    }
}
