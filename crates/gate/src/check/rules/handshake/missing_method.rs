use super::{AGENT, ANSWERS, MARKS, place, rows, started};
use crate::check::rules::prelude::*;
use crate::verify::State;
use acp_registry_protocol::handshake::{Handshake, Probe};

pub(crate) static RULE: Rule = Rule {
    name: "handshake/missing-method",
    level: Level::Warning,
    summary: "an agent advertises a method that it does not implement",
    why: "Clients offer what an agent advertises, and their users then get an error. Every agent must implement \
          `session/new`.",
    fix: "Implement the method, or do not advertise the capability.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent advertises session/list, and answers that there is no such method.",
        answers: |survey| {
            let probes = [("session/list", Probe::MethodNotFound)].into_iter().collect();
            started(survey, Handshake { probes, ..Handshake::default() });
        },
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for row in rows(subject, survey) {
        let State::Checked { outcome, .. } = &row.state else { continue };
        for sentence in outcome.handshake.probes.missing() {
            report
                .value(place(subject, row), sentence)
                .help("implement the method, or do not advertise the capability");
        }
    }
}
