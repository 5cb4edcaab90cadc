//! Capabilities in the groups in which tables show them, with labels that are short enough for a column.

use super::capabilities::Support;
use acp_registry_gate::verify::LastAnswer;

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
pub(super) static GROUPS: [Group; 4] = [
    Group {
        title: "Sessions",
        members: &[
            member("session/load", "Load"),
            member("session/list", "List"),
            member("session/resume", "Resume"),
            member("session/close", "Close"),
            member("session/delete", "Delete"),
            member("session/fork", "Fork"),
            member("session/inject", "Inject"),
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
    Group { title: "MCP", members: &[member("mcp/http", "HTTP"), member("mcp/sse", "SSE"), member("mcp/acp", "ACP")] },
    Group {
        title: "Other",
        members: &[
            member("auth/logout", "Sign out"),
            member("providers", "Providers"),
            member("elicitation", "Elicitation"),
            member("fs/hitl-editing", "HITL editing"),
            member("nes", "Next edit"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
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
