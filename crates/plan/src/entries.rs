//! `entries.json` and the lists of digests that it begins: how a reader finds one agent of a published tree without the
//! index.
//!
//! ```text
//! entries.json                     the digest of an index, and the digests of 128 groups
//!   entry-lists/<digest>.json      a group: the digests of 64 lists
//!     entry-lists/<digest>.json    a list: some agents with the digests of their entries
//!       entries/<view>/<id>.json   an entry: what the index says about an agent
//! ```
//!
//! The digests prove that an entry belongs to the same publication as `entries.json`, and that an agent is not in the
//! index. The numbers of groups and lists are fixed, so that a reader of one agent receives the same amount of data from
//! registries of any size.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Sha256;
use crate::manifest::AgentId;
use crate::statement::is_marked;
use crate::sums::is_name;

/// Version of the form of the discovery document.
pub const SCHEMA_VERSION: u32 = 1;

/// File name of the discovery document.
pub const DISCOVERY: &str = "entries.json";

/// The largest discovery document that is read, in bytes.
pub const DISCOVERY_LIMIT: u64 = 1 << 20;

/// The largest group or list that is read, in bytes.
pub const LIST_LIMIT: u64 = 1 << 18;

/// The largest entry that is read, in bytes.
pub const ENTRY_LIMIT: u64 = 8 << 20;

/// The number of groups.
pub const GROUPS: usize = 128;

/// The number of lists in a group.
pub const LISTS: usize = 64;

/// A list without agents, which is not published.
pub const EMPTY: &str = "{}\n";

/// The address of a group or a list, relative to the discovery document.
pub const LIST_PATH: &str = "entry-lists/{sha256}.json";

/// JSON Schema of the discovery document.
pub const SCHEMA: &str = include_str!("../../../schemas/entries.schema.json");

/// The discovery document, as it is published.
#[derive(Debug, Serialize)]
pub struct Discovery {
    /// Version of this form.
    pub schema: u32,
    /// The address of the document.
    pub url: String,
    /// The pattern of the addresses of groups and lists, with `{sha256}`. Relative to the document.
    pub lists: &'static str,
    /// The views, by the file name of their index.
    pub views: BTreeMap<String, DiscoveryView>,
    /// SHA-256 of `revoked.json`, if the registry has recalled versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
}

/// A view in the discovery document.
#[derive(Debug, Serialize, Deserialize)]
pub struct DiscoveryView {
    /// SHA-256 of the index.
    pub sha256: String,
    /// The pattern of the addresses of entries, with `{id}`. Relative to the document.
    pub entry: String,
    /// The digests of the groups.
    pub groups: Vec<String>,
}

/// The digest of `revoked.json` in a discovery document; `None` if the registry has recalled nothing.
///
/// # Errors
/// [`WrongForm`] when the document is malformed.
pub fn revoked_digest(document: &[u8]) -> Result<Option<Sha256>, WrongForm> {
    #[derive(Deserialize)]
    struct Document {
        schema: u32,
        revoked: Option<String>,
    }
    let Document { schema, revoked } = serde_json::from_slice(document).map_err(|error| WrongForm::of(&error))?;
    if schema != SCHEMA_VERSION {
        return Err(WrongForm(format!("schema {schema} is not known")));
    }
    revoked.map(|digest| digest.parse().map_err(|error| WrongForm::of(&error))).transpose()
}

/// A view of a published tree: read from a discovery document, and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The digest of the index.
    pub index: Sha256,
    /// Whether the registry signs.
    pub is_signed: bool,
    entry: String,
    lists: String,
    groups: Vec<Sha256>,
}

/// Why a discovery document or a list cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WrongForm(String);

impl WrongForm {
    fn of(cause: &impl ToString) -> Self {
        Self(cause.to_string())
    }
}

impl View {
    /// Reads the view whose index has this file name from a discovery document; `None` if the document does not have
    /// it. Addresses lead to files beside or below the document only.
    ///
    /// # Errors
    /// [`WrongForm`] when the document is malformed.
    pub fn parse(text: &[u8], view: &str) -> Result<Option<Self>, WrongForm> {
        #[derive(Deserialize)]
        struct Document {
            schema: u32,
            lists: String,
            views: BTreeMap<String, DiscoveryView>,
        }
        let mut document: Document = serde_json::from_slice(text).map_err(|error| WrongForm::of(&error))?;
        if document.schema != SCHEMA_VERSION {
            return Err(WrongForm(format!("schema {} is not known", document.schema)));
        }
        let Some(digests) = document.views.remove(view) else { return Ok(None) };
        let groups: Result<Vec<Sha256>, _> = digests.groups.iter().map(|digest| digest.parse()).collect();
        let view = Self {
            is_signed: str::from_utf8(text).is_ok_and(is_marked),
            index: digests.sha256.parse().map_err(|error| WrongForm::of(&error))?,
            entry: digests.entry,
            lists: document.lists,
            groups: groups.map_err(|error| WrongForm::of(&error))?,
        };
        if view.groups.len() != GROUPS {
            return Err(WrongForm(format!("there are {} groups instead of {GROUPS}", view.groups.len())));
        }
        for (pattern, member) in [(&view.entry, "{id}"), (&view.lists, "{sha256}")] {
            // Ids and digests have no characters with a meaning in paths, so that one of them stands for all.
            if pattern.matches(member).count() != 1 || !is_name(&pattern.replacen(member, "a", 1)) {
                return Err(WrongForm(format!("the pattern of addresses with {member} leads elsewhere, or nowhere")));
            }
        }
        Ok(Some(view))
    }

    /// The digest of the group with an agent of this id.
    #[must_use]
    pub fn group(&self, id: &AgentId) -> Sha256 {
        self.groups[slots(id).0]
    }

    /// The address of a group or list, relative to the discovery document.
    #[must_use]
    pub fn list_path(&self, digest: Sha256) -> String {
        self.lists.replacen("{sha256}", &digest.to_string(), 1)
    }

    /// The address of an entry, relative to the discovery document.
    #[must_use]
    pub fn entry_path(&self, id: &AgentId) -> String {
        self.entry.replacen("{id}", id, 1)
    }
}

/// The digest of the list that has an agent of this id, if the index has that agent.
///
/// # Errors
/// [`WrongForm`] when the text is not a group.
pub fn list_in(group: &[u8], id: &AgentId) -> Result<Sha256, WrongForm> {
    let digests: Vec<Cow<'_, str>> = serde_json::from_slice(group).map_err(|error| WrongForm::of(&error))?;
    if digests.len() != LISTS {
        return Err(WrongForm(format!("there are {} lists instead of {LISTS}", digests.len())));
    }
    digests[slots(id).1].parse().map_err(|error| WrongForm::of(&error))
}

/// The digest of an agent's entry; `None` when the index does not have the agent.
///
/// # Errors
/// [`WrongForm`] when the text is not a list.
pub fn entry_in(list: &[u8], id: &AgentId) -> Result<Option<Sha256>, WrongForm> {
    let entries: BTreeMap<Cow<'_, str>, Cow<'_, str>> =
        serde_json::from_slice(list).map_err(|error| WrongForm::of(&error))?;
    entries.get(id.as_str()).map(|digest| digest.parse().map_err(|error| WrongForm::of(&error))).transpose()
}

/// The number of the group that has an agent, and of the list in that group: the first two bytes of the SHA-256 of its id,
/// modulo the number of groups and lists.
#[must_use]
pub fn slots(id: &str) -> (usize, usize) {
    let [first, second, ..] = *Sha256::of(id).bytes();
    (usize::from(first) % GROUPS, usize::from(second) % LISTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn id(text: &str) -> AgentId {
        text.parse().unwrap()
    }

    fn document() -> Value {
        let digest = "1".repeat(64);
        let view = json!({ "sha256": digest, "entry": "entries/x/{id}.json", "groups": vec![digest.clone(); GROUPS] });
        json!({ "schema": 1, "url": "u", "lists": LIST_PATH, "views": { "x.json": view }, "later": {} })
    }

    #[test]
    fn addresses_stay_below_the_document() {
        let parse = |document: &Value| View::parse(document.to_string().as_bytes(), "x.json");
        let view = parse(&document()).unwrap().unwrap();
        assert_eq!(view.entry_path(&id("a-1")), "entries/x/a-1.json");
        assert_eq!(view.list_path(Sha256::of("")), format!("entry-lists/{}.json", Sha256::of("")));
        assert_eq!(View::parse(document().to_string().as_bytes(), "y.json"), Ok(None));
        for wrong in [
            "https://h.example/{id}", "//h.example/{id}", "/{id}", "../{id}", "a/../../{id}", "a/%2e%2e/{id}",
            "a\\{id}", "a/{id}?x", "a/{id}#x", "{id}:1", "a//{id}", "./{id}", "a", "{id}/{id}", "{id}\n", "",
        ] {
            let mut changed = document();
            changed["views"]["x.json"]["entry"] = wrong.into();
            assert!(parse(&changed).unwrap_err().to_string().contains("leads elsewhere"), "{wrong}");
            let mut changed = document();
            changed["lists"] = wrong.replace("{id}", "{sha256}").into();
            assert!(parse(&changed).unwrap_err().to_string().contains("leads elsewhere"), "{wrong}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let parse = |text: &str| View::parse(text.as_bytes(), "x.json");
        for text in ["", "<html>", "[]", "{}", "null", r#"{ "schema": 1, "lists": "a", "views": [] }"#] {
            assert!(parse(text).is_err(), "{text}");
        }
        for (pointer, value) in [
            ("/schema", json!(2)),
            ("/views/x.json/sha256", json!("1")),
            ("/views/x.json/groups", json!([])),
            ("/views/x.json/groups/7", json!("x")),
            ("/views/x.json/groups/7", json!(null)),
        ] {
            let mut changed = document();
            *changed.pointer_mut(pointer).unwrap() = value;
            assert!(parse(&changed.to_string()).is_err(), "{pointer}");
        }
        let group = json!(vec!["2".repeat(64); LISTS]).to_string();
        assert!(list_in(group.as_bytes(), &id("a")).is_ok());
        for text in ["", "{}", "[]", &group.replacen("\"2", "\"x", LISTS), &group.replacen('[', "[\"\",", 1)] {
            assert!(list_in(text.as_bytes(), &id("a")).is_err(), "{text}");
        }
        for text in ["", "[]", r#"{ "a": 1 }"#, r#"{ "a": "1" }"#] {
            assert!(entry_in(text.as_bytes(), &id("a")).is_err(), "{text}");
        }
        assert_eq!(entry_in(EMPTY.as_bytes(), &id("a")), Ok(None));
    }

    #[test]
    fn agents_are_spread_by_the_digest_of_their_id() {
        // SHA-256 of `a` begins with ca 97.
        assert_eq!(slots("a"), (0xca % GROUPS, 0x97 % LISTS));
        let used: std::collections::BTreeSet<_> = (0..50_000).map(|number| slots(&format!("agent-{number}"))).collect();
        assert!(used.len() > GROUPS * LISTS * 99 / 100, "{}", used.len());
    }

    #[test]
    fn the_schema_describes_what_is_read() {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        let view = &schema["definitions"]["view"];
        assert_eq!(view["properties"]["groups"]["minItems"], GROUPS);
        let members = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(members(&view["properties"]), ["sha256", "entry", "groups"]);
        assert_eq!(members(&schema["properties"]), ["schema", "url", "lists", "views", "revoked"]);
    }

    #[test]
    fn the_document_tells_what_was_recalled() {
        let digest = "1".repeat(64);
        let with = |revoked: &str| revoked_digest(format!(r#"{{ "schema": 1{revoked} }}"#).as_bytes());
        assert_eq!(
            (with(""), with(&format!(r#", "revoked": "{digest}""#))),
            (Ok(None), Ok(Some(digest.parse().unwrap())))
        );
        for wrong in [r#", "revoked": "x""#, r#", "revoked": 7"#, r#", "schema": 2"#] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
    }
}
