use super::{AGENT, ANSWERS, MARKS, failed, report};
use crate::check::rules::prelude::*;
use acp_registry_protocol::handshake::FailReason;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/protocol-version",
    level: Level::Error,
    summary: "an agent chooses a protocol version that clients do not support",
    why: "A client must close the connection if it does not support the version.",
    fix: "Answer with the requested version if the agent supports it, otherwise with the newest that it supports; \
          clients support version 1.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent answers with protocol version 99.",
        answers: |survey| failed(survey, FailReason::ProtocolVersion, "the agent chose version 99 of the protocol"),
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["protocol_version"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    report(subject, survey, REASONS, |_| "answer with version 1".into(), reporter);
}
