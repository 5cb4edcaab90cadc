use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::env_name;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/reserved-env",
    level: Level::Error,
    summary: "a manifest sets a reserved environment variable",
    why: "Variables such as `PATH`, `LD_PRELOAD` or `NODE_OPTIONS` decide which code runs and with whose credentials. \
          A manifest must not be able to load code into other programs, redirect traffic or pose as the client's \
          environment. Variables such as `CODEX_HOME` or `CHROME_PATH` name programs and directories of the machine, which \
          only its user knows.",
    fix: "Use variables of the agent's own, with its name as prefix.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"NODE_OPTIONS\": \"--inspect\" } } }",
    ),
    marks: "\"NODE_OPTIONS\"",
    passes: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"EXAMPLE_DEBUG\": \"1\" } } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (name, pointer) in subject.variables() {
        let Some(problem) = env_name::problem(name) else { continue };
        report.key(pointer, format!("{} {problem}", quote(name))).help("use a name with the agent's own prefix");
    }
}
