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
        ("/a4643c4278/1.0.73%2B180523.e6179a031de9/coco-1.0.73%2B180523.e6179a031de9-darwin-arm64.tar.gz", "1.0.73"),
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
