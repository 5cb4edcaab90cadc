use crate::check::rules::prelude::*;
use crate::verify::{SNAPSHOT_FILE, Snapshot};

pub(crate) static RULE: Rule = Rule {
    name: "registry/snapshot",
    level: Level::Error,
    summary: "capabilities.json cannot be read",
    why: "The catalog shows what the file says of agents, and the tree is not built without it.",
    fix: "Write a new one with `acp-registry verify --out FILE`, or restore the last one that could be read.",
    fails: Example::Files(&[("capabilities.json", "{\n")]),
    marks: "",
    passes: Example::Files(&[("capabilities.json", "{ \"schema\": 1, \"agents\": [] }\n")]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let Some(message) = Snapshot::problem(registry) else { return };
    report.about(FindingFile { file: SNAPSHOT_FILE, ..FindingFile::default() }, |report| {
        report.file(message).help("write a new one with `acp-registry verify --out FILE`, or restore the last one");
    });
}
