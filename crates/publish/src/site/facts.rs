//! The facts about an agent that its page and its Markdown show, with its versions until now.

use std::time::Duration;

use acp_registry_client::settings::shell;
use acp_registry_gate::config::SiteConfig;
use acp_registry_gate::verify::{LastAnswer, RunTimes, Unanswered};
use acp_registry_plan::manifest::{Agent, BinaryTarget};
use acp_registry_plan::revocations::{Revocation, RevocationLevel};
use acp_registry_plan::text::plural;
use acp_registry_plan::timestamp::{Timestamp, date};
use acp_registry_plan::versions::{EarlierVersion, HELD, HeldVersion, Versions};

use super::SiteOptions;
use super::capabilities::{Opening, Support};
use super::changes::{AgentChange, ENTRIES};
use super::examinations::Tests;
use super::facets::{self, capabilities};
use super::listing::{Listing, authors, system_name};
use super::setup::start;
use super::text::{as_many_as_fit, link, shown};
use acp_registry_gate::release::{release_page, release_page_of_entry};

/// Limit of the shown length of a description, in Unicode scalar values.
const DESCRIPTION: usize = 600;

/// Limit of the shown length of an address.
const ADDRESS: usize = 200;

/// How many paths and hosts are named.
const FEW: usize = 5;

/// The facts that both the page and its Markdown show.
pub(super) struct Facts {
    pub(super) description: String,
    pub(super) authors: Vec<String>,
    /// Links: the licence's text, the website, the source.
    pub(super) license_url: Option<String>,
    pub(super) website: Option<String>,
    pub(super) repository: Option<String>,
    /// The address of a website to which no page links, because it is not https.
    pub(super) unlinked_website: Option<String>,
    /// What must be installed before the agent, as a sentence.
    pub(super) needs: &'static str,
    /// What is left to do after the setup, as sentences, if it is known.
    pub(super) next: Option<String>,
    /// Days as `YYYY-MM-DD`.
    pub(super) added: Option<String>,
    /// The day of the publisher's first release.
    pub(super) appeared: Option<String>,
    pub(super) updated: Option<String>,
    /// Why the agent gave no answer when it was last tried, as a sentence.
    pub(super) unanswered: Option<String>,
    /// Whether a session opens before sign-in, as a sentence; `None` if the agent gave no answer.
    pub(super) session: Option<&'static str>,
    /// How long it took to start and to install, in how many runs, if that is known.
    pub(super) times: Option<String>,
    /// What kept the agent apart from the host, if that is known.
    pub(super) isolation: Option<&'static str>,
    /// What it has left in its home, as a phrase.
    pub(super) writes: Option<String>,
    pub(super) hosts: Option<String>,
    /// The program of which the agent is an adapter, as the registry says.
    pub(super) adapter_of: Option<String>,
    /// The release on GitHub that its archives are of.
    pub(super) release: Option<String>,
    /// The modes and the options that a new session offers, by their ids.
    pub(super) modes: Vec<String>,
    pub(super) options: Vec<String>,
    /// The ways to sign in, by the names that the agent gave them.
    pub(super) sign_in: String,
    /// What must be set up before the first session, as the agent says itself.
    pub(super) setup: Option<String>,
    /// Kind and name of each package.
    pub(super) packages: Vec<(&'static str, String)>,
    /// The version whose capabilities were tested.
    pub(super) row_version: String,
    pub(super) capabilities: Vec<(&'static str, Support)>,
    /// The results of the last examination, if there was one.
    pub(super) tests: Option<Tests>,
}

/// The archive for a platform.
pub(super) struct PlatformArchive {
    pub(super) os: String,
    pub(super) arch: String,
    pub(super) url: Option<String>,
    pub(super) file: String,
    pub(super) digest: Option<String>,
    pub(super) start: Option<String>,
}

impl Facts {
    pub(super) fn of(listing: &Listing<'_>, agent: &Agent, config: &SiteConfig) -> Self {
        let address = |text: &Option<String>| text.as_deref().and_then(link);
        let (added, updated) = (listing.added(), listing.updated());
        Self {
            description: shown(&agent.description, DESCRIPTION),
            authors: {
                let mut authors = authors(agent);
                let more = agent.authors.len() - authors.len();
                authors.extend((more > 0).then(|| format!("and {more} more")));
                authors
            },
            license_url: address(&agent.license_url),
            website: address(&agent.website),
            repository: address(&agent.repository),
            unlinked_website: agent
                .website
                .as_deref()
                .filter(|text| text.starts_with("http://"))
                .map(|text| shown(text, ADDRESS)),
            needs: needs(listing),
            next: next(listing),
            appeared: config.appeared.get(&listing.id).cloned(),
            added: added.map(Timestamp::day),
            // An agent that has not changed since it was added has no update.
            updated: updated.filter(|time| Some(*time) != added).map(Timestamp::day),
            setup: listing.answer.and_then(|answer| answer.setup_required.as_deref()).map(|words| shown(words, 2000)),
            unanswered: listing.why_unanswered(),
            session: listing.answer.map(|answer| Opening::of(answer).words()),
            times: listing.answer.and_then(|answer| answer.times.as_ref()).map(times),
            isolation: listing.answer.and_then(|answer| isolation(answer.isolation.as_deref()?)),
            writes: listing.answer.and_then(|answer| answer.writes.as_deref()).map(writes),
            hosts: listing.answer.and_then(|answer| answer.hosts.as_deref()).map(hosts),
            adapter_of: config.adapters.get(&listing.id).map(|program| shown(program, 80)),
            release: agent.distribution.binary.iter().find_map(|target| release_page(&target.archive)),
            modes: listing.answer.map(|answer| offered(&answer.modes)).unwrap_or_default(),
            options: listing.answer.map(|answer| offered(&answer.options)).unwrap_or_default(),
            sign_in: sign_in(listing),
            packages: agent
                .distribution
                .packages()
                .map(|(kind, package)| (kind.as_str(), shown(&package.package, 200)))
                .collect(),
            row_version: listing
                .answered_version()
                .filter(|text| !text.is_empty())
                .unwrap_or_else(|| listing.version.clone()),
            capabilities: listing
                .answer
                .map(|answer| {
                    capabilities().map(|(feature, value)| (value.label, Support::of(answer, &feature))).collect()
                })
                .unwrap_or_default(),
            tests: listing.examined().map(Tests::of),
        }
    }
}

/// What a session offers; no more than fits on a page.
fn offered(ids: &[String]) -> Vec<String> {
    ids.iter().take(20).map(|id| shown(id, 40)).collect()
}

/// What a kind of isolation keeps from an agent, as a phrase.
fn isolation(kind: &str) -> Option<&'static str> {
    match kind {
        "environment" => Some("a home and variables of its own"),
        "user" => Some("a user and a home of its own"),
        "bwrap" => Some("a container, with network"),
        "bwrap-no-network" => Some("a container, without network"),
        _ => None,
    }
}

/// Paths in a home as a phrase.
fn writes(paths: &[String]) -> String {
    let words = as_many_as_fit(paths, FEW, |path| format!("~/{}", shown(path, 40)));
    if words.is_empty() { "nothing in your home, when it was tested".to_owned() } else { words.join(", ") }
}

/// Names of hosts as a phrase.
fn hosts(names: &[String]) -> String {
    let words = as_many_as_fit(names, FEW, |name| shown(name, 60));
    if words.is_empty() { "no host, when it was tested".to_owned() } else { words.join(", ") }
}

/// The times of an agent's starts as a phrase: `0.4–1.2 s, installed in 3–7 s (4 runs)`.
fn times(times: &RunTimes) -> String {
    let runs = plural(usize::try_from(times.runs).unwrap_or(usize::MAX), "run");
    format!("{}, installed in {} ({runs})", range(times.answer), range(times.install))
}

/// Two durations as a range. Below 10 s, tenths of a second are shown.
fn range((shortest, longest): (Duration, Duration)) -> String {
    let number = |time: Duration| {
        let seconds = time.as_secs_f64();
        let digits = usize::from(seconds < 9.95);
        format!("{seconds:.digits$}")
    };
    let (shortest, longest) = (number(shortest), number(longest));
    if shortest == longest { format!("{shortest} s") } else { format!("{shortest}–{longest} s") }
}

/// The runtimes of the agent's distributions.
fn needs(listing: &Listing<'_>) -> &'static str {
    let has = |bit: u32| listing.bits[facets::DIST] & bit != 0;
    match (has(facets::BINARY), has(facets::NPX), has(facets::UVX)) {
        (true, false, false) => "You need no runtime: the download is the agent’s program.",
        (true, true, false) => "You need no runtime for the download; the package needs Node.js.",
        (true, false, true) => "You need no runtime for the download; the package needs uv.",
        (true, true, true) => "You need no runtime for the download; the packages need Node.js or uv.",
        (false, true, false) => "You need Node.js.",
        (false, false, true) => "You need uv.",
        (false, true, true) => "You need Node.js or uv.",
        (false, false, false) => "",
    }
}

/// How people sign in after the setup.
fn next(listing: &Listing<'_>) -> Option<String> {
    let answer = listing.answer?;
    match (Opening::of(answer), sign_in_names(answer).as_slice()) {
        (Opening::Opens, _) => {
            Some("Then open a session, which needs no sign-in; whether a prompt does was not tried.".to_owned())
        }
        (Opening::NeedsSignIn, []) | (Opening::NeedsSetup | Opening::Unknown, _) => None,
        (Opening::NeedsSignIn, [name]) => {
            Some(format!("Then open a session, and sign in when the editor asks: {name}."))
        }
        (Opening::NeedsSignIn, names) => Some(format!(
            "Then open a session, and sign in one of these ways when the editor asks: {}.",
            names.join(", ")
        )),
    }
}

/// The names of the ways to sign in; no more than fit on a page.
fn sign_in_names(answer: &LastAnswer) -> Vec<String> {
    as_many_as_fit(&answer.auth_methods, 20, |method| shown(&method.name, 80))
}

fn sign_in(listing: &Listing<'_>) -> String {
    let Some(answer) = listing.answer else {
        let why = match listing.unanswered {
            Some(Unanswered { day: Some(_), .. }) => "it gave no answer",
            Some(_) => "it could not be started",
            None => "it was never started",
        };
        return format!("Not known: {why}");
    };
    let names = sign_in_names(answer);
    if names.is_empty() { "None offered".to_owned() } else { names.join(", ") }
}

pub(super) fn target(target: &BinaryTarget) -> PlatformArchive {
    let (os, arch) = target.platform.split_once('-').unwrap_or((&target.platform, ""));
    let os = shown(system_name(os), 40);
    let url = link(&target.archive);
    let file = url.as_deref().and_then(|url| url.split(['?', '#']).next()?.rsplit('/').next());
    let file = file.filter(|file| !file.is_empty()).map_or_else(|| "archive".to_owned(), |file| shown(file, 80));
    PlatformArchive {
        os,
        arch: shown(arch, 40),
        file,
        url,
        digest: target.sha256.as_deref().map(|digest| shown(digest, 64)),
        start: start(&target.platform, &target.cmd, &target.args, &target.env),
    }
}

/// The most recalls that a page lists.
const RECALLS: usize = 20;

/// The versions of an agent until now: which came when, which were recalled, and which can still be installed.
pub(super) struct Past {
    pub(super) changes: Vec<AgentChange>,
    /// Why the index has an older version than the registry.
    pub(super) held: Option<HeldVersion>,
    /// The recalled versions as written, and what the registry says of them.
    pub(super) recalls: Vec<(String, String)>,
    /// What the registry says of the current version, if it is recalled.
    pub(super) recalled: Option<String>,
    /// The recalls, to find those of the versions in `changes`.
    levels: Vec<Revocation>,
    /// The number of earlier versions that can be installed, and the command for the newest one.
    pub(super) earlier: Option<(usize, String)>,
    /// Whether it is known when the current version came, if it is known of any.
    pub(super) is_dated: bool,
    /// Earlier versions, if nothing else tells when versions came.
    pub(super) earlier_days: Vec<EarlierDay>,
}

/// An earlier version that can be installed.
pub(super) struct EarlierDay {
    pub(super) version: String,
    /// When it came into the registry, as `YYYY-MM-DD`.
    pub(super) day: Option<String>,
    /// The page of the release that its archives are of.
    pub(super) release: Option<String>,
}

impl Past {
    pub(super) fn of(listing: &Listing<'_>, version: &str, options: &SiteOptions<'_>) -> Self {
        let id = &listing.id;
        let mut changes = AgentChange::of(listing);
        let entry = listing.entry();
        let held = entry.get(HELD).and_then(|held| HeldVersion::parse(held, version));
        let levels = options.revocations.get(id).to_vec();
        let list = (options.earlier)(id).and_then(|text| Versions::parse(text, id).ok());
        let versions = list.map(|list| list.versions).unwrap_or_default();
        let flags: Vec<&str> = options.registry_url.into_iter().flat_map(|index| ["--index", index]).collect();
        let command = |one: &EarlierVersion| {
            let named = format!("{id}@{}", one.version);
            let words = ["acp-registry", "install"].into_iter().chain(flags.iter().copied()).chain([&*named]);
            Some((versions.len(), shell::command(&[], words)?))
        };
        let day = |one: &EarlierVersion| {
            let day = one.since.as_deref().and_then(|since| since.get(..10)).filter(|day| date(day).is_some());
            let release = release_page_of_entry(&one.entry);
            EarlierDay { version: shown(&one.version, 40), day: day.map(ToOwned::to_owned), release }
        };
        // A history that was made before it named releases lacks them.
        for change in changes.iter_mut().filter(|change| change.release.is_none() && change.kind != "withdrawn") {
            let earlier = versions.iter().find(|one| one.version == change.version).map(|one| &one.entry);
            let entry = if change.version == version { Some(&entry) } else { earlier };
            change.release = entry.and_then(release_page_of_entry);
        }
        Self {
            is_dated: changes.is_empty() || listing.updated().is_some(),
            held,
            recalls: levels.iter().take(RECALLS).map(|one| (one.written.clone(), one.to_string())).collect(),
            recalled: options.revocations.find(id, version).map(ToString::to_string),
            levels,
            earlier: versions.first().and_then(command),
            earlier_days: if changes.is_empty() {
                versions.iter().take(ENTRIES).map(day).collect()
            } else {
                Vec::new()
            },
            changes,
        }
    }

    /// `revoked` or `deprecated`, if a version is recalled.
    pub(super) fn recall(&self, version: &str) -> Option<&'static str> {
        let levels = self.levels.iter().filter(|one| one.versions.has(version)).map(|one| one.level);
        levels.max().map(RevocationLevel::as_str)
    }

    /// Whether there is something to tell.
    pub(super) fn is_known(&self) -> bool {
        !self.changes.is_empty() || self.earlier.is_some() || !self.recalls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ranges_over_runs() {
        let seconds = Duration::from_secs_f64;
        let of = |runs, answer: (f64, f64), install: (f64, f64)| {
            let range = |(shortest, longest)| (seconds(shortest), seconds(longest));
            times(&RunTimes { runs, answer: range(answer), install: range(install) })
        };
        assert_eq!(of(1, (0.352, 0.352), (7.3, 7.3)), "0.4 s, installed in 7.3 s (1 run)");
        assert_eq!(of(3, (0.352, 12.4), (0.01, 7.3)), "0.4–12 s, installed in 0.0–7.3 s (3 runs)");
    }
}
