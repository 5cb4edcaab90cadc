//! What is known of a capability of an agent, and by what evidence; and the groups in which tables show capabilities, with
//! labels that are short enough for a column.

use acp_registry_examine::examination::CheckVerdict;
use acp_registry_gate::verify::LastAnswer;

/// Whether an agent supports a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Support {
    /// A check of an examination passed, or a request for it succeeded.
    Tested,
    /// The agent announces it. Nothing has confirmed or refuted it.
    Announced,
    /// The agent announces it, and answers the request that the user must sign in first.
    NeedsSignIn,
    /// The agent announces it, but a check failed, or the agent does not know the method.
    Failed,
    /// The agent answered and does not announce it.
    No,
    /// The agent did not answer, or the answer is of a version that did not look for it.
    Unknown,
}

/// Whether a session opens before the user has signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// `session/new` succeeded without sign-in.
    Opens,
    /// The user must sign in first.
    NeedsSignIn,
    /// The agent must be set up first, as it says.
    NeedsSetup,
    /// The request failed, or was not made.
    Unknown,
}

impl Opening {
    pub(super) fn of(answer: &LastAnswer) -> Self {
        match answer.probes.get("session/new").map(String::as_str) {
            Some("ok") => Self::Opens,
            Some("auth_required") => Self::NeedsSignIn,
            _ if answer.setup_required.is_some() => Self::NeedsSetup,
            _ => Self::Unknown,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Opens => "Opens without sign-in; prompts were not tried",
            Self::NeedsSignIn => "Needs sign-in first",
            Self::NeedsSetup => "Needs to be set up first",
            Self::Unknown => "Not known",
        }
    }
}

/// What confirms or refutes a feature.
struct Evidence {
    feature: &'static str,
    /// The checks of an examination that use the feature. One that refutes it weighs more than another one that passes.
    checks: &'static [&'static str],
    /// The method that was called after `initialize`.
    method: &'static str,
    /// Whether a success of this call confirms the feature. The calls for loading, closing and the like name a session
    /// that does not exist, so that their success confirms nothing.
    confirms: bool,
}

const fn checks(feature: &'static str, checks: &'static [&'static str]) -> Evidence {
    Evidence { feature, checks, method: feature, confirms: false }
}

const fn call(feature: &'static str, checks: &'static [&'static str], method: &'static str) -> Evidence {
    Evidence { feature, checks, method, confirms: true }
}

/// Features without an entry have no check, and are at most announced.
const EVIDENCE: &[Evidence] = &[
    checks("session/load", &["sessions/load", "turns/load"]),
    call("session/list", &["sessions/list"], "session/list"),
    checks("session/resume", &["sessions/resume", "turns/resume"]),
    checks("session/close", &["sessions/close"]),
    checks("session/delete", &["sessions/delete"]),
    checks("session/fork", &["sessions/fork"]),
    checks("session/inject", &["drafts/inject-queue", "drafts/inject-steer", "drafts/inject-delivered"]),
    checks("prompt/image", &["turns/images"]),
    checks("prompt/embedded-context", &["turns/embedded-context"]),
    checks("mcp/http", &["turns/mcp-http"]),
    checks("mcp/acp", &["drafts/mcp-connect", "drafts/mcp-call"]),
    call("providers", &[], "providers/list"),
    checks("elicitation", &["drafts/elicitation-form", "drafts/elicitation-url"]),
    checks("fs/hitl-editing", &["drafts/hitl-edited", "drafts/hitl-rejected"]),
    call("nes", &["drafts/nes-start", "drafts/nes-suggest"], "nes/start"),
];

impl Support {
    /// What an answer says of a feature.
    pub(super) fn of(answer: &LastAnswer, feature: &str) -> Self {
        match answer.features.get(feature) {
            None => Self::Unknown,
            Some(false) => Self::No,
            Some(true) => {
                let evidence = EVIDENCE.iter().find(|evidence| evidence.feature == feature);
                evidence.and_then(|evidence| evidence.judge(answer)).unwrap_or(Self::Announced)
            }
        }
    }

    /// Whether clients can expect the capability, at least after signing in.
    pub(super) fn is_offered(self) -> bool {
        matches!(self, Self::Tested | Self::Announced | Self::NeedsSignIn)
    }

    /// The class of its mark, and its label.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Tested => ("tested", "Tested"),
            Self::Announced => ("announced", "Announced"),
            Self::NeedsSignIn => ("auth", "Needs sign-in"),
            Self::Failed => ("failed", "Failed"),
            Self::No => ("no", "Not announced"),
            Self::Unknown => ("none", "Not known"),
        }
    }

    pub(super) fn label(self) -> &'static str {
        self.shown().1
    }

    pub(super) fn class(self) -> &'static str {
        self.shown().0
    }
}

impl Evidence {
    /// What is known of an announced feature; `None` if nothing confirms or refutes it. Checks say more than a call.
    fn judge(&self, answer: &LastAnswer) -> Option<Support> {
        // An examination of an earlier version says nothing about this one.
        let examined = answer.examined.as_ref().filter(|found| answer.version.as_ref() == Some(&found.version));
        let results = examined.into_iter().flat_map(|examined| &examined.record.checks);
        let mut of_checks = None;
        for check in results.filter(|check| self.checks.contains(&check.id.as_str())) {
            if check.refutes() {
                return Some(Support::Failed);
            }
            if check.verdict == CheckVerdict::Pass {
                of_checks = Some(Support::Tested);
            }
        }
        of_checks.or_else(|| match answer.probes.get(self.method)?.as_str() {
            "ok" if self.confirms => Some(Support::Tested),
            "auth_required" => Some(Support::NeedsSignIn),
            "method_not_found" => Some(Support::Failed),
            _ => None,
        })
    }
}

/// A group of capabilities.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) members: &'static [Member],
}

/// A capability in a group.
pub(super) struct Member {
    /// The name of the feature in answers.
    pub(super) feature: &'static str,
    pub(super) label: &'static str,
}

impl Member {
    /// What is known of the capability; [`Support::Unknown`] of an agent that did not answer.
    pub(super) fn of(&self, answer: Option<&LastAnswer>) -> Support {
        answer.map_or(Support::Unknown, |answer| Support::of(answer, self.feature))
    }
}

const fn member(feature: &'static str, label: &'static str) -> Member {
    Member { feature, label }
}

/// All groups, in the order of their columns.
pub(super) static GROUPS: [Group; 5] = [
    Group {
        title: "Sessions",
        members: &[
            member("session/load", "Load"),
            member("session/list", "List"),
            member("session/resume", "Resume"),
            member("session/close", "Close"),
            member("session/delete", "Delete"),
        ],
    },
    Group {
        title: "Prompts",
        members: &[
            member("prompt/image", "Images"),
            member("prompt/audio", "Audio"),
            member("prompt/embedded-context", "Context"),
        ],
    },
    Group { title: "MCP", members: &[member("mcp/http", "HTTP"), member("mcp/sse", "SSE")] },
    Group { title: "Other", members: &[member("auth/logout", "Sign out"), member("elicitation", "Elicitation")] },
    Group {
        title: "Proposals",
        members: &[
            member("session/fork", "Fork"),
            member("session/inject", "Inject"),
            member("providers", "Providers"),
            member("mcp/acp", "MCP over ACP"),
            member("fs/hitl-editing", "HITL editing"),
            member("nes", "Next edit"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_examine::examination::{CHECKS, find};
    use acp_registry_gate::verify::Snapshot;
    use serde_json::{Value, json};

    /// An answer with these features, probes and results of checks.
    fn answer(features: &Value, probes: &Value, checks: &[(&str, &str)]) -> LastAnswer {
        let results: Vec<Value> = checks.iter().map(|(id, result)| json!({ "id": id, "result": result })).collect();
        let examination = json!({ "level": "drafts", "reached": "drafts", "version": "1.0.0", "checks": results });
        let row = json!({ "id": "a", "version": "1.0.0", "protocol_version": 1, "features": features, "probes": probes,
                          "examination": examination });
        let text = json!({ "schema": 1, "agents": [row] }).to_string();
        Snapshot::parse(text.as_bytes()).unwrap().answers().remove("a").unwrap()
    }

    #[test]
    fn a_failed_check_or_an_unknown_method_refutes_what_is_announced() {
        let features = json!({ "session/load": true, "session/fork": true, "nes": true, "session/list": true });
        let probes = json!({ "session/load": "ok", "session/list": "method_not_found", "nes/start": "ok" });
        let checks = [
            ("sessions/load", "fail"),
            ("sessions/fork", "warning"),
            ("drafts/nes-start", "pass"),
            ("drafts/nes-suggest", "fail"),
        ];
        let answer = answer(&features, &probes, &checks);
        for feature in ["session/load", "session/fork", "session/list", "nes"] {
            assert_eq!(Support::of(&answer, feature), Support::Failed, "{feature}");
        }
    }

    #[test]
    fn an_agent_that_opens_a_session_with_an_http_server_takes_such_servers() {
        let of = |result: &str, message: &str| {
            let mut answer = answer(&json!({ "mcp/http": true }), &json!({}), &[("turns/mcp-http", result)]);
            answer.examined.as_mut().unwrap().record.checks[0].message = Some(message.to_owned());
            Support::of(&answer, "mcp/http")
        };
        let refused = "the agent answers `session/new` with error -32603: `x` if it has an HTTP MCP server";
        let changed = "the agent sends `a` instead of `b` in the `headers` of an HTTP MCP server";
        assert_eq!(of("pass", ""), Support::Tested);
        assert_eq!(of("warning", refused), Support::Failed);
        assert_eq!(of("warning", changed), Support::Announced);
        assert_eq!(of("not_exercised", refused), Support::Announced);
    }

    #[test]
    fn only_a_check_or_a_success_that_means_something_confirms() {
        let features = json!({
            "session/load": true, "session/resume": true, "session/list": true, "session/close": true, "providers": true,
            "prompt/image": true, "prompt/audio": true, "session/fork": true, "session/delete": false, "x": true,
        });
        let probes = json!({
            "session/list": "ok", "providers/list": "ok", "session/resume": "ok", "session/close": "timeout",
            "session/fork": "auth_required", "session/delete": "ok",
        });
        let checks = [("sessions/load", "pass"), ("turns/images", "not_exercised"), ("sessions/fork", "not_exercised")];
        let answer = answer(&features, &probes, &checks);
        for (state, features) in [
            (Support::Tested, &["session/load", "session/list", "providers"][..]),
            (Support::Announced, &["session/resume", "session/close", "prompt/image", "prompt/audio", "x"]),
            (Support::NeedsSignIn, &["session/fork"]),
            (Support::No, &["session/delete"]),
            (Support::Unknown, &["nes"]),
        ] {
            for feature in features {
                assert_eq!(Support::of(&answer, feature), state, "{feature}");
            }
        }
    }

    #[test]
    fn a_session_opens_only_where_one_was_opened() {
        let of = |outcome: &str| Opening::of(&answer(&json!({}), &json!({ "session/new": outcome }), &[]));
        assert_eq!(
            ["timeout", "error", "ok", "auth_required"].map(of),
            [Opening::Unknown, Opening::Unknown, Opening::Opens, Opening::NeedsSignIn]
        );
        let mut failed = answer(&json!({}), &json!({ "session/new": "error" }), &[]);
        failed.setup_required = Some("Install pi".to_owned());
        assert_eq!(Opening::of(&failed), Opening::NeedsSetup);
    }

    #[test]
    fn an_examination_of_another_version_is_no_evidence() {
        let mut answer = answer(&json!({ "session/load": true }), &json!({}), &[("sessions/load", "pass")]);
        assert_eq!(Support::of(&answer, "session/load"), Support::Tested);
        answer.version = Some("2.0.0".to_owned());
        assert_eq!(Support::of(&answer, "session/load"), Support::Announced);
    }

    #[test]
    fn evidence_names_checks_and_states_have_names_of_their_own() {
        for check in EVIDENCE.iter().flat_map(|evidence| evidence.checks) {
            assert!(find(check).is_some(), "{check}");
        }
        for check in CHECKS.iter().filter(|check| check.summary.contains("if it advertises")) {
            assert!(EVIDENCE.iter().any(|evidence| evidence.checks.contains(&check.id)), "{}", check.id);
        }
        let states =
            [Support::Tested, Support::Announced, Support::NeedsSignIn, Support::Failed, Support::No, Support::Unknown];
        let mut names: Vec<&str> = states.iter().flat_map(|state| [state.label(), state.class()]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * states.len());
    }

    use std::collections::BTreeSet;

    use crate::site::facets::capabilities;

    #[test]
    fn every_capability_is_in_one_group() {
        let grouped: Vec<String> =
            GROUPS.iter().flat_map(|group| group.members).map(|member| member.feature.to_owned()).collect();
        let known: BTreeSet<String> = capabilities().map(|(feature, _)| feature).collect();
        assert_eq!(grouped.len(), known.len());
        assert_eq!(grouped.into_iter().collect::<BTreeSet<String>>(), known);
    }
}
