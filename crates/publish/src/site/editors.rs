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

/// What a client can and cannot do with an agent: the class of a mark, and the words.
pub(super) fn abilities(client: &EditorClient) -> Vec<(&'static str, &'static str)> {
    let mark = |can: bool| if can { "tested" } else { "no" };
    let is_written = client.language == "json";
    vec![
        (mark(!client.registry.is_empty()), "Installs agents of the public registry by itself"),
        (mark(client.is_on_pages), "Settings to copy on every agent’s page"),
        (mark(is_written), "Settings written by acp-registry config --write"),
    ]
}

/// The mark of a client, as the path of a line on a square of 24 units.
pub(super) fn mark(client: &str) -> &'static str {
    match client {
        "zed" => "M6 6h12L6 18h12",
        "jetbrains" => "M5 5h14v14H5zM8 16h5M8 8v3",
        "codecompanion" => "M7 18V6l10 12V6",
        "avante" => "M6 18l6-12 6 12M8.5 13h7",
        "emacs" => "M17 7c-5-3-10 0-5 3.5-7 1-5 9 5 6.5",
        "vscode" => "M9 7l-5 5 5 5M15 7l5 5-5 5",
        "obsidian" => "M13 4l5 6-3 9-7-1-2-7zM13 4l-2 8 4 7",
        "qtcreator" => "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM14 14l4 5",
        "jupyter" => "M5 9c4-4 10-4 14 0M5 15c4 4 10 4 14 0M12 11v2",
        "acpx" => "M5 7l4 5-4 5M13 9l6 6M19 9l-6 6",
        _ => "M5 7l5 5-5 5M12 17h7",
    }
}

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
