use super::{AGENT, ANSWERS, MARKS, place, rows, started};
use crate::check::rules::prelude::*;
use crate::verify::State;
use acp_registry_protocol::handshake::Handshake;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/untidy",
    level: Level::Warning,
    summary: "an agent answers, but deviates from the protocol or leaves something behind",
    why: "Tolerant clients cope, others fail: on text between the messages, a broken capability, or two sign-in \
          methods with the same id. Processes that outlive the connection keep running on users' machines.",
    fix: "Write only messages to stdout, and end all processes when stdin is closed.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent writes a greeting to stdout before it answers.",
        answers: |survey| {
            let warnings = vec!["wrote 1 line that is not JSON-RPC to stdout before the response: `hello`".to_owned()];
            started(survey, Handshake { warnings, ..Handshake::default() });
        },
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for row in rows(subject, survey) {
        let State::Checked { outcome, .. } = &row.state else { continue };
        let missing: Vec<String> = outcome.handshake.probes.missing().collect();
        for warning in outcome.handshake.warnings.iter().filter(|warning| !missing.contains(warning)) {
            report
                .value(place(subject, row), warning)
                .help("`acp-registry probe` with the same command shows it again");
        }
    }
}
