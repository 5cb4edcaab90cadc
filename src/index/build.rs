//! Puts the published tree together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::entry::{Icon, entry, renewed};
use super::previous::{Earlier, Kept, Published, PublishedError};
use super::tree::{Content, Tree};
use crate::check::{self, Checked, Status, schema};
use crate::finding::Level;
use crate::registry::{DEFAULT_BASE_URL, Entry, ID_LIMIT, MANIFEST_LIMIT, Registry, View};
use crate::sys::fs::read_bounded;
use crate::text::printable;

/// How a tree is built.
pub struct Options<'a> {
    /// Address under which the tree will be found, instead of the configured one.
    pub base_url: Option<&'a str>,
    /// How the registry was checked; earlier forms are checked in the same way.
    pub check: &'a check::Options<'a>,
    /// An earlier tree, from which failing agents keep their last form.
    pub previous: Option<&'a dyn Published>,
}

/// A tree, and what became of each agent.
pub struct Built<'a> {
    /// The files.
    pub tree: Tree<'a>,
    /// The agents, by folder name.
    pub agents: Vec<BuiltAgent>,
    /// Kept agents, and the views in which they had no earlier form and are therefore not published.
    pub missing: Vec<(String, String)>,
}

/// An agent and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltAgent {
    /// Folder name.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// How an agent is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As its folder says.
    Published,
    /// As it was last published, because it has errors now.
    Kept,
}

impl Outcome {
    /// The word used in every output format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Kept => "kept",
        }
    }
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Findings are errors, and no earlier form takes the place of these agents.
    #[error("{}", describe(agents))]
    Findings {
        /// The agents concerned; empty when the errors are about the registry as a whole.
        agents: Vec<String>,
    },
    /// There are no agents.
    #[error("{0} holds no agents; nothing is published")]
    Empty(String),
    /// What the configuration adds to a view is not what clients read.
    #[error("the view {file} cannot be published: {message}; correct the configuration")]
    View {
        /// File name of the view.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A schema that the configuration names cannot be published.
    #[error("the schema {path} {message}; correct `[schemas]` in the configuration")]
    Schema {
        /// Its path, relative to the registry directory.
        path: String,
        /// What is wrong, as the rest of a sentence.
        message: String,
    },
    /// The earlier tree cannot be read.
    #[error(transparent)]
    Previous(#[from] PublishedError),
}

/// How many agents a message names.
const NAMED: usize = 10;

fn describe(agents: &[String]) -> String {
    if agents.is_empty() {
        "the registry has errors; nothing is published".to_owned()
    } else {
        let named = agents.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = agents.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("no earlier form can stand in for {named}{more}; nothing is published")
    }
}

/// An agent that will be published.
enum Source<'a> {
    Own(&'a Entry),
    Earlier(Kept),
}

impl Source<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Own(entry) => &entry.id,
            Self::Earlier(kept) => &kept.id,
        }
    }

    fn has_icon(&self) -> bool {
        match self {
            Self::Own(entry) => entry.icon.present().is_some(),
            Self::Earlier(kept) => kept.icon.is_some(),
        }
    }
}

/// Builds the published tree in memory. The same registry and options give the same bytes.
///
/// # Errors
/// [`BuildError`]: errors without an earlier form to stand in, no agents, or an earlier tree that cannot be read.
pub fn build<'a>(registry: &'a Registry, checked: &Checked, options: &Options<'_>) -> Result<Built<'a>, BuildError> {
    if registry.entries.is_empty() {
        return Err(BuildError::Empty(registry.root.display().to_string()));
    }
    if checked.findings.iter().any(|finding| finding.agent.is_none() && finding.level == Level::Error) {
        return Err(BuildError::Findings { agents: Vec::new() });
    }
    let failed: BTreeSet<&str> =
        checked.agents.iter().filter(|agent| agent.status == Status::Failed).map(|agent| agent.id.as_str()).collect();
    let config = options.check.config;
    let views = config.views();
    // Without a manifest there is nothing to publish, whatever the levels of the rules are.
    let is_sound = |entry: &Entry| {
        let is_object = entry.manifest.present().is_some_and(|manifest| manifest.value().is_object());
        is_object && is_file_name(&entry.id) && !failed.contains(entry.id.as_str())
    };
    let is_whole = registry.entries.iter().all(is_sound);
    let earlier = if is_whole { None } else { options.previous.map(|tree| Earlier::load(tree, &views)).transpose()? };

    let mut sources = Vec::with_capacity(registry.entries.len());
    let mut lost = Vec::new();
    for entry in &registry.entries {
        if is_sound(entry) {
            sources.push(Source::Own(entry));
            continue;
        }
        let earlier = earlier.as_ref().filter(|_| is_file_name(&entry.id));
        match earlier.map(|earlier| earlier.keep(&entry.id, options.check)).transpose()?.flatten() {
            Some(kept) => sources.push(Source::Earlier(kept)),
            None => lost.push(printable(&entry.id).into_owned()),
        }
    }
    if !lost.is_empty() {
        return Err(BuildError::Findings { agents: lost });
    }

    let base_url = options.base_url.or(config.base_url.as_deref()).unwrap_or(DEFAULT_BASE_URL).trim_end_matches('/');
    let mut files: BTreeMap<String, Content<'a>> = BTreeMap::new();
    for view in &views {
        // A base URL on the command line is meant for the whole tree.
        let base_url = options.base_url.map_or(view.base_url.as_deref(), |_| None).unwrap_or(base_url);
        files.insert(view.file.clone(), Content::Owned(index(view, base_url, &sources)?.into_bytes()));
    }
    for (name, own, embedded) in [
        ("agent.schema.json", &config.schemas.agent, schema::AGENT),
        ("registry.schema.json", &config.schemas.registry, schema::REGISTRY),
    ] {
        let bytes = match own {
            Some(path) => own_schema(&registry.root, path)?,
            // Below the address of the public registry, that registry's schemas have their ids.
            None if base_url == DEFAULT_BASE_URL => embedded.to_owned().into_bytes(),
            None => embedded.replace(schema::BASE, base_url).into_bytes(),
        };
        files.insert(name.to_owned(), Content::Owned(bytes));
    }
    let agents = sources.iter().map(|source| BuiltAgent {
        id: source.id().to_owned(),
        outcome: if matches!(source, Source::Own(_)) { Outcome::Published } else { Outcome::Kept },
    });
    let agents = agents.collect();
    let missing = missing(&views, &sources);
    for source in sources {
        match source {
            Source::Own(entry) => {
                if let Some(icon) = entry.icon.present() {
                    files.insert(format!("{}.svg", entry.id), Content::Borrowed(icon.as_bytes()));
                }
            }
            Source::Earlier(kept) => {
                if let Some(icon) = kept.icon {
                    files.insert(format!("{}.svg", kept.id), Content::Owned(icon.into_bytes()));
                }
            }
        }
    }
    Ok(Built { tree: Tree::new(files), agents, missing })
}

/// The bytes of a registry's own schema.
fn own_schema(root: &Path, path: &str) -> Result<Vec<u8>, BuildError> {
    let refused = |message: String| BuildError::Schema { path: path.to_owned(), message };
    let bytes = read_bounded(&root.join(path), root, MANIFEST_LIMIT).map_err(|error| refused(error.to_string()))?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(_)) => Ok(bytes),
        Ok(_) => Err(refused("is not a JSON object".to_owned())),
        Err(error) => Err(refused(format!("is not JSON: {error}"))),
    }
}

/// Kept agents that a view should have, but whose earlier tree did not.
fn missing(views: &[View], sources: &[Source<'_>]) -> Vec<(String, String)> {
    let kept =
        || sources.iter().filter_map(|source| if let Source::Earlier(kept) = source { Some(kept) } else { None });
    let lacking = |view: &View| {
        let lacks = |kept: &&Kept| !view.exclude.contains(&kept.id) && !kept.entries.contains_key(&view.file);
        kept().filter(lacks).map(|kept| (kept.id.clone(), view.file.clone())).collect::<Vec<_>>()
    };
    views.iter().flat_map(lacking).collect()
}

/// One published index as text.
fn index(view: &View, base_url: &str, sources: &[Source<'_>]) -> Result<String, BuildError> {
    let refused = |message| BuildError::View { file: view.file.clone(), message };
    let mut around = Map::from_iter([
        ("version".to_owned(), Value::String(view.format_version.clone())),
        ("agents".to_owned(), Value::Array(Vec::new())),
    ]);
    around.extend(view.extra.clone());
    if let Some(error) = schema::index_errors(&Value::Object(around)).into_iter().next() {
        return Err(refused(error));
    }
    let shown: Vec<&Source<'_>> = sources.iter().filter(|source| !view.exclude.contains(source.id())).collect();
    // Serialising is most of the work of a build, so that it is done on all processors, an entry at a time.
    let agents: Result<Vec<String>, BuildError> = shown
        .into_par_iter()
        .filter_map(|source| {
            let address = format!("{base_url}/{}.svg", source.id());
            let icon = if source.has_icon() { Icon::At(&address) } else { Icon::None };
            let entry = match source {
                Source::Own(own) => own.manifest.present().and_then(|manifest| entry(manifest, icon, view)),
                Source::Earlier(kept) => kept.entries.get(&view.file).map(|entry| renewed(entry.clone(), icon)),
            }?;
            // What the configuration adds is checked here: the manifest itself was checked before.
            if view.agents.contains_key(source.id()) && !schema::is_agent(&entry) {
                return Some(Err(refused(format!("with its changes, the entry of {} breaks the schema", source.id()))));
            }
            Some(Ok(indented(&entry, "    ")))
        })
        .collect();
    Ok(assemble(&view.format_version, &agents?, &view.extra))
}

/// The text of an index around the texts of its entries, as `crate::json` would write the whole.
fn assemble(version: &str, agents: &[String], extra: &Map<String, Value>) -> String {
    let mut out = format!("{{\n  \"version\": {},\n  \"agents\": [", indented(&version, ""));
    if !agents.is_empty() {
        out.push_str("\n    ");
        out.push_str(&agents.join(",\n    "));
        out.push_str("\n  ");
    }
    out.push(']');
    for (key, value) in extra {
        out.push_str(&format!(",\n  {}: {}", indented(key, ""), indented(value, "  ")));
    }
    out.push_str("\n}\n");
    out
}

/// A value as it stands inside a document: strings hold no raw line ends, so every line end is one of the layout.
fn indented<T: serde::Serialize>(value: &T, indentation: &str) -> String {
    crate::json::to_string(value).trim_end().replace('\n', &format!("\n{indentation}"))
}

/// Ids become file names: only what the schema allows may do so, whatever the levels of the rules are.
fn is_file_name(id: &str) -> bool {
    id.len() <= ID_LIMIT
        && id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_assembled_index_is_what_the_serialiser_would_write() {
        for agents in [json!([]), json!([{ "id": "a", "x": [1, { "y": "line\nend" }] }, { "id": "b" }])] {
            let whole = json!({ "version": "1.0.0", "agents": agents, "extensions": [], "more": { "é": [1] } });
            let Value::Object(extra) = json!({ "extensions": [], "more": { "é": [1] } }) else { unreachable!() };
            let texts: Vec<String> = agents.as_array().unwrap().iter().map(|agent| indented(agent, "    ")).collect();
            assert_eq!(assemble("1.0.0", &texts, &extra), crate::json::to_string(&whole));
        }
    }
}
