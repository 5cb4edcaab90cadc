//! `acp-registry list` and `acp-registry search`

use std::borrow::Cow;
use std::collections::BTreeMap;

use acp_registry::index::{Entry, Index, Match, Query};
use acp_registry::manifest::AgentId;
use acp_registry::store::{Store, StoredAgent};
use acp_registry::text::{shown, suggestions};

use crate::commands::resolve::launch;
use crate::documents::{AgentList, Document, IndexOrigin, InstalledAgent, InstalledList, ListedAgent, kinds};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{CommandSession, SessionArgs};
use crate::terminal::table::{Columns, Last, bytes, table};
use crate::terminal::ui::Ui;
use crate::terminal::{plural, signals};
use acp_registry::failure::{AgentFailure, Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that are installed
    #[arg(long)]
    pub(crate) installed: bool,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words to search for
    ///
    /// They are searched in id, name, description, authors and licence. Words such as `open source`, `windows`, `npm` or
    /// `binary` select agents by licence, system and kind. Agents that match only in part come last.
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    let (installed, damaged) = agents(&session.store)?;
    warn(&damaged, ui);
    if args.installed {
        let index = if args.format.is_json() { session.index_at_hand() } else { None };
        return list_installed(&installed, &damaged, index.as_ref(), args.format.is_json(), &session);
    }
    let index = signals::run(ui, session.index_with_notes())??;
    let found: Vec<&Entry> = index.entries().collect();
    show("list", &found, &index, &installed, args.format.is_json(), ui)?;
    ui.leave(index);
    Ok(Exit::Success)
}

pub(crate) fn search(args: &SearchArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    let (installed, damaged) = agents(&session.store)?;
    warn(&damaged, ui);
    let index = signals::run(ui, session.index())??;
    let query = Query::new(args.query.iter().map(String::as_str));
    let hits = query.search(index.entries());
    let found: Vec<&Entry> = hits.iter().map(|hit| hit.entry).collect();
    show("search", &found, &index, &installed, args.format.is_json(), ui)?;
    if found.is_empty() {
        let words = args.query.join(" ");
        let near = suggestions(&words, index.entries().flat_map(|entry| [entry.id.as_str(), entry.name.as_str()]));
        if !near.is_empty() {
            ui.note(&format!("similar: {}", near.iter().map(|name| shown(name, 80)).collect::<Vec<_>>().join(", ")));
        }
    }
    for (matched, some, text) in [
        (Match::SystemUnknown, "the next", "packages do not state their systems"),
        (Match::Some, "the last", "only some of the words match"),
    ] {
        match hits.iter().filter(|hit| hit.matched == matched).count() {
            0 => {}
            count if count == hits.len() => ui.note(text),
            count => ui.note(&format!("{some} {count}: {text}")),
        }
    }
    Ok(Exit::Success)
}

/// The installed agents, and the failures of those that cannot be read.
type InstalledAgents = (BTreeMap<AgentId, StoredAgent>, BTreeMap<AgentId, Failure>);

pub(crate) fn agents(store: &Store) -> Result<InstalledAgents, Failure> {
    let (mut agents, mut damaged) = (BTreeMap::new(), BTreeMap::new());
    for id in store.ids()? {
        let lost = match store.agent(&id) {
            Ok(Some(agent)) => {
                agents.insert(id, agent);
                continue;
            }
            Ok(None) => store.lost(&id),
            Err(error) => Err(error),
        };
        match lost {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => drop(damaged.insert(id, error.into())),
        }
    }
    Ok((agents, damaged))
}

fn warn(damaged: &BTreeMap<AgentId, Failure>, ui: &Ui) {
    for failure in damaged.values() {
        ui.warn_about("", failure);
    }
}

fn show(
    command: &str,
    found: &[&Entry],
    index: &Index,
    installed: &BTreeMap<AgentId, StoredAgent>,
    is_json: bool,
    ui: &Ui,
) -> Result<(), Failure> {
    let version_of =
        |entry: &Entry| installed.get(entry.id.as_str()).map(|agent| agent.current.receipt.version.as_str());
    let is_pinned = |entry: &Entry| installed.get(entry.id.as_str()).is_some_and(|agent| agent.is_pinned);
    if is_json {
        let members = AgentList {
            index: IndexOrigin::of(index),
            index_sha256: index.sha256(),
            agents: found.iter().map(|entry| ListedAgent::of(entry, version_of(entry), is_pinned(entry))).collect(),
            notes: &index.notes,
        };
        return ui.document(&Document::new(command, members));
    }
    let rows: Vec<[Cow<'_, str>; 5]> = found
        .iter()
        .map(|entry| {
            let (id, version) = (entry.id.as_str().into(), entry.version.as_str().into());
            let installed = version_of(entry).unwrap_or_default().into();
            [id, version, installed, kinds(entry).join(" ").into(), first_sentence(&entry.description).into()]
        })
        .collect();
    if rows.is_empty() {
        ui.note("nothing was found");
        return Ok(());
    }
    let paint = |row: usize, column: usize| {
        let is_newest = version_of(found[row]) == Some(found[row].version.as_str());
        match column {
            0 => Some("36"),
            2 => Some(if is_newest { "32" } else { "33" }),
            _ => None,
        }
    };
    let header = ["id", "version", "installed", "by", "description"];
    let look = ui.look();
    let mut text = table(&Columns { last: Last::Beginning, paint: &paint, ..Columns::plain(&header) }, &rows, look);
    // The summary is for terminals; a pipe gets only rows.
    if let (Some(_), Some(age)) = (look.width, launch::age(index)) {
        let count = plural(rows.len(), "agent");
        text.push_str(&format!("\n{}", look.wrap(&format!("{count}; the index is {age}"), 0)));
    }
    ui.result(&text)
}

/// The first sentence of a description, without its full stop.
fn first_sentence(text: &str) -> &str {
    let sentence = text.find(". ").map_or(text, |at| &text[..at]);
    sentence.trim_end().trim_end_matches('.')
}

fn list_installed(
    installed: &BTreeMap<AgentId, StoredAgent>,
    damaged: &BTreeMap<AgentId, Failure>,
    index: Option<&Index>,
    is_json: bool,
    session: &CommandSession<'_>,
) -> Result<Exit, Failure> {
    let ui = session.ui();
    if is_json {
        let mut agents = Vec::new();
        let mut errors: Vec<AgentFailure> = damaged.iter().map(|(id, failure)| failure.for_agent(id)).collect();
        for agent in installed.values() {
            let launch = match launch::installed(&agent.current, session) {
                Ok(launch) => launch,
                Err(failure) => {
                    ui.warn_about("", &failure);
                    errors.push(failure.for_agent(&agent.id));
                    continue;
                }
            };
            let entry = index.and_then(|index| index.entries().find(|entry| agent.id == entry.id));
            agents.push(InstalledAgent::of(launch, entry, agent));
        }
        let members = InstalledList { index: index.map(IndexOrigin::of), agents, errors };
        ui.document(&Document::new("list", members))?;
        return Ok(Exit::Success);
    }
    if installed.is_empty() {
        if damaged.is_empty() {
            ui.note("nothing is installed");
        }
        return Ok(Exit::Success);
    }
    let rows: Vec<Vec<String>> = installed
        .values()
        .map(|agent| {
            let receipt = &agent.current.receipt;
            let version =
                if agent.is_pinned { format!("{} (pinned)", receipt.version) } else { receipt.version.clone() };
            let by = receipt.distribution.clone();
            vec![agent.id.to_string(), version, by, receipt.verified.clone(), bytes(receipt.size)]
        })
        .collect();
    let total: u64 = installed.values().map(|agent| agent.current.receipt.size).sum();
    let all = format!("{} in all, {}\n", plural(rows.len(), "agent"), bytes(total));
    let paint = |row: usize, column: usize| match column {
        0 => Some("36"),
        3 if rows[row][3] == "none" => Some("33"),
        _ => None,
    };
    let header = ["id", "version", "by", "verified", "size"];
    let of = Columns { numbers: &[4], paint: &paint, ..Columns::plain(&header) };
    ui.result(&(table(&of, &rows, ui.look()) + &all))?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_first_sentence() {
        for (text, line) in [
            ("", ""),
            ("An agent.", "An agent"),
            ("An agent. It does more. ", "An agent"),
            ("Version 1.5 of it... ", "Version 1.5 of it"),
            (". Odd", ""),
        ] {
            assert_eq!(first_sentence(text), line);
        }
    }
}
