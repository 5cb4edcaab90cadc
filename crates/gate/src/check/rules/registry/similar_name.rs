use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use crate::check::rules::looks::Look;
use crate::check::rules::prelude::*;
use acp_registry_client::registry::AgentFolder;
use acp_registry_http::address;
use acp_registry_plan::manifest::{Agent, Manifest, NpmSpec, PypiSpec};
use acp_registry_plan::text::brief_list;

pub(crate) static RULE: Rule = Rule {
    name: "registry/similar-name",
    level: Level::Error,
    summary: "two agents have names or ids that look the same",
    why: "People choose an agent by its name. Case, spaces, hyphens, pictures, words such as `verified`, and letters that \
          look like others (Unicode's confusables) do not tell two names apart. Agents of one publisher may have the same name: \
          those whose packages are in one npm scope, or whose archives are releases of one GitHub account.",
    fix: "Rename the agent that came later. If both may have their names, set the rule to `off` for both, under \
          `[agents.ID.rules]` in `registry.toml`.",
    fails: Example::Files(&[
        ("claude-code/agent.json", CLAUDE),
        (
            "claude-code-next/agent.json",
            "{\n  \"id\": \"claude-code-next\",\n  \"name\": \"Claude Code\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent.\",\n  \"distribution\": { \"npx\": { \"package\": \"next@1.0.0\" } }\n}\n",
        ),
    ]),
    marks: "\"Claude Code\"",
    passes: Example::Manifest("\"name\": \"Example\""),
    check: CheckFn::Registry(check),
};

const CLAUDE: &str = "{\n  \"id\": \"claude-code\",\n  \"name\": \"Claude Code\",\n  \"version\": \"1.0.0\",\n  \"description\": \"An agent.\",\n  \
                      \"distribution\": { \"npx\": { \"package\": \"@anthropic-ai/claude-code@1.0.0\" } }\n}\n";

/// Maximum number of names with one key that are compared, and of agents with such a name that are looked at, so that the
/// cost grows with the number of agents alone.
const COMPARED: usize = 16;

/// Maximum number of other agents in a message.
const SHOWN: usize = 3;

/// An agent, with the accounts that publish it: see [`accounts`].
struct NamedManifest<'a> {
    folder: &'a str,
    manifest: &'a Manifest,
    accounts: OnceCell<Option<BTreeSet<String>>>,
}

fn check<'a>(registry: &'a Registry, options: &CheckOptions<'_>, report: &mut Reporter<'_>) {
    let published = |id: &str| !options.config.withdrawn.contains_key(id);
    let present = |entry: &'a AgentFolder| {
        let manifest = entry.manifest.present()?;
        Some(NamedManifest { folder: &entry.id, manifest, accounts: OnceCell::new() })
    };
    let agents: Vec<NamedManifest<'_>> =
        registry.entries.iter().filter(|entry| published(&entry.id)).filter_map(present).collect();
    for (key, what) in [("name", Manifest::name as fn(&Manifest) -> &str), ("id", Manifest::id)] {
        // Which of them came first is not known here, and a run may look at one of them only.
        for (NamedManifest { folder, manifest, .. }, others) in agents.iter().zip(similar(&agents, what)) {
            if others.is_empty() {
                continue;
            }
            let others = others.into_iter().map(|other| agents[other].manifest);
            let message = match key {
                "name" => {
                    let names = others.map(|other| format!("{} of {}", quote(other.name()), quote(other.id())));
                    format!("looks like the name {}", brief_list(names, SHOWN))
                }
                _ => format!("looks like the id {}", brief_list(others.map(|other| quote(other.id())), SHOWN)),
            };
            report.about(FindingFile::manifest(folder, manifest), |report| {
                report.value(format!("/{key}"), format!("{} {message}", quote(what(manifest)))).help(
                    "choose a name that looks different, or switch the rule off for these agents in `registry.toml`",
                );
            });
        }
    }
}

/// For each agent, the others of which a text looks like its own.
fn similar(agents: &[NamedManifest<'_>], text: fn(&Manifest) -> &str) -> Vec<Vec<usize>> {
    let mut seen: HashMap<String, Vec<(Look, Vec<usize>)>> = HashMap::with_capacity(agents.len());
    let mut similar: Vec<Vec<usize>> = vec![Vec::new(); agents.len()];
    for (number, agent) in agents.iter().enumerate() {
        let look = Look::new(text(agent.manifest));
        let looks = seen.entry(look.key()).or_default();
        for (_, others) in looks.iter().filter(|(other, _)| other.is_like(&look)) {
            for &other in others.iter().filter(|&&other| are_confused(agent, &agents[other], text)) {
                similar[number].push(other);
                similar[other].push(number);
            }
        }
        // Two looks that are like a third need not be like each other, so each different one has a list.
        match looks.iter().position(|(other, _)| *other == look) {
            Some(at) if looks[at].1.len() < COMPARED => looks[at].1.push(number),
            None if looks.len() < COMPARED => looks.push((look, vec![number])),
            _ => {}
        }
    }
    for others in &mut similar {
        others.sort_unstable();
    }
    similar
}

/// Whether people may take one of two agents for the other, of which a text looks alike.
fn are_confused(one: &NamedManifest<'_>, other: &NamedManifest<'_>, text: fn(&Manifest) -> &str) -> bool {
    let may_share = || text(one.manifest) == text(other.manifest) && have_one_publisher(one, other);
    // That two agents have the same id is a finding of another rule.
    one.manifest.id() != other.manifest.id() && !may_share()
}

/// Whether all that both agents install comes from one account that only its owner can publish to.
fn have_one_publisher(one: &NamedManifest<'_>, other: &NamedManifest<'_>) -> bool {
    let accounts =
        [one, other].map(|agent| agent.accounts.get_or_init(|| accounts(&Agent::from_json(&agent.manifest.value()))));
    matches!(accounts, [Some(one), Some(other)] if one.len() == 1 && one == other)
}

/// The accounts that an agent's distributions are published by; `None` if one of them cannot be told.
fn accounts(agent: &Agent) -> Option<BTreeSet<String>> {
    let npm = |package: &str| {
        let NpmSpec { name, .. } = package.parse().ok()?;
        Some(format!("npm {}", name.split_once('/').map_or(name.as_str(), |(scope, _)| scope)))
    };
    let pypi = |package: &str| Some(format!("pypi {}", package.parse::<PypiSpec>().ok()?.name.to_ascii_lowercase()));
    let github = |archive: &str| {
        let url = address::parse(archive).ok().filter(|url| url.host_str() == Some("github.com"))?;
        // Files in issues and commits of forks have addresses below the owner, too.
        let parts: Vec<&str> = url.path_segments()?.collect();
        match parts[..] {
            [owner, _, "releases", "download", _, .., _] | [owner, _, "archive", "refs", "tags", ..] => {
                Some(format!("github {}", owner.to_ascii_lowercase()))
            }
            _ => None,
        }
    };
    agent
        .releases()
        .flat_map(|release| {
            let distribution = release.distribution;
            let npx = distribution.npx.iter().map(|package| npm(&package.package));
            let uvx = distribution.uvx.iter().map(|package| pypi(&package.package));
            npx.chain(uvx).chain(distribution.binary.iter().map(|target| github(&target.archive))).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use acp_registry_http::AllowedHosts;
    use serde_json::{Value, json};

    use super::*;
    use crate::check::{Levels, Selection};
    use crate::config::Config;
    use crate::finding::Finding;

    /// The places of the findings about these agents: folder and pointer.
    fn places(agents: &[Value], config: &str) -> Vec<String> {
        let place = |finding: Finding| format!("{}{}", finding.agent.unwrap(), finding.pointer.unwrap());
        findings(agents, config).into_iter().map(place).collect()
    }

    fn findings(agents: &[Value], config: &str) -> Vec<Finding> {
        let folder = tempfile::tempdir().unwrap();
        for agent in agents {
            let own = folder.path().join(agent["id"].as_str().unwrap());
            std::fs::create_dir(&own).unwrap();
            std::fs::write(own.join("agent.json"), agent.to_string()).unwrap();
        }
        let registry = Registry::load(folder.path()).unwrap();
        let config = Config::parse("registry.toml".as_ref(), config).unwrap();
        let (levels, allowed_hosts) = (Levels::configured(&config).unwrap(), AllowedHosts::default());
        let options = CheckOptions {
            levels: &levels,
            allowed_hosts: &allowed_hosts,
            config: &config,
            survey: None,
            advisories: None,
        };
        let findings = crate::check::check(&registry, &options, &Selection::All).findings;
        findings.into_iter().filter(|finding| finding.rule == RULE.name).collect()
    }

    fn agent(id: &str, name: &str, distribution: &Value) -> Value {
        json!({ "id": id, "name": name, "version": "1.0.0", "description": "x", "distribution": distribution })
    }

    fn npx(package: &str) -> Value {
        json!({ "npx": { "package": package } })
    }

    #[test]
    fn both_agents_are_reported() {
        let real = agent("claude-code", "Claude Code", &npx("@anthropic-ai/claude-code@1.0.0"));
        for name in
            ["Claude Code", "Сlaude Соde", "Claude\u{a0}Code", "𝐂laude Code", "Claude Code ✓ Verified", "claude-code"]
        {
            let other = agent("another", name, &npx("another@1.0.0"));
            assert_eq!(places(&[real.clone(), other], ""), ["another/name", "claude-code/name"], "{name}");
        }
        for id in ["c1aude-code", "claude-c0de", "claudecode", "claude-code-verified"] {
            let other = agent(id, "Another", &npx("another@1.0.0"));
            let mut both = [format!("{id}/id"), "claude-code/id".to_owned()];
            both.sort();
            assert_eq!(places(&[real.clone(), other], ""), both, "{id}");
        }
        let withdrawn = "[withdrawn]\nanother = \"gone\"\n";
        assert_eq!(
            places(&[real.clone(), agent("another", "Claude Code", &npx("a@1.0.0"))], withdrawn),
            [] as [&str; 0]
        );
        assert_eq!(places(&[real, agent("another", "Claude Coder", &npx("a@1.0.0"))], ""), [] as [&str; 0]);
    }

    #[test]
    fn a_publisher_is_known_by_its_accounts_only() {
        let archive = |owner: &str| json!({ "binary": { "linux-x86_64": { "cmd": "./a", "archive": format!("https://github.com/{owner}/a/releases/download/1.0.0/a.zip") } } });
        // Anyone can attach a file to an issue, and give a fork a commit.
        let file = |path: &str| json!({ "binary": { "linux-x86_64": { "cmd": "./a", "archive": format!("https://github.com/own/a/{path}") } } });
        for (one, other, is_one) in [
            (npx("@s/a@1.0.0"), npx("@s/b@1.0.0"), true),
            (npx("a@1.0.0"), npx("b@1.0.0"), false),
            (npx("@s/a@1.0.0"), npx("@t/a@1.0.0"), false),
            (archive("Own"), archive("own"), true),
            (archive("own"), archive("other"), false),
            (file("releases/download/a/v1/a.zip"), file("archive/refs/tags/1.zip"), true),
            (file("files/1/a.zip"), file("files/1/a.zip"), false),
            (file("archive/0123/a.zip"), file("releases/download/1/a.zip"), false),
            (
                json!({ "binary": { "linux-x86_64": { "archive": "https://h.example/a.zip" } } }),
                json!({ "binary": { "linux-x86_64": { "archive": "https://h.example/a.zip" } } }),
                false,
            ),
            (json!({}), json!({}), false),
            (json!({ "npx": { "package": "@s/a@1" }, "uvx": { "package": "evil==1" } }), npx("@s/b@1"), false),
        ] {
            let found = places(&[agent("first", "Same", &one), agent("second", "Same", &other)], "");
            assert_eq!(found.is_empty(), is_one, "{one} {other}: {found:?}");
        }
    }

    #[test]
    fn many_agents_with_one_name_cost_no_more_than_others() {
        let agents: Vec<Value> = (0..60).map(|at| agent(&format!("agent-{at}"), "Same", &npx("@s/a@1.0.0"))).collect();
        assert_eq!(places(&agents, ""), [] as [&str; 0]);
        let stranger = [agents, vec![agent("z", "Same", &npx("z@1.0.0"))]].concat();
        let found = places(&stranger, "");
        // Those that are looked at, and the stranger.
        assert_eq!((found.len(), found.last().map(String::as_str)), (COMPARED + 1, Some("z/name")), "{found:?}");
    }

    #[test]
    fn each_of_three_names_the_others() {
        let agents = ["a", "b", "c"].map(|id| agent(id, "Same", &npx(&format!("{id}@1.0.0"))));
        let messages: Vec<String> = findings(&agents, "").into_iter().map(|finding| finding.message).collect();
        assert_eq!(
            messages,
            [
                "`Same` looks like the name `Same` of `b`, `Same` of `c`",
                "`Same` looks like the name `Same` of `a`, `Same` of `c`",
                "`Same` looks like the name `Same` of `a`, `Same` of `b`",
            ]
        );
    }
    /// `C1ine` looks like `CLine` and like `CIine`, which do not look like each other.
    #[test]
    fn an_agent_that_looks_like_two_different_ones_is_named_by_both() {
        let named = |id: &str, name: &str| agent(id, name, &npx(&format!("{id}@1.0.0")));
        let agents = [("a", "CLine"), ("b", "CIine"), ("c", "C1ine"), ("d", "CIine")].map(|(id, name)| named(id, name));
        let messages: Vec<String> = findings(&agents, "").into_iter().map(|finding| finding.message).collect();
        assert_eq!(
            messages,
            [
                "`CLine` looks like the name `C1ine` of `c`",
                "`CIine` looks like the name `C1ine` of `c`, `CIine` of `d`",
                "`C1ine` looks like the name `CLine` of `a`, `CIine` of `b`, `CIine` of `d`",
                "`CIine` looks like the name `CIine` of `b`, `C1ine` of `c`",
            ]
        );
    }
}
