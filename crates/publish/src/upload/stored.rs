//! The contents that a target has.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{CONTENT, Error, UploadTarget};
use acp_registry_plan::sums::is_digest;

/// The digests of all stored contents, with the times of [`UploadTarget::list_dated`]. Other files below the folder are not listed:
/// they were not published.
pub(super) async fn list(target: &UploadTarget, jobs: usize) -> Result<BTreeMap<String, i64>, Error> {
    let one = async |start: u8| {
        let folder = format!("{CONTENT}/{start:02x}");
        let files = target.list_dated(&folder).await?;
        let own = files.into_iter().filter(move |(name, _)| is_digest(name) && name.starts_with(&folder[8..]));
        Ok::<_, Error>(stream::iter(own.map(Ok)))
    };
    stream::iter((0..=u8::MAX).map(one)).buffered(jobs.max(1)).try_flatten().try_collect().await
}
