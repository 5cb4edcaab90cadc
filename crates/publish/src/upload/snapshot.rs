//! Names of snapshots, and the contents that a target has for them.

use std::collections::BTreeMap;
use std::str::FromStr;

use acp_registry_plan::sums::{CONTENT, SUMS, is_digest};
use acp_registry_plan::timestamp::{Timestamp, date};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{DAY, Error, UploadTarget};

/// The maximum length of a revision in characters.
const REVISION_LIMIT: usize = 64;

/// How many characters [`other_name`] adds.
const OTHER: usize = 9;

/// The part of a snapshot's name that follows the day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revision {
    /// A revision that the user named: a snapshot of this name is created even if another one already holds the tree.
    Named(String),
    /// A revision from another source, used only if no snapshot holds the tree yet.
    Known(String),
    /// The first 12 characters of the SHA-256 of `SHA256SUMS`.
    Content,
}

/// A text is not a valid revision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a revision has 1 to 64 letters, digits, `.`, `_` and `-`, and begins with a letter or digit")]
pub struct WrongRevision;

impl FromStr for Revision {
    type Err = WrongRevision;

    fn from_str(text: &str) -> Result<Self, WrongRevision> {
        if is_revision(text) { Ok(Self::Named(text.to_owned())) } else { Err(WrongRevision) }
    }
}

fn is_revision(text: &str) -> bool {
    text.len() <= REVISION_LIMIT && is_plain(text)
}

fn is_plain(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// The name of a snapshot created at `now`, in seconds since 1970. `sums` is the SHA-256 of its list of digests.
pub(super) fn name(revision: &Revision, sums: &str, now: i64) -> String {
    let content = sums.get(..12).unwrap_or(sums);
    let revision = match revision {
        Revision::Named(revision) | Revision::Known(revision) => revision,
        Revision::Content => content,
    };
    let time = Timestamp::from_unix(now).unwrap_or(Timestamp::EPOCH);
    format!("v{}-{revision}", time.day())
}

/// The name to use if another tree already has `name`.
pub(super) fn other_name(name: &str, sums: &str) -> String {
    format!("{name}-{}", sums.get(..8).unwrap_or(sums))
}

/// The end of the day in a snapshot's name, in seconds since 1970; `None` if `name` is not the name of a snapshot.
pub(super) fn end_of_day(name: &str) -> Option<i64> {
    let (day, rest) = name.strip_prefix('v')?.split_at_checked(10)?;
    let revision = rest.strip_prefix('-')?;
    if !is_plain(revision) || revision.len() > REVISION_LIMIT + OTHER {
        return None;
    }
    Some(date(day)?.midnight().assume_utc().unix_timestamp() + DAY)
}

/// When a snapshot was made, in seconds since 1970, by its list of digests; `None` if it has none or is not one.
///
/// The list is written last, so its time is that of the snapshot. The day in the name bounds it, because copying a tree
/// changes the times of files.
pub(super) async fn created(target: &UploadTarget, name: &str) -> Result<Option<i64>, Error> {
    let Some(end_of_day) = end_of_day(name) else { return Ok(None) };
    let modified = target.modified(&format!("{name}/{SUMS}")).await?;
    Ok(modified.map(|modified| modified.clamp(end_of_day - DAY, end_of_day)))
}

/// The digests of all stored contents, with the times of [`UploadTarget::list_dated`]. Other files below the folder are not listed:
/// they were not published.
pub(super) async fn stored(target: &UploadTarget, jobs: usize) -> Result<BTreeMap<String, i64>, Error> {
    let one = async |start: u8| {
        let folder = format!("{CONTENT}/{start:02x}");
        let files = target.list_dated(&folder).await?;
        let own = files.into_iter().filter(move |(name, _)| is_digest(name) && name.starts_with(&folder[8..]));
        Ok::<_, Error>(stream::iter(own.map(Ok)))
    };
    stream::iter((0..=u8::MAX).map(one)).buffered(jobs.max(1)).try_flatten().try_collect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_day_and_the_revision() {
        let sums = "0123456789abcdef";
        assert_eq!(name(&Revision::Content, sums, 86_399), "v1970-01-01-0123456789ab");
        let known = name(&"1.2_x-y".parse().unwrap(), sums, 86_400);
        assert_eq!(known, "v1970-01-02-1.2_x-y");
        assert_eq!(other_name(&known, sums), "v1970-01-02-1.2_x-y-01234567");
        assert_eq!((end_of_day(&known), end_of_day("v1970-01-01-a")), (Some(172_800), Some(86_400)));
        let longest = other_name(&format!("v1970-01-01-{}", "x".repeat(64)), sums);
        assert_eq!(end_of_day(&longest), Some(86_400));
        let long = format!("v1970-01-01-{}/../../x", "x".repeat(64));
        for other in ["latest", "v1", "v1970-01-01", "v1970-01-01-", "v1970-01-32-a", "v1970-01-01-../x", "vé", &long]
        {
            assert_eq!(end_of_day(other), None, "{other}");
        }
        for wrong in ["", "-x", "a/b", "..", "a b", "é", &"x".repeat(65)] {
            assert_eq!(wrong.parse::<Revision>(), Err(WrongRevision), "{wrong}");
        }
    }
}
