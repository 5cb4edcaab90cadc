//! `acp-registry list`

use std::borrow::Cow;

use acp_registry::documents::kinds;
use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, FindReport, InstalledReport};
use acp_registry::text::{bytes, plural};

use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::table::{Columns, Last, table};
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that are installed
    #[arg(long)]
    installed: bool,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let (is_json, events) = (args.format.is_json(), events(ui));
    if args.installed {
        let index = if is_json { session.index_at_hand() } else { None };
        let report = ops::list_installed(&session, index.as_ref(), &events)?;
        if is_json { ui.report(&report)? } else { show_installed(&report, ui)? }
    } else {
        let report = signals::run(ui, ops::list(&session, &events))??;
        if is_json {
            ui.report(&report)?;
        } else {
            show(&report, ui)?;
        }
        ui.leave(report);
    }
    Ok(Exit::Success)
}

/// How many agents with an older version than the registry has are noted one by one.
const NOTES: usize = 5;

/// Prints agents as a table, with notes about those that are held at older versions.
pub(super) fn show(report: &FindReport, ui: &Ui) -> Result<(), Failure> {
    let found = report.entries();
    let look = ui.look();
    // In a pipe, columns do not come and go.
    let has_installed = look.width.is_none() || found.iter().any(|entry| report.installed_version(entry).is_some());
    let rows: Vec<Vec<Cow<'_, str>>> = found
        .iter()
        .map(|entry| {
            let mut row: Vec<Cow<'_, str>> = vec![entry.id.as_str().into(), entry.version.as_str().into()];
            row.extend(has_installed.then(|| report.installed_version(entry).unwrap_or_default().into()));
            row.extend([kinds(entry).join(" ").into(), first_sentence(&entry.description).into()]);
            row
        })
        .collect();
    if rows.is_empty() {
        ui.note("nothing was found");
        return Ok(());
    }
    let paint = |row: usize, column: usize| {
        let is_newest = report.installed_version(found[row]) == Some(found[row].version.as_str());
        match column {
            0 => Some("36"),
            2 if has_installed => Some(if is_newest { "32" } else { "33" }),
            _ => None,
        }
    };
    let mut header = vec!["id", "version", "installed", "by", "description"];
    header.retain(|name| has_installed || *name != "installed");
    let mut text = table(&Columns { last: Last::Beginning, paint: &paint, ..Columns::plain(&header) }, &rows, look);
    // The summary is for terminals; a pipe gets only rows.
    if let (Some(_), Some(age)) = (look.width, report.index.age()) {
        let count = plural(rows.len(), "agent");
        text.push_str(&format!("\n{}", look.wrap(&format!("{count}; the index is {age}"), 0)));
    }
    ui.result(&text)?;
    let held: Vec<_> = found.iter().filter_map(|entry| Some((&entry.id, entry.held.as_ref()?))).collect();
    for (id, held) in held.iter().take(NOTES) {
        ui.note(&format!("{id} is {held}"));
    }
    if held.len() > NOTES {
        ui.note(&format!("{} more are held at older versions", held.len() - NOTES));
    }
    Ok(())
}

/// The first sentence of a description, without its full stop.
fn first_sentence(text: &str) -> &str {
    let sentence = text.find(". ").map_or(text, |at| &text[..at]);
    sentence.trim_end().trim_end_matches('.')
}

fn show_installed(report: &InstalledReport, ui: &Ui) -> Result<(), Failure> {
    if report.installed.is_empty() {
        if report.errors.is_empty() {
            ui.note("nothing is installed");
        }
        return Ok(());
    }
    let rows: Vec<Vec<String>> = report
        .installed
        .iter()
        .map(|agent| {
            let receipt = &agent.current.receipt;
            let row = report.agents.iter().find(|row| row.launch.id == agent.id);
            let recall = row.and_then(|row| row.revocation.as_ref()).map(|revocation| revocation.level.as_str());
            let marks: Vec<&str> = agent.is_pinned.then_some("pinned").into_iter().chain(recall).collect();
            let mut version = receipt.version.clone();
            if !marks.is_empty() {
                version.push_str(&format!(" ({})", marks.join(", ")));
            }
            let by = receipt.source.kind().as_str().to_owned();
            vec![agent.id.to_string(), version, by, receipt.proof.verified.to_string(), bytes(receipt.size)]
        })
        .collect();
    let total: u64 = report.installed.iter().map(|agent| agent.current.receipt.size).sum();
    let all = format!("{} in all, {}\n", plural(rows.len(), "agent"), bytes(total));
    let paint = |row: usize, column: usize| match column {
        0 => Some("36"),
        3 if rows[row][3] == "none" => Some("33"),
        _ => None,
    };
    let header = ["id", "version", "by", "verified", "size"];
    let of = Columns { numbers: &[4], paint: &paint, ..Columns::plain(&header) };
    ui.result(&(table(&of, &rows, ui.look()) + &all))
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
