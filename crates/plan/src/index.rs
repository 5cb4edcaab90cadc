//! READ: the text of an index, and what agents it has.
//!
//! * [`Index`]: the entries that can be used, and notes about those that cannot
//! * [`entries()`], [`Notes`]: the list of an index, for readers that need other members of its entries
//!
//! Reading is lenient: unknown members are passed over, and a broken entry never hides the others.
//!
//! ```
//! use acp_registry_plan::index::Index;
//!
//! let text = r#"{ "agents": [ 7, { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let index = Index::parse(text.to_owned())?;
//! let ids: Vec<&str> = index.entries().map(|entry| entry.id.as_str()).collect();
//! assert_eq!((ids, index.notes.len()), (vec!["a"], 1));
//! # Ok::<(), acp_registry_plan::index::FormError>(())
//! ```

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Display};
use std::ops::Range;
use std::time::SystemTime;

use rayon::prelude::*;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::digest::Sha256;
use crate::failure::{Code, Failure};
use crate::json::List;
use crate::manifest::{Agent, AgentId, Platform};
use crate::statement::Signed;
use crate::text::{nearest, quote, suggestions};
use crate::timestamp::age;
use crate::versions::HeldVersion;

/// The index has no agent of this id that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The index has no such agent.
    #[error("there is no agent {} in the registry index", quote(id))]
    UnknownAgent {
        /// What was asked for.
        id: String,
        /// The ids that were probably meant, the nearest first.
        near: Vec<String>,
    },
    /// The index has an entry for the agent that cannot be used.
    #[error("in the registry index, {0}")]
    UnusableEntry(String),
}

impl Missing {
    /// Why an index has no agent of this id.
    #[must_use]
    pub fn of(id: &str, index: &Index) -> Self {
        if let Some(note) = index.notes.iter().find(|note| note.contains(&format!(" ({}) ", quote(id)))) {
            return Self::UnusableEntry(note.clone());
        }
        let near = suggestions(id, index.known(id));
        Self::UnknownAgent { id: id.to_owned(), near: near.into_iter().map(ToOwned::to_owned).collect() }
    }
}

impl From<Missing> for Failure {
    fn from(error: Missing) -> Self {
        let failure = Self::usage(&error).code(Code::UnknownAgent);
        match error {
            Missing::UnknownAgent { near, .. } if near.is_empty() => {
                failure.help("run `acp-registry search WORD` to find agents")
            }
            Missing::UnknownAgent { near, .. } => failure.suggest(near.iter().map(String::as_str)),
            Missing::UnusableEntry(_) => failure,
        }
    }
}

/// The file name of the index with all agents in a published tree.
pub const INDEX: &str = "registry.json";

/// The largest index that is read, in bytes.
pub const INDEX_LIMIT: u64 = 64 << 20;

/// How many entries an index may have. Each takes more memory than it takes in the text.
const MOST: usize = 250_000;

/// How many notes about entries that are passed over there are at most; one more then counts the rest.
const NOTES: usize = 20;

/// A text is not an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is not a registry index: {0}")]
pub struct FormError(String);

impl FormError {
    /// What is wrong with the text, as a reader of it says.
    #[must_use]
    pub fn of(error: &dyn Display) -> Self {
        Self(error.to_string())
    }

    /// A folder has no index.
    #[must_use]
    pub fn empty() -> Self {
        Self("it holds neither registry.json nor registry.toml nor a folder with an agent.json".to_owned())
    }
}

#[derive(Deserialize)]
struct IndexMembers<'a> {
    #[serde(borrow)]
    agents: List<'a, MOST>,
    version: Option<IgnoredAny>,
    /// Documents of this program's commands have it, and some of them a list `agents`.
    command: Option<IgnoredAny>,
}

/// The entries of an index, with notes on those that cannot be used.
fn read_entries(text: &str) -> Result<(Vec<EntrySpan>, Vec<String>), FormError> {
    let texts = entries(text)?;
    let read: Vec<Result<Entry, String>> = texts.par_iter().map(|text| Entry::parse(text)).collect();
    let (mut found, mut notes, mut ids) = (Vec::with_capacity(read.len()), Notes::default(), HashSet::new());
    for (at, (entry, part)) in read.into_iter().zip(texts).enumerate() {
        match entry {
            Err(problem) => notes.add(at, &problem),
            Ok(entry) if ids.contains(&entry.id) => {
                notes.add(at, &format!("is passed over: there is another {} before it", quote(&entry.id)));
            }
            Ok(entry) => {
                ids.insert(entry.id.clone());
                let start = part.as_ptr().addr() - text.as_ptr().addr();
                found.push(EntrySpan { entry, place: start..start + part.len() });
            }
        }
    }
    Ok((found, notes.into_sentences()))
}

/// The texts of an index's entries, in their order; each is JSON.
///
/// # Errors
/// [`FormError`] when the index is not JSON, has no array `agents`, or has too many entries.
pub fn entries(index: &str) -> Result<Vec<&str>, FormError> {
    // Some editors begin every file with a byte order mark.
    let json = index.strip_prefix('\u{feff}').unwrap_or(index);
    let form: IndexMembers<'_> = serde_json::from_str(json).map_err(|error| match error.classify() {
        Category::Data => FormError("it is not an object with a list `agents`".to_owned()),
        _ => FormError(error.to_string()),
    })?;
    if form.command.is_some() && form.version.is_none() {
        return Err(FormError("it is the document of a command of acp-registry".to_owned()));
    }
    if form.agents.is_longer {
        return Err(FormError(format!("it has more than {MOST} entries")));
    }
    Ok(form.agents.items.into_iter().map(RawValue::get).collect())
}

/// Notes about the entries of an index that are passed over.
#[derive(Debug, Default)]
pub struct Notes {
    first: Vec<String>,
    more: usize,
}

impl Notes {
    /// Notes what is wrong with the entry at this place of the list, as the rest of a sentence about it.
    pub fn add(&mut self, at: usize, problem: &str) {
        if self.first.len() < NOTES {
            self.first.push(format!("entry {} {problem}", at + 1));
        } else {
            self.more += 1;
        }
    }

    /// The notes as sentences, ready to be shown.
    #[must_use]
    pub fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            self.first.push(format!("and {} more entries are passed over", self.more));
        }
        self.first
    }
}

/// An index. Its text stays in memory: what lists do not show of an agent is read from there when it is asked for.
#[derive(Debug, Clone)]
pub struct Index {
    text: String,
    entries: Vec<EntrySpan>,
    /// Ids of agents that the index may have, which serve for suggestions only.
    others: Vec<String>,
    /// Which entries cannot be used, and why; ready to be shown.
    pub notes: Vec<String>,
    /// Where it comes from, and how old it may be.
    pub origin: IndexSource,
    sha256: String,
}

/// An entry, and where in the text it is.
#[derive(Debug, Clone)]
struct EntrySpan {
    entry: Entry,
    place: Range<usize>,
}

/// An agent's entry is valid JSON, but a number is out of range or the nesting too deep.
#[derive(Debug, thiserror::Error)]
#[error("what the registry index says of {} cannot be read: {error}", quote(id))]
pub struct EntryError {
    /// The agent.
    pub id: String,
    /// What is wrong.
    #[source]
    pub error: serde_json::Error,
}

/// Where an index came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexSource {
    /// Its address without secrets, or its path; empty for a text that a program has passed.
    pub source: String,
    /// When its host sent it, or last confirmed it; for a file or a directory, when that last changed.
    pub fetched_at: Option<SystemTime>,
    /// Whether its host may have a newer one: the host could not be asked, or the session is offline and the copy no
    /// longer fresh.
    pub is_stale: bool,
    /// Who has signed it, if the registry signs.
    pub signed: Option<Signed>,
}

impl Index {
    /// The age of the index, for people. If the clock was set back, the age is zero.
    #[must_use]
    pub fn age(&self) -> Option<String> {
        let age = age(self.origin.fetched_at?.elapsed().unwrap_or_default());
        Some(if self.origin.is_stale { format!("{age}, and there may be a newer one") } else { age })
    }

    /// Reads an index. Entries that cannot be used become notes.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn parse(text: String) -> Result<Self, FormError> {
        // The digest takes as long as finding the entries.
        let (sha256, read) = rayon::join(|| Sha256::of(&text).to_string(), || read_entries(&text));
        let (entries, notes) = read?;
        Ok(Self { text, entries, others: Vec::new(), notes, sha256, origin: IndexSource::default() })
    }

    /// Reads an index whose digest is known.
    ///
    /// # Errors
    /// [`FormError`] when it is not JSON, or has no array `agents`.
    pub fn with_digest(text: String, sha256: String) -> Result<Self, FormError> {
        let (entries, notes) = read_entries(&text)?;
        Ok(Self { text, entries, others: Vec::new(), notes, sha256, origin: IndexSource::default() })
    }

    /// Removes agents that another proof shows to be withdrawn.
    pub fn remove(&mut self, ids: &BTreeSet<AgentId>) {
        self.entries.retain(|found| !ids.iter().any(|id| **id == *found.entry.id));
    }

    /// Adds the ids of another index to those that may be suggested. It adds no agent.
    pub fn suggest(&mut self, other: &Self) {
        let ids = other.entries().map(|entry| &entry.id);
        self.others.extend(ids.filter(|id| self.entries.iter().all(|found| found.entry.id != **id)).cloned());
    }

    /// The ids that may be suggested in place of an unknown one.
    fn known(&self, unknown: &str) -> impl Iterator<Item = &str> {
        let ids = self.entries().map(|entry| entry.id.as_str()).chain(self.others.iter().map(String::as_str));
        ids.filter(move |id| *id != unknown)
    }

    /// All of the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// SHA-256 of the index, in lower-case hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The agents, in the order of the index.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(|found| &found.entry)
    }

    /// The whole entry of an agent; `None` when the index has no agent of this id.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn value(&self, id: &str) -> Result<Option<Value>, EntryError> {
        let Some(found) = self.entries.iter().find(|found| found.entry.id == id) else { return Ok(None) };
        let value = serde_json::from_str(&self.text[found.place.clone()]);
        value.map(Some).map_err(|error| EntryError { id: id.to_owned(), error })
    }

    /// An agent, without archives and packages that have unreadable members; `None` when the index has no agent of this
    /// id.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn agent(&self, id: &str) -> Result<Option<Agent>, EntryError> {
        let Some(mut value) = self.value(id)? else { return Ok(None) };
        keep_usable(&mut value);
        Ok(Some(Agent::from_json(&value)))
    }

    /// What [`Index::agent`] leaves out of an agent, and why; as sentences, printable once they are quoted.
    ///
    /// # Errors
    /// [`EntryError`] when a number is out of range, or the entry is nested too deep.
    pub fn left_out(&self, id: &str) -> Result<Vec<String>, EntryError> {
        Ok(self.value(id)?.map(|mut value| keep_usable(&mut value)).unwrap_or_default())
    }

    /// The id that was probably meant.
    #[must_use]
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.known(id))
    }
}

/// Removes archives and packages with members of a wrong type: if such a member was ignored, a digest or an argument
/// would get lost. Returns what was removed and why, as sentences.
fn keep_usable(agent: &mut Value) -> Vec<String> {
    let mut notes = Vec::new();
    for channel in ["", "/preview"] {
        let place = format!("{channel}/distribution");
        let Some(distribution) = agent.pointer_mut(&place).and_then(Value::as_object_mut) else { continue };
        if let Some(targets) = distribution.get_mut("binary").and_then(Value::as_object_mut) {
            keep(targets, &format!("{place}/binary"), |_| true, &mut notes);
        }
        keep(distribution, &place, |kind| kind == "npx" || kind == "uvx", &mut notes);
    }
    notes
}

fn keep(ways: &mut Map<String, Value>, place: &str, is_way: impl Fn(&str) -> bool, notes: &mut Vec<String>) {
    ways.retain(|name, way| {
        let problem = if is_way(name) { problem(way) } else { None };
        notes.extend(problem.as_ref().map(|problem| format!("{place}/{name} is passed over: {problem}")));
        problem.is_none()
    });
}

fn problem(way: &Value) -> Option<String> {
    let Some(way) = way.as_object() else { return Some("it is not an object".to_owned()) };
    // Some writers have `null` for missing members.
    let of = |name: &str| way.get(name).filter(|value| !value.is_null());
    let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
    let are_texts = |value: &Value| value.as_array().is_some_and(|values| values.iter().all(is_text));
    let are_pairs = |value: &Value| value.as_object().is_some_and(|values| values.values().all(is_text));
    let mut texts = ["archive", "cmd", "sha256", "package"].into_iter();
    if let Some(name) = texts.find(|name| of(name).is_some_and(|value| !is_text(value))) {
        Some(format!("its `{name}` is not a text without NUL characters"))
    } else if of("args").is_some_and(|value| !are_texts(value)) {
        Some("its `args` is not a list of texts without NUL characters".to_owned())
    } else if of("env").is_some_and(|value| !are_pairs(value)) {
        Some("its `env` does not give texts without NUL characters to names".to_owned())
    } else {
        None
    }
}

impl From<EntryError> for Failure {
    fn from(error: EntryError) -> Self {
        Self::unable(error).code(Code::InvalidIndex)
    }
}

/// The longest version that clients take, in bytes: it becomes part of a folder's name.
pub const VERSION_LENGTH: usize = 100;

/// How many authors are kept.
const AUTHORS: usize = 20;

/// How many commands of archives are kept, and the longest one, in bytes.
const COMMANDS: usize = 8;
const COMMAND_LIMIT: usize = 200;

/// An agent, as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// Unique identifier; fit for a folder's name.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Version of the stable channel.
    pub version: String,
    /// What the agent is, in a sentence.
    pub description: String,
    /// The authors, separated by commas; empty where there are none.
    pub authors: String,
    /// The licence as the index writes it, usually an SPDX expression; empty where there is none.
    pub license: String,
    /// The address of the icon, as the index writes it; empty where there is none.
    pub icon: String,
    /// Platforms for which there is an archive, as the index writes them.
    pub platforms: Vec<Cow<'static, str>>,
    /// Whether there is a package for `npx`.
    pub has_npx: bool,
    /// Whether there is a package for `uvx`.
    pub has_uvx: bool,
    /// The packages as the index writes them, with their versions.
    pub packages: Vec<String>,
    /// The commands of packages and archives as the index writes them, each once.
    pub commands: Vec<String>,
    /// Why the index stays at this version; in a box, since few entries have it.
    pub held: Option<Box<HeldVersion>>,
}

impl Entry {
    /// Reads an entry; the error says what is wrong with it, as the rest of a sentence about it.
    fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('{') {
            return Err("is passed over: it is not an object".to_owned());
        }
        let form: EntryMembers = serde_json::from_str(text).map_err(|error| {
            let error = error.to_string();
            // The line number is that within the entry, and does not help.
            format!("is passed over: {}", error.split(" at line ").next().unwrap_or_default())
        })?;
        // What lists do not show is read when it is asked for, and would be refused then.
        if ["\\ud", "\\uD"].iter().any(|half| text.contains(half)) && serde_json::from_str::<Value>(text).is_err() {
            let problem = "it has half of a surrogate pair, or a number that is too large";
            return Err(format!("({}) is passed over: {problem}", quote(&form.id.0)));
        }
        let Distribution { binary, npx, uvx } = form.distribution.0;
        let (has_npx, has_uvx) = (npx.is_some(), uvx.is_some());
        let mut entry = Self {
            id: form.id.0,
            name: form.name.0,
            version: form.version.0,
            description: form.description.0,
            authors: form.authors.0.0.join(", "),
            license: form.license.0,
            icon: form.icon.0,
            platforms: binary.platforms,
            has_npx,
            has_uvx,
            packages: Vec::new(),
            commands: binary.commands,
            held: None,
        };
        entry.held = HeldVersion::parse(&form.held, &entry.version).map(Box::new);
        for Package { package, command } in npx.into_iter().chain(uvx) {
            entry.packages.extend(Some(package).filter(|text| !text.is_empty()));
            entry.commands.extend(Some(command).filter(|text| !text.is_empty()));
        }
        match entry.problem() {
            None => Ok(entry),
            Some(problem) if entry.id.is_empty() => Err(format!("is passed over: {problem}")),
            Some(problem) => Err(format!("({}) is passed over: {problem}", quote(&entry.id))),
        }
    }

    /// Why the entry cannot be used.
    fn problem(&self) -> Option<&'static str> {
        if !AgentId::is_valid(&self.id) {
            Some("its id is missing, or is not an id")
        } else if !is_version(&self.version) {
            Some("its version is missing, or is not a version")
        } else if self.platforms.is_empty() && !self.has_npx && !self.has_uvx {
            Some("it has no distribution that is known here")
        } else {
            None
        }
    }
}

fn is_version(text: &str) -> bool {
    text.len() <= VERSION_LENGTH
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+.".contains(&b))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EntryMembers {
    id: Kept<String>,
    name: Kept<String>,
    version: Kept<String>,
    description: Kept<String>,
    authors: Kept<Authors>,
    license: Kept<String>,
    icon: Kept<String>,
    distribution: Kept<Distribution>,
    held: Value,
}

/// The kinds of distribution.
#[derive(Default)]
struct Distribution {
    binary: Archives,
    npx: Option<Package>,
    uvx: Option<Package>,
}

/// The names of the authors.
#[derive(Default)]
struct Authors(Vec<String>);

/// The platforms of archives, and their commands.
#[derive(Default)]
struct Archives {
    platforms: Vec<Cow<'static, str>>,
    commands: Vec<String>,
}

/// The command of an archive.
#[derive(Default)]
struct Command(String);

/// A package.
#[derive(Default)]
struct Package {
    package: String,
    command: String,
}

/// The name of a platform. Those that are known take no memory.
struct Name(Cow<'static, str>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                let known: Result<Platform, _> = text.parse();
                Ok(Name(known.map_or_else(|_| text.to_owned().into(), |platform| platform.as_str().into())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// A value that may be any JSON, of which only what has the right type is kept.
#[derive(Default)]
struct Kept<T>(T);

/// What is kept of a text, a list or an object: by default, nothing.
trait Lenient: Default {
    fn text(&mut self, _: &str) {}

    fn list<'de, A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

impl<'de, T: Lenient> Deserialize<'de> for Kept<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

impl<'de, T: Lenient> Visitor<'de> for Kept<T> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(mut self, text: &str) -> Result<Self, E> {
        self.0.text(text);
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, list: A) -> Result<Self, A::Error> {
        self.0.list(list)?;
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, object: A) -> Result<Self, A::Error> {
        self.0.object(object)?;
        Ok(self)
    }
}

impl Lenient for String {
    fn text(&mut self, text: &str) {
        text.clone_into(self);
    }
}

impl Lenient for Authors {
    fn list<'de, A: SeqAccess<'de>>(&mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(Kept(text)) = list.next_element::<Kept<String>>()? {
            if self.0.len() < AUTHORS && !text.is_empty() {
                self.0.push(text);
            }
        }
        Ok(())
    }
}

impl Lenient for Distribution {
    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "binary" => self.binary = object.next_value::<Kept<_>>()?.0,
                "npx" => self.npx = object.next_value::<Kept<_>>()?.0,
                "uvx" => self.uvx = object.next_value::<Kept<_>>()?.0,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl Lenient for Archives {
    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        self.platforms.reserve_exact(Platform::ALL.len());
        while let Some((Name(platform), Kept(Command(command)))) = object.next_entry()? {
            self.platforms.push(platform);
            let is_kept = self.commands.len() < COMMANDS && (1..=COMMAND_LIMIT).contains(&command.len());
            if is_kept && !self.commands.contains(&command) {
                self.commands.push(command);
            }
        }
        Ok(())
    }
}

impl Lenient for Command {
    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "cmd" => self.0 = object.next_value::<Kept<_>>()?.0,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// None when it is not an object.
impl Lenient for Option<Package> {
    fn object<'de, A: MapAccess<'de>>(&mut self, mut object: A) -> Result<(), A::Error> {
        let found = self.get_or_insert_default();
        while let Some(key) = object.next_key::<String>()? {
            match key.as_str() {
                "package" => found.package = object.next_value::<Kept<_>>()?.0,
                "command" => found.command = object.next_value::<Kept<_>>()?.0,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOOD: &str = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}},"x":["}]{\"",{"y":"\\"}]}"#;

    #[test]
    fn broken_entries_are_told_apart_from_broken_indexes() {
        let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        // Each is between two good ones, and either another entry or what makes the whole no JSON.
        for (entry, is_entry) in [
            ("{}", true),
            (r#"{ "id": "b", "id": "c" }"#, true),
            (r#"{"id":"\ud800"}"#, true),
            (r#"{"name":1e999}"#, true),
            (&deep, true),
            ("7", true),
            ("[{}]", true),
            (r#""},{""#, true),
            ("null", true),
            ("", false),
            ("{} {}", false),
            ("{},", false),
            ("{", false),
            ("}", false),
            ("{]}", false),
            ("{[}]", false),
            (r#"{"x"}"#, false),
            (r#"{"x":"}"#, false),
            (r#"{"id":"b","id":"c"]}"#, false),
            (r#"{"x":"\y"}"#, false),
            ("{\"x\":\"\n\"}", false),
            (r#"{"x":01}"#, false),
        ] {
            let json = format!(" {{ \"agents\" : [\n{GOOD}\t,\r{entry} , {GOOD} ] }}\n");
            match entries(&json) {
                Ok(read) => assert!(is_entry && read == [GOOD, entry, GOOD], "{entry}: {read:?}"),
                Err(error) => assert!(!is_entry && error.to_string().contains(" at line "), "{entry}: {error}"),
            }
        }
    }

    #[test]
    fn a_list_is_not_longer_than_it_may_be() {
        let of = |count: usize| format!(r#"{{"agents":[{}]}}"#, vec!["1"; count].join(","));
        assert_eq!(entries(&of(MOST)).unwrap().len(), MOST);
        let error = entries(&of(MOST + 1)).unwrap_err().to_string();
        assert_eq!(error, "is not a registry index: it has more than 250000 entries");
    }

    #[test]
    fn notes_are_counted() {
        let mut notes = Notes::default();
        (0..50).for_each(|at| notes.add(at, "is passed over"));
        let notes = notes.into_sentences();
        assert_eq!((notes.len(), notes[19].as_str()), (21, "entry 20 is passed over"));
        assert_eq!(notes[20], "and 30 more entries are passed over");
    }

    #[test]
    fn the_list_is_that_of_the_index_itself() {
        for json in [
            format!(r#"{{"x":{{"agents":[{{}}]}},"y":"\"agents\":[","agents":[{GOOD}]}}"#),
            format!(r#"{{"agents":[{GOOD}],"x":{{"agents":[{{}}]}}}}"#),
            format!(r#"{{"\u0061gents":[{GOOD}]}}"#),
        ] {
            assert_eq!(entries(&json).unwrap(), [GOOD]);
        }
        for (json, place) in [
            (format!(r#"{{"agents":[{GOOD}],"agents":[]}}"#), ""),
            (format!(r#"{{"agents":[{GOOD}]"#), " at line 1"),
            (format!(r#"{{"agents":[{GOOD}]}}}}"#), " at line 1"),
            (format!(r#"{{"agents":[{GOOD}],}}"#), " at line 1"),
            (format!(r#"{{7:1,"agents":[{GOOD}]}}"#), " at line 1"),
            (format!(r#"["agents":[{GOOD}]]"#), ""),
        ] {
            let error = entries(&json).unwrap_err().to_string();
            assert!(error.starts_with("is not a registry index: ") && error.contains(place), "{json}: {error}");
        }
    }

    #[test]
    fn a_broken_entry_never_hides_the_others() {
        let good = |id: &str| format!(r#"{{ "id": "{id}", "version": "1.0.0", "distribution": {{ "npx": {{}} }} }}"#);
        let deep = format!("{{\"id\":\"deep\",\"x\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(
            r#"{{ "version": 2, "agents": [{}, 7, {{}}, {}, {deep}, {}], "new": {{}} }}"#,
            good("a"),
            good("b"),
            good("a")
        );
        let index = Index::parse(text).unwrap();
        assert_eq!(index.entries().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(index.notes.len(), 4, "{:?}", index.notes);
        assert!(index.notes[0].starts_with("entry 2 is passed over"));
        assert!(index.notes[3].contains("another `a` before it"));
        assert_eq!(index.agent("b").unwrap().unwrap().id, "b");
        assert_eq!((index.nearest("bb"), index.nearest("quite-another")), (Some("b"), None));
    }

    #[test]
    fn what_is_no_index_is_refused() {
        for text in ["", "<html>", "[]", "{}", r#"{"agents":{}}"#, r#"{"agents":[{]}"#] {
            assert!(Index::parse(text.to_owned()).unwrap_err().to_string().starts_with("is not a registry index"));
        }
        assert_eq!(Index::parse(r#"{"agents":[]}"#.to_owned()).unwrap().entries().count(), 0);
    }

    #[test]
    fn a_byte_order_mark_moves_nothing() {
        let entry = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{}}}"#;
        let text = format!("\u{feff} {{\"agents\":[{entry}]}}\n");
        let index = Index::parse(text.clone()).unwrap();
        assert_eq!(index.value("a").unwrap().unwrap().to_string(), entry);
        assert_eq!(index.sha256(), Sha256::of(&text).to_string());
    }

    #[test]
    fn what_says_something_unreadable_of_what_runs_is_no_way() {
        for (way, problem) in [
            (json!(7), "not an object"),
            (json!({ "archive": 7 }), "`archive`"),
            (json!({ "cmd": ["a"] }), "`cmd`"),
            (json!({ "sha256": ["a"] }), "`sha256`"),
            (json!({ "package": {} }), "`package`"),
            (json!({ "args": "acp" }), "`args`"),
            (json!({ "args": ["acp", 7] }), "`args`"),
            (json!({ "args": ["a\u{0}b"] }), "`args`"),
            (json!({ "env": ["A=b"] }), "`env`"),
            (json!({ "env": { "A": 7 } }), "`env`"),
        ] {
            let good = json!({ "archive": "a", "sha256": null });
            let mut agent = json!({
                "distribution": { "binary": { "bad": way, "good": good }, "other": 7 },
                "preview": { "distribution": { "npx": way, "uvx": { "package": "a" } } },
            });
            let notes = keep_usable(&mut agent);
            assert_eq!(notes.len(), 2, "{way}");
            assert!(notes[0].starts_with("/distribution/binary/bad is passed over: ") && notes[0].contains(problem));
            assert!(notes[1].starts_with("/preview/distribution/npx is passed over: "), "{notes:?}");
            assert_eq!(agent["distribution"], json!({ "binary": { "good": good }, "other": 7 }));
            assert_eq!(agent["preview"]["distribution"], json!({ "uvx": { "package": "a" } }));
        }
    }

    #[test]
    fn members_of_any_type_are_read() {
        let text = r#"{ "id": "a", "version": "1.0.0", "name": 7, "description": ["x"], "new": { "deep": [1] },
            "distribution": { "binary": { "linux-x86_64": 1, "os-x": { "cmd": "./a" }, "z": { "cmd": "./a" } },
                              "npx": "no", "uvx": { "package": "p", "command": ["x"] } } }"#;
        let entry = Entry::parse(text).unwrap();
        assert_eq!((entry.name.as_str(), entry.description.as_str()), ("", ""));
        assert_eq!(entry.platforms, ["linux-x86_64", "os-x", "z"]);
        assert_eq!((entry.packages, entry.commands), (vec!["p".to_owned()], vec!["./a".to_owned()]));
        assert_eq!((entry.has_npx, entry.has_uvx), (false, true));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let npx = r#""distribution": { "npx": {} }"#;
        for (text, problem) in [
            ("7", "is passed over: it is not an object"),
            ("{}", "is passed over: its id"),
            (&format!(r#"{{ "id": "../a", "version": "1.0.0", {npx} }}"#), "(`../a`) is passed over: its id"),
            (&format!(r#"{{ "id": "a", {npx} }}"#), "(`a`) is passed over: its version"),
            (&format!(r#"{{ "id": "a", "version": "1/../..", {npx} }}"#), "(`a`) is passed over: its version"),
            (r#"{ "id": "a", "version": "1.0.0", "distribution": { "docker": {} } }"#, "it has no distribution"),
            (r#"{ "id": "a", "version": "1.0.0", "distribution": [] }"#, "it has no distribution"),
            (&format!(r#"{{ "id": "a", "id": "b", "version": "1.0.0", {npx} }}"#), "duplicate field"),
        ] {
            let error = Entry::parse(text).unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
