//! `acp-registry gc`

use acp_registry::failure::{Exit, Failure};
use acp_registry::ops::{self, Cached, CollectGarbage, Removal, Report as _};
use acp_registry::store::Removed;
use acp_registry::text::{bytes, plural, total};

use crate::commands::leftovers;
use crate::flags::global::{FormatArgs, Global};
use crate::flags::session::{PackageArgs, SessionArgs, open};
use crate::terminal::progress::events;
use crate::terminal::ui::Ui;
use crate::terminal::{remedy, signals};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also remove versions that settings of `config` name
    ///
    /// Settings of editors that name the program of such a version then break.
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
    let mut session = open(&args.place, PackageArgs::default(), global)?;
    let request = CollectGarbage { direct: args.direct, cache: args.cache, dry_run: args.dry_run };
    let events = events(ui);
    let removal = signals::run(ui, ops::collect_garbage(&mut session, &request, &events))??;
    if !args.dry_run {
        leftovers::clear(ui);
    }
    if !args.format.is_json() {
        let look = ui.look();
        ui.result(&text(&removal, args.cache).lines().map(|line| look.wrap(line, 4)).collect::<String>())?;
    }
    ui.failures(&removal.errors);
    if args.format.is_json() {
        ui.report(&removal)?;
    }
    Ok(removal.exit())
}

/// What was collected. `is_emptying` tells whether the caches were to be emptied.
fn text(removal: &Removal, is_emptying: bool) -> String {
    let freed = &removal.freed;
    let mut text = String::new();
    for Removed { id, version, freed: size, .. } in &freed.removed {
        let done = if removal.is_dry_run { "would remove" } else { "removed" };
        text.push_str(&format!("{done} {id} {version}, {}\n", bytes(*size)));
    }
    for Removed { id, version, .. } in &freed.running {
        text.push_str(&format!("kept {id} {version}, which is running\n"));
    }
    for Removed { id, version, .. } in &freed.restored {
        let done = if removal.is_dry_run { "would put back" } else { "put back" };
        text.push_str(&format!("{done} {id} {version}, whose repair was interrupted\n"));
    }
    for (Removed { id, version, .. }, clients) in &freed.named {
        let clients: Vec<&str> = clients.iter().map(String::as_str).collect();
        let clients = clients.join(", ");
        text.push_str(&format!("kept {id} {version}, which settings name ({clients}); `gc --direct` removes it\n"));
    }
    let left = freed.bytes.saturating_sub(freed.removed.iter().map(|one| one.freed).sum());
    if left > 0 || freed.leftovers > 0 {
        let done = if removal.is_dry_run { "would remove" } else { "removed" };
        text.push_str(&format!("{done} files of interrupted runs, {}\n", bytes(left)));
    }
    let done = if removal.is_dry_run { "would be removed" } else { "removed" };
    if !freed.removed.is_empty() {
        let count = plural(freed.removed.len(), "version");
        let sizes = freed.removed.iter().map(|one| one.freed).chain([left]);
        text.push_str(&format!("{count} {done}, {} freed\n", total(sizes)));
    } else if left == 0 && freed.leftovers == 0 && removal.errors.is_empty() && freed.restored.is_empty() {
        text.push_str(if removal.caches.iter().all(|cache| cache.size + cache.freed_bytes == 0) {
            "nothing to remove\n"
        } else {
            "no unused versions\n"
        });
    }
    for cache in removal.caches.iter().filter(|cache| cache.freed_bytes > 0) {
        text.push_str(&format!("{} {done}, {} freed\n", content(cache), bytes(cache.freed_bytes)));
    }
    let kept = removal.cached_bytes();
    if kept > 0 && is_emptying {
        text.push_str(&format!("{} stay in the caches, which are in use\n", bytes(kept)));
    } else if kept > 0 {
        text.push_str(&format!("{}\n", holdings(&removal.caches)));
    }
    text
}

/// What a cache holds, in words.
fn content(cache: &Cached) -> &'static str {
    match cache.name {
        "packages" => "packages kept by npm and uv",
        "indexes" => "copies of indexes",
        _ => "answers and archives of hosts",
    }
}

/// How many bytes each cache holds, and which command frees them.
pub(crate) fn holdings(caches: &[Cached]) -> String {
    let parts = caches.iter().filter(|cache| cache.size > 0);
    let parts: Vec<String> = parts.map(|cache| format!("{} {}", content(cache), bytes(cache.size))).collect();
    remedy::complete(&format!("caches hold {}; `acp-registry gc --cache` empties them", parts.join(", ")))
}
