//! Measures building a site, in a new directory and over an unchanged one, and the size of what a browser loads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{PROGRAM, ROUNDS, Sample, measure, median};

/// Number of agents, and the time budget for building their site without pictures of agents, in milliseconds.
const BUDGETS: [(usize, f64); 3] = [(40, 60.0), (10_000, 5_000.0), (100_000, 60_000.0)];

/// The number of agents up to which each has a picture, see `previews` in registry.toml.
const PICTURES: usize = 500;

/// The memory budget, in MiB.
const MEMORY: f64 = 1024.0;

/// Builds the site of a synthetic registry several times, each time in a directory of its own: replacing many files
/// on each run would change the state of the file system and distort the times.
pub(super) fn compare(folder: &Path, registry: &Path, agents: usize) {
    let work = tempfile::Builder::new().prefix("site-").tempdir_in(folder).expect("a directory");
    let rounds = match agents {
        0..=1000 => ROUNDS,
        1001..=10_000 => 3,
        _ => 1,
    };
    let build = |round: String| -> Sample {
        let out = work.path().join(round);
        let [registry, out] = [registry, &out].map(|path| path.to_str().expect("a path in UTF-8").to_owned());
        measure(&[PROGRAM, "--registry-dir", &registry, "build", "-q", "--out", &out])
    };
    // The first round only warms the file system cache.
    build("0".to_owned());
    let all = |place: &str| -> Vec<Sample> { (1..=rounds).map(|round| build(format!("{place}{round}"))).collect() };
    let (mut new, mut again) = (all(""), all(""));
    let mut pages = if agents > PICTURES { Vec::new() } else { without_pictures(registry, || all("pages-")) };
    println!("site of {agents} agents, medians of {rounds} runs");
    for (name, samples) in [("new", &mut new), ("unchanged", &mut again), ("new, pages only", &mut pages)] {
        if samples.is_empty() {
            continue;
        }
        let sample = median(samples);
        let [wall, cpu] = [sample.wall, sample.cpu].map(|time| time.as_secs_f64() * 1000.0);
        let has_pictures = agents <= PICTURES && name != "new, pages only";
        let budget = BUDGETS.iter().find(|(of, _)| *of == agents && !has_pictures).map(|(_, budget)| *budget);
        let memory = sample.memory_kib as f64 / 1024.0;
        let verdict = match budget {
            _ if memory > MEMORY => format!("MORE than the budget of {MEMORY} MiB"),
            Some(budget) if wall > budget => format!("MORE than the budget of {budget} ms"),
            Some(budget) => format!("within the budget of {budget} ms"),
            None => String::new(),
        };
        println!("  {name:15} {wall:9.1} ms {cpu:9.1} ms CPU {memory:7.1} MiB   {verdict}");
    }
    sizes(&work.path().join("1"), agents);
}

/// Measures a registry without pictures for link previews. A generated one has no settings of its own.
fn without_pictures<T>(registry: &Path, work: impl FnOnce() -> T) -> T {
    let settings = registry.join("registry.toml");
    fs::write(&settings, "[site]\npreviews = false\n").expect("the settings");
    let done = work();
    fs::remove_file(&settings).expect("the settings");
    done
}

/// Prints the sizes of what a browser loads, compressed with brotli, and checks them against the budgets.
fn sizes(out: &Path, agents: usize) {
    let size = |name: &str| {
        let bytes = fs::read(out.join(name)).expect("a file of the site");
        let mut compressed = Vec::new();
        let parameters = brotli::enc::BrotliEncoderParams::default();
        brotli::BrotliCompress(&mut &bytes[..], &mut compressed, &parameters).expect("compression");
        compressed.len()
    };
    let names = fs::read_dir(out.join("assets")).expect("assets").map(|item| item.expect("an item").file_name());
    let assets: BTreeMap<String, usize> = names
        .map(|name| name.to_string_lossy().into_owned())
        .map(|name| (name.split('.').next().unwrap_or_default().to_owned(), size(&format!("assets/{name}"))))
        .collect();
    let detail = fs::read_dir(out.join("agents")).expect("agents").next().expect("an agent").expect("an item");
    let detail = size(&format!("agents/{}/index.html", detail.file_name().to_string_lossy()));
    let of = |names: &[&str]| names.iter().map(|name| assets[*name]).sum::<usize>();
    let scripts = of(&["theme", "search"]);
    let home = size("index.html") + assets["home"] + scripts;
    let detail = detail + of(&["style", "agent", "theme", "page", "tabs"]);
    for (name, bytes, budget) in [
        ("home", home, 16_000),
        ("scripts of home", scripts, 5_000),
        ("an agent", detail, 12_000),
        ("catalog", assets["catalog"], 45 * agents + 3_000),
    ] {
        println!("  {name:15} {bytes:9} B brotli, budget {budget}");
        assert!(bytes <= budget, "{name} is larger than its budget");
    }
}
