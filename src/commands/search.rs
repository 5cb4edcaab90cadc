//! `acp-registry search`

use acp_registry::failure::{Exit, Failure};
use acp_registry::index::{Match, Reading};
use acp_registry::ops::{self, Search};
use acp_registry::text::{quote, shown, suggestions};

use super::list::show;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words to search for
    ///
    /// They are looked for in id, name, description, authors, licence, packages and commands. Phrases select agents as the
    /// filters of the catalog do: `open source`, `windows arm`, `npm`, and where the registry publishes what its agents can
    /// do, `session resume`, `images`, `without an api key` or `tested`. Agents that match only in part come last. A word
    /// that no agent has is read as one with a similar spelling, or left out.
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let events = events(ui);
    let request = Search { query: args.query.join(" ") };
    let report = signals::run(ui, ops::search(&session, &request, &events))??;
    if args.format.is_json() {
        ui.report(&report)?;
    } else {
        show(&report, ui)?;
    }
    let Reading { similar, unknown, untold, .. } = &report.reading;
    for (word, others) in similar {
        ui.note(&format!("{} is read as {}", quote(word), quoted(others)));
    }
    if !unknown.is_empty() {
        ui.note(&format!("no agent mentions {}", quoted(unknown)));
    }
    if !untold.is_empty() {
        ui.note(&format!("the registry publishes nothing about {}", quoted(untold)));
    }
    let hits = report.hits.as_deref().unwrap_or_default();
    if hits.is_empty() {
        let names = report.index.entries().flat_map(|entry| [entry.id.as_str(), entry.name.as_str()]);
        let near = suggestions(&request.query, names);
        if !near.is_empty() {
            ui.note(&format!("similar: {}", near.iter().map(|name| shown(name, 80)).collect::<Vec<_>>().join(", ")));
        }
    }
    for (matched, some, text) in [
        (Match::SystemUnknown, "the next", "packages do not state their systems"),
        (Match::Some, "the last", "only some of the words match"),
    ] {
        match hits.iter().filter(|(_, known)| *known == matched).count() {
            0 => {}
            count if count == hits.len() => ui.note(text),
            count => ui.note(&format!("{some} {count}: {text}")),
        }
    }
    ui.leave(report);
    Ok(Exit::Success)
}

/// The first words of a list, in quotes.
fn quoted(words: &[String]) -> String {
    words.iter().take(3).map(|word| quote(word)).collect::<Vec<_>>().join(" or ")
}
