//! The page of an agent as Markdown.

use super::facts::{Facts, target};
use super::install::{Needs, Setup};
use super::listing::Listing;
use super::past::Past;
use super::text::markdown as text;
use super::verdicts::{Test, Tests};
use crate::tree::HERE;
use acp_registry_plan::manifest::Distribution;

/// Renders the page. Markup in manifests is escaped.
pub(super) fn page(
    base_url: &str,
    listing: &Listing<'_>,
    distribution: &Distribution,
    setups: &[Setup],
    facts: &Facts,
    past: &Past,
) -> String {
    let mut out = format!("# {}\n\n", text(&listing.name));
    if !facts.description.is_empty() {
        out.push_str(&format!("{}\n\n", text(&facts.description)));
    }
    let mut fact = |key: &str, value: &str| out.push_str(&format!("- {key}: {}\n", text(value)));
    fact("Id", &listing.id);
    fact("Version", &listing.version);
    if let Some(held) = &past.held {
        fact("In this index", &held.to_string());
    }
    if let Some(recalled) = &past.recalled {
        fact("This version", recalled);
    }
    for (key, value) in
        [("First release", &facts.appeared), ("In this registry since", &facts.added), ("New version", &facts.updated)]
    {
        if let Some(day) = value {
            fact(key, day);
        }
    }
    fact("Licence", listing.license());
    fact("Runs as", &listing.labels("dist"));
    fact("Sign-in", &facts.sign_in);
    if let Some(session) = facts.session {
        fact("New session", session);
    }
    if let Some(times) = &facts.times {
        fact("Answers in", times);
    }
    if let Some(words) = &facts.setup {
        fact("Setup required", words);
    }
    if !facts.authors.is_empty() {
        fact("By", &facts.authors.join(", "));
    }
    for (key, value) in [("Website", &facts.website), ("Source", &facts.repository)] {
        if let Some(address) = value {
            // The URL parser percent-encodes characters that would end an autolink.
            out.push_str(&format!("- {key}: <{address}>\n"));
        }
    }
    let runtimes = facts.needs;
    out.push_str(&format!(
        "\n## Set up\n\n{runtimes} The agent runs as a program on your computer, with your permissions.\n"
    ));
    for setup in setups {
        out.push_str(&format!("\n### {}\n", setup.client.title));
        for way in &setup.ways {
            out.push_str(&format!("\n{}{}: {}\n", way.title, needs(way.needs), text(&way.text)));
            for snippet in &way.snippets {
                let fence = fence(&snippet.text);
                out.push_str(&format!("\n{fence}\n{}\n{fence}\n", snippet.text));
            }
        }
    }
    if let Some(words) = &facts.next {
        out.push_str(&format!("\n{}\n", text(words)));
    }
    out.push_str("\n## Platforms\n\n");
    for (kind, package) in &facts.packages {
        out.push_str(&format!("- {} by {kind}, which does not state its systems\n", text(package)));
    }
    for one in distribution.binary.iter().take(20).map(target) {
        let digest =
            one.digest.map_or_else(|| "no digest stated".to_owned(), |digest| format!("SHA-256 {}", text(&digest)));
        let address = one.url.map_or_else(|| "no download".to_owned(), |url| format!("<{url}>"));
        out.push_str(&format!("- {} {}: {address}, {digest}\n", text(&one.os), text(&one.arch)));
    }
    if let Some(tests) = &facts.tests {
        out.push_str(&tests_text(tests));
    }
    out.push_str("\n## Capabilities\n\n");
    match listing.answer {
        None => {
            let why = facts.unanswered.as_deref().unwrap_or("Not tested");
            out.push_str(&format!("{}.\n", text(why)));
        }
        Some(answer) => {
            let day = answer.day.as_deref().map_or_else(String::new, |day| format!(" on {day}"));
            out.push_str(&format!("As reported by version {}{day}:\n\n", text(&facts.row_version)));
            for (label, state) in &facts.capabilities {
                out.push_str(&format!("- {label}: {}\n", state.label()));
            }
        }
    }
    if past.is_known() {
        out.push_str(&versions(past));
    }
    if base_url != HERE {
        out.push_str(&format!("\nMore: <{base_url}/agents/{}/>\n", listing.id));
    }
    out
}

fn versions(past: &Past) -> String {
    let mut out = "\n## Versions\n\n".to_owned();
    for change in &past.changes {
        let recall = past.recall(&change.version).map(|level| format!(" ({level})")).unwrap_or_default();
        let version = text(&change.version);
        out.push_str(&format!("- {}: {} {version}{recall}\n", change.day, change.label.to_lowercase()));
    }
    for one in &past.earlier_days {
        let day = one.day.as_ref().map(|day| format!("{day}: ")).unwrap_or_default();
        out.push_str(&format!("- {day}{}\n", text(&one.version)));
    }
    for (versions, why) in &past.recalls {
        out.push_str(&format!("- {} {}\n", text(versions), text(why)));
    }
    if let Some((count, command)) = &past.earlier {
        let fence = fence(command);
        out.push_str(&format!(
            "\nEarlier versions that can be installed: {count}, such as\n\n{fence}\n{command}\n{fence}\n"
        ));
    }
    out
}

fn tests_text(tests: &Tests) -> String {
    let place = [Some(&tests.version), tests.system.as_ref(), tests.day.as_ref()];
    let place = place.into_iter().flatten().map(|part| text(part)).collect::<Vec<_>>().join(", ");
    let head = format!("Up to the level `{}`: {}", tests.level, text(&tests.judgement));
    let mut out = format!("\n## Examination\n\n{head} ({place}{}).\n", tests.network);
    let mut list = |title: &str, tests: &[Test], with_evidence: bool| {
        if tests.is_empty() {
            return;
        }
        out.push_str(&format!("\n### {title}: {}\n\n", tests.len()));
        for test in tests {
            let evidence = if with_evidence { format!(": {}", text(&test.evidence)) } else { String::new() };
            out.push_str(&format!("- {} ({}){evidence}\n", text(&test.sentence), text(&test.id)));
        }
    };
    list("Failed", &tests.failed, true);
    list("Warnings", &tests.warnings, true);
    for (reason, unrun) in &tests.unrun {
        list(&format!("Could not run, {}", text(reason)), unrun, false);
    }
    list("Passed", &tests.passed, false);
    out
}

/// What must be installed first, in brackets.
fn needs(needs: Needs) -> String {
    match needs {
        Needs::Nothing => String::new(),
        Needs::Program => " (needs acp-registry)".to_owned(),
        Needs::Runtime(runtime) => format!(" (needs {runtime})"),
    }
}

/// A fence that is longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!((fence("a").as_str(), fence("a ```` b").as_str()), ("```", "`````"));
    }
}
