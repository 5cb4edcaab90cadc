//! A registry with 500 versions in git: each resolves to what was published when it was the newest.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use acp_registry::build::{BuildRequest, Site, build};
use acp_registry::check::{CheckOptions, Levels};
use acp_registry::config::Config;
use acp_registry::http::AllowedHosts;
use acp_registry::index::Index;
use acp_registry::manifest::Platform;
use acp_registry::registry::Registry;
use acp_registry::resolve::{Host, Kind, Offer, OfferOrigin, PlanOptions, resolve};
use acp_registry::session::{AgentSpec, Session, SessionOptions};
use acp_registry::tree::TreeOutput;
use serde_json::{Value, json};

use crate::support::{Env, ICON};

/// How many versions each agent has had.
const VERSIONS: usize = 50;

/// The agents, with the kinds of distributions that they have had.
const AGENTS: [(&str, &[Kind]); 10] = [
    ("archives", &[Kind::Binary]),
    ("archives-and-npm", &[Kind::Binary, Kind::Npx]),
    ("archives-or-npm", &[Kind::Binary]),
    ("everything", &[Kind::Binary, Kind::Npx, Kind::Uvx]),
    ("npm", &[Kind::Npx]),
    ("npm-in-scope", &[Kind::Npx]),
    ("npm-or-python", &[Kind::Npx]),
    ("python", &[Kind::Uvx]),
    ("python-with-extras", &[Kind::Uvx]),
    ("returns", &[Kind::Npx, Kind::Uvx]),
];

fn version(id: &str, number: usize) -> String {
    match id {
        "archives" => format!("0.{}.{}", number / 10, number % 10),
        "npm" => format!("{}.0.{}", number + 1, number * 7),
        "python" => format!("2026.{}.{}", 1 + number / 28, 1 + number % 28),
        _ => format!("{}.{number}.0", 1 + number / 20),
    }
}

/// The manifest of a version. A version can be corrected, which changes its arguments.
fn manifest(id: &str, kinds: &[Kind], number: usize, correction: usize) -> Value {
    let version = version(id, number);
    let args = match number % 4 {
        0 => json!(["acp"]),
        1 => json!(["--mode", format!("acp-{number}")]),
        2 => json!(["acp", "--with", "a b", format!("ü\"{number}\\{correction}")]),
        _ => json!([format!("run-{number}-{correction}"), "--", "-x"]),
    };
    let mut distribution = json!({});
    let kinds = match (id, number % 2) {
        ("archives-or-npm", 1) => &[Kind::Npx],
        ("npm-or-python", 1) => &[Kind::Uvx],
        _ => kinds,
    };
    for kind in kinds {
        let mut way = json!({ "args": args });
        if !number.is_multiple_of(5) {
            way["env"] = json!({ "MODE": format!("{number}"), "EMPTY": "", "CORRECTION": correction.to_string() });
        }
        match kind {
            Kind::Binary => {
                let mut targets = json!({});
                // Platforms come and go, and so do digests.
                let platforms = Platform::ALL.iter().enumerate().filter(|(at, _)| !(number + at).is_multiple_of(7));
                for (_, platform) in platforms {
                    let mut target = way.clone();
                    let name = format!("{id}-{platform}-{version}");
                    target["archive"] = format!("https://files.example.com/{version}/{name}.tar.gz").into();
                    target["cmd"] = format!("./{name}/bin/agent").into();
                    if number % 3 == 1 {
                        target["sha256"] = acp_registry::digest::Sha256::of(&name).to_string().into();
                    }
                    targets[platform.as_str()] = target;
                }
                distribution["binary"] = targets;
            }
            Kind::Npx => {
                let scope = if id == "npm-in-scope" { "@scope/" } else { "" };
                way["package"] = format!("{scope}{id}@{version}").into();
                distribution["npx"] = way;
            }
            Kind::Uvx => {
                let extras = if id == "python-with-extras" { "[acp,cli]" } else { "" };
                way["package"] = format!("{id}{extras}=={version}").into();
                distribution["uvx"] = way;
            }
        }
    }
    json!({ "id": id, "name": format!("The {id} {}", number / 10), "version": version, "authors": ["Example"],
            "description": format!("An agent of the {number}th version"), "license": "MIT", "distribution": distribution })
}

/// All commits, as the agent and its manifest from then on, in days after which the registry is published.
fn days() -> Vec<Vec<(&'static str, Value)>> {
    let mut days = Vec::new();
    for number in 0..VERSIONS {
        let all = |correction| AGENTS.map(|(id, kinds)| (id, manifest(id, kinds, number, correction))).to_vec();
        days.push(all(0));
        if number % 6 == 2 {
            days.push(all(1));
        }
    }
    // It goes back to a version that it has had.
    let (id, kinds) = AGENTS[9];
    days.push(vec![(id, manifest(id, kinds, 3, 2))]);
    days
}

/// Makes a git repository of these commits in the folder `r`, which is empty.
fn import(env: &Env, days: &[Vec<(&str, Value)>]) {
    env.git(&["init", "--quiet"]);
    let mut git = Command::new("git");
    git.args(["fast-import", "--quiet"]).current_dir(env.path("r")).stdin(Stdio::piped());
    let mut child = git.spawn().unwrap();
    let mut stream = child.stdin.take().unwrap();
    for (at, (id, manifest)) in days.iter().flatten().enumerate() {
        let (text, time) = (manifest.to_string(), 1_700_000_000 + at * 60);
        let head = format!("commit refs/heads/main\ncommitter T <t@example.com> {time} +0000\ndata 1\nx");
        write!(stream, "{head}\nM 100644 inline {id}/agent.json\ndata {}\n{text}\n", text.len()).unwrap();
    }
    drop(stream);
    assert!(child.wait().unwrap().success());
}

/// Builds the registry; returns its index, or writes the whole tree.
fn published(env: &Env, is_whole: bool) -> Vec<u8> {
    let directory = env.path("r");
    let registry = Registry::load(&directory).unwrap();
    let (levels, allowed_hosts, config) = (Levels::default(), AllowedHosts::default(), Config::default());
    let check = CheckOptions {
        levels: &levels,
        allowed_hosts: &allowed_hosts,
        config: &config,
        survey: None,
        advisories: None,
    };
    let site = Site { directory: &directory, capabilities: None, history: None, published: None };
    let base_url = Some("https://example.com/r");
    let site = is_whole.then_some(site);
    build(
        &BuildRequest { registry: &registry, check: &check, base_url, earlier: None, site, output: None },
        |checked, built| {
            let tree = &built.unwrap_or_else(|error| panic!("{error}: {:?}", checked.findings)).tree;
            if is_whole {
                tree.write(&TreeOutput::new(&env.path("dist"), &registry.root)).unwrap();
            }
            tree.file("registry.json").unwrap().to_vec()
        },
    )
}

/// Machines on which agents are installed.
fn machines() -> impl Iterator<Item = Host> {
    let host = |platform| Host { platform, emulated: None, lacks_glibc: false, has_npm: true, has_uv: true };
    Platform::ALL.into_iter().map(move |platform| host(Some(platform)))
}

/// What every machine installs by every kind of distribution, or why it installs nothing.
fn plans(id: &str, offer: Offer) -> Vec<String> {
    let offer = Offer { origin: OfferOrigin::Index, index_sha256: None, ..offer };
    let version = offer.version.clone();
    let wanted = |kind| PlanOptions {
        version: Some(version.clone()),
        kind: Some(kind),
        ..PlanOptions::new(id.parse().unwrap())
    };
    let plan = |(host, kind)| match resolve(std::slice::from_ref(&offer), &wanted(kind), &host) {
        Ok(plan) => format!("{} {plan:?}", plan.folder()),
        Err(error) => error.to_string(),
    };
    machines().flat_map(|host| Kind::ALL.map(|kind| (host.clone(), kind))).map(plan).collect()
}

#[test]
fn each_of_500_versions_resolves_to_what_was_published() {
    let env = Env::empty();
    let days = days();
    import(&env, &days);
    let mut then: BTreeMap<(&str, String), Value> = BTreeMap::new();
    for day in &days {
        for (id, manifest) in day {
            env.write(&format!("r/{id}/agent.json"), manifest.to_string());
            env.write(&format!("r/{id}/icon.svg"), ICON);
        }
        let index = Index::parse(String::from_utf8(published(&env, false)).unwrap()).unwrap();
        for (id, _) in day {
            let entry = index.value(id).unwrap().unwrap();
            then.insert((id, entry["version"].as_str().unwrap().to_owned()), entry);
        }
    }
    assert_eq!(then.len(), 500);
    published(&env, true);

    let mut options = SessionOptions::new(env.path("root"), []);
    options.index = env.path("dist").to_str().unwrap().parse().unwrap();
    let session = Session::open(options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let index = runtime.block_on(session.index()).unwrap().index;
    let (mut earlier, mut plans_of_all) = (0, 0);
    for (id, _) in AGENTS {
        let now = index.value(id).unwrap().unwrap();
        assert_eq!(now, then[&(id, now["version"].as_str().unwrap().to_owned())]);
        let versions = runtime.block_on(session.learn_versions(id)).unwrap().versions;
        assert!(versions.iter().all(|one| one.since.is_some()));
        let mut seen: Vec<&str> = versions.iter().map(|one| one.version.as_str()).collect();
        seen.push(now["version"].as_str().unwrap());
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), VERSIONS, "{id}");
        for one in &versions {
            let mut entry = then[&(id, one.version.clone())].clone();
            // The icon is that of today.
            entry.as_object_mut().unwrap().shift_remove("icon");
            assert_eq!(one.entry.to_string(), entry.to_string());
            let named = AgentSpec::exact(id, &one.version);
            let offers = session.offers(&named, &index).unwrap();
            let offer = offers.into_iter().find(|offer| offer.version == one.version).unwrap();
            assert_eq!(offer.origin, OfferOrigin::Earlier);
            let agent = acp_registry::manifest::Agent::from_json(&then[&(id, one.version.clone())]);
            let expected = plans(id, Offer::from_agent(&agent, "").swap_remove(0));
            plans_of_all += expected.iter().filter(|plan| plan.contains("Plan {")).count();
            assert_eq!(plans(id, offer), expected);
            earlier += 1;
        }
    }
    assert_eq!(earlier, 490);
    assert!(plans_of_all > 3000, "{plans_of_all}");
}
