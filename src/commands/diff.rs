//! `acp-registry diff`

use std::path::Path;

use acp_registry::diff::{Agents, Changes, DiffAgent, Recalled, Updated, compare};
use acp_registry::failure::{Code, Exit, Failure};
use acp_registry::host::fs::{ReadError, read_bounded};
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::index::{INDEX, INDEX_LIMIT, IndexLocation};
use acp_registry::revocations::{REVOKED, REVOKED_LIMIT, Revocations};
use acp_registry::text::{brief_list, code_span, plural, printable, prose, shown};
use acp_registry::versions::HeldVersion;
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};
use url::Url;

use crate::documents::Document;
use crate::flags::global::Global;
use crate::flags::network::settings;
use crate::terminal::layout::Look;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The exit code is 0, whether anything has changed or not; `summary` in JSON tells which.\nEntries that have no id are passed over, and named on stderr."
)]
pub(crate) struct Args {
    /// The older tree or registry.json: a path or an address
    #[arg(value_name = "OLD")]
    old: IndexLocation,

    /// The newer one
    #[arg(value_name = "NEW")]
    new: IndexLocation,

    /// Form of the result; markdown is for release notes
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: DiffFormat,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    Human,
    Json,
    Markdown,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.json || self.format == DiffFormat::Json
    }
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let allowed = global.allowed_hosts()?;
    let (old, new) = (read(&args.old, &allowed, ui)?, read(&args.new, &allowed, ui)?);
    let read = [(&args.old, &old), (&args.new, &new)].into_iter();
    let notes: Vec<String> =
        read.flat_map(|(place, index)| index.notes.iter().map(move |note| format!("{place}: {note}"))).collect();
    for note in &notes {
        ui.warning(note);
    }
    let mut changes = compare(&old, &new);
    add_recalls(&mut changes, args, &allowed, ui)?;
    ui.result(&if args.is_json() {
        diff(&changes, &notes).to_text()
    } else if args.format == DiffFormat::Markdown {
        diff_markdown(&changes)
    } else {
        diff_human(&changes, ui.look())
    })?;
    Ok(Exit::Success)
}

/// Adds what the newer tree has recalled, if it is a folder with a list: then, the older one may have a list, too.
fn add_recalls(changes: &mut Changes, args: &Args, allowed: &AllowedHosts, ui: &Ui) -> Result<(), Failure> {
    let of_folder = |place: &IndexLocation| match place {
        IndexLocation::Path(path) if path.is_dir() => {
            let root = path.canonicalize().ok()?;
            read_bounded(&root.join(REVOKED), &root, REVOKED_LIMIT).ok()
        }
        _ => None,
    };
    let Some(new) = of_folder(&args.new) else { return Ok(()) };
    let old = match &args.old {
        IndexLocation::Url(url) => {
            let url = tree_file(url, REVOKED);
            let client = Client::new(settings(allowed)?);
            signals::run(ui, client.get(&url, REVOKED_LIMIT))?
        }
        place => Ok(of_folder(place)),
    };
    let parse = |text: &[u8]| Revocations::parse(text).map_err(|error| format!("{REVOKED} {error}"));
    let old = old.map_err(|error| error.to_string()).and_then(|text| text.as_deref().map(parse).transpose());
    match old.and_then(|old| Ok((old.unwrap_or_default(), parse(&new)?))) {
        Ok((old, new)) => changes.add_recalls(&old, &new),
        Err(problem) => ui.warning(&format!("recalls are not compared: {problem}")),
    }
    Ok(())
}

/// The address of a file of a published tree.
fn tree_file(tree: &Url, file: &str) -> Url {
    let mut url = tree.clone();
    let folder = if is_json(tree) { url.path().rsplit_once('/').map_or("", |(folder, _)| folder) } else { url.path() };
    let path = format!("{}/{file}", folder.trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn is_json(url: &Url) -> bool {
    Path::new(url.path()).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// The help if a place has no index.
const EXPECTED: &str = "name a published tree, which `acp-registry build` makes, or the file of an index";

/// Reads the index at a place, which is an index or a published tree.
fn read(place: &IndexLocation, allowed: &AllowedHosts, ui: &Ui) -> Result<Agents, Failure> {
    let bytes = match place {
        IndexLocation::Path(path) => from_path(path)?,
        IndexLocation::Unusable(wrong) => return Err(acp_registry::index::Error::from(wrong.clone()).into()),
        IndexLocation::Url(url) => {
            let url = if is_json(url) { url.clone() } else { tree_file(url, INDEX) };
            let client = Client::new(settings(allowed)?);
            let fetched = signals::run(ui, client.get(&url, INDEX_LIMIT))??;
            let missing = || Failure::unable(format!("{place}: there is no such file")).code(Code::IndexUnavailable);
            fetched.ok_or_else(|| missing().help(EXPECTED))?
        }
    };
    Agents::parse(&bytes)
        .map_err(|error| Failure::unable(format!("{place} {error}")).code(Code::InvalidIndex).help(EXPECTED))
}

fn from_path(path: &Path) -> Result<Vec<u8>, Failure> {
    let is_tree = path.is_dir();
    let file = if is_tree { path.join(INDEX) } else { path.to_owned() };
    let read = || {
        let real = file.canonicalize()?;
        read_bounded(&real, &real, INDEX_LIMIT)
    };
    read().map_err(|error| {
        let place = path.display();
        let message = match error {
            ReadError::NotFound if is_tree => format!("{place}: there is no {INDEX} in this folder"),
            other => format!("{place}: {other}"),
        };
        Failure::unable(message).code(Code::IndexUnavailable).help(EXPECTED)
    })
}

/// The longest release notes, in bytes. GitHub's limit is 125,000 characters.
const NOTES_LIMIT: usize = 100_000;

/// The longest reason of a recall, in characters.
const REASON: usize = 2000;

/// The most fields that a line lists.
const FIELDS: usize = 8;

/// Returns the document of `diff --json`.
pub(crate) fn diff<'a>(changes: &'a Changes, notes: &'a [String]) -> Document<'static, DiffDocument<'a>> {
    let listed = |agents: &'a [DiffAgent]| agents.iter().map(Plain::of).collect();
    let updated = |one: &'a Updated| Changed {
        id: &one.agent.id,
        name: &one.agent.name,
        from: &one.from,
        to: &one.agent.version,
        fields: &one.fields,
        held: one.held.as_ref(),
    };
    let recalled = |one: &'a Recalled| RecalledRow {
        id: &one.id,
        versions: &one.revocation.written,
        level: one.revocation.level.as_str(),
        reason: shown(&one.revocation.reason, REASON),
    };
    let members = DiffDocument {
        added: listed(&changes.added),
        removed: listed(&changes.removed),
        updated: changes.updated.iter().map(updated).collect(),
        recalled: changes.recalled.iter().map(recalled).collect(),
        notes,
        summary: json!({
            "added": changes.added.len(),
            "removed": changes.removed.len(),
            "updated": changes.updated.len(),
        }),
    };
    Document::new("diff", members)
}

/// Members of `diff`.
#[derive(Debug, Serialize)]
pub(crate) struct DiffDocument<'a> {
    added: Vec<Plain<'a>>,
    removed: Vec<Plain<'a>>,
    updated: Vec<Changed<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    recalled: Vec<RecalledRow<'a>>,
    notes: &'a [String],
    summary: Value,
}

/// An added or removed agent.
#[derive(Debug, Serialize)]
struct Plain<'a> {
    id: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Plain<'a> {
    fn of(one: &'a DiffAgent) -> Self {
        Self { id: &one.id, name: &one.name, version: &one.version }
    }
}

/// A changed agent.
#[derive(Debug, Serialize)]
struct Changed<'a> {
    id: &'a str,
    name: &'a str,
    from: &'a str,
    to: &'a str,
    fields: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<&'a HeldVersion>,
}

/// Versions that were recalled.
#[derive(Debug, Serialize)]
struct RecalledRow<'a> {
    id: &'a str,
    versions: &'a str,
    level: &'a str,
    reason: String,
}

/// A line for each change, then the summary.
pub(crate) fn diff_human(changes: &Changes, look: Look) -> String {
    let mut out = String::new();
    let plain =
        |sign: &str, one: &DiffAgent| format!("{sign} {} {}\n", printable(&one.id), printable(version(&one.version)));
    out.extend(changes.added.iter().map(|one| plain("+", one)));
    out.extend(changes.removed.iter().map(|one| plain("-", one)));
    for one in &changes.updated {
        let id = printable(&one.agent.id);
        let to = printable(version(&one.agent.version));
        let fields = printable(&fields(one)).into_owned();
        out.push_str(&if one.is_new_version() {
            let older = if one.is_older_version() { ", older" } else { "" };
            let held = one.held.as_ref().map(|held| format!(", {held}")).unwrap_or_default();
            format!("~ {id} {} → {to}{older}{held} ({fields})\n", printable(version(&one.from)))
        } else {
            format!("~ {id} {to} ({fields})\n")
        });
    }
    for Recalled { id, revocation } in &changes.recalled {
        out.push_str(&format!("! {} {} {revocation}\n", printable(id), revocation.written));
    }
    if changes.is_empty() {
        return "no agent has changed\n".to_owned();
    }
    let [added, removed, updated] = [changes.added.len(), changes.removed.len(), changes.updated.len()];
    out.push_str(&format!("{} added, {updated} updated, {removed} removed\n", plural(added, "agent")));
    out.lines().map(|line| look.wrap(line, 4)).collect()
}

/// Release notes in Markdown, for users of the agents.
pub(crate) fn diff_markdown(changes: &Changes) -> String {
    if changes.is_empty() {
        return "No agent has changed.\n".to_owned();
    }
    let name = |one: &DiffAgent| {
        let (name, id) = (prose(&one.name), code_span(&one.id));
        if one.name == one.id || name.is_empty() { format!("**{id}**") } else { format!("**{name}** ({id})") }
    };
    let plain = |one: &DiffAgent| format!("- {} {}\n", name(one), prose(version(&one.version)));
    let (releases, edits): (Vec<_>, Vec<_>) = changes.updated.iter().partition(|one| one.is_new_version());
    let (older, newer): (Vec<&Updated>, Vec<&Updated>) = releases.into_iter().partition(|one| one.is_older_version());
    let release = |one: &&Updated| {
        let (from, to) = (version(&one.from), version(&one.agent.version));
        let held = one.held.as_ref().map(|held| format!(", {}", prose(&held.to_string()))).unwrap_or_default();
        format!("- {} {} → {}{held}\n", name(&one.agent), prose(from), prose(to))
    };
    let edit = |one: &&Updated| format!("- {}: {}\n", name(&one.agent), prose(&fields(one)));
    let recall = |Recalled { id, revocation }: &Recalled| {
        format!("- **{}** {} {}\n", code_span(id), prose(&revocation.written), prose(&revocation.to_string()))
    };
    let mut out = String::new();
    let mut left_out = 0;
    for (title, lines) in [
        ("New agents", changes.added.iter().map(plain).collect::<Vec<_>>()),
        ("New versions", newer.iter().map(release).collect()),
        ("Back to older versions", older.iter().map(release).collect()),
        ("Changed entries", edits.iter().map(edit).collect()),
        ("Withdrawn agents", changes.removed.iter().map(plain).collect()),
        ("Recalled versions", changes.recalled.iter().map(recall).collect()),
    ] {
        if lines.is_empty() {
            continue;
        }
        out.push_str(&format!("{}### {title}\n\n", if out.is_empty() { "" } else { "\n" }));
        for line in lines {
            if out.len() + line.len() > NOTES_LIMIT {
                left_out += 1;
            } else {
                out.push_str(&line);
            }
        }
    }
    if left_out > 0 {
        out.push_str(&format!("\n{} more did not fit.\n", plural(left_out, "change")));
    }
    out
}

/// The version, or a placeholder if the entry has none.
fn version(text: &str) -> &str {
    if text.is_empty() { "(no version)" } else { text }
}

fn fields(one: &Updated) -> String {
    brief_list(&one.fields, FIELDS)
}
