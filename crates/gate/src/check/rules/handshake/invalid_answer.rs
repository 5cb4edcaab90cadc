use super::{AGENT, ANSWERS, MARKS, failed, report};
use crate::check::rules::prelude::*;
use acp_registry_protocol::handshake::FailReason;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/invalid-answer",
    level: Level::Error,
    summary: "an agent answers `initialize` with an invalid response",
    why: "Clients refuse the response or, worse, guess what it means. It is not JSON-RPC, is an error, or lacks \
          required members.",
    fix: "Answer `initialize` on stdout as the protocol specifies, and write everything else to stderr.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent answers with `authMethods` that are not an array.",
        answers: |survey| failed(survey, FailReason::InvalidResponse, "`authMethods` is null, not an array"),
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["agent_error", "invalid_response"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    let remedy = |_: &str| "correct the response; `acp-registry probe` shows how it was read".to_owned();
    report(subject, survey, REASONS, remedy, reporter);
}
