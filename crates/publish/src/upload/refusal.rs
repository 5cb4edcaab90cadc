//! What an error answer of a store means, with its remedy.
use acp_registry_plan::text::{printable, quote};
use object_store::path::Error as PathError;

use super::Error;
use super::answer::element_text;

/// The error of a failed request, with a remedy where one is known.
pub(super) fn store_error(place: String, error: &object_store::Error, bucket: &str) -> Error {
    let (message, remedy) = explain(error, bucket);
    Error::Store { place, message, remedy }
}

fn explain(error: &object_store::Error, bucket: &str) -> (String, Option<String>) {
    let code = code(error);
    let named = code.as_ref().map_or_else(String::new, |code| format!(" ({code})"));
    match error {
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => (
            format!("the store refuses the key{named}"),
            Some("check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and what the key may do".into()),
        ),
        object_store::Error::InvalidPath { source } => {
            let key = match source {
                PathError::BadSegment { path, .. }
                | PathError::EmptySegment { path }
                | PathError::NonUnicode { path, .. } => quote(path),
                other => quote(&other.to_string()),
            };
            (
                format!("it holds {key}, which is not a valid name"),
                Some("remove it there, or give --to another prefix".to_owned()),
            )
        }
        _ if code.as_deref() == Some("NoSuchBucket") => {
            let remedy = "create it, or check AWS_ENDPOINT_URL and AWS_REGION".into();
            (format!("there is no bucket {}", quote(bucket)), Some(remedy))
        }
        _ => {
            let text = chain(error);
            // The last error of the chain is the cause; the others repeat it with more context.
            let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let last: String = printable(last).chars().take(300).collect();
            (format!("the request failed{named}: {last}"), None)
        }
    }
}

/// The error code in the store's response, for example `NoSuchKey`.
pub(super) fn code(error: &object_store::Error) -> Option<String> {
    let code = element_text(&chain(error), "Code")?;
    Some(printable(&code.chars().take(60).collect::<String>()).into_owned())
}

fn chain(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut at: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = at {
        text.push_str(&format!("\n{error}"));
        at = error.source();
    }
    text
}
