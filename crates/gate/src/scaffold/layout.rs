//! The files of a new registry, and the steps that remain.

use std::path::{Path, PathBuf};
use std::{fs, io};

use acp_registry_client::registry::agent_folders;
use acp_registry_host::fs::{PathError, Replacement, clear_unfinished, read_bounded};
use acp_registry_host::lock::{is_used, mark_used};
use acp_registry_plan::failure::Failure;
use acp_registry_sources::RepositoryName;

use super::GithubSpec;
use crate::config::CONFIG;

/// All files with their texts. The workflows are those that this project uses itself.
const FILES: [(&str, &str); 16] = [
    (".github/SETUP.md", include_str!("../../../../templates/init/.github/SETUP.md")),
    (".github/acp-registry.env", include_str!("../../../../templates/init/.github/acp-registry.env")),
    (".github/actions/acp-registry/action.yml", include_str!("../../../../.github/actions/acp-registry/action.yml")),
    (".github/actions/acp-registry/install.sh", include_str!("../../../../.github/actions/acp-registry/install.sh")),
    (".github/dependabot.yml", include_str!("../../../../templates/init/.github/dependabot.yml")),
    (".github/pull_request_template.md", include_str!("../../../../templates/init/.github/pull_request_template.md")),
    (".github/workflows/bump.yml", include_str!("../../../../.github/workflows/bump.yml")),
    (".github/workflows/publish.yml", include_str!("../../../../.github/workflows/publish.yml")),
    (".github/workflows/report.yml", include_str!("../../../../.github/workflows/report.yml")),
    (".github/workflows/validate.yml", include_str!("../../../../.github/workflows/validate.yml")),
    (".github/workflows/verify-part.yml", include_str!("../../../../.github/workflows/verify-part.yml")),
    (".github/workflows/verify.yml", include_str!("../../../../.github/workflows/verify.yml")),
    // As `.gitignore`, it would apply to the folder of templates.
    (".gitignore", include_str!("../../../../templates/init/gitignore")),
    ("CONTRIBUTING.md", include_str!("../../../../templates/init/CONTRIBUTING.md")),
    ("README.md", include_str!("../../../../templates/init/README.md")),
    (CONFIG, include_str!("../../../../templates/init/registry.toml")),
];

/// Why the files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A folder is a symbolic link, which may lead anywhere.
    #[error("{} is a link, which is not followed; nothing was written", .0.display())]
    Link(PathBuf),
    /// The directory is a file.
    #[error("{} is a file, not a directory", .0.display())]
    File(PathBuf),
    /// A file could not be written. Files written before are removed again.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// The files of a new registry, by what was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Files that were written.
    pub written: Vec<&'static str>,
    /// Files that existed and were kept.
    pub kept: Vec<&'static str>,
}

/// The files that [`lay_out`] would write and keep.
///
/// # Errors
/// Returns [`LayoutError::Link`].
pub fn would_lay_out(directory: &Path) -> Result<Layout, LayoutError> {
    let (kept, missing) = divide(directory)?;
    Ok(Layout { written: names(missing), kept: names(kept) })
}

/// A file's name and text.
type NewFile = (&'static str, &'static str);

/// Divides the files into existing and missing ones.
fn divide(directory: &Path) -> Result<(Vec<NewFile>, Vec<NewFile>), LayoutError> {
    if directory.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(LayoutError::File(directory.to_owned()));
    }
    let is_there = |name: &str| directory.join(name).symlink_metadata().is_ok();
    let (kept, missing): (Vec<_>, Vec<_>) = FILES.into_iter().partition(|(name, _)| is_there(name));
    for (name, _) in &missing {
        let folders = Path::new(name).ancestors().skip(1).map(|folder| directory.join(folder));
        if let Some(link) = folders.filter(|folder| folder != directory).find(|folder| folder.is_symlink()) {
            return Err(LayoutError::Link(link));
        }
    }
    Ok((kept, missing))
}

fn names(files: Vec<NewFile>) -> Vec<&'static str> {
    files.into_iter().map(|(name, _)| name).collect()
}

/// Writes the files of a new registry into a directory, which is created if missing. Existing files are kept, so that each new
/// one appears as a whole: the next run would keep a part of one. `program`
/// is the repository and release of this program for the registry's workflows, if known; `pages` is the registry's
/// repository, if it is published on that repository's GitHub Pages.
///
/// # Errors
/// Returns [`LayoutError`]; all files written before are removed again.
pub fn lay_out(
    directory: &Path,
    program: Option<&GithubSpec>,
    pages: Option<&RepositoryName>,
) -> Result<Layout, LayoutError> {
    let (kept, missing) = divide(directory)?;
    let mut undo = Undo::default();
    undo.make(directory)?;
    if !is_used(directory) {
        for (name, _) in &missing {
            clear_unfinished(&directory.join(name));
        }
    }
    let _mark = mark_used(directory);
    for (name, text) in &missing {
        let path = directory.join(name);
        if let Some(folder) = path.parent() {
            undo.make(folder)?;
        }
        let text = filled(text, program);
        undo.write(&path, &pages.map_or_else(|| text.clone(), |pages| on_pages(&text, pages)))?;
    }
    undo.paths.clear();
    Ok(Layout { written: names(missing), kept: names(kept) })
}

/// Fills in the repository and version of this program: without a tag, the newest commit of the repository.
fn filled(text: &str, program: Option<&GithubSpec>) -> String {
    let repository = program.map_or_else(String::new, |program| program.repository.to_string());
    let version = program.and_then(|program| program.tag.as_deref()).unwrap_or("HEAD");
    text.replace("{repository}", &repository).replace("{version}", version)
}

/// The URL of `latest/` on a repository's GitHub Pages.
fn pages_address(repository: &RepositoryName) -> String {
    let host = format!("{}.github.io", repository.owner.to_ascii_lowercase());
    // A repository with the name of its host is published at the root of that host.
    let is_root = repository.name.eq_ignore_ascii_case(&host);
    if is_root { format!("https://{host}/latest") } else { format!("https://{host}/{}/latest", repository.name) }
}

/// Fills in the URLs of a registry that is published on GitHub Pages.
fn on_pages(text: &str, repository: &RepositoryName) -> String {
    let base_url = format!("base-url = \"{}\"", pages_address(repository));
    text.replace("# base-url = \"https://registry.example.com/v1/latest\"", &base_url).replace(
        "# repository = \"https://github.com/example/registry\"",
        &format!("repository = \"https://github.com/{repository}\""),
    )
}

/// Removes what was created when dropped, unless all of it was created.
#[derive(Default)]
struct Undo {
    paths: Vec<PathBuf>,
}

impl Undo {
    /// Creates a folder and its missing parents.
    fn make(&mut self, folder: &Path) -> Result<(), PathError> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err())
            .collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder).map_err(PathError::at(folder))?;
            self.paths.push(folder.to_owned());
        }
        Ok(())
    }

    /// Creates a file; fails if it exists.
    fn write(&mut self, path: &Path, text: &str) -> Result<(), PathError> {
        if !Replacement::new(path, path, text.as_bytes())?.put_new()? {
            return Err(PathError::at(path)(io::ErrorKind::AlreadyExists.into()));
        }
        self.paths.push(path.to_owned());
        Ok(())
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // Errors are ignored: folders may contain files of others by now, and the error that led here is already
        // returned.
        for path in self.paths.iter().rev() {
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
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
    Deploy(RepositoryName),
    /// Publish to this repository's GitHub Pages.
    Publish(RepositoryName),
    /// Do the steps in `SETUP.md`.
    SetUp,
    /// Add an agent.
    AddAgent,
}

impl Layout {
    /// The remaining steps, as far as the files in the directory show.
    pub fn left_to_do(&self, directory: &Path, pages: Option<&RepositoryName>) -> Vec<LayoutTodo> {
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
        let address: Vec<String> = lines(CONFIG).into_iter().filter(|line| line.starts_with("base-url")).collect();
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
        let has_agent = |directory: &Path| agent_folders(directory).next().is_some();
        if !has_agent(directory) && !has_agent(&directory.join("registry")) {
            left.push(LayoutTodo::AddAgent);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_named_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("README.md"), "mine").unwrap();
        let layout = lay_out(folder.path(), None, None).unwrap();
        assert_eq!((layout.kept.as_slice(), layout.written.len()), (&["README.md"][..], FILES.len() - 1));
        assert_eq!(fs::read_to_string(folder.path().join("README.md")).unwrap(), "mine");
        // The next run completes an interrupted one.
        fs::remove_file(folder.path().join("registry.toml")).unwrap();
        assert_eq!(lay_out(folder.path(), None, None).unwrap().written, ["registry.toml"]);
        assert_eq!(lay_out(folder.path(), None, None).unwrap().written, [] as [&str; 0]);
    }

    #[test]
    fn what_a_killed_run_has_left_goes_unless_another_one_is_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".tmp-README.md-Ab12Cd");
        fs::write(&left, "cut").unwrap();
        let other = mark_used(folder.path());
        lay_out(folder.path(), None, None).unwrap();
        assert_eq!(left.exists(), cfg!(unix));
        drop(other);
        // A child of another test, which is this process until it becomes its program, may still have the mark.
        while is_used(folder.path()) {
            std::thread::yield_now();
        }
        fs::remove_file(folder.path().join("README.md")).unwrap();
        lay_out(folder.path(), None, None).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn pages_have_the_address_of_their_repository() {
        for (repository, address) in [
            ("Example/registry", "https://example.github.io/registry/latest"),
            ("example/Example.github.io", "https://example.github.io/latest"),
        ] {
            let repository: RepositoryName = repository.parse().unwrap();
            assert_eq!(pages_address(&repository), address);
            let folder = tempfile::tempdir().unwrap();
            lay_out(folder.path(), None, Some(&repository)).unwrap();
            let config = crate::config::Config::read(&folder.path().join("registry.toml")).unwrap();
            assert_eq!(config.base_url.as_deref(), Some(address));
            assert!(config.site.repository.is_some());
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join(".github")).unwrap();
        assert!(matches!(lay_out(folder.path(), None, None), Err(LayoutError::Link(_))));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_half_way_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".github"), "a file in the place of a folder").unwrap();
        assert!(matches!(lay_out(folder.path(), None, None), Err(LayoutError::Path(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mut undo = Undo::default();
        undo.make(&folder.path().join("a/b")).unwrap();
        undo.write(&folder.path().join("a/b/c"), "c").unwrap();
        assert!(undo.write(&folder.path().join("a/b/c"), "d").is_err());
        drop(undo);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
