//! The result of `bump`, for people and for the summary of a workflow job.

use acp_registry::bump::{Bumped, ChannelOutcome, Finished, HeldReason, Trouble, VersionUpdate};
use acp_registry::manifest::Channel;
use acp_registry::propose::{BranchChange, Proposal};
use acp_registry::text::{cell, code_span, plural, printable, prose};
use acp_registry::timestamp::Timestamp;
use acp_registry::verify::Nothing;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::commands::verify::why;
use crate::documents::Document;
use crate::terminal::layout::Look;
use crate::terminal::similar_messages::alike;

/// Indentation of continuation lines, in columns.
const INDENT: usize = 10;

/// The results of `bump` for all agents.
#[derive(Debug)]
pub(crate) struct BumpReport<'a> {
    /// The results of the run.
    pub(crate) finished: &'a Finished,
    /// The results of pull requests.
    pub(crate) proposals: &'a [Proposal],
    /// Why no agent was checked; `None` if any was.
    pub(crate) nothing: Option<&'a Nothing>,
}

impl BumpReport<'_> {
    /// The remarks about sources.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (&Bumped, &String)> {
        self.finished.bumped.iter().flat_map(|one| one.notes.iter().map(move |note| (one, note)))
    }

    pub(crate) fn trouble(&self, id: &str, channel: Channel) -> Option<&Trouble> {
        self.finished.troubles.as_ref()?.of(id, channel)
    }

    /// The proposed changes to the quarantine, in words.
    fn quarantine(&self) -> Vec<(&'static str, &str, String)> {
        let hold = self
            .finished
            .to_hold
            .iter()
            .map(|(id, reason)| ("hold", id.as_str(), format!("put it into quarantine: {reason}")));
        let text = "take it out of quarantine: it can be brought up to date again";
        let release = self.finished.to_release.iter().map(|id| ("release", id.as_str(), text.to_owned()));
        hold.chain(release).collect()
    }

    /// How long an agent has been failing, in words.
    fn duration(&self, id: &str, channel: Channel) -> String {
        match self.trouble(id, channel) {
            Some(trouble) if trouble.runs > 1 => format!(" (since {}, in {} runs)", trouble.since.date(), trouble.runs),
            _ => String::new(),
        }
    }

    /// The result of a pull request, in words.
    fn proposal(one: &Proposal) -> String {
        let address = one.address.as_deref().unwrap_or_default();
        match &one.result {
            Ok(BranchChange::Declined) => {
                "not opened, since a person has closed the request for this version".to_owned()
            }
            Ok(BranchChange::LeftAlone) => format!("left alone, since a person has worked on it {address}"),
            Ok(done) => format!("{} {address}", done.as_str()),
            Err(error) => format!("failed: {error}"),
        }
    }

    /// Agents whose channels all have the newest version.
    pub(crate) fn up_to_date(&self) -> Vec<&str> {
        let agents = self.finished.bumped.chunk_by(|a, b| a.id == b.id);
        let is_current = |of: &&[Bumped]| of.iter().all(|one| matches!(one.result, Ok(ChannelOutcome::UpToDate)));
        agents.filter(is_current).map(|of| of[0].id.as_str()).collect()
    }

    fn count(&self, is: fn(&Result<ChannelOutcome, acp_registry::bump::Error>) -> bool) -> usize {
        self.finished.bumped.iter().filter(|one| is(&one.result)).count()
    }

    fn summary(&self) -> String {
        if let Some(nothing) = self.nothing {
            return format!("no agents to look at: {}", why(nothing));
        }
        let updates = self.count(|result| matches!(result, Ok(ChannelOutcome::Update(_))));
        let errors = self.count(Result::is_err);
        let held = self.count(|result| matches!(result, Ok(ChannelOutcome::Held { .. })));
        let verb = if self.finished.is_applied { "written" } else { "found" };
        let mut text = format!(
            "{} {verb}, {} up to date, {held} held back, {}",
            plural(updates, "update"),
            self.up_to_date().len(),
            plural(errors, "error")
        );
        let unlisted = self.count(|result| matches!(result, Ok(ChannelOutcome::Unlisted)));
        if unlisted > 0 {
            text.push_str(&format!(", {unlisted} without a list of versions"));
        }
        if !self.finished.quarantined.is_empty() {
            text.push_str(&format!(", {} in quarantine", self.finished.quarantined.len()));
        }
        text
    }

    /// A line for each agent with a result to report, then the summary.
    pub(crate) fn human(&self, look: Look) -> String {
        let mut out = String::new();
        let failed: Vec<&Bumped> = self.finished.bumped.iter().filter(|one| one.result.is_err()).collect();
        let messages: Vec<(&str, String)> = failed
            .iter()
            .filter_map(|one| Some((one.id.as_str(), line(&one.result)?.1 + &self.duration(&one.id, one.channel))))
            .collect();
        let alike = alike(&messages);
        for one in &self.finished.bumped {
            let Bumped { id, channel, result, .. } = one;
            let shown = alike.iter().find(|shown| std::ptr::eq(failed[shown.at], one));
            if result.is_err() && shown.is_none() {
                continue;
            }
            let Some((word, text)) = line(result) else { continue };
            let text = format!("{text}{}", self.duration(id, *channel));
            out.push_str(&format!("{word:<7} {}{}: {}\n", printable(id), channel_suffix(*channel), printable(&text)));
            if let Some(others) = shown.and_then(|shown| shown.others.as_deref()) {
                out.push_str(&format!("          {others}\n"));
            }
            if let Ok(ChannelOutcome::Update(update)) = result {
                for change in &update.changes {
                    let value =
                        |value: &Option<String>| printable(value.as_deref().unwrap_or("(nothing)")).into_owned();
                    out.push_str(&format!(
                        "          {}: {} → {}\n",
                        printable(&change.pointer),
                        value(&change.from),
                        value(&change.to)
                    ));
                }
                for reason in &update.reasons {
                    out.push_str(&format!("          look at it: {}\n", printable(reason)));
                }
            }
        }
        for (one, note) in self.notes() {
            let channel = channel_suffix(one.channel);
            out.push_str(&format!("{:<7} {}{channel}: {}\n", "note", printable(&one.id), printable(note)));
        }
        for (word, id, text) in self.quarantine() {
            out.push_str(&format!("{word:<7} {}: {}\n", printable(id), printable(&text)));
        }
        for one in self.proposals {
            let text = Self::proposal(one);
            out.push_str(&format!(
                "request {}{}: {}\n",
                printable(&one.id),
                channel_suffix(one.channel),
                printable(text.trim_end())
            ));
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&self.summary());
        out.lines().map(|line| look.wrap(line, INDENT)).collect()
    }

    /// A Markdown table for GitHub.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("### Newer versions\n\n{}.\n", self.summary());
        let rows = self.finished.bumped.iter().filter_map(|one| {
            let (word, text) = line(&one.result)?;
            let reasons = match &one.result {
                Ok(ChannelOutcome::Update(update)) if !update.is_straightforward() => {
                    format!(" Look at it: {}", update.reasons.join("; "))
                }
                _ => String::new(),
            };
            let text = cell(&prose(&format!("{text}{}{reasons}", self.duration(&one.id, one.channel))));
            Some(format!("| {} | {} | {word} | {text} |\n", cell(&code_span(&one.id)), one.channel.as_str()))
        });
        let mut rows: String = rows.collect();
        for (one, note) in self.notes() {
            rows.push_str(&format!(
                "| {} | {} | note | {} |\n",
                cell(&code_span(&one.id)),
                one.channel.as_str(),
                cell(&prose(note))
            ));
        }
        for (word, id, text) in self.quarantine() {
            rows.push_str(&format!("| {} | | {word} | {} |\n", cell(&code_span(id)), cell(&prose(&text))));
        }
        for one in self.proposals {
            let (id, text) = (cell(&code_span(&one.id)), cell(&prose(&Self::proposal(one))));
            rows.push_str(&format!("| {id} | {} | pull request | {text} |\n", one.channel.as_str()));
        }
        if !rows.is_empty() {
            out.push_str(&format!("\n| agent | channel | | |\n|---|---|---|---|\n{rows}"));
        }
        out
    }
}

fn line(result: &Result<ChannelOutcome, acp_registry::bump::Error>) -> Option<(&'static str, String)> {
    Some(match result {
        Ok(ChannelOutcome::UpToDate) => return None,
        Ok(ChannelOutcome::Update(update)) => {
            let sources: Vec<&str> = update.sources.iter().map(|source| source.as_str()).collect();
            ("update", format!("{} → {} ({})", update.from, update.to, sources.join(", ")))
        }
        Ok(ChannelOutcome::Held { version, reason, message }) => {
            let why = match reason {
                HeldReason::MinAge { until } => format!("is too young until {}", date(*until)),
                HeldReason::UnknownAge => "has no known age".to_owned(),
                HeldReason::Incomplete => "cannot be had everywhere yet".to_owned(),
            };
            ("held", format!("{version} {why}: {message}"))
        }
        Ok(ChannelOutcome::Unlisted) => {
            ("unknown", "no source lists its versions; `[bump]` in registry.toml can name one".to_owned())
        }
        // Some messages begin with the words of their kind, and need them in JSON.
        Err(error) if error.message.starts_with(error.kind.words()) => ("error", error.message.clone()),
        Err(error) => ("error", format!("{}: {}", error.kind.words(), error.message)),
    })
}

pub(crate) fn date(time: OffsetDateTime) -> String {
    Timestamp::from_unix(time.unix_timestamp()).map(|time| time.to_string()).unwrap_or_default()
}

fn channel_suffix(channel: Channel) -> &'static str {
    match channel {
        Channel::Stable => "",
        Channel::Preview => " (preview)",
    }
}

impl BumpReport<'_> {
    /// Returns the JSON document.
    pub(crate) fn document(&self) -> Document<'static, Value> {
        let (mut updates, mut errors, mut held, mut unlisted) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for one in &self.finished.bumped {
            let (id, channel) = (&one.id, one.channel.as_str());
            match &one.result {
                Ok(ChannelOutcome::Update(update)) => updates.push(updated(id, update, self.finished.is_applied)),
                Ok(ChannelOutcome::Held { version, reason, message }) => {
                    let (reason, until) = held_words(reason);
                    held.push(json!({
                        "id": id,
                        "channel": channel,
                        "to": version,
                        "reason": reason,
                        "until": until,
                        "message": message,
                    }));
                }
                Ok(ChannelOutcome::Unlisted) => unlisted.push(json!({ "id": id, "channel": channel })),
                Ok(ChannelOutcome::UpToDate) => {}
                Err(error) => {
                    let (kind, message) = (error.kind.as_str(), &error.message);
                    let mut failed = json!({ "id": id, "channel": channel, "kind": kind, "message": message });
                    if let Some(trouble) = self.trouble(id, one.channel) {
                        failed["since"] = json!(date(trouble.since));
                        failed["runs"] = json!(trouble.runs);
                    }
                    errors.push(failed);
                }
            }
        }
        let to_hold = self.finished.to_hold.iter().map(|(id, reason)| json!({ "id": id, "reason": reason }));
        let notes = self
            .notes()
            .map(|(one, message)| json!({ "id": one.id, "channel": one.channel.as_str(), "message": message }));
        let members = json!({
            "updates": updates,
            "errors": errors,
            "up_to_date": self.up_to_date(),
            "held": held,
            "unlisted": unlisted,
            "quarantined": self.finished.quarantined,
            "pull_requests": self.proposals.iter().map(pull_request).collect::<Value>(),
            "quarantine": to_hold.collect::<Value>(),
            "release": self.finished.to_release,
            "notes": notes.collect::<Value>(),
        });
        Document::new("bump", members)
    }
}

/// An update to a newer version, with the examinations before and after if there were any.
fn updated(id: &str, update: &VersionUpdate, is_applied: bool) -> Value {
    let mut members = json!({
        "id": id,
        "channel": update.channel.as_str(),
        "from": update.from,
        "to": update.to,
        "sources": update.sources.iter().map(|source| source.as_str()).collect::<Vec<_>>(),
        "straightforward": update.is_straightforward(),
        "reasons": update.reasons,
        "edits": update.changes,
        "links": update.links,
        "applied": is_applied,
    });
    if !update.examined.is_empty() {
        let examinations = update.examined.iter().map(|compared| {
            json!({
                "distribution": compared.distribution.as_str(),
                "reached": compared.reached,
                "before": compared.before,
                "after": compared.after,
                "changes": compared.changes,
            })
        });
        members["examinations"] = examinations.collect();
    }
    members
}

fn pull_request(one: &Proposal) -> Value {
    json!({
        "id": one.id,
        "channel": one.channel.as_str(),
        "url": one.address,
        "status": one.result.as_ref().ok().map(|done| done.as_str()),
        "message": one.result.as_ref().err(),
    })
}

fn held_words(reason: &HeldReason) -> (&'static str, Option<String>) {
    match reason {
        HeldReason::MinAge { until } => ("min-age", Some(date(*until))),
        HeldReason::UnknownAge => ("unknown-age", None),
        HeldReason::Incomplete => ("incomplete", None),
    }
}
