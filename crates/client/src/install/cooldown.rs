//! Versions that a cooldown holds back: by which setting, and until when. npm and uv decide and are asked.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use super::environment::CUTOFF;
use super::tool::{Tool, write};
use super::{Error, Installer, ToolFailure, npm, uv};
use acp_registry_host::fs::read_bounded;
use acp_registry_plan::manifest::Package;
use acp_registry_plan::text::{printable, quote};
use acp_registry_plan::timestamp::Timestamp;
use acp_registry_sources::pypi::normalized;

/// How many older versions npm is asked for, where the newest that is allowed needs a package that is not.
const OLDER: usize = 3;

/// The largest configuration file of uv that is read, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

const DAY: f64 = 86_400.0;

/// A version that npm or uv does not install because it is too new for a setting.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeldBack {
    /// The package that was to be installed, with its version.
    pub package: String,
    /// The package that is held back, with its version or range: the same one, or one that it needs.
    pub held: String,
    /// The setting, with its value and its place. Printable.
    pub setting: String,
    /// Whether the manifest sets it.
    pub is_of_manifest: bool,
    /// When the version may be installed; `None` when only another setting allows it.
    pub until: Option<Timestamp>,
    /// The newest version of the package that may be installed now, if the package manager says.
    pub newest: Option<String>,
    /// What the package manager wrote to stderr.
    pub stderr: String,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (package, held) = (quote(&self.package), quote(&self.held));
        f.write_str(&package)?;
        if held != package {
            write!(f, " needs {held}, which")?;
        }
        match self.until {
            Some(until) => write!(f, " is held back until {until} by {}", self.setting)?,
            None => write!(f, " is held back by {}, until that setting changes", self.setting)?,
        }
        self.newest.iter().try_for_each(|newest| write!(f, "; the newest version that is allowed is {newest}"))
    }
}

/// A setting that holds versions back.
#[derive(Debug, Default)]
struct Setting {
    /// Its name, value and place. Printable.
    text: String,
    value: String,
    is_of_manifest: bool,
}

/// What npm's failure means if it refers to a cooldown, and the registry has the version.
pub(super) async fn explain_npm(
    failure: &ToolFailure,
    (name, version): (&str, &str),
    npm: &Tool<'_>,
    directory: &Path,
) -> Option<HeldBack> {
    let held = failure.held_by_npm()?;
    let held_name = held.rfind('@').filter(|at| *at > 0).map_or(held, |at| &held[..at]);
    let matching = match npm.run(["view", "--json", "--no-update-notifier", "--", held, "version"]).await {
        Ok(output) => versions(&output.stdout).filter(|versions| !versions.is_empty())?,
        Err(Error::Tool(failure)) if failure.lacks_package() => return None,
        Err(_) => Vec::new(),
    };
    let listed = npm.run(["config", "ls", "--no-update-notifier"]).await.map(|output| output.stdout);
    let setting = npm_setting(&listed.unwrap_or_default());
    let days = setting.value.parse::<f64>().ok();
    let mut until = None;
    if let (Some(days), Some(first)) = (days, matching.first()) {
        let (spec, field) = (format!("{held_name}@{first}"), format!("time[{first}]"));
        let time = npm.run(["view", "--no-update-notifier", "--", &spec, &field]).await;
        until = time.ok().and_then(|output| later(output.stdout.trim().parse().ok()?, days * DAY));
    }
    Some(HeldBack {
        package: format!("{name}@{version}"),
        held: held.to_owned(),
        setting: setting.text,
        is_of_manifest: false,
        until,
        newest: newest_of_npm(name, version, npm, directory).await,
        stderr: failure.stderr.clone(),
    })
}

/// The newest version of a package that npm would install with its dependencies.
async fn newest_of_npm(name: &str, version: &str, npm: &Tool<'_>, directory: &Path) -> Option<String> {
    let place = directory.join("newest");
    let path = place.to_str()?;
    let resolve = async |wanted: &str| {
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir(&place).ok()?;
        write(&place.join("package.json"), &npm::manifest(name, wanted, true)).ok()?;
        let flags = ["--package-lock=true", "--package-lock-only", "--ignore-scripts", "--prefix", path];
        npm.run(["install"].iter().chain(&npm::OWN).chain(&flags)).await.ok()?;
        let list: Value = serde_json::from_slice(&std::fs::read(place.join("package-lock.json")).ok()?).ok()?;
        let found = list["packages"][format!("node_modules/{name}")]["version"].as_str()?.to_owned();
        semver::Version::parse(&found).is_ok().then_some(found)
    };
    if let Some(newest) = resolve("*").await {
        return Some(newest);
    }
    let all = npm.run(["view", "--json", "--no-update-notifier", "--", name, "versions"]).await.ok()?;
    let wanted = semver::Version::parse(version).ok()?;
    let parsed = versions(&all.stdout)?.into_iter().filter_map(|text| semver::Version::parse(&text).ok());
    let mut older: Vec<_> = parsed.filter(|one| *one < wanted && one.pre.is_empty()).collect();
    older.sort_unstable_by(|a, b| b.cmp(a));
    for version in older.into_iter().take(OLDER) {
        if let Some(newest) = resolve(&version.to_string()).await {
            return Some(newest);
        }
    }
    None
}

/// The versions in an answer of `npm view --json`: one text, or a list.
fn versions(answer: &str) -> Option<Vec<String>> {
    match serde_json::from_str(answer).ok()? {
        Value::String(version) => Some(vec![version]),
        Value::Array(list) => Some(list.iter().filter_map(|one| one.as_str().map(ToOwned::to_owned)).collect()),
        _ => None,
    }
}

/// The cooldown in the answer of `npm config ls`, which begins with the sources that count least. In one source, `before`
/// counts for more.
fn npm_setting(listed: &str) -> Setting {
    let unknown = "npm's setting `before` or `min-release-age`".to_owned();
    let mut found = Setting { text: unknown, ..Setting::default() };
    let (mut source, mut place, mut day_from) = ("", "", "");
    for line in listed.lines() {
        if let Some((name, path)) = line.strip_prefix("; \"").and_then(|line| line.split_once("\" config from ")) {
            (source, place) = (name, path);
            continue;
        }
        let Some((key @ ("before" | "min-release-age"), value)) = line.split_once(" = ") else { continue };
        let value = value.trim_matches('"');
        if value == "null" || (key == "min-release-age" && day_from == source) {
            continue;
        }
        if key == "before" {
            day_from = source;
        }
        let text = if source == "env" {
            format!("the variable {}", quote(&format!("npm_config_{}={value}", key.replace('-', "_"))))
        } else {
            format!("{} in {}", quote(&format!("{key}={value}")), printable(place))
        };
        found = Setting { text, value: value.to_owned(), is_of_manifest: false };
    }
    found
}

/// What uv's failure means if it would install the package without a cooldown.
pub(super) async fn explain_uv(
    failure: &ToolFailure,
    wanted: &Package,
    uv: &Tool<'_>,
    directory: &Path,
    installer: &Installer,
) -> Option<HeldBack> {
    if !failure.lacks_package() {
        return None;
    }
    let (package, name) = (uv::exact(&wanted.package).ok()?, uv::parse(&wanted.package).ok()?.name);
    let hint = if let Some(hint) = Hint::parse(&failure.unfolded()) {
        hint
    } else {
        // Older versions of uv do not give the reason.
        let key = "exclude-newer";
        uv_setting(key, &name, wanted, installer)?;
        write(&directory.join("wanted.txt"), &package).ok()?;
        let flags = ["pip", "compile", "--quiet", "--exclude-newer", "9000-01-01T00:00:00Z"];
        uv.run(flags.iter().chain(uv::build_flags(installer)).chain(&["wanted.txt"])).await.ok()?;
        Hint { name: normalized(&name), key: key.to_owned(), ..Hint::default() }
    };
    let unknown = || Setting { text: format!("uv's setting {}", quote(&hint.key)), ..Setting::default() };
    let setting = uv_setting(&hint.key, &hint.name, wanted, installer).unwrap_or_else(unknown);
    // uv gives the end of an age as of now.
    let cutoff = hint.cutoff.filter(|_| !setting.value.is_empty() && !is_day(&setting.value));
    let age = cutoff.map(|cutoff| seconds_between(cutoff, Timestamp::now()));
    let held = match hint.version {
        _ if hint.name == normalized(&name) => package.clone(),
        Some(version) => format!("{}=={version}", hint.name),
        None => hint.name,
    };
    Some(HeldBack {
        package,
        held,
        setting: setting.text,
        is_of_manifest: setting.is_of_manifest,
        until: hint.published.zip(age).and_then(|(published, age)| later(published, age)),
        newest: uv::newest(&name, &[], directory, uv, installer).await,
        stderr: failure.stderr.clone(),
    })
}

/// What uv says of a package that a cooldown has filtered.
#[derive(Debug, Default, PartialEq)]
struct Hint {
    name: String,
    key: String,
    cutoff: Option<Timestamp>,
    version: Option<String>,
    published: Option<Timestamp>,
}

impl Hint {
    fn parse(text: &str) -> Option<Self> {
        let (before, rest) = text.split_once("` was filtered by `")?;
        let (key, rest) = rest.split_once("` to only include packages uploaded before ")?;
        let first = |text: &str| text.split(' ').next().unwrap_or_default().trim_end_matches('.').to_owned();
        let version = rest.split_once(". The requested version, v").and_then(|(_, rest)| rest.split_once(','));
        let published = version.and_then(|(_, rest)| rest.strip_prefix(" was published at "));
        Some(Self {
            name: before.rsplit('`').next()?.to_owned(),
            key: key.to_owned(),
            cutoff: first(rest).parse().ok(),
            version: version.map(|(version, _)| version.to_owned()),
            published: published.and_then(|rest| first(rest).parse().ok()),
        })
    }
}

/// Where a setting of uv with this name is: a variable, its configuration file, or the manifest.
fn uv_setting(key: &str, held: &str, wanted: &Package, installer: &Installer) -> Option<Setting> {
    let of = |name: &str| installer.uv.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let setting = |text, value: &str| Setting { text, value: value.to_owned(), is_of_manifest: false };
    if key == "exclude-newer" {
        if let Some(value) = of(CUTOFF) {
            return Some(setting(format!("the variable {}", quote(&format!("{CUTOFF}={value}"))), value));
        }
        if let (Some(day), None) = (&wanted.exclude_newer, read_uv_setting(key, installer)) {
            let text = format!("{} of its manifest", quote(&format!("exclude_newer: {day}")));
            return Some(Setting { text, value: day.clone(), is_of_manifest: true });
        }
    }
    let value = read_uv_setting(key, installer)?;
    let value = value.get(held).cloned().unwrap_or(value);
    let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    let place = printable(of("UV_CONFIG_FILE")?).into_owned();
    Some(setting(format!("{} in {place}", quote(&format!("{key}={value}"))), &value))
}

/// A value in the configuration file of uv.
pub(super) fn read_uv_setting(key: &str, installer: &Installer) -> Option<toml::Value> {
    let (_, path) = installer.uv.iter().find(|(name, _)| name == "UV_CONFIG_FILE")?;
    let path = Path::new(path).canonicalize().ok()?;
    let text = String::from_utf8(read_bounded(&path, &path, FILE_LIMIT).ok()?).ok()?;
    text.parse::<toml::Table>().ok()?.remove(key)
}

/// Whether a cutoff is a day or a time, not an age such as `7 days` or `P7D`.
fn is_day(value: &str) -> bool {
    value.len() > 4 && value.as_bytes()[..4].iter().all(u8::is_ascii_digit) && value.as_bytes()[4] == b'-'
}

#[expect(clippy::cast_precision_loss, reason = "a time has seconds")]
fn seconds_between(from: Timestamp, to: Timestamp) -> f64 {
    (to.unix() - from.unix()) as f64
}

#[expect(clippy::cast_possible_truncation, reason = "what is too large is no time")]
fn later(time: Timestamp, seconds: f64) -> Option<Timestamp> {
    Timestamp::from_unix(time.unix().checked_add(seconds.ceil() as i64)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_npm_that_counts_is_found_with_its_place() {
        let user = "; \"user\" config from /home/u/.npmrc\n\n";
        let env = "; \"env\" config from environment\n\n";
        let unknown = "npm's setting `before` or `min-release-age`";
        for (listed, expected, value) in [
            (format!("{user}min-release-age = 7\nregistry = \"x\"\n"), "`min-release-age=7` in /home/u/.npmrc", "7"),
            (
                format!("{user}; min-release-age = 7 ; overridden by env\n\n{env}min-release-age = 0.5\n"),
                "the variable `npm_config_min_release_age=0.5`",
                "0.5",
            ),
            (
                format!("{user}before = \"2026-11-01\"\nmin-release-age = 7\n"),
                "`before=2026-11-01` in /home/u/.npmrc",
                "2026-11-01",
            ),
            (
                format!("{user}before = \"2026-11-01\"\n{env}min-release-age = 7\n"),
                "the variable `npm_config_min_release_age=7`",
                "7",
            ),
            (format!("{user}before = null\n"), unknown, ""),
            (String::new(), unknown, ""),
        ] {
            let found = npm_setting(&listed);
            assert_eq!((found.text.as_str(), found.value.as_str()), (expected, value), "{listed}");
        }
    }

    #[test]
    fn the_hint_of_uv_names_package_setting_and_times() {
        let text = "error: No solution found when resolving dependencies cause: Because there is no version of q==1.1 and you \
                    require p==1, we can conclude that your requirements are unsatisfiable. hint: `q` was filtered by \
                    `exclude-newer` to only include packages uploaded before 2026-11-18T04:43:24.43Z. The requested version, \
                    v1.1, was published at 2026-11-24T04:43:24Z. Consider using `exclude-newer-package` to override";
        let hint = Hint::parse(text).unwrap();
        assert_eq!(
            (hint.name.as_str(), hint.key.as_str(), hint.version.as_deref()),
            ("q", "exclude-newer", Some("1.1"))
        );
        assert_eq!(hint.cutoff, "2026-11-18T04:43:24Z".parse().ok());
        assert_eq!(hint.published, "2026-11-24T04:43:24Z".parse().ok());
        let undated = "hint: `q` was filtered by `exclude-newer-package` to only include packages uploaded before \
                       2026-11-18T04:43:24Z. Consider removing";
        let hint = Hint::parse(undated).unwrap();
        assert_eq!((hint.key.as_str(), hint.version, hint.published), ("exclude-newer-package", None, None));
        assert_eq!(Hint::parse("hint: `q` was not found"), None);
    }

    #[test]
    fn a_version_that_waits_is_said_with_setting_and_time() {
        let mut held = HeldBack {
            package: "p@1.1.0".to_owned(),
            held: "p@1.1.0".to_owned(),
            setting: "`min-release-age=7` in /home/u/.npmrc".to_owned(),
            is_of_manifest: false,
            until: later("2026-11-24T04:43:24Z".parse().unwrap(), 7.0 * DAY),
            newest: Some("1.0.0".to_owned()),
            stderr: String::new(),
        };
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` is held back until 2026-12-01T04:43:24Z by `min-release-age=7` in /home/u/.npmrc; the newest version \
             that is allowed is 1.0.0"
        );
        (held.held, held.until, held.newest) = ("q\u{1b}@^1".to_owned(), None, None);
        assert_eq!(
            held.to_string(),
            "`p@1.1.0` needs `q\\u{1b}@^1`, which is held back by `min-release-age=7` in /home/u/.npmrc, until that setting \
             changes"
        );
    }

    #[test]
    fn a_day_is_no_age() {
        for day in ["2026-11-18", "2026-11-18T00:00:00Z"] {
            assert!(is_day(day), "{day}");
        }
        for age in ["", "7 days", "P7D", "1 week", "2026"] {
            assert!(!is_day(age), "{age}");
        }
    }
}
