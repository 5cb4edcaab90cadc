use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::archive;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/archive-format",
    level: Level::Error,
    summary: "an archive is in a format that clients do not unpack",
    why: "Clients unpack `.zip`, `.tar.gz` (`.tgz`) and `.tar.bz2` (`.tbz2`) and treat any other file as the program \
          itself; installers such as `.dmg` or `.deb` need privileges and dialogs that a client does not have.",
    fix: "Publish the program in one of these formats, or as a bare executable.",
    fails: Example::Target("{ \"archive\": \"https://example.com/1.0.0/agent.deb\", \"cmd\": \"./agent\" }"),
    marks: "\"https://example.com/1.0.0/agent.deb\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/1.0.0/agent.tar.gz\", \"cmd\": \"./agent\" }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        if let Err(ending) = archive::format(&target.archive) {
            report
                .value(release.target_pointer(target, "archive"), format!("clients cannot unpack `{ending}`"))
                .help("publish a .zip, .tar.gz or .tar.bz2 archive, or the bare executable");
        }
    }
}
