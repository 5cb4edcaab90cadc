//! The catalog that the search script loads: all agents by column, which compresses well, and the phrases that searches
//! understand.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::SiteError;
use super::facets::{self, COLUMN_NAMES, EXAMINED, GROUPS};
use super::listing::Listing;
use acp_registry_client::index::{Class, MARKS, Meaning, PHRASES, SPELLINGS};
use acp_registry_plan::manifest::Platform;
use acp_registry_plan::timestamp::Timestamp;

/// Phrases about sign-in, which an index does not tell: phrase, bits in the column of sign-in.
const SIGN_IN: [(&str, u32); 6] = [
    ("api key", facets::API_KEY),
    ("api-key", facets::API_KEY),
    ("no api key", facets::NO_KEY),
    ("without api key", facets::NO_KEY),
    ("no key", facets::NO_KEY),
    ("no sign-in", facets::OPENS),
];

/// What the search script loads.
#[derive(Serialize)]
struct Catalog<'a> {
    id: Column<'a>,
    /// 0 for a name that can be derived from the id; the script derives it in the same way.
    name: Column<'a>,
    version: Column<'a>,
    text: Column<'a>,
    by: Column<'a>,
    license: Vec<usize>,
    licenses: Vec<&'a str>,
    chip: Vec<usize>,
    chips: Vec<Vec<(&'static str, String)>>,
    icon: Column<'a>,
    bits: Bits<'a>,
    /// Days since 1970; 0 if unknown.
    added: Option<Column<'a>>,
    updated: Option<Column<'a>>,
    phrases: Value,
    /// How texts are compared: the marks that do not count, as a class of a regular expression, and spellings.
    fold: (String, BTreeMap<char, &'static str>),
}

/// A member of all agents, serialized one by one: all values of a large registry take much memory.
struct Column<'a>(&'a [Listing<'a>], fn(&Listing<'a>) -> Value);

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(self.1))
    }
}

/// The columns of bits by name.
struct Bits<'a>(&'a [Listing<'a>]);

impl Serialize for Bits<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_examined = self.0.iter().any(|listing| listing.examined().is_some());
        // The script finds columns by their position, so only the last one can be left out.
        let names = COLUMN_NAMES.iter().enumerate().filter(|(at, _)| *at != EXAMINED || is_examined);
        serializer.collect_map(names.map(|(at, name)| {
            let column: Vec<u32> = self.0.iter().map(|listing| listing.bits[at]).collect();
            (name, column)
        }))
    }
}

/// Returns the catalog as compact JSON.
pub(super) fn text(listings: &[Listing<'_>]) -> Result<String, SiteError> {
    let has_days = listings.iter().any(|listing| !listing.events.is_empty());
    let days = |of| has_days.then_some(Column(listings, of));
    let (license, licenses) = table(listings, Listing::license_text);
    let (chip, chips) = table(listings, Listing::chips);
    let catalog = Catalog {
        id: Column(listings, |listing| json!(listing.id)),
        name: Column(listings, |listing| {
            let follows = listing.id.replace('-', " ") == listing.name;
            if follows { json!(0) } else { json!(listing.name) }
        }),
        version: Column(listings, |listing| json!(listing.version)),
        text: Column(listings, |listing| json!(listing.summary)),
        by: Column(listings, |listing| json!(listing.by)),
        license,
        licenses,
        chip,
        chips,
        icon: Column(listings, |listing| json!(u8::from(listing.has_icon))),
        bits: Bits(listings),
        added: days(|listing| json!(listing.added().map_or(0, Timestamp::days))),
        updated: days(|listing| json!(listing.updated().map_or(0, Timestamp::days))),
        phrases: phrases(),
        fold: (
            MARKS.iter().map(|(first, last)| format!("{first}-{last}")).collect(),
            SPELLINGS.iter().copied().collect(),
        ),
    };
    let mut text = serde_json::to_string(&catalog).map_err(SiteError::Catalog)?;
    text.push('\n');
    Ok(text)
}

/// The place of each item's value in a list of the different ones, and that list.
fn table<'a, I, T: Ord>(items: &'a [I], of: fn(&'a I) -> T) -> (Vec<usize>, Vec<T>) {
    let different: BTreeSet<T> = items.iter().map(of).collect();
    let different: Vec<T> = different.into_iter().collect();
    let places = items.iter().map(|item| different.binary_search(&of(item)).unwrap_or_default());
    (places.collect(), different)
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
        .find(|(_, value)| value.bits & !unknown == bits)
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
        assert_eq!(table(&["b", "a", "b"], |item| *item), (vec![1, 0, 1], vec!["a", "b"]));
    }
}
