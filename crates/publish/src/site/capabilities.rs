//! What is known of a capability of an agent.

use acp_registry_gate::verify::Answer;

/// Whether an agent supports a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Yes,
    No,
    NeedsSignIn,
    NotTested,
}

impl State {
    /// What an answer says of a feature, which has the name of its method where it has one.
    pub(super) fn of(answer: &Answer, feature: &str) -> Self {
        match answer.features.get(feature) {
            None => Self::NotTested,
            Some(false) => Self::No,
            Some(true) => match answer.probes.get(feature).map(String::as_str) {
                Some("auth_required") => Self::NeedsSignIn,
                // Announced, but not there.
                Some("method_not_found") => Self::No,
                _ => Self::Yes,
            },
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::NeedsSignIn => "Needs sign-in",
            Self::NotTested => "Not tested",
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::NeedsSignIn => "auth",
            Self::NotTested => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_says_more_than_what_is_announced() {
        let features = [("a", true), ("b", true), ("c", true), ("d", false)].map(|(name, is)| (name.to_owned(), is));
        let probes =
            [("b", "auth_required"), ("c", "method_not_found")].map(|(name, is)| (name.to_owned(), is.to_owned()));
        let answer = Answer { features: features.into(), probes: probes.into(), ..Answer::default() };
        let states = ["a", "b", "c", "d", "e"].map(|feature| State::of(&answer, feature));
        assert_eq!(states, [State::Yes, State::NeedsSignIn, State::No, State::No, State::NotTested]);
    }
}
