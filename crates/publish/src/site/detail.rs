//! The page of an agent, and the files beside it.

use askama::Template;
use serde_json::{Map, Value, json};

use super::capabilities::Support;
use super::change::AgentChange;
use super::changes::agent_feed;
use super::facts::{Facts, PlatformArchive, target};
use super::groups::{GROUPS, Group};
use super::install::{Needs, Setup, setups};
use super::listing::Listing;
use super::pages::{Frame, Site};
use super::text::{json_in_html, short, shown};
use super::trust::Trust;
use super::{SiteError, SiteFile, badge, markdown, page};
use acp_registry_gate::config::AgentFile;
use acp_registry_plan::manifest::Distribution;

#[derive(Template)]
#[template(path = "agent.html")]
struct Detail<'a> {
    f: Frame<'a>,
    a: &'a Listing<'a>,
    facts: &'a Facts,
    json_ld: String,
    preview: Option<String>,
    setups: &'a [Setup],
    targets: Vec<PlatformArchive>,
    /// Name and type of each authentication method.
    auth: Vec<(String, String)>,
    trust: Trust,
    /// The capabilities of an agent that answered, in their groups.
    groups: Vec<(&'static str, Vec<(&'static str, Support)>)>,
    /// The texts of the links to the website and the source.
    website: Option<String>,
    source: Option<String>,
    changes: Vec<AgentChange>,
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

/// Renders the page of an agent and the files that the configuration asks for.
pub(super) fn files(site: &Site, listing: &Listing<'_>) -> Result<Vec<SiteFile>, SiteError> {
    let path = format!("agents/{}/", listing.id);
    let description = if listing.summary.is_empty() { &listing.name } else { &listing.summary };
    let auth = listing.answer.into_iter().flat_map(|answer| &answer.auth_methods).take(20);
    let agent = listing.agent();
    let distribution = &agent.distribution;
    let facts = Facts::of(listing, &agent);
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
        changes: AgentChange::of(listing),
        has_feed: wanted.contains(&AgentFile::Feed) && !listing.events.is_empty(),
        edit: site.config.edit_url(&listing.id),
        badge: wanted.contains(&AgentFile::Badge).then(|| format!("[![ACP agent]({address}badge.svg)]({address})")),
    };
    let mut files = vec![page(&path, &detail)?];
    if wanted.contains(&AgentFile::Json) {
        files.push((format!("{path}agent.json"), acp_registry_plan::json::to_string(&listing.entry()).into_bytes()));
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

fn groups(listing: &Listing<'_>) -> Vec<(&'static str, Vec<(&'static str, Support)>)> {
    let states = |group: &Group| group.members.iter().map(|member| (member.label, member.of(listing.answer))).collect();
    let groups = if listing.answer.is_some() { &GROUPS[..] } else { &[] };
    groups.iter().map(|group| (group.title, states(group))).collect()
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
