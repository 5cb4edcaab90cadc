//! The time that is published.

use std::env;
use std::time::SystemTime;

use acp_registry::history::Moment;

use super::exit::Failure;

/// The time of this publication: what `SOURCE_DATE_EPOCH` says, so that a build can be repeated, or now.
pub(super) fn moment() -> Result<Moment, Failure> {
    let wrong =
        || Failure::usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970").help("correct or unset it");
    let seconds = match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => text.trim().parse().map_err(|_| wrong())?,
        _ => SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| i64::try_from(elapsed.as_secs()).unwrap_or_default()),
    };
    Moment::from_unix(seconds).ok_or_else(wrong)
}
