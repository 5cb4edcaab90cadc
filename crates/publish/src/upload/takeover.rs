//! Takes over a `latest/` that another tool wrote, before this program publishes there for the first time.
//!
//! Without a record of what was published, only an index tells that `latest/` belongs to a registry. If there is one,
//! the files that a registry has are taken over: identical files are kept, others are replaced in the usual order,
//! and icons and schemas that the new tree lacks are removed after the grace period. All other files are kept.

use std::collections::BTreeSet;

use super::send::TreeSource;
use super::state::{LatestFile, TargetState};
use super::tree::is_index;
use super::{Error, LATEST, Notice, UploadEvent, UploadTarget};
use acp_registry_client::index::{INDEX_LIMIT, entries};
use acp_registry_plan::entries::DISCOVERY;
use acp_registry_plan::json;
use acp_registry_plan::sums::{self, is_name};
use acp_registry_plan::text::{brief_list, printable};

/// The index that identifies a folder as a registry.
const INDEX: &str = "registry.json";

/// How many files a warning names.
const NAMED: usize = 10;

/// The kind of a file of another tool, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ForeignFile {
    /// An icon, a schema, or the document that leads to entries.
    Part,
    /// An index, which clients may read.
    Index,
    Other,
}

fn kind(name: &str) -> ForeignFile {
    if name.contains('/') || !is_name(name) {
        return ForeignFile::Other;
    }
    if name == DISCOVERY {
        return ForeignFile::Part;
    }
    match name.rsplit_once('.') {
        Some((_, "svg")) => ForeignFile::Part,
        Some(_) if name.ends_with(".schema.json") => ForeignFile::Part,
        Some((stem, "json")) if stem.starts_with("registry") => ForeignFile::Index,
        _ => ForeignFile::Other,
    }
}

/// Adds the files of another tool to a new state, and warns of files that are kept.
///
/// # Errors
/// [`Error::Foreign`] if a file would be overwritten that is not part of a registry.
pub(super) async fn adopt(
    state: &mut TargetState,
    tree: TreeSource<'_>,
    target: &UploadTarget,
    notice: Notice<'_>,
) -> Result<(), Error> {
    if !state.is_new {
        return Ok(());
    }
    let list = target.sums(LATEST).await?;
    let there: BTreeSet<String> = target.list(LATEST).await?.into_iter().collect();
    let is_registry = there.contains(INDEX) && index(target, INDEX).await?.is_some_and(|index| is_index(&index));
    let is_adopted = |name: &str| is_registry && (list.is_none() || kind(name) != ForeignFile::Other);
    // If a list says what was published, any other file that is not part of a registry was added by hand.
    let would_be_lost = |name: &&str| !is_adopted(name) && (list.is_none() || tree.has(name));
    let list_text = String::from_utf8_lossy(list.as_deref().unwrap_or_default());
    let listed = sums::names(&list_text);
    // Ordered by name.
    let mut found = there.iter().map(String::as_str).filter(would_be_lost);
    if let Some(name) = found.find(|name| sums::is_foreign(&listed, name)) {
        return Err(Error::Foreign(printable(&target.shown(&format!("{LATEST}/{name}"))).into_owned()));
    }
    if !is_registry {
        return Ok(());
    }
    let unknown: Vec<&String> = there.iter().filter(|name| !state.files.contains_key(*name)).collect();
    // A tree without entries must not leave the document that leads to earlier ones.
    let is_known = |name: &&&String| tree.has(name) || name.as_str() == DISCOVERY;
    state.files.extend(unknown.iter().filter(is_known).map(|name| ((*name).clone(), LatestFile::default())));
    if list.is_some() {
        return Ok(());
    }
    let place = printable(&target.shown(LATEST)).into_owned();
    notice(UploadEvent::Warning(format!("{place} was written by another tool, and is taken over")));
    let rest: Vec<&str> = unknown.into_iter().map(String::as_str).filter(|name| !tree.has(name)).collect();
    // Clients may read an index that this tree lacks, so its icons are kept, too.
    let mut icons = Some(BTreeSet::new());
    for name in rest.iter().filter(|name| kind(name) == ForeignFile::Index) {
        let named = index(target, name).await?.and_then(|index| named_icons(&index));
        icons = icons.zip(named).map(|(icons, named)| icons.into_iter().chain(named).collect());
        notice(UploadEvent::Warning(format!(
            "{place}/{} is an index that this tree does not have: it is kept, with its icons; add a view of that name to \
             registry.toml to update it, or remove it there",
            printable(name)
        )));
    }
    let is_used = |name: &str| icons.as_ref().is_none_or(|icons| icons.contains(name));
    let leftover = rest.iter().filter(|name| kind(name) == ForeignFile::Part && !is_used(name));
    state.files.extend(leftover.map(|name| ((*name).to_owned(), LatestFile::default())));
    let others: Vec<&str> = rest.into_iter().filter(|name| kind(name) == ForeignFile::Other).collect();
    if !others.is_empty() {
        let named = brief_list(others.iter().map(|name| printable(name)), NAMED);
        notice(UploadEvent::Warning(format!(
            "{place} has files that are not part of a registry, and are kept: {named}"
        )));
    }
    Ok(())
}

/// Reads an index in `latest/`.
async fn index(target: &UploadTarget, name: &str) -> Result<Option<Vec<u8>>, Error> {
    target.get(&format!("{LATEST}/{name}"), INDEX_LIMIT).await
}

/// The file names of the agents' icons in an index; `None` if it is not an index or has too many agents.
fn named_icons(index: &[u8]) -> Option<Vec<String>> {
    let agents = entries(str::from_utf8(index).ok()?).ok()?;
    if !agents.iter().all(|agent| agent.starts_with('{')) {
        return None;
    }
    let icons = agents.into_iter().filter_map(|agent| {
        let [icon] = json::members(agent.as_bytes(), ["icon"]).ok()?;
        json::text(icon)
    });
    Some(icons.filter_map(|icon| icon.rsplit('/').next().map(ToOwned::to_owned)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_has_files_of_few_kinds() {
        for (name, expected) in [
            ("goose.svg", ForeignFile::Part),
            ("agent.schema.json", ForeignFile::Part),
            ("registry.schema.json", ForeignFile::Part),
            ("registry.json", ForeignFile::Index),
            ("registry-for-jetbrains.json", ForeignFile::Index),
            ("history.json", ForeignFile::Other),
            ("index.html", ForeignFile::Other),
            ("svg", ForeignFile::Other),
            ("icons/goose.svg", ForeignFile::Other),
            ("x y.svg", ForeignFile::Other),
            (".svg/../x.svg", ForeignFile::Other),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn icons_are_known_by_the_end_of_their_address() {
        let index =
            r#"{ "agents": [{ "icon": "https://h.example/latest/a.svg" }, {}, { "icon": 7 }, { "icon": "b.svg" }] }"#;
        assert_eq!(named_icons(index.as_bytes()).unwrap(), ["a.svg", "b.svg"]);
        for other in ["", "[]", "{}", r#"{ "agents": {} }"#, r#"{ "agents": [7] }"#] {
            assert_eq!(named_icons(other.as_bytes()), None, "{other}");
        }
    }
}
