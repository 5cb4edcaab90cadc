use super::{AGENT, MARKS, passed, report, started};
use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Online, Rule, Subject};
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_protocol::handshake::{Handshake, Reason};

pub(crate) static RULE: Rule = Rule {
    name: "handshake/invalid-answer",
    level: Level::Error,
    summary: "an agent answers `initialize` with something else than an answer",
    why: "Clients refuse it, or worse, guess. The answer is not JSON-RPC, is an error, or lacks what every agent must say.",
    fix: "Answer `initialize` as the protocol asks, on stdout, and write everything else to stderr.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent answers with `authMethods` that are not an array.",
        answers: |survey| {
            started(
                survey,
                Some((Reason::InvalidResponse, "`authMethods` is null, not an array")),
                Handshake::default(),
            );
        },
    }),
    marks: MARKS,
    passes: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent answers `initialize`, and a person can sign in.",
        answers: passed,
    }),
    check: Check::Online(check),
};

pub(super) const REASONS: &[&str] = &["agent_error", "invalid_response"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    report(
        subject,
        survey,
        REASONS,
        "correct the answer; `acp-registry probe` shows what was understood of it",
        reporter,
    );
}
