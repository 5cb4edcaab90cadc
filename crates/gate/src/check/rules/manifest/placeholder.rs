use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/placeholder",
    level: Level::Warning,
    summary: "a text is still to be written",
    why: "`acp-registry new` writes `TODO` where it has found nothing, and the text would be published as it is.",
    fix: "Write the text.",
    fails: Example::Manifest("\"description\": \"TODO: say in a sentence what Example is\""),
    marks: "\"TODO: say in a sentence what Example is\"",
    passes: Example::Manifest("\"description\": \"Keeps a TODO list in the terminal.\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for name in ["name", "description"] {
        let text = subject.value()[name].as_str().unwrap_or_default();
        if text.starts_with("TODO:") {
            report.value(format!("/{name}"), "the text is still to be written").help("write it");
        }
    }
}
