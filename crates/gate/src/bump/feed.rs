//! Reads feeds: publishers' lists of versions, in the format that the registry's configuration describes.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;
use serde_json::value::RawValue;

use super::offer::{Flaw, LONGEST, Offers, SourceKind, SourceVersion};
use crate::config::Feed;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::json::{self, List, Object};
use acp_registry_plan::manifest::Version;

/// The archive of one version and platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FeedArchive {
    pub(super) archive: String,
    pub(super) sha256: Option<Sha256>,
}

/// Maximum number of records in a feed.
const RECORDS: usize = 200_000;

/// Maximum size of a record, in bytes.
const RECORD: usize = 256 << 10;

/// Maximum number of members of an object, or items of an array, on the path to the records.
const MEMBERS: usize = 100_000;

/// The contents of a feed.
#[derive(Debug, Default)]
pub(super) struct Archives {
    /// Versions as written in the feed, with archives by platform.
    versions: BTreeMap<Version, (String, BTreeMap<String, FeedArchive>)>,
    /// Number of records that were skipped because they are not JSON or too large.
    pub(super) skipped: usize,
}

impl Archives {
    /// Parses a feed: one JSON document, or one JSON value per line. Records without the configured members are
    /// skipped, since a feed may list other products too.
    ///
    /// # Errors
    /// Returns a message if the feed as a whole cannot be read.
    pub(super) fn parse(bytes: &[u8], feed: &Feed, platforms: &[&str]) -> Result<Self, String> {
        let mut archives = Self::default();
        let mut problem = None;
        for (number, record) in records(bytes, feed)? {
            let record: Result<Value, String> = match record.len() {
                0..=RECORD => serde_json::from_slice(record).map_err(|error| format!("is not JSON: {error}")),
                _ => Err(format!("is larger than {RECORD} bytes")),
            };
            match record {
                Ok(record) => archives.add(&record, feed, platforms),
                Err(error) => {
                    archives.skipped += 1;
                    problem.get_or_insert_with(|| format!("line {number} {error}"));
                }
            }
        }
        if archives.versions.is_empty() {
            Err(problem.unwrap_or_else(|| "no record has the members that the configuration names".to_owned()))
        } else {
            Ok(archives)
        }
    }

    fn add(&mut self, record: &Value, feed: &Feed, platforms: &[&str]) {
        let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(written) = text(&feed.version) else { return };
        let Some(version) = Version::parse_loose(written.trim_start_matches('v')) else { return };
        if version.as_str().len() > LONGEST {
            return;
        }
        let (_, known) = self.versions.entry(version).or_insert_with(|| (written.to_owned(), BTreeMap::new()));
        for platform in platforms {
            let name = feed.names.get(*platform).map_or(*platform, String::as_str);
            if feed.platform.as_ref().is_some_and(|pointer| text(pointer) != Some(name)) {
                continue;
            }
            // Names may contain characters that JSON pointers escape.
            let name = acp_registry_plan::manifest::escape_segment(name);
            let of_platform = |pointer: &String| text(&pointer.replace("{platform}", &name)).map(ToOwned::to_owned);
            if let Some(archive) = of_platform(&feed.archive) {
                let sha256 = feed.sha256.as_ref().and_then(of_platform).and_then(|digest| digest.parse().ok());
                known.insert((*platform).to_owned(), FeedArchive { archive, sha256 });
            }
        }
    }

    /// The versions of the feed. A version without an archive for each of `platforms` has [`Flaw::Missing`].
    pub(super) fn offers(&self, platforms: &[&str]) -> Offers {
        let offer = |(version, (text, archives)): (&Version, &(String, BTreeMap<String, FeedArchive>))| {
            let missing: Vec<String> = platforms
                .iter()
                .filter(|platform| !archives.contains_key(**platform))
                .map(ToString::to_string)
                .collect();
            let flaw = (!missing.is_empty()).then_some(Flaw::Missing(missing));
            SourceVersion { version: version.clone(), text: text.clone(), published: None, flaw }
        };
        Offers::new(SourceKind::Feed, self.versions.iter().map(offer), None)
    }

    pub(super) fn entry(&self, version: &Version, platform: &str) -> Option<&FeedArchive> {
        self.versions.get(version)?.1.get(platform)
    }
}

/// The records with their numbers: all, or only the last ones if the configuration sets `last`.
fn records<'a>(bytes: &'a [u8], feed: &Feed) -> Result<Vec<(usize, &'a [u8])>, String> {
    let last = feed.last.map_or(RECORDS, |last| last.get().min(RECORDS));
    let mut records: VecDeque<(usize, &[u8])> = VecDeque::new();
    let mut is_cut = false;
    let mut push = |record: (usize, &'a [u8])| {
        if records.len() == last {
            is_cut = true;
            records.pop_front();
        }
        records.push_back(record);
    };
    match &feed.records {
        None => {
            let lines = bytes.split(|&byte| byte == b'\n').enumerate();
            lines.filter(|(_, line)| !line.trim_ascii().is_empty()).for_each(|(at, line)| push((at + 1, line)));
        }
        Some(pointer) => {
            list(bytes, pointer)?
                .into_iter()
                .enumerate()
                .for_each(|(at, record)| push((at + 1, record.get().as_bytes())));
        }
    }
    if is_cut && feed.last.is_none() {
        return Err(too_many());
    }
    Ok(records.into())
}

/// The items of the array, or the values of the object, at a JSON pointer.
fn list<'a>(bytes: &'a [u8], pointer: &str) -> Result<Vec<&'a RawValue>, String> {
    let missing = || format!("there is no array or object at {pointer:?}");
    let mut part: &RawValue = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        part = member(part, &segment).ok_or_else(missing)?;
    }
    let (records, is_longer) = if part.get().starts_with('[') {
        let list: List<'_, RECORDS> = serde_json::from_str(part.get()).map_err(|_| missing())?;
        (list.items, list.is_longer)
    } else {
        let object: Object<'_, RECORDS> = json::object(Some(part)).ok_or_else(missing)?;
        (object.members.into_iter().map(|(_, record)| record).collect(), object.is_longer)
    };
    if is_longer { Err(too_many()) } else { Ok(records) }
}

fn member<'a>(part: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    if part.get().starts_with('[') {
        let list: List<'_, MEMBERS> = serde_json::from_str(part.get()).ok()?;
        return list.items.get(key.parse::<usize>().ok()?).copied();
    }
    let object: Object<'_, MEMBERS> = json::object(Some(part))?;
    object.members.into_iter().rfind(|(name, _)| name == key).map(|(_, value)| value)
}

fn too_many() -> String {
    format!("it has more than {RECORDS} records; set `last` to read only the last ones of a feed of lines")
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
        assert_eq!((linux.archive.as_str(), linux.sha256), ("https://h/1", digest.parse().ok()));
        assert_eq!(archives.entry(&version, "darwin-aarch64").unwrap().sha256, None);
        let offers = archives.offers(&PLATFORMS);
        assert_eq!(offers.of(&version).unwrap().flaw, None);
        let newer = offers.of(&Version::parse("1.2.0").unwrap()).unwrap();
        assert_eq!(newer.flaw, Some(Flaw::Missing(vec!["darwin-aarch64".to_owned()])));
    }

    #[test]
    fn a_malformed_line_is_skipped_and_counted() {
        let feed = feed("url = 'u'\nversion = '/v'\narchive = '/{platform}'");
        let good = |version: &str| format!("{{\"v\":\"{version}\",\"linux-x86_64\":\"https://h/{version}\"}}\n");
        let large = format!("{{\"v\":\"9.0.0\",\"x\":\"{}\"}}\n", "x".repeat(RECORD));
        let text = format!("{}<<<<<<< ours\n\u{fffd}{{\n{large}{}", good("1.0.0"), good("1.1.0"));
        let archives = Archives::parse(text.as_bytes(), &feed, &PLATFORMS[..1]).unwrap();
        assert_eq!((archives.versions.len(), archives.skipped), (2, 3));
        let error = Archives::parse(b"{}\n<html>\n<p>", &feed, &PLATFORMS[..1]).unwrap_err();
        assert!(error.starts_with("line 2 is not JSON"), "{error}");
    }

    #[test]
    fn only_the_last_records_are_read() {
        let lines = |count: usize| (0..count).map(|at| format!("{{\"v\":\"1.0.{at}\"}}\n")).collect::<String>();
        let of = |more: &str, text: &str| {
            let feed = feed(&format!("url = 'u'\nversion = '/v'\narchive = '/{{platform}}'\n{more}"));
            let archives = Archives::parse(text.as_bytes(), &feed, &PLATFORMS[..1])?;
            Ok::<_, String>(archives.versions.keys().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of("last = 2", &lines(5)).unwrap(), ["1.0.3", "1.0.4"]);
        assert_eq!(of("last = 9", &lines(2)).unwrap(), ["1.0.0", "1.0.1"]);
        let document = r#"{"x":{"a/b":[{"v":"1.0.0"},{"v":"1.1.0"}]}}"#;
        assert_eq!(of("last = 1\nrecords = '/x/a~1b'", document).unwrap(), ["1.1.0"]);
        let many = "{}\n".repeat(RECORDS + 1);
        assert!(of("", &many).unwrap_err().contains("set `last`"));
        assert!(of("last = 1", &format!("{many}{}", lines(1))).is_ok());
        assert!(toml::from_str::<Feed>("url = 'u'\nversion = '/v'\narchive = '/a'\nlast = 0").is_err());
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
