//! `acp-registry diff`

pub(crate) mod text;

use std::path::Path;

use acp_registry::diff::{Agents, Changes, compare};
use acp_registry::host::fs::{ReadError, read_bounded};
use acp_registry::http::{AllowedHosts, Client};
use acp_registry::index::{INDEX_LIMIT, IndexLocation};
use acp_registry::revocations::{REVOKED, REVOKED_LIMIT, Revocations};
use clap::ValueEnum;
use url::Url;

use self::text::{diff, diff_human, diff_markdown};
use crate::flags::global::Global;
use crate::flags::network::settings;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The file name of the index in a published tree.
const INDEX: &str = "registry.json";

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
            let client = settings(allowed).and_then(Client::new)?;
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
            let client = settings(allowed).and_then(Client::new)?;
            let fetched = signals::run(ui, client.get(&url, INDEX_LIMIT))??;
            fetched.ok_or_else(|| Failure::unable(format!("{place}: there is no such file")).help(EXPECTED))?
        }
    };
    Agents::parse(&bytes).map_err(|error| Failure::unable(format!("{place} {error}")).help(EXPECTED))
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
        Failure::unable(message).help(EXPECTED)
    })
}
