//! Why to trust that an agent works, and that its downloads are the right bytes: only what the data states.

use super::capabilities::Opening;
use super::listing::Listing;
use acp_registry_plan::manifest::Distribution;

/// The facts of one agent.
pub(super) struct Trust {
    /// The class of the mark.
    pub(super) class: &'static str,
    /// Whether the agent answered, and if not, why.
    pub(super) outcome: String,
    /// The day of the start, as `YYYY-MM-DD`.
    pub(super) day: Option<String>,
    /// Whether a session opens before sign-in, if that is known.
    pub(super) session: Option<&'static str>,
    /// Which downloads have a digest; `None` for an agent without downloads.
    pub(super) digests: Option<String>,
}

impl Trust {
    pub(super) fn of(listing: &Listing<'_>, distribution: &Distribution) -> Self {
        let (class, outcome) = match (listing.answer, listing.why_unanswered()) {
            (Some(_), _) => ("tested", "Started and answered".to_owned()),
            (None, Some(why)) => ("failed", why),
            (None, None) => ("none", "Not started yet".to_owned()),
        };
        let targets = &distribution.binary;
        let stated = targets.iter().filter(|target| target.sha256.is_some()).count();
        let day = listing.answer.and_then(|answer| answer.day.clone());
        let session = listing.answer.and_then(|answer| match Opening::of(answer) {
            Opening::Opens => Some("opens sessions without sign-in"),
            Opening::NeedsSignIn => Some("opens sessions after sign-in"),
            Opening::NeedsSetup | Opening::Unknown => None,
        });
        Self { class, outcome, day, session, digests: digests(stated, targets.len()) }
    }
}

fn digests(stated: usize, total: usize) -> Option<String> {
    match (stated, total) {
        (_, 0) => None,
        (0, _) => Some("no SHA-256 stated for its downloads".to_owned()),
        (stated, total) if stated == total => Some("SHA-256 stated for every download".to_owned()),
        (stated, total) => Some(format!("SHA-256 stated for {stated} of {total} downloads")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_counted_and_not_claimed() {
        assert_eq!(digests(0, 0), None);
        assert_eq!(digests(0, 2).unwrap(), "no SHA-256 stated for its downloads");
        assert_eq!(digests(1, 2).unwrap(), "SHA-256 stated for 1 of 2 downloads");
        assert_eq!(digests(2, 2).unwrap(), "SHA-256 stated for every download");
    }
}
