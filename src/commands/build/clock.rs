//! The time of publication.

use std::env;

use acp_registry::timestamp::Timestamp;

use crate::failure::Failure;

/// Returns the time of publication: `SOURCE_DATE_EPOCH` if set, for reproducible builds, otherwise the current time.
pub(crate) fn moment() -> Result<Timestamp, Failure> {
    let wrong =
        || Failure::usage("SOURCE_DATE_EPOCH is not a number of seconds since 1970").help("correct or unset it");
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.trim().is_empty() => {
            let seconds = text.trim().parse().ok();
            seconds.and_then(Timestamp::from_unix).ok_or_else(wrong)
        }
        _ => Ok(Timestamp::now()),
    }
}
