use crate::check::CheckOptions;
use crate::check::reporter::{FindingFile, Reporter};
use crate::check::rule::{CheckFn, Example, Rule};
use crate::finding::Level;
use acp_registry_client::registry::Registry;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::revocations::REVOKED;

pub(crate) static RULE: Rule = Rule {
    name: "registry/revoked-version",
    level: Level::Error,
    summary: "the registry would publish a version that it has revoked",
    why: "Clients refuse a revoked version: people who install or update the agent would get an error.",
    fix: "Bring the agent to a good version, newer or older, or withdraw it under `[withdrawn]` in `registry.toml` until \
          there is one.",
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

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    for (entry, channel, revocation) in registry.revoked_releases() {
        let Some(manifest) = entry.manifest.present() else { continue };
        let about =
            FindingFile { agent: Some(&entry.id), file: "agent.json", text: manifest.text(), manifest: Some(manifest) };
        let pointer = match channel {
            Channel::Stable => "/version",
            Channel::Preview => "/preview/version",
        };
        report.about(about, |report| {
            report
                .value(pointer, format!("the version {revocation}"))
                .help("bring the agent to a good version, or withdraw it in `registry.toml`");
        });
    }
}
