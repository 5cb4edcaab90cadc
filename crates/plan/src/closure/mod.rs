//! Closures: a package with all that it needs, in the forms of npm and uv, with a digest of each.
//!
//! They come from the checkouts of strangers and from hosts, and their forms can name files, addresses and options: only
//! names, versions and digests are accepted.

mod npm;
mod published;

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pep440_rs::Version as PypiVersion;

use crate::digest::Sha256;
use crate::json;
use crate::manifest::{NpmSpec, Pin, PypiSpec, escape_segment, normalized};
use crate::text::quote;
pub use npm::{NodeMachine, NpmLock, NpmLockPackage, ScriptedPackage, package_folder};
pub use published::{
    CLOSURE_LIMIT, CLOSURES, Closures, EARLIER_CLOSURES, EarlierClosures, PublishedClosure, WrongClosure, file_name,
    with_python,
};

/// The digest in an integrity value of npm, if it is one SHA-512 and nothing else. npm verifies nothing by a value that it
/// cannot read, and accepts bytes that match any of several values.
#[must_use]
pub fn sha512(integrity: &str) -> Option<[u8; 64]> {
    BASE64_STANDARD.decode(integrity.strip_prefix("sha512-")?).ok()?.try_into().ok()
}

impl NpmLockPackage {
    /// Whether the registry has this package. npm takes `NAME@VERSION` for an address where the name or the version is one.
    fn is_of_registry(&self, path: &str) -> bool {
        let folder = package_folder(path);
        let spec = |name: &str| format!("{name}@{}", self.version.as_deref().unwrap_or_default()).parse::<NpmSpec>();
        let is_exact = |name: &str| spec(name).is_ok_and(|spec| matches!(spec.pin, Pin::Exact(_)));
        is_exact(folder) && self.name.as_deref().is_none_or(is_exact)
    }

    /// Whether its archive, whose digest is known, has other packages in it.
    fn is_bundle(&self) -> bool {
        self.integrity.is_some() && self.bundle_dependencies.as_array().is_some_and(|names| !names.is_empty())
    }

    /// Whether all dependencies are ranges of versions. npm fetches other ones to see which version they have.
    fn has_ranges(&self) -> bool {
        let all = self.dependencies.values().chain(self.optional_dependencies.values());
        all.chain(self.peer_dependencies.values()).all(|range| is_range(range))
    }
}

/// Whether a dependency names versions, perhaps of a package with another name, and no address or file.
fn is_range(text: &str) -> bool {
    if let Some(alias) = text.strip_prefix("npm:") {
        return alias.parse::<NpmSpec>().is_ok();
    }
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " ^~<>=*.|-+_".contains(c));
    let is_file = text.starts_with('.')
        || [".tgz", ".tar.gz", ".tar"].iter().any(|ending| text.to_ascii_lowercase().ends_with(ending));
    is_plain && !is_file
}

/// Checks a list for npm: every package lies below `node_modules`, has one SHA-512 digest or is part of a package that has
/// one, and comes from the package registry. npm itself refuses a part that the archive of that package lacks.
///
/// # Errors
/// What is wrong, and where, as a sentence.
pub fn check_npm(list: &str) -> Result<(), String> {
    read_npm(list).map(|_| ())
}

/// Reads a list for npm, and checks it.
fn read_npm(list: &str) -> Result<NpmLock, String> {
    let unreadable = |error: serde_json::Error| format!("it cannot be read: {error}");
    json::check_count(list.as_bytes()).map_err(unreadable)?;
    let lock: NpmLock = serde_json::from_str(list).map_err(unreadable)?;
    for (path, package) in lock.packages.iter().filter(|(path, _)| !path.is_empty()) {
        let problem = if !npm::is_place(path) {
            "is not below `node_modules`"
        } else if package.resolved.is_some() || package.link.is_some() {
            "has an address of its own"
        } else if !package.is_of_registry(path) {
            "has no version of the package registry"
        } else if !package.has_ranges() {
            "depends on an address"
        } else if let Some(integrity) = &package.integrity {
            let Err(problem) = check_integrity(integrity) else { continue };
            let place = quote(&format!("/packages/{}/integrity", escape_segment(path)));
            return Err(format!("at {place}, {problem}"));
        } else if package.in_bundle {
            let mut above = npm::parents(path).filter_map(|path| lock.packages.get(path));
            if above.any(NpmLockPackage::is_bundle) {
                continue;
            }
            "is in the bundle of no package, and has no integrity value"
        } else {
            "has no integrity value"
        };
        return Err(format!("the npm package {} {problem}", quote(path)));
    }
    Ok(lock)
}

/// Checks that a list for npm has a package with this integrity value. Of two values, one would prove nothing.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_same(list: &str, name: &str, integrity: &str) -> Result<(), String> {
    let NpmLock { packages } = serde_json::from_str(list).map_err(|error| format!("it cannot be read: {error}"))?;
    let listed = packages.get(&format!("node_modules/{name}")).and_then(|package| package.integrity.as_deref());
    if listed == Some(integrity) {
        return Ok(());
    }
    Err(format!("{} is not the integrity value of {} in `packages`", quote(integrity), quote(name)))
}

/// Checks that a list for npm has a package in the version that a manifest names.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_version(list: &str, spec: &NpmSpec) -> Result<(), String> {
    let wanted = if let Pin::Exact(version) = &spec.pin { Some(version.clone()) } else { None };
    let found =
        serde_json::from_str(list).ok().and_then(|lock: NpmLock| lock.version(&spec.name).map(ToOwned::to_owned));
    if wanted.is_none() || found == wanted {
        return Ok(());
    }
    let found = found.map_or_else(|| "none".to_owned(), |version| quote(&version));
    Err(format!("the version of {} in it is {found}", quote(&spec.name)))
}

/// Checks that a list for uv has a package in the version that a manifest names.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_requirement(list: &str, package: &str) -> Result<(), String> {
    let is_exact = package.parse().is_ok_and(|spec: PypiSpec| matches!(spec.pin, Pin::Exact(_)));
    if !is_exact || has_requirement(list, package) {
        return Ok(());
    }
    Err(format!("it is not of {}", quote(package)))
}

/// Whether a list for uv has a package in its version, as a manifest names it, and in no other: of several lines, uv chooses
/// one by their markers.
fn has_requirement(list: &str, package: &str) -> bool {
    let Ok(PypiSpec { name: wanted, pin: Pin::Exact(pin), .. }) = package.parse::<PypiSpec>() else { return false };
    let read = |version: &str| version.parse::<PypiVersion>().ok();
    let is_pin = |version: &str| version == pin || read(version).is_some_and(|version| read(&pin) == Some(version));
    let mut own = listed(list).filter(|(name, _)| normalized(name) == normalized(&wanted)).peekable();
    own.peek().is_some() && own.all(|(_, version)| is_pin(&version))
}

/// The packages of a list for uv: names, without extras, and versions. [`check_uv`] accepts only lists of which this reads
/// every line.
pub fn listed(list: &str) -> impl Iterator<Item = (String, String)> {
    uv_lines(list).into_iter().filter_map(|line| read_requirement(line.split(HASH).next()?))
}

/// The digests that a list for uv has of a package.
#[must_use]
pub fn digests(list: &str, package: &str) -> BTreeSet<Sha256> {
    let lines = uv_lines(list).into_iter().filter(|line| names_package(line, package));
    lines.flat_map(|line| line.split(HASH).skip(1).filter_map(digest).collect::<Vec<_>>()).collect()
}

/// A list for uv in which a package has only these digests.
#[must_use]
pub fn retain_digests(list: &str, package: &str, kept: &BTreeSet<Sha256>) -> String {
    let line = |line: String| {
        let (is_own, mut parts) = (names_package(&line, package), line.split(HASH));
        let head = parts.next().unwrap_or_default().trim_end().to_owned();
        let is_kept = |part: &&str| !is_own || digest(part).is_some_and(|digest| kept.contains(&digest));
        parts.filter(is_kept).fold(head, |line, part| line + HASH + part.trim()) + "\n"
    };
    uv_lines(list).into_iter().map(line).collect()
}

/// Whether a line of a list for uv is of a package.
fn names_package(line: &str, package: &str) -> bool {
    let found = line.split(HASH).next().and_then(read_requirement);
    found.is_some_and(|(name, _)| normalized(&name) == normalized(package))
}

fn digest(text: &str) -> Option<Sha256> {
    text.trim().strip_prefix("sha256:")?.parse().ok()
}

/// What stands before each digest in a list for uv.
const HASH: &str = " --hash=";

/// The lines of a list for uv, without comments. A backslash continues a line.
fn uv_lines(list: &str) -> Vec<String> {
    let list = list.replace("\r\n", "\n").replace("\\\n", " ");
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(ToOwned::to_owned).collect()
}

/// Checks a list for uv: every line is a package in one version with SHA-256 digests, without options or addresses.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_uv(list: &str) -> Result<(), String> {
    // uv ends lines, and so comments, at a lone carriage return as well.
    let text = list.replace("\r\n", "\n");
    if let Some(control) = text.chars().find(|c| c.is_control() && !['\n', '\t'].contains(c)) {
        return Err(format!("it has the control character {}", quote(&control.to_string())));
    }
    for line in uv_lines(list) {
        let mut parts = line.split(HASH).map(str::trim);
        let is_package = parts.next().is_some_and(|text| read_requirement(text).is_some());
        let digests: Vec<&str> = parts.collect();
        if !is_package || digests.is_empty() || !digests.iter().all(|text| digest(text).is_some()) {
            let shown: String = line.chars().take(100).collect();
            return Err(format!("the line {} is not `NAME==VERSION --hash=sha256:…`", quote(&shown)));
        }
    }
    Ok(())
}

/// Checks the integrity value of an npm package.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_integrity(integrity: &str) -> Result<(), String> {
    if sha512(integrity).is_some() { Ok(()) } else { Err(format!("{} is not one SHA-512 digest", quote(integrity))) }
}

/// Checks the version of Python that a list is for: numbers with dots between them.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check_python(version: &str) -> Result<(), String> {
    let is_version = version.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version { Ok(()) } else { Err(format!("{} is not a version of Python", quote(version))) }
}

/// Reads `NAME[EXTRAS]==VERSION`, perhaps with a marker. uv would replace `${…}` by variables.
fn read_requirement(text: &str) -> Option<(String, String)> {
    let (package, marker) = text.split_once(';').unwrap_or((text, ""));
    let package = package.trim();
    let (name, version) = package.split_once("==")?;
    let is_word = |text: &str, more: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let is_plain = is_word(name, "._-[,]") && is_word(version, "._-+!") && !marker.contains(['$', '`', '\\']);
    match package.parse().ok()? {
        PypiSpec { name, pin: Pin::Exact(version), .. } if is_plain => Some((name, version)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_keeps_some_of_its_digests_and_the_others_all() {
        let [a, b] = ["a0", "b1"].map(|byte| byte.repeat(32));
        let list = format!(
            "# python 3.13\nq==1.0 ; python_version < '3.12' \\\n    --hash=sha256:{a} \\\n    --hash=sha256:{b}\nMy_Q==1.0 --hash=sha256:{b}\n"
        );
        let digest = |text: &str| text.parse::<Sha256>().unwrap();
        assert_eq!(digests(&list, "Q"), BTreeSet::from([digest(&a), digest(&b)]));
        assert_eq!(digests(&list, "my-q"), BTreeSet::from([digest(&b)]));
        let kept = retain_digests(&list, "q", &BTreeSet::from([digest(&b)]));
        let expected = format!("q==1.0 ; python_version < '3.12' --hash=sha256:{b}\nMy_Q==1.0 --hash=sha256:{b}\n");
        assert_eq!((kept, check_uv(&expected)), (expected, Ok(())));
    }

    #[test]
    fn one_whole_sha512_is_a_proof_and_nothing_else() {
        let encode = |length: usize| BASE64_STANDARD.encode(vec![7; length]);
        let good = format!("sha512-{}", encode(64));
        assert!(sha512(&good).is_some());
        for bad in [
            String::new(),
            " ".to_owned(),
            encode(64),
            "sha512-".to_owned(),
            "sha512-!!!!".to_owned(),
            format!("sha512-{}", encode(63)),
            format!("sha512-{}", encode(65)),
            format!("SHA512-{}", encode(64)),
            format!("sha1-{}", encode(20)),
            format!("sha256-{}", encode(32)),
            format!("sha256-{}", encode(64)),
            format!("{good}?x=y"),
            format!(" {good}"),
            format!("{good} {good}"),
            good[..good.len() - 2].to_owned(),
        ] {
            assert!(sha512(&bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn npm_gets_names_versions_and_digests() {
        let digest = format!("sha512-{}==", "A".repeat(86));
        let list = |path: &str, package: &str| {
            let package = package.replace("DIGEST", &digest);
            format!(
                r#"{{ "lockfileVersion": 3, "packages": {{
                    "": {{ "bundleDependencies": ["a"] }},
                    "node_modules/bundle": {{ "version": "1.0.0", "integrity": "{digest}", "bundleDependencies": ["a"] }},
                    "node_modules/plain": {{ "version": "1.0.0", "integrity": "{digest}", "bundleDependencies": [] }},
                    "{path}": {package}
                }} }}"#
            )
        };
        for (path, package, problem) in [
            ("node_modules/a", r#"{ "version": "1.0.0", "integrity": "DIGEST" }"#, None),
            ("node_modules/bundle/node_modules/@s/b", r#"{ "version": "1.0.0", "inBundle": true }"#, None),
            ("node_modules/bundle/node_modules/a/node_modules/b", r#"{ "version": "1.0.0", "inBundle": true }"#, None),
            ("node_modules/a", r#"{ "version": "1.0.0", "inBundle": true }"#, Some("in the bundle of no package")),
            (
                "node_modules/plain/node_modules/a",
                r#"{ "version": "1.0.0", "inBundle": true }"#,
                Some("in the bundle of no package"),
            ),
            ("node_modules/bundle/node_modules/a", r#"{ "version": "1.0.0" }"#, Some("no integrity")),
            (
                "node_modules/bundle/node_modules/a",
                r#"{ "version": "1.0.0", "inBundle": true, "integrity": "sha1-eHh4eHh4eHh4eHh4eHh4eHh4eHg=" }"#,
                Some(
                    "at `/packages/node_modules~1bundle~1node_modules~1a/integrity`, `sha1-eHh4eHh4eHh4eHh4eHh4eHh4eHg=` is not",
                ),
            ),
            ("node_modules/a", r#"{ "version": "1.0.0", "integrity": "" }"#, Some("not one SHA-512 digest")),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "integrity": "DIGEST DIGEST" }"#,
                Some("not one SHA-512 digest"),
            ),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0-rc.1", "name": "@s/b", "integrity": "DIGEST", "dependencies": { "c": "^1 || >=2.0 <3", "d": "npm:@s/e@^1" } }"#,
                None,
            ),
            ("node_modules/a", r#"{ "version": "1.0.0" }"#, Some("no integrity")),
            ("node_modules/a", r#"{ "integrity": "DIGEST" }"#, Some("no version")),
            (
                "node_modules/a",
                r#"{ "version": "https://h.example/a.tgz", "integrity": "DIGEST" }"#,
                Some("no version"),
            ),
            (
                "node_modules/a",
                r#"{ "version": "git+https://h.example/a", "integrity": "DIGEST" }"#,
                Some("no version"),
            ),
            ("node_modules/a", r#"{ "version": "file:../a", "inBundle": true }"#, Some("no version")),
            ("node_modules/a", r#"{ "version": "^1.0.0", "integrity": "DIGEST" }"#, Some("no version")),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "name": "git+https://h.example/a#", "integrity": "DIGEST" }"#,
                Some("no version"),
            ),
            ("node_modules/git+ssh:h", r#"{ "version": "1.0.0", "integrity": "DIGEST" }"#, Some("no version")),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "integrity": "DIGEST", "dependencies": { "b": "git+https://h.example/b" } }"#,
                Some("depends on an address"),
            ),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "integrity": "DIGEST", "optionalDependencies": { "b": "user/repository" } }"#,
                Some("depends on an address"),
            ),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "integrity": "DIGEST", "dependencies": { "b": "b.tgz" } }"#,
                Some("depends on an address"),
            ),
            (
                "node_modules/a",
                r#"{ "version": "1.0.0", "integrity": "DIGEST", "peerDependencies": { "b": "npm:https://h.example/b@1" } }"#,
                Some("depends on an address"),
            ),
            ("node_modules/a", r#"{ "integrity": "DIGEST", "resolved": "file:///a.tgz" }"#, Some("an address")),
            ("node_modules/a", r#"{ "integrity": "DIGEST", "link": true }"#, Some("an address")),
            ("../a", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/../../a", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/a//node_modules/b", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/./node_modules/b", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/.bin/node_modules/b", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/a_node_modules/b", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/@a", r#"{ "integrity": "DIGEST" }"#, Some("not below")),
            ("node_modules/a", "7", Some("cannot be read")),
        ] {
            let found = check_npm(&list(path, package)).err();
            assert_eq!(found.is_some(), problem.is_some(), "{path} {package} {found:?}");
            assert!(found.unwrap_or_default().contains(problem.unwrap_or_default()), "{path} {package}");
        }
    }

    #[test]
    fn uv_gets_no_options_and_no_addresses() {
        let digest = format!("--hash=sha256:{}", "a0".repeat(32));
        for good in [
            format!(
                "a==1.0.0 \\\n    {digest} \\\n    {digest}\nb-c[x,y]==2.0+l ; python_version >= '3.9' \\\n    {digest}\n"
            ),
            format!("# a comment\r\n\r\na==1!2.0rc1 \\\r\n    {digest}"),
        ] {
            assert_eq!(check_uv(&good), Ok(()), "{good}");
        }
        for bad in [
            "a==1.0.0".to_owned(),
            format!("a>=1.0.0 {digest}"),
            format!("a @ https://h.example/a.whl {digest}"),
            format!("--find-links https://h.example {digest}"),
            format!("-r /etc/passwd {digest}"),
            format!("a==${{VARIABLE}} {digest}"),
            format!("a==1.0.0 ; x == '${{VARIABLE}}' {digest}"),
            format!("a==1.0.0 {digest} --index-url=https://h.example"),
            "a==1.0.0 --hash=md5:00".to_owned(),
            "# a comment\r--index-url https://h.example\n".to_owned(),
            format!("a==1.0.0 {digest}\u{b}--index-url https://h.example"),
        ] {
            assert!(check_uv(&bad).is_err(), "{bad}");
        }
    }

    /// What uv would install is also what advisories are compared with.
    #[test]
    fn each_line_that_is_accepted_is_read() {
        let digest = format!("--hash=sha256:{}", "a0".repeat(32));
        for line in [
            format!("  evil==1.0.0 {digest}"),
            format!("\tevil==1.0.0 {digest}"),
            format!("evil==1.0.0\t {digest}"),
            format!("evil==1.0.0\t;python_version>\"2\" {digest}"),
            format!("evil==1.0.0\\\n {digest}"),
            format!("evil[x]==1.0.0 \\\r\n    {digest}"),
        ] {
            let list = format!("own==1.0.0 {digest}\n{line}\n");
            assert_eq!(check_uv(&list), Ok(()), "{list}");
            let found: Vec<_> = listed(&list).collect();
            assert_eq!(found[1..], [("evil".to_owned(), "1.0.0".to_owned())], "{list}");
        }
        for line in ["evil[]==1.0.0", "evil[a==1.0.0", "evil==1.0.0-", "evil== 1.0.0", "evil ==1.0.0"] {
            assert!(check_uv(&format!("{line} {digest}")).is_err(), "{line}");
        }
    }

    #[test]
    fn python_is_named_by_its_version() {
        assert!(check_python("3.12").is_ok() && check_python("3.12.1").is_ok());
        for bad in ["", "/bin/sh", "3.", "pypy3", "-3"] {
            assert!(check_python(bad).is_err(), "{bad}");
        }
    }
}
