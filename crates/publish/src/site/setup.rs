//! Setup instructions for an agent, by client; and `/editors/<client>/`, with the agents that can be added to one.

use acp_registry_client::settings::{
    AgentCommand, CLIENTS, EditorClient, SETTINGS_LIMIT, powershell, shell, zed_registry,
};
use acp_registry_plan::manifest::Distribution;
use askama::Template;

use super::listing::Listing;
use super::pages::{Frame, ShownValue, Site};
use super::{SiteError, SiteFile, page};

/// Instructions for one client.
pub(super) struct Setup {
    pub(super) client: &'static EditorClient,
    /// The ways to set up the agent, the one that needs least first.
    pub(super) ways: Vec<SetupWay>,
    /// The command that prints the settings with the path of `acp-registry`; `None` where a path is not needed.
    pub(super) config: Option<String>,
}

/// A way to set up the agent.
pub(super) struct SetupWay {
    pub(super) title: String,
    /// What to do, or where the snippets go; may be empty.
    pub(super) text: String,
    /// The snippets to copy.
    pub(super) snippets: Vec<Snippet>,
    pub(super) needs: Needs,
    /// Whether it is shown without a click.
    pub(super) is_open: bool,
}

/// A text to copy.
pub(super) struct Snippet {
    pub(super) title: String,
    pub(super) text: String,
}

/// What must be installed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// `acp-registry`.
    Program,
    /// The package runner of a runtime, which is named.
    Runtime(&'static str),
}

const RUN: &str = "With the acp-registry program";
const TOO_LONG: &str = "The settings are too long to show here; use the agent’s entry.";

fn snippet(title: &str, text: &str) -> Option<Snippet> {
    (text.len() <= SETTINGS_LIMIT).then(|| Snippet { title: title.to_owned(), text: text.trim_end().to_owned() })
}

/// The instructions for every client that the pages of agents show. `index` is the index address that `acp-registry` needs, if
/// it is not the default.
pub(super) fn setups(listing: &Listing<'_>, distribution: &Distribution, index: Option<&str>) -> Vec<Setup> {
    let clients = CLIENTS.iter().filter(|client| client.is_on_pages);
    clients.map(|client| setup(client, listing, distribution, index)).collect()
}

/// The instructions for a client.
pub(super) fn setup(
    client: &'static EditorClient,
    listing: &Listing<'_>,
    distribution: &Distribution,
    index: Option<&str>,
) -> Setup {
    let flags: Vec<&str> = index.into_iter().flat_map(|index| ["--index", index]).collect();
    let sign_in = listing.client_sign_in();
    let run = AgentCommand::through_run(&listing.id, &listing.name, &flags);
    let run = AgentCommand { sign_in: sign_in.clone(), ..run };
    let direct = AgentCommand::from_package(&listing.id, &listing.name, distribution);
    let mut ways: Vec<SetupWay> = registry_way(client, listing, index.is_some()).into_iter().collect();
    ways.push(way(client, &run, RUN, Needs::Program));
    if let Some(direct) = direct {
        let runtime = if direct.program == "npx" { "Node.js" } else { "uv" };
        let title = format!("With {}", direct.program);
        ways.push(way(client, &AgentCommand { sign_in, ..direct }, &title, Needs::Runtime(runtime)));
    }
    // Everything up to the first text to copy is shown.
    let first = ways.iter().position(|way| !way.snippets.is_empty()).unwrap_or(ways.len());
    for (at, way) in ways.iter_mut().enumerate() {
        way.is_open = at <= first;
    }
    // Below a way without a text to copy, the settings are the alternative.
    if let Some(way) = ways.get_mut(first).filter(|_| first > 0) {
        way.text = way.text.replacen("In ", "Or in ", 1);
    }
    let words = ["acp-registry", "config"].into_iter().chain(flags.iter().copied()).chain([client.id, &listing.id]);
    let config = if client.id == "cli" { None } else { shell::command(&[], words) };
    Setup { client, ways, config }
}

/// The way through the client's own registry, if it has one. `is_other` says that this site is of another registry.
fn registry_way(client: &EditorClient, listing: &Listing<'_>, is_other: bool) -> Option<SetupWay> {
    if client.registry.is_empty() {
        return None;
    }
    let is_zed = client.id == "zed";
    let condition = if is_other { " This needs the agent to be in the registry that the editor reads." } else { "" };
    let place = if is_zed { " Or put this in settings.json:" } else { "" };
    let title = "From the registry";
    Some(SetupWay {
        title: title.to_owned(),
        text: format!("{}{condition}{place}", client.registry),
        snippets: is_zed.then(|| snippet(title, &zed_registry(&listing.id))).flatten().into_iter().collect(),
        needs: Needs::Nothing,
        is_open: true,
    })
}

/// The way with settings that start a program.
fn way(client: &EditorClient, launch: &AgentCommand, title: &str, needs: Needs) -> SetupWay {
    let snippets: Vec<Snippet> = if client.id == "cli" {
        command_lines(launch, title)
    } else {
        client.settings(launch).ok().and_then(|text| snippet(title, &text)).into_iter().collect()
    };
    let text = if snippets.is_empty() { TOO_LONG } else { client.place };
    SetupWay { title: title.to_owned(), text: text.to_owned(), snippets, needs, is_open: false }
}

/// Commands for every shell, independent of the system that builds the site. One is enough where all shells read it alike.
fn command_lines(launch: &AgentCommand, title: &str) -> Vec<Snippet> {
    let posix = shell::command(&launch.env, launch.words());
    let windows = powershell::command(&launch.env, &launch.program, launch.args.iter().map(String::as_str));
    if posix == windows {
        return posix.and_then(|text| snippet(title, &text)).into_iter().collect();
    }
    let named = |shell: &str, text: Option<String>| snippet(&format!("{title}, {shell}"), &text?);
    named("POSIX shell", posix).into_iter().chain(named("PowerShell", windows)).collect()
}

/// The command that starts the program of an unpacked archive; `None` if it cannot be quoted or is too long.
pub(super) fn start(platform: &str, cmd: &str, args: &[String], env: &[(String, String)]) -> Option<String> {
    let args = args.iter().map(String::as_str);
    let text = if platform.starts_with("windows") {
        powershell::command(env, cmd, args)
    } else {
        shell::command(env, std::iter::once(cmd).chain(args))
    };
    text.filter(|text| text.len() <= 600)
}

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
    /// The kinds of distributions, and what agents of each need.
    kinds: &'a [(&'a ShownValue, &'static str)],
    agents: &'a [Listing<'a>],
    total: usize,
}

/// What each kind of distribution needs on the user's computer.
const NEEDS: [(&str, &str); 3] = [
    ("npx", "need Node.js"),
    ("uvx", "need uv"),
    ("binary", "are standalone programs: acp-registry downloads and starts them, or you unpack them yourself"),
];

/// What a client can and cannot do with an agent: the class of a mark, and the words.
fn abilities(client: &EditorClient) -> Vec<(&'static str, &'static str)> {
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
    let needs = |slug: &str| NEEDS.iter().find(|(key, _)| *key == slug).map(|(_, needs)| *needs);
    let kinds = site.values().filter(|(group, _)| group.facet.key == "dist").map(|(_, kind)| kind);
    let kinds: Vec<(&ShownValue, &'static str)> =
        kinds.filter_map(|kind| Some((kind, needs(kind.facet.slug)?))).collect();
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
            kinds: &kinds,
            agents: if listings.len() > NAMED { &[] } else { listings },
            total: listings.len(),
        };
        files.push(page(&path, &editor)?);
    }
    Ok(files)
}
