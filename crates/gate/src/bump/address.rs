//! Finds a version inside a URL, and replaces it with another; and the file of a new release that corresponds to one of an old
//! release.

use std::ops::Range;

use url::Url;

use acp_registry_plan::manifest::archive::{format, starts_prerelease};
use acp_registry_plan::manifest::{Platform, guess_platform};
use acp_registry_sources::github::{Asset, Release};

/// Maximum number of places to consider in one URL. Every subset of them gives a candidate, so their number doubles
/// with each place.
const PLACES: usize = 4;

/// A byte of a URL after percent-decoding, with its range in the URL: `%40` is one byte.
struct Unit {
    byte: u8,
    written: Range<usize>,
}

/// A part of a URL that is the old version.
struct VersionSpan {
    written: Range<usize>,
    /// Whether the version is written without its final `.0`.
    is_short: bool,
}

/// Returns URLs that an archive may have in version `new`, the most likely first: with the old version replaced
/// everywhere, then with it kept in some places, since the number may belong to something else (`lib-1.0.0`).
///
/// A version matches only as a whole: `2.2.0` does not match in `12.2.0`, `2.2.0.1` or `2.2.0-rc.1`. `1.6` also matches
/// as `1.6.0`. Only the path and the query are searched. If the version is not found, the only candidate is the URL
/// itself. Candidates differ from the URL only in these places.
pub(super) fn candidates(url: &str, old: &str, new: &str) -> Vec<String> {
    let places = places(url, old);
    let choices = 1_u32 << places.len();
    let mut masks: Vec<u32> = (1..choices).collect();
    masks.sort_by_key(|mask| std::cmp::Reverse(mask.count_ones()));
    let mut found = Vec::new();
    for mask in masks {
        let chosen: Vec<&VersionSpan> =
            places.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0).map(|(_, place)| place).collect();
        // If the URL has `1.6`, version `2.0.0` may be written as `2.0` or as `2.0.0`.
        let shortened: &[bool] = if chosen.iter().any(|place| place.is_short) { &[true, false] } else { &[false] };
        for shorten in shortened {
            let candidate = replaced(url, &chosen, new, *shorten);
            if Url::parse(&candidate).is_ok() && !found.contains(&candidate) {
                found.push(candidate);
            }
        }
    }
    if places.is_empty() {
        found.push(url.to_owned());
    }
    found
}

/// Like [`candidates`], for the name of a file.
pub(super) fn names(name: &str, old: &str, new: &str) -> Vec<String> {
    const BASE: &str = "https://host.invalid/";
    let encode =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let decode = |url: &String| {
        let path = url.strip_prefix(BASE)?;
        Some(percent_encoding::percent_decode_str(path).decode_utf8().ok()?.into_owned())
    };
    candidates(&format!("{BASE}{}", encode(name)), old, new).iter().filter_map(decode).collect()
}

fn replaced(url: &str, places: &[&VersionSpan], new: &str, shorten: bool) -> String {
    let mut out = String::new();
    let mut at = 0;
    for place in places {
        let version = if place.is_short && shorten { short(new).unwrap_or(new) } else { new };
        out.push_str(&url[at..place.written.start]);
        // Some servers read `+` in a query as a space, so hosts usually encode it.
        let is_plain_plus = url[place.written.clone()].contains('+');
        out.push_str(&if is_plain_plus { version.to_owned() } else { version.replace('+', "%2B") });
        at = place.written.end;
    }
    out + &url[at..]
}

fn places(url: &str, old: &str) -> Vec<VersionSpan> {
    let units = units(url);
    let mut places = find(&units, old, false);
    if let Some(short) = short(old) {
        places.extend(find(&units, short, true));
    }
    places.sort_by_key(|place| place.written.start);
    places.truncate(PLACES);
    places
}

/// The version without its final `.0`, if at least two parts remain: `1.6` for `1.6.0`.
fn short(version: &str) -> Option<&str> {
    version.strip_suffix(".0").filter(|short| short.contains('.'))
}

fn units(url: &str) -> Vec<Unit> {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let start = url[after_scheme..].find(['/', '?']).map_or(url.len(), |at| after_scheme + at);
    let end = url.find('#').unwrap_or(url.len()).max(start);
    let bytes = &url.as_bytes()[..end];
    let digit = |at: usize| bytes.get(at).and_then(|&b| char::from(b).to_digit(16));
    let mut units = Vec::new();
    let mut at = start;
    while at < end {
        let escape = (bytes[at] == b'%').then(|| digit(at + 1).zip(digit(at + 2))).flatten();
        let escaped = escape.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        let length = if escaped.is_some() { 3 } else { 1 };
        units.push(Unit { byte: escaped.unwrap_or(bytes[at]), written: at..at + length });
        at += length;
    }
    units
}

fn find(units: &[Unit], version: &str, is_short: bool) -> Vec<VersionSpan> {
    let wanted = version.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= units.len() && !wanted.is_empty() {
        let (stretch, behind) = units[at..].split_at(wanted.len());
        if stretch.iter().map(|unit| unit.byte).eq(wanted.iter().copied())
            && starts_here(&units[..at])
            && ends_here(behind, version)
        {
            let written = stretch[0].written.start..stretch[wanted.len() - 1].written.end;
            found.push(VersionSpan { written, is_short });
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    found
}

/// Whether a version can start after these bytes.
fn starts_here(before: &[Unit]) -> bool {
    let from_end = |at: usize| before.len().checked_sub(at + 1).map(|at| before[at].byte);
    match from_end(0) {
        Some(b'v' | b'V') => from_end(1).is_none_or(|byte| !byte.is_ascii_alphanumeric()),
        Some(b'.') => from_end(1).is_none_or(|byte| !byte.is_ascii_digit()),
        Some(byte) => !byte.is_ascii_alphanumeric(),
        None => true,
    }
}

/// Whether a version can end before these bytes.
fn ends_here(behind: &[Unit], version: &str) -> bool {
    let byte = |at: usize| behind.get(at).map(|unit| unit.byte);
    let is_in_prerelease = version.contains('-');
    match byte(0) {
        Some(b'.') => {
            // `.7z` is a file extension, not a further part of the version.
            !byte(1).is_some_and(|byte| byte.is_ascii_digit()) || (byte(1), byte(2)) == (Some(b'7'), Some(b'z'))
        }
        Some(b'-' | b'_' | b'~') if !is_in_prerelease => {
            let rest: String = behind.iter().take(24).map(|unit| char::from(unit.byte)).collect();
            !starts_prerelease(&rest)
        }
        Some(byte) => !byte.is_ascii_alphanumeric(),
        None => true,
    }
}

/// The file of a new release that corresponds to one of an old release.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Successor<'a> {
    /// A file with the same name, apart from the version.
    Same(&'a Asset),
    /// A file with another name: the only one with the same format for the platform.
    Renamed(&'a Asset),
    /// No file matches, or several do.
    Missing,
}

/// Finds the file of `release` (version `new`) that corresponds to `name`, the file for `platform` in version `old`.
pub(super) fn successor<'a>(release: &'a Release, name: &str, platform: &str, old: &str, new: &str) -> Successor<'a> {
    if let Some(asset) = names(name, old, new).iter().find_map(|name| release.asset(name)) {
        return Successor::Same(asset);
    }
    let Ok(platform) = platform.parse::<Platform>() else { return Successor::Missing };
    let kind = |name: &str| format(&format!("/{name}")).ok();
    let is_of_kind = |asset: &&Asset| {
        let of_asset = kind(&asset.name);
        asset.is_complete
            && guess_platform(&asset.name) == Some(platform)
            && of_asset.is_some()
            && of_asset == kind(name)
    };
    let mut alike = release.assets.iter().filter(is_of_kind);
    match (alike.next(), alike.next()) {
        (Some(asset), None) => Successor::Renamed(asset),
        _ => Successor::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(path: &str, old: &str, new: &str) -> String {
        let base = "https://1.0.0.host.example";
        candidates(&format!("{base}{path}"), old, new)[0].strip_prefix(base).unwrap().to_owned()
    }

    #[test]
    fn a_version_is_replaced_wherever_it_stands() {
        for (path, old, new, expected) in [
            ("/v1.0.0/agent-v1.0.0-linux.tar.gz", "1.0.0", "1.1.0", "/v1.1.0/agent-v1.1.0-linux.tar.gz"),
            ("/cli-v1.0.0/agent.zip", "1.0.0", "1.1.0", "/cli-v1.1.0/agent.zip"),
            ("/1.0.0", "1.0.0", "1.1.0", "/1.1.0"),
            ("/agent%401.0.0/a.zip", "1.0.0", "1.1.0", "/agent%401.1.0/a.zip"),
            ("/agent-1.0.0.7z", "1.0.0", "1.1.0", "/agent-1.1.0.7z"),
            ("/get?v=1.0.0&os=x#1.0.0", "1.0.0", "1.1.0", "/get?v=1.1.0&os=x#1.0.0"),
            ("/v1.6/agent.zip", "1.6.0", "1.7.0", "/v1.7/agent.zip"),
            ("/v1.6/agent.zip", "1.6.0", "1.7.1", "/v1.7.1/agent.zip"),
            ("/v1.6/agent-1.6.0.zip", "1.6.0", "1.7.0", "/v1.7/agent-1.7.0.zip"),
            ("/agent-1.0.0-preview.3.zip", "1.0.0-preview.3", "1.0.0-preview.10", "/agent-1.0.0-preview.10.zip"),
            ("/agent-1.0.0%2B5.zip", "1.0.0+5", "1.1.0+6", "/agent-1.1.0%2B6.zip"),
            ("/agent-1.0.0+5.zip", "1.0.0+5", "1.1.0+6", "/agent-1.1.0+6.zip"),
            ("/2026.07.01/agent.zip", "2026.07.01", "2026.10.01", "/2026.10.01/agent.zip"),
        ] {
            assert_eq!(first(path, old, new), expected);
        }
    }

    #[test]
    fn a_longer_version_is_another_one() {
        for path in [
            "/agent-12.2.0.zip", "/agent-2.2.0.1.zip", "/agent-1.2.2.0.zip", "/agent-2.2.01.zip",
            "/agent-2.2.0-rc.1.zip", "/agent-2.2.0beta.zip", "/x2.2.0/agent.zip", "/rev2.2.0/a.zip", "/2.20/agent.zip",
            "/agent.zip",
        ] {
            assert_eq!(
                candidates(&format!("https://h.example{path}"), "2.2.0", "3.0.0"),
                [format!("https://h.example{path}")]
            );
        }
    }

    #[test]
    fn a_part_with_the_same_number_may_stay() {
        let found = candidates("https://h.example/v1.0.0/agent-1.0.0-lib-1.0.0.zip", "1.0.0", "1.1.0");
        assert_eq!(found[0], "https://h.example/v1.1.0/agent-1.1.0-lib-1.1.0.zip");
        assert!(found.contains(&"https://h.example/v1.1.0/agent-1.1.0-lib-1.0.0.zip".to_owned()));
        assert_eq!(found.len(), 7);
        let names = names("agent+lib-1.0.0 (1.0.0).zip", "1.0.0", "1.1.0");
        assert!(names.contains(&"agent+lib-1.0.0 (1.1.0).zip".to_owned()), "{names:?}");
    }

    proptest! {
        #[test]
        fn only_the_old_version_changes(
            parts in prop::collection::vec("[a-z0-9._+@%-]{0,6}", 1..5),
            old in "[0-9]{1,4}\\.[0-9]{1,2}\\.[0-9]{1,2}(-preview\\.[0-9])?",
            new in "[0-9]{1,4}\\.[0-9]{1,2}\\.[0-9]{1,2}(-preview\\.[0-9])?(\\+[0-9a-f]{1,4})?",
        ) {
            let url = format!("https://h.example/{}", parts.join(&format!("/v{old}/")));
            for candidate in candidates(&url, &old, &new) {
                prop_assert!(Url::parse(&candidate).is_ok());
                // The rest of the URL is unchanged, so putting the old version back gives the old URL.
                let escaped = new.replace('+', "%2B");
                let forms: Vec<&str> = [Some(escaped.as_str()), short(&new)].into_iter().flatten().collect();
                let count = |text: &str| text.split('/').filter(|part| part.starts_with('v') && (forms.contains(&&part[1..]) || part[1..] == old)).count();
                prop_assert!(count(&candidate) >= parts.len() - 1, "{} {}", url, candidate);
            }
            let all = &candidates(&url, &old, &new)[0];
            prop_assert_eq!(&replaced_text(&url, &old, &new), all);
        }
    }

    /// A second implementation to compare with: joins the parts between the places.
    fn replaced_text(url: &str, old: &str, new: &str) -> String {
        let mut rest = url;
        let mut out = String::new();
        for place in places(url, old) {
            let at = place.written.start - (url.len() - rest.len());
            out.push_str(&rest[..at]);
            let is_short = place.is_short && short(new).is_some();
            out.push_str(&if is_short { short(new).unwrap().to_owned() } else { new.replace('+', "%2B") });
            let written = &url[place.written.clone()];
            let decoded = percent_encoding::percent_decode_str(written).decode_utf8().unwrap().into_owned();
            assert!(decoded == old || Some(decoded.as_str()) == short(old), "{decoded}");
            rest = &url[place.written.end..];
        }
        out + rest
    }

    fn release(names: &[&str]) -> Release {
        let asset = |name: &&str| Asset {
            name: (*name).to_owned(),
            sha256: None,
            is_complete: *name != "partial.zip",
            updated: None,
        };
        Release { assets: names.iter().map(asset).collect(), ..Release::default() }
    }

    fn found(names: &[&str], name: &str) -> Option<(String, bool)> {
        match successor(&release(names), name, "linux-x86_64", "1.0.0", "1.1.0") {
            Successor::Same(asset) => Some((asset.name.clone(), false)),
            Successor::Renamed(asset) => Some((asset.name.clone(), true)),
            Successor::Missing => None,
        }
    }

    #[test]
    fn a_file_is_known_by_its_name_but_for_the_version() {
        let same = |name: &str| Some((name.to_owned(), false));
        assert_eq!(found(&["agent-1.1.0.zip", "agent-1.0.0.zip"], "agent-1.0.0.zip"), same("agent-1.1.0.zip"));
        assert_eq!(found(&["agent.zip"], "agent.zip"), same("agent.zip"));
        assert_eq!(
            found(&["agent-1.1.0-lib-1.0.0.zip"], "agent-1.0.0-lib-1.0.0.zip"),
            same("agent-1.1.0-lib-1.0.0.zip")
        );
    }

    #[test]
    fn a_renamed_file_is_known_by_its_platform() {
        let renamed = |name: &str| Some((name.to_owned(), true));
        let others = ["tool-darwin-arm64.zip", "tool-windows-x64.zip", "tool-linux-arm64.zip", "tool-linux-x64.tar.gz"];
        assert_eq!(
            found(&[&others[..], &["tool_Linux_x86_64.zip"]].concat(), "agent-linux.zip"),
            renamed("tool_Linux_x86_64.zip")
        );
        assert_eq!(found(&others, "agent-linux.zip"), None, "another format");
        assert_eq!(found(&["a-linux-x64.zip", "b-linux-amd64.zip"], "agent-linux.zip"), None, "two of them");
        assert_eq!(found(&["a-linux-x64-arm64.zip", "partial.zip", "linux.zip"], "agent-linux.zip"), None);
        assert_eq!(found(&["agent-linux-x64.zip.sha256"], "agent-linux.zip"), None);
    }
}
