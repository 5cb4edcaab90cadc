//! The time that is published.

use std::env;

use acp_registry::timestamp::Timestamp;

use super::exit::Failure;

/// The time of this publication: what `SOURCE_DATE_EPOCH` says, so that a build can be repeated, or now.
pub(super) fn moment() -> Result<Timestamp, Failure> {
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
