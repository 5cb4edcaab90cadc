//! Setup instructions for an agent, by client.

use super::listing::Listing;
use acp_registry_client::settings::{
    CLIENTS, Client, Launch, PROGRAM, SETTINGS_LIMIT, powershell, shell, zed_registry,
};

/// Instructions for one client.
pub(super) struct Setup {
    pub(super) client: &'static Client,
    /// An additional note; may be empty.
    pub(super) note: &'static str,
    /// The snippets to copy; empty if they would be too long.
    pub(super) snippets: Vec<Snippet>,
}

/// A text to copy.
pub(super) struct Snippet {
    pub(super) title: String,
    pub(super) text: String,
}

const ZED: &str = "The first form needs the agent to be in the registry that Zed reads; the second starts it directly.";

const RUN: &str =
    "acp-registry fetches the version in the registry, checks its digest where one is stated, and starts it.";

fn snippet(title: &str, text: &str) -> Option<Snippet> {
    (text.len() <= SETTINGS_LIMIT).then(|| Snippet { title: title.to_owned(), text: text.trim_end().to_owned() })
}

/// Returns the instructions for every client. `index` is the index address that `acp-registry` needs, if it is not
/// the default.
pub(super) fn setups(listing: &Listing<'_>, index: Option<&str>) -> Vec<Setup> {
    let flags: Vec<&str> = index.into_iter().flat_map(|index| ["--index", index]).collect();
    let run = Launch::of_run(&listing.id, &listing.name, &flags);
    let package = Launch::of_package(&listing.id, &listing.name, &listing.agent.distribution);
    let launch = package.as_ref().unwrap_or(&run);
    let settings = |client: &Client, title: &str| {
        client.settings(launch).ok().and_then(|text| snippet(title, &text)).into_iter().collect::<Vec<_>>()
    };
    let setup = |client: &'static Client| {
        let (note, snippets) = match client.id {
            "zed" => {
                let custom = settings(client, "As your own command");
                (ZED, snippet("From the registry", &zed_registry(&listing.id)).into_iter().chain(custom).collect())
            }
            "cli" => (RUN, command_lines(&run, launch)),
            _ => {
                // The snippet names a program without its path, so a note about paths applies.
                let note = if client.path_note.is_empty() { client.note } else { client.path_note };
                (note, settings(client, "Settings"))
            }
        };
        Setup { client, note, snippets }
    };
    CLIENTS.iter().map(setup).collect()
}

/// Commands for every shell, independent of the system that builds the site.
fn command_lines(run: &Launch, launch: &Launch) -> Vec<Snippet> {
    let posix = |launch: &Launch| shell::command(&launch.env, launch.words());
    let mut snippets: Vec<Snippet> =
        posix(run).and_then(|text| snippet("With acp-registry", &text)).into_iter().collect();
    if launch.program != PROGRAM {
        let args = launch.args.iter().map(String::as_str);
        let windows = powershell::command(&launch.env, &launch.program, args);
        snippets.extend(posix(launch).and_then(|text| snippet("In a POSIX shell", &text)));
        snippets.extend(windows.and_then(|text| snippet("In PowerShell", &text)));
    }
    snippets
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
