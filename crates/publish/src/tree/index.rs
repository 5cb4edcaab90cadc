//! The index of a view, with the places of its entries.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::build::BuildError;
use super::entries;
use super::entry::{Icon, entry, renewed};
use super::index_text::{IndexText, indented};
use super::part::{Render, RenderError};
use super::sources::AgentSource;
use acp_registry_gate::check::schema;
use acp_registry_gate::config::View;

/// How many entries of an index are serialized at a time.
const CHUNK: usize = 4096;

/// An index, and the places of the entries in its text.
pub(super) struct ParsedIndex<'a> {
    pub(super) text: String,
    pub(super) entries: Vec<(&'a str, Range<usize>)>,
}

/// The index of a view and its entries, if wanted, to be rendered when they are needed.
pub(super) fn rendered<'a>(
    view: &Arc<View>,
    base_url: &str,
    sources: &Arc<Vec<AgentSource<'a>>>,
    has_entries: bool,
) -> Vec<Render<'a>> {
    let (of, at, from) = (Arc::clone(view), base_url.to_owned(), Arc::clone(sources));
    let mut parts: Vec<Render<'a>> = vec![Box::new(move || {
        let index = index(&of, &at, &from).map_err(RenderError::new)?;
        Ok(vec![(of.file.clone(), index.text.into_bytes())])
    })];
    let of_entries = if has_entries { sources.len() } else { 0 };
    for start in (0..of_entries).step_by(CHUNK) {
        let (view, base_url, sources) = (Arc::clone(view), base_url.to_owned(), Arc::clone(sources));
        parts.push(Box::new(move || {
            let chunk = sources[start..].iter().take(CHUNK);
            let texts = chunk.filter_map(|source| Some((source.id(), serialized(source, &view, &base_url)?)));
            let file = |(id, text): (&str, Result<String, BuildError>)| {
                Ok((entries::name(&view.file, id), text.map_err(RenderError::new)?.into_bytes()))
            };
            texts.map(file).collect()
        }));
    }
    parts
}

/// Serializes the index of a view.
pub(super) fn index<'a>(
    view: &View,
    base_url: &str,
    sources: &'a [AgentSource<'_>],
) -> Result<ParsedIndex<'a>, BuildError> {
    let mut around = Map::from_iter([
        ("version".to_owned(), Value::String(view.format_version.clone())),
        ("agents".to_owned(), Value::Array(Vec::new())),
    ]);
    around.extend(view.extra.clone());
    if let Some(error) = schema::index_errors(&Value::Object(around)).into_iter().next() {
        return Err(refused(view, error));
    }
    let (mut out, mut entries) = (IndexText::new(&view.format_version), Vec::with_capacity(sources.len()));
    // Serializing takes most of the time of a build, so entries are serialized in parallel; a chunk at a time, because
    // a large index takes much memory.
    for chunk in sources.chunks(CHUNK) {
        let texts = chunk.par_iter().filter_map(|source| Some((source.id(), serialized(source, view, base_url)?)));
        let texts: Result<Vec<(&str, String)>, BuildError> = texts.map(|(id, text)| Ok((id, text?))).collect();
        entries.extend(texts?.into_iter().map(|(id, text)| (id, out.entry(&text))));
    }
    Ok(ParsedIndex { text: out.end(&view.extra), entries })
}

/// Serializes the entry of an agent as it is in the index of a view; `None` if the view does not have the agent.
fn serialized(source: &AgentSource<'_>, view: &View, base_url: &str) -> Option<Result<String, BuildError>> {
    if view.exclude.contains(source.id()) {
        return None;
    }
    let address = format!("{base_url}/{}.svg", source.id());
    let icon = if source.has_icon() { Icon::At(&address) } else { Icon::None };
    let entry = match source {
        AgentSource::Own(own, _) => own.manifest.present().and_then(|manifest| entry(manifest, icon, view)),
        AgentSource::Earlier(kept) => kept.entries.get(&view.file).map(|entry| renewed(entry.clone(), icon)),
    }?;
    // Changes from the configuration are checked here; the manifest was checked before.
    if view.agents.contains_key(source.id()) && !schema::is_agent(&entry) {
        let message = format!("with its changes, the entry of {} breaks the schema", source.id());
        return Some(Err(refused(view, message)));
    }
    Some(Ok(indented(&entry, "    ")))
}

fn refused(view: &View, message: String) -> BuildError {
    BuildError::View { file: view.file.clone(), message }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use acp_registry_client::registry::Registry;

    #[test]
    fn entries_are_rendered_as_they_are_in_the_index() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..CHUNK + 2 {
            let id = format!("a{number}");
            fs::create_dir(folder.path().join(&id)).unwrap();
            let manifest =
                format!(r#"{{ "id": "{id}", "version": "1.0.0", "distribution": {{ "npx": {{ "package": "p" }} }} }}"#);
            fs::write(folder.path().join(&id).join("agent.json"), manifest).unwrap();
        }
        let registry = Registry::load(folder.path()).unwrap();
        let sources = Arc::new(registry.entries.iter().map(|entry| AgentSource::Own(entry, None)).collect::<Vec<_>>());
        let mut view = View::named("x.json");
        view.exclude.insert("a1".to_owned());
        let whole = index(&view, "https://h.example", &sources).unwrap();
        assert_eq!(rendered(&Arc::new(view.clone()), "https://h.example", &sources, false).len(), 1);
        let files =
            rendered(&Arc::new(view), "https://h.example", &sources, true).into_iter().flat_map(|part| part().unwrap());
        let mut files: Vec<(String, Vec<u8>)> = files.collect();
        assert_eq!(files.remove(0), ("x.json".to_owned(), whole.text.clone().into_bytes()));
        let expected =
            whole.entries.iter().map(|(id, place)| (format!("entries/x/{id}.json"), &whole.text[place.clone()]));
        assert!(expected.eq(files.iter().map(|(name, text)| (name.clone(), str::from_utf8(text).unwrap()))));
        assert_eq!(files.len(), CHUNK + 1);
    }
}
