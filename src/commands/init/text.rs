//! The result of `init`, for people and as JSON.

use std::path::Path;

use acp_registry::scaffold::{GithubSpec, Layout, LayoutTodo};
use acp_registry::text::printable;
use serde::Serialize;

use crate::documents::Document;
use crate::terminal::layout::Look;

/// The result of `init`.
#[derive(Debug)]
pub(crate) struct InitReport<'a> {
    /// The directory of the registry.
    pub(crate) directory: &'a Path,
    /// The files that were written and kept.
    pub(crate) layout: &'a Layout,
    /// The remaining steps, which only a person can take.
    pub(crate) left: &'a [LayoutTodo],
    /// Whether this was a dry run.
    pub(crate) is_dry_run: bool,
}

/// Members of `init`.
#[derive(Debug, Serialize)]
pub(crate) struct InitDocument<'a> {
    directory: String,
    dry_run: bool,
    files: &'a [&'static str],
    kept: &'a [&'static str],
    left_to_do: Vec<String>,
}

impl InitReport<'_> {
    /// Returns the JSON document.
    #[must_use]
    pub(crate) fn document(&self) -> Document<'_, InitDocument<'_>> {
        let Layout { written, kept } = self.layout;
        let members = InitDocument {
            directory: self.directory.display().to_string(),
            dry_run: self.is_dry_run,
            files: written,
            kept,
            left_to_do: self.left.iter().map(sentence).collect(),
        };
        Document::new("init", members)
    }

    /// Lists the written files and the remaining steps.
    #[must_use]
    pub(crate) fn human(&self, look: Look) -> String {
        let Layout { written, kept } = self.layout;
        let directory = self.directory.display().to_string();
        let files = |names: &[&str]| names.iter().map(|file| format!("  {file}\n")).collect::<String>();
        let verb = if self.is_dry_run { "would be created" } else { "was created" };
        let mut text = match written.as_slice() {
            [] => format!("{} has all files of a registry; nothing was changed\n", printable(&directory)),
            written => format!("a registry {verb} in {}\n{}", printable(&directory), files(written)),
        };
        if !kept.is_empty() && !written.is_empty() {
            text.push_str(&format!("\nfiles that exist stay as they are:\n{}", files(kept)));
        }
        let left = (1..).zip(self.left).map(|(at, item)| look.wrap(&format!("{at:>3}. {}", sentence(item)), 5));
        let left: String = left.collect();
        if left.is_empty() { text } else { text + "\nleft to do:\n" + &left }
    }
}

fn sentence(todo: &LayoutTodo) -> String {
    match todo {
        LayoutTodo::NameProgram => "say in `.github/acp-registry.env` where releases of this program are".to_owned(),
        LayoutTodo::Ignore => "have `/dist` and `/.*.new-*` in `.gitignore`".to_owned(),
        LayoutTodo::SetBaseUrl(None) => "set `base-url` in `registry.toml`".to_owned(),
        LayoutTodo::SetBaseUrl(Some(address)) => format!("set `base-url = \"{address}\"` in `registry.toml`"),
        LayoutTodo::Deploy(GithubSpec { owner, name, .. }) => format!(
            "let workflows deploy to GitHub Pages: `gh api --method POST repos/{owner}/{name}/pages --raw-field build_type=workflow`"
        ),
        LayoutTodo::Publish(GithubSpec { owner, name, .. }) => {
            format!("publish there: `gh variable set PUBLISH_TO --repo {owner}/{name} --body pages`")
        }
        LayoutTodo::SetUp => "set up what the workflows need: `.github/SETUP.md` says what".to_owned(),
        LayoutTodo::AddAgent => "add an agent: `acp-registry new ID --npm PACKAGE`".to_owned(),
    }
}
