//! AGGREGATE: collects what pages show of an agent.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::facets::{self, COLUMNS, GROUPS};
use super::text::shown;
use acp_registry_client::index::{BY, SUMMARY, programs, without_addresses};
use acp_registry_client::settings::{SignIn, display_name};
use acp_registry_examine::examination::Level;
use acp_registry_gate::history::{EventKind, HistoryEvent};
use acp_registry_gate::verify::{EarlierExamination, LastAnswer, PastExamination, Snapshot, Unanswered};
use acp_registry_plan::manifest::{Agent, AgentId, Distribution, Platform};
use acp_registry_plan::revocations::{RevocationLevel, Revocations};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_plan::versions::{HELD, HeldVersion};

/// Limits of the shown length of members, in Unicode scalar values, and of the number of authors.
const LICENSE: usize = 80;
const VERSION: usize = 40;
const AUTHOR: usize = 100;
const AUTHORS: usize = 20;
const REASON: usize = 60;
/// Limits on cards: a chip, a way to sign in.
const CHIP: usize = 24;
const SIGN_IN: usize = 30;

/// What is known of agents by starting them, by id.
pub struct Known {
    answers: BTreeMap<String, LastAnswer>,
    unanswered: BTreeMap<String, Unanswered>,
}

impl Known {
    /// What a capability snapshot says.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self { answers: snapshot.answers(), unanswered: snapshot.unanswered() }
    }
}

/// An agent of the index: what lists show of it and what searches read. What only its own page shows is in the entry.
pub(super) struct Listing<'a> {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) summary: String,
    /// The authors without their mail addresses, as cards show and searches read them.
    pub(super) by: String,
    /// The names of packages and commands, as searches read them.
    pub(super) programs: String,
    /// The licence, if stated.
    license: Option<String>,
    pub(super) has_icon: bool,
    pub(super) bits: [u32; COLUMNS],
    pub(super) answer: Option<&'a LastAnswer>,
    /// Why the agent gave no answer, if it was tried.
    pub(super) unanswered: Option<&'a Unanswered>,
    /// The events of the agent, newest first.
    pub(super) events: Vec<&'a HistoryEvent>,
    /// How many of them are of versions that a hold keeps out of the index.
    held_back: usize,
    /// The version as the entry has it.
    current: String,
    /// Whether the index has an older version than the registry.
    is_held: bool,
    /// Whether the registry has recalled this version, and how.
    recall: Option<RevocationLevel>,
    /// The agent's entry in the index.
    entry: &'a RawValue,
}

impl<'a> Listing<'a> {
    /// Reads an entry of the index; `None` if its id cannot be part of a URL.
    pub(super) fn new(
        entry: &'a RawValue,
        known: &'a Known,
        revocations: &Revocations,
        history: &BTreeMap<&str, Vec<&'a HistoryEvent>>,
        has_icon: &(impl Fn(&str) -> bool + ?Sized),
    ) -> Option<Self> {
        let members = value(entry);
        let agent = Agent::from_json(&members);
        if !AgentId::is_valid(&agent.id) {
            return None;
        }
        let answer = known.answers.get(&agent.id);
        let unanswered = known.unanswered.get(&agent.id);
        let Distribution { binary, npx, uvx } = &agent.distribution;
        let own = || npx.iter().chain(uvx);
        let packages = own().map(|package| package.package.as_str());
        let commands = own().filter_map(|package| package.command.as_deref());
        let commands = binary.iter().map(|target| target.cmd.as_str()).chain(commands);
        let license = agent.license.as_deref().map(|license| shown(license, LICENSE));
        let events = history.get(agent.id.as_str()).cloned().unwrap_or_default();
        let is_held = members.get(HELD).is_some_and(|held| HeldVersion::parse(held, &agent.version).is_some());
        // Without an event of the held version, those before it cannot be told from those after it.
        let is_known = is_held && events.iter().any(|event| event.version == agent.version);
        let is_later = |event: &&&HistoryEvent| is_known && event.version != agent.version;
        Some(Self {
            id: agent.id.clone(),
            name: display_name(&agent.name, &agent.id),
            version: shown(&agent.version, VERSION),
            summary: shown(&agent.description, SUMMARY),
            programs: programs(&agent.id, packages, commands),
            by: shown(&without_addresses(&authors(&agent).join(", ")), BY),
            license: license.filter(|text| !text.is_empty()),
            has_icon: has_icon(&agent.id),
            bits: facets::bits(&agent, answer, unanswered),
            answer,
            unanswered,
            held_back: events.iter().take_while(is_later).count(),
            events,
            is_held,
            recall: revocations.find(&agent.id, &agent.version).map(|recall| recall.level),
            current: agent.version,
            entry,
        })
    }

    /// The agent's entry in the index. Parsed on each call, because an entry in memory takes several times its text.
    pub(super) fn entry(&self) -> Value {
        value(self.entry)
    }

    /// The agent as the index describes it. Parsed on each call.
    pub(super) fn agent(&self) -> Agent {
        Agent::from_json(&self.entry())
    }

    /// The last examination of the agent, if there was one.
    pub(super) fn examined(&self) -> Option<&'a EarlierExamination> {
        facets::examination(self.answer, self.unanswered)
    }

    /// The version that answered last, as pages show it.
    pub(super) fn answered_version(&self) -> Option<String> {
        Some(shown(self.answer?.version.as_deref()?, VERSION))
    }

    /// The day of the last answer, as `YYYY-MM-DD`.
    pub(super) fn answered_on(&self) -> Option<&'a str> {
        self.answer?.day.as_deref()
    }

    /// What the examinations of the agent's versions came to, the newest last.
    pub(super) fn past(&self) -> &'a [PastExamination] {
        let unanswered = self.unanswered.map(|unanswered| unanswered.past.as_slice());
        self.answer.map(|answer| answer.past.as_slice()).or(unanswered).unwrap_or_default()
    }

    /// Why the agent gave no answer, as a sentence; `None` if it answered, or was not tried.
    pub(super) fn why_unanswered(&self) -> Option<String> {
        self.unanswered.map(|unanswered| self.why(unanswered))
    }

    /// The kind of the distribution that answered, where others did not, and why they did not, as a sentence.
    pub(super) fn partly_unanswered(&self) -> Option<(String, String)> {
        let answer = self.answer.filter(|answer| !answer.failed.is_empty())?;
        let why = answer.failed.iter();
        let why = why.map(|failed| format!("by {}: {}", by(failed.distribution.as_deref()), self.why(failed)));
        Some((by(answer.distribution.as_deref()), why.collect::<Vec<_>>().join("; ")))
    }

    /// What was found, in the words for the current version, or in those for another version, which is named.
    pub(super) fn in_version(&self, version: Option<&str>, now: String, then: &str) -> String {
        match version.filter(|version| *version != self.current) {
            Some(version) => format!("{then} ({})", shown(version, CHIP)),
            None => now,
        }
    }

    fn why(&self, unanswered: &Unanswered) -> String {
        let Unanswered { day, reason, version, exit_code, .. } = unanswered;
        let version = version.as_deref().filter(|version| *version != self.current);
        let version = version.map(|version| format!("Version {}: ", shown(version, VERSION))).unwrap_or_default();
        let why = match reason.as_str() {
            "install_failed" => "the installation failed".to_owned(),
            "manifest" => "its manifest could not be read".to_owned(),
            "missing_runtime" => "the machine lacked the runtime".to_owned(),
            "spawn_failed" => "the program could not be run".to_owned(),
            "runtime_too_old" => "it needs a newer runtime".to_owned(),
            "exited" => match exit_code {
                Some(code) => format!("the program ended with exit code {code}"),
                None => "the program ended".to_owned(),
            },
            "machine_busy" => "the machine was too busy".to_owned(),
            "timeout" => "the time limit passed".to_owned(),
            "invalid_response" => "the response was not valid".to_owned(),
            "agent_error" => "it answered with an error".to_owned(),
            "reads_secrets" => "it opened files with credentials".to_owned(),
            "protocol_version" => "it offered an unknown protocol version".to_owned(),
            other => shown(&other.replace('_', " "), REASON),
        };
        match day {
            Some(day) => format!("{version}Started on {day}, did not answer: {why}"),
            None => format!("{version}Could not be started: {why}"),
        }
    }

    /// The highest level whose requirements the agent keeps, if it was examined and keeps those of one.
    pub(super) fn passed_level(&self) -> Option<Level> {
        let record = &self.examined()?.record;
        Level::OF_COMMANDS.into_iter().rev().find(|level| *level > Level::Handshake && record.meets(*level))
    }

    /// The events of the agent without those of versions that a hold keeps out of the index, newest first.
    pub(super) fn events_in_index(&self) -> &[&'a HistoryEvent] {
        &self.events[self.held_back..]
    }

    /// Whether a hold keeps the version of an event out of the index.
    pub(super) fn holds_back(&self, event: &HistoryEvent) -> bool {
        self.events[..self.held_back].contains(&event)
    }

    /// When the agent was added; the last time, if it was added more than once.
    pub(super) fn added(&self) -> Option<Timestamp> {
        self.events.iter().find(|event| event.kind == EventKind::Added).map(|event| event.time)
    }

    /// When the agent got its current version.
    pub(super) fn updated(&self) -> Option<Timestamp> {
        let last = self.events_in_index().first().filter(|event| event.kind != EventKind::Withdrawn)?;
        (last.version == self.current).then_some(last.time)
    }

    /// The hue of the agent's tile: one of eight, by its id. The script of the home page computes it in the same way.
    pub(super) fn hue(&self) -> u32 {
        self.id.bytes().fold(0, |hue, byte| (hue * 31 + u32::from(byte)) % 8)
    }

    /// What stands on the tile of an agent without an icon.
    pub(super) fn initial(&self) -> String {
        self.name.chars().next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default()
    }

    /// The sort key: the lower-case name, then the id.
    pub(super) fn order(&self) -> (String, String) {
        (self.name.to_lowercase(), self.id.clone())
    }

    /// What a card says of a recall, an older version, of the last start, the licence, what the agent needs and how people sign in:
    /// class, text.
    pub(super) fn chips(&self) -> Vec<(&'static str, String)> {
        let mut chips = Vec::new();
        chips.extend(self.recall.map(|level| match level {
            RevocationLevel::Revoked => ("failed", "Revoked".to_owned()),
            RevocationLevel::Deprecated => ("failed", "Deprecated".to_owned()),
        }));
        chips.extend(self.is_held.then(|| ("auth", "Held at this version".to_owned())));
        let examined = self.examined().map(|examined| examined.version.as_str());
        match (self.answer, self.unanswered) {
            (Some(answer), _) => chips.push(match (self.passed_level().map(Level::as_str), self.partly_unanswered()) {
                (Some(level), _) => {
                    ("tested", self.in_version(examined, format!("Passes {level}"), &format!("Passed {level}")))
                }
                (None, _) if self.bits[facets::EXAMINED] & facets::FAILED != 0 => {
                    ("failed", self.in_version(examined, "Fails a requirement".to_owned(), "Failed a requirement"))
                }
                (None, Some((kind, _))) => ("auth", format!("Answers by {kind} only")),
                (None, None) => {
                    ("tested", self.in_version(answer.version.as_deref(), "Answers".to_owned(), "Answered"))
                }
            }),
            (None, Some(Unanswered { day: Some(_), .. })) => chips.push(("auth", "Did not answer".to_owned())),
            (None, Some(_)) => chips.push(("auth", "Could not be started".to_owned())),
            (None, None) => {}
        }
        chips.extend(self.license.as_deref().map(|license| ("", shown(license, CHIP))));
        let needs = [(facets::BINARY, "Binary"), (facets::NPX, "Node.js"), (facets::UVX, "uv")];
        let needs = needs.iter().filter(|(bit, _)| self.bits[facets::DIST] & bit != 0);
        chips.extend(needs.map(|(_, text)| ("", (*text).to_owned())));
        chips.extend(self.sign_in().map(|text| ("", text)));
        chips
    }

    /// The first way to sign in, and how many more there are.
    fn sign_in(&self) -> Option<String> {
        let methods = self.answer?.auth_methods.as_slice();
        let first = shown(&methods.first()?.name, SIGN_IN);
        let more = if methods.len() > 1 { format!(" +{}", methods.len() - 1) } else { String::new() };
        Some(format!("Sign-in: {first}{more}"))
    }

    /// How a client signs people in, as far as the last start shows.
    pub(super) fn client_sign_in(&self) -> SignIn {
        let Some(methods) = self.answer.map(|answer| &answer.auth_methods).filter(|methods| !methods.is_empty()) else {
            return SignIn::Unknown;
        };
        let method = methods.iter().find(|method| method.kind == "agent" && !method.id.is_empty());
        method.map_or(SignIn::Elsewhere, |method| SignIn::Method(method.id.clone()))
    }

    /// The licence as stated, as the search reads it; empty if there is none.
    pub(super) fn license_text(&self) -> &str {
        self.license.as_deref().unwrap_or_default()
    }

    /// The licence, or "licence not stated".
    pub(super) fn license(&self) -> &str {
        self.license.as_deref().unwrap_or("licence not stated")
    }

    /// The systems of the agent's downloads.
    pub(super) fn systems(&self) -> String {
        let platforms = Platform::ALL.iter().enumerate().filter(|(at, _)| self.bits[facets::PLATFORM] & 1 << at != 0);
        let mut names: Vec<&str> = platforms.map(|(_, platform)| system_name(platform.os())).collect();
        names.dedup();
        names.join(", ")
    }

    /// The labels of the agent's values in a group.
    pub(super) fn labels(&self, key: &str) -> String {
        let group = GROUPS.iter().filter(|group| group.key == key);
        let values =
            group.flat_map(|group| group.values.iter().filter(|value| self.bits[group.column] & value.bits != 0));
        values.map(|value| value.label).collect::<Vec<_>>().join(", ")
    }
}

/// The name of an operating system that people know.
pub(super) fn system_name(os: &str) -> &str {
    match os {
        "darwin" => "macOS",
        "linux" => "Linux",
        "windows" => "Windows",
        other => other,
    }
}

/// The distribution by which an agent was started, as a word.
pub(super) fn by(kind: Option<&str>) -> String {
    match kind {
        Some("binary") => "its binary".to_owned(),
        Some(kind) => shown(kind, CHIP),
        None => "another distribution".to_owned(),
    }
}

/// The names of the authors, as pages show them.
pub(super) fn authors(agent: &Agent) -> Vec<String> {
    agent.authors.iter().take(AUTHORS).map(|author| shown(author, AUTHOR)).collect()
}

/// Parses an entry, which is part of a text that was parsed before.
fn value(entry: &RawValue) -> Value {
    serde_json::from_str(entry.get()).unwrap_or_default()
}
