//! `/editors/<client>/`: how to add an agent to a client, and the agents that can be added.

use askama::Template;

use super::install::{Needs, Setup, setup};
use super::listing::Listing;
use super::pages::{Frame, Site};
use super::{SiteError, SiteFile, page};
use acp_registry_client::settings::{CLIENTS, EditorClient};

/// A page lists up to this many agents; with more, it links to the lists of the site.
const NAMED: usize = 100;

#[derive(Template)]
#[template(path = "editors.html")]
struct Editors<'a> {
    f: Frame<'a>,
    clients: &'static [EditorClient],
}

#[derive(Template)]
#[template(path = "editor.html")]
struct Editor<'a> {
    f: Frame<'a>,
    client: &'static EditorClient,
    /// An example: an agent and its settings.
    example: Option<(&'a Listing<'a>, Setup)>,
    ways: Vec<KindCount>,
    agents: &'a [Listing<'a>],
    total: usize,
}

/// A kind of distribution, and how many agents have it.
struct KindCount {
    slug: &'static str,
    label: &'static str,
    needs: &'static str,
    count: usize,
}

/// What each kind of distribution needs on the user's computer.
const NEEDS: [(&str, &str); 3] = [
    ("npx", "start at once, if Node.js is installed"),
    ("uvx", "start at once, if uv is installed"),
    ("binary", "are standalone programs: acp-registry downloads and starts them, or you unpack them yourself"),
];

pub(super) fn pages(site: &Site, listings: &[Listing<'_>]) -> Result<Vec<SiteFile>, SiteError> {
    let ways = || {
        let values = site.groups.iter().filter(|group| group.key == "dist").flat_map(|group| &group.values);
        let needs = |slug: &str| NEEDS.iter().find(|(key, _)| *key == slug).map(|(_, needs)| *needs);
        values
            .filter_map(|value| {
                let needs = needs(value.slug)?;
                Some(KindCount { slug: value.slug, label: value.label, needs, count: value.count })
            })
            .collect()
    };
    let example = listings.iter().find(|listing| listing.agent().distribution.npx.is_some()).or(listings.first());
    let description = "How to set up agents that speak the Agent Client Protocol in editors and other clients.";
    let f = Frame::new(site, "editors/", "Editors – ACP agents", description);
    let mut files = vec![page("editors/", &Editors { f, clients: &CLIENTS })?];
    for client in &CLIENTS {
        let path = format!("editors/{}/", client.id);
        let description = format!("How to set up agents in {}, and the list of agents.", client.about);
        let setup =
            |listing: &Listing<'_>| setup(client, listing, &listing.agent().distribution, site.registry_url.as_deref());
        let editor = Editor {
            f: Frame::new(site, &path, &format!("{} – ACP agents", client.title), &description),
            client,
            example: example.map(|listing| (listing, setup(listing))),
            ways: ways(),
            agents: if listings.len() > NAMED { &[] } else { listings },
            total: listings.len(),
        };
        files.push(page(&path, &editor)?);
    }
    Ok(files)
}
