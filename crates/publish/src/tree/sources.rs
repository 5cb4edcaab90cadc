//! Chooses which agents are published, and in which form.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::outcome::{AgentOutcome, BuildError, BuiltAgent, LeftOutReason};
use super::previous::{EarlierIndexes, KeptAgent, Lookup, PublishedError, PublishedTree};
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_gate::check::{self, Checked};
use acp_registry_gate::config::View;
use acp_registry_gate::finding::{Finding, Level};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::text::printable;

/// The rule for missing icons. An earlier icon replaces a missing one.
const MISSING_ICON: &str = "icon/missing";

/// The rule for `quarantine.json`, which affects starting and updating agents, but not publishing them.
const QUARANTINE: &str = "registry/quarantine";

/// The form in which an agent is published.
#[derive(Clone)]
pub(super) enum AgentSource<'a> {
    /// From its folder, with its earlier icon if the folder has none.
    Own(&'a AgentFolder, Option<String>),
    /// With its previously published entries.
    Earlier(KeptAgent),
}

impl AgentSource<'_> {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Own(entry, _) => &entry.id,
            Self::Earlier(kept) => &kept.id,
        }
    }

    /// Its version in the index of a view.
    pub(super) fn version(&self, view: &str) -> Option<String> {
        match self {
            Self::Own(entry, _) => Some(entry.manifest.present()?.value().get("version")?.as_str()?.to_owned()),
            Self::Earlier(kept) => Some(kept.entries.get(view)?.get("version")?.as_str()?.to_owned()),
        }
    }

    pub(super) fn has_icon(&self) -> bool {
        match self {
            Self::Own(entry, icon) => entry.icon.present().is_some() || icon.is_some(),
            Self::Earlier(kept) => kept.icon.is_some(),
        }
    }
}

/// The result of [`choose`]; the sources and the agents are ordered by id.
#[derive(Default)]
pub(super) struct Chosen<'a> {
    pub(super) sources: Vec<AgentSource<'a>>,
    pub(super) agents: Vec<BuiltAgent>,
    /// Agents that keep their earlier icon.
    pub(super) icons: Vec<String>,
    /// Whether earlier entries were needed and the earlier tree has no index yet.
    pub(super) nothing_published: bool,
    /// Why an earlier icon could not be read.
    pub(super) no_icons: Option<PublishedError>,
}

/// The kinds of errors that an agent has.
#[derive(Default, Clone, Copy)]
struct Errors {
    missing_icon: bool,
    others: bool,
}

/// The earlier tree, read on first use.
struct Previous<'a> {
    tree: Option<&'a dyn PublishedTree>,
    views: &'a [View],
    loaded: OnceCell<Result<EarlierIndexes<'a>, PublishedError>>,
}

impl<'a> Previous<'a> {
    /// Returns the indexes of the earlier tree; `None` without an earlier tree.
    fn get(&self) -> Result<Option<&EarlierIndexes<'a>>, PublishedError> {
        let Some(tree) = self.tree else { return Ok(None) };
        self.loaded.get_or_init(|| EarlierIndexes::load(tree, self.views)).as_ref().map(Some).map_err(Clone::clone)
    }
}

/// Chooses the form in which each agent is published.
pub(super) fn choose<'a>(
    registry: &'a Registry,
    checked: &Checked,
    options: &check::CheckOptions<'_>,
    tree: Option<&dyn PublishedTree>,
    views: &[View],
) -> Result<Chosen<'a>, BuildError> {
    if checked.findings.iter().any(|finding| is_fatal(finding, registry, tree.is_some())) {
        return Err(BuildError::Findings { agents: Vec::new() });
    }
    let previous = Previous { tree, views, loaded: OnceCell::new() };
    let mut chosen = Chosen::default();
    let mut broken = Vec::new();
    let errors = errors(checked);
    for entry in &registry.entries {
        if options.config.withdrawn.contains_key(&entry.id) {
            chosen.agents.push(BuiltAgent { id: entry.id.clone(), outcome: AgentOutcome::Withdrawn });
            continue;
        }
        let errors = errors.get(entry.id.as_str()).copied().unwrap_or_default();
        match own(entry, errors, &previous, options, &mut chosen)? {
            Some(source) => {
                chosen.agents.push(BuiltAgent { id: entry.id.clone(), outcome: AgentOutcome::Published });
                chosen.sources.push(source);
            }
            None => broken.push(entry),
        }
    }
    keep(registry, &broken, &previous, options, &mut chosen)?;
    if let Some(error) = tree.and_then(PublishedTree::refusal) {
        return Err(error.into());
    }
    chosen.sources.sort_by(|a, b| a.id().cmp(b.id()));
    chosen.agents.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(chosen)
}

/// Whether an error prevents building a tree, because it is not about a single agent. With an earlier tree, errors in
/// folders without a manifest and in the quarantine list do not.
fn is_fatal(finding: &Finding, registry: &Registry, has_previous: bool) -> bool {
    let is_stray = || registry.strays.iter().any(|stray| stray.name == finding.file);
    let is_bounded = || finding.rule == QUARANTINE || is_stray();
    finding.agent.is_none() && finding.level == Level::Error && !(has_previous && is_bounded())
}

fn errors(checked: &Checked) -> BTreeMap<&str, Errors> {
    let mut errors: BTreeMap<&str, Errors> = BTreeMap::new();
    for finding in checked.findings.iter().filter(|finding| finding.level == Level::Error) {
        let Some(agent) = &finding.agent else { continue };
        let errors = errors.entry(agent).or_default();
        *(if finding.rule == MISSING_ICON { &mut errors.missing_icon } else { &mut errors.others }) = true;
    }
    errors
}

/// Publishes the agent from its folder, if possible. Looks for an earlier icon if the folder has none.
fn own<'a>(
    entry: &'a AgentFolder,
    errors: Errors,
    previous: &Previous<'_>,
    options: &check::CheckOptions<'_>,
    chosen: &mut Chosen<'_>,
) -> Result<Option<AgentSource<'a>>, PublishedError> {
    // Checked at any rule level: a manifest is needed, and the id becomes a file name.
    let manifest = entry.manifest.present().filter(|manifest| manifest.is_object());
    let Some(manifest) = manifest.filter(|_| AgentId::is_valid(&entry.id) && !errors.others) else { return Ok(None) };
    let links_icon = || manifest.agent().icon.as_deref().is_some_and(|icon| icon.starts_with("https://"));
    let lacks_icon = entry.icon.present().is_none() && !links_icon();
    if !lacks_icon && !errors.missing_icon {
        return Ok(Some(AgentSource::Own(entry, None)));
    }
    let look = || match previous.get()? {
        Some(earlier) => earlier.icon(&entry.id, &manifest.value(), options),
        None => Ok(None),
    };
    if errors.missing_icon {
        let icon = look()?;
        chosen.icons.extend(icon.as_ref().map(|_| entry.id.clone()));
        return Ok(icon.map(|icon| AgentSource::Own(entry, Some(icon))));
    }
    // Icons are optional, so a failure to read the earlier one is recorded instead of returned.
    let icon = if chosen.no_icons.is_some() { Ok(None) } else { look() };
    let icon = icon.unwrap_or_else(|error| {
        chosen.no_icons = Some(error);
        None
    });
    chosen.icons.extend(icon.as_ref().map(|_| entry.id.clone()));
    Ok(Some(AgentSource::Own(entry, icon)))
}

/// Keeps the earlier entries of agents with errors, and of those whose manifest was lost or whose folder was renamed.
/// Agents without an earlier entry are left out.
fn keep(
    registry: &Registry,
    broken: &[&AgentFolder],
    previous: &Previous<'_>,
    options: &check::CheckOptions<'_>,
    chosen: &mut Chosen<'_>,
) -> Result<(), BuildError> {
    let names = || broken.iter().map(|entry| printable(&entry.id).into_owned()).collect::<Vec<_>>();
    // Only the earlier tree tells whether a folder without a manifest held an agent.
    let lost: BTreeSet<&str> = lost(registry, broken);
    let can_be_kept = |id: &str| AgentId::is_valid(id) && !options.config.withdrawn.contains_key(id);
    let earlier = if broken.is_empty() && !lost.iter().any(|id| can_be_kept(id)) { None } else { previous.get()? };
    let earlier = match earlier {
        Some(earlier) if earlier.is_tree => Some(earlier),
        Some(_) if !broken.is_empty() => return Err(BuildError::NoPrevious { agents: names() }),
        None if !broken.is_empty() => return Err(BuildError::Findings { agents: names() }),
        not_a_tree => {
            chosen.nothing_published = not_a_tree.is_some();
            None
        }
    };
    if let Some(earlier) = earlier {
        let revocations = registry.revocations();
        let broken_ids = broken.iter().map(|entry| entry.id.as_str());
        for (id, is_lost) in broken_ids.map(|id| (id, false)).chain(lost.into_iter().map(|id| (id, true))) {
            let found = if can_be_kept(id) { earlier.keep(id, &revocations, options)? } else { Lookup::Nothing };
            let outcome = match found {
                Lookup::Kept(kept) => {
                    chosen.sources.push(AgentSource::Earlier(kept));
                    AgentOutcome::Kept
                }
                Lookup::Unsafe(rule) => AgentOutcome::LeftOut(LeftOutReason::Unsafe(rule)),
                // The folder never held a published agent.
                Lookup::Nothing if is_lost => continue,
                Lookup::Nothing => AgentOutcome::LeftOut(LeftOutReason::NeverPublished),
            };
            chosen.agents.push(BuiltAgent { id: id.to_owned(), outcome });
        }
    }
    if chosen.sources.is_empty() {
        let is_empty = broken.is_empty() && chosen.agents.is_empty();
        // A new registry, as its configuration shows; one that has published agents must not lose all of them unseen.
        if is_empty
            && registry.root.join("registry.toml").is_file()
            && !previous.get()?.is_some_and(EarlierIndexes::have_agents)
        {
            return Ok(());
        }
        return Err(if broken.is_empty() && !chosen.agents.is_empty() {
            BuildError::Withdrawn(registry.root.display().to_string())
        } else if broken.is_empty() {
            BuildError::Empty(registry.root.display().to_string())
        } else {
            BuildError::Findings { agents: names() }
        });
    }
    Ok(())
}

/// Ids of agents whose folder has lost its manifest or was renamed. They may have been published earlier.
fn lost<'a>(registry: &'a Registry, broken: &[&'a AgentFolder]) -> BTreeSet<&'a str> {
    let strays = registry.strays.iter().map(|stray| stray.name.as_str());
    let has_folder = |id: &str| registry.entry(id).is_some();
    let renamed = broken.iter().filter_map(|entry| Some(entry.manifest.present()?.id()));
    strays.chain(renamed.filter(|id| !has_folder(id))).collect()
}
