//! The JSON document of `bump`.

use acp_registry::bump::{Bumped, ChannelOutcome, Compared, HeldReason, VersionUpdate};
use acp_registry::examination::{CheckVerdict, Level, VerdictCounts};
use acp_registry::propose::Proposal;
use serde::Serialize;

use crate::commands::bump::text::{BumpReport, date};
use crate::documents::Document;

/// Members of `bump`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Bump<'a> {
    updates: Vec<Updated<'a>>,
    errors: Vec<FailedChannel<'a>>,
    up_to_date: Vec<&'a str>,
    held: Vec<HeldBack<'a>>,
    unlisted: Vec<Unlisted<'a>>,
    quarantined: &'a [String],
    pull_requests: Vec<PullRequest<'a>>,
    quarantine: Vec<ToHold<'a>>,
    release: &'a [String],
    notes: Vec<Note<'a>>,
}

/// An update to a newer version.
#[derive(Debug, Serialize)]
struct Updated<'a> {
    id: &'a str,
    channel: &'static str,
    from: &'a str,
    to: &'a str,
    sources: Vec<&'static str>,
    straightforward: bool,
    reasons: &'a [String],
    edits: Vec<Edited<'a>>,
    links: &'a [String],
    applied: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examinations: Vec<Examinations<'a>>,
}

/// The examinations of a distribution before and after.
#[derive(Debug, Serialize)]
struct Examinations<'a> {
    distribution: &'static str,
    reached: Option<Level>,
    before: Option<VerdictCounts>,
    after: VerdictCounts,
    changes: Vec<ChangedCheck<'a>>,
}

/// A check with another result.
#[derive(Debug, Serialize)]
struct ChangedCheck<'a> {
    check: &'a str,
    before: CheckVerdict,
    after: CheckVerdict,
    message: Option<&'a str>,
}

impl<'a> Examinations<'a> {
    fn of(compared: &'a Compared) -> Self {
        let changes = compared.changes.iter().map(|change| ChangedCheck {
            check: &change.check,
            before: change.before,
            after: change.after,
            message: change.message.as_deref(),
        });
        Self {
            distribution: compared.distribution.as_str(),
            reached: compared.reached,
            before: compared.before,
            after: compared.after,
            changes: changes.collect(),
        }
    }
}

/// A changed member of the manifest.
#[derive(Debug, Serialize)]
struct Edited<'a> {
    pointer: &'a str,
    from: Option<&'a str>,
    to: Option<&'a str>,
}

impl<'a> Updated<'a> {
    fn of(id: &'a str, update: &'a VersionUpdate, is_applied: bool) -> Self {
        let edits = update.changes.iter().map(|change| Edited {
            pointer: &change.pointer,
            from: change.from.as_deref(),
            to: change.to.as_deref(),
        });
        Self {
            id,
            channel: update.channel.as_str(),
            from: &update.from,
            to: &update.to,
            sources: update.sources.iter().map(|source| source.as_str()).collect(),
            straightforward: update.is_straightforward(),
            reasons: &update.reasons,
            edits: edits.collect(),
            links: &update.links,
            applied: is_applied,
            examinations: update.examined.iter().map(Examinations::of).collect(),
        }
    }
}

/// A channel that could not be checked or updated, and why.
#[derive(Debug, Serialize)]
struct FailedChannel<'a> {
    id: &'a str,
    channel: &'static str,
    kind: &'static str,
    message: &'a str,
    #[serde(flatten)]
    last: Option<Lasting>,
}

/// How long a failure has lasted.
#[derive(Debug, Serialize)]
struct Lasting {
    since: String,
    runs: u64,
}

/// A newer version that is held back.
#[derive(Debug, Serialize)]
struct HeldBack<'a> {
    id: &'a str,
    channel: &'static str,
    to: &'a str,
    reason: &'static str,
    until: Option<String>,
    message: &'a str,
}

/// A channel whose versions no source lists.
#[derive(Debug, Serialize)]
struct Unlisted<'a> {
    id: &'a str,
    channel: &'static str,
}

/// The result of a pull request.
#[derive(Debug, Serialize)]
struct PullRequest<'a> {
    id: &'a str,
    channel: &'static str,
    url: Option<&'a str>,
    status: Option<&'static str>,
    message: Option<&'a str>,
}

impl<'a> PullRequest<'a> {
    fn of(one: &'a Proposal) -> Self {
        Self {
            id: &one.id,
            channel: one.channel.as_str(),
            url: one.address.as_deref(),
            status: one.result.as_ref().ok().map(|done| done.as_str()),
            message: one.result.as_ref().err().map(String::as_str),
        }
    }
}

/// An agent that should be put into quarantine.
#[derive(Debug, Serialize)]
struct ToHold<'a> {
    id: &'a str,
    reason: &'a str,
}

/// A remark about a source.
#[derive(Debug, Serialize)]
struct Note<'a> {
    id: &'a str,
    channel: &'static str,
    message: &'a str,
}

impl BumpReport<'_> {
    /// Returns the JSON document.
    pub(crate) fn document(&self) -> Document<'static, Bump<'_>> {
        let mut members = Bump::default();
        for one in self.bumped {
            let Bumped { id, channel, result, .. } = one;
            let channel = channel.as_str();
            match result {
                Ok(ChannelOutcome::Update(update)) => members.updates.push(Updated::of(id, update, self.is_applied)),
                Ok(ChannelOutcome::Held { version, reason, message }) => {
                    let (reason, until) = held_words(reason);
                    members.held.push(HeldBack { id, channel, to: version, reason, until, message });
                }
                Ok(ChannelOutcome::Unlisted) => members.unlisted.push(Unlisted { id, channel }),
                Ok(ChannelOutcome::UpToDate) => {}
                Err(error) => {
                    let trouble = self.trouble(id, one.channel);
                    let last = trouble.map(|trouble| Lasting { since: date(trouble.since), runs: trouble.runs });
                    let (kind, message) = (error.kind.as_str(), &error.message);
                    members.errors.push(FailedChannel { id, channel, kind, message, last });
                }
            }
        }
        members.up_to_date = self.up_to_date();
        members.quarantined = self.quarantined;
        members.pull_requests = self.proposals.iter().map(PullRequest::of).collect();
        members.quarantine = self.to_hold.iter().map(|(id, reason)| ToHold { id, reason }).collect();
        members.release = self.to_release;
        members.notes =
            self.notes().map(|(one, message)| Note { id: &one.id, channel: one.channel.as_str(), message }).collect();
        Document::new("bump", members)
    }
}

fn held_words(reason: &HeldReason) -> (&'static str, Option<String>) {
    match reason {
        HeldReason::MinAge { until } => ("min-age", Some(date(*until))),
        HeldReason::UnknownAge => ("unknown-age", None),
        HeldReason::Incomplete => ("incomplete", None),
    }
}
