//! Generates a synthetic registry. The same size gives the same bytes.
//!
//! The mix follows the public registry of October 2026: 40 % binary (40 % of those with digests, half for all six
//! platforms, the rest for three to five), 50 % npx, 5 % uvx, 5 % binary and npx; 13 % of those with npx have a
//! preview block; half of the manifests escape non-ASCII characters. Icons are paths, strokes, many circles, or a
//! style block.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value, json};

const PLATFORMS: [(&str, &str, &str); 6] = [
    ("darwin-aarch64", "darwin-arm64", "tar.gz"),
    ("darwin-x86_64", "darwin-x64", "tar.gz"),
    ("linux-aarch64", "linux-arm64", "tar.gz"),
    ("linux-x86_64", "linux-x64", "tar.gz"),
    ("windows-aarch64", "windows-arm64", "zip"),
    ("windows-x86_64", "windows-x64", "zip"),
];

const WORDS: [&str; 16] = [
    "amber", "birch", "coral", "delta", "ember", "fable", "glade", "hazel", "ivory", "jade", "kelp", "lumen", "mesa",
    "nova", "opal", "quill",
];

const LICENSES: [&str; 5] = ["MIT", "Apache-2.0", "proprietary", "GPL-3.0-or-later", "BSD-3-Clause"];

/// A xorshift generator: numbers must be reproducible, not of high quality.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Writes a registry with this many agents into an empty directory.
pub(crate) fn registry(directory: &Path, agents: usize) -> io::Result<()> {
    let mut random = Random(0x2026_1010);
    for number in 0..agents {
        let id = format!("{}-{}-{number:05}", random.pick(&WORDS), random.pick(&WORDS));
        let folder = directory.join(&id);
        fs::create_dir_all(&folder)?;
        let text = manifest(&id, &mut random);
        let escaped = random.chance(50);
        let text = if escaped { acp_registry::json::to_string(&text) } else { format!("{text:#}\n") };
        fs::write(folder.join("agent.json"), text)?;
        fs::write(folder.join("icon.svg"), icon(&mut random))?;
    }
    Ok(())
}

fn manifest(id: &str, random: &mut Random) -> Value {
    let version = format!("{}.{}.{}", [0, 1, 2, 2026][random.below(4)], random.below(40), random.below(99));
    let repository = format!("https://github.com/org-{}/{id}", random.below(4000));
    let mut description = (0..4 + random.below(24)).map(|_| random.pick(&WORDS)).collect::<Vec<_>>().join(" ");
    if random.chance(5) {
        description.push_str(" – agent’s CLI");
    }
    let mut agent = Map::new();
    let mut set = |key: &str, value: Value| drop(agent.insert(key.to_owned(), value));
    set("id", json!(id));
    set("name", json!(id.replace('-', " ")));
    set("version", json!(version));
    set("description", json!(description));
    if random.chance(85) {
        set("repository", json!(repository));
    }
    if random.chance(60) {
        set("website", json!(format!("https://{id}.example.com/docs")));
    }
    set("authors", (0..=random.below(3)).map(|_| format!("{} Team", random.pick(&WORDS))).collect());
    set("license", json!(random.pick(&LICENSES)));
    set("license_url", json!(format!("{repository}/blob/main/LICENSE")));
    let kind = random.below(100);
    let mut distribution = Map::new();
    if !(40..95).contains(&kind) {
        distribution.insert("binary".to_owned(), binary(id, &version, &repository, random));
    }
    if (40..90).contains(&kind) || kind >= 95 {
        distribution.insert("npx".to_owned(), json!({ "package": format!("@org/{id}@{version}"), "args": ["--acp"] }));
    } else if kind >= 90 {
        distribution.insert("uvx".to_owned(), json!({ "package": format!("{id}=={version}"), "args": ["acp"] }));
    }
    let has_npx = distribution.contains_key("npx");
    set("distribution", Value::Object(distribution));
    if has_npx && random.chance(13) {
        let next = format!("{version}-preview.{}", 1 + random.below(12));
        set(
            "preview",
            json!({ "version": next, "distribution": { "npx": { "package": format!("@org/{id}@{next}") } } }),
        );
    }
    Value::Object(agent)
}

fn binary(id: &str, version: &str, repository: &str, random: &mut Random) -> Value {
    let with_digests = random.chance(40);
    // At least one platform of each system remains.
    let left_out: &[usize] = if random.chance(50) { &[] } else { [&[0][..], &[0, 2], &[0, 2, 4]][random.below(3)] };
    let mut targets = Map::new();
    for (at, (platform, suffix, ending)) in PLATFORMS.iter().enumerate().filter(|(at, _)| !left_out.contains(at)) {
        let program = if platform.starts_with("windows") { format!("./{id}.exe") } else { format!("./{id}") };
        let mut target = json!({
            "archive": format!("{repository}/releases/download/v{version}/{id}-{suffix}.{ending}"),
            "cmd": program,
            "args": ["acp"],
        });
        if with_digests {
            target["sha256"] = json!(format!("{:064x}", random.below(usize::MAX) + at));
        }
        targets.insert((*platform).to_owned(), target);
    }
    Value::Object(targets)
}

fn icon(random: &mut Random) -> String {
    let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\"";
    let kind = random.below(100);
    let mut body = String::new();
    // Writing to a String cannot fail.
    if kind < 55 {
        let side = [16, 16, 16, 24, 240, 1200][random.below(6)];
        for _ in 0..=random.below(4) {
            body.push_str("  <path fill=\"currentColor\" d=\"M0 0");
            for _ in 0..8 + random.below(52) {
                let _ = write!(
                    body,
                    "L{}.{:03} {}.{:03}",
                    random.below(side),
                    random.below(1000),
                    random.below(side),
                    random.below(1000)
                );
            }
            body.push_str("Z\"/>\n");
        }
        format!("{head} viewBox=\"0 0 {side} {side}\">\n{body}</svg>\n")
    } else if kind < 75 {
        let radius = 3 + random.below(4);
        format!(
            "{head} viewBox=\"0 0 16 16\" fill=\"none\">\n  <circle cx=\"8\" cy=\"8\" r=\"{radius}\" stroke=\"currentColor\"/>\n  \
             <path d=\"M3 8h9\" stroke=\"currentColor\" stroke-linecap=\"round\"/>\n</svg>\n"
        )
    } else if kind < 90 {
        for _ in 0..20 + random.below(100) {
            let _ = write!(
                body,
                "<circle cx=\"{}.5\" cy=\"{}.5\" r=\"{}\"/>",
                random.below(360),
                random.below(360),
                1 + random.below(8)
            );
        }
        format!("{head} viewBox=\"0 0 360 360\" fill=\"currentColor\">{body}</svg>\n")
    } else {
        format!(
            "{head} viewBox=\"0 0 16 16\"><style>.a{{fill:currentColor}}.b{{fill:none;stroke:currentColor}}</style>\
             <rect class=\"a\" x=\"2\" y=\"2\" width=\"{}\" height=\"5\" style=\"fill: currentColor\"/><path class=\"b\" d=\"M1 1l14 14\"/></svg>\n",
            3 + random.below(9)
        )
    }
}
