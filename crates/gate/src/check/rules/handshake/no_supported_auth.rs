use super::{AGENT, ANSWERS, MARKS, failed, report};
use crate::check::rules::prelude::*;
use acp_registry_protocol::handshake::FailReason;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/no-supported-auth",
    level: Level::Error,
    summary: "an agent offers no sign-in method that clients support",
    why: "People install the agent and cannot use it. A registry requires at least one method of type `agent` or \
          `terminal`; with a variable alone, people must find out for themselves where to get a key and where to set \
          it.",
    fix: "Offer a method of type `agent`, where the agent itself guides the sign-in, or `terminal`, where clients \
          start it in a terminal.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The agent offers one method, of type `env_var`.",
        answers: |survey| {
            failed(survey, FailReason::NoSupportedAuthType, "the only way to sign in is of type `env_var`");
        },
    }),
    marks: MARKS,
    passes: ANSWERS,
    check: CheckFn::Online(check),
};

pub(super) const REASONS: &[&str] = &["no_auth_methods", "no_supported_auth_type"];

fn check(subject: &Subject<'_>, survey: &Survey, reporter: &mut Reporter<'_>) {
    report(subject, survey, REASONS, |_| "offer a method of type `agent` or `terminal`".into(), reporter);
}
