use crate::check::rules::prelude::*;
use crate::history::{HISTORY_FILE, History};

pub(crate) static RULE: Rule = Rule {
    name: "registry/history",
    level: Level::Error,
    summary: "history.json cannot be read",
    why: "The catalog takes the days of agents and versions from the file, and the tree is not built without it.",
    fix: "Correct the event that the message names, take the file of the last published tree, or remove it: the days are those \
          of the commits then.",
    fails: Example::Files(&[("history.json", "{ \"schema\": 1, \"events\": [ { \"time\": \"yesterday\" } ] }\n")]),
    marks: "",
    passes: Example::Files(&[("history.json", "{ \"schema\": 1, \"events\": [] }\n")]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let Some(message) = History::problem(registry) else { return };
    report.about(FindingFile { file: HISTORY_FILE, ..FindingFile::default() }, |report| {
        report.file(message).help("correct it, or take the file of the last published tree");
    });
}
