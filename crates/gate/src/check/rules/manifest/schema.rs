use crate::check::rules::prelude::*;
use crate::check::schema::violations;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/schema",
    level: Level::Error,
    summary: "agent.json does not conform to agent.schema.json",
    why: "Clients read manifests by this schema; a missing member, or one of the wrong type, makes them drop the agent \
          or the whole index.",
    fix: "Correct each error; every one is reported at its own place. The schema is published beside the index.",
    fails: Example::Manifest("\"authors\": \"Example Team\""),
    marks: "\"Example Team\"",
    passes: Example::Manifest("\"authors\": [\"Example Team\"]"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for violation in violations(subject.value()) {
        let is_version = ["/version", "/preview/version"].contains(&violation.pointer.as_str());
        if is_version && violation.keyword == "pattern" {
            continue; // `manifest/version-format` reports it with better help.
        }
        let draft = if violation.is_key {
            report.key(violation.pointer, violation.message)
        } else {
            report.value(violation.pointer, violation.message)
        };
        if let Some(help) = violation.help {
            draft.help(help);
        }
    }
}
