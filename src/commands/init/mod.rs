//! `acp-registry init`

pub(crate) mod text;

use std::path::PathBuf;

use acp_registry::scaffold::{self, GithubSpec, LayoutError};
use acp_registry::text::quote;

use self::text::InitReport;
use crate::failure::{Exit, Failure};
use crate::flags::global::FormatArgs;
use crate::flags::value;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the new registry
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// The repository from which workflows take this program
    ///
    /// A tag names the release.
    #[arg(long, value_name = "OWNER/REPO[@TAG]", value_parser = value::github)]
    program: Option<GithubSpec>,

    /// Publish on the GitHub Pages of this repository
    ///
    /// The address of its pages becomes `base-url` in registry.toml.
    #[arg(long, value_name = "OWNER/REPO", value_parser = value::repository)]
    pages: Option<GithubSpec>,

    /// Write nothing; show what would be written
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let home = option_env!("CARGO_PKG_REPOSITORY").and_then(|address| address.parse().ok());
    let program = args.program.clone().or(home);
    if let Some(tag) = program.as_ref().and_then(|program| program.tag.as_deref())
        && !is_tag(tag)
    {
        let failure = Failure::usage(format!("{} is not the tag of a release of this program", quote(tag)));
        return Err(failure.help("write the tag of a release, such as `v1.0.0`, or leave it out"));
    }
    let layout = if args.dry_run {
        scaffold::would_lay_out(&args.directory)?
    } else {
        scaffold::lay_out(&args.directory, program.as_ref(), args.pages.as_ref())?
    };
    // The remaining steps are derived from the written files.
    let left = if args.dry_run { Vec::new() } else { layout.left_to_do(&args.directory, args.pages.as_ref()) };
    let report = InitReport { directory: &args.directory, layout: &layout, left: &left, is_dry_run: args.dry_run };
    ui.result(&if args.format.is_json() { report.document().to_text() } else { report.human(ui.look()) })?;
    Ok(Exit::Success)
}

/// Whether workflows accept a tag. `install.sh` applies the same rule.
fn is_tag(tag: &str) -> bool {
    let rest = tag.strip_prefix('v').unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-".contains(&b))
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        match &error {
            LayoutError::Link(_) => Self::usage(error).help("remove the link, or name another directory"),
            LayoutError::File(_) => Self::unable(error).help("remove the file, or name another directory"),
            LayoutError::Path(path) => {
                let help = path.remedy().unwrap_or("make the directory writable, or name another");
                Self::unable(error).help(help)
            }
        }
    }
}
