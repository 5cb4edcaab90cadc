use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::extension;

/// Maximum number of commands in a message.
const SHOWN: usize = 5;

pub(crate) static RULE: Rule = Rule {
    name: "npm/command-not-found",
    level: Level::Error,
    summary: "a package does not have the command that the manifest names",
    why: "Without the command there is nothing to start; npx would look for a program of that name on the machine \
          instead.",
    fix: "Write the name of a command in the package's `bin`, or leave `command` out where npx can choose.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest(
            "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"command\": \"three\" } }",
        ),
        world: "The npm package example has the commands one and two.",
        answers: |survey| {
            example(
                survey,
                "1.0.0",
                "\"bin\":{\"one\":\"1.js\",\"two\":\"2.js\"},\"dist\":{\"integrity\":\"sha512-…\"}",
            );
        },
    }),
    marks: "\"three\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm package example has the commands example and two.",
        answers: |survey| {
            example(
                survey,
                "1.0.0",
                "\"bin\":{\"example\":\"1.js\",\"two\":\"2.js\"},\"dist\":{\"integrity\":\"sha512-…\"}",
            );
        },
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::npm(subject, survey) {
        let Some(command) = &named.package.command else { continue };
        let Some((version, published)) = published::npm_version(&named) else { continue };
        if published.has_command(command) != Some(false) {
            continue;
        }
        let package = format!("{} of {}", quote(&version), quote(&named.spec.name));
        let known: Vec<String> = published.commands().take(SHOWN).map(quote).collect();
        let help = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        let pointer = format!("{}/{}", named.object, extension::COMMAND);
        report.value(pointer, format!("{package} has no command {}", quote(command))).help(help);
    }
}
