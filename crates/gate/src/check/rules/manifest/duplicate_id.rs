use crate::check::rules::prelude::*;
use std::collections::HashMap;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/duplicate-id",
    level: Level::Error,
    summary: "two agents have the same id",
    why: "Clients identify agents by id alone: of two agents with the same id, one cannot be reached, and an installed \
          one may be replaced by a stranger's.",
    fix: "Give the newer agent another id, and rename its folder to match.",
    fails: Example::Files(&[("first/agent.json", DUPLICATE), ("second/agent.json", DUPLICATE)]),
    marks: "\"first\"",
    passes: Example::Manifest("\"id\": \"example\""),
    check: CheckFn::Registry(check),
};

const DUPLICATE: &str = "{\n  \"id\": \"first\",\n  \"name\": \"First\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent.\",\n  \
                         \"distribution\": { \"npx\": { \"package\": \"first@1.0.0\" } }\n}\n";

fn check(registry: &Registry, _options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let mut seen: HashMap<&str, &str> = HashMap::with_capacity(registry.entries.len());
    let agents = registry.entries.iter().filter_map(|entry| Some((entry, entry.manifest.present()?)));
    // Agents whose folder has the id's name come first, so that the others are reported.
    let (rightful, others): (Vec<_>, Vec<_>) = agents.partition(|(entry, manifest)| manifest.id() == entry.id);
    for (entry, manifest) in rightful.into_iter().chain(others) {
        let id = manifest.id();
        if id.is_empty() {
            continue;
        }
        if let Some(first) = seen.insert(id, &entry.id) {
            seen.insert(id, first);
            report.about(FindingFile::manifest(&entry.id, manifest), |report| {
                report
                    .value("/id", format!("the id {} already belongs to the agent in {}", quote(id), quote(first)))
                    .help("choose another id, and name the folder after it");
            });
        }
    }
}
