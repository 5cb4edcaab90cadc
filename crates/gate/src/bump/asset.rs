//! Finds the file of a new release that corresponds to a file of an old one.

use super::address::names;
use acp_registry_plan::manifest::archive::format;
use acp_registry_plan::manifest::{Platform, guess_platform};
use acp_registry_sources::github::{Asset, Release};

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

    fn release(names: &[&str]) -> Release {
        let asset = |name: &&str| Asset { name: (*name).to_owned(), sha256: None, is_complete: *name != "partial.zip" };
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
