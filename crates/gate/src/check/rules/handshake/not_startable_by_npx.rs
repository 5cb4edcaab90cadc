use super::{AGENT, MARKS, not_startable, passed, report_not_startable};
use crate::check::rules::prelude::*;
use acp_registry_client::install::Kind;

pub(crate) static RULE: Rule = Rule {
    name: "handshake/not-startable-by-npx",
    level: Level::Error,
    summary: "npx does not start the agent of a package",
    why: "Clients start `npx --yes PACKAGE@VERSION`. npx starts the link that npm has made to the file of a command: the only \
          command, or the one that is named like the package without its scope. npm makes no link to a file that an install \
          script writes later, a shell reads a file that does not begin with `#!`, and since npm 12, install scripts run only \
          with the user's permission.",
    fix: "Give the package one command, or one of its own name. Put the file of the command into the package, with \
          `#!/usr/bin/env node` as its first line, and let it work before any install script has run. In a registry whose \
          views have `package-extensions`, `command` names another command.",
    fails: Example::Online(&Online {
        manifest: AGENT,
        world: "The file of the command of example@1.0.0 is written by its install script.",
        answers: |survey| {
            let message = "the package `example@1.0.0` has the command `example`, but its file `cli.js` was not there when \
                           npm made the links that npx starts";
            not_startable(survey, Kind::Npx, message, None);
        },
    }),
    marks: MARKS,
    passes: Example::Online(&Online {
        manifest: AGENT,
        world: "The file of the command of example@1.0.0 begins with `#!/usr/bin/env node`.",
        answers: passed,
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    let remedy = "give the package a `bin` whose file is in it and begins with `#!/usr/bin/env node`";
    report_not_startable(subject, survey, Kind::Npx, remedy, report);
}
