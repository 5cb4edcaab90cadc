use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_sources::npm::Bin;

pub(crate) static RULE: Rule = Rule {
    name: "npm/ambiguous-bin",
    level: Level::Error,
    summary: "npx cannot tell which command of a package to start",
    why: "npx starts the command that is named after the package, or the only one. If there is neither, it fails with \
          \"could not determine executable to run\".",
    fix: "Give the package a single command, or one named after the package (without its scope). In a registry whose \
          views have `package-extensions`, name the command in `command`.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm package example has the commands one and two.",
        answers: |survey| {
            example(
                survey,
                "1.0.0",
                "\"bin\":{\"one\":\"1.js\",\"two\":\"2.js\"},\"dist\":{\"integrity\":\"sha512-…\"}",
            );
        },
    }),
    marks: "\"example@1.0.0\"",
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
        let Some((version, published)) = published::npm_version(&named) else { continue };
        // A package with `command` is checked by `npm/command-not-found`.
        if named.package.command.is_some() {
            continue;
        }
        let name = &named.spec.name;
        let package = format!("{} of {}", quote(&version), quote(name));
        let message = match &published.bin {
            Bin::One(_) => continue,
            Bin::None => format!("{package} has no command, so npx has nothing to start"),
            Bin::Several { names, count } => {
                let shown: Vec<String> = names.iter().take(5).map(|command| quote(command)).collect();
                format!("{package} has {count} commands ({}), and npx cannot choose", shown.join(", "))
            }
        };
        let own = name.rsplit('/').next().unwrap_or(name);
        report.value(named.pointer, message).help(format!("the package needs a command named {}", quote(own)));
    }
}
