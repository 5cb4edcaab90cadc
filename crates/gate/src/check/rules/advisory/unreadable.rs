use super::{AGENT, CONFIG, ICON};
use crate::advisories::SourceProblem;
use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "advisory/unreadable",
    level: Level::Error,
    summary: "advisories that registry.toml names cannot be read",
    why: "Without them, it is not known whether an agent needs a malicious package, and the check would pass without \
          having looked.",
    fix: "Fetch the export again, or correct `sources` below `[advisories]` in `registry.toml`.",
    fails: Example::Files(&[("registry.toml", CONFIG), ("advisories.json", "{ \"id\": 7 }\n")]),
    marks: "",
    passes: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        ("registry.toml", CONFIG),
        ("advisories.json", "[]\n"),
    ]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let Some(advisories) = options.advisories else { return };
    let file = options.config.file_in(&registry.root);
    report.about(FindingFile { file: &file, ..FindingFile::default() }, |report| {
        for problem in &advisories.problems {
            report.file(problem.to_string()).help(SourceProblem::REMEDY);
        }
    });
}
