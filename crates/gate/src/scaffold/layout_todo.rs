//! What is left to do about a new registry.

use std::fs;
use std::path::Path;

use super::{GithubSpec, Layout, pages_address};
use acp_registry_core::sys::fs::read_bounded;

/// The largest file that is looked at, in bytes.
const FILE_LIMIT: u64 = 1 << 20;

/// What `.gitignore` should have.
const IGNORED: [&str; 2] = ["/dist", "/.*.new-*"];

/// Something that only a person can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutTodo {
    /// Say where releases of this program are.
    NameProgram,
    /// Add to `.gitignore` what a build makes.
    Ignore,
    /// Set the address of the published tree, to this one if it is known.
    SetBaseUrl(Option<String>),
    /// Let workflows deploy to the pages of this repository.
    Deploy(GithubSpec),
    /// Publish to the pages of this repository.
    Publish(GithubSpec),
    /// Set up what the workflows need.
    SetUp,
    /// Add an agent.
    AddAgent,
}

impl Layout {
    /// What only a person can do, and has not done yet as far as the files in the directory tell.
    #[must_use]
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

/// Whether a folder holds an agent.
fn has_agent(directory: &Path) -> bool {
    let mut items = fs::read_dir(directory).into_iter().flatten().flatten();
    items.any(|item| item.path().join("agent.json").is_file())
}
