//! Chooses the files of a release for each platform.

use acp_registry_plan::manifest::archive::{Format, format};
use acp_registry_plan::manifest::{Platform, guess_platform};
use acp_registry_sources::github::{Asset, Release};

/// Words that mark special builds.
const SPECIAL: [&str; 8] = ["baseline", "debug", "dbg", "symbols", "profile", "lite", "minimal", "nightly"];

/// The file for one platform.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chosen<'a> {
    pub(super) platform: Platform,
    pub(super) asset: &'a Asset,
    /// The other files for this platform.
    pub(super) others: Vec<&'a str>,
}

/// Chooses a file for each platform, recognized by the same words as in `bump`. If there are several, prefers files
/// with one of `names` in their name, then those that are not special builds, then those that run with any C library,
/// then archives, and then the shortest name.
pub(super) fn choose<'a>(release: &'a Release, names: &[&str]) -> Vec<Chosen<'a>> {
    let of = |platform: Platform| {
        let fits = |asset: &&Asset| {
            asset.is_complete && guess_platform(&asset.name) == Some(platform) && has_program(&asset.name)
        };
        let mut found: Vec<&Asset> = release.assets.iter().filter(fits).collect();
        found.sort_by_key(|asset| (rank(&asset.name, names), asset.name.len(), asset.name.as_str()));
        let (asset, others) = found.split_first()?;
        Some(Chosen { platform, asset, others: others.iter().map(|other| other.name.as_str()).collect() })
    };
    Platform::ALL.into_iter().filter_map(of).collect()
}

/// Whether a file is an archive that clients can unpack, or a program.
fn has_program(name: &str) -> bool {
    let is_other = |ending: &str| {
        !ending.is_empty() && ending.bytes().all(|b| b.is_ascii_alphabetic()) && !ending.eq_ignore_ascii_case("exe")
    };
    match format(&format!("/{name}")) {
        Ok(Format::Raw) => name.rsplit_once('.').is_none_or(|(_, ending)| !is_other(ending)),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// The sort key of candidates; the lowest is chosen.
fn rank(name: &str, names: &[&str]) -> (bool, bool, u8, bool) {
    let name = name.to_ascii_lowercase();
    let is_named = names.iter().any(|wanted| !wanted.is_empty() && name.contains(&wanted.to_ascii_lowercase()));
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let is_special = words.iter().any(|word| SPECIAL.contains(word));
    // Files for `unknown-linux-musl` are usually linked statically; others for musl run only on musl systems.
    let libc = match () {
        () if name.contains("unknown-linux-musl") => 0,
        () if words.contains(&"musl") => 2,
        () => 1,
    };
    let is_raw = format(&format!("/{name}")) == Ok(Format::Raw);
    (!is_named, is_special, libc, is_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Vec<(String, String)> {
        let asset =
            |name: &&str| Asset { name: (*name).to_owned(), sha256: None, is_complete: *name != "partial-linux-x64" };
        let release = Release { assets: names.iter().map(asset).collect(), ..Release::default() };
        let chosen = choose(&release, &["agent"]);
        chosen.into_iter().map(|chosen| (chosen.platform.to_string(), chosen.asset.name.clone())).collect()
    }

    fn linux(names: &[&str]) -> String {
        chosen(names)
            .into_iter()
            .find(|(platform, _)| platform == "linux-x86_64")
            .map_or_else(String::new, |(_, name)| name)
    }

    #[test]
    fn one_file_is_taken_for_each_platform() {
        let names = [
            "agent-darwin-arm64.zip", "agent-windows-x64.exe", "agent-linux-x64.tar.gz",
            "agent-linux-x64.tar.gz.sha256",
        ];
        let expected = [
            ("darwin-aarch64", "agent-darwin-arm64.zip"),
            ("linux-x86_64", "agent-linux-x64.tar.gz"),
            ("windows-x86_64", "agent-windows-x64.exe"),
        ];
        assert_eq!(chosen(&names), expected.map(|(platform, name)| (platform.to_owned(), name.to_owned())));
        assert_eq!(chosen(&["source.tar.gz", "partial-linux-x64", "agent-linux-x64.deb", "agent-linux-x64.jsonl"]), []);
    }

    #[test]
    fn of_several_the_likeliest_is_taken() {
        for (names, expected) in [
            (["agent-x86_64-unknown-linux-gnu.tar.gz", "agent-x86_64-unknown-linux-musl.tar.gz"], 1),
            (["agent-linux-x64-musl.zip", "agent-linux-x64.zip"], 1),
            (["agent-linux-x64-baseline.zip", "agent-linux-x64-v1.0.0-full.zip"], 1),
            (["tool-linux-x64.zip", "the-agent-linux-x64.zip"], 1),
            (["agent-linux-x64.zip", "agent-linux-x64"], 0),
            (["agent-linux-x64-b.zip", "agent-linux-x64-a.zip"], 1),
        ] {
            assert_eq!(linux(&names), names[expected], "{names:?}");
        }
    }
}
