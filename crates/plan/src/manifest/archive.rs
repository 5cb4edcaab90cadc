//! The version and the format in an archive's URL.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::manifest::Version;

/// Words that name a channel, whose content changes from version to version. `latest` is handled separately.
const CHANNELS: &[&str] = &["nightly", "stable", "current", "head", "tip", "canary", "edge"];

/// Common names of branches.
const BRANCHES: &[&str] = &["main", "master", "trunk", "develop"];

/// Path segments that are followed by the name of a branch or a tag.
const BEFORE_BRANCHES: &[&str] = &["raw", "blob", "heads", "archive", "zipball", "tarball"];

/// The part of a URL whose content changes from version to version, such as `latest`, if any.
#[must_use]
pub fn moving_reference(url: &str) -> Option<String> {
    let (path, query) = path_and_query(url);
    let segments: Vec<&str> = path.split('/').collect();
    let file = segments.last().copied().unwrap_or_default();
    // In a URL with a version, these words may name an owner or a program; only `latest` still means another release.
    let pinned = OnceCell::new();
    let is_pinned = || *pinned.get_or_init(|| !versions(url, None).is_empty());
    let is_latest = |word: &str| word.eq_ignore_ascii_case("latest");
    let values = query.split(['&', ';']).map(|pair| pair.rsplit('=').next().unwrap_or(pair));
    let mut words = segments.iter().copied().chain(values);
    let mut parts = file.split(['-', '_', '.', '@', '+']);
    let word = words
        .find(|word| is_latest(word) || (is_one_of(word, CHANNELS) && !is_pinned()))
        .or_else(|| parts.find(|part| is_latest(part) || (part.eq_ignore_ascii_case("nightly") && !is_pinned())));

    let stem = |segment: &str| segment.split('.').next().unwrap_or_default().to_owned();
    let named = segments.windows(2).filter(|pair| is_one_of(pair[0], BEFORE_BRANCHES)).map(|pair| stem(pair[1]));
    // On the host for raw files of GitHub, the branch stands behind the repository.
    let is_raw = url.split_once("://").is_some_and(|(_, rest)| rest.starts_with("raw.githubusercontent.com/"));
    let named = named.chain(segments.get(3).filter(|_| is_raw).map(|branch| stem(branch)));
    let own = || Some(stem(file)).filter(|name| is_one_of(name, BRANCHES) && !is_pinned());
    let mut named = named.filter(|name| is_one_of(name, BRANCHES));
    word.map(ToOwned::to_owned).or_else(|| named.next()).or_else(own)
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The format of an archive, by its file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.zip`
    Zip,
    /// `.tar.gz`, `.tgz`
    TarGz,
    /// `.tar.bz2`, `.tbz2`
    TarBz2,
    /// The program itself.
    Raw,
}

/// The format of the archive at a URL.
///
/// # Errors
/// Returns the suffix of a format that clients cannot unpack, in lower case with its dot.
pub fn format(url: &str) -> Result<Format, &'static str> {
    const UNSUPPORTED: &[&str] = &[
        ".tar.xz", ".tar.zst", ".tar.lz", ".tar.z", ".tar", ".txz", ".tzst", ".xz", ".zst", ".gz", ".bz2", ".7z",
        ".rar", ".dmg", ".pkg", ".deb", ".rpm", ".msi", ".msix", ".appx", ".appimage", ".snap", ".flatpak", ".apk",
        ".iso", ".cab", ".whl", ".gem", ".nupkg", ".vsix", ".jar", ".sig", ".asc", ".sha256", ".sha512", ".pem",
        ".html", ".htm", ".txt", ".md", ".json", ".xml",
    ];
    let (path, _) = path_and_query(url);
    let path = path.trim_end_matches('/').to_ascii_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    if ends(&[".zip"]) {
        Ok(Format::Zip)
    } else if ends(&[".tar.gz", ".tgz"]) {
        Ok(Format::TarGz)
    } else if ends(&[".tar.bz2", ".tbz2"]) {
        Ok(Format::TarBz2)
    } else {
        UNSUPPORTED.iter().find(|ending| path.ends_with(**ending)).map_or(Ok(Format::Raw), |ending| Err(ending))
    }
}

/// Path and query of a URL, percent-decoded, without scheme and host.
fn path_and_query(url: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    let rest = rest.split('#').next().unwrap_or_default();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    (decode(path), decode(query))
}

fn decode(text: &str) -> Cow<'_, str> {
    let hex = |b: u8| char::from(b).to_digit(16);
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = bytes.get(at + 1).zip(bytes.get(at + 2)).and_then(|(&a, &b)| Some(hex(a)? * 16 + hex(b)?));
        match (bytes[at], pair.and_then(|value| u8::try_from(value).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// Words before the version of something else: the number after them is not the agent's version.
const FOREIGN: &[&str] = &[
    "android", "api", "centos", "cp", "cuda", "darwin", "debian", "electron", "fedora", "freebsd", "glibc", "gnu",
    "ios", "java", "jdk", "jre", "libc", "linux", "mac", "macos", "macosx", "manylinux", "musl", "musllinux", "net",
    "node", "nodejs", "openssl", "osx", "py", "python", "rhel", "ubuntu", "win", "windows",
];

/// Words that make a version a prerelease.
const PRERELEASE: &[&str] = &[
    "prerelease", "preview", "snapshot", "nightly", "canary", "insiders", "insider", "alpha", "beta", "next", "dev",
    "eap", "pre", "rc", "a", "b", "c",
];

/// The result of comparing an archive's URL with a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UrlVersion {
    /// The URL contains the version.
    Same,
    /// It contains another version, as written there.
    Other(String),
    /// It contains no version.
    Absent,
}

/// A version found in a URL.
#[derive(Debug, PartialEq, Eq)]
struct FoundVersion {
    text: String,
    version: Version,
    marked: bool,
}

/// Compares the version in a URL with the version in a manifest.
///
/// Versions are found as a path segment, in a file name or in the query, with or without a prefix (`v1.2.0`,
/// `cli-v1.2.0`, `agent@1.2.0`), percent-encoded or not, with at least two parts, and with a prerelease. Numbers of
/// something else (`macos-11.0`, `glibc2.17`, `x86_64`, a build number or a year alone) are ignored. If a URL contains
/// several versions, one must be the stated one, and no unambiguous version may differ: a release's tag, a version with
/// a `v`, or a whole path segment.
#[must_use]
pub fn compare_version(url: &str, stated: &Version) -> UrlVersion {
    let found = versions(url, Some(stated));
    let same = |found: &FoundVersion| found.version == *stated;
    let contradicting = if found.iter().any(same) {
        found.into_iter().find(|found| found.marked && !same(found))
    } else {
        match found.into_iter().max_by_key(|found| (found.marked, found.version.parts().len())) {
            None => return UrlVersion::Absent,
            other => other,
        }
    };
    contradicting.map_or(UrlVersion::Same, |found| UrlVersion::Other(found.text))
}

/// All versions in a URL. `stated` is recognized as written, however unusual its prerelease is.
fn versions(url: &str, stated: Option<&Version>) -> Vec<FoundVersion> {
    let (path, query) = path_and_query(url);
    let segments: Vec<&str> = path.split('/').collect();
    let is_tag = |at: usize| at >= 2 && segments[at - 1] == "download" && segments[at - 2] == "releases";
    let in_path = segments.iter().enumerate().flat_map(|(at, segment)| {
        let mut found = versions_in(segment, stated);
        for found in &mut found {
            found.marked |= is_tag(at);
        }
        found
    });
    let in_query = query.split(['&', ';', '=']).flat_map(|part| versions_in(part, stated));
    in_path.chain(in_query).collect()
}

fn versions_in(segment: &str, stated: Option<&Version>) -> Vec<FoundVersion> {
    let bytes = segment.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let end = run_of_numbers(segment, at);
        found.extend(version_at(segment, at, end, stated));
        at = end;
    }
    found
}

/// The end of the digits and single dots at `start`, without a dot or part that belongs to the text after them.
fn run_of_numbers(segment: &str, start: usize) -> usize {
    let bytes = segment.as_bytes();
    let mut end = start;
    while end < bytes.len()
        && (bytes[end].is_ascii_digit() || (bytes[end] == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit)))
    {
        end += 1;
    }
    // In `1.0.0.7z`, the last part begins the suffix.
    let glued = bytes.get(end).is_some_and(u8::is_ascii_alphabetic) && prerelease_at(segment, end).is_none();
    match segment[start..end].rfind('.') {
        Some(dot) if glued => start + dot,
        _ => end,
    }
}

fn version_at(segment: &str, start: usize, end: usize, stated: Option<&Version>) -> Option<FoundVersion> {
    let release = &segment[start..end];
    if !release.contains('.') {
        return None;
    }
    let before = &segment[..start];
    let unmarked =
        before.strip_suffix(['v', 'V']).filter(|before| !before.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let word_end = unmarked.unwrap_or(before).trim_end_matches(['-', '_', '.', '@', '+', ' ']);
    let word = word_end.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let is_foreign = FOREIGN.iter().any(|foreign| word.eq_ignore_ascii_case(foreign));
    let is_glued_to_a_word = before.ends_with(|c: char| c.is_ascii_alphanumeric()) && unmarked.is_none();
    if is_foreign || is_glued_to_a_word {
        return None;
    }
    let literal = stated.filter(|stated| stated.is_prerelease() && stands_at(segment, start, stated.as_str()));
    let (text, version) = match (literal, prerelease_at(segment, end)) {
        (Some(stated), _) => (stated.as_str().to_owned(), stated.clone()),
        (None, Some(prerelease)) => {
            let text = format!("{release}-{prerelease}");
            let version = Version::parse_loose(&text)?;
            (text, version)
        }
        (None, None) => (release.to_owned(), Version::parse_loose(release)?),
    };
    // Two numbers may be the version of an interface, and a year may begin a date.
    let is_full = version.parts().len() >= 3;
    let is_whole_segment = unmarked.unwrap_or(before).is_empty() && end == segment.len();
    let is_date = version.parts().first().is_some_and(|year| (1990..2100).contains(year));
    let marked = is_full && (unmarked.is_some() || (is_whole_segment && !is_date));
    Some(FoundVersion { text, version, marked })
}

/// Whether a text is at an offset, and is not followed by a character that would extend it.
fn stands_at(segment: &str, start: usize, text: &str) -> bool {
    let Some(head) = segment.get(start..start + text.len()) else { return false };
    let mut behind = segment[start + text.len()..].chars();
    let goes_on = match behind.next() {
        Some('.') => behind.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_ascii_alphanumeric(),
        None => false,
    };
    head.eq_ignore_ascii_case(text) && !goes_on
}

/// Whether the text after a version makes it a prerelease: `-rc.1`, `_beta`.
#[must_use]
pub fn starts_prerelease(behind: &str) -> bool {
    prerelease_at(behind, 0).is_some()
}

/// Minimum length of an abbreviated commit hash in practice.
const HASH_LENGTH: usize = 7;

/// The prerelease directly at `at` (`-rc.1`, `rc1`, `_beta`), with its parts joined by dots.
///
/// After the number, the text must end or continue with a separator: in `-a3815c0` and `-beta2x`, the letter and digits
/// begin something else. A single letter with as many digits as an abbreviated commit hash has is such a hash
/// (`-b123456`).
fn prerelease_at(segment: &str, at: usize) -> Option<String> {
    let rest = &segment[at..];
    let tail = rest.strip_prefix(['-', '_', '.', '~']).unwrap_or(rest);
    let word_length = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
    let word = tail[..word_length].to_ascii_lowercase();
    if word.is_empty() || !PRERELEASE.contains(&word.as_str()) {
        return None;
    }
    let behind = &tail[word_length..];
    let number = behind.strip_prefix(['.', '-', '_']).unwrap_or(behind);
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    let goes_on = number[digits..].starts_with(|c: char| c.is_alphanumeric());
    let is_separate = number.len() < behind.len();
    match (digits, word_length) {
        // A single letter is a prerelease only with a number: `-a` may mean anything.
        (0, 1) => None,
        (0, _) => Some(word),
        (_, 1) if goes_on || digits + word_length >= HASH_LENGTH => None,
        // The word was complete; the rest is a hash or a name.
        (_, _) if goes_on => is_separate.then_some(word),
        _ => Some(format!("{word}.{}", &number[..digits])),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FOREIGN, *};
    use crate::manifest::Version;

    fn compare(url: &str, version: &str) -> UrlVersion {
        compare_version(&format!("https://host.example{url}"), &Version::parse(version).unwrap())
    }

    #[test]
    fn a_stale_version_is_found_wherever_it_stands() {
        for (url, version, other) in [
            ("/o/r/releases/download/v1.9.0/agent.zip", "2.0.0", "1.9.0"),
            ("/o/r/releases/download/v1.9.0-beta.1/agent.zip", "1.9.0", "1.9.0-beta.1"),
            ("/o/r/releases/download/cli-v1.0.0/agent.zip", "1.1.0", "1.0.0"),
            ("/o/r/releases/download/agent%401.0.0/agent.zip", "1.1.0", "1.0.0"),
            ("/dl/agent-1.0.0-linux-x86_64.tar.gz", "1.1.0", "1.0.0"),
            ("/1.0.0/agent", "1.1.0", "1.0.0"),
            ("/download/v1.2.3.4/agent.zip", "1.2.3", "1.2.3.4"),
            ("/download/3579.5/agent.zip", "3579.6.0", "3579.5"),
            ("/get?version=1.0.0&os=linux", "1.1.0", "1.0.0"),
            ("/v1.0.0/agent-v0.9.0-linux.tar.gz", "1.0.0", "0.9.0"),
            ("/o/r/releases/download/1.9.0/agent-1.0.0.zip", "1.0.0", "1.9.0"),
            ("/2.0.0/agent-1.0.0.zip", "1.0.0", "2.0.0"),
            ("/agent-1.0.0rc2.zip", "1.0.0", "1.0.0-rc.2"),
            ("/agent-1.0.0-a1.zip", "1.0.0", "1.0.0-a.1"),
            ("/agent-1.0.0b12_linux.zip", "1.0.0", "1.0.0-b.12"),
            ("/agent-1.0.0-nightly.20260101.zip", "1.0.0", "1.0.0-nightly.20260101"),
            ("/nightly-1.4/agent-macos-11.0.zip", "1.5.0", "1.4"),
        ] {
            assert_eq!(compare(url, version), UrlVersion::Other(other.into()), "{url} for {version}");
        }
    }

    #[test]
    fn the_right_version_is_recognised_in_all_its_forms() {
        for (url, version) in [
            ("/o/r/releases/download/v1.2.0/agent.zip", "1.2.0"),
            ("/o/r/releases/download/1.2/agent.zip", "1.2.0"),
            ("/download/3579.5/junie-release-3579.5-macos-aarch64.zip", "3579.5.0"),
            ("/lab/2026.10.01-14929f9/darwin/arm64/agent-cli-package.tar.gz", "2026.10.01"),
            (
                "/a4643c4278/1.0.73%2B180523.e6179a031de9/coco-1.0.73%2B180523.e6179a031de9-darwin-arm64.tar.gz",
                "1.0.73",
            ),
            ("/download/5/agent-1.0.0.zip", "1.0.0"),
            ("/releases/2026/agent-1.0.0.zip", "1.0.0"),
            ("/agent-1.0.0-macos-11.0.tar.gz", "1.0.0"),
            ("/agent-linux-glibc2.17-1.0.0.tar.gz", "1.0.0"),
            ("/agent-1.0.0.7z", "1.0.0"),
            ("/agent@1.2.0-preview.3/agent.zip", "1.2.0-preview.3"),
            ("/agent-1.2.0rc3.zip", "1.2.0-rc.3"),
            ("/tool-2.2.1_linux.zip", "2.2.1"),
            ("/-/name-1.2.3.tgz", "1.2.3"),
            ("/v1.2/files/agent-1.0.0.zip", "1.0.0"),
            ("/2026.10.01/agent-1.0.0.zip", "1.0.0"),
            ("/agent-macos-v11.0-1.0.0.zip", "1.0.0"),
            ("/v1.0.0-rc1/agent.zip", "1.0.0-rc1"),
            ("/agent-1.0.0-RC.1.zip", "1.0.0-RC.1"),
            ("/agent-1.2.3-SNAPSHOT.zip", "1.2.3-SNAPSHOT"),
            ("/agent-1.0.0-hotfix.1-linux.zip", "1.0.0-hotfix.1"),
            ("/agent-1.0.0-1.zip", "1.0.0-1"),
            ("/agent-0.1.0-20260101.tar.gz", "0.1.0-20260101"),
            ("/agent-1.0.0-alpha.1.2.zip", "1.0.0-alpha.1.2"),
            ("/v1.0.0-canary.abc123/agent.zip", "1.0.0-canary.abc123"),
            ("/pool/v1.0.16/pool-darwin-arm64.tar.gz", "1.0.16"),
            ("/1.0.0/agent-1.0.0-aarch64-unknown-linux-gnu.tar.gz", "1.0.0"),
            ("/lab/2026.07.09-a3815c0/darwin/arm64/agent-cli-package.tar.gz", "2026.07.09"),
            ("/lab/2026.07.09-b12c4f9/linux/x64/agent-cli-package.tar.gz", "2026.07.09"),
            ("/lab/2026.07.09-c123456/linux/x64/agent-cli-package.tar.gz", "2026.07.09"),
            ("/lab/2026.07.09-c0ffee1/linux/x64/agent-cli-package.tar.gz", "2026.07.09"),
            ("/v1.0.0-canary-3f2a1b/agent.zip", "1.0.0-canary"),
            ("/agent-1.0.0-beta2-linux.zip", "1.0.0-beta.2"),
        ] {
            assert_eq!(compare(url, version), UrlVersion::Same, "{url} for {version}");
        }
    }

    #[test]
    fn numbers_of_something_else_are_no_version() {
        for url in [
            "/agent.zip", "/download/5/agent-x86_64.zip", "/macos-11.0/agent_amd64.tar.gz", "/python3.12/agent.zip",
            "/sha/14929f9/agent.zip", "/releases/2026/agent.zip",
        ] {
            assert_eq!(compare(url, "1.0.0"), UrlVersion::Absent, "{url}");
        }
    }

    #[test]
    fn moving_references_are_found() {
        for (url, word) in [
            ("https://h.example/releases/latest/download/a.zip", "latest"),
            ("https://h.example/LATEST/a.zip", "LATEST"),
            ("https://h.example/agent-latest.zip", "latest"),
            ("https://h.example/a.zip?channel=latest", "latest"),
            ("https://h.example/nightly/a.zip", "nightly"),
            ("https://h.example/o/r/raw/main/a.zip", "main"),
            ("https://raw.githubusercontent.com/o/r/main/a-1.0.0.zip", "main"),
            ("https://h.example/o/r/archive/refs/heads/main.zip", "main"),
            ("https://h.example/o/r/archive/master.tar.gz", "master"),
            ("https://h.example/o/r/zipball/main", "main"),
            ("https://h.example/agent-nightly.zip", "nightly"),
            ("https://h.example/downloads/main.zip", "main"),
            ("https://h.example/releases/latest/download/agent-1.0.0.zip", "latest"),
        ] {
            assert_eq!(moving_reference(url).as_deref(), Some(word), "{url}");
        }
        for url in [
            "https://latest.example/v1.0.0/a.zip",
            "https://h.example/main/v1.0.0/a.zip",
            "https://h.example/junie-nightly-3704.1-macos.zip",
            "https://h.example/greatest/a.zip",
            "https://h.example/stable/v1.0.0/a.zip",
            "https://h.example/v1.0.0/main",
            "https://h.example/acme/edge/releases/download/v1.0.0/a.zip",
        ] {
            assert_eq!(moving_reference(url), None, "{url}");
        }
    }

    #[test]
    fn formats_are_told_by_the_path_not_by_the_query() {
        assert_eq!(format("https://h.example/a.ZIP"), Ok(Format::Zip));
        assert_eq!(format("https://h.example/a.tar.gz?t=1"), Ok(Format::TarGz));
        assert_eq!(format("https://h.example/a.tbz2"), Ok(Format::TarBz2));
        assert_eq!(format("https://h.example/agent-linux-arm64"), Ok(Format::Raw));
        assert_eq!(format("https://h.example/agent.exe"), Ok(Format::Raw));
        assert_eq!(format("https://h.example/a.AppImage?x=1"), Err(".appimage"));
        assert_eq!(format("https://h.example/a.tar%2Exz"), Err(".tar.xz"));
        assert_eq!(format("https://h.example/a.dmg#.zip"), Err(".dmg"));
        assert_eq!(format("https://h.example/a.deb/"), Err(".deb"));
        assert_eq!(format("https://h.example/a.tar.gz.sig"), Err(".sig"));
    }

    proptest! {
        #[test]
        fn no_address_makes_the_scanner_panic(url in any::<String>(), tail in "[a-z0-9./%v+_-]{0,40}") {
            let stated = Version::parse("1.0.0").unwrap();
            let _ = compare_version(&url, &stated);
            let _ = compare_version(&format!("https://h.example/{tail}"), &stated);
            let _ = moving_reference(&url);
            let _ = format(&url);
        }

        #[test]
        fn a_version_put_into_an_address_is_found(major in 0u32..3000, minor in 0u32..100, patch in 0u32..100, stem in "[a-z]{3,8}") {
            let version = format!("{major}.{minor}.{patch}");
            prop_assume!(!FOREIGN.contains(&stem.as_str()));
            let urls = [format!("/{stem}-{version}-linux-x64.tar.gz"), format!("/download/v{version}/{stem}.zip"), format!("/{stem}%40{version}/a")];
            for url in urls {
                prop_assert_eq!(compare(&url, &version), UrlVersion::Same, "{}", url);
            }
        }
    }
}
