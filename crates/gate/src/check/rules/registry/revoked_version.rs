use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::revocations::{REVOKED, RevocationLevel};

pub(crate) static RULE: Rule = Rule {
    name: "registry/revoked-version",
    level: Level::Error,
    summary: "the registry would publish a version that it has revoked",
    why: "Clients refuse a revoked version: people who install or update the agent would get an error.",
    fix: "Bring the agent to a good version, newer or older; hold it at an earlier one with `[hold.ID]` in `registry.toml`, \
          without `until` and `views`; or withdraw it there under `[withdrawn]` until there is a good one.",
    fails: Example::Files(&[
        ("example/agent.json", AGENT),
        (
            REVOKED,
            "{ \"schema\": 1, \"revoked\": [{ \"id\": \"example\", \"versions\": \"1.0.0\", \"level\": \"revoked\", \"reason\": \"It reads keys\", \"since\": \"2026-01-31\" }] }\n",
        ),
    ]),
    marks: "\"1.0.0\"",
    passes: Example::Manifest("\"name\": \"Example\""),
    check: CheckFn::Registry(check),
};

const AGENT: &str = "{\n  \"id\": \"example\",\n  \"name\": \"Example\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent.\",\n  \
                     \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }\n}\n";

fn check(registry: &Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    for (entry, channel, revocation) in registry.revoked_releases() {
        // A hold for good publishes another version in all indexes.
        let hold = options.config.hold.get(&entry.id);
        let is_good = |version: &str| {
            registry.revocations().find(&entry.id, version).is_none_or(|one| one.level != RevocationLevel::Revoked)
        };
        if hold.is_some_and(|hold| hold.until.is_none() && hold.views.is_empty() && is_good(&hold.version)) {
            continue;
        }
        let Some(manifest) = entry.manifest.present() else { continue };
        let pointer = match channel {
            Channel::Stable => "/version",
            Channel::Preview => "/preview/version",
        };
        report.about(FindingFile::manifest(&entry.id, manifest), |report| {
            report
                .value(pointer, format!("the version {revocation}"))
                .help("bring the agent to a good version; or hold it at one, without `until` and `views`, or withdraw it in `registry.toml`");
        });
    }
}
