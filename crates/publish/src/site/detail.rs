//! The page of an agent, and the files beside it.

use askama::Template;
use serde_json::{Map, Value, json};

use super::capabilities::{Opening, State};
use super::changes::{Change, agent_feed};
use super::examined::Tests;
use super::facets::{self, capabilities};
use super::groups::{GROUPS, Group};
use super::install::{Needs, Setup, setups, start};
use super::listing::{Listing, authors};
use super::pages::{Frame, Site};
use super::text::{json_in_html, link, short, shown};
use super::trust::Trust;
use super::{File, SiteError, badge, markdown, page};
use acp_registry_core::manifest::{Agent, BinaryTarget, Distribution};
use acp_registry_core::timestamp::Timestamp;
use acp_registry_gate::config::AgentFile;
use acp_registry_gate::verify::Answer;

/// Limit of the shown length of a description, in Unicode scalar values.
const DESCRIPTION: usize = 600;

#[derive(Template)]
#[template(path = "agent.html")]
struct Detail<'a> {
    f: Frame<'a>,
    a: &'a Listing<'a>,
    facts: &'a Facts,
    json_ld: String,
    preview: Option<String>,
    setups: &'a [Setup],
    targets: Vec<Target>,
    /// Name and type of each authentication method.
    auth: Vec<(String, String)>,
    trust: Trust,
    /// The capabilities of an agent that answered, in their groups.
    groups: Vec<(&'static str, Vec<(&'static str, State)>)>,
    /// The texts of the links to the website and the source.
    website: Option<String>,
    source: Option<String>,
    changes: Vec<Change>,
    /// Whether the agent has a feed.
    has_feed: bool,
    /// The address for editing the entry, and whether it leads to the entry itself.
    edit: Option<(String, bool)>,
    badge: Option<String>,
}

impl Detail<'_> {
    fn has(&self, file: AgentFile) -> bool {
        self.f.site.config.agent_files.contains(&file)
    }
}

/// The facts that both the page and its Markdown show.
pub(super) struct Facts {
    pub(super) description: String,
    pub(super) authors: Vec<String>,
    /// Links: the licence's text, the website, the source.
    pub(super) license_url: Option<String>,
    pub(super) website: Option<String>,
    pub(super) repository: Option<String>,
    /// What must be installed before the agent, as a sentence.
    pub(super) needs: &'static str,
    /// What is left to do after the setup, as sentences, if it is known.
    pub(super) next: Option<String>,
    /// Days as `YYYY-MM-DD`.
    pub(super) added: Option<String>,
    pub(super) updated: Option<String>,
    /// Why the agent gave no answer when it was last tried, as a sentence.
    pub(super) unanswered: Option<String>,
    /// Whether a session opens before sign-in, as a sentence; `None` if the agent gave no answer.
    pub(super) session: Option<&'static str>,
    /// The ways to sign in, by the names that the agent gave them.
    pub(super) sign_in: String,
    /// What must be set up before the first session, as the agent says itself.
    pub(super) setup: Option<String>,
    /// Kind and name of each package.
    pub(super) packages: Vec<(&'static str, String)>,
    /// The version whose capabilities were tested.
    pub(super) row_version: String,
    pub(super) capabilities: Vec<(&'static str, State)>,
    /// The results of the last examination, if there was one.
    pub(super) tests: Option<Tests>,
}

/// The archive for a platform.
pub(super) struct Target {
    pub(super) os: String,
    pub(super) arch: String,
    pub(super) url: Option<String>,
    pub(super) file: String,
    pub(super) digest: Option<String>,
    pub(super) start: Option<String>,
}

/// Renders the page of an agent and the files that the configuration asks for.
pub(super) fn files(site: &Site, listing: &Listing<'_>) -> Result<Vec<File>, SiteError> {
    let path = format!("agents/{}/", listing.id);
    let description = if listing.summary.is_empty() { &listing.name } else { &listing.summary };
    let auth = listing.answer.into_iter().flat_map(|answer| &answer.auth_methods).take(20);
    let agent = listing.agent();
    let distribution = &agent.distribution;
    let facts = facts(listing, &agent);
    let setups = setups(listing, distribution, site.registry_url.as_deref());
    let wanted = &site.config.agent_files;
    let address = format!("{}/agents/{}/", site.base_url, listing.id);
    let detail = Detail {
        f: Frame::new(site, &path, &format!("{} – ACP agents", listing.name), description)
            .with_agent(&listing.id, &listing.name),
        a: listing,
        facts: &facts,
        json_ld: json_in_html(&json_ld(&address, listing, &facts, distribution)),
        preview: agent.preview.as_ref().map(|preview| shown(&preview.version, 40)),
        setups: &setups,
        targets: distribution.binary.iter().take(20).map(target).collect(),
        auth: auth.map(|(name, kind)| (shown(name, 80), shown(kind, 40))).collect(),
        trust: Trust::of(listing, distribution),
        groups: groups(listing),
        website: facts.website.as_deref().map(short),
        source: facts.repository.as_deref().map(short),
        changes: Change::of(listing),
        has_feed: wanted.contains(&AgentFile::Feed) && !listing.events.is_empty(),
        edit: site.config.edit_url(&listing.id),
        badge: wanted.contains(&AgentFile::Badge).then(|| format!("[![ACP agent]({address}badge.svg)]({address})")),
    };
    let mut files = vec![page(&path, &detail)?];
    if wanted.contains(&AgentFile::Json) {
        files.push((format!("{path}agent.json"), acp_registry_core::json::to_string(&listing.entry()).into_bytes()));
    }
    if wanted.contains(&AgentFile::Markdown) {
        let text = markdown::page(&site.base_url, listing, distribution, &setups, &facts);
        files.push((format!("{path}index.md"), text.into_bytes()));
    }
    if wanted.contains(&AgentFile::Feed) {
        files.extend(agent_feed(site, listing)?);
    }
    if wanted.contains(&AgentFile::Badge) {
        files.push((format!("{path}badge.svg"), badge::svg(listing)?));
    }
    Ok(files)
}

fn groups(listing: &Listing<'_>) -> Vec<(&'static str, Vec<(&'static str, State)>)> {
    let states = |group: &Group| group.members.iter().map(|member| (member.label, member.of(listing.answer))).collect();
    let groups = if listing.answer.is_some() { &GROUPS[..] } else { &[] };
    groups.iter().map(|group| (group.title, states(group))).collect()
}

fn facts(listing: &Listing<'_>, agent: &Agent) -> Facts {
    let address = |text: &Option<String>| text.as_deref().and_then(link);
    let version = listing.answer.and_then(|answer| answer.version.as_deref()).map(|text| shown(text, 40));
    let (added, updated) = (listing.added(), listing.updated());
    Facts {
        description: shown(&agent.description, DESCRIPTION),
        authors: authors(agent),
        license_url: address(&agent.license_url),
        website: address(&agent.website),
        repository: address(&agent.repository),
        needs: needs(listing),
        next: next(listing),
        added: added.map(Timestamp::day),
        // An agent that has not changed since it was added has no update.
        updated: updated.filter(|time| Some(*time) != added).map(Timestamp::day),
        setup: listing.answer.and_then(|answer| answer.setup_required.as_deref()).map(|words| shown(words, 2000)),
        unanswered: listing.why_unanswered(),
        session: listing.answer.map(|answer| Opening::of(answer).words()),
        sign_in: sign_in(listing),
        packages: agent
            .distribution
            .packages()
            .map(|(kind, package)| (kind.as_str(), shown(&package.package, 200)))
            .collect(),
        row_version: version.filter(|text| !text.is_empty()).unwrap_or_else(|| listing.version.clone()),
        capabilities: listing
            .answer
            .map(|answer| capabilities().map(|(feature, value)| (value.label, State::of(answer, &feature))).collect())
            .unwrap_or_default(),
        tests: listing.examined().map(Tests::of),
    }
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
        (Opening::Opens, _) => Some("Then open a session; the agent needs no sign-in for it.".to_owned()),
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
fn sign_in_names(answer: &Answer) -> Vec<String> {
    answer.auth_methods.iter().take(20).map(|(name, _)| shown(name, 80)).collect()
}

fn sign_in(listing: &Listing<'_>) -> String {
    let Some(answer) = listing.answer else { return "Not known: the agent gave no answer yet".to_owned() };
    let names = sign_in_names(answer);
    if names.is_empty() { "None offered".to_owned() } else { names.join(", ") }
}

pub(super) fn target(target: &BinaryTarget) -> Target {
    let (os, arch) = target.platform.split_once('-').unwrap_or((&target.platform, ""));
    let os = match os {
        "darwin" => "macOS".to_owned(),
        "linux" => "Linux".to_owned(),
        "windows" => "Windows".to_owned(),
        other => shown(other, 40),
    };
    let url = link(&target.archive);
    let file = url.as_deref().and_then(|url| url.split(['?', '#']).next()?.rsplit('/').next());
    let file = file.filter(|file| !file.is_empty()).map_or_else(|| "archive".to_owned(), |file| shown(file, 80));
    Target {
        os,
        arch: shown(arch, 40),
        file,
        url,
        digest: target.sha256.as_deref().map(|digest| shown(digest, 64)),
        start: start(&target.platform, &target.cmd, &target.args, &target.env),
    }
}

/// Metadata for search engines as JSON-LD, taken from the manifest only.
fn json_ld(address: &str, listing: &Listing<'_>, facts: &Facts, distribution: &Distribution) -> Value {
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    set("@context", json!("https://schema.org"));
    set("@type", json!("SoftwareApplication"));
    set("name", json!(listing.name));
    if !facts.description.is_empty() {
        set("description", json!(facts.description));
    }
    set("url", json!(address));
    set("applicationCategory", json!("DeveloperApplication"));
    set("softwareVersion", json!(listing.version));
    if let Some(url) = &facts.license_url {
        set("license", json!(url));
    }
    if let Some(url) = &facts.website {
        set("sameAs", json!(url));
    }
    if !facts.authors.is_empty() {
        set("author", facts.authors.iter().map(|name| json!({ "@type": "Thing", "name": name })).collect());
    }
    if !distribution.binary.is_empty() {
        set("operatingSystem", json!(listing.labels("os")));
    }
    Value::Object(object)
}
