//! What one change and one agent cost in registries of different sizes.
//!
//! Some costs must not grow with the registry: what a publication sends after one change, besides the documents that cover
//! the whole registry, and what a client receives that installs an agent or updates ten.

use std::path::Path;

use super::entries::{self, AGENTS, Client, Received};
use super::publish::{self, Sent};
use super::{Sample, generate, store};

/// How much more a cost may be than in the smallest registry, in percent.
const GROWTH: u64 = 20;

/// The costs for one size.
struct Row {
    agents: usize,
    build: Sample,
    /// A build after one agent has changed.
    again: Sample,
    /// A publication after one agent has changed.
    sent: Sent,
    /// Installation of one agent.
    install: Received,
    /// Update of ten agents without copies of an earlier run.
    update: Received,
    /// Update of ten agents, of which one has changed since the last run.
    changed: Received,
}

/// Prints a table. Returns whether the costs are flat that must be.
pub(crate) fn is_flat(folder: &Path, sizes: &[usize]) -> bool {
    println!("one agent of a registry has a new version, and a client uses ten agents");
    println!(
        "  {:>7} | {:>7} {:>7} {:>7} | {:>7} {:>9} {:>10} {:>7} | {:^15} | {:^15} | {:^15}",
        "agents",
        "build s",
        "again s",
        "MiB",
        "objects",
        "besides B",
        "in all B",
        "s",
        "install",
        "update ten",
        "one changed"
    );
    let rows: Vec<Row> = sizes.iter().map(|agents| measure(folder, *agents)).collect();
    let mut is_flat = true;
    for (name, cost) in FLAT {
        let costs: Vec<u64> = rows.iter().map(cost).collect();
        let grown = costs.iter().map(|cost| (cost * 100 / costs[0]).saturating_sub(100)).max().unwrap_or_default();
        let verdict = if grown > GROWTH { "GROWS" } else { "flat" };
        println!("  {verdict:5} +{grown} %  {name}");
        is_flat &= grown <= GROWTH;
    }
    is_flat
}

/// One of the costs.
type Cost = fn(&Row) -> u64;

/// The costs that must not grow.
const FLAT: [(&str, Cost); 8] = [
    ("objects of a publication", |row| row.sent.objects as u64),
    ("bytes of a publication besides documents of the whole registry", |row| row.sent.besides),
    ("requests to install an agent", |row| row.install.0),
    ("bytes to install an agent", |row| row.install.1),
    ("requests to update ten agents", |row| row.update.0),
    ("bytes to update ten agents", |row| row.update.1),
    ("requests to update ten agents, of which one has changed", |row| row.changed.0),
    ("bytes to update ten agents, of which one has changed", |row| row.changed.1),
];

fn measure(folder: &Path, agents: usize) -> Row {
    let work = tempfile::Builder::new().prefix("growth-").tempdir_in(folder).expect("a directory");
    let [registry, tree, bucket] = ["registry", "dist", "bucket"].map(|name| work.path().join(name));
    generate::registry(&registry, agents - AGENTS).expect("a synthetic registry");
    let (store, host) = (store::serve(&bucket), entries::serve(&tree));
    let base = format!("http://{}", host.address);
    entries::agents(&host, &registry, "1.0.0");
    let build = publish::build(&registry, &tree, &base);
    publish::publish(&store, &tree);

    let client = Client { host: &host, work: work.path() };
    let install = client.install(0..1);
    client.install(1..AGENTS);
    client.forget();
    let update = client.update();

    entries::agents(&host, &registry, "1.1.0");
    let again = publish::build(&registry, &tree, &base);
    let sent = publish::publish(&store, &tree);
    let changed = client.update();
    let row = Row { agents, build, again, sent, install, update, changed };
    print(&row);
    row
}

fn print(row: &Row) {
    let Row { agents, build, again, sent, .. } = row;
    let seconds = |sample: &Sample| sample.wall.as_secs_f64();
    let [install, update, changed] =
        [row.install, row.update, row.changed].map(|(requests, bytes)| format!("{requests:4} {bytes:8} B"));
    println!(
        "  {agents:7} | {:7.2} {:7.2} {:7.0} | {:7} {:9} {:10} {:7.2} | {install:15} | {update:15} | {changed:15}",
        seconds(build),
        seconds(again),
        build.memory_kib.max(again.memory_kib) as f64 / 1024.0,
        sent.objects,
        sent.besides,
        sent.bytes,
        sent.took.as_secs_f64(),
    );
}
