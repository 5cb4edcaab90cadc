//! The texts of commits and pull requests.

use super::ProposedUpdate;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::text::{cell, code_span, printable, prose};

/// Maximum length of a value, in bytes, since GitHub rejects texts longer than 65,536 characters.
const VALUE: usize = 500;

pub(super) fn title(wanted: &ProposedUpdate<'_>) -> String {
    let channel = if wanted.update.channel == Channel::Preview { " (preview)" } else { "" };
    format!("Update {}{channel} to {}", printable(wanted.id), printable(&wanted.update.to))
}

pub(super) fn commit(wanted: &ProposedUpdate<'_>) -> String {
    format!("{}\n\nFrom {}.\n", title(wanted), printable(&wanted.update.from))
}

/// The description of a pull request. It depends only on the update, so that it can be compared with the existing one.
pub(super) fn body(wanted: &ProposedUpdate<'_>) -> String {
    let update = wanted.update;
    let sources: Vec<&str> = update.sources.iter().map(|source| source.as_str()).collect();
    let mut out = format!(
        "**{}** from {} to **{}**, offered by {}.\n\n",
        shown(wanted.id),
        shown(&update.from),
        shown(&update.to),
        sources.join(", ")
    );
    out.push_str("| in `agent.json` | old | new |\n|---|---|---|\n");
    for change in &update.changes {
        let value =
            |value: &Option<String>| value.as_deref().map_or_else(|| "–".to_owned(), |value| cell(&shown(value)));
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            cell(&shown(&change.pointer)),
            value(&change.from),
            value(&change.to)
        ));
    }
    if update.is_straightforward() {
        out.push_str(
            "\nThe change is straightforward: only version, package, addresses in the same place and digests differ.\n",
        );
    } else {
        out.push_str("\nNeeds a review:\n\n");
        for reason in &update.reasons {
            out.push_str(&format!("- {}\n", prose(cut(&printable(reason)))));
        }
    }
    let words = ["Release notes", "All changes"];
    for (word, link) in words.iter().zip(&update.links) {
        // This program builds the URL from encoded parts.
        out.push_str(&format!("\n[{word}](<{}>)\n", link.replace(['<', '>', '\\'], "")));
    }
    if !wanted.notes.is_empty() {
        out.push_str(&format!("\n{}\n", wanted.notes.trim_end()));
    }
    out
}

fn shown(text: &str) -> String {
    let text = printable(text);
    let end = cut(&text);
    let more = if end.len() < text.len() { "…" } else { "" };
    code_span(&format!("{end}{more}"))
}

/// The first [`VALUE`] bytes of a text.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(VALUE)]
}
