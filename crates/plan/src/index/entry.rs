//! The members of an agent that lists show.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::manifest::{AgentId, Platform};
use crate::text::quote;
use crate::versions::HeldVersion;

/// The longest version, in bytes: it becomes part of a folder's name.
const VERSION_LIMIT: usize = 100;

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
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.starts_with('{') {
            return Err("is passed over: it is not an object".to_owned());
        }
        let form: EntryMembers = serde_json::from_str(text).map_err(|error| {
            let error = error.to_string();
            // The line number is that within the entry, and does not help.
            format!("is passed over: {}", error.split(" at line ").next().unwrap_or_default())
        })?;
        let Distribution { binary, npx, uvx } = form.distribution;
        let (has_npx, has_uvx) = (npx.is_some(), uvx.is_some());
        let mut entry = Self {
            id: form.id.0,
            name: form.name.0,
            version: form.version.0,
            description: form.description.0,
            authors: form.authors.0.join(", "),
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
            entry.packages.extend(Some(package.0).filter(|text| !text.is_empty()));
            entry.commands.extend(Some(command.0).filter(|text| !text.is_empty()));
        }
        match entry.problem() {
            None => Ok(entry),
            Some(problem) if entry.id.is_empty() => Err(format!("is passed over: {problem}")),
            Some(problem) => Err(format!("({}) is passed over: {problem}", quote(&entry.id))),
        }
    }

    /// Why the entry cannot be used.
    pub(super) fn problem(&self) -> Option<&'static str> {
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
    text.len() <= VERSION_LIMIT
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-+.".contains(&b))
}

#[derive(Deserialize)]
struct EntryMembers {
    #[serde(default)]
    id: Text,
    #[serde(default)]
    name: Text,
    #[serde(default)]
    version: Text,
    #[serde(default)]
    description: Text,
    #[serde(default)]
    authors: Texts,
    #[serde(default)]
    license: Text,
    #[serde(default)]
    icon: Text,
    #[serde(default)]
    distribution: Distribution,
    #[serde(default)]
    held: Value,
}

/// The kinds of distribution; none when it is something else.
#[derive(Default)]
struct Distribution {
    binary: Archives,
    npx: Option<Package>,
    uvx: Option<Package>,
}

/// A string; empty when it is something else.
#[derive(Default)]
struct Text(String);

/// A list of strings; none when it is something else.
#[derive(Default)]
struct Texts(Vec<String>);

/// The platforms of archives and their commands; none when it is something else.
#[derive(Default)]
struct Archives {
    platforms: Vec<Cow<'static, str>>,
    commands: Vec<String>,
}

/// The command of an archive; none when it is something else.
#[derive(Default)]
struct Command(Text);

/// A package.
#[derive(Default)]
struct Package {
    package: Text,
    command: Text,
}

/// A package; none when it is not an object.
#[derive(Default)]
struct OptionalPackage(Option<Package>);

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

/// Implements `Deserialize` for types that accept any JSON, and keep what has the right type.
macro_rules! lenient {
    ($type:ty, { $($own:item)* }, { $($other:ident),* }) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Any;
                impl<'de> Visitor<'de> for Any {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("anything")
                    }
                    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
                    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
                    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
                    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
                    $(lenient!(@ $other);)*
                    $($own)*
                }
                deserializer.deserialize_any(Any)
            }
        }
    };
    (@ text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

lenient!(
    Text,
    {
        fn visit_str<E>(self, text: &str) -> Result<Text, E> {
            Ok(Text(text.to_owned()))
        }
    },
    { seq, map }
);

lenient!(
    Texts,
    {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
            let mut texts = Texts::default();
            while let Some(Text(text)) = seq.next_element()? {
                if texts.0.len() < AUTHORS && !text.is_empty() {
                    texts.0.push(text);
                }
            }
            Ok(texts)
        }
    },
    { text, map }
);

lenient!(
    Distribution,
    {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distribution, A::Error> {
            let mut found = Distribution::default();
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "binary" => found.binary = map.next_value()?,
                    "npx" => found.npx = map.next_value::<OptionalPackage>()?.0,
                    "uvx" => found.uvx = map.next_value::<OptionalPackage>()?.0,
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(found)
        }
    },
    { seq, text }
);

lenient!(
    Archives,
    {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Archives, A::Error> {
            let mut found = Archives { platforms: Vec::with_capacity(Platform::ALL.len()), commands: Vec::new() };
            while let Some((Name(platform), Command(Text(command)))) = map.next_entry()? {
                found.platforms.push(platform);
                let is_kept = found.commands.len() < COMMANDS && (1..=COMMAND_LIMIT).contains(&command.len());
                if is_kept && !found.commands.contains(&command) {
                    found.commands.push(command);
                }
            }
            Ok(found)
        }
    },
    { seq, text }
);

lenient!(
    Command,
    {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Command, A::Error> {
            let mut found = Command::default();
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "cmd" => found.0 = map.next_value()?,
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(found)
        }
    },
    { seq, text }
);

lenient!(
    OptionalPackage,
    {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OptionalPackage, A::Error> {
            let mut found = Package::default();
            while let Some(key) = map.next_key::<String>()? {
                match key.as_str() {
                    "package" => found.package = map.next_value()?,
                    "command" => found.command = map.next_value()?,
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
            }
            Ok(OptionalPackage(Some(found)))
        }
    },
    { seq, text }
);

#[cfg(test)]
mod tests {
    use super::*;

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
