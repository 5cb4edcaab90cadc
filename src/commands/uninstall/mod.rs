//! `acp-registry uninstall` and `acp-registry gc`

pub(crate) mod caches;

use acp_registry::manifest::AgentId;
use acp_registry::session::AgentSpec;
use acp_registry::store::{Freed, Removed};

use crate::commands::leftovers;
use crate::documents::{Document, Removal};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{CommandSession, SessionArgs};
use crate::flags::{candidates, installed_version};
use crate::terminal::table::{bytes, total};
use crate::terminal::ui::Ui;
use crate::terminal::{plural, signals};
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents
    #[arg(value_name = "ID", add = candidates::installed(), required_unless_present = "all", conflicts_with = "all")]
    pub(crate) agents: Vec<AgentSpec>,

    /// All installed agents
    #[arg(long)]
    pub(crate) all: bool,

    /// Also agents that are running
    #[arg(long)]
    pub(crate) force: bool,

    /// Change nothing; show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GcArgs {
    /// Remove versions that `config --direct` has printed
    ///
    /// Settings of editors that name their program then break.
    #[arg(long)]
    direct: bool,

    /// Empty the caches: packages, answers and indexes
    ///
    /// These are the ones in this program's cache directory, which make later installations faster: what npm and uv keep,
    /// answers and archives of hosts, and copies of indexes, without which `--offline` finds no agent.
    #[arg(long)]
    cache: bool,

    /// Change nothing; show what would be removed
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let mut session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    session.store.only_looks = args.dry_run;
    let session = session;
    let named = installed_version::only(&args.agents, &session)?;
    let ids = session.removable(&named)?;
    let (freed, failed) = signals::run(ui, async {
        let (mut all, mut failed) = (Freed::default(), Vec::new());
        for id in &ids {
            match session.store.uninstall(id, args.force, &|holder| session.waiting(holder)).await {
                Err(error) => failed.push((id.to_string(), error.into())),
                Ok(None) => ui.note(&format!("another process has uninstalled {id}")),
                Ok(Some(freed)) => {
                    if !args.format.is_json() {
                        let done = if args.dry_run { "would uninstall" } else { "uninstalled" };
                        ui.result(&format!("{done} {id}, {} freed\n", bytes(freed.bytes)))?;
                    }
                    all.removed.extend(freed.removed);
                    all.still_named.extend(freed.still_named);
                    all.bytes += freed.bytes;
                    all.foreign.extend(freed.foreign);
                }
            }
        }
        Ok::<_, Failure>((all, failed))
    })??;
    if ids.is_empty() && !args.format.is_json() {
        ui.note("nothing is installed");
    }
    let caches = if args.all { caches::collect(false, true)? } else { Vec::new() };
    if args.all && !args.format.is_json() && caches::left(&caches, false) > 0 {
        ui.note(&caches::holdings(&caches));
    }
    let done = ids.iter().filter(|id| failed.iter().all(|(failed, _)| **id != *failed)).map(AgentId::as_str);
    let removal = args.format.is_json().then(|| removal(&freed, &failed, args.dry_run).agents(done.collect()));
    end(&freed, &failed, removal.map(|removal| Document::new("uninstall", removal)), ui)
}

pub(crate) fn gc(args: &GcArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let mut session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    session.store.only_looks = args.dry_run;
    let (freed, failed) = signals::run(ui, session.store.collect_garbage(args.direct))??;
    let failed: Vec<(String, Failure)> = failed.into_iter().map(|(id, error)| (id, error.into())).collect();
    if !args.dry_run {
        leftovers::clear(ui);
    }
    let caches = caches::collect(args.cache, args.dry_run)?;
    if args.format.is_json() {
        let removal = removal(&freed, &failed, args.dry_run).caches(&caches);
        return end(&freed, &failed, Some(Document::new("gc", removal)), ui);
    }
    let mut text = String::new();
    for Removed { id, version, bytes: size, .. } in &freed.removed {
        let done = if args.dry_run { "would remove" } else { "removed" };
        text.push_str(&format!("{done} {id} {version}, {}\n", bytes(*size)));
    }
    for Removed { id, version, .. } in &freed.running {
        text.push_str(&format!("kept {id} {version}, which is running\n"));
    }
    for Removed { id, version, .. } in &freed.restored {
        let done = if args.dry_run { "would put back" } else { "put back" };
        text.push_str(&format!("{done} {id} {version}, whose repair was interrupted\n"));
    }
    for (Removed { id, version, .. }, clients) in &freed.named {
        let clients: Vec<&str> = clients.iter().map(String::as_str).collect();
        let clients = clients.join(", ");
        text.push_str(&format!("kept {id} {version}, which settings name ({clients}); `gc --direct` removes it\n"));
    }
    let left = freed.bytes.saturating_sub(freed.removed.iter().map(|one| one.bytes).sum());
    if left > 0 || freed.leftovers > 0 {
        let done = if args.dry_run { "would remove" } else { "removed" };
        text.push_str(&format!("{done} files of interrupted runs, {}\n", bytes(left)));
    }
    let done = if args.dry_run { "would be removed" } else { "removed" };
    if !freed.removed.is_empty() {
        let count = plural(freed.removed.len(), "version");
        let sizes = freed.removed.iter().map(|one| one.bytes).chain([left]);
        text.push_str(&format!("{count} {done}, {} freed\n", total(sizes)));
    } else if left == 0 && freed.leftovers == 0 && failed.is_empty() && freed.restored.is_empty() {
        text.push_str(if caches.iter().all(|cache| cache.size + cache.freed_bytes == 0) {
            "nothing to remove\n"
        } else {
            "no unused versions\n"
        });
    }
    for cache in caches.iter().filter(|cache| cache.freed_bytes > 0) {
        text.push_str(&format!("{} {done}, {} freed\n", caches::content(cache), bytes(cache.freed_bytes)));
    }
    let kept = caches::left(&caches, args.dry_run);
    if kept > 0 && args.cache {
        text.push_str(&format!("{} stay in the caches, which are in use\n", bytes(kept)));
    } else if kept > 0 {
        text.push_str(&format!("{}\n", caches::holdings(&caches)));
    }
    let look = ui.look();
    let text: String = text.lines().map(|line| look.wrap(line, 4)).collect();
    ui.result(&text)?;
    end(&freed, &failed, None, ui)
}

fn removal<'a>(freed: &'a Freed, failed: &[(String, Failure)], is_dry_run: bool) -> Removal<'a> {
    Removal::of(freed, is_dry_run, failed.iter().map(|(id, failure)| failure.for_agent(id)).collect())
}

/// Reports which versions are kept, and why.
fn end(
    freed: &Freed,
    failed: &[(String, Failure)],
    document: Option<Document<'_, Removal<'_>>>,
    ui: &Ui,
) -> Result<Exit, Failure> {
    name_foreign(freed, ui);
    for (Removed { id, version, .. }, clients) in &freed.still_named {
        for client in clients {
            ui.warning(&format!(
                "settings of {client} name the program of {id} {version}, and start nothing once it is removed; replace them \
                 with those of `acp-registry config {client} {id}`"
            ));
        }
    }
    for (_, failure) in failed {
        ui.failure(failure);
    }
    let worst = Failure::worst(failed.iter().map(|(_, failure)| failure));
    if let Some(document) = document {
        ui.document(&document.failed(worst.cloned()))?;
    }
    Ok(worst.map_or(Exit::Success, |failure| failure.exit()))
}

fn name_foreign(freed: &Freed, ui: &Ui) {
    for path in &freed.foreign {
        ui.warning(&format!("{} was not made by this program, and stays", path.display()));
    }
}
