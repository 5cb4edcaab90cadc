//! `acp-registry init`

use std::path::PathBuf;

use acp_registry::scaffold::{self, GithubSpec, LayoutError};
use acp_registry::text::printable;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::global::FormatArgs;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder of the new registry; files that are there are never touched
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// The repository on GitHub, and the release in it, from which the registry's workflows take this program
    #[arg(long, value_name = "OWNER/REPO[@TAG]")]
    program: Option<GithubSpec>,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, ui: &Ui) -> Result<Exit, Failure> {
    let home = option_env!("CARGO_PKG_REPOSITORY").and_then(|address| address.parse().ok());
    let program = args.program.clone().or(home);
    let files = scaffold::lay_out(&args.directory, program.as_ref())?;
    let mut left = vec![
        "set `base-url` in `registry.toml`".to_owned(),
        "set up what the workflows need: `README.md` says what".to_owned(),
        "add an agent: `acp-registry new ID --npm PACKAGE`".to_owned(),
    ];
    if program.is_none() {
        left.insert(0, "say in `.github/acp-registry.env` where releases of this program are".to_owned());
    }
    let directory = args.directory.display().to_string();
    ui.result(&if args.format.is_json() {
        let document =
            json!({ "schema": 1, "command": "init", "directory": directory, "files": files, "left_to_do": left });
        acp_registry::json::to_string(&document)
    } else {
        let files: String = files.iter().map(|file| format!("  {file}\n")).collect();
        let left: String = (1..).zip(&left).map(|(at, item)| format!("{at:>3}. {item}\n")).collect();
        format!("a registry was laid out in {}\n{files}\nleft to do:\n{left}", printable(&directory))
    })?;
    Ok(Exit::Success)
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        match error {
            LayoutError::Exists(_) => Self::usage(error),
            LayoutError::Path(_) => Self::unable(error),
        }
    }
}
