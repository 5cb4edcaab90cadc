//! The index of a view, with the places of its entries; and the entries as files of their own, with the digests that lead to
//! them: see [`acp_registry_plan::entries`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use acp_registry_gate::check::schema;
use acp_registry_gate::config::View;
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::entries::{
    DISCOVERY, Discovery, DiscoveryView, EMPTY, GROUPS, LIST_PATH, LISTS, SCHEMA_VERSION, slots,
};
use acp_registry_plan::manifest::{Channel, Manifest, PackageKind, Version, extension};
use acp_registry_plan::versions::HELD;
use rayon::prelude::*;
use serde_json::{Map, Value};

use super::BuildError;
use super::choice::AgentSource;
use super::files::{Render, RenderError};

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
                Ok((name(&view.file, id), text.map_err(RenderError::new)?.into_bytes()))
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
    let icon = source.has_icon().then_some(&*address);
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

/// An index that is being written.
pub(super) struct IndexText {
    text: String,
    is_empty: bool,
}

impl IndexText {
    pub(super) fn new(version: &str) -> Self {
        let text = format!("{{\n  \"version\": {},\n  \"agents\": [", indented(&version, ""));
        Self { text, is_empty: true }
    }

    /// Adds an entry, [indented] by four spaces. Returns its place in the text.
    pub(super) fn entry(&mut self, entry: &str) -> Range<usize> {
        self.text.push_str(if self.is_empty { "\n    " } else { ",\n    " });
        let start = self.text.len();
        self.text.push_str(entry);
        self.is_empty = false;
        start..self.text.len()
    }

    /// Ends the list of agents, and adds the further members.
    pub(super) fn end(mut self, extra: &Map<String, Value>) -> String {
        self.text.push_str(if self.is_empty { "]" } else { "\n  ]" });
        for (key, value) in extra {
            self.text.push_str(&format!(",\n  {}: {}", indented(key, ""), indented(value, "  ")));
        }
        self.text.push_str("\n}\n");
        self.text
    }
}

/// Serializes a value, with all lines but the first indented. JSON strings contain no raw line ends, so this only
/// changes whitespace.
fn indented<T: serde::Serialize>(value: &T, indentation: &str) -> String {
    acp_registry_plan::json::to_string(value).trim_end().replace('\n', &format!("\n{indentation}"))
}

/// Returns the entry of an agent in a view, with the address of its icon, if that is published; `None` if no distribution is left that clients of the view can start.
pub(super) fn entry(manifest: &Manifest, icon: Option<&str>, view: &View) -> Option<Value> {
    let Value::Object(mut entry) = manifest.value() else { return None };
    let preview = entry.shift_remove("preview");
    // Only the configuration says so.
    entry.shift_remove(HELD);
    if view.channel == Channel::Preview && is_newer(preview.as_ref(), &entry) {
        for key in ["version", "distribution"] {
            if let Some(value) = preview.as_ref().and_then(|preview| preview.get(key)) {
                entry.insert(key.to_owned(), value.clone());
            }
        }
    }
    if !view.package_extensions && !take_extensions(&mut entry) {
        return None;
    }
    set_icon(&mut entry, icon);
    if let Some(changes) = view.agents.get(manifest.id()) {
        append_args(&mut entry, &changes.append_args);
        for (key, value) in &changes.set {
            entry.shift_remove(key);
            entry.insert(key.clone(), value.clone());
        }
    }
    Some(Value::Object(entry))
}

/// Removes package members that are extensions of the public format. A package with a `command` is removed
/// completely, because clients that ignore `command` would start the wrong program. Returns false if no distribution
/// is left.
fn take_extensions(entry: &mut Map<String, Value>) -> bool {
    let Some(distribution) = entry.get_mut("distribution").and_then(Value::as_object_mut) else { return true };
    let mut is_left = true;
    for kind in [PackageKind::Npx, PackageKind::Uvx].map(PackageKind::as_str) {
        let Some(package) = distribution.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        package.shift_remove(extension::EXCLUDE_NEWER);
        if package.contains_key(extension::COMMAND) {
            distribution.shift_remove(kind);
            is_left = !distribution.is_empty();
        }
    }
    is_left
}

/// Updates the icon's address in a previously published entry.
pub(super) fn renewed(mut entry: Value, icon: Option<&str>) -> Value {
    if let Value::Object(entry) = &mut entry {
        // The entry refers to an icon of the earlier tree, which this tree replaces.
        if icon.is_none() {
            entry.shift_remove("icon");
        }
        set_icon(entry, icon);
    }
    entry
}

/// Sets the `icon` member to the address at which the icon is published. An existing member keeps its position; a new one is
/// added at the end. Without a published icon, a relative path is removed, and an https address stays.
fn set_icon(entry: &mut Map<String, Value>, icon: Option<&str>) {
    if let Some(address) = icon {
        entry.insert("icon".to_owned(), Value::String(address.to_owned()));
    } else if !entry.get("icon").and_then(Value::as_str).is_some_and(|icon| icon.starts_with("https://")) {
        entry.shift_remove("icon");
    }
}

/// Whether the preview has a newer version than the entry.
fn is_newer(preview: Option<&Value>, entry: &Map<String, Value>) -> bool {
    let version = |value: Option<&Value>| Version::parse(value?.as_str()?);
    match (version(preview.and_then(|preview| preview.get("version"))), version(entry.get("version"))) {
        (Some(preview), Some(stable)) => preview > stable,
        _ => false,
    }
}

fn append_args(entry: &mut Map<String, Value>, appended: &BTreeMap<String, Vec<String>>) {
    let Some(distribution) = entry.get_mut("distribution") else { return };
    for (kind, args) in appended {
        let Some(target) = distribution.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        if kind == "binary" {
            target.values_mut().filter_map(Value::as_object_mut).for_each(|target| append(target, args));
        } else {
            append(target, args);
        }
    }
}

fn append(target: &mut Map<String, Value>, args: &[String]) {
    if let Value::Array(existing) = target.entry("args").or_insert_with(|| Value::Array(Vec::new())) {
        existing.extend(args.iter().cloned().map(Value::String));
    }
}

/// The pattern of the addresses of a view's entries.
fn pattern(view: &str) -> String {
    // The names of indexes end in `.json`, so that different views have different folders.
    format!("entries/{}/{{id}}.json", view.strip_suffix(".json").unwrap_or(view))
}

/// The file name of an agent's entry.
pub(super) fn name(view: &str, id: &str) -> String {
    pattern(view).replace("{id}", id)
}

/// The discovery document of a tree, and the lists that it leads to.
pub(super) struct DiscoveryFiles {
    document: Discovery,
    lists: BTreeMap<String, Vec<u8>>,
}

impl DiscoveryFiles {
    /// `revoked` is the digest of the list of recalled versions, if there is one.
    pub(super) fn new(base_url: &str, revoked: Option<Sha256>) -> Self {
        let url = format!("{base_url}/{DISCOVERY}");
        let revoked = revoked.map(|digest| digest.to_string());
        let document = Discovery { schema: SCHEMA_VERSION, url, lists: LIST_PATH, views: BTreeMap::new(), revoked };
        Self { document, lists: BTreeMap::new() }
    }

    /// Adds the view with this index, and with entries of these ids and digests.
    pub(super) fn add<'a>(&mut self, view: &str, index: Sha256, entries: impl Iterator<Item = (&'a str, Sha256)>) {
        let mut agents: Vec<BTreeMap<&str, String>> = vec![BTreeMap::new(); GROUPS * LISTS];
        for (id, digest) in entries {
            let (group, list) = slots(id);
            agents[group * LISTS + list].insert(id, digest.to_string());
        }
        // Most lists of a small registry.
        let empty = Sha256::of(EMPTY).to_string();
        let group = |lists: &[BTreeMap<&str, String>]| {
            let mut keep =
                |list: &BTreeMap<_, _>| if list.is_empty() { empty.clone() } else { self.keep(list).to_string() };
            let digests: Vec<String> = lists.iter().map(&mut keep).collect();
            self.keep(&digests).to_string()
        };
        let groups = agents.chunks(LISTS).map(group).collect();
        let view_of = DiscoveryView { sha256: index.to_string(), entry: pattern(view), groups };
        self.document.views.insert(view.to_owned(), view_of);
    }

    /// Adds a group or a list, and returns its digest.
    fn keep(&mut self, list: &impl serde::Serialize) -> Sha256 {
        let text = line(list);
        let digest = Sha256::of(&text);
        if text != EMPTY {
            self.lists.insert(LIST_PATH.replace("{sha256}", &digest.to_string()), text.into_bytes());
        }
        digest
    }

    /// The discovery document and the lists, by file name.
    pub(super) fn files(self) -> BTreeMap<String, Vec<u8>> {
        let mut files = self.lists;
        files.insert(DISCOVERY.to_owned(), line(&self.document).into_bytes());
        files
    }
}

/// Serializes to one line: lists are read by programs, and indentation would add a fifth to their size.
fn line(value: &impl serde::Serialize) -> String {
    // These types have nothing that JSON cannot represent.
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry_client::registry::Registry;
    use acp_registry_plan::entries::{LIST_LIMIT, View as EntryView, entry_in, list_in};
    use serde_json::json;
    use std::fs;

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

    #[test]
    fn an_index_is_what_the_serializer_would_write() {
        for agents in [json!([]), json!([{ "id": "a", "x": [1, { "y": "line\nend" }] }, { "id": "b" }])] {
            let whole = json!({ "version": "1.0.0", "agents": agents, "extensions": [], "more": { "é": [1] } });
            let Value::Object(extra) = json!({ "extensions": [], "more": { "é": [1] } }) else { unreachable!() };
            let mut index = IndexText::new("1.0.0");
            let entries: Vec<String> = agents.as_array().unwrap().iter().map(|agent| indented(agent, "    ")).collect();
            let places: Vec<_> = entries.iter().map(|entry| index.entry(entry)).collect();
            let text = index.end(&extra);
            assert_eq!(text, acp_registry_plan::json::to_string(&whole));
            assert!(places.into_iter().map(|place| &text[place]).eq(&entries));
        }
    }

    fn manifest(value: &Value) -> Manifest {
        Manifest::parse(value.to_string()).unwrap()
    }

    fn preview_view() -> View {
        View { channel: Channel::Preview, ..View::named("x.json") }
    }

    #[test]
    fn the_preview_channel_takes_whatever_is_newer() {
        for (preview, expected) in [
            ("1.0.1-preview.1", "1.0.1-preview.1"),
            ("1.0.0-preview.9", "1.0.0"),
            ("1.0.0", "1.0.0"),
            ("2.0.0", "2.0.0"),
        ] {
            let manifest = manifest(
                &json!({ "id": "a", "version": "1.0.0", "distribution": 1, "preview": { "version": preview, "distribution": 2 } }),
            );
            let entry = entry(&manifest, None, &preview_view()).unwrap();
            assert_eq!(entry["version"], expected);
            assert_eq!(entry.get("preview"), None);
        }
    }

    #[test]
    fn keys_keep_their_order() {
        let manifest = manifest(
            &json!({ "id": "a", "icon": "./icon.svg", "version": "1.0.0", "distribution": {}, "preview": {} }),
        );
        let keys = |icon| {
            entry(&manifest, icon, &View::named("x.json"))
                .unwrap()
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(Some("https://h.example/a.svg")), ["id", "icon", "version", "distribution"]);
        assert_eq!(keys(None), ["id", "version", "distribution"]);
    }

    #[test]
    fn extensions_are_in_views_that_ask_for_them() {
        let uvx = json!({ "package": "q==1", "exclude_newer": "2026-02-28" });
        let distribution = json!({ "npx": { "package": "p@1", "command": "p-acp" }, "uvx": uvx });
        let both = manifest(&json!({ "id": "a", "distribution": distribution }));
        let asking = View { package_extensions: true, ..View::named("x.json") };
        assert_eq!(entry(&both, None, &asking).unwrap()["distribution"], distribution);
        let plain = entry(&both, None, &View::named("x.json")).unwrap();
        assert_eq!(plain["distribution"], json!({ "uvx": { "package": "q==1" } }));
        let one = manifest(&json!({ "id": "a", "distribution": { "npx": { "package": "p@1", "command": "p-acp" } } }));
        assert_eq!(entry(&one, None, &View::named("x.json")), None);
        assert!(entry(&one, None, &asking).is_some());
    }

    #[test]
    fn changes_are_appended() {
        let mut view = View::named("x.json");
        let changes = view.agents.entry("a".into()).or_default();
        changes.set.insert("bundled".into(), json!(true));
        changes.append_args.insert("npx".into(), vec!["--x".into()]);
        changes.append_args.insert("binary".into(), vec!["--y".into()]);
        let value = json!({ "id": "a", "bundled": false, "distribution": {
            "npx": { "package": "p" }, "binary": { "linux-x86_64": { "args": ["acp"] }, "darwin-x86_64": {} } } });
        let entry = entry(&manifest(&value), Some("i"), &view).unwrap();
        assert_eq!(
            entry,
            json!({ "id": "a", "icon": "i", "bundled": true, "distribution": {
            "npx": { "package": "p", "args": ["--x"] },
            "binary": { "linux-x86_64": { "args": ["acp", "--y"] }, "darwin-x86_64": { "args": ["--y"] } } } })
        );
        assert_eq!(entry.as_object().unwrap().keys().next_back().unwrap(), "bundled");
    }

    /// The entry that a reader of the files is led to.
    fn find(files: &BTreeMap<String, Vec<u8>>, view: &str, id: &str) -> Option<(String, Sha256)> {
        let view = EntryView::parse(&files[DISCOVERY], view).unwrap()?;
        let id = id.parse().unwrap();
        let read = |digest: Sha256| {
            let bytes = files.get(&view.list_path(digest)).map_or(EMPTY.as_bytes(), Vec::as_slice);
            assert!(Sha256::of(bytes) == digest && bytes.len() as u64 <= LIST_LIMIT);
            bytes
        };
        let list = read(list_in(read(view.group(&id)), &id).unwrap());
        Some((view.entry_path(&id), entry_in(list, &id).unwrap()?))
    }

    #[test]
    fn a_reader_is_led_to_every_entry_and_to_no_other() {
        let ids: Vec<String> = (0..1000).map(|number| format!("agent-{number}")).collect();
        let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
        discovery.add("registry.json", Sha256::of("1"), ids.iter().map(|id| (id.as_str(), Sha256::of(id))));
        discovery.add("few.json", Sha256::of("2"), [("a", Sha256::of("a"))].into_iter());
        let files = discovery.files();
        for id in &ids {
            let expected = (format!("entries/registry/{id}.json"), Sha256::of(id));
            assert_eq!(find(&files, "registry.json", id), Some(expected));
        }
        assert_eq!(find(&files, "registry.json", "other"), None);
        assert_eq!(find(&files, "few.json", "a").unwrap().0, "entries/few/a.json");
        assert_eq!((find(&files, "few.json", "agent-1"), find(&files, "other.json", "a")), (None, None));
        assert!(files.keys().all(|name| acp_registry_plan::sums::is_name(name)));
    }

    #[test]
    fn what_one_agent_takes_does_not_grow_with_the_registry() {
        let size = |agents: usize| {
            let ids: Vec<String> = (0..agents).map(|number| format!("agent-{number}")).collect();
            let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
            discovery.add("registry.json", Sha256::of("1"), ids.iter().map(|id| (id.as_str(), Sha256::of(id))));
            let files = discovery.files();
            let lists = files.values().map(Vec::len).max().unwrap();
            (files[DISCOVERY].len(), lists)
        };
        let ((small, _), (large, longest)) = (size(1), size(5000));
        assert_eq!(small, large);
        assert_eq!(longest, large);
    }

    #[test]
    fn one_change_changes_two_lists() {
        let of = |changed: &str| {
            let ids: Vec<String> = (0..5000).map(|number| format!("agent-{number}")).collect();
            let mut discovery = DiscoveryFiles::new("https://h.example/r", None);
            let digest = |id: &str| Sha256::of(if id == changed { "changed" } else { id });
            discovery.add("registry.json", Sha256::of(changed), ids.iter().map(|id| (id.as_str(), digest(id))));
            discovery.files()
        };
        let (before, after) = (of(""), of("agent-7"));
        let new = after.iter().filter(|(name, bytes)| before.get(*name) != Some(*bytes));
        assert_eq!(new.count(), 3);
    }
}
