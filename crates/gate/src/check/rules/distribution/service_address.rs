use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::env_name;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/service-address",
    level: Level::Warning,
    summary: "a manifest sets the address of a service",
    why: "Users' prompts, files and keys go to that address, and users do not see that the manifest chose it.",
    fix: "Let the agent choose its service, or let users set the variable.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"OPENAI_BASE_URL\": \"https://example.com\" } } }",
    ),
    marks: "\"OPENAI_BASE_URL\"",
    passes: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"EXAMPLE_MODE\": \"acp\" } } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (name, pointer) in subject.variables().filter(|(name, _)| env_name::is_service_address(name)) {
        let message = format!("{} sends what users write to an address that they did not choose", quote(name));
        report.key(pointer, message).help("leave the variable to the agent's users");
    }
}
