//! The remaining steps for a new registry.

use std::fs;
use std::path::Path;

use super::{GithubSpec, Layout, pages_address};
use acp_registry_host::fs::read_bounded;

/// Maximum size of a file to examine, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// The lines that `.gitignore` should contain.
const IGNORED: [&str; 2] = ["/dist", "/.*.new-*"];

/// A step that a person must do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutTodo {
    /// Set the repository of this program.
    NameProgram,
    /// Add build output to `.gitignore`.
    Ignore,
    /// Set the base URL; holds the right one, if known.
    SetBaseUrl(Option<String>),
    /// Allow workflows to deploy to this repository's GitHub Pages.
    Deploy(GithubSpec),
    /// Publish to this repository's GitHub Pages.
    Publish(GithubSpec),
    /// Do the steps in `SETUP.md`.
    SetUp,
    /// Add an agent.
    AddAgent,
}

impl Layout {
    /// The remaining steps, as far as the files in the directory show.
    pub fn left_to_do(&self, directory: &Path, pages: Option<&GithubSpec>) -> Vec<LayoutTodo> {
        let lines = |file: &str| {
            let root = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
            let text = read_bounded(&root.join(file), &root, FILE_LIMIT).unwrap_or_default();
            String::from_utf8_lossy(&text).lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
        };
        let mut left = Vec::new();
        let is_named = |line: &String| line.strip_prefix("REPOSITORY=").is_some_and(|name| !name.trim().is_empty());
        if !lines(".github/acp-registry.env").iter().any(is_named) {
            left.push(LayoutTodo::NameProgram);
        }
        let ignored = lines(".gitignore");
        if self.kept.contains(&".gitignore") && IGNORED.iter().any(|path| !ignored.iter().any(|line| line == path)) {
            left.push(LayoutTodo::Ignore);
        }
        let address: Vec<String> =
            lines("registry.toml").into_iter().filter(|line| line.starts_with("base-url")).collect();
        match pages {
            None if !address.is_empty() => {}
            None => left.push(LayoutTodo::SetBaseUrl(None)),
            Some(pages) => {
                let wanted = pages_address(pages);
                if !address.contains(&format!("base-url = \"{wanted}\"")) {
                    left.push(LayoutTodo::SetBaseUrl(Some(wanted)));
                }
                left.push(LayoutTodo::Deploy(pages.clone()));
                left.push(LayoutTodo::Publish(pages.clone()));
            }
        }
        if !self.written.is_empty() {
            left.push(LayoutTodo::SetUp);
        }
        if !has_agent(directory) && !has_agent(&directory.join("registry")) {
            left.push(LayoutTodo::AddAgent);
        }
        left
    }
}

/// Whether a subfolder contains an agent.
fn has_agent(directory: &Path) -> bool {
    let mut items = fs::read_dir(directory).into_iter().flatten().flatten();
    items.any(|item| item.path().join("agent.json").is_file())
}
