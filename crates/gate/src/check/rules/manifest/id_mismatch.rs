use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/id-mismatch",
    level: Level::Error,
    summary: "the id is not the name of the agent's folder",
    why: "Folder, id and published icon share one name; tools find an agent's files by its id.",
    fix: "Rename the folder or change the id.",
    fails: Example::Manifest("\"id\": \"exmaple\""),
    marks: "\"exmaple\"",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let id = &subject.agent().id;
    if !id.is_empty() && id != subject.folder {
        report
            .value("/id", format!("the id {} differs from the folder {}", quote(id), quote(subject.folder)))
            .help("rename the folder or change the id");
    }
}
