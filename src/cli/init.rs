//! `acp-registry init`

use std::fs;
use std::path::{Path, PathBuf};

use acp_registry::scaffold::{self, GithubSpec, Layout, LayoutError};
use acp_registry::sys::fs::read_bounded;
use acp_registry::text::{printable, quote};
use serde_json::json;

use super::exit::{Exit, Failure};
use super::global::FormatArgs;
use super::ui::Ui;

/// The largest file that is looked at for what is left to do, in bytes.
const LIMIT: u64 = 1 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The directory of the new registry
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// The repository from which workflows take this program
    ///
    /// A tag names the release.
    #[arg(long, value_name = "OWNER/REPO[@TAG]")]
    program: Option<GithubSpec>,

    /// Publish on the GitHub Pages of this repository
    ///
    /// The address of its pages becomes `base-url` in registry.toml.
    #[arg(long, value_name = "OWNER/REPO", value_parser = repository)]
    pages: Option<GithubSpec>,

    /// Write nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let home = option_env!("CARGO_PKG_REPOSITORY").and_then(|address| address.parse().ok());
    let program = args.program.clone().or(home);
    if let Some(tag) = program.as_ref().and_then(|program| program.tag.as_deref())
        && !is_tag(tag)
    {
        let message = "is not the tag of a release of this program, such as `v1.0.0`";
        return Err(Failure::usage(format!("{} {message}", quote(tag))));
    }
    let Layout { written, kept } = if args.dry_run {
        scaffold::would_lay_out(&args.directory)?
    } else {
        scaffold::lay_out(&args.directory, program.as_ref(), args.pages.as_ref())?
    };
    // What is left to do is read from the files.
    let left = if args.dry_run { Vec::new() } else { left_to_do(args, &written, &kept) };
    let directory = args.directory.display().to_string();
    ui.result(&if args.format.is_json() {
        acp_registry::json::to_string(&json!({
            "schema": 1, "command": "init", "directory": directory, "dry_run": args.dry_run, "files": written, "kept": kept,
            "left_to_do": left,
        }))
    } else {
        let files = |names: &[&str]| names.iter().map(|file| format!("  {file}\n")).collect::<String>();
        let verb = if args.dry_run { "would be created" } else { "was created" };
        let mut text = match written.as_slice() {
            [] => format!("{} has all files of a registry; nothing was changed\n", printable(&directory)),
            written => format!("a registry {verb} in {}\n{}", printable(&directory), files(written)),
        };
        if !kept.is_empty() && !written.is_empty() {
            text.push_str(&format!("\nfiles that exist stay as they are:\n{}", files(&kept)));
        }
        let look = ui.look();
        let left: String = (1..).zip(&left).map(|(at, item)| look.wrap(&format!("{at:>3}. {item}"), 5)).collect();
        if left.is_empty() { text } else { text + "\nleft to do:\n" + &left }
    })?;
    Ok(Exit::Success)
}

/// A repository without a tag.
fn repository(text: &str) -> Result<GithubSpec, String> {
    let spec = text.parse::<GithubSpec>().ok().filter(|spec| spec.tag.is_none());
    spec.ok_or_else(|| "a repository is written OWNER/REPO, without a tag".to_owned())
}

/// What only a person can do, and has not done yet as far as the files tell.
fn left_to_do(args: &Args, written: &[&str], kept: &[&str]) -> Vec<String> {
    let directory = &args.directory;
    let lines = |file: &str| {
        let root = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        let text = read_bounded(&root.join(file), &root, LIMIT).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let mut left = Vec::new();
    let is_named = |line: &String| line.strip_prefix("REPOSITORY=").is_some_and(|name| !name.trim().is_empty());
    if !lines(".github/acp-registry.env").iter().any(is_named) {
        left.push("say in `.github/acp-registry.env` where releases of this program are".to_owned());
    }
    let ignored = lines(".gitignore");
    if kept.contains(&".gitignore")
        && ["/dist", "/.*.new-*"].iter().any(|path| !ignored.iter().any(|line| line == path))
    {
        left.push("have `/dist` and `/.*.new-*` in `.gitignore`".to_owned());
    }
    let address: Vec<String> = lines("registry.toml").into_iter().filter(|line| line.starts_with("base-url")).collect();
    match &args.pages {
        None if !address.is_empty() => {}
        None => left.push("set `base-url` in `registry.toml`".to_owned()),
        Some(pages) => {
            let GithubSpec { owner, name, .. } = pages;
            let wanted = format!("base-url = \"{}\"", scaffold::pages_address(pages));
            if !address.contains(&wanted) {
                left.push(format!("set `{wanted}` in `registry.toml`"));
            }
            left.push(format!(
                "let workflows deploy to GitHub Pages: `gh api --method POST repos/{owner}/{name}/pages --raw-field build_type=workflow`"
            ));
            left.push(format!("publish there: `gh variable set PUBLISH_TO --repo {owner}/{name} --body pages`"));
        }
    }
    if !written.is_empty() {
        left.push("set up what the workflows need: `.github/SETUP.md` says what".to_owned());
    }
    if !has_agent(directory) && !has_agent(&directory.join("registry")) {
        left.push("add an agent: `acp-registry new ID --npm PACKAGE`".to_owned());
    }
    left
}

/// Whether a folder holds an agent.
fn has_agent(directory: &Path) -> bool {
    let mut items = fs::read_dir(directory).into_iter().flatten().flatten();
    items.any(|item| item.path().join("agent.json").is_file())
}

/// Whether a tag is one that the workflows take; `install.sh` decides the same.
fn is_tag(tag: &str) -> bool {
    let rest = tag.strip_prefix('v').unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-".contains(&b))
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Link(_) => Self::usage(error),
            LayoutError::Path(_) => Self::unable(error),
        }
    }
}
