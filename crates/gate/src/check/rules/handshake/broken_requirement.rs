use super::{AGENT, MARKS, failed, passed, report};
use crate::check::rules::prelude::*;
use acp_registry_protocol::handshake::FailReason;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/broken-requirement",
    level: Level::Error,
    summary: "an agent fails, or does not complete, the level of examination that the registry requires",
    why: "The registry names a level of examination as `require` in the table `[examine]` of `registry.toml`. Clients rely \
          on the requirements up to this level, and an agent that breaks one does not work in them.",
    fix: "Correct the agent: `acp-registry probe --level LEVEL --failures DIR -- COMMAND` repeats the examination and keeps \
          the messages of each failed check. If the examination is incomplete, the finding says why.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent gives an unknown method a result, and `registry.toml` requires the level `protocol`.",
        answers: |survey| {
            let message = "the level `protocol` is required, and 1 requirement failed: protocol/unknown-method";
            failed(survey, FailReason::Examination, message);
        },
    }),
    marks: MARKS,
    passes: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent keeps the requirements of the level.",
        answers: passed,
    }),
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["examination"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    let remedy = |id: &str| format!("`acp-registry verify {id}` names each check that failed or could not run");
    report(subject, survey, REASONS, remedy, reporter);
}
