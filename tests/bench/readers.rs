//! Replays a day of readers in a minute: a published tree in a store, a caching proxy before it, and clients that install and
//! update agents.
//!
//! A content delivery network has many caches, so that one of them sees a share of the day. Time runs faster for the proxy as
//! well: what it may keep for 300 s, it keeps for 0.2 s.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

use acp_registry::manifest::AgentId;

use super::proxy::{self, Proxy};
use super::reader::{Counts, INDEX, Machine, Reader, kind};
use super::{generate, publish, store};

/// How long the day takes.
const DAY: Duration = Duration::from_mins(1);

/// How much faster time runs.
const FASTER: u64 = 24 * 60;

/// Caches that share the readers.
const CACHES: u64 = 50;

/// Installations in a day, by machines without copies.
const INSTALLATIONS: u64 = 1_000_000;

/// Updates in a day, by machines with copies, which check these many agents.
const UPDATES: u64 = 1_000_000;
const AGENTS_OF_MACHINE: usize = 10;

/// Machines with copies that use one cache: each updates five times in a day.
const MACHINES: u64 = UPDATES / CACHES / 5;

/// Publications in a day. Each changes one of the agents that are used most.
const PUBLICATIONS: usize = 24;

/// Connections to the proxy.
const CONNECTIONS: u64 = 8;

/// Prints what the proxy answers, and what is left for the store.
pub(crate) fn replay(folder: &Path, agents: usize) {
    if !proxy::is_installed() {
        println!("readers: skipped, because Varnish is not installed");
        return;
    }
    let registry = folder.join(format!("readers-{agents}"));
    if !registry.exists() {
        generate::registry(&registry, agents).expect("a synthetic registry");
    }
    let work = tempfile::Builder::new().prefix("readers-").tempdir_in(folder).expect("a directory");
    let store = store::serve(&work.path().join("bucket"));
    let trees: Vec<_> = (0..=PUBLICATIONS).map(|number| work.path().join(number.to_string())).collect();
    for (number, tree) in trees.iter().enumerate() {
        if number > 0 {
            publish::change(&registry, number - 1);
        }
        publish::build(&registry, tree, "https://h.example/latest");
    }
    publish::publish(&store, &trees[0]);
    let proxy = Proxy::start(work.path(), &store.address, FASTER);
    let agents = Agents::new(&registry);
    let (began, total) = (Instant::now(), Mutex::new((Counts::new(), 0)));
    thread::scope(|scope| {
        scope.spawn(|| {
            for (number, tree) in trees.iter().enumerate().skip(1) {
                wait_for(began, number as f64 / trees.len() as f64);
                publish::publish(&store, tree);
            }
        });
        for connection in 0..CONNECTIONS {
            let (agents, total, address) = (&agents, &total, &proxy.address);
            scope.spawn(move || {
                let reader = read(agents, address, connection, began);
                let mut total = total.lock().expect("a lock");
                add(&mut total.0, &reader.received);
                total.1 += reader.mismatches;
            });
        }
    });
    let took = began.elapsed();
    let (received, mismatches) = total.into_inner().expect("a lock");
    let mut of_store = Counts::new();
    for (path, bytes) in &store.objects.lock().expect("a lock").of_proxy {
        let (requests, sum) = of_store.entry(kind(path)).or_default();
        (*requests, *sum) = (*requests + 1, *sum + bytes);
    }
    print(&received, &of_store, mismatches, took);
}

fn print(received: &Counts, of_store: &Counts, mismatches: u64, took: Duration) {
    let sum = |counts: &Counts| counts.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("  {:20} {:>9} {:>10}   {:>9} {:>10}   hit rate", "one cache", "requests", "MB", "to store", "MB");
    let all = [("all", sum(received), sum(of_store))];
    let kinds = received.iter().map(|(kind, of)| (*kind, *of, of_store.get(kind).copied().unwrap_or_default()));
    for (kind, (requests, bytes), (asked, sent)) in kinds.chain(all) {
        let [bytes, sent] = [bytes, sent].map(|bytes| bytes as f64 / 1e6);
        let rate = 100.0 * (1.0 - asked as f64 / requests as f64);
        println!("  {kind:20} {requests:9} {bytes:10.1}   {asked:9} {sent:10.1}   {rate:.2} %");
    }
    let (asked, sent) = sum(of_store);
    let of_day = |count: u64| (count * CACHES) as f64 / 86_400.0;
    println!(
        "  all {CACHES} caches, in real time: {:.1} requests/s from readers, {:.2} requests/s and {:.1} kB/s at the store",
        of_day(sum(received).0),
        of_day(asked),
        of_day(sent) / 1e3
    );
    let whole = received.get(kind(INDEX)).map_or(0, |of| of.0);
    println!("  entries of an earlier publication in the cache: {mismatches}, after which the index was read: {whole}");
    if took > DAY.mul_f64(1.05) {
        println!("  NOT VALID: this machine is too slow, and took {:.0} s", took.as_secs_f64());
    }
}

/// The visits of one connection, at their times of the day.
fn read(agents: &Agents, address: &str, connection: u64, began: Instant) -> Reader {
    let mut random = fastrand::Rng::with_seed(connection);
    let mut reader = Reader::new(address);
    let machines = (0..MACHINES / CONNECTIONS).map(|_| Machine::new(agents.some(&mut random, AGENTS_OF_MACHINE)));
    let mut machines: Vec<Machine> = machines.collect();
    let visits = (INSTALLATIONS + UPDATES) / CACHES;
    for visit in (connection..visits).step_by(usize::try_from(CONNECTIONS).expect("few")) {
        wait_for(began, visit as f64 / visits as f64);
        if random.u64(0..INSTALLATIONS + UPDATES) < INSTALLATIONS {
            reader.visit(&mut Machine::new(agents.some(&mut random, 1)));
        } else {
            let machine = random.usize(0..machines.len());
            reader.visit(&mut machines[machine]);
        }
    }
    reader
}

fn wait_for(began: Instant, part_of_day: f64) {
    thread::sleep(DAY.mul_f64(part_of_day).saturating_sub(began.elapsed()));
}

fn add(sum: &mut Counts, counts: &Counts) {
    for (kind, (requests, bytes)) in counts {
        let of_kind = sum.entry(kind).or_default();
        *of_kind = (of_kind.0 + requests, of_kind.1 + bytes);
    }
}

/// Agents, of which the n-th is used in proportion to 1/n.
struct Agents {
    ids: Vec<AgentId>,
    /// The sums of the proportions up to each agent.
    sums: Vec<f64>,
}

impl Agents {
    fn new(registry: &Path) -> Self {
        let folders = fs::read_dir(registry).expect("a registry").map(|entry| entry.expect("an entry").file_name());
        let mut ids: Vec<AgentId> = folders.filter_map(|name| name.to_str()?.parse().ok()).collect();
        ids.retain(|id| registry.join(id.as_str()).is_dir());
        ids.sort();
        let mut sum = 0.0;
        let sums = (1..=ids.len()).map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        });
        Self { sums: sums.collect(), ids }
    }

    fn some(&self, random: &mut fastrand::Rng, count: usize) -> Vec<AgentId> {
        let last = *self.sums.last().expect("an agent");
        let one = |_| {
            let at = random.f64() * last;
            self.ids[self.sums.partition_point(|sum| *sum <= at).min(self.ids.len() - 1)].clone()
        };
        (0..count).map(one).collect()
    }
}
