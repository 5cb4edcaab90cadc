//! A publisher's own list of versions, read as the registry's configuration describes it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::offer::{Flaw, Offer, Offers, SourceKind};
use crate::manifest::Version;
use crate::registry::Feed;

/// What a feed knows of a version's archive for a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) archive: String,
    pub(super) sha256: Option<String>,
}

/// A feed that was read: archives by version and platform.
#[derive(Debug, Default)]
pub(super) struct Archives(BTreeMap<Version, (String, BTreeMap<String, Entry>)>);

impl Archives {
    /// Reads a feed: one JSON document, or a JSON value on each line. Records that are not of the form are passed over,
    /// since other products may stand in the same feed.
    ///
    /// # Errors
    /// What is wrong with the feed as a whole.
    pub(super) fn parse(bytes: &[u8], feed: &Feed, platforms: &[&str]) -> Result<Self, String> {
        let mut archives = Self::default();
        for record in records(bytes, feed)? {
            archives.add(&record, feed, platforms);
        }
        if archives.0.is_empty() {
            Err("no record has the form that the configuration describes".to_owned())
        } else {
            Ok(archives)
        }
    }

    fn add(&mut self, record: &Value, feed: &Feed, platforms: &[&str]) {
        let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(written) = text(&feed.version) else { return };
        let Some(version) = Version::parse_loose(written.trim_start_matches('v')) else { return };
        let (_, known) = self.0.entry(version).or_insert_with(|| (written.to_owned(), BTreeMap::new()));
        for platform in platforms {
            let name = feed.names.get(*platform).map_or(*platform, String::as_str);
            if feed.platform.as_ref().is_some_and(|pointer| text(pointer) != Some(name)) {
                continue;
            }
            // A name may have the characters in it that pointers escape.
            let name = crate::manifest::escape_segment(name);
            let of_platform = |pointer: &String| text(&pointer.replace("{platform}", &name)).map(ToOwned::to_owned);
            if let Some(archive) = of_platform(&feed.archive) {
                let sha256 = feed.sha256.as_ref().and_then(of_platform).map(|digest| digest.to_ascii_lowercase());
                let sha256 =
                    sha256.filter(|digest| digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
                known.insert((*platform).to_owned(), Entry { archive, sha256 });
            }
        }
    }

    /// The versions, each complete if it has an archive for all of these platforms.
    pub(super) fn offers(&self, platforms: &[&str]) -> Offers {
        let offer = |(version, (text, archives)): (&Version, &(String, BTreeMap<String, Entry>))| {
            let missing: Vec<String> = platforms
                .iter()
                .filter(|platform| !archives.contains_key(**platform))
                .map(ToString::to_string)
                .collect();
            let flaw = (!missing.is_empty()).then_some(Flaw::Missing(missing));
            Offer { version: version.clone(), text: text.clone(), published: None, flaw }
        };
        Offers { source: SourceKind::Feed, offers: self.0.iter().map(offer).collect(), recommended: None }
    }

    pub(super) fn entry(&self, version: &Version, platform: &str) -> Option<&Entry> {
        self.0.get(version)?.1.get(platform)
    }
}

fn records(bytes: &[u8], feed: &Feed) -> Result<Vec<Value>, String> {
    let Some(pointer) = &feed.records else {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        return lines
            .enumerate()
            .map(|(at, line)| {
                serde_json::from_str(line).map_err(|error| format!("line {} is not JSON: {error}", at + 1))
            })
            .collect();
    };
    let value: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match value.pointer(pointer) {
        Some(Value::Array(items)) => Ok(items.clone()),
        Some(Value::Object(members)) => Ok(members.values().cloned().collect()),
        _ => Err(format!("there is no list at {pointer:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(text: &str) -> Feed {
        toml::from_str(text).unwrap()
    }

    const PLATFORMS: [&str; 2] = ["linux-x86_64", "darwin-aarch64"];

    #[test]
    fn a_record_for_each_platform() {
        let feed = feed(
            "url = 'u'\nversion = '/v'\nplatform = '/os'\narchive = '/url'\nsha256 = '/sum'\n\
             names = { linux-x86_64 = 'linux', darwin-aarch64 = 'mac~arm' }",
        );
        let digest = "AB".repeat(32);
        let text = format!(
            "{{\"v\":\"1.1\",\"os\":\"linux\",\"url\":\"https://h/1\",\"sum\":\"{digest}\"}}\n\n\
             {{\"v\":\"1.1\",\"os\":\"mac~arm\",\"url\":\"https://h/2\",\"sum\":\"short\"}}\n\
             {{\"v\":\"1.2\",\"os\":\"linux\",\"url\":\"https://h/3\"}}\n{{\"v\":7}}\n[]\n"
        );
        let archives = Archives::parse(text.as_bytes(), &feed, &PLATFORMS).unwrap();
        let version = Version::parse("1.1.0").unwrap();
        let linux = archives.entry(&version, "linux-x86_64").unwrap();
        assert_eq!((linux.archive.as_str(), linux.sha256.clone()), ("https://h/1", Some(digest.to_lowercase())));
        assert_eq!(archives.entry(&version, "darwin-aarch64").unwrap().sha256, None);
        let offers = archives.offers(&PLATFORMS);
        assert_eq!(offers.of(&version).unwrap().flaw, None);
        let newer = offers.of(&Version::parse("1.2.0").unwrap()).unwrap();
        assert_eq!(newer.flaw, Some(Flaw::Missing(vec!["darwin-aarch64".to_owned()])));
    }

    #[test]
    fn a_record_with_all_platforms() {
        let feed = feed("url = 'u'\nrecords = '/all'\nversion = '/v'\narchive = '/files/{platform}/url'");
        let text = r#"{"all":{"x":{"v":"v1.1.0","files":{"linux-x86_64":{"url":"https://h/1"}}}}}"#;
        let archives = Archives::parse(text.as_bytes(), &feed, &PLATFORMS[..1]).unwrap();
        assert!(archives.entry(&Version::parse("1.1.0").unwrap(), "linux-x86_64").is_some());
        for odd in ["", "<html>", "{}", r#"{"all":7}"#, r#"{"all":[]}"#] {
            assert!(Archives::parse(odd.as_bytes(), &feed, &PLATFORMS).is_err(), "{odd}");
        }
    }
}
