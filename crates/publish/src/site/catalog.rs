//! The catalog that the search script loads: all agents by column, which compresses well, and the phrases that searches
//! understand.

use serde_json::{Map, Value, json};

use super::facets::{self, COLUMN_NAMES, EXAMINED, GROUPS};
use super::listing::Listing;
use acp_registry_client::index::{Class, Meaning, PHRASES};
use acp_registry_core::manifest::Platform;
use acp_registry_core::timestamp::Timestamp;

/// Phrases about sign-in, which an index does not tell: phrase, bits in the column of sign-in.
const SIGN_IN: [(&str, u32); 6] = [
    ("api key", facets::API_KEY),
    ("api-key", facets::API_KEY),
    ("no api key", facets::NO_KEY),
    ("without api key", facets::NO_KEY),
    ("no key", facets::NO_KEY),
    ("no sign-in", facets::OPENS),
];

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
    let mut bits = Map::new();
    let is_examined = listings.iter().any(|listing| listing.examined().is_some());
    // The script finds columns by their position, so only the last one can be left out.
    for (at, key) in COLUMN_NAMES.iter().enumerate().filter(|(at, _)| *at != EXAMINED || is_examined) {
        bits.insert((*key).to_owned(), column(&|listing| json!(listing.bits[at])));
    }
    let (license, licenses) = table(listings.iter().map(Listing::license_text));
    let (chip, chips) = table(listings.iter().map(Listing::chips));
    let mut text = json!({
        "id": column(&|listing| json!(listing.id)),
        "name": column(&name),
        "version": column(&|listing| json!(listing.version)),
        "text": column(&|listing| json!(listing.summary)),
        "by": column(&|listing| json!(listing.by())),
        "license": license,
        "licenses": licenses,
        "chip": chip,
        "chips": chips,
        "icon": column(&|listing| json!(u8::from(listing.has_icon))),
        "bits": bits,
        "added": days(&|listing| listing.added()),
        "updated": days(&|listing| listing.updated()),
        "phrases": phrases(),
    })
    .to_string();
    text.push('\n');
    text
}

/// The place of each value in a list of the different ones, and that list.
fn table<T: Ord + serde::Serialize>(values: impl Iterator<Item = T>) -> (Value, Value) {
    let values: Vec<T> = values.collect();
    let mut different: Vec<&T> = values.iter().collect();
    different.sort_unstable();
    different.dedup();
    let places: Vec<usize> = values.iter().map(|value| different.binary_search(&value).unwrap_or_default()).collect();
    (json!(places), json!(different))
}

/// What phrases mean: 0 for a filler, a text for another word, `[path, name]` for an editor, and for a class
/// `[column, bits, bits of agents of which it is not known, label]`.
fn phrases() -> Value {
    let of_index = PHRASES.iter().map(|(phrase, meaning)| {
        let meaning = match meaning {
            Meaning::Filler => json!(0),
            Meaning::Word(other) => json!(other),
            Meaning::Editor(name, client) => json!([format!("editors/{client}/"), name]),
            Meaning::Class(class) => {
                let (column, bits, unknown) = class_bits(*class);
                class_json(column, bits, unknown)
            }
        };
        ((*phrase).to_owned(), meaning)
    });
    let of_sign_in = SIGN_IN.iter().map(|(phrase, bits)| ((*phrase).to_owned(), class_json(facets::AUTH, *bits, 0)));
    Value::Object(of_index.chain(of_sign_in).collect())
}

fn class_json(column: usize, bits: u32, unknown: u32) -> Value {
    let group = GROUPS.iter().filter(|group| group.column == column);
    let label = group
        .flat_map(|group| group.values.iter().map(move |value| (group.title, value)))
        .find(|(_, value)| value.bits == bits)
        .map(|(title, value)| format!("{title}: {}", value.label));
    json!([column, bits, unknown, label])
}

/// Column, bits, and bits of agents of which it is not known.
fn class_bits(class: Class) -> (usize, u32, u32) {
    match class {
        Class::OpenSource => (facets::LICENSE, facets::OPEN, 0),
        Class::Proprietary => (facets::LICENSE, facets::PROPRIETARY, 0),
        Class::System(system) => {
            let bits = Platform::ALL.iter().enumerate().filter(|(_, platform)| platform.os() == system);
            (facets::PLATFORM, bits.fold(0, |bits, (at, _)| bits | 1 << at), facets::NO_PLATFORM)
        }
        Class::Binary => (facets::DIST, facets::BINARY, 0),
        Class::Npx => (facets::DIST, facets::NPX, 0),
        Class::Uvx => (facets::DIST, facets::UVX, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_a_value_of_a_filter() {
        for (phrase, meaning) in phrases().as_object().unwrap() {
            let is_class = meaning.as_array().is_some_and(|parts| parts.len() == 4);
            assert!(!is_class || meaning[3].is_string(), "{phrase}: {meaning}");
        }
        for (_, meaning) in PHRASES {
            if let Meaning::Editor(_, client) = meaning {
                assert!(acp_registry_client::settings::find(client).is_some(), "{client}");
            }
        }
        assert_eq!(phrases()["windows"], json!([0, 0b11_0000, 64, "System: Windows"]));
        assert_eq!(phrases()["neovim"], json!(["editors/codecompanion/", "Neovim"]));
    }

    #[test]
    fn a_table_has_each_value_once() {
        let (places, values) = table(["b", "a", "b"].into_iter());
        assert_eq!((places, values), (json!([1, 0, 1]), json!(["a", "b"])));
    }
}
