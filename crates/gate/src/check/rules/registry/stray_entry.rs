use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "registry/stray-entry",
    level: Level::Warning,
    summary: "a folder holds no agent.json",
    why: "The folder is not published. Usually its manifest has a wrong name, such as `agents.json`.",
    fix: "Rename the file, or remove the folder. Folders whose names begin with a dot, `dist` and `__pycache__` are \
          ignored.",
    fails: Example::Files(&[("example/agents.json", "{}\n")]),
    marks: "",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    for stray in &registry.strays {
        report.about(FindingFile { file: &stray.name, ..FindingFile::default() }, |report| {
            let draft = report.file("the folder has no agent.json and is not published");
            match &stray.misnamed {
                Some(misnamed) => draft.help(format!("rename {} to agent.json", quote(misnamed))),
                None => draft.help("add a manifest, or remove the folder"),
            };
        });
    }
}
