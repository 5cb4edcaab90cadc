use crate::check::reporter::{About, Reporter};
use crate::check::rule::{Check, Example, Rule};
use crate::check::run::Options;
use crate::finding::Level;
use crate::manifest::{SyntaxError, escape_segment};
use crate::registry::{Loaded, Quarantine, Registry};
use crate::text::{nearest, quote};

pub(crate) static RULE: Rule = Rule {
    name: "registry/quarantine",
    level: Level::Warning,
    summary: "quarantine.json names no agent, or cannot be read",
    why: "The list keeps broken agents from being started and updated. An id that belongs to nobody protects nobody. A list \
          that cannot be read is an error: without it every quarantined agent would be let loose.",
    fix: "The file is one JSON object: `{ \"<id>\": \"<reason>\" }`. Remove ids of agents that have left.",
    fails: Example::Files(&[("quarantine.json", "{ \"nobody\": \"crashes at start\" }\n")]),
    marks: "\"nobody\"",
    passes: Example::Files(&[("quarantine.json", "{}\n")]),
    check: Check::Registry(check),
};

const FORM: &str = "the file is one object: { \"<id>\": \"<reason>\" }";

fn check(registry: &Registry, _options: &Options<'_>, report: &mut Reporter<'_>) {
    let about = About { file: "quarantine.json", ..About::default() };
    match &registry.quarantine {
        Loaded::Missing => {}
        Loaded::Unreadable(error) => report.about(about, |report| {
            report.file(error.to_string()).grave().help(FORM);
        }),
        Loaded::NotUtf8 { text, offset } => report.about(About { text, ..about }, |report| {
            report.range(*offset..*offset, "not UTF-8").grave().help("save the file as UTF-8");
        }),
        Loaded::Broken(SyntaxError { text, message, range }) => report.about(About { text, ..about }, |report| {
            report.range(range.clone(), format!("not valid JSON: {message}")).grave().help(FORM);
        }),
        Loaded::Present(quarantine) => {
            let document = &quarantine.document;
            report.about(About { text: document.text(), manifest: Some(document), ..about }, |report| {
                check_members(registry, quarantine, report);
            });
        }
    }
}

fn check_members(registry: &Registry, quarantine: &Quarantine, report: &mut Reporter<'_>) {
    let Some(members) = quarantine.document.value().as_object() else {
        report.value("", "not a JSON object").grave().help(FORM);
        return;
    };
    for (pointer, range) in quarantine.document.places().repeated_keys(50) {
        report.member(pointer, range, "the same id stands twice").help("keep one of the two members");
    }
    for (id, reason) in members {
        let pointer = format!("/{}", escape_segment(id));
        if !reason.is_string() {
            report.value(pointer, format!("the reason for {} is not a string", quote(id))).grave().help(FORM);
        } else if registry.entry(id).is_none() {
            let draft = report.key(pointer, format!("there is no agent {}", quote(id)));
            match nearest(id, registry.entries.iter().map(|entry| entry.id.as_str())) {
                Some(near) => draft.help(format!("did you mean `{near}`?")),
                None => draft.help("remove the id"),
            };
        }
    }
}
