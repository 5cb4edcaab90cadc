//! An index with every kind of entry, and requests for plans. The same on every run.

use acp_registry::manifest::Platform;
use fastrand::Rng;
use serde_json::{Map, Value, json};

/// The number of entries.
pub(crate) const AGENTS: usize = 1000;

const VERSIONS: [&str; 6] = ["1.2.3", "0.61.0", "2026.07.01", "1.0", "3.0.0-preview.2", "1.0.0+build"];

/// Any of the words.
fn any<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.usize(..words.len())]
}

fn in_hundred(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

fn id(number: usize) -> String {
    format!("{}-{number}", ["alder", "birch", "cedar", "dogwood", "elm"][number % 5])
}

/// Arguments and variables; a few that an installation would refuse, or that cannot be read.
fn shared(rng: &mut Rng, way: &mut Value) {
    if in_hundred(rng, 60) {
        way["args"] = json!([any(rng, &["acp", "--acp", "--name=ä “x” \u{1b}[1m", ""]), "serve"]);
    }
    if in_hundred(rng, 30) {
        way["env"] = json!({ "AGENT_HOME": "x", (any(rng, &["EXAMPLE", "MODE"])): any(rng, &["1", "é", "\u{7f}"]) });
    }
    match rng.u8(..100) {
        0..3 => way["env"] = json!({ (any(rng, &["PATH", "NODE_OPTIONS", "LD_PRELOAD", "1=2"])): "x" }),
        3 => way["env"] = json!({ "A": "\0" }),
        4 => way["args"] = json!(["acp", 7]),
        5 => way["env"] = json!([]),
        _ => {}
    }
}

fn binary(rng: &mut Rng, id: &str, version: &str) -> Value {
    let mut targets = Map::new();
    let share = any(rng, &["all", "half", "few"]);
    for platform in Platform::ALL {
        if in_hundred(
            rng,
            match share {
                "all" => 100,
                "half" => 50,
                _ => 20,
            },
        ) {
            let mut target = json!({
                "archive": format!("https://host.example/{id}/v{version}/{id}-{platform}.tar.gz"),
                "cmd": any(rng, &["./agent", "bin/agent", "bin\\agent.exe", "../../agent", "/agent", ""]),
            });
            match rng.u8(..10) {
                0..4 => target["sha256"] = "0123456789abcdef".repeat(4).into(),
                4 => target["sha256"] = "0123456789ABCDEF".repeat(4).into(),
                5 => target["sha256"] = Value::Null,
                _ => {}
            }
            shared(rng, &mut target);
            if in_hundred(rng, 2) {
                target = any(rng, &["text", ""]).into();
            }
            targets.insert(platform.as_str().to_owned(), target);
        }
    }
    if in_hundred(rng, 5) {
        targets.insert("plan9-mips".to_owned(), json!({ "archive": "x", "cmd": "x" }));
    }
    targets.into()
}

fn distribution(rng: &mut Rng, id: &str, version: &str) -> Value {
    let mut ways = Map::new();
    if in_hundred(rng, 70) {
        ways.insert("binary".to_owned(), binary(rng, id, version));
    }
    for (kind, chance, packages) in [
        ("npx", 50, [format!("@org/{id}@{version}"), format!("{id}@{version}"), id.to_owned(), format!("{id}@^1")]),
        ("uvx", 40, [format!("{id}=={version}"), format!("{id}[x,y]=={version}"), id.to_owned(), format!("{id}>=1")]),
    ] {
        if in_hundred(rng, chance) {
            let mut way = json!({ "package": packages[rng.usize(..packages.len())] });
            if in_hundred(rng, 10) {
                way["command"] = "other".into();
                way["exclude_newer"] = "2026-01-31".into();
            }
            shared(rng, &mut way);
            ways.insert(kind.to_owned(), way);
        }
    }
    ways.into()
}

/// The text of an index; about one entry in ten cannot be used.
pub(crate) fn index() -> String {
    let mut rng = Rng::with_seed(19);
    let entry = |number: usize| {
        let (id, version) = (id(number), any(&mut rng, &VERSIONS));
        let mut agent = json!({ "id": id, "name": format!("Agent ✓ {number}"), "version": version });
        agent["distribution"] = distribution(&mut rng, &id, version);
        if in_hundred(&mut rng, 20) {
            agent["preview"] =
                json!({ "version": "9.9.9-preview.1", "distribution": distribution(&mut rng, &id, "9.9.9-preview.1") });
        }
        match rng.u8(..200) {
            0 => "7".to_owned(),
            1 => json!({ "id": "../x", "version": version }).to_string(),
            2 => json!({ "id": id, "distribution": agent["distribution"] }).to_string(),
            3 => agent.to_string().replacen(version, "v1", 1),
            4 => agent.to_string().replacen("{\"id\"", "{\"id\":\"twice\",\"id\"", 1),
            // A number that is too large: lists pass over it, and a plan needs the whole entry.
            5 | 6 => agent.to_string().replacen("{\"id\"", "{\"x\":1e999,\"id\"", 1),
            7 => format!("{agent},{agent}"),
            _ => agent.to_string(),
        }
    };
    let entries: Vec<String> = (0..AGENTS).map(entry).collect();
    format!("{{\"version\":\"1.0.0\",\"agents\":[{}]}}", entries.join(","))
}

/// A request for each agent and platform: most name only these, the others a version, a kind, or what the machine lacks.
pub(crate) fn requests() -> Vec<Value> {
    let mut rng = Rng::with_seed(20);
    let mut requests = Vec::new();
    for number in 0..AGENTS {
        for platform in Platform::ALL {
            let mut request = json!({ "agent": id(number), "platform": platform.as_str() });
            match rng.u8(..20) {
                0 => request["agent"] = any(&mut rng, &["alder", "brich-1", "elm-10000", "nothing-like-it"]).into(),
                1..4 => {
                    let versions = ["latest", "1.2.3", "1.2.4", "9.9.9-preview.1", "1.0", "v1", "2026.7.1", "ü"];
                    request["agent"] = format!("{}@{}", id(number), any(&mut rng, &versions)).into();
                }
                4..7 => request["dist"] = any(&mut rng, &["npx", "uvx", "binary"]).into(),
                7 => (request["npm"], request["uv"]) = (false.into(), false.into()),
                _ => {}
            }
            requests.push(request);
        }
    }
    requests
}
