//! The catalog that the search script loads: all agents by column, which compresses well.

use serde_json::{Value, json};

use super::facets::{COLUMN_NAMES, EXAMINED};
use super::listing::Listing;
use acp_registry_core::timestamp::Timestamp;

/// Returns the catalog as compact JSON.
pub(super) fn text(listings: &[Listing<'_>]) -> String {
    let column = |of: &dyn Fn(&Listing<'_>) -> Value| Value::Array(listings.iter().map(of).collect());
    // Names that can be derived from the id are omitted; the script derives them in the same way.
    let name = |listing: &Listing<'_>| {
        let follows = listing.id.replace('-', " ") == listing.name;
        if follows { json!(0) } else { json!(listing.name) }
    };
    // Days since 1970; 0 if unknown.
    let days = |of: &dyn Fn(&Listing<'_>) -> Option<Timestamp>| {
        if listings.iter().all(|listing| listing.events.is_empty()) {
            return Value::Null;
        }
        column(&|listing| json!(of(listing).map_or(0, Timestamp::days)))
    };
    let mut licenses: Vec<&str> = listings.iter().map(|listing| listing.license.as_str()).collect();
    licenses.sort_unstable();
    licenses.dedup();
    let license = |listing: &Listing<'_>| json!(licenses.binary_search(&listing.license.as_str()).unwrap_or_default());
    let mut bits = serde_json::Map::new();
    let is_examined = listings.iter().any(|listing| listing.examined().is_some());
    // The script finds columns by their position, so only the last one can be left out.
    for (at, key) in COLUMN_NAMES.iter().enumerate().filter(|(at, _)| *at != EXAMINED || is_examined) {
        bits.insert((*key).to_owned(), column(&|listing| json!(listing.bits[at])));
    }
    let mut text = json!({
        "id": column(&|listing| json!(listing.id)),
        "name": column(&name),
        "version": column(&|listing| json!(listing.version)),
        "text": column(&|listing| json!(listing.summary)),
        "by": column(&|listing| json!(listing.authors.join(", "))),
        "license": column(&license),
        "licenses": licenses,
        "icon": column(&|listing| json!(u8::from(listing.has_icon))),
        "bits": bits,
        "added": days(&|listing| listing.added()),
        "updated": days(&|listing| listing.updated()),
    })
    .to_string();
    text.push('\n');
    text
}
