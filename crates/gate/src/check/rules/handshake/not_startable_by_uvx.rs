use super::{not_startable, passed, report_not_startable};
use crate::check::rules::prelude::*;
use acp_registry_client::install::Kind;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/not-startable-by-uvx",
    level: Level::Error,
    summary: "uvx does not start the agent of a package",
    why: "Clients start `uvx PACKAGE==VERSION`. uvx starts the command that has exactly the name of the package, as the manifest \
          writes it: neither another spelling of that name nor the only command of the package.",
    fix: "Publish the package with a command of its own name. In a registry whose views have `package-extensions`, name the \
          command in `command`: clients then start `uvx --from PACKAGE==VERSION COMMAND`.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example-cli==1.0.0\" } }"),
        world: "The package example-cli has the command `example`, and no other.",
        answers: |survey| {
            let message =
                "the package `example-cli==1.0.0` has no command `example-cli`, which uvx would start, only `example`";
            let remedy = "in the manifest, set `command` to `example`";
            not_startable(survey, Kind::Uvx, message, Some(remedy));
        },
    }),
    marks: "\"example-cli==1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example-cli==1.0.0\" } }"),
        world: "The package example-cli has the command `example-cli`.",
        answers: passed,
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    let remedy = "publish the package with a command of its own name";
    report_not_startable(subject, survey, Kind::Uvx, remedy, report);
}
