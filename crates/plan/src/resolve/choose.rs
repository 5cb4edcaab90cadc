//! Chooses one plan from the offers.

use super::{Error, Host, Offer, OfferOrigin, Plan};
use crate::manifest::{AgentId, Platform, Version, env_name};
use crate::resolve::{Expected, Kind, Source};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOptions {
    /// The agent.
    pub id: AgentId,
    /// Its version; `None` for that of the index.
    pub version: Option<String>,
    /// The kind of distribution; `None` for the best one.
    pub kind: Option<Kind>,
    /// The platform; `None` for the host's.
    pub platform: Option<Platform>,
}

impl PlanOptions {
    /// The agent in the version of the index, by the best kind of distribution for this machine.
    #[must_use]
    pub fn new(id: AgentId) -> Self {
        Self { id, version: None, kind: None, platform: None }
    }
}

/// Chooses among offers; the first one when no version is asked for.
///
/// If no kind is asked for, an archive for the platform comes first, then `npx`, then `uvx`, each only if the programs
/// that it needs are installed. On machines without the usual loader for Linux programs, packages come before archives.
///
/// # Errors
/// [`Error`].
pub fn resolve(offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Result<Plan, Error> {
    let offer = pick(offers, wanted)?;
    let (id, version) = (&wanted.id, &offer.version);
    let kinds = wanted.kind.map_or_else(|| order(host), |kind| vec![kind]);
    let declared: Vec<(Kind, Option<Source>)> =
        kinds.iter().filter_map(|kind| Some((*kind, source(*kind, &offer, wanted, host)?))).collect();
    if declared.is_empty()
        && let Some(kind) = wanted.kind
    {
        let (id, version) = (id.to_string(), version.clone());
        return Err(Error::NoSuchKind { id, version, kind, offered: offered_kinds(&offer) });
    }
    let made: Vec<(Kind, Source)> = declared.into_iter().filter_map(|(kind, source)| Some((kind, source?))).collect();
    if made.is_empty() {
        let platform = wanted.platform.or(host.platform).map_or("this system", Platform::as_str).to_owned();
        let (id, version) = (id.to_string(), version.clone());
        let offered = offer.distribution.binary.iter().map(|target| target.platform.clone()).collect();
        let mut packages = offered_kinds(&offer);
        packages.retain(|kind| *kind != Kind::Binary);
        return Err(Error::UnsupportedPlatform { id, version, platform, offered, packages });
    }
    let lacks = |kind: Kind| host.lacks(kind).map(|(program, remedy)| (kind, program, remedy));
    let lacking = made.iter().filter_map(|(kind, _)| lacks(*kind)).collect();
    let Some((kind, source)) = made.into_iter().find(|(kind, _)| host.lacks(*kind).is_none()) else {
        return Err(Error::MissingRuntime { id: id.to_string(), lacking });
    };
    let is_bad = |(name, value): &&(String, String)| env_name::problem(name).is_some() || value.contains('\0');
    if let Some((name, _)) = source.variables().iter().find(is_bad) {
        return Err(Error::ReservedVariable { id: id.to_string(), name: name.clone() });
    }
    let platform = match &source {
        Source::Binary(target) => target.platform.parse().ok(),
        Source::Npx(_) | Source::Uvx(_) => wanted.platform.or(host.platform),
    };
    let key = match &source {
        Source::Binary(target) => target.platform.as_str(),
        Source::Npx(_) | Source::Uvx(_) => kind.as_str(),
    };
    let expected = offer.expected.iter().find(|(known, _)| known == key).map(|(_, expected)| expected.clone());
    Ok(Plan {
        id: id.clone(),
        version: version.clone(),
        platform,
        expected: expected.unwrap_or_else(Expected::default),
        is_kind_wanted: wanted.kind.is_some(),
        origin: offer.origin,
        index_sha256: offer.index_sha256.clone(),
        repository: offer.repository.clone(),
        source,
    })
}

/// The offer of the wanted version: the installed or locked one, or else the index's offer with its packages in that
/// version.
///
/// # Errors
/// [`Error::UnknownVersion`].
pub fn pick(offers: &[Offer], wanted: &PlanOptions) -> Result<Offer, Error> {
    let known = || offers.iter().map(|offer| offer.version.clone()).collect::<Vec<_>>();
    let unknown = |version: &str, has_packages| {
        let (id, version, mut known) = (wanted.id.to_string(), version.to_owned(), known());
        known.sort_unstable();
        known.dedup();
        Error::UnknownVersion { id, version, known, has_packages }
    };
    let Some(version) = &wanted.version else {
        return offers.first().cloned().ok_or_else(|| unknown("", false));
    };
    let is_declared = |offer: &&Offer| wanted.kind.is_none_or(|kind| declares(offer, kind));
    let exact = || offers.iter().filter(|offer| Version::is_same(&offer.version, version));
    if let Some(offer) = exact().find(is_declared).or_else(|| exact().next()) {
        return Ok(offer.clone());
    }
    let of_index = offers.iter().find(|offer| offer.origin == OfferOrigin::Index);
    let packages = of_index.map(|offer| offer.in_version(version));
    let has_packages =
        of_index.is_some_and(|offer| offer.distribution.npx.is_some() || offer.distribution.uvx.is_some());
    let other = packages.filter(|offer| offer.distribution.npx.is_some() || offer.distribution.uvx.is_some());
    other.ok_or_else(|| unknown(version, has_packages))
}

fn declares(offer: &Offer, kind: Kind) -> bool {
    match kind {
        Kind::Npx => offer.distribution.npx.is_some(),
        Kind::Uvx => offer.distribution.uvx.is_some(),
        Kind::Binary => !offer.distribution.binary.is_empty(),
    }
}

fn order(host: &Host) -> Vec<Kind> {
    if host.lacks_glibc { vec![Kind::Npx, Kind::Uvx, Kind::Binary] } else { vec![Kind::Binary, Kind::Npx, Kind::Uvx] }
}

/// What an offer names for a kind: `None` when it does not declare it, and `Some(None)` when it does, but not for the
/// platform.
#[expect(clippy::option_option, reason = "these are three cases, each used once")]
fn source(kind: Kind, offer: &Offer, wanted: &PlanOptions, host: &Host) -> Option<Option<Source>> {
    let platform = wanted.platform.or(host.platform);
    let of = |platform| kind.source(&offer.distribution, platform).ok().flatten();
    if !declares(offer, kind) {
        return None;
    }
    let emulated = if wanted.platform.is_none() { host.emulated } else { None };
    Some(of(platform).or_else(|| of(Some(emulated?))))
}

/// The kinds of distribution that an offer has.
fn offered_kinds(offer: &Offer) -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| declares(offer, *kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Agent;
    use serde_json::{Value, json};

    fn host() -> Host {
        let platform = Some(Platform::LinuxX8664);
        Host { platform, emulated: None, lacks_glibc: false, has_npm: true, has_uv: true }
    }

    fn agent(distribution: &Value) -> Vec<Offer> {
        let agent = json!({ "id": "a", "version": "1.2.0", "distribution": distribution,
            "preview": { "version": "1.3.0-preview.1", "distribution": { "npx": { "package": "p@1.3.0-preview.1" } } } });
        Offer::from_agent(&Agent::from_json(&agent), "digest")
    }

    fn everything() -> Value {
        json!({
            "binary": { "linux-x86_64": { "archive": "https://h/l" }, "darwin-x86_64": { "archive": "https://h/d" } },
            "npx": { "package": "p@1.2.0", "args": ["--acp"] }, "uvx": { "package": "p[x]==1.2.0" },
        })
    }

    fn name(offers: &[Offer], wanted: &PlanOptions, host: &Host) -> Result<String, String> {
        let plan = resolve(offers, wanted, host).map_err(|error| error.to_string())?;
        Ok(format!("{} {}", plan.version, plan.source.name()))
    }

    fn wanted(version: Option<&str>, kind: Option<Kind>, platform: Option<Platform>) -> PlanOptions {
        PlanOptions { id: "a".parse().unwrap(), version: version.map(ToOwned::to_owned), kind, platform }
    }

    #[test]
    fn the_best_that_can_run_is_chosen() {
        let offers = agent(&everything());
        let plain = wanted(None, None, None);
        let choose = |host: &Host| name(&offers, &plain, host).unwrap();
        assert_eq!(choose(&host()), "1.2.0 https://h/l");
        assert_eq!(choose(&Host { lacks_glibc: true, ..host() }), "1.2.0 p@1.2.0");
        assert_eq!(choose(&Host { lacks_glibc: true, has_npm: false, has_uv: false, ..host() }), "1.2.0 https://h/l");
        let arm = Host { platform: Some(Platform::DarwinAarch64), ..host() };
        assert_eq!(choose(&arm), "1.2.0 p@1.2.0");
        assert_eq!(choose(&Host { has_npm: false, ..arm.clone() }), "1.2.0 p[x]==1.2.0");
        assert_eq!(choose(&Host { emulated: Some(Platform::DarwinX8664), ..arm }), "1.2.0 https://h/d");
        assert_eq!(choose(&Host { platform: None, ..host() }), "1.2.0 p@1.2.0");
    }

    #[test]
    fn what_is_missing_is_named() {
        let offers = agent(&everything());
        let bare = Host { platform: Some(Platform::WindowsX8664), has_npm: false, has_uv: false, ..host() };
        let error = name(&offers, &wanted(None, None, None), &bare).unwrap_err();
        assert_eq!(error, "`a` needs npm or uv, which are not in PATH");
        let error = resolve(&offers, &wanted(None, Some(Kind::Binary), None), &bare).unwrap_err();
        let told = "`a` 1.2.0 is not made for windows-x86_64; its archives are for `linux-x86_64, darwin-x86_64`";
        assert_eq!(error.to_string(), told);
        assert!(error.remedy().unwrap().ends_with(", with `--dist npx`"));
        let only_npx = agent(&json!({ "npx": { "package": "p@1.2.0" } }));
        let error = name(&only_npx, &wanted(None, Some(Kind::Uvx), None), &host()).unwrap_err();
        assert_eq!(error, "`a` 1.2.0 has no distribution uvx; it has `npx`");
        let only_archives = agent(&json!({ "binary": everything()["binary"] }));
        let error = name(&only_archives, &wanted(None, Some(Kind::Uvx), None), &host()).unwrap_err();
        assert_eq!(error, "`a` 1.2.0 has no distribution uvx; it has `binary`");
        let error = name(&only_archives, &wanted(None, None, None), &bare).unwrap_err();
        assert!(error.ends_with("windows-x86_64; its archives are for `linux-x86_64, darwin-x86_64`"), "{error}");
        let error = resolve(&agent(&json!({})), &wanted(None, None, None), &host()).unwrap_err();
        assert_eq!(error.to_string(), "the entry of `a` 1.2.0 in the index has no distribution that can be used");
        assert!(error.remedy().is_some());
        let foreign = wanted(None, None, Some(Platform::DarwinX8664));
        assert_eq!(name(&offers, &foreign, &bare).unwrap(), "1.2.0 https://h/d");
    }

    #[test]
    fn other_versions_are_those_of_packages_or_known() {
        let offers = agent(&everything());
        let choose = |version| name(&offers, &wanted(Some(version), None, None), &host());
        assert_eq!(choose("1.2.0").unwrap(), "1.2.0 https://h/l");
        assert_eq!(choose("1.1.0").unwrap(), "1.1.0 p@1.1.0");
        assert_eq!(choose("1.3.0-preview.1").unwrap(), "1.3.0-preview.1 p@1.3.0-preview.1");
        for odd in ["latest", "^1", "1.1.0 --x", "git+https://evil.example", ""] {
            let error = choose(odd).unwrap_err();
            assert!(error.contains("is not known") && error.ends_with("a version has all its numbers"), "{error}");
        }
        let binary = agent(&json!({ "binary": { "linux-x86_64": { "archive": "https://h/l" } } }));
        let old = wanted(Some("1.1.0"), None, None);
        let error = resolve(&binary, &old, &host()).unwrap_err();
        assert!(error.remedy().unwrap().ends_with(", with --locked"), "{error}");
        let mut with_lock = binary.clone();
        let mut locked = binary[0].clone();
        (locked.version, locked.origin) = ("1.1.0".to_owned(), OfferOrigin::Lock);
        locked.expected =
            vec![("linux-x86_64".to_owned(), Expected { sha256: Some("d".into()), ..Expected::default() })];
        with_lock.push(locked);
        let plan = resolve(&with_lock, &old, &host()).unwrap();
        assert_eq!((plan.origin, plan.expected.sha256.as_deref()), (OfferOrigin::Lock, Some("d")));
        // The package has a version of its own.
        let own = agent(&json!({ "npx": { "package": "p@9.0.0" } }));
        assert!(name(&own, &old, &host()).unwrap_err().contains("is another one than the agent's"));
    }

    #[test]
    fn no_manifest_sets_what_decides_what_runs() {
        let offers = agent(&json!({ "npx": { "package": "p@1.2.0", "env": { "node_options": "--require /x" } } }));
        let error = name(&offers, &wanted(None, None, None), &host()).unwrap_err();
        assert_eq!(
            error,
            "`a` is refused: its manifest sets `node_options`, which belongs to the system or to another program"
        );
    }

    #[test]
    fn folders_differ_where_the_bytes_may() {
        let plan = |version: Option<&str>, kind| {
            resolve(&agent(&everything()), &wanted(version, kind, None), &host()).unwrap().folder()
        };
        let folders =
            [plan(None, None), plan(None, Some(Kind::Npx)), plan(None, Some(Kind::Uvx)), plan(Some("1.2.1"), None)];
        let different: std::collections::BTreeSet<_> = folders.iter().collect();
        assert_eq!(different.len(), 4);
        assert!(folders[0].starts_with("1.2.0-") && folders[0].len() == 18, "{}", folders[0]);
    }
}
