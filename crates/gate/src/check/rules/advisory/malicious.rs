use super::{AGENT, CONFIG, ICON};
use crate::check::rules::prelude::*;
use acp_registry_plan::closure::file_name;
use acp_registry_plan::manifest::PackageKind;

pub(crate) static RULE: Rule = Rule {
    name: "advisory/malicious",
    level: Level::Error,
    summary: "an agent needs a package that an advisory calls malicious",
    why: "The package does harm to everyone who installs the agent. Advisories whose ids begin with `MAL-` are about such \
          packages; others are about mistakes, and are not reported.",
    fix: "Bring the agent to a version without the package, or withdraw it under `[withdrawn]` in `registry.toml`. If the \
          version was published, recall it in `revoked.json`.",
    fails: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        ("registry.toml", CONFIG),
        (
            "advisories.json",
            "{ \"id\": \"MAL-2026-1\", \"affected\": [{ \"package\": { \"ecosystem\": \"npm\", \"name\": \"example\" }, \"versions\": [\"1.0.0\"] }] }\n",
        ),
    ]),
    marks: "\"example@1.0.0\"",
    passes: Example::Files(&[
        ("example/icon.svg", ICON),
        ("example/agent.json", AGENT),
        ("registry.toml", CONFIG),
        (
            "advisories.json",
            "{ \"id\": \"MAL-2026-1\", \"affected\": [{ \"package\": { \"ecosystem\": \"npm\", \"name\": \"example\" }, \"versions\": [\"0.9.0\"] }] }\n",
        ),
    ]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let Some(advisories) = options.advisories else { return };
    for entry in &registry.entries {
        let Some(manifest) = entry.manifest.present() else { continue };
        let found = advisories.malicious(registry, &entry.id, manifest);
        let help = "bring the agent to a version without it, or withdraw it in `registry.toml`";
        report.about(FindingFile::manifest(&entry.id, manifest), |report| {
            for package in found.iter().filter(|package| package.is_own()) {
                let release = manifest.agent().releases().find(|release| release.channel == package.channel);
                let place = release.map(|release| release.package_pointer(package.kind, "package")).unwrap_or_default();
                report.value(place, package.message()).help(help);
            }
        });
        for kind in [PackageKind::Npx, PackageKind::Uvx] {
            let needed = found.iter().filter(|package| package.kind == kind && !package.is_own());
            let about = FindingFile { agent: Some(&entry.id), file: file_name(kind), ..FindingFile::default() };
            report.about(about, |report| {
                for package in needed {
                    report.file(package.message()).help(help);
                }
            });
        }
    }
}
