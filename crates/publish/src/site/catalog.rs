//! The catalog that the search script loads: all agents by column, which compresses well, and the phrases that searches
//! understand.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::SiteError;
use super::facets::{self, COLUMN_NAMES, EXAMINED, FacetGroup, GROUPS};
use super::listing::Listing;
use acp_registry_client::index::{Class, MARKS, Meaning, PHRASES, SPELLINGS};
use acp_registry_plan::json;
use acp_registry_plan::timestamp::Timestamp;

/// What the search script loads.
#[derive(Serialize)]
struct Catalog<'a> {
    id: Column<'a>,
    /// 0 for a name that can be derived from the id; the script derives it in the same way.
    name: Column<'a>,
    version: Column<'a>,
    text: Column<'a>,
    programs: Column<'a>,
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
    phrases: Vec<(&'static [&'static str], Value)>,
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
        programs: Column(listings, |listing| json!(listing.programs)),
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

/// Phrases that mean the same, and what: 0 for a filler, a text for another word, a list of texts for the names of a family of
/// models, the name of an editor and its client, and for a class
/// `[column, bits, bits of agents of which it is not known, label]`.
fn phrases() -> Vec<(&'static [&'static str], Value)> {
    let meaning = |meaning: Meaning| match meaning {
        Meaning::Filler => json!(0),
        Meaning::Word(other) => json!(other),
        Meaning::Family(names) => json!(names),
        Meaning::Editor(name, client) => json!({ "name": name, "client": client }),
        Meaning::Class(class) => {
            let (column, bits, unknown) = class_bits(class);
            class_json(column, bits, unknown)
        }
        Meaning::Fact(filter, slug) => {
            let group = GROUPS.iter().find(|group| group.key == filter);
            let value =
                |group: &FacetGroup| group.values.iter().find(|value| value.slug == slug).map(|value| value.bits);
            group.map_or(json!(0), |group| class_json(group.column, value(group).unwrap_or_default(), 0))
        }
    };
    PHRASES.iter().map(|(phrases, of)| (*phrases, meaning(*of))).collect()
}

fn class_json(column: usize, bits: u32, unknown: u32) -> Value {
    let group = GROUPS.iter().filter(|group| group.column == column);
    let values = group.flat_map(|group| group.values.iter().map(move |value| (group.title, value)));
    // A single platform is a system with a processor.
    let is_part = |of: u32| unknown != 0 && of & !unknown & bits == bits;
    let named = values.clone().filter(|(_, value)| value.bits == bits || is_part(value.bits));
    let labels: Vec<String> = named.map(|(title, value)| format!("{title}: {}", value.label)).collect();
    if !labels.is_empty() {
        return json!([column, bits, unknown, labels.join(" · ")]);
    }
    // Any of several values.
    let several: Vec<(&str, &str)> =
        values.filter(|(_, value)| value.bits & bits != 0).map(|(title, value)| (title, value.label)).collect();
    let title = several.first().map_or("", |(title, _)| *title);
    let labels: Vec<&str> = several.iter().map(|(_, label)| *label).collect();
    json!([column, bits, unknown, format!("{title}: {}", labels.join(" or "))])
}

/// Column, bits, and bits of agents of which it is not known.
fn class_bits(class: Class) -> (usize, u32, u32) {
    match class {
        Class::OpenSource => (facets::LICENSE, facets::OPEN, 0),
        Class::Proprietary => (facets::LICENSE, facets::PROPRIETARY, 0),
        Class::Unlicensed => (facets::LICENSE, facets::UNLICENSED, 0),
        Class::Platforms(bits) => (facets::PLATFORM, bits, facets::NO_PLATFORM),
        Class::AnySystem => (facets::PLATFORM, facets::NO_PLATFORM, 0),
        Class::Binary => (facets::DIST, facets::BINARY, 0),
        Class::Npx => (facets::DIST, facets::NPX, 0),
        Class::Uvx => (facets::DIST, facets::UVX, 0),
        Class::WithoutNpx => (facets::DIST, facets::BINARY | facets::UVX, 0),
        Class::WithoutUvx => (facets::DIST, facets::BINARY | facets::NPX, 0),
    }
}

/// The ids of the agents with each value of a filter.
struct Holders<'a>(&'a [Listing<'a>], usize, u32);

impl Serialize for Holders<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(listings, column, bits) = self;
        serializer
            .collect_seq(listings.iter().filter(|listing| listing.bits[*column] & bits != 0).map(|listing| &listing.id))
    }
}

/// The agents with each value of each filter, for other programs and for the command `search`.
#[derive(Serialize)]
struct Facets<'a> {
    schema: u8,
    facets: BTreeMap<&'static str, BTreeMap<&'static str, Holders<'a>>>,
}

/// Returns `facets.json`.
pub(super) fn facets(listings: &[Listing<'_>]) -> String {
    let is_examined = listings.iter().any(|listing| listing.examined().is_some());
    let groups = GROUPS.iter().filter(|group| group.column != EXAMINED || is_examined);
    let facets = groups.map(|group| {
        let values = group.values.iter().map(|value| (value.slug, Holders(listings, group.column, value.bits)));
        (group.key, values.collect())
    });
    json::to_string(&Facets { schema: 1, facets: facets.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_a_value_of_a_filter() {
        for (phrases, meaning) in phrases() {
            let is_class = meaning[0].is_u64();
            assert!(!is_class || !meaning[3].as_str().unwrap().is_empty(), "{phrases:?}: {meaning}");
        }
        for (_, meaning) in PHRASES {
            if let Meaning::Editor(_, client) = meaning {
                assert!(acp_registry_client::settings::find(client).is_some(), "{client}");
            }
        }
        let of = |phrase| phrases().into_iter().find(|(known, _)| known.contains(&phrase)).unwrap().1;
        assert_eq!(of("windows"), json!([0, 0b11_0000, 64, "System: Windows"]));
        assert_eq!(of("apple silicon"), json!([0, 1, 64, "System: macOS · Processor: Arm (aarch64)"]));
        assert_eq!(of("any system"), json!([0, 64, 0, "System: Any, by npx or uvx"]));
        assert_eq!(of("neovim"), json!({ "name": "Neovim", "client": "codecompanion" }));
    }

    #[test]
    fn every_value_of_a_filter_has_a_phrase() {
        for group in GROUPS {
            for value in group.values {
                let is_value = |meaning: &Value| {
                    meaning[0] == group.column
                        && (meaning[1] == value.bits || meaning[1] == value.bits & !facets::NO_PLATFORM)
                };
                assert!(phrases().iter().any(|(_, meaning)| is_value(meaning)), "{} {}", group.key, value.slug);
            }
        }
    }

    #[test]
    fn a_table_has_each_value_once() {
        assert_eq!(table(&["b", "a", "b"], |item| *item), (vec![1, 0, 1], vec!["a", "b"]));
    }
}
