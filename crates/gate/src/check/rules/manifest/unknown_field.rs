use crate::check::rules::prelude::*;
use crate::check::schema::known_members;
use acp_registry_plan::manifest::escape_segment;
use acp_registry_plan::text::nearest;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/unknown-field",
    level: Level::Warning,
    summary: "agent.json has a top-level member that is not in the schema",
    why: "Unknown members are published unchanged, and a misspelt one has no effect. A member that the build sets, \
          such as `bundled`, is an error: an agent could otherwise claim a status that only the registry gives.",
    fix: "Correct the spelling, or remove the member.",
    fails: Example::Manifest("\"licence\": \"MIT\""),
    marks: "\"licence\"",
    passes: Example::Manifest("\"license\": \"MIT\""),
    check: CheckFn::Manifest(check),
};

/// Members that the public registry's build sets, whatever this registry's configuration is.
const SET_BY_BUILDS: &[&str] = &["bundled"];

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let Some(members) = subject.value().as_object() else { return };
    for key in members.keys().filter(|key| !known_members().any(|known| known == key.as_str())) {
        let pointer = format!("/{}", escape_segment(key));
        if SET_BY_BUILDS.contains(&key.as_str()) || subject.options.config.set_keys().any(|set| set == key) {
            report
                .key(pointer, format!("{} is set by the build, not by manifests", quote(key)))
                .grave()
                .help("remove it");
            continue;
        }
        let near = nearest(key, known_members());
        report.key(pointer, format!("unknown member {}", quote(key))).suggest(near, "remove it");
    }
}
