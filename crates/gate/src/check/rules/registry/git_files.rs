use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "registry/git-files",
    level: Level::Error,
    summary: "a folder holds files of a git repository, such as HEAD",
    why: "Git takes a folder with `HEAD`, `objects` and `refs` for a repository, and runs the programs that its \
          `config` names. In a checkout with such a folder, `git status` in that folder can run a program that the \
          author of a branch chose.",
    fix: "Remove the file. The registry's own `.git` is not reported.",
    fails: Example::Files(&[("HEAD", "ref: refs/heads/main\n")]),
    marks: "",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    for path in &registry.git_files {
        let (agent, file) = match path.split_once('/') {
            Some((folder, name)) if registry.entry(folder).is_some() => (Some(folder), name),
            _ => (None, path.as_str()),
        };
        report.about(FindingFile { agent, file, ..FindingFile::default() }, |report| {
            report
                .file(format!("{} is a file of a git repository, which git would read", quote(path)))
                .help("remove it");
        });
    }
}
