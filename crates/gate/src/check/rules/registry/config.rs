use crate::check::CheckOptions;
use crate::check::reporter::{Draft, FindingFile, Reporter};
use crate::check::rule::{CheckFn, Example, Rule};
use crate::config::{Schemas, View};
use crate::finding::Level;
use acp_registry_client::registry::Registry;
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::text::{is_mistyped, nearest, quote};

pub(crate) static RULE: Rule = Rule {
    name: "registry/config",
    level: Level::Warning,
    summary: "registry.toml names an agent, a distribution or a schema that does not exist",
    why: "An exclusion or a change for an unknown agent has no effect; usually the agent was renamed or removed. A \
          schema that cannot be read is an error: the registry is not built without it.",
    fix: "Correct or remove the id in the view, or the path below `[schemas]`.",
    fails: Example::Files(&[("registry.toml", "[[view]]\nfile = \"registry.json\"\nexclude = [\"unknown\"]\n")]),
    marks: "",
    passes: Example::Files(&[("registry.toml", "[[view]]\nfile = \"registry.json\"\n")]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let config = || FindingFile { file: "registry.toml", ..FindingFile::default() };
    for id in options.config.agents.keys().filter(|id| registry.entry(id).is_none()) {
        report.about(config(), |report| {
            let message = format!("`[agents]` names {}, but there is no such agent", quote(id));
            suggest(registry, id, report.file(message));
        });
    }
    if !registry.entries.is_empty()
        && registry.entries.iter().all(|entry| options.config.withdrawn.contains_key(&entry.id))
    {
        report.about(config(), |report| {
            report
                .file("`[withdrawn]` names all agents, so that nothing is left to publish")
                .help("remove one of its entries");
        });
    }
    for (id, reason) in &options.config.withdrawn {
        report.about(config(), |report| check_withdrawn(registry, id, reason, report));
    }
    let schemas = &options.config.schemas;
    for (key, path) in [("agent", &schemas.agent), ("registry", &schemas.registry)] {
        let Some(path) = path else { continue };
        if let Err(problem) = Schemas::read(&registry.root, path) {
            let message = format!("the schema {} {problem}", quote(path));
            // Raised to an error, since the build would fail.
            report.about(config(), |report| {
                let help = format!("correct `{key}` below `[schemas]`, or add the file");
                report.file(message).help(help).grave();
            });
        }
    }
    for view in &options.config.views {
        report.about(config(), |report| check_view(registry, view, report));
    }
}

fn suggest(registry: &Registry, id: &str, draft: Draft<'_>) {
    match nearest(id, registry.entries.iter().map(|entry| entry.id.as_str())) {
        Some(near) => draft.help(format!("did you mean `{near}`?")),
        None => draft.help("remove the id"),
    };
}

/// Checks an entry of `[withdrawn]`. An id without a folder is allowed, since folders of withdrawn agents may be
/// deleted. It is reported if it is not a valid id, or differs from a folder's name by one letter.
fn check_withdrawn(registry: &Registry, id: &str, reason: &str, report: &mut Reporter<'_>) {
    if reason.trim().is_empty() {
        report
            .file(format!("`[withdrawn]` gives no reason for {}", quote(id)))
            .help("write why the agent is no longer published");
    }
    let has_folder = registry.entry(id).is_some() || registry.strays.iter().any(|stray| stray.name == id);
    if has_folder {
        return;
    }
    if !AgentId::is_valid(id) {
        let message = format!("`[withdrawn]` names {}, which is not a valid id", quote(id));
        let lower = id.to_ascii_lowercase();
        let meant = registry.entry(&lower).map_or(id, |_| &lower);
        suggest(registry, meant, report.file(message));
    } else if let Some(near) = registry.entries.iter().find(|entry| is_mistyped(id, &entry.id)) {
        report
            .file(format!("`[withdrawn]` names {}, but there is no such agent", quote(id)))
            .help(format!("did you mean {}?", quote(&near.id)));
    }
}

fn check_view(registry: &Registry, view: &View, report: &mut Reporter<'_>) {
    for id in view.exclude.iter().chain(view.agents.keys()) {
        if registry.entry(id).is_none() {
            let view = quote(&view.file);
            let message = format!("the view {view} names {}, but there is no such agent", quote(id));
            suggest(registry, id, report.file(message));
        }
    }
    for (id, changes) in &view.agents {
        let Some(manifest) = registry.entry(id).and_then(|entry| entry.manifest.present()) else { continue };
        let value = manifest.value();
        for kind in changes.append_args.keys() {
            let declared = value.pointer(&format!("/distribution/{kind}"));
            let previewed = value.pointer(&format!("/preview/distribution/{kind}"));
            if declared.or(previewed).is_none() {
                report
                    .file(format!(
                        "the view {} appends arguments to `{kind}` of {}, which the agent does not have",
                        quote(&view.file),
                        quote(id)
                    ))
                    .help("remove the arguments, or name a distribution that the agent has");
            }
        }
    }
}
