//! What attackers change, in one table: statements, attestations, recalls and packages. Each case has an honest twin.
#![cfg(unix)]

use std::collections::BTreeMap;

use acp_registry::advisories::Advisories;
use acp_registry::check::{CheckOptions, Levels, Selection, check};
use acp_registry::config::Config;
use acp_registry::http::AllowedHosts;
use acp_registry::provenance::{Artifact, Memory, TrustRoots};
use acp_registry::registry::Registry;
use acp_registry::revocations::{RevocationLevel, Revocations};
use serde_json::{Value, json};

use crate::advisories::advisory;
use crate::archives::sha256;
use crate::attester::text;
use crate::provenance::{CASES, REPOSITORY, World};
use crate::signed::attacked;
use crate::support::Env;

/// Whether something was accepted, or why not.
type Verdict = Result<(), String>;

/// How many attacks of each kind were refused.
#[derive(Default)]
struct Table(BTreeMap<&'static str, usize>);

impl Table {
    fn judge(&mut self, kind: &'static str, what: &str, attack: &Verdict, twin: Verdict) {
        assert!(attack.is_err(), "{kind}: {what} is accepted");
        twin.unwrap_or_else(|why| panic!("{kind}: the honest twin of {what} is refused: {why}"));
        *self.0.entry(kind).or_default() += 1;
    }
}

#[test]
fn no_tampering_is_accepted_and_each_honest_twin_is() {
    let mut table = Table::default();
    for (what, [attack, twin]) in attacked() {
        table.judge("statement", what, &attack, twin);
    }
    attestations(&mut table);
    recalls(&mut table);
    malicious_packages(&mut table);
    let all: usize = table.0.values().sum();
    println!("{all} attacks refused, and as many honest twins accepted: {:?}", table.0);
    assert!(all >= 300 && table.0.values().all(|count| *count >= 30), "{:?}", table.0);
}

/// The subjects of attestations, and what is installed.
type Package = (fn(&str) -> Value, fn(&str) -> Artifact);

/// A byte of the digest of a version.
fn byte(version: &str) -> u8 {
    version.as_bytes()[0]
}

fn npm_subject(name: &str, version: &str) -> Value {
    json!({ "name": format!("pkg:npm/{name}@{version}"), "digest": { "sha512": format!("{:02x}", byte(version)).repeat(64) } })
}

fn npm(name: &str, version: &str) -> Artifact {
    Artifact::npm(name, version, &format!("sha512-{}", text(&[byte(version); 64]))).unwrap()
}

const PACKAGES: [Package; 3] = [
    (
        |version| json!({ "name": "a.tar.gz", "digest": { "sha256": sha256(version.as_bytes()) } }),
        |version| Artifact::Archive(sha256(version.as_bytes()).parse().unwrap()),
    ),
    (|version| npm_subject("p", version), |version| npm("p", version)),
    (|version| npm_subject("%40s/p", version), |version| npm("@s/p", version)),
];

fn attestations(table: &mut Table) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trusted_root.json");
    // What a client that has installed 1.0.0 says of these attestations of a version.
    let install = |world: &World, artifact: &Artifact, bundles: &[Value], known: Option<&Memory>| {
        std::fs::write(&file, world.trusted.borrow().to_string()).unwrap();
        let roots = TrustRoots::open(Some(&file)).map_err(|error| error.to_string())?;
        let bundles: Vec<String> = bundles.iter().map(Value::to_string).collect();
        let found = roots.check(&bundles, artifact, REPOSITORY).map_err(|error| error.to_string())?;
        let memory = known.cloned().unwrap_or_default();
        let known = memory.choose("it", found).map_err(|error| error.to_string())?;
        Ok::<_, String>(Memory { known: Some(known.ok_or("nothing attests it")?), accepts: false })
    };
    for (subject, artifact) in PACKAGES {
        let new = artifact("2.0.0");
        for (what, _, attack, twin) in CASES {
            let world = World::new(subject);
            let first = install(&world, &artifact("1.0.0"), &[world.sigstore.sign(&world.of("1.0.0"))], None).unwrap();
            let [attack, twin] = [attack, twin].map(|bundles| {
                world.trusted.borrow_mut().clone_from(&world.sigstore.root());
                let bundles = bundles(&world);
                install(&world, &new, &bundles, Some(&first)).map(drop)
            });
            table.judge("attestation", what, &attack, twin);
        }
        // Each value of a bundle is changed, left out, or taken from that of the version before.
        let world = World::new(subject);
        let [before, bundle] = ["1.0.0", "2.0.0"].map(|version| world.sigstore.sign(&world.of(version)));
        for place in leaves(&bundle, "") {
            let value = bundle.pointer(&place).unwrap();
            for other in [changed(value), Value::Null, before.pointer(&place).cloned().unwrap_or_default()] {
                if other == *value {
                    continue;
                }
                let what = format!("{other} at {place}");
                let mut forged = bundle.clone();
                *forged.pointer_mut(&place).unwrap() = other;
                let judge = |bundles: &[Value]| install(&world, &new, bundles, None).map(drop);
                let (attack, twin) = (judge(std::slice::from_ref(&forged)), judge(&[forged, bundle.clone()]));
                table.judge("bundle", &what, &attack, twin);
            }
        }
    }
}

/// The places of all texts, numbers and flags.
fn leaves(value: &Value, place: &str) -> Vec<String> {
    match value {
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| leaves(value, &format!("{place}/{name}"))).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, value)| leaves(value, &format!("{place}/{at}"))).collect()
        }
        _ => vec![place.to_owned()],
    }
}

/// The value with another byte in its middle.
fn changed(value: &Value) -> Value {
    let Some(text) = value.as_str() else { return json!(7) };
    let mut bytes = text.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'1' { b'2' } else { b'1' };
    String::from_utf8(bytes).unwrap().into()
}

fn recalls(table: &mut Table) {
    let start = |list: &Value, id: &str, version: &str| -> Verdict {
        let known = Revocations::parse(list.to_string().as_bytes()).map_err(|error| error.to_string())?;
        match known.find(id, version) {
            Some(recall) if recall.level == RevocationLevel::Revoked => Err(recall.to_string()),
            _ => Ok(()),
        }
    };
    let list = |versions: &Value, level: &Value| {
        json!({ "schema": 1, "revoked": [
        { "id": "a", "versions": versions, "level": level, "reason": "It reads keys", "since": "2026-01-31" }] })
    };
    for (versions, recalled, good) in [
        (json!("1.2.3"), &["1.2.3"][..], &["1.2.2", "1.2.4", "1.2.3-rc.1", "2.0.0"][..]),
        (json!(["1.2.3", "1.3.0"]), &["1.2.3", "1.3.0"], &["1.2.4", "0.1.0"]),
        (json!(">=1.2.0 <1.2.4"), &["1.2.0", "1.2.1", "1.2.3"], &["1.1.9", "1.2.4", "1.3.0"]),
        (json!("^1.2"), &["1.2.0", "1.9.0", "1.99.7"], &["1.1.0", "2.0.0", "0.1.2"]),
        (json!("~1.2.3"), &["1.2.3", "1.2.9"], &["1.3.0", "1.2.2"]),
        (json!("1.2.x"), &["1.2.0", "1.2.99"], &["1.3.0", "1.1.0"]),
        (json!("<1.0.0 || 2.0.0"), &["0.9.9", "2.0.0", "0.0.1"], &["1.0.0", "2.0.1"]),
        (json!(["<0.5.0", ">=3.0.0"]), &["0.4.9", "3.0.0", "9.0.0"], &["0.5.0", "2.9.9"]),
        (json!("*"), &["0.0.1", "1.0.0", "9.9.9"], &[]),
        // What cannot be understood counts for all versions of the agent.
        (json!("the newest"), &["0.1.0", "1.0.0"], &[]),
        (json!(7), &["1.0.0", "2.0.0"], &[]),
        (json!([]), &["1.0.0", "2.0.0"], &[]),
        (Value::Null, &["1.0.0", "2.0.0"], &[]),
        (json!({ "from": "1.0.0" }), &["1.0.0", "2.0.0"], &[]),
    ] {
        let list = |level: &Value| list(&versions, level);
        for (at, version) in recalled.iter().enumerate() {
            let twin = match good.get(at % good.len().max(1)) {
                Some(good) => start(&list(&json!("revoked")), "a", good),
                None => start(&list(&json!("revoked")), "b", version),
            };
            table.judge("recall", version, &start(&list(&json!("revoked")), "a", version), twin);
            // A level of the future, and one that only warns.
            let twin = start(&list(&json!("deprecated")), "b", version);
            table.judge("recall", version, &start(&list(&json!("banned")), "a", version), twin);
        }
    }
}

fn malicious_packages(table: &mut Table) {
    let range = |events: Value| json!({ "ranges": [{ "type": "SEMVER", "events": events }] });
    // An advisory that is about version 1.0.0, and one that is not.
    let about = [
        (json!({ "versions": ["1.0.0"] }), json!({ "versions": ["1.0.1"] })),
        (json!({ "versions": ["0.9.0", "1.0.0"] }), json!({ "versions": ["0.9.0"] })),
        (range(json!([{ "introduced": "0" }])), range(json!([{ "introduced": "0" }, { "fixed": "1.0.0" }]))),
        (
            range(json!([{ "introduced": "0.9.0" }, { "last_affected": "1.0.0" }])),
            range(json!([{ "introduced": "0.1.0" }, { "last_affected": "0.9.9" }])),
        ),
        (range(json!([{ "introduced": "1.0.0" }, { "fixed": "1.0.1" }])), range(json!([{ "introduced": "1.0.1" }]))),
    ];
    let digest = format!("sha512-{}==", "A".repeat(86));
    for depth in 0..7 {
        let name = |at: usize| if at == 0 { "own".to_owned() } else { format!("p{at}") };
        let env = Env::empty();
        let mut packages = json!({});
        for at in 0..=depth {
            let mut package = json!({ "version": "1.0.0", "integrity": digest });
            if at < depth {
                package["dependencies"] = json!({ name(at + 1): "1" });
            }
            packages[format!("node_modules/{}", name(at))] = package;
        }
        crate::closures::registry(&env, Some(&crate::closures::list("1.0.0", &packages)));
        env.write("r/registry.toml", "[advisories]\nsources = [\"osv.json\"]\n");
        let root = env.path("r");
        let registry = Registry::load(&root).unwrap();
        let config = Config::read(&root.join("registry.toml")).unwrap();
        let judge = |advisory: &Value| -> Verdict {
            env.write("r/osv.json", advisory.to_string());
            let (levels, hosts, advisories) =
                (Levels::default(), AllowedHosts::default(), Advisories::read(&config, &root));
            let options = CheckOptions {
                levels: &levels,
                allowed_hosts: &hosts,
                config: &config,
                survey: None,
                advisories: Some(&advisories),
            };
            let found = check(&registry, &options, &Selection::All).findings;
            found.into_iter().find(|one| one.rule.starts_with("advisory/")).map_or(Ok(()), |one| Err(one.message))
        };
        for (bad, good) in &about {
            let of = |id: &str, members: &Value| advisory(id, "npm", &name(depth), members);
            let mut alias = of("GHSA-x", bad);
            alias["aliases"] = json!(["MAL-2026-1"]);
            for attack in [of("MAL-2026-1", bad), alias] {
                table.judge(
                    "package",
                    &format!("{attack} at depth {depth}"),
                    &judge(&attack),
                    judge(&of("MAL-2026-1", good)),
                );
            }
        }
    }
}
