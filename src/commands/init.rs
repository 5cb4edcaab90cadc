//! `acp-registry init`

use std::path::PathBuf;

use acp_registry::scaffold::{self, GithubSpec, Layout, LayoutTodo};
use acp_registry::sources::RepositoryName;
use acp_registry::text::{printable, quote};
use serde_json::json;

use crate::documents::Document;
use crate::flags::global::FormatArgs;
use crate::flags::value;
use crate::terminal::layout::Look;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the new registry
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// The repository from which workflows take this program
    ///
    /// TAG is the tag of a release, or a branch or commit from which workflows build it.
    #[arg(long, value_name = "OWNER/REPO[@TAG]", value_parser = value::github)]
    program: Option<GithubSpec>,

    /// Publish on the GitHub Pages of this repository
    ///
    /// The address of its pages becomes `base-url` in registry.toml.
    #[arg(long, value_name = "OWNER/REPO", value_parser = value::repository)]
    pages: Option<RepositoryName>,

    /// Change nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let home = option_env!("CARGO_PKG_REPOSITORY").and_then(|address| address.parse().ok());
    // Only a program that was released has such a home.
    let tag = Some(concat!("v", env!("CARGO_PKG_VERSION")).to_owned());
    let home = home.map(|home| GithubSpec { tag, ..home });
    let program = args.program.clone().or(home);
    if let Some(tag) = program.as_ref().and_then(|program| program.tag.as_deref())
        && !is_version(tag)
    {
        let failure = Failure::usage(format!("{} is no version of this program", quote(tag)));
        return Err(failure.help("write the tag of a release, such as `v1.0.0`, a branch or a commit, or leave it out"));
    }
    let layout = if args.dry_run {
        scaffold::would_lay_out(&args.directory)?
    } else {
        scaffold::lay_out(&args.directory, program.as_ref(), args.pages.as_ref())?
    };
    // The remaining steps are derived from the written files.
    let left = if args.dry_run { Vec::new() } else { layout.left_to_do(&args.directory, args.pages.as_ref()) };
    let is_json = args.format.is_json();
    ui.result(&if is_json { document(args, &layout, &left) } else { human(args, &layout, &left, ui.look()) })?;
    Ok(Exit::Success)
}

/// Whether workflows accept a tag, branch or commit. `install.sh` applies the same rule.
fn is_version(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+/-".contains(&b))
        && !name.contains("..")
}

fn document(args: &Args, layout: &Layout, left: &[LayoutTodo]) -> String {
    let members = json!({
        "directory": args.directory.display().to_string(),
        "dry_run": args.dry_run,
        "files": layout.written,
        "kept": layout.kept,
        "left_to_do": left.iter().map(sentence).collect::<Vec<_>>(),
    });
    Document::new("init", members).to_text()
}

/// Lists the written files and the remaining steps.
fn human(args: &Args, Layout { written, kept }: &Layout, left: &[LayoutTodo], look: Look) -> String {
    let directory = args.directory.display().to_string();
    let files = |names: &[&str]| names.iter().map(|file| format!("  {file}\n")).collect::<String>();
    let verb = if args.dry_run { "would be created" } else { "was created" };
    let mut text = match written.as_slice() {
        [] => format!("{} has all files of a registry; nothing was changed\n", printable(&directory)),
        written => format!("a registry {verb} in {}\n{}", printable(&directory), files(written)),
    };
    if !kept.is_empty() && !written.is_empty() {
        text.push_str(&format!("\nfiles that exist stay as they are:\n{}", files(kept)));
    }
    let left = (1..).zip(left).map(|(at, item)| look.wrap(&format!("{at:>3}. {}", sentence(item)), 5));
    let left: String = left.collect();
    if left.is_empty() { text } else { text + "\nleft to do:\n" + &left }
}

fn sentence(todo: &LayoutTodo) -> String {
    match todo {
        LayoutTodo::NameProgram => "say in `.github/acp-registry.env` where this program is".to_owned(),
        LayoutTodo::Ignore => "have `/dist` and `/.*.new-*` in `.gitignore`".to_owned(),
        LayoutTodo::SetBaseUrl(None) => "set `base-url` in `registry.toml`".to_owned(),
        LayoutTodo::SetBaseUrl(Some(address)) => format!("set `base-url = \"{address}\"` in `registry.toml`"),
        LayoutTodo::Deploy(repository) => format!(
            "let workflows deploy to GitHub Pages: `gh api --method POST repos/{repository}/pages --raw-field build_type=workflow`"
        ),
        LayoutTodo::Publish(repository) => {
            format!("publish there: `gh variable set PUBLISH_TO --repo {repository} --body pages`")
        }
        LayoutTodo::SetUp => "set up what the workflows need: `.github/SETUP.md` says what".to_owned(),
        LayoutTodo::AddAgent => "add an agent: `acp-registry new ID --npm PACKAGE`".to_owned(),
    }
}
