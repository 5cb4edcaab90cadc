use std::collections::BTreeSet;
use std::time::SystemTime;

use crate::check::reporter::Draft;
use crate::check::rules::prelude::*;
use crate::config::{Config, HoldConfig, Schemas, View};
use crate::history::HISTORY_FILE;
use acp_registry_client::registry::MANIFEST_LIMIT;
use acp_registry_host::git;
use acp_registry_plan::manifest::{AgentId, Manifest};
use acp_registry_plan::revocations::RevocationLevel;
use acp_registry_plan::text::{is_mistyped, nearest};
use acp_registry_plan::timestamp::today;

pub(crate) static RULE: Rule = Rule {
    name: "registry/config",
    level: Level::Warning,
    summary: "registry.toml names an agent, a distribution, a version or a schema that does not exist",
    why: "An exclusion, a hold or a change for an unknown agent has no effect; usually the agent was renamed or removed. \
          A schema that cannot be read is an error, and so is a hold at a version that is revoked or that git does not \
          know: the registry is not built with them.",
    fix: "Correct or remove the id, the version below `[hold.ID]`, or the path below `[schemas]`.",
    fails: Example::Files(&[("registry.toml", "[[view]]\nfile = \"registry.json\"\nexclude = [\"unknown\"]\n")]),
    marks: "",
    passes: Example::Files(&[("registry.toml", "[[view]]\nfile = \"registry.json\"\n")]),
    check: CheckFn::Registry(check),
};

fn check(registry: &Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let file = options.config.file_in(&registry.root);
    let config = || FindingFile { file: &file, ..FindingFile::default() };
    let Config { agents, hold, .. } = options.config;
    for (table, id) in agents.keys().map(|id| ("agents", id)).chain(hold.keys().map(|id| ("hold", id))) {
        if registry.entry(id).is_none() {
            report.about(config(), |report| {
                let message = format!("`[{table}]` names {}, but there is no such agent", quote(id));
                suggest(registry, id, report.file(message));
            });
        }
    }
    for (id, hold) in hold {
        report.about(config(), |report| check_hold(registry, id, hold, report));
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
        Some(near) => draft.help(format!("did you mean `{near}`? If not, remove the id")),
        None => draft.help("remove the id"),
    };
}

/// Checks the version at which an agent is held now. Errors, since the build would fail.
fn check_hold(registry: &Registry, id: &str, hold: &HoldConfig, report: &mut Reporter<'_>) {
    let Some(entry) = registry.entry(id) else { return };
    let current = entry.manifest.present().and_then(version);
    if hold.until.is_some_and(|until| until < today(SystemTime::now())) || current.as_ref() == Some(&hold.version) {
        return;
    }
    let (problem, known) = match registry.revocations().find(id, &hold.version) {
        Some(recall) if recall.level == RevocationLevel::Revoked => (recall.to_string(), "is not recalled"),
        _ if earlier_versions(registry, id).is_some_and(|all| !all.contains(&hold.version)) => {
            ("is not known to git".to_owned(), "the registry has had")
        }
        _ => return,
    };
    report
        .file(format!("`[hold]` names {} of {}, which {problem}", quote(&hold.version), quote(id)))
        .help(format!("name a version that {known}, or remove the hold"))
        .grave();
}

/// The versions that git knows of an agent; `None` if it does not know all, or if the registry has its history elsewhere.
fn earlier_versions(registry: &Registry, id: &str) -> Option<BTreeSet<String>> {
    if !AgentId::is_valid(id) || registry.root.join(HISTORY_FILE).is_file() {
        return None;
    }
    let log = git::log(&registry.root, &format!("{id}/agent.json")).ok().filter(|log| log.cut.is_none())?;
    let blobs = log.commits.iter().flat_map(|commit| &commit.changes).filter_map(|change| change.blob.as_deref());
    let mut versions = BTreeSet::new();
    git::blobs(&registry.root, &blobs.collect(), MANIFEST_LIMIT, |_, bytes| {
        let manifest = Manifest::parse(String::from_utf8_lossy(bytes).into_owned()).ok();
        versions.extend(manifest.as_ref().and_then(version));
    })
    .ok()?;
    Some(versions)
}

fn version(manifest: &Manifest) -> Option<String> {
    Some(manifest.value().get("version")?.as_str()?.to_owned())
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
            .help(format!("did you mean {}? If not, remove the id", quote(&near.id)));
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
